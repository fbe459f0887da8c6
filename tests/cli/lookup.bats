load helpers

tune_recorded() {
  device_script gpu.json <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary X"}, "hashed": [50, 200]}'
  gathertune tune "$P" --device recorded:gpu.json --budget 8 >/dev/null 2>&1
}

@test "without a cache the plan is the default, by rule" {
  gt lookup "$P" --model gfx942
  works
  said "default: nothing alike was tuned"
  said "taps:"
  gt lookup "$P" --device "$DEVICE" --json
  works
  json '.plan == "default" and .expected_us == null and (.launches | length > 0) and (.tuned | not)'
}

@test "a tuned problem is found exactly, with times, launches and the compiler" {
  tune_recorded
  gt lookup "$P" --device recorded:gpu.json
  works
  said "exact"
  said "launch "
  gt lookup "$P" --device recorded:gpu.json --json
  works
  json '.plan == "exact" and .tuned.problem == $p and .code_bytes > 0 and (.code_hash | length == 32)' --arg p "$P_CANONICAL"
  json '.launches[0].grid | length == 3 and all(. >= 1)'
}

@test "the session in the README has the lines that tune and lookup print" {
  tune_recorded
  gt lookup "$P" --device recorded:gpu.json
  works
  what() { cut -c 1-15 | sed 's/ *$//'; } # each line is about
  diff <(sed -n '/^\$ gathertune lookup/,/^```/p' "$ROOT/README.md" | sed '1d; $d' | what) <(what <<<"$output")
  said "$(grep -m 1 '^plan  ' "$ROOT/README.md")"
  gt tune "$P" --device recorded:gpu.json --budget 8
  works
  columns() { grep -m 1 '^problem  ' | sed 's/  */ /g'; }
  [ "$(sed -n '/^\$ gathertune tune/,$p' "$ROOT/README.md" | columns)" = "$(columns <<<"$output")" ]
  grep -qE '^Imaginary X \(recorded:gpu.json, gfx942, [0-9]+ compute units\), cold cache$' <<<"$output"
  grep -qE '^NVIDIA H200 \(cuda:0, sm_90, [0-9]+ compute units\), cold cache$' "$ROOT/README.md"
}

@test "another batch size takes the same kernels, with a grid of its own and a scaled time" {
  tune_recorded
  gt lookup "$P" --device recorded:gpu.json --json
  small=$output
  gt lookup "${P/n=2/n=2000}" --device recorded:gpu.json --json
  works
  json '.plan == "near" and .tuned.problem == $p' --arg p "$P_CANONICAL"
  json '(.expected_us - 1000 * .tuned.median_us | fabs) < 0.001'
  json '.launches[0].grid != $s.launches[0].grid' --argjson s "$small"
  gt lookup "${P/n=2/n=2000}" --device recorded:gpu.json
  said "near"
  said "about"
}

@test "sampling positions that are not tuned take the same kernels, tuned on others, and explain says so" {
  device_script gpu.json <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary X"}, "hashed": [50, 200]}'
  gathertune tune "$SAMPLER,grid=identity" --device recorded:gpu.json --families grid_scatter >/dev/null 2>&1
  gt lookup "$SAMPLER,grid=contended" --device recorded:gpu.json --json --emit code
  works
  json '.plan == "near" and .tuned.problem == $p' --arg p "$SAMPLER_CANONICAL,grid=identity"
  [ -s code ]
  gt lookup "$SAMPLER,grid=contended" --device recorded:gpu.json
  works
  said "the same kernels, tuned for $SAMPLER_CANONICAL,grid=identity"
  said "speed-up over grid_scatter"
  gt show "$SAMPLER,grid=identity"
  said "; grid_scatter "
  gathertune tune "$SAMPLER" --device recorded:gpu.json --families grid_scatter --cache all.db >/dev/null 2>&1
  gt explain "$SAMPLER" --cache all.db
  works
  said "all timed on every class, its largest regret is the least"
  gt list --cache all.db
  said "grid_scatter µs"
  gathertune tune "$P" --device recorded:gpu.json --budget 1 --cache all.db >/dev/null 2>&1
  gt list --cache all.db
  said "plain µs"
  gt explain "$SAMPLER,grid=contended" --device recorded:gpu.json
  works
  said "whose kernels are the same and which is tuned, as positions of this kind are not"
}

@test "what computes nothing, and what is only compared with, is not taken from problems alike" {
  device_script gpu.json <<'SCRIPT'
{"fingerprint": {"arch": "gfx942", "target": "hip"}, "hashed": [50, 200],
 "rules": [{"match": "grid_stream", "us": 1}, {"match": "scatter", "us": 2}]}
SCRIPT
  gathertune tune "$SAMPLER" --device recorded:gpu.json --families grid_scatter >/dev/null 2>&1
  gathertune tune "$P" --device recorded:gpu.json --families taps,scatter --budget 6 >/dev/null 2>&1
  gt lookup "${SAMPLER/out=7x8/out=7x9}" --device recorded:gpu.json --json
  works
  json '.plan == "near" and (.configuration | startswith("grid_stream") | not)'
  gt lookup "${P/out=12x10/out=12x11}" --device recorded:gpu.json --json
  works
  json '.plan == "near" and (.configuration | startswith("taps"))'
}

@test "another size takes the configuration that times of problems like it speak for" {
  tune_recorded
  gt lookup "${P/out=12x10/out=12x11}" --device recorded:gpu.json --json
  works
  json '.plan == "near" and .tuned.problem == $p and .distance > 0 and .predicted_regret > 0' --arg p "$P_CANONICAL"
  gt generate "${P/out=12x10/out=12x11}" --device recorded:gpu.json --config "$(jq -r .configuration <<<"$output")"
  works
  gt lookup "${P/out=12x10/out=12x11}" --device recorded:gpu.json
  said "near: a configuration of $P_CANONICAL"
}

@test "what is too unlike anything tuned gets the default by rule: the family that suits it" {
  tune_recorded
  for case in "taps $P,layout=nchw" "inner ${P/c=3/c=16},layout=nhwc" "march $OP:n=2,c=3,in=8x8,out=64x64,dtype=f32" \
    "reduce $OP:n=2,c=3,in=1x1,out=60x60,dtype=f32"; do
    gt lookup "${case#* }" --model gfx90a --json
    works
    json '.plan == "default" and (.configuration | startswith($f + ":"))' --arg f "${case%% *}"
  done
  gt lookup "${P/c=3/c=16},layout=nhwc" --device recorded:gpu.json --json
  json '.plan == "default"'
}

@test "another model of the same architecture and compute units lends what it has, and that is said" {
  tune_recorded
  device_script other.json <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary Y"}}'
  device_script fewer.json <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary Z", "compute_units": 8}}'
  gt lookup "$P" --device recorded:other.json
  works
  said "exact"
  said "borrowed from another model: recorded / Imaginary X"
  gt lookup "$P" --device recorded:fewer.json --json
  works
  json '.plan == "default"'
}

@test "system caches are looked into, the user's cache first; none of them is written" {
  tune_recorded
  mkdir system
  mv cache.db "system/a b?.db"
  chmod a-w system/* system
  export GATHERTUNE_SYSTEM_CACHE="$PWD/missing.db:$PWD/system/a b?.db"
  gt lookup "$P" --device recorded:gpu.json --json
  works
  json '.plan == "exact" and (.tuned.cache | endswith("a b?.db"))'
  [ "$(ls system | wc -l)" -eq 1 ]
  [ ! -e cache.db ]
  gathertune tune "$P" --device recorded:gpu.json --budget 3 >/dev/null 2>&1
  gt lookup "$P" --device recorded:gpu.json --json
  json '.plan == "exact" and (.tuned.cache | endswith("/cache.db"))'
  chmod u+w system
}

@test "--leave-one-out rates what near would have chosen against each problem's own trials" {
  for out in 12x10 12x11 13x10 14x10; do
    device_script gpu.json <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary X"}, "hashed": [50, 200]}'
    gathertune tune "${P/12x10/$out}" --device recorded:gpu.json --families taps --strategy random --seed 4 --budget 60 >/dev/null 2>&1
  done
  gt lookup --leave-one-out --model imaginary --json
  works
  json '.problems | length == 4'
  # Times follow from the configuration's text alone, so what is fast there is fast here.
  json '.percent_slower_than_best.near | .timed >= 1 and .median <= 10'
  json '.percent_slower_than_best.plain.timed == 4'
  gt lookup --leave-one-out --model imaginary
  works
  said "percent slower than the fastest trial"
  gt lookup --leave-one-out "$P"
  fails_with 2 "takes no problem"
  gt lookup --leave-one-out --model gfx90a
  fails_with 1 "nothing is tuned on gfx90a" '"recorded / Imaginary X / gfx942 / '
}

@test "--leave-one-out of a single problem claims no regret of what was not timed" {
  tune_recorded
  gt lookup --leave-one-out --model imaginary --json
  works
  json '.percent_slower_than_best.near == {timed: 0, median: null, worst_decile: null, worst: null}'
  gt lookup --leave-one-out --model imaginary
  works
  said "near     none of 1 was timed"
  rm cache.db
  gt lookup --leave-one-out --model gfx90a
  fails_with 1 "no problem that was tuned on gfx90a"
}

@test "a model can be looked up without its device" {
  tune_recorded
  gt lookup "$P" --model "imaginary x" --json
  works
  json '.plan == "exact"'
  gt lookup "$P" --model nonsense
  fails_with 2 "nonsense"
}

@test "--emit writes the code object that the hash is of" {
  tune_recorded
  gt lookup "$P" --device recorded:gpu.json --emit code.bin --json
  works
  json '.code_bytes == ($size | tonumber)' --arg size "$(stat -c %s code.bin)"
  gt lookup "$P" --device "$DEVICE" --emit default.bin # the default, compiled now
  works
  [ -s default.bin ]
  gt lookup "$P" --device recorded:gpu.json --emit /proc/nowhere/code.bin
  fails_with 1 "/proc/nowhere/code.bin"
}

@test "an empty problem has nothing to launch" {
  gt lookup "${P/n=2/n=0}" --model gfx942 --json
  works
  json '.plan == "empty"'
}

@test "list shows winners by model and lists trials with their outcomes" {
  tune_recorded
  gt list
  works
  said "Imaginary X"
  said "direct µs"
  said "$P_CANONICAL"
  said "1 winner, "
  gt list --json
  works
  json '.winners | length == 1'
  json '.trials >= 8'
  gt list --stale
  works
  said "none of 1 winner is stale"
  gt list --trials "$P"
  works
  said "outcome"
  gt list --trials "$P" --model imaginary --json
  works
  json '.trials | length >= 8 and all(.outcome == "ok")'
  gt list --trials "$P" --device recorded:gpu.json --json
  works
  json '.trials | length >= 8'
  gt list --trials "${P/f32/f64}"
  works
  said "no trials"
}

@test "list --json is JSON without a cache too" {
  gt list --json
  works
  json '.winners == [] and .trials == 0'
}
