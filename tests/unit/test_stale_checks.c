// Checks of stale winners in the cache.
#include "tests/unit/cache_fixture.h"

#include "cache/gc.h"

#define HASH "0123456789abcdef0123456789abcdef"
#define OTHER_HASH "fedcba9876543210fedcba9876543210"

static gt_stale_check a_check(const char *configuration, gt_outcome outcome) {
  return (gt_stale_check){.configuration = (char *)configuration,
                          .source_hash = HASH,
                          .outcome = outcome,
                          .message = outcome == GT_OUTCOME_OK ? "" : "element 5 is 1 and should be 2"};
}

static void count_check(void *context, const gt_stale_checked *checked) {
  gt_buffer_print(context, "%s %s %s %s|", checked->problem, checked->compiler, checked->check->configuration,
                  gt_outcome_name(checked->check->outcome));
}

static void checks_hold_for_all_devices_of_a_model_with_the_same_software(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  gt_fingerprint device = a_device(), second = a_device(), updated = a_device(), other = a_device();
  gt_problem problem = a_problem(2, "f32");
  gt_stale_check check = a_check("direct:block=64", GT_OUTCOME_WRONG_RESULT), found;
  assert_status(gt_cache_get_stale_check(cache, &device, "direct:block=64", HASH, &found, &error), NOT_FOUND);
  assert_ok(gt_cache_put_stale_check(cache, &device, &problem, &check, &error));
  strcpy(second.pci_id, "0000:83:00.0");
  strcpy(updated.compiler, "compiler 2");
  strcpy(other.name, "Other GPU");
  assert_ok(gt_cache_get_stale_check(cache, &second, "direct:block=64", HASH, &found, &error));
  assert_string_equal(found.configuration, "direct:block=64");
  assert_string_equal(found.source_hash, HASH);
  assert_int_equal(found.outcome, GT_OUTCOME_WRONG_RESULT);
  assert_string_equal(found.message, check.message);
  assert_int_equal(strlen(found.checked_at), strlen("2026-01-31T12:00:00Z"));
  gt_stale_check_free(&found);
  assert_status(gt_cache_get_stale_check(cache, &updated, "direct:block=64", HASH, &found, &error), NOT_FOUND);
  assert_status(gt_cache_get_stale_check(cache, &other, "direct:block=64", HASH, &found, &error), NOT_FOUND);
  assert_status(gt_cache_get_stale_check(cache, &device, "direct:block=64", OTHER_HASH, &found, &error),
                NOT_FOUND);
  assert_status(gt_cache_get_stale_check(cache, &device, "direct:block=32", HASH, &found, &error), NOT_FOUND);
  // A later one of the same takes its place.
  check.outcome = GT_OUTCOME_OK;
  assert_ok(gt_cache_put_stale_check(cache, &device, &problem, &check, &error));
  gt_buffer all = {0};
  assert_ok(gt_cache_each_stale_check(cache, count_check, &all, &error));
  assert_non_null(strstr(all.data, "compiler 1 direct:block=64 ok|"));
  assert_null(strstr(all.data, "wrong_result"));
  gt_buffer_free(&all);
  gt_cache_close(cache);
}

static void a_cache_in_which_nothing_was_checked_says_so_and_stays_as_it_is(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_cache_close(open_cache(f->path, GT_CACHE_WRITE));
  gt_cache *cache = open_cache(f->path, GT_CACHE_READ);
  gt_fingerprint device = a_device();
  gt_stale_check found;
  gt_buffer all = {0};
  assert_ok(gt_cache_each_stale_check(cache, count_check, &all, &error));
  assert_int_equal(all.length, 0);
  assert_status(gt_cache_get_stale_check(cache, &device, "direct:block=64", HASH, &found, &error), NOT_FOUND);
  gt_cache_close(cache);
}

static void checks_that_others_wrote_are_not_believed(void **state) {
  static const char *const changes[] = {
      "UPDATE stale_check SET outcome = 'splendid'",
      "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, ' CHECK (length(source_hash) = 32)', '') "
      "WHERE name = 'stale_check'; PRAGMA writable_schema = RESET; UPDATE stale_check SET source_hash = '0'",
      "UPDATE stale_check SET message = CAST(x'610062' AS TEXT)",
  };
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(2, "f32");
  gt_stale_check check = a_check("direct:block=64", GT_OUTCOME_OK);
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    unlink(f->path);
    gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
    assert_ok(gt_cache_put_stale_check(cache, &device, &problem, &check, &error));
    gt_cache_close(cache);
    run_sql(f->path, changes[i]);
    cache = open_cache(f->path, GT_CACHE_READ);
    gt_buffer all = {0};
    assert_status(gt_cache_each_stale_check(cache, count_check, &all, &error), CORRUPT);
    gt_buffer_free(&all);
    gt_cache_close(cache);
  }
}

static void checks_stay_until_they_are_old_or_the_winner_was_tuned_again(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  gt_fingerprint device = a_device();
  gt_problem tuned = a_problem(2, "f32"), elsewhere = a_problem(2, "f16");
  gt_stale_check check = a_check("direct:block=64", GT_OUTCOME_OK);
  gt_winner winner = a_winner("direct:block=64", "code");
  gt_gc_counts counts;
  assert_ok(gt_cache_put_winner(cache, &device, &tuned, &winner, &error));
  assert_ok(gt_cache_put_stale_check(cache, &device, &tuned, &check, &error));
  assert_ok(gt_cache_put_stale_check(cache, &device, &elsewhere, &check, &error));
  assert_ok(gt_cache_collect(cache, &(gt_gc_options){0}, &counts, &error));
  assert_int_equal(counts.stale_checks + counts.problems + counts.devices, 0);
  winner.tuned_at = "2100-01-01T00:00:00Z";
  assert_ok(gt_cache_put_winner(cache, &device, &tuned, &winner, &error));
  assert_ok(gt_cache_collect(cache, &(gt_gc_options){0}, &counts, &error));
  assert_int_equal(counts.stale_checks, 1);
  assert_int_equal(counts.problems, 0);
  gt_cache_close(cache);
  run_sql(f->path, "UPDATE stale_check SET checked_at = '2020-01-01T00:00:00Z'");
  cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_ok(gt_cache_collect(cache, &(gt_gc_options){.older_than_days = 30}, &counts, &error));
  assert_int_equal(counts.stale_checks, 1);
  assert_int_equal(counts.problems, 1);
  assert_ok(gt_cache_verify(cache, &error));
  gt_cache_close(cache);
}

static void a_cache_of_version_1_takes_them_and_keeps_its_rows(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_buffer sql = {0}, all = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  gt_stale_check check = a_check("direct:block=256", GT_OUTCOME_OK);
  gt_winner winner;
  gt_trial trial;
  assert_true(gt_buffer_read_file(&sql, "tests/unit/cache_v1.sql"));
  run_sql(f->path, sql.data);
  gt_cache *cache = open_cache(f->path, GT_CACHE_READ);
  assert_ok(gt_cache_each_stale_check(cache, count_check, &all, &error));
  assert_int_equal(all.length, 0);
  gt_cache_close(cache);
  cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_ok(gt_cache_put_stale_check(cache, &device, &problem, &check, &error));
  gt_cache_close(cache);
  cache = open_cache(f->path, GT_CACHE_READ);
  assert_ok(gt_cache_each_stale_check(cache, count_check, &all, &error));
  assert_non_null(strstr(all.data, "direct:block=256 ok|"));
  assert_ok(gt_cache_get_winner(cache, &device, &problem, false, &winner, &error));
  assert_true(winner.median_us == 7.5);
  gt_winner_free(&winner);
  assert_ok(gt_cache_get_trial(cache, &device, &problem, "direct:block=256", &trial, &error));
  gt_trial_free(&trial);
  assert_ok(gt_cache_verify(cache, &error));
  gt_cache_close(cache);
  gt_buffer_free(&sql);
  gt_buffer_free(&all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(checks_hold_for_all_devices_of_a_model_with_the_same_software),
      CASE(a_cache_in_which_nothing_was_checked_says_so_and_stays_as_it_is),
      CASE(a_cache_of_version_1_takes_them_and_keeps_its_rows),
      CASE(checks_that_others_wrote_are_not_believed),
      CASE(checks_stay_until_they_are_old_or_the_winner_was_tuned_again),
  };
  return cmocka_run_group_tests_name("checks of stale winners", tests, NULL, NULL);
}
