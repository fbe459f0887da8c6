// The open SQLite file behind a gt_cache, and its transactions. Private to the cache.
#ifndef GT_CACHE_STORE_H
#define GT_CACHE_STORE_H

#include <pthread.h>
#include <sqlite3.h>

#include "cache/cache.h"
#include "cache/statements.h"

#define GT_SCHEMA_APPLICATION_ID 1198811250 // "Gthr", as in schema.sql
#define GT_SCHEMA_VERSION 3

#define GT_VALUE_MOST (128 << 20) // bytes of a text, blob or row

struct gt_cache {
  sqlite3 *db;
  char *path; // as the caller gave it
  gt_cache_mode mode;
  int failure; // last SQLite error that was told
  bool several; // within gt_cache_begin and gt_cache_end
  pthread_mutex_t *turn; // of the process's writers; NULL: there is one
  bool has_turn;
  sqlite3_stmt *statements[GT_SQL_COUNT_OF_STATEMENTS];
};

extern const char gt_schema_sql[];                                // schema.sql, embedded at build time
extern const char *const gt_sql_text[GT_SQL_COUNT_OF_STATEMENTS]; // by gt_sql

// Fills *error for an SQLite result code: "PATH: ACTION: SQLite's reason".
gt_status gt_store_fail(gt_cache *cache, int code, const char *action, gt_error *error);

// Begins a writing transaction, waiting for other writers.
gt_status gt_store_begin(gt_cache *cache, gt_error *error);
// Ends it: commits when `status` is GT_OK, else rolls back and keeps *error. Returns the final status.
gt_status gt_store_end(gt_cache *cache, gt_status status, gt_error *error);

// What an existing file says of itself in its first bytes; all 0 when it is no SQLite file. An SQLite result
// code.
typedef struct {
  int32_t application_id, version;
  bool write_ahead; // it has, or is to have, a log and shared memory beside it
} gt_store_header;
int gt_store_read_header(const char *path, bool immutable, gt_store_header *header);

// Whether files can be made beside a path. GT_IO with the reason, which SQLite does not keep.
gt_status gt_store_check_folder(const char *path, gt_error *error);

// For sqlite3_open_v2 with SQLITE_OPEN_URI: a new string.
char *gt_store_immutable_name(const char *path);

// Undoes what a killed writer left half-written, which a connection that only reads cannot. An SQLite result
// code.
int gt_store_recover(const gt_cache *cache);

// One number that a statement without values answers. An SQLite result code.
int gt_store_ask(sqlite3 *db, const char *sql, int64_t *answer);
// The file comes from anyone: its schema may run nothing of its own. An SQLite result code.
int gt_store_distrust(sqlite3 *db);

// Compiles the statements that are not compiled yet. GT_CORRUPT when the tables are not those of a cache.
gt_status gt_store_prepare(gt_cache *cache, gt_error *error);

// Brings a file of an older version to the present one (migrate.c). Where the cache is only read, a copy of
// it in memory takes the file's place.
gt_status gt_store_migrate(gt_cache *cache, gt_error *error);

// The present time, UTC, ISO 8601: "2025-01-31T12:00:00Z".
void gt_store_utc(char text[GT_UTC_SIZE]);

// The ids of a model, a device and a problem (keys.c). Without `add`, GT_NOT_FOUND when there is no such row.
gt_status gt_key_model(gt_cache *cache, const gt_fingerprint *device, bool add, int64_t *id, gt_error *error);
gt_status gt_key_device(gt_cache *cache, const gt_fingerprint *device, int64_t model, bool add, int64_t *id,
                        gt_error *error);
gt_status gt_key_problem(gt_cache *cache, const gt_problem *problem, bool add, int64_t *id, gt_error *error);

#endif
