// A problem's text: what is accepted has one canonical text, which parses to itself.
#include <stdlib.h>
#include <string.h>

#include "generator/problem.h"
#include "generator/strides.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_mutations = 500;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size);
  char canonical[GT_PROBLEM_TEXT], again[GT_PROBLEM_TEXT], kernel[GT_PROBLEM_TEXT];
  gt_problem problem, second;
  gt_error error = {0};
  gt_status status = gt_problem_parse(text, &problem, &error);
  if (status != GT_OK) {
    fuzz_refused(status, &error, "problem: ");
    REQUIRE(status == GT_USAGE, "%s is refused as %s", text, gt_status_name(status));
    free(text);
    return 0;
  }
  gt_problem_print(&problem, canonical);
  REQUIRE(strlen(canonical) + 1 < GT_PROBLEM_TEXT, "no room for the canonical text of %s", text);
  REQUIRE(gt_problem_parse(canonical, &second, &error) == GT_OK, "%s: of its canonical text %s: %s", text,
          canonical, error.text);
  gt_problem_print(&second, again);
  REQUIRE(strcmp(canonical, again) == 0, "%s becomes %s, and that %s", text, canonical, again);
  REQUIRE(gt_problem_same_kernels(&problem, &second), "%s and %s have other kernels", text, canonical);
  REQUIRE(gt_problem_in_elements(&problem) >= 0 && gt_problem_out_elements(&problem) >= 0 &&
              gt_problem_outer(&problem) >= 0 && gt_problem_inner(&problem) >= 0,
          "%s has a size below 0", text);
  gt_problem_print_kernel(&problem, kernel);
  REQUIRE(strlen(kernel) <= strlen(canonical), "the kernel text of %s is longer than its own", text);
  free(text);
  return 0;
}
