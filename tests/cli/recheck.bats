load helpers

tuned() {
  plain_script gpu.json
  gathertune tune "$P" "${P/f32/f64}" --device recorded:gpu.json --families direct,taps --budget 6 >/dev/null 2>&1
}

@test "--recheck times all winners of the device once more, and steady ones are steady" {
  tuned
  gt tune --recheck --device recorded:gpu.json --json
  works
  json '.rechecks | length == 2 and all(.verdict == "steady" and .outcome == "ok" and .drift == 0 and .default_us > 0)'
  gt list --rechecks --json
  json '.rechecks | length == 2 and all(.samples_us | length > 2)'
}

@test "--recheck tells how far times have drifted, beside the default, and leaves the winner as it is" {
  tuned
  before=$(gathertune list --json | jq -c .winners)
  device_script gpu.json <<<'{"hashed": [60, 240], "readings": {"temperature_c": 88}}' # all is slower by a fifth
  gt tune --recheck "$P" --device recorded:gpu.json --json
  works
  json '.rechecks | length == 1'
  json '.rechecks[0] | .verdict == "slower" and (.drift * 100 | round) == 20 and .readings.temperature_c == 88'
  json '.rechecks[0] | ((.default_us / .median_us - .stored_default_us / .stored_us) | fabs) < 0.01'
  [ "$(gathertune list --json | jq -c .winners)" = "$before" ]
  gt tune --recheck "$P" --device recorded:gpu.json
  works
  said "+20.0 %"
  said "slower"
}

@test "--recheck tells a winner that has become slower than the default" {
  device_script gpu.json <<<'{"default_us": 100, "rules": [{"match": "taps:", "us": 50}]}'
  gathertune tune "$P" --device recorded:gpu.json --families direct,taps --budget 6 >/dev/null 2>&1
  device_script gpu.json <<<'{"default_us": 100, "rules": [{"match": "taps:", "us": 150}]}'
  gt tune --recheck --device recorded:gpu.json --json
  works
  json '.rechecks[0].verdict == "slower than the default"'
}

@test "--recheck of a winner that is not right any more fails, and says so" {
  tuned
  failing=$(gathertune list --json | jq -r '.winners[] | select(.problem | contains("f64")).configuration')
  device_script gpu.json <<<"{\"rules\": [{\"match\": \"$failing\", \"problem\": \"f64\", \"action\": \"wrong\"}]}"
  gt tune --recheck "${P/f32/f64}" "$P" --device recorded:gpu.json --json
  [ "$status" -eq 1 ]
  complained "not right any more"
  json '.rechecks | length == 2 and .[0].verdict == "failed" and .[1].verdict != "failed"'
}

@test "--recheck on a real device finds the winner's stored code object right" {
  gathertune tune "$P" --device "$DEVICE" --families direct --budget 2 $SHORT >/dev/null 2>&1
  gt tune --recheck "$P" --device "$DEVICE" $SHORT --json
  works
  json '.rechecks[0] | .outcome == "ok" and .median_us > 0 and .default_us > 0'
}

@test "--recheck of a suite passes over empty problems, and tells which are not tuned" {
  tuned
  printf '%s\n' "$P" "${P/n=2/n=0}" "${P/n=2/n=77}" >suite.txt
  gt tune --recheck --suite suite.txt --device recorded:gpu.json --json --quiet
  fails_with 1 "gathertune: ${P_CANONICAL/n=2/n=77}: no winner of recorded / Recorded GPU / " " to recheck in "
  json '.rechecks | length == 1'
  gt tune --recheck "$P" "${P/n=2/n=0}" --device recorded:gpu.json --json
  works
}

@test "--recheck without anything tuned is one line and exit code 1" {
  plain_script gpu.json
  gt tune --recheck --device recorded:gpu.json
  fails_with 1 "no winner"
}

@test "--recheck does not go with options of a search" {
  plain_script gpu.json
  for option in "--budget 5" "--families direct" "--seed 3" "--retry" "--warm" "--strategy random" "--config direct:block=64"; do
    gt tune --recheck "$P" --device recorded:gpu.json $option
    fails_with 2 "--recheck"
  done
}
