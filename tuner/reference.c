#include "tuner/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

// What the forward reads along one axis for one output position: at most two input positions and their
// weights.
typedef struct {
  int64_t at[2];
  double weight[2];
  int count;
} reading;

// Source position of an output, in float and in double arithmetic. Sources: area_pixel_compute_scale,
// area_pixel_compute_source_index and guard_index_and_lambda in ATen/native/UpSample.h. PyTorch's builds
// contract ratio · centre - 0.5 into one fused operation with one rounding, and its results show it
// (tests/oracle, case open-023).
static float position_float(const gt_problem *problem, int axis, int64_t output) {
  int64_t in = problem->in[axis], out = problem->out[axis];
  float ratio;
  if (problem->align_corners) {
    ratio = out > 1 ? (float)(in - 1) / (float)(out - 1) : 0;
    return ratio * (float)output;
  }
  ratio = problem->has_scale ? (float)(1.0 / problem->scale[axis]) : (float)in / (float)out;
  float centre = (float)output + 0.5f;
  float source = fmaf(ratio, centre, -0.5f);
  return source < 0 ? 0 : source;
}

static double position_double(const gt_problem *problem, int axis, int64_t output) {
  int64_t in = problem->in[axis], out = problem->out[axis];
  double ratio;
  if (problem->align_corners) {
    ratio = out > 1 ? (double)(in - 1) / (double)(out - 1) : 0;
    return ratio * (double)output;
  }
  ratio = problem->has_scale ? 1.0 / problem->scale[axis] : (double)in / (double)out;
  double centre = (double)output + 0.5;
  double source = fma(ratio, centre, -0.5);
  return source < 0 ? 0 : source;
}

static reading read_linear(const gt_problem *problem, int axis, int64_t output) {
  int64_t in = problem->in[axis];
  if (in == problem->out[axis]) return (reading){.at = {output}, .weight = {1}, .count = 1};
  int64_t lower;
  double low_weight, high_weight;
  if (problem->dtype == GT_F64) {
    double source = position_double(problem, axis, output);
    lower = source < (double)(in - 1) ? (int64_t)source : in - 1;
    high_weight = fmin(fmax(source - (double)lower, 0), 1);
    low_weight = 1 - high_weight;
  } else {
    float source = position_float(problem, axis, output);
    lower = source < (float)(in - 1) ? (int64_t)source : in - 1;
    float high = fminf(fmaxf(source - (float)lower, 0), 1);
    float low = 1 - high;
    high_weight = high;
    low_weight = low;
  }
  // On the last position both taps read the same value.
  if (lower == in - 1) return (reading){.at = {lower}, .weight = {low_weight + high_weight}, .count = 1};
  return (reading){.at = {lower, lower + 1}, .weight = {low_weight, high_weight}, .count = 2};
}

static gt_status make_readings(const gt_problem *problem, reading *readings[GT_AXES], gt_error *error) {
  if (strcmp(problem->op->filter, "linear") != 0)
    return gt_fail(error, GT_UNSUPPORTED, "no reference for %s (filter %s)", problem->op->name,
                   problem->op->filter);
  for (int axis = 0; axis < GT_AXES; axis++) {
    readings[axis] = gt_alloc((size_t)problem->out[axis] * sizeof(reading));
    for (int64_t o = 0; o < problem->out[axis]; o++) readings[axis][o] = read_linear(problem, axis, o);
  }
  return GT_OK;
}

static void free_readings(reading *readings[GT_AXES]) {
  for (int axis = 0; axis < GT_AXES; axis++) free(readings[axis]);
}

// Adds weight · from[0…inner) into `sum`, and keeps the largest terms.
static void scatter(double weight, const double *from, int64_t inner, double *sum, double *term) {
  if (weight == 0) return;
  for (int64_t i = 0; i < inner; i++) {
    double product = weight * from[i];
    sum[i] += product;
    if (term && fabs(product) > term[i]) term[i] = fabs(product);
  }
}

gt_status gt_reference(const gt_problem *problem, int64_t slices, const double *grad_output,
                       double *grad_input, double *term, gt_error *error) {
  const int64_t *in = problem->in, *out = problem->out, inner = gt_problem_inner(problem);
  int64_t in_slice = in[0] * in[1] * in[2] * inner, out_slice = out[0] * out[1] * out[2] * inner;
  reading *readings[GT_AXES] = {0};
  gt_status status = make_readings(problem, readings, error);
  if (status != GT_OK) return status;

  for (int64_t i = 0; i < slices * in_slice; i++) grad_input[i] = 0;
  for (int64_t i = 0; term && i < slices * in_slice; i++) term[i] = 0;
  for (int64_t s = 0; s < slices; s++) {
    const double *from = grad_output + s * out_slice;
    for (int64_t d = 0; d < out[0]; d++)
      for (int64_t h = 0; h < out[1]; h++)
        for (int64_t w = 0; w < out[2]; w++, from += inner) {
          const reading *rd = &readings[0][d], *rh = &readings[1][h], *rw = &readings[2][w];
          for (int i = 0; i < rd->count; i++)
            for (int j = 0; j < rh->count; j++)
              for (int k = 0; k < rw->count; k++) {
                int64_t to = s * in_slice + ((rd->at[i] * in[1] + rh->at[j]) * in[2] + rw->at[k]) * inner;
                scatter(rd->weight[i] * rh->weight[j] * rw->weight[k], from, inner, grad_input + to,
                        term ? term + to : NULL);
              }
        }
  }
  free_readings(readings);
  return GT_OK;
}

gt_status gt_reference_terms(const gt_problem *problem, double *terms, gt_error *error) {
  reading *readings[GT_AXES] = {0};
  gt_status status = make_readings(problem, readings, error);
  if (status != GT_OK) return status;
  *terms = 1;
  for (int axis = 0; axis < GT_AXES; axis++) {
    int64_t *count = gt_alloc((size_t)problem->in[axis] * sizeof *count), most = 1;
    for (int64_t o = 0; o < problem->out[axis]; o++)
      for (int i = 0; i < readings[axis][o].count; i++)
        if (readings[axis][o].weight[i] != 0) count[readings[axis][o].at[i]]++;
    for (int64_t p = 0; p < problem->in[axis]; p++)
      if (count[p] > most) most = count[p];
    *terms *= (double)most;
    free(count);
  }
  free_readings(readings);
  return GT_OK;
}
