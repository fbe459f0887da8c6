#include "tuner/storage.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

// A binary floating-point format of 16 bits: a sign, exponent bits, mantissa bits.
typedef struct {
  int mantissa, least_exponent; // of the mantissa field; exponent of the smallest normal value
} format;

static const format f16 = {10, -14}, bf16 = {7, -126};

static double load16(const format *type, uint16_t bits) {
  int exponent_mask = (1 << (15 - type->mantissa)) - 1;
  int exponent = (bits >> type->mantissa) & exponent_mask;
  int mantissa = bits & ((1 << type->mantissa) - 1);
  double value;
  if (exponent == exponent_mask)
    value = mantissa ? (double)NAN : (double)INFINITY;
  else if (exponent == 0)
    value = ldexp(mantissa, type->least_exponent - type->mantissa);
  else
    value = ldexp(mantissa | 1 << type->mantissa, exponent - 1 + type->least_exponent - type->mantissa);
  return bits & 0x8000 ? -value : value;
}

static double largest16(const format *type) {
  return ldexp((2 << type->mantissa) - 1, -type->least_exponent + 1 - type->mantissa);
}

static uint16_t store16(const format *type, double value) {
  uint16_t sign = signbit(value) ? 0x8000 : 0;
  int exponent_mask = (1 << (15 - type->mantissa)) - 1;
  uint16_t infinity = (uint16_t)(exponent_mask << type->mantissa);
  if (isnan(value)) return sign | infinity | 1u << (type->mantissa - 1);
  value = fabs(value);
  if (value == 0) return sign;
  if (isinf(value)) return sign | infinity;
  int exponent = ilogb(value);
  if (exponent < type->least_exponent) exponent = type->least_exponent;
  // In units of the last place; a carry out of the mantissa moves into the exponent field by itself.
  double units = nearbyint(ldexp(value, type->mantissa - exponent));
  if (ldexp(units, exponent - type->mantissa) > largest16(type)) return sign | infinity;
  int biased = exponent - type->least_exponent;
  return (uint16_t)(sign | (uint16_t)((biased << type->mantissa) + (int)units));
}

double gt_storage_load(gt_dtype dtype, const void *array, size_t index) {
  switch (dtype) {
  case GT_F16:
    return load16(&f16, ((const uint16_t *)array)[index]);
  case GT_F32:
    return ((const float *)array)[index];
  case GT_F64:
    return ((const double *)array)[index];
  case GT_BF16:
    break;
  }
  return load16(&bf16, ((const uint16_t *)array)[index]);
}

// The bits of a 16-bit value as those of a float, shifted into place. An f16's exponent is then too small by
// 112, which also holds for its subnormals.
static inline double widen(uint16_t bits, int shift, float scale) {
  uint32_t wide = (uint32_t)(bits & 0x7fff) << shift;
  float value;
  memcpy(&value, &wide, sizeof value);
  value *= scale;
  return bits & 0x8000 ? -value : value;
}

void gt_storage_load_many(gt_dtype dtype, const void *array, size_t first, size_t count, double *values) {
  const uint16_t *bits = (const uint16_t *)array + first;
  switch (dtype) {
  case GT_F16:
    for (size_t i = 0; i < count; i++)
      values[i] = (bits[i] & 0x7c00) == 0x7c00 ? (double)NAN : widen(bits[i], 13, 0x1p112f);
    break;
  case GT_BF16:
    for (size_t i = 0; i < count; i++)
      values[i] = (bits[i] & 0x7f80) == 0x7f80 ? (double)NAN : widen(bits[i], 16, 1);
    break;
  case GT_F32:
    for (size_t i = 0; i < count; i++) values[i] = ((const float *)array)[first + i];
    break;
  case GT_F64:
    memcpy(values, (const double *)array + first, count * sizeof *values);
    break;
  }
}

void gt_storage_store(gt_dtype dtype, void *array, size_t index, double value) {
  switch (dtype) {
  case GT_F16:
    ((uint16_t *)array)[index] = store16(&f16, value);
    break;
  case GT_BF16:
    ((uint16_t *)array)[index] = store16(&bf16, value);
    break;
  case GT_F32:
    ((float *)array)[index] = (float)value;
    break;
  case GT_F64:
    ((double *)array)[index] = value;
    break;
  }
}

double gt_storage_half_ulp(gt_dtype dtype, double magnitude) {
  static const struct {
    int mantissa, least_exponent;
  } formats[] = {[GT_F16] = {10, -14}, [GT_BF16] = {7, -126}, [GT_F32] = {23, -126}, [GT_F64] = {52, -1022}};
  int exponent = formats[dtype].least_exponent;
  if (magnitude > 0 && isfinite(magnitude) && ilogb(magnitude) > exponent) exponent = ilogb(magnitude);
  return ldexp(0.5, exponent - formats[dtype].mantissa);
}

double gt_storage_largest(gt_dtype dtype) {
  switch (dtype) {
  case GT_F16:
    return largest16(&f16);
  case GT_BF16:
    return largest16(&bf16);
  case GT_F32:
    return FLT_MAX;
  case GT_F64:
    break;
  }
  return DBL_MAX;
}

void gt_inputs_open(gt_inputs *inputs, gt_dtype dtype) {
  *inputs = (gt_inputs){.dtype = dtype};
  if (gt_dtype_bytes(dtype) != 2) return;
  inputs->table = gt_alloc(65536 * sizeof *inputs->table);
  for (int i = 0; i < 65536; i++)
    gt_storage_store(dtype, inputs->table, (size_t)i, (2.0 * i + 1 - 65536) / 65536);
}

void gt_inputs_close(gt_inputs *inputs) {
  free(inputs->table);
  *inputs = (gt_inputs){0};
}

// SplitMix64's finaliser (Steele, Lea, Flood 2014) of a counter.
static uint64_t mix(uint64_t index) {
  uint64_t z = (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void gt_inputs_fill(const gt_inputs *inputs, uint64_t first, size_t count, void *array) {
  switch (inputs->dtype) {
  case GT_F16:
  case GT_BF16:
    for (size_t i = 0; i < count; i++) ((uint16_t *)array)[i] = inputs->table[mix(first + i) >> 48];
    break;
  case GT_F32:
    for (size_t i = 0; i < count; i++)
      ((float *)array)[i] = (float)((int32_t)(mix(first + i) >> 39) - (1 << 24)) * 0x1p-24f;
    break;
  case GT_F64:
    for (size_t i = 0; i < count; i++)
      ((double *)array)[i] = (double)((int64_t)(mix(first + i) >> 11) - ((int64_t)1 << 52)) * 0x1p-52;
    break;
  }
}
