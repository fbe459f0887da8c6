load helpers

ORACLE=$ROOT/tests/oracle

# Makes cases.jsonl of the cases that a jq condition selects; cases.bin has all arrays.
cases() {
  jq -c "select($1)" "$ORACLE/open.jsonl" >cases.jsonl
  cp "$ORACLE/open.bin" cases.bin
}

@test "oracle cases pass on the device" {
  cases '.id == "open-000" or .id == "open-001"'
  gt verify --cases cases.jsonl --device "$DEVICE" --family direct --configurations 2
  works
  [[ ${lines[-1]} =~ ^[0-9]+\ passed,\ 0\ failed,\ 0\ skipped$ ]] || { show; false; }
  [[ ${lines[-1]} != "0 passed"* ]]
}

@test "every family but the bound is tried, in both layouts" {
  cases '.id == "open-002"'
  gt verify --cases cases.jsonl --device "$DEVICE" --configurations 2 --json
  works
  json '.passed >= 8 and .failed == 0 and .failures == []'
}

@test "operators that are not known are skipped with the reason" {
  cases '.op == "grid_sampler_2d_backward"'
  sed -i 's/grid_sampler_2d_backward/grid_sampler_4d_backward/' cases.jsonl
  gt verify --cases cases.jsonl --device "$DEVICE"
  works
  [ "${lines[-1]}" = "0 passed, 0 failed, 18 skipped" ]
  said "skipped 18: "
  said "grid_sampler_4d_backward"
}

@test "a wrong result is a line that reproduces it, and exit code 1" {
  cases '.id == "open-000"'
  # The expected values are read from where the gradients of another case lie.
  jq -c '.expect.grad_input.offset = 7376' cases.jsonl >spoilt.jsonl
  cp cases.bin spoilt.bin
  gt verify --cases spoilt.jsonl --device "$DEVICE" --family direct --layout nchw --configurations 2
  [ "$status" -eq 1 ]
  [[ ${lines[-1]} =~ ^0\ passed,\ [12]\ failed,\ 0\ skipped$ ]] || { show; false; }
  complained "gathertune: case open-000, nchw, direct:"
  again
  [ "$status" -eq 1 ]
  [ "${lines[-1]}" = "0 passed, 1 failed, 0 skipped" ]
}

@test "a malformed case is told with file and line, and exit code 2" {
  cases '.id == "open-000"'
  for spoil in '.args.input_size = [1,1,4]' '.dtype = "f17"' '.expect.grad_input.offset = 99999999999' '.expect.grad_input.offset = -4' \
    '.inputs.grad_output.shape = [1,1,4,8]' '.inputs.grad_output.type = "i8"' 'del(.id)' 'del(.inputs)' '.args.scales = [1]' \
    '.args.align_corners = "no"' '.args.input_size = [1,1,0,7]' '.args.input_size[2] = 1e99'; do
    { cat cases.jsonl; jq -c "$spoil" cases.jsonl; } >bad.jsonl
    cp cases.bin bad.bin
    gt verify --cases bad.jsonl --device "$DEVICE"
    fails_with 2 "bad.jsonl:2: " || { echo "spoilt by: $spoil"; false; }
  done
  echo '{"id": ' >bad.jsonl
  gt verify --cases bad.jsonl --device "$DEVICE"
  fails_with 2 "bad.jsonl:1: "
}

@test "files that are missing are one line and exit code 2" {
  gt verify --cases nowhere.jsonl
  fails_with 2 "nowhere.jsonl"
  cases '.id == "open-000"'
  rm cases.bin
  gt verify --cases cases.jsonl
  fails_with 2 "cases.bin"
  gt verify
  fails_with 2 "--cases"
}

@test "a case that is not there, an unknown layout and a device that computes nothing are refused" {
  cases '.id == "open-000"'
  gt verify --cases cases.jsonl --layout nwhc
  fails_with 2 "nwhc"
  plain_script gpu.json
  gt verify --cases cases.jsonl --device recorded:gpu.json
  fails_with 1 "recorded:gpu.json"
  gt verify --cases cases.jsonl --device "$DEVICE" --case open-777
  [ "$status" -eq 2 ]
  complained "open-777"
}

@test "options of verify that would be without effect are refused" {
  cases '.id == "open-000"'
  gt verify --cases cases.jsonl --config direct:block=64,acc=float --configurations 3
  fails_with 2 "--configurations"
  gt verify --cases cases.jsonl --case open-000 --every 2
  fails_with 2 "--every"
  for bound in "--family stream" "--config stream:loads=1"; do
    gt verify --cases cases.jsonl $bound
    fails_with 2 "stream computes nothing"
  done
}

@test "verify takes each N-th case only where it is asked to" {
  gt verify --cases "$ROOT/tests/oracle/open.jsonl" --device "$DEVICE" --family direct --configurations 1 --layout nchw --every 75
  works
  [[ ${lines[-1]} == "2 passed, 0 failed, 0 skipped" ]] || [[ ${lines[-1]} == "1 passed, 0 failed, 1 skipped" ]]
  gt verify --cases "$ROOT/tests/oracle/open.jsonl" --device "$DEVICE" --every 0
  fails_with 2 "--every" "1 and more"
}
