// A growing byte string. Always zero-terminated, so that `data` can be used as a C string. Running out of memory aborts.
#ifndef GT_BASE_BUFFER_H
#define GT_BASE_BUFFER_H

#include <stddef.h>

typedef struct {
  char *data; // NULL until something is appended
  size_t length, capacity;
} gt_buffer;

void gt_buffer_append(gt_buffer *buffer, const void *data, size_t length);
void gt_buffer_print(gt_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gt_buffer_clear(gt_buffer *buffer); // keeps the memory
void gt_buffer_free(gt_buffer *buffer);  // harmless on a zeroed or freed buffer

// malloc and friends that abort when memory runs out.
void *gt_alloc(size_t bytes); // zeroed
void *gt_realloc(void *old, size_t bytes);
char *gt_strdup(const char *text);
char *gt_print(const char *format, ...) __attribute__((format(printf, 1, 2))); // a new string

// Reads a whole file into *buffer. False, with errno set, on failure.
int gt_buffer_read_file(gt_buffer *buffer, const char *path);

#endif
