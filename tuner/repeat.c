#include "tuner/repeat.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "tuner/choose.h"
#include "tuner/positions.h"

typedef struct {
  gt_generator *generator;
  const gt_fingerprint *device;
  const gt_problem *problem;
  size_t classes, class; // of positions; the one whose trials are read
  size_t count, room;
  char **configurations;
  double *us, *spread_us; // [count][classes], 0: not timed
} survey;

// Trials of one problem come in the order of their configurations, those of several devices of a model one after the other; other
// classes add to what the first one had.
static size_t find(survey *s, const char *configuration) {
  for (size_t i = s->count; i-- > 0;)
    if (strcmp(s->configurations[i], configuration) == 0) return i;
  return s->count;
}

static void add(survey *s, const char *configuration) {
  if (s->count == s->room) {
    s->room = s->room ? 2 * s->room : 64;
    s->configurations = gt_realloc(s->configurations, s->room * sizeof *s->configurations);
    s->us = gt_realloc(s->us, s->room * s->classes * sizeof *s->us);
    s->spread_us = gt_realloc(s->spread_us, s->room * s->classes * sizeof *s->spread_us);
  }
  memset(&s->us[s->count * s->classes], 0, s->classes * sizeof *s->us);
  memset(&s->spread_us[s->count * s->classes], 0, s->classes * sizeof *s->spread_us);
  s->configurations[s->count++] = gt_strdup(configuration);
}

static void on_trial(void *context, const gt_trial *trial) {
  survey *s = context;
  bool repeats;
  if (!gt_trial_is_timed(trial)) return;
  size_t i = find(s, trial->configuration);
  if (i == s->count) {
    if (s->class > 0 || !gt_is_of_candidate(s->generator, trial->configuration) ||
        gt_repeats(s->generator, trial->configuration, s->problem, s->device, &repeats, NULL) != GT_OK || !repeats)
      return;
    add(s, trial->configuration);
  }
  double *us = &s->us[i * s->classes + s->class];
  if (*us > 0 && trial->median_us >= *us) return;
  *us = trial->median_us;
  s->spread_us[i * s->classes + s->class] = trial->spread_us;
}

// `by_classes`: of the problem's classes of positions, else of its own trials.
static gt_status look(gt_generator *generator, gt_cache *cache, const gt_fingerprint *device,
                      const gt_problem *problem, bool by_classes, char **configuration, double *us,
                      double *spread_us, gt_error *error) {
  survey s = {.generator = generator,
              .device = device,
              .problem = problem,
              .classes = by_classes ? GT_CLASSES : 1};
  gt_status status = GT_OK;
  double regret;
  for (; s.class < s.classes && status == GT_OK; s.class++) {
    gt_problem of = by_classes ? gt_problem_of_class(problem, (int)s.class) : *problem;
    status = gt_cache_each_trial(cache, device, &of, on_trial, &s, error);
  }
  int best = status == GT_OK
                 ? gt_choose_everywhere(s.us, (const char *const *)s.configurations, s.count, s.classes, &regret)
                 : -1;
  if (best >= 0) {
    *configuration = gt_strdup(s.configurations[best]);
    *us = gt_time_everywhere(&s.us[(size_t)best * s.classes], s.classes);
    *spread_us = gt_time_everywhere(&s.spread_us[(size_t)best * s.classes], s.classes);
  } else if (status == GT_OK) {
    status = gt_fail(error, GT_NOT_FOUND, "nothing whose results repeat was tried");
  }
  for (size_t i = 0; i < s.count; i++) free(s.configurations[i]);
  free(s.configurations);
  free(s.us);
  free(s.spread_us);
  return status;
}

gt_status gt_repeat_best(gt_generator *generator, gt_cache *cache, const gt_fingerprint *device,
                         const gt_problem *problem, char **configuration, double *us, double *spread_us,
                         gt_error *error) {
  *configuration = NULL;
  gt_status status = look(generator, cache, device, problem, false, configuration, us, spread_us, error);
  if (status == GT_NOT_FOUND && gt_has_classes(problem))
    status = look(generator, cache, device, problem, true, configuration, us, spread_us, error);
  return status;
}
