// What trials of other problems on the same GPU model say about a problem before any of its configurations is
// timed.
#ifndef GT_TUNER_HISTORY_H
#define GT_TUNER_HISTORY_H

#include "generator/problem.h"
#include "tuner/points.h"

typedef struct gt_history gt_history;

gt_history *gt_history_new(void);
void gt_history_free(gt_history *history); // harmless on NULL

// One trial; us is INFINITY when it failed. Trials of one problem are added one after the other. What is no
// configuration is left out.
void gt_history_add(gt_history *history, const gt_problem *problem, const char *configuration, double us);
size_t gt_history_problems(const gt_history *history);

#define GT_HISTORY_FIRST 4

typedef struct {
  double *expected;               // of each point, ln(time) up to a constant; NULL: nothing is known
  size_t first[GT_HISTORY_FIRST]; // the nearest problems' best configurations that are among the points
  size_t n_first;
} gt_history_view;

// Whether gt_history_look will know what to expect of the points of these families.
bool gt_history_tells(const gt_history *history, const gt_problem *problem, const char *const *families,
                      size_t n_families);
// What the trials of all problems but `problem` itself say about its points.
void gt_history_look(const gt_history *history, const gt_problem *problem, const gt_points *points,
                     gt_history_view *view);
void gt_history_view_free(gt_history_view *view); // harmless on a zeroed one

#endif
