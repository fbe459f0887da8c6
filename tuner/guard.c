#include "tuner/guard.h"

#include <inttypes.h>
#include <string.h>

static int64_t stride_of(int64_t bytes) {
  return (bytes + GT_GUARD_BYTES + 255) / 256 * 256;
}

int64_t gt_guarded_total(int64_t bytes, int slots) {
  return GT_GUARD_BYTES + slots * stride_of(bytes);
}

gt_status gt_guarded_make(gt_open_device *open, const char *name, int64_t bytes, int slots,
                          gt_guarded *guarded, gt_error *error) {
  *guarded = (gt_guarded){.bytes = bytes, .stride = stride_of(bytes), .slots = slots, .name = name};
  size_t total = (size_t)gt_guarded_total(bytes, slots);
  gt_status status = open->backend->allocate(open->device, total, &guarded->base, error);
  if (status != GT_OK) {
    guarded->base = 0;
    return status;
  }
  return open->backend->fill(open->device, guarded->base, GT_CANARY, total, error);
}

void gt_guarded_free(gt_open_device *open, gt_guarded *guarded) {
  if (guarded->base) open->backend->release(open->device, guarded->base);
  *guarded = (gt_guarded){0};
}

gt_address gt_guarded_slot(const gt_guarded *guarded, int slot) {
  return guarded->base + GT_GUARD_BYTES + (gt_address)(slot * guarded->stride);
}

gt_status gt_guarded_poison(gt_open_device *open, const gt_guarded *guarded, int slot, uint32_t word,
                            gt_error *error) {
  // Fills are whole words: the odd bytes at the end are written from here.
  gt_address at = gt_guarded_slot(guarded, slot);
  size_t whole = (size_t)guarded->bytes / 4 * 4, rest = (size_t)guarded->bytes - whole;
  gt_status status = whole ? open->backend->fill(open->device, at, word, whole, error) : GT_OK;
  if (status == GT_OK && rest) status = open->backend->write(open->device, at + whole, &word, rest, error);
  return status;
}

// Checks one canary region, `size` bytes at a multiple of 4 or not: the byte pattern is anchored at the
// allocation's start.
static gt_status check_region(gt_open_device *open, const gt_guarded *guarded, gt_address at, size_t size,
                              int64_t *first_damage, int64_t *last_damage, gt_error *error) {
  const uint32_t word = GT_CANARY;
  uint8_t found[GT_GUARD_BYTES + 256], expected[sizeof found];
  for (size_t i = 0; i < size; i++) expected[i] = ((const uint8_t *)&word)[(at - guarded->base + i) % 4];
  *first_damage = *last_damage = -1;
  gt_status status = open->backend->read(open->device, found, at, size, error);
  if (status != GT_OK || memcmp(found, expected, size) == 0) return status;
  for (size_t i = 0; i < size; i++)
    if (found[i] != expected[i]) {
      if (*first_damage < 0) *first_damage = (int64_t)i;
      *last_damage = (int64_t)i;
    }
  return open->backend->write(open->device, at, expected, size, error);
}

gt_status gt_guarded_check(gt_open_device *open, const gt_guarded *guarded, int slot, bool *intact,
                           gt_buffer *what, gt_error *error) {
  gt_address start = gt_guarded_slot(guarded, slot), end = start + (gt_address)guarded->bytes;
  int64_t first, last;
  gt_status status =
      check_region(open, guarded, start - GT_GUARD_BYTES, GT_GUARD_BYTES, &first, &last, error);
  if (status != GT_OK) return status;
  if (first >= 0) {
    *intact = false;
    gt_buffer_print(what, "%d bytes before the start of %s were overwritten", (int)(GT_GUARD_BYTES - first),
                    guarded->name);
  }
  size_t after = (size_t)(guarded->stride - guarded->bytes);
  status = check_region(open, guarded, end, after, &first, &last, error);
  if (status != GT_OK) return status;
  if (first >= 0) {
    gt_buffer_print(what, "%sbytes %" PRId64 " to %" PRId64 " past the end of %s were overwritten",
                    *intact ? "" : "; ", first, last, guarded->name);
    *intact = false;
  }
  return GT_OK;
}

gt_status gt_guarded_spread(gt_open_device *open, const gt_guarded *guarded, gt_error *error) {
  // Slots follow each other at one stride, so that each copy can double what is there.
  for (int done = 1; done < guarded->slots;) {
    int more = done < guarded->slots - done ? done : guarded->slots - done;
    gt_status status =
        open->backend->copy(open->device, gt_guarded_slot(guarded, done), gt_guarded_slot(guarded, 0),
                            (size_t)(more * guarded->stride), error);
    if (status != GT_OK) return status;
    done += more;
  }
  return GT_OK;
}
