// gathertune explain: why a problem has the configuration that it has.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/table.h"
#include "exchange/order.h"
#include "exchange/validate.h"
#include "tuner/choose.h"

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

typedef enum { FROM_NONE, FROM_EXACT, FROM_NEAR } source;
static const char *const source_names[] = {"default", "exact", "near"};

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

static bool is_timed(const gt_trial *trial) {
  return trial->outcome == GT_OUTCOME_OK && trial->median_us > 0;
}

static int by_time(const void *a, const void *b) {
  const gt_trial *one = a, *other = b;
  if (is_timed(one) != is_timed(other)) return is_timed(one) ? -1 : 1;
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

static void weigh(evidence *e, gt_generator *generator, const gt_winner *winner) {
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
    if (e->best < 0 && is_timed(trial)) e->best = (int)i;
    if (e->won < 0 && strcmp(trial->configuration, winner->variant.configuration) == 0) e->won = (int)i;
    free(original);
  }
}

// --- why ---------------------------------------------------------------------------------------------------

// In one sentence or two.
static char *reason(const evidence *e, const gt_winner *winner) {
  if (e->won < 0 || e->best < 0)
    return gt_strdup("its trials are not in this cache: it was imported, or they were removed");
  const gt_trial *best = &e->trials[e->best], *won = &e->trials[e->won];
  if (e->won == e->best)
    return gt_print("it is the fastest of %zu candidates that were timed", e->candidates - e->failed);
  double percent = 100 * (won->median_us / best->median_us - 1);
  if (gt_choose_beats(best, won))
    return gt_print(
        "when it was chosen, in %.2f µs; by now %s is %.1f %% faster in its trial. Tune the problem "
        "again",
        winner->median_us, best->configuration, percent);
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
  if (!is_timed(trial)) return gt_outcome_name(trial->outcome);
  if (strncmp(trial->message, GT_TRIAL_DUPLICATE, strlen(GT_TRIAL_DUPLICATE)) == 0) return "duplicate";
  return e->best >= 0 && !gt_choose_beats(&e->trials[e->best], trial) ? "tied" : "slower";
}

static const char *const fit_names[] = {"current", "stale", "unknown", "refused"};
static const char *const fit_texts[] = {
    "the templates render the same source today",
    "stale: a template has changed since; it is served, and tuning it again looks whether it still wins",
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
    if (!always && (shown >= top || !is_timed(trial))) continue;
    shown += e->roles[i] == GT_ROLE_CANDIDATE;
    gt_table_cell(table, "%s", verdict(e, i));
    gt_table_cell(table, "%s", gt_microseconds(trial->median_us).text);
    gt_table_cell(table, "%s", is_timed(trial) ? gt_microseconds(trial->spread_us).text : "-");
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
    printf("\n%zu candidates were tried: %zu failed, %zu have the same kernels as another\n", e->candidates,
           e->failed, e->duplicates);
}

static void print_text(const request *r, const char *model, source from, const gt_winner *winner, gt_fit fit,
                       const evidence *e) {
  printf("problem        %s\nmodel          %s\n", r->text, model);
  if (from == FROM_NONE) {
    printf("why            neither it nor the same problem with another batch size is tuned on this model: a "
           "program gets\n"
           "               the default of the family direct. gathertune tune %s\n",
           r->text);
    print_candidates(e, r->top);
    return;
  }
  printf("configuration  %s\n", winner->variant.configuration);
  if (from == FROM_NEAR)
    printf(
        "borrowed       from %s,\n               whose kernels are the same and whose batch is the nearest "
        "that is tuned\n",
        winner->problem);
  char *why = reason(e, winner);
  gt_interval interval = gt_winner_interval(winner);
  printf("why            %s\n", why);
  printf("time           %s µs, 95 %% of samples within %.2f … %.2f; speed-up over direct %s, %s of stream\n",
         gt_microseconds(winner->median_us).text, interval.low, interval.high,
         gt_ratio(winner->default_us, winner->median_us, "").text,
         gt_ratio(winner->stream_us, winner->median_us, "").text);
  printf("tuned          %s, driver %s, compiler %s\n", winner->tuned_at, winner->driver, winner->compiler);
  printf("templates      %s\n", fit_texts[fit]);
  if (!winner->code_size) printf("code object    none: it is compiled when it is used\n");
  print_candidates(e, r->top);
  free(why);
}

static void print_json(const request *r, const char *model, source from, const gt_winner *winner, gt_fit fit,
                       const evidence *e) {
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
  json_t *json = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:o}", "problem", r->text, "model", model, "plan",
                           source_names[from], "candidates", (json_int_t)e->candidates, "failed",
                           (json_int_t)e->failed, "duplicates", (json_int_t)e->duplicates, "trials", list);
  if (from != FROM_NONE) {
    char *why = reason(e, winner);
    gt_interval interval = gt_winner_interval(winner);
    json_object_set_new(json, "configuration", json_string(winner->variant.configuration));
    json_object_set_new(json, "why", json_string(why));
    json_object_set_new(json, "borrowed_from",
                        from == FROM_NEAR ? json_string(winner->problem) : json_null());
    json_object_set_new(json, "median_us", gt_json_number(winner->median_us));
    json_object_set_new(json, "interval_us", json_pack("[f,f]", interval.low, interval.high));
    json_object_set_new(json, "default_us", gt_json_number(winner->default_us));
    json_object_set_new(json, "stream_us", gt_json_number(winner->stream_us));
    json_object_set_new(json, "tuned_at", json_string(winner->tuned_at));
    json_object_set_new(json, "compiler", json_string(winner->compiler));
    json_object_set_new(json, "driver", json_string(winner->driver));
    json_object_set_new(json, "templates", json_string(fit_names[fit]));
    free(why);
  }
  gt_print_json(json);
}

// --- the command -------------------------------------------------------------------------------------------

static gt_status find(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem, source *from,
                      gt_winner *winner, gt_error *error) {
  *from = FROM_EXACT;
  gt_status status = gt_cache_get_winner(cache, device, problem, false, winner, error);
  if (status == GT_NOT_FOUND) {
    *from = FROM_NEAR;
    status = gt_cache_get_near_winner(cache, device, problem, false, winner, error);
  }
  if (status != GT_NOT_FOUND) return status;
  *from = FROM_NONE;
  return GT_OK;
}

static int run(const request *r) {
  gt_cache *cache = NULL;
  gt_generator *generator = NULL;
  gt_fingerprint device = {0};
  gt_winner winner = {0};
  gt_problem tuned = r->problem;
  evidence e = {.best = -1, .won = -1};
  gt_fit fit = GT_FIT_SAME;
  source from = FROM_NONE;
  char *path = NULL, model[320];
  gt_error error = {0}, unused;
  gt_status status = gt_open_cache(r->cache, GT_CACHE_READ, &cache, &path, &error);
  if (status == GT_OK && !cache)
    status = gt_fail(&error, GT_NOT_FOUND, "nothing is tuned yet: there is no file %s", path);
  if (status == GT_OK) status = gt_model_choose(cache, r->device, r->model, &device, &error);
  if (status == GT_OK) status = gt_open_generator(&generator, &error);
  if (status == GT_OK) status = find(cache, &device, &r->problem, &from, &winner, &error);
  if (status == GT_OK && from == FROM_NEAR) status = gt_problem_parse(winner.problem, &tuned, &error);
  if (status == GT_OK) status = gt_cache_each_trial(cache, &device, &tuned, on_trial, &e, &error);
  if (status == GT_OK && from != FROM_NONE) {
    status = gt_fit_of(generator, &device, &tuned, winner.variant.configuration, winner.variant.source_hash,
                       &fit, NULL, &unused);
    if (status != GT_OK) error = unused;
  }
  if (status == GT_OK) {
    if (from == FROM_NONE) winner.variant.configuration = gt_strdup("");
    weigh(&e, generator, &winner);
    gt_model_print(&device, model);
    (r->json ? print_json : print_text)(r, model, from, &winner, fit, &e);
  }
  int result = status == GT_OK ? 0 : gt_complain_error(&error);
  for (size_t i = 0; i < e.count; i++) gt_trial_free(&e.trials[i]);
  free(e.trials);
  free(e.roles);
  gt_winner_free(&winner);
  free(path);
  gt_generator_close(generator);
  gt_cache_close(cache);
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
          "Tells why a problem has the configuration that it has: what was tried, how long each took, which "
          "rule decided,\n"
          "what was borrowed from another batch size, and whether the templates have changed since.",
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
