// The grammar of problems: parses and validates their texts.
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "generator/problem.h"
#include "generator/strides.h"

#define MAX_ELEMENTS ((int64_t)1 << 46)

// --- pieces of text ------------------------------------------------------------------------------

// Part of the text that is parsed.
typedef struct {
  const char *start;
  size_t length;
} span;

// A span as it appears in an error: short, on one line, whatever it holds.
typedef struct {
  char text[52];
} quoted;

static quoted quote(span from) {
  quoted result = {{0}};
  size_t most = sizeof result.text - 4, length = from.length < most ? from.length : most;
  for (size_t i = 0; i < length; i++)
    result.text[i] = from.start[i] >= ' ' && from.start[i] <= '~' ? from.start[i] : '?';
  if (length < from.length) memcpy(result.text + length, "...", 4);
  return result;
}

static bool equals(span a, const char *b) {
  return a.length == strlen(b) && memcmp(a.start, b, a.length) == 0;
}

// Takes what comes before `separator` (or everything) off the front of *rest. False when nothing is left to
// take.
static bool split(span *rest, char separator, span *piece) {
  if (!rest->start) return false;
  const char *end = memchr(rest->start, separator, rest->length);
  *piece = (span){rest->start, end ? (size_t)(end - rest->start) : rest->length};
  *rest = end ? (span){end + 1, rest->length - piece->length - 1} : (span){NULL, 0};
  return true;
}

// A whole number in decimal digits, at most MAX_ELEMENTS. Returns NULL, or what is wrong with it.
static const char *parse_integer(span text, int64_t *value) {
  *value = 0;
  for (size_t i = 0; i < text.length; i++) {
    if (text.start[i] < '0' || text.start[i] > '9') return "is not a whole number";
    *value = *value * 10 + (text.start[i] - '0');
    if (*value > MAX_ELEMENTS) return "is more than 2^46";
  }
  return text.length ? NULL : "is not a whole number";
}

// A decimal number as the C locale writes it. No signs, hexadecimal digits, infinities or NaNs.
static const char *parse_scale(span text, double *value) {
  char copy[64];
  if (text.length == 0 || text.length >= sizeof copy || strspn(text.start, "0123456789.") == 0)
    return "is not a positive number";
  memcpy(copy, text.start, text.length);
  copy[text.length] = 0;
  if (strspn(copy, "0123456789.eE+-") != text.length) return "is not a positive number";
  char *end;
  *value =
      strtod_l(copy, &end, newlocale(LC_ALL_MASK, "C", 0)); // the C locale object is static: nothing to free
  if (*end) return "is not a positive number";
  return *value > 0 && isfinite(*value) ? NULL : "is not a finite number above 0";
}

// --- keys ----------------------------------------------------------------------------------------

// Where the operator's axes start: those that it does not have come first.
static int first_axis(const gt_problem *problem) {
  return GT_AXES - problem->op->spatial_axes;
}

static gt_status bad_value(gt_error *error, const char *key, span value, const char *what) {
  return gt_fail(error, GT_USAGE, "problem: key '%s': '%s' %s", key, quote(value).text, what);
}

static gt_status parse_count(const char *key, span value, int64_t *count, gt_error *error) {
  const char *wrong = parse_integer(value, count);
  return wrong ? bad_value(error, key, value, wrong) : GT_OK;
}

static gt_status wrong_count(const gt_problem *problem, const char *key, span value, const char *what,
                             gt_error *error) {
  return gt_fail(error, GT_USAGE, "problem: key '%s': '%s' should be %d %s joined by 'x' for %s", key,
                 quote(value).text, problem->op->spatial_axes, what, problem->op->name);
}

static gt_status parse_sizes(const gt_problem *problem, const char *key, span value, int64_t least,
                             int64_t sizes[GT_AXES], gt_error *error) {
  span rest = value, piece;
  int axis = first_axis(problem);
  while (split(&rest, 'x', &piece)) {
    if (axis == GT_AXES) return wrong_count(problem, key, value, "sizes", error);
    const char *wrong = parse_integer(piece, &sizes[axis]);
    if (!wrong && sizes[axis] < least) wrong = "is no size: sizes are at least 1";
    if (wrong) return bad_value(error, key, piece, wrong);
    axis++;
  }
  return axis == GT_AXES ? GT_OK : wrong_count(problem, key, value, "sizes", error);
}

// One size per axis, or one for all.
static gt_status parse_window(const gt_problem *problem, const char *key, span value, int64_t least,
                              int64_t sizes[GT_AXES], gt_error *error) {
  int64_t one;
  if (parse_integer(value, &one) || one < least) return parse_sizes(problem, key, value, least, sizes, error);
  for (int axis = first_axis(problem); axis < GT_AXES; axis++) sizes[axis] = one;
  return GT_OK;
}

static gt_status parse_flag(const char *key, span value, bool *flag, gt_error *error) {
  if (!equals(value, "0") && !equals(value, "1")) return bad_value(error, key, value, "is not 0 or 1");
  *flag = equals(value, "1");
  return GT_OK;
}

static gt_status parse_n(gt_problem *problem, span value, gt_error *error) {
  return parse_count("n", value, &problem->n, error);
}

static gt_status parse_c(gt_problem *problem, span value, gt_error *error) {
  return parse_count("c", value, &problem->c, error);
}

static gt_status parse_in(gt_problem *problem, span value, gt_error *error) {
  return parse_sizes(problem, "in", value, 1, problem->in, error);
}

static gt_status parse_out(gt_problem *problem, span value, gt_error *error) {
  return parse_sizes(problem, "out", value, 1, problem->out, error);
}

static gt_status parse_dtype(gt_problem *problem, span value, gt_error *error) {
  char name[8] = {0};
  if (value.length < sizeof name) memcpy(name, value.start, value.length);
  if (gt_dtype_from_name(name, &problem->dtype)) return GT_OK;
  return bad_value(error, "dtype", value, "is not a data type (f32, f16, bf16, f64)");
}

static gt_status parse_layout(gt_problem *problem, span value, gt_error *error) {
  if (!equals(value, "nchw") && !equals(value, "nhwc"))
    return bad_value(error, "layout", value, "is not a layout (nchw, nhwc)");
  problem->layout = equals(value, "nhwc") ? GT_NHWC : GT_NCHW;
  return GT_OK;
}

// Of the batch, the channels and the operator's axes; whether they fit each other is settled when all keys
// are there.
static gt_status parse_stride(gt_problem *problem, span value, gt_error *error) {
  span rest = value, piece;
  int skipped = first_axis(problem), count = 0;
  while (split(&rest, 'x', &piece) && count + skipped <= GT_DIMENSIONS) {
    int dimension = count < 2 ? count : count + skipped;
    count++;
    if (dimension >= GT_DIMENSIONS) continue;
    const char *wrong = parse_integer(piece, &problem->stride[dimension]);
    if (wrong) return bad_value(error, "stride", piece, wrong);
  }
  problem->strided = true;
  if (count + skipped == GT_DIMENSIONS) return GT_OK;
  return gt_fail(error, GT_USAGE,
                 "problem: key 'stride': '%s' should be %d strides joined by 'x' for %s: of the batch, the "
                 "channels and each axis",
                 quote(value).text, GT_DIMENSIONS - skipped, problem->op->name);
}

static gt_status parse_align_corners(gt_problem *problem, span value, gt_error *error) {
  return parse_flag("align_corners", value, &problem->align_corners, error);
}

// One value per axis, or one for all.
static gt_status parse_scales(gt_problem *problem, span value, gt_error *error) {
  span rest = value, piece;
  int first = first_axis(problem), axis = first;
  while (split(&rest, 'x', &piece)) {
    if (axis == GT_AXES) return wrong_count(problem, "scale", value, "factors", error);
    const char *wrong = parse_scale(piece, &problem->scale[axis]);
    if (wrong) return bad_value(error, "scale", piece, wrong);
    axis++;
  }
  if (axis == first + 1)
    for (; axis < GT_AXES; axis++) problem->scale[axis] = problem->scale[first];
  problem->has_scale = true;
  return axis == GT_AXES ? GT_OK : wrong_count(problem, "scale", value, "factors", error);
}

static gt_status parse_kernel(gt_problem *problem, span value, gt_error *error) {
  return parse_window(problem, "kernel", value, 1, problem->pool.kernel, error);
}

static gt_status parse_pool_stride(gt_problem *problem, span value, gt_error *error) {
  return parse_window(problem, "pool_stride", value, 1, problem->pool.stride, error);
}

static gt_status parse_padding(gt_problem *problem, span value, gt_error *error) {
  return parse_window(problem, "padding", value, 0, problem->pool.padding, error);
}

static gt_status parse_ceil_mode(gt_problem *problem, span value, gt_error *error) {
  return parse_flag("ceil_mode", value, &problem->pool.ceil_mode, error);
}

static gt_status parse_count_include_pad(gt_problem *problem, span value, gt_error *error) {
  return parse_flag("count_include_pad", value, &problem->pool.count_include_pad, error);
}

static gt_status parse_divisor(gt_problem *problem, span value, gt_error *error) {
  gt_status status = parse_count("divisor", value, &problem->pool.divisor, error);
  if (status == GT_OK && problem->pool.divisor == 0)
    return bad_value(error, "divisor", value, "divides nothing: a divisor is at least 1");
  return status;
}

// One of `count` words.
static gt_status parse_word(const char *key, span value, const char *const *words, int count, int *word,
                            gt_error *error) {
  gt_buffer known = {0};
  for (int i = 0; i < count; i++) {
    if (!*words[i]) continue;
    if (equals(value, words[i])) {
      *word = i;
      gt_buffer_free(&known);
      return GT_OK;
    }
    gt_buffer_print(&known, "%s%s", known.length ? ", " : "", words[i]);
  }
  gt_fail(error, GT_USAGE, "problem: key '%s': '%s' is none of %s", key, quote(value).text, known.data);
  gt_buffer_free(&known);
  return GT_USAGE;
}

#define X(name, text) text,
static const char *const interpolations[] = {GT_INTERPOLATION_LIST(X)}, *const paddings[] = {GT_PADDING_LIST(X)},
                  *const wants[] = {GT_WANT_LIST(X)}, *const grid_classes[] = {GT_GRID_CLASS_LIST(X)};
#undef X

#define WORD_PARSER(function, key, words, field, type)                                            \
  static gt_status function(gt_problem *problem, span value, gt_error *error) {                    \
    int word = 0;                                                                                  \
    gt_status status = parse_word(key, value, words, (int)(sizeof words / sizeof words[0]), &word, error); \
    problem->sampling.field = (type)word;                                                          \
    return status;                                                                                 \
  }
WORD_PARSER(parse_interpolation, "interpolation", interpolations, interpolation, gt_interpolation)
WORD_PARSER(parse_grid_padding, "padding", paddings, padding, gt_padding)
WORD_PARSER(parse_want, "want", wants, want, gt_want)
WORD_PARSER(parse_grid, "grid", grid_classes, positions, gt_grid_class)
#undef WORD_PARSER

static const struct {
  const char *name;
  gt_status (*parse)(gt_problem *problem, span value, gt_error *error);
  bool required;   // where it is legal
  unsigned needed; // the flag of an operator's keys that makes it legal; 0: legal for all
} keys[] = {
    {"n", parse_n, true, 0},
    {"c", parse_c, true, 0},
    {"in", parse_in, true, 0},
    {"out", parse_out, true, 0},
    {"dtype", parse_dtype, true, 0},
    {"layout", parse_layout, false, 0},
    {"stride", parse_stride, false, GT_KEY_STRIDE},
    {"interpolation", parse_interpolation, false, GT_KEY_GRID},
    {"padding", parse_grid_padding, false, GT_KEY_GRID},
    {"align_corners", parse_align_corners, false, GT_KEY_ALIGN_CORNERS},
    {"scale", parse_scales, false, GT_KEY_SCALE},
    {"kernel", parse_kernel, true, GT_KEY_POOL},
    {"pool_stride", parse_pool_stride, false, GT_KEY_POOL},
    {"padding", parse_padding, false, GT_KEY_POOL},
    {"ceil_mode", parse_ceil_mode, false, GT_KEY_POOL},
    {"count_include_pad", parse_count_include_pad, false, GT_KEY_POOL},
    {"divisor", parse_divisor, false, GT_KEY_POOL},
    {"want", parse_want, false, GT_KEY_GRID},
    {"grid", parse_grid, false, GT_KEY_GRID},
};

enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

static bool is_legal(const gt_operator *op, int key) {
  return !keys[key].needed || op->keys & keys[key].needed;
}

// Names the keys that are legal for the operator.
static gt_status unknown_key(const gt_operator *op, span key, gt_error *error) {
  gt_buffer known = {0};
  bool elsewhere = false;
  for (int i = 0; i < KEY_COUNT; i++) {
    if (is_legal(op, i))
      gt_buffer_print(&known, "%s%s", known.length ? ", " : "", keys[i].name);
    else if (equals(key, keys[i].name))
      elsewhere = true;
  }
  if (elsewhere)
    gt_fail(error, GT_USAGE, "problem: key '%s': %s has no such key (%s)", quote(key).text, op->name,
            known.data);
  else
    gt_fail(error, GT_USAGE, "problem: unknown key '%s' (%s)", quote(key).text, known.data);
  gt_buffer_free(&known);
  return GT_USAGE;
}

static gt_status parse_item(gt_problem *problem, span item, unsigned *seen, gt_error *error) {
  if (item.length == 0)
    return gt_fail(error, GT_USAGE, "problem: an empty item (a comma too many, or nothing after ':')");
  span value = item, key;
  split(&value, '=', &key);
  if (!value.start) return gt_fail(error, GT_USAGE, "problem: '%s' is not key=value", quote(item).text);
  for (int i = 0; i < KEY_COUNT; i++) {
    if (!equals(key, keys[i].name) || !is_legal(problem->op, i)) continue;
    if (*seen & 1u << i) return gt_fail(error, GT_USAGE, "problem: key '%s' is given twice", keys[i].name);
    *seen |= 1u << i;
    return keys[i].parse(problem, value, error);
  }
  return unknown_key(problem->op, key, error);
}

// --- keys together -------------------------------------------------------------------------------

// The elements of a tensor, empty batches counted as one so that the size of an image is bounded too.
static bool too_many(const gt_problem *problem, const int64_t sizes[GT_AXES]) {
  const int64_t factors[] = {problem->n, problem->c, sizes[0], sizes[1], sizes[2]};
  int64_t product = 1;
  for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
    if (factors[i] == 0) continue;
    if (product > MAX_ELEMENTS / factors[i]) return true;
    product *= factors[i];
  }
  return false;
}

static gt_status check_elements(const gt_problem *problem, gt_error *error) {
  if (!too_many(problem, problem->in) && !too_many(problem, problem->out)) {
    // Kernels number outer slices with 32 bits.
    if (gt_problem_outer(problem) < (int64_t)1 << 31) return GT_OK;
    return gt_fail(error, GT_USAGE, "problem: key 'n': 2^31 slices and more (n%s); call it in parts",
                   gt_problem_outer(problem) > problem->n ? " times c" : "");
  }
  return gt_fail(error, GT_USAGE, "problem: key '%s': the tensor has more than 2^46 elements",
                 too_many(problem, problem->in) ? "in" : "out");
}

// The reciprocal of a scale takes part in the arithmetic, and must be a finite number of it.
static gt_status check_scale(const gt_problem *problem, gt_error *error) {
  bool wide = gt_problem_double_positions(problem);
  for (int axis = 0; problem->has_scale && axis < GT_AXES; axis++) {
    double ratio = 1.0 / problem->scale[axis];
    if (isfinite(wide ? ratio : (double)(float)ratio)) continue;
    return gt_fail(error, GT_USAGE, "problem: key 'scale': %.17g is so small that 1/scale overflows %s",
                   problem->scale[axis], wide ? "double" : "float");
  }
  return GT_OK;
}

// Without channels there is nothing to sum, and nothing would be launched; but a grad_grid is there, and all zero.
static gt_status check_channels(const gt_problem *problem, gt_error *error) {
  if (problem->op->form != GT_FORM_GRID || problem->c > 0 || problem->n == 0 || problem->sampling.want == GT_WANT_INPUT)
    return GT_OK;
  return gt_fail(error, GT_USAGE, "problem: key 'c': 0 channels, with which all of grad_grid is 0; want=input is legal");
}

// Source: pooling_output_shape_pad_lr in ATen/native/Pool.h. Below 1 where the kernel does not fit.
static int64_t pooled_size(const gt_pool *pool, int axis, int64_t in) {
  int64_t kernel = pool->kernel[axis], stride = pool->stride[axis], padding = pool->padding[axis];
  int64_t room = in + 2 * padding - kernel + (pool->ceil_mode ? stride - 1 : 0);
  if (room < 0) return 0;
  int64_t out = room / stride + 1;
  // The last window of ceil_mode begins within the inputs or the padding before them.
  return pool->ceil_mode && (out - 1) * stride >= in + padding ? out - 1 : out;
}

static gt_status check_pool(const gt_problem *problem, gt_error *error) {
  const gt_pool *pool = &problem->pool;
  if (!(problem->op->keys & GT_KEY_POOL)) return GT_OK;
  gt_buffer right = {0};
  bool same = true;
  for (int axis = first_axis(problem); axis < GT_AXES; axis++) {
    int64_t in = problem->in[axis], out = pooled_size(pool, axis, in);
    if (pool->padding[axis] > pool->kernel[axis] / 2) {
      gt_fail(error, GT_USAGE, "problem: key 'padding': %lld is more than half of the kernel's %lld",
              (long long)pool->padding[axis], (long long)pool->kernel[axis]);
      goto failed;
    }
    if (out < 1) {
      gt_fail(error, GT_USAGE, "problem: key 'kernel': %lld is more than the %lld inputs with their padding",
              (long long)pool->kernel[axis], (long long)(in + 2 * pool->padding[axis]));
      goto failed;
    }
    gt_buffer_print(&right, "%s%lld", right.length ? "x" : "", (long long)out);
    same = same && problem->out[axis] == out;
  }
  if (!same) {
    gt_fail(error, GT_USAGE,
            "problem: key 'out': should be %s, from in, kernel, pool_stride, padding and ceil_mode",
            right.data);
    goto failed;
  }
  gt_buffer_free(&right);
  return GT_OK;
failed:
  gt_buffer_free(&right);
  return GT_USAGE;
}

// --- the whole -----------------------------------------------------------------------------------

static gt_status find_operator(span name, const gt_operator **op, gt_error *error) {
  for (size_t i = 0; (*op = gt_operator_at(i)); i++)
    if (equals(name, (*op)->name)) return GT_OK;
  gt_buffer known = {0};
  for (size_t i = 0; gt_operator_at(i); i++)
    gt_buffer_print(&known, "%s%s", i ? ", " : "", gt_operator_at(i)->name);
  gt_fail(error, GT_USAGE, "problem: unknown operator '%s' (%s)", quote(name).text, known.data);
  gt_buffer_free(&known);
  return GT_USAGE;
}

gt_status gt_problem_parse(const char *text, gt_problem *problem, gt_error *error) {
  gt_problem result = {.in = {1, 1, 1},
                       .out = {1, 1, 1},
                       .scale = {1, 1, 1},
                       .pool = {.kernel = {1, 1, 1}, .count_include_pad = true},
                       .sampling = {.want = GT_WANT_BOTH}};
  span rest = {text, strlen(text)}, piece;
  split(&rest, ':', &piece);
  if (!rest.start)
    return gt_fail(error, GT_USAGE, "problem: '%s' is not OPERATOR:key=value,...", quote(piece).text);
  gt_status status = find_operator(piece, &result.op, error);
  if (status) return status;

  unsigned seen = 0;
  while (split(&rest, ',', &piece)) {
    status = parse_item(&result, piece, &seen, error);
    if (status) return status;
  }
  for (int i = 0; i < KEY_COUNT; i++)
    if (keys[i].required && is_legal(result.op, i) && !(seen & 1u << i))
      return gt_fail(error, GT_USAGE, "problem: key '%s' is missing", keys[i].name);
  for (int axis = 0; axis < GT_AXES; axis++)
    if (result.pool.stride[axis] == 0) result.pool.stride[axis] = result.pool.kernel[axis];

  status = check_elements(&result, error);
  if (status == GT_OK) status = check_channels(&result, error);
  if (status == GT_OK) status = check_scale(&result, error);
  if (status == GT_OK) status = check_pool(&result, error);
  if (status == GT_OK) status = gt_strides_settle(&result, error);
  if (status == GT_OK) *problem = result;
  return status;
}
