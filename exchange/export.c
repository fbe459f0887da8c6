#include "exchange/export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exchange/json.h"

static const gt_format formats[] = {
    {.name = "json",
     .summary = "everything, to import again (docs/exchange.md)",
     .wants_trials = true,
     .wants_winners = true,
     .wants_deterministic = true,
     .write = gt_export_json},
    {.name = "t4",
     .summary = "trials as T4 JSON, for Kernel Tuner and replay; several problems: a folder",
     .wants_trials = true,
     .write = gt_export_t4},
    {.name = "csv",
     .summary = "winners, one line for a problem",
     .wants_winners = true,
     .write = gt_export_csv},
    {.name = "bundle",
     .summary = "winners and code objects as a read-only cache, to ship",
     .wants_winners = true,
     .wants_deterministic = true,
     .to_path = true,
     .write = gt_export_bundle},
    {.name = "objects",
     .summary = "a folder with a file for each code object, and a manifest",
     .wants_winners = true,
     .to_path = true,
     .write = gt_export_objects},
    {.name = "c",
     .summary = "a C source with HIP code objects and a launcher, for the HIP runtime alone",
     .wants_winners = true,
     .write = gt_export_c},
};

const gt_format *gt_format_at(size_t index) {
  return index < sizeof formats / sizeof formats[0] ? &formats[index] : NULL;
}

const gt_format *gt_format_find(const char *name) {
  const gt_format *format;
  for (size_t i = 0; (format = gt_format_at(i)); i++)
    if (strcmp(format->name, name) == 0) return format;
  return NULL;
}

gt_status gt_export_file(const char *path, const void *data, size_t size, gt_error *error) {
  // Written aside and renamed, so that a reader never sees half of it; a name that is there already, which
  // may be no plain file (/dev/stdout), is written to as it is.
  bool aside = access(path, F_OK) != 0;
  char *name = aside ? gt_print("%s.%ld", path, (long)getpid()) : gt_strdup(path);
  FILE *file = fopen(name, "wb");
  bool written = file && (size == 0 || fwrite(data, size, 1, file) == 1);
  int reason = errno;
  if (file && fclose(file) != 0 && written) {
    written = false;
    reason = errno;
  }
  if (written && aside && rename(name, path) != 0) {
    written = false;
    reason = errno;
  }
  if (!written && aside) unlink(name);
  free(name);
  return written ? GT_OK : gt_fail(error, GT_IO, "cannot write %s: %s", path, strerror(reason));
}

gt_status gt_export_folder(const char *path, gt_error *error) {
  if (mkdir(path, 0777) == 0) return GT_OK;
  // An empty folder cannot be told from a new one; anything else is not ours to add to.
  if (errno == EEXIST && rmdir(path) == 0 && mkdir(path, 0777) == 0) return GT_OK;
  return gt_fail(error, GT_IO, "cannot make the folder %s: %s", path, strerror(errno));
}

gt_status gt_export_text(const gt_buffer *text, const gt_export_options *options, gt_error *error) {
  if (options->path && strcmp(options->path, "-") != 0)
    return gt_export_file(options->path, text->data, text->length, error);
  if (fwrite(text->data, text->length, 1, stdout) == 1 && fflush(stdout) == 0) return GT_OK;
  return gt_fail(error, GT_IO, "cannot write to standard output: %s", strerror(errno));
}

gt_status gt_export_json(gt_collection *collection, const gt_export_options *options,
                         gt_export_counts *counts, gt_error *error) {
  gt_buffer text = {0};
  gt_json_print(collection, !options->no_code, &text);
  *counts = (gt_export_counts){gt_collection_count_winners(collection), collection->n_trials, 1};
  gt_status status = gt_export_text(&text, options, error);
  gt_buffer_free(&text);
  return status;
}
