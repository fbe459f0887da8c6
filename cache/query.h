// Running one named statement: binding its values, stepping through its rows, and reading columns that nobody
// vouches for.
//
// A query keeps its first error, so that bindings and column reads need no check of their own: gt_query_step
// reports a failed binding, gt_query_check a column that holds what this program would not have written.
#ifndef GT_CACHE_QUERY_H
#define GT_CACHE_QUERY_H

#include "cache/store.h"

typedef struct {
  gt_cache *cache;
  sqlite3_stmt *statement;
  bool private;    // compiled for this query, since the cache's own was in use
  int code;        // first SQLite error
  int column;      // the next one to be read
  const char *bad; // name of the first column of the row that was not as it should be
} gt_query;

gt_query gt_query_begin(gt_cache *cache, gt_sql sql);
void gt_query_end(gt_query *query);

// `name` is as in the statement's text, ":name". What is no UTF-8 in a text becomes question marks. Texts and
// blobs must live until the query ends.
void gt_bind_text(gt_query *query, const char *name, const char *value); // NULL is SQL's NULL
void gt_bind_blob(gt_query *query, const char *name, const void *value, size_t size);
void gt_bind_int(gt_query *query, const char *name, int64_t value);
void gt_bind_real(gt_query *query, const char *name, double value);

// The next row. *row says whether there is one.
gt_status gt_query_step(gt_query *query, bool *row, gt_error *error);
// For a statement that returns nothing: steps to its end, ends the query.
gt_status gt_query_run(gt_query *query, gt_error *error);

// The row's columns, each call the next one. What a bad column returns is harmless ("" or the smallest legal
// number).
const char *gt_column_text(gt_query *query);         // valid until the next step
const char *gt_column_text_or_null(gt_query *query); // NULL for SQL's NULL
const char *gt_column_configuration(gt_query *query); // a text as gt_is_configuration wants it
const char *gt_column_utc(gt_query *query);           // a text as gt_is_utc wants it
int64_t gt_column_int(gt_query *query, int64_t least, int64_t most);
double gt_column_real(gt_query *query);                    // as gt_is_time
const void *gt_column_blob(gt_query *query, size_t *size); // valid until the next step
void gt_column_bad(gt_query *query); // marks the column that was just read, which only the caller can judge

bool gt_is_utc(const char *text); // of the form "2025-01-31T12:00:00Z": times of day are compared as texts
bool gt_is_time(double value); // finite, not negative: what every real number in the cache is

// GT_CORRUPT, naming the column, when one was bad.
gt_status gt_query_check(gt_query *query, gt_error *error);

#endif
