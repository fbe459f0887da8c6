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
[ -z "${SANITIZE:-}" ] || export GT_TEST_EVERY=6 # problems of contract test_configurations, test_nan and test_strides: compilers take most of the time
# Neither the user's cache nor their templates.
export XDG_CACHE_HOME=$PWD/$build/test-cache
unset GATHERTUNE_CACHE GATHERTUNE_TEMPLATES

pocl=$(mktemp -d)
trap 'rm -rf "$pocl"' EXIT

# Suites run two at a time: most of them wait for compilers that use one CPU. Each has a report, its log's name and `.report`, which is
# printed in the order of their beginnings, and whose last line is `PASSED FAILED SKIPPED`.
lanes=2
longest=3600 # seconds of a suite: for what never ends, not for what is slow
waiting=() # process and report of those that were begun

# collect: waits for the oldest, prints its report and adds up its counts.
collect() {
  local process=${waiting[0]% *} report=${waiting[0]#* } counts
  wait "$process"
  waiting=("${waiting[@]:1}")
  read -r -a counts < <(tail -n 1 "$report")
  head -n -1 "$report"
  passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
}

# begin RUNNER NAME COMMAND...: RUNNER LOG NAME COMMAND... in the background, when a lane is free.
begin() {
  local runner=$1 name=$2 log
  case $name in *"$pattern"*) ;; *) return ;; esac
  log=$logs/$(echo "$name" | tr -c 'a-zA-Z0-9_\n' '-')
  while [ "$(jobs -rp | wc -l)" -ge "$lanes" ]; do wait -n; done
  # A cache of PoCL's each: what one process packs into a binary, another one may be writing.
  POCL_CACHE_DIR=$pocl/$(basename "$log") "$runner" "$log" "${@:2}" >"$log.report" 2>&1 &
  waiting+=("$! $log.report")
  while [ "${#waiting[@]}" -gt 0 ] && ! kill -0 "${waiting[0]% *}" 2>/dev/null; do collect; done
}

# run_tap LOG NAME COMMAND...: runs a suite that speaks TAP.
run_tap() {
  local log=$1.tap name=$2 begin=$SECONDS
  shift 2
  mkdir -p "$POCL_CACHE_DIR"
  CMOCKA_MESSAGE_OUTPUT=TAP timeout "$longest" "$@" >"$log" 2>&1
  local code=$? ok bad skip
  rm -rf "$POCL_CACHE_DIR"
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
  echo "$ok $bad $skip"
}

# run_verify LOG NAME COMMAND...: `gathertune verify`, whose last line has the counts.
run_verify() {
  local log=$1.log name=$2 begin=$SECONDS line
  shift 2
  mkdir -p "$POCL_CACHE_DIR"
  timeout "$longest" "$@" >"$log" 2>&1
  local code=$? ok=0 bad=1 skip=0
  rm -rf "$POCL_CACHE_DIR"
  line=$(tail -n 1 "$log")
  if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
    ok=${BASH_REMATCH[1]} bad=${BASH_REMATCH[2]} skip=${BASH_REMATCH[3]}
    [ "$code" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
  fi
  printf '%-44s %4d passed, %d failed, %d skipped  (%d s)\n' "$name" "$ok" "$bad" "$skip" $((SECONDS - begin))
  [ "$bad" -gt 0 ] && { tail -n 20 "$log"; echo "  all of it: $log"; }
  grep -i '^skipped' "$log" | sed 's/^/  /'
  echo "$ok $bad $skip"
}

suite() { begin run_tap "$@"; }

# verified NAME COMMAND...: `gathertune verify`, each layout by itself.
verified() {
  begin run_verify "$1, nchw" "${@:2}" --layout nchw
  begin run_verify "$1, nhwc" "${@:2}" --layout nhwc
}

for program in "$build"/tests/unit/test_* "$build"/tests/contract/test_*; do
  case $program in *.o | *.d) continue ;; esac
  [ -x "$program" ] || continue
  suite "$(basename "$(dirname "$program")"): $(basename "$program")" "$program"
done

# The inputs that fuzzing begins from and has found, and mutations of them (make fuzz is the long form).
for program in "$build"/tests/fuzz/fuzz_*; do
  case $program in *.o | *.d | *.failed) continue ;; esac
  [ -x "$program" ] || continue
  name=$(basename "$program")
  suite "fuzz corpus: ${name#fuzz_}" "$program" "tests/fuzz/corpus/${name#fuzz_}"
done

# The command line on the CPU, through PoCL.
export GATHERTUNE=$PWD/$build/gathertune
for file in tests/cli/*.bats; do
  name=$(basename "$file" .bats)
  # With sanitizers, what reads files from elsewhere, talks to other processes and ends badly: kernels are the same with and without.
  case ${SANITIZE:+sanitized}-$name in
    -* | sanitized-cache | sanitized-failures | sanitized-faults | sanitized-options | sanitized-problems) ;;
    sanitized-stale | sanitized-survival | sanitized-tune_devices | sanitized-tune_output) ;;
    *) continue ;;
  esac
  suite "command line on PoCL: $name" env GT_TEST_DEVICE=opencl:0 bats --tap "$file"
done
suite "library, installed" env BUILD="$build" bats --tap tests/library/library.bats
# The kernels run in the same drivers with or without sanitizers: once is enough for the long run. Each third case here (GT_ORACLE_EVERY=1: all),
# since PoCL takes its time to compile.
if [ -z "${SANITIZE:-}" ]; then
  verified "oracle on PoCL" "$GATHERTUNE" verify --cases tests/oracle/open.jsonl --device opencl:0 --configurations 1 --every "${GT_ORACLE_EVERY:-3}"
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
  # What depends on the device: its faults, its code objects, and that there can be several.
  for name in devices exchange faults report strides survival tune tune_devices verify; do
    file=tests/cli/$name.bats
    suite "command line on the emulated MI300X: $(basename "$file" .bats)" env GT_TEST_DEVICE=hip:0 bats --tap "$file"
  done
  # With workgroups and waves in another order in each launch.
  verified "oracle on the emulated MI300X" env GFX942_SCHEDULE=5 "$GATHERTUNE" verify --cases tests/oracle/open.jsonl --device hip:0 --configurations 1 --every 4
fi

while [ "${#waiting[@]}" -gt 0 ]; do collect; done
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
