#include "base/hash.h"

#include <stdio.h>
#include <xxhash.h>

void gt_hash(const void *data, size_t length, char hex[GT_HASH_SIZE]) {
  XXH128_hash_t hash = XXH3_128bits(data, length);
  snprintf(hex, GT_HASH_SIZE, "%016llx%016llx", (unsigned long long)hash.high64,
           (unsigned long long)hash.low64);
}
