#include "device/recorded_script.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"

// --- checking ------------------------------------------------------------------------------------

// Where in which file the parser is, for its messages.
typedef struct {
  const char *path;
  char where[64]; // "rules[3]: ", empty at the top
  gt_error *error;
} place;

__attribute__((format(printf, 2, 3))) static gt_status refuse(const place *at, const char *format, ...) {
  char what[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  return gt_fail(at->error, GT_USAGE, "recorded: %.300s: %s%s", at->path, at->where, what);
}

// Refuses what is no object and keys that are not in the list, which is also what the message says.
static gt_status check_keys(const place *at, const json_t *object, const char *const *known) {
  if (!json_is_object(object)) return refuse(at, "not an object");
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)object, key, value) {
    size_t i = 0;
    while (known[i] && strcmp(known[i], key) != 0) i++;
    if (known[i]) continue;
    gt_buffer list = {0};
    for (i = 0; known[i]; i++) gt_buffer_print(&list, "%s%s", i ? ", " : "", known[i]);
    refuse(at, "unknown key '%.40s' (%s)", key, list.data);
    gt_buffer_free(&list);
    return GT_USAGE;
  }
  return GT_OK;
}

static gt_status take_time(const place *at, const char *key, const json_t *value, double *microseconds) {
  if (!value) return GT_OK;
  *microseconds = json_number_value(value);
  return *microseconds > 0 && *microseconds <= 1e9
             ? GT_OK
             : refuse(at, "'%s': not a number of microseconds above 0 and up to 1e9", key);
}

// Real time, in milliseconds in the file.
static gt_status take_delay(const place *at, const char *key, const json_t *value, double *seconds) {
  if (!value) return GT_OK;
  *seconds = json_number_value(value) / 1e3;
  return json_is_number(value) && *seconds >= 0 && *seconds <= 60
             ? GT_OK
             : refuse(at, "'%s': not a number of milliseconds from 0 to 60000", key);
}

static gt_status take_text(const place *at, const json_t *object, const char *key, const char **text) {
  const json_t *value = json_object_get(object, key);
  *text = json_string_value(value);
  return !value || *text ? GT_OK : refuse(at, "'%s': not a string", key);
}

// --- fingerprint ---------------------------------------------------------------------------------

typedef enum { TEXT, INT, INT64, FLAG, TARGET } field_kind;
#define FIELD(name, kind) \
  { #name, kind, offsetof(gt_fingerprint, name), sizeof(((gt_fingerprint *)0)->name) }
static const struct {
  const char *name;
  field_kind kind;
  size_t offset, size;
} fields[] = {
    FIELD(backend, TEXT),
    FIELD(name, TEXT),
    FIELD(arch, TEXT),
    FIELD(compute_units, INT),
    FIELD(memory_bytes, INT64),
    FIELD(pci_id, TEXT),
    FIELD(driver, TEXT),
    FIELD(runtime, TEXT),
    FIELD(compiler, TEXT),
    FIELD(target, TARGET),
    FIELD(wave_size, INT),
    FIELD(max_threads_per_block, INT),
    FIELD(lds_bytes_per_block, INT64),
    FIELD(last_level_cache_bytes, INT64),
    FIELD(is_cpu, FLAG),
};
#undef FIELD

enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

static const gt_fingerprint imaginary = {
    .backend = "recorded",
    .name = "Recorded GPU",
    .arch = "gfx942",
    .compute_units = 64,
    .memory_bytes = (uint64_t)4 << 30,
    .driver = "recorded",
    .runtime = "recorded",
    .compiler = "recorded",
    .target = GT_TARGET_HIP,
    .wave_size = 64,
    .max_threads_per_block = 1024,
    .lds_bytes_per_block = 65536,
    .last_level_cache_bytes = 4 << 20,
};

static gt_status take_field(const place *at, const json_t *value, size_t i, gt_fingerprint *fingerprint) {
  char *to = (char *)fingerprint + fields[i].offset;
  json_int_t integer = json_integer_value(value);
  const char *text = json_string_value(value);
  switch (fields[i].kind) {
  case TEXT:
    if (!text || strlen(text) >= fields[i].size)
      return refuse(at, "'%s': not a string of less than %zu bytes", fields[i].name, fields[i].size);
    memset(to, 0, fields[i].size);
    memcpy(to, text, strlen(text));
    return GT_OK;
  case INT:
    if (!json_is_integer(value) || integer < 1 || integer > INT_MAX)
      return refuse(at, "'%s': not a whole number above 0", fields[i].name);
    *(int *)(void *)to = (int)integer;
    return GT_OK;
  case INT64: // signed or not: the values that are accepted look the same
    if (!json_is_integer(value) || integer < 0)
      return refuse(at, "'%s': not a whole number from 0", fields[i].name);
    memcpy(to, &(int64_t){integer}, sizeof(int64_t));
    return GT_OK;
  case FLAG:
    if (!json_is_boolean(value)) return refuse(at, "'%s': not true or false", fields[i].name);
    *(bool *)to = json_is_true(value);
    return GT_OK;
  case TARGET:
    if (!text || !gt_target_from_name(text, &fingerprint->target))
      return refuse(at, "'%s': not hip, cuda or opencl", fields[i].name);
    return GT_OK;
  }
  return GT_OK;
}

static gt_status take_fingerprint(place *at, const json_t *object, gt_fingerprint *fingerprint) {
  *fingerprint = imaginary;
  if (!object) return GT_OK;
  snprintf(at->where, sizeof at->where, "fingerprint: ");
  const char *names[FIELD_COUNT + 1] = {0};
  for (size_t i = 0; i < FIELD_COUNT; i++) names[i] = fields[i].name;
  gt_status status = check_keys(at, object, names);
  for (size_t i = 0; !status && i < FIELD_COUNT; i++) {
    const json_t *value = json_object_get(object, fields[i].name);
    if (value) status = take_field(at, value, i, fingerprint);
  }
  return status;
}

// --- rules ---------------------------------------------------------------------------------------

static const char *const actions[] = {
#define X(name, text) text,
    GT_ACTION_LIST(X)
#undef X
};

static gt_status take_action(const place *at, const char *name, gt_action *action) {
  if (!name) return GT_OK;
  gt_buffer list = {0};
  for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
    gt_buffer_print(&list, "%s%s", i ? ", " : "", actions[i]);
    if (strcmp(name, actions[i]) != 0) continue;
    *action = (gt_action)i;
    gt_buffer_free(&list);
    return GT_OK;
  }
  refuse(at, "'action': '%.40s' is none of %s", name, list.data);
  gt_buffer_free(&list);
  return GT_USAGE;
}

static gt_status take_samples(const place *at, const json_t *samples) {
  if (!samples) return GT_OK;
  if (json_array_size(samples) == 0) return refuse(at, "'samples': not an array with something in it");
  size_t i;
  json_t *sample;
  double time;
  json_array_foreach(samples, i, sample) if (take_time(at, "samples", sample, &time)) return GT_USAGE;
  return GT_OK;
}

static gt_status take_rule(const place *at, const json_t *object, gt_recorded_rule *rule) {
  static const char *const known[] = {"match", "problem", "us", "samples", "action", "compile_ms", NULL};
  const char *action = NULL;
  const json_t *us = json_object_get(object, "us");
  gt_status status = check_keys(at, object, known);
  if (!status) status = take_text(at, object, "match", &rule->match);
  if (!status) status = take_text(at, object, "problem", &rule->problem);
  if (!status) status = take_text(at, object, "action", &action);
  if (!status) status = take_action(at, action, &rule->action);
  if (!status) status = take_time(at, "us", us, &rule->microseconds);
  rule->samples = json_object_get(object, "samples");
  if (!status) status = take_samples(at, rule->samples);
  rule->compile_seconds = -1;
  const json_t *delay = json_object_get(object, "compile_ms");
  if (!status) status = take_delay(at, "compile_ms", delay, &rule->compile_seconds);
  if (!status && us && rule->samples) status = refuse(at, "both 'us' and 'samples'");
  if (!status && !us && !rule->samples && !action && !delay)
    status = refuse(at, "none of 'us', 'samples', 'action' and 'compile_ms'");
  return status;
}

static gt_status take_rules(place *at, const json_t *array, gt_recorded_script *script) {
  at->where[0] = 0;
  if (!array) return GT_OK;
  if (!json_is_array(array)) return refuse(at, "'rules': not an array");
  script->n_rules = json_array_size(array);
  script->rules = gt_alloc(script->n_rules * sizeof *script->rules);
  gt_status status = GT_OK;
  for (size_t i = 0; !status && i < script->n_rules; i++) {
    snprintf(at->where, sizeof at->where, "rules[%zu]: ", i);
    status = take_rule(at, json_array_get(array, i), &script->rules[i]);
  }
  return status;
}

static gt_status take_readings(place *at, const json_t *object, gt_readings *readings) {
  static const char *const names[] = {"temperature_c", "clock_mhz", "memory_clock_mhz", NULL};
  int *const values[] = {&readings->temperature_c, &readings->clock_mhz, &readings->memory_clock_mhz};
  if (!object) return GT_OK;
  snprintf(at->where, sizeof at->where, "readings: ");
  gt_status status = check_keys(at, object, names);
  for (size_t i = 0; !status && names[i]; i++) {
    const json_t *value = json_object_get(object, names[i]);
    json_int_t integer = json_integer_value(value);
    if (value && (!json_is_integer(value) || integer < 0 || integer > INT_MAX))
      status = refuse(at, "'%s': not a whole number from 0", names[i]);
    *values[i] = (int)integer;
  }
  at->where[0] = 0;
  return status;
}

static gt_status take_document(place *at, const json_t *document, gt_recorded_script *script) {
  static const char *const known[] = {"fingerprint", "default_us", "hashed", "compile_ms", "check_ms",
                                      "readings",    "journal",    "rules",  NULL};
  const json_t *hashed = json_object_get(document, "hashed");
  gt_status status = check_keys(at, document, known);
  script->default_microseconds = 100;
  if (!status)
    status =
        take_time(at, "default_us", json_object_get(document, "default_us"), &script->default_microseconds);
  if (!status)
    status = take_delay(at, "compile_ms", json_object_get(document, "compile_ms"), &script->compile_seconds);
  if (!status)
    status = take_delay(at, "check_ms", json_object_get(document, "check_ms"), &script->check_seconds);
  if (!status) status = take_readings(at, json_object_get(document, "readings"), &script->readings);
  if (!status) status = take_text(at, document, "journal", &script->journal);
  if (!status && hashed) {
    if (json_array_size(hashed) != 2) return refuse(at, "'hashed': not an array of two times");
    for (size_t i = 0; !status && i < 2; i++)
      status = take_time(at, "hashed", json_array_get(hashed, i), &script->hashed[i]);
    if (!status && script->hashed[0] > script->hashed[1])
      status = refuse(at, "'hashed': the first time is the larger one");
  }
  if (!status) status = take_fingerprint(at, json_object_get(document, "fingerprint"), &script->fingerprint);
  return status ? status : take_rules(at, json_object_get(document, "rules"), script);
}

gt_status gt_recorded_script_read(const char *path, gt_recorded_script *script, gt_error *error) {
  *script = (gt_recorded_script){0};
  place at = {.path = path, .error = error};
  gt_buffer text = {0};
  gt_status status = GT_OK;
  if (!gt_buffer_read_file(&text, path)) {
    status = gt_fail(error, GT_IO, "recorded: %.300s: %s", path, strerror(errno));
  } else {
    json_error_t fault;
    script->document = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, &fault);
    if (script->document)
      status = take_document(&at, script->document, script);
    else
      status = refuse(&at, "line %d, column %d: %s", fault.line, fault.column, fault.text);
  }
  gt_buffer_free(&text);
  if (status) gt_recorded_script_free(script);
  return status;
}

void gt_recorded_script_free(gt_recorded_script *script) {
  json_decref(script->document);
  free(script->rules);
  *script = (gt_recorded_script){0};
}

// --- asking --------------------------------------------------------------------------------------

const gt_recorded_rule *gt_recorded_script_find(const gt_recorded_script *script, const char *problem,
                                                const char *configuration) {
  for (size_t i = 0; i < script->n_rules; i++) {
    const gt_recorded_rule *rule = &script->rules[i];
    if (rule->match && !strstr(configuration, rule->match)) continue;
    if (rule->problem && !strstr(problem, rule->problem)) continue;
    return rule;
  }
  return NULL;
}

double gt_recorded_script_time(const gt_recorded_script *script, const gt_recorded_rule *rule,
                               const char *configuration, size_t launch) {
  if (rule && rule->samples)
    return json_number_value(json_array_get(rule->samples, launch % json_array_size(rule->samples)));
  if (rule && rule->microseconds > 0) return rule->microseconds;
  if (script->hashed[1] <= 0) return script->default_microseconds;
  char hex[GT_HASH_SIZE];
  gt_hash(configuration, strlen(configuration), hex);
  hex[13] = 0; // 52 bits, which a double holds
  double part = (double)strtoull(hex, NULL, 16) * 0x1p-52;
  return script->hashed[0] + (script->hashed[1] - script->hashed[0]) * part;
}
