// The formats that a collection can be written in: a table of one function each.
#ifndef GT_EXCHANGE_EXPORT_H
#define GT_EXCHANGE_EXPORT_H

#include "base/buffer.h"
#include "exchange/collection.h"
#include "generator/generator.h"

typedef struct {
  const char *path;        // where it goes; NULL or "-": standard output, for formats that are one text
  bool no_code;            // json: without code objects
  const char *prefix;      // c: what the names of the source begin with; NULL: tuned
  gt_generator *generator; // tells which families are candidates
} gt_export_options;

// What is said about an export after it was made.
typedef struct {
  size_t winners, trials, files;
} gt_export_counts;

typedef struct {
  const char *name, *summary;
  bool wants_trials, wants_winners;
  bool wants_deterministic; // also the best beside winners whose results repeat
  bool to_path;             // makes a file or folder of its own: --output is needed
  gt_status (*write)(gt_collection *collection, const gt_export_options *options, gt_export_counts *counts,
                     gt_error *error);
} gt_format;

const gt_format *gt_format_at(size_t index);       // NULL past the end
const gt_format *gt_format_find(const char *name); // NULL when unknown

// For formats: writes a whole text to the path, or to standard output.
gt_status gt_export_text(const gt_buffer *text, const gt_export_options *options, gt_error *error);
// Writes a file that must not be there yet; nothing half-written is left behind. GT_IO with path and reason.
gt_status gt_export_file(const char *path, const void *data, size_t size, gt_error *error);

// A new, empty folder. GT_IO when there is anything of that name that is no empty folder.
gt_status gt_export_folder(const char *path, gt_error *error);

#define GT_EXPORT(name) \
  gt_status name(gt_collection *, const gt_export_options *, gt_export_counts *, gt_error *)
GT_EXPORT(gt_export_json);
GT_EXPORT(gt_export_t4);
GT_EXPORT(gt_export_csv);
GT_EXPORT(gt_export_bundle);
GT_EXPORT(gt_export_objects);
GT_EXPORT(gt_export_c);

#endif
