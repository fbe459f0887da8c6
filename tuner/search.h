// The search: which configuration is tried next. It keeps what was proposed and reported, tries the points it
// was told to begin with, then the default of each family, then those of a strategy, and never the same point
// twice.
#ifndef GT_TUNER_SEARCH_H
#define GT_TUNER_SEARCH_H

#include "tuner/strategy.h"

typedef struct gt_search gt_search;

typedef struct {
  const char *strategy; // NULL: exhaustive when the budget allows it, else bayes
  uint64_t seed;
  size_t budget;       // most points that will be asked for; it decides the default strategy only
  const size_t *first; // points to begin with, the best guess first; repetitions do no harm
  size_t n_first;
  const double *expected; // of each point, ln(time), up to a constant, before any is timed; or NULL
} gt_search_options;

// `points` and `expected` must outlive the search. GT_USAGE, listing the strategies, for an unknown one.
gt_status gt_search_open(const gt_points *points, const gt_search_options *options, gt_search **search,
                         gt_error *error);
void gt_search_close(gt_search *search); // harmless on NULL
const char *gt_search_strategy(const gt_search *search);
// Whether what is reported changes what is proposed, so that it is better not to ask far ahead of the
// reports.
bool gt_search_learns(const gt_search *search);
// GT_USAGE, listing the strategies, unless there is one of the name.
gt_status gt_search_check(const char *strategy, gt_error *error);

// The next point, or GT_NO_POINT when all were proposed or reported. It may be asked for while earlier points
// are not reported yet: the strategy goes by what it was told so far. The same sequence of calls with the
// same seed and reports gives the same points.
size_t gt_search_next(gt_search *search);
// Takes a point out of the search without a proposal: it is being tried already.
void gt_search_take(gt_search *search, size_t point);
// What came of a point: its time, INFINITY when it failed. A point that was not proposed will not be. The
// first report of a point counts.
void gt_search_report(gt_search *search, size_t point, double us);

#endif
