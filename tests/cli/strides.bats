# Gradients that are slices of a larger tensor.

load helpers

SLICE=$OP:n=2,c=3,in=6x5,out=12x10,dtype=f32,layout=nchw,stride=840x120x10x1,align_corners=0 # 3 of 7 channels
SPACED=$OP:n=2,c=3,in=6x5,out=12x10,dtype=f32,layout=nchw,stride=423x141x11x1,align_corners=0 # gaps after rows and channels

@test "a strided problem is tuned, found again and listed; the dense one is another" {
  gt tune "$SLICE" --device "$DEVICE" --families direct,taps,scatter --budget 6 --json $SHORT
  works
  json '.problems[0] | .best_us > 0 and .stream_us > 0 and .failed == 0 and .problem == $p' --arg p "$SLICE"
  gt lookup "$SLICE" --device "$DEVICE" --json
  works
  json '.plan == "exact"'
  gt list
  works
  said "stride=840x120x10x1"
  gt lookup "$P" --device "$DEVICE" --json
  works
  json '.plan == "near" and .distance > 0' # its configuration, in kernels of its own
}

@test "a strided problem's kernel serves other batches, and other channels where slices are evenly spaced" {
  plain_script gpu.json
  gathertune tune "$SLICE" "$SPACED" --device recorded:gpu.json --budget 4 >/dev/null 2>&1
  gt lookup "${SLICE/n=2/n=5}" --device recorded:gpu.json --json
  works
  json '.plan == "near" and .tuned.problem == $p' --arg p "$SLICE"
  json '.distance | not' # the very same kernels
  gt lookup "${SLICE/c=3/c=4}" --device recorded:gpu.json --json
  works
  json '.distance > 0'
  other=${SPACED/c=3/c=7}
  gt lookup "${other/423/987}" --device recorded:gpu.json --json
  works
  json '.plan == "near" and .tuned.problem == $p' --arg p "$SPACED"
}

@test "strides that do not fit are told with exit code 2" {
  gt tune "${P},stride=360x120x9x1"
  fails_with 2 "stride" "row stride of 9" "at least 10"
  gt lookup "${P},stride=360x120x10"
  fails_with 2 "stride" "4 strides"
}

# Makes cases.jsonl of the cases that a jq condition selects; cases.bin has all arrays.
cases() {
  jq -c "select($1)" "$ROOT/tests/oracle/open.jsonl" >cases.jsonl
  cp "$ROOT/tests/oracle/open.bin" cases.bin
}

@test "oracle cases pass with gaps in their gradients" {
  cases '.id == "open-002" or .id == "open-031"'
  gt verify --cases cases.jsonl --device "$DEVICE" --configurations 2 --gap 3 --json
  works
  json '.passed >= 12 and .failed == 0'
}

@test "a failure with gaps is repeated with gaps" {
  cases '.id == "open-000"'
  jq -c '.expect.grad_input.offset = 7376' cases.jsonl >spoilt.jsonl # the results of another case
  cp cases.bin spoilt.bin
  gt verify --cases spoilt.jsonl --device "$DEVICE" --family direct --layout nchw --configurations 1 --gap 2
  [ "$status" -eq 1 ]
  complained "--gap 2"
  again
  [ "${lines[-1]}" = "0 passed, 1 failed, 0 skipped" ]
}

@test "a gap that is too long is told with exit code 2" {
  gt verify --cases cases.jsonl --gap 1025
  fails_with 2 "--gap" "1024"
}
