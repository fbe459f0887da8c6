// Base 64 (RFC 4648, section 4): how code objects stand in JSON.
#ifndef GT_EXCHANGE_BASE64_H
#define GT_EXCHANGE_BASE64_H

#include <stdbool.h>

#include "base/buffer.h"

void gt_base64_print(const void *data, size_t size, gt_buffer *text);
// False for what gt_base64_print does not write.
bool gt_base64_parse(const char *text, size_t length, gt_buffer *data);

#endif
