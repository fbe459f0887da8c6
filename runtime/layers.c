#include "runtime/layers.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_named(const gt_layers_options *options, const char *path) {
  for (size_t i = 0; i < options->n_trusted; i++)
    if (strcmp(options->trusted[i], path) == 0) return true;
  const char *list = getenv("GATHERTUNE_TRUST");
  for (const char *at = list ? list : ""; *at; at += strcspn(at, ":"), at += *at == ':')
    if (strcspn(at, ":") == strlen(path) && strncmp(at, path, strlen(path)) == 0) return true;
  return false;
}

// Whether code may be taken from a file: it will run in this process's device context with all of its data.
// `named`: the file that would have to be named.
static bool may_run(const gt_layers_options *options, const char *path, const char *named, gt_buffer *notes) {
  struct stat info;
  if (stat(path, &info) != 0) return false;
  if (!(info.st_mode & (S_IWGRP | S_IWOTH)) || is_named(options, named)) return true;
  gt_buffer_print(notes,
                  "%s: its %s may write to it, so no code is taken from it; take that right away, or name %s "
                  "as trusted\n",
                  path, info.st_mode & S_IWOTH ? "group or all others" : "group", named);
  return false;
}

static void open_store(gt_layer *layer, const gt_layers_options *options, bool keep, gt_buffer *notes) {
  char *path = gt_code_store_path(layer->path);
  gt_error error = {0};
  gt_status status = GT_IO;
  if (keep) status = gt_code_store_open(path, GT_CODE_STORE_BYTES, &layer->store, &error);
  if (status != GT_OK && keep) gt_buffer_print(notes, "%s: code objects are not kept\n", error.text);
  if (status != GT_OK) status = gt_code_store_open_reader(path, layer->system, &layer->store, &error);
  if (status != GT_OK && status != GT_NOT_FOUND && !keep) gt_buffer_print(notes, "%s\n", error.text);
  layer->store_trusted = layer->store && may_run(options, path, layer->path, notes);
  free(path);
}

static gt_layer *push(gt_layers *layers, const char *path) {
  layers->list = gt_realloc(layers->list, (layers->count + 1) * sizeof *layers->list);
  gt_layer *layer = &layers->list[layers->count++];
  *layer = (gt_layer){.path = gt_strdup(path)};
  return layer;
}

static void add(gt_layers *layers, const char *path, bool system, bool named, bool keep,
                const gt_layers_options *options) {
  gt_error error = {0};
  gt_layer *layer = push(layers, path);
  layer->system = system;
  gt_status status = gt_cache_open(path, system ? GT_CACHE_IMMUTABLE : GT_CACHE_READ, &layer->cache, &error);
  if (status != GT_OK && (status != GT_NOT_FOUND || named))
    gt_buffer_print(&layers->notes, "%s\n", error.text);
  layer->trusted = layer->cache && may_run(options, path, path, &layers->notes);
  open_store(layer, options, keep, &layers->notes);
}

void gt_layers_open_system(const gt_layers_options *options, gt_layers *layers) {
  *layers = (gt_layers){0};
  const char *list = getenv("GATHERTUNE_SYSTEM_CACHE");
  if (list) {
    for (const char *at = list; *at; at += strcspn(at, ":"), at += *at == ':') {
      char *path = gt_print("%.*s", (int)strcspn(at, ":"), at);
      if (*path) add(layers, path, true, true, false, options);
      free(path);
    }
    return;
  }
  glob_t found;
  if (glob(GT_SYSTEM_CACHES "/*.db", 0, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; i++) add(layers, found.gl_pathv[i], true, true, false, options);
    globfree(&found);
  }
}

void gt_layers_add(gt_layers *layers, gt_cache *cache, const gt_layers_options *options) {
  gt_layer *layer = push(layers, gt_cache_path(cache));
  layer->cache = cache;
  layer->trusted = may_run(options, layer->path, layer->path, &layers->notes);
  open_store(layer, options, false, &layers->notes);
}

gt_status gt_layers_open(const gt_layers_options *options, gt_layers *layers, gt_error *error) {
  *layers = (gt_layers){0};
  for (size_t i = 0; options->caches && i < options->n_caches; i++)
    add(layers, options->caches[i], false, !options->keep || i + 1 < options->n_caches,
        options->keep && i + 1 == options->n_caches, options);
  if (options->caches) return GT_OK;
  gt_layers_open_system(options, layers);
  char *path = NULL;
  gt_error failure = {0};
  gt_status status = gt_cache_default_path(&path, &failure);
  if (status == GT_OK) {
    // A store of code objects alone would be of use, too, so its folder is made.
    if (options->keep && gt_cache_make_folders(path, &failure) != GT_OK)
      gt_buffer_print(&layers->notes, "%s\n", failure.text);
    add(layers, path, false, false, options->keep, options);
  }
  free(path);
  // Programs of users without a home are served from the system's caches.
  if (status == GT_OK || layers->count || !options->keep) return GT_OK;
  return gt_fail(error, status, "%s", failure.text);
}

void gt_layers_look_again(gt_layers *layers, const gt_layers_options *options) {
  if (layers->count == 0) return;
  gt_layer *last = &layers->list[layers->count - 1];
  gt_error error;
  gt_buffer unheard = {0}; // the notes are those of opening
  if (!last->cache && gt_cache_open(last->path, GT_CACHE_READ, &last->cache, &error) == GT_OK)
    last->trusted = may_run(options, last->path, last->path, &unheard);
  gt_buffer_free(&unheard);
}

void gt_layers_close(gt_layers *layers) {
  for (size_t i = 0; i < layers->count; i++) {
    gt_cache_close(layers->list[i].cache);
    gt_code_store_close(layers->list[i].store);
    free(layers->list[i].path);
  }
  free(layers->list);
  gt_buffer_free(&layers->notes);
  *layers = (gt_layers){0};
}
