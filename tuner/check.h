// When a result counts as right.
//
// A kernel sums N terms w·g in float (double for f64) in an order of its own and rounds once to the storage
// type. With u half the machine epsilon of the sum's type (2^-24, 2^-53), t the largest term and r the exact
// sum:
//
//   sum error  e = t · base                      base = 2e-6 (f32, f16, bf16) or 1e-12 (f64): few terms
//                or, where larger, 2·u·N·t       terms of random sign: partial sums grow as t·sqrt(k), one
//                rounding each, so that
//                                                the error's standard deviation is about 0.17·u·N·t: twelve
//                                                of them
//                or, where larger, 4·u·sqrt(N)·|r|   terms of one sign: partial sums grow as |r|·k/N, the
//                standard deviation is
//                                                about 0.24·u·sqrt(N)·|r|: sixteen of them
//   f32, f64:    |result - r| <= e
//   f16, bf16:   |result - r| <= half a unit in the last place at |r| + e, plus e
//
// A missing term is an error of about t, a wrong weight one of its relative error times t: with windows of up
// to some 16 terms, weights that are off by 1e-5 are seen; a missing term is seen up to some 4 million terms.
// The worst case N·u·Σ|terms| is deliberately not allowed for: it would pass anything on huge windows. Only
// equal terms summed one after the other, more than some hundred of them, come near it.
#ifndef GT_TUNER_CHECK_H
#define GT_TUNER_CHECK_H

#include "generator/problem.h"

// Largest |result - reference| that counts as right. `terms`: the most terms of a sum (gt_reference_terms);
// `term`: the largest one.
double gt_check_tolerance(gt_dtype dtype, double terms, double term, double reference);

// Whether a stored result is right. An infinite result is right where the reference rounds to one; NaN only
// where the reference is NaN.
bool gt_check_value(gt_dtype dtype, double terms, double term, double result, double reference);

// Whether two results of correct kernels can differ so: each may be off by the tolerance.
bool gt_check_pair(gt_dtype dtype, double terms, double term, double one, double other);

// Quick looks at `count` doubles: true when every one is right for sure; false says nothing. Most right
// results pass, and only what does not is worth the functions above. A `term` per element.
bool gt_check_values_quickly(gt_dtype dtype, const double *term, const double *result,
                             const double *reference, size_t count);
bool gt_check_pairs_quickly(gt_dtype dtype, const double *term, const double *one, const double *other,
                            size_t count);

#endif
