#include "cache/query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "generator/configuration.h"

const char *const gt_sql_text[GT_SQL_COUNT_OF_STATEMENTS] = {
#define X(name, sql) sql,
    GT_STATEMENT_LIST(X)
#undef X
};

gt_query gt_query_begin(gt_cache *cache, gt_sql sql) {
  gt_query query = {.cache = cache, .statement = cache->statements[sql]};
  // A visitor may come back for the very statement that is calling it.
  if (sqlite3_stmt_busy(query.statement)) {
    query.private = true;
    query.code = sqlite3_prepare_v2(cache->db, gt_sql_text[sql], -1, &query.statement, NULL);
  }
  return query;
}

void gt_query_end(gt_query *query) {
  if (query->private)
    sqlite3_finalize(query->statement);
  else {
    sqlite3_reset(query->statement);
    sqlite3_clear_bindings(query->statement);
  }
  query->statement = NULL;
}

static int parameter(gt_query *query, const char *name) {
  return sqlite3_bind_parameter_index(query->statement, name); // 0, which binding refuses, for an unknown one
}

static void keep(gt_query *query, int code) {
  if (query->code == SQLITE_OK) query->code = code;
}

void gt_bind_text(gt_query *query, const char *name, const char *value) {
  if (!value || gt_is_utf8(value)) {
    keep(query, sqlite3_bind_text(query->statement, parameter(query, name), value, -1, SQLITE_STATIC));
    return;
  }
  char *repaired = gt_strdup(value); // compilers and drivers say what they like
  gt_utf8_repair(repaired);
  keep(query, sqlite3_bind_text(query->statement, parameter(query, name), repaired, -1, SQLITE_TRANSIENT));
  free(repaired);
}

void gt_bind_blob(gt_query *query, const char *name, const void *value, size_t size) {
  keep(query, sqlite3_bind_blob64(query->statement, parameter(query, name), value, size, SQLITE_STATIC));
}

void gt_bind_int(gt_query *query, const char *name, int64_t value) {
  keep(query, sqlite3_bind_int64(query->statement, parameter(query, name), value));
}

void gt_bind_real(gt_query *query, const char *name, double value) {
  keep(query, sqlite3_bind_double(query->statement, parameter(query, name), value));
}

gt_status gt_query_step(gt_query *query, bool *row, gt_error *error) {
  *row = false;
  query->column = 0;
  query->bad = NULL;
  int code = query->code;
  if (code == SQLITE_OK) {
    code = sqlite3_step(query->statement);
    // A writer was killed since the cache was opened. This shows on the first step only: no writer touches
    // the file while a row is being read.
    if (code == SQLITE_READONLY_ROLLBACK && gt_store_recover(query->cache) == SQLITE_OK) {
      sqlite3_reset(query->statement);
      code = sqlite3_step(query->statement);
    }
  }
  if (code == SQLITE_DONE) return GT_OK;
  if (code == SQLITE_TOOBIG)
    return gt_fail(error, query->code == SQLITE_OK ? GT_CORRUPT : GT_USAGE,
                   "%s: a text, blob or row of more than %d MiB", query->cache->path, GT_VALUE_MOST >> 20);
  if (code != SQLITE_ROW)
    return gt_store_fail(query->cache, code, query->cache->mode == GT_CACHE_WRITE ? "using" : "reading",
                         error);
  *row = true;
  return GT_OK;
}

gt_status gt_query_run(gt_query *query, gt_error *error) {
  bool row = true;
  gt_status status = GT_OK;
  while (status == GT_OK && row) status = gt_query_step(query, &row, error);
  gt_query_end(query);
  return status;
}

void gt_column_bad(gt_query *query) {
  if (query->bad) return;
  const char *name = sqlite3_column_name(query->statement, query->column - 1);
  query->bad = name ? name : "?";
}

const char *gt_column_text_or_null(gt_query *query) {
  int column = query->column++;
  int type = sqlite3_column_type(query->statement, column);
  if (type == SQLITE_NULL) return NULL;
  const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_column_text(query->statement, column) : NULL;
  // A zero inside of a text would hide the rest of it; and what is no UTF-8 could not be exported.
  if (text && strlen(text) == (size_t)sqlite3_column_bytes(query->statement, column) && gt_is_utf8(text))
    return text;
  gt_column_bad(query);
  return "";
}

const char *gt_column_text(gt_query *query) {
  const char *text = gt_column_text_or_null(query);
  if (text) return text;
  gt_column_bad(query);
  return "";
}

bool gt_is_utc(const char *text) {
  static const char form[] = "0000-00-00T00:00:00Z";
  size_t i = 0;
  for (; form[i] && text[i]; i++)
    if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]) return false;
  return form[i] == text[i];
}

const char *gt_column_utc(gt_query *query) {
  const char *text = gt_column_text(query);
  if (gt_is_utc(text)) return text;
  gt_column_bad(query);
  return "0000-00-00T00:00:00Z";
}

const char *gt_column_configuration(gt_query *query) {
  const char *text = gt_column_text(query);
  if (!gt_is_configuration(text)) gt_column_bad(query);
  return text;
}

int64_t gt_column_int(gt_query *query, int64_t least, int64_t most) {
  int column = query->column++;
  int64_t value = sqlite3_column_int64(query->statement, column);
  if (sqlite3_column_type(query->statement, column) == SQLITE_INTEGER && value >= least && value <= most)
    return value;
  gt_column_bad(query);
  return least;
}

bool gt_is_time(double value) {
  return isfinite(value) && value >= 0;
}

double gt_column_real(gt_query *query) {
  int column = query->column++;
  double value = sqlite3_column_double(query->statement, column);
  if (sqlite3_column_type(query->statement, column) == SQLITE_FLOAT && gt_is_time(value)) return value;
  gt_column_bad(query);
  return 0;
}

const void *gt_column_blob(gt_query *query, size_t *size) {
  int column = query->column++;
  *size = 0;
  if (sqlite3_column_type(query->statement, column) != SQLITE_BLOB) {
    gt_column_bad(query);
    return NULL;
  }
  const void *blob = sqlite3_column_blob(query->statement, column);
  if (blob) *size = (size_t)sqlite3_column_bytes(query->statement, column);
  return blob;
}

gt_status gt_query_check(gt_query *query, gt_error *error) {
  if (!query->bad) return GT_OK;
  return gt_fail(error, GT_CORRUPT,
                 "%s: column \"%s\" of a row holds what this program would not have written",
                 query->cache->path, query->bad);
}
