load helpers

@test "tune finds a configuration on the device, checked, and lookup finds it again" {
  gt tune "$P" --device "$DEVICE" --families direct,taps --budget 4 $SHORT
  works
  said "problem"
  said "direct µs"
  said "of stream"
  said "$P_CANONICAL"
  gt lookup "$P" --device "$DEVICE" --json
  works
  json '.plan == "exact" and .expected_us > 0 and .code_bytes > 0'
}

@test "tune --json tells device, times, counts and the configuration" {
  gt tune "$P" --device "$DEVICE" --families direct --budget 2 --json $SHORT
  works
  json '.problems[0] | .best_us > 0 and .default_us > 0 and .stream_us > 0 and .tried > 0 and .failed == 0'
  json '.problems[0].configuration | startswith("direct:")'
  json '.device == $d' --arg d "$DEVICE"
  json '.fingerprint.arch | length > 0'
}

@test "an empty problem has nothing to tune and is no failure" {
  gt tune "$OP:n=0,c=3,in=6x5,out=12x10,dtype=f32" --device "$DEVICE" --json
  works
  json '.problems[0] | .empty and .configuration == null'
}

@test "the table says what the scripted device was told to take" {
  device_script gpu.json <<<'{"default_us": 200, "rules": [{"match": "stream:", "us": 50}, {"match": "direct:", "us": 160},
                                                     {"match": "taps:", "us": 80}]}'
  gt tune "$P" --device recorded:gpu.json --families direct,taps --budget 6 --json
  works
  json '.problems[0] | .best_us == 80 and .default_us == 160 and .stream_us == 50'
  gt list
  works
  said "2.00"
  said "0.62"
}

@test "progress goes to standard error, in plain lines where that is no terminal" {
  plain_script gpu.json
  gt tune "$P" --device recorded:gpu.json --budget 8
  works
  complained "tuning 1 of 1: $P_CANONICAL"
  complained "best "
  [[ $stderr != *$'\r'* ]]
  [[ $output != *"tuning 1 of 1"* ]]
}

@test "progress is a bar on a terminal" {
  type -P script >/dev/null || skip "needs script(1)"
  command script -qec true /dev/null >/dev/null 2>&1 || skip "script(1) can make no terminal here"
  plain_script gpu.json
  TERM=xterm command script -qec "'$GATHERTUNE' tune $P --device recorded:gpu.json --budget 8" /dev/null >typed
  grep -q '\[#*-*\] ' typed
  grep -q $'\r' typed
}

@test "a second run takes everything from the cache" {
  plain_script gpu.json
  gt tune "$P" --device recorded:gpu.json --budget 8 --json
  works
  first=$(jq -r '.problems[0].configuration' <<<"$output")
  gt tune "$P" --device recorded:gpu.json --budget 8 --json
  works
  json '.problems[0] | .cached == .tried and .tried > 0'
  [ "$(jq -r '.problems[0].configuration' <<<"$output")" = "$first" ]
  gt tune "$P" --device recorded:gpu.json --budget 8 --json --retry
  works
  json '.problems[0].cached == 0'
}

@test "a smaller budget, or other families, never take a stored winner's place with something slower" {
  plain_script gpu.json
  gt tune "$P" --device recorded:gpu.json --budget 60 --json
  works
  winner=$(jq -c '.problems[0] | [.configuration, .best_us]' <<<"$output")
  for options in "--budget 1" "--budget 1 --retry" "--budget 1 --families scatter" "--budget 2 --strategy random" "--budget 2 --strategy exhaustive"; do
    gt tune "$P" --device recorded:gpu.json $options --json
    works
    [ "$(jq -c '.problems[0] | [.configuration, .best_us]' <<<"$output")" = "$winner" ] || { echo "$options"; show; false; }
  done
}

@test "two runs with the same seed try the same configurations" {
  plain_script gpu.json
  for i in 1 2; do
    gathertune tune "$P" --device recorded:gpu.json --budget 8 --seed 7 --cache "$i.db" >/dev/null 2>&1
    gathertune list --trials "$P" --cache "$i.db" --json | jq -c '[.trials[].configuration] | sort' >"$i.txt"
  done
  [ -s 1.txt ]
  diff 1.txt 2.txt
}

@test "--config tries one configuration and stores nothing" {
  config=$(gathertune generate "$P" --family direct --device "$DEVICE" --json | jq -r .variant.configuration)
  gt tune "$P" --device "$DEVICE" --config "$config" --json $SHORT
  works
  json '.trials[0].trial | .outcome == "ok" and .checked and .median_us > 0'
  [ ! -e cache.db ]
}

@test "a configuration with a bad value is refused" {
  gt tune "$P" --device "$DEVICE" --config direct:bogus=1
  fails_with 2 "bogus"
}

@test "--help of tune says how to go on after an interruption" {
  gt tune --help
  said "Ctrl-C"
}

@test "warm times are shown and not kept" {
  plain_script slow.json
  gt tune "$P" --device recorded:slow.json --warm --json
  works
  json '.warm and .cache == null and (.problems[0].best_us > 0)'
  gt list --json
  json '.winners == []'
  [ ! -e cache.db ]
  for option in "--cache x.db" --retry; do
    gt tune "$P" --device recorded:slow.json --warm $option
    fails_with 2 "--warm" "${option%% *}"
  done
}

@test "poolings of the same sizes do not take each other's weights" {
  local pool=avg_pool2d_backward:n=2,c=3,in=8x8,out=4x4,dtype=f32
  gt tune --device "$DEVICE" --families taps,direct --budget 4 $SHORT --json \
    "$pool,kernel=2x2,pool_stride=2x2" "$pool,kernel=3x3,pool_stride=2x2,padding=1x1"
  works
  json '.problems | map(.failed) == [0, 0]'
}
