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

@test "lookup, list --stale, explain and doctor tell of a changed template, and that nothing was checked yet" {
  tuned_then taps "$P" "$OTHER"
  gt lookup "$P" --device recorded:gpu.json --json
  works
  json '.plan == "exact" and .stale == "its template has changed"'
  gt lookup "$P" --device recorded:gpu.json
  said "stale          its template has changed"
  gt list --stale --json
  works
  json '.winners | length == 2 and all(.stale == "template" and .check == null and .code_bytes > 0)'
  gt list --stale
  said "not yet"
  said "2 of 2 winners stale"
  gt explain "$P"
  works
  said "stale: a template has changed"
  said "checked        not yet"
  gt doctor --json
  json '[.findings[] | select(.what == "stale")] | length == 1'
}

@test "list --stale, explain and lookup tell of another compiler where the device is named" {
  plain_script gpu.json
  gathertune tune "$P" --device recorded:gpu.json --families taps --budget 2 >/dev/null 2>&1
  device_script gpu.json <<<'{"fingerprint": {"compiler": "newer"}, "hashed": [50, 200]}'
  gt list --stale --json
  json '.winners == []'
  gt list --stale --device recorded:gpu.json --json
  works
  json '.winners | length == 1 and .[0].stale == "compiler"'
  gt explain "$P" --device recorded:gpu.json
  works
  said "stale: the device's is newer now"
  gt explain "$P" --device recorded:gpu.json --json
  json '.present_compiler == "newer" and .check == null'
  gt lookup "$P" --device recorded:gpu.json --json
  json '.stale == "the compiler has changed"'
  gt list --stale --model x
  fails_with 2 "--trials"
}

@test "a failed check is told by list --stale, explain and doctor, until the problem is tuned again" {
  tuned_then taps "$P"
  device_script gpu.json <<<'{"hashed": [50, 200], "rules": [{"match": "taps:", "action": "wrong"}, {"match": "direct:", "action": "wrong"}]}'
  gt tune "$P" --device recorded:gpu.json --families taps --budget 1 --json # nothing is right
  [ "$status" -eq 1 ]
  gt list --stale --json
  json '.winners | length == 1 and (.[0].check | .outcome == "wrong_result" and (.message | length > 0) and .compiler == "recorded")'
  gt list --stale
  said "wrong_result"
  said "1 failed the check since"
  gt explain "$P" --json
  json '.check.outcome == "wrong_result"'
  gt explain "$P"
  said "programs that may compile get the next best"
  gt doctor --json
  json '.worst == "warning" and ([.findings[] | select(.what == "checks" and .level == "warning")] | length == 1)'
  plain_script gpu.json
  gathertune tune "$P" --device recorded:gpu.json --families taps --budget 4 --retry >/dev/null 2>&1
  gt list --stale --json
  json '.winners == []'
  gt doctor --json
  json '[.findings[] | select(.what == "checks")] == []'
}

@test "a stale winner is stale still after export, import and merge, and in a bundle" {
  tuned_then taps "$P"
  configuration=$(winner f32)
  stale_in() {
    gt list --stale --cache "$1" --json
    works
    json '.winners | length == 1 and .[0].stale == "template" and .[0].configuration == $c and .[0].code_bytes > 0' --arg c "$configuration"
  }
  gathertune export --cache cache.db >exported.json
  gt import exported.json --cache imported.db
  works
  said "stale, since the templates have changed: 1 winner and "
  stale_in imported.db
  gt merge imported.db cache.db --into merged.db
  works
  stale_in merged.db
  gathertune export --cache merged.db --format bundle -o bundle.db
  stale_in bundle.db
  # And what is served of it is what was tuned.
  gathertune lookup "$P" --device recorded:gpu.json --cache merged.db --emit merged.code >/dev/null
  gathertune lookup "$P" --device recorded:gpu.json --emit tuned.code >/dev/null
  cmp merged.code tuned.code
  # With the templates that it was tuned with it is none of that.
  gt_old=$(GATHERTUNE_TEMPLATES=old gathertune list --stale --cache merged.db --json 2>/dev/null | jq '.winners | length')
  [ "$gt_old" -eq 0 ]
}
