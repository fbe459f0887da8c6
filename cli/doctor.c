// gathertune doctor: what is wrong or missing on this machine, and what to do about it.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/code_store.h"
#include "cache/gc.h"
#include "cli/command.h"
#include "cli/devices.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/stale.h"
#include "exchange/validate.h"
#include "runtime/layers.h"
#include "tuner/wire.h"

typedef enum { LEVEL_OK, LEVEL_NOTE, LEVEL_WARNING, LEVEL_FAILURE } level;
static const char *const level_names[] = {"ok", "note", "warning", "failure"};

typedef struct {
  bool json;
  json_t *list;
  level worst;
  json_t *devices; // fingerprints that back ends reported
} report;

// One finding: what was looked at, what was found, and (may be NULL) what to do. Takes both texts.
static void find(report *r, level how, const char *what, char *found, char *advice) {
  if (how > r->worst) r->worst = how;
  if (r->json) {
    json_array_append_new(r->list,
                          json_pack("{s:s, s:s, s:s, s:o}", "level", level_names[how], "what", what, "found",
                                    found, "advice", advice ? json_string(advice) : json_null()));
  } else {
    printf("%-8s %-12s %s\n", level_names[how], what, found);
    if (advice) printf("%-8s %-12s → %s\n", "", "", advice);
    fflush(stdout);
  }
  free(found);
  free(advice);
}

// --- devices -----------------------------------------------------------------------------------------------

// A device file that is there and may not be opened is why a runtime sees no device.
static void check_access(report *r, const char *backend, const char *path, const char *advice) {
  if (access(path, F_OK) != 0) return;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file >= 0) {
    close(file);
    return;
  }
  find(r, LEVEL_FAILURE, backend, gt_print("%s is there and cannot be opened: %s", path, strerror(errno)),
       gt_strdup(advice));
}

static size_t check_backend(report *r, const char *name) {
  json_t *backend = gt_devices_ask(name), *device;
  const char *reason = json_string_value(json_object_get(backend, "reason"));
  size_t i, working = 0;
  if (reason) find(r, LEVEL_NOTE, name, gt_print("no device: %s", reason), NULL);
  json_array_foreach(json_object_get(backend, "devices"), i, device) {
    const char *device_name = json_string_value(json_object_get(device, "name"));
    const char *wrong = json_string_value(json_object_get(device, "error"));
    gt_fingerprint print = {0};
    if (!wrong && gt_wire_read_fingerprint(json_object_get(device, "fingerprint"), &print)) {
      working++;
      json_array_append(r->devices, json_object_get(device, "fingerprint"));
      find(r, LEVEL_OK, name,
           gt_print("%s: %s, %s, driver %s, compiler %s", device_name, print.name, print.arch, print.driver,
                    print.compiler),
           NULL);
    } else
      find(r, LEVEL_FAILURE, name, gt_print("%s does not open: %s", device_name, wrong ? wrong : "no answer"),
           NULL);
  }
  json_decref(backend);
  return working;
}

static void check_devices(report *r) {
  size_t working = 0;
  working += check_backend(r, "hip");
  check_access(r, "hip", "/dev/kfd", "add the user to the groups render and video, and log in again");
  working += check_backend(r, "cuda");
  check_access(r, "cuda", "/dev/nvidiactl", "ask for access to /dev/nvidia*");
  working += check_backend(r, "opencl");
  if (!working)
    find(
        r, LEVEL_WARNING, "devices", gt_strdup("there is nothing to tune on"),
        gt_strdup("install a driver; for the CPU, pocl-opencl-icd. lookup and generate work with --model and "
                  "--arch"));
}

// --- the cache ---------------------------------------------------------------------------------------------

// Whether the compiler or the driver that a winner was tuned with is another one on a device of its model
// here.
static bool is_of_other_software(const report *r, const gt_fingerprint *tuned_on) {
  size_t i;
  json_t *json;
  bool found = false, same = false;
  json_array_foreach(r->devices, i, json) {
    gt_fingerprint here = {0};
    if (!gt_wire_read_fingerprint(json, &here)) continue;
    if (strcmp(here.backend, tuned_on->backend) != 0 || strcmp(here.name, tuned_on->name) != 0 ||
        strcmp(here.arch, tuned_on->arch) != 0 || here.compute_units != tuned_on->compute_units)
      continue;
    found = true;
    same =
        same || (strcmp(here.compiler, tuned_on->compiler) == 0 &&
                 strcmp(here.driver, tuned_on->driver) == 0 && strcmp(here.runtime, tuned_on->runtime) == 0);
  }
  return found && !same;
}

static gt_status check_entries(report *r, gt_cache *cache, gt_generator *generator, gt_error *error) {
  size_t stale = 0, refused = 0, other = 0, no_code = 0, failed = 0;
  gt_collection all = {0};
  gt_kept_checks checks = {0};
  const gt_selection winners = {.no_trials = true};
  gt_status status = gt_collection_read(&all, cache, &winners, 1, error);
  if (status == GT_OK) status = gt_kept_checks_read(&checks, cache, error);
  for (size_t i = 0; i < all.n_winners && status == GT_OK; i++) {
    const gt_winner *w = &all.winners[i].winner;
    const gt_fingerprint *device = &all.devices[all.winners[i].device];
    gt_problem problem;
    gt_fit fit = GT_FIT_SAME;
    gt_variant now = {0};
    gt_error why = {0};
    status = gt_problem_parse(w->problem, &problem, error);
    if (status == GT_OK)
      status = gt_fit_of(generator, device, &problem, w->variant.configuration, w->variant.source_hash, &fit,
                         &now, &why);
    if (status != GT_OK && error && why.text[0]) *error = why;
    const gt_kept_check *check =
        gt_kept_checks_find(&checks, w->device, w->variant.configuration, now.source_hash, NULL);
    // A check of the very source and compiler that it was tuned with is of a time in between.
    bool is_of_now = check && (fit == GT_FIT_STALE || strcmp(check->compiler, w->compiler) != 0);
    failed += is_of_now && check->check.outcome != GT_OUTCOME_OK;
    gt_variant_free(&now);
    stale += fit == GT_FIT_STALE;
    refused += fit == GT_FIT_REFUSED;
    other += is_of_other_software(r, device);
    no_code += w->code == NULL;
  }
  if (status == GT_OK && stale + refused)
    find(r, LEVEL_WARNING, "stale",
         gt_print(
             "%zu of %zu winners were tuned with other templates; %zu of them are not in the search space "
             "any more. They are served, after a check where a program may compile",
             stale + refused, all.n_winners, refused),
         gt_strdup(
             "tune their problems again: gathertune list --stale shows them, gathertune explain PROBLEM tells of "
             "each"));
  if (status == GT_OK && failed)
    find(r, LEVEL_WARNING, "checks",
         gt_print("%zu of %zu winners are stale and failed their check: programs that may compile get the next best",
                  failed, all.n_winners),
         gt_strdup("tune their problems again: gathertune list --stale tells what happened"));
  if (status == GT_OK && other)
    find(r, LEVEL_WARNING, "software",
         gt_print(
             "%zu of %zu winners were tuned with another driver, runtime or compiler than this machine has",
             other, all.n_winners),
         gt_strdup("tune their problems again"));
  if (status == GT_OK && no_code)
    find(r, LEVEL_NOTE, "code", gt_print("%zu of %zu winners have no code object", no_code, all.n_winners),
         gt_strdup("tune their problems again, or import them with code objects"));
  if (status == GT_OK && all.n_winners && !stale && !refused && !other)
    find(r, LEVEL_OK, "winners", gt_print("%zu, none of them stale", all.n_winners), NULL);
  gt_collection_free(&all);
  gt_kept_checks_free(&checks);
  return status;
}

static void check_code_store(report *r, const char *cache_path) {
  char *path = gt_code_store_path(cache_path);
  struct stat info;
  gt_code_store *store = NULL;
  gt_error error = {0};
  if (stat(path, &info) == 0 && access(path, W_OK) == 0) { // opening it for writing is how it is used
    if (gt_code_store_open(path, GT_CODE_STORE_BYTES, &store, &error) == GT_OK)
      find(r, LEVEL_OK, "code store", gt_print("%s: %s", path, gt_bytes((uint64_t)info.st_size).text), NULL);
    else
      find(r, LEVEL_WARNING, "code store", gt_strdup(error.text),
           gt_strdup("remove that file: it only saves compilations"));
  }
  gt_code_store_close(store);
  free(path);
}

static void check_places(report *r, const char *path) {
  char *folder = gt_strdup(path), *slash = strrchr(folder, '/');
  if (slash == folder)
    slash[1] = 0;
  else if (slash)
    *slash = 0;
  const char *place = slash ? folder : ".";
  bool file = access(path, F_OK) == 0;
  if (file && access(path, W_OK) != 0)
    find(r, LEVEL_NOTE, "cache",
         gt_print("%s may be read and not written: tune cannot keep what it finds", path),
         gt_strdup("name another file with --cache or GATHERTUNE_CACHE for tuning"));
  else if (access(place, F_OK) == 0 && access(place, W_OK) != 0)
    find(r, file ? LEVEL_WARNING : LEVEL_FAILURE, "cache",
         gt_print("files cannot be made in %s, which writing the cache needs", place),
         gt_strdup("change the folder's permissions, or name another file with --cache or GATHERTUNE_CACHE"));
  free(folder);
}

// What to do about a cache that cannot be used.
static const char *advice_for(gt_status status, const char *path, const char *text) {
  if (!path) return "set one of them, or name a file with --cache";
  if (status == GT_NEWER_SCHEMA) return "use a newer program, or another file through GATHERTUNE_CACHE";
  if (status == GT_USAGE) return "name a file with --cache or GATHERTUNE_CACHE";
  if (status == GT_IO) return "change that, or name another file with --cache or GATHERTUNE_CACHE";
  if (strstr(text, "write-ahead logging")) return "run that command: nothing is lost";
  return "move the file away: tuning makes a new one, and gathertune merge takes in others";
}

static void check_cache(report *r, const char *given, gt_generator *generator) {
  gt_cache *cache = NULL;
  char *path = NULL;
  gt_error error = {0};
  gt_cache_counts counts = {0};
  gt_status status = gt_open_cache(given, GT_CACHE_READ, &cache, &path, &error);
  if (path) check_places(r, path);
  if (status == GT_OK && !cache)
    find(r, LEVEL_NOTE, "cache", gt_print("nothing is tuned yet: there is no file %s", path),
         gt_strdup("gathertune tune --suite FILE, or import what another machine tuned"));
  if (status == GT_OK && cache) status = gt_cache_verify(cache, &error);
  if (status == GT_OK && cache) status = gt_cache_count(cache, &counts, &error);
  if (status == GT_OK && cache) {
    struct stat info = {0};
    stat(path, &info);
    find(r, LEVEL_OK, "cache",
         gt_print("%s: %s, %s, %s, %s", path, gt_bytes((uint64_t)info.st_size).text,
                  gt_counted((uint64_t)counts.winners, "winner").text, gt_counted((uint64_t)counts.trials, "trial").text,
                  gt_counted((uint64_t)counts.models, "model").text),
         NULL);
    if (generator) status = check_entries(r, cache, generator, &error);
    check_code_store(r, path);
  }
  if (status != GT_OK)
    find(r, LEVEL_FAILURE, "cache", gt_strdup(error.text), gt_strdup(advice_for(status, path, error.text)));
  free(path);
  gt_cache_close(cache);
}

// What programs pass over, one line each, of the caches of the system and the user's: what cannot be read,
// and what others may write to, so that no code is taken from it.
static void check_layers(report *r, const char *given) {
  const gt_layers_options options = {0};
  gt_layers layers;
  gt_cache *cache = NULL;
  char *path = NULL;
  gt_layers_open_system(&options, &layers);
  for (size_t i = 0; i < layers.count; i++) {
    gt_cache_counts counts = {0};
    if (layers.list[i].cache && gt_cache_count(layers.list[i].cache, &counts, NULL) == GT_OK)
      find(r, LEVEL_OK, "system cache",
           gt_print("%s: %s", layers.list[i].path, gt_counted((uint64_t)counts.winners, "winner").text),
           NULL);
  }
  // One that cannot be read was told of before.
  if (gt_open_cache(given, GT_CACHE_READ, &cache, &path, NULL) == GT_OK && cache)
    gt_layers_add(&layers, cache, &options);
  for (const char *line = layers.notes.data; line && *line;
       line += strcspn(line, "\n"), line += *line == '\n')
    find(r, LEVEL_WARNING, "caches", gt_print("%.*s", (int)strcspn(line, "\n"), line),
         gt_strdup(
             "programs pass it over: see GATHERTUNE_SYSTEM_CACHE and GATHERTUNE_TRUST in gathertune(1)"));
  gt_layers_close(&layers);
  free(path);
}

// --- the command -------------------------------------------------------------------------------------------

static gt_generator *check_templates(report *r) {
  const char *folder = getenv("GATHERTUNE_TEMPLATES");
  gt_generator *generator = NULL;
  gt_error error = {0};
  size_t count = 0;
  if (folder && !*folder) folder = NULL;
  if (gt_generator_open(folder, &generator, &error) != GT_OK) {
    find(r, LEVEL_FAILURE, "templates", gt_strdup(error.text),
         gt_strdup("unset GATHERTUNE_TEMPLATES to use those in the program"));
    return NULL;
  }
  gt_generator_families(generator, &count);
  find(r, folder ? LEVEL_NOTE : LEVEL_OK, "templates",
       gt_print("%zu families, %s%s", count, folder ? "of GATHERTUNE_TEMPLATES: " : "those in the program",
                folder ? folder : ""),
       NULL);
  return generator;
}

int gt_command_doctor(int argc, char **argv) {
  const char *cache_path = NULL;
  report r = {0};
  const gt_option options[] = {
      {"cache", 0, GT_OPTION_TEXT, &cache_path, "FILE", GT_HELP_CACHE},
      {"json", 0, GT_OPTION_FLAG, &r.json, NULL, GT_HELP_JSON},
      {0},
  };
  const gt_usage usage = {
      .command = "doctor",
      .arguments = "",
      .about =
          "Looks at templates, libraries, devices and permissions, and at the tuning cache: whether it is "
          "whole, may be written,\n"
          "and which winners are stale; and at the system's caches. Says what to do about each. Changes "
          "nothing.\n"
          "The exit code is 1 when something does not work; what is merely missing or stale leaves it at 0.",
      .options = options,
      .examples = "  gathertune doctor\n",
  };
  char **arguments;
  int count, result = gt_options_parse(&usage, argc, argv, &arguments, &count);
  if (result != GT_CONTINUE) return result;
  if (count) {
    gt_complain("doctor: takes no argument '%s'; see gathertune doctor --help", arguments[0]);
    return 2;
  }
  r.list = json_array();
  r.devices = json_array();
  gt_generator *generator = check_templates(&r);
  check_devices(&r);
  check_cache(&r, cache_path, generator);
  check_layers(&r, cache_path);
  gt_generator_close(generator);
  if (r.json)
    gt_print_json(json_pack("{s:s, s:o}", "worst", level_names[r.worst], "findings", r.list));
  else
    json_decref(r.list);
  json_decref(r.devices);
  return r.worst == LEVEL_FAILURE ? 1 : 0;
}
