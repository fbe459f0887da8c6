// gathertune list: what is in the tuning cache.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/recheck.h"
#include "cli/stale.h"
#include "cli/table.h"
#include "cli/trial.h"
#include "generator/default.h"
#include "generator/generator.h"
#include "tuner/positions.h"

// --- winners
// -------------------------------------------------------------------------------------------------------

typedef struct {
  char *device; // of the table that is being filled
  gt_table *table;
  const char *plain; // what speed-ups in it are against: a family, or "plain" where that is not one for all
} winner_tables;

enum { PLAIN_COLUMN = 1 };

static void finish_table(winner_tables *tables) {
  if (!tables->device) return;
  char *heading = gt_print("%s µs", tables->plain);
  gt_table_heading(tables->table, PLAIN_COLUMN, heading);
  free(heading);
  printf("%s\n", tables->device);
  gt_table_print(tables->table, stdout);
  putchar('\n');
  gt_table_free(tables->table);
  free(tables->device);
  *tables = (winner_tables){0};
}

static void on_winner(void *context, const gt_winner *winner) {
  winner_tables *tables = context;
  if (tables->device && strcmp(tables->device, winner->device) != 0) finish_table(tables);
  if (!tables->device) {
    tables->device = gt_strdup(winner->device);
    tables->table =
        gt_table_new("problem||best µs|speed-up|of stream|configuration|tuned", "lrrrrll");
  }
  gt_problem problem;
  // A later version may know more operators.
  const char *plain = gt_problem_parse(winner->problem, &problem, NULL) == GT_OK ? gt_plain_family(&problem) : "plain";
  tables->plain = !tables->plain || strcmp(tables->plain, plain) == 0 ? plain : "plain";
  gt_table *table = tables->table;
  gt_table_cell(table, "%s", winner->problem);
  gt_table_cell(table, "%s", gt_microseconds(winner->default_us).text);
  gt_table_cell(table, "%s", gt_microseconds(winner->median_us).text);
  gt_table_cell(table, "%s", gt_ratio(winner->default_us, winner->median_us, "").text);
  gt_table_cell(table, "%s", gt_ratio(winner->stream_us, winner->median_us, "").text);
  gt_table_cell(table, "%s", winner->variant.configuration);
  gt_table_cell(table, "%s", winner->tuned_at);
}

static void on_winner_json(void *context, const gt_winner *winner) {
  json_array_append_new(context, gt_winner_json(winner));
}

static gt_status list_winners(gt_cache *cache, const char *path, bool as_json, gt_error *error) {
  gt_cache_counts counts = {0};
  winner_tables tables = {0};
  json_t *list = json_array();
  gt_status status = cache ? gt_cache_count(cache, &counts, error) : GT_OK;
  if (status == GT_OK && cache)
    status = as_json ? gt_cache_each_winner(cache, on_winner_json, list, error)
                     : gt_cache_each_winner(cache, on_winner, &tables, error);
  finish_table(&tables);
  if (status != GT_OK) {
    json_decref(list);
    return status;
  }
  if (as_json) {
    gt_print_json(json_pack("{s:s, s:I, s:I, s:I, s:I, s:o}", "cache", path, "models",
                            (json_int_t)counts.models, "devices", (json_int_t)counts.devices, "problems",
                            (json_int_t)counts.problems, "trials", (json_int_t)counts.trials, "winners",
                            list));
    return GT_OK;
  }
  json_decref(list);
  if (cache)
    printf("%s, %s of %s on %s of %s in %s\n", gt_counted((uint64_t)counts.winners, "winner").text,
           gt_counted((uint64_t)counts.trials, "trial").text, gt_counted((uint64_t)counts.problems, "problem").text,
           gt_counted((uint64_t)counts.devices, "device").text, gt_counted((uint64_t)counts.models, "model").text, path);
  else
    printf("nothing is tuned yet: there is no file %s\n", path);
  return GT_OK;
}

// --- trials of one problem
// -------------------------------------------------------------------------------------------

static void on_trial(void *context, const gt_trial *trial) {
  gt_table *table = context;
  bool ok = trial->outcome == GT_OUTCOME_OK;
  gt_table_cell(table, "%s%s", gt_outcome_name(trial->outcome), trial->noisy ? ", noisy" : "");
  gt_table_cell(table, "%s", gt_microseconds(trial->median_us).text);
  gt_table_cell(table, "%s", ok ? gt_microseconds(trial->spread_us).text : "-");
  gt_table_cell(table, trial->registers >= 0 ? "%d" : "-", trial->registers);
  const char *message = trial->message ? trial->message : "";
  gt_table_cell(table, "%s%s%s", trial->configuration, *message ? "  " : "", message);
}

typedef struct {
  json_t *list;
  gt_generator *generator; // NULL: kernels for the model are not rendered here
  const gt_problem *problem;
  const gt_fingerprint *model;
} trial_list;

// With whether its results repeat: null where the present templates do not have the configuration.
static void on_trial_json(void *context, const gt_trial *trial) {
  trial_list *t = context;
  json_t *json = gt_trial_json(trial);
  bool repeats;
  bool known = t->generator &&
               gt_repeats(t->generator, trial->configuration, t->problem, t->model, &repeats, NULL) == GT_OK;
  json_object_set_new(json, "reproducible", known ? json_boolean(repeats) : json_null());
  json_array_append_new(t->list, json);
}

static gt_status list_trials(gt_cache *cache, const gt_fingerprint *model, const gt_problem *problem,
                             bool as_json, gt_error *error) {
  char text[GT_PROBLEM_TEXT], model_text[320];
  gt_problem_print(problem, text);
  gt_model_print(model, model_text);
  gt_table *table = gt_table_new("outcome|µs|spread|registers|configuration", "lrrrl");
  json_t *list = json_array();
  trial_list found = {.list = list, .problem = problem, .model = model};
  gt_status status = GT_OK;
  if (as_json && gt_model_renders(model)) status = gt_open_generator(&found.generator, error);
  if (cache && status == GT_OK)
    status = as_json ? gt_cache_each_trial(cache, model, problem, on_trial_json, &found, error)
                     : gt_cache_each_trial(cache, model, problem, on_trial, table, error);
  if (status == GT_NOT_FOUND) status = GT_OK; // no trials is an answer
  if (status == GT_OK && as_json)
    gt_print_json(json_pack("{s:s, s:s, s:O}", "problem", text, "model", model_text, "trials", list));
  else if (status == GT_OK && gt_table_rows(table)) {
    printf("%s\n%s\n", model_text, text);
    gt_table_print(table, stdout);
  } else if (status == GT_OK)
    printf("no trials of %s on %s%s\n", text, model_text,
           gt_has_classes(problem) ? "; tuning keeps them by classes of positions: add ,grid=smooth, say" : "");
  gt_generator_close(found.generator);
  gt_table_free(table);
  json_decref(list);
  return status;
}

// --- what crashed or hung
// --------------------------------------------------------------------------------------------

// "0000:03:00.0, driver 1, compiler 1", of a device in quarantine.
static gt_buffer where_of(const gt_quarantined *found) {
  gt_buffer where = {0};
  gt_buffer_print(&where, "%s%s%s, %s", found->pci_id, *found->pci_id ? ", " : "", found->driver,
                  found->compiler);
  return where;
}

static void on_quarantined(void *context, const gt_quarantined *found) {
  gt_table *table = context;
  gt_buffer where = where_of(found);
  gt_table_cell(table, "%s", gt_outcome_name(found->trial->outcome));
  gt_table_cell(table, "%s", found->tried_at);
  gt_table_cell(table, "%s", found->model);
  gt_table_cell(table, "%s", where.data);
  gt_table_cell(table, "%s", found->problem);
  gt_table_cell(table, "%s  %s", found->trial->configuration, found->trial->message);
  gt_buffer_free(&where);
}

static void on_quarantined_json(void *context, const gt_quarantined *found) {
  json_array_append_new(context,
                        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "outcome",
                                  gt_outcome_name(found->trial->outcome), "tried_at", found->tried_at,
                                  "model", found->model, "pci_id", found->pci_id, "driver", found->driver,
                                  "compiler", found->compiler, "problem", found->problem, "configuration",
                                  found->trial->configuration, "message", found->trial->message));
}

static gt_status list_quarantine(gt_cache *cache, bool as_json, gt_error *error) {
  gt_table *table =
      gt_table_new("outcome|tried|model|device, driver, compiler|problem|configuration", "llllll");
  json_t *list = json_array();
  gt_status status = GT_OK;
  if (cache)
    status = as_json ? gt_cache_each_quarantined(cache, on_quarantined_json, list, error)
                     : gt_cache_each_quarantined(cache, on_quarantined, table, error);
  if (status == GT_OK && as_json)
    gt_print_json(json_pack("{s:O}", "quarantine", list));
  else if (status == GT_OK && gt_table_rows(table)) {
    gt_table_print(table, stdout);
    printf("\nnot tried again on the same device with the same software; gathertune tune --retry PROBLEM "
           "does\n");
  } else if (status == GT_OK)
    printf("nothing is in quarantine: nothing crashed or hung\n");
  gt_table_free(table);
  json_decref(list);
  return status;
}

// --- rechecks
// --------------------------------------------------------------------------------------------------------

static void on_recheck(void *context, const char *model, const char *problem, const char *rechecked_at,
                       const gt_recheck *recheck) {
  gt_table *table = context;
  gt_table_cell(table, "%s", rechecked_at);
  gt_table_cell(table, "%s", model);
  gt_table_cell(table, "%s", problem);
  gt_recheck_cells(table, recheck);
  gt_table_cell(table, "%s", recheck->trial.configuration);
}

static void on_recheck_json(void *context, const char *model, const char *problem, const char *rechecked_at,
                            const gt_recheck *recheck) {
  json_t *json = gt_recheck_json(recheck);
  json_object_set_new(json, "problem", json_string(problem));
  json_object_set_new(json, "model", json_string(model));
  json_object_set_new(json, "rechecked_at", json_string(rechecked_at));
  json_array_append_new(context, json);
}

static gt_status list_rechecks(gt_cache *cache, bool as_json, gt_error *error) {
  gt_table *table = gt_table_new("rechecked|model|problem|" GT_RECHECK_HEADINGS "|configuration",
                                 "lll" GT_RECHECK_ALIGNMENT "l");
  json_t *list = json_array();
  gt_status status = GT_OK;
  if (cache)
    status = as_json ? gt_cache_each_recheck(cache, on_recheck_json, list, error)
                     : gt_cache_each_recheck(cache, on_recheck, table, error);
  if (status == GT_OK && as_json)
    gt_print_json(json_pack("{s:O}", "rechecks", list));
  else if (status == GT_OK && gt_table_rows(table))
    gt_table_print(table, stdout);
  else if (status == GT_OK)
    printf("nothing was rechecked yet; see gathertune tune --help\n");
  gt_table_free(table);
  json_decref(list);
  return status;
}

// --- the command
// -----------------------------------------------------------------------------------------------------

int gt_command_list(int argc, char **argv) {
  const char *cache_path = NULL, *trials = NULL, *device = NULL, *model = NULL;
  bool as_json = false, stale = false, quarantine = false, rechecks = false;
  const gt_option options[] = {
      {"stale", 0, GT_OPTION_FLAG, &stale, NULL,
       "only winners whose configuration renders to another source now, or to none; with --device,\n"
       "also those of its model that another compiler made; and what came of checking them"},
      {"trials", 0, GT_OPTION_TEXT, &trials, "PROBLEM", "every trial of a problem instead, with its outcome"},
      {"model", 0, GT_OPTION_TEXT, &model, "TEXT", "of trials: part of the model's name as list shows it"},
      {"device", 0, GT_OPTION_TEXT, &device, "DEVICE", "of trials: instead, the model of this device;\nwith --stale: whose compiler is compared"},
      {"quarantine", 0, GT_OPTION_FLAG, &quarantine, NULL,
       "what crashed or hung instead, and is not tried again on its device with its software"},
      {"rechecks", 0, GT_OPTION_FLAG, &rechecks, NULL, "what gathertune tune --recheck measured instead"},
      {"cache", 0, GT_OPTION_TEXT, &cache_path, "FILE", GT_HELP_CACHE},
      {"json", 0, GT_OPTION_FLAG, &as_json, NULL, GT_HELP_JSON},
      {0},
  };
  const gt_usage usage = {
      .command = "list",
      .arguments = "",
      .about = "Shows the winners in the cache by GPU model, every trial of one problem, what is in "
               "quarantine, or\n"
               "rechecks of winners.",
      .options = options,
      .takes_problem = true,
      .examples = "  gathertune list\n"
                  "  gathertune list --model gfx942 --trials \\\n"
                  "    upsample_bilinear2d_backward:n=8,c=64,in=128x128,out=256x256,dtype=f16,scale=2x2\n",
  };
  char **arguments;
  int count, result = gt_options_parse(&usage, argc, argv, &arguments, &count);
  if (result != GT_CONTINUE) return result;
  int kinds = (trials != NULL) + quarantine + rechecks + stale;
  if (count || kinds > 1 || (!trials && (model || (device && !stale))) || (device && model)) {
    if (count)
      gt_complain("list: takes no argument '%s'; see gathertune list --help", arguments[0]);
    else if (kinds > 1)
      gt_complain("list: only one of --stale, --trials, --quarantine and --rechecks at a time");
    else
      gt_complain("list: --device goes with --trials PROBLEM or --stale, --model with --trials PROBLEM");
    return 2;
  }
  gt_cache *cache = NULL;
  char *path = NULL;
  gt_problem problem;
  gt_fingerprint fingerprint = {0};
  gt_error error = {0};
  gt_status status = trials ? gt_problem_parse(trials, &problem, &error) : GT_OK;
  if (status == GT_OK) status = gt_open_cache(cache_path, GT_CACHE_READ, &cache, &path, &error);
  if (status == GT_OK && trials) {
    status = gt_model_choose(cache, device, model, &fingerprint, &error);
    if (status == GT_OK) status = list_trials(cache, &fingerprint, &problem, as_json, &error);
  } else if (status == GT_OK && stale) {
    if (device) status = gt_model_choose(cache, device, NULL, &fingerprint, &error);
    if (status == GT_OK) status = gt_list_stale(cache, path, device ? &fingerprint : NULL, as_json, &error);
  } else if (status == GT_OK && quarantine)
    status = list_quarantine(cache, as_json, &error);
  else if (status == GT_OK && rechecks)
    status = list_rechecks(cache, as_json, &error);
  else if (status == GT_OK)
    status = list_winners(cache, path, as_json, &error);
  if (status != GT_OK) gt_complain_error(&error);
  gt_cache_close(cache);
  free(path);
  return gt_exit_code(status);
}
