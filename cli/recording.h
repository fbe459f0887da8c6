// Recorded search spaces from files: T4 JSON of any auto-tuner, and our own caches.
#ifndef GT_CLI_RECORDING_H
#define GT_CLI_RECORDING_H

#include "generator/generator.h"
#include "tuner/replay.h"

typedef struct {
  gt_recording *list;
  size_t count;
  size_t left_out; // problems of a cache of which too little was tried
} gt_recordings;

typedef struct {
  size_t least; // trials that a problem of a cache needs
  bool alone;   // leaves out what other problems of the cache tell about one
} gt_recording_options;

// Adds the spaces of a file: one of a T4 file, each problem (and GPU model) of a cache. A cache's bounds
// (stream) are left out, and so are its baselines. GT_USAGE or GT_CORRUPT with one line for a file that is
// neither.
gt_status gt_recordings_read(gt_recordings *recordings, const char *path, gt_generator *generator,
                             const gt_recording_options *options, gt_error *error);
void gt_recordings_free(gt_recordings *recordings);

#endif
