load helpers

# What tune says, and how: --quiet, --json-lines, the value of tuning.

# taps is what programs get untuned, and direct twice as fast.
value_script() {
  device_script gpu.json <<<'{"rules": [{"match": "taps:", "problem": "dtype=f64", "us": 90}, {"match": "taps:", "us": 80},
                                        {"match": "stream:", "us": 20}, {"match": "direct:", "us": 40}]}'
}
FEW="--families direct,taps --budget 4"

@test "--quiet leaves standard error to complaints, and the table on standard output" {
  plain_script gpu.json
  gt tune "$P" --device recorded:gpu.json $FEW --quiet
  works
  [ -z "$stderr" ]
  said "direct µs"
  gt tune --device recorded:gpu.json --recheck -q
  works
  [ -z "$stderr" ]
  device_script gpu.json <<<'{"rules": [{"match": "taps:", "action": "launch_error"}]}'
  gt tune "$P" --device recorded:gpu.json $FEW --retry --quiet
  works
  complained "launch_error"
  [ -z "$(grep -v -e '^gathertune: ' -e '^  gathertune tune ' <<<"$stderr")" ]
}

@test "a progress line has problem, trial, best against direct and stream, busy share, rejected, failed and time left" {
  device_script gpu.json <<<'{"hashed": [50, 200], "check_ms": 50}'
  gt tune "$P" "${P/n=2/n=3}" --device recorded:gpu.json --families direct,taps --budget 30
  works
  grep -qE '^  problem 1/2, trial [0-9]+/[0-9]+, [0-9]+ s left \(all: [0-9]+ (s|min)\), best [0-9.]+ µs, [0-9.]+ × direct, [0-9.]+ of stream, busy [0-9]+ %, [0-9]+ rejected, 0 failed, [a-z]+:' <<<"$stderr" || { show; false; }
}

@test "--json-lines tells what happens in lines of JSON, whose counts are those of --json" {
  device_script gpu.json <<<'{"hashed": [50, 200], "rules": [{"match": "block=128", "action": "launch_error"}]}'
  gt tune "$P" "${P/n=2/n=3}" --device recorded:gpu.json --families direct --budget 6 --json-lines --quiet
  works
  [ "$(jq -s length <<<"$output")" -eq "${#lines[@]}" ] # each line is one
  events=$output
  [ "$(jq -r .event <<<"$events" | uniq | tr '\n' ' ')" = "run problem trial result problem trial result end " ]
  gt tune "$P" "${P/n=2/n=3}" --device recorded:gpu.json --families direct --budget 6 --json --retry --cache another.db
  works
  jq -s . <<<"$events" >events.json
  json --slurpfile e events.json '
    [$e[0][] | select(.event == "result") | [.problem, .configuration, .best_us, .tried, .failed, .rejected]] ==
    [.problems[] | [.problem, .configuration, .best_us, .tried, .failed, .rejected]]'
  output=$(<events.json)
  # The default is tried as what gains are measured against, too, and the bounds are no candidates.
  json '(map(select(.event == "trial")) | map(select(.outcome == "launch_error")) | length) >= 2'
  json 'map(select(.event == "trial")) | all(.device == "recorded:gpu.json" and .number <= .of and (.cached | type) == "boolean")'
  json 'map(select(.event == "trial" and .outcome == "ok")) | all(.median_us > 0 and .spread_us >= 0)'
  json 'last | .status == "OK" and .interrupted == false and .done == 2 and .failed > 0 and (.devices | length) == 1'
  json '(last | [.tried, .failed, .rejected]) == (map(select(.event == "result")) | [map(.tried), map(.failed), map(.rejected)] | map(add))'
  json 'first | .problems == 2 and .devices[0].fingerprint.arch == "gfx942"'
}

@test "every field of every event is in docs/tune-events.md" {
  plain_script gpu.json
  echo "$P calls=3" >suite.txt
  gt tune --suite suite.txt --device recorded:gpu.json --families direct,taps --budget 2 --json-lines --quiet
  works
  fields=$(jq -r 'keys[], (.devices // [] | .[] | keys[]), (.value // [] | .[] | keys[])' <<<"$output" | sort -u)
  [ "$(wc -l <<<"$fields")" -gt 40 ]
  for field in $fields; do grep -qF "\`$field\`" "$ROOT/docs/tune-events.md" || { echo "$field"; false; }; done
}

@test "--json-lines tells of a device that is lost" {
  device_script gpu.json <<<'{"journal": "journal.txt", "rules": [{"action": "hang"}]}'
  "$GATHERTUNE" tune "$P" --device recorded:gpu.json --families direct --launch-limit 2 --json-lines >out.json 2>err.txt 3>&- &
  parent=$!
  wait_until test -s journal.txt
  rm gpu.json
  status=0
  wait "$parent" || status=$?
  [ "$status" -eq 1 ]
  jq -es 'map(.event) | index("lost") != null and last == "end"' out.json
  jq -es '(.[] | select(.event == "result") | .status | endswith("_LOST")) and last.devices[0].lost' out.json
}

@test "--json and --json-lines exclude each other, and --json-lines goes with a search only" {
  gt tune "$P" --json --json-lines
  fails_with 2 "--json and --json-lines exclude each other"
  gt tune "$P" --recheck --json-lines
  fails_with 2 "--json-lines" "--recheck"
  gt tune "$P" --config direct:block=256,acc=float --json-lines
  fails_with 2 "--json-lines" "--config"
}

@test "with calls= the value of tuning is told, what saves most first" {
  value_script
  cat >suite.txt <<END
$P_CANONICAL calls=10   # few
${P_CANONICAL/f32/f64}	calls=1000
${P_CANONICAL/f32/f16} calls=70
${P_CANONICAL/f32/f16} calls=30
${P_CANONICAL/f32/bf16}
END
  gt tune --suite suite.txt --device recorded:gpu.json $FEW --quiet
  works
  # Without the last column: defaults change with the templates.
  sed -n '/^value of tuning/,$p' <<<"$output" | sed -E 's/  (taps:.*|untuned configuration)$//' >value.txt
  [ -z "${GOLDEN_UPDATE:-}" ] || cp value.txt "$ROOT/tests/golden/tune-value.txt"
  diff "$ROOT/tests/golden/tune-value.txt" value.txt
  gt tune --suite suite.txt --device recorded:gpu.json $FEW --json
  works
  json '.value | length == 1 and .[0].saved_us == 54400 and .[0].untuned_us == 98800 and .[0].left_out == 1'
  json '.value[0].problems | map([.calls, .saved_us]) == [[1000, 50000], [100, 4000], [10, 400]]'
  json '.value[0].problems | (map(.share) | add) > 0.999 and (map(.untuned) | all(startswith("taps:")))'
  gt tune --suite suite.txt --device recorded:gpu.json $FEW --json-lines -q
  works
  [ "$(tail -n 1 <<<"$output" | jq -c '.value[0].saved_us')" = 54400 ]
}

@test "without calls= no value of tuning is told" {
  value_script
  gt tune "$P" --device recorded:gpu.json $FEW --quiet
  works
  [[ $output != *"value of tuning"* ]]
  gt tune "$P" --device recorded:gpu.json $FEW --quiet --json
  json '.value == []'
}

@test "calls= that make no sense are told with file and line number, and nothing is tuned" {
  plain_script gpu.json
  for bad in calls=0 calls=-1 calls=1.5 calls=x calls= calls=1000000000001 calls=99999999999999999999 "calls=1 calls=2" times=3; do
    printf '# a comment\n%s %s\n' "$P" "$bad" >suite.txt
    gt tune --suite suite.txt --device recorded:gpu.json
    fails_with 2 "suite.txt:2: " "calls="
  done
  gt tune "$P calls=3" --device recorded:gpu.json # of a suite's lines only
  [ "$status" -eq 2 ]
  [ ! -e cache.db ]
}
