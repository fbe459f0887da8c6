// A folder with one file for each code object, named by its hash, and a manifest that tells which problems it
// serves and how its kernels are launched.
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "exchange/export.h"
#include "exchange/order.h"

static const char *suffix(const char *backend) {
  if (strcmp(backend, "hip") == 0) return "hsaco";
  return strcmp(backend, "cuda") == 0 ? "cubin" : "bin";
}

static gt_status write_object(const char *folder, const char *name, const gt_winner *winner, json_t *names,
                              gt_export_counts *counts, gt_error *error) {
  if (json_object_get(names, name)) return GT_OK; // one serves several problems
  json_object_set_new(names, name, json_true());
  char *path = gt_print("%s/%s", folder, name);
  gt_status status = gt_export_file(path, winner->code, winner->code_size, error);
  counts->files += status == GT_OK;
  free(path);
  return status;
}

gt_status gt_export_objects(gt_collection *c, const gt_export_options *options, gt_export_counts *counts,
                            gt_error *error) {
  json_t *entries = json_array(), *names = json_object();
  gt_collection_sort(c);
  gt_status status = gt_export_folder(options->path, error);
  for (size_t i = 0; i < c->n_winners && status == GT_OK; i++) {
    const gt_winner *w = &c->winners[i].winner;
    const gt_fingerprint *device = &c->devices[c->winners[i].device];
    if (!w->code) continue; // the configuration alone is known
    char *name = gt_print("%s.%s", w->code_hash, suffix(device->backend));
    status = write_object(options->path, name, w, names, counts, error);
    json_array_append_new(entries,
                          json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:I, s:o, s:f, s:s, s:s}", "problem",
                                    w->problem, "model", w->device, "arch", device->arch, "compute_units",
                                    device->compute_units, "file", name, "hash", w->code_hash, "bytes",
                                    (json_int_t)w->code_size, "variant", gt_variant_to_json(&w->variant),
                                    "median_us", w->median_us, "compiler", w->compiler, "driver", w->driver));
    counts->winners++;
    free(name);
  }
  if (status == GT_OK) {
    json_t *manifest =
        json_pack("{s:s, s:i, s:O}", "format", "gathertune objects", "version", 1, "objects", entries);
    char *dump = json_dumps(manifest, JSON_INDENT(1) | JSON_REAL_PRECISION(17)),
         *path = gt_print("%s/manifest.json", options->path);
    status = gt_export_file(path, dump, strlen(dump), error);
    counts->files++;
    free(path);
    free(dump);
    json_decref(manifest);
  }
  json_decref(entries);
  json_decref(names);
  return status;
}
