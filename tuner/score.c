#include "tuner/score.h"

#include <math.h>
#include <stdlib.h>

#include "base/buffer.h"

static int ascending(const void *a, const void *b) {
  double one = *(const double *)a, other = *(const double *)b;
  return (one > other) - (one < other);
}

double gt_quantile(double *values, size_t count, double part) {
  qsort(values, count, sizeof *values, ascending);
  double place = part * (double)(count - 1);
  size_t below = (size_t)place;
  if (below + 1 >= count) return values[count - 1];
  return values[below] + (place - (double)below) * (values[below + 1] - values[below]);
}

double gt_score_random(const gt_score *score, size_t budget) {
  double n = (double)score->count, b = (double)budget;
  // Probability that the best of the draw is the i-th of all: C(n − i, b − 1) / C(n, b), each from the one
  // before it.
  double probability = b / n, sum = 0;
  for (size_t i = 1; i <= score->count && probability > 0; i++) {
    sum += probability * score->sorted[i - 1];
    double after = n - (double)i;
    probability *= after > 0 ? fmax(0, (after - b + 1) / after) : 0;
  }
  return sum;
}

void gt_score_open(const double *times, size_t count, gt_score *score) {
  *score = (gt_score){.count = count, .sorted = gt_alloc((count + 1) * sizeof(double))};
  for (size_t i = 0; i < count; i++) {
    score->sorted[i] = times[i];
    score->failed += !(times[i] < INFINITY);
  }
  qsort(score->sorted, count, sizeof(double), ascending);
  size_t good = count - score->failed;
  score->optimum = score->sorted[0];
  score->slowest = score->sorted[good - 1];
  score->median = (score->sorted[(good - 1) / 2] + score->sorted[good / 2]) / 2;
  for (size_t i = good; i < count; i++) score->sorted[i] = score->slowest;
  // R falls with the budget: the first that is low enough, by bisection. At b = count it is the optimum.
  double target = score->median - GT_SCORE_CUTOFF * (score->median - score->optimum);
  size_t low = 1, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (gt_score_random(score, middle) <= target)
      high = middle;
    else
      low = middle + 1;
  }
  score->budget = low;
}

void gt_score_close(gt_score *score) {
  free(score->sorted);
  *score = (gt_score){0};
}

double gt_score_rate(const gt_score *score, const double *means) {
  double sum = 0;
  size_t counted = 0;
  for (size_t b = 1; b <= score->budget; b++) {
    double random = gt_score_random(score, b);
    if (!(random > score->optimum)) continue; // nothing to gain
    sum += (random - means[b - 1]) / (random - score->optimum);
    counted++;
  }
  return counted ? sum / (double)counted : 0;
}
