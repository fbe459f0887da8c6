#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "base/buffer.h"
#include "cache/code_store.h"

#define ONE "00000000000000000000000000000001"
#define TWO "00000000000000000000000000000002"
#define SOURCE "abcdefabcdefabcdefabcdefabcdef00"

static char *path;

static int set_up(void **state) {
  (void)state;
  path = gt_strdup("/tmp/gathertune-code-XXXXXX");
  int file = mkstemp(path);
  if (file < 0) return -1;
  close(file);
  return unlink(path);
}

static int tear_down(void **state) {
  (void)state;
  unlink(path);
  free(path);
  return 0;
}

static gt_code_store *opened(int64_t most) {
  gt_code_store *store;
  gt_error error = {0};
  if (gt_code_store_open(path, most, &store, &error) != GT_OK) fail_msg("%s", error.text);
  return store;
}

static bool has(gt_code_store *store, const char *key, const char *source, const char *code) {
  gt_buffer found = {0};
  bool there = gt_code_store_get(store, key, source, &found);
  if (there) assert_string_equal(found.data, code);
  if (!there) assert_int_equal(found.length, 0);
  gt_buffer_free(&found);
  return there;
}

static void run_sql(const char *sql) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s", sqlite3_errmsg(db));
  sqlite3_close(db);
}

static void what_is_put_is_found_by_key_and_source_also_later(void **state) {
  (void)state;
  gt_code_store *store = opened(1000);
  assert_false(has(store, ONE, SOURCE, NULL));
  gt_code_store_put(store, ONE, SOURCE, "one", 3);
  gt_code_store_put(store, TWO, SOURCE, "two", 3);
  assert_true(has(store, ONE, SOURCE, "one") && has(store, TWO, SOURCE, "two"));
  assert_false(has(store, ONE, TWO, NULL));
  gt_code_store_put(store, ONE, SOURCE, "other", 5);
  gt_code_store_close(store);
  store = opened(1000);
  assert_true(has(store, ONE, SOURCE, "other") && has(store, TWO, SOURCE, "two"));
  gt_code_store_close(store);
  gt_code_store_close(NULL);
}

static void damaged_code_is_not_given_out(void **state) {
  (void)state;
  gt_code_store *store = opened(1000);
  gt_code_store_put(store, ONE, SOURCE, "one", 3);
  run_sql("UPDATE object SET blob = x'6f6e66'");
  assert_false(has(store, ONE, SOURCE, NULL));
  gt_code_store_put(store, ONE, SOURCE, "one", 3);
  assert_true(has(store, ONE, SOURCE, "one"));
  gt_code_store_close(store);
}

static void what_was_used_longest_ago_makes_room(void **state) {
  (void)state;
  char block[100], name[33];
  memset(block, 'x', sizeof block);
  gt_code_store *store = opened(100 * 100);
  for (int i = 0; i < 100; i++) {
    snprintf(name, sizeof name, "%032d", i);
    gt_code_store_put(store, ONE, name, block, sizeof block);
  }
  run_sql("UPDATE object SET used_at = 1");
  gt_buffer code = {0};
  assert_true(gt_code_store_get(store, ONE, "00000000000000000000000000000000", &code)); // used now
  gt_code_store_put(store, TWO, SOURCE, block, sizeof block);
  assert_true(gt_code_store_get(store, TWO, SOURCE, &code));
  assert_true(gt_code_store_get(store, ONE, "00000000000000000000000000000000", &code));
  assert_false(gt_code_store_get(store, ONE, "00000000000000000000000000000001", &code));
  assert_true(gt_code_store_get(store, ONE, "00000000000000000000000000000099", &code));
  // What is larger than all that may be kept is not.
  char *huge = gt_alloc(20000);
  gt_code_store_put(store, TWO, ONE, huge, 20000);
  assert_false(gt_code_store_get(store, TWO, ONE, &code));
  assert_true(gt_code_store_get(store, TWO, SOURCE, &code));
  free(huge);
  gt_buffer_free(&code);
  gt_code_store_close(store);
}

static void two_processes_may_share_it(void **state) {
  (void)state;
  gt_code_store *one = opened(1000), *two = opened(1000);
  gt_code_store_put(one, ONE, SOURCE, "one", 3);
  assert_true(has(two, ONE, SOURCE, "one"));
  gt_code_store_put(two, TWO, SOURCE, "two", 3);
  assert_true(has(one, TWO, SOURCE, "two"));
  gt_code_store_close(one);
  gt_code_store_close(two);
}

static void a_file_of_something_else_is_left_as_it_is(void **state) {
  (void)state;
  static const char *const contents[] = {"This is somebody's letter, and no database at all.\n", NULL};
  for (int i = 0; i < 2; i++) {
    gt_code_store *store;
    gt_error error = {0};
    gt_buffer before = {0}, after = {0};
    unlink(path);
    if (contents[i]) {
      FILE *file = fopen(path, "w");
      for (int k = 0; k < 20; k++) fputs(contents[i], file);
      fclose(file);
    } else {
      run_sql("CREATE TABLE object (letter TEXT)");
    }
    assert_true(gt_buffer_read_file(&before, path));
    assert_int_equal(gt_code_store_open(path, 1000, &store, &error), GT_CORRUPT);
    assert_null(store);
    assert_non_null(strstr(error.text, path));
    assert_true(gt_buffer_read_file(&after, path));
    assert_true(before.length == after.length && memcmp(before.data, after.data, after.length) == 0);
    gt_buffer_free(&before);
    gt_buffer_free(&after);
  }
}

static void where_it_cannot_be_made_the_reason_is_told(void **state) {
  (void)state;
  gt_code_store *store;
  gt_error error = {0};
  assert_int_equal(gt_code_store_open("/nonexistent/cache.db.code", 1000, &store, &error), GT_IO);
  assert_non_null(strstr(error.text, "/nonexistent/cache.db.code"));
}

static void keys_tell_compilers_and_options_apart(void **state) {
  (void)state;
  gt_fingerprint a = {.backend = "recorded", .name = "GPU", .arch = "gfx942", .driver = "1", .compiler = "9"};
  gt_fingerprint b = a;
  char key[GT_HASH_SIZE], other[GT_HASH_SIZE];
  gt_code_store_key(&a, key);
  b.compute_units = 7; // no matter to a compiler
  gt_code_store_key(&b, other);
  assert_string_equal(key, other);
  strcpy(b.compiler, "10");
  gt_code_store_key(&b, other);
  assert_string_not_equal(key, other);
  b = a;
  strcpy(b.driver, "2"); // a driver that compiles itself
  gt_code_store_key(&b, other);
  assert_string_not_equal(key, other);
  b = a;
  strcpy(b.arch, "gfx950");
  gt_code_store_key(&b, other);
  assert_string_not_equal(key, other);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(what_is_put_is_found_by_key_and_source_also_later),
      TEST(damaged_code_is_not_given_out),
      TEST(what_was_used_longest_ago_makes_room),
      TEST(two_processes_may_share_it),
      TEST(a_file_of_something_else_is_left_as_it_is),
      TEST(where_it_cannot_be_made_the_reason_is_told),
      TEST(keys_tell_compilers_and_options_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
