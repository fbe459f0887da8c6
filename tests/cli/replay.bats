load helpers

RECORDED=$ROOT/tests/replay
TINY=$ROOT/tests/golden/replay-tiny.json

# A tuning cache with every trial of a small space, on an imaginary GPU.
make_cache() {
  plain_script device.json
  gt tune --device recorded:device.json --families direct,taps "$@"
  works
}

@test "the replay of a tiny space prints what it printed before" {
  gt replay --strategy exhaustive,random --seeds 4 "$TINY"
  works
  [ "${GOLDEN_UPDATE:-}" ] && echo "$output" >"$ROOT/tests/golden/replay-tiny.txt"
  [[ $(gathertune replay --strategy random --seeds 1 "$TINY" | tail -n 1) == random* ]] # and no empty line
  diff <(echo "$output") "$ROOT/tests/golden/replay-tiny.txt"
}

@test "--json has what the table has" {
  gt replay --strategy exhaustive --seeds 1 --json "$TINY"
  works
  json '.seeds == 1 and .ahead == 1 and (.spaces | length) == 1'
  json '.spaces[0] | .space == "replay-tiny.json" and .configurations == 6 and .failed == 2 and .optimum == 1 and .median == 2.5'
  json '.spaces[0].strategies[0] | .strategy == "exhaustive" and (.of_optimum | length) == 5 and .of_optimum[0].median == 1'
  json '.mean_score.exhaustive == .spaces[0].strategies[0].score'
}

@test "the same replay gives the same numbers, also when it looks ahead" {
  gt replay --strategy bayes,descent --seeds 3 --json "$RECORDED/convolution_MI250X.json.gz"
  works
  local first=$output
  gt replay --strategy bayes,descent --seeds 3 --json "$RECORDED/convolution_MI250X.json.gz"
  [ "$output" = "$first" ]
  gt replay --strategy bayes --seeds 1 --ahead 16 --json "$RECORDED/convolution_MI250X.json.gz"
  works
  json '.spaces[0].strategies[0].of_optimum[4].median > 0.5'
}

@test "on recorded spaces of an MI250X the default strategy scores above 0.55, and random search about 0" {
  [[ $DEVICE == opencl:* ]] || skip "it needs no device, and ran for OpenCL"
  gt replay --strategy bayes,random --seeds 6 --json "$RECORDED"/*.json.gz
  works
  json '.mean_score.bayes > 0.55 and .mean_score.random > -0.4 and .mean_score.random < 0.4'
  json 'all(.spaces[].strategies[0].of_optimum[3]; .median > 0.95)'
}

@test "a tuning cache is replayed, every problem with enough trials" {
  make_cache "$P" "${P/n=2/n=3}"
  gt replay --seeds 2 --least 5 --json "$GATHERTUNE_CACHE"
  works
  json --arg p "$P_CANONICAL" '.spaces | length == 2 and (map(.space) | index($p)) != null and all(.[]; .informed)'
  # Bounds are no part of a search.
  local tried
  tried=$(gathertune list --trials "$P" --json | jq '[.. | .configuration? // empty | select(startswith("stream") | not)] | length')
  json --arg p "$P_CANONICAL" --argjson n "$tried" '.spaces[] | select(.space == $p) | .configurations == $n'
  gt replay --seeds 2 --least 5 --alone --json "$GATHERTUNE_CACHE"
  works
  json 'all(.spaces[]; .informed | not)'
}

@test "problems with few trials are left out, and it is said" {
  make_cache "$P"
  gt replay --seeds 1 --least 100000 "$GATHERTUNE_CACHE"
  fails_with 1 "no problem has 100000 trials or more" "--least"
}

@test "what is no recorded space is refused in one line that names the file" {
  gt replay nothing.json
  fails_with 1 "nothing.json" "No such file"
  echo 'no JSON' >bad.json
  gt replay bad.json
  fails_with 2 "bad.json" "does not begin with {"
  head -c 3000 "$RECORDED/convolution_MI250X.json.gz" >cut.json.gz
  gt replay cut.json.gz
  fails_with 2 "cut.json.gz" "result "
  echo 'SQLite format 3' >cut.db
  gt replay cut.db
  [ "$status" -eq 1 ] || [ "$status" -eq 2 ]
  fails_with "$status" "cut.db"
  jq '.results[1].configuration = {"x": 1}' "$TINY" >mixed.json
  gt replay mixed.json
  fails_with 2 "mixed.json: result 2: not the parameters of the results before it"
  jq '.results[].invalidity = "runtime"' "$TINY" >failed.json
  gt replay failed.json
  fails_with 2 "failed.json: no result is correct"
}

@test "bad options of replay are refused" {
  gt replay
  fails_with 2 "a file is needed"
  gt replay --strategy genetic "$TINY"
  fails_with 2 "unknown strategy 'genetic'" "bayes"
  gt replay --strategy , "$TINY"
  fails_with 2 "names no strategy"
  gt replay --seeds 0 "$TINY"
  fails_with 2 "--seeds"
  gt replay --ahead 100000 "$TINY"
  fails_with 2 "--ahead"
}

@test "tune takes a strategy, and refuses an unknown one before anything runs" {
  plain_script device.json
  gt tune --device recorded:device.json --strategy genetic "$P"
  fails_with 2 "unknown strategy 'genetic'"
  for strategy in exhaustive random descent bayes; do
    rm -f "$GATHERTUNE_CACHE"
    gt tune --device recorded:device.json --strategy "$strategy" --budget 20 --json "$P"
    works
    json '.problems[0] | .tried == 20 and .cached == 0 and .configuration != null'
  done
}

@test "a second run goes on from the first one's trials, whatever the strategy" {
  plain_script device.json
  for strategy in random descent bayes; do
    rm -f "$GATHERTUNE_CACHE"
    gt tune --device recorded:device.json --strategy "$strategy" --budget 15 --json "$P"
    works
    gt tune --device recorded:device.json --strategy "$strategy" --budget 15 --seed 9 --json "$P"
    works
    json '.problems[0] | .tried == 15 and .cached == 15'
    gt tune --device recorded:device.json --strategy "$strategy" --budget 25 --json "$P"
    works
    json '.problems[0] | .tried == 25 and .cached == 15'
  done
}

@test "a problem's first trials have the fastest of its nearest neighbour" {
  plain_script device.json
  gt tune --device recorded:device.json --families taps "$P"
  works
  gt tune --device recorded:device.json --families taps --strategy bayes --budget 2 --json "${P/c=3/c=4}"
  works
  json '.problems[0].tried == 2'
  local fastest
  fastest=$(sqlite3 "$GATHERTUNE_CACHE" "SELECT configuration FROM trial t JOIN problem p ON p.id = t.problem
    WHERE p.text = '$P_CANONICAL' AND configuration LIKE 'taps:%' AND outcome = 'ok' ORDER BY median_us LIMIT 1")
  [ -n "$fastest" ]
  sqlite3 "$GATHERTUNE_CACHE" "SELECT configuration FROM trial t JOIN problem p ON p.id = t.problem
    WHERE p.text LIKE '%c=4%'" | grep -qxF "$fastest"
}
