// Device buffers with canaries: regions around the data whose contents a kernel must leave as they are.
#ifndef GT_TUNER_GUARD_H
#define GT_TUNER_GUARD_H

#include <stdbool.h>

#include "device/device.h"

#define GT_GUARD_BYTES 1024 // of canary before and after each slot, at least

// Words that are a NaN in every storage type, whichever half or byte order a kernel reads.
#define GT_CANARY 0x7ffd7ffdu
#define GT_POISON_FIRST 0x7fff7fffu  // what outputs and workspace hold before the first run
#define GT_POISON_SECOND 0xfffefffeu // and before the second

// `slots` equal buffers in one allocation: canary, data, canary, data, …, canary. Slots start at multiples of
// 256 bytes.
typedef struct {
  gt_address base;
  int64_t bytes, stride; // of a slot's data; from one slot to the next
  int slots;
  const char *name; // for messages: "grad_input"
} gt_guarded;

// Allocates, and fills everything with canaries. Free it with gt_guarded_free, also after a failure.
gt_status gt_guarded_make(gt_open_device *open, const char *name, int64_t bytes, int slots,
                          gt_guarded *guarded, gt_error *error);
void gt_guarded_free(gt_open_device *open, gt_guarded *guarded);
int64_t gt_guarded_total(int64_t bytes, int slots); // bytes of the allocation
gt_address gt_guarded_slot(const gt_guarded *guarded, int slot);

// Fills the data of a slot with a word.
gt_status gt_guarded_poison(gt_open_device *open, const gt_guarded *guarded, int slot, uint32_t word,
                            gt_error *error);

// Reads the canaries on both sides of a slot. *intact is false, and `what` says where, when one was
// overwritten; they are mended.
gt_status gt_guarded_check(gt_open_device *open, const gt_guarded *guarded, int slot, bool *intact,
                           gt_buffer *what, gt_error *error);

// Copies slot 0 and the canary after it into all other slots.
gt_status gt_guarded_spread(gt_open_device *open, const gt_guarded *guarded, gt_error *error);

#endif
