// gathertune replay: runs search strategies against recorded times, and says how good they are.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "cli/table.h"
#include "tuner/search.h"

#define DEFAULT_STRATEGIES "bayes,descent,random"
#define DEFAULT_SEEDS 100
#define DEFAULT_LEAST 50
enum { MOST_SEEDS = 1000000, MOST_AHEAD = 1024, MOST_STRATEGIES = 16 };

typedef struct {
  const char *names[MOST_STRATEGIES];
  size_t count;
  double rates[MOST_STRATEGIES]; // sums over the spaces
} strategies;

typedef struct {
  const char *strategies;
  int64_t seeds, ahead, least;
  bool json, alone;
} arguments;

static gt_status choose_strategies(const char *list, strategies *chosen, char **copy, gt_error *error) {
  char *state = NULL;
  *copy = gt_strdup(list);
  for (char *name = strtok_r(*copy, ",", &state); name; name = strtok_r(NULL, ",", &state)) {
    gt_status status = gt_search_check(name, error);
    if (status != GT_OK) return status;
    bool again = false;
    for (size_t i = 0; i < chosen->count; i++) again = again || strcmp(chosen->names[i], name) == 0;
    if (!again) chosen->names[chosen->count++] = name; // there are fewer strategies than room
  }
  return chosen->count ? GT_OK : gt_fail(error, GT_USAGE, "replay: --strategy names no strategy");
}

static json_t *result_json(const char *strategy, const gt_replay_result *result) {
  json_t *marks = json_array();
  for (size_t m = 0; m < GT_REPLAY_MARKS; m++)
    json_array_append_new(marks,
                          json_pack("{s:I, s:f, s:f}", "evaluations", (json_int_t)gt_replay_marks[m],
                                    "median", result->median[m], "worst_decile", result->worst_decile[m]));
  return json_pack("{s:s, s:f, s:o}", "strategy", strategy, "score", result->rate, "of_optimum", marks);
}

static void print_facts(const gt_recording *recording, const gt_score *score) {
  printf("%s\n%s, %zu failed; best %.5g, median %.5g; score over budgets of 1 to %zu evaluations\n",
         recording->name, gt_counted(score->count, "configuration").text, score->failed, score->optimum, score->median, score->budget);
  if (recording->expected) printf("with what other problems of the cache tell\n");
}

static gt_table *new_table(void) {
  gt_buffer headings = {0}, alignment = {0};
  gt_buffer_print(&headings, "strategy|score");
  gt_buffer_print(&alignment, "lr");
  for (size_t m = 0; m < GT_REPLAY_MARKS; m++) {
    gt_buffer_print(&headings, "|at %zu", gt_replay_marks[m]);
    gt_buffer_print(&alignment, "r");
  }
  gt_table *table = gt_table_new(headings.data, alignment.data);
  gt_buffer_free(&headings);
  gt_buffer_free(&alignment);
  return table;
}

static void print_row(gt_table *table, const char *strategy, const gt_replay_result *result) {
  gt_table_cell(table, "%s", strategy);
  gt_table_cell(table, "%.3f", result->rate);
  for (size_t m = 0; m < GT_REPLAY_MARKS; m++)
    gt_table_cell(table, "%.3f / %.3f", result->median[m], result->worst_decile[m]);
}

// All strategies on one space. *json receives it when it is not NULL; else it is printed.
static gt_status replay_one(const gt_recording *recording, strategies *chosen, const arguments *a,
                            json_t **json, gt_error *error) {
  gt_score score;
  gt_status status = GT_OK;
  gt_score_open(recording->times, recording->points.count, &score);
  json_t *results = json_array();
  gt_table *table = new_table();
  if (!json) print_facts(recording, &score);
  for (size_t i = 0; i < chosen->count && status == GT_OK; i++) {
    gt_replay_result result;
    const gt_replay_options options = {chosen->names[i], (size_t)a->seeds, (size_t)a->ahead};
    status = gt_replay(recording, &score, &options, &result, error);
    if (status != GT_OK) break;
    chosen->rates[i] += result.rate;
    print_row(table, chosen->names[i], &result);
    json_array_append_new(results, result_json(chosen->names[i], &result));
  }
  if (json)
    *json = json_pack("{s:s, s:I, s:I, s:f, s:f, s:I, s:b, s:O}", "space", recording->name, "configurations",
                      (json_int_t)score.count, "failed", (json_int_t)score.failed, "optimum", score.optimum,
                      "median", score.median, "budget", (json_int_t)score.budget, "informed",
                      recording->expected != NULL, "strategies", results);
  else {
    gt_table_print(table, stdout);
    fflush(stdout);
  }
  json_decref(results);
  gt_table_free(table);
  gt_score_close(&score);
  return status;
}

static void print_means(const strategies *chosen, size_t spaces) {
  printf("\nmean score over %zu spaces:", spaces);
  for (size_t i = 0; i < chosen->count; i++)
    printf("%s %s %.3f", i ? "," : "", chosen->names[i], chosen->rates[i] / (double)spaces);
  putchar('\n');
}

static int run(const arguments *a, char **files, int n_files) {
  gt_generator *generator = NULL;
  gt_recordings recordings = {0};
  strategies chosen = {.count = 0};
  char *names = NULL;
  json_t *spaces = json_array(), *means = json_object();
  gt_error error = {0};
  const gt_recording_options reading = {(size_t)a->least, a->alone};
  gt_status status = choose_strategies(a->strategies, &chosen, &names, &error);
  if (status == GT_OK) status = gt_open_generator(&generator, &error);
  for (int i = 0; i < n_files && status == GT_OK; i++)
    status = gt_recordings_read(&recordings, files[i], generator, &reading, &error);
  if (status == GT_OK && recordings.count == 0)
    status = gt_fail(&error, GT_NOT_FOUND,
                     "no problem has %zu trials or more of one version of its templates; see --least",
                     reading.least);
  else if (status == GT_OK && recordings.left_out)
    gt_complain("%s left out: fewer than %zu trials, or of several versions of a template",
                gt_counted(recordings.left_out, "problem").text, reading.least);
  for (size_t i = 0; i < recordings.count && status == GT_OK; i++) {
    json_t *space = NULL;
    if (i && !a->json) putchar('\n');
    status = replay_one(&recordings.list[i], &chosen, a, a->json ? &space : NULL, &error);
    if (space) json_array_append_new(spaces, space);
  }
  if (status == GT_OK && a->json) {
    for (size_t i = 0; i < chosen.count; i++)
      json_object_set_new(means, chosen.names[i], json_real(chosen.rates[i] / (double)recordings.count));
    gt_print_json(json_pack("{s:I, s:I, s:O, s:O}", "seeds", (json_int_t)a->seeds, "ahead",
                            (json_int_t)a->ahead, "spaces", spaces, "mean_score", means));
  } else if (status == GT_OK && recordings.count > 1) {
    print_means(&chosen, recordings.count);
  }
  int result = status == GT_OK ? 0 : gt_complain_error(&error);
  json_decref(spaces);
  json_decref(means);
  free(names);
  gt_recordings_free(&recordings);
  gt_generator_close(generator);
  return result;
}

int gt_command_replay(int argc, char **argv) {
  arguments a = {
      .strategies = DEFAULT_STRATEGIES, .seeds = DEFAULT_SEEDS, .ahead = 1, .least = DEFAULT_LEAST};
  const gt_option options[] = {
      {"strategy", 0, GT_OPTION_TEXT, &a.strategies, "A,B",
       "exhaustive, random, descent, bayes (default " DEFAULT_STRATEGIES ")"},
      {"seeds", 0, GT_OPTION_COUNT, &a.seeds, "N", "runs of each strategy (default 100)"},
      {"ahead", 0, GT_OPTION_COUNT, &a.ahead, "N",
       "configurations that are asked for before the first of them is reported (default 1)"},
      {"least", 0, GT_OPTION_COUNT, &a.least, "N",
       "trials that a problem of a cache needs to be a space (default 50)"},
      {"alone", 0, GT_OPTION_FLAG, &a.alone, NULL,
       "without what the other problems of a cache tell about one"},
      {"json", 0, GT_OPTION_FLAG, &a.json, NULL, GT_HELP_JSON},
      {0},
  };
  const gt_usage usage = {
      .command = "replay",
      .arguments = "FILE...",
      .about =
          "Runs search strategies against recorded times, without a device. FILE is a tuning cache, whose "
          "problems with\n"
          "enough trials are a search space each, or T4 JSON, the exchange format of auto-tuners (also "
          "gzipped).\n"
          "The score is 0 for random search and 1 for one that knows the optimum: the mean, over budgets "
          "up to where\n"
          "random search has come 95 % of the way from the median to the optimum, of the part of the way "
          "from random\n"
          "search's expected best time to the optimum. `at N` is optimum / best time after N evaluations: "
          "the median\n"
          "over the seeds, and the worst decile.",
      .options = options,
      .examples = "  gathertune replay --strategy bayes,random --seeds 200 convolution_MI250X.json.gz\n",
  };
  char **files;
  int count, result = gt_options_parse(&usage, argc, argv, &files, &count);
  if (result != GT_CONTINUE) return result;
  if (count == 0) {
    gt_complain("replay: a file is needed; see gathertune replay --help");
    return 2;
  }
  if (a.seeds < 1 || a.seeds > MOST_SEEDS || a.ahead < 1 || a.ahead > MOST_AHEAD) {
    gt_complain("replay: --seeds takes 1 to %d, and --ahead 1 to %d", MOST_SEEDS, MOST_AHEAD);
    return 2;
  }
  return run(&a, files, count);
}
