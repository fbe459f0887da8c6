// Code objects by what they were compiled from, so that no later run compiles the same source again: an
// SQLite file beside the tuning cache. It may be deleted at any time; what was used longest ago leaves it by
// itself when it grows beyond its bound. Winners keep their code objects in the cache itself.
#ifndef GT_CACHE_CODE_STORE_H
#define GT_CACHE_CODE_STORE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/status.h"
#include "device/fingerprint.h"

#define GT_CODE_STORE_BYTES ((int64_t)512 << 20) // of code objects together

typedef struct gt_code_store gt_code_store;

// "CACHE.code", a new string.
char *gt_code_store_path(const char *cache_path);

// Opens the store, or makes it. `most`: bytes of code objects that it may hold. GT_CORRUPT: the file is
// something else, which is left as it is. GT_IO: it cannot be opened or made, with the reason.
gt_status gt_code_store_open(const char *path, int64_t most, gt_code_store **store, gt_error *error);
// Opens an existing store for reading; nothing is written to it, or beside it. `immutable`: nobody else changes it, either,
// and no locks are needed. GT_NOT_FOUND when there is none; else as above.
gt_status gt_code_store_open_reader(const char *path, bool immutable, gt_code_store **store, gt_error *error);
void gt_code_store_close(gt_code_store *store); // harmless on NULL

// What a code object depends on beside its source: back end, architecture, compiler and its options, and
// where a device's driver compiles, also that device's model, driver and runtime.
void gt_code_store_key(const gt_fingerprint *device, char key[GT_HASH_SIZE]);
// The same whatever the compiler: by which programs that have none find what others compiled for them.
void gt_code_store_key_any(const gt_fingerprint *device, char key[GT_HASH_SIZE]);

// Appends the code object of a source to *code. False when there is none, or when its bytes are damaged.
bool gt_code_store_get(gt_code_store *store, const char *key, const char *source_hash, gt_buffer *code);

// Keeps a code object. That it cannot be kept is no failure: it will be compiled again.
void gt_code_store_put(gt_code_store *store, const char *key, const char *source_hash, const void *code,
                       size_t size);

#endif
