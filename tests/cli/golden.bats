#!/usr/bin/env bats
# Golden files: what templates render to, for each target. A change of a template shows as a diff of kernels.
# GOLDEN_UPDATE=1 bats tests/cli/golden.bats writes them anew; read the diff before it is committed.

load helpers

# compare NAME FAMILY KEYS [OPERATOR [MORE]]: the family's default for a small problem, on each target; or a configuration, `family:…`, which
# has MORE behind it for HIP: the parameters that are of AMD's GPUs. TARGETS: only these, for configurations that not every device has.
compare() {
  local name=$1 family problem=${4:-upsample_bilinear2d}_backward:$3 target arch
  for target in ${TARGETS:-hip:gfx942 cuda:sm_90 opencl:}; do
    arch=${target#*:} target=${target%:*}
    family=$2
    if [ "$target" = hip ]; then family+=${5:-}; fi
    local golden=$BATS_TEST_DIRNAME/../golden/$name.$target.txt
    "$GATHERTUNE" generate "$problem" "$([[ $family = *:* ]] && echo --config || echo --family)" "$family" --target "$target" ${arch:+--arch "$arch"} -o "$BATS_TEST_TMPDIR/source"
    if [ -n "${GOLDEN_UPDATE:-}" ]; then cp "$BATS_TEST_TMPDIR/source" "$golden"; fi
    diff -u "$golden" "$BATS_TEST_TMPDIR/source"
  done
}

@test "direct renders to its golden sources" {
  compare direct-f32 direct n=2,c=3,in=5x7,out=9x13,dtype=f32,align_corners=1
}

@test "scatter renders to its golden sources" {
  compare scatter-bf16 scatter n=2,c=3,in=5x7,out=9x13,dtype=bf16,layout=nhwc
}

@test "stream renders to its golden sources" {
  compare stream-f64 stream n=2,c=3,in=5x7,out=9x13,dtype=f64
}

@test "taps with literal weights and vectors renders to its golden sources" {
  compare taps-2x-f16 taps n=2,c=3,in=6x8,out=12x16,dtype=f16,scale=2x2
}

@test "taps with tables of weights and starts renders to its golden sources" {
  compare taps-table-f32 taps n=2,c=3,in=9x13,out=5x31,dtype=f32
}

@test "inner with literal weights and vectors renders to its golden sources" {
  compare inner-2x-bf16 inner n=2,c=16,in=6x8,out=12x16,dtype=bf16,layout=nhwc,scale=2x2
}

@test "inner with tables of weights and starts renders to its golden sources" {
  compare inner-table-f64 inner n=2,c=3,in=9x13,out=5x31,dtype=f64,layout=nhwc,align_corners=1
}

@test "twopass with a direct and a staged pass renders to its golden sources" {
  compare twopass-f32 twopass n=2,c=3,in=5x7,out=16x40,dtype=f32
}

@test "taps with rows that start at any multiple of two elements renders to its golden sources" {
  compare taps-shifted-f16 taps n=2,c=3,in=8x7,out=16x14,dtype=f16,align_corners=1
}

@test "tile with slices that start at no vector renders to its golden sources" {
  compare tile-table-f16 tile n=2,c=3,in=9x7,out=18x13,dtype=f16,align_corners=1
}

@test "tile with literal weights renders to its golden sources" {
  compare tile-2x-f32 tile n=2,c=3,in=6x7,out=12x14,dtype=f32,scale=2x2
}

@test "ring with literal weights, and each way to copy, renders to its golden sources" {
  keys=n=2,c=3,in=14x53,out=28x106,dtype=f16,scale=2x2
  compare ring-2x-f16 ring:copy=vectors,stages=2,parts=5,rows=2,vx=1,load=2,acc=float $keys upsample_bilinear2d ,order=xcd,stores=plain
  TARGETS=cuda:sm_90 compare ring-bulk-f16 ring:copy=bulk,stages=4,parts=2,rows=2,vx=2,load=2,acc=float $keys
}

@test "ring with tables of weights and starts renders to its golden sources" {
  keys=n=2,c=3,in=11x63,out=17x97,dtype=f32
  compare ring-table-f32 ring:copy=vectors,stages=2,parts=6,rows=2,vx=1,load=1,acc=float $keys upsample_bicubic2d ,order=linear,stores=nontemporal
  TARGETS=cuda:sm_90 compare ring-async-f32 ring:copy=async,stages=3,parts=1,rows=2,vx=2,load=1,acc=float $keys upsample_bicubic2d
}

@test "march with literal weights renders to its golden sources" {
  compare march-2x-f16 march n=2,c=3,in=18x16,out=36x32,dtype=f16,scale=2x2
}

@test "march with tables and a second kernel for the depth renders to its golden sources" {
  compare march-depth-f32 march n=2,c=3,in=3x5x7,out=16x24x31,dtype=f32 upsample_trilinear3d
}

@test "march with parts of the height that are summed in turns renders to its golden sources" {
  compare march-turns-f32 march:depth=march,v=4,strip=2,rows=2,slices=3,across=1,down=2,plane=turns,vx=2,acc=float \
    n=2,c=3,in=3x5x4,out=16x31x20,dtype=f32 upsample_trilinear3d ,order=linear,stores=plain
}

@test "reduce renders to its golden sources" {
  compare reduce-f16 reduce n=2,c=3,in=1x3,out=20x24,dtype=f16
}

@test "taps and stream with gaps between batches and rows render to their golden sources" {
  compare taps-strided-f16 taps n=2,c=3,in=6x8,out=12x16,dtype=f16,scale=2x2,stride=1604x240x20x1
  compare stream-strided-f16 stream n=2,c=3,in=6x8,out=12x16,dtype=f16,scale=2x2,stride=1604x480x40x1
}

@test "inner with gaps between pixels renders to its golden sources" {
  compare inner-strided-bf16 inner n=2,c=16,in=6x8,out=12x16,dtype=bf16,layout=nhwc,scale=2x2,stride=6000x1x420x26
}

@test "grid_bin by all threads, by a block and transposed renders to its golden sources" {
  compare grid-bin-f32 grid_bin n=2,c=8,in=40x50,out=90x70,dtype=f32,layout=nhwc grid_sampler_2d
  compare grid-bin-fused-bf16 grid_bin n=2,c=3,in=5x7,out=9x13,dtype=bf16,want=input grid_sampler_2d
  compare grid-bin-transposed-f16 grid_bin n=2,c=32,in=40x50,out=90x70,dtype=f16,padding=border grid_sampler_2d
}

@test "grid_near renders to its golden sources" {
  compare grid-near-f16 grid_near n=2,c=8,in=20x26,out=34x37,dtype=f16,layout=nhwc,padding=border grid_sampler_2d
}

@test "grid_lds with sums in one order and in any renders to its golden sources" {
  compare grid-lds-ordered-f32 grid_lds n=2,c=8,in=20x24,out=30x40,dtype=f32,layout=nhwc,padding=border grid_sampler_2d
  compare grid-lds-f16 grid_lds:sums=atomic,channels=3,bands=1,images=4,split=1,flight=2,block=256 \
    n=2,c=3,in=5x7,out=9x13,dtype=f16,padding=reflection grid_sampler_2d
}

@test "grid_scatter and grid_stream render to their golden sources" {
  compare grid-scatter-bf16 grid_scatter n=2,c=3,in=5x7,out=9x13,dtype=bf16,interpolation=bicubic,align_corners=1 grid_sampler_2d
  compare grid-stream-f64 grid_stream n=2,c=3,in=5x7,out=9x13,dtype=f64 grid_sampler_2d
}
