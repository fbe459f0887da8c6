#include "cli/oracle.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

// --- one line
// --------------------------------------------------------------------------------------------------------

// Sizes joined by x, as the problem grammar has them. False when the value is no list of `count` whole
// numbers from index `from` on.
static bool print_sizes(gt_buffer *text, const json_t *list, size_t from, size_t count) {
  if (json_array_size(list) != from + count) return false;
  for (size_t i = from; i < from + count; i++) {
    const json_t *size = json_array_get(list, i);
    if (!json_is_integer(size)) return false;
    gt_buffer_print(text, "%s%lld", i > from ? "x" : "", (long long)json_integer_value(size));
  }
  return true;
}

// A scale per axis or null. One that is given for some axes only has no problem text: *skip says so.
static bool print_scales(gt_buffer *text, const json_t *scales, size_t count, bool *skip) {
  if (!scales || json_is_null(scales)) return true;
  if (json_array_size(scales) != count) return false;
  size_t nulls = 0;
  for (size_t i = 0; i < count; i++) nulls += json_is_null(json_array_get(scales, i));
  *skip = nulls > 0 && nulls < count;
  if (nulls) return *skip || nulls == count;
  gt_buffer_print(text, ",scale=");
  for (size_t i = 0; i < count; i++) {
    const json_t *scale = json_array_get(scales, i);
    if (!json_is_number(scale)) return false;
    gt_buffer_print(text, "%s%.17g", i ? "x" : "", json_number_value(scale));
  }
  return true;
}

// The arguments of a pooling, named as ATen names them. Those that are left out have their defaults; a stride
// may be empty.
static bool print_pool(gt_buffer *text, const json_t *arguments, size_t count) {
  static const char *const lists[][2] = {
      {"kernel_size", "kernel"}, {"stride", "pool_stride"}, {"padding", "padding"}};
  static const char *const flags[] = {"ceil_mode", "count_include_pad"};
  const json_t *divisor = json_object_get(arguments, "divisor_override");
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    const json_t *list = json_object_get(arguments, lists[i][0]);
    if (!list || json_is_null(list) || (json_is_array(list) && json_array_size(list) == 0)) continue;
    gt_buffer_print(text, ",%s=", lists[i][1]);
    if (!print_sizes(text, list, 0, count)) return false;
  }
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
    const json_t *flag = json_object_get(arguments, flags[i]);
    if (!flag) continue;
    if (!json_is_boolean(flag)) return false;
    gt_buffer_print(text, ",%s=%d", flags[i], json_is_true(flag));
  }
  if (!divisor || json_is_null(divisor)) return true;
  gt_buffer_print(text, ",divisor=%lld", (long long)json_integer_value(divisor));
  return json_is_integer(divisor);
}

// How a grid samples. The sizes are those of the arrays, as ATen's operator takes them from its tensors.
static bool print_sampling(gt_buffer *text, const json_t *arguments) {
  static const char *const words[] = {"interpolation", "padding"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    const char *word = json_string_value(json_object_get(arguments, words[i]));
    if (!word) return false;
    gt_buffer_print(text, ",%s=%s", words[i], word);
  }
  return true;
}

// The shape of an array that a case gives.
static const json_t *shape_of(const json_t *json, const char *name) {
  return json_object_get(json_object_get(json_object_get(json, "inputs"), name), "shape");
}

// The case as a problem: its text is composed and parsed, which validates everything.
static gt_status read_problem(const json_t *json, const gt_operator *op, gt_oracle_case *one,
                              gt_error *error) {
  bool grid = op->form == GT_FORM_GRID;
  const json_t *arguments = json_object_get(json, "args");
  const json_t *input = grid ? shape_of(json, "input") : json_object_get(arguments, "input_size");
  const json_t *output = grid ? shape_of(json, "grad_output") : json_object_get(arguments, "output_size");
  const json_t *align = json_object_get(arguments, "align_corners");
  const char *dtype = json_string_value(json_object_get(json, "dtype"));
  size_t axes = (size_t)op->spatial_axes;
  bool skip = false;
  gt_buffer text = {0};
  gt_status status = GT_OK;
  const json_t *n = json_array_get(input, 0), *c = json_array_get(input, 1);
  gt_buffer_print(&text, "%s:n=%lld,c=%lld,in=", op->name, (long long)json_integer_value(n),
                  (long long)json_integer_value(c));
  bool good = json_is_integer(n) && json_is_integer(c) && print_sizes(&text, input, 2, axes);
  gt_buffer_print(&text, ",out=");
  good = good && print_sizes(&text, output, grid ? 2 : 0, axes) && dtype;
  gt_buffer_print(&text, ",dtype=%s,layout=nchw", dtype ? dtype : "");
  if (op->keys & GT_KEY_ALIGN_CORNERS && align) {
    good = good && json_is_boolean(align);
    gt_buffer_print(&text, ",align_corners=%d", json_is_true(align));
  }
  if (op->keys & GT_KEY_SCALE)
    good = good && print_scales(&text, json_object_get(arguments, "scales"), axes, &skip);
  if (op->keys & GT_KEY_POOL) good = good && print_pool(&text, arguments, axes);
  if (op->keys & GT_KEY_GRID) good = good && print_sampling(&text, arguments);
  if (!good)
    status = gt_fail(error, GT_USAGE, "the arguments of case '%s' are not those of %s", one->id, op->name);
  else if (skip)
    one->skip = gt_strdup("a scale for some axes only has no problem text");
  else
    status = gt_problem_parse(text.data, &one->problem, error);
  gt_buffer_free(&text);
  return status;
}

// Whether `shape` is that of the tensor: [n, c, spatial sizes...], or [n, spatial sizes..., 2] of a grid.
static bool has_shape(const json_t *shape, const gt_problem *problem, gt_tensor_kind kind) {
  const int64_t *sizes = gt_tensor_sizes(problem, kind);
  size_t axes = (size_t)problem->op->spatial_axes, count = 0;
  int64_t wanted[2 + GT_AXES];
  wanted[count++] = problem->n;
  if (sizes) wanted[count++] = problem->c;
  for (size_t i = 0; i < axes; i++) wanted[count++] = (sizes ? sizes : problem->out)[GT_AXES - axes + i];
  if (!sizes) wanted[count++] = (int64_t)axes;
  if (json_array_size(shape) != count) return false;
  for (size_t i = 0; i < count; i++) {
    const json_t *value = json_array_get(shape, i);
    if (!json_is_integer(value) || json_integer_value(value) != wanted[i]) return false;
  }
  return true;
}

// The tensor's array of the file of arrays, as doubles in a new block. The host is little-endian, like the file.
static gt_status read_array(const json_t *json, const gt_buffer *arrays, const gt_problem *problem,
                            const gt_tensor *tensor, double **values, gt_error *error) {
  const char *name = gt_tensor_name(tensor->kind), *type = json_string_value(json_object_get(json, "type"));
  const json_t *offset = json_object_get(json, "offset");
  if (!json_is_integer(offset) || !type) return gt_fail(error, GT_USAGE, "%s has no offset or no type", name);
  bool wide = strcmp(type, "f64") == 0;
  if (!wide && strcmp(type, "f32") != 0)
    return gt_fail(error, GT_USAGE, "%s: unknown type '%s'; types are f32 and f64", name, type);
  if (!has_shape(json_object_get(json, "shape"), problem, tensor->kind))
    return gt_fail(error, GT_USAGE, "%s: the shape does not follow from the arguments", name);

  size_t count = (size_t)(gt_problem_outer(problem) * tensor->slice);
  size_t bytes = count * (wide ? 8 : 4);
  json_int_t start = json_integer_value(offset);
  if (start < 0 || (size_t)start > arrays->length || bytes > arrays->length - (size_t)start)
    return gt_fail(error, GT_USAGE, "%s: bytes %lld to %lld are not in the file of arrays", name,
                   (long long)start, (long long)start + (long long)bytes);
  const char *from = arrays->data + start;
  *values = gt_alloc(count * sizeof **values);
  if (wide) {
    memcpy(*values, from, bytes);
    return GT_OK;
  }
  for (size_t i = 0; i < count; i++) {
    float value;
    memcpy(&value, from + 4 * i, 4);
    (*values)[i] = value;
  }
  return GT_OK;
}

static gt_status read_case(const char *line, const gt_buffer *arrays, gt_oracle_case *one, gt_error *error) {
  json_error_t where;
  json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, &where);
  gt_status status = GT_OK;
  if (!json_is_object(json)) {
    status = gt_fail(error, GT_USAGE, "no JSON object: %s", json ? "another kind of value" : where.text);
    goto done;
  }
  const char *id = json_string_value(json_object_get(json, "id"));
  const char *name = json_string_value(json_object_get(json, "op"));
  if (!id || !name || strlen(id) >= sizeof one->id) {
    status = gt_fail(error, GT_USAGE, "a case needs a short \"id\" and an \"op\"");
    goto done;
  }
  memcpy(one->id, id, strlen(id) + 1);
  const gt_operator *op = gt_operator_find(name);
  if (!op) {
    one->skip = gt_print("operator %s is not known to this version", name);
    goto done;
  }
  status = read_problem(json, op, one, error);
  if (status != GT_OK || one->skip) goto done;
  gt_tensor tensors[GT_TENSORS];
  int count = gt_problem_tensors(&one->problem, tensors);
  for (int i = 0; i < count && status == GT_OK; i++) {
    const json_t *arrays_of = json_object_get(json, tensors[i].is_result ? "expect" : "inputs");
    status = read_array(json_object_get(arrays_of, gt_tensor_name(tensors[i].kind)), arrays, &one->problem,
                        &tensors[i], &one->values[tensors[i].kind], error);
  }
done:
  json_decref(json);
  return status;
}

// --- the files
// -------------------------------------------------------------------------------------------------------

static gt_status read_file(gt_buffer *buffer, const char *path, gt_error *error) {
  errno = 0;
  if (gt_buffer_read_file(buffer, path)) return GT_OK;
  return gt_fail(error, GT_USAGE, "cannot read %s: %s", path, strerror(errno));
}

// "cases.jsonl" has its arrays in "cases.bin".
static char *arrays_path(const char *path) {
  const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');
  return gt_print("%.*s.bin", (int)(dot ? dot - path : (long)strlen(path)), path);
}

gt_status gt_oracle_read(const char *path, gt_oracle *oracle, gt_error *error) {
  gt_buffer lines = {0}, arrays = {0};
  char *beside = arrays_path(path);
  *oracle = (gt_oracle){0};
  gt_status status = read_file(&lines, path, error);
  if (status == GT_OK) status = read_file(&arrays, beside, error);
  if (status == GT_OK && strlen(lines.data) != lines.length)
    status = gt_fail(error, GT_USAGE, "%s is not a text file", path);
  size_t number = 0, capacity = 0;
  char *next = lines.data;
  while (status == GT_OK && next && *next) {
    char *line = next, *end = strchr(line, '\n');
    if (end) *end = 0;
    next = end ? end + 1 : NULL;
    number++;
    if (strspn(line, " \t\r") == strlen(line)) continue;
    if (oracle->count == capacity) {
      capacity = capacity ? 2 * capacity : 64;
      oracle->cases = gt_realloc(oracle->cases, capacity * sizeof *oracle->cases);
    }
    gt_oracle_case *one = &oracle->cases[oracle->count++];
    *one = (gt_oracle_case){0};
    gt_error reason = {0};
    if (read_case(line, &arrays, one, &reason) != GT_OK)
      status = gt_fail(error, GT_USAGE, "%s:%zu: %.800s", path, number, reason.text);
  }
  if (status != GT_OK) gt_oracle_free(oracle);
  free(beside);
  gt_buffer_free(&lines);
  gt_buffer_free(&arrays);
  return status;
}

void gt_oracle_free(gt_oracle *oracle) {
  for (size_t i = 0; i < oracle->count; i++) {
    free(oracle->cases[i].skip);
    for (int kind = 0; kind < GT_TENSORS; kind++) free(oracle->cases[i].values[kind]);
  }
  free(oracle->cases);
  *oracle = (gt_oracle){0};
}
