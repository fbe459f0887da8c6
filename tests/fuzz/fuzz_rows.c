// A whole database whose rows hold what this program would not have written: lines of text say what.
//
//   TABLE.COLUMN=VALUE          all rows
//   TABLE.COLUMN@ROW=VALUE      the row of this id
//
// VALUE: null, a whole or real number, x and hexadecimal digits (a blob), or ' and a text to the end of the
// line, in which \n, \e and \0 stand for a line break, an escape and a zero byte. Lines that are none of this
// do nothing. The tables' own checks and types are taken away first, as anyone can.
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/database.h"

const unsigned fuzz_mutations = 5;

enum { MOST_LINES = 16 };

static void run(sqlite3 *db, const char *sql) {
  REQUIRE(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
}

// The good database without what would refuse a value.
static const gt_buffer *lenient_bytes(void) {
  static gt_buffer bytes;
  if (bytes.length) return &bytes;
  const char *path = fuzz_path("lenient.db");
  sqlite3 *db;
  fuzz_make_database(path);
  REQUIRE(sqlite3_open(path, &db) == SQLITE_OK, "cannot open %s", path);
  run(db,
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(replace(replace(sql, "
      "'STRICT, ', ''), 'STRICT', ''), 'NOT NULL', '') WHERE type = 'table'; PRAGMA writable_schema = RESET");
  sqlite3_close(db);
  REQUIRE(gt_buffer_read_file(&bytes, path), "cannot read %s", path);
  unlink(path);
  return &bytes;
}

static bool is_word(const char *text) {
  return *text && strspn(text, "abcdefghijklmnopqrstuvwxyz_") == strlen(text);
}

static size_t unescape(char *text) {
  size_t length = 0;
  for (const char *at = text; *at; at++) {
    char next = at[0] == '\\' ? at[1] : 0;
    bool escape = next == 'n' || next == 'e' || next == '0';
    text[length++] = !escape ? *at : next == 'n' ? '\n' : next == 'e' ? '\x1b' : 0;
    at += escape;
  }
  return length;
}

static int hex(char digit) {
  const char *digits = "0123456789abcdef", *found = digit ? strchr(digits, digit) : NULL;
  return found ? (int)(found - digits) : -1;
}

static bool bind(sqlite3_stmt *statement, char *value) {
  char *end;
  if (strcmp(value, "null") == 0) return sqlite3_bind_null(statement, 1) == SQLITE_OK;
  if (*value == '\'') {
    size_t length = unescape(value + 1);
    return sqlite3_bind_text(statement, 1, value + 1, (int)length, SQLITE_TRANSIENT) == SQLITE_OK;
  }
  if (*value == 'x') {
    size_t length = 0;
    for (const char *at = value + 1; hex(at[0]) >= 0 && hex(at[1]) >= 0; at += 2)
      value[length++] = (char)(hex(at[0]) << 4 | hex(at[1]));
    return sqlite3_bind_blob(statement, 1, value, (int)length, SQLITE_TRANSIENT) == SQLITE_OK;
  }
  errno = 0;
  long long whole = strtoll(value, &end, 10);
  if (*value && !*end && !errno) return sqlite3_bind_int64(statement, 1, whole) == SQLITE_OK;
  double real = strtod(value, &end);
  return *value && !*end && sqlite3_bind_double(statement, 1, real) == SQLITE_OK;
}

static void apply(sqlite3 *db, char *line) {
  char *value = strchr(line, '='), *dot = strchr(line, '.');
  if (!value || !dot || dot > value) return;
  *value++ = *dot++ = 0;
  char *row = strchr(dot, '@');
  if (row) *row++ = 0;
  if (!is_word(line) || !is_word(dot) ||
      (row && (!*row || strspn(row, "0123456789") != strlen(row) || strlen(row) > 9)))
    return;
  sqlite3_stmt *statement = NULL;
  char *sql = gt_print("UPDATE OR IGNORE \"%s\" SET \"%s\" = ?1%s%s", line, dot, row ? " WHERE rowid = " : "",
                       row ? row : "");
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && bind(statement, value))
    (void)sqlite3_step(statement);
  sqlite3_finalize(statement);
  free(sql);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_path("cache.db");
  const gt_buffer *good = lenient_bytes();
  char *text = fuzz_text(data, size), *state = NULL;
  sqlite3 *db;
  fuzz_write(path, good->data, good->length);
  REQUIRE(sqlite3_open(path, &db) == SQLITE_OK, "cannot open %s", path);
  run(db, "PRAGMA ignore_check_constraints = ON");
  int lines = 0;
  for (char *line = strtok_r(text, "\n", &state); line && lines < MOST_LINES;
       line = strtok_r(NULL, "\n", &state)) {
    apply(db, line);
    lines++;
  }
  sqlite3_close(db);
  free(text);
  fuzz_use_database(path);
  unlink(path);
  return 0;
}
