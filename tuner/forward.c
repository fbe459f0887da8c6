#include "tuner/forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

#define MOST_READS ((int64_t)1 << 29)

// One axis, and what its outputs read so far.
typedef struct {
  const gt_problem *problem;
  int axis;
  int64_t in, out;
  gt_forward *reads;
  int64_t first; // where the reads of the current output begin
} sampling;

static void push(const sampling *s, int64_t input, double weight) {
  gt_forward *reads = s->reads;
  if (reads->count > s->first && reads->at[reads->count - 1] == input) {
    reads->weight[reads->count - 1] += weight; // both taps of a border
    return;
  }
  if (reads->count == reads->capacity) {
    reads->capacity = 2 * reads->capacity + 64;
    reads->at = gt_realloc(reads->at, (size_t)reads->capacity * sizeof *reads->at);
    reads->weight = gt_realloc(reads->weight, (size_t)reads->capacity * sizeof *reads->weight);
  }
  reads->at[reads->count] = input;
  reads->weight[reads->count++] = weight;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

// A position as an index from 0 to `most`, also where it is too large for an integer or no number.
static int64_t index_of(double position, int64_t most) {
  if (isnan(position) || position < 0) return 0;
  return position > (double)most ? most : (int64_t)position;
}

// The interpolations, in float and in double arithmetic.
#define real float
#define in_real(name) name##_float
#define real_fma fmaf
#define real_abs fabsf
#include "tuner/forward_real.h"

#define real double
#define in_real(name) name##_double
#define real_fma fma
#define real_abs fabs
#include "tuner/forward_real.h"

// nearest_idx and nearest_exact_idx in ATen/native/UpSample.h, which PyTorch has in float only.
static void nearest(const sampling *s, int64_t output) {
  float at = (float)output * ratio_float(s);
  push(s, s->out == 2 * s->in ? output / 2 : index_of(at, s->in - 1), 1);
}

static void nearest_exact(const sampling *s, int64_t output) {
  float at = (float)(((double)output + 0.5) * ratio_float(s));
  push(s, index_of(at, s->in - 1), 1);
}

static void same_position(const sampling *s, int64_t output) {
  push(s, output, 1);
}

// The mean over ⌊o · in / out⌋ up to ⌈(o + 1) · in / out⌉.
static void adaptive_average(const sampling *s, int64_t output) {
  int64_t begin = output * s->in / s->out, end = (output + 1) * s->in / s->out;
  if ((output + 1) * s->in % s->out) end++;
  for (int64_t i = begin; i < end; i++) push(s, i, 1.0 / (double)(end - begin));
}

// The window of `kernel` positions, those of the padding worth nothing, and its divisor: the number of its
// positions that lie in the input, or in the input and its padding on both sides, or what was given (applied
// along the width).
static void average(const sampling *s, int64_t output) {
  const gt_pool *pool = &s->problem->pool;
  int64_t padding = pool->padding[s->axis], begin = output * pool->stride[s->axis] - padding,
          end = begin + pool->kernel[s->axis], padded_end = clamp(end, begin, s->in + padding);
  int64_t first = clamp(begin, 0, s->in), last = clamp(end, 0, s->in); // of those in the input
  double divisor = (double)(pool->count_include_pad ? padded_end - begin : last - first);
  if (pool->divisor) divisor = s->axis == GT_AXES - 1 ? (double)pool->divisor : 1;
  for (int64_t i = first; i < last; i++) push(s, i, 1 / divisor);
}

typedef void (*reader)(const sampling *s, int64_t output);

static const struct {
  const char *name;
  reader in_float, in_double;
  bool copies_axis, copies_all; // equal sizes of this axis, or of all axes, are a copy whatever the scale
} definitions[] = {
    {"linear", linear_float, linear_double, true, true},
    {"cubic", cubic_float, cubic_double, false, true},
    {"linear_aa", linear_aa_float, linear_aa_double, false, false},
    {"cubic_aa", cubic_aa_float, cubic_aa_double, false, false},
    {"nearest", nearest, nearest, true, true},
    {"nearest_exact", nearest_exact, nearest_exact, false, false},
    {"adaptive_average", adaptive_average, adaptive_average, false, false},
    {"average", average, average, false, false},
};

static reader find(const gt_problem *problem, int axis) {
  bool all = memcmp(problem->in, problem->out, sizeof problem->in) == 0;
  for (size_t i = 0; i < sizeof definitions / sizeof definitions[0]; i++) {
    if (strcmp(definitions[i].name, problem->op->filter) != 0) continue;
    if (GT_AXES - axis > problem->op->spatial_axes) return same_position; // not an axis of the operator
    if (definitions[i].copies_axis && problem->in[axis] == problem->out[axis]) return same_position;
    if (definitions[i].copies_all && all) return same_position;
    return problem->dtype == GT_F64 ? definitions[i].in_double : definitions[i].in_float;
  }
  return NULL;
}

gt_status gt_forward_make(const gt_problem *problem, int axis, gt_forward *forward, gt_error *error) {
  *forward = (gt_forward){0};
  reader read = find(problem, axis);
  if (!read)
    return gt_fail(error, GT_UNSUPPORTED, "no reference for %s (filter %s)", problem->op->name,
                   problem->op->filter);
  sampling s = {problem, axis, problem->in[axis], problem->out[axis], forward, 0};
  forward->begin = gt_alloc((size_t)(s.out + 1) * sizeof *forward->begin);
  for (int64_t output = 0; output < s.out; output++) {
    s.first = forward->count;
    read(&s, output);
    forward->begin[output + 1] = forward->count;
    if (forward->count > MOST_READS) {
      gt_forward_free(forward);
      return gt_fail(error, GT_OUT_OF_MEMORY, "no reference for a forward that reads more than 2^29 inputs");
    }
  }
  return GT_OK;
}

void gt_forward_free(gt_forward *forward) {
  free(forward->begin);
  free(forward->at);
  free(forward->weight);
  *forward = (gt_forward){0};
}
