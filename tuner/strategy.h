// What a search strategy is: something that names the next point to try, and is told what came of it.
//
// A strategy may be asked for further points before earlier ones are reported, and acts on what was reported
// so far. It has no source of randomness but its seed and of knowledge but the reports, so that the same
// sequence of calls gives the same points.
#ifndef GT_TUNER_STRATEGY_H
#define GT_TUNER_STRATEGY_H

#include "tuner/points.h"

// What all strategies can look at; the search (search.h) keeps it.
typedef struct {
  const gt_points *points;
  const double
      *expected;    // of each point, ln(time), up to a constant, before any is timed; NULL: nothing known
  bool *taken;      // of each point: proposed, or reported without having been proposed
  double *us;       // of each point: 0 not reported, INFINITY failed, else its time
  size_t *reported; // the reported points in the order of the reports
  size_t n_reported, n_taken;
} gt_search_state;

typedef struct {
  const char *name;
  bool learns; // whether what is reported changes what it proposes
  void *(*open)(const gt_search_state *search, uint64_t seed);
  // A point that is not taken; GT_NO_POINT when there is none left. The search marks it as taken.
  size_t (*next)(void *strategy);
  // The search's state has the report already.
  void (*report)(void *strategy, size_t point);
  void (*close)(void *strategy);
} gt_strategy;

extern const gt_strategy gt_strategy_exhaustive, gt_strategy_random, gt_strategy_descent, gt_strategy_bayes;

// All strategies, ended by NULL.
extern const gt_strategy *const gt_strategies[];
const gt_strategy *gt_strategy_named(const char *name); // NULL when there is none of that name

// --- for strategies

uint64_t gt_random(uint64_t *state);                 // uniform in 64 bits
size_t gt_random_below(uint64_t *state, size_t end); // uniform in 0 … end - 1; end > 0
void gt_shuffle(size_t *list, size_t count, uint64_t *state);

// A free point to begin with. Families take turns, larger ones more often but not in proportion, so that one
// with few points is not crowded out by one with thousands. Of some points drawn from the family it is the
// one that promises most: the one with the fewest odd values (gt_points_odd), and among those, with equal
// chances, the one nearest to the family's default or the one that is expected to be fastest.
size_t gt_draw_first(const gt_search_state *search, uint64_t *random);
// A free point of all, with equal chances.
size_t gt_draw_any(const gt_search_state *search, uint64_t *random);

#endif
