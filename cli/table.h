// Aligned text tables. Widths are counted in characters of UTF-8, so that µs takes two columns.
#ifndef GT_CLI_TABLE_H
#define GT_CLI_TABLE_H

#include <stddef.h>
#include <stdio.h>

typedef struct gt_table gt_table;

// Columns are separated by '|' in `headings`; `alignment` has one letter for each: 'l' or 'r'.
gt_table *gt_table_new(const char *headings, const char *alignment);
// Adds the next cell, from left to right; after the last column a new row begins.
void gt_table_cell(gt_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gt_table_heading(gt_table *table, size_t column, const char *text); // instead of the one that it was made with
size_t gt_table_rows(const gt_table *table); // without the headings
void gt_table_print(const gt_table *table, FILE *stream);
void gt_table_free(gt_table *table); // harmless on NULL

size_t gt_text_width(const char *text); // characters of UTF-8

#endif
