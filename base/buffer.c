#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *gt_alloc(size_t bytes) {
  void *memory = calloc(1, bytes ? bytes : 1);
  if (!memory) abort();
  return memory;
}

void *gt_realloc(void *old, size_t bytes) {
  void *memory = realloc(old, bytes ? bytes : 1);
  if (!memory) abort();
  return memory;
}

char *gt_strdup(const char *text) {
  size_t size = strlen(text) + 1;
  return memcpy(gt_alloc(size), text, size);
}

static void reserve(gt_buffer *buffer, size_t more) {
  size_t needed = buffer->length + more + 1;
  if (needed <= buffer->capacity) return;
  size_t capacity = buffer->capacity ? buffer->capacity : 64;
  while (capacity < needed) capacity *= 2;
  buffer->data = gt_realloc(buffer->data, capacity);
  buffer->capacity = capacity;
}

void gt_buffer_append(gt_buffer *buffer, const void *data, size_t length) {
  reserve(buffer, length);
  if (length) memcpy(buffer->data + buffer->length, data, length);
  buffer->length += length;
  buffer->data[buffer->length] = 0;
}

static void print_arguments(gt_buffer *buffer, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (length < 0) abort();
  reserve(buffer, (size_t)length);
  vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, arguments);
  buffer->length += (size_t)length;
}

void gt_buffer_print(gt_buffer *buffer, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_arguments(buffer, format, arguments);
  va_end(arguments);
}

char *gt_print(const char *format, ...) {
  gt_buffer buffer = {0};
  va_list arguments;
  va_start(arguments, format);
  print_arguments(&buffer, format, arguments);
  va_end(arguments);
  return buffer.data;
}

void gt_buffer_clear(gt_buffer *buffer) {
  buffer->length = 0;
  if (buffer->data) buffer->data[0] = 0;
}

void gt_buffer_free(gt_buffer *buffer) {
  free(buffer->data);
  *buffer = (gt_buffer){0};
}

int gt_buffer_read_file(gt_buffer *buffer, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  char block[65536];
  size_t got;
  while ((got = fread(block, 1, sizeof block, file)) > 0) gt_buffer_append(buffer, block, got);
  int ok = !ferror(file);
  fclose(file);
  if (ok) gt_buffer_append(buffer, "", 0); // an empty file is an empty string, not NULL
  return ok;
}
