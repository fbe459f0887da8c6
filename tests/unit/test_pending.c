// What a killed run has left beside the cache is stored by the next one.
#include "tests/unit/cache_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "exchange/pending.h"

// A run that keeps these configurations one after the other, and is killed.
static void run_that_is_killed(const char *path, const char *const *configurations) {
  pid_t child = fork();
  if (child == 0) {
    gt_cache *cache;
    gt_fingerprint device = a_device();
    gt_problem problem = a_problem(2, "f32");
    if (gt_cache_open(path, GT_CACHE_WRITE, &cache, NULL) != GT_OK) _exit(1);
    gt_pending *pending = gt_pending_open(cache);
    for (; *configurations; configurations++) {
      gt_trial trial = a_trial(*configurations);
      if (!gt_pending_keep(pending, &device, &problem, &trial)) _exit(1);
    }
    raise(SIGKILL);
  }
  int how;
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
}

#define KILLED(path, ...) run_that_is_killed(path, (const char *const[]){__VA_ARGS__, NULL})

// The only file of killed runs beside the cache.
static char *left_file(const fixture *f) {
  DIR *directory = opendir(f->folder);
  char *path = NULL;
  for (struct dirent *entry; (entry = readdir(directory));)
    if (strncmp(entry->d_name, "cache.db.pending-", 17) == 0) {
      assert_null(path);
      path = gt_print("%s/%s", f->folder, entry->d_name);
    }
  closedir(directory);
  return path;
}

static int64_t count_trials(gt_cache *cache) {
  gt_cache_counts counts;
  assert_int_equal(gt_cache_count(cache, &counts, NULL), GT_OK);
  return counts.trials;
}

static void the_last_trial_of_a_killed_run_is_stored_as_it_was(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  KILLED(f->path, "direct:block=64", "direct:block=128");
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_int_equal(count_trials(cache), 0);
  assert_ok(gt_pending_recover(cache, &error));
  assert_int_equal(count_trials(cache), 1); // the other was the cache's to have
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(2, "f32");
  gt_trial trial, expected = a_trial("direct:block=128");
  assert_ok(gt_cache_get_trial(cache, &device, &problem, "direct:block=128", &trial, &error));
  assert_string_equal(trial.source_hash, expected.source_hash);
  assert_int_equal(trial.outcome, expected.outcome);
  assert_int_equal(trial.n_samples, expected.n_samples);
  assert_memory_equal(trial.samples_us, expected.samples_us, expected.n_samples * sizeof(double));
  assert_float_equal(trial.median_us, expected.median_us, 0);
  assert_float_equal(trial.spread_us, expected.spread_us, 0);
  assert_float_equal(trial.compile_ms, expected.compile_ms, 0);
  assert_int_equal(trial.registers, expected.registers);
  assert_int_equal(trial.readings.clock_mhz, expected.readings.clock_mhz);
  assert_true(trial.checked && trial.noisy);
  assert_null(left_file(f));
  gt_trial_free(&trial);
  gt_cache_close(cache);
}

static void what_a_run_has_that_is_alive_is_left_to_it(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(2, "f32");
  gt_trial trial = a_trial("direct:block=64");
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  gt_pending *pending = gt_pending_open(cache);
  assert_true(gt_pending_keep(pending, &device, &problem, &trial));
  assert_ok(gt_pending_recover(cache, &error));
  assert_int_equal(count_trials(cache), 0);
  char *path = left_file(f);
  assert_non_null(path);
  free(path);
  gt_pending_close(pending);
  assert_null(left_file(f));
  gt_cache_close(cache);
}

static void a_file_that_is_cut_off_anywhere_stores_nothing_and_goes(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  KILLED(f->path, "direct:block=64");
  char *path = left_file(f);
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  char *text = gt_alloc((size_t)info.st_size);
  int file = open(path, O_RDONLY);
  assert_int_equal(read(file, text, (size_t)info.st_size), info.st_size);
  close(file);
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  for (off_t length = 0; length < info.st_size - 1; length += 7) { // the last byte is a line break
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(file, text, (size_t)length), length);
    close(file);
    assert_ok(gt_pending_recover(cache, &error));
    assert_int_equal(count_trials(cache), 0);
    assert_int_equal(access(path, F_OK), -1);
  }
  gt_cache_close(cache);
  free(text);
  free(path);
}

static void what_is_no_file_is_left_as_it_is(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  char *outside = gt_print("%s/outside", f->folder), *link = gt_print("%s.pending-link", f->path),
       *pipe = gt_print("%s.pending-pipe", f->path);
  KILLED(f->path, "direct:block=64");
  char *left = left_file(f);
  assert_int_equal(rename(left, outside), 0);
  assert_int_equal(symlink(outside, link), 0);
  assert_int_equal(mkfifo(pipe, 0600), 0);
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  assert_ok(gt_pending_recover(cache, &error)); // and does not wait for a writer of the pipe
  assert_int_equal(count_trials(cache), 0);
  struct stat info;
  assert_true(access(outside, F_OK) == 0 && lstat(link, &info) == 0 && lstat(pipe, &info) == 0);
  gt_cache_close(cache);
  free(left);
  free(outside);
  free(link);
  free(pipe);
}

static void where_no_file_can_be_made_nothing_is_kept(void **state) {
  fixture *f = *state;
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(2, "f32");
  gt_trial trial = a_trial("direct:block=64");
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  char *elsewhere = gt_print("%s-away", f->folder);
  assert_int_equal(rename(f->folder, elsewhere), 0);
  gt_pending *pending = gt_pending_open(cache);
  assert_null(pending);
  assert_false(gt_pending_keep(pending, &device, &problem, &trial));
  gt_pending_close(pending);
  assert_int_equal(rename(elsewhere, f->folder), 0);
  gt_cache_close(cache);
  free(elsewhere);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(the_last_trial_of_a_killed_run_is_stored_as_it_was),
      CASE(what_a_run_has_that_is_alive_is_left_to_it),
      CASE(a_file_that_is_cut_off_anywhere_stores_nothing_and_goes),
      CASE(what_is_no_file_is_left_as_it_is),
      CASE(where_no_file_can_be_made_nothing_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
