load helpers

# Two machines with the same imaginary GPU, whose times differ: $1 is the cache, $2 the program's microseconds.
tuned_on() {
  device_script "$1.json" <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary X"}, "hashed": ['"$2"']}'
  gathertune tune "$P" "${P/f32/f16}" --device "recorded:$1.json" --budget 6 --cache "$1.db" >/dev/null 2>&1
}

@test "what is exported as JSON comes back whole by import" {
  tuned_on a "50, 200"
  gt export --cache a.db -o one.json --json
  works
  json '.winners == 2 and .trials >= 12 and .output == "one.json"'
  gt import one.json --cache b.db --json
  works
  json '.new_winners == 2 and .refused_winners == 0 and .stale_winners == 0 and .conflicts == []'
  gathertune export --cache b.db >b.json
  cmp one.json b.json
  [ "$(jq -r '.winners[0].host' b.json)" = "$(uname -n | cut -c 1-64)" ]
  gt import one.json --cache b.db --json # a second time changes nothing
  works
  json '.new_winners == 0 and .replaced_winners == 0 and .new_trials == 0 and .replaced_trials == 0'
}

# The cache $1 of a machine that tuned a grid problem with each of the keys $2: a value of n, and others behind it.
grids_tuned_on() {
  device_script "$1.json" <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary X", "compute_units": 304}, "hashed": [50, 200]}'
  for keys in $2; do
    gathertune tune "${SAMPLER/n=2/$keys}" --device "recorded:$1.json" --families grid_scatter --budget 2 --cache "$1.db" >/dev/null 2>&1
  done
}

# Whose texts have every key that only grids have.
GRIDS="n=2,grid=smooth n=2,interpolation=bicubic,padding=border,align_corners=1,want=grid,grid=random n=2,padding=reflection,want=input,grid=contended"

@test "problems of grids come back whole by import, merge and a bundle, and are looked up" {
  grids_tuned_on a "$GRIDS"
  gathertune export --cache a.db -o a.out
  jq -e '.winners | length == 3 and all(.problem | test("grid=(smooth|random|contended)$"))' a.out
  gt import a.out --cache b.db --json
  works
  json '.new_winners == 3 and .refused_winners == 0 and .stale_winners == 0 and .refused_trials == 0'
  gathertune export --cache b.db | cmp - a.out
  gt merge a.db --into c.db --json
  works
  json '.new_winners == 3 and .refused_winners == 0'
  gathertune export --cache c.db | cmp - a.out
  gt export --cache a.db --format bundle -o d.db
  works
  for keys in $GRIDS; do
    for cache in b c d; do
      gt lookup "${SAMPLER/n=2/$keys}" --device recorded:a.json --cache $cache.db --json --emit code
      works
      json '.plan == "exact" and (.launches | length >= 1)'
      gt lookup "${SAMPLER/n=2/${keys%,grid=*}}" --device recorded:a.json --cache $cache.db --json --emit code
      works
      json '.plan == "near" and (.tuned.problem | contains(",grid="))'
    done
  done
  jq '.winners[0].problem |= sub("grid=[a-z]*$"; "grid=wavy")' a.out >bad.out
  gt import bad.out --cache e.db
  fails_with "$status" "bad.out" "wavy"
}

@test "problems of grids in T4, CSV and objects" {
  grids_tuned_on a "$GRIDS"
  gt export --cache a.db --format csv -o a.csv
  works
  python3 - <<'PYTHON'
import csv
rows = list(csv.DictReader(open("a.csv", newline=""), strict=True))
assert len(rows) == 3 and all(None not in row and None not in row.values() for row in rows), rows
row = next(row for row in rows if "bicubic" in row["flags"])
assert row["flags"] == "interpolation=bicubic;padding=border;align_corners=1;want=grid;grid=random", row
assert (row["op"], row["n"], row["in"], row["out"]) == ("grid_sampler_2d_backward", "2", "6x5", "7x8")
PYTHON
  gt export --cache a.db --format objects -o objects
  works
  jq -e '.objects | length == 3 and all(.problem | contains(",grid="))' objects/manifest.json
  jq -re '.objects[] | .file' objects/manifest.json | while read -r file; do [ -s "objects/$file" ]; done
  # grid_scatter cannot win, so T4 has trials only of other families.
  gathertune tune "$SAMPLER,grid=smooth" --device recorded:a.json --families grid_bin,grid_scatter --budget 12 --cache b.db >/dev/null 2>&1
  gt export --cache b.db --format t4
  works
  json '.metadata.problem == $p and (.results | length > 0 and all(.configuration.family == "grid_bin"))' --arg p "$SAMPLER_CANONICAL,grid=smooth"
  gathertune export --cache b.db --format t4 -o b.t4
  gt replay b.t4 --seeds 2
  works
}

@test "an imported winner is looked up with its code object" {
  tuned_on a "50, 200"
  gathertune export --cache a.db >out.json
  gathertune import out.json --cache b.db
  gt lookup "$P" --device recorded:a.json --cache a.db --json --emit a.code
  works
  expected=$(jq "del(.tuned.cache)" <<<"$output")
  gt lookup "$P" --device recorded:a.json --cache b.db --json --emit b.code
  works
  [ "$(jq "del(.tuned.cache)" <<<"$output")" = "$expected" ]
  cmp a.code b.code
}

@test "export has filters: model, operator, suite" {
  tuned_on a "50, 200"
  gt export --cache a.db --no-trials --no-code --model "imaginary x" --operator "$OP"
  works
  json '(.winners | length == 2) and .trials == [] and .code == {} and .winners[0].code == null'
  echo "${P/f32/f16} # half" >suite.txt
  gt export --cache a.db --suite suite.txt
  works
  json '(.winners | length == 1) and (.winners[0].problem | contains("f16")) and (.trials | all(.problem | contains("f16")))'
  gt export --cache a.db --model H200
  fails_with 1 "nothing to export"
  gt export --cache a.db --operator nonsense
  fails_with 2 "nonsense"
  gt export --cache a.db --suite nowhere.txt
  fails_with 2 "nowhere.txt"
  gt export --cache a.db --format nonsense
  fails_with 2 "nonsense" "json"
  gt export --cache nowhere.db
  fails_with 1 "nowhere.db"
  gt export --cache a.db -o /proc/nowhere/x
  fails_with 1 "/proc/nowhere/x"
}

@test "merge decides between winners by their times, tells so, and gives the same in any order" {
  tuned_on a "50, 200"
  tuned_on b "20, 90"
  sqlite3 b.db "UPDATE device SET pci_id = '0000:99:00.0'" # another device of the model
  gt merge a.db b.db --into dry.db --dry-run --json
  works
  json '.dry_run and .new_winners == 2'
  [ ! -e dry.db ]
  gt merge a.db b.db --into ab.db --json
  works
  json '.conflicts | all(.kept.from == "b.db" and .kept.median_us < .dropped.median_us)'
  gt merge b.db --into ba.db
  works
  gt merge a.db --into ba.db
  works
  gathertune export --cache ab.db >ab.out
  gathertune export --cache ba.db >ba.out
  cmp ab.out ba.out
  jq -e '(.winners | all(.median_us < 90)) and (.devices | length == 2)' ab.out
}

@test "a dry run changes no byte of the cache" {
  tuned_on a "50, 200"
  tuned_on b "20, 90"
  cp a.db before
  gt merge b.db --into a.db --dry-run
  works
  said "nothing was written"
  cmp a.db before
}

@test "merge reports winners that differ, with their intervals" {
  tuned_on a "50, 200"
  # Another machine found another configuration, ten times as fast.
  other=$(gathertune list --cache a.db --trials "$P" --json | jq -r '[.trials[] | select(.configuration | startswith("direct") or startswith("taps")) | .configuration]')
  gathertune export --cache a.db | jq --argjson all "$other" '
    .winners[0] |= (.variant.configuration as $own | .median_us = 5 | .spread_us = 0.1 | .code = null
      | .variant.configuration = ([$all[] | select(. != $own)][0])
      | .variant.family = (.variant.configuration | split(":")[0]) | .variant.source_hash = "00000000000000000000000000000000")
    | .winners = [.winners[0]] | .trials = []' >other.out
  gt import other.out --cache a.db
  works
  said "winners that differ"
  said "clearly slower"
  said "4.80 … 5.20"
  said "stale, since the templates have changed: 1 winner and "
}

@test "import leaves out what is not in the search space, and says so" {
  tuned_on a "50, 200"
  gathertune export --cache a.db | jq '.winners[0].variant |= (.configuration = "direct:block=7,acc=float" | .family = "direct")
    | .trials[0].configuration = "nonsense:x=1"' >odd.json
  gt import odd.json --cache b.db --json
  works
  json '.refused_winners == 1 and .refused_trials == 1 and .new_winners == 1'
  gt import odd.json --cache c.db
  works
  said "left out"
  said "block=7"
}

@test "import takes a file whole or not at all, and makes no cache for a bad one" {
  tuned_on a "50, 200"
  tuned_on b "20, 90"
  gathertune export --cache b.db >good.json
  size=$(stat -c %s good.json)
  head -c $((size / 2)) good.json >cut.json
  jq '.code |= with_entries(.value = "AAAA")' good.json >code.json
  jq '.winners[1].median_us = -1' good.json >time.json
  jq '.winners[0].variant.launches[0].blocks[0] = 1000000' good.json >launch.json
  jq '.version = 3' good.json >newer.json
  cp a.db before
  for bad in cut code time launch newer; do
    gt import good.json "$bad.json" --cache a.db
    [ "$status" -ne 0 ]
    fails_with "$status" "$bad.json"
    cmp a.db before
    gt import "$bad.json" --cache new.db
    [ "$status" -ne 0 ]
    [ ! -e new.db ]
  done
  gt import nowhere.json --cache a.db
  fails_with 1 "nowhere.json"
  gt import --cache a.db
  fails_with 2 "a file is needed"
  gt merge a.db
  fails_with 2 "--into"
  gt merge a.db nowhere.db --into new.db
  fails_with 1 "nowhere.db"
  [ ! -e new.db ]
}

@test "a cache that an older version made, without names of machines, is exported and merged" {
  tuned_on a "50, 200"
  sqlite3 a.db "DROP TABLE origin"
  gt export --cache a.db
  works
  json '.winners | all(.host == "")'
  gt merge a.db --into b.db
  works
  gathertune export --cache a.db >a.out
  gathertune export --cache b.db | cmp - a.out
}

# --- formats for others ---------------------------------------------------------------------------

# Trials with every outcome that a script can cause.
tuned_with_faults() {
  device_script a.json <<'SCRIPT'
{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary X"}, "hashed": [50, 200],
 "rules": [{"match": "block=64", "action": "compile_error"}, {"match": "block=128", "action": "launch_error"}]}
SCRIPT
  gathertune tune "$P" --device recorded:a.json --budget 40 --cache a.db >/dev/null 2>&1
}

@test "T4: what the schema demands, with Kernel Tuner's names of times" {
  tuned_with_faults
  gt export --cache a.db --format t4
  works
  json '.schema_version == "1.0.0" and .metadata.autotuner == "gathertune" and (.results | length >= 30)'
  json '.results | all((.configuration | type == "object") and (.times | type == "object") and (.correctness | type == "number")
    and (.invalidity | IN("timeout", "compile", "runtime", "correctness", "constraints", "correct")) and (.objectives == ["time"]))'
  json '.results | all(.times | [.compilation_time, .compilation, .benchmark, .framework, .search_algorithm, .validation] | all(type == "number"))'
  json '.results | all(.times.runtimes | type == "array") and all(.measurements | all((.name | type == "string") and (.unit | type == "string")))'
  json '[.results[] | select(.invalidity == "correct")] | length > 0 and all(.correctness == 1 and ([.measurements[] | select(.name == "time" and .value > 0 and .unit == "ms")] | length == 1))'
  json '.results | map(.configuration | keys) | unique | length == 1' # one space: the same parameters everywhere
  json '.results | map(.configuration.family) | unique | (index("stream") == null and index("scatter") == null)' # what cannot win is no candidate
}

@test "T4: faults are told by the schema's names" {
  tuned_with_faults
  gathertune list --cache a.db --trials "$P" --json >trials.json
  [ "$(jq '[.trials[] | select(.outcome != "ok")] | length' trials.json)" -gt 0 ]
  gt export --cache a.db --format t4
  works
  json '[.results[] | select(.invalidity != "correct")] | length == $n and all(.correctness == 0)' --argjson n \
    "$(jq '[.trials[] | select(.outcome != "ok" and (.configuration | test("^(stream|scatter)") | not))] | length' trials.json)"
}

@test "T4: valid against the schema itself" {
  schema=$ROOT/tests/schema/T4-1.0.0.schema.json
  python3 -c 'import jsonschema' 2>/dev/null || skip "no python3-jsonschema"
  tuned_with_faults
  gathertune export --cache a.db --format t4 >a.t4
  python3 - "$schema" a.t4 <<'PYTHON'
import json, sys
from jsonschema import Draft202012Validator
schema, document = (json.load(open(path)) for path in sys.argv[1:])
Draft202012Validator.check_schema(schema)
Draft202012Validator(schema).validate(document)
document["results"][0]["invalidity"] = "nonsense"
assert not Draft202012Validator(schema).is_valid(document), "the schema refuses nothing"
PYTHON
}

@test "T4: gathertune replay reads it; several problems go into a folder" {
  tuned_on a "50, 200"
  gt export --cache a.db --format t4
  fails_with 2 "several"
  gt export --cache a.db --format t4 -o t4 --json
  works
  json '.files == 2'
  [ "$(ls t4 | wc -l)" -eq 2 ]
  gt replay t4/*.json --seeds 2
  works
  gt export --cache a.db --format t4 -o t4 # a folder that has something in it
  fails_with 1 "t4"
}

@test "CSV: a line for each problem, quoted by RFC 4180" {
  tuned_on a "50, 200"
  gt export --cache a.db --format csv -o a.csv
  works
  python3 - <<'PYTHON'
import csv
rows = list(csv.DictReader(open("a.csv", newline=""), strict=True))
assert len(rows) == 2 and all(None not in row and None not in row.values() for row in rows), rows
row = next(row for row in rows if row["dtype"] == "f32")
assert row["gfx"] == "gfx942" and int(row["cu_num"]) > 0 and row["device"] == "Imaginary X"
assert (row["op"], row["n"], row["c"], row["in"], row["out"]) == ("upsample_bilinear2d_backward", "2", "3", "6x5", "12x10")
assert row["layout"] == "nchw" and row["flags"] == "align_corners=0"
assert row["config"].startswith(row["family"]) and float(row["us"]) > 0 and row["kernelName"]
assert row["problem"] == "upsample_bilinear2d_backward:n=2,c=3,in=6x5,out=12x10,dtype=f32,layout=nchw,align_corners=0"
PYTHON
}

@test "bundle: a read-only cache that lookup reads" {
  tuned_on a "50, 200"
  gt export --cache a.db --format bundle
  fails_with 2 "--output"
  gt export --cache a.db --format bundle -o b.db
  works
  [ "$(stat -c %a b.db)" = 444 ]
  gt lookup "$P" --device recorded:a.json --cache a.db --json --emit a.code
  expected=$(jq "del(.tuned.cache)" <<<"$output")
  gt lookup "$P" --device recorded:a.json --cache b.db --json --emit b.code
  works
  [ "$(jq "del(.tuned.cache)" <<<"$output")" = "$expected" ]
  cmp a.code b.code
  gt list --cache b.db --json
  json '.trials == 0 and (.winners | length == 2)'
  cp b.db before
  gt export --cache a.db --format bundle -o b.db # nothing is overwritten
  fails_with 1 "b.db"
  cmp b.db before
  gt merge b.db --into c.db --json
  works
  json '.new_winners == 2'
}

@test "objects: a file for each code object, and a manifest" {
  tuned_on a "50, 200"
  gt export --cache a.db --format objects -o objects
  works
  jq -e '.objects | length == 2 and all(.variant.launches | length > 0)' objects/manifest.json
  gathertune lookup "$P" --device recorded:a.json --cache a.db --json --emit a.code >lookup.json
  cmp a.code "objects/$(jq -r '.objects[] | select(.problem | contains("f32")) | .file' objects/manifest.json)"
  jq -re '.objects[] | .file' objects/manifest.json | while read -r file; do [ -s "objects/$file" ]; done
}

# Compiles as strictly as the source promises to. Arguments: what to compile, and how to link.
strictly() {
  ${CC:-cc} -std=c11 -Wall -Wextra -Werror -Wshadow -Wmissing-prototypes -D__HIP_PLATFORM_AMD__ \
    ${HIP_CFLAGS:-$([ -d /opt/rocm/include ] && echo -I/opt/rocm/include)} "$@"
}

@test "C: compiles without a warning, as source and as declarations" {
  echo '#include <hip/hip_runtime_api.h>' | strictly -fsyntax-only -x c - || skip "no HIP headers"
  tuned_on a "50, 200"
  gt export --cache a.db --format c
  fails_with 1 "HIP"
  grids_tuned_on a "$GRIDS"
  sqlite3 a.db "UPDATE model SET backend = 'hip'" # the code is text here, which does not matter to the compiler
  gt export --cache a.db --format c -o exported.c
  works
  strictly -c exported.c
  strictly -c -I. "$ROOT/tests/cli/run_exported.c"
  gt export --cache a.db --format c --prefix mine
  works
  said "mine_launch"
  [[ $output != *tuned_* ]]
  gt export --cache a.db --format c --prefix "1 2"
  fails_with 2 "--prefix"
}

@test "C: entries are found by kernels, compute units, positions and outer count, in this order" {
  echo '#include <hip/hip_runtime_api.h>' | strictly -fsyntax-only -x c - || skip "no HIP headers"
  grids_tuned_on a "n=2 n=16,grid=random n=64,grid=random n=2,want=grid,grid=random"
  sqlite3 a.db "UPDATE model SET backend = 'hip'; DELETE FROM winner WHERE problem IN (SELECT id FROM problem WHERE text LIKE '%=contended')"
  gathertune export --cache a.db --format c -o exported.c
  cat >find.c <<'SOURCE'
#include <stdio.h>
#include <stdlib.h>
#define tuned_DECLARATIONS
#include "exported.c"
int main(int argc, char **argv) { // PROBLEM OUTER ARCH UNITS
  const tuned_entry *e = argc == 5 ? tuned_find(argv[1], atoll(argv[2]), argv[3], atoi(argv[4])) : NULL;
  if (!e) return 1;
  printf("%d %s of %d\n", e->n_tensors, e->problem, (int)e->outer);
  return 0;
}
SOURCE
  strictly -c exported.c
  nm -u exported.o | sed -n 's/.*U \(hip.*\)/void \1(void); void \1(void) { __builtin_trap(); }/p' >hip.c # is never called
  strictly -I. find.c exported.o hip.c -o find
  kernel=${SAMPLER_CANONICAL/n=2,/}
  found() { # TENSORS PROBLEM OUTER of the entry for PROBLEM OUTER
    run ./find "$4" "$5" gfx942 304
    [ "$output" = "$1 $2 of $3" ] || { echo "$output"; return 1; }
  }
  found 5 "$kernel" 2 "$kernel" 100
  found 5 "$kernel,grid=random" 16 "$kernel,grid=random" 20
  found 5 "$kernel,grid=random" 64 "$kernel,grid=random" 60
  found 5 "$kernel" 2 "$kernel,grid=contended" 100
  found 4 "${kernel/both/grid},grid=random" 2 "${kernel/both/grid}" 2
  run ./find "$kernel" 2 gfx90a 304
  [ "$status" -eq 1 ]
  run ./find "${kernel/both/input}" 2 gfx942 304
  [ "$status" -eq 1 ]
}

@test "C: the kernels run and give the right gradients" {
  [[ $DEVICE == hip:* ]] || skip "needs a HIP device"
  gathertune tune "$P" --device "$DEVICE" --budget 4 $SHORT --cache a.db >/dev/null 2>&1
  gathertune tune "$SAMPLER,grid=random" --device "$DEVICE" --families grid_scatter,grid_bin --budget 2 $SHORT --cache a.db >/dev/null 2>&1
  gathertune export --cache a.db --format c -o exported.c
  strictly -c exported.c
  strictly -I. "$ROOT/tests/cli/run_exported.c" exported.o -lamdhip64 -lm -o run_exported
  # Where the program under test runs on libraries of its own, as on the emulated MI300X, so does this one.
  libraries=$(patchelf --print-rpath "$GATHERTUNE")
  if [ -n "$libraries" ]; then
    patchelf --set-interpreter "$(patchelf --print-interpreter "$GATHERTUNE")" --force-rpath --set-rpath "$libraries" run_exported
  fi
  for n in 2 1 5; do # one kernel serves every batch size
    run ./run_exported "${P_CANONICAL/n=2,c=3,/}" $((3 * n)) 6 5
    echo "$output"
    [ "$status" -eq 0 ]
    run ./run_exported "${SAMPLER_CANONICAL/n=2,/}" $n 6 5 3 7 8
    echo "$output"
    [ "$status" -eq 0 ]
  done
}

@test "export refuses options that say nothing about the format" {
  tuned_on a "50, 200"
  gt export --cache a.db --format csv --no-code
  fails_with 2 "--no-code"
  gt export --cache a.db --format t4 --no-trials
  fails_with 2 "--no-trials"
  gt export --cache a.db --prefix x
  fails_with 2 "--prefix"
}

# A cache a.db in which an atomic configuration won, and the best of those whose results repeat is kept beside it.
atomic_won() {
  device_script a.json <<<'{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary X"}, "rules": [
    {"match": "sums=atomic", "us": 10}, {"match": "sums=ordered", "us": 20}]}'
  ATOMIC=grid_sampler_2d_backward:n=2,c=1,in=6x5,out=7x8,dtype=f32,want=input,grid=random
  gathertune tune "$ATOMIC" --device recorded:a.json --families grid_lds --strategy exhaustive --cache a.db >/dev/null 2>&1
}

@test "beside an atomic winner, what repeats goes along in JSON, a merge and a bundle, and is looked up with its code" {
  atomic_won
  gathertune export --cache a.db -o a.out
  jq -e '(.winners[0].variant | .reproducible == false and (.configuration | contains("sums=atomic"))) and
    (.deterministic | length == 1) and (.deterministic[0] | .code != null and .median_us > 19 and .variant.reproducible)' a.out
  gt import a.out --cache b.db --json
  works
  json '.new_winners == 1 and .new_deterministic == 1 and .refused_winners == 0'
  gt import a.out --cache b.db --json
  works
  json '.new_deterministic == 0 and .replaced_deterministic == 0'
  gathertune export --cache b.db | cmp - a.out
  gt merge a.db --into c.db
  works
  said "beside winners whose results repeat: 1 new"
  gathertune export --cache c.db | cmp - a.out
  gt export --cache a.db --format bundle -o d.db --json
  works
  json '.winners == 1'
  for cache in a b c d; do
    gt lookup "$ATOMIC" --device recorded:a.json --cache $cache.db --json --deterministic --emit code
    works
    json '.plan == "exact" and .reproducible and .expected_us > 19 and (.configuration | contains("sums=ordered"))'
    [ "$(wc -c <code)" -eq "$(jq .code_bytes <<<"$output")" ]
  done
  gt lookup "$ATOMIC" --device recorded:a.json --cache d.db --json
  json '.reproducible == false and .expected_us < 11'
  gt explain "$ATOMIC" --cache d.db --json
  works
  json '.reproducible == false and .deterministic.median_us > 19 and (.deterministic.configuration | contains("sums=ordered"))'
  gt explain "$ATOMIC" --cache a.db
  said "deterministic  grid_lds:sums=ordered"
  gt gc --cache b.db --max-size 1
  works
  gathertune export --cache b.db --no-trials | cmp - <(gathertune export --cache a.db --no-trials)
  jq '.deterministic[0].variant.reproducible = false' a.out >bad.out
  gt import bad.out --cache e.db
  fails_with 1 "bad.out: deterministic 1: its results do not repeat"
}

@test "export --deterministic puts what repeats in the place of atomic winners" {
  atomic_won
  gathertune tune "$P" --device recorded:a.json --budget 2 --cache a.db >/dev/null 2>&1
  gt export --cache a.db --format csv
  works
  said "sums=atomic"
  gt export --cache a.db --format csv --deterministic
  works
  said "sums=ordered"
  said "$P"
  [ "${#lines[@]}" -eq 3 ]
  gt export --cache a.db --format objects --deterministic -o objects --json
  works
  json '.winners == 2 and .files == 3'
  jq -e '.objects | length == 2 and all(.variant.reproducible)' objects/manifest.json
  gt export --cache a.db --format bundle --deterministic -o d.db
  works
  gt lookup "$ATOMIC" --device recorded:a.json --cache d.db --json
  json '.plan == "exact" and .reproducible'
  gt export --cache a.db --deterministic
  works
  json '.deterministic == [] and (.winners | length == 2 and all(.variant.reproducible))'
  sqlite3 a.db "DELETE FROM deterministic"
  gt export --cache a.db --operator grid_sampler_2d_backward --no-trials --deterministic
  fails_with 1 "no winner whose results are the same bits in every run that was asked for"
  gt export --cache a.db --format t4 --deterministic
  fails_with 2 "--deterministic" "t4"
}

@test "a winner that repeats has nothing beside it any more" {
  atomic_won
  sed -i 's/"us": 20/"us": 5/' a.json
  gathertune tune "$ATOMIC" --device recorded:a.json --families grid_lds --strategy exhaustive --retry --cache a.db >/dev/null 2>&1
  gt export --cache a.db
  works
  json '.deterministic == [] and (.winners[0].variant | .reproducible and (.configuration | contains("sums=ordered")))'
  [ "$(sqlite3 a.db "SELECT count(*) FROM code")" -eq 1 ]
}

@test "import and merge of nothing that was asked for fail, and make no cache" {
  tuned_on a "50, 200"
  gathertune export --cache a.db -o a.out
  gt import a.out --model H200 --cache b.db
  fails_with 1 "nothing to import" "a.out"
  gt merge a.db --operator upsample_bicubic2d_backward --into b.db
  fails_with 1 "nothing to merge" "a.db"
  [ ! -e b.db ]
  gt import a.out --model "imaginary x" --operator "$OP" --cache b.db
  works
}

@test "standard output and input, by whatever name, have the export alone" {
  tuned_on a "50, 200"
  gathertune export --cache a.db >a.out
  gathertune export --cache a.db -o /dev/stdout | cmp - a.out
  gathertune export --cache a.db -o - | cmp - a.out
  gathertune export --cache a.db | gathertune import - --cache b.db
  gathertune export --cache b.db | cmp - a.out
  run --separate-stderr "$GATHERTUNE" import - --cache c.db <<<"{}"
  fails_with 2 "-: not what gathertune export --format json writes"
}
