#include "cli/tune_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/tune_events.h"
#include "cli/tune_pools.h"
#include "cli/tune_progress.h"
#include "tuner/classes.h"

enum { MOST_LOSSES = 2 };               // a problem over which so many devices were lost is not tried on a further one
static const double seconds_of_nap = 1; // between looks whether the run was interrupted, where nothing else wakes

// --- the next problem. All under the lock
// --------------------------------------------------------------------

static bool may_take(const gt_tune_device *device, const gt_tune_row *row) {
  return row->pool == device->pool && row->state == GT_ROW_WAITING &&
         (!row->home || row->home == device || row->home->lost);
}

// What is stale first; then what has trials of this device, since nobody else can take it.
static gt_tune_row *find_row(const gt_tune_device *device) {
  gt_tune_run *run = device->run;
  gt_tune_row *own = NULL, *other = NULL;
  for (size_t i = 0; i < run->n_rows; i++) {
    gt_tune_row *row = &run->rows[i];
    if (!may_take(device, row)) continue;
    if (row->stale) return row;
    if (row->home == device && !own) own = row;
    if (!other) other = row;
  }
  return own ? own : other;
}

// Whether there may be a problem for the device yet: others may be lost, and leave theirs.
static bool may_come(const gt_tune_device *device) {
  const gt_tune_run *run = device->run;
  for (size_t i = 0; i < run->n_rows; i++)
    if (run->rows[i].pool == device->pool && run->rows[i].state != GT_ROW_DONE) return true;
  return false;
}

static void nap(gt_tune_run *run) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += (time_t)seconds_of_nap;
  pthread_cond_timedwait(&run->changed, &run->lock, &until);
}

static gt_tune_row *next_row(gt_tune_device *device) {
  gt_tune_run *run = device->run;
  for (;; nap(run)) {
    if (gt_was_interrupted()) {
      run->worst = GT_INTERRUPTED;
      run->stop = true;
    }
    if (run->stop) return NULL;
    gt_tune_row *row = find_row(device);
    if (row || !may_come(device)) return row;
  }
}

// --- one problem
// -----------------------------------------------------------------------------------------------

static void on_progress(void *context, const gt_tune_progress *now) {
  gt_tune_device *device = context;
  gt_tune_row *row = device->row;
  pthread_mutex_lock(&device->run->lock);
  if (now->best) {
    free(row->best);
    row->best = gt_strdup(now->best);
    row->best_us = now->best_us;
  }
  row->default_us = now->default_us;
  row->stream_us = now->stream_us;
  if (now->last) gt_tune_event_trial(device, now);
  gt_tune_progress_show(device, now);
  pthread_mutex_unlock(&device->run->lock);
}

static void begin_row(gt_tune_device *device, gt_tune_row *row) {
  row->state = GT_ROW_RUNNING;
  row->device = device;
  if (!row->number) row->number = ++device->run->begun;
  device->row = row;
  gt_tune_event_problem(device);
  gt_tune_progress_begin(device);
}

// What a problem that was interrupted, or whose results could not be stored any more, has to show is the best so far.
static void take_best_so_far(gt_tune_row *row) {
  if (row->tuned.configuration) return;
  row->tuned.configuration = row->best;
  row->best = NULL;
  row->tuned.best_us = row->best_us;
  row->tuned.default_us = row->default_us;
  row->tuned.stream_us = row->stream_us;
}

// Whether other problems are still worth trying after one ended like this.
static bool goes_on(gt_status status) {
  return status == GT_OK || status == GT_FAILED || status == GT_UNSUPPORTED || status == GT_OUT_OF_MEMORY;
}

static bool may_be_the_device(gt_status status) {
  return status == GT_DEVICE_LOST || status == GT_NO_DEVICE || status == GT_NO_LIBRARY || status == GT_CRASH ||
         status == GT_TIMEOUT;
}

static size_t others_in_pool(const gt_tune_device *device) {
  size_t count = 0;
  for (size_t i = 0; i < device->run->n_devices; i++) {
    const gt_tune_device *other = &device->run->devices[i];
    count += other != device && other->pool == device->pool && !other->lost;
  }
  return count;
}

static void lose(gt_tune_device *device, gt_tune_row *row, const gt_error *error) {
  gt_tune_run *run = device->run;
  size_t others = others_in_pool(device), left = 0;
  device->lost = true;
  device->error = *error;
  row->losses++;
  bool again = others && row->losses < MOST_LOSSES;
  for (size_t i = 0; i < run->n_rows; i++)
    left += run->rows[i].pool == device->pool && run->rows[i].state == GT_ROW_WAITING;
  if (again) { // its trials lie in the cache, and are of this device
    gt_tuned_free(&row->tuned);
    free(row->best);
    row->best = NULL;
    row->best_us = row->default_us = row->stream_us = 0;
    row->state = GT_ROW_WAITING;
    row->device = NULL;
    row->status = GT_OK;
  }
  gt_complain("%s is lost: %s", device->name, error->text);
  if (run->n_devices > 1 && others)
    gt_complain("%zu of its kind go on without it", others);
  else if (left)
    gt_complain("%zu more problems are not tuned", left);
  gt_tune_event_lost(device);
}

static void end_row(gt_tune_device *device, gt_tune_row *row, double seconds, const gt_error *error,
                    const gt_error *loss) {
  gt_tune_run *run = device->run;
  gt_status status = row->status;
  row->seconds += seconds;
  row->state = GT_ROW_DONE;
  gt_tune_progress_end(device);
  device->row = NULL;
  device->device_seconds += row->tuned.device_seconds;
  if (status != GT_OK) {
    snprintf(row->message, sizeof row->message, "%s", error->text);
    if (run->worst != GT_INTERRUPTED && !run->stop) run->worst = status;
    take_best_so_far(row);
    if (status != GT_INTERRUPTED) gt_complain("%s: %s", row->text, error->text);
  }
  if (loss->status != GT_OK)
    lose(device, row, loss);
  else if (!goes_on(status) && !may_be_the_device(status) && !run->stop) {
    run->stop = true; // a cache that cannot be written, for one, is that of all
    gt_workshop_interrupt();
  }
  if (row->state == GT_ROW_DONE) {
    device->problems++;
    gt_tune_event_result(device, row);
  }
}

static void tune_row(gt_tune_device *device, gt_tune_row *row) {
  gt_tune_run *run = device->run;
  gt_error error = {0}, loss = {0};
  double start = gt_seconds();
  bool by_classes = gt_has_classes(row->problem) && !run->grid;
  row->status = (by_classes ? gt_tune_classes : gt_tune)(device->generator, device->workshop, device->cache,
                                                         row->problem, &run->tune, on_progress, device,
                                                         &row->tuned, &error);
  if (may_be_the_device(row->status)) loss.status = gt_workshop_check(device->workshop, &loss);
  if (loss.status == GT_INTERRUPTED) {
    row->status = GT_INTERRUPTED;
    loss.status = GT_OK;
  }
  pthread_mutex_lock(&run->lock);
  end_row(device, row, gt_seconds() - start, &error, &loss);
  pthread_cond_broadcast(&run->changed);
  pthread_mutex_unlock(&run->lock);
}

// --- a device's thread
// -----------------------------------------------------------------------------------------

// Its workers live as long as the thread that starts them: it opens and closes the workshop, too.
static void *work(void *argument) {
  gt_tune_device *device = argument;
  gt_tune_run *run = device->run;
  gt_workshop_options limits = run->limits;
  limits.compile_jobs = device->compile_jobs;
  gt_status status = gt_workshop_open(device->name, &limits, &device->workshop, &device->error);
  pthread_mutex_lock(&run->lock);
  device->error.status = status;
  if (status == GT_OK) {
    *device->error.text = 0; // of a first attempt
    device->fingerprint = *gt_workshop_fingerprint(device->workshop);
    // A recorded device's name is a path, which the resolved name may not hold in full.
    if (strncmp(device->name, "recorded:", 9) != 0) {
      free(device->name);
      device->name = gt_strdup(gt_workshop_device(device->workshop));
    }
  }
  device->opened = true;
  pthread_cond_broadcast(&run->changed);
  while (!run->go && !run->stop) pthread_cond_wait(&run->changed, &run->lock);
  device->began = gt_seconds();
  while (status == GT_OK && run->go && !device->lost) {
    gt_tune_row *row = next_row(device);
    if (!row) break;
    begin_row(device, row);
    pthread_mutex_unlock(&run->lock);
    tune_row(device, row);
    pthread_mutex_lock(&run->lock);
    device->seconds = gt_seconds() - device->began;
  }
  pthread_mutex_unlock(&run->lock);
  gt_workshop_close(device->workshop);
  device->workshop = NULL;
  return NULL;
}

// --- the whole
// -------------------------------------------------------------------------------------------------

// Tells what did not open, or fails for it.
static gt_status sort_out(const gt_tune_run *run, bool found, gt_error *error) {
  size_t opened = 0;
  for (size_t i = 0; i < run->n_devices; i++) {
    const gt_tune_device *device = &run->devices[i];
    if (device->error.status != GT_OK) {
      if (!found || device->error.status == GT_INTERRUPTED || run->n_devices == 1)
        return gt_fail(error, device->error.status, "%s%s%s", run->n_devices > 1 ? device->name : "",
                       run->n_devices > 1 ? ": " : "", device->error.text);
      gt_complain("%s is left out: %s", device->name, device->error.text);
    }
    opened += device->error.status == GT_OK;
    for (size_t k = 0; k < i; k++)
      if (strcmp(run->devices[k].name, device->name) == 0)
        return gt_fail(error, GT_USAGE, "tune: --device names %s twice", device->name);
  }
  return opened ? GT_OK : gt_fail(error, GT_NO_DEVICE, "none of %zu devices opens", run->n_devices);
}

gt_status gt_tune_run_open(gt_tune_run *run, const gt_device_names *names, gt_error *error) {
  pthread_mutex_init(&run->lock, NULL);
  pthread_mutex_init(&run->turn, NULL);
  pthread_cond_init(&run->changed, NULL);
  run->devices = gt_alloc(names->count * sizeof *run->devices);
  run->n_devices = names->count;
  run->began = gt_seconds();
  gt_status status = GT_OK;
  for (size_t i = 0; i < names->count && status == GT_OK; i++) {
    gt_tune_device *device = &run->devices[i];
    int n = (int)names->count, share = run->compile_jobs / n + ((int)i < run->compile_jobs % n);
    *device = (gt_tune_device){.run = run, .name = gt_strdup(names->names[i])};
    device->compile_jobs = !run->compile_jobs ? gt_workshop_compile_jobs(n) : share > 0 ? share : 1;
    device->started = pthread_create(&device->thread, NULL, work, device) == 0;
    if (!device->started) status = gt_fail(error, GT_IO, "cannot start a thread for %s", device->name);
  }
  if (status != GT_OK) return status;
  pthread_mutex_lock(&run->lock);
  for (size_t i = 0; i < run->n_devices; i++)
    while (!run->devices[i].opened) pthread_cond_wait(&run->changed, &run->lock);
  pthread_mutex_unlock(&run->lock);
  status = sort_out(run, names->found, error);
  if (status != GT_OK) return status;
  gt_tune_pools_make(run);
  return GT_OK;
}

// Without the store every source is compiled: worth a word, and no reason to stop.
static bool open_code_store(gt_tune_device *device, const char *path) {
  gt_error error = {0};
  if (gt_code_store_open(path, GT_CODE_STORE_BYTES, &device->store, &error) == GT_OK) return true;
  gt_complain("%s: code objects are neither reused nor kept", error.text);
  return false;
}

static gt_status equip(gt_tune_run *run, const char *path, bool store, gt_error *error) {
  char *store_path = gt_code_store_path(path);
  const char *templates = getenv("GATHERTUNE_TEMPLATES");
  if (templates && !*templates) templates = NULL;
  gt_status status = GT_OK;
  for (size_t i = 0; i < run->n_devices && status == GT_OK; i++) {
    gt_tune_device *device = &run->devices[i];
    if (device->pool == SIZE_MAX) continue;
    status = gt_generator_open(templates, &device->generator, error);
    if (status == GT_OK) status = gt_cache_open(path, GT_CACHE_WRITE, &device->cache, error);
    if (status != GT_OK) break;
    gt_cache_take_turns(device->cache, &run->turn);
    if (store) store = open_code_store(device, store_path);
    gt_workshop_use_store(device->workshop, device->store);
    if (run->grid) gt_workshop_use_grid(device->workshop, run->grid->data, run->grid->length);
  }
  free(store_path);
  return status;
}

gt_status gt_tune_run_all(gt_tune_run *run, const char *path, bool store, gt_error *error) {
  gt_status status = equip(run, path, store, error);
  if (status == GT_OK) status = gt_tune_pools_order(run, error);
  if (status != GT_OK) return status;
  gt_tune_event_run(run);
  gt_progress_start(&run->progress);
  pthread_mutex_lock(&run->lock);
  run->go = true;
  pthread_cond_broadcast(&run->changed);
  pthread_mutex_unlock(&run->lock);
  for (size_t i = 0; i < run->n_devices; i++) {
    pthread_join(run->devices[i].thread, NULL);
    run->devices[i].started = false;
  }
  for (size_t i = 0; i < run->n_devices; i++)
    if (run->devices[i].lost && run->worst == GT_OK) run->worst = GT_DEVICE_LOST;
  return GT_OK;
}

void gt_tune_run_close(gt_tune_run *run) {
  if (!run->devices) return;
  pthread_mutex_lock(&run->lock);
  run->stop = true;
  pthread_cond_broadcast(&run->changed);
  pthread_mutex_unlock(&run->lock);
  for (size_t i = 0; i < run->n_devices; i++) {
    gt_tune_device *device = &run->devices[i];
    if (device->started) pthread_join(device->thread, NULL);
    gt_cache_close(device->cache);
    gt_code_store_close(device->store);
    gt_generator_close(device->generator);
    free(device->name);
    free(device->line);
  }
  for (size_t i = 0; i < run->n_rows; i++) {
    free(run->rows[i].best);
    gt_tuned_free(&run->rows[i].tuned);
  }
  free(run->devices);
  free(run->rows);
  free(run->cache_path);
  pthread_mutex_destroy(&run->lock);
  pthread_mutex_destroy(&run->turn);
  pthread_cond_destroy(&run->changed);
  *run = (gt_tune_run){0};
}
