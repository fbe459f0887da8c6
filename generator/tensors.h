// The tensors of a problem: what its kernels read, and what they write.
#ifndef GT_GENERATOR_TENSORS_H
#define GT_GENERATOR_TENSORS_H

#include "generator/problem.h"

typedef enum {
  GT_GRAD_OUTPUT, // [n][c][out…]
  GT_INPUT,       // [n][c][in…], of the forward
  GT_GRID,        // [n][out…][2]: x, then y, from -1 to 1 over the input; in this order in every layout
  GT_GRAD_INPUT,  // [n][c][in…]
  GT_GRAD_GRID,   // [n][out…][2]
  GT_TENSORS
} gt_tensor_kind;

typedef struct {
  gt_tensor_kind kind;
  bool is_result;
  int64_t slice; // elements per outer index (gt_problem_outer), gaps not counted
} gt_tensor;

// The tensors that the problem's kernels have pointers to, in the pointers' order: those that are read, from
// grad_output on, then the results. Returns how many.
int gt_problem_tensors(const gt_problem *problem, gt_tensor tensors[GT_TENSORS]);

// Elements of a tensor per outer index, gaps not counted, whether the problem has it or not.
int64_t gt_tensor_slice(const gt_problem *problem, gt_tensor_kind kind);

// Elements from its start to just past the last one of the first `outer` outer indices, gaps counted; 0 where
// there are none.
int64_t gt_tensor_extent(const gt_problem *problem, const gt_tensor *tensor, int64_t outer);

const char *gt_tensor_name(gt_tensor_kind kind); // "grad_output"

// The elements that all of them have together: what is moved at least.
int64_t gt_problem_moved(const gt_problem *problem);

// Whether its dimensions are those of an image, [n][c][spatial sizes], which the layout orders; then the
// sizes. A grid is none.
const int64_t *gt_tensor_sizes(const gt_problem *problem, gt_tensor_kind kind); // NULL: no image

#endif
