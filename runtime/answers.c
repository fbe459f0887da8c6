#include "runtime/answers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"

const gt_answer *gt_answers_find(const gt_answers *answers, const char *text, unsigned flags) {
  size_t length = strlen(text);
  uint64_t hash = XXH3_64bits(text, length);
  const gt_answer *answer =
      atomic_load_explicit(&((gt_answers *)answers)->lists[hash % GT_ANSWER_LISTS], memory_order_acquire);
  for (; answer; answer = answer->next)
    if (answer->hash == hash && answer->flags == flags && answer->length == length &&
        memcmp(answer->text, text, length) == 0)
      return answer;
  return NULL;
}

const gt_answer *gt_answers_add(gt_answers *answers, const char *text, unsigned flags, gt_status status,
                                void *plan, const char *message) {
  size_t length = strlen(text);
  gt_answer *answer = gt_alloc(sizeof *answer + length + 1);
  *answer = (gt_answer){.hash = XXH3_64bits(text, length),
                        .flags = flags,
                        .status = status,
                        .plan = plan,
                        .message = message ? gt_strdup(message) : NULL,
                        .length = length};
  memcpy(answer->text, text, length + 1);
  _Atomic(const gt_answer *) *list = &answers->lists[answer->hash % GT_ANSWER_LISTS];
  answer->next = atomic_load_explicit(list, memory_order_relaxed);
  atomic_store_explicit(list, answer, memory_order_release);
  return answer;
}

void gt_answers_free(gt_answers *answers) {
  for (size_t i = 0; i < GT_ANSWER_LISTS; i++) {
    const gt_answer *answer = atomic_load_explicit(&answers->lists[i], memory_order_relaxed);
    while (answer) {
      const gt_answer *next = answer->next;
      free(answer->message);
      free((void *)answer);
      answer = next;
    }
  }
}
