#include "cli/table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

struct gt_table {
  char *alignment;
  size_t columns;
  char **cells; // row by row, the headings first
  size_t count, capacity;
};

size_t gt_text_width(const char *text) {
  size_t width = 0;
  for (; *text; text++)
    if (((unsigned char)*text & 0xC0) != 0x80) width++; // continuation bytes take no room
  return width;
}

static void add(gt_table *table, char *text) {
  if (table->count == table->capacity) {
    table->capacity = table->capacity ? 2 * table->capacity : 64;
    table->cells = gt_realloc(table->cells, table->capacity * sizeof *table->cells);
  }
  table->cells[table->count++] = text;
}

gt_table *gt_table_new(const char *headings, const char *alignment) {
  gt_table *table = gt_alloc(sizeof *table);
  table->alignment = gt_strdup(alignment);
  table->columns = strlen(alignment);
  for (size_t i = 0; i < table->columns; i++) {
    size_t length = strcspn(headings, "|");
    add(table, gt_print("%.*s", (int)length, headings));
    headings += length + (headings[length] == '|');
  }
  return table;
}

void gt_table_cell(gt_table *table, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = NULL;
  if (vasprintf(&text, format, arguments) < 0) abort();
  va_end(arguments);
  for (char *c = text; *c; c++) // a cell is of one line, and commands nothing to a terminal
    if (iscntrl((unsigned char)*c)) *c = '?';
  add(table, text);
}

void gt_table_heading(gt_table *table, size_t column, const char *text) {
  free(table->cells[column]);
  table->cells[column] = gt_strdup(text);
}

size_t gt_table_rows(const gt_table *table) {
  return table->count / table->columns - 1;
}

static size_t column_width(const gt_table *table, size_t column) {
  size_t widest = 0;
  for (size_t i = column; i < table->count; i += table->columns) {
    size_t width = gt_text_width(table->cells[i]);
    if (width > widest) widest = width;
  }
  return widest;
}

void gt_table_print(const gt_table *table, FILE *stream) {
  size_t *widths = gt_alloc(table->columns * sizeof *widths);
  for (size_t c = 0; c < table->columns; c++) widths[c] = column_width(table, c);
  for (size_t i = 0; i < table->count; i++) {
    size_t c = i % table->columns;
    bool last = c + 1 == table->columns;
    int gap = (int)(widths[c] - gt_text_width(table->cells[i]));
    bool right = table->alignment[c] == 'r';
    // Nothing is padded at the end of a line.
    fprintf(stream, "%*s%s%*s%s", right ? gap : 0, "", table->cells[i], right || last ? 0 : gap, "",
            last ? "\n" : "  ");
  }
  free(widths);
}

void gt_table_free(gt_table *table) {
  if (!table) return;
  for (size_t i = 0; i < table->count; i++) free(table->cells[i]);
  free(table->cells);
  free(table->alignment);
  free(table);
}
