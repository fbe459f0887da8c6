// The library on scripted devices: where plans come from, modes, and failures.
#include "tests/unit/runtime_fixture.h"

#include <stdbool.h>

#define DEVICE "recorded:gpu.json"

static void what_was_tuned_is_found_exactly_and_what_was_not_is_refused_with_a_way_out(void **state) {
  (void)state;
  tune(PROBLEM);
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  assert_string_equal(gathertune_model(context), "recorded / Imaginary X / gfx942 / 64");
  assert_string_equal(gathertune_notes(context), "");
  assert_string_equal(gathertune_message(context), "");
  gathertune_plan_info info = describe(plan_of(context, PROBLEM));
  assert_int_equal(info.origin, GATHERTUNE_EXACT);
  assert_string_equal(info.problem, CANONICAL);
  assert_string_equal(info.from_problem, CANONICAL);
  assert_string_equal(info.from_model, gathertune_model(context));
  assert_string_equal(info.from_cache, "cache.db");
  assert_non_null(strchr(info.configuration, ':'));
  assert_true(info.expected_us >= 50 && info.expected_us <= 200 && info.reproducible);
  assert_int_equal(info.launches, 1);
  assert_int_equal(info.n_tensors, 2);
  assert_string_equal(info.tensors[0].name, "grad_output");
  assert_int_equal(info.tensors[0].bytes, 2 * 3 * 12 * 10 * 4);
  assert_int_equal(info.tensors[0].alignment, 16);
  assert_int_equal(info.tensors[0].is_result, 0);
  assert_string_equal(info.tensors[1].name, "grad_input");
  assert_int_equal(info.tensors[1].bytes, 2 * 3 * 6 * 5 * 4);
  assert_int_equal(info.tensors[1].alignment, 16);
  assert_int_equal(info.tensors[1].is_result, 1);
  // Nothing alike has code of its own here, and this mode makes none: the same answer each time.
  for (int i = 0; i < 2; i++)
    REFUSE(context, OPERATOR "n=1,c=1,in=4x4,out=9x9,dtype=f64", 0, NOT_FOUND, "gathertune tune");
  REFUSE(context, OPERATOR "n=1,c=1,in=4x4,out=9x9,dtype=f17", 0, USAGE, "f17");
  REFUSE(context, PROBLEM, 2, USAGE, "flags");
  gathertune_close(context);
  assert_int_equal(access("cache.db.code", F_OK), 0); // the tuning run's
}

static void texts_of_one_problem_give_one_plan_and_other_batches_the_same_kernels(void **state) {
  (void)state;
  tune(PROBLEM);
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  const gathertune_plan *plan = plan_of(context, PROBLEM);
  assert_ptr_equal(plan, plan_of(context, CANONICAL));
  assert_ptr_equal(plan, plan_of(context, OPERATOR "dtype=f32,out=12x10,in=6x5,c=3,n=2"));
  assert_ptr_equal(plan, plan_of(context, PROBLEM));
  const gathertune_plan *larger = plan_of(context, OPERATOR "n=2000,c=3,in=6x5,out=12x10,dtype=f32");
  gathertune_plan_info info = describe(larger), tuned = describe(plan);
  assert_int_equal(info.origin, GATHERTUNE_NEAR);
  assert_string_equal(info.from_problem, CANONICAL);
  assert_string_equal(info.configuration, tuned.configuration);
  assert_true(info.expected_us > 999 * tuned.expected_us && info.expected_us < 1001 * tuned.expected_us);
  const gathertune_plan *deterministic;
  assert_int_equal(gathertune_get_plan(context, PROBLEM, GATHERTUNE_DETERMINISTIC, &deterministic),
                   GATHERTUNE_OK);
  assert_true(describe(deterministic).reproducible);
  gathertune_close(context);
}

static void an_empty_problem_has_a_plan_that_does_nothing(void **state) {
  (void)state;
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  const gathertune_plan *plan = plan_of(context, OPERATOR "n=0,c=3,in=6x5,out=12x10,dtype=f32");
  assert_int_equal(describe(plan).origin, GATHERTUNE_EMPTY);
  assert_string_equal(gathertune_origin_name(describe(plan).origin), "empty");
  assert_int_equal(describe(plan).n_tensors, 2);
  assert_int_equal(describe(plan).tensors[0].bytes, 0);
  assert_int_equal(gathertune_execute(plan, NULL, &(gathertune_buffers){0}), GATHERTUNE_OK);
  assert_int_equal(gathertune_execute(plan, NULL, NULL), GATHERTUNE_OK);
  gathertune_close(context);
}

// Executing with these buffers fails with one line that has the part.
#define REFUSE_BUFFERS(context, plan, given, part)                                    \
  do {                                                                                \
    assert_int_equal(gathertune_execute(plan, NULL, given), GATHERTUNE_USAGE);        \
    assert_has(gathertune_message(context), part);                                    \
    assert_null(strchr(gathertune_message(context), '\n'));                           \
  } while (0)

static void bad_pointers_are_refused_before_anything_is_launched(void **state) {
  (void)state;
  _Alignas(256) static char memory[1024];
  tune(PROBLEM);
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  const gathertune_plan *plan = plan_of(context, PROBLEM);
  const gathertune_buffers good = {.grad_output = memory, .grad_input = memory + 512};
  gathertune_buffers bad = good;
  assert_int_equal(gathertune_workspace(plan), 0);
  assert_int_equal(gathertune_execute(plan, NULL, &good), GATHERTUNE_OK);
  bad.grad_output = NULL;
  REFUSE_BUFFERS(context, plan, &bad, "grad_output is NULL: the plan of " CANONICAL " needs 2880 bytes");
  bad = good;
  bad.grad_input = NULL;
  REFUSE_BUFFERS(context, plan, &bad, "grad_input is NULL");
  bad = good;
  bad.grad_output = memory + 8;
  REFUSE_BUFFERS(context, plan, &bad, "grad_output at ");
  assert_has(gathertune_message(context), "multiple of 16 bytes");
  bad = good;
  bad.grad_input = memory + 4;
  REFUSE_BUFFERS(context, plan, &bad, "grad_input at ");
  REFUSE_BUFFERS(context, plan, NULL, "gathertune_buffers are NULL");
  // What the problem has no use for is not looked at.
  gathertune_buffers more = good;
  more.input = more.grid = more.grad_grid = more.workspace = memory + 1;
  assert_int_equal(gathertune_execute(plan, NULL, &more), GATHERTUNE_OK);
  gathertune_close(context);
}

static void a_plan_names_all_its_tensors_and_refuses_each_that_is_missing(void **state) {
  (void)state;
  _Alignas(256) static char memory[4096];
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
  static const struct {
    const char *want, *names; // in order; results behind a colon
  } cases[] = {{"both", "grad_output input grid :grad_input :grad_grid "},
               {"input", "grad_output grid :grad_input "},
               {"grid", "grad_output input grid :grad_grid "}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[200];
    gt_buffer names = {0};
    snprintf(text, sizeof text, SAMPLER "n=2,c=3,in=6x5,out=7x8,dtype=f16,want=%s", cases[i].want);
    const gathertune_plan *plan = plan_of(context, text);
    gathertune_plan_info info = describe(plan);
    gathertune_buffers buffers = {0};
    buffers.workspace = memory;
    for (int k = 0; k < info.n_tensors; k++) {
      const gathertune_tensor *t = &info.tensors[k];
      gt_buffer_print(&names, "%s%s ", t->is_result ? ":" : "", t->name);
      bool of_grid = strstr(t->name, "grid"), of_output = strcmp(t->name, "grad_output") == 0;
      assert_int_equal(t->bytes, 2 * (of_grid ? 7 * 8 * 2 : of_output ? 3 * 7 * 8 : 3 * 6 * 5) * 2);
      assert_int_equal(t->alignment, 16);
      memcpy((char *)&buffers + t->offset, &(void *){memory + 16 * k}, sizeof(void *));
    }
    assert_string_equal(names.data, cases[i].names);
    assert_int_equal(gathertune_execute(plan, NULL, &buffers), GATHERTUNE_OK);
    for (int k = 0; k < info.n_tensors; k++) {
      const gathertune_tensor *t = &info.tensors[k];
      for (int misaligned = 0; misaligned < 2; misaligned++) {
        gathertune_buffers bad = buffers;
        gt_buffer part = {0};
        memcpy((char *)&bad + t->offset, &(void *){misaligned ? memory + 2 : NULL}, sizeof(void *));
        gt_buffer_print(&part, "%s %s", t->name, misaligned ? "at " : "is NULL");
        REFUSE_BUFFERS(context, plan, &bad, part.data);
        gt_buffer_free(&part);
      }
    }
    gt_buffer_free(&names);
  }
  gathertune_close(context);
}

static void a_workspace_is_refused_only_where_it_is_needed(void **state) {
  (void)state;
  _Alignas(256) static char memory[1024];
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
  const gathertune_plan *plan = plan_of(context, "_upsample_bicubic2d_aa_backward:n=1,c=2,in=4x4,out=40x64,dtype=f32,layout=nhwc");
  gathertune_buffers buffers = {.grad_output = memory, .grad_input = memory + 512, .workspace = memory + 256};
  assert_true(gathertune_workspace(plan) > 0); // between the passes
  assert_int_equal(describe(plan).n_tensors, 2);
  assert_int_equal(gathertune_execute(plan, NULL, &buffers), GATHERTUNE_OK);
  buffers.workspace = NULL;
  REFUSE_BUFFERS(context, plan, &buffers, "workspace is NULL");
  buffers.workspace = memory + 64;
  REFUSE_BUFFERS(context, plan, &buffers, "workspace at ");
  assert_has(gathertune_message(context), "multiple of 256 bytes");
  gathertune_close(context);
}

static void strides_say_how_grad_output_is_aligned(void **state) {
  (void)state;
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
  static const struct {
    const char *stride;
    size_t bytes;
  } cases[] = {{"840x120x10x1", 4}, {"840x144x12x1", 8}, {"840x168x14x1", 4}, {"576x192x16x1", 16}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[200];
    snprintf(text, sizeof text, OPERATOR "n=2,c=3,in=6x5,out=12x10,dtype=f16,stride=%s", cases[i].stride);
    assert_int_equal(describe(plan_of(context, text)).tensors[0].alignment, cases[i].bytes);
  }
  gathertune_close(context);
}

static void compiling_makes_the_default_and_keeps_it_for_programs_that_only_look_up(void **state) {
  (void)state;
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
  gathertune_plan_info info = describe(plan_of(context, PROBLEM));
  assert_int_equal(info.origin, GATHERTUNE_DEFAULT);
  assert_true(info.expected_us == 0);
  assert_string_equal(info.from_problem, "");
  char *configuration = gt_strdup(info.configuration);
  gathertune_close(context);
  assert_int_not_equal(access("cache.db", F_OK), 0); // nothing was tuned
  setenv("GATHERTUNE_PROGRAM", "/nowhere", 1);
  context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  info = describe(plan_of(context, PROBLEM));
  assert_int_equal(info.origin, GATHERTUNE_DEFAULT);
  assert_string_equal(info.configuration, configuration);
  REFUSE(context, OPERATOR "n=1,c=1,in=4x4,out=9x9,dtype=f64", 0, NOT_FOUND, "GATHERTUNE_MODE_COMPILE");
  gathertune_close(context);
  context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
  REFUSE(context, OPERATOR "n=1,c=1,in=4x4,out=9x9,dtype=f64", 0, IO, "/nowhere");
  gathertune_close(context);
  free(configuration);
}

static void another_shape_takes_a_configuration_of_problems_alike_when_it_may_compile(void **state) {
  (void)state;
  tune(PROBLEM);
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
  gathertune_plan_info info = describe(plan_of(context, OPERATOR "n=2,c=3,in=6x5,out=12x11,dtype=f32"));
  assert_int_equal(info.origin, GATHERTUNE_NEAR);
  assert_string_equal(info.from_problem, CANONICAL);
  assert_true(info.expected_us > 0);
  gathertune_close(context);
}

static void a_compiler_that_crashes_or_refuses_costs_its_request(void **state) {
  (void)state;
  write_text("crash.json", "{\"rules\": [{\"match\": \"taps\", \"action\": \"compile_crash\"}]}");
  write_text("refuse.json", "{\"rules\": [{\"match\": \"taps\", \"action\": \"compile_error\"}]}");
  write_text("hang.json", "{\"rules\": [{\"match\": \"taps\", \"action\": \"compile_hang\"}]}");
  gathertune_context *context = open_mode("recorded:crash.json", GATHERTUNE_MODE_COMPILE);
  REFUSE(context, PROBLEM, 0, CRASH, "signal");
  gathertune_close(context);
  context = open_mode("recorded:refuse.json", GATHERTUNE_MODE_COMPILE);
  REFUSE(context, PROBLEM, 0, COMPILE, "does not compile");
  plan_of(context, OPERATOR "n=2,c=16,in=6x5,out=12x10,dtype=f32,layout=nhwc"); // inner
  gathertune_close(context);
  gathertune_options options = GATHERTUNE_OPTIONS_INIT;
  options.device = "recorded:hang.json";
  options.mode = GATHERTUNE_MODE_COMPILE;
  options.seconds = 0.5;
  assert_int_equal(gathertune_open(&options, &context), GATHERTUNE_OK);
  REFUSE(context, PROBLEM, 0, TIMEOUT, "in time");
  gathertune_close(context);
}

static void tuning_on_first_use_keeps_its_result(void **state) {
  (void)state;
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_TUNE);
  assert_int_equal(describe(plan_of(context, PROBLEM)).origin, GATHERTUNE_EXACT);
  assert_int_equal(describe(plan_of(context, OPERATOR "n=9,c=3,in=6x5,out=12x10,dtype=f32")).origin,
                   GATHERTUNE_NEAR);
  gathertune_close(context);
  context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  assert_int_equal(describe(plan_of(context, PROBLEM)).origin, GATHERTUNE_EXACT);
  gathertune_close(context);
}

#define RANDOM SAMPLER "n=2,c=3,in=6x5,out=7x8,dtype=f32,grid=random"

static void tune_sampler(const char *problem) {
  shell("\"$GATHERTUNE_PROGRAM\" tune '%s' --device " DEVICE " --families grid_scatter --budget 2 >/dev/null 2>&1", problem);
}

static void positions_that_were_not_tuned_take_the_kernels_of_others(void **state) {
  (void)state;
  tune_sampler(RANDOM);
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  gathertune_plan_info tuned = describe(plan_of(context, RANDOM));
  assert_int_equal(tuned.origin, GATHERTUNE_EXACT);
  static const char *const others[] = {"n=2,", "n=5,", "n=2,grid=smooth,"};
  for (int i = 0; i < 3; i++) {
    char text[200];
    snprintf(text, sizeof text, SAMPLER "%sc=3,in=6x5,out=7x8,dtype=f32", others[i]);
    gathertune_plan_info info = describe(plan_of(context, text)); // this mode compiles nothing
    assert_int_equal(info.origin, GATHERTUNE_NEAR);
    assert_string_equal(info.from_problem, tuned.problem);
    assert_string_equal(info.configuration, tuned.configuration);
  }
  REFUSE(context, SAMPLER "n=2,c=3,in=6x5,out=7x8,dtype=f32,padding=border", 0, NOT_FOUND, "gathertune tune");
  gathertune_close(context);
}

// The plan of a problem for which every run must give the same bits.
static const gathertune_plan *repeating_plan_of(gathertune_context *context, const char *problem) {
  const gathertune_plan *plan;
  if (gathertune_get_plan(context, problem, GATHERTUNE_DETERMINISTIC, &plan) != GATHERTUNE_OK)
    fail_msg("%s", gathertune_message(context));
  return plan;
}

#define SMALL SAMPLER "c=1,in=6x5,out=7x8,dtype=f32,want=input,"
#define ORDERED "grid_lds:sums=ordered,channels=1,bands=1,images=1,split=1,flight=2,block="

static void where_results_must_repeat_the_best_of_what_was_tried_takes_the_place_of_an_atomic_winner(void **state) {
  (void)state;
  write_text("gpu.json", "{\"fingerprint\": {\"arch\": \"gfx942\", \"target\": \"hip\", \"name\": \"Imaginary X\"}, \"rules\": ["
                         "{\"match\": \"sums=atomic\", \"us\": 10},"
                         "{\"match\": \"" ORDERED "256\", \"us\": 20}]}");
  write_text("program", "#!/bin/sh\necho x >>calls\nexec \"$REAL\" \"$@\"\n");
  chmod("program", 0700);
  shell("\"$GATHERTUNE_PROGRAM\" tune '" SMALL "n=2' --device " DEVICE " --families grid_lds --strategy exhaustive >/dev/null 2>&1");
  setenv("REAL", getenv("GATHERTUNE_PROGRAM"), 1);
  setenv("GATHERTUNE_PROGRAM", "./program", 1);
  static const struct {
    const char *problem;
    gathertune_origin origin;
    double us;
  } cases[] = {{SMALL "n=2,grid=random", GATHERTUNE_EXACT, 20},
               {SMALL "n=6,grid=random", GATHERTUNE_NEAR, 60},
               {SMALL "n=2", GATHERTUNE_EXACT, 20},
               {SMALL "n=4", GATHERTUNE_NEAR, 40}};
  // This mode compiles nothing; the other one tunes nothing that was tuned.
  static const gathertune_mode modes[] = {GATHERTUNE_MODE_LOOKUP, GATHERTUNE_MODE_TUNE};
  for (int m = 0; m < 2; m++) {
    gathertune_context *context = open_mode(DEVICE, modes[m]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      gathertune_plan_info any = describe(plan_of(context, cases[i].problem)),
                           info = describe(repeating_plan_of(context, cases[i].problem));
      assert_has(any.configuration, "sums=atomic");
      assert_false(any.reproducible);
      assert_string_equal(info.configuration, ORDERED "256");
      assert_true(info.reproducible && !info.stale);
      assert_int_equal(info.origin, cases[i].origin);
      assert_true(info.expected_us > cases[i].us - 0.5 && info.expected_us < cases[i].us + 0.5);
    }
    gathertune_close(context);
  }
  assert_int_equal(access("calls", F_OK), -1);
  // The same from a bundle, which has no trials, and no file of code objects beside it.
  shell("mkdir elsewhere && \"$REAL\" export --format bundle -o elsewhere/bundle.db >/dev/null && rm "
        "cache.db*");
  setenv("GATHERTUNE_SYSTEM_CACHE", "elsewhere/bundle.db", 1);
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gathertune_plan_info info = describe(repeating_plan_of(context, cases[i].problem));
    assert_string_equal(info.configuration, ORDERED "256");
    assert_true(info.reproducible && !info.stale);
    assert_int_equal(info.origin, cases[i].origin);
    assert_true(info.expected_us > cases[i].us - 0.5 && info.expected_us < cases[i].us + 0.5);
  }
  gathertune_close(context);
}

static void tuning_on_first_use_tunes_each_kind_of_positions(void **state) {
  (void)state;
  static const struct {
    const char *problem;
    int tunes;
  } steps[] = {{RANDOM, 1}, {SAMPLER "n=9,c=3,in=6x5,out=7x8,dtype=f32,grid=random", 0}, {SAMPLER "n=2,c=3,in=6x5,out=7x8,dtype=f32", 1}};
  write_text("program", "#!/bin/sh\necho x >>calls\nexec \"$REAL\" \"$@\" --families grid_scatter\n");
  chmod("program", 0700);
  setenv("REAL", getenv("GATHERTUNE_PROGRAM"), 1);
  setenv("GATHERTUNE_PROGRAM", "./program", 1);
  int calls = 0;
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_TUNE);
  for (int i = 0; i < 3; i++) {
    gathertune_plan_info info = describe(plan_of(context, steps[i].problem));
    calls += steps[i].tunes;
    assert_int_equal(info.origin, steps[i].tunes ? GATHERTUNE_EXACT : GATHERTUNE_NEAR);
    shell("test $(wc -l <calls) -eq %d", calls);
  }
  gathertune_close(context);
}

static void where_tuning_fails_the_next_best_is_compiled(void **state) {
  (void)state;
  if (geteuid() == 0) {
    // Root may write anywhere: a folder in the cache's place stops it as well.
    mkdir("cache.db", 0700);
  } else {
    chmod(".", 0500);
  }
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_TUNE);
  assert_true(*gathertune_notes(context));
  assert_int_equal(describe(plan_of(context, PROBLEM)).origin, GATHERTUNE_DEFAULT);
  assert_has(describe(plan_of(context, PROBLEM)).note, "not tuned: tuning upsample");
  assert_has(describe(plan_of(context, PROBLEM)).note, "cache.db");
  gathertune_close(context);
  chmod(".", 0700);
}

static void code_that_others_may_have_written_is_taken_only_by_name(void **state) {
  (void)state;
  tune(PROBLEM);
  for (int others = 0; others < 2; others++) {
    chmod("cache.db", others ? 0646 : 0664);
    chmod("cache.db.code", others ? 0646 : 0664);
    gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
    assert_has(gathertune_notes(context), "cache.db: its group");
    assert_has(gathertune_notes(context), "cache.db.code: its group");
    REFUSE(context, PROBLEM, 0, NOT_FOUND, "others may write to cache.db");
    REFUSE(context, PROBLEM, GATHERTUNE_DETERMINISTIC, NOT_FOUND,
           "whose results are the same bits in every run: others may write to cache.db");
    gathertune_close(context);
    setenv("GATHERTUNE_TRUST", "other.db:cache.db", 1);
    context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
    assert_string_equal(gathertune_notes(context), "");
    assert_int_equal(describe(plan_of(context, PROBLEM)).origin, GATHERTUNE_EXACT);
    gathertune_close(context);
    unsetenv("GATHERTUNE_TRUST");
  }
  gathertune_options options = GATHERTUNE_OPTIONS_INIT;
  gathertune_context *context;
  options.device = DEVICE;
  options.trusted = (const char *const[]){"cache.db"};
  options.n_trusted = 1;
  assert_int_equal(gathertune_open(&options, &context), GATHERTUNE_OK);
  assert_int_equal(describe(plan_of(context, PROBLEM)).origin, GATHERTUNE_EXACT);
  gathertune_close(context);
  // Its configurations are still of use to those who compile for themselves.
  context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
  assert_int_equal(describe(plan_of(context, PROBLEM)).origin, GATHERTUNE_EXACT);
  gathertune_close(context);
}

static void damaged_code_is_never_loaded(void **state) {
  (void)state;
  tune(PROBLEM);
  shell("sqlite3 cache.db \"UPDATE code SET blob = CAST(replace(blob, 'grad', 'evil') AS BLOB)\"");
  unlink("cache.db.code");
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  REFUSE(context, PROBLEM, 0, NOT_FOUND, "is damaged");
  gathertune_close(context);
}

static void caches_that_cannot_be_read_are_passed_over(void **state) {
  (void)state;
  tune(PROBLEM);
  write_text(
      "noise.db",
      "this is no database, but it is long enough to be looked at as if it were one ....................");
  const char *caches[] = {"cache.db", "noise.db", "missing.db"};
  gathertune_options options = GATHERTUNE_OPTIONS_INIT;
  gathertune_context *context;
  options.device = DEVICE;
  options.caches = caches;
  options.n_caches = 3;
  assert_int_equal(gathertune_open(&options, &context), GATHERTUNE_OK);
  assert_has(gathertune_notes(context), "noise.db: not a gathertune cache");
  assert_has(gathertune_notes(context), "missing.db: there is no cache");
  assert_string_equal(describe(plan_of(context, PROBLEM)).from_cache, "cache.db");
  gathertune_close(context);
}

static void system_caches_serve_where_there_is_no_home_and_nothing_is_written(void **state) {
  (void)state;
  tune(PROBLEM);
  shell("mkdir system && mv cache.db system && rm -f cache.db.* && chmod a-w system/* system");
  setenv("GATHERTUNE_SYSTEM_CACHE", "system/cache.db", 1);
  unsetenv("GATHERTUNE_CACHE");
  char *home = gt_strdup(getenv("HOME") ? getenv("HOME") : "/"), *xdg = getenv("XDG_CACHE_HOME");
  xdg = xdg ? gt_strdup(xdg) : NULL;
  unsetenv("HOME");
  unsetenv("XDG_CACHE_HOME");
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  assert_string_equal(describe(plan_of(context, PROBLEM)).from_cache, "system/cache.db");
  gathertune_close(context);
  shell("test \"$(ls system)\" = cache.db && test \"$(ls | sort | tr '\\n' ' ')\" = 'gpu.json system '");
  setenv("HOME", home, 1);
  if (xdg) setenv("XDG_CACHE_HOME", xdg, 1);
  free(home);
  free(xdg);
}

static void what_the_user_tuned_goes_before_what_the_system_has(void **state) {
  (void)state;
  tune(PROBLEM);
  shell("mv cache.db system.db");
  setenv("GATHERTUNE_SYSTEM_CACHE", "system.db", 1);
  tune(PROBLEM);
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  assert_string_equal(describe(plan_of(context, PROBLEM)).from_cache, "cache.db");
  gathertune_close(context);
}

static void a_model_of_the_same_hardware_lends_and_is_named(void **state) {
  (void)state;
  tune(PROBLEM);
  write_text("other.json",
             "{\"fingerprint\": {\"arch\": \"gfx942\", \"target\": \"hip\", \"name\": \"Imaginary Y\"}}");
  write_text("fewer.json",
             "{\"fingerprint\": {\"arch\": \"gfx942\", \"target\": \"hip\", \"name\": \"Imaginary Z\", "
             "\"compute_units\": 7}}");
  gathertune_context *context = open_mode("recorded:other.json", GATHERTUNE_MODE_LOOKUP);
  gathertune_plan_info info = describe(plan_of(context, PROBLEM));
  assert_int_equal(info.origin, GATHERTUNE_EXACT);
  assert_string_equal(info.from_model, "recorded / Imaginary X / gfx942 / 64");
  gathertune_close(context);
  context = open_mode("recorded:fewer.json", GATHERTUNE_MODE_LOOKUP);
  REFUSE(context, PROBLEM, 0, NOT_FOUND, "no cache has a code object for " PROBLEM);
  REFUSE(context, PROBLEM, GATHERTUNE_DETERMINISTIC, NOT_FOUND, "whose results are the same bits in every run: run");
  gathertune_close(context);
}

static void a_cache_that_is_locked_for_long_is_read_all_the_same(void **state) {
  (void)state;
  tune(PROBLEM);
  shell("(printf '.timeout 20000\\nBEGIN EXCLUSIVE;\\n'; sleep 8) | sqlite3 cache.db & "
        "while sqlite3 cache.db 'select 1 from model' >/dev/null 2>&1; do sleep 0.05; done");
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  assert_int_equal(describe(plan_of(context, PROBLEM)).origin, GATHERTUNE_EXACT);
  gathertune_close(context);
}

static void a_context_that_did_not_open_says_why_and_is_closed_like_any_other(void **state) {
  (void)state;
  gathertune_context *context;
  gathertune_options options = GATHERTUNE_OPTIONS_INIT;
  options.device = "toaster:0";
  assert_int_equal(gathertune_open(&options, &context), GATHERTUNE_USAGE);
  assert_has(gathertune_message(context), "toaster:0");
  REFUSE(context, PROBLEM, 0, USAGE, "toaster:0");
  assert_string_equal(gathertune_notes(context), "");
  assert_string_equal(gathertune_model(context), "");
  gathertune_close(context);
  options.device = DEVICE;
  options.size = 3;
  assert_int_equal(gathertune_open(&options, &context), GATHERTUNE_USAGE);
  assert_has(gathertune_message(context), "GATHERTUNE_OPTIONS_INIT");
  gathertune_close(context);
  options = (gathertune_options)GATHERTUNE_OPTIONS_INIT;
  options.device = DEVICE;
  options.mode = 7;
  assert_int_equal(gathertune_open(&options, &context), GATHERTUNE_USAGE);
  gathertune_close(context);
  options.mode = 0;
  options.queue = &options;
  assert_int_equal(gathertune_open(&options, &context), GATHERTUNE_USAGE);
  assert_has(gathertune_message(context), "OpenCL");
  gathertune_close(context);
  gathertune_close(NULL);
}

static void a_program_of_an_older_header_is_served_what_it_knows(void **state) {
  (void)state;
  tune(PROBLEM);
  gathertune_context *context;
  gathertune_options options = GATHERTUNE_OPTIONS_INIT;
  options.device = DEVICE;
  options.mode = 7; // behind what `size` says there is
  options.size = offsetof(gathertune_options, mode);
  assert_int_equal(gathertune_open(&options, &context), GATHERTUNE_OK);
  gathertune_plan_info info = {.size = offsetof(gathertune_plan_info, configuration)};
  info.configuration = "untouched";
  gathertune_describe(plan_of(context, PROBLEM), &info);
  assert_string_equal(info.problem, CANONICAL);
  assert_string_equal(info.configuration, "untouched");
  assert_int_equal(info.size, offsetof(gathertune_plan_info, configuration));
  gathertune_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(what_was_tuned_is_found_exactly_and_what_was_not_is_refused_with_a_way_out),
      CASE(texts_of_one_problem_give_one_plan_and_other_batches_the_same_kernels),
      CASE(an_empty_problem_has_a_plan_that_does_nothing),
      CASE(bad_pointers_are_refused_before_anything_is_launched),
      CASE(a_plan_names_all_its_tensors_and_refuses_each_that_is_missing),
      CASE(a_workspace_is_refused_only_where_it_is_needed),
      CASE(strides_say_how_grad_output_is_aligned),
      CASE(compiling_makes_the_default_and_keeps_it_for_programs_that_only_look_up),
      CASE(another_shape_takes_a_configuration_of_problems_alike_when_it_may_compile),
      CASE(a_compiler_that_crashes_or_refuses_costs_its_request),
      CASE(tuning_on_first_use_keeps_its_result),
      CASE(positions_that_were_not_tuned_take_the_kernels_of_others),
      CASE(where_results_must_repeat_the_best_of_what_was_tried_takes_the_place_of_an_atomic_winner),
      CASE(tuning_on_first_use_tunes_each_kind_of_positions),
      CASE(where_tuning_fails_the_next_best_is_compiled),
      CASE(code_that_others_may_have_written_is_taken_only_by_name),
      CASE(damaged_code_is_never_loaded),
      CASE(caches_that_cannot_be_read_are_passed_over),
      CASE(system_caches_serve_where_there_is_no_home_and_nothing_is_written),
      CASE(what_the_user_tuned_goes_before_what_the_system_has),
      CASE(a_model_of_the_same_hardware_lends_and_is_named),
      CASE(a_cache_that_is_locked_for_long_is_read_all_the_same),
      CASE(a_context_that_did_not_open_says_why_and_is_closed_like_any_other),
      CASE(a_program_of_an_older_header_is_served_what_it_knows),
  };
  return cmocka_run_group_tests_name("runtime", tests, NULL, NULL);
}
