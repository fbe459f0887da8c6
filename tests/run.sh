#!/bin/bash
# Runs all tests of a build and prints what failed, what was skipped and why, and last `N passed, N failed, N skipped`.
# Usage: tests/run.sh [PATTERN]: only the suites whose name has the pattern. Environment: BUILD, SANITIZE (as for make).
set -u
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build}
pattern=${1:-}
logs=$build/test-logs
mkdir -p "$logs"
passed=0 failed=0 skipped=0

# Leaks inside of OpenCL drivers and AMD's runtime are not ours to find.
export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0"
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:handle_segv=0:allow_user_segv_handler=1}
export UBSAN_OPTIONS=print_stacktrace=1
[ -z "${SANITIZE:-}" ] || export GT_TEST_EVERY=6 # problems of contract test_strides: its compilers take most of the time
# Neither the user's cache nor their templates.
export XDG_CACHE_HOME=$PWD/$build/test-cache
unset GATHERTUNE_CACHE GATHERTUNE_TEMPLATES

# suite NAME COMMAND...: runs a suite that speaks TAP, and counts.
suite() {
  local name=$1 log
  shift
  case $name in *"$pattern"*) ;; *) return ;; esac
  log=$logs/$(echo "$name" | tr -c 'a-zA-Z0-9_\n' '-').tap
  local begin=$SECONDS
  CMOCKA_MESSAGE_OUTPUT=TAP timeout 900 "$@" >"$log" 2>&1
  local code=$?
  local ok bad skip
  # Bats writes `ok 1 name # skip reason`, cmocka `not ok 1 # SKIP name` or `ok 1 # SKIP name`.
  skip=$(grep -ciE '^(not )?ok [0-9]+ .*# skip' "$log")
  ok=$(grep -iE '^ok [0-9]+' "$log" | grep -ciEv '# skip')
  bad=$(grep -iE '^not ok [0-9]+' "$log" | grep -ciEv '# skip')
  if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then
    bad=1
    echo "not ok: $name ended with exit code $code" >>"$log"
  fi
  if [ $((ok + bad + skip)) -eq 0 ]; then
    bad=1
    echo "not ok: $name ran no test" >>"$log"
  fi
  printf '%-44s %4d passed, %d failed, %d skipped  (%d s)\n' "$name" "$ok" "$bad" "$skip" $((SECONDS - begin))
  if [ "$bad" -gt 0 ]; then
    grep -iE -A 12 '^not ok' "$log" | grep -viE '^(not )?ok [0-9]+ .*# skip' | head -n 60
    echo "  all of it: $log"
  fi
  # A cmocka test says why it is skipped in the line before; bats says it behind the name.
  awk 'tolower($0) ~ /^(not )?ok [0-9]+ .*# skip/ {
         sub(/^(not )?ok [0-9]+ (- )?(# SKIP )?/, ""); print "  skipped: " $0 (why == "" ? "" : ": " why); why = ""; next }
       /^(not )?ok |^[0-9]+\.\.[0-9]+$|^#|^TAP/ { why = ""; next }
       { why = $0 }' "$log"
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

pocl=$(mktemp -d)
trap 'rm -rf "$pocl"' EXIT
mkdir "$pocl/nchw" "$pocl/nhwc"

# verified NAME COMMAND...: `gathertune verify` in both layouts at a time, one process each; their last lines have the counts.
verified() {
  local name=$1 layout log line begin=$SECONDS running=()
  shift
  case $name in *"$pattern"*) ;; *) return ;; esac
  for layout in nchw nhwc; do
    log=$logs/$(echo "$name" | tr -c 'a-zA-Z0-9_\n' '-')-$layout.log
    # A cache of PoCL's each: what one process packs into a binary, another one may be writing.
    POCL_CACHE_DIR=$pocl/$layout timeout 1200 "$@" --layout "$layout" >"$log" 2>&1 &
    running+=($!)
  done
  for layout in nchw nhwc; do
    log=$logs/$(echo "$name" | tr -c 'a-zA-Z0-9_\n' '-')-$layout.log
    wait "${running[0]}"
    local code=$? ok=0 bad=1 skip=0
    running=("${running[@]:1}")
    line=$(tail -n 1 "$log")
    if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
      ok=${BASH_REMATCH[1]} bad=${BASH_REMATCH[2]} skip=${BASH_REMATCH[3]}
      [ "$code" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    fi
    printf '%-44s %4d passed, %d failed, %d skipped  (%d s)\n' "$name, $layout" "$ok" "$bad" "$skip" $((SECONDS - begin))
    [ "$bad" -gt 0 ] && { tail -n 20 "$log"; echo "  all of it: $log"; }
    grep -i '^skipped' "$log" | sed 's/^/  /'
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
  done
}

for program in "$build"/tests/unit/test_* "$build"/tests/contract/test_*; do
  case $program in *.o | *.d) continue ;; esac
  [ -x "$program" ] || continue
  suite "$(basename "$(dirname "$program")"): $(basename "$program")" "$program"
done

# The command line on the CPU, through PoCL.
export GATHERTUNE=$PWD/$build/gathertune
for file in tests/cli/*.bats; do
  suite "command line on PoCL: $(basename "$file" .bats)" env GT_TEST_DEVICE=opencl:0 bats --tap "$file"
done
suite "library, installed" env BUILD="$build" bats --tap tests/library/library.bats
# The kernels run in the same drivers with or without sanitizers: once is enough for the long run.
if [ -z "${SANITIZE:-}" ]; then
  verified "oracle on PoCL" "$GATHERTUNE" verify --cases tests/oracle/open.jsonl --device opencl:0 --configurations 1
fi

# AMD's runtime and hiprtc on an emulated MI300X.
emulated=$PWD/$build/gfx942
if [ -z "${SANITIZE:-}" ]; then
  for program in "$emulated"/test_*; do
    [ -x "$program" ] && [ ! -d "$program" ] || continue
    case $program in *.o | *.d) continue ;; esac
    suite "emulated MI300X: $(basename "$program")" "$program"
  done
  export GT_TEST_EVERY=2 # problems of contract test_strides
  for program in "$emulated"/tests/contract/test_* "$emulated"/tests/unit/test_*; do
    suite "emulated MI300X: $(basename "$(dirname "$program")") $(basename "$program")" env GT_CONTRACT_BACKENDS=hip "$program"
  done
  export GATHERTUNE=$emulated/gathertune
  for file in tests/cli/*.bats; do
    grep -q 'DEVICE' "$file" || continue # nothing of it goes to a device
    suite "command line on the emulated MI300X: $(basename "$file" .bats)" env GT_TEST_DEVICE=hip:0 bats --tap "$file"
  done
  verified "oracle on the emulated MI300X" "$GATHERTUNE" verify --cases tests/oracle/open.jsonl --device hip:0 --configurations 1 --every 3
fi

echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
