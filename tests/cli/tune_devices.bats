load helpers

# Several devices in one run: scripted ones, so that their number and what becomes of them can be told.

# One of two GPUs of a model: $2 is its place, $3 more keys of the script.
member() { device_script "$1.json" <<<"{\"hashed\": [50, 200], \"fingerprint\": {\"pci_id\": \"0000:$2:00.0\"}${3:-}}"; }

PAIR=recorded:a.json,recorded:b.json
SPACE="--families direct --budget 100000" # all of it, which is little: what is found depends on no order

suite() { # of so many problems
  for ((i = 1; i <= $1; i++)); do echo "$OP:n=$i,c=3,in=6x5,out=12x10,dtype=f32"; done >suite.txt
}

@test "devices of one model share the problems: each is tuned once, all its trials on one device" {
  member a 01 ', "check_ms": 100'
  member b 02 ', "check_ms": 100'
  suite 6
  gt tune --suite suite.txt --device $PAIR $SPACE --json
  works
  json '.problems | length == 6 and all(.status == "OK") and (map(.device) | unique) == ["recorded:a.json", "recorded:b.json"]'
  json '[.devices[] | .problems] | add == 6 and all(. > 0)'
  json '(.devices | map(.lost)) == [false, false] and .device == null'
  [ "$(sqlite3 cache.db 'select count(*) from device')" -eq 2 ]
  [ -z "$(sqlite3 cache.db 'select problem from trial group by problem having count(distinct device) > 1')" ]
  gathertune list --json | jq -e '.winners | length == 6' >/dev/null
  # What is found is what one device alone finds.
  jq -c '[.problems[] | [.problem, .configuration]]' <<<"$output" >pair.txt
  member a 01
  gathertune tune --suite suite.txt --device recorded:a.json $SPACE --json --cache alone.db 2>/dev/null |
    jq -c '[.problems[] | [.problem, .configuration]]' >alone.txt
  diff pair.txt alone.txt
}

@test "a second run takes each problem's trials from the cache of the device that has them" {
  member a 01 ', "check_ms": 100'
  member b 02 ', "check_ms": 100'
  suite 4
  gt tune --suite suite.txt --device $PAIR $SPACE --json
  works
  first=$(jq -c '[.problems[] | [.problem, .device, .configuration]]' <<<"$output")
  gt tune --suite suite.txt --device $PAIR $SPACE --json
  works
  json '.problems | all(.cached == .tried and .tried > 0)'
  [ "$(jq -c '[.problems[] | [.problem, .device, .configuration]]' <<<"$output")" = "$first" ]
  # Another list of the same devices, and with --retry any of them.
  gt tune --suite suite.txt --device recorded:b.json,recorded:a.json $SPACE --json
  works
  json '.problems | all(.cached == .tried)'
  gt tune --suite suite.txt --device $PAIR $SPACE --retry --json
  works
  json '.problems | all(.cached == 0)'
}

@test "a problem that is tuned by classes goes to the device that has the trials of its classes" {
  local grid=grid_sampler_2d_backward:c=2,in=6x5,out=4x4,dtype=f32,want=input
  member a 01
  member b 02
  for round in first second; do
    gt tune "$grid,n=1" "$grid,n=2" --device $PAIR --families grid_scatter --budget 1 --json --quiet
    works
    json '.problems | length == 2 and all(.status == "OK" and .tried > 0)'
    jq -c '[.problems[] | [.problem, .device]]' <<<"$output" >$round.txt
  done
  diff first.txt second.txt
  json '.problems | all(.cached == .tried)'
  gt tune "$grid,n=1" "$P" --device $PAIR --families grid_scatter,direct --budget 1 --quiet
  said "plain µs"
}

@test "models are tuned each for itself" {
  member a 01
  device_script other.json <<<'{"hashed": [20, 90], "fingerprint": {"name": "Other GPU", "compute_units": 8}}'
  suite 2
  gt tune --suite suite.txt --device recorded:a.json,recorded:other.json $SPACE --json
  works
  json '.problems | length == 4 and (map([.device, .problem]) | unique | length) == 4 and all(.status == "OK")'
  gathertune list --json | jq -e '[.winners[] | .model] | group_by(.) | map(length) == [2, 2]' >/dev/null
  gt tune --suite suite.txt --device recorded:a.json,recorded:other.json $SPACE
  works
  said "Recorded GPU (recorded:a.json, "
  said "Other GPU (recorded:other.json, "
}

@test "devices with other software are no pool" {
  member a 01
  device_script b.json <<<'{"hashed": [50, 200], "fingerprint": {"pci_id": "0000:02:00.0", "driver": "another"}}'
  suite 1
  gt tune --suite suite.txt --device $PAIR $SPACE --json
  works
  json '.problems | length == 2'
}

@test "a device that is lost is told with exit code 1, and the others take its problems" {
  member a 01 ', "check_ms": 60'
  # All its kernels hang, and meanwhile it goes.
  member b 02 ', "journal": "b.txt", "rules": [{"action": "hang"}]'
  suite 4
  "$GATHERTUNE" tune --suite suite.txt --device $PAIR $SPACE --launch-limit 3 --json >out.json 2>err.txt 3>&- &
  parent=$!
  wait_until test -s b.txt
  rm b.json
  status=0
  wait "$parent" || status=$?
  output=$(<out.json) stderr=$(<err.txt)
  [ "$status" -eq 1 ] || { show; false; }
  json '.problems | length == 4 and all(.status == "OK" and .device == "recorded:a.json")'
  json '.devices | map(.lost) == [false, true] and (.[1].message | contains("does not open again"))'
  complained "gathertune: recorded:b.json is lost: "
  complained "gathertune: 1 of its kind go on without it"
}

@test "a device that gets another one's name is lost: times are kept for the device that they were measured on" {
  member a 01 ', "check_ms": 60'
  member b 02 ', "journal": "b.txt", "rules": [{"action": "hang"}]'
  suite 3
  "$GATHERTUNE" tune --suite suite.txt --device $PAIR $SPACE --launch-limit 3 --json >out.json 2>err.txt 3>&- &
  parent=$!
  wait_until test -s b.txt
  member c 03
  mv c.json b.json
  wait "$parent" || true
  output=$(<out.json)
  json '.devices[1] | .lost and (.message | contains("another device now"))'
  json '.problems | all(.device == "recorded:a.json")'
  [ "$(sqlite3 cache.db "select count(*) from device where pci_id = '0000:03:00.0'")" -eq 0 ]
}

@test "Ctrl-C ends the work of all devices, keeps what each measured, and the same command goes on" {
  member a 01 ', "check_ms": 200, "journal": "a.txt"'
  member b 02 ', "check_ms": 200, "journal": "b.txt"'
  suite 3
  "$GATHERTUNE" tune --suite suite.txt --device $PAIR --families taps --budget 2000 --json >out.json 2>err.txt 3>&- &
  parent=$!
  # Trials of candidates are launched after those of the default and the bounds.
  wait_until has_lines a.txt 8
  wait_until has_lines b.txt 8
  kill -INT "$parent"
  status=0
  wait "$parent" || status=$?
  output=$(<out.json) stderr=$(<err.txt)
  [ "$status" -eq 130 ] || { show; false; }
  json '.interrupted and (.problems | length == 2 and all(.status == "INTERRUPTED" and .configuration != null))'
  complained "run the same command again to go on"
  [ "$(sqlite3 cache.db 'select count(distinct device) from trial')" -eq 2 ]
  member a 01
  member b 02
  gt tune --suite suite.txt --device $PAIR --families taps --budget 3 --json
  works
  json '[.problems[] | select(.cached > 0)] | length >= 2 and (map(.device) | unique | length) == 2'
}

@test "a cache that cannot be written any more ends the work of all devices" {
  member a 01 ', "check_ms": 5'
  member b 02 ', "check_ms": 5'
  suite 4
  gathertune tune --suite suite.txt --device recorded:a.json --families direct --budget 1 --cache small.db >/dev/null 2>&1
  limit=$(($(stat -c %s small.db) / 1024 + 4)) # KiB
  run --separate-stderr bash -c "ulimit -f $limit; trap '' XFSZ; exec '$GATHERTUNE' tune --suite suite.txt --device $PAIR --json"
  [ "$status" -eq 1 ]
  complained "cache.db: writing"
  json '[.problems[] | select(.status == "IO")] | length > 0'
  [ "$(sqlite3 cache.db 'pragma integrity_check')" = ok ]
}

@test "each device has a line on a terminal, and says in plain lines which it is" {
  member a 01 ', "check_ms": 100'
  member b 02 ', "check_ms": 100'
  suite 2
  gt tune --suite suite.txt --device $PAIR $SPACE
  works
  complained "tuning 2 of 2 on recorded:"
  complained "  recorded:a.json: problem "
  complained "  recorded:b.json: problem "
  said "recorded:a.json: 1 problem in "
  type -P script >/dev/null || skip "needs script(1)"
  command script -qec true /dev/null >/dev/null 2>&1 || skip "script(1) can make no terminal here"
  command script -qec "'$GATHERTUNE' tune --suite suite.txt --device $PAIR $SPACE --retry" /dev/null >typed
  grep -q $'\e\[1A' typed # to the first of two lines
  grep -q '\[#*-*\] recorded:a.json: problem ./2' typed
  grep -q '\[#*-*\] recorded:b.json: problem ./2' typed
}

@test "a list of devices that makes no sense is refused, and one that does not open ends the run" {
  member a 01
  suite 1
  gt tune --suite suite.txt --device recorded:a.json,recorded:a.json
  fails_with 2 "recorded:a.json twice"
  gt tune --suite suite.txt --device recorded:a.json,all
  fails_with 2 "all"
  gt tune --suite suite.txt --device recorded:a.json,auto
  fails_with 2 "auto"
  gt tune --suite suite.txt --device recorded:a.json,recorded:none.json
  fails_with 1 "none.json"
  gt tune --suite suite.txt --device recorded:a.json,bogus
  [ "$status" -ne 0 ]
  member b 02
  gt tune --suite suite.txt --device $PAIR --recheck
  fails_with 2 "one device"
  gt tune --suite suite.txt --device $PAIR --config direct:block=256,acc=float
  fails_with 2 "one device"
  [ ! -e cache.db ]
}
