#include "cache/code_store.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache/store.h"
#include "device/device.h"

#define APPLICATION_ID 1198811203 // "GthC"
#define VERSION 1
#define BUSY_MS 200                   // what a lock is waited for: compiling again is not much slower
#define MOST_BYTES ((size_t)64 << 20) // of one code object
#define EVICTED "32"                  // code objects at a time

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

// A crash of the machine may damage the file, which costs nothing but compilations: no waiting for the disk.
static const char pragmas[] = "PRAGMA synchronous = OFF; PRAGMA journal_mode = DELETE";
static const char schema[] = "BEGIN IMMEDIATE;"
                             "PRAGMA application_id = " TEXT(APPLICATION_ID) "; PRAGMA user_version = " TEXT(
                                 VERSION) ";"
                                          "CREATE TABLE IF NOT EXISTS object ("
                                          "  key TEXT NOT NULL, source_hash TEXT NOT NULL,"
                                          "  hash TEXT NOT NULL," // of the bytes
                                          "  size INTEGER NOT NULL,"
                                          "  used_at INTEGER NOT NULL," // seconds since 1970, UTC
                                          "  blob BLOB NOT NULL,"
                                          "  PRIMARY KEY (key, source_hash)) STRICT;"
                                          "CREATE INDEX IF NOT EXISTS object_by_use ON object (used_at);"
                                          "COMMIT";

// X(name, SQL). The column `size` says what whoever wrote the file likes; blobs are as long as they are.
#define STATEMENTS(X)                                                                   \
  X(GET, "SELECT hash, blob FROM object WHERE key = ?1 AND source_hash = ?2")           \
  X(TOUCH, "UPDATE object SET used_at = ?3 WHERE key = ?1 AND source_hash = ?2")        \
  X(PUT, "INSERT OR REPLACE INTO object (key, source_hash, used_at, hash, size, blob) " \
         "VALUES (?1, ?2, ?3, ?4, length(?5), ?5)")                                     \
  X(TOTAL, "SELECT coalesce(sum(length(blob)), 0) FROM object")                         \
  X(EVICT, "DELETE FROM object WHERE rowid IN "                                         \
           "(SELECT rowid FROM object ORDER BY used_at, rowid LIMIT " EVICTED ")")

enum {
#define X(name, sql) name,
  STATEMENTS(X)
#undef X
      STATEMENT_COUNT
};
static const char *const texts[] = {
#define X(name, sql) sql,
    STATEMENTS(X)
#undef X
};

struct gt_code_store {
  sqlite3 *db;
  sqlite3_stmt *statements[STATEMENT_COUNT];
  int64_t most, total; // bytes; total is of what this process knows
  bool reading;        // only
};

char *gt_code_store_path(const char *cache_path) {
  return gt_print("%s.code", cache_path);
}

static void make_key(const gt_fingerprint *device, const char *compiler, char key[GT_HASH_SIZE]) {
  const gt_backend *backend = gt_backend_find(device->backend);
  gt_buffer text = {0};
  gt_buffer_print(&text, "%s\n%s\n%s\n%s\n", device->backend, device->arch, compiler,
                  backend ? backend->compile_options : "");
  if (!backend || !backend->compiles_alone)
    gt_buffer_print(&text, "%s\n%s\n%s\n", device->name, device->driver, device->runtime);
  gt_hash(text.data, text.length, key);
  gt_buffer_free(&text);
}

void gt_code_store_key(const gt_fingerprint *device, char key[GT_HASH_SIZE]) {
  make_key(device, device->compiler, key);
}

void gt_code_store_key_any(const gt_fingerprint *device, char key[GT_HASH_SIZE]) {
  make_key(device, "any compiler", key);
}

// One number that a statement without values answers; -1 when it cannot.
static int64_t ask(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = NULL;
  int64_t answer = -1;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
    answer = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return answer;
}

static gt_status refuse(const char *path, gt_error *error) {
  return gt_fail(error, GT_CORRUPT, "%s: not a store of code objects of this version; it was left as it is",
                 path);
}

// Makes the table in an empty file; refuses what is no store of code objects.
static gt_status identify(sqlite3 *db, const char *path, bool reading, gt_error *error) {
  int64_t tables = ask(db, "SELECT count(*) FROM sqlite_schema");
  if (tables < 0 && (sqlite3_errcode(db) & 0xff) != SQLITE_NOTADB)
    return gt_fail(error, GT_IO, "%s: opening: %s", path, sqlite3_errmsg(db));
  if (tables == 0 && !reading && sqlite3_exec(db, schema, NULL, NULL, NULL) != SQLITE_OK)
    return gt_fail(error, GT_IO, "%s: making the table: %s", path, sqlite3_errmsg(db));
  if (ask(db, "PRAGMA application_id") != APPLICATION_ID || ask(db, "PRAGMA user_version") != VERSION)
    return refuse(path, error);
  return GT_OK;
}

// Looks at a file that is there before SQLite does, which might write beside it.
static gt_status probe(const char *path, bool immutable, gt_error *error) {
  struct stat info;
  gt_store_header header;
  if (stat(path, &info) != 0) return gt_store_check_folder(path, error); // it is to be made
  if (access(path, R_OK) != 0) return gt_fail(error, GT_IO, "%s: cannot be read: %s", path, strerror(errno));
  if (info.st_size == 0) return GT_OK;
  int code = gt_store_read_header(path, immutable, &header);
  if (code != SQLITE_OK) return gt_fail(error, GT_IO, "%s: opening: %s", path, sqlite3_errstr(code));
  if (header.application_id == APPLICATION_ID && header.version == VERSION && !header.write_ahead)
    return GT_OK;
  return refuse(path, error);
}

static gt_status open_store(const char *path, const char *name, int flags, gt_code_store *store,
                            gt_code_store **result, gt_error *error) {
  gt_status status = GT_OK;
  *result = NULL;
  if ((status = probe(path, flags & SQLITE_OPEN_URI, error)) != GT_OK) goto done;
  int code = sqlite3_open_v2(name, &store->db, flags, NULL);
  if (code == SQLITE_OK) code = sqlite3_busy_timeout(store->db, BUSY_MS);
  if (code == SQLITE_OK) code = gt_store_distrust(store->db);
  if (code != SQLITE_OK) status = gt_fail(error, GT_IO, "%s: opening: %s", path, sqlite3_errmsg(store->db));
  if (status == GT_OK) status = identify(store->db, path, store->reading, error);
  if (status == GT_OK && !store->reading && sqlite3_exec(store->db, pragmas, NULL, NULL, NULL) != SQLITE_OK)
    status = gt_fail(error, GT_IO, "%s: opening: %s", path, sqlite3_errmsg(store->db));
  for (int i = 0; i < STATEMENT_COUNT && status == GT_OK; i++)
    if (sqlite3_prepare_v3(store->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &store->statements[i], NULL) !=
        SQLITE_OK)
      status = gt_fail(error, GT_CORRUPT, "%s: not the table of a store of code objects: %s", path,
                       sqlite3_errmsg(store->db));
  if (status == GT_OK && !store->reading) {
    if (sqlite3_step(store->statements[TOTAL]) == SQLITE_ROW)
      store->total = sqlite3_column_int64(store->statements[TOTAL], 0);
    sqlite3_reset(store->statements[TOTAL]);
  }
done:
  if (status == GT_OK)
    *result = store;
  else
    gt_code_store_close(store);
  return status;
}

gt_status gt_code_store_open(const char *path, int64_t most, gt_code_store **store, gt_error *error) {
  gt_code_store *new = gt_alloc(sizeof *new);
  new->most = most;
  return open_store(path, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, new, store, error);
}

gt_status gt_code_store_open_reader(const char *path, bool immutable, gt_code_store **store,
                                    gt_error *error) {
  *store = NULL;
  if (access(path, F_OK) != 0)
    return gt_fail(error, GT_NOT_FOUND, "%s: there is no store of code objects", path);
  gt_code_store *new = gt_alloc(sizeof *new);
  new->reading = true;
  char *name = immutable ? gt_store_immutable_name(path) : gt_strdup(path);
  gt_status status =
      open_store(path, name, SQLITE_OPEN_READONLY | (immutable ? SQLITE_OPEN_URI : 0), new, store, error);
  free(name);
  return status;
}

void gt_code_store_close(gt_code_store *store) {
  if (!store) return;
  for (int i = 0; i < STATEMENT_COUNT; i++) sqlite3_finalize(store->statements[i]);
  sqlite3_close(store->db);
  free(store);
}

static sqlite3_stmt *bind(gt_code_store *store, int which, const char *key, const char *source_hash) {
  sqlite3_stmt *statement = store->statements[which];
  sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
  sqlite3_bind_text(statement, 2, source_hash, -1, SQLITE_STATIC);
  return statement;
}

static bool run(sqlite3_stmt *statement) {
  bool good = sqlite3_step(statement) == SQLITE_DONE;
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return good;
}

bool gt_code_store_get(gt_code_store *store, const char *key, const char *source_hash, gt_buffer *code) {
  bool found = false;
  sqlite3_stmt *statement = bind(store, GET, key, source_hash);
  if (sqlite3_step(statement) == SQLITE_ROW) {
    const char *hash = (const char *)sqlite3_column_text(statement, 0);
    const void *blob = sqlite3_column_blob(statement, 1);
    int size = sqlite3_column_bytes(statement, 1);
    char actual[GT_HASH_SIZE] = "";
    if (hash && blob && size > 0) gt_hash(blob, (size_t)size, actual);
    found = *actual && strcmp(actual, hash) == 0;
    if (found) gt_buffer_append(code, blob, (size_t)size);
  }
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  if (found && !store->reading) {
    statement = bind(store, TOUCH, key, source_hash);
    sqlite3_bind_int64(statement, 3, (int64_t)time(NULL));
    (void)run(statement);
  }
  return found;
}

void gt_code_store_put(gt_code_store *store, const char *key, const char *source_hash, const void *code,
                       size_t size) {
  if (store->reading || size == 0 || size > MOST_BYTES || (int64_t)size > store->most) return;
  char hash[GT_HASH_SIZE];
  gt_hash(code, size, hash);
  sqlite3_stmt *statement = bind(store, PUT, key, source_hash);
  sqlite3_bind_int64(statement, 3, (int64_t)time(NULL));
  sqlite3_bind_text(statement, 4, hash, -1, SQLITE_STATIC);
  sqlite3_bind_blob64(statement, 5, code, size, SQLITE_STATIC);
  if (!run(statement)) return;
  store->total += (int64_t)size;
  // Other processes write too: what there really is is asked for when there seems to be too much.
  while (store->total > store->most) {
    statement = store->statements[TOTAL];
    bool known = sqlite3_step(statement) == SQLITE_ROW;
    if (known) store->total = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    if (!known || store->total <= store->most || !run(store->statements[EVICT])) break;
  }
}
