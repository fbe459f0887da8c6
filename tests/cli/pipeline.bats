load helpers

# Compiling takes $2 and a check $3 milliseconds of real time; times follow from the configuration.
busy_script() { device_script "$1" <<<"{\"hashed\": [50, 200], \"compile_ms\": $2, \"check_ms\": $3}"; }

@test "tune compiles ahead: the device hardly waits, and its busy share is told" {
  busy_script gpu.json 100 200
  gt tune "$P" --device recorded:gpu.json --budget 16 --compile-jobs 8 --json
  works
  # One after the other, the device would wait for all of each compilation.
  json '.problems[0] | .compiled >= 16 and .compile_wait_s < .compiled * 0.1 / 2'
  json '.problems[0] | .device_busy > 0.5 and .device_busy <= 1'
  gt tune "$P" --device recorded:gpu.json --budget 17 --compile-jobs 2
  works
  said "device busy "
  said " s waiting for compilers; "
}

@test "a run that finds everything in the cache has no device to be busy" {
  plain_script gpu.json
  gt tune "$P" --device recorded:gpu.json --budget 8 --json
  gt tune "$P" --device recorded:gpu.json --budget 8 --json
  works
  json '.problems[0] | .device_busy == null and .seconds == null and .compiled == 0'
}

@test "code objects are reused by later runs, also for other batch sizes, while source and compiler are the same" {
  plain_script gpu.json
  gt tune "$P" --device recorded:gpu.json --families reduce --budget 100 --json
  works
  json '.problems[0] | .compiled > 12 and .code_reused == 0'
  [ -f cache.db.code ]
  gt tune "$P" --device recorded:gpu.json --families reduce --budget 100 --retry --json
  works
  json '.problems[0] | .compiled == 0 and .code_reused > 12 and .failed == 0'
  gt tune "${P/n=2/n=5}" --device recorded:gpu.json --families reduce --budget 100 --json
  works
  json '.problems[0] | .compiled == 0 and .code_reused > 12'
  device_script newer.json <<<'{"hashed": [50, 200], "fingerprint": {"compiler": "newer"}}'
  gt tune "$P" --device recorded:newer.json --families reduce --budget 100 --json
  works
  json '.problems[0] | .compiled > 12 and .code_reused == 0'
}

@test "on the device of the tests too, code that was kept is right and is not compiled again" {
  gt tune "$P" --device "$DEVICE" --families direct,taps --budget 3 $SHORT --json
  works
  gt tune "$P" --device "$DEVICE" --families direct,taps --budget 3 $SHORT --retry --json
  works
  json '.problems[0] | .compiled == 0 and .code_reused > 2 and .failed == 0'
}

@test "without its code objects a run compiles, and says so where they cannot be kept" {
  plain_script gpu.json
  gathertune tune "$P" --device recorded:gpu.json --budget 4 >/dev/null 2>&1
  rm cache.db.code
  gt tune "$P" --device recorded:gpu.json --budget 4 --retry --json
  works
  json '.problems[0] | .compiled > 0 and .code_reused == 0'
  echo "no database" >cache.db.code
  gt tune "$P" --device recorded:gpu.json --budget 4 --retry --json
  works
  complained "cache.db.code"
  complained "neither reused nor kept"
  json '.problems[0].compiled > 0'
  [ "$(cat cache.db.code)" = "no database" ]
}

@test "the order of trials and what they find do not depend on the number of compilers" {
  device_script gpu.json <<<'{"hashed": [50, 200], "compile_ms": 5, "rules": [{"match": "vx=2", "compile_ms": 120},
                                                                          {"match": "direct:", "compile_ms": 60}]}'
  for jobs in 1 4; do
    gathertune tune "$P" --device recorded:gpu.json --budget 25 --seed 3 --compile-jobs $jobs --cache $jobs.db >/dev/null 2>&1
    sqlite3 $jobs.db 'select configuration, outcome, median_us from trial order by id' >$jobs.txt
  done
  [ "$(wc -l <1.txt)" -gt 25 ]
  diff 1.txt 4.txt
}

@test "a compiler that crashes costs its configuration only" {
  device_script gpu.json <<<'{"hashed": [50, 200], "rules": [{"match": "taps:", "action": "compile_crash"}]}'
  gt tune "$P" --device recorded:gpu.json --families direct,taps --budget 12 --compile-jobs 3 --json
  works
  json '.problems[0] | .failed > 0 and (.configuration | startswith("direct:"))'
  complained 'killed by signal 6 (SIGABRT) in phase "compile"'
  again
  [ "$status" -eq 1 ]
}

@test "compilers end when their parent is killed" {
  device_script gpu.json <<<'{"rules": [{"action": "compile_hang"}]}'
  "$GATHERTUNE" tune "$P" --device recorded:gpu.json --compile-jobs 3 >/dev/null 2>&1 3>&- &
  parent=$!
  has_four_workers() { [ "$(workers_of "$parent" | wc -l)" -eq 4 ]; } # the device's and the compilers
  wait_until has_four_workers
  workers=$(workers_of "$parent")
  kill -9 "$parent"
  wait "$parent" || true
  for worker in $workers; do wait_until gone "$worker"; done
}

@test "--compile-jobs takes a number of 1 to 256" {
  for bad in 0 257 99999999999; do
    gt tune "$P" --compile-jobs $bad
    fails_with 2 "--compile-jobs" "1 to 256" "'$bad'"
  done
  for bad in x -1 1.5 ''; do
    gt tune "$P" --compile-jobs "$bad"
    fails_with 2 "--compile-jobs" "'$bad'"
  done
  gt tune --help
  said "--compile-jobs N"
}
