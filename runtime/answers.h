// The answers to requests that were made before, by their texts: read by any number of threads without a
// lock, while one adds. Nothing is ever taken out.
#ifndef GT_RUNTIME_ANSWERS_H
#define GT_RUNTIME_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { GT_ANSWER_LISTS = 1 << 14 }; // 128 KiB; the lists stay short up to some 100,000 texts

typedef struct gt_answer gt_answer;
struct gt_answer {
  const gt_answer *next;
  uint64_t hash;
  unsigned flags;
  gt_status status;
  void *plan;    // GT_OK
  char *message; // else
  size_t length;
  char text[];
};

typedef struct {
  _Atomic(const gt_answer *) lists[GT_ANSWER_LISTS];
} gt_answers;

// NULL when the request was not made before.
const gt_answer *gt_answers_find(const gt_answers *answers, const char *text, unsigned flags);
// One thread at a time. `message` NULL for GT_OK.
const gt_answer *gt_answers_add(gt_answers *answers, const char *text, unsigned flags, gt_status status,
                                void *plan, const char *message);
void gt_answers_free(gt_answers *answers); // not the plans

#endif
