load helpers

# Two machines with the same imaginary GPU, whose times differ: $1 is the cache, $2 the program's microseconds.
tuned_on() {
  device_script "$1.json" <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary X"}, "hashed": ['"$2"']}'
  gathertune tune "$P" "${P/f32/f16}" --device "recorded:$1.json" --budget 6 --cache "$1.db" >/dev/null 2>&1
}

@test "what is exported as JSON comes back whole by import" {
  tuned_on a "50, 200"
  gt export --cache a.db -o one.json --json
  works
  json '.winners == 2 and .trials >= 12 and .output == "one.json"'
  gt import one.json --cache b.db --json
  works
  json '.new_winners == 2 and .refused_winners == 0 and .stale_winners == 0 and .conflicts == []'
  gathertune export --cache b.db >b.json
  cmp one.json b.json
  [ "$(jq -r '.winners[0].host' b.json)" = "$(hostname | cut -c 1-64)" ]
  gt import one.json --cache b.db --json # a second time changes nothing
  works
  json '.new_winners == 0 and .replaced_winners == 0 and .new_trials == 0 and .replaced_trials == 0'
}

@test "an imported winner is looked up with its code object" {
  tuned_on a "50, 200"
  gathertune export --cache a.db >out.json
  gathertune import out.json --cache b.db
  gt lookup "$P" --device recorded:a.json --cache a.db --json --emit a.code
  works
  expected=$output
  gt lookup "$P" --device recorded:a.json --cache b.db --json --emit b.code
  works
  [ "$output" = "$expected" ]
  cmp a.code b.code
}

@test "export has filters: model, operator, suite" {
  tuned_on a "50, 200"
  gt export --cache a.db --no-trials --no-code --model "imaginary x" --operator "$OP"
  works
  json '(.winners | length == 2) and .trials == [] and .code == {} and .winners[0].code == null'
  echo "${P/f32/f16} # half" >suite.txt
  gt export --cache a.db --suite suite.txt
  works
  json '(.winners | length == 1) and (.winners[0].problem | contains("f16")) and (.trials | all(.problem | contains("f16")))'
  gt export --cache a.db --model H200
  fails_with 1 "nothing to export"
  gt export --cache a.db --operator nonsense
  fails_with 2 "nonsense"
  gt export --cache a.db --suite nowhere.txt
  fails_with 2 "nowhere.txt"
  gt export --cache a.db --format nonsense
  fails_with 2 "nonsense" "json"
  gt export --cache nowhere.db
  fails_with 1 "nowhere.db"
  gt export --cache a.db -o /proc/nowhere/x
  fails_with 1 "/proc/nowhere/x"
}

@test "merge decides between winners by their times, tells so, and gives the same in any order" {
  tuned_on a "50, 200"
  tuned_on b "20, 90"
  sqlite3 b.db "UPDATE device SET pci_id = '0000:99:00.0'" # another device of the model
  gt merge a.db b.db --into dry.db --dry-run --json
  works
  json '.dry_run and .new_winners == 2'
  [ ! -e dry.db ]
  gt merge a.db b.db --into ab.db --json
  works
  json '.conflicts | all(.kept.from == "b.db" and .kept.median_us < .dropped.median_us)'
  gt merge b.db --into ba.db
  works
  gt merge a.db --into ba.db
  works
  gathertune export --cache ab.db >ab.out
  gathertune export --cache ba.db >ba.out
  cmp ab.out ba.out
  jq -e '(.winners | all(.median_us < 90)) and (.devices | length == 2)' ab.out
}

@test "a dry run changes no byte of the cache" {
  tuned_on a "50, 200"
  tuned_on b "20, 90"
  cp a.db before
  gt merge b.db --into a.db --dry-run
  works
  said "nothing was written"
  cmp a.db before
}

@test "merge reports winners that differ, with their intervals" {
  tuned_on a "50, 200"
  # Another machine found another configuration, ten times as fast.
  other=$(gathertune list --cache a.db --trials "$P" --json | jq -r '[.trials[] | select(.configuration | startswith("direct") or startswith("taps")) | .configuration]')
  gathertune export --cache a.db | jq --argjson all "$other" '
    .winners[0] |= (.variant.configuration as $own | .median_us = 5 | .spread_us = 0.1 | .code = null
      | .variant.configuration = ([$all[] | select(. != $own)][0])
      | .variant.family = (.variant.configuration | split(":")[0]) | .variant.source_hash = "00000000000000000000000000000000")
    | .winners = [.winners[0]] | .trials = []' >other.out
  gt import other.out --cache a.db
  works
  said "winners that differ"
  said "clearly slower"
  said "4.80 … 5.20"
  said "stale, since the templates have changed: 1 winners"
}

@test "import leaves out what is not in the search space, and says so" {
  tuned_on a "50, 200"
  gathertune export --cache a.db | jq '.winners[0].variant |= (.configuration = "direct:block=7,acc=float" | .family = "direct")
    | .trials[0].configuration = "nonsense:x=1"' >odd.json
  gt import odd.json --cache b.db --json
  works
  json '.refused_winners == 1 and .refused_trials == 1 and .new_winners == 1'
  gt import odd.json --cache c.db
  works
  said "left out"
  said "block=7"
}

@test "import takes a file whole or not at all, and makes no cache for a bad one" {
  tuned_on a "50, 200"
  tuned_on b "20, 90"
  gathertune export --cache b.db >good.json
  size=$(stat -c %s good.json)
  head -c $((size / 2)) good.json >cut.json
  jq '.code |= with_entries(.value = "AAAA")' good.json >code.json
  jq '.winners[1].median_us = -1' good.json >time.json
  jq '.winners[0].variant.launches[0].blocks[0] = 1000000' good.json >launch.json
  jq '.version = 2' good.json >newer.json
  cp a.db before
  for bad in cut code time launch newer; do
    gt import good.json "$bad.json" --cache a.db
    [ "$status" -ne 0 ]
    fails_with "$status" "$bad.json"
    cmp a.db before
    gt import "$bad.json" --cache new.db
    [ "$status" -ne 0 ]
    [ ! -e new.db ]
  done
  gt import nowhere.json --cache a.db
  fails_with 1 "nowhere.json"
  gt import --cache a.db
  fails_with 2 "a file is needed"
  gt merge a.db
  fails_with 2 "--into"
  gt merge a.db nowhere.db --into new.db
  fails_with 1 "nowhere.db"
  [ ! -e new.db ]
}

@test "a cache that an older version made, without names of machines, is exported and merged" {
  tuned_on a "50, 200"
  sqlite3 a.db "DROP TABLE origin"
  gt export --cache a.db
  works
  json '.winners | all(.host == "")'
  gt merge a.db --into b.db
  works
  gathertune export --cache a.db >a.out
  gathertune export --cache b.db | cmp - a.out
}
