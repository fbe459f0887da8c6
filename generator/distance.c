#include "generator/distance.h"

#include <math.h>
#include <string.h>

static double octaves(double a, double b) {
  return a > 0 && b > 0 ? fabs(log2(a / b)) : 0;
}

// Elements of the widest load that rows of grad_output are aligned to, if it is dense: 8 at most.
static double row_alignment(const gt_problem *problem) {
  int64_t length = problem->out[GT_AXES - 1], power = length & -length;
  return power < 8 ? (double)power : 8;
}

double gt_problem_distance(const gt_problem *a, const gt_problem *b) {
  double distance = 3 * (a->layout != b->layout) + (a->op->spatial_axes != b->op->spatial_axes) +
                    (strcmp(a->op->filter, b->op->filter) != 0) + 0.1 * (a->op != b->op) +
                    0.1 * (a->dtype != b->dtype) + 0.1 * (a->strided != b->strided) +
                    0.05 * (a->align_corners != b->align_corners);
  if (a->op->form == GT_FORM_GRID)
    distance += (a->sampling.interpolation != b->sampling.interpolation) +
                0.3 * (a->sampling.want != b->sampling.want) + 0.1 * (a->sampling.padding != b->sampling.padding) +
                (a->sampling.positions != b->sampling.positions);
  distance += 0.5 * octaves((double)gt_dtype_bytes(a->dtype), (double)gt_dtype_bytes(b->dtype));
  for (int i = 0; i < GT_AXES; i++)
    distance += octaves((double)a->out[i] / (double)a->in[i], (double)b->out[i] / (double)b->in[i]);
  distance += 0.3 * octaves(row_alignment(a), row_alignment(b));
  distance += 0.15 * octaves((double)gt_problem_in_elements(a), (double)gt_problem_in_elements(b));
  return distance + 0.15 * octaves((double)gt_problem_inner(a), (double)gt_problem_inner(b));
}
