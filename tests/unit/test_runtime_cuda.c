// The library on CUDA: on a program's streams and its current device.
#include "tests/unit/runtime_execute.h"

#ifdef GT_HAVE_CUDA
#include "device/cuda_device.h"

static void results_on_the_programs_streams_are_right(void **state) {
  (void)state;
  gt_open_device open;
  gathertune_context *context = attach_to_current("cuda", GATHERTUNE_MODE_COMPILE, &open);
  execute_several(&open, context, open.device->stream);
  const gathertune_plan *plan = plan_of(context, PROBLEM);
  tensors t = make_tensors(&open, PROBLEM, gathertune_workspace(plan));
  execute(context, plan, NULL, &t); // the default stream
  assert_true(open.device->cuda->cuStreamSynchronize(NULL) == CUDA_SUCCESS);
  check_tensors(&t);
  gathertune_close(context);
  gt_device_close(&open);
}

static void threads_may_execute_one_plan_at_once(void **state) {
  (void)state;
  gt_open_device open;
  gathertune_context *context = attach_to_current("cuda", GATHERTUNE_MODE_COMPILE, &open);
  execute_in_threads(&open, context, open.device->stream);
  gathertune_close(context);
  gt_device_close(&open);
}

static void a_plan_may_be_captured_in_a_graph(void **state) {
  (void)state;
  gt_open_device open;
  gathertune_context *context = attach_to_current("cuda", GATHERTUNE_MODE_COMPILE, &open);
  execute_in_graph(&open, context, open.device->stream);
  gathertune_close(context);
  gt_device_close(&open);
}

static void device_zero_is_entered_where_the_program_has_none_current(void **state) {
  (void)state;
  gt_open_device open;
  gathertune_context *context = attach_to_current("cuda", GATHERTUNE_MODE_COMPILE, &open);
  CUcontext current = open.device->context;
  execute_several(&open, context, open.device->stream);
  assert_int_equal(open.device->cuda->cuCtxGetCurrent(&current), CUDA_SUCCESS);
  assert_null(current); // as it was
  gathertune_close(context);
  gt_device_close(&open);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(results_on_the_programs_streams_are_right),
      CASE(threads_may_execute_one_plan_at_once),
      CASE(a_plan_may_be_captured_in_a_graph),
      CASE(device_zero_is_entered_where_the_program_has_none_current),
  };
  return cmocka_run_group_tests_name("runtime on CUDA", tests, NULL, NULL);
}
#else
static void nothing(void **state) {
  (void)state;
  print_message("built without CUDA\n");
  skip();
}
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing)};
  return cmocka_run_group_tests_name("runtime on CUDA", tests, NULL, NULL);
}
#endif
