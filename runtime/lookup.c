#include "runtime/lookup.h"

#include <stdlib.h>
#include <string.h>

#include "generator/default.h"
#include "runtime/alike.h"
#include "tuner/repeat.h"

enum { MOST_RENDERED = 64 }; // configurations of problems alike that are tried before they are given up

// What is asked of a model: the problem itself, then the same kernels with another outer count; both of the problem's
// own kind of positions, then of the others (positions_at); last, problems alike.
enum { EXACT, OUTER, PER_POSITIONS, ALIKE = PER_POSITIONS * GT_GRID_CLASSES, STAGES_OF_A_MODEL };

// A GPU model that is looked up: the device's own first.
typedef struct {
  gt_fingerprint fingerprint;
  gt_neighbourhood *neighbourhood; // NULL until it is needed
} model;

struct gt_finder {
  const gt_layers *layers;
  gt_fingerprint device;
  char *templates;
  gt_generator *generator;
  model *models; // NULL until they are needed
  size_t n_models;
};

static const char *const origin_names[] = {"exact", "near", "default", "empty"};

const char *gt_origin_name(gt_origin origin) {
  return origin_names[origin];
}

gt_finder *gt_finder_open(const gt_layers *layers, const gt_fingerprint *device, const char *templates) {
  gt_finder *finder = gt_alloc(sizeof *finder);
  *finder =
      (gt_finder){.layers = layers, .device = *device, .templates = templates ? gt_strdup(templates) : NULL};
  return finder;
}

void gt_finder_forget(gt_finder *finder) {
  for (size_t i = 0; i < finder->n_models; i++) gt_neighbourhood_free(finder->models[i].neighbourhood);
  free(finder->models);
  finder->models = NULL;
  finder->n_models = 0;
}

void gt_finder_close(gt_finder *finder) {
  if (!finder) return;
  gt_finder_forget(finder);
  gt_generator_close(finder->generator);
  free(finder->templates);
  free(finder);
}

gt_status gt_finder_generator(gt_finder *finder, gt_generator **generator, gt_error *error) {
  gt_status status = GT_OK;
  if (!finder->generator) status = gt_generator_open(finder->templates, &finder->generator, error);
  *generator = finder->generator;
  return status;
}

// --- GPU models
// -------------------------------------------------------------------------------------------

static void add_model(gt_finder *finder, const char *name) {
  for (size_t i = 0; i < finder->n_models; i++)
    if (strcmp(finder->models[i].fingerprint.name, name) == 0) return;
  finder->models = gt_realloc(finder->models, (finder->n_models + 1) * sizeof *finder->models);
  model *new = &finder->models[finder->n_models++];
  *new = (model){.fingerprint = finder->device};
  size_t length = strlen(name);
  if (length >= sizeof new->fingerprint.name) length = sizeof new->fingerprint.name - 1;
  memcpy(new->fingerprint.name, name, length);
  new->fingerprint.name[length] = 0;
}

static void on_sibling(void *context, const char *name) {
  add_model(context, name);
}

// The device's own model; the others are looked for when it had no answer.
static void find_models(gt_finder *finder, bool siblings) {
  if (finder->n_models == 0) add_model(finder, finder->device.name);
  if (!siblings) return;
  for (size_t i = finder->layers->count; i-- > 0;)
    if (finder->layers->list[i].cache)
      (void)gt_cache_each_sibling(finder->layers->list[i].cache, &finder->device, on_sibling, finder, NULL);
}

// --- what was found
// ---------------------------------------------------------------------------------------

void gt_found_free(gt_found *found) {
  gt_winner_free(&found->winner);
  gt_variant_free(&found->variant);
  *found = (gt_found){0};
}

const gt_variant *gt_found_variant(const gt_found *found) {
  return found->rendered ? &found->variant : &found->winner.variant;
}

gt_status gt_found_render(gt_finder *finder, const gt_problem *problem, gt_found *found, gt_error *error) {
  gt_generator *generator;
  if (found->rendered) return GT_OK;
  gt_status status = gt_finder_generator(finder, &generator, error);
  if (status == GT_OK)
    status = gt_render(generator, found->winner.variant.configuration, problem, &finder->device,
                       &found->variant, error);
  found->rendered = status == GT_OK;
  return status;
}

// A launch sequence's time grows with the outer count, once the device is full.
static double scaled(const gt_winner *winner, const gt_problem *problem) {
  gt_problem tuned;
  if (gt_problem_parse(winner->problem, &tuned, NULL) != GT_OK || gt_problem_outer(&tuned) <= 0) return 0;
  return winner->median_us * (double)gt_problem_outer(problem) / (double)gt_problem_outer(&tuned);
}

// --- stages
// -----------------------------------------------------------------------------------------------

// The kinds of positions in the order in which they are asked for the problem: its own, then any, whose winner is good
// for all of them (tuner/classes.h), then the others, the least special first. False for those of operators without.
static bool positions_at(const gt_problem *problem, int rank, gt_grid_class *positions) {
  static const gt_grid_class order[] = {GT_GRID_CLASS_ANY, GT_GRID_CLASS_RANDOM, GT_GRID_CLASS_SMOOTH,
                                        GT_GRID_CLASS_IDENTITY, GT_GRID_CLASS_CONTENDED};
  _Static_assert(sizeof order / sizeof *order == GT_GRID_CLASSES, "all of them");
  *positions = problem->sampling.positions;
  if (rank == 0) return true;
  for (int i = 0, next = 1; i < GT_GRID_CLASSES; i++)
    if (order[i] != problem->sampling.positions && next++ == rank) *positions = order[i];
  return problem->op->form == GT_FORM_GRID;
}

// Of a cache that has none beside the winner, as older ones: by its trials.
static gt_status take_tried(gt_finder *finder, const gt_layer *layer, const gt_fingerprint *of,
                            const gt_problem *problem, gt_found *found, gt_error *error) {
  gt_generator *generator;
  gt_problem tuned;
  char *configuration = NULL;
  double us, spread_us;
  if (finder->device.max_threads_per_block <= 0)
    return gt_fail(error, GT_NOT_FOUND, "kernels for %s are rendered only where it is", finder->device.name);
  gt_status status = gt_finder_generator(finder, &generator, error);
  if (status == GT_OK) status = gt_problem_parse(found->winner.problem, &tuned, error);
  if (status == GT_OK)
    status = gt_repeat_best(generator, layer->cache, of, &tuned, &configuration, &us, &spread_us, error);
  if (status == GT_OK) status = gt_render(generator, configuration, problem, &finder->device, &found->variant, error);
  if (status == GT_OK) {
    found->rendered = true;
    found->winner.median_us = us;
  }
  free(configuration);
  return status;
}

// Takes, in the place of a winner whose results do not repeat, the best beside it whose results do.
static gt_status take_repeating(gt_finder *finder, const gt_layer *layer, const gt_fingerprint *of,
                                const gt_problem *problem, bool with_code, gt_found *found, gt_error *error) {
  gt_problem tuned;
  gt_winner best;
  gt_status status = gt_problem_parse(found->winner.problem, &tuned, error);
  if (status == GT_OK) status = gt_cache_get_deterministic(layer->cache, of, &tuned, with_code, &best, error);
  if (status == GT_NOT_FOUND) return take_tried(finder, layer, of, problem, found, error);
  if (status != GT_OK) return status;
  gt_winner_free(&found->winner);
  found->winner = best;
  return GT_OK;
}

// Of one layer: the problem's winner, or that of the same kernels.
static gt_status find_stored(gt_finder *finder, const gt_layer *layer, const gt_fingerprint *of, const gt_problem *problem,
                             bool exact, const gt_find_options *options, gt_found *found, gt_error *error) {
  bool with_code = options->with_code && layer->trusted;
  gt_status status = (exact ? gt_cache_get_winner : gt_cache_get_near_winner)(
      layer->cache, of, problem, with_code, &found->winner, error);
  if (status != GT_OK) return status;
  if (options->deterministic && !found->winner.variant.reproducible) {
    status = take_repeating(finder, layer, of, problem, with_code, found, error);
    if (status != GT_OK) {
      gt_found_free(found);
      return status;
    }
  }
  found->origin = exact ? GT_ORIGIN_EXACT : GT_ORIGIN_NEAR;
  found->layer = layer;
  found->expected_us = exact ? found->winner.median_us : scaled(&found->winner, problem);
  return GT_OK;
}

// Takes a configuration of a problem alike if it can be rendered for this one.
static gt_status take(gt_finder *finder, const model *of, const gt_problem *problem, const gt_alike *alike,
                      gt_found *found, gt_error *error) {
  gt_generator *generator;
  gt_problem theirs;
  const gt_layer *layer = &finder->layers->list[alike->layer];
  gt_status status = gt_finder_generator(finder, &generator, error);
  if (status == GT_OK)
    status = gt_render(generator, alike->configuration, problem, &finder->device, &found->variant, error);
  if (status == GT_OK) status = gt_problem_parse(alike->problem, &theirs, error);
  if (status == GT_OK)
    status = gt_cache_get_winner(layer->cache, &of->fingerprint, &theirs, false, &found->winner, error);
  if (status != GT_OK) {
    gt_found_free(found);
    return status;
  }
  found->origin = GT_ORIGIN_NEAR;
  found->layer = layer;
  found->rendered = true;
  found->guessed = true;
  found->expected_us = alike->us;
  found->distance = alike->distance;
  found->regret = alike->regret;
  return GT_OK;
}

static gt_status find_alike(gt_finder *finder, model *of, const gt_problem *problem,
                            const gt_find_options *options, bool apart, gt_found *found, gt_error *error) {
  if (finder->device.max_threads_per_block <= 0) // a model's name without its limits: nothing can be rendered
    return gt_fail(error, GT_NOT_FOUND, "kernels for %s are rendered only where it is", finder->device.name);
  if (!of->neighbourhood) of->neighbourhood = gt_neighbourhood_make(finder->layers, &of->fingerprint);
  gt_alikes alikes;
  gt_generator *generator;
  gt_status status = gt_finder_generator(finder, &generator, error);
  if (status != GT_OK) return status;
  status = gt_fail(error, GT_NOT_FOUND, "nothing alike was tuned");
  gt_alike_rate(of->neighbourhood, generator, problem, apart, &alikes);
  for (size_t i = 0, rendered = 0; i < alikes.count && rendered < MOST_RENDERED; i++) {
    bool repeats;
    if (options->deterministic && gt_repeats(generator, alikes.list[i].configuration, problem, &finder->device, &repeats,
                                             NULL) == GT_OK && !repeats)
      continue;
    rendered++;
    status = take(finder, of, problem, &alikes.list[i], found, error);
    // GT_USAGE: its constraints do not hold here. GT_UNSUPPORTED: its family does not do this problem.
    if (status != GT_USAGE && status != GT_UNSUPPORTED) break;
    status = gt_fail(error, GT_NOT_FOUND, "no configuration of problems alike is legal here");
  }
  gt_alikes_free(&alikes);
  return status;
}

gt_status gt_find_alike(gt_finder *finder, const gt_problem *problem, const gt_find_options *options,
                        bool apart, gt_found *found, gt_error *error) {
  *found = (gt_found){0};
  find_models(finder, false);
  return find_alike(finder, &finder->models[0], problem, options, apart, found, error);
}

static gt_status find_default(gt_finder *finder, const gt_problem *problem, const gt_find_options *options,
                              gt_found *found, gt_error *error) {
  gt_generator *generator;
  char *configuration = NULL;
  if (finder->device.max_threads_per_block <= 0)
    return gt_fail(error, GT_NOT_FOUND,
                   "not tuned for %s, whose default is known only where the device is: use --device",
                   finder->device.name);
  gt_status status = gt_finder_generator(finder, &generator, error);
  if (status == GT_OK)
    status = gt_default_configuration(generator, problem, &finder->device, &configuration, error);
  if (status == GT_OK)
    status = gt_render(generator, configuration, problem, &finder->device, &found->variant, error);
  if (status == GT_OK && options->deterministic && !found->variant.reproducible) {
    status = gt_fail(error, GT_UNSUPPORTED,
                     "no kernel is known that gives the same bits in every run: the default, %s, does not", configuration);
    gt_variant_free(&found->variant);
  }
  free(configuration);
  found->origin = GT_ORIGIN_DEFAULT;
  found->rendered = status == GT_OK;
  return status;
}

// What one stage has to say, from the layer that the search stands at.
static gt_status run_stage(gt_finder *finder, const gt_problem *problem, const gt_find_options *options,
                           gt_place *place, gt_found *found, gt_error *error) {
  model *of = &finder->models[place->model];
  if (place->stage == ALIKE) return find_alike(finder, of, problem, options, false, found, error);
  const gt_layer *layer = &finder->layers->list[finder->layers->count - 1 - place->layer];
  gt_problem like = *problem;
  if (!layer->cache) return gt_fail(error, GT_NOT_FOUND, "%s: there is no cache", layer->path);
  if (!positions_at(problem, place->stage / PER_POSITIONS, &like.sampling.positions))
    return gt_fail(error, GT_NOT_FOUND, "%s has no positions", problem->op->name);
  gt_status status =
      find_stored(finder, layer, &of->fingerprint, &like, place->stage % PER_POSITIONS == EXACT, options, found, error);
  if (status == GT_OK && place->stage != EXACT) found->origin = GT_ORIGIN_NEAR;
  return status;
}

// The next layer, stage or model.
static void advance(const gt_finder *finder, gt_place *place) {
  if (place->stage != ALIKE && ++place->layer < finder->layers->count) return;
  place->layer = 0;
  if (++place->stage < STAGES_OF_A_MODEL) return;
  place->stage = 0;
  place->model++;
}

gt_status gt_find_next(gt_finder *finder, const gt_problem *problem, const gt_find_options *options,
                       gt_place *place, gt_found *found, gt_error *error) {
  *found = (gt_found){0};
  if (gt_problem_in_elements(problem) == 0 && place->stage == 0) {
    place->stage = STAGES_OF_A_MODEL + 1;
    found->origin = GT_ORIGIN_EMPTY;
    return GT_OK;
  }
  find_models(finder, place->model > 0);
  while (finder->layers->count && place->stage < STAGES_OF_A_MODEL) {
    if (place->model == 1 && place->stage == 0 && place->layer == 0) find_models(finder, true);
    if (place->model >= finder->n_models) break;
    gt_error failure = {0};
    gt_status status = run_stage(finder, problem, options, place, found, &failure);
    advance(finder, place);
    if (status == GT_OK) return GT_OK;
    if (status != GT_NOT_FOUND && place->passed.status == GT_OK) place->passed = failure;
  }
  if (place->stage > STAGES_OF_A_MODEL) return gt_fail(error, GT_NOT_FOUND, "nothing else is known");
  place->stage = STAGES_OF_A_MODEL + 1;
  return find_default(finder, problem, options, found, error);
}
