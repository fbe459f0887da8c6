#include "generator/problem.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

#define MAX_ELEMENTS ((int64_t)1 << 46)

// --- names ---------------------------------------------------------------------------------------

static const struct {
  const char *name;
  size_t bytes;
} dtypes[] = {
#define X(name, text, bytes) {text, bytes},
    GT_DTYPE_LIST(X)
#undef X
};

enum { DTYPE_COUNT = sizeof dtypes / sizeof dtypes[0] };

size_t gt_dtype_bytes(gt_dtype dtype) {
  return dtypes[dtype].bytes;
}

const char *gt_dtype_name(gt_dtype dtype) {
  return dtypes[dtype].name;
}

bool gt_dtype_from_name(const char *name, gt_dtype *dtype) {
  for (int i = 0; i < DTYPE_COUNT; i++) {
    if (strcmp(name, dtypes[i].name) != 0) continue;
    *dtype = (gt_dtype)i;
    return true;
  }
  return false;
}

const char *gt_layout_name(gt_layout layout) {
  return layout == GT_NHWC ? "nhwc" : "nchw";
}

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

static gt_status parse_sizes(const gt_problem *problem, const char *key, span value, int64_t sizes[GT_AXES],
                             gt_error *error) {
  span rest = value, piece;
  int axis = first_axis(problem);
  while (split(&rest, 'x', &piece)) {
    if (axis == GT_AXES) return wrong_count(problem, key, value, "sizes", error);
    const char *wrong = parse_integer(piece, &sizes[axis]);
    if (!wrong && sizes[axis] == 0) wrong = "is no size: sizes are at least 1";
    if (wrong) return bad_value(error, key, piece, wrong);
    axis++;
  }
  return axis == GT_AXES ? GT_OK : wrong_count(problem, key, value, "sizes", error);
}

static gt_status parse_n(gt_problem *problem, span value, gt_error *error) {
  return parse_count("n", value, &problem->n, error);
}

static gt_status parse_c(gt_problem *problem, span value, gt_error *error) {
  return parse_count("c", value, &problem->c, error);
}

static gt_status parse_in(gt_problem *problem, span value, gt_error *error) {
  return parse_sizes(problem, "in", value, problem->in, error);
}

static gt_status parse_out(gt_problem *problem, span value, gt_error *error) {
  return parse_sizes(problem, "out", value, problem->out, error);
}

static gt_status parse_dtype(gt_problem *problem, span value, gt_error *error) {
  for (int i = 0; i < DTYPE_COUNT; i++) {
    if (!equals(value, dtypes[i].name)) continue;
    problem->dtype = (gt_dtype)i;
    return GT_OK;
  }
  return bad_value(error, "dtype", value, "is not a data type (f32, f16, bf16, f64)");
}

static gt_status parse_layout(gt_problem *problem, span value, gt_error *error) {
  if (!equals(value, "nchw") && !equals(value, "nhwc"))
    return bad_value(error, "layout", value, "is not a layout (nchw, nhwc)");
  problem->layout = equals(value, "nhwc") ? GT_NHWC : GT_NCHW;
  return GT_OK;
}

static gt_status parse_align_corners(gt_problem *problem, span value, gt_error *error) {
  if (!problem->op->has_align_corners)
    return gt_fail(error, GT_USAGE, "problem: key 'align_corners': %s has no such flag", problem->op->name);
  if (!equals(value, "0") && !equals(value, "1"))
    return bad_value(error, "align_corners", value, "is not 0 or 1");
  problem->align_corners = equals(value, "1");
  return GT_OK;
}

// One value per axis, or one for all.
static gt_status parse_scales(gt_problem *problem, span value, gt_error *error) {
  if (!problem->op->has_scale)
    return gt_fail(error, GT_USAGE, "problem: key 'scale': %s takes none", problem->op->name);
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

static const struct {
  const char *name;
  gt_status (*parse)(gt_problem *problem, span value, gt_error *error);
  bool required;
} keys[] = {
    {"n", parse_n, true},
    {"c", parse_c, true},
    {"in", parse_in, true},
    {"out", parse_out, true},
    {"dtype", parse_dtype, true},
    {"layout", parse_layout, false},
    {"align_corners", parse_align_corners, false},
    {"scale", parse_scales, false},
};

enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

static gt_status parse_item(gt_problem *problem, span item, unsigned *seen, gt_error *error) {
  if (item.length == 0)
    return gt_fail(error, GT_USAGE, "problem: an empty item (a comma too many, or nothing after ':')");
  span value = item, key;
  split(&value, '=', &key);
  if (!value.start) return gt_fail(error, GT_USAGE, "problem: '%s' is not key=value", quote(item).text);
  for (int i = 0; i < KEY_COUNT; i++) {
    if (!equals(key, keys[i].name)) continue;
    if (*seen & 1u << i) return gt_fail(error, GT_USAGE, "problem: key '%s' is given twice", keys[i].name);
    *seen |= 1u << i;
    return keys[i].parse(problem, value, error);
  }
  return gt_fail(error, GT_USAGE,
                 "problem: unknown key '%s' (n, c, in, out, dtype, layout, align_corners, scale)",
                 quote(key).text);
}

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
  gt_problem result = {.in = {1, 1, 1}, .out = {1, 1, 1}, .scale = {1, 1, 1}};
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
    if (keys[i].required && !(seen & 1u << i))
      return gt_fail(error, GT_USAGE, "problem: key '%s' is missing", keys[i].name);
  if (too_many(&result, result.in) || too_many(&result, result.out))
    return gt_fail(error, GT_USAGE, "problem: key '%s': the tensor has more than 2^46 elements",
                   too_many(&result, result.in) ? "in" : "out");
  *problem = result;
  return GT_OK;
}

// --- printing ------------------------------------------------------------------------------------

__attribute__((format(printf, 2, 3))) static void append(char text[GT_PROBLEM_TEXT], const char *format,
                                                         ...) {
  size_t used = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, GT_PROBLEM_TEXT - used, format, arguments);
  va_end(arguments);
}

// The shortest decimal text that parses back to the very number.
static void append_double(char text[GT_PROBLEM_TEXT], double value) {
  locale_t c = newlocale(LC_ALL_MASK, "C", 0), before = uselocale(c);
  char number[32];
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(number, sizeof number, "%.*g", digits, value);
    if (strtod(number, NULL) == value) break;
  }
  uselocale(before);
  append(text, "%s", number);
}

static void append_sizes(char text[GT_PROBLEM_TEXT], const gt_problem *problem, const char *key,
                         const int64_t sizes[GT_AXES]) {
  append(text, "%s=", key);
  for (int axis = first_axis(problem); axis < GT_AXES; axis++)
    append(text, "%lld%s", (long long)sizes[axis], axis + 1 < GT_AXES ? "x" : ",");
}

static void print(const gt_problem *problem, bool with_n, bool with_c, char text[GT_PROBLEM_TEXT]) {
  text[0] = 0;
  append(text, "%s:", problem->op->name);
  if (with_n) append(text, "n=%lld,", (long long)problem->n);
  if (with_c) append(text, "c=%lld,", (long long)problem->c);
  append_sizes(text, problem, "in", problem->in);
  append_sizes(text, problem, "out", problem->out);
  append(text, "dtype=%s,layout=%s", gt_dtype_name(problem->dtype), gt_layout_name(problem->layout));
  if (problem->op->has_align_corners) append(text, ",align_corners=%d", problem->align_corners);
  if (!problem->has_scale) return;
  for (int axis = first_axis(problem); axis < GT_AXES; axis++) {
    append(text, "%s", axis == first_axis(problem) ? ",scale=" : "x");
    append_double(text, problem->scale[axis]);
  }
}

void gt_problem_print(const gt_problem *problem, char text[GT_PROBLEM_TEXT]) {
  print(problem, true, true, text);
}

void gt_problem_print_kernel(const gt_problem *problem, char text[GT_PROBLEM_TEXT]) {
  print(problem, false, problem->layout == GT_NHWC, text);
}

// --- the form that kernels see -------------------------------------------------------------------

int64_t gt_problem_outer(const gt_problem *problem) {
  return problem->layout == GT_NHWC ? problem->n : problem->n * problem->c;
}

int64_t gt_problem_inner(const gt_problem *problem) {
  return problem->layout == GT_NHWC ? problem->c : 1;
}

int64_t gt_problem_in_elements(const gt_problem *problem) {
  return problem->n * problem->c * problem->in[0] * problem->in[1] * problem->in[2];
}

int64_t gt_problem_out_elements(const gt_problem *problem) {
  return problem->n * problem->c * problem->out[0] * problem->out[1] * problem->out[2];
}
