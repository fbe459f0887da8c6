// The cache's file: where it lies, which files are refused and left alone, and what survives kills, full
// disks and other processes.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/cache_fixture.h"

static void assert_default_path(const char *cache, const char *xdg, const char *home, const char *expected) {
  const char *names[] = {"GATHERTUNE_CACHE", "XDG_CACHE_HOME", "HOME"};
  const char *values[] = {cache, xdg, home};
  for (int i = 0; i < 3; i++) values[i] ? setenv(names[i], values[i], 1) : unsetenv(names[i]);
  gt_error error = {0};
  char *path = NULL;
  if (!expected) {
    assert_status(gt_cache_default_path(&path, &error), USAGE);
    return;
  }
  assert_ok(gt_cache_default_path(&path, &error));
  assert_string_equal(path, expected);
  free(path);
}

static void the_default_path_follows_the_environment_and_empty_counts_as_unset(void **state) {
  (void)state;
  char *saved[] = {getenv("GATHERTUNE_CACHE"), getenv("XDG_CACHE_HOME"), getenv("HOME")};
  for (int i = 0; i < 3; i++) saved[i] = saved[i] ? gt_strdup(saved[i]) : NULL;
  assert_default_path("/a/b.db", "/x", "/h", "/a/b.db");
  assert_default_path("", "/x", "/h", "/x/gathertune/cache.db");
  assert_default_path(NULL, "relative", "/h", "/h/.cache/gathertune/cache.db");
  assert_default_path(NULL, "", "/h", "/h/.cache/gathertune/cache.db");
  assert_default_path(NULL, NULL, "", NULL);
  assert_default_path(NULL, NULL, NULL, NULL);
  const char *names[] = {"GATHERTUNE_CACHE", "XDG_CACHE_HOME", "HOME"};
  for (int i = 0; i < 3; i++) {
    saved[i] ? setenv(names[i], saved[i], 1) : unsetenv(names[i]);
    free(saved[i]);
  }
}

static void missing_folders_are_made_for_their_owner_alone(void **state) {
  fixture *f = *state;
  char *middle = gt_print("%s/x", f->folder), *path = gt_print("%s/x/y/cache.db", f->folder);
  struct stat info;
  gt_cache_close(open_cache(path, GT_CACHE_WRITE));
  assert_int_equal(stat(middle, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0700);
  gt_cache_close(open_cache(path, GT_CACHE_READ));
  free(middle);
  free(path);
}

static void reading_makes_nothing(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_cache *cache;
  char *path = gt_print("%s/x/cache.db", f->folder);
  assert_status(gt_cache_open(f->path, GT_CACHE_READ, &cache, &error), NOT_FOUND);
  assert_non_null(strstr(error.text, f->path));
  assert_null(cache);
  assert_status(gt_cache_open(path, GT_CACHE_READ, &cache, &error), NOT_FOUND);
  assert_int_equal(rmdir(f->folder), 0); // so it is still empty
  mkdir(f->folder, 0700);
  assert_status(gt_cache_open("", GT_CACHE_READ, &cache, &error), USAGE);
  free(path);
}

static void an_empty_file_is_a_new_cache(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_cache *cache;
  write_file(f->path, "", 0);
  assert_status(gt_cache_open(f->path, GT_CACHE_READ, &cache, &error), NOT_FOUND);
  gt_cache_close(open_cache(f->path, GT_CACHE_WRITE));
  gt_cache_close(open_cache(f->path, GT_CACHE_READ));
}

// Opening it fails in both modes, and neither changes a byte of it or leaves a file beside it.
static void assert_refused(const fixture *f, gt_status expected) {
  gt_buffer before = {0}, after = {0};
  int files = count_files(f->folder);
  assert_true(gt_buffer_read_file(&before, f->path));
  for (int mode = GT_CACHE_READ; mode <= GT_CACHE_WRITE; mode++) {
    gt_error error = {0};
    gt_cache *cache = NULL;
    gt_status status = gt_cache_open(f->path, (gt_cache_mode)mode, &cache, &error);
    assert_string_equal(gt_status_name(status), gt_status_name(expected));
    assert_null(cache);
    assert_non_null(strstr(error.text, f->path));
    assert_null(strchr(error.text, '\n'));
    assert_true(gt_buffer_read_file(&after, f->path));
    assert_int_equal(after.length, before.length);
    assert_memory_equal(after.data, before.data, before.length);
    assert_int_equal(count_files(f->folder), files);
    gt_buffer_clear(&after);
  }
  gt_buffer_free(&before);
  gt_buffer_free(&after);
}

static void a_text_file_is_refused_and_left_as_it_is(void **state) {
  fixture *f = *state;
  write_file(f->path, "x", 1);
  assert_refused(f, GT_CORRUPT);
  char text[5000];
  memset(text, 'a', sizeof text);
  write_file(f->path, text, sizeof text);
  assert_refused(f, GT_CORRUPT);
}

static void a_database_of_something_else_is_refused_and_left_as_it_is(void **state) {
  fixture *f = *state;
  run_sql(f->path, "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')");
  assert_refused(f, GT_CORRUPT);
  run_sql(f->path, "PRAGMA application_id = 7; PRAGMA user_version = 1; CREATE TABLE model (id INTEGER)");
  assert_refused(f, GT_CORRUPT);
}

// Stops itself in the middle of a transaction that has already spilled into the file, as a kill would.
static void die_in_a_transaction(const char *path, const char *spill) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    sqlite3 *db;
    if (sqlite3_open(path, &db) != SQLITE_OK) _exit(1);
    sqlite3_exec(db, "PRAGMA cache_size = 5; PRAGMA cache_spill = 5; BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (sqlite3_exec(db, spill, NULL, NULL, NULL) != SQLITE_OK) _exit(2);
    kill(getpid(), SIGKILL);
  }
  int status;
  waitpid(child, &status, 0);
  assert_true(WIFSIGNALED(status));
}

static void the_half_written_database_of_something_else_is_left_to_its_owner(void **state) {
  fixture *f = *state;
  char *journal = gt_print("%s-journal", f->path);
  run_sql(f->path, "CREATE TABLE bookmarks (url TEXT)");
  die_in_a_transaction(f->path,
                       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) "
                       "INSERT INTO bookmarks SELECT printf('%.*c', 1000, 'x') FROM n");
  assert_int_equal(access(journal, F_OK), 0);
  assert_refused(f, GT_CORRUPT);
  assert_int_equal(access(journal, F_OK), 0);
  free(journal);
}

static void a_cache_of_a_newer_version_is_refused_and_left_as_it_is(void **state) {
  fixture *f = *state;
  gt_cache_close(open_cache(f->path, GT_CACHE_WRITE));
  run_sql(f->path, "PRAGMA user_version = 4; DROP TABLE trial");
  assert_refused(f, GT_NEWER_SCHEMA);
  run_sql(f->path, "PRAGMA user_version = 0");
  assert_refused(f, GT_CORRUPT);
}

static void a_cache_with_other_tables_is_refused(void **state) {
  fixture *f = *state;
  gt_cache_close(open_cache(f->path, GT_CACHE_WRITE));
  run_sql(f->path, "DROP TABLE trial");
  assert_refused(f, GT_CORRUPT);
  run_sql(f->path, "CREATE VIEW trial AS SELECT 1 AS device");
  assert_refused(f, GT_CORRUPT);
  run_sql(f->path, "DROP VIEW trial; CREATE TABLE trial (id INTEGER PRIMARY KEY, device, problem)");
  assert_refused(f, GT_CORRUPT);
}

// A cache of version 1 with two trials and a winner.
static void make_old_cache(const char *path) {
  gt_buffer sql = {0};
  assert_true(gt_buffer_read_file(&sql, "tests/unit/cache_v1.sql"));
  run_sql(path, sql.data);
  gt_buffer_free(&sql);
}

static void assert_old_rows(const char *path, gt_cache_mode mode) {
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  gt_trial trial;
  gt_winner winner;
  gt_cache *cache = open_cache(path, mode);
  assert_ok(gt_cache_get_trial(cache, &device, &problem, "direct:block=256", &trial, &error));
  assert_true(trial.n_samples == 2 && trial.median_us == 10.125 && trial.registers == 64);
  assert_true(!trial.noisy && trial.readings.temperature_c == 0 && trial.readings.clock_mhz == 0);
  gt_trial_free(&trial);
  assert_ok(gt_cache_get_winner(cache, &device, &problem, false, &winner, &error));
  assert_true(winner.median_us == 7.5 && winner.n_ties == 0);
  gt_winner_free(&winner);
  assert_ok(gt_cache_get_quarantined(cache, &device, "fedcba9876543210fedcba9876543210", &trial, &error));
  gt_trial_free(&trial);
  gt_cache_close(cache);
}

static void an_older_cache_is_read_and_left_as_it_is(void **state) {
  fixture *f = *state;
  gt_buffer before = {0}, after = {0};
  make_old_cache(f->path);
  assert_true(gt_buffer_read_file(&before, f->path));
  assert_old_rows(f->path, GT_CACHE_READ);
  assert_old_rows(f->path, GT_CACHE_IMMUTABLE); // as a system's cache
  assert_true(gt_buffer_read_file(&after, f->path));
  assert_int_equal(after.length, before.length);
  assert_memory_equal(after.data, before.data, before.length);
  gt_buffer_free(&before);
  gt_buffer_free(&after);
}

// All columns of all tables and indices, and their properties; as a new string.
static char *columns_of(const char *path) {
  sqlite3 *db;
  sqlite3_stmt *statement;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  static const char sql[] =
      "SELECT group_concat(t.name || '.' || c.name || ' ' || c.type || c.\"notnull\" || "
      "coalesce(c.dflt_value, '') || c.pk, '; ') FROM "
      "(SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name) t, pragma_table_info(t.name) c "
      "UNION ALL SELECT group_concat(name, '; ') FROM "
      "(SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name)";
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
  gt_buffer all = {0};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    gt_buffer_print(&all, "%s\n", (const char *)sqlite3_column_text(statement, 0));
  }
  char *text = gt_strdup(all.data);
  gt_buffer_free(&all);
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return text;
}

static void an_older_cache_that_is_written_becomes_the_present_version_and_keeps_its_rows(void **state) {
  fixture *f = *state;
  make_old_cache(f->path);
  assert_old_rows(f->path, GT_CACHE_WRITE);
  assert_old_rows(f->path, GT_CACHE_READ);
  char *fresh = gt_print("%s/fresh.db", f->folder);
  gt_cache_close(open_cache(fresh, GT_CACHE_WRITE));
  char *columns = columns_of(f->path), *expected = columns_of(fresh);
  assert_non_null(strstr(columns, "trial.noisy INTEGER"));
  assert_non_null(strstr(columns, "trial_in_quarantine"));
  assert_string_equal(columns, expected);
  free(columns);
  free(expected);
  free(fresh);
}

static void a_file_that_only_claims_to_be_an_older_cache_is_refused(void **state) {
  fixture *f = *state;
  gt_cache_close(open_cache(f->path, GT_CACHE_WRITE));
  run_sql(f->path, "PRAGMA user_version = 1"); // with the present tables
  assert_refused(f, GT_CORRUPT);
  unlink(f->path);
  make_old_cache(f->path);
  // Shows when all else has become the present version.
  run_sql(f->path, "PRAGMA foreign_keys = OFF; DROP TABLE code");
  assert_refused(f, GT_CORRUPT);
}

static void fill(gt_cache *cache, int from, int to) {
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  for (int i = from; i < to; i++) {
    char configuration[32];
    snprintf(configuration, sizeof configuration, "direct:block=%d", i);
    gt_trial trial = a_trial(configuration);
    gt_winner winner = a_winner(configuration, "machine code");
    assert_ok(gt_cache_put_trial(cache, &device, &problem, &trial, &error));
    if (i == from) assert_ok(gt_cache_put_winner(cache, &device, &problem, &winner, &error));
  }
}

static int64_t count_trials(const char *path, gt_cache_mode mode) {
  gt_error error = {0};
  gt_cache_counts counts;
  gt_cache *cache = open_cache(path, mode);
  assert_ok(gt_cache_count(cache, &counts, &error));
  gt_cache_close(cache);
  return counts.trials;
}

static void count_trial(void *context, const gt_trial *trial) {
  (void)trial;
  ++*(int *)context;
}
static void count_winner(void *context, const gt_winner *winner) {
  (void)winner;
  ++*(int *)context;
}

static void a_damaged_file_never_crashes_the_reader(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  fill(cache, 0, 20);
  gt_cache_close(cache);
  gt_buffer whole = {0};
  assert_true(gt_buffer_read_file(&whole, f->path));
  write_file(f->path, whole.data, whole.length / 2);
  assert_refused(f, GT_CORRUPT);

  char *copy = gt_alloc(whole.length);
  uint32_t random = 12345;
  for (int round = 0; round < 400; round++) {
    memcpy(copy, whole.data, whole.length);
    for (int i = 0; i < 1 + round % 40; i++) {
      random = random * 1664525 + 1013904223;
      size_t at = (random >> 8) % whole.length;
      if (round % 2) at %= 4096; // half of them in the first page, where the schema is
      random = random * 1664525 + 1013904223;
      copy[at] = (char)(random >> 24);
    }
    write_file(f->path, copy, whole.length);
    if (gt_cache_open(f->path, round % 3 ? GT_CACHE_READ : GT_CACHE_WRITE, &cache, &error) != GT_OK) continue;
    gt_winner winner;
    gt_cache_counts counts;
    int visits = 0;
    gt_cache_count(cache, &counts, &error);
    gt_cache_each_trial(cache, &device, &problem, count_trial, &visits, &error);
    gt_cache_each_winner(cache, count_winner, &visits, &error);
    if (gt_cache_get_winner(cache, &device, &problem, true, &winner, &error) == GT_OK)
      gt_winner_free(&winner);
    gt_cache_close(cache);
  }
  free(copy);
  gt_buffer_free(&whole);
}

static void a_place_that_cannot_be_written_is_an_io_error_with_the_path(void **state) {
  fixture *f = *state;
  write_file(f->path, "a file", 6);
  char *under = gt_print("%s/x/cache.db", f->path), *beside = gt_print("%s/cache.db", f->path);
  const char *paths[] = {under, beside, f->folder, "/dev/full", "/proc/no-such-folder/cache.db"};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    gt_error error = {0};
    gt_cache *cache;
    gt_status status = gt_cache_open(paths[i], GT_CACHE_WRITE, &cache, &error);
    if (status != GT_IO) fail_msg("%s: %s: %s", paths[i], gt_status_name(status), error.text);
    assert_non_null(strstr(error.text, paths[i]));
  }
  free(under);
  free(beside);
}

// Runs `body` in a process of its own. The assertions of the parent do not work in it: it returns 0 for
// success.
static pid_t in_process(int (*body)(const char *path, int argument), const char *path, int argument) {
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(body(path, argument));
  return child;
}

static int exit_of(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int write_until_the_disk_is_full(const char *path, int limit) {
  gt_error error = {0};
  gt_cache *cache;
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  if (gt_cache_open(path, GT_CACHE_WRITE, &cache, &error) != GT_OK) return 1;
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit size = {(rlim_t)limit, (rlim_t)limit};
  if (setrlimit(RLIMIT_FSIZE, &size) != 0) return 2;
  gt_trial trial = a_trial("direct:block=9999");
  trial.message = memset(gt_alloc(200001), 'x', 200000);
  if (gt_cache_put_trial(cache, &device, &problem, &trial, &error) != GT_IO) return 3;
  if (!strstr(error.text, path)) return 4;
  // The cache is still good for what fits.
  if (gt_cache_get_trial(cache, &device, &problem, "direct:block=0", &trial, &error) != GT_OK) return 5;
  gt_trial_free(&trial);
  gt_cache_close(cache);
  return 0;
}

static void a_full_disk_is_an_io_error_and_loses_only_the_row_in_flight(void **state) {
  fixture *f = *state;
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  fill(cache, 0, 3);
  gt_cache_close(cache);
  assert_int_equal(exit_of(in_process(write_until_the_disk_is_full, f->path, 150000)), 0);
  assert_int_equal(count_trials(f->path, GT_CACHE_READ), 3);
}

enum { TRIALS_EACH = 40 };

static int write_trials(const char *path, int first) {
  gt_error error = {0};
  gt_cache *cache;
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  if (gt_cache_open(path, GT_CACHE_WRITE, &cache, &error) != GT_OK) return 1;
  for (int i = first; i < first + TRIALS_EACH; i++) {
    char configuration[32];
    snprintf(configuration, sizeof configuration, "direct:block=%d", i);
    gt_trial trial = a_trial(configuration);
    if (gt_cache_put_trial(cache, &device, &problem, &trial, &error) != GT_OK) return 2;
  }
  gt_cache_close(cache);
  return 0;
}

static void two_processes_can_make_and_write_one_cache_at_once(void **state) {
  fixture *f = *state;
  pid_t one = in_process(write_trials, f->path, 0), two = in_process(write_trials, f->path, 1000);
  assert_int_equal(exit_of(one), 0);
  assert_int_equal(exit_of(two), 0);
  assert_int_equal(count_trials(f->path, GT_CACHE_READ), 2 * TRIALS_EACH);
}

static void a_reader_sees_the_last_commit_while_a_writer_is_in_a_transaction(void **state) {
  fixture *f = *state;
  sqlite3 *writer;
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  fill(cache, 0, 3);
  gt_cache_close(cache);
  assert_int_equal(sqlite3_open(f->path, &writer), SQLITE_OK);
  assert_int_equal(sqlite3_exec(writer, "BEGIN IMMEDIATE; DELETE FROM trial", NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(count_trials(f->path, GT_CACHE_READ), 3);
  sqlite3_exec(writer, "COMMIT", NULL, NULL, NULL);
  assert_int_equal(count_trials(f->path, GT_CACHE_READ), 0);
  sqlite3_close(writer);
}

#define SPILL                                                                      \
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) " \
  "INSERT INTO code SELECT printf('%032d', i), zeroblob(1000), 1000 FROM n; DELETE FROM trial"

static void what_a_killed_writer_left_is_undone_by_the_next_reader_or_writer(void **state) {
  fixture *f = *state;
  char *journal = gt_print("%s-journal", f->path);
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  fill(cache, 0, 3);
  gt_cache_close(cache);
  for (int mode = GT_CACHE_READ; mode <= GT_CACHE_WRITE; mode++) {
    die_in_a_transaction(f->path, SPILL);
    assert_int_equal(access(journal, F_OK), 0);
    assert_int_equal(count_trials(f->path, (gt_cache_mode)mode), 3);
    assert_int_not_equal(access(journal, F_OK), 0);
  }
  free(journal);
}

static void a_reader_that_is_open_survives_the_kill_of_a_writer(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_cache_counts counts;
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  fill(cache, 0, 3);
  gt_cache_close(cache);
  cache = open_cache(f->path, GT_CACHE_READ);
  assert_ok(gt_cache_count(cache, &counts, &error));
  die_in_a_transaction(f->path, SPILL);
  assert_ok(gt_cache_count(cache, &counts, &error));
  assert_int_equal(counts.trials, 3);
  gt_cache_close(cache);
}

// The journal that SQLite writes before it makes the first page: its rollback leaves an empty file.
static void write_journal_of_an_empty_file(const char *path) {
  unsigned char header[512] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  header[22] = 2;    // sectors of 512 bytes
  header[26] = 0x10; // pages of 4096 bytes
  write_file(path, header, sizeof header);
}

static void a_cache_whose_making_was_killed_is_made_anew(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_cache *cache;
  char *journal = gt_print("%s-journal", f->path);
  for (int mode = GT_CACHE_READ; mode <= GT_CACHE_WRITE; mode++) {
    gt_cache_close(open_cache(f->path, GT_CACHE_WRITE));
    write_journal_of_an_empty_file(journal);
    if (mode == GT_CACHE_READ)
      assert_status(gt_cache_open(f->path, GT_CACHE_READ, &cache, &error), NOT_FOUND);
    else
      gt_cache_close(open_cache(f->path, GT_CACHE_WRITE));
    assert_int_not_equal(access(journal, F_OK), 0);
  }
  assert_int_equal(count_trials(f->path, GT_CACHE_READ), 0);
  free(journal);
}

static int write_for_ever(const char *path, int ignored) {
  gt_error error = {0};
  gt_cache *cache;
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  (void)ignored;
  if (gt_cache_open(path, GT_CACHE_WRITE, &cache, &error) != GT_OK) return 1;
  for (int i = 0;; i++) {
    char configuration[32];
    snprintf(configuration, sizeof configuration, "direct:block=%d", i);
    gt_trial trial = a_trial(configuration);
    if (gt_cache_put_trial(cache, &device, &problem, &trial, &error) != GT_OK) return 2;
  }
}

static void a_kill_at_any_instant_leaves_a_cache_that_opens(void **state) {
  fixture *f = *state;
  for (int round = 0; round < 20; round++) {
    unlink(f->path);
    pid_t child = in_process(write_for_ever, f->path, 0);
    usleep(200u * (unsigned)round * (unsigned)round); // from before the file is made to some dozens of trials
    kill(child, SIGKILL);
    assert_int_equal(exit_of(child), 1000 + SIGKILL);
    int64_t trials = count_trials(f->path, GT_CACHE_WRITE);
    gt_error error = {0};
    gt_fingerprint device = a_device();
    gt_problem problem = a_problem(4, "f16");
    gt_cache *cache = open_cache(f->path, GT_CACHE_READ);
    int visits = 0;
    assert_ok(gt_cache_each_trial(cache, &device, &problem, count_trial, &visits, &error));
    assert_int_equal(visits, trials);
    gt_cache_close(cache);
  }
}

static void a_read_only_file_in_a_read_only_folder_can_be_read(void **state) {
  fixture *f = *state;
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  fill(cache, 0, 3);
  gt_cache_close(cache);
  assert_int_equal(chmod(f->path, 0444), 0);
  assert_int_equal(chmod(f->folder, 0555), 0);
  assert_int_equal(count_trials(f->path, GT_CACHE_READ), 3);
  if (access(f->path, W_OK) == 0) return; // root may write everything
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(4, "f16");
  gt_trial trial = a_trial("direct:block=1");
  gt_status status = gt_cache_open(f->path, GT_CACHE_WRITE, &cache, &error);
  if (status == GT_OK) {
    status = gt_cache_put_trial(cache, &device, &problem, &trial, &error);
    gt_cache_close(cache);
  }
  assert_status(status, IO);
}

static int open_special_names(const char *folder, int ignored) {
  static const char *const names[] = {":memory:", "file:x?mode=memory", "a b'\"%?.db"};
  (void)ignored;
  if (chdir(folder) != 0) return 1;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    gt_error error = {0};
    gt_cache *cache;
    if (gt_cache_open(names[i], GT_CACHE_WRITE, &cache, &error) != GT_OK) return 2;
    gt_cache_close(cache);
    if (access(names[i], F_OK) != 0) return 3;
  }
  return 0;
}

static void names_that_are_special_to_sqlite_are_plain_files(void **state) {
  fixture *f = *state;
  assert_int_equal(exit_of(in_process(open_special_names, f->folder, 0)), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(the_default_path_follows_the_environment_and_empty_counts_as_unset),
      CASE(missing_folders_are_made_for_their_owner_alone),
      CASE(reading_makes_nothing),
      CASE(an_empty_file_is_a_new_cache),
      CASE(a_text_file_is_refused_and_left_as_it_is),
      CASE(a_database_of_something_else_is_refused_and_left_as_it_is),
      CASE(the_half_written_database_of_something_else_is_left_to_its_owner),
      CASE(a_cache_of_a_newer_version_is_refused_and_left_as_it_is),
      CASE(a_cache_with_other_tables_is_refused),
      CASE(an_older_cache_is_read_and_left_as_it_is),
      CASE(an_older_cache_that_is_written_becomes_the_present_version_and_keeps_its_rows),
      CASE(a_file_that_only_claims_to_be_an_older_cache_is_refused),
      CASE(a_damaged_file_never_crashes_the_reader),
      CASE(a_place_that_cannot_be_written_is_an_io_error_with_the_path),
      CASE(a_full_disk_is_an_io_error_and_loses_only_the_row_in_flight),
      CASE(two_processes_can_make_and_write_one_cache_at_once),
      CASE(a_reader_sees_the_last_commit_while_a_writer_is_in_a_transaction),
      CASE(what_a_killed_writer_left_is_undone_by_the_next_reader_or_writer),
      CASE(a_reader_that_is_open_survives_the_kill_of_a_writer),
      CASE(a_cache_whose_making_was_killed_is_made_anew),
      CASE(a_kill_at_any_instant_leaves_a_cache_that_opens),
      CASE(a_read_only_file_in_a_read_only_folder_can_be_read),
      CASE(names_that_are_special_to_sqlite_are_plain_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
