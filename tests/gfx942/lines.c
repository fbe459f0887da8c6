#include "lines.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

// Where the number is, or where it is to be put.
static size_t find(const LineSet *set, uint64_t number) {
  size_t at = (size_t)(number * 0x9e3779b97f4a7c15 >> 32) & (set->slots - 1);
  while (set->slot[at] && set->slot[at] != number) at = (at + 1) & (set->slots - 1);
  return at;
}

static bool grow(LineSet *set) {
  LineSet larger = {.slots = set->slots ? 2 * set->slots : FIRST_SLOTS, .count = set->count};
  larger.slot = calloc(larger.slots, sizeof *larger.slot);
  if (!larger.slot) return false;
  for (size_t i = 0; i < set->slots; i++)
    if (set->slot[i]) larger.slot[find(&larger, set->slot[i])] = set->slot[i];
  free(set->slot);
  *set = larger;
  return true;
}

bool line_set_add(LineSet *set, uint64_t number) {
  if (2 * set->count >= set->slots && !grow(set)) {
    set->failed = true;
    return false;
  }
  uint64_t *slot = &set->slot[find(set, number)];
  if (*slot) return false;
  *slot = number;
  set->count++;
  return true;
}

void line_set_clear(LineSet *set) {
  if (set->count) memset(set->slot, 0, set->slots * sizeof *set->slot);
  set->count = 0;
}

void line_set_free(LineSet *set) {
  free(set->slot);
  *set = (LineSet){0};
}
