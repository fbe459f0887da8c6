#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/parallel.h"
#include "tuner/compare.h"
#include "tuner/judge.h"
#include "tuner/storage.h"

#define POISON 0x7fff7fffu

// A problem with a result that is right, and what is expected of it; no device.
typedef struct {
  gt_bench bench;
  gt_expected expected;
  double *reference, *term;
  char *result;
  int64_t total, bytes;
} fixture;

static void make(fixture *f, const char *text) {
  gt_error error = {0};
  *f = (fixture){0};
  if (gt_problem_parse(text, &f->bench.problem, &error) != GT_OK) fail_msg("%s", error.text);
  const gt_problem *problem = &f->bench.problem;
  gt_problem parsed = *problem;
  gt_bench_describe(&parsed, NULL, &f->bench);
  f->total = gt_problem_in_elements(problem);
  f->bytes = (int64_t)gt_dtype_bytes(problem->dtype);
  f->reference = malloc((size_t)f->total * sizeof *f->reference);
  f->term = malloc((size_t)f->total * sizeof *f->term);
  f->result = malloc((size_t)(f->total * f->bytes));
  for (int64_t i = 0; i < f->total; i++) {
    f->reference[i] = sin((double)i) * 0.75;
    f->term[i] = 0.5;
  }
  if (gt_expected_from_values(&f->bench, (const double *[]){f->reference}, (const double *[]){f->term}, &f->expected, &error) != GT_OK)
    fail_msg("%s", error.text);
  for (int64_t i = 0; i < f->total; i++) // in the order of the device's tensor
    gt_storage_store(problem->dtype, f->result, (size_t)i, f->expected.results[0].reference[i]);
}

static void release(fixture *f) {
  gt_expected_close(&f->expected);
  free(f->reference);
  free(f->term);
  free(f->result);
}

// Compares in pieces of `size` elements. Returns the number of wrong ones.
static int64_t compare(const fixture *f, int64_t size, int64_t *compared, gt_buffer *what) {
  int64_t wrong = 0;
  *compared = 0;
  gt_buffer_clear(what);
  for (int64_t first = 0; first < f->total; first += size) {
    int64_t count = first + size < f->total ? size : f->total - first;
    gt_compare(&f->expected, &f->expected.results[0], f->result + first * f->bytes, first, count, POISON, compared, &wrong, what);
  }
  return wrong;
}

static void spoil(fixture *f, int64_t element, double value) {
  gt_storage_store(f->bench.problem.dtype, f->result, (size_t)element, value);
}

static const char *const problems[] = {
    "upsample_bilinear2d_backward:n=2,c=3,in=50x70,out=100x140,dtype=f32",
    "upsample_bilinear2d_backward:n=2,c=20,in=90x100,out=180x200,dtype=f16", // more than one task
    "upsample_bilinear2d_backward:n=3,c=50,in=40x30,out=80x60,dtype=bf16,layout=nhwc",
    "upsample_bilinear2d_backward:n=1,c=7,in=30x30,out=60x60,dtype=f64,layout=nhwc",
};
#define EACH_PROBLEM(i) for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)

static void right_results_pass_in_any_pieces(void **state) {
  (void)state;
  gt_buffer what = {0};
  EACH_PROBLEM(i) {
    fixture f;
    int64_t compared;
    make(&f, problems[i]);
    const int64_t sizes[] = {f.total, 1000, 777, f.total / 2 + 1};
    for (int k = 0; k < 4; k++) {
      assert_int_equal(compare(&f, sizes[k], &compared, &what), 0);
      assert_int_equal(compared, f.total);
      assert_int_equal(what.length, 0);
    }
    release(&f);
  }
  gt_buffer_free(&what);
}

static void every_wrong_element_is_counted_and_the_first_one_described(void **state) {
  (void)state;
  gt_buffer what = {0}, whole = {0};
  EACH_PROBLEM(i) {
    fixture f;
    int64_t compared;
    make(&f, problems[i]);
    spoil(&f, f.total - 1, 3);
    spoil(&f, f.total / 3, 3);
    spoil(&f, f.total / 3 + 1, NAN);
    spoil(&f, 5, INFINITY);
    assert_int_equal(compare(&f, f.total, &compared, &whole), 4);
    assert_non_null(strstr(whole.data, "grad_input[outer 0]"));
    assert_non_null(strstr(whole.data, " is inf, the reference says "));
    const int64_t sizes[] = {1000, 777, f.total / 2 + 1};
    for (int k = 0; k < 3; k++) {
      assert_int_equal(compare(&f, sizes[k], &compared, &what), 4);
      assert_int_equal(compared, f.total);
      assert_string_equal(what.data, whole.data);
    }
    release(&f);
  }
  gt_buffer_free(&what);
  gt_buffer_free(&whole);
}

static void what_was_never_written_is_told_as_that(void **state) {
  (void)state;
  fixture f;
  gt_buffer what = {0};
  int64_t compared;
  make(&f, problems[0]);
  memcpy(f.result + 4 * 3500, &(uint32_t){POISON}, 4);
  assert_int_equal(compare(&f, f.total, &compared, &what), 1);
  assert_non_null(strstr(what.data, "grad_input[outer 1][0][0] was never written"));
  gt_buffer_free(&what);
  release(&f);
}

// A reference of a few slices and channels, and everything by the result of `direct`, or its ends.
static void the_result_of_direct_covers_what_the_reference_does_not(void **state) {
  (void)state;
  fixture f;
  gt_buffer what = {0};
  int64_t compared;
  make(&f, problems[2]);
  const int64_t slices[] = {0, 2}, channels[] = {0, 1, 49};
  int64_t places = 40 * 30, n = 0;
  for (int s = 0; s < 2; s++)
    for (int64_t p = 0; p < places; p++)
      for (int c = 0; c < 3; c++, n++)
        f.expected.results[0].reference[n] = f.expected.results[0].reference[(slices[s] * places + p) * 50 + channels[c]];
  f.expected.n_slices = 2, f.expected.results[0].n_channels = 3;
  memcpy(f.expected.slices, slices, sizeof slices);
  memcpy(f.expected.results[0].channels, channels, sizeof channels);
  assert_int_equal(compare(&f, 7777, &compared, &what), 0);
  assert_int_equal(compared, 2 * places * 3);
  spoil(&f, (0 * places + 9) * 50 + 2, 2); // a channel without reference
  assert_int_equal(compare(&f, f.total, &compared, &what), 0);
  spoil(&f, (2 * places + 9) * 50 + 49, 2);
  assert_int_equal(compare(&f, f.total, &compared, &what), 1);
  assert_non_null(strstr(what.data, "grad_input[outer 2][0][9][channel 49] is 2, the reference says"));
  assert_int_equal(compare(&f, 501, &compared, &what), 1);

  // The right result as that of `direct`: all of it, then its ends.
  f.expected.results[0].weight = malloc((size_t)places * sizeof(double));
  for (int64_t p = 0; p < places; p++) f.expected.results[0].weight[p] = 0.5;
  char *right = malloc((size_t)(f.total * 2));
  memcpy(right, f.result, (size_t)(f.total * 2));
  f.expected.results[0].head = right;
  f.expected.results[0].head_elements = f.total;
  spoil(&f, (1 * places + 20) * 50 + 7, 2);
  for (int64_t size = f.total; size > 400; size = size / 3) {
    assert_int_equal(compare(&f, size, &compared, &what), 2);
    assert_int_equal(compared, 2 * places * 3 + f.total);
  }
  assert_int_equal(compare(&f, f.total, &compared, &what), 2);
  f.expected.results[0].head_elements = f.expected.results[0].tail_elements = 1000;
  f.expected.results[0].tail = malloc(2000);
  memcpy(f.expected.results[0].tail, f.result + (f.total - 1000) * 2, 2000);
  assert_int_equal(compare(&f, 12345, &compared, &what), 1); // the reference's
  assert_int_equal(compared, 2 * places * 3 + 2000);
  spoil(&f, f.total - 1000 + 2, 2); // of a channel without reference, beside the tail's beginning
  assert_int_equal(compare(&f, f.total - 999, &compared, &what), 2);
  // One rounding's difference is none.
  spoil(&f, f.total - 1000 + 2, gt_storage_load(GT_BF16, f.expected.results[0].tail, 2) * (1 + 0x1p-8));
  assert_int_equal(compare(&f, f.total, &compared, &what), 1);
  gt_buffer_free(&what);
  release(&f);
}

static void the_judge_tells_wrong_from_unstable(void **state) {
  (void)state;
  char path[] = "/tmp/gathertune-judge-XXXXXX", name[64];
  int file = mkstemp(path);
  assert_true(file >= 0 && write(file, "{}", 2) == 2); // a device whose memory can be written and read
  close(file);
  snprintf(name, sizeof name, "recorded:%s", path);
  gt_open_device open;
  gt_error error = {0};
  if (gt_device_open(name, &open, &error) != GT_OK) fail_msg("%s", error.text);
  unlink(path);
  fixture f;
  make(&f, problems[0]);
  f.bench.open = &open;
  assert_true(gt_judge_can(&f.bench));
  assert_int_equal(gt_guarded_make(&open, "grad_input", f.total * 4, 2, &f.bench.buffers[1], &error), GT_OK);

  static const struct {
    double first, second; // what is added to one element
    bool reproducible;
    gt_outcome outcome;
    const char *what;
  } cases[] = {
      {0, 0, true, GT_OUTCOME_OK, ""},
      {0, 0, false, GT_OUTCOME_OK, ""},
      {1, 1, true, GT_OUTCOME_WRONG_RESULT, "1 of 21000 compared elements are wrong"},
      {1, 0, true, GT_OUTCOME_WRONG_RESULT, "the reference says"},
      {0, 1, true, GT_OUTCOME_UNSTABLE_RESULT, "1 of 21000 compared elements are wrong"},
      {0, 5e-7, true, GT_OUTCOME_UNSTABLE_RESULT, "gave different bits"},
      {0, 5e-7, false, GT_OUTCOME_OK, ""},
  };
  gt_judge judge;
  gt_judge_open(&f.expected, &judge);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gt_buffer what = {0};
    for (int run = 0; run < 2; run++) {
      float *values = (float *)(void *)f.result, right = values[77];
      values[77] += (float)(run ? cases[i].second : cases[i].first);
      assert_int_equal(open.backend->write(open.device, gt_guarded_slot(&f.bench.buffers[1], run), values,
                                           (size_t)f.total * 4, &error),
                       GT_OK);
      values[77] = right;
      assert_int_equal(gt_judge_take(&judge, run, run, POISON, &error), GT_OK);
      if (run == 0)
        gt_judge_start(&judge);
      else
        gt_judge_second(&judge, cases[i].reproducible);
    }
    assert_int_equal(gt_judge_end(&judge, &what), cases[i].outcome);
    if (*cases[i].what ? !strstr(what.data, cases[i].what) : what.length != 0)
      fail_msg("%zu: %s", i, what.data);
    gt_buffer_free(&what);
    assert_int_equal(gt_judge_end(&judge, NULL), GT_OUTCOME_OK); // nothing was started
  }
  // The first run alone, which holds the right results now and wrong ones then.
  for (int wrong = 0; wrong < 2; wrong++) {
    gt_buffer what = {0};
    float *values = (float *)(void *)f.result, right = values[77];
    values[77] += (float)wrong;
    assert_int_equal(open.backend->write(open.device, gt_guarded_slot(&f.bench.buffers[1], 0), values,
                                         (size_t)f.total * 4, &error),
                     GT_OK);
    values[77] = right;
    assert_int_equal(gt_judge_take(&judge, 0, 0, POISON, &error), GT_OK);
    gt_judge_start(&judge);
    assert_int_equal(gt_judge_end(&judge, &what), wrong ? GT_OUTCOME_WRONG_RESULT : GT_OUTCOME_OK);
    gt_buffer_free(&what);
  }
  gt_judge_start(&judge);
  gt_judge_close(&judge); // also while it is at work, and waits for the second run
  gt_guarded_free(&open, &f.bench.buffers[1]);
  f.bench.open = NULL;
  release(&f);
  gt_device_close(&open);
}

static atomic_int calls[1000];
static void count_call(void *context, size_t index) {
  assert_ptr_equal(context, calls);
  atomic_fetch_add(&calls[index], 1);
}

static void parallel_work_is_done_once_each(void **state) {
  (void)state;
  for (size_t count = 0; count <= 1000; count += 250) {
    for (int i = 0; i < 1000; i++) atomic_store(&calls[i], 0);
    gt_parallel(count, count_call, calls);
    for (size_t i = 0; i < 1000; i++) assert_int_equal(atomic_load(&calls[i]), i < count);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_results_pass_in_any_pieces),
      cmocka_unit_test(every_wrong_element_is_counted_and_the_first_one_described),
      cmocka_unit_test(what_was_never_written_is_told_as_that),
      cmocka_unit_test(the_result_of_direct_covers_what_the_reference_does_not),
      cmocka_unit_test(the_judge_tells_wrong_from_unstable),
      cmocka_unit_test(parallel_work_is_done_once_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
