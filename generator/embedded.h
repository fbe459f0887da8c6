// The template files that are compiled into the program. tools/embed.c writes the table at build time.
#ifndef GT_GENERATOR_EMBEDDED_H
#define GT_GENERATOR_EMBEDDED_H

#include <stddef.h>

typedef struct {
  const char *name; // relative to templates/: "taps.lua", "lib/window.lua"
  const char *text; // zero-terminated
  size_t length;
} gt_embedded_file;

extern const gt_embedded_file gt_embedded_files[]; // sorted by name
extern const size_t gt_embedded_count;

#endif
