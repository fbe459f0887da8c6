load helpers

tune_recorded() {
  device_script gpu.json <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary X"}, "hashed": [50, 200]}'
  gathertune tune "$P" --device recorded:gpu.json --budget 8 >/dev/null 2>&1
}

@test "without a cache the plan is the default, by rule" {
  gt lookup "$P" --model gfx942
  works
  said "default: not tuned"
  said "direct:"
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

@test "another size is not near" {
  tune_recorded
  gt lookup "${P/out=12x10/out=12x11}" --device recorded:gpu.json --json
  works
  json '.plan == "default"'
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
  said "$P_CANONICAL"
  said "1 winner, "
  gt list --json
  works
  json '.winners | length == 1'
  json '.trials >= 8'
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
