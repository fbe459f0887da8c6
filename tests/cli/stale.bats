load helpers

OTHER=${P/f32/f64}
THIRD=${P/in=6x5,out=12x10/in=5x5,out=10x10}

# Templates as they might have been: every kernel of these families was another text, and there is a family that is gone.
old_templates() {
  cp -r "$ROOT/templates" old
  local family
  for family in taps direct; do echo "// as it was" >>"old/$family.kernel"; done
  cp old/taps.lua old/gone.lua
  cp old/taps.kernel old/gone.kernel
}

# tuned_then FAMILIES PROBLEM...: with those templates, on the scripted device.
tuned_then() {
  local families=$1
  shift
  [ -d old ] || old_templates
  plain_script gpu.json
  GATHERTUNE_TEMPLATES=old gathertune tune "$@" --device recorded:gpu.json --families "$families" --budget 2 >/dev/null 2>&1
}

winner() { sqlite3 cache.db "SELECT variant ->> 'configuration' FROM winner JOIN problem p ON p.id = problem WHERE p.text LIKE '%$1%'"; }

@test "tune takes the problems whose winners are stale first, and those winners before all else" {
  tuned_then taps "$OTHER" "$P"
  gathertune tune "$P" --device recorded:gpu.json --families taps --budget 2 >/dev/null 2>&1 # current now
  stale=$(winner f64)
  printf '%s\n' "$THIRD" "$P" "$OTHER" >suite.txt
  gt tune --suite suite.txt --device recorded:gpu.json --families taps --budget 3 --json
  works
  json '[.problems[].problem | contains("f64")] == [true, false, false]'
  json '.problems[0].stale == {configuration: $c, outcome: "ok"} and .problems[1].stale == null' --arg c "$stale"
  complained "1 of 3 problems have a stale winner"
  gt tune --suite suite.txt --device recorded:gpu.json --families taps --budget 3 --json
  works
  json 'all(.problems[]; .stale == null)'
}

@test "tune verifies a winner of another compiler, and tells it" {
  plain_script gpu.json
  gathertune tune "$P" --device recorded:gpu.json --families taps --budget 3 >/dev/null 2>&1
  device_script gpu.json <<<'{"fingerprint": {"compiler": "newer"}, "hashed": [50, 200]}'
  gt tune "$P" --device recorded:gpu.json --families taps --budget 3
  works
  said "was stale, and was tried first: ok"
  gt list --json
  json '.winners[0].compiler == "newer"'
}

@test "tune replaces a stale winner that is wrong now, or gone from the templates" {
  tuned_then taps "$P"
  stale=$(winner f32)
  device_script gpu.json <<<"{\"hashed\": [50, 200], \"rules\": [{\"match\": \"$stale\", \"action\": \"wrong\"}]}"
  gt tune "$P" --device recorded:gpu.json --families taps --budget 4 --json
  works
  json '.problems[0] | .stale.outcome == "wrong_result" and .configuration != $c' --arg c "$stale"
  rm cache.db
  tuned_then gone "$P"
  gt tune "$P" --device recorded:gpu.json --families taps --budget 4
  works
  said "the templates do not have it any more"
  [[ $(winner f32) == taps:* ]]
}

@test "tune verifies stale winners on a real device" {
  old_templates
  GATHERTUNE_TEMPLATES=old gathertune tune "$P" --device "$DEVICE" --families direct --budget 1 $SHORT >/dev/null 2>&1
  gt tune "$P" --device "$DEVICE" --families direct --budget 1 $SHORT --json
  works
  json '.problems[0] | .stale.outcome == "ok" and .stale.configuration == .configuration and .best_us > 0'
}
