#include "tuner/agenda.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "generator/default.h"
#include "tuner/cost.h"

// Asking the scripts what all configurations do takes as long as some trials: too long for a few.
enum { LEAST_COSTED = 8 };

// What the parts of an agenda are made from.
typedef struct {
  gt_generator *generator;
  const gt_problem *problem;
  const gt_fingerprint *device;
  gt_agenda *agenda;
} making;

static void add(gt_agenda *agenda, const char *configuration, bool bound, bool candidate) {
  agenda->items = gt_realloc(agenda->items, (agenda->known + 1) * sizeof *agenda->items);
  agenda->items[agenda->known++] = (gt_agenda_item){gt_strdup(configuration), bound, candidate, GT_NO_POINT};
}

// The stored winner is tried whatever the budget: less than it must not take its place. It may be the default.
static void add_incumbent(gt_agenda *agenda, const char *configuration) {
  for (size_t i = 0; i < agenda->known; i++) {
    if (strcmp(agenda->items[i].configuration, configuration) != 0) continue;
    agenda->items[i].candidate = true;
    return;
  }
  add(agenda, configuration, false, true);
}

static bool names_family(const char *list, const char *family) {
  size_t length = strlen(family);
  for (const char *at = list; (at = strstr(at, family)); at += length)
    if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length])) return true;
  return false;
}

static gt_status claims(const making *m, const char *family, bool *yes, gt_error *error) {
  gt_status status = gt_family_claims(m->generator, family, m->problem, m->device, error);
  *yes = status == GT_OK;
  return status == GT_UNSUPPORTED ? GT_OK : status;
}

static gt_status add_standard(const making *m, gt_error *error) {
  size_t count;
  bool known = false;
  char *configuration = NULL;
  const char *const *families = gt_generator_families(m->generator, &count), *plain = gt_plain_family(m->problem);
  for (size_t i = 0; i < count; i++) known = known || strcmp(families[i], plain) == 0;
  if (!known) return GT_OK;
  gt_status status = gt_family_default(m->generator, plain, m->problem, m->device, &configuration, error);
  if (status == GT_UNSUPPORTED) return GT_OK;
  gt_agenda *agenda = m->agenda;
  // It may be the stale winner, which is there already.
  bool is_new = agenda->known == 0 || (configuration && strcmp(agenda->items[0].configuration, configuration) != 0);
  if (status == GT_OK && is_new) add(agenda, configuration, false, false);
  if (status == GT_OK) agenda->standard = agenda->items[agenda->known - 1].configuration;
  free(configuration);
  return status;
}

static gt_status add_bound(const making *m, const char *family, gt_error *error) {
  gt_space space = {0};
  gt_status status = gt_space_make(m->generator, family, m->problem, m->device, &space, error);
  for (size_t i = 0; status == GT_OK && i < space.count; i++)
    add(m->agenda, space.configurations[i], true, false);
  gt_space_free(&space);
  return status;
}

// `costs`: of its configurations, too.
static gt_status add_space(const making *m, const char *family, bool costs, gt_error *error) {
  gt_agenda *agenda = m->agenda;
  char *standard = NULL;
  gt_space space = {0};
  gt_status status = (costs ? gt_space_make_with_works : gt_space_make)(m->generator, family, m->problem,
                                                                        m->device, &space, error);
  if (status == GT_OK)
    status = gt_family_default(m->generator, family, m->problem, m->device, &standard, error);
  if (status == GT_OK)
    agenda->texts = gt_realloc(agenda->texts, (agenda->space + space.count + 1) * sizeof(char *));
  if (status == GT_OK && costs)
    agenda->costs = gt_realloc(agenda->costs, (agenda->space + space.count + 1) * sizeof *agenda->costs);
  for (size_t i = 0; i < space.count && status == GT_OK; i++) {
    size_t point;
    bool is_new;
    status = gt_points_add_text(&agenda->points, space.configurations[i], &point, &is_new, error);
    if (status != GT_OK || !is_new) continue;
    if (costs) agenda->costs[point] = gt_cost(&space.works[i], m->problem, m->device);
    agenda->texts[agenda->space++] = gt_strdup(space.configurations[i]);
    if (strcmp(space.configurations[i], standard) == 0)
      agenda->points.families[agenda->points.n_families - 1].standard = point;
  }
  gt_space_free(&space);
  free(standard);
  return status;
}

// Every name in the user's list must be a family that may win.
static gt_status check_list(const making *m, const char *list, gt_error *error) {
  char *copy = gt_strdup(list), *state = NULL;
  gt_status status = GT_OK;
  for (char *name = strtok_r(copy, ",", &state); name && status == GT_OK;
       name = strtok_r(NULL, ",", &state)) {
    gt_family_role role;
    const char *description;
    status = gt_family_describe(m->generator, name, &role, &description, error);
    if (status == GT_OK && role == GT_ROLE_BOUND)
      status = gt_fail(error, GT_USAGE, "%s computes nothing useful and cannot win", name);
    else if (status != GT_OK && status != GT_TEMPLATE)
      status = gt_fail(error, GT_USAGE, "unknown family \"%s\"", name);
  }
  free(copy);
  return status;
}

// The families whose configurations are tried.
typedef struct {
  const char **bounds, **others;
  size_t n_bounds, n_others;
} chosen_families;

static gt_status choose_families(const making *m, const char *list, chosen_families *chosen, gt_error *error) {
  size_t count;
  const char *const *families = gt_generator_families(m->generator, &count);
  gt_error refusal = {0};
  chosen->bounds = gt_alloc((count + 1) * sizeof *chosen->bounds);
  chosen->others = gt_alloc((count + 1) * sizeof *chosen->others);
  for (size_t i = 0; i < count; i++) {
    gt_family_role role;
    const char *description;
    bool yes = false;
    gt_status status = gt_family_describe(m->generator, families[i], &role, &description, error);
    if (status != GT_OK) return status;
    bool wanted =
        role == GT_ROLE_BOUND || (list ? names_family(list, families[i]) : role == GT_ROLE_CANDIDATE);
    if (!wanted) continue;
    gt_error reason = {0};
    status = claims(m, families[i], &yes, &reason);
    if (status == GT_OK && !yes && role != GT_ROLE_BOUND) refusal = reason;
    if (status != GT_OK) {
      if (error) *error = reason;
      return status;
    }
    if (yes && role == GT_ROLE_BOUND) chosen->bounds[chosen->n_bounds++] = families[i];
    if (yes && role != GT_ROLE_BOUND) chosen->others[chosen->n_others++] = families[i];
  }
  if (chosen->n_others) return GT_OK;
  return gt_fail(error, GT_UNSUPPORTED, "no family can do the problem%s%s", *refusal.text ? ": " : "",
                 refusal.text);
}

// Bounds go onto the agenda, the others into the search. What configurations cost is asked where no trials tell what
// to expect of them.
static gt_status add_families(const making *m, const gt_history *history, const gt_agenda_options *options,
                              gt_error *error) {
  chosen_families chosen = {0};
  gt_status status = choose_families(m, options->families, &chosen, error);
  bool costs = !m->device->is_cpu && options->budget >= LEAST_COSTED &&
               !gt_history_tells(history, m->problem, chosen.others, chosen.n_others);
  for (size_t i = 0; i < chosen.n_bounds && status == GT_OK; i++) status = add_bound(m, chosen.bounds[i], error);
  for (size_t i = 0; i < chosen.n_others && status == GT_OK; i++)
    status = add_space(m, chosen.others[i], costs, error);
  if (status == GT_OK) gt_points_finish(&m->agenda->points);
  free(chosen.bounds);
  free(chosen.others);
  return status;
}

// Opens the search. An item that is a point of it is not proposed again, and counts as a candidate.
static gt_status begin_search(const making *m, gt_cache *cache, const gt_history *history,
                              const gt_agenda_options *options, gt_error *error) {
  gt_agenda *agenda = m->agenda;
  if (options->incumbent) add_incumbent(agenda, options->incumbent);
  gt_status status = gt_seeds_find(cache, m->device, m->problem, options->retry, options->incumbent, history,
                                   &agenda->points, &agenda->seeds, error);
  if (status != GT_OK) return status;
  if (agenda->costs) gt_seeds_add_costs(&agenda->points, agenda->costs, &agenda->seeds);
  const gt_search_options how = {.strategy = options->strategy,
                                 .seed = options->seed,
                                 .budget = options->budget,
                                 .first = agenda->seeds.first,
                                 .n_first = agenda->seeds.n_first,
                                 .expected = agenda->seeds.view.expected};
  status = gt_search_open(&agenda->points, &how, &agenda->search, error);
  if (status != GT_OK) return status;
  size_t taken = 0;
  for (size_t i = 0; i < agenda->known; i++) {
    gt_agenda_item *item = &agenda->items[i];
    item->point = gt_points_find_text(&agenda->points, item->configuration);
    if (item->point == GT_NO_POINT) continue;
    gt_search_take(agenda->search, item->point);
    item->candidate = true;
    taken++;
  }
  size_t most = agenda->space < options->budget ? agenda->space : options->budget;
  agenda->count = agenda->known + (most > taken ? most - taken : 0);
  agenda->items = gt_realloc(agenda->items, (agenda->count + 1) * sizeof *agenda->items);
  memset(agenda->items + agenda->known, 0, (agenda->count + 1 - agenda->known) * sizeof *agenda->items);
  return GT_OK;
}

gt_status gt_agenda_make(gt_generator *generator, gt_cache *cache, const gt_problem *problem,
                         const gt_fingerprint *device, const gt_agenda_options *options, gt_agenda *agenda,
                         gt_error *error) {
  making m = {.generator = generator, .problem = problem, .device = device, .agenda = agenda};
  gt_history *history = NULL;
  *agenda = (gt_agenda){0};
  gt_status status = options->families ? check_list(&m, options->families, error) : GT_OK;
  if (status == GT_OK && options->incumbent && options->incumbent_first)
    add(agenda, options->incumbent, false, true);
  if (status == GT_OK) status = add_standard(&m, error);
  if (status == GT_OK) status = gt_seeds_history(cache, device, &history, error);
  if (status == GT_OK) status = add_families(&m, history, options, error);
  if (status == GT_OK) status = begin_search(&m, cache, history, options, error);
  gt_history_free(history);
  if (status != GT_OK) gt_agenda_free(agenda);
  return status;
}

const gt_agenda_item *gt_agenda_get(gt_agenda *agenda, size_t index) {
  while (agenda->known <= index) { // never more than there are points
    size_t point = gt_search_next(agenda->search);
    agenda->items[agenda->known++] = (gt_agenda_item){gt_strdup(agenda->texts[point]), false, true, point};
  }
  return &agenda->items[index];
}

void gt_agenda_report(gt_agenda *agenda, size_t index, double us) {
  size_t point = agenda->items[index].point;
  if (point != GT_NO_POINT) gt_search_report(agenda->search, point, us);
}

void gt_agenda_free(gt_agenda *agenda) {
  gt_search_close(agenda->search);
  gt_seeds_free(&agenda->seeds);
  for (size_t i = 0; i < agenda->known; i++) free(agenda->items[i].configuration);
  free(agenda->items);
  for (size_t i = 0; i < agenda->space; i++) free(agenda->texts[i]);
  free(agenda->texts);
  free(agenda->costs);
  gt_points_free(&agenda->points);
  *agenda = (gt_agenda){0};
}
