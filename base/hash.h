// Hashes of texts and code objects: XXH3, 128 bits, as 32 hexadecimal digits.
#ifndef GT_BASE_HASH_H
#define GT_BASE_HASH_H

#include <stddef.h>

#define GT_HASH_SIZE 33

void gt_hash(const void *data, size_t length, char hex[GT_HASH_SIZE]);

#endif
