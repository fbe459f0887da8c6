#include <dirent.h>

#include "base/clock.h"
#include "tests/unit/tune_run.h"

// `work` is "compile_ms":…,"check_ms":…
#define TIMED_SCRIPT(work, rules) \
  "{\"fingerprint\":{\"target\":\"opencl\"},\"hashed\":[50,200]," work ",\"rules\":[" rules "]}"

#define ALL "direct,faulty,twin"
enum { ALL_TRIALS = 18 }; // of ALL and `stream`
#define PLAIN "\"compile_ms\":0"

static gt_trial stored(run *r, const char *configuration) {
  gt_trial trial;
  if (gt_cache_get_trial(r->cache, gt_workshop_fingerprint(r->workshop), &r->problem, configuration, &trial,
                         &r->error) != GT_OK)
    fail_msg("%s", r->error.text);
  return trial;
}

static void compiling_goes_on_while_the_device_works(void **state) {
  (void)state;
  run r;
  // One compiler and one device: one after the other, the device would wait for all of each compilation.
  start_script(&r, TIMED_SCRIPT("\"compile_ms\":200,\"check_ms\":300", ""), ALL);
  double start = gt_seconds();
  assert_int_equal(tune(&r), GT_OK);
  double wall = gt_seconds() - start, compiling = 0.2 * (double)r.tuned.compiled;
  assert_true(r.tuned.compiled >= 14 && r.fresh == ALL_TRIALS);
  if (r.tuned.compile_wait_seconds > 0.5 * compiling)
    fail_msg("waited %g s for compilations of %g s", r.tuned.compile_wait_seconds, compiling);
  // Each trial's check and those of the final.
  assert_true(r.tuned.device_seconds >= 0.3 * 15 && r.tuned.device_seconds <= r.tuned.seconds);
  assert_true(r.tuned.seconds <= wall);
  end(&r);
}

static void on_a_cpu_nothing_is_compiled_while_it_is_timed(void **state) {
  (void)state;
  run r;
  start_script_with(&r,
                    "{\"fingerprint\":{\"target\":\"opencl\",\"is_cpu\":true},\"compile_ms\":300,"
                    "\"check_ms\":50}",
                    "direct", 2);
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.tuned.compiled, 5);
  // At most three were compiled before the first trial; the others, two at the same time, between trials.
  if (r.tuned.seconds < r.tuned.device_seconds + 0.3 - 0.05)
    fail_msg("%g s with %g s of the device", r.tuned.seconds, r.tuned.device_seconds);
  end(&r);
}

static void several_compilers_work_at_the_same_time(void **state) {
  (void)state;
  run r;
  start_script_with(&r, TIMED_SCRIPT("\"compile_ms\":500", ""), ALL, 8);
  double start = gt_seconds();
  assert_int_equal(tune(&r), GT_OK);
  double wall = gt_seconds() - start, work = 0.5 * (double)r.tuned.compiled;
  if (wall > 0.6 * work) fail_msg("%g s for compilations of %g s", wall, work);
  end(&r);
}

static void a_slow_compilation_shows_as_waiting_of_the_device(void **state) {
  (void)state;
  run r;
  start_script(&r, TIMED_SCRIPT(PLAIN, "{\"match\":\"direct:block=64\",\"compile_ms\":3000}"), "direct");
  assert_int_equal(tune(&r), GT_OK);
  assert_true(r.tuned.compile_wait_seconds > 0.7 && r.tuned.compile_wait_seconds <= r.tuned.seconds);
  end(&r);
}

static void the_order_of_trials_does_not_depend_on_compiling(void **state) {
  (void)state;
  run one, four;
  // What comes first takes longest.
  static const char *const script =
      TIMED_SCRIPT("\"compile_ms\":1", "{\"match\":\"stream:\",\"compile_ms\":300},"
                                       "{\"match\":\"direct:block=16\",\"compile_ms\":200}");
  start_script_with(&one, script, ALL, 1);
  start_script_with(&four, script, ALL, 4);
  one.options.budget = four.options.budget = 9; // less than the space: a random part of it
  one.options.seed = four.options.seed = 11;
  assert_int_equal(tune(&one), GT_OK);
  assert_int_equal(tune(&four), GT_OK);
  for (int i = 0; i < 64 && (one.order[i] || four.order[i]); i++) {
    assert_true(one.order[i] && four.order[i]);
    assert_string_equal(one.order[i], four.order[i]);
    gt_trial a = stored(&one, one.order[i]), b = stored(&four, four.order[i]);
    assert_float_equal(a.median_us, b.median_us, 0);
    assert_string_equal(a.message, b.message);
    gt_trial_free(&a);
    gt_trial_free(&b);
  }
  assert_non_null(one.order[10]); // the default and `stream` come on top
  assert_string_equal(one.tuned.configuration, four.tuned.configuration);
  end(&one);
  end(&four);
}

static void a_compiler_that_dies_costs_its_source_only(void **state) {
  (void)state;
  static const struct {
    const char *action;
    gt_outcome outcome;
    const char *message;
  } cases[] = {
      {"compile_crash", GT_OUTCOME_CRASH, "killed by signal 6 (SIGABRT) in phase \"compile\""},
      {"compile_hang", GT_OUTCOME_TIMEOUT, "no end of phase \"compile\" within 6 s"},
      {"compile_error", GT_OUTCOME_COMPILE_ERROR, "the script says so"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (int jobs = 1; jobs <= 3; jobs += 2) {
      run r;
      char *script =
          gt_print(TIMED_SCRIPT(PLAIN, "{\"match\":\"fault=weight\",\"action\":\"%s\"}"), cases[i].action);
      start_script_with(&r, script, ALL, jobs);
      if (tune(&r) != GT_OK) fail_msg("%s: %s", cases[i].action, r.error.text);
      assert_int_equal(r.fresh, ALL_TRIALS);
      assert_one_failed(&r, cases[i].outcome, cases[i].message);
      free(script);
      end(&r);
    }
}

// Calls `visit` for every child of this process.
static void each_child(void (*visit)(pid_t child)) {
  DIR *directory = opendir("/proc");
  struct dirent *entry;
  while ((entry = readdir(directory))) {
    char path[300], name[64];
    int ppid = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
    FILE *file = atoi(entry->d_name) ? fopen(path, "r") : NULL;
    if (!file) continue;
    if (fscanf(file, "%*d (%63[^)]) %*c %d", name, &ppid) == 2 && ppid == getpid())
      visit(atoi(entry->d_name));
    fclose(file);
  }
  closedir(directory);
}

static size_t children;
static void count_child(pid_t child) {
  (void)child;
  children++;
}
static void kill_child(pid_t child) {
  children++;
  kill(child, SIGKILL);
}

static void kill_all_once(void *context, const gt_tune_progress *now) {
  on_progress(context, now);
  if (now->done == 5) each_child(kill_child);
}

static void workers_that_are_killed_cost_what_they_had_in_hand(void **state) {
  (void)state;
  run r;
  start_script_with(&r, TIMED_SCRIPT("\"compile_ms\":20,\"check_ms\":20", ""), ALL, 3);
  children = 0;
  if (gt_tune(r.generator, r.workshop, r.cache, &r.problem, &r.options, kill_all_once, &r, &r.tuned,
              &r.error) != GT_OK)
    fail_msg("%s", r.error.text);
  if (children < 1 || children > 4) fail_msg("%d processes", children); // the device's, and compilers that work
  assert_int_equal(r.fresh, ALL_TRIALS);
  assert_true(r.outcomes[GT_OUTCOME_CRASH] <= children);
  assert_true(r.outcomes[GT_OUTCOME_OK] >= ALL_TRIALS - children);
  end(&r);
  children = 0;
  each_child(count_child);
  assert_int_equal(children, 0);
}

static void a_worker_that_dies_after_its_answer_costs_no_trial(void **state) {
  (void)state;
  run r;
  start_script(&r, TIMED_SCRIPT(PLAIN, "{\"match\":\"faulty:\",\"action\":\"unload_crash\"}"), ALL);
  if (tune(&r) != GT_OK) fail_msg("%s", r.error.text);
  assert_int_equal(r.fresh, ALL_TRIALS);
  assert_int_equal(r.outcomes[GT_OUTCOME_OK], ALL_TRIALS);
  end(&r);
}

static void equal_sources_are_compiled_and_timed_once(void **state) {
  (void)state;
  run r;
  start_script_with(
      &r, TIMED_SCRIPT(PLAIN, "{\"match\":\"note=none\",\"us\":20},{\"match\":\"twin:\",\"us\":10}"), "twin",
      2);
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.tuned.tried, 4);
  assert_int_equal(r.tuned.duplicates, 2);
  // `direct`, two of `stream`, and two of the four.
  assert_int_equal(r.tuned.compiled, 5);
  gt_trial first = stored(&r, "twin:note=none"), second = stored(&r, "twin:note=nothing");
  assert_string_equal(second.message, "duplicate of twin:note=none");
  char *original = gt_trial_duplicate_of(&second);
  assert_string_equal(original, "twin:note=none");
  assert_null(gt_trial_duplicate_of(&first));
  assert_int_equal(second.outcome, GT_OUTCOME_OK);
  assert_float_equal(second.median_us, first.median_us, 0);
  assert_int_equal(second.n_samples, first.n_samples);
  free(original);
  gt_trial_free(&first);
  gt_trial_free(&second);
  // To the cache they are trials like others.
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.fresh, 0);
  assert_int_equal(r.tuned.duplicates, 0);
  assert_true(strncmp(r.tuned.configuration, "twin:", 5) == 0);
  end(&r);
}

static void a_duplicate_of_what_failed_failed_too(void **state) {
  (void)state;
  run r;
  start_script(&r, TIMED_SCRIPT(PLAIN, "{\"match\":\"note=none\",\"action\":\"compile_error\"}"), "twin");
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.tuned.failed, 2);
  gt_trial trial = stored(&r, "twin:note=nothing");
  assert_int_equal(trial.outcome, GT_OUTCOME_COMPILE_ERROR);
  assert_non_null(strstr(trial.message, "duplicate of twin:note=none: recorded: "));
  char *original = gt_trial_duplicate_of(&trial);
  assert_string_equal(original, "twin:note=none");
  free(original);
  gt_trial_free(&trial);
  end(&r);
}

static void equal_code_objects_are_timed_once(void **state) {
  (void)state;
  run r;
  // What PoCL gives as a program's binary changes while it fills its own cache: the second time it is settled.
  start(&r, tuner_opencl(), "twin");
  if (tune(&r) != GT_OK) fail_msg("%s", r.error.text);
  end(&r);
  start(&r, tuner_opencl(), "twin");
  if (tune(&r) != GT_OK) fail_msg("%s", r.error.text);
  assert_int_equal(r.tuned.failed, 0);
  assert_int_equal(r.tuned.duplicates, 3);
  static const struct {
    const char *configuration, *original;
  } cases[] = {{"twin:note=comment", "twin:note=none"}, {"twin:note=direct", "direct:block=32"}};
  for (int i = 0; i < 2; i++) {
    gt_trial trial = stored(&r, cases[i].configuration);
    char *original = gt_trial_duplicate_of(&trial);
    assert_string_equal(original, cases[i].original);
    assert_true(trial.checked && trial.median_us > 0);
    free(original);
    gt_trial_free(&trial);
  }
  end(&r);
}

static void the_twin_of_a_default_that_may_not_win_wins(void **state) {
  (void)state;
  run r;
  start_script(&r,
               TIMED_SCRIPT(PLAIN, "{\"match\":\"note=direct\",\"us\":1},"
                                   "{\"match\":\"twin:\",\"action\":\"compile_error\"}"),
               "twin");
  assert_int_equal(tune(&r), GT_OK);
  assert_string_equal(r.tuned.configuration, "twin:note=direct");
  assert_float_equal(r.tuned.best_us, r.tuned.default_us, 0); // not timed itself
  gt_trial trial = stored(&r, "twin:note=direct");
  assert_string_equal(trial.message, "duplicate of direct:block=32");
  gt_trial_free(&trial);
  end(&r);
}

static void a_compiled_source_is_never_compiled_again_in_a_run(void **state) {
  (void)state;
  run r;
  start_script(&r, TIMED_SCRIPT(PLAIN, "{\"match\":\"fault=weight\",\"action\":\"compile_error\"}"), ALL);
  assert_int_equal(tune(&r), GT_OK);
  size_t compiled = r.tuned.compiled;
  assert_int_equal(compiled, ALL_TRIALS - 2); // two are duplicates
  r.options.retry = true;
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.fresh, ALL_TRIALS);
  assert_int_equal(r.tuned.compiled, 1); // what failed
  end(&r);
}

static void where_no_compiler_can_be_had_the_run_fails_and_no_trial_is_blamed(void **state) {
  (void)state;
  run r;
  start_script(&r, TIMED_SCRIPT(PLAIN, ""), ALL);
  tuner_remove(r.script); // compilers read it when they start
  r.script = NULL;
  assert_int_equal(tune(&r), GT_IO);
  assert_non_null(strstr(r.error.text, "no compiler process"));
  assert_int_equal(r.fresh, 0);
  end(&r);
}

static void an_interruption_ends_a_wait_for_a_compiler(void **state) {
  (void)state;
  run r;
  start_script(&r, TIMED_SCRIPT(PLAIN, "{\"match\":\"direct:block=16\",\"action\":\"compile_hang\"}"),
               "direct");
  r.interrupt_after = 3; // the default and `stream`
  assert_int_equal(tune(&r), GT_INTERRUPTED);
  assert_int_equal(r.outcomes[GT_OUTCOME_TIMEOUT], 0); // as it would have become
  end(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(compiling_goes_on_while_the_device_works),
    cmocka_unit_test(on_a_cpu_nothing_is_compiled_while_it_is_timed),
    cmocka_unit_test(several_compilers_work_at_the_same_time),
    cmocka_unit_test(a_slow_compilation_shows_as_waiting_of_the_device),
    cmocka_unit_test(the_order_of_trials_does_not_depend_on_compiling),
    cmocka_unit_test(a_compiler_that_dies_costs_its_source_only),
    cmocka_unit_test(workers_that_are_killed_cost_what_they_had_in_hand),
    cmocka_unit_test(a_worker_that_dies_after_its_answer_costs_no_trial),
    cmocka_unit_test(equal_sources_are_compiled_and_timed_once),
    cmocka_unit_test(a_duplicate_of_what_failed_failed_too),
    cmocka_unit_test(equal_code_objects_are_timed_once),
    cmocka_unit_test(the_twin_of_a_default_that_may_not_win_wins),
    cmocka_unit_test(a_compiled_source_is_never_compiled_again_in_a_run),
    cmocka_unit_test(where_no_compiler_can_be_had_the_run_fails_and_no_trial_is_blamed),
    cmocka_unit_test(an_interruption_ends_a_wait_for_a_compiler),
};

TUNER_MAIN(tests)
