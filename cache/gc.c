#include "cache/gc.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "cache/query.h"

#define BATCH "256" // trials at a time while the file is too large

// Trials that may go.
#define EXPENDABLE                                                                \
  "t.outcome NOT IN ('crash', 'timeout') AND NOT EXISTS (SELECT 1 FROM winner w " \
  "WHERE w.device = t.device AND w.problem = t.problem "                          \
  "AND json_extract(w.variant, '$.configuration') = t.configuration) "            \
  "AND NOT EXISTS (SELECT 1 FROM deterministic w "                                \
  "WHERE w.device = t.device AND w.problem = t.problem "                          \
  "AND json_extract(w.variant, '$.configuration') = t.configuration)"

static const char old_trials[] =
    "DELETE FROM trial WHERE id IN (SELECT t.id FROM trial t WHERE t.tried_at < :before AND " EXPENDABLE ")";
static const char old_rechecks[] = "DELETE FROM recheck WHERE rechecked_at < :before";
static const char oldest_trials[] =
    "DELETE FROM trial WHERE id IN (SELECT t.id FROM trial t WHERE :before IS NOT NULL AND " EXPENDABLE
    " ORDER BY t.tried_at, t.id LIMIT " BATCH ")";
static const char unused_codes[] = "DELETE FROM code WHERE hash NOT IN (SELECT code FROM winner "
                                   "WHERE code IS NOT NULL) AND hash NOT IN (SELECT code FROM deterministic "
                                   "WHERE code IS NOT NULL) AND :before IS NOT NULL";
static const char unused_origins[] =
    "DELETE FROM origin WHERE :before IS NOT NULL AND NOT EXISTS (SELECT 1 FROM trial t WHERE of = 0 "
    "AND t.device = origin.device AND t.problem = origin.problem AND t.configuration = origin.configuration) "
    "AND NOT EXISTS (SELECT 1 FROM winner w WHERE of = 1 AND w.device = origin.device "
    "AND w.problem = origin.problem AND json_extract(w.variant, '$.configuration') = origin.configuration)";
// Of winners that are gone from here, or were tuned again since. One without a winner here is of a stale winner in
// a cache below this one: it stays until its age removes it.
static const char unused_stale_checks[] =
    "DELETE FROM stale_check WHERE :before IS NOT NULL AND EXISTS (SELECT 1 FROM winner w "
    "JOIN device d ON d.id = stale_check.device WHERE w.model = d.model AND w.problem = stale_check.problem "
    "AND w.tuned_at > stale_check.checked_at)";
static const char old_stale_checks[] = "DELETE FROM stale_check WHERE checked_at < :before";
#define UNUSED(table, column)                                                                     \
  "DELETE FROM " table " WHERE :before IS NOT NULL AND id NOT IN (SELECT " column " FROM trial) " \
  "AND id NOT IN (SELECT " column " FROM winner) AND id NOT IN (SELECT " column " FROM recheck) " \
  "AND id NOT IN (SELECT " column " FROM deterministic)"
// The second of each pair: where there are checks of stale winners.
static const char *const unused_problems[] = {
    UNUSED("problem", "problem"),
    UNUSED("problem", "problem") " AND id NOT IN (SELECT problem FROM stale_check)"};
static const char *const unused_devices[] = {
    UNUSED("device", "device"),
    UNUSED("device", "device") " AND id NOT IN (SELECT device FROM stale_check)"};
static const char unused_models[] =
    "DELETE FROM model WHERE :before IS NOT NULL AND id NOT IN (SELECT model FROM device)";

// Runs one of the statements above, all of which name :before (where it does not matter: any text); *changed
// grows by the rows that are gone.
static gt_status run(gt_cache *cache, const char *sql, const char *before, int64_t *changed,
                     gt_error *error) {
  gt_query query = {.cache = cache, .private = true};
  query.code = sqlite3_prepare_v2(cache->db, sql, -1, &query.statement, NULL);
  if (query.code != SQLITE_OK) return gt_store_fail(cache, query.code, "removing", error);
  gt_bind_text(&query, ":before", before);
  gt_status status = gt_query_run(&query, error);
  if (status == GT_OK) *changed += sqlite3_changes64(cache->db);
  return status;
}

static gt_status ask(gt_cache *cache, const char *sql, int64_t *answer, gt_error *error) {
  gt_query query = {.cache = cache, .private = true};
  bool row;
  query.code = sqlite3_prepare_v2(cache->db, sql, -1, &query.statement, NULL);
  gt_status status = gt_query_step(&query, &row, error);
  if (status == GT_OK) *answer = gt_column_int(&query, 0, INT64_MAX);
  gt_query_end(&query);
  return status;
}

// Bytes in use, which are those of the file once free pages are given back.
static gt_status used_bytes(gt_cache *cache, int64_t *bytes, gt_error *error) {
  int64_t pages = 0, free_pages = 0, size = 0;
  gt_status status = ask(cache, "PRAGMA page_count", &pages, error);
  if (status == GT_OK) status = ask(cache, "PRAGMA freelist_count", &free_pages, error);
  if (status == GT_OK) status = ask(cache, "PRAGMA page_size", &size, error);
  *bytes = (pages - free_pages) * size;
  return status;
}

#define COUNT_TABLE(name) "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '" name "'"

static gt_status remove_unused(gt_cache *cache, gt_gc_counts *counts, gt_error *error) {
  int64_t origins = 0, stale_checks = 0, models = 0;
  gt_status status = ask(cache, COUNT_TABLE("origin"), &origins, error);
  if (status == GT_OK) status = ask(cache, COUNT_TABLE("stale_check"), &stale_checks, error);
  if (status == GT_OK) status = run(cache, unused_codes, "", &counts->codes, error);
  if (status == GT_OK && origins) status = run(cache, unused_origins, "", &counts->origins, error);
  if (status == GT_OK && stale_checks)
    status = run(cache, unused_stale_checks, "", &counts->stale_checks, error);
  if (status == GT_OK)
    status = run(cache, unused_problems[stale_checks > 0], "", &counts->problems, error);
  if (status == GT_OK) status = run(cache, unused_devices[stale_checks > 0], "", &counts->devices, error);
  if (status == GT_OK) status = run(cache, unused_models, "", &models, error);
  return status;
}

static gt_status collect(gt_cache *cache, const gt_gc_options *options, gt_gc_counts *counts,
                         gt_error *error) {
  gt_status status = GT_OK;
  if (options->older_than_days > 0) {
    char before[GT_UTC_SIZE];
    int64_t stale_checks = 0;
    time_t then = time(NULL) - (time_t)(options->older_than_days * 86400);
    struct tm parts;
    gmtime_r(&then, &parts);
    strftime(before, sizeof before, "%Y-%m-%dT%H:%M:%SZ", &parts);
    status = run(cache, old_trials, before, &counts->trials, error);
    if (status == GT_OK) status = run(cache, old_rechecks, before, &counts->rechecks, error);
    if (status == GT_OK) status = ask(cache, COUNT_TABLE("stale_check"), &stale_checks, error);
    if (status == GT_OK && stale_checks)
      status = run(cache, old_stale_checks, before, &counts->stale_checks, error);
  }
  if (status == GT_OK) status = remove_unused(cache, counts, error);
  if (status == GT_OK) status = used_bytes(cache, &counts->bytes_after, error);
  while (status == GT_OK && options->most_bytes > 0 && counts->bytes_after > options->most_bytes) {
    int64_t gone = 0;
    status = run(cache, oldest_trials, "", &gone, error);
    counts->trials += gone;
    if (status == GT_OK && gone) status = remove_unused(cache, counts, error);
    if (status == GT_OK) status = used_bytes(cache, &counts->bytes_after, error);
    if (!gone) break; // winners alone are larger
  }
  return status;
}

gt_status gt_cache_collect(gt_cache *cache, const gt_gc_options *options, gt_gc_counts *counts,
                           gt_error *error) {
  int64_t pages = 0, size = 0;
  *counts = (gt_gc_counts){0};
  gt_status status = gt_cache_begin(cache, error);
  if (status != GT_OK) return status;
  status = ask(cache, "PRAGMA page_count", &pages, error);
  if (status == GT_OK) status = ask(cache, "PRAGMA page_size", &size, error);
  counts->bytes_before = pages * size;
  if (status == GT_OK) status = collect(cache, options, counts, error);
  // Giving pages back copies everything, and would find damage only when the change is made.
  if (status == GT_OK) status = gt_cache_verify(cache, error);
  if (options->dry_run) {
    gt_cache_end(cache, GT_INTERRUPTED, NULL); // any status but GT_OK undoes it
    return status;
  }
  status = gt_cache_end(cache, status, error);
  if (status != GT_OK) return status;
  int code = sqlite3_exec(cache->db, "VACUUM", NULL, NULL, NULL);
  if (code != SQLITE_OK) return gt_store_fail(cache, code, "giving free pages back", error);
  return used_bytes(cache, &counts->bytes_after, error);
}

gt_status gt_cache_verify(gt_cache *cache, gt_error *error) {
  static const char *const checks[] = {"PRAGMA integrity_check(1)", "PRAGMA foreign_key_check"};
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
    gt_query query = {.cache = cache, .private = true};
    bool row;
    query.code = sqlite3_prepare_v2(cache->db, checks[i], -1, &query.statement, NULL);
    gt_status status = gt_query_step(&query, &row, error);
    const char *text = status == GT_OK && row ? gt_column_text(&query) : "ok";
    if (status == GT_OK && strcmp(text, "ok") != 0) {
      status = gt_fail(error, GT_CORRUPT, "%s: %s%.200s", cache->path,
                       i == 0 ? "" : "a row refers to one that is not there, in ", text);
    }
    gt_query_end(&query);
    if (status != GT_OK) return status;
  }
  return GT_OK;
}
