#include "cache/t4.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/buffer.h"

#define VALUE_LIMIT (64u << 20) // bytes of one result, or of one other value in the file
enum { PARAMETER_LIMIT = 256, READ_SIZE = 1 << 16 };

typedef struct {
  const char *path;
  gzFile file;
  unsigned char *buffer;
  int at, end;      // in the buffer
  size_t in_value;  // bytes of the current value
  gt_status broken; // GT_IO after an error of reading, GT_USAGE for a value that is too long
  gt_status (*visit)(void *context, const gt_t4_result *result, gt_error *error);
  void *context;
  size_t number; // of the current result, 0 outside of them
} reader;

// --- bytes
// -------------------------------------------------------------------------------------------------

// The next byte without taking it; EOF at the end and after an error.
static int peek(reader *r) {
  if (r->at < r->end) return r->buffer[r->at];
  if (r->broken != GT_OK) return EOF;
  r->end = gzread(r->file, r->buffer, READ_SIZE);
  r->at = 0;
  if (r->end < 0) r->broken = GT_IO;
  if (r->end <= 0) {
    r->end = 0;
    return EOF;
  }
  return r->buffer[0];
}

// What jansson reads by: a byte at a time, so that it takes no more than its value.
static size_t give(void *buffer, size_t size, void *context) {
  reader *r = context;
  int byte = size ? peek(r) : EOF;
  if (byte == EOF) return r->broken == GT_OK ? 0 : (size_t)-1;
  if (r->in_value++ == VALUE_LIMIT) {
    r->broken = GT_USAGE;
    return (size_t)-1;
  }
  *(char *)buffer = (char)byte;
  r->at++;
  return 1;
}

// The next byte that is no white space, without taking it.
static int peek_token(reader *r) {
  int byte = peek(r);
  for (; byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; byte = peek(r)) r->at++;
  return byte;
}

static gt_status fail(const reader *r, gt_error *error, const char *what) {
  if (r->broken == GT_IO) {
    int code;
    const char *why = gzerror(r->file, &code);
    return gt_fail(error, GT_IO, "cannot read %s: %s", r->path, code == Z_ERRNO ? strerror(errno) : why);
  }
  if (r->broken == GT_USAGE) what = "a value of more than 64 MiB";
  if (r->number) return gt_fail(error, GT_USAGE, "%s: result %zu: %s", r->path, r->number, what);
  return gt_fail(error, GT_USAGE, "%s: not T4 JSON: %s", r->path, what);
}

static gt_status expect(reader *r, char byte, const char *what, gt_error *error) {
  if (peek_token(r) != byte) return fail(r, error, what);
  r->at++;
  return GT_OK;
}

// --- values
// ------------------------------------------------------------------------------------------------

// A value that ends by itself: a text, an array or an object. NULL after an error.
static json_t *read_value(reader *r, gt_error *error) {
  json_error_t reason;
  int byte = peek_token(r);
  r->in_value = 0;
  if (byte == '"' || byte == '[' || byte == '{') {
    json_t *value = json_load_callback(
        give, r, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &reason);
    if (value) return value;
    char *what = gt_print("not JSON, or cut off: %s", reason.text);
    fail(r, error, what);
    free(what);
    return NULL;
  }
  // Numbers and words end before what comes after them.
  gt_buffer word = {0};
  for (; byte != EOF && !strchr(" \t\r\n,]}", byte) && word.length < 64; byte = peek(r)) {
    gt_buffer_append(&word, &r->buffer[r->at], 1);
    r->at++;
  }
  json_t *value = word.length ? json_loadb(word.data, word.length, JSON_DECODE_ANY, NULL) : NULL;
  if (!value) fail(r, error, word.length ? "not JSON" : "it ends too early, or lacks a value");
  gt_buffer_free(&word);
  return value;
}

// A parameter's value as text; NULL for what cannot be one. The caller frees it.
static char *value_text(const json_t *value) {
  if (json_is_string(value)) return gt_strdup(json_string_value(value));
  if (json_is_integer(value)) return gt_print("%lld", (long long)json_integer_value(value));
  if (json_is_real(value)) return gt_print("%.17g", json_real_value(value));
  if (json_is_boolean(value)) return gt_strdup(json_is_true(value) ? "true" : "false");
  return NULL;
}

// --- results
// -----------------------------------------------------------------------------------------------

// The measurement of the first objective ("time" where none is named).
static gt_status find_time(const reader *r, const json_t *json, double *time, gt_error *error) {
  const char *objective = json_string_value(json_array_get(json_object_get(json, "objectives"), 0));
  if (!objective) objective = "time";
  size_t i;
  json_t *each;
  const json_t *value = NULL;
  json_array_foreach(json_object_get(json, "measurements"), i, each) {
    const char *name = json_string_value(json_object_get(each, "name"));
    if (name && strcmp(name, objective) == 0) value = json_object_get(each, "value");
  }
  *time = json_is_number(value) ? json_number_value(value) : 0;
  if (*time > 0 && isfinite(*time)) return GT_OK;
  char *what = gt_print("it is correct, but its measurement \"%.80s\" is no number above 0", objective);
  gt_status status = fail(r, error, what);
  free(what);
  return status;
}

static gt_status read_configuration(const reader *r, const json_t *json, char **names, char **values,
                                    size_t *count, gt_error *error) {
  const char *name;
  json_t *value;
  json_t *configuration = json_object_get(json, "configuration");
  if (!json_is_object(configuration)) return fail(r, error, "it has no object \"configuration\"");
  if (json_object_size(configuration) > PARAMETER_LIMIT) return fail(r, error, "more than 256 parameters");
  json_object_foreach(configuration, name, value) {
    char *text = value_text(value);
    if (!text) return fail(r, error, "a parameter's value is neither text nor number nor truth value");
    names[*count] = gt_strdup(name);
    values[(*count)++] = text;
  }
  return GT_OK;
}

static gt_status visit_result(const reader *r, const json_t *json, gt_error *error) {
  char *names[PARAMETER_LIMIT], *values[PARAMETER_LIMIT];
  gt_t4_result result = {.number = r->number,
                         .names = (const char *const *)names,
                         .values = (const char *const *)values,
                         .json = json};
  if (!json_is_object(json)) return fail(r, error, "it is no object");
  gt_status status = read_configuration(r, json, names, values, &result.count, error);
  result.invalidity = json_string_value(json_object_get(json, "invalidity"));
  result.correct = result.invalidity && strcmp(result.invalidity, "correct") == 0;
  if (status == GT_OK && !result.invalidity) status = fail(r, error, "it has no text \"invalidity\"");
  if (status == GT_OK && result.correct) status = find_time(r, json, &result.time, error);
  if (status == GT_OK) status = r->visit(r->context, &result, error);
  for (size_t i = 0; i < result.count; i++) {
    free(names[i]);
    free(values[i]);
  }
  return status;
}

static gt_status read_results(reader *r, gt_error *error) {
  gt_status status = expect(r, '[', "\"results\" is no array", error);
  if (status == GT_OK && peek_token(r) == ']') {
    r->at++;
    return GT_OK;
  }
  while (status == GT_OK) {
    r->number++;
    json_t *json = read_value(r, error);
    if (!json) return error->status;
    status = visit_result(r, json, error);
    json_decref(json);
    if (status != GT_OK) break;
    int byte = peek_token(r);
    if (byte != ',' && byte != ']')
      return fail(r, error, "after it, neither a comma nor the end of the results");
    r->at++;
    if (byte == ']') break;
  }
  r->number = 0;
  return status;
}

static gt_status check_version(const reader *r, const json_t *version, gt_error *error) {
  const char *text = json_string_value(version);
  if (!text) return fail(r, error, "\"schema_version\" is no text");
  if (strncmp(text, "1.", 2) == 0) return GT_OK;
  return gt_fail(error, GT_UNSUPPORTED, "%s: results of schema version %.20s; versions 1.* can be read",
                 r->path, text);
}

static gt_status read_member(reader *r, bool *has_results, gt_error *error) {
  if (peek_token(r) != '"') return fail(r, error, "it ends too early, or lacks a name in quotes");
  json_t *name = read_value(r, error), *value = NULL;
  if (!name) return error->status;
  gt_status status = expect(r, ':', "no colon after a name", error);
  if (status == GT_OK && strcmp(json_string_value(name), "results") == 0) {
    if (*has_results) status = fail(r, error, "\"results\" twice");
    *has_results = true;
    if (status == GT_OK) status = read_results(r, error);
  } else if (status == GT_OK) {
    value = read_value(r, error);
    if (!value) status = error->status;
    if (value && strcmp(json_string_value(name), "schema_version") == 0)
      status = check_version(r, value, error);
  }
  json_decref(value);
  json_decref(name);
  return status;
}

static gt_status read_file(reader *r, gt_error *error) {
  bool has_results = false;
  gt_status status = expect(r, '{', "it does not begin with {", error);
  for (int byte = 0; status == GT_OK && byte != '}';) {
    status = read_member(r, &has_results, error);
    if (status != GT_OK) break;
    byte = peek_token(r);
    if (byte != ',' && byte != '}') return fail(r, error, "it ends too early, or lacks a comma");
    r->at++;
  }
  if (status == GT_OK && !has_results) status = fail(r, error, "it has no \"results\"");
  if (status == GT_OK && peek_token(r) != EOF) status = fail(r, error, "there is more after its end");
  if (status == GT_OK && r->broken != GT_OK) status = fail(r, error, "");
  return status;
}

gt_status gt_t4_read(const char *path,
                     gt_status (*visit)(void *context, const gt_t4_result *result, gt_error *error),
                     void *context, gt_error *error) {
  gt_error unseen = {0};
  if (!error) error = &unseen;
  reader r = {.path = path, .visit = visit, .context = context};
  errno = 0;
  r.file = gzopen(path, "rb");
  if (!r.file)
    return gt_fail(error, GT_IO, "cannot read %s: %s", path, errno ? strerror(errno) : "out of memory");
  r.buffer = gt_alloc(READ_SIZE);
  gt_status status = read_file(&r, error);
  // A gzip file that is cut off after the last byte of the JSON shows only here.
  if (gzclose(r.file) != Z_OK && status == GT_OK)
    status = gt_fail(error, GT_USAGE, "%s: the gzip file is cut off", path);
  free(r.buffer);
  return status;
}
