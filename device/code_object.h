// Code objects come out of databases and files, and a runtime trusts the sizes that it finds in them.
#ifndef GT_DEVICE_CODE_OBJECT_H
#define GT_DEVICE_CODE_OBJECT_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

// GT_CORRUPT unless the bytes are an ELF file (or clang's bundle of such) whose tables and sections lie
// within them.
gt_status gt_code_object_check(const void *code, size_t size, gt_error *error);

// Where in a file (one that passed the check) the `length` bytes are that lie at `address` once it is loaded;
// NULL when a segment does not have them all, and for a bundle.
const void *gt_code_object_at(const void *code, size_t size, uint64_t address, uint64_t length);

#endif
