#include "cache/origin.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char table[] = "CREATE TABLE IF NOT EXISTS origin ("
                            "  device INTEGER NOT NULL REFERENCES device (id),"
                            "  problem INTEGER NOT NULL REFERENCES problem (id),"
                            "  configuration TEXT NOT NULL,"
                            "  of INTEGER NOT NULL CHECK (of IN (0, 1))," // 0: of the trial, 1: of the winner
                            "  host TEXT NOT NULL CHECK (host <> ''),"
                            "  PRIMARY KEY (device, problem, configuration, of)) STRICT, WITHOUT ROWID";
static const char put[] = "INSERT INTO origin (device, problem, configuration, of, host) "
                          "VALUES (:device, :problem, :configuration, :of, :host) "
                          "ON CONFLICT DO UPDATE SET host = excluded.host";
static const char forget[] = "DELETE FROM origin WHERE device = :device AND problem = :problem "
                             "AND configuration = :configuration AND of = :of";
static const char get[] = "SELECT host FROM origin WHERE device = :device AND problem = :problem "
                          "AND configuration = :configuration AND of = :of";

void gt_host(char host[GT_HOST_SIZE]) {
  if (gethostname(host, GT_HOST_SIZE) != 0) host[0] = 0;
  host[GT_HOST_SIZE - 1] = 0;
}

// Not among the statements that are compiled when a cache is opened, since the table may not be there.
static gt_query begin(gt_cache *cache, const char *sql, gt_origin_of of, int64_t device, int64_t problem,
                      const char *configuration) {
  gt_query query = {.cache = cache, .private = true};
  query.code = sqlite3_prepare_v2(cache->db, sql, -1, &query.statement, NULL);
  if (query.code != SQLITE_OK) return query;
  gt_bind_int(&query, ":device", device);
  gt_bind_int(&query, ":problem", problem);
  gt_bind_text(&query, ":configuration", configuration);
  gt_bind_int(&query, ":of", of);
  return query;
}

gt_status gt_origin_put(gt_cache *cache, gt_origin_of of, int64_t device, int64_t problem,
                        const char *configuration, const char *host, gt_error *error) {
  int code = sqlite3_exec(cache->db, table, NULL, NULL, NULL);
  if (code != SQLITE_OK) return gt_store_fail(cache, code, "writing", error);
  gt_query query = begin(cache, *host ? put : forget, of, device, problem, configuration);
  if (*host) gt_bind_text(&query, ":host", host);
  return gt_query_run(&query, error);
}

static gt_status find_host(gt_cache *cache, gt_origin_of of, int64_t device, int64_t problem,
                           const char *configuration, char host[GT_HOST_SIZE], gt_error *error) {
  host[0] = 0;
  gt_query query = begin(cache, get, of, device, problem, configuration);
  if ((query.code & 0xff) == SQLITE_ERROR) { // there is no such table
    gt_query_end(&query);
    return GT_OK;
  }
  bool row;
  gt_status status = gt_query_step(&query, &row, error);
  if (status == GT_OK && row) {
    if (snprintf(host, GT_HOST_SIZE, "%s", gt_column_text(&query)) >= GT_HOST_SIZE) gt_column_bad(&query);
    status = gt_query_check(&query, error);
  }
  gt_query_end(&query);
  return status;
}

static void copy(gt_query *query, char *to, size_t size) {
  if (snprintf(to, size, "%s", gt_column_text(query)) >= (int)size) gt_column_bad(query);
}

void gt_origin_read_device(gt_query *query, gt_record *record, int64_t *device_id, int64_t *problem_id) {
  gt_fingerprint *device = &record->device;
  *device = (gt_fingerprint){0};
  copy(query, device->backend, sizeof device->backend);
  if (!device->backend[0]) gt_column_bad(query);
  copy(query, device->name, sizeof device->name);
  copy(query, device->arch, sizeof device->arch);
  device->compute_units = (int)gt_column_int(query, 0, INT_MAX);
  copy(query, device->pci_id, sizeof device->pci_id);
  device->memory_bytes = (uint64_t)gt_column_int(query, 0, INT64_MAX);
  copy(query, device->driver, sizeof device->driver);
  copy(query, device->runtime, sizeof device->runtime);
  copy(query, device->compiler, sizeof device->compiler);
  *device_id = gt_column_int(query, INT64_MIN, INT64_MAX);
  *problem_id = gt_column_int(query, INT64_MIN, INT64_MAX);
}

gt_status gt_origin_read(gt_query *query, gt_origin_of of, const char *configuration, gt_record *record,
                         gt_error *error) {
  int64_t device_id, problem_id;
  gt_origin_read_device(query, record, &device_id, &problem_id);
  gt_status status = gt_query_check(query, error);
  if (status != GT_OK) return status;
  return find_host(query->cache, of, device_id, problem_id, configuration, record->host, error);
}
