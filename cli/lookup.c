// gathertune lookup: the kernel that a program would get for a problem, and where it comes from.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/leave_out.h"
#include "cli/model.h"
#include "cli/options.h"
#include "generator/default.h"
#include "runtime/lookup.h"
#include "tuner/stale.h"
#include "tuner/workshop.h"

typedef struct {
  const char *cache_path, *device, *model, *emit;
  bool deterministic, json, leave_one_out;
  gt_problem problem;
  char text[GT_PROBLEM_TEXT];
} request;

// --- finding it
// ------------------------------------------------------------------------------------------------

// The models of the most important cache that knows the name; else architectures.
static gt_status find_model(const request *r, const gt_layers *layers, gt_fingerprint *device,
                            gt_error *error) {
  for (size_t i = layers->count; i-- > 0;) {
    gt_error none;
    gt_fingerprint known;
    if (!layers->list[i].cache || gt_model_find(layers->list[i].cache, r->model, &known, &none) != GT_OK)
      continue;
    bool is_architecture = gt_fingerprint_for_arch(r->model, device) && strcmp(device->name, known.name) == 0;
    if (is_architecture) continue;
    *device = known;
    return GT_OK;
  }
  return gt_model_find(layers->count ? layers->list[layers->count - 1].cache : NULL, r->model, device, error);
}

static gt_status find(const request *r, gt_finder *finder, gt_found *found, gt_error *error) {
  gt_place place = {0};
  gt_status status = gt_find_next(finder, &r->problem, &(gt_find_options){r->deterministic, r->emit != NULL},
                                  &place, found, error);
  if (place.passed.status != GT_OK) gt_complain("passed over: %s", place.passed.text);
  return status;
}

// Writes the code object: the cached one, or one that is compiled now.
static gt_status emit(const char *path, gt_workshop *workshop, const gt_fingerprint *device, gt_found *p,
                      gt_error *error) {
  if (p->origin == GT_ORIGIN_EMPTY)
    return gt_fail(error, GT_UNSUPPORTED, "an empty problem has no code object to write");
  if (!p->rendered && p->winner.code) return gt_write_file(path, p->winner.code, p->winner.code_size, error);
  if (!p->rendered)
    return gt_fail(error, GT_UNSUPPORTED,
                   "%s: no code object is stored, or none that may be taken from there", p->layer->path);
  gt_buffer code = {0}, log = {0};
  gt_workshop *own = NULL; // where only the model is known
  gt_status status = GT_OK;
  if (!workshop) status = gt_workshop_open(NULL, NULL, &own, error);
  if (status == GT_OK)
    status = gt_workshop_compile(workshop ? workshop : own, device->backend, device->arch, p->variant.source,
                                 &code, &log, error);
  if (status == GT_OK) status = gt_write_file(path, code.data, code.length, error);
  if (status == GT_OK) {
    p->winner.code_size = code.length;
    gt_hash(code.data, code.length, p->winner.code_hash);
  }
  gt_workshop_close(own);
  gt_buffer_free(&code);
  gt_buffer_free(&log);
  return status;
}

// How what was found is stale, as far as can be told; "" when it is not.
static const char *find_stale(const request *r, gt_finder *finder, const gt_fingerprint *device,
                              const gt_found *found) {
  bool stored = (found->origin == GT_ORIGIN_EXACT || found->origin == GT_ORIGIN_NEAR) && !found->rendered;
  gt_generator *generator;
  gt_staleness staleness = {0};
  // Of a model's name alone, limits are not known.
  if (!stored || device->max_threads_per_block <= 0 ||
      gt_finder_generator(finder, &generator, NULL) != GT_OK ||
      gt_staleness_of(generator, device, &r->problem, &found->winner, &staleness, NULL) != GT_OK)
    return "";
  const char *text = gt_staleness_text(&staleness);
  gt_staleness_free(&staleness);
  return text;
}

// --- output
// ------------------------------------------------------------------------------------------------------

static gt_status launches_json(const gt_variant *variant, int64_t outer, json_t **result, gt_error *error) {
  json_t *list = json_array();
  for (int i = 0; i < variant->n_launches; i++) {
    const gt_launch_rule *rule = &variant->launches[i];
    uint32_t grid[3];
    gt_status status = gt_launch_grid(rule, outer, grid, error);
    if (status != GT_OK) {
      json_decref(list);
      return status;
    }
    json_array_append_new(list, json_pack("{s:s, s:[I,I,I], s:[I,I,I]}", "kernel", rule->kernel, "grid",
                                          (json_int_t)grid[0], (json_int_t)grid[1], (json_int_t)grid[2],
                                          "block", (json_int_t)rule->block[0], (json_int_t)rule->block[1],
                                          (json_int_t)rule->block[2]));
  }
  *result = list;
  return GT_OK;
}

static gt_status print_json(const request *r, const gt_fingerprint *device, const gt_found *p,
                            const char *stale, gt_error *error) {
  char model[320];
  gt_model_print(device, model);
  json_t *json =
      json_pack("{s:s, s:s, s:s}", "problem", r->text, "model", model, "plan", gt_origin_name(p->origin));
  if (p->origin == GT_ORIGIN_EMPTY) {
    gt_print_json(json);
    return GT_OK;
  }
  const gt_variant *variant = gt_found_variant(p);
  int64_t outer = gt_problem_outer(&r->problem);
  json_t *launches;
  gt_status status = launches_json(variant, outer, &launches, error);
  if (status != GT_OK) {
    json_decref(json);
    return status;
  }
  json_object_set_new(json, "configuration", json_string(variant->configuration));
  json_object_set_new(json, "stale", *stale ? json_string(stale) : json_null());
  json_object_set_new(json, "expected_us", gt_json_number(p->expected_us));
  json_object_set_new(json, "launches", launches);
  json_object_set_new(json, "workspace_bytes", json_integer(gt_variant_workspace(variant, outer)));
  json_object_set_new(json, "reproducible", json_boolean(variant->reproducible));
  if (p->regret > 0) {
    json_object_set_new(json, "distance", json_real(p->distance));
    json_object_set_new(json, "predicted_regret", json_real(expm1(p->regret)));
  }
  if (p->winner.code_size && !(p->rendered && p->origin == GT_ORIGIN_NEAR)) {
    json_object_set_new(json, "code_bytes", json_integer((json_int_t)p->winner.code_size));
    json_object_set_new(json, "code_hash", json_string(p->winner.code_hash));
  }
  if (p->origin != GT_ORIGIN_DEFAULT) {
    const gt_winner *w = &p->winner;
    json_t *tuned =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:f, s:o, s:o}", "problem", w->problem, "device", w->device,
                  "compiler", w->compiler, "driver", w->driver, "at", w->tuned_at, "median_us",
                  gt_json_number(w->median_us), "spread_us", w->spread_us, "default_us",
                  gt_json_number(w->default_us), "stream_us", gt_json_number(w->stream_us));
    json_object_set_new(tuned, "cache", json_string(p->layer->path));
    json_object_set_new(json, "tuned", tuned);
  }
  gt_print_json(json);
  return GT_OK;
}

static void print_where_from(const request *r, const gt_fingerprint *device, const gt_found *p) {
  if (p->origin == GT_ORIGIN_EXACT) printf("plan           exact: tuned for this problem");
  if (p->origin == GT_ORIGIN_NEAR && !p->rendered)
    printf("plan           near: the same kernels, tuned for %s", p->winner.problem);
  if (p->origin == GT_ORIGIN_NEAR && p->rendered)
    printf("plan           near: a configuration of %s (distance %.2f, %.0f %% slower than the best by "
           "prediction)",
           p->winner.problem, p->distance, 100 * expm1(p->regret));
  if (p->origin == GT_ORIGIN_DEFAULT)
    printf("plan           default: nothing alike was tuned on this model; gathertune tune %s", r->text);
  char model[320];
  gt_model_print(device, model);
  bool borrowed = p->winner.device && strcmp(model, p->winner.device) != 0;
  printf(borrowed ? ", borrowed from another model: %s\n" : "\n", p->winner.device);
}

static gt_status print_text(const request *r, const gt_fingerprint *device, const gt_found *p,
                            const char *stale, gt_error *error) {
  char model[320];
  gt_model_print(device, model);
  printf("problem        %s\nmodel          %s\n", r->text, model);
  if (p->origin == GT_ORIGIN_EMPTY) {
    printf("plan           empty: nothing to launch\n");
    return GT_OK;
  }
  const gt_variant *variant = gt_found_variant(p);
  const gt_winner *w = &p->winner;
  int64_t outer = gt_problem_outer(&r->problem);
  print_where_from(r, device, p);
  printf("configuration  %s\n", variant->configuration);
  if (*stale) printf("stale          %s; gathertune explain tells whether it was checked since\n", stale);
  if (p->origin == GT_ORIGIN_EXACT)
    printf("expected       %s µs, spread %.2f µs", gt_microseconds(p->expected_us).text, w->spread_us);
  if (p->origin == GT_ORIGIN_NEAR) printf("expected       about %s µs", gt_microseconds(p->expected_us).text);
  if (p->origin == GT_ORIGIN_NEAR && p->rendered) printf("\n");
  if (p->origin != GT_ORIGIN_DEFAULT && !p->rendered)
    printf("; speed-up over %s %s, %s of stream\n", gt_plain_family(&r->problem), gt_ratio(w->default_us, w->median_us, "").text,
           gt_ratio(w->stream_us, w->median_us, "").text);
  for (int i = 0; i < variant->n_launches; i++) {
    const gt_launch_rule *rule = &variant->launches[i];
    uint32_t grid[3];
    gt_status status = gt_launch_grid(rule, outer, grid, error);
    if (status != GT_OK) return status;
    printf("launch         %s, grid %u x %u x %u blocks of %u x %u x %u threads\n", rule->kernel, grid[0],
           grid[1], grid[2], rule->block[0], rule->block[1], rule->block[2]);
  }
  printf("workspace      %lld bytes\n", (long long)gt_variant_workspace(variant, outer));
  if (w->code_size && !(p->rendered && p->origin == GT_ORIGIN_NEAR))
    printf("code object    %zu bytes, hash %s\n", w->code_size, w->code_hash);
  if (p->origin != GT_ORIGIN_DEFAULT)
    printf("tuned          %s on %s\ncompiler       %s\ndriver         %s\n", w->tuned_at, w->device,
           w->compiler, w->driver);
  return GT_OK;
}

// --- the command
// ---------------------------------------------------------------------------------------------------

static int run(const request *r) {
  gt_workshop *workshop = NULL;
  gt_cache *cache = NULL;
  gt_layers layers = {0};
  gt_finder *finder = NULL;
  char *cache_path = NULL;
  gt_fingerprint device = {0};
  gt_found found = {0};
  gt_error error = {0};
  const gt_layers_options options = {0};
  const char *templates = getenv("GATHERTUNE_TEMPLATES");
  gt_status status = gt_open_cache(r->cache_path, GT_CACHE_READ, &cache, &cache_path, &error);
  if (status != GT_OK) goto done;
  gt_layers_open_system(&options, &layers);
  if (cache) gt_layers_add(&layers, cache, &options);
  if (r->model)
    status = find_model(r, &layers, &device, &error);
  else if ((status = gt_workshop_open(r->device ? r->device : "auto", NULL, &workshop, &error)) == GT_OK)
    device = *gt_workshop_fingerprint(workshop);
  if (status != GT_OK) goto done;
  if (templates && *templates) gt_complain("templates from %s", templates);
  finder = gt_finder_open(&layers, &device, templates && *templates ? templates : NULL);
  if (r->leave_one_out) {
    status = gt_leave_one_out(finder, &layers, &device, r->json, &error);
    goto done;
  }
  status = find(r, finder, &found, &error);
  if (status == GT_OK && r->emit) status = emit(r->emit, workshop, &device, &found, &error);
  if (status == GT_OK) {
    const char *stale = find_stale(r, finder, &device, &found);
    status = (r->json ? print_json : print_text)(r, &device, &found, stale, &error);
  }
done:
  if (status != GT_OK) gt_complain_error(&error);
  gt_found_free(&found);
  gt_finder_close(finder);
  gt_layers_close(&layers);
  free(cache_path);
  gt_workshop_close(workshop);
  return gt_exit_code(status);
}

int gt_command_lookup(int argc, char **argv) {
  request r = {0};
  const gt_option options[] = {
      {"device", 0, GT_OPTION_TEXT, &r.device, "DEVICE", GT_HELP_DEVICE},
      {"model", 0, GT_OPTION_TEXT, &r.model, "TEXT",
       "instead of a device: part of a model's name in the cache, or an architecture"},
      {"leave-one-out", 0, GT_OPTION_FLAG, &r.leave_one_out, NULL,
       "instead of a problem: how good `near` would have been for each that was tuned"},
      {"deterministic", 0, GT_OPTION_FLAG, &r.deterministic, NULL,
       "only what gives the same bits in every run,\nas programs with GATHERTUNE_DETERMINISTIC get it"},
      {"emit", 0, GT_OPTION_TEXT, &r.emit, "FILE", "write the code object"},
      {"cache", 0, GT_OPTION_TEXT, &r.cache_path, "FILE", GT_HELP_CACHE},
      {"json", 0, GT_OPTION_FLAG, &r.json, NULL, GT_HELP_JSON},
      {0},
  };
  const gt_usage usage = {
      .command = "lookup",
      .arguments = "PROBLEM | --leave-one-out",
      .about =
          "Shows the kernel that a program would get: the one tuned for exactly this problem and GPU model\n"
          "(exact); for the same problem with another batch size or other sampling positions (grid), or the\n"
          "configuration that times of problems like it speak for (near); the same from a model of the same\n"
          "architecture and number of compute units; or the default by rule. Looks into the system's caches\n"
          "($GATHERTUNE_SYSTEM_CACHE, else /usr/share/gathertune/*.db) and the user's. Writes nothing.\n"
          "With --leave-one-out, looks each tuned problem up as if it, and what has the same kernels, had not\n"
          "been tuned, and prints how much slower than the fastest trial the configuration is that would have\n"
          "been taken.",
      .options = options,
      .takes_problem = true,
      .examples = "  gathertune lookup --model gfx942 \\\n"
                  "    upsample_bilinear2d_backward:n=8,c=64,in=128x128,out=256x256,dtype=f16,scale=2x2\n",
  };
  char **arguments;
  int count, result = gt_options_parse(&usage, argc, argv, &arguments, &count);
  if (result != GT_CONTINUE) return result;
  if (r.device && r.model) {
    gt_complain("lookup: --model and --device exclude each other");
    return 2;
  }
  if (r.leave_one_out && count == 0 && !r.emit && !r.deterministic) return run(&r);
  if (r.leave_one_out) {
    gt_complain("lookup: --leave-one-out takes no problem, no --deterministic and no --emit; see gathertune "
                "lookup --help");
    return 2;
  }
  if (count != 1) {
    gt_complain("lookup: takes one problem, not %d; see gathertune lookup --help", count);
    return 2;
  }
  gt_error error = {0};
  if (gt_problem_parse(arguments[0], &r.problem, &error) != GT_OK) return gt_complain_error(&error);
  gt_problem_print(&r.problem, r.text);
  return run(&r);
}
