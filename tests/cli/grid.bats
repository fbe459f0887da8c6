load helpers

# grid_sampler_2d_backward: tuning by classes and with real grids, and grids on which gradients are easily wrong.
G=grid_sampler_2d_backward:n=2,c=3,in=6x5,out=4x7,dtype=f32
ONE="--batch-us 10 --config"
export GFX942_SCHEDULE=5 # on an emulated MI300X: workgroups and waves in another order in each launch

# Writes positions.npy, float32, of shape (n, h, w, 2): the numbers that a Python expression of i (0, 1, …) has.
positions() { # n h w expression
  python3 - "$@" <<'PYTHON'
import math, struct, sys
n, h, w = map(int, sys.argv[1:4])
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d, %d, 2), }" % (n, h, w)
header += " " * (63 - (10 + len(header)) % 64) + "\n"
with open("positions.npy", "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    for i in range(n * h * w * 2):
        file.write(struct.pack("<f", eval(sys.argv[4])))
PYTHON
}

# The default configurations of the families that can do a problem.
configurations() {
  local family
  for family in "$ROOT"/templates/grid_*.lua; do
    family=$(basename "$family" .lua)
    [ "$family" = grid_stream ] && continue
    gathertune generate "$1" --family "$family" --device "$DEVICE" --json 2>/dev/null | jq -r .variant.configuration
  done
}

# The gradients for the positions in positions.npy are right, and the same bits in a second run: of the configurations that are named.
right_by() { # problem configuration…
  local problem=$1 configuration
  for configuration in "${@:2}"; do
    [[ $DEVICE = hip:* && $configuration == grid_bin:* && $configuration != *,order=* ]] && configuration+=,order=xcd
    gt tune "$problem" --device "$DEVICE" --grid-file positions.npy $ONE "$configuration" --json
    works
    json '.trials[0].trial | .outcome == "ok" and .checked'
  done
}

# The same of every family.
right() {
  local list
  mapfile -t list < <(configurations "$1")
  [ "${#list[@]}" -ge 2 ]
  right_by "$1" "${list[@]}"
}

@test "a grid without a class is tuned for each, and gets what is good for all" {
  gt tune "$G" --device "$DEVICE" --budget 2 $SHORT --json
  works
  json '.problems[0] | .status == "OK" and .best_us > 0 and .stream_us > 0 and (.note | contains("a class of grids"))'
  gt list --json
  json '[.winners[].problem | capture("grid=(?<class>.*)").class] | sort == ["contended", "identity", "random", "smooth"]'
  json '.winners | length == 5'
  gt lookup "$G" --device "$DEVICE" --json
  json '.plan == "exact"'
  # What is got untuned is timed as the winner is, from the same trials.
  gt tune "${G/c=3/c=2}" --device "$DEVICE" --families grid_bin --budget 2 $SHORT --json
  works
  json '.problems[0] | .untuned_us > 0 and (.untuned != .configuration or .untuned_us == .best_us)'
  gt list --trials "${G/c=3/c=2}" --device "$DEVICE"
  said "no trials"
  said "by classes of positions"
  gt tune "$G" --device "$DEVICE" --budget 2 $SHORT --json # nothing is left to do
  json '.problems[0] | .compiled == 0 and .cached == .tried'
}

@test "progress tells which class is being tuned, and begins anew with each" {
  printf '{"default_us": 50}' >gpu.json
  gt tune "$G" --device recorded:gpu.json --families grid_lds --budget 3
  works
  local class number=0
  for class in identity smooth random contended; do
    number=$((number + 1))
    complained "problem 1/1, $class ($number/4), trial 1/"
    [[ $stderr =~ "$class ($number/4), trial "([0-9]+)/([0-9]+)(, [0-9.]+ s left)?", best 100" ]] || { show; return 1; }
  done
}

@test "a class is tuned alone" {
  gt tune "$G,grid=smooth" --device "$DEVICE" --budget 2 $SHORT
  works
  gt list --json
  json '[.winners[].problem | contains("grid=smooth")] == [true]'
}

@test "of a real grid the winner is kept, and no trial" {
  positions 2 4 7 "math.sin(i)"
  gt tune "$G" --device "$DEVICE" --budget 2 $SHORT --grid-file positions.npy
  works
  gt list --json
  json '(.winners | length == 1) and (.winners[0].problem | contains("grid=") | not)'
  gt list --trials "$G" --device "$DEVICE" --json
  json '.trials == []'
}

@test "a grid of another shape, of another operator or of no file is refused in one line" {
  positions 2 4 6 0.0
  gt tune "$G" --device "$DEVICE" --grid-file positions.npy
  fails_with 2 "positions.npy" "is (2, 4, 6, 2), and should be (2, 4, 7, 2)"
  gt tune "$P" --device "$DEVICE" --grid-file positions.npy
  fails_with 2 "--grid-file" "grid_sampler_2d_backward"
  gt tune "$G" --device "$DEVICE" --grid-file /dev/zero # which has no end
  fails_with 2 "not a .npy file"
  gt tune "$G" --device "$DEVICE" --grid-file nothing.npy
  fails_with 2 "nothing.npy"
  [ ! -e cache.db ]
}

@test "generate writes a class's positions as NumPy's files have them" {
  gt generate "${G/f32/bf16},grid=identity" --emit grid -o grid.npy
  works
  head -c 128 grid.npy | grep -q "'descr': '<f4', 'fortran_order': False, 'shape': (2, 4, 7, 2, )"
  [ "$(stat -c %s grid.npy)" -eq $((128 + 2 * 4 * 7 * 2 * 4)) ]
  gt generate "$P" --emit grid
  fails_with 2 "no grid"
}

@test "all samples on one point" {
  positions 2 16 17 "0.1"
  right "${G/4x7/16x17}"
  right "${G/4x7/16x17},layout=nhwc,interpolation=bicubic,padding=border"
}

@test "all samples outside" {
  positions 2 4 7 "-7.5 + i % 2 * 15"
  right "$G"
  right "$G,padding=reflection,layout=nhwc"
}

@test "positions that are no numbers, infinite or huge" {
  positions 2 4 7 "[math.nan, 1e38, -1e38, math.inf, -math.inf, 0.3, -0.7][i % 7]"
  local padding
  for padding in zeros border reflection; do
    right "$G,padding=$padding"
    right "$G,padding=$padding,interpolation=bicubic,layout=nhwc"
  done
  right "$G,interpolation=nearest"
}

@test "an input of a single pixel, and many samples of it" {
  positions 3 5 9 "math.sin(i * 1.3) * 1.4"
  local one=grid_sampler_2d_backward:n=3,c=5,in=1x1,out=5x9,dtype=f32
  right "$one"
  right "$one,padding=reflection,align_corners=1,layout=nhwc"
  right "$one,padding=border,interpolation=bicubic"
}

# Enough samples for bins that a block puts into order (1024 and more) and for sums in pieces.
@test "thousands of samples in a few bins are summed in the order of the samples, however they are sorted" {
  positions 2 40 50 "0.1 if i % 40 < 36 else math.sin(i)"
  local crowd=grid_sampler_2d_backward:n=2,c=4,in=6x5,out=40x50,dtype=f32,want=input
  local way=parts=1,transpose=0,channels=4,rows=1,flight=2,split=1,block=256 rows=3
  [ "$DEVICE" = hip:0 ] && rows=2
  right_by "$crowd" grid_bin:binning=device,$way grid_bin:binning=image,$way grid_bin:binning=fused,$way \
    grid_bin:binning=device,${way/transpose=0/transpose=1} grid_bin:binning=device,${way/rows=1/rows=$rows} \
    grid_bin:binning=image,parts=1,transpose=1,channels=4,rows=$rows,flight=1,split=1,block=256
  right_by "$crowd,layout=nhwc,interpolation=bicubic" grid_bin:binning=device,$way grid_bin:binning=image,$way
  right_by "$crowd,interpolation=nearest" grid_bin:binning=device,$way grid_bin:binning=fused,$way
}

@test "channels that fill no vector and no tile" {
  positions 3 7 9 "math.sin(i * 1.3) * 1.1"
  local odd=grid_sampler_2d_backward:n=3,c=20,in=11x6,out=7x9,dtype=f16
  local way=parts=1,transpose=1,channels=4,rows=1,flight=2,split=4,block=256
  right_by "$odd" grid_bin:binning=device,$way grid_bin:binning=image,$way grid_bin:binning=device,${way/transpose=1/transpose=2} \
    grid_bin:binning=fused,parts=4,transpose=0,channels=1,rows=1,flight=2,split=1,block=256 \
    grid_bin:binning=fused,parts=1,transpose=2,channels=4,rows=1,flight=2,split=1,block=256 \
    grid_lds:sums=atomic,channels=4,bands=1,images=1,split=1,flight=2,block=256 \
    grid_lds:sums=ordered,channels=4,bands=1,images=1,split=1,flight=2,block=256
  right_by "$odd,want=grid" grid_bin:binning=none,parts=1,transpose=1,channels=1,rows=1,flight=1,split=4,block=256
  right "${odd/c=20/c=7},layout=nhwc"
}

# Tiles of a transposition are 512 places and more of few channels: whole ones, and one that is not.
@test "an input of few channels is transposed with zeros beside them, and columns of pixels end at the last row" {
  positions 2 31 45 "math.sin(i * 1.3) * 1.1"
  local few=grid_sampler_2d_backward:n=2,c=3,in=37x41,out=31x45,dtype=f32 rows=3
  [ "$DEVICE" = hip:0 ] && rows=4
  local way=parts=1,transpose=2,channels=3,rows=$rows,flight=2,split=1,block=256
  right_by "$few" grid_bin:binning=device,$way grid_bin:binning=image,$way
  right_by "$few,padding=border,interpolation=bicubic" grid_bin:binning=device,parts=1,transpose=2,channels=3,rows=1,flight=1,split=1,block=256
  right_by "${few/f32/f16},want=grid" grid_bin:binning=none,parts=1,transpose=2,channels=1,rows=1,flight=1,split=1,block=256
}

# Cells with samples in every word of a chunk, and in one; a last chunk that is not full; samples outside; two threads for a sample, bands, and
# several images at a time of which the last group has fewer.
@test "grid_lds adds samples of one cell in their order, whichever of them the others meet at" {
  positions 2 40 50 "0.1 if i % 40 < 36 else math.sin(i) * 1.2"
  local crowd=grid_sampler_2d_backward:n=2,c=4,in=6x5,out=40x50,dtype=f32,want=input few=64 tall=700x200
  [ "$DEVICE" = opencl:0 ] || { few=128 tall=60x40; } # as few threads as blocks have; as many rows as call for bands
  local ordered=grid_lds:sums=ordered one=bands=1,images=1,split=1,flight=2
  right_by "$crowd" $ordered,channels=1,$one,block=256 $ordered,channels=4,$one,block=$few grid_lds:sums=atomic,channels=4,$one,block=$few
  right_by "$crowd,layout=nhwc" $ordered,channels=4,$one,block=256
  right_by "$crowd,interpolation=nearest,padding=reflection" $ordered,channels=2,$one,block=256
  right_by "${crowd/f32/f64},layout=nhwc,padding=border" $ordered,channels=4,$one,block=256
  right_by "${crowd/6x5/$tall}" $ordered,channels=4,${one/bands=1/bands=4},block=$few
  positions 5 3 5 "math.sin(i)"
  right_by "${crowd/n=2,c=4,in=6x5,out=40x50/n=5,c=4,in=6x5,out=3x5}" $ordered,channels=4,${one/images=1/images=4},block=$few \
    $ordered,channels=4,${one/images=1/images=2},block=256
}

@test "tune and list tell which results repeat" {
  gt tune "$G,want=input,grid=random" --device "$DEVICE" --budget 6 $SHORT --families grid_lds --json
  works
  json '.problems[0].deterministic | startswith("grid_lds:sums=ordered,")'
  json '.problems[0] | if .configuration == .deterministic then .deterministic_us == .best_us else .deterministic_us > 0 end'
  gt list --trials "$G,want=input,grid=random" --device "$DEVICE" --json
  json '[.trials[] | select(.configuration | startswith("grid_lds:")) | .reproducible == (.configuration | contains("sums=ordered"))] | length > 2 and all'
  json '[.trials[] | select(.configuration | startswith("grid_stream:")) | .reproducible] | length > 0 and all'
}

@test "grid_lds and grid_scatter say when their results repeat" {
  local way=channels=1,bands=1,images=1,split=1,flight=1,block=256
  repeats() { gathertune generate "$1" --config "$2" --device "$DEVICE" --json | jq .variant.reproducible; }
  [ "$(repeats "$G" grid_lds:sums=ordered,$way)" = true ]
  [ "$(repeats "$G" grid_lds:sums=atomic,$way)" = false ]
  [ "$(repeats "$G" grid_scatter:block=64)" = false ]
  [ "$(repeats "$G,want=grid" grid_scatter:block=64)" = true ]
  gt generate "$G,interpolation=bicubic" --config grid_lds:sums=ordered,$way --device "$DEVICE"
  fails_with 2 "bicubic's taps are padded one by one"
}

# One of the two ways of grid_near is spoilt in a copy of the templates, so that a right result tells that the other one was taken.
@test "grid_near looks near the identity, and sorts the images that have samples far from it" {
  local near=grid_sampler_2d_backward:n=2,c=3,in=14x16,out=18x20,dtype=f32,want=input c=grid_near:radius=1,channels=3,split=1,block=64
  [ "$DEVICE" = hip:0 ] && c=$c,order=xcd
  # Displaced by up to 0.999 pixels, as far as is near: in every direction, at the edges too.
  local place="(2 * (i // 2 % 20 if i % 2 == 0 else i // 40 % 18) + 1) / (20 - 2 * (i % 2)) - 1" size="(16 - 2 * (i % 2))"
  local displaced="$place + 0.999 * 2 / $size * (-1 if i * 7919 % 13 < 6 else 1)"
  local way
  for way in sorts looks; do
    cp -r "$ROOT/templates" $way
    [ $way = sorts ] && sed -i 's/for (int row = Y_begin;/for (int row = Y_end;/' $way/grid_near.kernel
    [ $way = looks ] && sed -i 's/if (far\[0\]) {/if (far[0]) { return;/' $way/grid_near.kernel
    [ -n "$(diff -qr "$ROOT/templates" $way)" ]
  done

  positions 2 18 20 "$displaced"
  GATHERTUNE_TEMPLATES=looks right_by "$near" $c
  GATHERTUNE_TEMPLATES=looks right_by "$near,padding=border,interpolation=nearest" $c
  GATHERTUNE_TEMPLATES=sorts gt tune "$near" --device "$DEVICE" --grid-file positions.npy $ONE $c --json
  json '.trials[0].trial.outcome == "wrong_result"'

  positions 2 18 20 "math.sin(i * i)"
  GATHERTUNE_TEMPLATES=sorts right_by "$near" $c
  GATHERTUNE_TEMPLATES=sorts right_by "$near,layout=nhwc,interpolation=nearest,padding=reflection" $c

  # The first image near, the second far; samples outside and positions that are no numbers do not make an image far.
  positions 2 18 20 "(math.nan if i % 50 == 0 else 40 if i % 50 == 7 else $displaced) if i < 720 else math.sin(i * i)"
  right_by "$near" $c
  positions 2 18 20 "math.nan if i % 50 == 0 else 40 if i % 50 == 7 else $displaced"
  GATHERTUNE_TEMPLATES=looks right_by "$near" $c
}
