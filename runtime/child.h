// The `gathertune` program in a child process: compilers and tuning, which may crash, hang, or need memory
// that a program cannot spare. Nothing of the program around us is touched: no signal handlers, no standard
// streams.
#ifndef GT_RUNTIME_CHILD_H
#define GT_RUNTIME_CHILD_H

#include "base/buffer.h"
#include "base/status.h"
#include "cache/cache.h"
#include "device/fingerprint.h"

// Which program to run: `given`, else $GATHERTUNE_PROGRAM, else the one that was installed with this library,
// else "gathertune", which is looked for on the PATH. A new string.
char *gt_child_program(const char *given);

// Compiles a source for a device. `device`: its name, which the child opens where the back end cannot compile
// without. GT_COMPILE with the compiler's first error; GT_CRASH, GT_TIMEOUT (seconds) and GT_IO (not to be
// started) of the child.
gt_status gt_child_compile(const char *program, const char *device, const gt_fingerprint *fingerprint,
                           const char *source, double seconds, gt_buffer *code, gt_error *error);

// A variant and its code object, both borrowed.
typedef struct {
  const gt_variant *variant;
  const gt_buffer *code;
} gt_child_code;

// Checks a variant of a problem as a trial of tuning is, without timing it: in a child process, from poisoned
// memory, between canaries, against the float64 reference and a second run. `direct` (may be NULL): what full
// results are compared with where the reference covers a part. GT_OK: *outcome and *message say what came of
// it, a crash or a hang of the kernel included. Any other status: it could not be checked, which says nothing
// of the variant: the process cannot be started (GT_IO), the device not be opened, or the problem does not fit
// beside what is on it (GT_OUT_OF_MEMORY).
gt_status gt_child_check(const char *program, const char *device, const char *problem, gt_child_code which,
                         const gt_child_code *direct, double seconds, gt_outcome *outcome, gt_buffer *message,
                         gt_error *error);

// One process at a time tunes for a cache: waits for the turn, up to `seconds` (GT_TIMEOUT). *turn is to be
// given back; it is, too, when this process ends, however it ends. Where no lock can be had there are no
// turns: two that tune the same lose nothing but time.
gt_status gt_child_take_turn(const char *cache, double seconds, int *turn, gt_error *error);
void gt_child_give_turn(int turn);

// Tunes a problem into a cache.
gt_status gt_child_tune(const char *program, const char *device, const char *cache, const char *problem,
                        int trials, double seconds, gt_error *error);

#endif
