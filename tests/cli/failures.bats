load helpers

# A scripted device on which every `taps` configuration does what $1 says.
failing_script() {
  device_script "$1" <<<"{\"hashed\": [50, 200], \"rules\": [{\"match\": \"taps:\", \"action\": \"$2\"}]}"
}

@test "a worker that crashes costs its trial, and tuning goes on" {
  failing_script gpu.json crash
  gt tune "$P" --device recorded:gpu.json --families direct,taps --budget 12 --json
  works
  json '.problems[0] | .failed > 0 and (.configuration | startswith("direct:"))'
  complained "crash"
  gt list --trials "$P" --json
  json '[.trials[] | select(.outcome == "crash")] | length > 0'
}

@test "a worker that hangs is ended after the time limit, and tuning goes on" {
  failing_script gpu.json hang
  gt tune "$P" --device recorded:gpu.json --families direct,taps --budget 3 --launch-limit 3 --json
  works
  json '.problems[0] | .failed > 0 and (.configuration | startswith("direct:"))'
  gt list --trials "$P" --json
  json '[.trials[] | select(.outcome == "timeout")] | length > 0'
}

@test "a compiler that hangs is ended after the time limit" {
  failing_script gpu.json compile_hang
  gt tune "$P" --device recorded:gpu.json --families direct,taps --budget 3 --compile-limit 3 --json
  works
  json '.problems[0] | .failed > 0 and (.configuration | startswith("direct:"))'
}

@test "what failed is not tried again until --retry asks for it" {
  failing_script gpu.json crash
  gathertune tune "$P" --device recorded:gpu.json --families direct,taps --budget 6 >/dev/null 2>&1
  gt tune "$P" --device recorded:gpu.json --families direct,taps --budget 6 --json
  works
  json '.problems[0] | .cached == .tried and .failed > 0'
  [[ $stderr != *"again with"* ]]
}

@test "a failed trial prints a line that reproduces it" {
  failing_script gpu.json launch_error
  gt tune "$P" --device recorded:gpu.json --families direct,taps --budget 3
  works
  complained "launch_error"
  again
  [ "$status" -eq 1 ]
  complained "launch_error"
}

@test "a wrong result is a failed trial and never the winner" {
  failing_script gpu.json wrong
  gt tune "$P" --device recorded:gpu.json --families direct,taps --budget 8 --json
  works
  json '.problems[0].configuration | startswith("direct:")'
}

@test "where every configuration fails the problem fails with exit code 1 and the next one is still tuned" {
  device_script gpu.json <<<'{"hashed": [50, 200], "rules": [{"problem": "dtype=f64", "action": "launch_error"}]}'
  gt tune "${P/f32/f64}" "$P" --device recorded:gpu.json --families direct --budget 2 --json
  [ "$status" -eq 1 ]
  json '.problems | length == 2 and .[0].configuration == null and .[1].configuration != null'
}

@test "a device that is lost costs its trial" {
  failing_script gpu.json device_lost
  gt tune "$P" --device recorded:gpu.json --families direct,taps --budget 6 --json
  works
  json '.problems[0] | .failed > 0 and (.configuration | startswith("direct:"))'
}

@test "a problem that does not fit into the device's memory is skipped with the reason, and the next one is tuned" {
  gt tune "$OP:n=1,c=1,in=400000x40000,out=800000x80000,dtype=f32" "$P" --device "$DEVICE" --families direct --budget 2 $SHORT --json
  [ "$status" -eq 1 ]
  complained "MiB for a single outer index, the device has"
  json '.problems | .[0].status == "OUT_OF_MEMORY" and .[1].status == "OK" and .[1].configuration != null'
}

@test "a kernel that is wrong on a real device is caught by the check" {
  mkdir templates
  cp -r "$ROOT"/templates/. templates/
  sed -i 's/gt_narrow(sum)/gt_narrow(sum + 1)/' templates/direct.kernel
  run cmp -s "$ROOT/templates/direct.kernel" templates/direct.kernel
  [ "$status" -eq 1 ] # spoilt
  GATHERTUNE_TEMPLATES=$PWD/templates gt tune "$P" --device "$DEVICE" --families direct --budget 2 $SHORT
  [ "$status" -eq 1 ]
  complained "wrong_result"
  complained "templates from $PWD/templates"
}

# The cache holds trials, more than those of the default and the bounds.
has_trials() { [ "$(gathertune list --json | jq -r .trials)" -gt 12 ]; }

# A run that takes minutes, however fast the machine is: it is there still when its test gets to see the first trials.
start_long_run() {
  device_script gpu.json <<<'{"hashed": [50, 200], "check_ms": 60}'
  "$GATHERTUNE" tune "$P" "${P/f32/f64}" "${P/f32/f16}" "${P/f32/bf16}" --device recorded:gpu.json --budget 400 \
    >out.txt 2>err.txt 3>&- &
  parent=$!
}

@test "after kill -9 in mid-tune the cache is whole and a second run goes on from there" {
  start_long_run
  wait_until has_trials
  kill -9 "$parent"
  wait "$parent" || true
  before=$(gathertune list --json | jq .trials)
  [ "$before" -gt 2 ]
  [ "$(sqlite3 cache.db 'pragma integrity_check')" = ok ]
  plain_script gpu.json
  gt tune "$P" --device recorded:gpu.json --budget 40 --json
  works
  json '.problems[0] | .cached > 2 and .configuration != null'
}

@test "workers end when their parent is killed" {
  device_script gpu.json <<<'{"journal": "journal.txt", "rules": [{"match": "taps:", "action": "hang"}]}'
  "$GATHERTUNE" tune "$P" --device recorded:gpu.json --families taps --launch-limit 60 >/dev/null 2>&1 3>&- &
  parent=$!
  wait_until test -s journal.txt # it is in a kernel that never ends
  workers=$(workers_of "$parent")
  [ -n "$workers" ]
  kill -9 "$parent"
  wait "$parent" || true
  for worker in $workers; do wait_until gone "$worker"; done
}

@test "Ctrl-C ends tuning with exit code 130, keeps what was measured and says how to go on" {
  start_long_run
  wait_until has_trials
  kill -INT "$parent"
  code=0
  wait "$parent" || code=$?
  cat err.txt
  [ "$code" -eq 130 ]
  grep -q "^gathertune: interrupted.*cache.db" err.txt
  grep -q "of stream" out.txt
  grep -q " (so far)" out.txt
  [ "$(gathertune list --json | jq .trials)" -gt 2 ]
  plain_script gpu.json
  gt tune "$P" --device recorded:gpu.json --budget 40 --json
  works
  json '.problems[0].cached > 2'
}

@test "SIGTERM ends tuning like Ctrl-C" {
  start_long_run
  wait_until has_trials
  kill -TERM "$parent"
  code=0
  wait "$parent" || code=$?
  [ "$code" -eq 130 ]
}
