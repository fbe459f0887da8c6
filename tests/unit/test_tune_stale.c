// Tuning of problems whose stored winner is stale.
#include "tests/unit/tune_run.h"

#define FAST SCRIPT("{\"match\":\"direct:block=64\",\"us\":50},{\"match\":\"direct:block=16\",\"us\":49.5}")

// Stores a winner as it may have been tuned: `hash` NULL: with the present template, `compiler` NULL: with the
// present compiler.
static void store_winner(run *r, const char *configuration, const char *hash, const char *compiler) {
  const gt_fingerprint *device = gt_workshop_fingerprint(r->workshop);
  gt_winner winner = {.median_us = 1, // as if it had been much faster then
                      .compiler = (char *)(uintptr_t)(compiler ? compiler : device->compiler)};
  bool gone = strncmp(configuration, "direct:", 7) != 0;
  gt_variant *variant = &winner.variant;
  assert_int_equal(gt_render(r->generator, gone ? "direct:block=64" : configuration, &r->problem, device, variant,
                             &r->error),
                   GT_OK);
  if (gone) {
    free(variant->configuration);
    free(variant->family);
    variant->configuration = gt_strdup(configuration);
    variant->family = gt_print("%.*s", (int)strcspn(configuration, ":"), configuration);
  }
  if (hash) memcpy(variant->source_hash, hash, GT_HASH_SIZE);
  assert_int_equal(gt_cache_put_winner(r->cache, device, &r->problem, &winner, &r->error), GT_OK);
  gt_variant_free(variant);
}

#define OLD "0123456789abcdef0123456789abcdef"

static gt_winner stored(run *r) {
  gt_winner winner;
  if (gt_cache_get_winner(r->cache, gt_workshop_fingerprint(r->workshop), &r->problem, true, &winner,
                          &r->error) != GT_OK)
    fail_msg("%s", r->error.text);
  return winner;
}

static gt_outcome checked(run *r, const char *configuration) {
  const gt_fingerprint *device = gt_workshop_fingerprint(r->workshop);
  gt_variant now = {0};
  gt_stale_check check;
  assert_int_equal(gt_render(r->generator, configuration, &r->problem, device, &now, &r->error), GT_OK);
  if (gt_cache_get_stale_check(r->cache, device, configuration, now.source_hash, &check, &r->error) != GT_OK)
    fail_msg("%s", r->error.text);
  gt_outcome outcome = check.outcome;
  gt_stale_check_free(&check);
  gt_variant_free(&now);
  return outcome;
}

static void a_stale_winner_is_tried_first_and_stays_where_nothing_is_clearly_better(void **state) {
  (void)state;
  for (int compiler = 0; compiler < 2; compiler++) {
    run r;
    start_script(&r, FAST, "direct");
    store_winner(&r, "direct:block=64", compiler ? NULL : OLD, compiler ? "older" : NULL);
    assert_int_equal(tune(&r), GT_OK);
    assert_string_equal(r.order[0], "direct:block=64");
    assert_string_equal(r.order[1], "direct:block=32"); // the default
    assert_string_equal(r.tuned.stale, "direct:block=64");
    assert_true(r.tuned.stale_tried && !r.tuned.stale_refused);
    assert_int_equal(r.tuned.stale_outcome, GT_OUTCOME_OK);
    assert_int_equal(checked(&r, "direct:block=64"), GT_OUTCOME_OK);
    assert_int_equal(r.tuned.tried, 3);
    assert_float_equal(r.tuned.default_us, 100, 0.01);
    // It is the incumbent: half a percent does not beat it.
    gt_winner winner = stored(&r);
    assert_string_equal(winner.variant.configuration, "direct:block=64");
    assert_float_equal(winner.median_us, 50, 0.01);
    assert_string_equal(winner.compiler, gt_workshop_fingerprint(r.workshop)->compiler);
    assert_string_not_equal(winner.variant.source_hash, OLD);
    gt_winner_free(&winner);
    // And current from then on.
    assert_int_equal(tune(&r), GT_OK);
    assert_null(r.tuned.stale);
    assert_int_equal(r.fresh, 0);
    end(&r);
  }
}

static void the_default_is_tried_once_where_it_is_the_stale_winner(void **state) {
  (void)state;
  run r;
  start_script(&r, FAST, "direct");
  store_winner(&r, "direct:block=32", OLD, NULL);
  assert_int_equal(tune(&r), GT_OK);
  assert_string_equal(r.order[0], "direct:block=32");
  assert_int_equal(r.tuned.tried, 3);
  assert_float_equal(r.tuned.default_us, 100, 0.01);
  assert_string_equal(r.tuned.configuration, "direct:block=16");
  end(&r);
}

static void a_run_that_ends_after_it_has_verified_the_stale_winner(void **state) {
  (void)state;
  run r;
  start_script(&r, FAST, "direct");
  store_winner(&r, "direct:block=64", OLD, NULL);
  r.interrupt_after = 1;
  assert_int_equal(tune(&r), GT_INTERRUPTED);
  gt_winner winner = stored(&r);
  assert_string_equal(winner.variant.configuration, "direct:block=64");
  assert_string_not_equal(winner.variant.source_hash, OLD);
  assert_float_equal(winner.median_us, 50, 0.01);
  assert_float_equal(winner.default_us, 0, 0); // not timed yet
  assert_true(winner.code_size > 0);
  gt_winner_free(&winner);
  end(&r);
}

static void one_that_fails_is_recorded_and_another_wins(void **state) {
  static const struct {
    const char *action;
    gt_outcome outcome;
  } cases[] = {{"wrong", GT_OUTCOME_WRONG_RESULT},
               {"compile_error", GT_OUTCOME_COMPILE_ERROR},
               {"crash", GT_OUTCOME_CRASH}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    run r;
    char *script = gt_print(SCRIPT("{\"match\":\"direct:block=64\",\"action\":\"%s\"}"), cases[i].action);
    start_script(&r, script, "direct");
    store_winner(&r, "direct:block=64", OLD, NULL);
    assert_int_equal(tune(&r), GT_OK);
    assert_string_equal(r.order[0], "direct:block=64");
    assert_int_equal(r.tuned.stale_outcome, cases[i].outcome);
    assert_int_equal(checked(&r, "direct:block=64"), cases[i].outcome);
    gt_winner winner = stored(&r);
    assert_string_not_equal(winner.variant.configuration, "direct:block=64");
    gt_winner_free(&winner);
    free(script);
    end(&r);
  }
}

static void where_nothing_is_right_the_stale_winner_stays_with_its_failure(void **state) {
  (void)state;
  run r;
  start_script(&r, SCRIPT("{\"match\":\"direct:\",\"action\":\"wrong\"}"), "direct");
  store_winner(&r, "direct:block=64", OLD, NULL);
  assert_int_equal(tune(&r), GT_FAILED);
  assert_int_equal(checked(&r, "direct:block=64"), GT_OUTCOME_WRONG_RESULT);
  gt_winner winner = stored(&r);
  assert_string_equal(winner.variant.source_hash, OLD);
  gt_winner_free(&winner);
  end(&r);
}

static void one_that_the_templates_have_no_more_gives_way(void **state) {
  (void)state;
  run r;
  start_script(&r, FAST, "direct");
  store_winner(&r, "gone:block=64", OLD, NULL);
  assert_int_equal(tune(&r), GT_OK);
  assert_string_equal(r.tuned.stale, "gone:block=64");
  assert_true(r.tuned.stale_refused && !r.tuned.stale_tried);
  assert_string_equal(r.tuned.configuration, "direct:block=16");
  end(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_stale_winner_is_tried_first_and_stays_where_nothing_is_clearly_better),
    cmocka_unit_test(the_default_is_tried_once_where_it_is_the_stale_winner),
    cmocka_unit_test(a_run_that_ends_after_it_has_verified_the_stale_winner),
    cmocka_unit_test(one_that_fails_is_recorded_and_another_wins),
    cmocka_unit_test(where_nothing_is_right_the_stale_winner_stays_with_its_failure),
    cmocka_unit_test(one_that_the_templates_have_no_more_gives_way),
};

TUNER_MAIN(tests)
