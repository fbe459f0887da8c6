// A store of code objects beside a cache: what it is read for is right or not there, and what is refused
// stays as it is.
#include <string.h>
#include <unistd.h>

#include "cache/code_store.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_mutations = 20;

static const char key[] = "0123456789abcdef0123456789abcdef", source[] = "fedcba9876543210fedcba9876543210";

static void get(gt_code_store *store) {
  gt_buffer code = {0};
  bool found = gt_code_store_get(store, key, source, &code);
  REQUIRE(found == (code.length > 0), "a code object of %zu bytes that is %sthere", code.length,
          found ? "" : "not ");
  gt_buffer_free(&code);
}

static void read_from(const char *path, bool immutable) {
  gt_code_store *store = NULL;
  gt_error error = {0};
  gt_status status = gt_code_store_open_reader(path, immutable, &store, &error);
  if (status != GT_OK) fuzz_refused(status, &error, path);
  if (status == GT_OK) get(store);
  gt_code_store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_path("cache.db.code");
  gt_code_store *store = NULL;
  gt_error error = {0};
  fuzz_write(path, data, size);
  size_t files = fuzz_count_files();
  read_from(path, false);
  read_from(path, true);
  fuzz_same(path, data, size, "reading it");
  REQUIRE(fuzz_count_files() == files, "reading it leaves files behind");
  gt_status status = gt_code_store_open(path, 1000, &store, &error);
  if (status != GT_OK) {
    fuzz_refused(status, &error, path);
    if (size > 0) fuzz_same(path, data, size, "being refused");
  } else {
    get(store);
    gt_code_store_put(store, key, source, "a code object", 13);
    gt_code_store_put(store, key, key, "another one", 11);
    get(store);
  }
  gt_code_store_close(store);
  REQUIRE(fuzz_count_files() == files, "writing to it leaves files behind");
  unlink(path);
  return 0;
}
