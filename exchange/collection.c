#include "exchange/collection.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "exchange/order.h"

static void free_trial(gt_collected_trial *t) {
  free(t->problem);
  free(t->host);
  free(t->tried_at);
  gt_trial_free(&t->trial);
}

static void free_winner(gt_collected_winner *w) {
  free(w->host);
  gt_winner_free(&w->winner);
}

void gt_collection_free(gt_collection *c) {
  for (size_t i = 0; i < c->n_trials; i++) free_trial(&c->trials[i]);
  for (size_t i = 0; i < c->n_winners; i++) free_winner(&c->winners[i]);
  free(c->devices);
  free(c->trials);
  free(c->winners);
  *c = (gt_collection){0};
}

size_t gt_collection_device(gt_collection *c, const gt_fingerprint *device) {
  for (size_t i = c->n_devices; i-- > 0;) // most often that of the record before
    if (gt_order_devices(&c->devices[i], device) == 0) return i;
  c->devices = gt_realloc(c->devices, (c->n_devices + 1) * sizeof *c->devices);
  c->devices[c->n_devices] = *device;
  return c->n_devices++;
}

void gt_collection_add_trial(gt_collection *c, size_t device, int from, const char *problem,
                             const char *tried_at, const char *host, gt_trial *trial) {
  if (c->n_trials == c->trial_capacity) {
    c->trial_capacity = c->trial_capacity ? 2 * c->trial_capacity : 64;
    c->trials = gt_realloc(c->trials, c->trial_capacity * sizeof *c->trials);
  }
  c->trials[c->n_trials++] = (gt_collected_trial){.device = device,
                                                  .from = from,
                                                  .problem = gt_strdup(problem),
                                                  .host = gt_strdup(host),
                                                  .tried_at = gt_strdup(tried_at),
                                                  .trial = *trial};
  *trial = (gt_trial){0};
}

void gt_collection_add_winner(gt_collection *c, size_t device, int from, const char *host,
                              gt_winner *winner) {
  if (c->n_winners == c->winner_capacity) {
    c->winner_capacity = c->winner_capacity ? 2 * c->winner_capacity : 64;
    c->winners = gt_realloc(c->winners, c->winner_capacity * sizeof *c->winners);
  }
  c->winners[c->n_winners++] = (gt_collected_winner){device, from, gt_strdup(host), *winner, false, false};
  *winner = (gt_winner){0};
}

void gt_collection_append(gt_collection *c, gt_collection *other) {
  size_t *devices = gt_alloc((other->n_devices + 1) * sizeof *devices);
  for (size_t i = 0; i < other->n_devices; i++) devices[i] = gt_collection_device(c, &other->devices[i]);
  c->trial_capacity = c->n_trials + other->n_trials;
  c->trials = gt_realloc(c->trials, (c->trial_capacity + 1) * sizeof *c->trials);
  for (size_t i = 0; i < other->n_trials; i++) {
    other->trials[i].device = devices[other->trials[i].device];
    c->trials[c->n_trials++] = other->trials[i];
  }
  c->winner_capacity = c->n_winners + other->n_winners;
  c->winners = gt_realloc(c->winners, (c->winner_capacity + 1) * sizeof *c->winners);
  for (size_t i = 0; i < other->n_winners; i++) {
    other->winners[i].device = devices[other->winners[i].device];
    c->winners[c->n_winners++] = other->winners[i];
  }
  free(devices);
  other->n_trials = other->n_winners = 0;
}

// --- selections --------------------------------------------------------------------------------------------

static bool is_of_operator(const char *problem, const char *op) {
  size_t length = strlen(op);
  return strncmp(problem, op, length) == 0 && problem[length] == ':';
}

bool gt_selection_has(const gt_selection *selection, const gt_fingerprint *device, const char *problem) {
  if (selection->model) {
    char *text =
        gt_print("%s / %s / %s / %d", device->backend, device->name, device->arch, device->compute_units);
    bool matches = strcasestr(text, selection->model) != NULL;
    free(text);
    if (!matches) return false;
  }
  if (selection->op && !is_of_operator(problem, selection->op)) return false;
  for (size_t i = 0; i < selection->n_problems; i++)
    if (strcmp(selection->problems[i], problem) == 0) return true;
  return selection->n_problems == 0;
}

void gt_collection_select(gt_collection *c, const gt_selection *selection) {
  size_t kept = 0;
  for (size_t i = 0; i < c->n_trials; i++) {
    gt_collected_trial *t = &c->trials[i];
    if (!selection->no_trials && gt_selection_has(selection, &c->devices[t->device], t->problem))
      c->trials[kept++] = *t;
    else
      free_trial(t);
  }
  c->n_trials = kept;
  kept = 0;
  for (size_t i = 0; i < c->n_winners; i++) {
    gt_collected_winner *w = &c->winners[i];
    if (!selection->no_winners && gt_selection_has(selection, &c->devices[w->device], w->winner.problem))
      c->winners[kept++] = *w;
    else
      free_winner(w);
  }
  c->n_winners = kept;
}

// --- whose results repeat ----------------------------------------------------------------------------------

size_t gt_collection_count_winners(const gt_collection *c) {
  size_t count = 0;
  for (size_t i = 0; i < c->n_winners; i++) count += !c->winners[i].deterministic;
  return count;
}

// Whether a record is the best whose results repeat beside another one, the winner.
static bool is_beside(const gt_collection *c, size_t winner, size_t other) {
  return other < c->n_winners && c->winners[other].deterministic && !c->winners[winner].deterministic &&
         gt_order_winner_problems(c->devices, &c->winners[winner], &c->winners[other]) == 0;
}

void gt_collection_keep_winners(gt_collection *c) {
  size_t kept = 0;
  for (size_t i = 0; i < c->n_winners; i++)
    if (c->winners[i].deterministic)
      free_winner(&c->winners[i]);
    else
      c->winners[kept++] = c->winners[i];
  c->n_winners = kept;
}

void gt_collection_keep_deterministic(gt_collection *c) {
  size_t kept = 0;
  gt_collection_sort(c); // the one beside a winner comes right after it
  for (size_t i = 0; i < c->n_winners; i++) {
    gt_collected_winner *w = &c->winners[i];
    // A winner that does for both stays, whatever is beside it.
    if (w->winner.variant.reproducible && !(kept && is_beside(c, kept - 1, i)))
      c->winners[kept++] = *w;
    else
      free_winner(w);
  }
  c->n_winners = kept;
  for (size_t i = 0; i < kept; i++) c->winners[i].deterministic = false;
}

// --- from and to a cache -----------------------------------------------------------------------------------

typedef struct {
  gt_collection *collection;
  gt_cache *cache;
  const gt_selection *selection;
  int from;
  bool deterministic; // what is read
} reading;

// Problems are kept as they are printed: another text would be another problem here and the same one there.
static gt_status check_problem(const reading *r, const char *text, gt_error *error) {
  gt_problem problem;
  gt_error reason = {0};
  char canonical[GT_PROBLEM_TEXT] = "";
  if (gt_problem_parse(text, &problem, &reason) == GT_OK) gt_problem_print(&problem, canonical);
  if (strcmp(canonical, text) == 0) return GT_OK;
  return gt_fail(error, GT_CORRUPT, "%s: the problem %.200s is not one that this version knows%s%s",
                 gt_cache_path(r->cache), text, reason.text[0] ? ": " : "", reason.text);
}

static gt_status on_trial(void *context, const gt_record *record, const gt_trial *trial, gt_error *error) {
  reading *r = context;
  if (!gt_selection_has(r->selection, &record->device, record->problem)) return GT_OK;
  gt_status status = check_problem(r, record->problem, error);
  if (status != GT_OK) return status;
  gt_trial copy = *trial;
  copy.configuration = gt_strdup(trial->configuration);
  copy.message = gt_strdup(trial->message);
  copy.samples_us = gt_alloc(trial->n_samples * sizeof *copy.samples_us);
  if (trial->n_samples)
    memcpy(copy.samples_us, trial->samples_us, trial->n_samples * sizeof *copy.samples_us);
  gt_collection_add_trial(r->collection, gt_collection_device(r->collection, &record->device), r->from,
                          record->problem, record->at, record->host, &copy);
  return GT_OK;
}

static gt_status on_winner(void *context, const gt_record *record, const gt_winner *winner, gt_error *error) {
  reading *r = context;
  if (!gt_selection_has(r->selection, &record->device, record->problem)) return GT_OK;
  gt_status status = check_problem(r, record->problem, error);
  if (status != GT_OK) return status;
  gt_winner copy = *winner;
  copy.problem = gt_strdup(winner->problem);
  copy.device = gt_strdup(winner->device);
  copy.variant.configuration = gt_strdup(winner->variant.configuration);
  copy.variant.family = gt_strdup(winner->variant.family);
  copy.variant.source = NULL;
  copy.compiler = gt_strdup(winner->compiler);
  copy.driver = gt_strdup(winner->driver);
  copy.tuned_at = gt_strdup(winner->tuned_at);
  copy.ties = gt_alloc((winner->n_ties + 1) * sizeof *copy.ties);
  for (size_t i = 0; i < winner->n_ties; i++) {
    copy.ties[i] = winner->ties[i];
    copy.ties[i].configuration = gt_strdup(winner->ties[i].configuration);
  }
  if (winner->code) copy.code = memcpy(gt_alloc(winner->code_size), winner->code, winner->code_size);
  gt_collection_add_winner(r->collection, gt_collection_device(r->collection, &record->device), r->from,
                           record->host, &copy);
  r->collection->winners[r->collection->n_winners - 1].deterministic = r->deterministic;
  return GT_OK;
}

gt_status gt_collection_read(gt_collection *collection, gt_cache *cache, const gt_selection *selection,
                             int from, gt_error *error) {
  reading r = {collection, cache, selection, from, false};
  gt_status status = selection->no_trials ? GT_OK : gt_cache_each_trial_record(cache, on_trial, &r, error);
  if (status == GT_OK && !selection->no_winners)
    status = gt_cache_each_winner_record(cache, on_winner, &r, error);
  r.deterministic = true;
  if (status == GT_OK && !selection->no_winners)
    status = gt_cache_each_deterministic_record(cache, on_winner, &r, error);
  return status;
}

static gt_status write_winner(const gt_collection *c, size_t i, gt_cache *cache, gt_error *error) {
  gt_problem problem;
  const gt_collected_winner *w = &c->winners[i];
  const gt_fingerprint *device = &c->devices[w->device];
  gt_status status = gt_problem_parse(w->winner.problem, &problem, error);
  if (status != GT_OK) return status;
  if (w->deterministic)
    return gt_cache_put_deterministic_record(cache, device, &problem, &w->winner, w->host, error);
  status = gt_cache_put_winner_record(cache, device, &problem, &w->winner, w->host, error);
  if (status == GT_OK && !is_beside(c, i, i + 1))
    status = gt_cache_drop_deterministic(cache, device, &problem, error);
  return status;
}

gt_status gt_collection_write(const gt_collection *c, gt_cache *cache, gt_error *error) {
  gt_status status = GT_OK;
  gt_problem problem;
  for (size_t i = 0; i < c->n_trials && status == GT_OK; i++) {
    const gt_collected_trial *t = &c->trials[i];
    if (t->from == GT_FROM_TARGET) continue;
    status = gt_problem_parse(t->problem, &problem, error);
    if (status == GT_OK)
      status = gt_cache_put_trial_record(cache, &c->devices[t->device], &problem, &t->trial, t->tried_at,
                                         t->host, error);
  }
  for (size_t i = 0; i < c->n_winners && status == GT_OK; i++) {
    const gt_collected_winner *w = &c->winners[i];
    if (w->from != GT_FROM_TARGET || w->moved) status = write_winner(c, i, cache, error);
  }
  return status;
}

static int by_trial(const void *a, const void *b, void *context) {
  return gt_order_trials(context, a, b);
}

static int by_winner(const void *a, const void *b, void *context) {
  return gt_order_winners(context, a, b);
}

void gt_collection_sort(gt_collection *c) {
  if (c->n_trials) qsort_r(c->trials, c->n_trials, sizeof *c->trials, by_trial, c->devices);
  if (c->n_winners) qsort_r(c->winners, c->n_winners, sizeof *c->winners, by_winner, c->devices);
}
