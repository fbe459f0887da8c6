#include "tuner/search.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/buffer.h"

// SplitMix64 (Steele, Lea, Flood 2014).
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// One family's indices: its default, then the others in their order or shuffled.
static size_t *order_group(const gt_search_group *group, bool shuffled, uint64_t *random) {
  size_t *order = gt_alloc(group->count * sizeof *order), n = 0;
  if (group->default_at < group->count) order[n++] = group->default_at;
  size_t first = n;
  for (size_t i = 0; i < group->count; i++)
    if (i != group->default_at) order[n++] = i;
  for (size_t i = first; shuffled && i + 1 < n; i++) { // Fisher and Yates
    size_t other = i + next_random(random) % (n - i), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  return order;
}

size_t gt_search_order(const gt_search_group *groups, size_t n_groups, size_t budget, uint64_t seed,
                       gt_search_step **steps) {
  size_t total = 0, longest = 0, n = 0;
  for (size_t g = 0; g < n_groups; g++) {
    total += groups[g].count;
    if (groups[g].count > longest) longest = groups[g].count;
  }
  size_t count = total < budget ? total : budget;
  *steps = gt_alloc(count * sizeof **steps);
  size_t **orders = gt_alloc(n_groups * sizeof *orders);
  for (size_t g = 0; g < n_groups; g++) orders[g] = order_group(&groups[g], total > budget, &seed);
  for (size_t turn = 0; turn < longest && n < count; turn++)
    for (size_t g = 0; g < n_groups && n < count; g++)
      if (turn < groups[g].count) (*steps)[n++] = (gt_search_step){.group = g, .index = orders[g][turn]};
  for (size_t g = 0; g < n_groups; g++) free(orders[g]);
  free(orders);
  return n;
}
