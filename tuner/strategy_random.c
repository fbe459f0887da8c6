// Points at random, all with equal chances, without repetition: what other strategies are compared with.
#include <stdlib.h>

#include "base/buffer.h"
#include "tuner/strategy.h"

typedef struct {
  const gt_search_state *search;
  uint64_t random;
} sampler;

static void *open_random(const gt_search_state *search, uint64_t seed) {
  sampler *s = gt_alloc(sizeof *s);
  *s = (sampler){search, seed};
  return s;
}

static size_t next_random(void *strategy) {
  sampler *s = strategy;
  return gt_draw_any(s->search, &s->random);
}

static void report_random(void *strategy, size_t point) {
  (void)strategy, (void)point; // chance has no memory
}

const gt_strategy gt_strategy_random = {"random", false, open_random, next_random, report_random, free};
