// How good a search is, by the score that the field of auto-tuning uses (Willemsen, Schoonhoven, Filipovič,
// Tørring, van Nieuwpoort, van Werkhoven: A Methodology for Comparing Auto-Tuning Optimization Algorithms,
// 2024): how far, between random search and the optimum, the mean best time is,
//
//   P = mean over budgets b = 1 … B of (R(b) − S(b)) / (R(b) − optimum)
//
// with S(b) the strategy's best time after b evaluations, mean of many seeds, and R(b) the expected best time
// of b different configurations drawn at random. B is the first budget at which R has come 95 % of the way
// from the median of all times to the optimum. 0 is random search, 1 the optimum at once.
//
// Budgets are counted in evaluations. A configuration that failed costs one and improves nothing; as long as
// nothing else was evaluated, the best time counts as the slowest of all.
#ifndef GT_TUNER_SCORE_H
#define GT_TUNER_SCORE_H

#include <stddef.h>

#define GT_SCORE_CUTOFF 0.95

typedef struct {
  double *sorted; // all times, ascending; failures at the end, as the slowest time
  size_t count, failed;
  double optimum, median, slowest; // of those that did not fail
  size_t budget;                   // B
} gt_score;

// `times`: INFINITY for what failed; at least one did not.
void gt_score_open(const double *times, size_t count, gt_score *score);
void gt_score_close(gt_score *score); // harmless on a zeroed one

// R(b): exact, by the order statistics of drawing without repetition. 1 <= budget <= count.
double gt_score_random(const gt_score *score, size_t budget);

// P of a strategy whose mean best time after b evaluations is means[b - 1], b = 1 … score->budget.
double gt_score_rate(const gt_score *score, const double *means);

// The value below which a part of the values lies, by linear interpolation. Sorts them.
double gt_quantile(double *values, size_t count, double part);

#endif
