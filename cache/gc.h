// Looking after a cache: making it smaller, and looking for damage.
#ifndef GT_CACHE_GC_H
#define GT_CACHE_GC_H

#include "cache/cache.h"

typedef struct {
  double older_than_days; // removes trials, rechecks and checks of stale winners that are older; 0: none for their age. Up to 10000
  int64_t most_bytes;     // removes the oldest trials until the file is no larger; 0: no bound
  bool dry_run;
} gt_gc_options;

typedef struct {
  int64_t trials, rechecks, stale_checks, codes, problems, devices, origins; // removed
  int64_t bytes_before, bytes_after;                 // of the file
} gt_gc_counts;

// Removes what the options say, and what nothing refers to: code objects without a winner, devices, models
// and problems without any record. Winners stay, and the best beside them whose results repeat, and so do the
// trials of their configurations and those that crashed or hung, which a later run is not to try again. Gives
// the file's free pages back. One change; with dry_run it is undone, and bytes_after tells what it would come
// to at most.
gt_status gt_cache_collect(gt_cache *cache, const gt_gc_options *options, gt_gc_counts *counts,
                           gt_error *error);

// Looks through the whole file. GT_CORRUPT with the first thing that is wrong with it.
gt_status gt_cache_verify(gt_cache *cache, gt_error *error);

#endif
