#include "cli/tune_pools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/classes.h"
#include "tuner/stale.h"

// Whether problems may be tuned on either: the same model with the same software.
static bool are_alike(const gt_fingerprint *a, const gt_fingerprint *b) {
  return strcmp(a->backend, b->backend) == 0 && strcmp(a->name, b->name) == 0 && strcmp(a->arch, b->arch) == 0 &&
         a->compute_units == b->compute_units && a->memory_bytes == b->memory_bytes &&
         strcmp(a->driver, b->driver) == 0 && strcmp(a->runtime, b->runtime) == 0 &&
         strcmp(a->compiler, b->compiler) == 0;
}

static void make_pools(gt_tune_run *run) {
  for (size_t i = 0; i < run->n_devices; i++) {
    gt_tune_device *device = &run->devices[i];
    device->pool = run->n_pools;
    if (device->error.status != GT_OK) {
      device->pool = SIZE_MAX;
      continue;
    }
    for (size_t k = 0; k < i && device->pool == run->n_pools; k++)
      if (run->devices[k].pool != SIZE_MAX && are_alike(&run->devices[k].fingerprint, &device->fingerprint))
        device->pool = run->devices[k].pool;
    run->n_pools += device->pool == run->n_pools;
  }
}

static void make_rows(gt_tune_run *run) {
  run->rows = gt_alloc((run->n_pools * run->suite->count + 1) * sizeof *run->rows);
  for (size_t pool = 0; pool < run->n_pools; pool++)
    for (size_t i = 0; i < run->suite->count; i++) {
      gt_tune_row *row = &run->rows[run->n_rows++];
      *row = (gt_tune_row){.problem = &run->suite->problems[i], .calls = run->suite->calls[i], .pool = pool};
      gt_problem_print(row->problem, row->text);
    }
}

void gt_tune_pools_make(gt_tune_run *run) {
  make_pools(run);
  make_rows(run);
}

static const gt_tune_device *first_of(const gt_tune_run *run, size_t pool) {
  const gt_tune_device *device = run->devices;
  while (device->pool != pool) device++;
  return device;
}

// What trials of a problem are kept for: it, or the first of its classes.
static gt_problem kept_as(const gt_problem *problem) {
  return gt_has_classes(problem) ? gt_problem_of_class(problem, 0) : *problem;
}

// A problem of which trials are stored goes to the device that has most of them.
static gt_status find_homes(gt_tune_run *run, gt_error *error) {
  gt_status status = GT_OK;
  for (size_t i = 0; i < run->n_rows && !run->tune.retry; i++) {
    gt_tune_row *row = &run->rows[i];
    gt_problem kept = kept_as(row->problem);
    size_t most = 0, members = 0;
    for (size_t k = 0; k < run->n_devices && status == GT_OK; k++) {
      gt_tune_device *device = &run->devices[k];
      size_t count = 0;
      if (device->pool != row->pool) continue;
      status = gt_cache_count_trials(device->cache, &device->fingerprint, &kept, &count, error);
      if (count >= most) row->home = count > most ? device : NULL; // equal ones: no matter which
      if (count > most) most = count;
      members++;
    }
    if (members < 2) row->home = NULL; // in the suite's order, then
  }
  return status;
}

// Problems whose stored winner is stale come first, in the order in which they were given, as do the others after
// them: what programs are served by now is verified before anything new is looked for.
static void put_stale_first(gt_tune_run *run) {
  size_t count = run->suite->count, stale = 0;
  gt_tune_row *sorted = gt_alloc((run->n_rows + 1) * sizeof *sorted), *to = sorted;
  for (size_t pool = 0; pool < run->n_pools; pool++) {
    const gt_tune_device *device = first_of(run, pool);
    gt_tune_row *rows = run->rows + pool * count;
    for (size_t i = 0; i < count; i++) {
      rows[i].stale = gt_is_stored_stale(device->generator, device->cache, &device->fingerprint, rows[i].problem);
      stale += rows[i].stale;
      if (rows[i].stale) *to++ = rows[i];
    }
    for (size_t i = 0; i < count; i++)
      if (!rows[i].stale) *to++ = rows[i];
  }
  free(run->rows);
  run->rows = sorted;
  if (stale && stale < run->n_rows && !run->quiet)
    fprintf(stderr, "%zu of %zu problems have a stale winner: they come first\n", stale, run->n_rows);
}

gt_status gt_tune_pools_order(gt_tune_run *run, gt_error *error) {
  gt_status status = find_homes(run, error);
  if (status == GT_OK) put_stale_first(run);
  return status;
}
