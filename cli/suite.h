// The problems that a command line names: arguments and suite files.
#ifndef GT_CLI_SUITE_H
#define GT_CLI_SUITE_H

#include <stdbool.h>
#include <stddef.h>

#include "generator/problem.h"

typedef struct {
  gt_problem *problems;
  int64_t *calls; // of each problem, as the suite counts them (per training step, say); 0: not told
  size_t count, capacity;
  size_t unknown; // lines left out because their operator is not known
} gt_suite;

#define GT_MOST_CALLS 1000000000000 // on a line

// Once, however often it is named; calls are added up.
void gt_suite_add(gt_suite *suite, const gt_problem *problem, int64_t calls);
bool gt_suite_has_calls(const gt_suite *suite); // whether those of any problem are told

// Adds the problems of a file: one a line, `calls=N` may follow after a space, `#` starts a comment. Complains about every bad line with file and
// line number and returns GT_USAGE when there is one. With skip_unknown, a line whose operator looks like one
// of ATen's backwards but is not known here is left out, which is said too.
gt_status gt_suite_read(gt_suite *suite, const char *path, bool skip_unknown);

void gt_suite_free(gt_suite *suite); // harmless on a zeroed suite

#endif
