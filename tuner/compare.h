// The comparison of a result with what is expected of it, on the host, on several threads.
#ifndef GT_TUNER_COMPARE_H
#define GT_TUNER_COMPARE_H

#include "tuner/expected.h"

// Compares elements first … first+count-1 of a result, which are at `host`. Adds to *compared and *wrong, and
// describes the first wrong one in `what` when there was none before. `poison` is what the result held before.
void gt_compare(const gt_expected *expected, const gt_expected_result *result, const void *host,
                int64_t first, int64_t count, uint32_t poison, int64_t *compared, int64_t *wrong,
                gt_buffer *what);

// Compares all of the results in a slot, piece by piece as they are read. *right is false, and `what` says
// where they differ, when they are wrong. *hash identifies the results' bits.
gt_status gt_compare_slot(const gt_expected *expected, int slot, uint32_t poison, bool *right,
                          gt_buffer *what, uint64_t *hash, gt_error *error);

#define GT_COMPARE_UNSTABLE "two runs on the same values gave different bits, both within the tolerance"

// The words behind the first difference: "; 3 of 400 compared elements are wrong".
void gt_compare_summarise(int64_t compared, int64_t wrong, gt_buffer *what);

#endif
