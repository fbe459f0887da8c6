// NumPy's .npy files (https://numpy.org/neps/nep-0001-npy-format.html): arrays of floating-point numbers in C order.
// Files from elsewhere: every length is checked.
#ifndef GT_TUNER_NPY_H
#define GT_TUNER_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "generator/problem.h"

#define GT_NPY_DIMENSIONS 8

typedef struct {
  int dimensions;
  int64_t shape[GT_NPY_DIMENSIONS];
  double *values;
} gt_npy;

// Reads an array of `dimensions` sizes, `shape`. GT_USAGE, with the file's name, what it has and what it should have, for what is no .npy file
// of float16, float32 or float64 numbers, little-endian and in C order, or has another shape. What lies behind the numbers is not looked at, so
// that a pipe may be read. To be freed with gt_npy_free.
gt_status gt_npy_read(const char *path, int dimensions, const int64_t *shape, gt_npy *array, gt_error *error);

// The same of a file's bytes; `name` is for messages. `shape` NULL: any, of up to 8 dimensions.
gt_status gt_npy_parse(const char *name, const void *bytes, size_t size, int dimensions, const int64_t *shape, gt_npy *array,
                       gt_error *error);
// Appends the file of an array of f16, f32 or f64 elements in storage form.
void gt_npy_print(gt_buffer *file, gt_dtype dtype, int dimensions, const int64_t *shape, const void *elements);

void gt_npy_free(gt_npy *array); // harmless on a zeroed one

#endif
