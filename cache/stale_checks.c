// What came of checking stale winners as the present templates and compiler make them.
//
// A table of its own, made by the first writer that has something to say, like that of origins: files without it
// are read as well, and nothing was checked in them.
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cache/query.h"

static const char table[] =
    "CREATE TABLE IF NOT EXISTS stale_check ("
    "  device INTEGER NOT NULL REFERENCES device (id)," // that it ran on, with its software
    "  problem INTEGER NOT NULL REFERENCES problem (id),"
    "  configuration TEXT NOT NULL CHECK (configuration <> ''),"
    "  source_hash TEXT NOT NULL CHECK (length(source_hash) = 32)," // of what it rendered to then
    "  outcome TEXT NOT NULL,"
    "  message TEXT NOT NULL,"
    "  checked_at TEXT NOT NULL," // UTC, ISO 8601
    "  PRIMARY KEY (device, problem, configuration, source_hash)) STRICT, WITHOUT ROWID";
static const char put[] =
    "INSERT INTO stale_check (device, problem, configuration, source_hash, outcome, message, checked_at) "
    "VALUES (:device, :problem, :configuration, :source_hash, :outcome, :message, :checked_at) "
    "ON CONFLICT DO UPDATE SET outcome = excluded.outcome, message = excluded.message, "
    "checked_at = excluded.checked_at";
#define COLUMNS "s.configuration, s.source_hash, s.outcome, s.message, s.checked_at"
#define TABLES "stale_check s JOIN device d ON d.id = s.device JOIN model m ON m.id = d.model "
static const char get[] =
    "SELECT " COLUMNS " FROM " TABLES "WHERE m.backend = :backend AND m.name = :name AND m.arch = :arch "
    "AND m.compute_units = :compute_units AND d.driver = :driver AND d.runtime = :runtime "
    "AND d.compiler = :compiler AND s.configuration = :configuration AND s.source_hash = :source_hash "
    "ORDER BY s.checked_at DESC, s.outcome DESC LIMIT 1";
static const char each[] =
    "SELECT " COLUMNS ", " GT_MODEL_TEXT " AS model, p.text AS problem, d.driver, d.compiler FROM " TABLES
    "JOIN problem p ON p.id = s.problem ORDER BY m.id, p.text, s.checked_at, s.configuration, s.source_hash, d.id";

void gt_stale_check_free(gt_stale_check *check) {
  free(check->configuration);
  free(check->message);
  free(check->checked_at);
  *check = (gt_stale_check){0};
}

// Not among the statements that are compiled when a cache is opened, since the table may not be there.
static gt_query begin(gt_cache *cache, const char *sql) {
  gt_query query = {.cache = cache, .private = true};
  query.code = sqlite3_prepare_v2(cache->db, sql, -1, &query.statement, NULL);
  return query;
}

static bool has_no_table(const gt_query *query) {
  return (query->code & 0xff) == SQLITE_ERROR;
}

static void read_check(gt_query *query, gt_stale_check *check) {
  *check = (gt_stale_check){.configuration = gt_strdup(gt_column_text(query))};
  const char *hash = gt_column_text(query);
  if (strlen(hash) == GT_HASH_SIZE - 1)
    memcpy(check->source_hash, hash, GT_HASH_SIZE);
  else
    gt_column_bad(query);
  if (!gt_outcome_from_name(gt_column_text(query), &check->outcome)) gt_column_bad(query);
  check->message = gt_strdup(gt_column_text(query));
  check->checked_at = gt_strdup(gt_column_text(query));
}

gt_status gt_cache_put_stale_check(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                                   const gt_stale_check *check, gt_error *error) {
  int64_t model_id, device_id, problem_id;
  char now[GT_UTC_SIZE];
  gt_store_utc(now);
  gt_status status = gt_store_begin(cache, error);
  if (status != GT_OK) return status;
  status = gt_key_model(cache, device, true, &model_id, error);
  if (status == GT_OK) status = gt_key_device(cache, device, model_id, true, &device_id, error);
  if (status == GT_OK) status = gt_key_problem(cache, problem, true, &problem_id, error);
  int code = status == GT_OK ? sqlite3_exec(cache->db, table, NULL, NULL, NULL) : SQLITE_OK;
  if (code != SQLITE_OK) status = gt_store_fail(cache, code, "writing", error);
  if (status == GT_OK) {
    gt_query query = begin(cache, put);
    if (query.code == SQLITE_OK) {
      gt_bind_int(&query, ":device", device_id);
      gt_bind_int(&query, ":problem", problem_id);
      gt_bind_text(&query, ":configuration", check->configuration);
      gt_bind_text(&query, ":source_hash", check->source_hash);
      gt_bind_text(&query, ":outcome", gt_outcome_name(check->outcome));
      gt_bind_text(&query, ":message", check->message ? check->message : "");
      gt_bind_text(&query, ":checked_at", now);
    }
    status = gt_query_run(&query, error);
  }
  return gt_store_end(cache, status, error);
}

gt_status gt_cache_get_stale_check(gt_cache *cache, const gt_fingerprint *device, const char *configuration,
                                   const char *source_hash, gt_stale_check *check, gt_error *error) {
  *check = (gt_stale_check){0};
  gt_query query = begin(cache, get);
  bool row = false;
  gt_status status = GT_OK;
  if (!has_no_table(&query)) {
    if (query.code == SQLITE_OK) {
      gt_bind_text(&query, ":backend", device->backend);
      gt_bind_text(&query, ":name", device->name);
      gt_bind_text(&query, ":arch", device->arch);
      gt_bind_int(&query, ":compute_units", device->compute_units);
      gt_bind_text(&query, ":driver", device->driver);
      gt_bind_text(&query, ":runtime", device->runtime);
      gt_bind_text(&query, ":compiler", device->compiler);
      gt_bind_text(&query, ":configuration", configuration);
      gt_bind_text(&query, ":source_hash", source_hash);
    }
    status = gt_query_step(&query, &row, error);
    if (status == GT_OK && row) {
      read_check(&query, check);
      status = gt_query_check(&query, error);
    }
  }
  gt_query_end(&query);
  if (status == GT_OK && !row)
    status = gt_fail(error, GT_NOT_FOUND, "%s: %s was not checked since it is stale", cache->path, configuration);
  if (status != GT_OK) gt_stale_check_free(check);
  return status;
}

gt_status gt_cache_each_stale_check(gt_cache *cache,
                                    void (*visit)(void *context, const gt_stale_checked *checked),
                                    void *context, gt_error *error) {
  gt_query query = begin(cache, each);
  gt_status status = GT_OK;
  for (bool row = !has_no_table(&query); row && status == GT_OK;) {
    status = gt_query_step(&query, &row, error);
    if (status != GT_OK || !row) break;
    gt_stale_check check;
    read_check(&query, &check);
    gt_stale_checked checked = {.check = &check};
    checked.model = gt_column_text(&query);
    checked.problem = gt_column_text(&query);
    checked.driver = gt_column_text(&query);
    checked.compiler = gt_column_text(&query);
    status = gt_query_check(&query, error);
    if (status == GT_OK) visit(context, &checked);
    gt_stale_check_free(&check);
  }
  gt_query_end(&query);
  return status;
}
