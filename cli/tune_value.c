#include "cli/tune_value.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

static int most_first(const void *a, const void *b) {
  const gt_tune_saving *one = a, *other = b;
  if (one->saved_us != other->saved_us) return one->saved_us < other->saved_us ? 1 : -1;
  return strcmp(one->row->text, other->row->text);
}

gt_tune_value gt_tune_value_of(const gt_tune_run *run, size_t pool) {
  gt_tune_value value = {0};
  if (!gt_suite_has_calls(run->suite)) return value;
  value.list = gt_alloc((run->n_rows + 1) * sizeof *value.list);
  for (size_t i = 0; i < run->n_rows; i++) {
    const gt_tune_row *row = &run->rows[i];
    const gt_tuned *t = &row->tuned;
    if (row->pool != pool) continue;
    if (!row->calls || t->untuned_us <= 0 || t->best_us <= 0) {
      value.left_out += !t->empty;
      continue;
    }
    double saved = t->untuned_us - t->best_us;
    gt_tune_saving saving = {.row = row,
                             .untuned_us = t->untuned_us * (double)row->calls,
                             .saved_us = saved > 0 ? saved * (double)row->calls : 0};
    value.untuned_us += saving.untuned_us;
    value.saved_us += saving.saved_us;
    value.list[value.count++] = saving;
  }
  qsort(value.list, value.count, sizeof *value.list, most_first);
  return value;
}

void gt_tune_value_free(gt_tune_value *value) {
  free(value->list);
  *value = (gt_tune_value){0};
}
