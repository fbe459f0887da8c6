// The trials of an agenda, one after the other on the device, while the next ones are rendered and compiled.
//
// Trials are made in the agenda's order, however long compiling takes, so that a run's sequence and what it
// finds do not depend on it. A configuration that was tried before is taken from the cache, and one whose
// kernels are in quarantine (cache/cache.h) is not tried. One that renders to the kernels of an earlier one
// of this agenda, as sources or as code objects, becomes its duplicate.
#ifndef GT_TUNER_PIPELINE_H
#define GT_TUNER_PIPELINE_H

#include "cache/cache.h"
#include "exchange/pending.h"
#include "tuner/agenda.h"
#include "tuner/workshop.h"

typedef struct gt_pipeline gt_pipeline;

typedef struct {
  gt_generator *generator;
  gt_workshop *workshop;
  gt_cache *cache; // is only read
  const gt_problem *problem;
  gt_agenda *agenda;
  const gt_timing_options *timing;
  // How many items are rendered, and given to the compilers, ahead of the one on the device. Never a matter
  // of how many compilers there are, nor of how fast: items that are chosen by results must be asked for at
  // the same points of every run. The device does not wait while compiling takes no longer than so many
  // trials.
  size_t ahead;
  bool retry;          // takes nothing from the cache
  gt_pending *pending; // NULL: none
  gt_trial *trials; // one zeroed per item; filled here, freed by the caller
} gt_pipeline_options;

// All pointers are borrowed and outlive the pipeline.
gt_pipeline *gt_pipeline_open(const gt_pipeline_options *options);
void gt_pipeline_close(gt_pipeline *pipeline); // harmless on NULL

typedef enum { GT_TRIAL_FRESH, GT_TRIAL_CACHED, GT_TRIAL_DUPLICATED } gt_trial_origin;

// Makes or finds the next trial. When it returns the device may be at work on the one after it already: what
// the caller does with the trial costs the device nothing. Before that, a trial that is not in the cache is kept
// in `pending`; what cannot be kept there, the caller stores before the device gets the next one.
gt_status gt_pipeline_next(gt_pipeline *pipeline, gt_trial_origin *origin, gt_error *error);

// Gives the problem to the workshop, unless that is done. Trials do it when the first one needs the device: a
// run that finds everything in the cache never does.
gt_status gt_pipeline_prepare(gt_pipeline *pipeline, gt_error *error);

typedef struct {
  bool prepared; // the workshop was given the problem
  double start;  // gt_seconds when the first trial of this run began, 0: there was none
  double waited; // seconds in which the device waited for a compiler
} gt_pipeline_times;
gt_pipeline_times gt_pipeline_time(const gt_pipeline *pipeline);

#endif
