// Errors are one line long; what a compiler has to say is longer.
#ifndef GT_DEVICE_COMPILER_LOG_H
#define GT_DEVICE_COMPILER_LOG_H

#include "base/buffer.h"

// The first error of a compiler's log, from the file's name on and without the folders before it; "no log"
// when it is empty. Returns `line`.
const char *gt_compiler_log_error(const gt_buffer *log, char *line, size_t size);

#endif
