// Finding, or adding, the rows that trials and winners refer to.
#include "cache/query.h"

// Ends a query that finds an id. *found says whether it did.
static gt_status find(gt_query *query, int64_t *id, bool *found, gt_error *error) {
  gt_status status = gt_query_step(query, found, error);
  if (status == GT_OK && *found) {
    *id = gt_column_int(query, INT64_MIN, INT64_MAX);
    status = gt_query_check(query, error);
  }
  gt_query_end(query);
  return status;
}

static gt_status add(gt_query *query, int64_t *id, gt_error *error) {
  sqlite3 *db = query->cache->db;
  gt_status status = gt_query_run(query, error);
  if (status == GT_OK) *id = sqlite3_last_insert_rowid(db);
  return status;
}

static gt_query model_query(gt_cache *cache, gt_sql sql, const gt_fingerprint *device) {
  gt_query query = gt_query_begin(cache, sql);
  gt_bind_text(&query, ":backend", device->backend);
  gt_bind_text(&query, ":name", device->name);
  gt_bind_text(&query, ":arch", device->arch);
  gt_bind_int(&query, ":compute_units", device->compute_units);
  return query;
}

gt_status gt_key_model(gt_cache *cache, const gt_fingerprint *device, bool add_it, int64_t *id,
                       gt_error *error) {
  gt_query query = model_query(cache, GT_SQL_FIND_MODEL, device);
  bool found;
  gt_status status = find(&query, id, &found, error);
  if (status != GT_OK || found) return status;
  if (!add_it)
    return gt_fail(error, GT_NOT_FOUND, "%s: nothing is known of %s / %s / %s / %d", cache->path,
                   device->backend, device->name, device->arch, device->compute_units);
  query = model_query(cache, GT_SQL_ADD_MODEL, device);
  return add(&query, id, error);
}

static gt_query device_query(gt_cache *cache, gt_sql sql, const gt_fingerprint *device, int64_t model) {
  gt_query query = gt_query_begin(cache, sql);
  gt_bind_int(&query, ":model", model);
  gt_bind_text(&query, ":pci_id", device->pci_id);
  gt_bind_int(&query, ":memory_bytes",
              device->memory_bytes > INT64_MAX ? INT64_MAX : (int64_t)device->memory_bytes);
  gt_bind_text(&query, ":driver", device->driver);
  gt_bind_text(&query, ":runtime", device->runtime);
  gt_bind_text(&query, ":compiler", device->compiler);
  return query;
}

gt_status gt_key_device(gt_cache *cache, const gt_fingerprint *device, int64_t model, bool add_it,
                        int64_t *id, gt_error *error) {
  gt_query query = device_query(cache, GT_SQL_FIND_DEVICE, device, model);
  bool found;
  gt_status status = find(&query, id, &found, error);
  if (status != GT_OK || found) return status;
  if (!add_it)
    return gt_fail(error, GT_NOT_FOUND,
                   "%s: nothing is known of this %s with driver %s, runtime %s, compiler %s", cache->path,
                   device->name, device->driver, device->runtime, device->compiler);
  query = device_query(cache, GT_SQL_ADD_DEVICE, device, model);
  return add(&query, id, error);
}

gt_status gt_key_problem(gt_cache *cache, const gt_problem *problem, bool add_it, int64_t *id,
                         gt_error *error) {
  char text[GT_PROBLEM_TEXT], kernel[GT_PROBLEM_TEXT];
  gt_problem_print(problem, text);
  gt_query query = gt_query_begin(cache, GT_SQL_FIND_PROBLEM);
  gt_bind_text(&query, ":text", text);
  bool found;
  gt_status status = find(&query, id, &found, error);
  if (status != GT_OK || found) return status;
  if (!add_it) return gt_fail(error, GT_NOT_FOUND, "%s: nothing is known of %s", cache->path, text);
  gt_problem_print_kernel(problem, kernel);
  query = gt_query_begin(cache, GT_SQL_ADD_PROBLEM);
  gt_bind_text(&query, ":text", text);
  gt_bind_text(&query, ":kernel", kernel);
  gt_bind_int(&query, ":outer_count", gt_problem_outer(problem));
  gt_bind_text(&query, ":operator", problem->op->name);
  gt_bind_text(&query, ":dtype", gt_dtype_name(problem->dtype));
  return add(&query, id, error);
}
