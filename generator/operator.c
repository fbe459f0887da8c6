#include "generator/problem.h"

#include <string.h>

enum {
  UPSAMPLE = GT_KEY_STRIDE | GT_KEY_ALIGN_CORNERS | GT_KEY_SCALE,
  NEAREST = GT_KEY_STRIDE | GT_KEY_SCALE,
  POOL = GT_KEY_STRIDE | GT_KEY_POOL,
  SAMPLER = GT_KEY_ALIGN_CORNERS | GT_KEY_GRID,
};

static const gt_operator operators[] = {
    // name, spatial axes, form, filter, keys, positions in float for f64 too
    {"upsample_linear1d_backward", 1, GT_FORM_SEPARABLE, "linear", UPSAMPLE, false},
    {"upsample_bilinear2d_backward", 2, GT_FORM_SEPARABLE, "linear", UPSAMPLE, false},
    {"upsample_trilinear3d_backward", 3, GT_FORM_SEPARABLE, "linear", UPSAMPLE, false},
    {"upsample_bicubic2d_backward", 2, GT_FORM_SEPARABLE, "cubic", UPSAMPLE, false},
    {"_upsample_bilinear2d_aa_backward", 2, GT_FORM_SEPARABLE, "linear_aa", UPSAMPLE, false},
    {"_upsample_bicubic2d_aa_backward", 2, GT_FORM_SEPARABLE, "cubic_aa", UPSAMPLE, false},
    {"upsample_nearest1d_backward", 1, GT_FORM_SEPARABLE, "nearest", NEAREST, true},
    {"upsample_nearest2d_backward", 2, GT_FORM_SEPARABLE, "nearest", NEAREST, true},
    {"upsample_nearest3d_backward", 3, GT_FORM_SEPARABLE, "nearest", NEAREST, true},
    {"_upsample_nearest_exact1d_backward", 1, GT_FORM_SEPARABLE, "nearest_exact", NEAREST, true},
    {"_upsample_nearest_exact2d_backward", 2, GT_FORM_SEPARABLE, "nearest_exact", NEAREST, true},
    {"_upsample_nearest_exact3d_backward", 3, GT_FORM_SEPARABLE, "nearest_exact", NEAREST, true},
    {"adaptive_avg_pool2d_backward", 2, GT_FORM_SEPARABLE, "adaptive_average", GT_KEY_STRIDE, false},
    {"adaptive_avg_pool3d_backward", 3, GT_FORM_SEPARABLE, "adaptive_average", GT_KEY_STRIDE, false},
    {"avg_pool2d_backward", 2, GT_FORM_SEPARABLE, "average", POOL, false},
    {"grid_sampler_2d_backward", 2, GT_FORM_GRID, "grid", SAMPLER, false},
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
