// A function in a process of its own: for libraries that may crash, end or hang the process that they are in.
#ifndef GT_CLI_CHILD_H
#define GT_CLI_CHILD_H

#include "base/buffer.h"
#include "base/status.h"

// What the child does. Its answer is what it appends to the buffer.
typedef void gt_child_work(const void *context, gt_buffer *answer);

// Forks, works in the child and collects its answer. GT_TIMEOUT when it takes longer than `seconds` (it is
// killed), GT_CRASH when it ends before its answer is complete: the error's text goes on from a subject, such
// as "crashed the process (Aborted)". GT_IO when there can be no child.
gt_status gt_child_run(gt_child_work *work, const void *context, double seconds, gt_buffer *answer,
                       gt_error *error);

#endif
