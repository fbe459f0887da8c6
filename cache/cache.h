// The tuning cache: an SQLite file that keeps every trial, the winner per problem and GPU model, and its code object.
// Only the parent process of a tuning run writes it. A database from elsewhere is untrusted input.
#ifndef GT_CACHE_CACHE_H
#define GT_CACHE_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/status.h"
#include "device/fingerprint.h"
#include "generator/problem.h"
#include "generator/variant.h"

typedef struct gt_cache gt_cache;

typedef enum {
  GT_CACHE_READ,
  GT_CACHE_WRITE,
  GT_CACHE_IMMUTABLE, // reading a file that nobody changes: without locks, whatever the file system
} gt_cache_mode;

// $GATHERTUNE_CACHE, else $XDG_CACHE_HOME/gathertune/cache.db, else $HOME/.cache/gathertune/cache.db, as a new string.
// GT_USAGE when none of the three variables is set.
gt_status gt_cache_default_path(char **path, gt_error *error);

// Makes the missing folders that lead to `path`, for their owner alone. GT_IO.
gt_status gt_cache_make_folders(const char *path, gt_error *error);

// Opens the cache. For writing, missing folders and the file are made. GT_NOT_FOUND: no such file (reading).
// GT_CORRUPT: not an SQLite file, or an SQLite file of something else (application_id); it is left as it is.
// A file of an older version becomes the present one when it is opened for writing; opened for reading it stays
// as it is, and is read as it was at that moment. GT_NEWER_SCHEMA: made by a newer version. GT_IO: cannot be opened or written, with the reason.
// Where the file cannot be locked for reading within two seconds, or its file system cannot lock at all (as NFS without a lock
// daemon), it is read as one that nobody changes; the latter is GT_IO for writing.
gt_status gt_cache_open(const char *path, gt_cache_mode mode, gt_cache **cache, gt_error *error);
void gt_cache_close(gt_cache *cache); // harmless on NULL
const char *gt_cache_path(const gt_cache *cache);
// For several connections to one file in the threads of a process: changes are made while `turn` (borrowed) is held. SQLite
// alone lets writers wait by trying again and again, which some of many would do for too long.
void gt_cache_take_turns(gt_cache *cache, pthread_mutex_t *turn);

// X(enumerator suffix, name in the database, what it means)
#define GT_OUTCOME_LIST(X)                                                                                   \
  X(OK, "ok", "compiled, checked and timed")                                                                 \
  X(COMPILE_ERROR, "compile_error", "the compiler refused the source")                                       \
  X(LAUNCH_ERROR, "launch_error", "the device refused a launch")                                             \
  X(WRONG_RESULT, "wrong_result", "the result differs from the reference")                                   \
  X(UNSTABLE_RESULT, "unstable_result", "two runs gave different bits")                                      \
  X(OUT_OF_BOUNDS, "out_of_bounds", "wrote outside of the output")                                           \
  X(OUT_OF_MEMORY, "out_of_memory", "buffers did not fit on the device")                                     \
  X(CRASH, "crash", "the worker process died")                                                               \
  X(TIMEOUT, "timeout", "the worker process did not answer in time")

typedef enum {
#define X(name, text, meaning) GT_OUTCOME_##name,
  GT_OUTCOME_LIST(X)
#undef X
} gt_outcome;
const char *gt_outcome_name(gt_outcome outcome);
bool gt_outcome_from_name(const char *name, gt_outcome *outcome);

// One configuration that was tried.
typedef struct {
  char *configuration; // canonical text
  char source_hash[GT_HASH_SIZE];
  gt_outcome outcome;
  char *message;       // why it failed, empty for ok; see gt_trial_duplicate_of
  double *samples_us;  // raw times per launch sequence; n_samples of them
  size_t n_samples;
  double median_us;    // 0 unless ok
  double spread_us;    // median absolute deviation of the samples, scaled by 1.4826
  bool checked;        // false on a device that executes nothing
  double compile_ms;
  int registers, lds_bytes, scratch_bytes; // of the kernel that needs most; -1 unknown
  bool noisy;           // timing ended at its limits, before the samples were steady
  gt_readings readings; // right after timing
} gt_trial;
void gt_trial_free(gt_trial *trial); // frees what it owns; harmless on a zeroed trial

// A configuration whose kernels are those of another one is not tried: its trial is that one's, and its message
// is "duplicate of CONFIGURATION", with ": " and that one's message behind it where it has one. The other
// configuration as a new string, or NULL when the trial is no duplicate.
#define GT_TRIAL_DUPLICATE "duplicate of "
char *gt_trial_duplicate_of(const gt_trial *trial);

// Whether it has a time: a trial that was right but stopped before it was timed has none.
bool gt_trial_is_timed(const gt_trial *trial);

// A configuration that was as fast as the winner: within 3 % or within the noise of the fastest.
typedef struct {
  char *configuration;
  double median_us;
  int registers; // -1 unknown
} gt_tie;

// The best configuration of a problem on a GPU model.
typedef struct {
  char *problem;        // canonical text of the problem it was tuned for
  char *device;         // "backend / name / arch / compute units" of the model it was tuned on
  gt_variant variant;   // without source; how to launch the code object
  double median_us, spread_us;
  double default_us;    // of `direct` in the same run, 0 when it was not timed
  double stream_us;     // of `stream` in the same run, 0 when it was not timed
  char *compiler;       // that made the code object
  char *driver;
  void *code;           // code object, may be NULL when it was not asked for
  size_t code_size;
  char code_hash[GT_HASH_SIZE];
  char *tuned_at;       // UTC, ISO 8601
  gt_tie *ties;         // in the order of preference (tuner/choose.h), without the winner; n_ties of them
  size_t n_ties;
} gt_winner;
void gt_winner_free(gt_winner *winner); // harmless on a zeroed winner

// Stores one trial in one transaction, replacing an earlier one of the same device, problem and configuration.
gt_status gt_cache_put_trial(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                             const gt_trial *trial, gt_error *error);
// The stored trial of a configuration on this very device and software (driver, compiler), or GT_NOT_FOUND.
gt_status gt_cache_get_trial(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                             const char *configuration, gt_trial *trial, gt_error *error);
// How many trials of a problem are stored of this very device and software.
gt_status gt_cache_count_trials(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                                size_t *count, gt_error *error);
// Calls `visit` for every trial of the problem on this GPU model, in the order of their configurations' text.
gt_status gt_cache_each_trial(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                              void (*visit)(void *context, const gt_trial *trial), void *context,
                              gt_error *error);

// Calls `visit` for every trial in the cache, of one GPU model or (device NULL) of all: by model ("backend / name / arch / compute
// units"), then problem, then the text of the configuration; a configuration that was tried on several devices of the model comes
// several times. Another status than GT_OK from `visit` ends it.
gt_status gt_cache_each_stored_trial(gt_cache *cache, const gt_fingerprint *device,
                                     gt_status (*visit)(void *context, const char *model, const char *problem,
                                                        const gt_trial *trial, gt_error *error),
                                     void *context, gt_error *error);

// A trial that crashed or hung is in quarantine: its kernels are not run again on the same device with the same
// software (driver, runtime, compiler), for whatever problem, unless that is asked for. The first stored trial
// of these kernels that did, or GT_NOT_FOUND.
gt_status gt_cache_get_quarantined(gt_cache *cache, const gt_fingerprint *device, const char *source_hash,
                                   gt_trial *trial, gt_error *error);

// What is in quarantine, and where and since when.
typedef struct {
  const char *model, *pci_id, *driver, *compiler, *problem, *tried_at;
  const gt_trial *trial;
} gt_quarantined;
gt_status gt_cache_each_quarantined(gt_cache *cache,
                                    void (*visit)(void *context, const gt_quarantined *quarantined),
                                    void *context, gt_error *error);

// A winner that was timed once more, beside the default.
typedef struct {
  gt_trial trial;                      // as it is now; its source_hash and compile_ms are not kept
  double default_us;                   // of the default now; 0: not timed
  double stored_us, stored_default_us; // what the winner had when it was tuned
} gt_recheck;
gt_status gt_cache_put_recheck(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                               const gt_recheck *recheck, gt_error *error);
// Every recheck, by model, problem and time.
gt_status gt_cache_each_recheck(gt_cache *cache,
                                void (*visit)(void *context, const char *model, const char *problem,
                                              const char *rechecked_at, const gt_recheck *recheck),
                                void *context, gt_error *error);

// What came of the check of a stale winner: one whose template or compiler is another one than when it was tuned. It was compiled as
// the present ones make it, and checked as a trial is.
typedef struct {
  char *configuration;
  char source_hash[GT_HASH_SIZE]; // of what it rendered to then
  gt_outcome outcome;
  char *message;    // why it failed, empty for ok
  char *checked_at; // UTC, ISO 8601; not looked at when it is stored
} gt_stale_check;
void gt_stale_check_free(gt_stale_check *check); // frees what it owns; harmless on a zeroed one

gt_status gt_cache_put_stale_check(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                                   const gt_stale_check *check, gt_error *error);
// The latest check of these kernels on any device of this GPU model with the same software (driver, runtime, compiler), for
// whatever problem; GT_NOT_FOUND when there was none.
gt_status gt_cache_get_stale_check(gt_cache *cache, const gt_fingerprint *device, const char *configuration,
                                   const char *source_hash, gt_stale_check *check, gt_error *error);

// A check, and where it was made.
typedef struct {
  const gt_stale_check *check;
  const char *model, *problem, *driver, *compiler;
} gt_stale_checked;
// Every check, by model, problem and time.
gt_status gt_cache_each_stale_check(gt_cache *cache, void (*visit)(void *context, const gt_stale_checked *checked),
                                    void *context, gt_error *error);

// Stores the winner and its code object, replacing an earlier one of the same problem and model.
gt_status gt_cache_put_winner(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                              const gt_winner *winner, gt_error *error);
// The winner for exactly this problem and GPU model; GT_NOT_FOUND when there is none. With its code object, whose hash is verified
// (GT_CORRUPT), when with_code.
gt_status gt_cache_get_winner(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                              bool with_code, gt_winner *winner, gt_error *error);
// The same for another problem that renders to the same kernels (gt_problem_print_kernel) and has the same `grid`, or none as well: the
// one whose outer count is nearest in ratio, the larger of two that are equally near. An empty problem is near nothing.
gt_status gt_cache_get_near_winner(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                                   bool with_code, gt_winner *winner, gt_error *error);
// The best configuration of a problem on a GPU model whose results are the same bits in every run, which is
// kept beside a winner whose results are not: stored, replaced and read as a winner is. GT_USAGE when its
// results do not repeat.
gt_status gt_cache_put_deterministic(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                                     const gt_winner *best, gt_error *error);
gt_status gt_cache_get_deterministic(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                                     bool with_code, gt_winner *best, gt_error *error);
// Where the winner is that one by now, for example. GT_OK also when there was none.
gt_status gt_cache_drop_deterministic(gt_cache *cache, const gt_fingerprint *device,
                                      const gt_problem *problem, gt_error *error);
// Calls `visit` for every winner in the cache, by device, then problem text. Code objects are not read (code is NULL, code_size is set).
gt_status gt_cache_each_winner(gt_cache *cache, void (*visit)(void *context, const gt_winner *winner),
                               void *context, gt_error *error);

// Calls `visit` for every problem that has a winner on the GPU model: its text, the time of the winner and that of `stream` (0: not
// timed), in microseconds.
gt_status gt_cache_each_tuned(gt_cache *cache, const gt_fingerprint *device,
                              void (*visit)(void *context, const char *problem, double median_us, double stream_us),
                              void *context, gt_error *error);
// Calls `visit` with the name of every other model of the cache that has winners and the device's back end, architecture and number of
// compute units, in the order of their names: what was compiled for one runs on the other.
gt_status gt_cache_each_sibling(gt_cache *cache, const gt_fingerprint *device,
                                void (*visit)(void *context, const char *name), void *context, gt_error *error);

// Where a trial or a winner came from.
#define GT_HOST_SIZE 65
typedef struct {
  gt_fingerprint device;   // the device that it was measured on, and its software; limits are not kept
  const char *problem;     // canonical text
  const char *at;          // UTC, ISO 8601
  char host[GT_HOST_SIZE]; // name of the machine; empty when it is not known
} gt_record;

// The name of this machine, and the present time, as trials have them.
#define GT_UTC_SIZE 32
void gt_cache_here_and_now(char host[GT_HOST_SIZE], char utc[GT_UTC_SIZE]);

// Calls `visit` for everything in the cache, in no particular order, until one returns another status than GT_OK, which ends it.
// Winners come with their code objects, whose hashes are verified (GT_CORRUPT).
gt_status gt_cache_each_trial_record(gt_cache *cache,
                                     gt_status (*visit)(void *context, const gt_record *record, const gt_trial *trial,
                                                        gt_error *error),
                                     void *context, gt_error *error);
gt_status gt_cache_each_winner_record(gt_cache *cache,
                                      gt_status (*visit)(void *context, const gt_record *record, const gt_winner *winner,
                                                         gt_error *error),
                                      void *context, gt_error *error);
// The same for the best beside them whose results repeat.
gt_status gt_cache_each_deterministic_record(gt_cache *cache,
                                             gt_status (*visit)(void *context, const gt_record *record,
                                                                const gt_winner *best, gt_error *error),
                                             void *context, gt_error *error);

// As gt_cache_put_trial and gt_cache_put_winner, for what was measured at another time (a winner's is in it) and on another machine
// (host empty: not known).
gt_status gt_cache_put_trial_record(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem, const gt_trial *trial,
                                    const char *tried_at, const char *host, gt_error *error);
gt_status gt_cache_put_winner_record(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                                     const gt_winner *winner, const char *host, gt_error *error);

gt_status gt_cache_put_deterministic_record(gt_cache *cache, const gt_fingerprint *device,
                                            const gt_problem *problem, const gt_winner *best,
                                            const char *host, gt_error *error);

// Makes everything up to gt_cache_end one change: seen by others as a whole or, when `status` is not GT_OK or it cannot be written,
// not at all. Returns the final status.
gt_status gt_cache_begin(gt_cache *cache, gt_error *error);
gt_status gt_cache_end(gt_cache *cache, gt_status status, gt_error *error);

typedef struct {
  int64_t models, devices, problems, trials, winners;
} gt_cache_counts;
gt_status gt_cache_count(gt_cache *cache, gt_cache_counts *counts, gt_error *error);

#endif
