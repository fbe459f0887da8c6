// The cache: what is put in comes out, for the right device and problem, and what others wrote is not
// believed.
#include "tests/unit/cache_fixture.h"

#include "cache/store.h"

static void assert_same_trial(const gt_trial *got, const gt_trial *put) {
  assert_string_equal(got->configuration, put->configuration);
  assert_string_equal(got->source_hash, put->source_hash);
  assert_string_equal(gt_outcome_name(got->outcome), gt_outcome_name(put->outcome));
  assert_string_equal(got->message, put->message);
  assert_int_equal(got->n_samples, put->n_samples);
  assert_memory_equal(got->samples_us, put->samples_us, put->n_samples * sizeof(double));
  assert_true(got->median_us == put->median_us && got->spread_us == put->spread_us);
  assert_true(got->checked == put->checked && got->compile_ms == put->compile_ms);
  assert_int_equal(got->registers, put->registers);
  assert_int_equal(got->lds_bytes, put->lds_bytes);
  assert_int_equal(got->scratch_bytes, put->scratch_bytes);
  assert_int_equal(got->noisy, put->noisy);
  assert_memory_equal(&got->readings, &put->readings, sizeof got->readings);
}

static void a_trial_comes_back_as_it_was_stored_also_after_reopening(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  gt_trial put = a_trial("direct:block=256"), got;
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_string_equal(gt_cache_path(cache), f->path);
  assert_ok(gt_cache_put_trial(cache, &device, &problem, &put, &error));
  gt_cache_close(cache);

  cache = open_cache(f->path, GT_CACHE_READ);
  assert_ok(gt_cache_get_trial(cache, &device, &problem, "direct:block=256", &got, &error));
  assert_same_trial(&got, &put);
  gt_trial_free(&got);
  assert_status(gt_cache_get_trial(cache, &device, &problem, "direct:block=64", &got, &error), NOT_FOUND);
  assert_status(gt_cache_put_trial(cache, &device, &problem, &put, &error), IO);
  gt_cache_close(cache);
}

static void what_crashed_or_hung_is_in_quarantine_for_its_device_and_software_alone(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device(), other = a_device();
  gt_problem problem = a_problem(4, "f16");
  gt_trial put = a_trial("direct:block=256"), got;
  const char *hash = put.source_hash;
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_ok(gt_cache_put_trial(cache, &device, &problem, &put, &error));
  assert_status(gt_cache_get_quarantined(cache, &device, hash, &got, &error), NOT_FOUND);
  put.outcome = GT_OUTCOME_WRONG_RESULT;
  assert_ok(gt_cache_put_trial(cache, &device, &problem, &put, &error));
  assert_status(gt_cache_get_quarantined(cache, &device, hash, &got, &error), NOT_FOUND);
  put.outcome = GT_OUTCOME_TIMEOUT;
  assert_ok(gt_cache_put_trial(cache, &device, &problem, &put, &error));
  assert_ok(gt_cache_get_quarantined(cache, &device, hash, &got, &error));
  assert_same_trial(&got, &put);
  gt_trial_free(&got);
  snprintf(other.compiler, sizeof other.compiler, "compiler 2");
  assert_status(gt_cache_get_quarantined(cache, &other, hash, &got, &error), NOT_FOUND);
  gt_trial_free(&got);
  gt_cache_close(cache);
}

static void on_recheck(void *context, const char *model, const char *problem, const char *rechecked_at,
                       const gt_recheck *recheck) {
  assert_non_null(strstr(model, "Test GPU"));
  assert_non_null(strstr(problem, "n=4"));
  assert_int_equal(strlen(rechecked_at), 20);
  assert_true(recheck->default_us == 31 && recheck->stored_us == 9 && recheck->stored_default_us == 30);
  assert_int_equal(recheck->trial.n_samples, 3);
  assert_int_equal(recheck->trial.readings.clock_mhz, 2100);
  ++*(int *)context;
}

static void rechecks_are_kept_one_after_the_other(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  gt_recheck recheck = {
      .trial = a_trial("direct:block=256"), .default_us = 31, .stored_us = 9, .stored_default_us = 30};
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_ok(gt_cache_put_recheck(cache, &device, &problem, &recheck, &error));
  assert_ok(gt_cache_put_recheck(cache, &device, &problem, &recheck, &error));
  int visits = 0;
  assert_ok(gt_cache_each_recheck(cache, on_recheck, &visits, &error));
  assert_int_equal(visits, 2);
  recheck.default_us = -1;
  assert_status(gt_cache_put_recheck(cache, &device, &problem, &recheck, &error), USAGE);
  gt_cache_close(cache);
}

static void ties_come_back_with_their_winner(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  gt_tie ties[] = {{(char *)"direct:block=64", 7.55, 32}, {(char *)"direct:block=128", 7.0 / 3, -1}};
  gt_winner put = a_winner("direct:block=256", "machine code"), got;
  put.ties = ties;
  put.n_ties = 2;
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_ok(gt_cache_put_winner(cache, &device, &problem, &put, &error));
  assert_ok(gt_cache_get_winner(cache, &device, &problem, false, &got, &error));
  assert_int_equal(got.n_ties, 2);
  for (int i = 0; i < 2; i++) {
    assert_string_equal(got.ties[i].configuration, ties[i].configuration);
    assert_true(got.ties[i].median_us == ties[i].median_us && got.ties[i].registers == ties[i].registers);
  }
  gt_winner_free(&got);
  gt_cache_close(cache);
  run_sql(f->path, "UPDATE winner SET ties = '[{\"configuration\":1}]'");
  cache = open_cache(f->path, GT_CACHE_READ);
  assert_status(gt_cache_get_winner(cache, &device, &problem, false, &got, &error), CORRUPT);
  gt_cache_close(cache);
}

static void every_outcome_and_an_ugly_message_can_be_stored(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  for (int outcome = 0; outcome <= GT_OUTCOME_TIMEOUT; outcome++) {
    gt_trial put = a_trial("direct:block=256"), got;
    put.outcome = (gt_outcome)outcome;
    put.message = "'); DROP TABLE trial; --\n\xff\x01\"\xc3\xa9\xc3";
    put.n_samples = 0;
    put.source_hash[0] = 0;
    assert_ok(gt_cache_put_trial(cache, &device, &problem, &put, &error));
    assert_ok(gt_cache_get_trial(cache, &device, &problem, "direct:block=256", &got, &error));
    put.message = "'); DROP TABLE trial; --\n?\x01\"\xc3\xa9?"; // texts are UTF-8, which JSON has to be
    assert_same_trial(&got, &put);
    gt_trial_free(&got);
  }
  gt_outcome outcome;
  assert_false(gt_outcome_from_name("fine", &outcome));
  assert_false(gt_outcome_from_name(NULL, &outcome));
  gt_cache_close(cache);
}

static void a_trial_is_replaced_by_a_later_one_of_the_same_configuration(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  gt_trial put = a_trial("direct:block=256"), got;
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_ok(gt_cache_put_trial(cache, &device, &problem, &put, &error));
  put.outcome = GT_OUTCOME_CRASH;
  put.message = "killed by signal 6";
  put.n_samples = 0;
  put.median_us = put.spread_us = 0;
  assert_ok(gt_cache_put_trial(cache, &device, &problem, &put, &error));
  assert_ok(gt_cache_get_trial(cache, &device, &problem, "direct:block=256", &got, &error));
  assert_same_trial(&got, &put);
  gt_trial_free(&got);
  gt_cache_counts counts;
  assert_ok(gt_cache_count(cache, &counts, &error));
  assert_int_equal(counts.trials, 1);
  gt_cache_close(cache);
}

static void a_trial_is_known_only_on_the_device_and_software_that_made_it(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16"), other_problem = a_problem(4, "f32");
  gt_trial put = a_trial("direct:block=256"), got;
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_ok(gt_cache_put_trial(cache, &device, &problem, &put, &error));
  gt_fingerprint others[] = {device, device, device, device, device, device};
  strcpy(others[0].driver, "driver 2");
  strcpy(others[1].compiler, "compiler 2");
  strcpy(others[2].runtime, "runtime 2");
  strcpy(others[3].pci_id, "0000:04:00.0");
  others[4].compute_units = 228;
  strcpy(others[5].arch, "gfx90a");
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    assert_status(gt_cache_get_trial(cache, &others[i], &problem, "direct:block=256", &got, &error),
                  NOT_FOUND);
  assert_status(gt_cache_get_trial(cache, &device, &other_problem, "direct:block=256", &got, &error),
                NOT_FOUND);
  gt_cache_close(cache);
}

static void the_trials_of_a_problem_on_a_device_are_counted(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device(), other = device;
  gt_problem problem = a_problem(4, "f16"), other_problem = a_problem(4, "f32");
  gt_trial one = a_trial("direct:block=256"), two = a_trial("direct:block=64");
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  size_t count = 9;
  strcpy(other.pci_id, "0000:04:00.0");
  assert_ok(gt_cache_count_trials(cache, &device, &problem, &count, &error)); // nothing is known of either
  assert_int_equal(count, 0);
  assert_ok(gt_cache_put_trial(cache, &device, &problem, &one, &error));
  assert_ok(gt_cache_put_trial(cache, &device, &problem, &two, &error));
  assert_ok(gt_cache_put_trial(cache, &device, &other_problem, &one, &error));
  assert_ok(gt_cache_put_trial(cache, &other, &problem, &one, &error));
  assert_ok(gt_cache_count_trials(cache, &device, &problem, &count, &error));
  assert_int_equal(count, 2);
  assert_ok(gt_cache_count_trials(cache, &other, &other_problem, &count, &error));
  assert_int_equal(count, 0);
  gt_cache_close(cache);
}

enum { WRITERS = 6, WRITES = 40 };
typedef struct {
  gt_cache *cache;
  int number, failed;
} writer;

static void *write_many(void *context) {
  writer *w = context;
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(w->number + 1, "f16");
  for (int i = 0; i < WRITES; i++) {
    char *configuration = gt_print("direct:block=%d", i);
    gt_trial trial = a_trial(configuration);
    w->failed += gt_cache_put_trial(w->cache, &device, &problem, &trial, NULL) != GT_OK;
    free(configuration);
  }
  return NULL;
}

// Each has its turn once in a while: nobody waits in vain for as long as a lock is waited for.
static void writers_of_one_process_take_turns(void **state) {
  fixture *f = *state;
  pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
  pthread_t threads[WRITERS];
  writer writers[WRITERS];
  for (int i = 0; i < WRITERS; i++) {
    writers[i] = (writer){open_cache(f->path, GT_CACHE_WRITE), i, 0};
    gt_cache_take_turns(writers[i].cache, &turn);
    // SQLite alone would give up at once.
    assert_int_equal(sqlite3_busy_timeout(writers[i].cache->db, 0), SQLITE_OK);
  }
  for (int i = 0; i < WRITERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, write_many, &writers[i]), 0);
  for (int i = 0; i < WRITERS; i++) pthread_join(threads[i], NULL);
  // A failure passes the turn on, too.
  gt_trial bad = a_trial("");
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(1, "f16");
  bad.median_us = -1;
  assert_true(gt_cache_put_trial(writers[0].cache, &device, &problem, &bad, NULL) != GT_OK);
  assert_int_equal(pthread_mutex_trylock(&turn), 0);
  pthread_mutex_unlock(&turn);
  for (int i = 0; i < WRITERS; i++) {
    assert_int_equal(writers[i].failed, 0);
    gt_cache_close(writers[i].cache);
  }
  gt_cache *cache = open_cache(f->path, GT_CACHE_READ);
  gt_cache_counts counts;
  gt_error error = {0};
  assert_ok(gt_cache_count(cache, &counts, &error));
  assert_int_equal(counts.trials, WRITERS * WRITES);
  gt_cache_close(cache);
}

static void numbers_that_cannot_be_are_refused(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  double samples[] = {1, -1};
  gt_trial trials[] = {a_trial("a"), a_trial("b"), a_trial("c"), a_trial("")};
  trials[0].median_us = strtod("nan", NULL);
  trials[1].registers = -2;
  trials[2].samples_us = samples;
  trials[2].n_samples = 2;
  for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++)
    assert_status(gt_cache_put_trial(cache, &device, &problem, &trials[i], &error), USAGE);
  gt_winner winner = a_winner("direct:block=256", "code");
  winner.stream_us = strtod("inf", NULL);
  assert_status(gt_cache_put_winner(cache, &device, &problem, &winner, &error), USAGE);
  winner = a_winner("direct:block=256", "code");
  winner.variant.n_launches = 0;
  assert_status(gt_cache_put_winner(cache, &device, &problem, &winner, &error), USAGE);
  gt_cache_counts counts;
  assert_ok(gt_cache_count(cache, &counts, &error));
  assert_int_equal(counts.models + counts.problems + counts.trials + counts.winners, 0);
  gt_cache_close(cache);
}

typedef struct {
  gt_buffer text;
  gt_cache *cache; // when set, visited again from within
} listing;

static void list_trial(void *context, const gt_trial *trial) {
  listing *list = context;
  gt_buffer_print(&list->text, "%s %s;", trial->configuration, gt_outcome_name(trial->outcome));
}

static void trials_are_visited_by_model_in_the_order_of_their_configurations(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device(), newer = a_device(), other = a_device();
  strcpy(newer.driver, "driver 2");
  strcpy(other.name, "Other GPU");
  gt_problem problem = a_problem(4, "f16");
  gt_trial one = a_trial("b"), two = a_trial("a"), three = a_trial("c");
  two.outcome = GT_OUTCOME_TIMEOUT;
  listing list = {0};
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_ok(gt_cache_each_trial(cache, &device, &problem, list_trial, &list, &error));
  assert_int_equal(list.text.length, 0);
  assert_ok(gt_cache_put_trial(cache, &device, &problem, &one, &error));
  assert_ok(gt_cache_put_trial(cache, &newer, &problem, &two, &error));
  assert_ok(gt_cache_put_trial(cache, &other, &problem, &three, &error));
  assert_ok(gt_cache_each_trial(cache, &device, &problem, list_trial, &list, &error));
  assert_string_equal(list.text.data, "a timeout;b ok;");
  gt_buffer_free(&list.text);
  gt_cache_close(cache);
}

static void a_winner_comes_back_with_its_variant_and_code(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  gt_winner put = a_winner("direct:block=256", "machine code"), got;
  char hash[GT_HASH_SIZE];
  gt_hash("machine code", 12, hash);
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_status(gt_cache_get_winner(cache, &device, &problem, true, &got, &error), NOT_FOUND);
  assert_ok(gt_cache_put_winner(cache, &device, &problem, &put, &error));
  strcpy(device.driver, "driver 2"); // winners are kept per model
  assert_ok(gt_cache_get_winner(cache, &device, &problem, true, &got, &error));
  assert_string_equal(got.problem,
                      "upsample_bilinear2d_backward:n=4,c=1,in=16x16,out=32x32,dtype=f16,layout=nchw,"
                      "align_corners=0");
  assert_string_equal(got.device, "recorded / Test GPU / gfx942:sramecc+:xnack- / 304");
  assert_string_equal(got.variant.configuration, "direct:block=256");
  assert_string_equal(got.variant.launches[0].kernel, "main_kernel");
  assert_int_equal(got.variant.launches[0].blocks_den, 4);
  assert_int_equal(got.variant.workspace_per_outer, 4);
  assert_true(got.median_us == 7.5 && got.spread_us == 0.25 && got.default_us == 30 && got.stream_us == 5);
  assert_string_equal(got.compiler, "compiler 1");
  assert_string_equal(got.driver, "driver 1");
  assert_string_equal(got.code_hash, hash);
  assert_int_equal(got.code_size, 12);
  assert_memory_equal(got.code, "machine code", 12);
  assert_int_equal(strlen(got.tuned_at), strlen("2025-01-31T12:00:00Z"));
  gt_winner_free(&got);

  assert_ok(gt_cache_get_winner(cache, &device, &problem, false, &got, &error));
  assert_null(got.code);
  assert_int_equal(got.code_size, 12);
  gt_winner_free(&got);
  gt_cache_close(cache);
}

static int64_t count_rows(const char *path, const char *table) {
  sqlite3 *db;
  sqlite3_stmt *statement;
  char *sql = gt_print("SELECT count(*) FROM %s", table);
  assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  int64_t count = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(db);
  free(sql);
  return count;
}

static void a_replaced_winner_leaves_no_code_behind_but_shared_code_stays(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem one = a_problem(1, "f16"), two = a_problem(2, "f16");
  gt_winner old = a_winner("direct:block=256", "old"), new = a_winner("direct:block=64", "new"), got;
  gt_winner bare = a_winner("direct:block=32", NULL);
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_ok(gt_cache_put_winner(cache, &device, &one, &old, &error));
  assert_ok(gt_cache_put_winner(cache, &device, &two, &old, &error));
  assert_int_equal(count_rows(f->path, "code"), 1);
  assert_ok(gt_cache_put_winner(cache, &device, &one, &new, &error));
  assert_int_equal(count_rows(f->path, "code"), 2);
  assert_ok(gt_cache_put_winner(cache, &device, &two, &new, &error));
  assert_int_equal(count_rows(f->path, "code"), 1);
  assert_int_equal(count_rows(f->path, "winner"), 2);
  assert_ok(gt_cache_get_winner(cache, &device, &one, true, &got, &error));
  assert_string_equal(got.variant.configuration, "direct:block=64");
  assert_memory_equal(got.code, "new", 3);
  gt_winner_free(&got);
  assert_ok(gt_cache_put_winner(cache, &device, &one, &bare, &error));
  assert_ok(gt_cache_get_winner(cache, &device, &one, true, &got, &error));
  assert_null(got.code);
  assert_int_equal(got.code_size, 0);
  gt_winner_free(&got);
  gt_cache_close(cache);
}

static void assert_near(gt_cache *cache, int n, const char *expected) {
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(n, "f16");
  gt_winner got;
  assert_ok(gt_cache_get_near_winner(cache, &device, &problem, true, &got, &error));
  assert_string_equal(got.variant.configuration, expected);
  assert_non_null(got.code);
  gt_winner_free(&got);
}

static void the_near_winner_is_the_one_whose_outer_count_is_nearest_in_ratio(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device(), other = a_device();
  other.compute_units = 1;
  gt_winner got;
  gt_problem of_1 = a_problem(1, "f16"), of_4 = a_problem(4, "f16"), of_100 = a_problem(100, "f16");
  gt_problem of_5 = a_problem(5, "f16"), f32_of_5 = a_problem(5, "f32"), empty = a_problem(0, "f16");
  gt_winner at_1 = a_winner("direct:at=1", "1"), at_4 = a_winner("direct:at=4", "4");
  gt_winner at_100 = a_winner("direct:at=100", "100"), at_0 = a_winner("direct:at=0", "0");
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_status(gt_cache_get_near_winner(cache, &device, &of_5, true, &got, &error), NOT_FOUND);
  assert_ok(gt_cache_put_winner(cache, &device, &of_1, &at_1, &error));
  assert_ok(gt_cache_put_winner(cache, &device, &of_4, &at_4, &error));
  assert_ok(gt_cache_put_winner(cache, &device, &of_100, &at_100, &error));
  assert_ok(gt_cache_put_winner(cache, &device, &empty, &at_0, &error));
  assert_near(cache, 3, "direct:at=4");
  assert_near(cache, 19, "direct:at=4");   // 19/4 < 100/19
  assert_near(cache, 20, "direct:at=100"); // a tie goes to the larger
  assert_near(cache, 2, "direct:at=4");
  assert_near(cache, 1000000, "direct:at=100");
  assert_near(cache, 4, "direct:at=1"); // never the very problem; another tie would be 16
  assert_status(gt_cache_get_near_winner(cache, &device, &f32_of_5, true, &got, &error), NOT_FOUND);
  assert_status(gt_cache_get_near_winner(cache, &other, &of_5, true, &got, &error), NOT_FOUND);
  assert_status(gt_cache_get_near_winner(cache, &device, &empty, true, &got, &error), NOT_FOUND);
  gt_cache_close(cache);
}

static void the_near_winner_may_split_the_same_outer_count_otherwise(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem one, two;
  gt_winner put = a_winner("direct:block=256", "code"), got;
  const char *format = "upsample_bilinear2d_backward:in=16x16,out=32x32,dtype=f16,";
  char *text = gt_print("%sn=2,c=8", format);
  assert_ok(gt_problem_parse(text, &one, &error));
  free(text);
  text = gt_print("%sn=4,c=4", format);
  assert_ok(gt_problem_parse(text, &two, &error));
  free(text);
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_ok(gt_cache_put_winner(cache, &device, &one, &put, &error));
  assert_status(gt_cache_get_winner(cache, &device, &two, true, &got, &error), NOT_FOUND);
  assert_ok(gt_cache_get_near_winner(cache, &device, &two, true, &got, &error));
  gt_winner_free(&got);
  gt_cache_close(cache);
}

static void the_near_winner_is_of_the_same_positions(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  static const struct {
    const char *end, *near; // NULL: nothing
  } cases[] = {{"n=4", "n=1"},
               {"n=4,grid=random", "n=32,grid=random"},
               {"n=32,grid=random", NULL}, // never the very problem
               {"n=4,grid=smooth", NULL}};
  static const char *const tuned[] = {"n=1", "n=32,grid=random", "n=4,grid=identity"};
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  for (size_t i = 0; i < 3 + sizeof cases / sizeof cases[0]; i++) {
    gt_problem problem;
    gt_winner got, put = a_winner("direct:block=256", NULL);
    char *text = gt_print("grid_sampler_2d_backward:c=3,in=6x5,out=7x8,dtype=f32,%s", i < 3 ? tuned[i] : cases[i - 3].end);
    assert_ok(gt_problem_parse(text, &problem, &error));
    free(text);
    if (i < 3) {
      assert_ok(gt_cache_put_winner(cache, &device, &problem, &put, &error));
    } else if (!cases[i - 3].near) {
      assert_status(gt_cache_get_near_winner(cache, &device, &problem, false, &got, &error), NOT_FOUND);
    } else {
      assert_ok(gt_cache_get_near_winner(cache, &device, &problem, false, &got, &error));
      text = gt_print("grid_sampler_2d_backward:c=3,in=6x5,out=7x8,dtype=f32,%s", cases[i - 3].near);
      assert_ok(gt_problem_parse(text, &problem, &error));
      free(text);
      char expected[GT_PROBLEM_TEXT];
      gt_problem_print(&problem, expected);
      assert_string_equal(got.problem, expected);
      gt_winner_free(&got);
    }
  }
  gt_cache_close(cache);
}

static void list_winner(void *context, const gt_winner *winner) {
  listing *list = context;
  gt_error error = {0};
  gt_buffer_print(&list->text, "%.*s %c %s %zu;", 8, winner->device + strlen("recorded / "),
                  winner->problem[strlen("upsample_bilinear2d_backward:n=")], winner->variant.configuration,
                  winner->code_size);
  assert_null(winner->code);
  if (!list->cache) return;
  listing inner = {0};
  assert_ok(gt_cache_each_winner(list->cache, list_winner, &inner, &error));
  gt_buffer_print(&list->text, "(%zu)", inner.text.length);
  gt_buffer_free(&inner.text);
}

static void winners_are_visited_by_device_and_problem_and_a_visitor_may_visit(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint b = a_device(), a = a_device();
  strcpy(a.name, "Some GPU");
  gt_problem one = a_problem(1, "f16"), two = a_problem(2, "f16");
  gt_winner put = a_winner("direct:x=1", "code");
  listing list = {0};
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_ok(gt_cache_put_winner(cache, &b, &two, &put, &error));
  assert_ok(gt_cache_put_winner(cache, &b, &one, &put, &error));
  assert_ok(gt_cache_put_winner(cache, &a, &two, &put, &error));
  assert_ok(gt_cache_each_winner(cache, list_winner, &list, &error));
  assert_string_equal(list.text.data,
                      "Some GPU 2 direct:x=1 4;Test GPU 1 direct:x=1 4;Test GPU 2 direct:x=1 4;");
  size_t length = list.text.length;
  char *expected =
      gt_print("Some GPU 2 direct:x=1 4;(%zu)Test GPU 1 direct:x=1 4;(%zu)Test GPU 2 direct:x=1 4;(%zu)",
               length, length, length);
  gt_buffer_clear(&list.text);
  list.cache = cache;
  assert_ok(gt_cache_each_winner(cache, list_winner, &list, &error));
  assert_string_equal(list.text.data, expected);
  free(expected);
  gt_buffer_free(&list.text);
  gt_cache_counts counts;
  assert_ok(gt_cache_count(cache, &counts, &error));
  assert_int_equal(counts.models, 2);
  assert_int_equal(counts.devices, 2);
  assert_int_equal(counts.problems, 2);
  assert_int_equal(counts.winners, 3);
  gt_cache_close(cache);
}

static void code_that_was_changed_is_noticed_and_mended_by_storing_it_again(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  gt_winner put = a_winner("direct:block=256", "machine code"), got;
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_ok(gt_cache_put_winner(cache, &device, &problem, &put, &error));
  run_sql(f->path, "UPDATE code SET blob = CAST('machine hack' AS BLOB)");
  assert_status(gt_cache_get_winner(cache, &device, &problem, true, &got, &error), CORRUPT);
  assert_non_null(strstr(error.text, "damaged"));
  assert_ok(gt_cache_get_winner(cache, &device, &problem, false, &got, &error));
  gt_winner_free(&got);
  assert_ok(gt_cache_put_winner(cache, &device, &problem, &put, &error));
  assert_ok(gt_cache_get_winner(cache, &device, &problem, true, &got, &error));
  gt_winner_free(&got);

  strcpy(put.code_hash, "0123456789abcdef0123456789abcdef");
  assert_status(gt_cache_put_winner(cache, &device, &problem, &put, &error), CORRUPT);
  gt_cache_close(cache);
}

static void rows_that_others_wrote_are_not_believed(void **state) {
  fixture *f = *state;
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  static const struct {
    bool winner;
    const char *sql;
  } cases[] = {
      {false, "UPDATE trial SET outcome = 'fine'"},
      {false, "UPDATE trial SET outcome = CAST(x'6f6b00' AS TEXT)"},
      {false, "UPDATE trial SET samples_us = '[1,'"},
      {false, "UPDATE trial SET samples_us = '{\"a\":1}'"},
      {false, "UPDATE trial SET samples_us = '[\"1\"]'"},
      {false, "UPDATE trial SET samples_us = '[-1]'"},
      {false, "UPDATE trial SET samples_us = '[1e999]'"},
      {false, "UPDATE trial SET median_us = -1"},
      {false, "UPDATE trial SET spread_us = 9e999"},
      {false, "UPDATE trial SET checked = 2"},
      {false, "UPDATE trial SET registers = 1 << 40"},
      {false, "UPDATE trial SET lds_bytes = -7"},
      {false, "UPDATE trial SET source_hash = 'zz'"},
      {false, "UPDATE trial SET source_hash = printf('%.*c', 1000, 'a')"},
      {true, "UPDATE winner SET variant = '{}'"},
      {true, "UPDATE winner SET variant = '[['"},
      {true, "UPDATE winner SET variant = ''"},
      {true, "UPDATE winner SET variant = replace(printf('%.*c', 100000, '['), ' ', '[')"},
      {true, "UPDATE winner SET default_us = -1"},
      {true, "UPDATE winner SET code = '0123456789abcdef0123456789abcdef'"},
      {true,
       "UPDATE code SET hash = printf('%.*c', 1000, 'a'); UPDATE winner SET code = (SELECT hash FROM code)"},
      {true, "UPDATE code SET size = -1"},
      {true, "UPDATE code SET size = 9223372036854775807"},
      {true, "UPDATE code SET size = 0, blob = x''"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    gt_error error = {0};
    gt_trial trial = a_trial("direct:block=256"), got_trial;
    gt_winner winner = a_winner("direct:block=256", "code"), got_winner;
    unlink(f->path);
    gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
    assert_ok(gt_cache_put_trial(cache, &device, &problem, &trial, &error));
    assert_ok(gt_cache_put_winner(cache, &device, &problem, &winner, &error));
    run_sql(f->path, cases[i].sql);
    gt_status status =
        cases[i].winner
            ? gt_cache_get_winner(cache, &device, &problem, true, &got_winner, &error)
            : gt_cache_get_trial(cache, &device, &problem, "direct:block=256", &got_trial, &error);
    if (status != GT_CORRUPT) fail_msg("%s: %s", cases[i].sql, gt_status_name(status));
    listing list = {0};
    status = cases[i].winner ? gt_cache_each_winner(cache, list_winner, &list, &error)
                             : gt_cache_each_trial(cache, &device, &problem, list_trial, &list, &error);
    if (status != GT_CORRUPT) fail_msg("%s: visiting: %s", cases[i].sql, gt_status_name(status));
    gt_buffer_free(&list.text);
    gt_cache_close(cache);
  }
}

static void freeing_and_closing_nothing_is_harmless(void **state) {
  (void)state;
  gt_trial trial = {0};
  gt_winner winner = {0};
  gt_trial_free(&trial);
  gt_trial_free(&trial);
  gt_winner_free(&winner);
  gt_winner_free(&winner);
  gt_cache_close(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(a_trial_comes_back_as_it_was_stored_also_after_reopening),
      CASE(what_crashed_or_hung_is_in_quarantine_for_its_device_and_software_alone),
      CASE(rechecks_are_kept_one_after_the_other),
      CASE(ties_come_back_with_their_winner),
      CASE(every_outcome_and_an_ugly_message_can_be_stored),
      CASE(a_trial_is_replaced_by_a_later_one_of_the_same_configuration),
      CASE(a_trial_is_known_only_on_the_device_and_software_that_made_it),
      CASE(the_trials_of_a_problem_on_a_device_are_counted),
      CASE(writers_of_one_process_take_turns),
      CASE(numbers_that_cannot_be_are_refused),
      CASE(trials_are_visited_by_model_in_the_order_of_their_configurations),
      CASE(a_winner_comes_back_with_its_variant_and_code),
      CASE(a_replaced_winner_leaves_no_code_behind_but_shared_code_stays),
      CASE(the_near_winner_is_the_one_whose_outer_count_is_nearest_in_ratio),
      CASE(the_near_winner_is_of_the_same_positions),
      CASE(the_near_winner_may_split_the_same_outer_count_otherwise),
      CASE(winners_are_visited_by_device_and_problem_and_a_visitor_may_visit),
      CASE(code_that_was_changed_is_noticed_and_mended_by_storing_it_again),
      CASE(rows_that_others_wrote_are_not_believed),
      CASE(freeing_and_closing_nothing_is_harmless),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
