// Finding what a program would get for a problem: what `gathertune lookup` shows and libgathertune launches.
//
// From the problem itself (exact), to the same kernels with another outer count (near), to the same kernels tuned
// on other sampling positions (near; those of no kind first), to the configuration of problems like it (near),
// each in the caches of this GPU model first and of models that run the same code then; last the default by
// rule. Rendering needs Lua, which is opened only for what no cache has as it is.
#ifndef GT_RUNTIME_LOOKUP_H
#define GT_RUNTIME_LOOKUP_H

#include "generator/generator.h"
#include "runtime/layers.h"

typedef struct gt_finder gt_finder;

// `layers` is borrowed. `templates`: a folder, or NULL for the embedded ones. Not safe to share between
// threads.
gt_finder *gt_finder_open(const gt_layers *layers, const gt_fingerprint *device, const char *templates);
void gt_finder_close(gt_finder *finder); // harmless on NULL
// Forgets what it knows of the caches, which have changed.
void gt_finder_forget(gt_finder *finder);

// The finder's generator, opened at the first call.
gt_status gt_finder_generator(gt_finder *finder, gt_generator **generator, gt_error *error);

typedef enum { GT_ORIGIN_EXACT, GT_ORIGIN_NEAR, GT_ORIGIN_DEFAULT, GT_ORIGIN_EMPTY } gt_origin;
const char *gt_origin_name(gt_origin origin); // "exact"

typedef struct {
  gt_origin origin;
  gt_winner winner;      // exact, near: of the problem that the configuration is from; with the time of what is to be launched
  const gt_layer *layer; // exact, near: where that was found
  bool rendered; // `variant` is what to launch, and its source is there; else the winner's, and its code
  gt_variant variant;
  bool guessed;       // near: rated by problems of other shapes
  double expected_us; // 0: not known
  double distance;    // near, of another shape: how unlike the problems are (generator/distance.h)
  double regret;      // near, of another shape: predicted, ln(time / best)
} gt_found;
void gt_found_free(gt_found *found); // harmless on a zeroed one

const gt_variant *gt_found_variant(const gt_found *found);

// Renders the winner's configuration for the problem, as if its kernels were not stored.
gt_status gt_found_render(gt_finder *finder, const gt_problem *problem, gt_found *found, gt_error *error);

typedef struct {
  bool deterministic; // only kernels that give the same bits in every run: in a winner's place the best
                      // beside it that do
  bool with_code;     // read winners' code objects, from layers that are trusted
} gt_find_options;

// Where a search stands; zeroed before its first step.
typedef struct {
  int stage;
  size_t model, layer;
  gt_error passed; // the first failure that was passed over, such as a damaged row
} gt_place;

// The next best answer. GT_NOT_FOUND: there is no further one. Failures of caches are passed over; any other
// status is of the default, such as GT_UNSUPPORTED when no family does the problem.
gt_status gt_find_next(gt_finder *finder, const gt_problem *problem, const gt_find_options *options,
                       gt_place *place, gt_found *found, gt_error *error);

// The answer from problems of other shapes alone, of the device's own model. `apart`: as if no problem with
// the same kernels had been tuned. GT_NOT_FOUND when nothing alike was tuned.
gt_status gt_find_alike(gt_finder *finder, const gt_problem *problem, const gt_find_options *options,
                        bool apart, gt_found *found, gt_error *error);

#endif
