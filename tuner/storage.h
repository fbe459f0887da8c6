// Values in the storage types of tensors (f16, bf16, f32, f64), to and from double.
#ifndef GT_TUNER_STORAGE_H
#define GT_TUNER_STORAGE_H

#include "generator/problem.h"

// Element `index` of an array of the type.
double gt_storage_load(gt_dtype dtype, const void *array, size_t index);
void gt_storage_store(gt_dtype dtype, void *array, size_t index,
                      double value); // rounds to nearest, ties to even

// Elements first … first+count-1, as gt_storage_load gives them. Infinities of the 16-bit types become NaN.
void gt_storage_load_many(gt_dtype dtype, const void *array, size_t first, size_t count, double *values);

// Half the distance between neighbouring values of the type around `magnitude` (>= 0), subnormals included:
// the largest error of one rounding to it.
double gt_storage_half_ulp(gt_dtype dtype, double magnitude);
double gt_storage_largest(gt_dtype dtype); // largest finite value

// Pseudo-random inputs: value `index` of an endless sequence, uniform in [-1, 1], exactly representable in
// the type. A counter-based generator, so that any part can be made again by itself.
typedef struct {
  gt_dtype dtype;
  uint16_t *table; // for the 16-bit types: their values by 16 random bits
} gt_inputs;
void gt_inputs_open(gt_inputs *inputs, gt_dtype dtype);
void gt_inputs_close(gt_inputs *inputs);
void gt_inputs_fill(const gt_inputs *inputs, uint64_t first, size_t count, void *array);

#endif
