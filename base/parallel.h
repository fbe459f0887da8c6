// Work in pieces, on several threads.
#ifndef GT_BASE_PARALLEL_H
#define GT_BASE_PARALLEL_H

#include <stddef.h>

// Calls work(context, i) once for each i < count, in no order, on as many threads as this process may use CPUs, but at
// most 8, the calling one among them. Returns when all are done. Where no thread can be had the calling one does it all.
void gt_parallel(size_t count, void (*work)(void *context, size_t index), void *context);

#endif
