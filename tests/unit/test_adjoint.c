// The backward against forwards that are written here from the definition of the operators, as dense
// matrices.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "generator/axis.h"
#include "tuner/reference.h"

// --- definitions, in double, with the exact ratio ------------------------------------------------

static double keys(double x, double a) {
  x = fabs(x);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

static double tent(double x) {
  return fmax(0, 1 - fabs(x));
}

static int64_t clamp(int64_t i, int64_t n) {
  return i < 0 ? 0 : i > n - 1 ? n - 1 : i;
}

static double ratio_of(const gt_problem *problem, int axis) {
  int64_t in = problem->in[axis], out = problem->out[axis];
  if (problem->align_corners) return out > 1 ? (double)(in - 1) / (double)(out - 1) : 0;
  return problem->has_scale ? 1 / problem->scale[axis] : (double)in / (double)out;
}

// Row of the forward's matrix for one output of an axis: the weights of all inputs.
static void define(const gt_problem *problem, int axis, int64_t o, double *row) {
  const char *filter = problem->op->filter;
  int64_t in = problem->in[axis], out = problem->out[axis];
  double ratio = ratio_of(problem, axis);
  double at = problem->align_corners ? ratio * (double)o : ratio * ((double)o + 0.5) - 0.5;
  bool antialiased = strstr(filter, "_aa") != NULL, cubic = strncmp(filter, "cubic", 5) == 0;
  for (int64_t i = 0; i < in; i++) row[i] = 0;
  if (antialiased) {
    double centre = ratio * ((double)o + 0.5), width = fmax(ratio, 1), half = (cubic ? 2 : 1) * width,
           sum = 0;
    for (int64_t i = 0; i < in; i++) {
      double x = ((double)i + 0.5 - centre) / width;
      row[i] = fabs((double)i + 0.5 - centre) < half ? cubic ? keys(x, -0.5) : tent(x) : 0;
      sum += row[i];
    }
    for (int64_t i = 0; i < in; i++) row[i] /= sum;
  } else if (cubic || strcmp(filter, "linear") == 0) {
    if (!cubic) at = fmin(fmax(at, 0), (double)(in - 1)); // which changes no tap's sum
    for (int64_t i = (int64_t)floor(at) - 1; i <= (int64_t)floor(at) + 2; i++)
      row[clamp(i, in)] += cubic ? keys((double)i - at, -0.75) : tent((double)i - at);
  } else if (strcmp(filter, "nearest") == 0) {
    row[clamp((int64_t)floor(ratio * (double)o), in)] = 1;
  } else if (strcmp(filter, "nearest_exact") == 0) {
    row[clamp((int64_t)floor(ratio * ((double)o + 0.5)), in)] = 1;
  } else if (strcmp(filter, "adaptive_average") == 0) {
    // Input i covers [i, i+1), output o covers [o · in / out, (o+1) · in / out): all that it touches.
    int64_t count = 0;
    for (int64_t i = 0; i < in; i++) count += i * out < (o + 1) * in && (i + 1) * out > o * in;
    for (int64_t i = 0; i < in; i++)
      if (i * out < (o + 1) * in && (i + 1) * out > o * in) row[i] = 1.0 / (double)count;
  } else {
    fail_msg("no definition of %s", filter);
  }
}

// An average over two axes at once, whose divisor is that of the whole window.
static double pooled_weight(const gt_problem *problem, const int64_t o[GT_AXES], const int64_t i[GT_AXES]) {
  const gt_pool *pool = &problem->pool;
  int64_t padded = 1, inside = 1;
  for (int axis = 1; axis < GT_AXES; axis++) {
    int64_t begin = o[axis] * pool->stride[axis] - pool->padding[axis], in = problem->in[axis], both = 0,
            own = 0;
    for (int64_t p = begin; p < begin + pool->kernel[axis]; p++) {
      both += p < in + pool->padding[axis];
      own += p >= 0 && p < in;
    }
    if (i[axis] < begin || i[axis] >= begin + pool->kernel[axis]) return 0;
    padded *= both;
    inside *= own;
  }
  return 1.0 / (double)(pool->divisor ? pool->divisor : pool->count_include_pad ? padded : inside);
}

// matrix[output][input] of one image.
static double *matrix_of(const gt_problem *problem) {
  const int64_t *in = problem->in, *out = problem->out;
  int64_t n_in = in[0] * in[1] * in[2], n_out = out[0] * out[1] * out[2];
  double *matrix = gt_alloc((size_t)(n_in * n_out) * sizeof *matrix), *rows[GT_AXES];
  for (int axis = 0; axis < GT_AXES; axis++) {
    rows[axis] = gt_alloc((size_t)(in[axis] * out[axis]) * sizeof **rows);
    if (axis < GT_AXES - problem->op->spatial_axes)
      rows[axis][0] = 1;
    else if (!(problem->op->keys & GT_KEY_POOL))
      for (int64_t o = 0; o < out[axis]; o++) define(problem, axis, o, rows[axis] + o * in[axis]);
  }
  for (int64_t to = 0; to < n_out; to++)
    for (int64_t from = 0; from < n_in; from++) {
      int64_t o[] = {to / out[2] / out[1], to / out[2] % out[1], to % out[2]};
      int64_t i[] = {from / in[2] / in[1], from / in[2] % in[1], from % in[2]};
      double weight = 1;
      for (int axis = 0; axis < GT_AXES; axis++) weight *= rows[axis][o[axis] * in[axis] + i[axis]];
      matrix[to * n_in + from] = problem->op->keys & GT_KEY_POOL ? pooled_weight(problem, o, i) : weight;
    }
  for (int axis = 0; axis < GT_AXES; axis++) free(rows[axis]);
  return matrix;
}

// --- what the tap tables say ---------------------------------------------------------------------

static double *taps_of(const gt_problem *problem) {
  const int64_t *in = problem->in, *out = problem->out;
  int64_t n_in = in[0] * in[1] * in[2];
  double *matrix = gt_alloc((size_t)(n_in * out[0] * out[1] * out[2]) * sizeof *matrix);
  gt_axis axes[GT_AXES];
  for (int i = 0; i < GT_AXES; i++) assert_int_equal(gt_axis_make(problem, i, &axes[i], NULL), GT_OK);
  for (int64_t from = 0; from < n_in; from++) {
    int64_t d = from / in[2] / in[1], h = from / in[2] % in[1], w = from % in[2];
    for (int64_t i = 0; i < axes[0].count[d]; i++)
      for (int64_t j = 0; j < axes[1].count[h]; j++)
        for (int64_t k = 0; k < axes[2].count[w]; k++) {
          int64_t to =
              ((axes[0].first[d] + i) * out[1] + axes[1].first[h] + j) * out[2] + axes[2].first[w] + k;
          matrix[to * n_in + from] = axes[0].weight[axes[0].start[d] + i] *
                                     axes[1].weight[axes[1].start[h] + j] *
                                     axes[2].weight[axes[2].start[w] + k];
        }
  }
  for (int i = 0; i < GT_AXES; i++) gt_axis_free(&axes[i]);
  return matrix;
}

// --- the properties ------------------------------------------------------------------------------

// Keys beside n, c and dtype. Positions of nearest that are whole numbers but for rounding are left out.
static const char *const problems[] = {
    "upsample_linear1d_backward:in=9,out=31",
    "upsample_linear1d_backward:in=31,out=9,align_corners=1",
    "upsample_bilinear2d_backward:in=6x13,out=17x5",
    "upsample_bilinear2d_backward:in=6x5,out=14x11,scale=2.4x2.3",
    "upsample_trilinear3d_backward:in=2x3x5,out=5x2x9",
    "upsample_trilinear3d_backward:in=2x3x5,out=4x7x1,align_corners=1",
    "upsample_bicubic2d_backward:in=6x5,out=15x7",
    "upsample_bicubic2d_backward:in=1x2,out=4x7,align_corners=1",
    "upsample_bicubic2d_backward:in=9x8,out=4x9,scale=0.47x1.2",
    "_upsample_bilinear2d_aa_backward:in=14x5,out=4x11",
    "_upsample_bilinear2d_aa_backward:in=14x5,out=4x11,align_corners=1",
    "_upsample_bicubic2d_aa_backward:in=17x5,out=4x11",
    "_upsample_bicubic2d_aa_backward:in=17x7,out=4x3,scale=0.25x0.45",
    "upsample_nearest1d_backward:in=7,out=31",
    "upsample_nearest2d_backward:in=7x16,out=13x5,scale=1.9x0.33",
    "upsample_nearest3d_backward:in=2x3x4,out=4x7x5",
    "_upsample_nearest_exact1d_backward:in=31,out=8",
    "_upsample_nearest_exact2d_backward:in=7x16,out=11x5",
    "_upsample_nearest_exact3d_backward:in=2x3x4,out=4x7x5",
    "adaptive_avg_pool2d_backward:in=14x5,out=4x11",
    "adaptive_avg_pool3d_backward:in=5x4x3,out=2x3x7",
    "avg_pool2d_backward:in=9x11,out=4x5,kernel=2",
    "avg_pool2d_backward:in=9x11,out=4x5,kernel=3,pool_stride=2",
    "avg_pool2d_backward:in=9x10,out=5x4,kernel=3x4,pool_stride=2x3,padding=1x2",
    "avg_pool2d_backward:in=9x11,out=5x5,kernel=3x4,pool_stride=2x3,padding=1x2,ceil_mode=1",
    "avg_pool2d_backward:in=9x11,out=5x5,kernel=3x4,pool_stride=2x3,padding=1x2,ceil_mode=1,count_include_"
    "pad=0",
    "avg_pool2d_backward:in=8x10,out=5x6,kernel=3x2,pool_stride=2x2,padding=1x1,ceil_mode=1",
    "avg_pool2d_backward:in=9x10,out=9x10,kernel=3x5,pool_stride=1,padding=1x2,divisor=4",
};

static void each(const char *dtype, void (*prove)(const char *text, const gt_problem *problem)) {
  for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
    gt_problem problem;
    gt_error error = {0};
    char *text = gt_print("%s,n=1,c=1,dtype=%s", problems[i], dtype);
    if (gt_problem_parse(text, &problem, &error)) fail_msg("%s: %s", text, error.text);
    prove(text, &problem);
    free(text);
  }
}

static double random_value(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) / 0x1p53 - 0.5;
}

static int64_t count(const int64_t sizes[GT_AXES]) {
  return sizes[0] * sizes[1] * sizes[2];
}

static void prove_taps(const char *text, const gt_problem *problem, double tolerance) {
  double *right = matrix_of(problem), *taps = taps_of(problem);
  int64_t n_in = count(problem->in), n_out = count(problem->out);
  for (int64_t i = 0; i < n_in * n_out; i++)
    if (!(fabs(taps[i] - right[i]) <= tolerance))
      fail_msg("%s: output %lld reads input %lld with %.17g, not %.17g", text, (long long)(i / n_in),
               (long long)(i % n_in), taps[i], right[i]);
  free(right);
  free(taps);
}

static void prove_taps_double(const char *text, const gt_problem *problem) {
  prove_taps(text, problem, 1e-13);
}

static void prove_taps_float(const char *text, const gt_problem *problem) {
  prove_taps(text, problem, 2e-5); // positions up to 31 in float
}

static void the_tables_are_the_forwards_matrix(void **state) {
  (void)state;
  each("f64", prove_taps_double);
  each("f32", prove_taps_float);
  each("bf16", prove_taps_float);
}

// <forward(x), g> = <x, backward(g)>
static void prove_adjoint(const char *text, const gt_problem *problem) {
  int64_t n_in = count(problem->in), n_out = count(problem->out);
  double *forward = matrix_of(problem), *x = gt_alloc((size_t)n_in * sizeof *x);
  double *g = gt_alloc((size_t)n_out * sizeof *g), *back = gt_alloc((size_t)n_in * sizeof *back);
  double left = 0, right = 0;
  uint64_t seed = 1;
  for (int64_t i = 0; i < n_in; i++) x[i] = random_value(&seed);
  for (int64_t o = 0; o < n_out; o++) g[o] = random_value(&seed);
  assert_int_equal(gt_reference(problem, 1, g, back, NULL, NULL), GT_OK);
  for (int64_t o = 0; o < n_out; o++)
    for (int64_t i = 0; i < n_in; i++) left += forward[o * n_in + i] * x[i] * g[o];
  for (int64_t i = 0; i < n_in; i++) right += x[i] * back[i];
  if (fabs(left - right) > 1e-12 * sqrt((double)(n_in * n_out)))
    fail_msg("%s: %.17g and %.17g", text, left, right);
  free(forward);
  free(x);
  free(g);
  free(back);
}

static void the_reference_is_the_forwards_adjoint(void **state) {
  (void)state;
  each("f64", prove_adjoint);
}

// The backward of a gradient that is 1 at one output and 0 elsewhere is that output's row of the forward.
static void prove_one_hot(const char *text, const gt_problem *problem) {
  int64_t n_in = count(problem->in), n_out = count(problem->out);
  double *taps = taps_of(problem), *g = gt_alloc((size_t)n_out * sizeof *g);
  double *back = gt_alloc((size_t)n_in * sizeof *back);
  for (int64_t o = 0; o < n_out; o++) {
    g[o] = 1;
    assert_int_equal(gt_reference(problem, 1, g, back, NULL, NULL), GT_OK);
    for (int64_t i = 0; i < n_in; i++)
      if (fabs(back[i] - taps[o * n_in + i]) > 4e-7) // sums and quotients of the tables are rounded to float
        fail_msg("%s: output %lld, input %lld: %.17g, not %.17g", text, (long long)o, (long long)i, back[i],
                 taps[o * n_in + i]);
    g[o] = 0;
  }
  free(taps);
  free(g);
  free(back);
}

static void a_single_gradient_gives_its_outputs_weights(void **state) {
  (void)state;
  each("f32", prove_one_hot);
}

static void prove_linear(const char *text, const gt_problem *problem) {
  int64_t n_in = count(problem->in), n_out = count(problem->out);
  double *g[3], *back[3];
  uint64_t seed = 7;
  for (int k = 0; k < 3; k++) {
    g[k] = gt_alloc((size_t)n_out * sizeof **g);
    back[k] = gt_alloc((size_t)n_in * sizeof **back);
    for (int64_t o = 0; o < n_out; o++) g[k][o] = k < 2 ? random_value(&seed) : g[0][o] - 3 * g[1][o];
    assert_int_equal(gt_reference(problem, 1, g[k], back[k], NULL, NULL), GT_OK);
  }
  for (int64_t i = 0; i < n_in; i++)
    if (fabs(back[2][i] - (back[0][i] - 3 * back[1][i])) > 1e-12)
      fail_msg("%s: input %lld", text, (long long)i);
  for (int k = 0; k < 3; k++) {
    free(g[k]);
    free(back[k]);
  }
}

static void the_reference_is_linear(void **state) {
  (void)state;
  each("f32", prove_linear);
}

// Interpolations and averages keep a constant, unless padding or a divisor take part.
static void prove_constant(const char *text, const gt_problem *problem) {
  int64_t n_in = count(problem->in), n_out = count(problem->out);
  const gt_pool *pool = &problem->pool;
  if (problem->op->keys & GT_KEY_POOL &&
      (pool->divisor || (pool->count_include_pad && pool->padding[1] + pool->padding[2] > 0)))
    return;
  double *taps = taps_of(problem);
  for (int64_t o = 0; o < n_out; o++) {
    double sum = 0;
    for (int64_t i = 0; i < n_in; i++) sum += taps[o * n_in + i];
    if (fabs(sum - 1) > 1e-6)
      fail_msg("%s: the weights of output %lld sum to %.17g", text, (long long)o, sum);
  }
  free(taps);
}

static void the_weights_of_an_output_sum_to_one(void **state) {
  (void)state;
  each("f16", prove_constant);
  each("f64", prove_constant);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_tables_are_the_forwards_matrix),
      cmocka_unit_test(the_reference_is_the_forwards_adjoint),
      cmocka_unit_test(a_single_gradient_gives_its_outputs_weights),
      cmocka_unit_test(the_reference_is_linear),
      cmocka_unit_test(the_weights_of_an_output_sum_to_one),
  };
  return cmocka_run_group_tests_name("adjoint", tests, NULL, NULL);
}
