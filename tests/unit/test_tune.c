#include "tests/unit/tune_run.h"

#include "generator/default.h"

static void the_fastest_is_stored_with_its_code_object(void **state) {
  (void)state;
  run r;
  start_script(&r,
               SCRIPT("{\"match\":\"direct:block=16\",\"us\":40},{\"match\":\"stream:block=64\",\"us\":10},"
                      "{\"match\":\"stream\",\"us\":12}"),
               NULL);
  if (tune(&r) != GT_OK) fail_msg("%s", r.error.text);
  assert_string_equal(r.tuned.configuration, "direct:block=16");
  assert_float_equal(r.tuned.best_us, 40, 0.01);
  assert_float_equal(r.tuned.default_us, 100, 0.01);
  assert_float_equal(r.tuned.stream_us, 10, 0.01);
  assert_int_equal(r.tuned.tried, 3);
  assert_int_equal(r.tuned.space, 3);
  assert_int_equal(r.tuned.failed + r.tuned.cached, 0);

  gt_winner winner;
  const gt_fingerprint *device = gt_workshop_fingerprint(r.workshop);
  assert_int_equal(gt_cache_get_winner(r.cache, device, &r.problem, true, &winner, NULL), GT_OK);
  assert_string_equal(winner.variant.configuration, "direct:block=16");
  assert_true(winner.code && winner.code_size > 0);
  assert_float_equal(winner.stream_us, 10, 0.01);
  gt_winner_free(&winner);
  end(&r);
}

// `direct` is the only family of the rule's order that the tests' templates have.
static void the_time_of_the_default_by_rule_is_told(void **state) {
  (void)state;
  run r;
  start_script(&r,
               SCRIPT("{\"match\":\"direct:block=16\",\"us\":40},{\"match\":\"direct:block=64\",\"us\":44},"
                      "{\"match\":\"direct:block=32\",\"us\":90}"),
               "direct");
  char *standard = NULL;
  assert_int_equal(gt_default_configuration(r.generator, &r.problem, gt_workshop_fingerprint(r.workshop), &standard,
                                            NULL),
                   GT_OK);
  for (int i = 0; i < 2; i++) { // tried; from the cache
    assert_int_equal(tune(&r), GT_OK);
    assert_string_equal(r.tuned.configuration, "direct:block=16");
    assert_non_null(r.tuned.untuned);
    assert_string_equal(r.tuned.untuned, standard);
    double us = strstr(standard, "=16") ? 40 : strstr(standard, "=64") ? 44 : strstr(standard, "=32") ? 90 : 100;
    assert_float_equal(r.tuned.untuned_us, us, 0.01);
  }
  free(standard);
  end(&r);
}

// Twice as slow as the best and more: a few samples are enough to see it.
static void what_is_given_up_as_too_slow_is_counted(void **state) {
  (void)state;
  run r;
  start_script(&r,
               SCRIPT("{\"match\":\"direct:block=64\",\"us\":1000},{\"match\":\"direct:block=16\",\"us\":900}"),
               "direct");
  r.options.timing.min_batches = 5; // more than a probe has
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.tuned.rejected, 2);
  assert_int_equal(r.rejected, 2);
  assert_true(r.busy >= 0 && r.busy <= 1);
  assert_int_equal(r.tuned.failed, 0);
  end(&r);
}

static void a_second_run_makes_no_new_trial(void **state) {
  (void)state;
  run r;
  start_script(
      &r, SCRIPT("{\"match\":\"direct:block=16\",\"us\":40},{\"match\":\"block=64\",\"action\":\"crash\"}"),
      NULL);
  assert_int_equal(tune(&r), GT_OK);
  assert_true(r.fresh > 0 && r.outcomes[GT_OUTCOME_CRASH] == 2);
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.fresh, 0);
  assert_int_equal(r.tuned.cached, 3);
  assert_int_equal(r.tuned.failed, 1);
  assert_string_equal(r.tuned.configuration, "direct:block=16");
  assert_float_equal(r.tuned.best_us, 40, 0.01);
  assert_float_equal(r.tuned.default_us, 100, 0.01);
  // Unless it is asked for.
  r.options.retry = true;
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.fresh, 5);
  end(&r);
}

static void kernels_in_quarantine_are_not_tried_for_another_problem_until_that_is_asked_for(void **state) {
  (void)state;
  run r;
  start_script(&r, SCRIPT("{\"match\":\"direct:block=64\",\"action\":\"crash\"}"), "direct");
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.outcomes[GT_OUTCOME_CRASH], 1);
  assert_int_equal(r.tuned.quarantined, 0);
  // The batch is an argument: the kernels are the same.
  r.problem = tuner_problem("upsample_bilinear2d_backward:n=4,c=3,in=5x7,out=10x14,dtype=f32");
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.tuned.quarantined, 1);
  assert_int_equal(r.outcomes[GT_OUTCOME_CRASH], 1);
  assert_int_equal(r.tuned.cached, 1);
  assert_non_null(strstr(r.messages[GT_OUTCOME_CRASH], "in quarantine: killed by signal 6"));
  gt_trial trial; // it is no trial of this problem
  assert_int_equal(gt_cache_get_trial(r.cache, gt_workshop_fingerprint(r.workshop), &r.problem,
                                      "direct:block=64", &trial, NULL),
                   GT_NOT_FOUND);
  r.options.retry = true;
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.tuned.quarantined, 0);
  assert_int_equal(r.tuned.cached, 0);
  end(&r);
}

static void what_was_as_fast_is_stored_with_the_winner(void **state) {
  (void)state;
  run r;
  start_script(&r,
               SCRIPT("{\"match\":\"direct:block=16\",\"us\":40},{\"match\":\"direct:block=64\",\"us\":41}"),
               "direct");
  assert_int_equal(tune(&r), GT_OK);
  assert_string_equal(r.tuned.configuration, "direct:block=16");
  assert_int_equal(r.tuned.n_ties, 1);
  assert_string_equal(r.tuned.ties[0].configuration, "direct:block=64");
  assert_int_equal(tune(&r), GT_OK); // from the cache
  assert_int_equal(r.tuned.n_ties, 1);
  end(&r);
}

static void trials_keep_whether_they_were_noisy_and_what_the_sensors_said(void **state) {
  (void)state;
  run r;
  start_script(
      &r,
      "{\"fingerprint\":{\"target\":\"opencl\"},\"readings\":{\"temperature_c\":61,\"clock_mhz\":2100},"
      "\"rules\":[{\"match\":\"direct:block=16\",\"samples\":[50,60,75,90,110]}]}",
      "direct");
  // Batches of one launch, so that they see the samples.
  r.options.timing.batch_us = 1;
  assert_int_equal(tune(&r), GT_OK);
  static const struct {
    const char *configuration;
    bool noisy;
  } cases[] = {{"direct:block=16", true}, {"direct:block=32", false}};
  for (int i = 0; i < 2; i++) {
    gt_trial trial;
    assert_int_equal(gt_cache_get_trial(r.cache, gt_workshop_fingerprint(r.workshop), &r.problem,
                                        cases[i].configuration, &trial, NULL),
                     GT_OK);
    assert_int_equal(trial.noisy, cases[i].noisy);
    assert_true(trial.readings.temperature_c == 61 && trial.readings.clock_mhz == 2100 &&
                trial.readings.memory_clock_mhz == 0);
    gt_trial_free(&trial);
  }
  end(&r);
}

static void every_way_to_fail_is_recorded_and_tuning_goes_on(void **state) {
  (void)state;
  static const struct {
    const char *action;
    gt_outcome outcome;
    const char *message;
  } cases[] = {
      {"crash", GT_OUTCOME_CRASH, "killed by signal 6 (SIGABRT) in phase \"launch\""},
      {"exit", GT_OUTCOME_CRASH, "exited with status 3"},
      {"hang", GT_OUTCOME_TIMEOUT, "no end of phase \"launch\" within 6 s"},
      {"compile_hang", GT_OUTCOME_TIMEOUT, "no end of phase \"compile\" within 6 s"},
      {"compile_error", GT_OUTCOME_COMPILE_ERROR, ""},
      {"launch_error", GT_OUTCOME_LAUNCH_ERROR, ""},
      {"device_lost", GT_OUTCOME_LAUNCH_ERROR, ""},
      {"wrong", GT_OUTCOME_WRONG_RESULT, ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    run r;
    char *script = gt_print(
        SCRIPT("{\"match\":\"direct:block=32\",\"action\":\"%s\"},{\"match\":\"block=64\",\"us\":50}"),
        cases[i].action);
    start_script(&r, script, NULL);
    if (tune(&r) != GT_OK) fail_msg("%s: %s", cases[i].action, r.error.text);
    assert_one_failed(&r, cases[i].outcome, cases[i].message);
    assert_string_equal(r.tuned.configuration, "direct:block=64");
    assert_float_equal(r.tuned.default_us, 0, 0); // it failed

    gt_trial trial;
    assert_int_equal(gt_cache_get_trial(r.cache, gt_workshop_fingerprint(r.workshop), &r.problem,
                                        "direct:block=32", &trial, NULL),
                     GT_OK);
    assert_int_equal(trial.outcome, cases[i].outcome);
    assert_false(trial.checked);
    gt_trial_free(&trial);
    free(script);
    end(&r);
  }
}

static void nothing_right_is_a_failure(void **state) {
  (void)state;
  run r;
  start_script(&r, SCRIPT("{\"action\":\"compile_error\"}"), NULL);
  assert_int_equal(tune(&r), GT_FAILED);
  assert_null(r.tuned.configuration);
  assert_int_equal(r.tuned.failed, 3);
  end(&r);
}

static void an_interruption_keeps_the_trials_that_were_made(void **state) {
  (void)state;
  run r;
  start_script(&r, SCRIPT("{\"match\":\"direct:block=16\",\"us\":40}"), NULL);
  r.interrupt_after = 2;
  assert_int_equal(tune(&r), GT_INTERRUPTED);
  assert_int_equal(r.fresh, 2);
  assert_null(r.tuned.configuration);
  r.interrupt_after = 0;
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.fresh, 3); // of five
  assert_string_equal(r.tuned.configuration, "direct:block=16");
  end(&r);
}

static void a_stored_winner_stays_when_a_later_run_finds_nothing_clearly_better(void **state) {
  (void)state;
  run r;
  start_script(&r,
               SCRIPT("{\"match\":\"direct:block=32\",\"us\":50},{\"match\":\"direct:block=16\",\"us\":49}"),
               "direct");
  r.options.budget = 1;
  assert_int_equal(tune(&r), GT_OK);
  assert_string_equal(r.tuned.configuration, "direct:block=32");
  r.options.budget = 3;
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.tuned.tried, 3);
  assert_string_equal(r.tuned.configuration, "direct:block=32");
  end(&r);
}

static void an_empty_problem_needs_no_kernel(void **state) {
  (void)state;
  run r;
  start_script(&r, SCRIPT(""), NULL);
  r.problem = tuner_problem("upsample_bilinear2d_backward:n=0,c=3,in=5x7,out=10x14,dtype=f32");
  assert_int_equal(tune(&r), GT_OK);
  assert_true(r.tuned.empty && !r.tuned.configuration);
  assert_int_equal(r.calls, 0);
  end(&r);
}

static void families_that_do_not_exist_or_cannot_win_are_refused(void **state) {
  (void)state;
  run r;
  start_script(&r, SCRIPT(""), "direct,nonsense");
  assert_int_equal(tune(&r), GT_USAGE);
  assert_non_null(strstr(r.error.text, "nonsense"));
  r.options.families = "stream";
  assert_int_equal(tune(&r), GT_USAGE);
  end(&r);
}

static void real_kernels_with_every_fault_leave_the_right_one_as_winner(void **state) {
  (void)state;
  run r;
  start(&r, tuner_opencl(), "direct,faulty");
  if (tune(&r) != GT_OK) fail_msg("%s", r.error.text);
  assert_true(strncmp(r.tuned.configuration, "direct:", 7) == 0);
  assert_true(r.tuned.best_us > 0 && r.tuned.default_us > 0 && r.tuned.stream_us > 0);
  assert_int_equal(r.tuned.tried, 12);
  assert_int_equal(r.tuned.failed, 9);
  assert_int_equal(r.outcomes[GT_OUTCOME_WRONG_RESULT], 3);
  assert_int_equal(r.outcomes[GT_OUTCOME_OUT_OF_BOUNDS], 2);
  assert_int_equal(r.outcomes[GT_OUTCOME_UNSTABLE_RESULT], 1);
  assert_int_equal(r.outcomes[GT_OUTCOME_CRASH], 1);
  assert_int_equal(r.outcomes[GT_OUTCOME_TIMEOUT], 1);
  assert_int_equal(r.outcomes[GT_OUTCOME_COMPILE_ERROR], 1);

  gt_winner winner;
  const gt_fingerprint *device = gt_workshop_fingerprint(r.workshop);
  assert_int_equal(gt_cache_get_winner(r.cache, device, &r.problem, true, &winner, NULL), GT_OK);
  assert_true(winner.code_size > 0);
  gt_winner_free(&winner);
  assert_int_equal(tune(&r), GT_OK);
  assert_int_equal(r.fresh, 0);
  end(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_fastest_is_stored_with_its_code_object),
    cmocka_unit_test(the_time_of_the_default_by_rule_is_told),
    cmocka_unit_test(what_is_given_up_as_too_slow_is_counted),
    cmocka_unit_test(a_second_run_makes_no_new_trial),
    cmocka_unit_test(kernels_in_quarantine_are_not_tried_for_another_problem_until_that_is_asked_for),
    cmocka_unit_test(what_was_as_fast_is_stored_with_the_winner),
    cmocka_unit_test(trials_keep_whether_they_were_noisy_and_what_the_sensors_said),
    cmocka_unit_test(every_way_to_fail_is_recorded_and_tuning_goes_on),
    cmocka_unit_test(nothing_right_is_a_failure),
    cmocka_unit_test(an_interruption_keeps_the_trials_that_were_made),
    cmocka_unit_test(a_stored_winner_stays_when_a_later_run_finds_nothing_clearly_better),
    cmocka_unit_test(an_empty_problem_needs_no_kernel),
    cmocka_unit_test(families_that_do_not_exist_or_cannot_win_are_refused),
    cmocka_unit_test(real_kernels_with_every_fault_leave_the_right_one_as_winner),
};

TUNER_MAIN(tests)
