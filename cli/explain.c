// gathertune explain: why a problem has the configuration that it has.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/explain_classes.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/stale.h"
#include "cli/table.h"
#include "exchange/order.h"
#include "exchange/validate.h"
#include "generator/default.h"
#include "runtime/lookup.h"
#include "tuner/choose.h"
#include "tuner/positions.h"
#include "tuner/stale.h"

typedef struct {
  const char *cache, *device, *model;
  int64_t top;
  bool json;
  gt_problem problem;
  char text[GT_PROBLEM_TEXT];
} request;

typedef struct {
  gt_trial *trials; // of the problem that was tuned, on this model
  size_t count, capacity;
  gt_family_role *roles;
  int best, won; // the fastest candidate and the winner's trial, -1: none
  size_t candidates, failed, duplicates;
} evidence;

typedef struct {
  gt_found found; // what lookup finds
  gt_fit fit;     // of the winner
  char *compiler; // of the device, where that is not the winner's; else NULL
  gt_kept_checks checks;
  const gt_kept_check *check; // of what the winner renders to now; NULL: none, or it is not stale
  evidence evidence;
  gt_classes_explained classes; // complete where the winner was chosen by its trials on all classes of positions
  gt_winner deterministic; // the best beside the winner whose results repeat; zeroed: none
  char model[320];
} answer;

static bool is_tuned(const gt_found *found) {
  return found->origin == GT_ORIGIN_EXACT || found->origin == GT_ORIGIN_NEAR;
}

static bool is_stale(const answer *a) {
  return a->fit == GT_FIT_STALE || a->compiler;
}

// --- what there is -----------------------------------------------------------------------------------------

static void on_trial(void *context, const gt_trial *trial) {
  evidence *e = context;
  if (e->count == e->capacity) {
    e->capacity = e->capacity ? 2 * e->capacity : 64;
    e->trials = gt_realloc(e->trials, e->capacity * sizeof *e->trials);
  }
  gt_trial *copy = &e->trials[e->count++];
  *copy = *trial;
  copy->configuration = gt_strdup(trial->configuration);
  copy->message = gt_strdup(trial->message ? trial->message : "");
  copy->samples_us = NULL;
}

static int by_time(const void *a, const void *b) {
  const gt_trial *one = a, *other = b;
  if (gt_trial_is_timed(one) != gt_trial_is_timed(other)) return gt_trial_is_timed(one) ? -1 : 1;
  if (one->median_us != other->median_us) return one->median_us < other->median_us ? -1 : 1;
  return strcmp(one->configuration, other->configuration);
}

// What a family is for; one that this version does not know may have won once.
static gt_family_role role_of(gt_generator *generator, const char *configuration) {
  char *family = gt_strdup(configuration);
  family[strcspn(family, ":")] = 0;
  gt_family_role role = GT_ROLE_CANDIDATE;
  const char *description;
  if (gt_family_describe(generator, family, &role, &description, NULL) != GT_OK) role = GT_ROLE_CANDIDATE;
  free(family);
  return role;
}

static void weigh(evidence *e, gt_generator *generator, const char *winner) {
  e->best = e->won = -1;
  if (e->count) qsort(e->trials, e->count, sizeof *e->trials, by_time);
  e->roles = gt_alloc((e->count + 1) * sizeof *e->roles);
  for (size_t i = 0; i < e->count; i++) {
    gt_trial *trial = &e->trials[i];
    e->roles[i] = role_of(generator, trial->configuration);
    if (e->roles[i] != GT_ROLE_CANDIDATE) continue;
    char *original = gt_trial_duplicate_of(trial);
    e->candidates++;
    e->failed += trial->outcome != GT_OUTCOME_OK;
    e->duplicates += original != NULL;
    if (e->best < 0 && gt_trial_is_timed(trial)) e->best = (int)i;
    if (e->won < 0 && strcmp(trial->configuration, winner) == 0) e->won = (int)i;
    free(original);
  }
}

// --- why ---------------------------------------------------------------------------------------------------

// In one sentence or two.
static char *reason(const answer *a) {
  const evidence *e = &a->evidence;
  const gt_winner *winner = &a->found.winner;
  gt_problem tuned;
  if (a->classes.complete) return gt_classes_reason(&a->classes);
  if (e->won < 0 || e->best < 0) {
    bool of_grid = gt_problem_parse(winner->problem, &tuned, NULL) == GT_OK && gt_has_classes(&tuned);
    return gt_print("its trials are not in this cache: it was imported, %sor they were removed",
                    of_grid ? "or tuned with the positions of a file, " : "");
  }
  const gt_trial *best = &e->trials[e->best], *won = &e->trials[e->won];
  if (e->won == e->best)
    return gt_print("it is the fastest of %s that were timed",
                    gt_counted(e->candidates - e->failed, "candidate").text);
  double percent = 100 * (won->median_us / best->median_us - 1);
  if (gt_choose_beats(best, won))
    return gt_print(
        "it was the fastest when it was chosen, in %s µs; by now %s is %.1f %% faster in its trial. Tune the "
        "problem again",
        gt_microseconds(winner->median_us).text, best->configuration, percent);
  return gt_print(
      "its trial was %.1f %% slower than that of %s, which is within the noise or 3 %%: the best few "
      "were timed once more side by side, and of the tied the one that was the winner before, or "
      "else has the fewest registers, is taken",
      percent, best->configuration);
}

static const char *verdict(const evidence *e, size_t i) {
  const gt_trial *trial = &e->trials[i];
  if ((int)i == e->won) return "winner";
  if (e->roles[i] == GT_ROLE_BOUND) return "bound";
  if (e->roles[i] == GT_ROLE_BASELINE) return "baseline";
  if (!gt_trial_is_timed(trial)) return gt_outcome_name(trial->outcome);
  if (strncmp(trial->message, GT_TRIAL_DUPLICATE, strlen(GT_TRIAL_DUPLICATE)) == 0) return "duplicate";
  return e->best >= 0 && !gt_choose_beats(&e->trials[e->best], trial) ? "tied" : "slower";
}

static const char *const fit_names[] = {"current", "stale", "unknown", "refused"};
static const char *const fit_texts[] = {
    "the templates render the same source today",
    ("stale: a template has changed since; it is served once it was checked, or from its stored code object, and "
     "the next tuning run looks whether it still wins"),
    "whether the templates render the same source today can only be told on the device",
    "stale: its configuration is not in the search space of today's templates; tune the problem again"};

// --- output ------------------------------------------------------------------------------------------------

static void print_candidates(const evidence *e, int64_t top) {
  gt_table *table = gt_table_new("|µs|spread|to the best|registers|configuration", "lrrrrl");
  double best = e->best >= 0 ? e->trials[e->best].median_us : 0;
  int64_t shown = 0;
  for (size_t i = 0; i < e->count; i++) {
    const gt_trial *trial = &e->trials[i];
    // The winner, what it is compared with, and the best few.
    bool always = (int)i == e->won || e->roles[i] != GT_ROLE_CANDIDATE ||
                  strncmp(trial->configuration, "direct:", 7) == 0;
    if (!always && (shown >= top || !gt_trial_is_timed(trial))) continue;
    shown += e->roles[i] == GT_ROLE_CANDIDATE;
    gt_table_cell(table, "%s", verdict(e, i));
    gt_table_cell(table, "%s", gt_microseconds(trial->median_us).text);
    gt_table_cell(table, "%s", gt_trial_is_timed(trial) ? gt_microseconds(trial->spread_us).text : "-");
    gt_table_cell(table, "%s", gt_ratio(trial->median_us, best, "").text);
    gt_table_cell(table, trial->registers >= 0 ? "%d" : "-", trial->registers);
    gt_table_cell(table, "%s", trial->configuration);
  }
  if (gt_table_rows(table)) {
    putchar('\n');
    gt_table_print(table, stdout);
  }
  gt_table_free(table);
  if (e->count)
    printf("\n%s tried: %zu failed, %zu with the same kernels as another\n",
           gt_counted(e->candidates, "candidate").text, e->failed, e->duplicates);
}

// Whether the winner's problem differs from this one in nothing that kernels depend on; and why it was then taken.
static bool has_same_kernels(const request *r, const gt_winner *winner, const char **why) {
  gt_problem tuned;
  if (gt_problem_parse(winner->problem, &tuned, NULL) != GT_OK || !gt_problem_same_kernels(&r->problem, &tuned)) return false;
  *why = tuned.sampling.positions == r->problem.sampling.positions
             ? "whose batch is the nearest that is tuned"
             : "which is tuned, as positions of this kind are not; expect another time";
  return true;
}

// Of what problem and model a configuration is that was not tuned for this one.
static void print_borrowed(const request *r, const answer *a) {
  const gt_winner *winner = &a->found.winner;
  const char *why;
  if (a->found.origin == GT_ORIGIN_NEAR && has_same_kernels(r, winner, &why))
    printf("borrowed       from %s,\n               whose kernels are the same and %s\n", winner->problem, why);
  else if (a->found.origin == GT_ORIGIN_NEAR)
    printf(
        "borrowed       the configuration of %s,\n               since the times of problems like this one "
        "speak for it; its kernels are rendered for this one\n",
        winner->problem);
  if (strcmp(winner->device, a->model) != 0) printf("borrowed       from the model %s\n", winner->device);
}

static void print_text(const request *r, const answer *a) {
  const evidence *e = &a->evidence;
  const gt_winner *winner = &a->found.winner;
  printf("problem        %s\nmodel          %s\n", r->text, a->model);
  if (a->found.origin == GT_ORIGIN_EMPTY) {
    printf("why            it is empty: there is nothing to launch\n");
    return;
  }
  printf("configuration  %s\n", gt_found_variant(&a->found)->configuration);
  if (!is_tuned(&a->found)) {
    printf(
        "why            neither it nor anything like it is tuned on this model: a program gets the default "
        "by rule.\n               gathertune tune %s\n",
        r->text);
    print_candidates(e, r->top);
    return;
  }
  print_borrowed(r, a);
  char *why = reason(a);
  gt_interval interval = gt_winner_interval(winner);
  printf("why            %s\n", why);
  printf(
      "time           %s%s µs, 95 %% of samples within %.2f … %.2f; speed-up over %s %s, %s of stream\n",
      strcmp(winner->problem, r->text) ? "of that problem " : "", gt_microseconds(winner->median_us).text,
      interval.low, interval.high, gt_plain_family(&r->problem), gt_ratio(winner->default_us, winner->median_us, "").text,
      gt_ratio(winner->stream_us, winner->median_us, "").text);
  if (a->deterministic.problem)
    printf("deterministic  %s, %s µs, where results must be the same bits in every run\n",
           a->deterministic.variant.configuration, gt_microseconds(a->deterministic.median_us).text);
  else if (!winner->variant.reproducible)
    printf("deterministic  nothing is kept that gives the same bits in every run; gathertune tune keeps the "
           "best that it tried\n");
  printf("tuned          %s, driver %s, compiler %s\n", winner->tuned_at, winner->driver, winner->compiler);
  printf("templates      %s\n", fit_texts[a->fit]);
  if (a->compiler)
    printf("compiler       stale: the device's is %s now\n", a->compiler);
  if (is_stale(a)) {
    char *check = gt_kept_check_text(a->check);
    bool failed = a->check && a->check->check.outcome != GT_OUTCOME_OK;
    printf("checked        %s%s\n", check, failed ? "; programs that may compile get the next best" : "");
    free(check);
  }
  if (!winner->code_size) printf("code object    none: it is compiled when it is used\n");
  print_candidates(e, r->top);
  if (a->classes.complete) gt_classes_print(&a->classes);
  free(why);
}

static void print_json(const request *r, const answer *a) {
  const evidence *e = &a->evidence;
  const gt_winner *winner = &a->found.winner;
  json_t *list = json_array();
  for (size_t i = 0; i < e->count; i++) {
    const gt_trial *trial = &e->trials[i];
    json_array_append_new(list,
                          json_pack("{s:s, s:s, s:o, s:f, s:o, s:s}", "configuration", trial->configuration,
                                    "verdict", verdict(e, i), "median_us", gt_json_number(trial->median_us),
                                    "spread_us", trial->spread_us, "registers",
                                    trial->registers >= 0 ? json_integer(trial->registers) : json_null(),
                                    "message", trial->message));
  }
  json_t *json =
      json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:o}", "problem", r->text, "model", a->model, "plan",
                gt_origin_name(a->found.origin), "candidates", (json_int_t)e->candidates, "failed",
                (json_int_t)e->failed, "duplicates", (json_int_t)e->duplicates, "trials", list);
  if (is_tuned(&a->found)) {
    char *why = reason(a);
    gt_interval interval = gt_winner_interval(winner);
    json_object_set_new(json, "configuration", json_string(gt_found_variant(&a->found)->configuration));
    json_object_set_new(json, "borrowed_model",
                        strcmp(winner->device, a->model) ? json_string(winner->device) : json_null());
    json_object_set_new(json, "why", json_string(why));
    json_object_set_new(json, "reproducible", json_boolean(winner->variant.reproducible));
    json_object_set_new(json, "deterministic",
                        a->deterministic.problem
                            ? json_pack("{s:s, s:o}", "configuration", a->deterministic.variant.configuration,
                                        "median_us", gt_json_number(a->deterministic.median_us))
                            : json_null());
    json_object_set_new(json, "borrowed_from",
                        a->found.origin == GT_ORIGIN_NEAR ? json_string(winner->problem) : json_null());
    json_object_set_new(json, "median_us", gt_json_number(winner->median_us));
    json_object_set_new(json, "interval_us", json_pack("[f,f]", interval.low, interval.high));
    json_object_set_new(json, "default_us", gt_json_number(winner->default_us));
    json_object_set_new(json, "stream_us", gt_json_number(winner->stream_us));
    json_object_set_new(json, "tuned_at", json_string(winner->tuned_at));
    json_object_set_new(json, "compiler", json_string(winner->compiler));
    json_object_set_new(json, "driver", json_string(winner->driver));
    json_object_set_new(json, "templates", json_string(fit_names[a->fit]));
    json_object_set_new(json, "present_compiler", a->compiler ? json_string(a->compiler) : json_null());
    json_object_set_new(json, "check", gt_kept_check_json(a->check));
    json_object_set_new(json, "classes", a->classes.complete ? gt_classes_json(&a->classes) : json_null());
    free(why);
  }
  gt_print_json(json);
}

// --- the command -------------------------------------------------------------------------------------------

// The cache that the answer is from: trials are kept beside winners.
static gt_cache *cache_of(const gt_layers *layers, const gt_found *found) {
  if (found->layer) return found->layer->cache;
  return layers->count ? layers->list[layers->count - 1].cache : NULL;
}

// Whether the winner is stale, and what came of checking it.
static gt_status judge(const gt_layers *layers, gt_generator *generator, const gt_fingerprint *device,
                       const gt_fingerprint *model, const gt_problem *tuned, answer *a, gt_error *error) {
  const gt_winner *winner = &a->found.winner;
  gt_variant now = {0};
  gt_error why = {0};
  gt_status status = gt_fit_of(generator, model, tuned, winner->variant.configuration,
                               winner->variant.source_hash, &a->fit, &now, &why);
  if (status != GT_OK && why.text[0]) *error = why;
  if (gt_staleness_of_compiler(device, winner))
    a->compiler = gt_strdup(device->compiler);
  for (size_t i = 0; i < layers->count && status == GT_OK; i++)
    if (layers->list[i].cache) status = gt_kept_checks_read(&a->checks, layers->list[i].cache, error);
  if (status == GT_OK && is_stale(a))
    a->check = gt_kept_checks_find(&a->checks, a->model, winner->variant.configuration, now.source_hash,
                                   device->compiler);
  gt_variant_free(&now);
  return status;
}

static gt_status look(const request *r, gt_layers *layers, gt_finder *finder, const gt_fingerprint *device,
                      answer *a, gt_error *error) {
  gt_place place = {0};
  gt_generator *generator = NULL;
  gt_problem tuned = r->problem;
  gt_fingerprint model = *device;
  gt_status status =
      gt_find_next(finder, &r->problem, &(gt_find_options){.with_code = false}, &place, &a->found, error);
  if (status == GT_OK) status = gt_finder_generator(finder, &generator, error);
  if (status != GT_OK) return status;
  const gt_winner *winner = &a->found.winner;
  gt_cache *cache = cache_of(layers, &a->found);
  if (is_tuned(&a->found)) {
    status = gt_problem_parse(winner->problem, &tuned, error);
    // Where another model's winner is taken, its trials are the evidence.
    if (status == GT_OK && strcmp(winner->device, a->model) != 0 && !gt_model_parse(winner->device, &model))
      model = *device;
    if (status == GT_OK) status = judge(layers, generator, device, &model, &tuned, a, error);
  }
  if (status == GT_OK && is_tuned(&a->found) && !winner->variant.reproducible) {
    status = gt_cache_get_deterministic(cache, &model, &tuned, false, &a->deterministic, error);
    if (status == GT_NOT_FOUND) status = GT_OK;
  }
  if (status == GT_OK && cache)
    status = gt_cache_each_trial(cache, &model, &tuned, on_trial, &a->evidence, error);
  if (status == GT_OK && cache && is_tuned(&a->found) && gt_has_classes(&tuned))
    status = gt_explain_classes(cache, generator, &model, &tuned, winner->variant.configuration, &a->classes, error);
  if (status == GT_OK)
    weigh(&a->evidence, generator, is_tuned(&a->found) ? winner->variant.configuration : "");
  return status;
}

static int run(const request *r) {
  gt_layers layers = {0};
  gt_finder *finder = NULL;
  gt_cache *own = NULL;
  gt_fingerprint device = {0};
  answer a = {.evidence = {.best = -1, .won = -1}, .fit = GT_FIT_SAME};
  const char *templates = getenv("GATHERTUNE_TEMPLATES");
  const gt_layers_options none = {0};
  char *path = NULL;
  gt_error error = {0};
  gt_status status = gt_open_cache(r->cache, GT_CACHE_READ, &own, &path, &error);
  if (status == GT_OK) gt_layers_open_system(&none, &layers);
  if (own) gt_layers_add(&layers, own, &none); // closed with the others
  if (status == GT_OK && layers.count == 0)
    status = gt_fail(&error, GT_NOT_FOUND, "nothing is tuned yet: there is no file %s", path);
  if (status == GT_OK)
    status = gt_model_choose(layers.list[layers.count - 1].cache, r->device, r->model, &device, &error);
  if (status == GT_OK) {
    if (templates && *templates) gt_complain("templates from %s", templates);
    gt_model_print(&device, a.model);
    finder = gt_finder_open(&layers, &device, templates && *templates ? templates : NULL);
    status = look(r, &layers, finder, &device, &a, &error);
  }
  if (status == GT_OK) (r->json ? print_json : print_text)(r, &a);
  int result = status == GT_OK ? 0 : gt_complain_error(&error);
  for (size_t i = 0; i < a.evidence.count; i++) gt_trial_free(&a.evidence.trials[i]);
  free(a.evidence.trials);
  free(a.evidence.roles);
  gt_classes_explained_free(&a.classes);
  free(a.compiler);
  gt_kept_checks_free(&a.checks);
  gt_found_free(&a.found);
  gt_winner_free(&a.deterministic);
  gt_finder_close(finder);
  gt_layers_close(&layers);
  free(path);
  return result;
}

int gt_command_explain(int argc, char **argv) {
  request r = {.top = 10};
  const gt_option options[] = {
      {"model", 0, GT_OPTION_TEXT, &r.model, "TEXT", "part of the model's name as list shows it"},
      {"device", 0, GT_OPTION_TEXT, &r.device, "DEVICE", "instead, the model of this device"},
      {"top", 0, GT_OPTION_COUNT, &r.top, "N", "how many candidates to show (default 10)"},
      {"cache", 0, GT_OPTION_TEXT, &r.cache, "FILE", GT_HELP_CACHE},
      {"json", 0, GT_OPTION_FLAG, &r.json, NULL, GT_HELP_JSON},
      {0},
  };
  const gt_usage usage = {
      .command = "explain",
      .arguments = "PROBLEM",
      .about =
          "Tells why a problem has the configuration that it has: what was tried, how long each took, which rule\n"
          "decided, what was borrowed from another batch size, and whether the templates (with --device: or the\n"
          "compiler) have changed since, and if so, what came of checking what they make of it now.",
      .options = options,
      .takes_problem = true,
      .examples = "  gathertune explain --model MI300X \\\n"
                  "    upsample_bilinear2d_backward:n=8,c=64,in=128x128,out=256x256,dtype=f16,scale=2x2\n",
  };
  char **arguments;
  int count, result = gt_options_parse(&usage, argc, argv, &arguments, &count);
  if (result != GT_CONTINUE) return result;
  if (count != 1 || (r.device && r.model)) {
    if (count != 1)
      gt_complain("explain: takes one problem, not %d; see gathertune explain --help", count);
    else
      gt_complain("explain: --model and --device exclude each other");
    return 2;
  }
  gt_error error = {0};
  if (gt_problem_parse(arguments[0], &r.problem, &error) != GT_OK) return gt_complain_error(&error);
  gt_problem_print(&r.problem, r.text);
  return run(&r);
}
