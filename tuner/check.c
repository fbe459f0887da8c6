#include "tuner/check.h"

#include <math.h>

#include "tuner/storage.h"

static double sum_error(gt_dtype dtype, double terms, double term, double reference) {
  double unit = dtype == GT_F64 ? 0x1p-53 : 0x1p-24;
  double base = dtype == GT_F64 ? 1e-12 : 2e-6;
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
