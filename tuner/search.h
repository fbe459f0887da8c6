// The order in which configurations are tried.
//
// All of them, when the budget allows. Otherwise a part: of every family its default first, then by turns the
// configuration that is nearest to the default and one at random, without repetition; the families take turns
// too, larger ones more often, but a family with few configurations is not crowded out by one with thousands.
#ifndef GT_TUNER_SEARCH_H
#define GT_TUNER_SEARCH_H

#include <stddef.h>
#include <stdint.h>

// The space of one family.
typedef struct {
  size_t count;           // configurations
  size_t default_at;      // index of its default; `count` or more: none
  const size_t *distance; // of each configuration from the default; NULL: unknown, all at random
} gt_search_group;

typedef struct {
  size_t group, index;
} gt_search_step;

// In how many parameters two configurations of the same family ("family:name=value,…") differ.
size_t gt_search_distance(const char *a, const char *b);

// At most `budget` different steps, the default of group 0 first. The same seed gives the same order on every
// machine. The caller frees *steps with free(). Returns their number.
size_t gt_search_order(const gt_search_group *groups, size_t n_groups, size_t budget, uint64_t seed,
                       gt_search_step **steps);

#endif
