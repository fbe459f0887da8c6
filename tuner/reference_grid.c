#include "tuner/reference_grid.h"

#include <math.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "tuner/storage.h"

#define MOST_TAPS 4

// What a sample reads along one axis: up to four pixels, their weights, and the weights' derivatives with respect to
// the coordinate.
typedef struct {
  int count;
  int64_t at[MOST_TAPS]; // outside of 0 … size-1: counts for nothing
  double weight[MOST_TAPS], slope[MOST_TAPS];
} reads;

// The arithmetic of positions: float but for f64.
static double rounded(const gt_problem *problem, double value) {
  return problem->dtype == GT_F64 ? value : (double)(float)value;
}

// a·b + c, rounded once.
static double contracted(const gt_problem *problem, double a, double b, double c) {
  return problem->dtype == GT_F64 ? fma(a, b, c) : (double)fmaf((float)a, (float)b, (float)c);
}

// ((x+1)·size - 1)/2 or (x+1)/2·(size-1), as compilers contract the forward's expression.
static double position_of(const gt_problem *problem, double x, int64_t size) {
  double moved = rounded(problem, x + 1);
  if (problem->align_corners) return rounded(problem, moved / 2 * (double)(size - 1));
  return contracted(problem, moved, (double)size, -1) / 2;
}

static bool fits_int(double position) {
  return position > -2147483648.0 && position < 2147483520.0; // false for NaN
}

// Mirrors at both ends until it lies between them. *sign is the derivative.
static double reflect(const gt_problem *problem, double position, int64_t size, double *sign) {
  double low = problem->align_corners ? 0 : -0.5, span = (double)(problem->align_corners ? size - 1 : size);
  *sign = 1;
  if (span == 0) {
    *sign = 0;
    return 0;
  }
  double from = rounded(problem, position - low);
  if (from < 0) {
    *sign = -1;
    from = -from;
  }
  double rest = fmod(from, span);
  bool odd = fmod((from - rest) / span, 2) == 1;
  if (!odd) return rounded(problem, rest + low);
  *sign = -*sign;
  return rounded(problem, rounded(problem, span - rest) + low);
}

static double clip(double position, int64_t size, double *slope) {
  if (position > 0 && position < (double)(size - 1)) return position;
  if (isnan(position)) return position;
  *slope = 0;
  return position <= 0 ? 0 : (double)(size - 1);
}

// Source: grid_sampler_compute_source_index_set_grad in ATen/native/GridSampler.h; a reflected coordinate that no int
// can hold counts as -100 here, where PyTorch's result is undefined.
static double source(const gt_problem *problem, double x, int64_t size, double *slope) {
  double position = position_of(problem, x, size), sign = 1;
  if (problem->sampling.padding == GT_PADDING_REFLECTION) {
    if (!fits_int(position)) return -100;
    position = reflect(problem, position, size, &sign);
    *slope *= sign;
  }
  if (problem->sampling.padding != GT_PADDING_ZEROS) position = clip(position, size, slope);
  return fits_int(position) ? position : -100;
}

// a·b + c, rounded twice.
static double in_steps(const gt_problem *problem, double a, double b, double c) {
  return rounded(problem, rounded(problem, a * b) + c);
}

// Cubic convolution with a = -0.75 (Keys, 1981), with the roundings of the forward's Horner's rule, and its derivative,
// at a distance.
static double cubic(const gt_problem *problem, double d, double *slope) {
  const double a = -0.75;
  if (d <= 1) {
    *slope = 3 * (a + 2) * d * d - 2 * (a + 3) * d;
    return in_steps(problem, rounded(problem, in_steps(problem, a + 2, d, -(a + 3)) * d), d, 1);
  }
  *slope = 3 * a * d * d - 10 * a * d + 8 * a;
  return in_steps(problem, in_steps(problem, in_steps(problem, a, d, -5 * a), d, 8 * a), d, -4 * a);
}

// Where a bicubic tap reads: every tap is padded by itself.
static int64_t padded(const gt_problem *problem, double tap, int64_t size) {
  double ignored;
  if (problem->sampling.padding == GT_PADDING_REFLECTION) tap = reflect(problem, tap, size, &ignored);
  if (problem->sampling.padding != GT_PADDING_ZEROS) tap = clip(tap, size, &ignored);
  return tap >= 0 && tap < (double)size ? (int64_t)tap : -1;
}

static void read_bicubic(const gt_problem *problem, double x, int64_t size, double slope, reads *r) {
  double position = position_of(problem, x, size);
  bool moves = problem->sampling.padding == GT_PADDING_BORDER;
  if (isnan(position) || (!moves && !fits_int(position))) position = -100;
  if (isinf(position)) position = position < 0 ? -100 : (double)size + 100;
  double whole = floor(position), t = rounded(problem, position - whole), derivative;
  r->count = 4;
  for (int k = 0; k < 4; k++) {
    double distance = rounded(problem, k < 2 ? 1 - k + t : k - 1 - t);
    r->weight[k] = cubic(problem, distance, &derivative);
    r->slope[k] = (k < 2 ? 1 : -1) * derivative * slope;
    r->at[k] = padded(problem, whole + k - 1, size);
  }
}

static void read_axis(const gt_problem *problem, double x, int64_t size, reads *r) {
  double slope = (double)(problem->align_corners ? size - 1 : size) / 2;
  if (problem->sampling.interpolation == GT_INTERPOLATION_BICUBIC) {
    read_bicubic(problem, x, size, slope, r);
    return;
  }
  double position = source(problem, x, size, &slope);
  if (problem->sampling.interpolation == GT_INTERPOLATION_NEAREST) {
    *r = (reads){.count = 1, .at = {(int64_t)nearbyint(position)}, .weight = {1}};
    return;
  }
  double whole = floor(position), t = rounded(problem, position - whole);
  *r = (reads){.count = 2,
               .at = {(int64_t)whole, (int64_t)whole + 1},
               .weight = {rounded(problem, 1 - t), t},
               .slope = {-slope, slope}};
}

static bool is_inside(int64_t at, int64_t size) {
  return at >= 0 && at < size;
}

static void add_term(double product, double *sum, double *term) {
  *sum += product;
  if (fabs(product) > *term) *term = fabs(product);
}

// One sample of an image, whose tensors `t` has.
static void sample(const gt_problem *problem, const gt_grid_tensors *t, int64_t number) {
  const int64_t height = problem->in[1], width = problem->in[2], channels = problem->c;
  const int64_t samples = problem->out[1] * problem->out[2], pixels = height * width;
  bool last = problem->layout == GT_NHWC;
  reads x, y;
  read_axis(problem, t->grid[2 * number], width, &x);
  read_axis(problem, t->grid[2 * number + 1], height, &y);
  for (int64_t c = 0; c < channels; c++) {
    double gradient = t->grad_output[last ? number * channels + c : c * samples + number];
    for (int j = 0; j < y.count; j++)
      for (int i = 0; i < x.count; i++) {
        if (!is_inside(y.at[j], height) || !is_inside(x.at[i], width)) continue;
        int64_t pixel = y.at[j] * width + x.at[i], at = last ? pixel * channels + c : c * pixels + pixel;
        if (t->grad_input)
          add_term(y.weight[j] * x.weight[i] * gradient, &t->grad_input[at], &t->grad_input_term[at]);
        if (!t->grad_grid) continue;
        double value = t->input[at] * gradient, *sum = &t->grad_grid[2 * number], *term = &t->grad_grid_term[2 * number];
        add_term(y.weight[j] * x.slope[i] * value, &sum[0], &term[0]);
        add_term(y.slope[j] * x.weight[i] * value, &sum[1], &term[1]);
      }
  }
}

static double *advance(double *tensor, int64_t elements) {
  return tensor ? tensor + elements : NULL;
}

void gt_reference_grid(const gt_problem *problem, int64_t images, const gt_grid_tensors *tensors) {
  int64_t samples = problem->out[1] * problem->out[2], pixels = problem->in[1] * problem->in[2];
  int64_t in = pixels * problem->c, out = samples * problem->c;
  gt_grid_tensors t = *tensors;
  for (int64_t i = 0; t.grad_input && i < images * in; i++) t.grad_input[i] = t.grad_input_term[i] = 0;
  for (int64_t i = 0; t.grad_grid && i < images * samples * 2; i++) t.grad_grid[i] = t.grad_grid_term[i] = 0;
  for (int64_t n = 0; n < images; n++) {
    for (int64_t number = 0; number < samples; number++) sample(problem, &t, number);
    t.grad_output += out;
    t.grid += 2 * samples;
    if (t.input) t.input += in;
    t.grad_input = advance(t.grad_input, in), t.grad_input_term = advance(t.grad_input_term, in);
    t.grad_grid = advance(t.grad_grid, 2 * samples), t.grad_grid_term = advance(t.grad_grid_term, 2 * samples);
  }
}

double gt_reference_grid_terms(const gt_problem *problem, int64_t images, const void *grid) {
  const int64_t height = problem->in[1], width = problem->in[2];
  int64_t samples = problem->out[1] * problem->out[2], most = 1;
  int64_t *count = gt_alloc((size_t)(height * width) * sizeof *count);
  for (int64_t n = 0; n < images; n++) {
    for (int64_t i = 0; i < height * width; i++) count[i] = 0;
    for (int64_t number = n * samples; number < (n + 1) * samples; number++) {
      reads x, y;
      read_axis(problem, gt_storage_load(problem->dtype, grid, (size_t)(2 * number)), width, &x);
      read_axis(problem, gt_storage_load(problem->dtype, grid, (size_t)(2 * number + 1)), height, &y);
      for (int j = 0; j < y.count; j++)
        for (int i = 0; i < x.count; i++)
          if (is_inside(y.at[j], height) && is_inside(x.at[i], width)) count[y.at[j] * width + x.at[i]]++;
    }
    for (int64_t i = 0; i < height * width; i++)
      if (count[i] > most) most = count[i];
  }
  free(count);
  return (double)most;
}

double gt_reference_grid_largest(const gt_problem *problem, bool of_grid) {
  if (!of_grid || problem->sampling.interpolation == GT_INTERPOLATION_NEAREST) return 1;
  int64_t size = problem->in[1] > problem->in[2] ? problem->in[1] : problem->in[2];
  // The cubic convolution is nowhere steeper than 1.35 per pixel.
  return (problem->sampling.interpolation == GT_INTERPOLATION_BICUBIC ? 1.35 : 1) * (double)size / 2;
}
