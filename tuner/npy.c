#include "tuner/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/storage.h"

#define MAGIC "\x93NUMPY"
#define MOST_HEADER 65536
#define MOST_START (12 + MOST_HEADER) // of a file, before the numbers
#define MOST_ELEMENTS ((int64_t)1 << 40)

static gt_status bad(const char *name, const char *what, gt_error *error) {
  return gt_fail(error, GT_USAGE, "%s: %s", name, what);
}

// As NumPy prints it: (2, 7, 10, 2), (3,).
static void print_shape(gt_buffer *text, int dimensions, const int64_t *shape) {
  gt_buffer_print(text, "(");
  for (int i = 0; i < dimensions; i++)
    gt_buffer_print(text, "%s%lld", i ? ", " : "", (long long)shape[i]);
  gt_buffer_print(text, dimensions == 1 ? ",)" : ")");
}

static gt_status check_shape(const char *name, const gt_npy *array, int dimensions, const int64_t *shape, gt_error *error) {
  if (!shape || (array->dimensions == dimensions && memcmp(array->shape, shape, (size_t)dimensions * sizeof *shape) == 0))
    return GT_OK;
  gt_buffer has = {0}, wanted = {0};
  print_shape(&has, array->dimensions, array->shape);
  print_shape(&wanted, dimensions, shape);
  gt_fail(error, GT_USAGE, "%s: its shape is %s, and should be %s", name, has.data, wanted.data);
  gt_buffer_free(&has);
  gt_buffer_free(&wanted);
  return GT_USAGE;
}

// Where the value of a key of the header's dictionary starts, or NULL.
static const char *value_of(const char *header, const char *key) {
  const char *at = strstr(header, key);
  if (!at) return NULL;
  at += strlen(key);
  at += strspn(at, " \t");
  if (*at != ':') return NULL;
  at++;
  return at + strspn(at, " \t");
}

static bool starts_with(const char *text, const char *start) {
  return text && strncmp(text, start, strlen(start)) == 0;
}

static const struct {
  const char *descr;
  gt_dtype dtype;
} types[] = {{"'<f2'", GT_F16}, {"'<f4'", GT_F32}, {"'<f8'", GT_F64}};

static bool parse_shape(const char *at, gt_npy *array) {
  if (!at || *at++ != '(') return false;
  int64_t elements = 1;
  for (;;) {
    at += strspn(at, " ,");
    if (*at == ')') return true;
    if (*at < '0' || *at > '9' || array->dimensions == GT_NPY_DIMENSIONS) return false;
    char *end;
    errno = 0;
    int64_t size = strtoll(at, &end, 10);
    if (errno || size > MOST_ELEMENTS || (size && elements > MOST_ELEMENTS / size)) return false;
    elements *= size;
    array->shape[array->dimensions++] = size;
    at = end;
  }
}

static gt_status parse_header(const char *name, const char *header, gt_npy *array, gt_dtype *dtype, gt_error *error) {
  const char *descr = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'");
  size_t type = 0, count = sizeof types / sizeof types[0];
  while (type < count && !starts_with(descr, types[type].descr)) type++;
  if (type == count) {
    // Up to the end of the item (of a structure, of its first field) or what cannot be shown.
    int length = 0;
    while (descr && descr[length] > ' ' && descr[length] < 127 && descr[length] != ',' && descr[length] != '}') length++;
    return gt_fail(error, GT_USAGE, "%s: its numbers are %.*s, and should be little-endian float16, float32 or float64 ('<f4')", name,
                   !length ? 10 : length < 40 ? length : 40, length ? descr : "of no type");
  }
  *dtype = types[type].dtype;
  if (!starts_with(order, "False"))
    return bad(name, starts_with(order, "True") ? "its array is in Fortran order, and should be in C order"
                                                : "its header does not say 'fortran_order': False", error);
  if (!parse_shape(value_of(header, "'shape'"), array)) return bad(name, "its shape cannot be read", error);
  return GT_OK;
}

gt_status gt_npy_parse(const char *name, const void *bytes, size_t size, int dimensions, const int64_t *shape, gt_npy *array,
                       gt_error *error) {
  const unsigned char *at = bytes;
  *array = (gt_npy){0};
  if (size < 10 || memcmp(at, MAGIC, 6) != 0) return bad(name, "not a .npy file", error);
  if (at[6] < 1 || at[6] > 3)
    return gt_fail(error, GT_USAGE, "%s: a .npy file of version %d.%d; known are 1 to 3", name, at[6], at[7]);
  size_t start = at[6] == 1 ? 10 : 12;
  size_t length = (size_t)at[8] | (size_t)at[9] << 8;
  if (start == 12 && size >= 12) length |= (size_t)at[10] << 16 | (size_t)at[11] << 24;
  if (size < start || length > MOST_HEADER || length > size - start) return bad(name, "its header is cut off", error);
  char *header = gt_alloc(length + 1);
  memcpy(header, at + start, length);
  gt_dtype dtype = GT_F32;
  gt_status status = parse_header(name, header, array, &dtype, error);
  free(header);
  if (status == GT_OK) status = check_shape(name, array, dimensions, shape, error);
  if (status != GT_OK) return status;

  size_t elements = 1, left = size - start - length;
  for (int i = 0; i < array->dimensions; i++) elements *= (size_t)array->shape[i];
  if (left / gt_dtype_bytes(dtype) < elements) return bad(name, "it is shorter than its shape says", error);
  array->values = gt_alloc((elements + 1) * sizeof(double));
  char *aligned = gt_alloc(elements * gt_dtype_bytes(dtype) + 1);
  memcpy(aligned, at + start + length, elements * gt_dtype_bytes(dtype));
  for (size_t i = 0; i < elements; i++) array->values[i] = gt_storage_load(dtype, aligned, i);
  free(aligned);
  return GT_OK;
}

gt_status gt_npy_read(const char *path, int dimensions, const int64_t *shape, gt_npy *array, gt_error *error) {
  gt_buffer bytes = {0};
  char block[65536];
  *array = (gt_npy){0};
  size_t elements = 1, got;
  for (int i = 0; i < dimensions; i++) elements *= (size_t)shape[i];
  const size_t most = MOST_START + elements * sizeof(double);
  FILE *file = fopen(path, "rb");
  if (!file) return gt_fail(error, GT_USAGE, "cannot read %s: %s", path, strerror(errno));
  while (bytes.length < most && (got = fread(block, 1, sizeof block, file)) > 0) gt_buffer_append(&bytes, block, got);
  gt_status status = ferror(file) ? gt_fail(error, GT_USAGE, "cannot read %s: %s", path, strerror(errno)) : GT_OK;
  fclose(file);
  gt_buffer_append(&bytes, "", 0); // an empty file is an empty string, not NULL
  if (status == GT_OK) status = gt_npy_parse(path, bytes.data, bytes.length, dimensions, shape, array, error);
  gt_buffer_free(&bytes);
  return status;
}

void gt_npy_print(gt_buffer *file, gt_dtype dtype, int dimensions, const int64_t *shape, const void *elements) {
  gt_buffer header = {0};
  size_t type = 0, count = 1;
  while (types[type].dtype != dtype) type++;
  gt_buffer_print(&header, "{'descr': %s, 'fortran_order': False, 'shape': (", types[type].descr);
  for (int i = 0; i < dimensions; i++) {
    gt_buffer_print(&header, "%lld, ", (long long)shape[i]);
    count *= (size_t)shape[i];
  }
  gt_buffer_print(&header, "), }");
  while ((10 + header.length + 1) % 64) gt_buffer_append(&header, " ", 1); // the data is aligned, by the format
  gt_buffer_append(&header, "\n", 1);
  gt_buffer_append(file, MAGIC "\x01", 8); // and the zero behind it: version 1.0
  const char length[] = {(char)(header.length & 255), (char)(header.length >> 8)};
  gt_buffer_append(file, length, sizeof length);
  gt_buffer_append(file, header.data, header.length);
  gt_buffer_append(file, elements, count * gt_dtype_bytes(dtype));
  gt_buffer_free(&header);
}

void gt_npy_free(gt_npy *array) {
  free(array->values);
  *array = (gt_npy){0};
}
