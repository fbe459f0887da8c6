load helpers

tune_recorded() {
  device_script gpu.json <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary X"}, "hashed": [50, 200], "rules": [{"match": "direct:block=64", "action": "hang"}]}'
  gathertune tune "$P" --device recorded:gpu.json --families direct --launch-limit 3 >/dev/null 2>&1
}

plain_recorded() {
  device_script gpu.json <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary X"}, "hashed": [50, 200]}'
  gathertune tune "$P" "${P/f32/f16}" --device recorded:gpu.json --budget 20 >/dev/null 2>&1
}

rows() { sqlite3 cache.db "SELECT count(*) FROM $1"; }

@test "gc removes what nothing refers to, and nothing else" {
  plain_recorded
  gathertune export --cache cache.db >before.json
  sqlite3 cache.db "INSERT INTO code VALUES ('0123456789abcdef0123456789abcdef', zeroblob(300000), 300000);
    INSERT INTO problem (text, kernel, outer_count, operator, dtype) VALUES ('x', 'x', 1, 'x', 'f32');
    INSERT INTO model (backend, name, arch, compute_units) VALUES ('hip', 'gone', 'gone', 1);
    INSERT INTO device (model, pci_id, memory_bytes, driver, runtime, compiler) SELECT id, '', 0, '', '', '' FROM model WHERE name = 'gone'"
  size=$(stat -c %s cache.db)
  gt gc --json
  works
  json '.code_objects == 1 and .problems == 1 and .devices == 1 and .trials == 0 and .bytes_after < .bytes_before'
  [ "$(stat -c %s cache.db)" -lt $((size - 290000)) ]
  [ "$(rows model)" -eq 1 ]
  gathertune export --cache cache.db | cmp - before.json
}

@test "gc removes old trials, but not those of winners" {
  plain_recorded
  sqlite3 cache.db "UPDATE trial SET tried_at = '2020-01-01T00:00:00Z' WHERE problem = 1"
  kept=$(sqlite3 cache.db "SELECT count(*) FROM trial WHERE problem <> 1")
  cp cache.db before
  gt gc --older-than 30 --dry-run --json
  works
  json '.dry_run and .trials > 5'
  cmp cache.db before
  gt gc --older-than 30 --json
  works
  [ "$(rows trial)" -eq $((kept + 1)) ]
  [ "$(rows winner)" -eq 2 ]
  [ "$(rows origin)" -eq $((kept + 1 + 2)) ]
  gt lookup "$P" --device recorded:gpu.json --json
  json '.plan == "exact"'
  gt gc --older-than 1e300
  fails_with 2 "--older-than"
}

@test "a command that is not told which of several models is meant names them" {
  plain_recorded
  device_script gpu.json <<<'{"hashed": [50, 200], "fingerprint": {"name": "Imaginary Y"}}'
  gathertune tune "$P" --device recorded:gpu.json --budget 1 >/dev/null 2>&1
  for command in "explain $P" "list --trials $P"; do
    gt $command
    fails_with 2 "several models" "Imaginary X" "Imaginary Y" "--model"
  done
}

@test "gc keeps trials that hung, so that they are not tried again" {
  tune_recorded
  hung=$(sqlite3 cache.db "SELECT count(*) FROM trial WHERE outcome = 'timeout'")
  [ "$hung" -gt 0 ]
  gt gc --max-size 1
  works
  complained "winners stay"
  [ "$(sqlite3 cache.db "SELECT count(*) FROM trial WHERE outcome = 'timeout'")" -eq "$hung" ]
}

@test "gc keeps a size, oldest trials first" {
  plain_recorded
  for problem in 1 2; do # padding that only trials have
    sqlite3 cache.db "UPDATE trial SET message = 'duplicate of x: ' || hex(zeroblob(20000)) WHERE problem = $problem"
  done
  gt gc --max-size 300K --json
  works
  json '.bytes_after <= 300 * 1024 and .trials > 0'
  [ "$(stat -c %s cache.db)" -le $((300 * 1024)) ]
  [ "$(rows winner)" -eq 2 ]
  gt gc --max-size nonsense
  fails_with 2 "--max-size"
  gt gc --max-size 5X
  fails_with 2 "--max-size"
  gt gc --cache nowhere.db
  fails_with 1 "nowhere.db"
  [ ! -e nowhere.db ]
}

@test "doctor tells of templates, back ends and the cache" {
  plain_recorded
  gt doctor --json
  works
  json '[.findings[].what] | contains(["templates", "hip", "cuda", "opencl", "cache", "winners"])'
  json '.findings[] | select(.what == "cache") | .level == "ok" and (.found | contains("2 winners"))'
  gt doctor
  works
  said "ok       winners"
}

@test "doctor tells of stale winners, and of other software" {
  plain_recorded
  sqlite3 cache.db "UPDATE winner SET variant = json_set(variant, '$.source_hash', '00000000000000000000000000000000') WHERE id = 1"
  gt doctor --json
  works
  json '.worst == "warning" and ([.findings[] | select(.what == "stale") | .found] | length == 1 and (.[0] | startswith("1 of 2")))'
  json '[.findings[] | select(.level == "warning")] | all(.advice | length > 0)'
}

@test "list --stale shows winners whose templates have changed" {
  plain_recorded
  gt list --stale --json
  works
  json '.winners == []'
  sqlite3 cache.db "UPDATE winner SET variant = json_set(variant, '$.source_hash', '00000000000000000000000000000000') WHERE id = 1;
    UPDATE winner SET variant = json_set(variant, '$.configuration', 'gone:x=1', '$.family', 'gone') WHERE id = 2"
  gt list --stale --json
  works
  json '.winners | length == 2'
  gt list --stale
  works
  said "2 of 2 winners stale"
  gt list --stale --trials "$P"
  fails_with 2 "--stale"
}

@test "doctor tells of a cache that is not one, is damaged, or is not there" {
  echo "no database" >text.db
  cp text.db before
  gt doctor --cache text.db --json
  [ "$status" -eq 1 ]
  json '.worst == "failure" and (.findings | map(select(.level == "failure")) | length == 1 and (.[0].found | contains("text.db")))'
  cmp text.db before
  plain_recorded
  sqlite3 cache.db "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage = 3 WHERE name = 'trial'" 2>/dev/null
  gt doctor
  [ "$status" -eq 1 ]
  said "failure  cache"
  gt doctor --cache nowhere.db
  works
  said "nothing is tuned yet"
  [ ! -e nowhere.db ]
}

@test "doctor tells of the system's caches, of those that others may write to, and what to do without a place" {
  plain_recorded
  gathertune export --format bundle -o "system one.db"
  cp "system one.db" open.db
  chmod 666 open.db
  GATHERTUNE_SYSTEM_CACHE="$PWD/system one.db:$PWD/open.db:/missing.db" gt doctor --json
  works
  json '[.findings[] | select(.what == "system cache") | .found] | length == 2 and (.[0] | endswith("system one.db: 2 winners"))'
  json '[.findings[] | select(.what == "caches" and .level == "warning") | .found] | length == 2 and
    (.[0] | contains("open.db: its group or all others may write")) and .[1] == "/missing.db: there is no cache"'
  chmod 664 cache.db
  gt doctor --json
  works
  json '[.findings[] | select(.what == "caches") | .found] | length == 1 and (.[0] | contains("cache.db: its group may write"))'
  run --separate-stderr env -u HOME -u XDG_CACHE_HOME -u GATHERTUNE_CACHE "$GATHERTUNE" doctor
  [ "$status" -eq 1 ]
  said "no place for the cache"
  said "→ set one of them"
}

@test "show tells all that is kept of a problem, of every model, and where it comes from" {
  for name in "Imaginary X" "Imaginary Y"; do
    device_script "$name.json" <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "'"$name"'", "driver": "6.1"}, "hashed": [50, 200]}'
    gathertune tune "$P" --device "recorded:$name.json" --budget 3 >/dev/null 2>&1
  done
  gt show "$P" --json
  works
  json '(.entries | length == 2) and .problem == $p' --arg p "$P_CANONICAL"
  json '.entries[0] | (.model | contains("Imaginary X")) and .driver == "6.1" and .code_bytes > 0 and .trials >= 3 and .timed >= 3 and .variant.reproducible'
  [ "$(jq -r '.entries[0].host' <<<"$output")" = "$(hostname | cut -c 1-64)" ]
  gt show "$P" --model "imaginary y"
  works
  said "model          recorded / Imaginary Y"
  said "driver         6.1"
  said " on $(hostname | cut -c 1-64)"
  [[ $output != *"Imaginary X"* ]]
  gt show "${P/f32/f16}"
  fails_with 1 "f16" "is not tuned" "lookup"
  gt show "$P" --model H200
  fails_with 1 "H200"
  gt show "$P" "$P"
  fails_with 2 "one problem, not 2"
  gt show nonsense
  fails_with 2 "nonsense"
}

@test "doctor's advice for a cache that cannot be used is for what is wrong with it" {
  plain_recorded
  cp cache.db wal.db
  sqlite3 wal.db "PRAGMA journal_mode = WAL" >/dev/null
  cp cache.db newer.db
  sqlite3 newer.db "PRAGMA user_version = 9999"
  mkdir folder.db
  echo text >text.db
  for case in "wal.db run that command" "newer.db use a newer program" "folder.db change that" "text.db move the file away"; do
    gt doctor --cache "${case%% *}" --json
    [ "$status" -eq 1 ]
    json '.findings[] | select(.level == "failure") | .advice | startswith($advice)' --arg advice "${case#* }"
  done
  sqlite3 wal.db "PRAGMA journal_mode = DELETE" >/dev/null
  gt doctor --cache wal.db
  works
}
