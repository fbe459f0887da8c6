# What AMD's compiler makes of the families for gfx942: no spills, no scratch, atomics only where they are meant, and wide
# accesses. Needs hiprtc and comgr that know gfx942: the emulated MI300X has them.

load helpers

DOUBLE=$OP:n=2,c=16,in=32x32,out=64x64,scale=2x2 # dtype and layout follow

report() { gt generate "$@" --arch gfx942 --emit report; }

# Skips the test where the compiler is missing or does not know gfx942.
needs_compiler() {
  local reason
  reason=$("$GATHERTUNE" generate "$DOUBLE,dtype=f32" --family direct --arch gfx942 --emit object 2>&1 >/dev/null) || {
    reason=${reason%%$'\n'*}
    case $reason in
    *"does not know gfx942"* | *"was not found"* | *"not in this build"* | *"built without"*) skip "${reason#gathertune: }" ;;
    *) echo "$reason"; return 1 ;;
    esac
  }
}

# clean FAMILY LAYOUT: the family's defaults for each data type keep to registers and use no atomics.
clean() {
  local dtype
  needs_compiler
  for dtype in f32 f16 bf16 f64; do
    report "$DOUBLE,dtype=$dtype,layout=$2" --family "$1" --json
    works
    json '.kernels | length > 0 and all(.scratch_bytes == 0 and .scratch_accesses == 0)'
    json '.kernels | all(.vgpr_spills == 0 and .sgpr_spills == 0)'
    json '.kernels | all(.atomics == {"global": 0, "flat": 0, "lds": 0})'
    json '.kernels | all(.occupancy.waves_per_simd >= 1)'
  done
}

@test "direct spills nothing and uses no atomics" { clean direct nchw; }

@test "taps spills nothing and uses no atomics" { clean taps nchw; }

@test "inner spills nothing and uses no atomics" { clean inner nhwc; }

@test "taps with four results in a row loads f16 in pieces of 16 bytes" {
  needs_compiler
  config=$("$GATHERTUNE" generate "$DOUBLE,dtype=f16" --family taps --emit space 2>/dev/null | grep -m 1 -E '^taps:vx=4,')
  report "$DOUBLE,dtype=f16" --config "$config" --json
  works
  json '.kernels | any(.global_loads["16"] > 0)'
  json '.kernels | all(.scratch_bytes == 0 and .vgpr_spills == 0 and .sgpr_spills == 0)'
}

@test "scatter uses atomics" {
  needs_compiler
  report "$DOUBLE,dtype=f32" --family scatter --json
  works
  json '.kernels | any(.atomics.global > 0)'
}

@test "the units of a kernel's instructions add up, and its block is the one that it is launched with" {
  needs_compiler
  report "$DOUBLE,dtype=f16" --family taps --json
  works
  json '.kernels | all(.instructions | .total == ([to_entries[] | select(.key != "total").value] | add))'
  json '(.variant.launches | map({(.kernel): (.block[0] * .block[1] * .block[2])}) | add) as $blocks
        | .kernels | all($blocks[.name] == .occupancy.threads)'
  json '.arch == "gfx942" and (.code_bytes > 0) and (.kernels | all(.vgprs > 0 and .wave_size == 64))'
}

@test "a report is text with a part for each kernel, and -o writes it" {
  needs_compiler
  report "$DOUBLE,dtype=f16" --family scatter
  works
  said "scatter:"
  for kernel in gt_zero gt_scatter; do grep -qx "$kernel" <<<"$output"; done
  said "  occupancy      8 of 8 waves per SIMD"
  said "  atomics        global "
  text=$output
  report "$DOUBLE,dtype=f16" --family scatter -o report.txt
  works
  [ -z "$output" ]
  [ "$(cat report.txt)" = "$text" ]
}

@test "the report in the documents is what the program prints, but for numbers" {
  needs_compiler
  report upsample_bilinear2d_backward:n=2,c=16,in=32x32,out=64x64,dtype=f16,scale=2x2 --family taps
  works
  diff <(sed 's/[0-9][0-9.]*/N/g' <<<"$output") \
    <(sed -n '/^    taps:/,/^      control /{s/^    //; s/[0-9][0-9.]*/N/g; p}' "$ROOT/docs/gfx942-report.md")
}

@test "a report for what HIP does not compile for is one line and exit code 2" {
  gt generate "$P" --family direct --arch sm_90 --emit report
  fails_with 2 "sm_90" "AMD"
  gt generate "$P" --family direct --target opencl --emit report
  fails_with 2 "OpenCL"
}

@test "a compiler that is missing or does not know the architecture is one line and exit code 1" {
  report "$DOUBLE,dtype=f32" --family direct
  [ "$status" -ne 0 ] || skip "the compiler knows gfx942"
  fails_with 1
}

# traffic OPTION...: a report with counted traffic of DOUBLE and what follows; skips where the device does not count.
traffic() {
  case $DEVICE in hip:*) ;; *) skip "$DEVICE does not count traffic" ;; esac
  gt generate "$@" --device "$DEVICE" --emit report --json
  works
  jq -e '.traffic != null' >/dev/null <<<"$output" || skip "$DEVICE does not count traffic"
}

@test "stream moves the least possible, and the emulated MI300X counts exactly that" {
  traffic "$OP:n=2,c=16,in=64x64,out=128x128,dtype=f16,scale=2x2" --family stream
  json '.traffic.least == {"read": (2 * 16 * 128 * 128 * 2), "written": (2 * 16 * 64 * 64 * 2)}'
  json '.traffic | . as $t | .read | .lanes == $t.least.read and .waves == .lanes and .blocks == .lanes and .dies == .lanes'
  json '.traffic | . as $t | .written | .lanes == $t.least.written and .waves == .lanes and .blocks == .lanes and .dies == .lanes'
}

@test "a gather-sum writes each result once and reads each output at least once" {
  for family in direct taps; do
    traffic "$DOUBLE,dtype=f32" --family $family
    json '.traffic | .written.lanes == .least.written and .written.dies == .least.written'
    json '.traffic.least.read as $least | .traffic.read | .lanes > $least and .waves >= .blocks and .blocks >= .dies and .dies >= $least'
  done
}

@test "the traffic of all launches of a variant and of its workspace counts" {
  traffic "$DOUBLE,dtype=f32" --family scatter
  # Zeros once, and up to four atomics for each output.
  json '.traffic | .read.lanes == .least.read'
  json '.traffic | .written.lanes > .least.written + 3 * .least.read and .written.lanes <= .least.written + 4 * .least.read'
  traffic "upsample_bicubic2d_backward:n=2,c=4,in=32x32,out=64x64,dtype=f32,scale=2x2" --family twopass
  json '.traffic | .written.lanes > .least.written'
}

@test "blocks that are numbered by die share outputs in the L2 of a die" {
  problem=$OP:n=1,c=4,in=64x64,out=128x128,dtype=f32,scale=2x2
  config=$("$GATHERTUNE" generate "$problem" --family taps --emit space 2>/dev/null | grep -m 1 'block=64,.*order=linear')
  [ -n "$config" ]
  traffic "$problem" --config "$config"
  linear=$(jq .traffic.read.dies <<<"$output")
  traffic "$problem" --config "${config/order=linear/order=xcd}"
  json --argjson linear "$linear" '.traffic.read.dies < $linear'
}

@test "a report in text has traffic where a device that counts was named, and only there" {
  traffic "$DOUBLE,dtype=f32" --family stream
  gt generate "$DOUBLE,dtype=f32" --family stream --device "$DEVICE" --emit report
  works
  [ -z "$stderr" ] || { show; false; }
  said "traffic of one run on $DEVICE"
  said "least          read 524288, written 131072 bytes"
  for place in lanes waves blocks dies; do
    grep -qE "^  $place +read 1.00, written 1.00, together 1.00 of the least$" <<<"$output"
  done
  report "$DOUBLE,dtype=f32" --family stream
  works
  [[ $output != *traffic* ]]
  report "$DOUBLE,dtype=f32" --family stream --json
  json '.traffic == null'
}

@test "a report for an empty problem says that there is no traffic to count" {
  traffic "$DOUBLE,dtype=f32" --family stream
  gt generate "$OP:n=0,c=3,in=6x5,out=12x10,dtype=f32" --family direct --device "$DEVICE" --emit report
  works
  said "traffic not counted: an empty problem has nothing to launch"
}

@test "bench/traffic.py makes a table of a suite, with problems made smaller" {
  command -v python3 >/dev/null || skip "no python3"
  traffic "$DOUBLE,dtype=f32" --family stream
  echo "$OP:n=4,c=64,in=32x32,out=64x64,dtype=f16,scale=2x2" >suite.txt
  run --separate-stderr python3 "$ROOT/bench/traffic.py" --gathertune "$GATHERTUNE" --device "$DEVICE" --suite suite.txt --bytes 40960 \
    --families stream,inner --config direct:block=256,acc=float --json traffic.json
  works
  said "n=1,c=4,in=32x32" # of 10240 bytes each
  grep -qE '^ +1\.00 +1\.00 +1\.00 +1\.00  stream:' <<<"$output"
  [[ $output != *inner:* ]] # channels-last only
  jq -e 'length == 2 and .[1].configuration == "direct:block=256,acc=float" and .[1].read.lanes > .[1].least.read' traffic.json
}
