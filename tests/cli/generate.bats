load helpers

@test "source is generated for HIP, CUDA and OpenCL with no device" {
  gt generate "$P" --family direct
  works
  said "__global__"
  gt generate "$P" --family direct --arch sm_90
  works
  said "__global__"
  gt generate "$P" --family direct --target opencl
  works
  said "__kernel"
}

@test "a source says its problem and configuration" {
  gt generate "$P" --family taps
  works
  said "// problem: $OP"
  said "// configuration: taps:"
}

@test "what --emit space lists can be generated" {
  gt generate "$P" --family direct --emit space
  works
  complained "configurations of direct"
  config=${lines[-1]}
  gt generate "$P" --config "$config"
  works
  said "// configuration: $config"
  gt generate "$P" --config "$config" --emit space
  fails_with 2 "--emit space" "--config"
  gt generate "$P" --family direct --emit space --json
  works
  json '.configurations | length > 0 and all(startswith("direct:"))'
}

@test "axes of millions of positions have their kernels, and are told at once why they have not" {
  long=upsample_linear1d_backward:n=1,c=2,dtype=f32
  gt generate "$long,in=1000000,out=2000000" --family taps
  works
  said "gt_taps"
  for sizes in in=1000003,out=1700005 in=1700005,out=1000003 in=4000037,out=8000009; do
    for family in taps inner tile ring twopass reduce march; do
      gt generate "$long,$sizes" --family $family
      [[ $stderr != *instructions* ]]
      fails_with 1 "$family"
    done
    gt generate "$long,$sizes" --family direct
    works
  done
  gt generate avg_pool2d_backward:n=1,c=2,in=1x1000003,out=1x500001,dtype=f32,kernel=1x2 --family taps # strides are whole though sizes are odd
  works
  device_script odd.json <<<'{"fingerprint": {"arch": "gfx942", "target": "hip"}}'
  gt tune "$long,in=1000003,out=1700005" --device recorded:odd.json --budget 4 --json
  works
  json '.problems[0] | .status == "OK" and (.configuration | startswith("direct:"))'
}

@test "--json tells the variant, and -o writes the source" {
  gt generate "$P" --family direct --json -o kernel.hip
  works
  json '.source | length > 0'
  json '.variant.configuration | startswith("direct:")'
  jq -j .source <<<"$output" | cmp - kernel.hip
}

@test "an object is compiled in a process of its own" {
  case $DEVICE in
  opencl*) gt generate "$P" --family direct --target opencl --emit object -o kernel.o ;;
  *) gt generate "$P" --family direct --device "$DEVICE" --emit object -o kernel.o ;;
  esac
  works
  [ -s kernel.o ]
}

@test "an object for an architecture without its compiler says what is missing" {
  gt generate "$P" --family direct --arch sm_90 --emit object -o kernel.o
  [ "$status" -ne 0 ] || skip "NVRTC is here"
  [ "$status" -eq 1 ]
  [ ! -e kernel.o ]
  grep -qiE '^gathertune: .*(nvrtc|cuda)' <<<"$stderr"
}

@test "an unknown architecture, target or thing to emit is one line and exit code 2" {
  gt generate "$P" --family direct --arch gfx9999
  fails_with 2 "gfx9999" "gfx942"
  gt generate "$P" --family direct --arch gfx9999 --emit object
  fails_with 2 "gfx9999"
  gt generate "$P" --family direct --target metal
  fails_with 2 "metal"
  gt generate "$P" --family direct --emit poetry
  fails_with 2 "poetry"
  gt generate "$P" --family direct --target cuda --arch gfx942
  fails_with 2 "gfx942" "cuda"
  gt generate "$P"
  fails_with 2 "--config" "--family"
}

@test "a bad configuration is one line and exit code 2" {
  gt generate "$P" --config bogus:a=1
  fails_with 2 "bogus"
  gt generate "$P" --config direct:bogus=1
  fails_with 2 "bogus"
  gt generate "$P" --config direct:
  fails_with 2 "direct"
}

@test "a family that cannot do a problem says why" {
  gt generate "$P" --family inner # one input per inner position: made for channels-last
  fails_with 1
}

@test "templates can come from a folder, which is said" {
  cp -r "$ROOT/templates" mine
  GATHERTUNE_TEMPLATES=$PWD/mine gt generate "$P" --family direct
  works
  [ "$stderr" = "gathertune: templates from $PWD/mine" ]
}

@test "an error in a template is told with file and line" {
  cp -r "$ROOT/templates" mine
  echo 'this is not Lua' >>mine/direct.lua
  GATHERTUNE_TEMPLATES=$PWD/mine gt generate "$P" --family direct
  [ "$status" -eq 1 ]
  [[ ${stderr_lines[-1]} =~ ^gathertune:\ .*direct\.lua:[0-9]+ ]] || { show; false; }
}

@test "a folder without templates is refused" {
  mkdir none
  GATHERTUNE_TEMPLATES=$PWD/none gt generate "$P" --family direct
  [ "$status" -ne 0 ]
  GATHERTUNE_TEMPLATES=$PWD/nowhere gt generate "$P" --family direct
  [ "$status" -ne 0 ]
  complained "nowhere"
}

@test "an output that cannot be written is one line and exit code 1" {
  gt generate "$P" --family direct -o /proc/nowhere/kernel.hip
  fails_with 1 "/proc/nowhere/kernel.hip"
}
