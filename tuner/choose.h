// Which of the timed configurations wins.
//
// The fastest has the least median. Those within 3 % of it, or within the noise, are tied with it, and of the
// tied the one with the fewest registers wins (it leaves the most room), then the first in the order of
// texts: the same data give the same winner. A stored winner that is among the tied keeps its place, so that
// winners do not change with the weather. Noise is twice the standard error of the difference of the two
// medians.
#ifndef GT_TUNER_CHOOSE_H
#define GT_TUNER_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "cache/cache.h"

#define GT_CHOOSE_MARGIN 0.03

// Whether `one` is faster than `other` by more than the noise and by more than 3 %.
bool gt_choose_beats(const gt_trial *one, const gt_trial *other);

// Index of the winner among the trials that are ok and timed; -1 when there is none. `incumbent`: index of
// the stored winner, or -1.
int gt_choose(const gt_trial *trials, size_t count, int incumbent);

// Indices of the trials that are tied with the fastest, other than the winner, in the order of preference;
// returns how many. `ties` has room for count.
size_t gt_choose_ties(const gt_trial *trials, size_t count, int winner, size_t *ties);

// Of configurations that were timed on several classes of data, the one whose largest regret is the least: its time over
// the best one's of the class. us: [count][classes], 0 where one failed. Of equal ones the first in the order of texts.
// Returns its index, or -1 when none was right everywhere; *regret is its largest.
int gt_choose_everywhere(const double *us, const char *const *configurations, size_t count, size_t classes,
                         double *regret);

// One time for all classes, the geometric mean of its times on each; 0 where one is missing (0).
double gt_time_everywhere(const double *us, size_t classes);

#endif
