#!/bin/bash
# Tunes a few problems from real training on the best device present, and looks one of them up.
set -eu
program=${BUILD:-build}/gathertune
cache=${BUILD:-build}/demo.db

device=auto
# Sizes for a GPU; a CPU gets the same operators on smaller tensors, so that the demonstration takes a minute or two.
if "$program" devices --json | jq -e '[.devices[]? | select(.is_cpu == false)] | length > 0' >/dev/null; then
  n=8 budget=150
else
  n=1 budget=24
fi
problems=(
  "upsample_bilinear2d_backward:n=$n,c=64,in=64x64,out=128x128,dtype=f16,layout=nchw,align_corners=0,scale=2x2"
  "upsample_bilinear2d_backward:n=$n,c=64,in=64x64,out=128x128,dtype=f32,layout=nhwc,align_corners=0,scale=2x2"
  "upsample_bilinear2d_backward:n=$n,c=19,in=60x60,out=480x480,dtype=f32,layout=nchw,align_corners=0"
  "upsample_bilinear2d_backward:n=$n,c=128,in=37x37,out=74x74,dtype=f32,layout=nchw,align_corners=1"
)
say() { printf '\n$ %s\n' "$*"; }

say gathertune devices
"$program" devices
say gathertune tune --budget $budget ${#problems[@]} problems
"$program" tune --device "$device" --cache "$cache" --budget "$budget" "${problems[@]}"
say gathertune lookup "${problems[0]}"
"$program" lookup --device "$device" --cache "$cache" "${problems[0]}"
