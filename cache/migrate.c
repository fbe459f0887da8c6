// Files of older versions. One that is written becomes the present version; one that is only read stays as it
// is, and what is read is a copy in memory.
#include "cache/gc.h"
#include "cache/store.h"

// Each step makes version i + 2 of version i + 1. What it makes must be what schema.sql makes.
static const char *const steps[GT_SCHEMA_VERSION - 1] = {
    "ALTER TABLE trial ADD COLUMN noisy INTEGER NOT NULL DEFAULT 0 CHECK (noisy IN (0, 1)); "
    "ALTER TABLE trial ADD COLUMN temperature_c INTEGER NOT NULL DEFAULT 0 CHECK (temperature_c >= 0); "
    "ALTER TABLE trial ADD COLUMN clock_mhz INTEGER NOT NULL DEFAULT 0 CHECK (clock_mhz >= 0); "
    "ALTER TABLE trial ADD COLUMN memory_clock_mhz INTEGER NOT NULL DEFAULT 0 "
    "CHECK (memory_clock_mhz >= 0); "
    "ALTER TABLE winner ADD COLUMN ties TEXT NOT NULL DEFAULT '[]' CHECK (substr(ties, 1, 1) = '['); "
    "CREATE TABLE recheck ( "
    "id INTEGER PRIMARY KEY, "
    "device INTEGER NOT NULL REFERENCES device (id), "
    "problem INTEGER NOT NULL REFERENCES problem (id), "
    "configuration TEXT NOT NULL CHECK (configuration <> ''), "
    "outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'compile_error', 'launch_error', 'wrong_result', "
    "'unstable_result', "
    "'out_of_bounds', 'out_of_memory', 'crash', 'timeout')), "
    "message TEXT NOT NULL, "
    "samples_us TEXT NOT NULL CHECK (substr(samples_us, 1, 1) = '['), "
    "median_us REAL NOT NULL CHECK (median_us >= 0), "
    "spread_us REAL NOT NULL CHECK (spread_us >= 0), "
    "default_us REAL NOT NULL CHECK (default_us >= 0), "
    "stored_us REAL NOT NULL CHECK (stored_us >= 0), "
    "stored_default_us REAL NOT NULL CHECK (stored_default_us >= 0), "
    "noisy INTEGER NOT NULL CHECK (noisy IN (0, 1)), "
    "temperature_c INTEGER NOT NULL CHECK (temperature_c >= 0), "
    "clock_mhz INTEGER NOT NULL CHECK (clock_mhz >= 0), "
    "memory_clock_mhz INTEGER NOT NULL CHECK (memory_clock_mhz >= 0), "
    "rechecked_at TEXT NOT NULL "
    ") STRICT; "
    "CREATE INDEX trial_in_quarantine ON trial (device, source_hash) "
    "WHERE outcome IN ('crash', 'timeout'); "
    "PRAGMA user_version = 2",
    "CREATE TABLE deterministic ( "
    "id INTEGER PRIMARY KEY, "
    "model INTEGER NOT NULL REFERENCES model (id), "
    "problem INTEGER NOT NULL REFERENCES problem (id), "
    "device INTEGER NOT NULL, "
    "variant TEXT NOT NULL CHECK (substr(variant, 1, 1) = '{'), "
    "median_us REAL NOT NULL CHECK (median_us >= 0), "
    "spread_us REAL NOT NULL CHECK (spread_us >= 0), "
    "default_us REAL NOT NULL CHECK (default_us >= 0), "
    "stream_us REAL NOT NULL CHECK (stream_us >= 0), "
    "compiler TEXT NOT NULL, "
    "driver TEXT NOT NULL, "
    "code TEXT REFERENCES code (hash), "
    "tuned_at TEXT NOT NULL, "
    "ties TEXT NOT NULL CHECK (substr(ties, 1, 1) = '['), "
    "host TEXT NOT NULL, "
    "UNIQUE (model, problem), "
    "FOREIGN KEY (device, model) REFERENCES device (id, model) "
    ") STRICT; "
    "CREATE INDEX deterministic_by_code ON deterministic (code); "
    "PRAGMA user_version = 3",
};

static int copy_to_memory(gt_cache *cache) {
  sqlite3 *copy = NULL;
  int code = sqlite3_open_v2(":memory:", &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, NULL);
  sqlite3_backup *backup = code == SQLITE_OK ? sqlite3_backup_init(copy, "main", cache->db, "main") : NULL;
  if (backup) (void)sqlite3_backup_step(backup, -1);
  if (backup)
    code = sqlite3_backup_finish(backup);
  else if (code == SQLITE_OK)
    code = sqlite3_extended_errcode(copy);
  if (code != SQLITE_OK) {
    sqlite3_close(copy);
    return code;
  }
  sqlite3_close(cache->db);
  cache->db = copy;
  return gt_store_distrust(cache->db);
}

static int read_version(gt_cache *cache, int64_t *version) {
  return gt_store_ask(cache->db, "PRAGMA user_version", version);
}

static int take_steps(gt_cache *cache) {
  int64_t version = 0;
  int code = read_version(cache, &version); // another process may have been faster
  for (; code == SQLITE_OK && version >= 1 && version < GT_SCHEMA_VERSION; version++)
    code = sqlite3_exec(cache->db, steps[version - 1], NULL, NULL, NULL);
  return code;
}

static gt_status fail(gt_cache *cache, int code, gt_error *error) {
  if ((code & 0xff) == SQLITE_ERROR) // a table is not there, or a column is there already
    return gt_fail(error, GT_CORRUPT, "%s: not the tables of an older gathertune cache: %s", cache->path,
                   sqlite3_errmsg(cache->db));
  return gt_store_fail(cache, code, "bringing it to the present version", error);
}

gt_status gt_store_migrate(gt_cache *cache, gt_error *error) {
  int code;
  if (cache->mode != GT_CACHE_WRITE) {
    code = copy_to_memory(cache);
    if (code == SQLITE_OK) code = take_steps(cache);
    return code == SQLITE_OK ? GT_OK : fail(cache, code, error);
  }
  gt_status status = gt_store_begin(cache, error);
  if (status != GT_OK) return status;
  code = take_steps(cache);
  if (code != SQLITE_OK) status = fail(cache, code, error);
  // A file that is no cache after all, or is damaged, stays as it is.
  if (status == GT_OK) status = gt_store_prepare(cache, error);
  if (status == GT_OK) status = gt_cache_verify(cache, error);
  return gt_store_end(cache, status, error);
}
