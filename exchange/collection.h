// Trials and winners outside of a cache: what is exported, imported and merged.
#ifndef GT_EXCHANGE_COLLECTION_H
#define GT_EXCHANGE_COLLECTION_H

#include "cache/cache.h"

// Where a record of a collection came from: a number that whoever adds it chooses. Those of the target of a
// merge have GT_FROM_TARGET, and are not written again.
#define GT_FROM_TARGET 0

typedef struct {
  size_t device; // in devices
  int from;
  char *problem; // canonical text
  char *host;    // empty: not known
  char *tried_at;
  gt_trial trial;
} gt_collected_trial;

typedef struct {
  size_t device;
  int from;
  char *host;
  gt_winner winner;   // with its code object where it has one
  bool deterministic; // not the winner, but the best beside it whose results are the same bits in every run
  bool moved;         // of the target, where it was the winner until now: is written in its new place
} gt_collected_winner;

typedef struct {
  gt_fingerprint *devices; // models and software; limits are not known
  size_t n_devices;
  gt_collected_trial *trials;
  size_t n_trials, trial_capacity;
  gt_collected_winner *winners;
  size_t n_winners, winner_capacity;
} gt_collection;

void gt_collection_free(gt_collection *collection); // harmless on a zeroed one

// The index of a device; the same for the same model, device and software.
size_t gt_collection_device(gt_collection *collection, const gt_fingerprint *device);

// Adds a record, which is moved: *trial and *winner are zeroed. Other texts are copied.
void gt_collection_add_trial(gt_collection *collection, size_t device, int from, const char *problem,
                             const char *tried_at, const char *host, gt_trial *trial);
void gt_collection_add_winner(gt_collection *collection, size_t device, int from, const char *host,
                              gt_winner *winner);

// Moves all records of another collection to the end of this one.
void gt_collection_append(gt_collection *collection, gt_collection *other);

// Which records are wanted; what is NULL or empty excludes nothing.
typedef struct {
  const char *model;           // part of "backend / name / arch / compute units", without regard to case
  const char *op;              // an operator's name
  const char *const *problems; // canonical texts; n_problems of them
  size_t n_problems;
  bool no_trials, no_winners;
} gt_selection;
bool gt_selection_has(const gt_selection *selection, const gt_fingerprint *device, const char *problem);

// Adds what a cache holds. GT_CORRUPT when a row is not what this program would have written.
gt_status gt_collection_read(gt_collection *collection, gt_cache *cache, const gt_selection *selection,
                             int from, gt_error *error);

// Of winners, and of the best beside them whose results repeat: the winners alone; or, in the place of
// winners whose results do not repeat, those that do, where there are.
void gt_collection_keep_winners(gt_collection *collection);
void gt_collection_keep_deterministic(gt_collection *collection);

size_t gt_collection_count_winners(const gt_collection *collection); // without the others

// Leaves out what the selection does not match.
void gt_collection_select(gt_collection *collection, const gt_selection *selection);

// Writes the records that are not from the target of a collection that is sorted, as one change. A winner
// without one beside it whose results repeat makes that of the cache go.
gt_status gt_collection_write(const gt_collection *collection, gt_cache *cache, gt_error *error);

// Sorts by device, problem and configuration, so that equal collections look equal.
void gt_collection_sort(gt_collection *collection);

#endif
