// gathertune's own JSON, version 2: everything of a cache, or a part of it. docs/exchange.md describes it.
#ifndef GT_EXCHANGE_JSON_H
#define GT_EXCHANGE_JSON_H

#include <jansson.h>

#include "base/buffer.h"
#include "exchange/collection.h"

#define GT_JSON_FORMAT "gathertune"
#define GT_JSON_VERSION 2
#define GT_JSON_MOST ((size_t)1 << 30) // bytes of a file that is read

// The text depends on the collection alone, which it sorts.
json_t *gt_json_write(gt_collection *collection, bool with_code);
// As a text, with a final line break.
void gt_json_print(gt_collection *collection, bool with_code, gt_buffer *text);

// Adds what a text holds. GT_USAGE for another file than that or another structure, GT_NEWER_SCHEMA for a
// newer version, GT_CORRUPT for values that cannot be, and for a code object without its hash or of another
// one. The error names the file and the record. What was added before it is not removed.
gt_status gt_json_read(gt_collection *collection, const char *name, const char *text, size_t length, int from,
                       gt_error *error);

#endif
