// A .npy file for tune --grid-file: what is read has all of its numbers, and written down it is read again.
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tuner/npy.h"

const unsigned fuzz_mutations = 400;

static int64_t elements_of(const gt_npy *array) {
  int64_t count = 1;
  for (int i = 0; i < array->dimensions; i++) count *= array->shape[i];
  return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gt_npy array, again;
  gt_error error = {0};
  gt_status status = gt_npy_parse("positions.npy", data, size, 0, NULL, &array, &error);
  if (status != GT_OK) {
    fuzz_refused(status, &error, "positions.npy");
    return 0;
  }
  int64_t count = elements_of(&array);
  REQUIRE(count >= 0 && (size_t)count <= size, "%lld numbers of a file of %zu bytes", (long long)count, size);
  gt_buffer file = {0};
  gt_npy_print(&file, GT_F64, array.dimensions, array.shape, array.values);
  status = gt_npy_parse("positions.npy", file.data, file.length, 0, NULL, &again, &error);
  REQUIRE(status == GT_OK, "what was read and written down is refused: %s", error.text);
  REQUIRE(again.dimensions == array.dimensions && elements_of(&again) == count &&
              memcmp(again.values, array.values, (size_t)count * sizeof(double)) == 0,
          "what was read and written down is another array");
  gt_npy_free(&again);
  gt_npy_free(&array);
  gt_buffer_free(&file);
  return 0;
}
