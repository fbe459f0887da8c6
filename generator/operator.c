#include "generator/problem.h"

#include <string.h>

static const gt_operator operators[] = {
    // name, spatial axes, filter, align_corners, scale
    {"upsample_bilinear2d_backward", 2, "linear", true, true},
};

enum { OPERATOR_COUNT = sizeof operators / sizeof operators[0] };

const gt_operator *gt_operator_at(size_t index) {
  return index < OPERATOR_COUNT ? &operators[index] : NULL;
}

const gt_operator *gt_operator_find(const char *name) {
  for (size_t i = 0; name && i < OPERATOR_COUNT; i++)
    if (strcmp(name, operators[i].name) == 0) return &operators[i];
  return NULL;
}
