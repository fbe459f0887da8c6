#include "generator/filters.h"

#include <math.h>
#include <string.h>

// --- arithmetic ----------------------------------------------------------------------------------

// A result of one arithmetic operation, rounded as PyTorch's arithmetic type rounds it. Operands are values
// of that type, and double has more than twice the bits of float and two more, so rounding a sum, difference,
// product or quotient to double first changes no float result (Figueroa, "When is double rounding
// innocuous?", 1995). The volatile store keeps the compiler from contracting two operations into a fused one
// and from carrying excess precision.
static double rounded(bool wide, double value) {
  if (wide) {
    volatile double kept = value;
    return kept;
  }
  volatile float narrow = (float)value;
  return narrow;
}

// PyTorch's results tell where its builds contract a product and a sum: ATen/native/cpu is compiled for
// processors that have such an operation, the rest of ATen/native is not. tests/oracle has cases that differ
// by more than their tolerance.

// a · b + c with one rounding.
static double fused(bool wide, double a, double b, double c) {
  return wide ? fma(a, b, c) : fmaf((float)a, (float)b, (float)c);
}

// a · b + c with a rounding after each operation.
static double separate(bool wide, double a, double b, double c) {
  return rounded(wide, rounded(wide, a * b) + c);
}

typedef double (*multiply_add)(bool wide, double a, double b, double c);

// What of 0 … limit a position is in: a scale that does not fit the sizes can point past the end, even to
// infinity, where a conversion is undefined.
static int64_t truncated(double position, int64_t limit) {
  return !(position > 0) ? 0 : position < (double)limit ? (int64_t)position : limit;
}

// Notes one more read. An input that follows itself is read once, with the sum of its weights.
static void add(const gt_filter *filter, gt_reads *reads, int64_t input, double weight) {
  int64_t last = reads->count - 1;
  if (last >= 0 && reads->input[last] == input) {
    reads->weight[last] = rounded(filter->wide, reads->weight[last] + weight);
    return;
  }
  reads->input[reads->count] = input;
  reads->weight[reads->count++] = weight;
}

// --- positions -----------------------------------------------------------------------------------

// Source: area_pixel_compute_scale and compute_scales_value in ATen/native/UpSample.h.
double gt_filter_ratio(const gt_problem *problem, int axis) {
  bool wide = gt_problem_double_positions(problem);
  int64_t in = problem->in[axis], out = problem->out[axis];
  if (problem->align_corners) {
    if (out == 1) return 0;
    return rounded(wide, rounded(wide, (double)(in - 1)) / rounded(wide, (double)(out - 1)));
  }
  if (problem->has_scale && problem->scale[axis] > 0) return rounded(wide, 1.0 / problem->scale[axis]);
  return rounded(wide, rounded(wide, (double)in) / rounded(wide, (double)out));
}

// ratio · (o + 0.5) - 0.5, or ratio · o. Source: area_pixel_compute_source_index in UpSample.h with cubic =
// true, which does not clamp at zero.
static double source_position(const gt_filter *filter, int64_t output, multiply_add with) {
  double at = rounded(filter->wide, (double)output);
  if (filter->align_corners) return rounded(filter->wide, filter->ratio * at);
  return with(filter->wide, filter->ratio, rounded(filter->wide, at + 0.5), -0.5);
}

// How far a position lies behind an input, from 0 to 1. Source: guard_index_and_lambda in UpSample.h.
static double fraction(const gt_filter *filter, double at, int64_t input) {
  double rest = rounded(filter->wide, at - rounded(filter->wide, (double)input));
  return rest < 0 ? 0 : rest > 1 ? 1 : rest;
}

// --- interpolation -------------------------------------------------------------------------------

static void read_copy(const gt_filter *filter, int64_t output, gt_reads *reads) {
  add(filter, reads, output, 1);
}

// Source: compute_source_index_and_lambda in UpSample.h, contracted (case open-023). On the last input both
// taps fall together.
static void read_linear(const gt_filter *filter, int64_t output, gt_reads *reads) {
  int64_t last = filter->n_in - 1;
  double at = source_position(filter, output, fused);
  if (at < 0) at = 0;
  int64_t low = truncated(at, last);
  double weight = fraction(filter, at, low);
  add(filter, reads, low, rounded(filter->wide, 1 - weight));
  add(filter, reads, low < last ? low + 1 : last, weight);
}

// The two pieces of the cubic convolution, for distances up to 1 and from 1 to 2. Sources: Keys, "Cubic
// convolution interpolation for digital image processing", 1981; cubic_convolution1 and cubic_convolution2 in
// UpSample.h.
static double cubic_near(bool wide, double x, double a, multiply_add with) {
  double inner = with(wide, a + 2, x, -(a + 3));
  return with(wide, rounded(wide, inner * x), x, 1);
}

static double cubic_far(bool wide, double x, double a, multiply_add with) {
  return with(wide, with(wide, with(wide, a, x, -5 * a), x, 8 * a), x, -4 * a);
}

// Source: get_cubic_upsample_coefficients in UpSample.h; upsample_bicubic2d_backward_out_frame in
// UpSampleBicubic2d.cpp, not contracted (cases open-039 and open-045). Taps past a border are those of the
// border.
static void read_cubic(const gt_filter *filter, int64_t output, gt_reads *reads) {
  const double a = -0.75;
  bool wide = filter->wide;
  int64_t last = filter->n_in - 1;
  double at = source_position(filter, output, separate);
  int64_t middle = at < 0 ? -1 : truncated(at, last); // the smallest position is -0.5
  double t = fraction(filter, at, middle), rest = rounded(wide, 1 - t);
  const double weights[] = {cubic_far(wide, rounded(wide, t + 1), a, separate),
                            cubic_near(wide, t, a, separate), cubic_near(wide, rest, a, separate),
                            cubic_far(wide, rounded(wide, rest + 1), a, separate)};
  for (int i = 0; i < 4; i++) {
    int64_t input = middle - 1 + i;
    add(filter, reads, input < 0 ? 0 : input > last ? last : input, weights[i]);
  }
}

// --- antialiased interpolation -------------------------------------------------------------------

// Sources: the aa_filter functions of HelperInterpLinear and HelperInterpCubic in
// ATen/native/cpu/UpSampleKernel.cpp, contracted (case open-079).
static double tent(bool wide, double x) {
  x = fabs(x);
  return x < 1 ? rounded(wide, 1 - x) : 0;
}

static double keys(bool wide, double x) {
  x = fabs(x);
  return x < 1 ? cubic_near(wide, x, -0.5, fused) : x < 2 ? cubic_far(wide, x, -0.5, fused) : 0;
}

// Source: _compute_indices_min_size_weights_aa in UpSampleKernel.cpp. Its literals are doubles, so that a
// float is widened where it meets one, and rounded again where a variable takes the result.
static void read_antialiased(const gt_filter *filter, int64_t output, gt_reads *reads,
                             double (*shape)(bool wide, double x)) {
  bool wide = filter->wide;
  double ratio = filter->ratio, center = rounded(wide, ratio * ((double)output + 0.5));
  double inverse = ratio >= 1 ? rounded(wide, 1 / ratio) : 1;
  int64_t first = truncated(rounded(wide, center - filter->support) + 0.5, filter->n_in);
  int64_t end = truncated(rounded(wide, center + filter->support) + 0.5, filter->n_in);
  if (end > first + filter->most) end = first + filter->most;
  double total = 0;
  for (int64_t input = first; input < end; input++) {
    double distance = rounded(wide, (double)input - center) + 0.5;
    double weight = shape(wide, rounded(wide, distance * inverse));
    total = rounded(wide, total + weight);
    add(filter, reads, input, weight);
  }
  for (int64_t i = 0; total != 0 && i < reads->count; i++)
    reads->weight[i] = rounded(wide, reads->weight[i] / total);
}

static void read_linear_aa(const gt_filter *filter, int64_t output, gt_reads *reads) {
  read_antialiased(filter, output, reads, tent);
}

static void read_cubic_aa(const gt_filter *filter, int64_t output, gt_reads *reads) {
  read_antialiased(filter, output, reads, keys);
}

// `size` is that of the filter: 2 for linear, 4 for cubic. Source: cpu_upsample_genNd_backward_aa.
static void set_support(gt_filter *filter, int size) {
  double half = size * 0.5;
  filter->support = filter->ratio >= 1 ? rounded(filter->wide, half * filter->ratio) : half;
  double most = 2 * ceil(filter->support) + 1;
  filter->most = most < (double)filter->n_in ? (int64_t)most : filter->n_in;
}

// --- nearest -------------------------------------------------------------------------------------

// Source: nearest_idx and nearest_neighbor_compute_source_index in UpSample.h. Twice the size ignores the
// scale.
static void read_nearest(const gt_filter *filter, int64_t output, gt_reads *reads) {
  double at = rounded(filter->wide, rounded(filter->wide, (double)output) * filter->ratio);
  bool twice = filter->n_out == 2 * filter->n_in;
  add(filter, reads, twice ? output / 2 : truncated(at, filter->n_in - 1), 1);
}

// Source: nearest_neighbor_exact_compute_source_index in UpSample.h, where 0.5 is a double.
static void read_nearest_exact(const gt_filter *filter, int64_t output, gt_reads *reads) {
  double at = rounded(filter->wide, ((double)output + 0.5) * filter->ratio);
  add(filter, reads, truncated(at, filter->n_in - 1), 1);
}

// --- pooling -------------------------------------------------------------------------------------

// Source: start_index and end_index in ATen/native/AdaptivePooling.h: ⌊o·in/out⌋ up to ⌈(o+1)·in/out⌉.
static void read_adaptive_average(const gt_filter *filter, int64_t output, gt_reads *reads) {
  int64_t in = filter->n_in, out = filter->n_out;
  int64_t first = output * in / out, end = ((output + 1) * in + out - 1) / out;
  double weight = rounded(filter->wide, 1.0 / (double)(end - first));
  for (int64_t input = first; input < end; input++) add(filter, reads, input, weight);
}

// Source: cpu_avg_pool in ATen/native/cpu/AvgPoolKernel.cpp. A window's padding ends with that of the input.
static void read_average(const gt_filter *filter, int64_t output, gt_reads *reads) {
  int64_t in = filter->n_in, first = output * filter->stride - filter->padding, end = first + filter->kernel;
  if (end > in + filter->padding) end = in + filter->padding;
  int64_t window = end - first;
  if (first < 0) first = 0;
  if (end > in) end = in;
  if (!filter->count_include_pad) window = end - first;
  double weight = rounded(filter->wide, 1.0 / (filter->divisor ? filter->divisor : (double)window));
  for (int64_t input = first; input < end; input++) add(filter, reads, input, weight);
}

// The divisor of a window is the product of those of the axes; one that was given goes to the last axis.
static void set_pool(gt_filter *filter, const gt_pool *pool, int axis) {
  filter->kernel = pool->kernel[axis];
  filter->stride = pool->stride[axis];
  filter->padding = pool->padding[axis];
  filter->count_include_pad = pool->count_include_pad;
  if (pool->divisor) filter->divisor = axis == GT_AXES - 1 ? (double)pool->divisor : 1;
  filter->most = filter->kernel < filter->n_in ? filter->kernel : filter->n_in;
}

// --- the table -----------------------------------------------------------------------------------

// When equal sizes are copied, whatever the scale.
typedef enum {
  COPY_NEVER,
  COPY_AXIS, // where those of the axis are
  COPY_ALL,  // where those of all axes are
} copy_rule;

static const struct {
  const char *name;
  void (*read)(const gt_filter *filter, int64_t output, gt_reads *reads);
  copy_rule copy;
  int size; // inputs of an output; of antialiased filters, where they do not downscale; 0: see gt_filter_make
} filters[] = {
    {"linear", read_linear, COPY_AXIS, 2},
    {"cubic", read_cubic, COPY_ALL, 4},
    {"linear_aa", read_linear_aa, COPY_NEVER, 2},
    {"cubic_aa", read_cubic_aa, COPY_NEVER, 4},
    {"nearest", read_nearest, COPY_AXIS, 1},
    {"nearest_exact", read_nearest_exact, COPY_NEVER, 1},
    {"adaptive_average", read_adaptive_average, COPY_NEVER, 0},
    {"average", read_average, COPY_NEVER, 0},
};

static int find(const char *name) {
  int count = (int)(sizeof filters / sizeof filters[0]), i = 0;
  while (i < count && strcmp(filters[i].name, name) != 0) i++;
  return i < count ? i : -1;
}

static bool is_copy(const gt_problem *problem, int axis, copy_rule rule) {
  bool all = true;
  for (int i = 0; i < GT_AXES; i++) all = all && problem->in[i] == problem->out[i];
  if (axis < GT_AXES - problem->op->spatial_axes) return true; // an axis that the operator does not have
  return rule == COPY_ALL ? all : rule == COPY_AXIS && problem->in[axis] == problem->out[axis];
}

gt_status gt_filter_make(const gt_problem *problem, int axis, gt_filter *filter, gt_error *error) {
  int index = find(problem->op->filter);
  if (index < 0)
    return gt_fail(error, GT_UNSUPPORTED, "axis: filter '%s' of %s has no axis function", problem->op->filter,
                   problem->op->name);
  gt_filter made = {.read = filters[index].read,
                    .most = filters[index].size,
                    .n_in = problem->in[axis],
                    .n_out = problem->out[axis],
                    .wide = gt_problem_double_positions(problem),
                    .align_corners = problem->align_corners,
                    .ratio = gt_filter_ratio(problem, axis)};
  if (made.read == read_linear_aa || made.read == read_cubic_aa) set_support(&made, filters[index].size);
  if (made.read == read_adaptive_average) made.most = made.n_in / made.n_out + 2;
  if (made.read == read_average) set_pool(&made, &problem->pool, axis);
  if (is_copy(problem, axis, filters[index].copy)) {
    made.read = read_copy;
    made.most = 1;
    made.ratio = 1;
  }
  *filter = made;
  return GT_OK;
}

void gt_filter_read(const gt_filter *filter, int64_t output, gt_reads *reads) {
  reads->count = 0;
  filter->read(filter, output, reads);
}
