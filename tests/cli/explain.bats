load helpers

tune_recorded() {
  device_script gpu.json <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary X"}, "hashed": [50, 200], "rules": [{"match": "block=64", "action": "compile_error"}]}'
  gathertune tune "$P" --device recorded:gpu.json --budget 30 >/dev/null 2>&1
}

@test "explain shows the candidates, their times and why the winner won" {
  tune_recorded
  gt explain "$P" --top 3
  works
  said "configuration  $(gathertune list --json | jq -r '.winners[0].configuration')"
  said "why "
  said "winner"
  said "bound"
  said "direct:"
  said "the templates render the same source today"
  said "candidates tried: "
  gt explain "$P" --json
  works
  json '.plan == "exact" and .borrowed_from == null and .templates == "current"'
  json '(.trials | map(select(.verdict == "winner")) | length == 1) and (.trials | map(select(.verdict == "winner"))[0].configuration) == .configuration'
  # Every candidate that is said to be slower is so by more than the winner's tie of 3 %.
  json '([.trials[] | select(.verdict == "winner" or .verdict == "tied") | .median_us] | min) as $best
    | [.trials[] | select(.verdict == "slower")] | length > 0 and all(.median_us > 1.03 * $best)'
  json '.failed == ([.trials[] | select(.verdict == "compile_error")] | length) and .failed > 0'
}

@test "explain tells what is borrowed from another batch size" {
  tune_recorded
  gt explain "${P/n=2/n=7}"
  works
  said "borrowed       from $P_CANONICAL"
  gt explain "${P/n=2/n=7}" --json
  works
  json '.plan == "near" and .borrowed_from == $p' --arg p "$P_CANONICAL"
}

@test "explain names the problem whose configuration is borrowed for another shape" {
  tune_recorded
  other=${P/in=6x5,out=12x10/in=8x6,out=16x12}
  gt lookup "$other" --device recorded:gpu.json --json
  works
  json '.plan == "near"'
  configuration=$(jq -r .configuration <<<"$output")
  gt explain "$other"
  works
  said "configuration  $configuration"
  said "borrowed       the configuration of $P_CANONICAL"
}

@test "explain tells that nothing is tuned" {
  tune_recorded
  other=adaptive_avg_pool3d_backward:n=1,c=1,in=4x4x4,out=2x2x2,dtype=f64
  gt explain "$other"
  works
  said "gathertune tune $other"
  gt explain "$other" --json
  works
  json '.plan == "default" and .trials == []'
  gt explain "$P" --cache nowhere.db
  fails_with 1 "nowhere.db"
  gt explain "$P" --model nonsense
  fails_with 2 "nonsense"
  gt explain
  fails_with 2 "one problem"
}

@test "explain tells of a winner whose template has changed, and of one whose trials are gone" {
  tune_recorded
  sqlite3 cache.db "UPDATE winner SET variant = json_set(variant, '$.source_hash', '00000000000000000000000000000000')"
  gt explain "$P"
  works
  said "stale: a template has changed"
  sqlite3 cache.db "DELETE FROM trial"
  gt explain "$P"
  works
  said "its trials are not in this cache"
}

@test "explain tells the times on every class of positions of a problem that was tuned for all" {
  device_script gpu.json <<<'{"hashed": [50, 200]}'
  gathertune tune "$SAMPLER" --device recorded:gpu.json --budget 6 >/dev/null 2>&1
  gt explain "$SAMPLER"
  works
  said "its largest regret is the least: 1.00 times the fastest, on identity positions"
  for class in identity smooth random contended; do [[ $output =~ $'\n'"$class "[^$'\n']*"1.00  grid_" ]] || { show; return 1; }; done
  gt explain "$SAMPLER" --json
  json '.trials == [] and (.classes | map(.positions) == ["identity", "smooth", "random", "contended"])'
  json '.configuration as $c | .median_us as $us | .classes | all(.best == $c and .median_us == $us and .best_us == $us)'
  gt explain "$SAMPLER,grid=smooth" --json
  json '.classes == null and (.trials | length > 2)'
  # Of a file: no trial is kept.
  python3 - <<'PYTHON'
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 7, 8, 2), }"
header += " " * (63 - (10 + len(header)) % 64) + "\n"
open("positions.npy", "wb").write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(2 * 7 * 8 * 2 * 4))
PYTHON
  rm cache.db
  gathertune tune "$SAMPLER" --device "$DEVICE" --budget 1 $SHORT --grid-file positions.npy >/dev/null 2>&1
  gt explain "$SAMPLER"
  works
  said "or tuned with the positions of a file"
}
