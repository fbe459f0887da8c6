#include "tuner/choose.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "tuner/timing.h"

bool gt_choose_beats(const gt_trial *one, const gt_trial *other) {
  double gain = other->median_us - one->median_us;
  double noise = 2 * hypot(gt_median_error(one->spread_us, one->n_samples),
                           gt_median_error(other->spread_us, other->n_samples));
  return gain > noise && gain > GT_CHOOSE_MARGIN * one->median_us;
}

// Order among the tied. Unknown register counts come last.
static bool is_preferred(const gt_trial *one, const gt_trial *other) {
  int a = one->registers < 0 ? INT_MAX : one->registers,
      b = other->registers < 0 ? INT_MAX : other->registers;
  return a != b ? a < b : strcmp(one->configuration, other->configuration) < 0;
}

static int fastest(const gt_trial *trials, size_t count) {
  int best = -1;
  for (size_t i = 0; i < count; i++)
    if (gt_trial_is_timed(&trials[i]) && (best < 0 || trials[i].median_us < trials[best].median_us)) best = (int)i;
  return best;
}

size_t gt_choose_ties(const gt_trial *trials, size_t count, int winner, size_t *ties) {
  int best = fastest(trials, count);
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    if ((int)i == winner || !gt_trial_is_timed(&trials[i]) || gt_choose_beats(&trials[best], &trials[i])) continue;
    size_t at = found++;
    for (; at > 0 && is_preferred(&trials[i], &trials[ties[at - 1]]); at--) ties[at] = ties[at - 1];
    ties[at] = i;
  }
  return found;
}

int gt_choose(const gt_trial *trials, size_t count, int incumbent) {
  int best = fastest(trials, count);
  if (best < 0) return -1;
  if (incumbent >= 0 && gt_trial_is_timed(&trials[incumbent]) && !gt_choose_beats(&trials[best], &trials[incumbent]))
    return incumbent;
  int winner = best;
  for (size_t i = 0; i < count; i++)
    if (gt_trial_is_timed(&trials[i]) && !gt_choose_beats(&trials[best], &trials[i]) &&
        is_preferred(&trials[i], &trials[winner]))
      winner = (int)i;
  return winner;
}

int gt_choose_everywhere(const double *us, const char *const *configurations, size_t count, size_t classes,
                         double *regret) {
  int winner = -1;
  for (size_t i = 0; i < count; i++) {
    double largest = 0;
    for (size_t k = 0; k < classes; k++) {
      double best = us[i * classes + k];
      if (best <= 0) largest = INFINITY;
      for (size_t other = 0; other < count; other++)
        if (us[other * classes + k] > 0) best = fmin(best, us[other * classes + k]);
      if (best > 0) largest = fmax(largest, us[i * classes + k] / best);
    }
    bool later = winner >= 0 && (largest > *regret || (largest == *regret &&
                                                       strcmp(configurations[i], configurations[winner]) > 0));
    if (isinf(largest) || later) continue;
    winner = (int)i;
    *regret = largest;
  }
  return winner;
}

double gt_time_everywhere(const double *us, size_t classes) {
  double sum = 0;
  if (classes == 1) return us[0]; // to the last bit
  for (size_t k = 0; k < classes; k++) {
    if (us[k] <= 0) return 0;
    sum += log(us[k]);
  }
  return exp(sum / (double)classes);
}
