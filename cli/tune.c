// gathertune tune: finds the fastest configuration of problems on a device and keeps it in the cache.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/code_store.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/recheck.h"
#include "cli/suite.h"
#include "cli/table.h"
#include "cli/trial.h"
#include "tuner/search.h"
#include "tuner/stale.h"
#include "tuner/tune.h"
#include "tuner/wire.h"

enum { TOLD_FAILURES = 5 }; // told one by one per problem; the rest is counted
enum { MOST_COMPILE_JOBS = 256 };

typedef struct {
  char problem[GT_PROBLEM_TEXT];
  gt_tuned tuned;
  char *best; // so far, while it runs
  double best_us, stream_us;
  gt_status status;
  char message[1024]; // of a status that is not GT_OK
} row;

typedef struct {
  const char *cache_path, *device, *suite, *config;
  bool json, skip_unknown, recheck;
  int64_t budget, seed, compile_jobs; // compile_jobs < 0: not given
  gt_tune_options tune;
  gt_workshop_options limits;
  gt_suite problems;
  const char *device_text; // names the device in reproducing lines
  row *rows;
  size_t n_rows;
  gt_progress progress;
} session;

// --- before anything runs
// ------------------------------------------------------------------------------------

static gt_status check_families(const gt_generator *generator, const char *families, gt_error *error) {
  if (!families) return GT_OK;
  char *copy = gt_strdup(families), *state = NULL;
  gt_status status = *families ? GT_OK : gt_fail(error, GT_USAGE, "--families names no family");
  for (char *name = strtok_r(copy, ",", &state); name && status == GT_OK; name = strtok_r(NULL, ",", &state))
    status = gt_check_family(generator, name, error);
  free(copy);
  return status;
}

// Every bad line is told, not only the first.
static gt_status collect(session *s, char **arguments, int count) {
  gt_status status = GT_OK;
  for (int i = 0; i < count; i++) {
    gt_problem problem;
    gt_error error = {0};
    if (gt_problem_parse(arguments[i], &problem, &error) == GT_OK)
      gt_suite_add(&s->problems, &problem);
    else {
      gt_complain("%s", error.text);
      status = GT_USAGE;
    }
  }
  if (s->suite && gt_suite_read(&s->problems, s->suite, s->skip_unknown) != GT_OK) status = GT_USAGE;
  if (status != GT_OK || s->problems.count || (s->recheck && !s->suite)) return status;
  if (s->suite)
    gt_complain("tune: no problems in %s", s->suite);
  else
    gt_complain("tune: a problem or --suite FILE is needed; see gathertune tune --help");
  return GT_USAGE;
}

// --- while it runs
// -------------------------------------------------------------------------------------------

static void on_progress(void *context, const gt_tune_progress *now) {
  session *s = context;
  bool failed = now->last && !now->cached && now->last->outcome != GT_OUTCOME_OK;
  if (failed) { // a duplicate's failure was told with the one that it is of
    char *original = gt_trial_duplicate_of(now->last);
    failed = !original;
    free(original);
  }
  if (failed && s->progress.told_failed++ < TOLD_FAILURES) {
    gt_progress_clear(&s->progress);
    gt_trial_complain(s->rows[s->n_rows - 1].problem, s->device_text, now->last);
  }
  if (now->best) {
    row *current = &s->rows[s->n_rows - 1];
    free(current->best);
    current->best = gt_strdup(now->best);
    current->best_us = now->best_us;
    current->stream_us = now->stream_us;
  }
  gt_progress_show(&s->progress, now);
}

// What a problem that was interrupted, or whose results could not be stored any more, has to show is the best
// so far.
static void take_best_so_far(row *r) {
  if (r->tuned.configuration) return;
  r->tuned.configuration = r->best;
  r->best = NULL;
  r->tuned.best_us = r->best_us;
  r->tuned.stream_us = r->stream_us;
}

// Whether other problems are still worth trying after one ended like this.
static bool goes_on(gt_status status) {
  return status == GT_OK || status == GT_FAILED || status == GT_UNSUPPORTED || status == GT_OUT_OF_MEMORY;
}

// Problems whose stored winner is stale come first, in the order in which they were given, as do the others after
// them: what programs are served by now is verified before anything new is looked for.
static void put_stale_first(session *s, gt_generator *generator, gt_workshop *workshop, gt_cache *cache) {
  size_t count = s->problems.count, stale = 0, current = 0;
  gt_problem *problems = s->problems.problems, *others = gt_alloc((count + 1) * sizeof *others);
  for (size_t i = 0; i < count; i++)
    if (gt_is_stored_stale(generator, cache, gt_workshop_fingerprint(workshop), &problems[i]))
      problems[stale++] = problems[i];
    else
      others[current++] = problems[i];
  memcpy(problems + stale, others, current * sizeof *others);
  free(others);
  if (stale && current)
    fprintf(stderr, "%zu of %zu problems have a stale winner: they come first\n", stale, count);
}

static gt_status tune_all(session *s, gt_generator *generator, gt_workshop *workshop, gt_cache *cache) {
  gt_status worst = GT_OK;
  for (size_t i = 0; i < s->problems.count; i++) {
    const gt_problem *problem = &s->problems.problems[i];
    row *next = &s->rows[s->n_rows++];
    gt_error error = {0};
    gt_problem_print(problem, next->problem);
    gt_progress_start(&s->progress);
    fprintf(stderr, "tuning %zu of %zu: %s\n", i + 1, s->problems.count, next->problem);
    next->status =
        gt_tune(generator, workshop, cache, problem, &s->tune, on_progress, s, &next->tuned, &error);
    gt_progress_clear(&s->progress);
    if (s->progress.told_failed > TOLD_FAILURES)
      gt_complain("%zu more trials failed; gathertune list --trials %s shows them",
                  s->progress.told_failed - TOLD_FAILURES, next->problem);
    if (next->status == GT_OK) continue;
    worst = next->status;
    snprintf(next->message, sizeof next->message, "%s", error.text);
    if (worst == GT_INTERRUPTED || worst == GT_IO) take_best_so_far(next);
    if (worst == GT_INTERRUPTED) break;
    gt_complain("%s: %s", next->problem, error.text);
    if (!goes_on(worst)) break;
  }
  return worst;
}

// One configuration for each problem, without the cache.
static gt_status try_all(session *s, gt_generator *generator, gt_workshop *workshop) {
  gt_status status = GT_OK;
  gt_error error = {0};
  bool failed = false;
  json_t *all = json_array();
  for (size_t i = 0; i < s->problems.count && status == GT_OK; i++) {
    char text[GT_PROBLEM_TEXT];
    gt_trial trial = {0};
    gt_problem_print(&s->problems.problems[i], text);
    status =
        gt_try(generator, workshop, &s->problems.problems[i], s->config, &s->tune.timing, &trial, &error);
    if (status == GT_OK) {
      if (s->json)
        json_array_append_new(all, json_pack("{s:s, s:o}", "problem", text, "trial", gt_trial_json(&trial)));
      else
        gt_trial_print(text, &trial);
      if (trial.outcome != GT_OUTCOME_OK) {
        gt_trial_complain(text, s->device_text, &trial);
        failed = true;
      }
    }
    gt_trial_free(&trial);
  }
  if (s->json)
    gt_print_json(json_pack("{s:o}", "trials", all));
  else
    json_decref(all);
  if (status != GT_OK) gt_complain_error(&error);
  return status == GT_OK && failed ? GT_FAILED : status;
}

// --- the end
// -------------------------------------------------------------------------------------------------

static void print_table(const session *s, const gt_fingerprint *device, const char *name) {
  printf("%s (%s, %s, %d compute units), %s cache\n\n", device->name, name, device->arch,
         device->compute_units, s->tune.timing.warm ? "warm" : "cold");
  gt_table *table = gt_table_new("problem|direct µs|best µs|speed-up|of stream|configuration", "lrrrrl");
  for (size_t i = 0; i < s->n_rows; i++) {
    const gt_tuned *t = &s->rows[i].tuned;
    const char *none = t->empty ? "empty problem: nothing to launch" : "none";
    const char *note = s->rows[i].status == GT_OK || !t->configuration ? "" : " (so far)";
    gt_table_cell(table, "%s", s->rows[i].problem);
    gt_table_cell(table, "%s", gt_microseconds(t->default_us).text);
    gt_table_cell(table, "%s", gt_microseconds(t->best_us).text);
    gt_table_cell(table, "%s", gt_ratio(t->default_us, t->best_us, "").text);
    gt_table_cell(table, "%s", gt_ratio(t->stream_us, t->best_us, "").text);
    gt_table_cell(table, "%s%s", t->configuration ? t->configuration : none, note);
  }
  gt_table_print(table, stdout);
  gt_table_free(table);
  putchar('\n');
  for (size_t i = 0; i < s->n_rows; i++) {
    const gt_tuned *t = &s->rows[i].tuned;
    if (t->empty) continue;
    printf("%s: %zu of %zu configurations tried, %zu failed, %zu cached, %zu duplicates, %zu tied with the "
           "winner%s\n",
           s->rows[i].problem, t->tried, t->space, t->failed, t->cached, t->duplicates, t->n_ties,
           t->noisy ? ", whose times are noisy" : "");
    if (t->quarantined)
      printf("  %zu in quarantine were not tried, since they crashed or hung before: gathertune list "
             "--quarantine shows them, --retry tries them again\n",
             t->quarantined);
    if (t->stale && t->stale_refused)
      printf("  the stored winner %s was stale: the templates do not have it any more\n", t->stale);
    else if (t->stale_tried)
      printf("  the stored winner %s was stale, and was tried first: %s\n", t->stale,
             gt_outcome_name(t->stale_outcome));
    if (t->seconds > 0)
      printf("  device busy %.0f %% of %.1f s, %.1f s waiting for compilers; %zu sources compiled, %zu code "
             "objects reused\n",
             100 * t->device_seconds / t->seconds, t->seconds, t->compile_wait_seconds, t->compiled,
             t->reused);
  }
  if (s->problems.unknown) printf("%zu lines left out: operators not known\n", s->problems.unknown);
}

static json_t *row_json(const row *r) {
  const gt_tuned *t = &r->tuned;
  json_t *json = json_pack("{s:s, s:s, s:s, s:s?, s:o, s:o, s:o, s:o, s:b}", "problem", r->problem, "status",
                           gt_status_name(r->status), "message", r->message, "configuration",
                           t->configuration, "default_us", gt_json_number(t->default_us), "best_us",
                           gt_json_number(t->best_us), "best_spread_us", gt_json_number(t->best_spread_us),
                           "stream_us", gt_json_number(t->stream_us), "empty", t->empty);
  json_object_set_new(json, "tried", json_integer((json_int_t)t->tried));
  json_object_set_new(json, "failed", json_integer((json_int_t)t->failed));
  json_object_set_new(json, "cached", json_integer((json_int_t)t->cached));
  json_object_set_new(json, "quarantined", json_integer((json_int_t)t->quarantined));
  json_object_set_new(json, "noisy", json_boolean(t->noisy));
  json_object_set_new(json, "ties", gt_ties_json(t->ties, t->n_ties));
  json_object_set_new(json, "duplicates", json_integer((json_int_t)t->duplicates));
  json_object_set_new(json, "compiled", json_integer((json_int_t)t->compiled));
  json_object_set_new(json, "code_reused", json_integer((json_int_t)t->reused));
  json_object_set_new(json, "seconds", gt_json_number(t->seconds));
  json_object_set_new(json, "compile_wait_s", json_real(t->compile_wait_seconds));
  json_object_set_new(json, "device_busy",
                      t->seconds > 0 ? json_real(t->device_seconds / t->seconds) : json_null());
  json_object_set_new(json, "space", json_integer((json_int_t)t->space));
  json_object_set_new(json, "stale",
                      t->stale ? json_pack("{s:s, s:s?}", "configuration", t->stale, "outcome",
                                           t->stale_refused ? "refused"
                                           : t->stale_tried ? gt_outcome_name(t->stale_outcome)
                                                            : NULL)
                               : json_null());
  return json;
}

static void print_result(const session *s, const gt_workshop *workshop, const char *cache_path) {
  const gt_fingerprint *device = gt_workshop_fingerprint(workshop);
  if (!s->json) {
    print_table(s, device, s->device_text);
    return;
  }
  json_t *rows = json_array();
  for (size_t i = 0; i < s->n_rows; i++) json_array_append_new(rows, row_json(&s->rows[i]));
  gt_print_json(json_pack("{s:s, s:o, s:s?, s:b, s:b, s:I, s:o}", "device", s->device_text, "fingerprint",
                          gt_wire_fingerprint(device), "cache", cache_path, "warm", s->tune.timing.warm,
                          "interrupted", gt_was_interrupted(), "left_out", (json_int_t)s->problems.unknown,
                          "problems", rows));
}

// Without the store every source is compiled: worth a word, and no reason to stop.
static gt_code_store *open_code_store(const char *cache_path) {
  gt_code_store *store = NULL;
  gt_error error = {0};
  char *path = gt_code_store_path(cache_path);
  if (gt_code_store_open(path, GT_CODE_STORE_BYTES, &store, &error) != GT_OK)
    gt_complain("%s: code objects are neither reused nor kept", error.text);
  free(path);
  return store;
}

// Warm times are not comparable with the cold ones that the cache keeps: such a run has a cache of its own in
// a temporary file, whose path the caller removes and frees.
static gt_status open_private_cache(gt_cache **cache, char **path, gt_error *error) {
  const char *folder = getenv("TMPDIR");
  *path = gt_print("%s/gathertune-warm-XXXXXX", folder && *folder ? folder : "/tmp");
  int file = mkstemp(*path);
  if (file < 0) return gt_fail(error, GT_IO, "%s: %s", *path, strerror(errno));
  close(file);
  return gt_cache_open(*path, GT_CACHE_WRITE, cache, error);
}

static int run(session *s) {
  gt_generator *generator = NULL;
  gt_workshop *workshop = NULL;
  gt_cache *cache = NULL;
  gt_code_store *store = NULL;
  char *cache_path = NULL, *private_path = NULL;
  gt_error error = {0};
  int result = 0;
  gt_status status = gt_open_generator(&generator, &error);
  if (status == GT_OK) status = check_families(generator, s->tune.families, &error);
  if (status != GT_OK) goto complain;
  gt_catch_interrupts();
  // The device before the cache: a run without one leaves no file behind.
  status = gt_workshop_open(s->device, &s->limits, &workshop, &error);
  if (status != GT_OK) goto complain;
  // A recorded device's name is a path, which the resolved name may not hold in full.
  s->device_text = strcmp(s->device, "auto") == 0 ? gt_workshop_device(workshop) : s->device;
  if (s->config) {
    status = try_all(s, generator, workshop);
    result = status == GT_INTERRUPTED ? GT_EXIT_INTERRUPTED : gt_exit_code(status);
    goto done;
  }
  status = s->tune.timing.warm ? open_private_cache(&cache, &private_path, &error)
                               : gt_open_cache(s->cache_path, GT_CACHE_WRITE, &cache, &cache_path, &error);
  if (status != GT_OK) goto complain;
  if (cache_path) store = open_code_store(cache_path);
  gt_workshop_use_store(workshop, store);
  if (s->recheck) {
    status = gt_recheck_all(generator, workshop, cache, &s->problems, &s->tune.timing, s->json);
    result = status == GT_INTERRUPTED ? GT_EXIT_INTERRUPTED : gt_exit_code(status);
    goto done;
  }
  s->rows = gt_alloc(s->problems.count * sizeof *s->rows);
  put_stale_first(s, generator, workshop, cache);
  status = tune_all(s, generator, workshop, cache);
  print_result(s, workshop, cache_path);
  result = gt_exit_code(status);
  if (status == GT_INTERRUPTED) {
    if (cache_path)
      gt_complain("interrupted; what was measured is kept in %s: run the same command again to go on",
                  cache_path);
    else
      gt_complain("interrupted; warm times are not kept");
    result = GT_EXIT_INTERRUPTED;
  }
  goto done;
complain:
  result = gt_complain_error(&error);
done:
  for (size_t i = 0; i < s->n_rows; i++) {
    free(s->rows[i].best);
    gt_tuned_free(&s->rows[i].tuned);
  }
  free(s->rows);
  gt_cache_close(cache);
  if (private_path) unlink(private_path);
  free(private_path);
  free(cache_path);
  gt_workshop_close(workshop);
  gt_code_store_close(store);
  gt_generator_close(generator);
  return result;
}

int gt_command_tune(int argc, char **argv) {
  session s = {.device = "auto", .compile_jobs = -1};
  gt_tune_defaults(&s.tune);
  gt_workshop_defaults(&s.limits);
  const gt_option options[] = {
      {"suite", 0, GT_OPTION_TEXT, &s.suite, "FILE", "also the problems in FILE, one a line, # for comments"},
      {"skip-unknown", 0, GT_OPTION_FLAG, &s.skip_unknown, NULL,
       "leave out suite lines whose operator this version does not know"},
      {"device", 0, GT_OPTION_TEXT, &s.device, "DEVICE", GT_HELP_DEVICE},
      {"budget", 0, GT_OPTION_COUNT, &s.budget, "N",
       "most trials per problem, cached ones included (default 400)"},
      {"families", 0, GT_OPTION_TEXT, &s.tune.families, "A,B",
       "only these families (default: all but the baselines)"},
      {"strategy", 0, GT_OPTION_TEXT, &s.tune.strategy, "NAME",
       "of the search: exhaustive, random, descent, bayes\n"
       "(default: exhaustive when the budget allows it, else bayes)"},
      {"seed", 0, GT_OPTION_COUNT, &s.seed, "N", "of the search's choices"},
      {"retry", 0, GT_OPTION_FLAG, &s.tune.retry, NULL, "try again what is in the cache, failures included"},
      {"recheck", 0, GT_OPTION_FLAG, &s.recheck, NULL,
       "search nothing, but time stored winners once more beside the default and report drift;\n"
       "without a problem, all of the device's model"},
      {"warm", 0, GT_OPTION_FLAG, &s.tune.timing.warm, NULL,
       "time with warm device caches, and keep nothing (default: cold)"},
      {"batch-us", 0, GT_OPTION_NUMBER, &s.tune.timing.batch_us, "US",
       "time launches in batches of at least so many microseconds (default 1000)"},
      {"config", 0, GT_OPTION_TEXT, &s.config, "CONFIGURATION", "try only this one and store nothing"},
      {"compile-jobs", 0, GT_OPTION_COUNT, &s.compile_jobs, "N",
       "processes that compile while the device works (default: one less than the CPUs, at most 16)"},
      {"compile-limit", 0, GT_OPTION_NUMBER, &s.limits.compile_seconds, "S",
       "seconds a compilation may take"},
      {"launch-limit", 0, GT_OPTION_NUMBER, &s.limits.launch_seconds, "S", "seconds a check may take"},
      {"time-limit", 0, GT_OPTION_NUMBER, &s.limits.time_seconds, "S",
       "seconds the timing of a trial may take"},
      {"cache", 0, GT_OPTION_TEXT, &s.cache_path, "FILE", GT_HELP_CACHE},
      {"json", 0, GT_OPTION_FLAG, &s.json, NULL, GT_HELP_JSON},
      {0},
  };
  const gt_usage usage = {
      .command = "tune",
      .arguments = "PROBLEM...",
      .about = "Compiles, checks and times configurations of every family that can do a problem, and keeps "
               "all trials and\n"
               "the winner in the cache. Each trial runs in a worker process: a crash or a hang costs that "
               "trial only.\n"
               "Other processes compile what comes next, so that the device need not wait. Code objects are "
               "kept in\n"
               "the file CACHE.code beside the cache, which may be deleted at any time.\n"
               "Winners whose template or compiler has changed are verified first.\n"
               "Ctrl-C ends it and keeps what was measured; the same command goes on from there.",
      .options = options,
      .takes_problem = true,
      .examples = "  gathertune tune --budget 100 \\\n"
                  "    upsample_bilinear2d_backward:n=8,c=64,in=128x128,out=256x256,dtype=f16,scale=2x2\n",
  };
  char **arguments;
  gt_error error = {0};
  int count, result = gt_options_parse(&usage, argc, argv, &arguments, &count);
  if (result != GT_CONTINUE) return result;
  if (s.compile_jobs == 0 || s.compile_jobs > MOST_COMPILE_JOBS) {
    gt_complain("tune: --compile-jobs takes a whole number of 1 to %d, not '%lld'", MOST_COMPILE_JOBS,
                (long long)s.compile_jobs);
    return 2;
  }
  if (s.recheck && (s.config || s.budget || s.seed || s.tune.families || s.tune.strategy || s.tune.retry ||
                    s.tune.timing.warm)) {
    gt_complain("tune: --recheck searches nothing: it goes without --budget, --families, --strategy, --seed, "
                "--retry, --warm and --config");
    return 2;
  }
  s.limits.compile_jobs = s.compile_jobs > 0 ? (int)s.compile_jobs : gt_workshop_compile_jobs(1);
  if (s.budget > 1000000000) s.budget = 1000000000;
  if (s.budget) s.tune.budget = (int)s.budget;
  if (s.seed) s.tune.seed = (uint64_t)s.seed;
  if (s.tune.strategy && gt_search_check(s.tune.strategy, &error) != GT_OK) return gt_complain_error(&error);
  result = collect(&s, arguments, count) == GT_OK ? run(&s) : 2;
  gt_suite_free(&s.problems);
  return result;
}
