// Grids for tuning and checking: where the forward of a sampler read.
#ifndef GT_TUNER_POSITIONS_H
#define GT_TUNER_POSITIONS_H

#include "generator/problem.h"

// The classes that a problem can name, which follow one another: the first, and how many there are.
enum { GT_FIRST_CLASS = GT_GRID_CLASS_ANY + 1, GT_CLASSES = GT_GRID_CLASSES - GT_FIRST_CLASS };

// Whether a problem says nothing of the positions that its kernels will get, so that it is tuned for every class
// (tuner/classes.h).
bool gt_has_classes(const gt_problem *problem);
// The problem on positions of class number `k`, from 0 to GT_CLASSES - 1.
gt_problem gt_problem_of_class(const gt_problem *problem, int k);

// Fills `grid`, [outer][out height][out width][2] in the storage form of the problem's type, with positions of the
// problem's class, the same every time:
//   identity    of the affine identity, as PyTorch's affine_grid makes it
//   smooth      identity, and a displacement of up to an eighth of the image that is random on a coarse grid of
//               points 16 samples apart and linear in between: a flow, a warp
//   random      uniform in [-1.05, 1.05]: some samples lie outside
//   contended   nine of ten samples within one pixel of an image, the others random
//   (none)      as random
void gt_positions_make(const gt_problem *problem, int64_t outer, void *grid);

#endif
