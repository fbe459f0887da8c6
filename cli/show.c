// gathertune show: all that the tuning cache has of one problem, and where it comes from.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model.h"
#include "cli/options.h"
#include "exchange/collection.h"
#include "generator/default.h"

typedef struct {
  const char *cache, *model;
  bool json;
  gt_problem problem;
  char text[GT_PROBLEM_TEXT];
} request;

// Trials of the device's model.
typedef struct {
  size_t all, timed;
} tried;

static tried count_trials(const gt_collection *c, const gt_winner *winner) {
  tried n = {0};
  for (size_t i = 0; i < c->n_trials; i++) {
    char model[320];
    gt_model_print(&c->devices[c->trials[i].device], model);
    bool same = strcmp(model, winner->device) == 0;
    n.all += same;
    n.timed += same && gt_trial_is_timed(&c->trials[i].trial);
  }
  return n;
}

static json_t *entry_json(const gt_collection *c, const gt_collected_winner *w) {
  const gt_winner *winner = &w->winner;
  const gt_fingerprint *device = &c->devices[w->device];
  tried n = count_trials(c, winner);
  json_t *ties = json_array();
  for (size_t i = 0; i < winner->n_ties; i++)
    json_array_append_new(ties, json_pack("{s:s, s:f}", "configuration", winner->ties[i].configuration,
                                          "median_us", winner->ties[i].median_us));
  json_t *json =
      json_pack("{s:s, s:b, s:o, s:o, s:f, s:o, s:o, s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I}", "model",
                winner->device, "deterministic", (int)w->deterministic, "variant",
                gt_variant_to_json(&winner->variant), "median_us", gt_json_number(winner->median_us),
                "spread_us", winner->spread_us, "default_us", gt_json_number(winner->default_us), "stream_us",
                gt_json_number(winner->stream_us), "ties", ties, "tuned_at", winner->tuned_at, "host",
                w->host, "pci_id", device->pci_id, "driver", winner->driver, "runtime", device->runtime,
                "compiler", winner->compiler, "trials", (json_int_t)n.all, "timed", (json_int_t)n.timed);
  json_object_set_new(json, "code_bytes", json_integer((json_int_t)winner->code_size));
  json_object_set_new(json, "code_hash", winner->code_size ? json_string(winner->code_hash) : json_null());
  return json;
}

// `plain`: the family that speed-ups of the problem are against.
static void print_entry(const gt_collection *c, const gt_collected_winner *w, const char *plain, bool first) {
  const gt_winner *winner = &w->winner;
  const gt_variant *variant = &winner->variant;
  const gt_fingerprint *device = &c->devices[w->device];
  if (w->deterministic)
    printf("\nbeside it, where results must be the same bits in every run\n");
  else
    printf("%smodel          %s\n", first ? "" : "\n", winner->device);
  printf("configuration  %s%s\n", variant->configuration,
         variant->reproducible ? "" : ", whose results are not the same bits in every run");
  printf("time           %s µs, spread %.2f µs; %s %s, stream %s\n",
         gt_microseconds(winner->median_us).text, winner->spread_us, plain, gt_microseconds(winner->default_us).text,
         gt_microseconds(winner->stream_us).text);
  for (size_t i = 0; i < winner->n_ties; i++)
    printf("%-14s %s, %s µs\n", i ? "" : "as fast", winner->ties[i].configuration,
           gt_microseconds(winner->ties[i].median_us).text);
  printf("kernels       ");
  for (int i = 0; i < variant->n_launches; i++) printf("%s %s", i ? "," : "", variant->launches[i].kernel);
  printf("\ntemplates      source %s\n", variant->source_hash);
  if (winner->code_size)
    printf("code object    %zu bytes, hash %s\n", winner->code_size, winner->code_hash);
  else
    printf("code object    none: it is compiled when it is used\n");
  printf("tuned          %s%s%s%s%s\n", winner->tuned_at, *w->host ? " on " : "", w->host,
         *device->pci_id ? ", device " : "", device->pci_id);
  printf("driver         %s\nruntime        %s\ncompiler       %s\n", winner->driver, device->runtime,
         winner->compiler);
  if (w->deterministic) return;
  tried n = count_trials(c, winner);
  printf("trials         %zu, %zu of them timed\n", n.all, n.timed);
}

static gt_status show(const request *r, gt_cache *cache, const char *path, gt_error *error) {
  const char *problem = r->text;
  const gt_selection selection = {.model = r->model, .problems = &problem, .n_problems = 1};
  gt_collection all = {0};
  gt_status status = gt_collection_read(&all, cache, &selection, 1, error);
  if (status == GT_OK && all.n_winners == 0)
    status = gt_fail(error, GT_NOT_FOUND,
                     "%s: %s is not tuned%s%s, though %zu trials are kept; gathertune lookup shows what "
                     "a program gets",
                     path, problem, r->model ? " on a model with the name " : "", r->model ? r->model : "",
                     all.n_trials);
  if (status == GT_OK) gt_collection_sort(&all);
  json_t *list = json_array();
  if (status == GT_OK && !r->json) printf("problem        %s\ncache          %s\n", problem, path);
  for (size_t i = 0; i < all.n_winners && status == GT_OK; i++)
    if (r->json)
      json_array_append_new(list, entry_json(&all, &all.winners[i]));
    else
      print_entry(&all, &all.winners[i], gt_plain_family(&r->problem), i == 0);
  if (status == GT_OK && r->json)
    gt_print_json(json_pack("{s:s, s:s, s:O}", "problem", problem, "cache", path, "entries", list));
  json_decref(list);
  gt_collection_free(&all);
  return status;
}

int gt_command_show(int argc, char **argv) {
  request r = {0};
  const gt_option options[] = {
      {"model", 0, GT_OPTION_TEXT, &r.model, "TEXT",
       "only GPU models whose name, as list shows it, has this in it"},
      {"cache", 0, GT_OPTION_TEXT, &r.cache, "FILE", GT_HELP_CACHE},
      {"json", 0, GT_OPTION_FLAG, &r.json, NULL, GT_HELP_JSON},
      {0},
  };
  const gt_usage usage = {
      .command = "show",
      .arguments = "PROBLEM",
      .about = "Shows all that the tuning cache has of a problem, on every GPU model: configurations, times, "
               "code objects, and "
               "which\n"
               "machine, device and software they come from. What a program would get, whatever is tuned, "
               "lookup shows; why, "
               "explain.",
      .options = options,
      .takes_problem = true,
      .examples = "  gathertune show "
                  "upsample_bilinear2d_backward:n=8,c=64,in=128x128,out=256x256,dtype=f16,scale=2x2\n",
  };
  char **arguments, *path = NULL;
  int count, result = gt_options_parse(&usage, argc, argv, &arguments, &count);
  if (result != GT_CONTINUE) return result;
  if (count != 1) {
    gt_complain("show: takes one problem, not %d; see gathertune show --help", count);
    return 2;
  }
  gt_cache *cache = NULL;
  gt_error error = {0};
  if (gt_problem_parse(arguments[0], &r.problem, &error) != GT_OK) return gt_complain_error(&error);
  gt_problem_print(&r.problem, r.text);
  gt_status status = gt_open_cache(r.cache, GT_CACHE_READ, &cache, &path, &error);
  if (status == GT_OK && !cache) status = gt_fail(&error, GT_NOT_FOUND, "%s: there is no cache", path);
  if (status == GT_OK) status = show(&r, cache, path, &error);
  if (status != GT_OK) gt_complain_error(&error);
  gt_cache_close(cache);
  free(path);
  return gt_exit_code(status);
}
