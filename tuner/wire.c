#include "tuner/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Limits against a peer that writes garbage: neither a line nor a payload comes near them in use.
#define MAX_LINE ((size_t)64 << 20)
#define MAX_PAYLOAD ((json_int_t)16 << 30)

void gt_wire_encode(gt_buffer *buffer, json_t *message, const void *payload, size_t size) {
  json_object_set_new(message, "payload", json_integer((json_int_t)size));
  char *line = json_dumps(message, JSON_COMPACT);
  if (!line) abort();
  gt_buffer_append(buffer, line, strlen(line));
  gt_buffer_append(buffer, "\n", 1);
  if (size) gt_buffer_append(buffer, payload, size);
  free(line);
}

int gt_wire_decode(gt_buffer *buffer, json_t **message, gt_buffer *payload) {
  if (!buffer->length) return 0;
  const char *end = memchr(buffer->data, '\n', buffer->length);
  if (!end) return buffer->length > MAX_LINE ? -1 : 0;
  size_t line = (size_t)(end - buffer->data);

  json_t *parsed = json_loadb(buffer->data, line, JSON_REJECT_DUPLICATES, NULL);
  json_t *size_json = json_object_get(parsed, "payload");
  json_int_t size = json_is_integer(size_json) ? json_integer_value(size_json) : -1;
  if (!json_is_object(parsed) || size < 0 || size > MAX_PAYLOAD) {
    json_decref(parsed);
    return -1;
  }
  size_t frame = line + 1 + (size_t)size;
  if (buffer->length < frame) {
    json_decref(parsed);
    return 0;
  }
  gt_buffer_clear(payload);
  gt_buffer_append(payload, buffer->data + line + 1, (size_t)size);
  buffer->length -= frame;
  memmove(buffer->data, buffer->data + frame, buffer->length + 1); // with the zero at the end
  *message = parsed;
  return 1;
}

json_t *gt_wire_text(const char *text) {
  json_t *string = json_string(text ? text : "");
  if (string) return string;
  char *ascii = gt_strdup(text);
  for (char *c = ascii; *c; c++)
    if ((unsigned char)*c >= 0x80) *c = '?';
  string = json_string(ascii);
  free(ascii);
  if (!string) abort();
  return string;
}

const char *gt_wire_string(const json_t *message, const char *key) {
  const char *text = json_string_value(json_object_get(message, key));
  return text ? text : "";
}

// The fields of a fingerprint by kind: X(field).
#define TEXT_FIELDS(X) X(backend) X(name) X(arch) X(pci_id) X(driver) X(runtime) X(compiler)
#define INTEGER_FIELDS(X) \
  X(compute_units)        \
  X(memory_bytes) X(wave_size) X(max_threads_per_block) X(lds_bytes_per_block) X(last_level_cache_bytes)

json_t *gt_wire_fingerprint(const gt_fingerprint *fingerprint) {
  json_t *json = json_object();
#define X(field) json_object_set_new(json, #field, gt_wire_text(fingerprint->field));
  TEXT_FIELDS(X)
#undef X
#define X(field) json_object_set_new(json, #field, json_integer((json_int_t)fingerprint->field));
  INTEGER_FIELDS(X)
#undef X
  json_object_set_new(json, "target", json_string(gt_target_name(fingerprint->target)));
  json_object_set_new(json, "is_cpu", json_boolean(fingerprint->is_cpu));
  return json;
}

bool gt_wire_read_fingerprint(const json_t *json, gt_fingerprint *fingerprint) {
  *fingerprint = (gt_fingerprint){0};
  const json_t *value;
#define X(field)                                                            \
  if (!json_is_string(value = json_object_get(json, #field))) return false; \
  snprintf(fingerprint->field, sizeof fingerprint->field, "%s", json_string_value(value));
  TEXT_FIELDS(X)
#undef X
#define X(field)                                                             \
  if (!json_is_integer(value = json_object_get(json, #field))) return false; \
  fingerprint->field = (__typeof__(fingerprint->field))json_integer_value(value);
  INTEGER_FIELDS(X)
#undef X
  fingerprint->is_cpu = json_is_true(json_object_get(json, "is_cpu"));
  return gt_target_from_name(gt_wire_string(json, "target"), &fingerprint->target);
}
