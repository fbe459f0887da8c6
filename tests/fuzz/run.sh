#!/bin/bash
# Runs the fuzz harnesses one after the other, each for its part of the time, and tells what each found, how many inputs
# it tried and what it reached. Environment: BUILD, MINUTES (together, 60), HARNESS (one name; all).
# Leaks are looked for at the end, with all that was learnt: after every input, that would take most of the time.
# What a run learns is kept in BUILD/corpus and is where the next one begins; findings are in BUILD/findings.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build-fuzz}
minutes=${MINUTES:-60}
only=${HARNESS:-}

harnesses=()
for source in tests/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  name=${name#fuzz_}
  [ -z "$only" ] || [ "$name" = "$only" ] && harnesses+=("$name")
done
if [ "${#harnesses[@]}" -eq 0 ]; then
  echo "fuzz: there is no harness '$only'; see tests/fuzz/fuzz_*.c" >&2
  exit 2
fi
if ! [[ $minutes =~ ^[0-9]+$ ]] || [ "$minutes" -eq 0 ]; then
  echo "fuzz: MINUTES=$minutes is no whole number of minutes above 0" >&2
  exit 2
fi
seconds=$((minutes * 60 / ${#harnesses[@]}))

memory=/dev/shm
[ -w "$memory" ] || memory=${TMPDIR:-/tmp}
scratch=$(mktemp -d "$memory/gathertune-fuzz-run-XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch
unset GATHERTUNE_CACHE GATHERTUNE_TEMPLATES GATHERTUNE_SYSTEM_CACHE GATHERTUNE_TRUST
export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1

failed=0
mkdir -p "$build/findings" "$build/logs"
for name in "${harnesses[@]}"; do
  corpus=$build/corpus/$name log=$build/logs/$name.log
  mkdir -p "$corpus"
  options=(-max_total_time="$seconds" -timeout=20 -report_slow_units=15 -detect_leaks=0 -rss_limit_mb=4096 -print_final_stats=1
    -artifact_prefix="$build/findings/$name-")
  [ -f "tests/fuzz/dictionary/$name" ] && options+=(-dict="tests/fuzz/dictionary/$name")
  [ "$name" = cache ] && options+=(-max_len=65536)
  begin=$SECONDS
  nice "$build/tests/fuzz/fuzz_$name" "${options[@]}" "$corpus" "tests/fuzz/corpus/$name" >"$log" 2>&1
  code=$?
  if [ $code -eq 0 ]; then
    nice "$build/tests/fuzz/fuzz_$name" -runs=0 -artifact_prefix="$build/findings/$name-" "$corpus" "tests/fuzz/corpus/$name" \
      >"$log.leaks" 2>&1
    code=$?
    grep -aE 'ERROR: |SUMMARY: |Test unit written' "$log.leaks" >>"$log"
  fi
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
  reached=$(grep -oE 'cov: [0-9]+ ft: [0-9]+' "$log" | tail -n 1)
  end="no finding"
  [ $code -eq 0 ] || end="ended with exit code $code: $log"
  grep -a 'Test unit written' "$log" | grep -vq slow-unit && end="FINDING: $log"
  printf '%-14s %5d s  %10s inputs  %s  %s\n' "$name" $((SECONDS - begin)) "${runs:-0}" "${reached:-nothing reached}" "$end"
  if [ $code -ne 0 ]; then
    failed=1
    grep -aE '^fuzz: |ERROR: |runtime error|Test unit written' "$log" | head -n 5 | sed 's/^/  /'
  fi
done
exit $failed
