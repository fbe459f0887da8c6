// gathertune lookup: the kernel that a program would get for a problem, and where it comes from.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model.h"
#include "cli/options.h"
#include "tuner/workshop.h"

typedef struct {
  const char *cache_path, *device, *model, *emit;
  bool json;
  gt_problem problem;
  char text[GT_PROBLEM_TEXT];
} request;

typedef enum { PLAN_EXACT, PLAN_NEAR, PLAN_DEFAULT, PLAN_EMPTY } plan_kind;
static const char *const kind_names[] = {"exact", "near", "default", "empty"};

typedef struct {
  plan_kind kind;
  gt_winner winner;   // exact and near
  gt_variant variant; // default, with its source
  double expected_us; // 0 unknown
} plan;

static const gt_variant *variant_of(const plan *p) {
  return p->kind == PLAN_DEFAULT ? &p->variant : &p->winner.variant;
}

// --- finding it
// ------------------------------------------------------------------------------------------------

static gt_status find_default(const gt_problem *problem, const gt_fingerprint *device, plan *p,
                              gt_error *error) {
  gt_generator *generator = NULL;
  char *configuration = NULL;
  p->kind = PLAN_DEFAULT;
  gt_status status = GT_OK;
  if (!gt_model_renders(device)) {
    status = gt_fail(error, GT_NOT_FOUND,
                     "not tuned for %s, whose default is known only where the device is: use --device",
                     device->name);
    goto done;
  }
  status = gt_open_generator(&generator, error);
  if (status == GT_OK) status = gt_family_claims(generator, "direct", problem, device, error);
  if (status == GT_OK)
    status = gt_family_default(generator, "direct", problem, device, &configuration, error);
  if (status == GT_OK) status = gt_render(generator, configuration, problem, device, &p->variant, error);
done:
  free(configuration);
  gt_generator_close(generator);
  return status;
}

// A launch sequence's time grows with the outer count, once the device is full.
static double scaled(const gt_winner *winner, const gt_problem *problem) {
  gt_problem tuned;
  if (gt_problem_parse(winner->problem, &tuned, NULL) != GT_OK || gt_problem_outer(&tuned) <= 0) return 0;
  return winner->median_us * (double)gt_problem_outer(problem) / (double)gt_problem_outer(&tuned);
}

static gt_status find(const request *r, gt_cache *cache, const gt_fingerprint *device, plan *p,
                      gt_error *error) {
  if (gt_problem_in_elements(&r->problem) == 0) {
    p->kind = PLAN_EMPTY;
    return GT_OK;
  }
  bool with_code = r->emit != NULL;
  gt_status status = GT_NOT_FOUND;
  if (cache) status = gt_cache_get_winner(cache, device, &r->problem, with_code, &p->winner, error);
  if (status == GT_OK) {
    p->kind = PLAN_EXACT;
    p->expected_us = p->winner.median_us;
    return GT_OK;
  }
  if (status == GT_NOT_FOUND && cache)
    status = gt_cache_get_near_winner(cache, device, &r->problem, with_code, &p->winner, error);
  if (status == GT_OK) {
    p->kind = PLAN_NEAR;
    p->expected_us = scaled(&p->winner, &r->problem);
    return GT_OK;
  }
  return status == GT_NOT_FOUND ? find_default(&r->problem, device, p, error) : status;
}

// Writes the code object: the cached one, or the default compiled now.
static gt_status emit(const char *path, gt_workshop *workshop, const gt_fingerprint *device, plan *p,
                      gt_error *error) {
  if (p->kind == PLAN_EMPTY)
    return gt_fail(error, GT_UNSUPPORTED, "an empty problem has no code object to write");
  if (p->kind != PLAN_DEFAULT) return gt_write_file(path, p->winner.code, p->winner.code_size, error);
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

static gt_status print_json(const request *r, const gt_fingerprint *device, const plan *p, gt_error *error) {
  char model[320];
  gt_model_print(device, model);
  json_t *json =
      json_pack("{s:s, s:s, s:s}", "problem", r->text, "model", model, "plan", kind_names[p->kind]);
  if (p->kind == PLAN_EMPTY) {
    gt_print_json(json);
    return GT_OK;
  }
  const gt_variant *variant = variant_of(p);
  int64_t outer = gt_problem_outer(&r->problem);
  json_t *launches;
  gt_status status = launches_json(variant, outer, &launches, error);
  if (status != GT_OK) {
    json_decref(json);
    return status;
  }
  json_object_set_new(json, "configuration", json_string(variant->configuration));
  json_object_set_new(json, "expected_us", gt_json_number(p->expected_us));
  json_object_set_new(json, "launches", launches);
  json_object_set_new(json, "workspace_bytes", json_integer(gt_variant_workspace(variant, outer)));
  json_object_set_new(json, "reproducible", json_boolean(variant->reproducible));
  if (p->winner.code_size) {
    json_object_set_new(json, "code_bytes", json_integer((json_int_t)p->winner.code_size));
    json_object_set_new(json, "code_hash", json_string(p->winner.code_hash));
  }
  if (p->kind != PLAN_DEFAULT) {
    const gt_winner *w = &p->winner;
    json_t *tuned =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:f, s:o, s:o}", "problem", w->problem, "device", w->device,
                  "compiler", w->compiler, "driver", w->driver, "at", w->tuned_at, "median_us",
                  gt_json_number(w->median_us), "spread_us", w->spread_us, "default_us",
                  gt_json_number(w->default_us), "stream_us", gt_json_number(w->stream_us));
    json_object_set_new(json, "tuned", tuned);
  }
  gt_print_json(json);
  return GT_OK;
}

static void print_where_from(const request *r, const plan *p) {
  if (p->kind == PLAN_EXACT) printf("plan           exact: tuned for this problem\n");
  if (p->kind == PLAN_NEAR)
    printf("plan           near: the same kernels, tuned for %s\n", p->winner.problem);
  if (p->kind == PLAN_DEFAULT)
    printf("plan           default: not tuned on this model; gathertune tune %s\n", r->text);
}

static gt_status print_text(const request *r, const gt_fingerprint *device, const plan *p, gt_error *error) {
  char model[320];
  gt_model_print(device, model);
  printf("problem        %s\nmodel          %s\n", r->text, model);
  if (p->kind == PLAN_EMPTY) {
    printf("plan           empty: nothing to launch\n");
    return GT_OK;
  }
  const gt_variant *variant = variant_of(p);
  const gt_winner *w = &p->winner;
  int64_t outer = gt_problem_outer(&r->problem);
  print_where_from(r, p);
  printf("configuration  %s\n", variant->configuration);
  if (p->kind == PLAN_EXACT)
    printf("expected       %s µs, spread %.2f µs", gt_microseconds(p->expected_us).text, w->spread_us);
  if (p->kind == PLAN_NEAR) printf("expected       about %s µs", gt_microseconds(p->expected_us).text);
  if (p->kind != PLAN_DEFAULT)
    printf("; speed-up over direct %s, %s of stream\n", gt_ratio(w->default_us, w->median_us, "").text,
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
  if (w->code_size) printf("code object    %zu bytes, hash %s\n", w->code_size, w->code_hash);
  if (p->kind != PLAN_DEFAULT)
    printf("tuned          %s on %s\ncompiler       %s\ndriver         %s\n", w->tuned_at, w->device,
           w->compiler, w->driver);
  return GT_OK;
}

// --- the command
// ---------------------------------------------------------------------------------------------------

static int run(const request *r) {
  gt_workshop *workshop = NULL;
  gt_cache *cache = NULL;
  char *cache_path = NULL;
  gt_fingerprint device = {0};
  plan p = {0};
  gt_error error = {0};
  gt_status status = gt_open_cache(r->cache_path, GT_CACHE_READ, &cache, &cache_path, &error);
  if (status != GT_OK) goto done;
  if (r->model)
    status = gt_model_find(cache, r->model, &device, &error);
  else if ((status = gt_workshop_open(r->device, NULL, &workshop, &error)) == GT_OK)
    device = *gt_workshop_fingerprint(workshop);
  if (status == GT_OK) status = find(r, cache, &device, &p, &error);
  if (status == GT_OK && r->emit) status = emit(r->emit, workshop, &device, &p, &error);
  if (status == GT_OK) status = (r->json ? print_json : print_text)(r, &device, &p, &error);
done:
  if (status != GT_OK) gt_complain_error(&error);
  gt_winner_free(&p.winner);
  gt_variant_free(&p.variant);
  free(cache_path);
  gt_cache_close(cache);
  gt_workshop_close(workshop);
  return gt_exit_code(status);
}

int gt_command_lookup(int argc, char **argv) {
  request r = {.device = "auto"};
  const gt_option options[] = {
      {"device", 0, GT_OPTION_TEXT, &r.device, "DEVICE", GT_HELP_DEVICE},
      {"model", 0, GT_OPTION_TEXT, &r.model, "TEXT",
       "instead of a device: part of a model's name in the cache, or an architecture"},
      {"emit", 0, GT_OPTION_TEXT, &r.emit, "FILE", "write the code object"},
      {"cache", 0, GT_OPTION_TEXT, &r.cache_path, "FILE", GT_HELP_CACHE},
      {"json", 0, GT_OPTION_FLAG, &r.json, NULL, GT_HELP_JSON},
      {0},
  };
  const gt_usage usage = {
      .command = "lookup",
      .arguments = "PROBLEM",
      .about = "Shows the kernel that a program would get: the one tuned for exactly this problem and GPU "
               "model (exact), for\n"
               "the same problem with another batch size (near), or the default, which needs no tuning. "
               "Writes nothing.",
      .options = options,
      .takes_problem = true,
      .examples = "  gathertune lookup --model gfx942 \\\n"
                  "    upsample_bilinear2d_backward:n=8,c=64,in=128x128,out=256x256,dtype=f16,scale=2x2\n",
  };
  char **arguments;
  int count, result = gt_options_parse(&usage, argc, argv, &arguments, &count);
  if (result != GT_CONTINUE) return result;
  if (count != 1) {
    gt_complain("lookup: takes one problem, not %d; see gathertune lookup --help", count);
    return 2;
  }
  gt_error error = {0};
  if (gt_problem_parse(arguments[0], &r.problem, &error) != GT_OK) return gt_complain_error(&error);
  gt_problem_print(&r.problem, r.text);
  return run(&r);
}
