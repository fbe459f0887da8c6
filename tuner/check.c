#include "tuner/check.h"

#include <math.h>
#include <string.h>

#include "tuner/storage.h"

static double few_terms(gt_dtype dtype) {
  return dtype == GT_F64 ? 1e-12 : 2e-6;
}

static double sum_error(gt_dtype dtype, double terms, double term, double reference) {
  double unit = dtype == GT_F64 ? 0x1p-53 : 0x1p-24;
  double base = few_terms(dtype);
  double few = base * term, many = 2 * unit * terms * term,
         same_sign = 4 * unit * sqrt(terms) * fabs(reference);
  return fmax(few, fmax(many, same_sign));
}

double gt_check_tolerance(gt_dtype dtype, double terms, double term, double reference) {
  double error = sum_error(dtype, terms, term, reference);
  if (dtype == GT_F16 || dtype == GT_BF16) return gt_storage_half_ulp(dtype, fabs(reference) + error) + error;
  // Results among the subnormals may still be rounded by half of the smallest of them.
  return fmax(error, gt_storage_half_ulp(dtype, 0));
}

bool gt_check_value(gt_dtype dtype, double terms, double term, double result, double reference) {
  if (isnan(reference)) return isnan(result);
  if (isinf(reference)) return result == reference;
  if (isnan(result)) return false;
  double tolerance = gt_check_tolerance(dtype, terms, term, reference);
  if (isinf(result))
    return signbit(result) == signbit(reference) && fabs(reference) + tolerance >= gt_storage_largest(dtype);
  return fabs(result - reference) <= tolerance;
}

// The least tolerance that there is for any number of terms: half a unit in the last place of a 16-bit type
// plus the error of few terms. Half a unit is read off the exponent of the value, as a double's bits have it.
typedef struct {
  double base;
  uint64_t least_exponent; // in place, biased
  uint64_t half_ulp; // how much less the exponent of half a unit is, in place; 0: not rounded to 16 bits
} quick;

static quick quick_of(gt_dtype dtype) {
  quick q = {.base = few_terms(dtype)};
  if (dtype == GT_F16) q.least_exponent = (uint64_t)(1023 - 14) << 52, q.half_ulp = (uint64_t)11 << 52;
  if (dtype == GT_BF16) q.least_exponent = (uint64_t)(1023 - 126) << 52, q.half_ulp = (uint64_t)8 << 52;
  return q;
}

static inline double half_ulp_of(const quick *q, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits &= (uint64_t)0x7ff << 52;
  bits = (bits > q->least_exponent ? bits : q->least_exponent) - q->half_ulp;
  memcpy(&value, &bits, sizeof bits);
  return value;
}

bool gt_check_values_quickly(gt_dtype dtype, const double *term, const double *result,
                             const double *reference, size_t count) {
  const quick q = quick_of(dtype);
  size_t good = 0; // comparisons with NaN are false
  if (!q.half_ulp)
    for (size_t i = 0; i < count; i++) good += fabs(result[i] - reference[i]) <= q.base * term[i];
  else
    for (size_t i = 0; i < count; i++)
      good += fabs(result[i] - reference[i]) <= half_ulp_of(&q, reference[i]) + q.base * term[i];
  return good == count;
}

bool gt_check_pairs_quickly(gt_dtype dtype, const double *term, const double *one, const double *other,
                            size_t count) {
  const quick q = quick_of(dtype);
  size_t good = 0;
  if (!q.half_ulp)
    for (size_t i = 0; i < count; i++) good += fabs(one[i] - other[i]) <= 2 * q.base * term[i];
  else
    for (size_t i = 0; i < count; i++) // half a unit at either value is no more than that at the larger one
      good += fabs(one[i] - other[i]) <= 2 * (half_ulp_of(&q, one[i]) + q.base * term[i]);
  return good == count;
}

bool gt_check_pair(gt_dtype dtype, double terms, double term, double one, double other) {
  if (one == other) return true;
  if (isnan(one) || isnan(other)) return isnan(one) && isnan(other);
  if (isinf(one) || isinf(other)) {
    double finite = isinf(one) ? other : one;
    return signbit(one) == signbit(other) && fabs(finite) >= gt_storage_largest(dtype) * (1 - 1e-2);
  }
  double larger = fmax(fabs(one), fabs(other));
  return fabs(one - other) <= 2 * gt_check_tolerance(dtype, terms, term, larger);
}
