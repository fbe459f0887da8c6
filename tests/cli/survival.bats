load helpers

# What comes from outside while a run is at work: kills, stops, a full disk, a place that cannot be written.

SPACE="--families direct,reduce --budget 100000" # all of it: what is found depends on no order

# A device that notes what it launches, with trials that take some milliseconds.
journal_script() {
  device_script gpu.json <<<"{\"hashed\": [50, 200], \"check_ms\": ${1:-2}, \"journal\": \"$PWD/journal.txt\"}"
}

winner() { jq -r '.problems[0].configuration' <<<"$output"; }

# The worker process of $1 that has the device: compilers never launch, so it is the first to be started.
worker_of() { workers_of "$1" | head -n 1; }

# The run $parent has launched so many trials, or is over: what was left of its space can have been fewer.
launched_or_over() { has_lines journal.txt "$1" || gone "$parent"; }

# The run that is not killed.
finish_killed_run() {
  gt tune "$P" --device recorded:gpu.json $SPACE --json
  works
  echo "finished with $(jq -c '.problems[0] | [.tried, .cached]' <<<"$output") trials tried and cached"
  [ "$(winner)" = "$expected" ]
  json '.problems[0] | .tried == $n and .failed == 0' --argjson n "$trials"
}

# How many configurations were launched and are neither in the cache nor beside it, for the next run to store.
lost() {
  local left
  sort -u journal.txt 2>/dev/null | comm -23 - <(
    {
      sqlite3 cache.db 'select configuration from trial'
      for left in cache.db.pending-*; do jq -r '.trials[].configuration' "$left" 2>/dev/null || true; done
    } | sort -u
  ) | wc -l
}

# GT_KILLS=100 bats tests/cli/survival.bats is the long form.
@test "a parent that is killed at random instants loses at most the trial in flight, and the last run finds the same winner" {
  local kills=${GT_KILLS:-12} round lines whole
  RANDOM=${GT_SEED:-1}
  journal_script 10
  whole=$(date +%s%N)
  gt tune "$P" --device recorded:gpu.json $SPACE --json --cache undisturbed.db
  works
  whole=$((($(date +%s%N) - whole) / 1000000)) # ms
  expected=$(winner)
  trials=$(jq '.problems[0].tried' <<<"$output")
  rm journal.txt
  touch journal.txt
  for ((round = 0; round < kills; round++)); do
    lines=$(wc -l <journal.txt)
    "$GATHERTUNE" tune "$P" --device recorded:gpu.json $SPACE >/dev/null 2>&1 3>&- &
    parent=$!
    # At any time of a run, and as often among the trials.
    if ((round % 2)); then
      wait_until launched_or_over $((lines + 1 + RANDOM % 12))
      sleep "0.$(printf %03d $((RANDOM % 20)))"
    else
      milliseconds=$((RANDOM % whole))
      sleep "$((milliseconds / 1000)).$(printf %03d $((milliseconds % 1000)))"
    fi
    kill -9 "$parent" 2>/dev/null || true
    wait "$parent" || true
    [ -s cache.db ] || continue # before it was made
    gathertune list >/dev/null # what the kill left half-written is undone
    [ "$(sqlite3 cache.db 'pragma integrity_check')" = ok ]
    echo "kill $round: $(lost) launched and not kept, $(sqlite3 cache.db 'select count(*) from trial') kept"
    [ "$(lost)" -le 1 ] # what the device had
    if [ "$(sqlite3 cache.db 'select count(*) from trial')" -ge "$trials" ]; then # nothing is left to be killed in
      finish_killed_run
      rm cache.db cache.db.code
      : >journal.txt
    fi
  done
  finish_killed_run
}

# Waits until nothing more is launched: trials take some milliseconds, and a busy machine stands still for less than this.
wait_for_standstill() {
  local before
  wait_until has_lines journal.txt 4
  until [ "$before" = "$(wc -l <journal.txt)" ]; do
    before=$(wc -l <journal.txt)
    sleep 3
  done
}

# A script whose device stands still in one phase of a trial in the midst of the run: $1 is the rule's action.
stuck_script() {
  device_script gpu.json <<<"{\"hashed\": [50, 200], \"journal\": \"$PWD/journal.txt\", \"rules\": [{\"match\": \"direct:block=512\", \"action\": \"$1\"}]}"
}

@test "a parent that is killed while it compiles, launches or writes a trial down loses at most what the device had" {
  local phase
  for phase in writing hang compile_hang; do
    rm -f cache.db*
    : >journal.txt
    case $phase in
    writing) journal_script 20 ;; # the cache is locked by somebody else: writing takes as long as that
    *) stuck_script "$phase" ;;
    esac
    "$GATHERTUNE" tune "$P" --device recorded:gpu.json $SPACE >/dev/null 2>&1 3>&- &
    parent=$!
    if [ "$phase" = writing ]; then
      wait_until has_lines journal.txt 4
      sqlite3 -cmd '.timeout 10000' cache.db 'BEGIN IMMEDIATE' \
        '.shell touch locked; for i in $(seq 600); do [ -e locked ] || break; sleep 0.1; done' 3>&- &
      locker=$!
      wait_until test -e locked
    fi
    wait_for_standstill
    kill -9 "$parent"
    wait "$parent" || true
    if [ "$phase" = writing ]; then
      rm locked
      wait "$locker"
    fi
    kept=$(sqlite3 cache.db 'select count(*) from trial')
    echo "$phase: $(lost) launched and not kept, $kept in the cache"
    [ "$(lost)" -le 1 ]
    # The next run takes over what lies beside the cache.
    left=$(cat cache.db.pending-* | jq -r '.trials[0].configuration')
    [ -n "$left" ]
    if [ "$phase" = writing ]; then [ "$(sqlite3 cache.db "select count(*) from trial where configuration = '$left'")" -eq 0 ]; fi
    : >journal.txt
    journal_script
    gt tune "$P" --device recorded:gpu.json $SPACE --json
    works
    json '.problems[0].failed == 0'
    [ "$(grep -c "^$left\$" journal.txt)" -le 1 ] # at most once more, among the finalists
    [ -z "$(compgen -G 'cache.db.pending-*')" ]
  done
}

# A run whose worker is in a kernel that never ends, however late its test looks. Arguments: more options. The next worker's kernels end.
start_hanging_run() {
  device_script gpu.json <<<"{\"hashed\": [50, 200], \"journal\": \"$PWD/journal.txt\", \"rules\": [{\"match\": \"direct:\", \"action\": \"hang\"}]}"
  "$GATHERTUNE" tune "$P" --device recorded:gpu.json --families direct,taps --budget 8 "$@" --json >out.json 2>err.txt 3>&- &
  parent=$!
  wait_until grep -q '^direct:' journal.txt
  journal_script
}

@test "a worker that is killed from outside costs nothing: its trial is made once more" {
  start_hanging_run
  kill -9 "$(worker_of "$parent")"
  wait "$parent"
  output=$(<out.json) stderr=$(<err.txt)
  json '.problems[0] | .failed == 0 and .tried == 8'
  gt list --quarantine
  said "nothing is in quarantine"
}

@test "a worker that is stopped from outside is ended after the time limit, and its trial is made once more" {
  start_hanging_run --launch-limit 6
  kill -STOP "$(worker_of "$parent")"
  wait "$parent"
  output=$(<out.json) stderr=$(<err.txt)
  json '.problems[0] | .failed == 0 and .tried == 8'
}

@test "a worker that is killed again and again is in quarantine" {
  # The script's exit is by itself, as a crash is; a kill from outside is imitated by the kernel that sends it.
  device_script gpu.json <<<'{"hashed": [50, 200], "rules": [{"match": "taps:", "action": "kill"}]}'
  gt tune "$P" --device recorded:gpu.json --families direct,taps --budget 6 --json
  works
  json '.problems[0] | .failed > 0 and (.configuration | startswith("direct:"))'
  gt list --quarantine --json
  json '.quarantine | length > 0 and all(.outcome == "crash" and (.message | contains("SIGKILL")))'
}

@test "what crashed is listed, skipped by later runs, and tried again with --retry or another compiler" {
  device_script gpu.json <<<'{"hashed": [50, 200], "rules": [{"match": "taps:", "action": "crash"}]}'
  gathertune tune "$P" --device recorded:gpu.json --families direct,taps --budget 8 >/dev/null 2>&1
  gt list --quarantine
  works
  said "SIGABRT"
  count=$(gathertune list --quarantine --json | jq '.quarantine | length')
  [ "$count" -gt 0 ]
  plain_script gpu.json # all would run now
  gt tune "$P" --device recorded:gpu.json --families direct,taps --budget 8
  works
  said "$count in quarantine were not tried"
  gt tune "$P" --device recorded:gpu.json --families direct,taps --budget 8 --retry --json
  works
  json '.problems[0] | .quarantined == 0 and .failed == 0'
  gt list --quarantine --json
  json '.quarantine == []'
  device_script gpu.json <<<'{"hashed": [50, 200], "rules": [{"match": "taps:", "action": "crash"}]}'
  gathertune tune "$P" --device recorded:gpu.json --families direct,taps --budget 8 --retry >/dev/null 2>&1
  device_script gpu.json <<<'{"hashed": [50, 200], "fingerprint": {"compiler": "another"}}'
  gt tune "$P" --device recorded:gpu.json --families direct,taps --budget 8 --json
  works
  json '.problems[0] | .quarantined == 0 and .failed == 0'
}

@test "a full disk ends the run with one line, shows the best so far, and leaves a cache from which the next run goes on" {
  plain_script gpu.json
  gathertune tune "$P" --device recorded:gpu.json --budget 20 --cache small.db >/dev/null 2>&1
  limit=$(($(stat -c %s small.db) / 1024 + 4)) # KiB
  # The file size limit stands in for the disk's: SQLite gets an error for a write either way.
  run --separate-stderr bash -c "ulimit -f $limit; trap '' XFSZ; exec '$GATHERTUNE' tune '$P' --device recorded:gpu.json --json"
  [ "$status" -eq 1 ]
  complained "cache.db: writing"
  [ "$(grep -c '^gathertune:' <<<"$stderr")" -eq 1 ] || { show; false; }
  json '.problems[0] | .status == "IO" and .configuration != null and .best_us > 0'
  kept=$(gathertune list --json | jq .trials)
  [ "$kept" -gt 2 ]
  [ "$(sqlite3 cache.db 'pragma integrity_check')" = ok ]
  gt tune "$P" --device recorded:gpu.json --budget $((kept + 5)) --json
  works
  json '.problems[0].cached >= $kept - 8' --argjson kept "$kept" # the default and the bounds are not counted
}

# Runs a command as a user whom permissions bind: root, as which CI may run, becomes nobody.
as_user() {
  if [ "$(id -u)" -ne 0 ]; then "$@"; else setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; fi
}

@test "a cache on a read-only place is refused before anything is measured, and still read" {
  if [ "$(id -u)" -eq 0 ]; then type -P setpriv >/dev/null || skip "needs setpriv(1) as root"; fi
  place=$(mktemp -d /tmp/gathertune-read-only-XXXXXX)
  cp "$GATHERTUNE" "$place/gathertune"
  journal_script
  mv gpu.json "$place"
  gathertune tune "$P" --device "recorded:$place/gpu.json" --families direct --budget 2 --cache "$place/cache.db" >/dev/null 2>&1
  rm journal.txt
  chmod 444 "$place/cache.db"
  chmod 555 "$place"
  run --separate-stderr as_user "$place/gathertune" tune "${P/f32/f64}" --device "recorded:$place/gpu.json" --cache "$place/cache.db"
  tune_status=$status tune_stderr=$stderr
  run --separate-stderr as_user "$place/gathertune" list --json --cache "$place/cache.db"
  listed=$output list_status=$status
  run --separate-stderr as_user "$place/gathertune" lookup "$P" --device "recorded:$place/gpu.json" --cache "$place/cache.db" --json
  lookup_status=$status
  chmod 755 "$place"
  rm -r "$place"
  [ ! -e journal.txt ]
  status=$tune_status stderr=$tune_stderr
  mapfile -t stderr_lines <<<"$stderr"
  fails_with 1 "$place/cache.db" "cannot be written"
  [ "$list_status" -eq 0 ] && [ "$lookup_status" -eq 0 ]
  [ "$(jq '.winners | length' <<<"$listed")" -eq 1 ]
}
