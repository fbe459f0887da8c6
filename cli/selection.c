#include "cli/selection.h"

#include <stdlib.h>

#include "cli/command.h"
#include "cli/model.h"
#include "cli/options.h"
#include "tuner/workshop.h"

static gt_status find_model(gt_selection_options *o, gt_error *error) {
  char text[320];
  gt_workshop *workshop = NULL;
  gt_status status = gt_workshop_open(o->device, NULL, &workshop, error);
  if (status == GT_OK) {
    gt_model_print(gt_workshop_fingerprint(workshop), text);
    o->device_model = gt_strdup(text);
    o->selection.model = o->device_model;
  }
  gt_workshop_close(workshop);
  return status;
}

int gt_selection_make(gt_selection_options *o) {
  gt_error error = {0};
  if (o->model && o->device) {
    gt_complain("--model and --device exclude each other");
    return 2;
  }
  o->selection.model = o->model;
  if (o->device && find_model(o, &error) != GT_OK) return gt_complain_error(&error);
  o->selection.op = o->op;
  if (o->op && !gt_operator_find(o->op)) {
    gt_complain("unknown operator '%s'; gathertune tune --help lists them", o->op);
    return 2;
  }
  if (!o->suite) return GT_CONTINUE;
  if (gt_suite_read(&o->problems, o->suite, true) != GT_OK) return 2;
  if (o->problems.count == 0) {
    gt_complain("there is no problem in suite %s", o->suite);
    return 2;
  }
  o->texts = gt_alloc(o->problems.count * sizeof *o->texts);
  for (size_t i = 0; i < o->problems.count; i++) {
    o->texts[i] = gt_alloc(GT_PROBLEM_TEXT);
    gt_problem_print(&o->problems.problems[i], o->texts[i]);
  }
  o->selection.problems = (const char *const *)o->texts;
  o->selection.n_problems = o->problems.count;
  return GT_CONTINUE;
}

void gt_selection_free(gt_selection_options *o) {
  for (size_t i = 0; o->texts && i < o->problems.count; i++) free(o->texts[i]);
  free(o->texts);
  free(o->device_model);
  gt_suite_free(&o->problems);
}
