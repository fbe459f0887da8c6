load helpers

@test "every back end is listed, with its devices or the reason why it has none" {
  gt devices
  works
  for backend in hip cuda opencl; do grep -qE "^$backend(:0  .|  none: .)" <<<"$output" || { show; return 1; }; done
}

@test "the device under test is listed with architecture, compute units, driver and compiler" {
  [[ $DEVICE == *:[0-9]* ]] || skip "$DEVICE is not a device that is listed"
  gt devices
  works
  grep -A 10 "^$DEVICE  " <<<"$output" >block
  for fact in architecture "compute units" driver compiler; do grep -q "^  $fact" block; done
}

@test "devices --json is JSON with a fingerprint for each device" {
  gt devices --json
  works
  json '.backends | map(.backend) == ["hip", "cuda", "opencl"]'
  json '.backends | all(.reason != null or (.devices | length > 0))'
  json '[.backends[].devices[] | select(.error == null) | .fingerprint.arch] | all(. != "")'
}

@test "a runtime without devices is a reason, not a failure" {
  OCL_ICD_VENDORS=$BATS_TEST_TMPDIR/none POCL_DEVICES= gt devices --json
  works
  json '.backends[] | select(.backend == "opencl") | .devices == [] and (.reason | length > 0)'
}

@test "a runtime that kills its process is a reason, and the other back ends are still listed" {
  command -v cc >/dev/null || skip "needs a C compiler"
  # Stands in for the OpenCL loader and dies when it is asked for anything.
  printf '#include <stdlib.h>\n__attribute__((constructor)) static void die(void) { abort(); }\n' >die.c
  cc -shared -fPIC -o libOpenCL.so.1 die.c
  LD_LIBRARY_PATH=$BATS_TEST_TMPDIR gt devices --json
  works
  json '.backends | length == 3'
  jq -e '.backends[] | select(.backend == "opencl") | .reason | test("crashed")' <<<"$output" ||
    jq -e '.backends[] | select(.backend == "opencl") | .reason | test("OpenCL")' <<<"$output" || # not in this build
    jq -e '.backends[] | select(.backend == "opencl") | .devices | length > 0' <<<"$output" # another path comes first
}

@test "tune --device all takes what is found, and checks on each device" {
  export GFX942_DEVICES=2 # of the emulated machine
  gt tune --device all --families direct --budget 1 $SHORT --json "$P" "${P/n=2/n=3}"
  works
  json '.problems | length >= 2 and all(.status == "OK" and .failed == 0 and .best_us > 0)'
  [[ $DEVICE == hip:0 && $GATHERTUNE == */gfx942/* ]] || return 0 # a real machine has what it has
  json '(.devices | map(.name)) == ["hip:0", "hip:1"] and (.devices | map(.problems)) == [1, 1]'
  json '(.devices | map(.fingerprint.pci_id) | unique | length) == 2'
  gathertune list --json | jq -e '.winners | length == 2' >/dev/null
}
