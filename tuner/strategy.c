#include "tuner/strategy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const gt_strategy *const gt_strategies[] = {&gt_strategy_exhaustive, &gt_strategy_random,
                                            &gt_strategy_descent, &gt_strategy_bayes, NULL};

const gt_strategy *gt_strategy_named(const char *name) {
  for (size_t i = 0; gt_strategies[i]; i++)
    if (strcmp(gt_strategies[i]->name, name) == 0) return gt_strategies[i];
  return NULL;
}

// SplitMix64 (Steele, Lea, Flood 2014).
uint64_t gt_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

size_t gt_random_below(uint64_t *state, size_t end) {
  return (size_t)(gt_random(state) % end); // ends are small against 2^64
}

// Fisher and Yates.
void gt_shuffle(size_t *list, size_t count, uint64_t *state) {
  for (size_t i = 0; i + 1 < count; i++) {
    size_t other = i + gt_random_below(state, count - i), kept = list[i];
    list[i] = list[other];
    list[other] = kept;
  }
}

// A free point among `count` from `first` on, with equal chances as long as many are free; GT_NO_POINT when
// none is.
static size_t draw(const gt_search_state *search, size_t first, size_t count, uint64_t *random) {
  if (count == 0) return GT_NO_POINT;
  size_t point = first;
  for (int tries = 0; tries < 64; tries++) {
    point = first + gt_random_below(random, count);
    if (!search->taken[point]) return point;
  }
  // Nearly all are taken: one of those left, by its place among them.
  size_t left = 0;
  for (size_t i = first; i < first + count; i++) left += !search->taken[i];
  if (left == 0) return GT_NO_POINT;
  size_t which = gt_random_below(random, left);
  for (point = first; search->taken[point] || which--; point++) continue;
  return point;
}

size_t gt_draw_any(const gt_search_state *search, uint64_t *random) {
  return draw(search, 0, search->points->count, random);
}

// How often a family has its turn: more often the larger it is, but not in proportion, and the largest at
// most 16 times as often as the smallest.
static double weight(const gt_point_family *family) {
  double root = sqrt((double)family->count);
  return root < 16 ? root : 16;
}

// The family whose turn it is: each once, then the one that is furthest behind its weight. NULL: none has any
// left.
static const gt_point_family *whose_turn(const gt_search_state *search) {
  const gt_points *points = search->points;
  const gt_point_family *next = NULL;
  double least = 0;
  for (size_t f = 0; f < points->n_families; f++) {
    const gt_point_family *family = &points->families[f];
    size_t taken = 0;
    for (size_t i = 0; i < family->count; i++) taken += search->taken[family->first + i];
    if (taken == family->count) continue;
    double turns = (double)(taken + (taken > 0)) / weight(family);
    if (!next || turns < least) next = family, least = turns;
  }
  return next;
}

// Whether one point promises more than another before any is timed.
static bool promises_more(const gt_search_state *search, const gt_point_family *family, size_t one,
                          size_t other, bool near) {
  size_t odd_one = gt_points_odd(family, one), odd_other = gt_points_odd(family, other);
  if (odd_one != odd_other) return odd_one < odd_other;
  if (near)
    return gt_points_distance(family, one, family->standard) <
           gt_points_distance(family, other, family->standard);
  return search->expected && search->expected[one] < search->expected[other];
}

size_t gt_draw_first(const gt_search_state *search, uint64_t *random) {
  enum { DRAWS = 16 };
  const gt_point_family *family = whose_turn(search);
  if (!family) return GT_NO_POINT;
  bool near = family->standard != GT_NO_POINT && gt_random_below(random, 2) == 0;
  size_t best = draw(search, family->first, family->count, random);
  for (int more = 1; more < DRAWS; more++) {
    size_t point = draw(search, family->first, family->count, random);
    if (promises_more(search, family, point, best, near)) best = point;
  }
  return best;
}
