#include "tuner/search.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

// SplitMix64 (Steele, Lea, Flood 2014).
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

size_t gt_search_distance(const char *a, const char *b) {
  size_t distance = 0;
  a += strcspn(a, ":"), b += strcspn(b, ":");
  while (*a && *b) { // at ':' or ',': one parameter each
    size_t length_a = 1 + strcspn(a + 1, ","), length_b = 1 + strcspn(b + 1, ",");
    distance += length_a != length_b || memcmp(a + 1, b + 1, length_a - 1) != 0;
    a += length_a, b += length_b;
  }
  return distance;
}

// Fisher and Yates.
static void shuffle(size_t *order, size_t n, uint64_t *random) {
  for (size_t i = 0; i + 1 < n; i++) {
    size_t other = i + next_random(random) % (n - i), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
}

// Stable, so that those equally far from the default stay in random order. Spaces have up to some thousands.
static void sort_by_distance(size_t *order, size_t n, const size_t *distance) {
  size_t *sorted = gt_alloc(n * sizeof *sorted), most = 0, done = 0;
  for (size_t i = 0; i < n; i++)
    if (distance[order[i]] > most) most = distance[order[i]];
  for (size_t d = 0; d <= most; d++)
    for (size_t i = 0; i < n; i++)
      if (distance[order[i]] == d) sorted[done++] = order[i];
  memcpy(order, sorted, n * sizeof *order);
  free(sorted);
}

// One family's indices: its default, then the others in their order; or, `sampled`, by turns near and random.
static size_t *order_group(const gt_search_group *group, bool sampled, uint64_t *random) {
  size_t *order = gt_alloc(group->count * sizeof *order), n = 0;
  if (group->default_at < group->count) order[n++] = group->default_at;
  size_t first = n;
  for (size_t i = 0; i < group->count; i++)
    if (i != group->default_at) order[n++] = i;
  if (!sampled) return order;
  shuffle(order + first, n - first, random);
  if (!group->distance) return order;

  size_t *near = gt_alloc(n * sizeof *near), *other = gt_alloc(n * sizeof *other);
  bool *taken = gt_alloc(group->count * sizeof *taken);
  memcpy(other, order, n * sizeof *other);
  memcpy(near, order, n * sizeof *near);
  shuffle(near + first, n - first, random);
  sort_by_distance(near + first, n - first, group->distance);
  size_t at_near = first, at_other = first;
  for (size_t i = first; i < n; i++) {
    bool is_near = (i - first) % 2 == 0;
    const size_t *from = is_near ? near : other;
    size_t *at = is_near ? &at_near : &at_other;
    while (taken[from[*at]]) ++*at;
    order[i] = from[*at];
    taken[order[i]] = true;
  }
  free(near), free(other), free(taken);
  return order;
}

// How often a family has its turn: more often the larger it is, but not in proportion, and the largest at
// most 16 times as often as the smallest.
static double weight(const gt_search_group *group) {
  double root = sqrt((double)group->count);
  return root < 16 ? root : 16;
}

// The group whose turn it is: each once, then the one that is furthest behind its weight. n_groups: none has
// any left.
static size_t whose_turn(const gt_search_group *groups, const size_t *taken, size_t n_groups) {
  size_t next = n_groups;
  for (size_t g = 0; g < n_groups; g++) {
    if (taken[g] == groups[g].count) continue;
    if (taken[g] == 0) return g;
    if (next == n_groups ||
        (double)(taken[g] + 1) / weight(&groups[g]) < (double)(taken[next] + 1) / weight(&groups[next]))
      next = g;
  }
  return next;
}

size_t gt_search_order(const gt_search_group *groups, size_t n_groups, size_t budget, uint64_t seed,
                       gt_search_step **steps) {
  size_t total = 0;
  for (size_t g = 0; g < n_groups; g++) total += groups[g].count;
  size_t count = total < budget ? total : budget;
  *steps = gt_alloc(count * sizeof **steps);
  size_t **orders = gt_alloc(n_groups * sizeof *orders), *taken = gt_alloc(n_groups * sizeof *taken);
  for (size_t g = 0; g < n_groups; g++) orders[g] = order_group(&groups[g], total > budget, &seed);
  for (size_t n = 0; n < count; n++) {
    size_t g = whose_turn(groups, taken, n_groups);
    (*steps)[n] = (gt_search_step){.group = g, .index = orders[g][taken[g]++]};
  }
  for (size_t g = 0; g < n_groups; g++) free(orders[g]);
  free(orders);
  free(taken);
  return count;
}
