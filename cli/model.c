#include "cli/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "tuner/workshop.h"

static const char separator[] = " / ";

void gt_model_print(const gt_fingerprint *fingerprint, char text[320]) {
  snprintf(text, 320, "%s / %s / %s / %d", fingerprint->backend, fingerprint->name, fingerprint->arch,
           fingerprint->compute_units);
}

// Cuts the part after the last separator off `text`. NULL when there is none.
static char *cut_last(char *text) {
  char *found = NULL;
  for (char *at = strstr(text, separator); at; at = strstr(at + 1, separator)) found = at;
  if (!found) return NULL;
  *found = 0;
  return found + sizeof separator - 1;
}

static bool copy(char *to, size_t size, const char *from) {
  return snprintf(to, size, "%s", from) < (int)size;
}

bool gt_model_parse(const char *text, gt_fingerprint *fingerprint) {
  // Taken apart from both ends, because a device's name may hold the separator too.
  char *all = gt_strdup(text);
  char *units = cut_last(all), *arch = units ? cut_last(all) : NULL;
  char *name = arch ? strstr(all, separator) : NULL;
  bool good = name != NULL;
  if (good) {
    *name = 0;
    name += sizeof separator - 1;
    if (!gt_fingerprint_for_arch(arch, fingerprint)) *fingerprint = (gt_fingerprint){0};
    good = copy(fingerprint->backend, sizeof fingerprint->backend, all) &&
           copy(fingerprint->name, sizeof fingerprint->name, name) &&
           copy(fingerprint->arch, sizeof fingerprint->arch, arch);
    fingerprint->compute_units = atoi(units);
  }
  free(all);
  return good;
}

bool gt_model_renders(const gt_fingerprint *fingerprint) {
  return fingerprint->max_threads_per_block > 0;
}

// --- the models of a cache
// -------------------------------------------------------------------------------------

typedef struct {
  void (*visit)(void *context, const char *text);
  void *context;
  char *last; // winners come ordered by device
} each;

static void on_winner(void *context, const gt_winner *winner) {
  each *e = context;
  if (e->last && strcmp(e->last, winner->device) == 0) return;
  free(e->last);
  e->last = gt_strdup(winner->device);
  e->visit(e->context, winner->device);
}

gt_status gt_model_each(gt_cache *cache, void (*visit)(void *context, const char *text), void *context,
                        gt_error *error) {
  each e = {visit, context, NULL};
  gt_status status = cache ? gt_cache_each_winner(cache, on_winner, &e, error) : GT_OK;
  free(e.last);
  return status;
}

typedef struct {
  const char *part;
  size_t matches;
  char *first, *second;
} search;

static void on_model(void *context, const char *text) {
  search *s = context;
  if (!strcasestr(text, s->part)) return;
  s->matches++;
  char **slot = s->matches == 1 ? &s->first : s->matches == 2 ? &s->second : NULL;
  if (slot) *slot = gt_strdup(text);
}

gt_status gt_model_find(gt_cache *cache, const char *part, gt_fingerprint *fingerprint, gt_error *error) {
  search s = {.part = part};
  gt_status status = gt_model_each(cache, on_model, &s, error);
  if (status == GT_OK && s.matches > 1 && !*part)
    status = gt_fail(error, GT_USAGE, "several models are in the cache, \"%s\", \"%s\"%s: name one with --model",
                     s.first, s.second, s.matches > 2 ? ", ..." : "");
  else if (status == GT_OK && s.matches > 1)
    status = gt_fail(error, GT_USAGE, "model '%s' is not unique: \"%s\", \"%s\"%s", part, s.first, s.second,
                     s.matches > 2 ? ", ..." : "");
  else if (status == GT_OK && s.matches == 1 && !gt_model_parse(s.first, fingerprint))
    status = gt_fail(error, GT_CORRUPT, "the cache names a model '%s' that cannot be read", s.first);
  else if (status == GT_OK && s.matches == 0 && !*part)
    status = gt_fail(error, GT_NOT_FOUND, "the cache has no winner of any model; name one with --device");
  else if (status == GT_OK && s.matches == 0 && !gt_fingerprint_for_arch(part, fingerprint))
    status =
        gt_fail(error, GT_USAGE,
                "model '%s' is neither in the cache nor an architecture; gathertune list shows models", part);
  free(s.first);
  free(s.second);
  return status;
}

gt_status gt_model_choose(gt_cache *cache, const char *device, const char *model, gt_fingerprint *fingerprint,
                          gt_error *error) {
  if (!device && !model && !cache)
    return gt_fail(error, GT_NOT_FOUND,
                   "nothing is tuned yet: there is no cache; see gathertune tune --help");
  if (!device) return gt_model_find(cache, model ? model : "", fingerprint, error);
  gt_workshop *workshop = NULL;
  gt_status status = gt_workshop_open(device, NULL, &workshop, error);
  if (status == GT_OK) *fingerprint = *gt_workshop_fingerprint(workshop);
  gt_workshop_close(workshop);
  return status;
}
