# Kernels of shapes that are hard for a family, checked as the tuner checks them: against float64, in poisoned memory with guards around it.
# (tests/contract/test_configurations.c has those of ring and tile.)
load helpers

# works PROBLEM FAMILY PATTERN: configurations of the family that match PATTERN give the right result: three, on an emulated device one.
works() {
  local configurations
  configurations=$(gathertune generate "$1" --device "$DEVICE" --family "$2" --emit space 2>/dev/null | grep -E "$3" | awk 'NR % 7 == 1' | head -$([ "$DEVICE" = hip:0 ] && echo 1 || echo 3))
  [ -n "$configurations" ] || { echo "no configuration of $2 for $1 matches $3"; return 1; }
  for configuration in $configurations; do
    gt tune "$1" --device "$DEVICE" --config "$configuration" $SHORT
    [ "$status" -eq 0 ] || { show; return 1; }
    [[ $output == *"result checked"* ]] || { show; return 1; }
  done
}

@test "taps loads whole vectors from rows that start at any multiple of their elements" {
  for keys in in=8x7,out=16x14,dtype=f16,align_corners=1 in=8x7,out=16x14,dtype=bf16 in=8x5,out=16x10,dtype=f32; do
    problem=$OP:n=2,c=3,$keys
    gathertune generate "$problem" --config "$(gathertune generate "$problem" --family taps --emit space 2>/dev/null |
      grep "vx=4,vy=2,halo=vector" | head -1)" >source
    grep -q 'GT_GLOBAL gt_vec16 \*)(start' source
    works "$problem" taps "vx=4,vy=2,halo=vector"
  done
}

@test "march walks down strips of the height, with several units in a block and parts of the width" {
  works $OP:n=2,c=3,in=19x12,out=38x24,dtype=f16 march "strip=4,rows=2,slices=(3|8|16),across=2"
  works $OP:n=3,c=1,in=19x12,out=29x35,dtype=f32,align_corners=1 march "strip=8,rows=4,slices=(2|3),across=1"
  works upsample_bicubic2d_backward:n=2,c=3,in=19x12,out=38x24,dtype=f32 march "strip=4,rows=2,slices="
}

@test "march sums tiles of inputs at odd ratios, of strips and parts that are not full" {
  works upsample_bicubic2d_backward:n=1,c=5,in=13x18,out=17x38,dtype=f32 march "v=2,strip=whole,rows=4,slices=.*vx=4"
  works upsample_bicubic2d_backward:n=1,c=5,in=13x18,out=17x38,dtype=bf16 march "strip=8,rows=4,slices=.*across=2,vx=1"
  works upsample_bicubic2d_backward:n=1,c=5,in=33x22,out=20x30,dtype=f64 march "strip=8,rows=2,slices=.*vx=2"
  works $OP:n=1,c=3,in=21x31,out=42x62,dtype=f16,align_corners=1 march "strip=16,rows=4,slices=.*vx=4"
  works $OP:n=1,c=3,in=70x23,out=31x42,dtype=f32 march "strip=32,rows=4,slices=.*vx=2"
}

@test "march sums planes along the height and then the width, where windows are high" {
  works upsample_trilinear3d_backward:n=2,c=3,in=3x5x4,out=20x31x24,dtype=f32 march "depth=march,.*strip=2,rows=1,slices=1,.*plane=turns,vx=2"
  works upsample_trilinear3d_backward:n=2,c=3,in=4x3x6,out=20x21x36,dtype=f16 march "depth=march,.*strip=whole,rows=2,slices=1,.*across=2,.*plane=turns,vx=1"
  works upsample_trilinear3d_backward:n=1,c=3,in=4x3x6,out=16x21x24,dtype=f64,align_corners=1 march "depth=march,.*rows=2,slices=2,.*plane=turns,vx=1"
  works upsample_trilinear3d_backward:n=2,c=2,in=4x4x4,out=32x32x32,dtype=bf16 march "depth=march,.*rows=1,slices=1,.*plane=turns,vx=4"
}

@test "march sums parts of the height in turns, of which the last has fewer inputs" {
  local t=upsample_trilinear3d_backward
  works $t:n=1,c=5,in=7x7x7,out=64x64x64,dtype=f32 march "strip=4,rows=.,slices=1,across=1,down=2,plane=turns,vx=4"
  works $t:n=3,c=1,in=9x7x13,out=27x25x52,dtype=bf16,align_corners=1 march "rows=2,slices=(2|3),across=.,down=4,plane=turns"
  works $t:n=2,c=3,in=5x9x5,out=19x55x34,dtype=f16 march "down=2,plane=turns"
  works $t:n=2,c=3,in=7x3x4,out=14x13x24,dtype=f64 march "slices=(2|4),across=(2|4),down=2,plane=turns"
}

@test "march walks down strips of a half and of a third of an odd depth" {
  local t=upsample_trilinear3d_backward
  works $t:n=2,c=2,in=13x5x6,out=26x10x12,dtype=f32 march "depth=march.*strip=7,"
  works $t:n=2,c=2,in=9x3x5,out=31x20x30,dtype=f16 march "depth=march.*strip=3,.*plane=turns"
  works $t:n=3,c=1,in=12x5x6,out=31x11x10,dtype=f32 march "depth=march.*strip=6,rows=2"
}

@test "march walks down the depth, and the rows of each depth slice" {
  works upsample_trilinear3d_backward:n=2,c=2,in=5x6x7,out=10x12x14,dtype=f32 march "depth=march.*strip=2,rows=1,.*down=2"
  works upsample_trilinear3d_backward:n=2,c=2,in=3x5x4,out=20x22x36,dtype=f16 march "depth=after.*rows=2"
  works adaptive_avg_pool3d_backward:n=2,c=2,in=7x5x6,out=4x5x3,dtype=f32 march "depth=march"
}

@test "reduce sums windows by vectors, several in flight" {
  works $OP:n=2,c=3,in=1x1,out=60x60,dtype=f32 reduce "v=4,flight=4"
  works $OP:n=2,c=3,in=3x5,out=40x64,dtype=f16 reduce "v=8,flight=2"
}
