#include <string.h>

#include "cache/cache.h"

static const char *const names[] = {
#define X(name, text, meaning) text,
    GT_OUTCOME_LIST(X)
#undef X
};

enum { OUTCOME_COUNT = sizeof names / sizeof names[0] };

const char *gt_outcome_name(gt_outcome outcome) {
  return (unsigned)outcome < OUTCOME_COUNT ? names[outcome] : "unknown";
}

bool gt_outcome_from_name(const char *name, gt_outcome *outcome) {
  for (int i = 0; i < OUTCOME_COUNT; i++) {
    if (!name || strcmp(name, names[i]) != 0) continue;
    *outcome = (gt_outcome)i;
    return true;
  }
  return false;
}
