// Compiling ahead: a pool of compiler processes, and the code objects that they made. Each source is compiled
// once; a compiler that crashes or hangs costs the source that it was given.
//
// Everything happens while the children's loop is waited on (tuner/child.h), whatever it is waited on for.
#ifndef GT_TUNER_COMPILERS_H
#define GT_TUNER_COMPILERS_H

#include "cache/code_store.h"
#include "device/fingerprint.h"
#include "generator/variant.h"
#include "tuner/child.h"

typedef struct gt_compilers gt_compilers;

typedef struct {
  const char *program; // of the worker processes
  const char *device;  // that each of them opens; NULL where the back end compiles without
  const gt_fingerprint *fingerprint;
  double seconds; // that a compilation may take
  int jobs;       // compiler processes at most, 1 or more; they are started when they are needed
  bool on_demand; // they work only while gt_compilers_get waits: for a device that is the CPU they run on
} gt_compilers_options;

// What became of a source.
typedef struct {
  gt_status status; // GT_OK: there is code. GT_COMPILE: it was refused. GT_CRASH, GT_TIMEOUT: of the process
  gt_buffer code, message;
  char code_hash[GT_HASH_SIZE];
  double ms; // that compiling took; 0 for code from the store
} gt_compiled;

// All pointers are borrowed and outlive the pool, which becomes what the loop attends to.
gt_compilers *gt_compilers_open(gt_child_loop *loop, const gt_compilers_options *options);
void gt_compilers_close(gt_compilers *all); // ends the processes; harmless on NULL

// Where code objects are looked for before they are compiled, and kept after; NULL: nowhere. Borrowed.
void gt_compilers_use_store(gt_compilers *all, gt_code_store *store);

// Has a variant's source compiled, after those that were asked for before. Nothing when that was done, or is
// under way.
void gt_compilers_ask(gt_compilers *all, const gt_variant *variant);

// Takes code that was compiled elsewhere as that of a variant, which needs no source then.
void gt_compilers_provide(gt_compilers *all, const gt_variant *variant, const void *code, size_t size);

// Waits for a variant's code, which is asked for if it was not. *compiled is valid until the next call of
// gt_compilers_ask or gt_compilers_get. GT_INTERRUPTED; or why no compiler process can be had.
gt_status gt_compilers_get(gt_compilers *all, const gt_variant *variant, const gt_compiled **compiled,
                           gt_error *error);

// Whether gt_compilers_get would not wait.
bool gt_compilers_has(const gt_compilers *all, const gt_variant *variant);

// Forgets what is still waiting for its turn, and what failed: that would be compiled once more.
void gt_compilers_forget(gt_compilers *all);

typedef struct {
  size_t compiled; // sources that were given to a compiler
  size_t reused;   // code objects that came from the store
} gt_compilers_counts;
gt_compilers_counts gt_compilers_count(const gt_compilers *all);

#endif
