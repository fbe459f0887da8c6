// Which records of a cache a command is about: --model, --device, --operator and --suite.
#ifndef GT_CLI_SELECTION_H
#define GT_CLI_SELECTION_H

#include "cli/suite.h"
#include "exchange/collection.h"

typedef struct {
  const char *model, *device, *op, *suite; // as the command line gives them
  gt_selection selection;
  gt_suite problems;
  char **texts;
  char *device_model; // of --device
} gt_selection_options;

// Rows of a table of options.
#define GT_SELECTION_OPTIONS(f)                                                                       \
  {                                                                                                   \
      "model",    0,      GT_OPTION_TEXT,                                                             \
      &(f).model, "TEXT", "only models whose name, as list shows it, has this part"},                 \
      {"device", 0, GT_OPTION_TEXT, &(f).device, "DEVICE", "instead, only the model of this device"}, \
      {"operator", 0, GT_OPTION_TEXT, &(f).op, "NAME", "only problems of this operator"}, {           \
    "suite", 0, GT_OPTION_TEXT, &(f).suite, "FILE", "only problems in this file, one a line"          \
  }

// Fills selection. Complains and returns the exit code on failure, else GT_CONTINUE. To be freed in any case.
int gt_selection_make(gt_selection_options *options);
void gt_selection_free(gt_selection_options *options);

#endif
