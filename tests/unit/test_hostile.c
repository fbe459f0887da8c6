// Databases that are cut off, damaged or made to harm: whatever is done with them ends with a status, and a
// failure leaves the file as it was. Built with sanitizers, this is where they look.
#include "tests/unit/cache_fixture.h"

#include "cache/gc.h"
#include "exchange/collection.h"
#include "exchange/merge.h"

static void make_good(const char *path) {
  gt_error error = {0};
  gt_cache *cache = open_cache(path, GT_CACHE_WRITE);
  gt_fingerprint device = a_device();
  char name[64];
  static char code[9000]; // more than a page
  memset(code, 'c', sizeof code - 1);
  for (int n = 1; n <= 4; n++) {
    gt_problem problem = a_problem(n, "f32");
    for (int i = 0; i < 20; i++) {
      snprintf(name, sizeof name, "direct:block=%d", 64 + i);
      gt_trial trial = a_trial(name);
      assert_ok(gt_cache_put_trial(cache, &device, &problem, &trial, &error));
    }
    code[0] = (char)('0' + n);
    gt_winner winner = a_winner("direct", code);
    assert_ok(gt_cache_put_winner(cache, &device, &problem, &winner, &error));
    code[0] = (char)('a' + n);
    winner.median_us = 6; // else a merge would find the winner good for both
    assert_ok(gt_cache_put_deterministic(cache, &device, &problem, &winner, &error));
    gt_stale_check check = {.configuration = "direct", .outcome = GT_OUTCOME_OK};
    memset(check.source_hash, 'a', sizeof check.source_hash - 1);
    assert_ok(gt_cache_put_stale_check(cache, &device, &problem, &check, &error));
  }
  gt_cache_close(cache);
}

static void ignore_check(void *context, const gt_stale_checked *checked) {
  *(size_t *)context += strlen(checked->check->message);
}

static void ignore_winner(void *context, const gt_winner *winner) {
  *(size_t *)context += winner->code_size;
}

static void ignore_trial(void *context, const gt_trial *trial) {
  *(size_t *)context += trial->n_samples;
}

// Everything that reads. The first failure, whose text must name the file.
static gt_status read_all(const char *path, gt_error *error) {
  gt_cache *cache = NULL;
  gt_collection all = {0};
  const gt_selection everything = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(2, "f32"), near = a_problem(9, "f32");
  gt_winner winner = {0}, other = {0}, repeating = {0};
  gt_cache_counts counts;
  size_t seen = 0;
  gt_status status = gt_cache_open(path, GT_CACHE_READ, &cache, error);
  if (status == GT_OK) status = gt_cache_count(cache, &counts, error);
  if (status == GT_OK) status = gt_cache_each_winner(cache, ignore_winner, &seen, error);
  if (status == GT_OK) status = gt_cache_each_trial(cache, &device, &problem, ignore_trial, &seen, error);
  if (status == GT_OK) status = gt_cache_get_winner(cache, &device, &problem, true, &winner, error);
  if (status == GT_OK) status = gt_cache_get_near_winner(cache, &device, &near, true, &other, error);
  if (status == GT_OK) status = gt_cache_get_deterministic(cache, &device, &problem, true, &repeating, error);
  if (status == GT_OK) status = gt_collection_read(&all, cache, &everything, 1, error);
  if (status == GT_OK) status = gt_cache_each_stale_check(cache, ignore_check, &seen, error);
  if (status == GT_OK) status = gt_cache_verify(cache, error);
  gt_winner_free(&winner);
  gt_winner_free(&other);
  gt_winner_free(&repeating);
  gt_collection_free(&all);
  gt_cache_close(cache);
  if (status != GT_OK) {
    assert_non_null(strstr(error->text, path));
  }
  return status;
}

// Merges a good cache into it, as one change.
static gt_status merge_into(const char *path, const char *good, gt_error *error) {
  gt_cache *cache = NULL, *source = open_cache(good, GT_CACHE_READ);
  gt_collection all = {0};
  const gt_selection everything = {0};
  gt_merge_counts counts;
  gt_error unexpected = {0};
  gt_status status = gt_cache_open(path, GT_CACHE_WRITE, &cache, error);
  if (status == GT_OK) status = gt_cache_begin(cache, error);
  if (status == GT_OK) {
    status = gt_collection_read(&all, cache, &everything, GT_FROM_TARGET, error);
    assert_int_equal(gt_collection_read(&all, source, &everything, 1, &unexpected), GT_OK);
    for (size_t i = 0; i < all.n_winners; i++) all.winners[i].from = 1; // all of it is written
    for (size_t i = 0; i < all.n_trials; i++) all.trials[i].from = 1;
    if (status == GT_OK) gt_merge_settle(&all, NULL, NULL, &counts);
    if (status == GT_OK) status = gt_collection_write(&all, cache, error);
    status = gt_cache_end(cache, status, error);
  }
  gt_collection_free(&all);
  gt_cache_close(source);
  gt_cache_close(cache);
  return status;
}

static void assert_same(const char *path, const gt_buffer *before) {
  gt_buffer now = {0};
  assert_true(gt_buffer_read_file(&now, path));
  assert_int_equal(now.length, before->length);
  assert_memory_equal(now.data, before->data, before->length);
  gt_buffer_free(&now);
}

// Reading changes nothing, and neither does writing that fails.
static gt_status assert_harmless(const fixture *f, const char *good, const void *bytes, size_t length) {
  gt_error error = {0};
  gt_buffer before = {0};
  write_file(f->path, bytes, length);
  gt_buffer_append(&before, bytes, length);
  int files = count_files(f->folder);
  gt_status status = read_all(f->path, &error);
  assert_same(f->path, &before);
  assert_int_equal(count_files(f->folder), files);
  gt_error writing = {0};
  if (length && merge_into(f->path, good, &writing) != GT_OK) {
    assert_non_null(strstr(writing.text, f->path));
    assert_same(f->path, &before);
  }
  assert_int_equal(count_files(f->folder), files);
  gt_buffer_free(&before);
  return status;
}

static void a_file_that_is_cut_off_anywhere_does_no_harm(void **state) {
  fixture *f = *state;
  gt_buffer good = {0};
  char *path = gt_print("%s/good.db", f->folder);
  make_good(path);
  assert_true(gt_buffer_read_file(&good, path));
  assert_int_equal(assert_harmless(f, path, good.data, good.length), GT_OK);
  int refused = 0;
  for (size_t length = 0; length < good.length; length += 1531)
    refused += assert_harmless(f, path, good.data, length) != GT_OK;
  assert_true(refused > 0);
  gt_buffer_free(&good);
  free(path);
}

static void flipped_bits_do_no_harm(void **state) {
  fixture *f = *state;
  gt_buffer good = {0};
  char *path = gt_print("%s/good.db", f->folder);
  make_good(path);
  assert_true(gt_buffer_read_file(&good, path));
  uint32_t random = 12345; // xorshift: the same flips in every run
  int refused = 0;
  for (int round = 0; round < 300; round++) {
    char *bytes = memcpy(gt_alloc(good.length), good.data, good.length);
    for (int flips = 1 + round % 4; flips > 0; flips--) {
      random ^= random << 13;
      random ^= random >> 17;
      random ^= random << 5;
      // Every other round in the first pages, where the schema and the roots of the tables are.
      bytes[random % (round % 2 ? good.length : 8192)] ^= (char)(1 << (random >> 29));
    }
    refused += assert_harmless(f, path, bytes, good.length) != GT_OK;
    free(bytes);
  }
  assert_true(refused > 0);
  gt_buffer_free(&good);
  free(path);
}

// SQL that is done to a good cache, and whether it can be read afterwards.
static const struct {
  const char *sql;
  bool readable;
} attacks[] = {
    // Code in the schema: triggers do not fire, views and foreign functions are not used.
    {"CREATE TRIGGER a AFTER INSERT ON trial BEGIN DELETE FROM winner; END;"
     "CREATE TRIGGER b AFTER UPDATE ON winner BEGIN DELETE FROM winner; END",
     true},
    {"ALTER TABLE winner RENAME TO w2; CREATE VIEW winner AS SELECT * FROM w2", false},
    {"ALTER TABLE trial RENAME TO t2; CREATE VIEW trial AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT "
     "i + 1 "
     "FROM r) SELECT t2.* FROM t2, r",
     false},
    {"DROP TABLE origin; CREATE VIEW origin AS SELECT 1 AS device, 2 AS problem, '' AS configuration, 0 AS "
     "of, 'h' AS host",
     true},
    {"DROP TABLE origin; CREATE TABLE origin (other)", true},
    {"UPDATE origin SET host = hex(zeroblob(1000))", false},
    {"DROP TABLE trial; CREATE TABLE trial (other)", false},
    {"DROP TABLE winner", false},
    {"DELETE FROM code", false}, // that winners refer to
    {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE nonsense' WHERE name = "
     "'trial'",
     false},
    {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'trial'", false},
    {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 99999 WHERE name = 'winner'", false},
    {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema "
     "WHERE name = "
     "'code') WHERE name = 'trial'",
     false},
    {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = "
     "replace(sql, 'checked IN (0, 1)', 'load_extension(''x'') IS NULL') WHERE name = 'trial'",
     true},
    {"ALTER TABLE trial DROP COLUMN message; ALTER TABLE trial ADD COLUMN message TEXT AS "
     "(hex(zeroblob(300000000)))",
     false},
    {"CREATE INDEX slow ON trial (hex(zeroblob(length(configuration))))", true},
    // Numbers that cannot be.
    {"UPDATE winner SET median_us = 9e999", false},
    {"UPDATE winner SET spread_us = -1", false},
    {"UPDATE trial SET samples_us = '[1e999]'", false},
    {"UPDATE trial SET samples_us = '[NaN]'", false},
    {"UPDATE trial SET median_us = -9e999", false},
    {"UPDATE trial SET registers = -7", false},
    {"UPDATE trial SET temperature_c = -1", false},
    {"UPDATE winner SET ties = '[{}]'", false},
    {"UPDATE winner SET median_us = 0.0", false}, // a winner has a time
    {"UPDATE trial SET tried_at = 'yesterday'", false},
    {"UPDATE winner SET tuned_at = '2025-01-31T12:00:00Z '", false},
    {"PRAGMA journal_mode = WAL", false}, // which cannot be read without writing beside the file
    {"PRAGMA user_version = 1", false},   // whose columns are there already
    {"UPDATE model SET compute_units = 99999999999", false},
    {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT', ''), 'NOT "
     "NULL', '') "
     "WHERE name = 'winner'; PRAGMA writable_schema = RESET; UPDATE winner SET median_us = NULL",
     false}, // what NaN becomes
    // Texts and blobs that cannot be.
    {"UPDATE trial SET samples_us = '[' || replace(hex(zeroblob(100000)), '00', '[')", false},
    {"UPDATE trial SET configuration = configuration || char(0) || 'x'", false},
    {"UPDATE trial SET message = CAST(x'ff' AS TEXT)", false},          // no UTF-8
    {"UPDATE trial SET configuration = 'direct:' WHERE id = 1", false}, // would be another one than `direct`
    {"UPDATE winner SET variant = '{}'", false},
    {"UPDATE winner SET variant = '{' || hex(zeroblob(1000000))", false},
    {"UPDATE winner SET variant = json_set(variant, '$.launches[0].blocks[1]', 0)", false},
    {"UPDATE winner SET variant = json_set(variant, '$.launches[0].kernel', 'a b')", false},
    {"UPDATE problem SET text = 'upsample_nonsense:n=1' WHERE id = 1", false},
    {"UPDATE problem SET text = replace(text, 'n=1,c=1', 'c=1,n=1') WHERE id = 1", false},
    {"UPDATE code SET blob = zeroblob(150000000), size = 150000000", false},
    {"UPDATE code SET blob = zeroblob(size)", false},
    {"UPDATE code SET size = 5", false},
    {"UPDATE model SET name = hex(zeroblob(200))", false},
    // What is beside winners.
    {"DROP TABLE deterministic", false},
    {"UPDATE deterministic SET variant = json_set(variant, '$.reproducible', json('false'))", false},
    {"UPDATE deterministic SET median_us = 0.0", false},
    {"UPDATE deterministic SET ties = '[{}]'", false},
    {"UPDATE deterministic SET host = hex(zeroblob(100))", false},
    {"UPDATE deterministic SET code = (SELECT code FROM winner)", true},
    {"UPDATE deterministic SET code = 'none'", false},
    {"DELETE FROM winner", false}, // whose problems have what is beside them all the same
};

static void databases_that_are_made_to_harm_are_refused_or_harmless(void **state) {
  fixture *f = *state;
  char *path = gt_print("%s/good.db", f->folder), *bad = gt_print("%s/bad.db", f->folder);
  make_good(path);
  for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++) {
    gt_buffer bytes = {0};
    unlink(bad);
    make_good(bad);
    run_sql(bad, attacks[i].sql);
    assert_true(gt_buffer_read_file(&bytes, bad));
    unlink(bad);
    gt_status status = assert_harmless(f, path, bytes.data, bytes.length);
    if ((status == GT_OK) != attacks[i].readable) fail_msg("%s: %s", attacks[i].sql, gt_status_name(status));
    gt_buffer_free(&bytes);
  }
  free(path);
  free(bad);
}

static void triggers_of_the_file_do_not_fire(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_cache_counts counts;
  char *path = gt_print("%s/good.db", f->folder);
  make_good(path);
  make_good(f->path);
  run_sql(f->path, attacks[0].sql);
  assert_ok(merge_into(f->path, path, &error));
  gt_cache *cache = open_cache(f->path, GT_CACHE_READ);
  assert_ok(gt_cache_count(cache, &counts, &error));
  assert_int_equal(counts.winners, 4);
  gt_cache_close(cache);
  free(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(a_file_that_is_cut_off_anywhere_does_no_harm),
      CASE(flipped_bits_do_no_harm),
      CASE(databases_that_are_made_to_harm_are_refused_or_harmless),
      CASE(triggers_of_the_file_do_not_fire),
  };
  return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
