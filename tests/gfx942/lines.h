// Sets of cache lines, to count the distinct ones that were touched.
#ifndef GFX942_LINES_H
#define GFX942_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Numbers that are not 0. A zeroed set is empty; it grows as needed.
typedef struct {
  uint64_t *slot; // 0: free
  size_t slots;   // a power of two, at least twice `count`
  size_t count;
  bool failed; // no memory: some numbers are missing
} LineSet;

// True when the number was not in the set.
bool line_set_add(LineSet *set, uint64_t number);
void line_set_clear(LineSet *set); // keeps the memory
void line_set_free(LineSet *set);

#endif
