// The latest trial of a tuning run, beside the cache: what survives a kill before the cache has it.
//
// The cache waits for the disk with each trial, which takes 1 to 15 ms, and the device would wait with it. A file
// that nothing waits for takes 0.1 ms, and outlives the process that wrote it (though not, for some seconds, the
// machine). So a trial is kept here before the next one is sent to the device, and stored in the cache while that
// one runs. A later run stores what a killed one has left.
#ifndef GT_EXCHANGE_PENDING_H
#define GT_EXCHANGE_PENDING_H

#include "cache/cache.h"

typedef struct gt_pending gt_pending;

// Stores in the cache, which is open for writing, what killed runs have left beside it, and removes their files
// ("CACHE.pending-…"). One that is cut off, or says something else, is removed as well: its trial was in flight. GT_IO
// and the like when the cache cannot be written.
gt_status gt_pending_recover(gt_cache *cache, gt_error *error);

// Makes this run's file. NULL where it cannot be had, which costs nothing but time.
gt_pending *gt_pending_open(const gt_cache *cache);
// Whether the trial is kept, in place of the one before it.
bool gt_pending_keep(gt_pending *pending, const gt_fingerprint *device, const gt_problem *problem,
                     const gt_trial *trial);
void gt_pending_close(gt_pending *pending); // removes the file; harmless on NULL

#endif
