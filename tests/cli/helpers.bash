# What the command-line tests share. They run the program $GATHERTUNE (default build/gathertune) on the device
# $GT_TEST_DEVICE (default opencl:0), each with a cache of its own.
bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
GATHERTUNE=${GATHERTUNE:-$ROOT/build/gathertune}
DEVICE=${GT_TEST_DEVICE:-opencl:0}
OP=upsample_bilinear2d_backward
P=$OP:n=2,c=3,in=6x5,out=12x10,dtype=f32 # a small problem, and the same as the program prints it:
P_CANONICAL=$OP:n=2,c=3,in=6x5,out=12x10,dtype=f32,layout=nchw,align_corners=0
SAMPLER=grid_sampler_2d_backward:n=2,c=3,in=6x5,out=7x8,dtype=f32 # a problem of five tensors
SAMPLER_CANONICAL=$SAMPLER,layout=nchw,interpolation=bilinear,padding=zeros,align_corners=0,want=both
SHORT="--batch-us 10" # for real devices: an emulated one takes long for a batch of a millisecond

setup() {
  umask 022 # tests look at rights, and a cache that others may write is not trusted
  cd "$BATS_TEST_TMPDIR"
  export GATHERTUNE_CACHE=$BATS_TEST_TMPDIR/cache.db
  unset GATHERTUNE_TEMPLATES
}

gathertune() { "$GATHERTUNE" "$@"; }

# Runs the program, its streams apart: $status, $output and $stderr.
gt() { run --separate-stderr "$GATHERTUNE" "$@"; }

# The program must fail with this exit code and one line of the form that failures have, which holds each of the words.
fails_with() {
  local code=$1 word
  shift
  [ "$status" -eq "$code" ] || { show; return 1; }
  [ "${#stderr_lines[@]}" -eq 1 ] || { show; return 1; }
  [[ $stderr == "gathertune: "* ]] || { show; return 1; }
  for word; do [[ $stderr == *"$word"* ]] || { echo "no '$word'"; show; return 1; }; done
}

works() { [ "$status" -eq 0 ] || { show; return 1; }; }

show() { printf 'status %s\n--- stdout\n%s\n--- stderr\n%s\n' "$status" "$output" "$stderr"; }

# $output is JSON for which the jq expression is true.
json() { jq -e "$@" >/dev/null <<<"$output" || { echo "not true: $*"; show; return 1; }; }

said() { [[ $output == *"$1"* ]] || { echo "no '$1'"; show; return 1; }; }
complained() { [[ $stderr == *"$1"* ]] || { echo "no '$1'"; show; return 1; }; }

# Waits until a command succeeds: for at most a minute, which only a machine that is very busy needs.
wait_until() {
  local i
  for ((i = 0; i < 1200; i++)); do
    "$@" 2>/dev/null && return
    sleep 0.05
  done
  echo "waited in vain: $*"
  return 1
}

has_lines() { [ "$(wc -l <"$1")" -ge "$2" ]; } # FILE COUNT
gone() { ! kill -0 "$1" || [ "$(cut -d ' ' -f 3 "/proc/$1/stat")" = Z ]; } # PROCESS: nobody may have waited for it
# The children of a process, the first to be started first: numbers of processes begin anew some time.
workers_of() { cat /proc/[0-9]*/stat 2>/dev/null | awk -v parent="$1" '$4 == parent { print $22, $1 }' | sort -n | cut -d ' ' -f 2; }

# A scripted device: writes FILE from JSON on standard input.
device_script() { cat >"$1"; }

# An imaginary GPU whose times follow from the configuration.
plain_script() { device_script "$1" <<<'{"hashed": [50, 200]}'; }

# The first line of the standard error that repeats a failure: "  gathertune ...", run with the program under test.
again() {
  local line
  line=$(grep -E '^  ([A-Z_]+=[^ ]+ )?gathertune ' <<<"$stderr" | head -n 1)
  [ -n "$line" ] || { echo "no line that repeats the failure"; show; return 1; }
  echo "again: $line"
  run --separate-stderr bash -c "$(sed "s|gathertune |'$GATHERTUNE' |" <<<"${line#  }")"
}
