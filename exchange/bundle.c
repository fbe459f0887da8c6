// A bundle: a cache of winners and code objects alone, which nobody writes to. Programs and gathertune lookup
// read it as any cache.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exchange/export.h"

gt_status gt_export_bundle(gt_collection *c, const gt_export_options *options, gt_export_counts *counts,
                           gt_error *error) {
  // A cache that is there, perhaps in use, is not overwritten.
  if (access(options->path, F_OK) == 0)
    return gt_fail(error, GT_IO, "cannot write %s: %s", options->path, strerror(EEXIST));
  char *aside = gt_print("%s.%ld", options->path, (long)getpid());
  gt_cache *cache = NULL;
  gt_collection_sort(c);
  unlink(aside); // what a killed process of the same number left
  gt_status status = gt_cache_open(aside, GT_CACHE_WRITE, &cache, error);
  if (status == GT_OK) status = gt_cache_begin(cache, error);
  if (status == GT_OK) status = gt_cache_end(cache, gt_collection_write(c, cache, error), error);
  gt_cache_close(cache);
  if (status == GT_OK && (chmod(aside, 0444) != 0 || rename(aside, options->path) != 0))
    status = gt_fail(error, GT_IO, "cannot write %s: %s", options->path, strerror(errno));
  unlink(aside);
  *counts = (gt_export_counts){.winners = gt_collection_count_winners(c), .files = 1};
  free(aside);
  return status;
}
