// What problems of other shapes say about the configurations of a problem: which to take without tuning it.
#ifndef GT_RUNTIME_ALIKE_H
#define GT_RUNTIME_ALIKE_H

#include "generator/generator.h"
#include "runtime/layers.h"

// The problems that were tuned on one GPU model, in all layers.
typedef struct gt_neighbourhood gt_neighbourhood;
gt_neighbourhood *gt_neighbourhood_make(const gt_layers *layers, const gt_fingerprint *model);
void gt_neighbourhood_free(gt_neighbourhood *neighbourhood); // harmless on NULL

// A configuration that was tried on problems alike, and what they say about it.
typedef struct {
  char *configuration;
  double regret;   // predicted, ln(time / best)
  double us;       // predicted: its time on the nearest of them by the bytes that both move
  size_t layer;    // of that nearest problem
  char *problem;   // its text
  double distance; // to it
} gt_alike;

typedef struct {
  gt_alike *list; // the least regret first
  size_t count;
} gt_alikes;
void gt_alikes_free(gt_alikes *alikes); // harmless on zeroed ones

// Rates what the problems nearest to this one were tried with: a configuration's regret is the mean of its
// regrets there, nearer ones counting more, drawn towards that of an arbitrary one where few tried it.
// `apart`: without problems that have the same kernels. The generator knows the families that can win; whether a
// configuration is legal here, or worth being chosen at all, is not looked at.
void gt_alike_rate(const gt_neighbourhood *neighbourhood, gt_generator *generator, const gt_problem *problem,
                   bool apart, gt_alikes *alikes);

#endif
