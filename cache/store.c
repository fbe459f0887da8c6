// Opening and closing the file, deciding whether it is ours, and transactions.
//
// The file may lie on a network file system and be shared by many nodes, so the journal is SQLite's oldest
// one: write-ahead logging needs memory that all users share.
#include "cache/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cache/query.h"

enum {
  BUSY_MS = 10000,
  READER_BUSY_MS = 2000,
  HEADER_SIZE = 100,
  WRITE_VERSION_AT = 18,
  READ_VERSION_AT = 19,
  USER_VERSION_AT = 60,
  APPLICATION_ID_AT = 68
};

static gt_status status_of(int code) {
  switch (code & 0xff) {
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
    return GT_CORRUPT;
  case SQLITE_NOMEM:
    return GT_OUT_OF_MEMORY;
  case SQLITE_CONSTRAINT:
  case SQLITE_TOOBIG:
    return GT_USAGE;
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
  case SQLITE_READONLY:
  case SQLITE_IOERR:
  case SQLITE_FULL:
  case SQLITE_CANTOPEN:
  case SQLITE_PERM:
  case SQLITE_AUTH:
  case SQLITE_NOLFS:
    return GT_IO;
  default:
    return GT_FAILED;
  }
}

gt_status gt_store_fail(gt_cache *cache, int code, const char *action, gt_error *error) {
  gt_status status = status_of(code);
  cache->failure = code;
  bool last = cache->db && sqlite3_extended_errcode(cache->db) == code;
  const char *reason = last ? sqlite3_errmsg(cache->db) : sqlite3_errstr(code);
  int system = status == GT_IO && last ? sqlite3_system_errno(cache->db) : 0;
  if (code == SQLITE_READONLY_ROLLBACK)
    reason = "a killed writer left a change half-written, and undoing it needs the right to write this file "
             "and folder";
  if (system) return gt_fail(error, status, "%s: %s: %s: %s", cache->path, action, reason, strerror(system));
  return gt_fail(error, status, "%s: %s: %s", cache->path, action, reason);
}

// The name by which SQLite neither locks a file nor looks for a journal beside it.
char *gt_store_immutable_name(const char *path) {
  gt_buffer name = {0};
  gt_buffer_print(&name, path[0] == '/' ? "file://" : "file:./");
  for (const char *at = path; *at; at++)
    if (strchr("?#% ", *at))
      gt_buffer_print(&name, "%%%02x", (unsigned)(unsigned char)*at);
    else
      gt_buffer_append(&name, at, 1);
  gt_buffer_print(&name, "?immutable=1");
  return name.data;
}

// Opens a connection. A leading "./" keeps SQLite from taking a relative path for one of its special names.
static int connect_to(const char *path, gt_cache_mode mode, sqlite3 **db) {
  bool immutable = mode == GT_CACHE_IMMUTABLE;
  char *name = immutable        ? gt_store_immutable_name(path)
               : path[0] == '/' ? gt_strdup(path)
                                : gt_print("./%s", path);
  int flags = SQLITE_OPEN_EXRESCODE | (immutable ? SQLITE_OPEN_URI : 0) |
              (mode == GT_CACHE_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
  int code = sqlite3_open_v2(name, db, flags, NULL);
  free(name);
  if (code == SQLITE_OK) code = sqlite3_busy_timeout(*db, mode == GT_CACHE_WRITE ? BUSY_MS : READER_BUSY_MS);
  return code;
}

static gt_status refuse(const char *path, gt_error *error) {
  return gt_fail(error, GT_CORRUPT, "%s: not a gathertune cache; it was left as it is", path);
}

static gt_status refuse_empty(const char *path, gt_error *error) {
  return gt_fail(error, GT_NOT_FOUND, "%s: there is nothing in this cache: the file is empty", path);
}

static gt_status refuse_newer(const char *path, int64_t version, gt_error *error) {
  return gt_fail(
      error, GT_NEWER_SCHEMA,
      "%s: made by a newer gathertune (cache version %lld, this one knows up to %d); it was left as it is: "
      "use the newer program, or another file through GATHERTUNE_CACHE",
      path, (long long)version, GT_SCHEMA_VERSION);
}

static int32_t big_endian(const unsigned char *bytes) {
  return (int32_t)((uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3]);
}

// It is read through SQLite's own handle, since closing another one would drop the locks that this process
// may hold on the file.
int gt_store_read_header(const char *path, bool immutable, gt_store_header *header) {
  unsigned char bytes[HEADER_SIZE] = {0};
  sqlite3 *db = NULL;
  sqlite3_file *file = NULL;
  sqlite3_int64 size = 0;
  *header = (gt_store_header){0};
  int code = connect_to(path, immutable ? GT_CACHE_IMMUTABLE : GT_CACHE_READ, &db);
  if (code == SQLITE_OK) code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code == SQLITE_OK && (!file || !file->pMethods)) code = SQLITE_CANTOPEN;
  if (code == SQLITE_OK) code = file->pMethods->xFileSize(file, &size);
  if (code == SQLITE_OK && size >= HEADER_SIZE) code = file->pMethods->xRead(file, bytes, HEADER_SIZE, 0);
  sqlite3_close(db);
  if (code != SQLITE_OK || memcmp(bytes, "SQLite format 3", 16) != 0) return code;
  header->application_id = big_endian(bytes + APPLICATION_ID_AT);
  header->version = big_endian(bytes + USER_VERSION_AT);
  header->write_ahead = bytes[WRITE_VERSION_AT] > 1 || bytes[READ_VERSION_AT] > 1;
  return SQLITE_OK;
}

// Looks at the header of an existing file before SQLite does: SQLite would roll back a foreign file's journal
// or fold in its log, and make a log and shared memory beside a file that says it has one.
static gt_status probe(gt_cache *cache, gt_error *error) {
  gt_store_header header;
  int code = gt_store_read_header(cache->path, cache->mode == GT_CACHE_IMMUTABLE, &header);
  if (code != SQLITE_OK) return gt_store_fail(cache, code, "opening", error);
  if (header.application_id != GT_SCHEMA_APPLICATION_ID) return refuse(cache->path, error);
  if (header.version > GT_SCHEMA_VERSION) return refuse_newer(cache->path, header.version, error);
  if (header.write_ahead)
    return gt_fail(
        error, GT_CORRUPT,
        "%s: another program has put it into write-ahead logging, in which nothing can be read without "
        "writing beside it; it was left as it is: sqlite3 FILE 'PRAGMA journal_mode = DELETE' undoes that",
        cache->path);
  return GT_OK;
}

gt_status gt_store_check_folder(const char *path, gt_error *error) {
  const char *slash = strrchr(path, '/');
  char *folder = slash ? gt_print("%.*s", (int)(slash - path + 1), path) : gt_strdup(".");
  gt_status status = GT_OK;
  if (access(folder, W_OK) != 0)
    status = gt_fail(error, GT_IO, "%s: the folder cannot be written: %s", path, strerror(errno));
  free(folder);
  return status;
}

// Says whether there is anything in the file, and makes the folders for one that is to be written.
static gt_status find_file(gt_cache *cache, bool *empty, gt_error *error) {
  const char *path = cache->path;
  bool reading = cache->mode != GT_CACHE_WRITE;
  struct stat info;
  *empty = true;
  if (stat(path, &info) == 0) {
    *empty = info.st_size == 0;
    if (!S_ISREG(info.st_mode)) return gt_fail(error, GT_IO, "%s: not a regular file", path);
    if (*empty && reading) return refuse_empty(path, error);
    if (access(path, R_OK) != 0)
      return gt_fail(error, GT_IO, "%s: cannot be read: %s", path, strerror(errno));
    return GT_OK;
  }
  if (!reading) {
    gt_status status = gt_cache_make_folders(path, error);
    return status == GT_OK ? gt_store_check_folder(path, error) : status;
  }
  if (errno == ENOENT || errno == ENOTDIR) return gt_fail(error, GT_NOT_FOUND, "%s: there is no cache", path);
  return gt_fail(error, GT_IO, "%s: %s", path, strerror(errno));
}

int gt_store_ask(sqlite3 *db, const char *sql, int64_t *answer) {
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  if (code == SQLITE_ROW) *answer = sqlite3_column_int64(statement, 0);
  int final = sqlite3_finalize(statement);
  return code == SQLITE_ROW ? final : code == SQLITE_DONE ? SQLITE_ERROR : code;
}

int gt_store_distrust(sqlite3 *db) {
  int code = sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  if (code == SQLITE_OK) code = sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  if (code == SQLITE_OK) code = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  if (code == SQLITE_OK) code = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  if (code == SQLITE_OK) code = sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
  // Nothing that this program writes is nearly as long; a schema may make more out of a few bytes.
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, GT_VALUE_MOST);
  return code;
}

// SQLite opens a file that it may not write for reading, and notices a folder without room for a journal only
// at the first change: a run that measures for hours is to know before.
static gt_status check_writable(const gt_cache *cache, gt_error *error) {
  gt_status status = gt_store_check_folder(cache->path, error);
  if (status == GT_OK && sqlite3_db_readonly(cache->db, "main"))
    status = gt_fail(error, GT_IO, "%s: cannot be written: %s", cache->path,
                     access(cache->path, W_OK) != 0 ? strerror(errno) : "opened for reading only");
  return status;
}

// Fills a file that is empty, unless another process has done so meanwhile.
static gt_status create(gt_cache *cache, gt_error *error) {
  gt_status status = gt_store_begin(cache, error);
  if (status != GT_OK) return status;
  int64_t tables = 0;
  int code = gt_store_ask(cache->db, "SELECT count(*) FROM sqlite_schema", &tables);
  if (code == SQLITE_OK && tables == 0) code = sqlite3_exec(cache->db, gt_schema_sql, NULL, NULL, NULL);
  if (code != SQLITE_OK) status = gt_store_fail(cache, code, "making the tables", error);
  return gt_store_end(cache, status, error);
}

// Whether there is nothing in the database after all: a writer was killed while it made the tables.
static gt_status is_blank(gt_cache *cache, bool *blank, gt_error *error) {
  int64_t pages = 0;
  int code = gt_store_ask(cache->db, "PRAGMA page_count", &pages);
  if (code == SQLITE_READONLY_ROLLBACK) {
    code = gt_store_recover(cache);
    if (code == SQLITE_OK) code = gt_store_ask(cache->db, "PRAGMA page_count", &pages);
  }
  *blank = pages == 0;
  return code == SQLITE_OK ? GT_OK : gt_store_fail(cache, code, "opening", error);
}

static gt_status identify(gt_cache *cache, gt_error *error) {
  int64_t application_id = 0, version = 0;
  int code = gt_store_ask(cache->db, "PRAGMA application_id", &application_id);
  if (code == SQLITE_OK) code = gt_store_ask(cache->db, "PRAGMA user_version", &version);
  if (code != SQLITE_OK) return gt_store_fail(cache, code, "opening", error);
  if (application_id != GT_SCHEMA_APPLICATION_ID) return refuse(cache->path, error);
  if (version > GT_SCHEMA_VERSION) return refuse_newer(cache->path, version, error);
  if (version < 1)
    return gt_fail(error, GT_CORRUPT, "%s: there never was a cache version %lld", cache->path,
                   (long long)version);
  return version < GT_SCHEMA_VERSION ? gt_store_migrate(cache, error) : GT_OK;
}

gt_status gt_store_prepare(gt_cache *cache, gt_error *error) {
  for (int i = 0; i < GT_SQL_COUNT_OF_STATEMENTS; i++) {
    if (cache->statements[i]) continue;
    int code = sqlite3_prepare_v3(cache->db, gt_sql_text[i], -1, SQLITE_PREPARE_PERSISTENT,
                                  &cache->statements[i], NULL);
    if ((code & 0xff) == SQLITE_ERROR || (code & 0xff) == SQLITE_AUTH) // a table or a column is not there
      return gt_fail(error, GT_CORRUPT, "%s: not the tables of a gathertune cache: %s", cache->path,
                     sqlite3_errmsg(cache->db));
    if (code != SQLITE_OK) return gt_store_fail(cache, code, "opening", error);
  }
  return GT_OK;
}

// Whether a file could not be read because it could not be locked.
static bool is_locked(int code) {
  return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_PROTOCOL || (code & 0xff) == SQLITE_NOLFS ||
         code == SQLITE_IOERR_LOCK || code == SQLITE_IOERR_RDLOCK || code == SQLITE_IOERR_CHECKRESERVEDLOCK;
}

// Whether the file system cannot lock the file at all, as NFS without a lock daemon. SQLite takes that for a file that
// is in use, would wait for its turn, and keeps no system error for it: that of its last call is still there. *reason:
// strerror's.
static bool is_without_locks(const gt_cache *cache, int *reason) {
  sqlite3_file *file = NULL;
  if (cache->mode == GT_CACHE_IMMUTABLE ||
      sqlite3_file_control(cache->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file ||
      !file->pMethods)
    return false;
  errno = 0;
  int code = file->pMethods->xLock(file, SQLITE_LOCK_SHARED);
  *reason = errno;
  if (code == SQLITE_OK) (void)file->pMethods->xUnlock(file, SQLITE_LOCK_NONE);
  return code != SQLITE_OK && (*reason == ENOLCK || *reason == ENOSYS || *reason == EOPNOTSUPP);
}

static gt_status refuse_without_locks(gt_cache *cache, int reason, gt_error *error) {
  cache->failure = SQLITE_IOERR_LOCK;
  return gt_fail(error, GT_IO,
                 "%s: cannot be locked: %s: writing it needs locks, which its file system does not have: name a "
                 "cache on another file system with --cache or GATHERTUNE_CACHE",
                 cache->path, strerror(reason));
}

gt_status gt_cache_open(const char *path, gt_cache_mode mode, gt_cache **result, gt_error *error) {
  *result = NULL;
  if (!path || !path[0]) return gt_fail(error, GT_USAGE, "the cache's path is empty");
  gt_cache *cache = gt_alloc(sizeof *cache);
  cache->path = gt_strdup(path);
  cache->mode = mode;

  bool empty;
  gt_status status = find_file(cache, &empty, error);
  if (status == GT_OK && !empty) status = probe(cache, error);
  if (status != GT_OK) goto done;

  int code = connect_to(path, mode, &cache->db);
  int reason;
  if (code == SQLITE_OK && is_without_locks(cache, &reason)) {
    status = refuse_without_locks(cache, reason, error);
    if (mode == GT_CACHE_WRITE && empty) unlink(path); // that was just made
    goto done;
  }
  if (code == SQLITE_OK) code = gt_store_distrust(cache->db);
  if (code == SQLITE_OK && mode == GT_CACHE_WRITE)
    code = sqlite3_exec(cache->db,
                        "PRAGMA foreign_keys = ON; PRAGMA journal_mode = DELETE; PRAGMA synchronous = NORMAL",
                        NULL, NULL, NULL);
  if (code != SQLITE_OK) {
    status = gt_store_fail(cache, code, "opening", error);
    goto done;
  }
  if (mode == GT_CACHE_WRITE) status = check_writable(cache, error);
  if (status == GT_OK) status = is_blank(cache, &empty, error);
  if (status == GT_OK && empty)
    status = mode == GT_CACHE_WRITE ? create(cache, error) : refuse_empty(path, error);
  if (status == GT_OK) status = identify(cache, error);
  if (status == GT_OK) status = gt_store_prepare(cache, error);

done:;
  bool locked = status != GT_OK && is_locked(cache->failure);
  if (status == GT_OK)
    *result = cache;
  else
    gt_cache_close(cache);
  return locked && mode == GT_CACHE_READ ? gt_cache_open(path, GT_CACHE_IMMUTABLE, result, error) : status;
}

void gt_cache_close(gt_cache *cache) {
  if (!cache) return;
  for (int i = 0; i < GT_SQL_COUNT_OF_STATEMENTS; i++) sqlite3_finalize(cache->statements[i]);
  sqlite3_close(cache->db);
  free(cache->path);
  free(cache);
}

const char *gt_cache_path(const gt_cache *cache) {
  return cache->path;
}

int gt_store_recover(const gt_cache *cache) {
  sqlite3 *db = NULL;
  int64_t tables;
  int code = connect_to(cache->path, GT_CACHE_WRITE, &db);
  if (code == SQLITE_OK) code = gt_store_ask(db, "SELECT count(*) FROM sqlite_schema", &tables);
  sqlite3_close(db);
  return code;
}

void gt_cache_take_turns(gt_cache *cache, pthread_mutex_t *turn) {
  cache->turn = turn;
}

static void pass_turn(gt_cache *cache) {
  if (cache->has_turn) pthread_mutex_unlock(cache->turn);
  cache->has_turn = false;
}

gt_status gt_store_begin(gt_cache *cache, gt_error *error) {
  if (cache->mode != GT_CACHE_WRITE) return gt_fail(error, GT_IO, "%s: opened for reading only", cache->path);
  if (cache->several) return GT_OK;
  if (cache->turn) pthread_mutex_lock(cache->turn);
  cache->has_turn = cache->turn;
  // Immediate: two writers that both began by reading could not wait for each other.
  int code = sqlite3_exec(cache->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
  if (code == SQLITE_OK) return GT_OK;
  pass_turn(cache);
  return gt_store_fail(cache, code, "writing", error);
}

gt_status gt_store_end(gt_cache *cache, gt_status status, gt_error *error) {
  if (cache->several) return status; // gt_cache_end undoes all
  if (status == GT_OK) {
    int code = sqlite3_exec(cache->db, "COMMIT", NULL, NULL, NULL);
    if (code != SQLITE_OK) status = gt_store_fail(cache, code, "writing", error);
  }
  // A full disk, for one, has ended the transaction already.
  if (status != GT_OK && !sqlite3_get_autocommit(cache->db))
    sqlite3_exec(cache->db, "ROLLBACK", NULL, NULL, NULL);
  pass_turn(cache);
  return status;
}

gt_status gt_cache_begin(gt_cache *cache, gt_error *error) {
  gt_status status = gt_store_begin(cache, error);
  cache->several = status == GT_OK;
  return status;
}

gt_status gt_cache_end(gt_cache *cache, gt_status status, gt_error *error) {
  cache->several = false;
  return gt_store_end(cache, status, error);
}

void gt_store_utc(char text[GT_UTC_SIZE]) {
  time_t now = time(NULL);
  struct tm parts;
  gmtime_r(&now, &parts);
  strftime(text, GT_UTC_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

gt_status gt_cache_count(gt_cache *cache, gt_cache_counts *counts, gt_error *error) {
  *counts = (gt_cache_counts){0};
  gt_query query = gt_query_begin(cache, GT_SQL_COUNT);
  bool row;
  gt_status status = gt_query_step(&query, &row, error);
  if (status == GT_OK) {
    counts->models = gt_column_int(&query, 0, INT64_MAX);
    counts->devices = gt_column_int(&query, 0, INT64_MAX);
    counts->problems = gt_column_int(&query, 0, INT64_MAX);
    counts->trials = gt_column_int(&query, 0, INT64_MAX);
    counts->winners = gt_column_int(&query, 0, INT64_MAX);
    status = gt_query_check(&query, error);
  }
  gt_query_end(&query);
  return status;
}
