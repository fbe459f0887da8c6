// gathertune tune: finds the fastest configuration of problems on a device and keeps it in the cache.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/code_store.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/recheck.h"
#include "cli/suite.h"
#include "cli/trial.h"
#include "cli/tune_devices.h"
#include "cli/tune_events.h"
#include "cli/tune_report.h"
#include "cli/tune_run.h"
#include "tuner/npy.h"
#include "tuner/search.h"
#include "tuner/try.h"
#include "tuner/values.h"

enum { MOST_COMPILE_JOBS = 256 };

typedef struct {
  const char *cache_path, *device, *suite, *config, *grid_file;
  bool json, json_lines, quiet, skip_unknown, recheck;
  int64_t budget, seed, compile_jobs; // < 0: not given
  gt_tune_options tune;
  gt_workshop_options limits;
  gt_suite problems;
} session;

// --- before anything runs
// ------------------------------------------------------------------------------------

static gt_status check_family(gt_generator *generator, const char *name, gt_error *error) {
  gt_family_role role;
  const char *description;
  gt_status status = gt_check_family(generator, name, error);
  if (status == GT_OK) status = gt_family_describe(generator, name, &role, &description, error);
  if (status == GT_OK && role == GT_ROLE_BOUND)
    status = gt_fail(error, GT_USAGE, "--families: %s computes nothing useful and cannot win", name);
  return status;
}

static gt_status check_families(gt_generator *generator, const char *families, gt_error *error) {
  if (!families) return GT_OK;
  char *copy = gt_strdup(families), *state = NULL;
  gt_status status = families[strspn(families, ",")] ? GT_OK : gt_fail(error, GT_USAGE, "--families names no family");
  for (char *name = strtok_r(copy, ",", &state); name && status == GT_OK; name = strtok_r(NULL, ",", &state))
    status = check_family(generator, name, error);
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
      gt_suite_add(&s->problems, &problem, 0);
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

// Reads the sampling positions that the problem is to be tuned with, in storage form.
static gt_status read_grid(const session *s, gt_buffer *grid, gt_error *error) {
  const gt_problem *problem = &s->problems.problems[0];
  gt_npy array;
  if (s->problems.count != 1 || problem->op->form != GT_FORM_GRID)
    return gt_fail(error, GT_USAGE, "--grid-file goes with one problem, of grid_sampler_2d_backward");
  // (n, out height, out width, 2)
  const int64_t shape[] = {problem->n, problem->out[1], problem->out[2], 2};
  gt_status status = gt_npy_read(s->grid_file, 4, shape, &array, error);
  if (status != GT_OK) return status;
  gt_tensor tensor = {GT_GRID, false, gt_tensor_slice(problem, GT_GRID)};
  void *stored = gt_values_store(problem, &tensor, array.values);
  gt_buffer_append(grid, stored, (size_t)gt_tensor_elements(problem, &tensor) * gt_dtype_bytes(problem->dtype));
  free(stored);
  gt_npy_free(&array);
  return status;
}

// --- on one device
// ----------------------------------------------------------------------------------------------

// One configuration for each problem, without the cache.
static gt_status try_all(const session *s, gt_generator *generator, gt_workshop *workshop, const char *device) {
  gt_status status = GT_OK;
  gt_error error = {0};
  bool failed = false;
  json_t *all = json_array();
  for (size_t i = 0; i < s->problems.count && status == GT_OK; i++) {
    char text[GT_PROBLEM_TEXT];
    gt_trial trial = {0};
    gt_problem_print(&s->problems.problems[i], text);
    bool prepared = false;
    status = gt_try(generator, workshop, &s->problems.problems[i], s->config, &s->tune.timing, &prepared, &trial,
                    &error);
    if (status == GT_OK) {
      if (s->json)
        json_array_append_new(all, json_pack("{s:s, s:o}", "problem", text, "trial", gt_trial_json(&trial)));
      else
        gt_trial_print(text, &trial);
      if (trial.outcome != GT_OUTCOME_OK) {
        gt_trial_complain(text, device, &trial);
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

// --config and --recheck. Tells its failures.
static gt_status run_on_one(const session *s, gt_generator *generator, const char *name, const gt_buffer *grid) {
  gt_workshop *workshop = NULL;
  gt_cache *cache = NULL;
  gt_code_store *store = NULL;
  gt_workshop_options limits = s->limits;
  gt_error error = {0}, trouble = {0};
  char *cache_path = NULL, *store_path = NULL;
  limits.compile_jobs = s->compile_jobs > 0 ? (int)s->compile_jobs : gt_workshop_compile_jobs(1);
  // The device before the cache: a run without one leaves no file behind.
  gt_status status = gt_workshop_open(name, &limits, &workshop, &error);
  if (status == GT_OK && !s->config)
    status = gt_open_cache(s->cache_path, GT_CACHE_WRITE, &cache, &cache_path, &error);
  if (status != GT_OK) {
    gt_complain_error(&error);
  } else if (s->config) {
    gt_workshop_use_grid(workshop, grid->data, grid->length);
    // A recorded device's name is a path, which the resolved name may not hold in full.
    status = try_all(s, generator, workshop, strcmp(name, "auto") == 0 ? gt_workshop_device(workshop) : name);
  } else {
    store_path = gt_code_store_path(cache_path);
    if (gt_code_store_open(store_path, GT_CODE_STORE_BYTES, &store, &trouble) != GT_OK)
      gt_complain("%s: code objects are neither reused nor kept", trouble.text);
    gt_workshop_use_store(workshop, store);
    status = gt_recheck_all(generator, workshop, cache, &s->problems, &s->tune.timing, s->quiet, s->json);
  }
  gt_cache_close(cache);
  gt_workshop_close(workshop);
  gt_code_store_close(store);
  free(store_path);
  free(cache_path);
  return status;
}

// --- on all
// --------------------------------------------------------------------------------------------------

// Warm times are not comparable with the cold ones that the cache keeps, nor those of a given grid with those of a
// class: such a run has a cache of its own in a temporary file, whose path the caller removes and frees.
static gt_status make_private_cache(char **path, gt_error *error) {
  const char *folder = getenv("TMPDIR");
  *path = gt_print("%s/gathertune-XXXXXX", folder && *folder ? folder : "/tmp");
  int file = mkstemp(*path);
  if (file < 0) return gt_fail(error, GT_IO, "%s: %s", *path, strerror(errno));
  close(file);
  return GT_OK;
}

// The winner for a given grid is all that is kept of its run: what lookups of the problem get from now on.
static gt_status keep_winners(const gt_tune_run *run, const char *private_path, gt_error *error) {
  gt_cache *from = NULL, *to = NULL;
  gt_status status = gt_cache_open(private_path, GT_CACHE_READ, &from, error);
  if (status == GT_OK) status = gt_cache_open(run->cache_path, GT_CACHE_WRITE, &to, error);
  for (size_t i = 0; i < run->n_devices && status == GT_OK; i++) {
    const gt_fingerprint *device = &run->devices[i].fingerprint;
    gt_winner winner;
    if (run->devices[i].pool == SIZE_MAX) continue;
    status = gt_cache_get_winner(from, device, &run->suite->problems[0], true, &winner, error);
    if (status == GT_OK) status = gt_cache_put_winner(to, device, &run->suite->problems[0], &winner, error);
    if (status == GT_NOT_FOUND) status = GT_OK; // nothing won
    gt_winner_free(&winner);
  }
  gt_cache_close(from);
  gt_cache_close(to);
  return status;
}

static void print_result(const session *s, const gt_tune_run *run) {
  if (s->json_lines)
    gt_tune_event_end(run);
  else if (s->json)
    gt_print_json(gt_tune_report_json(run));
  else
    gt_tune_report_print(run);
  if (run->worst != GT_INTERRUPTED) return;
  if (run->cache_path && !run->grid)
    gt_complain("interrupted; what was measured is kept in %s: run the same command again to go on",
                run->cache_path);
  else
    gt_complain("interrupted; %s are not kept", run->grid ? "trials with a given grid" : "warm times");
}

// Tells its failures.
static gt_status run_on_all(const session *s, const gt_device_names *names, const gt_buffer *grid) {
  gt_tune_run run = {.suite = &s->problems,
                     .tune = s->tune,
                     .limits = s->limits,
                     .compile_jobs = s->compile_jobs > 0 ? (int)s->compile_jobs : 0,
                     .quiet = s->quiet,
                     .json_lines = s->json_lines,
                     .grid = grid->length ? grid : NULL};
  gt_cache *cache = NULL;
  gt_error error = {0};
  char *private_path = NULL;
  // The devices before the cache: a run without any leaves no file behind.
  gt_status status = gt_tune_run_open(&run, names, &error);
  if (status == GT_OK && (s->tune.timing.warm || run.grid)) status = make_private_cache(&private_path, &error);
  if (status == GT_OK && !s->tune.timing.warm)
    status = gt_open_cache(s->cache_path, GT_CACHE_WRITE, &cache, &run.cache_path, &error);
  gt_cache_close(cache); // it is there, and can be written: each device opens it for itself
  if (status == GT_OK)
    status = gt_tune_run_all(&run, private_path ? private_path : run.cache_path, !private_path, &error);
  if (status == GT_OK && run.grid && run.cache_path && run.worst == GT_OK)
    status = keep_winners(&run, private_path, &error);
  if (status == GT_OK) {
    print_result(s, &run);
    status = run.worst;
  } else {
    gt_complain_error(&error);
  }
  gt_tune_run_close(&run);
  if (private_path) unlink(private_path);
  free(private_path);
  return status;
}

static int run(const session *s) {
  gt_generator *generator = NULL;
  gt_device_names names = {0};
  gt_buffer grid = {0};
  gt_error error = {0};
  gt_status status = gt_open_generator(&generator, &error);
  if (status == GT_OK) status = check_families(generator, s->tune.families, &error);
  if (status == GT_OK && s->grid_file) status = read_grid(s, &grid, &error);
  if (status == GT_OK) gt_catch_interrupts();
  if (status == GT_OK) status = gt_device_names_read(s->device, &names, &error);
  if (status == GT_OK && names.count > 1 && (s->config || s->recheck))
    status = gt_fail(&error, GT_USAGE, "tune: --config and --recheck take one device, not %zu", names.count);
  if (status != GT_OK)
    gt_complain_error(&error);
  else if (s->config || s->recheck)
    status = run_on_one(s, generator, names.names[0], &grid);
  else
    status = run_on_all(s, &names, &grid);
  gt_buffer_free(&grid);
  gt_device_names_free(&names);
  gt_generator_close(generator);
  return status == GT_INTERRUPTED ? GT_EXIT_INTERRUPTED : gt_exit_code(status);
}

int gt_command_tune(int argc, char **argv) {
  session s = {.device = "auto", .budget = -1, .seed = -1, .compile_jobs = -1};
  gt_tune_defaults(&s.tune);
  gt_workshop_defaults(&s.limits);
  const gt_option options[] = {
      {"suite", 0, GT_OPTION_TEXT, &s.suite, "FILE", "also the problems in FILE, one a line, # for comments;\n"
       "behind a problem, calls=N says how often it is called, for the value of tuning"},
      {"skip-unknown", 0, GT_OPTION_FLAG, &s.skip_unknown, NULL,
       "leave out suite lines whose operator this version does not know"},
      {"device", 0, GT_OPTION_TEXT, &s.device, "DEVICE",
       GT_HELP_DEVICE ";\n"
       "all: every GPU; or a list, hip:0,hip:1: those of one model take problems by turns, and\n"
       "each problem is tuned once on each model"},
      {"budget", 0, GT_OPTION_COUNT, &s.budget, "N",
       "most trials per problem, cached ones included (default 400); the plain family's default\n"
       "and a stored winner are tried in any case"},
      {"families", 0, GT_OPTION_TEXT, &s.tune.families, "A,B",
       "only these families (default: all but the baselines)"},
      {"strategy", 0, GT_OPTION_TEXT, &s.tune.strategy, "NAME",
       "of the search: exhaustive, random, descent, bayes\n"
       "(default: exhaustive when the budget allows it, else bayes)"},
      {"seed", 0, GT_OPTION_COUNT, &s.seed, "N", "of the search's choices (default 0)"},
      {"retry", 0, GT_OPTION_FLAG, &s.tune.retry, NULL, "try again what is in the cache, failures included"},
      {"recheck", 0, GT_OPTION_FLAG, &s.recheck, NULL,
       "search nothing, but time stored winners once more beside the default and report drift;\n"
       "without a problem, all of the device's model"},
      {"warm", 0, GT_OPTION_FLAG, &s.tune.timing.warm, NULL,
       "time with warm device caches, and keep nothing (default: cold)"},
      {"batch-us", 0, GT_OPTION_NUMBER, &s.tune.timing.batch_us, "US",
       "time launches in batches of at least so many microseconds (default 1000)"},
      {"grid-file", 0, GT_OPTION_TEXT, &s.grid_file, "FILE.npy",
       "sampling positions to tune one problem of grid_sampler_2d_backward with, an array of shape\n"
       "(n, out height, out width, 2); only its winner is kept"},
      {"config", 0, GT_OPTION_TEXT, &s.config, "CONFIGURATION", "try only this one and store nothing"},
      {"compile-jobs", 0, GT_OPTION_COUNT, &s.compile_jobs, "N",
       "processes that compile while devices work, of all devices together\n"
       "(default: for each device its part of the CPUs less one, at most 16)"},
      {"compile-limit", 0, GT_OPTION_NUMBER, &s.limits.compile_seconds, "S",
       "seconds a compilation may take (default 120)"},
      {"launch-limit", 0, GT_OPTION_NUMBER, &s.limits.launch_seconds, "S", "seconds a check may take (default 20)"},
      {"time-limit", 0, GT_OPTION_NUMBER, &s.limits.time_seconds, "S",
       "seconds the timing of a trial may take (default 120)"},
      {"cache", 0, GT_OPTION_TEXT, &s.cache_path, "FILE", GT_HELP_CACHE},
      {"quiet", 'q', GT_OPTION_FLAG, &s.quiet, NULL, "nothing on standard error but complaints"},
      {"json", 0, GT_OPTION_FLAG, &s.json, NULL, GT_HELP_JSON},
      {"json-lines", 0, GT_OPTION_FLAG, &s.json_lines, NULL,
       "instead, what happens while it happens: an event a line (docs/tune-events.md)"},
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
  if (s.json && s.json_lines) {
    gt_complain("tune: --json and --json-lines exclude each other");
    return 2;
  }
  if (s.json_lines && (s.recheck || s.config)) {
    gt_complain("tune: --json-lines tells of a search: it goes without --recheck and --config");
    return 2;
  }
  if (s.budget == 0) {
    gt_complain("tune: --budget takes a whole number of 1 or more, not '0'");
    return 2;
  }
  if (s.recheck && (s.config || s.budget > 0 || s.seed >= 0 || s.tune.families || s.tune.strategy || s.tune.retry ||
                    s.tune.timing.warm)) {
    gt_complain("tune: --recheck searches nothing: it goes without --budget, --families, --strategy, --seed, "
                "--retry, --warm and --config");
    return 2;
  }
  if (s.config && (s.budget > 0 || s.seed >= 0 || s.tune.families || s.tune.strategy || s.tune.retry || s.cache_path)) {
    gt_complain("tune: --config tries one configuration and stores nothing: it goes without --budget, --families, "
                "--strategy, --seed, --retry and --cache");
    return 2;
  }
  if (s.tune.timing.warm && (s.cache_path || s.tune.retry)) {
    gt_complain("tune: --warm neither keeps nor takes anything: it goes without --cache and --retry");
    return 2;
  }
  if (s.skip_unknown && !s.suite) {
    gt_complain("tune: --skip-unknown goes with --suite");
    return 2;
  }
  if (s.recheck && s.grid_file) {
    gt_complain("tune: --recheck times with the grids of a problem's class: it goes without --grid-file");
    return 2;
  }
  if (s.budget > 1000000000) s.budget = 1000000000;
  if (s.budget > 0) s.tune.budget = (int)s.budget;
  if (s.seed >= 0) s.tune.seed = (uint64_t)s.seed;
  if (s.tune.strategy && gt_search_check(s.tune.strategy, &error) != GT_OK) return gt_complain_error(&error);
  result = collect(&s, arguments, count) == GT_OK ? run(&s) : 2;
  gt_suite_free(&s.problems);
  return result;
}
