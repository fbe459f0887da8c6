#include "tuner/judge.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "tuner/compare.h"

#define PIECE_BYTES ((size_t)1 << 20) // that a thread compares at a time

bool gt_judge_can(const gt_bench *bench) {
  return gt_bench_result_bytes(bench) <= GT_JUDGE_BYTES;
}

void gt_judge_open(const gt_expected *expected, gt_judge *judge) {
  *judge = (gt_judge){.expected = expected};
}

void gt_judge_close(gt_judge *judge) {
  gt_buffer rest = {0};
  (void)gt_judge_end(judge, &rest);
  gt_buffer_free(&rest);
  for (int run = 0; run < 2; run++) free(judge->results[run]);
  *judge = (gt_judge){0};
}

gt_status gt_judge_take(gt_judge *judge, int run, int slot, uint32_t poison, gt_error *error) {
  const gt_bench *bench = judge->expected->bench;
  if (!judge->results[run]) judge->results[run] = gt_alloc((size_t)gt_bench_result_bytes(bench));
  judge->poison[run] = poison;
  char *to = judge->results[run];
  gt_status status = GT_OK;
  for (int i = bench->n_inputs; i < bench->n_tensors && status == GT_OK; i++) {
    size_t bytes = (size_t)gt_bench_bytes(bench, i);
    status = bench->open->backend->read(bench->open->device, to, gt_guarded_slot(&bench->buffers[i], slot), bytes, error);
    to += bytes;
  }
  return status;
}

static bool is_right(gt_judge *judge, int run) {
  const gt_expected *expected = judge->expected;
  const char *from = judge->results[run];
  int64_t compared = 0, wrong = 0;
  for (int i = 0; i < expected->n_results; i++) {
    const gt_expected_result *result = &expected->results[i];
    gt_compare(expected, result, from, 0, expected->bench->outer * result->tensor.slice, judge->poison[run],
               &compared, &wrong, &judge->what);
    from += gt_bench_bytes(expected->bench, result->at);
  }
  if (wrong) gt_compare_summarise(compared, wrong, &judge->what);
  return wrong == 0;
}

typedef struct {
  const char *one, *other;
  size_t bytes;
  atomic_bool differ;
} twins;

static void compare_piece(void *context, size_t index) {
  twins *t = context;
  size_t at = index * PIECE_BYTES, bytes = t->bytes - at < PIECE_BYTES ? t->bytes - at : PIECE_BYTES;
  if (!t->differ && memcmp(t->one + at, t->other + at, bytes) != 0) t->differ = true;
}

static bool same_bits(const gt_judge *judge) {
  twins t = {judge->results[0], judge->results[1], (size_t)gt_bench_result_bytes(judge->expected->bench), false};
  gt_parallel((t.bytes + PIECE_BYTES - 1) / PIECE_BYTES, compare_piece, &t);
  return !t.differ;
}

static void *judge_both(void *argument) {
  gt_judge *judge = argument;
  judge->outcome = GT_OUTCOME_OK;
  if (!is_right(judge, 0)) {
    judge->outcome = GT_OUTCOME_WRONG_RESULT;
    return NULL;
  }
  while (sem_wait(&judge->second) != 0) continue; // a signal may end it early
  if (judge->has_second && !same_bits(judge)) {
    if (!is_right(judge, 1)) { // right once and wrong once
      judge->outcome = GT_OUTCOME_UNSTABLE_RESULT;
    } else if (judge->reproducible) {
      judge->outcome = GT_OUTCOME_UNSTABLE_RESULT;
      gt_buffer_print(&judge->what, GT_COMPARE_UNSTABLE);
    }
  }
  return NULL;
}

void gt_judge_start(gt_judge *judge) {
  gt_buffer_clear(&judge->what);
  judge->is_running = true;
  judge->has_second = judge->told = false;
  sem_init(&judge->second, 0, 0);
  judge->has_thread = pthread_create(&judge->thread, NULL, judge_both, judge) == 0;
}

static void tell(gt_judge *judge, bool has_second) {
  if (judge->told) return;
  judge->told = true;
  judge->has_second = has_second;
  sem_post(&judge->second);
}

void gt_judge_second(gt_judge *judge, bool reproducible) {
  judge->reproducible = reproducible;
  tell(judge, true);
}

gt_outcome gt_judge_end(gt_judge *judge, gt_buffer *what) {
  if (!judge->is_running) return GT_OUTCOME_OK;
  tell(judge, false);
  if (judge->has_thread)
    pthread_join(judge->thread, NULL);
  else
    judge_both(judge);
  sem_destroy(&judge->second);
  judge->is_running = false;
  gt_buffer_append(what, judge->what.data, judge->what.length);
  gt_buffer_free(&judge->what);
  return judge->outcome;
}
