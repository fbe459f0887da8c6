// The caches that a program looks into, one over the other: those of the system, then the user's.
#ifndef GT_RUNTIME_LAYERS_H
#define GT_RUNTIME_LAYERS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "cache/cache.h"
#include "cache/code_store.h"

#define GT_SYSTEM_CACHES "/usr/share/gathertune" // a folder of *.db

typedef struct {
  char *path;
  gt_cache *cache;      // NULL: there is none yet, or it cannot be read
  gt_code_store *store; // of code objects beside it; NULL: none
  bool system;          // nobody changes it: read without locks
  bool trusted;       // code objects may be taken from it: nobody but its owner can write it, or it was named
  bool store_trusted; // the same of the store's file
} gt_layer;

// From the least to the most important.
typedef struct {
  gt_layer *list;
  size_t count;
  gt_buffer notes; // lines about what was passed over
} gt_layers;

typedef struct {
  const char *const *caches; // NULL: the system's, and the user's
  size_t n_caches;
  const char *const *trusted; // files that others may write to and whose code is taken all the same
  size_t n_trusted;
  bool keep; // the last layer's store of code objects is to be written: it is made if need be
} gt_layers_options;

// Opens what there is: a layer that cannot be read is noted and passed over, one that is not there is noted
// if it was named. GT_USAGE only when there is no place for the user's cache. Not safe to share between
// threads.
gt_status gt_layers_open(const gt_layers_options *options, gt_layers *layers, gt_error *error);
void gt_layers_close(gt_layers *layers); // harmless on zeroed ones

// The system's caches alone, to which the caller adds its own.
void gt_layers_open_system(const gt_layers_options *options, gt_layers *layers);
// Adds a cache that is open already, as the most important one; it is closed with the others.
void gt_layers_add(gt_layers *layers, gt_cache *cache, const gt_layers_options *options);

// Opens what has come to be at the last layer's path since it was looked at.
void gt_layers_look_again(gt_layers *layers, const gt_layers_options *options);

#endif
