// A database's bytes: cut off, damaged or made to harm.
#include <unistd.h>

#include "tests/fuzz/database.h"

const unsigned fuzz_mutations = 10;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_path("cache.db");
  fuzz_write(path, data, size);
  fuzz_use_database(path);
  unlink(path);
  return 0;
}
