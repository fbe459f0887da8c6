// Stale winners: which they are, and what came of checking them.
#ifndef GT_CLI_STALE_H
#define GT_CLI_STALE_H

#include <jansson.h>

#include "cache/cache.h"
#include "exchange/validate.h"

// Checks of stale winners that caches keep.
typedef struct {
  gt_stale_check check;
  char *model, *driver, *compiler; // where it was made
} gt_kept_check;
typedef struct {
  gt_kept_check *list;
  size_t count;
} gt_kept_checks;

// Adds those of a cache.
gt_status gt_kept_checks_read(gt_kept_checks *checks, gt_cache *cache, gt_error *error);
void gt_kept_checks_free(gt_kept_checks *checks); // harmless on zeroed ones
// The latest check of what a configuration renders to now; NULL when there was none. `compiler` (NULL or empty: any).
const gt_kept_check *gt_kept_checks_find(const gt_kept_checks *checks, const char *model,
                                         const char *configuration, const char *source_hash, const char *compiler);

json_t *gt_kept_check_json(const gt_kept_check *check); // null when NULL
// "wrong_result 2026-01-31T12:00:00Z, compiler …: what was wrong", or "not yet". The caller frees it.
char *gt_kept_check_text(const gt_kept_check *check);

// What `gathertune list --stale` prints: the winners whose templates have changed and, where a device is named
// (`device` not NULL: its fingerprint), those of its model that are of another compiler. `cache` may be NULL.
gt_status gt_list_stale(gt_cache *cache, const char *path, const gt_fingerprint *device, bool as_json,
                        gt_error *error);

#endif
