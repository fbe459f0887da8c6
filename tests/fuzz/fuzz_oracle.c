// A file of cases for gathertune verify: what is read has all of its arrays.
#include "cli/oracle.h"
#include "tests/fuzz/fuzz.h"
#include "tuner/values.h"

const unsigned fuzz_mutations = 200;

// Every element is read, so that a sanitizer sees an array that is shorter than its shape.
static void check_array(const double *values, int64_t count) {
  static volatile double last;
  REQUIRE(values, "a case without an array");
  for (int64_t i = 0; i < count; i++) last = values[i];
  (void)last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_path("cases.jsonl"), *arrays = fuzz_path("cases.bin");
  static const char bytes[1024];
  gt_oracle oracle;
  gt_error error = {0};
  fuzz_write(path, data, size);
  fuzz_write(arrays, bytes, sizeof bytes);
  gt_status status = gt_oracle_read(path, &oracle, &error);
  if (status != GT_OK) fuzz_refused(status, &error, path);
  for (size_t i = 0; i < oracle.count && status == GT_OK; i++) {
    const gt_oracle_case *one = &oracle.cases[i];
    if (one->skip) continue;
    gt_tensor tensors[GT_TENSORS];
    int n_tensors = gt_problem_tensors(&one->problem, tensors);
    for (int t = 0; t < n_tensors; t++)
      check_array(one->values[tensors[t].kind], gt_tensor_elements(&one->problem, &tensors[t]));
  }
  gt_oracle_free(&oracle);
  return 0;
}
