// Problems: an operator, sizes, data type, layout and flags; their one textual form, OPERATOR:key=value,…
//
//   upsample_bilinear2d_backward:n=8,c=64,in=128x128,out=256x256,dtype=f16,layout=nchw,align_corners=0,scale=2x2
//   avg_pool2d_backward:n=8,c=64,in=56x56,out=28x28,dtype=f16,layout=nchw,kernel=3x3,pool_stride=2x2,padding=1x1,…
//   grid_sampler_2d_backward:n=8,c=64,in=64x64,out=96x96,dtype=f32,layout=nchw,interpolation=bilinear,padding=zeros,…
//
// Keys of every operator: n (batch), c (channels), in and out (spatial sizes of the forward's input and
// output, outermost first, joined by x), dtype (f32 f16 bf16 f64), layout (nchw nhwc). Of some: stride (of a
// grad_output that is a slice of a larger tensor; see strides.h), align_corners
// (0 1), scale (the user's scale_factor per axis; absent when sizes alone were given); of
// avg_pool2d_backward: kernel, pool_stride (default: the kernel), padding (default 0), ceil_mode (0 1),
// count_include_pad (0 1, default 1) and divisor (absent: that of the window); of grid_sampler_2d_backward:
// interpolation (bilinear, the default, nearest or bicubic), padding (zeros, the default, border or
// reflection), want (input, grid or, the default, both: which gradients) and grid (what the sampling positions
// are like, for tuning: identity, smooth, random or contended; absent: anything). Required: n, c, in, out,
// dtype, and kernel where it is legal. The canonical form has every key that the operator has, in the order
// above, but for align_corners after padding; `scale`, `divisor` and `grid` only when they were given, `stride`
// only when it is not that of a dense tensor.
#ifndef GT_GENERATOR_PROBLEM_H
#define GT_GENERATOR_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define GT_AXES \
  3 // depth, height, width; the axes that an operator does not have come first and have length 1
#define GT_DIMENSIONS (2 + GT_AXES) // of a tensor: batch, channels, depth, height, width
#define GT_PROBLEM_TEXT 512

// X(enumerator suffix, name in texts, bytes)
#define GT_DTYPE_LIST(X) X(F32, "f32", 4) X(F16, "f16", 2) X(BF16, "bf16", 2) X(F64, "f64", 8)
typedef enum {
#define X(name, text, bytes) GT_##name,
  GT_DTYPE_LIST(X)
#undef X
} gt_dtype;

typedef enum { GT_NCHW, GT_NHWC } gt_layout;

// Keys that only some operators have, as flags.
enum {
  GT_KEY_ALIGN_CORNERS = 1,
  GT_KEY_SCALE = 2,
  GT_KEY_POOL = 4, // kernel, pool_stride, padding, ceil_mode, count_include_pad and divisor
  GT_KEY_GRID = 8, // interpolation, padding, want and grid
  GT_KEY_STRIDE = 16,
};

// What an operator's kernels are given, and how they find what to sum.
typedef enum {
  GT_FORM_SEPARABLE, // grad_output; a banded sum along each axis (docs/problem-form.md)
  GT_FORM_GRID,      // grad_output, input and grid; positions come from the grid (docs/grid.md)
} gt_form;

// What the project knows about an operator. One line of the table in operator.c each.
typedef struct {
  const char *name;    // ATen's name, "upsample_bilinear2d_backward"
  int spatial_axes;    // 1, 2 or 3
  gt_form form;
  const char *filter;  // separable: which axis function gives its taps, as filters.c names it: "linear"
  unsigned keys;       // the legal ones of GT_KEY_…
  bool float_position; // source positions are computed in float for f64 too
} gt_operator;

const gt_operator *gt_operator_find(const char *name); // NULL when unknown
const gt_operator *gt_operator_at(size_t index);       // NULL past the end

// The windows of an average pooling: output o of an axis reads kernel inputs from o · stride - padding on.
typedef struct {
  int64_t kernel[GT_AXES], stride[GT_AXES],
      padding[GT_AXES];   // 1, 1, 0 on the axes that the operator does not have
  bool ceil_mode;         // whether a last window may begin that the inputs do not fill
  bool count_include_pad; // whether a sum is divided by the size of the window with its padding
  int64_t divisor;        // what sums are divided by instead; 0 when it was not given
} gt_pool;

// X(enumerator suffix, name in texts)
#define GT_INTERPOLATION_LIST(X) X(BILINEAR, "bilinear") X(NEAREST, "nearest") X(BICUBIC, "bicubic")
#define GT_PADDING_LIST(X) X(ZEROS, "zeros") X(BORDER, "border") X(REFLECTION, "reflection")
#define GT_WANT_LIST(X) X(INPUT, "input") X(GRID, "grid") X(BOTH, "both")
#define GT_GRID_CLASS_LIST(X) \
  X(ANY, "") X(IDENTITY, "identity") X(SMOOTH, "smooth") X(RANDOM, "random") X(CONTENDED, "contended")
#define X(name, text) GT_INTERPOLATION_##name,
typedef enum { GT_INTERPOLATION_LIST(X) } gt_interpolation;
#undef X
#define X(name, text) GT_PADDING_##name,
typedef enum { GT_PADDING_LIST(X) } gt_padding;
#undef X
#define X(name, text) GT_WANT_##name,
typedef enum { GT_WANT_LIST(X) } gt_want;
#undef X
#define X(name, text) GT_GRID_CLASS_##name,
typedef enum { GT_GRID_CLASS_LIST(X) GT_GRID_CLASSES } gt_grid_class;
#undef X

// How a grid of positions samples, and which gradients are asked for.
typedef struct {
  gt_interpolation interpolation;
  gt_padding padding;
  gt_want want;
  gt_grid_class positions; // what the grid is like; kernels do not depend on it, only which is the fastest
} gt_sampling;

typedef struct {
  const gt_operator *op;
  int64_t n, c;                      // n=0 or c=0 is a legal, empty problem
  int64_t in[GT_AXES], out[GT_AXES]; // spatial sizes of grad_input and grad_output: depth, height, width
  gt_dtype dtype;
  gt_layout layout;
  bool strided;                  // whether grad_output has gaps
  int64_t stride[GT_DIMENSIONS]; // then: of grad_output in elements, as strides.h makes them canonical
  bool align_corners;
  bool has_scale;
  double scale[GT_AXES]; // > 0, valid when has_scale; 1 on the axes that the operator does not have
  gt_pool pool;          // valid when the operator has GT_KEY_POOL
  gt_sampling sampling;  // valid when its form is GT_FORM_GRID
} gt_problem;

// Parses and validates. GT_USAGE with one line that points at the offending key. Element counts of either
// tensor up to 2^46 are accepted, larger ones refused, as are scales whose reciprocal overflows the
// arithmetic of the data type, `out` that a pool's keys do not give, and strides of another order than the
// layout's or with which elements would overlap.
gt_status gt_problem_parse(const char *text, gt_problem *problem, gt_error *error);

// The canonical text. The result parses to the same problem.
void gt_problem_print(const gt_problem *problem, char text[GT_PROBLEM_TEXT]);

// The canonical text without what one kernel serves all values of: n, and, of separable operators, c where the
// layout is nchw, unless strides keep channels of different batches from being evenly spaced; of strides that
// do not, without the batch's; `grid`. Two problems with the same kernel text render to the same variants.
void gt_problem_print_kernel(const gt_problem *problem, char text[GT_PROBLEM_TEXT]);
bool gt_problem_same_kernels(const gt_problem *a, const gt_problem *b);

// The problem form that the kernels see (see docs/problem-form.md): grad_input[outer][d][h][w][inner].
int64_t gt_problem_outer(const gt_problem *problem);        // n·c for nchw (and for c = 1), n for nhwc and grids
int64_t gt_problem_inner(const gt_problem *problem);        // 1 for nchw, c for nhwc
int64_t gt_problem_in_elements(const gt_problem *problem);  // of grad_input
int64_t gt_problem_out_elements(const gt_problem *problem); // of grad_output

// Whether the source positions and weights of an axis are computed in double, not in float.
bool gt_problem_double_positions(const gt_problem *problem);

// The name of a sampling's padding and so on, as in texts; "" for positions of any kind.
const char *gt_interpolation_name(gt_interpolation interpolation);
const char *gt_padding_name(gt_padding padding);
const char *gt_want_name(gt_want want);
const char *gt_grid_class_name(gt_grid_class positions);

size_t gt_dtype_bytes(gt_dtype dtype);
const char *gt_dtype_name(gt_dtype dtype);
bool gt_dtype_from_name(const char *name, gt_dtype *dtype);
const char *gt_layout_name(gt_layout layout);

#endif
