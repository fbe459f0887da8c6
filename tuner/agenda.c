#include "tuner/agenda.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "tuner/search.h"

// Everything about the families while the agenda is made.
typedef struct {
  gt_generator *generator;
  const gt_problem *problem;
  const gt_fingerprint *device;
  gt_agenda *agenda;
  gt_space *spaces; // of the chosen families
  gt_search_group *groups;
  size_t n;        // of them
  size_t families; // room in the arrays
} making;

// Adds an item that is not among the first `known`.
static void add(gt_agenda *agenda, size_t known, const char *configuration, bool bound, bool candidate) {
  for (size_t i = 0; i < known; i++)
    if (strcmp(agenda->items[i].configuration, configuration) == 0) {
      agenda->items[i].candidate |= candidate;
      return;
    }
  agenda->items = gt_realloc(agenda->items, (agenda->count + 1) * sizeof *agenda->items);
  agenda->items[agenda->count++] = (gt_agenda_item){gt_strdup(configuration), bound, candidate};
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
  bool known = false, yes = false;
  char *configuration = NULL;
  const char *const *families = gt_generator_families(m->generator, &count);
  for (size_t i = 0; i < count; i++) known = known || strcmp(families[i], "direct") == 0;
  gt_status status = known ? claims(m, "direct", &yes, error) : GT_OK;
  if (status != GT_OK || !yes) return status;
  status = gt_family_default(m->generator, "direct", m->problem, m->device, &configuration, error);
  if (status == GT_OK) add(m->agenda, 0, configuration, false, false);
  free(configuration);
  return status;
}

static gt_status add_bound(const making *m, const char *family, gt_error *error) {
  gt_space space = {0};
  gt_status status = gt_space_make(m->generator, family, m->problem, m->device, &space, error);
  for (size_t i = 0; status == GT_OK && i < space.count; i++)
    add(m->agenda, 0, space.configurations[i], true, false);
  gt_space_free(&space);
  return status;
}

static gt_status add_space(making *m, const char *family, gt_error *error) {
  char *standard = NULL;
  gt_space *space = &m->spaces[m->n];
  gt_status status = gt_space_make(m->generator, family, m->problem, m->device, space, error);
  if (status == GT_OK)
    status = gt_family_default(m->generator, family, m->problem, m->device, &standard, error);
  if (status == GT_OK) {
    gt_search_group *group = &m->groups[m->n++];
    size_t *distance = gt_alloc(space->count * sizeof *distance);
    *group = (gt_search_group){.count = space->count, .default_at = space->count, .distance = distance};
    for (size_t i = 0; i < space->count; i++) {
      distance[i] = gt_search_distance(space->configurations[i], standard);
      if (distance[i] == 0) group->default_at = i;
    }
    m->agenda->space += space->count;
  }
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

// Bounds go onto the agenda, the others into the search.
static gt_status add_families(making *m, const char *list, gt_error *error) {
  size_t count;
  const char *const *families = gt_generator_families(m->generator, &count);
  m->families = count;
  m->spaces = gt_alloc(count * sizeof *m->spaces);
  m->groups = gt_alloc(count * sizeof *m->groups);
  gt_error refusal = {0};
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
    if (status != GT_OK) *error = reason;
    if (status == GT_OK && yes)
      status = role == GT_ROLE_BOUND ? add_bound(m, families[i], error) : add_space(m, families[i], error);
    if (status != GT_OK) return status;
  }
  if (m->n) return GT_OK;
  return gt_fail(error, GT_UNSUPPORTED, "no family can do the problem%s%s", *refusal.text ? ": " : "",
                 refusal.text);
}

gt_status gt_agenda_make(gt_generator *generator, const gt_problem *problem, const gt_fingerprint *device,
                         const char *families, size_t budget, uint64_t seed, const char *incumbent,
                         gt_agenda *agenda, gt_error *error) {
  making m = {.generator = generator, .problem = problem, .device = device, .agenda = agenda};
  gt_search_step *steps = NULL;
  *agenda = (gt_agenda){0};
  gt_status status = families ? check_list(&m, families, error) : GT_OK;
  if (status == GT_OK) status = add_standard(&m, error);
  bool has_standard = agenda->count > 0;
  if (status == GT_OK) status = add_families(&m, families, error);
  if (status == GT_OK && incumbent) add(agenda, agenda->count, incumbent, false, true);
  if (status == GT_OK) {
    size_t n = gt_search_order(m.groups, m.n, budget, seed, &steps), known = agenda->count;
    for (size_t i = 0; i < n; i++)
      add(agenda, known, m.spaces[steps[i].group].configurations[steps[i].index], false, true);
    if (has_standard) agenda->standard = agenda->items[0].configuration;
  }
  for (size_t i = 0; i < m.families; i++) gt_space_free(&m.spaces[i]);
  for (size_t i = 0; i < m.n; i++) free((void *)m.groups[i].distance);
  free(m.spaces);
  free(m.groups);
  free(steps);
  if (status != GT_OK) gt_agenda_free(agenda);
  return status;
}

void gt_agenda_free(gt_agenda *agenda) {
  for (size_t i = 0; i < agenda->count; i++) free(agenda->items[i].configuration);
  free(agenda->items);
  *agenda = (gt_agenda){0};
}
