// The files that kernels are made from: those embedded in the program, or those of a directory, read once
// when it is opened.
#ifndef GT_GENERATOR_TEMPLATES_H
#define GT_GENERATOR_TEMPLATES_H

#include <stddef.h>

#include "base/status.h"

typedef struct {
  char *name; // relative to the template directory: "taps.lua", "lib/window.lua"
  const char *text;
  size_t length;
  char *owned; // the text's memory when it was read from disk
} gt_template_file;

typedef struct {
  gt_template_file *files; // sorted by name
  size_t count;
} gt_templates;

// Opens the embedded files, or those of `directory` (and its lib/) whose names end in .lua, .kernel or .h.
// GT_IO when the directory or a file cannot be read, GT_TEMPLATE for a file that is no text or too long.
gt_status gt_templates_open(const char *directory, gt_templates *templates, gt_error *error);
void gt_templates_close(gt_templates *templates); // harmless on a zeroed one

// The file of that name, or NULL.
const gt_template_file *gt_templates_find(const gt_templates *templates, const char *name);

#endif
