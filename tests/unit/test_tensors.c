// Which tensors the kernels of a problem have.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "generator/tensors.h"

static void has_tensors(const char *text, const char *expected) {
  gt_problem problem;
  gt_error error = {0};
  gt_tensor tensors[GT_TENSORS];
  gt_buffer list = {0};
  int64_t moved = 0;
  if (gt_problem_parse(text, &problem, &error) != GT_OK) fail_msg("%s", error.text);
  int count = gt_problem_tensors(&problem, tensors);
  for (int i = 0; i < count; i++) {
    gt_buffer_print(&list, "%s%s%s %lld", i ? ", " : "", tensors[i].is_result ? "=" : "", gt_tensor_name(tensors[i].kind),
                    (long long)tensors[i].slice);
    moved += tensors[i].slice * gt_problem_outer(&problem);
  }
  assert_string_equal(list.data, expected);
  assert_int_equal(gt_problem_moved(&problem), moved);
  gt_buffer_free(&list);
}

static void a_separable_operator_has_two_of_a_plane_or_an_image(void **state) {
  (void)state;
  has_tensors("upsample_bilinear2d_backward:n=2,c=3,in=4x5,out=8x10,dtype=f32", "grad_output 80, =grad_input 20");
  has_tensors("upsample_bilinear2d_backward:n=2,c=3,in=4x5,out=8x10,dtype=f32,layout=nhwc", "grad_output 240, =grad_input 60");
}

static void a_grid_operator_has_those_that_its_gradients_need(void **state) {
  (void)state;
#define GRID "grid_sampler_2d_backward:n=2,c=3,in=4x5,out=6x7,dtype=f32"
  has_tensors(GRID, "grad_output 126, input 60, grid 84, =grad_input 60, =grad_grid 84");
  has_tensors(GRID ",layout=nhwc,want=input", "grad_output 126, grid 84, =grad_input 60");
  has_tensors(GRID ",want=grid", "grad_output 126, input 60, grid 84, =grad_grid 84");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_separable_operator_has_two_of_a_plane_or_an_image),
      cmocka_unit_test(a_grid_operator_has_those_that_its_gradients_need),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
