// The library on HIP: on a program's streams and its current device.
#include "tests/unit/runtime_execute.h"

#ifdef GT_HAVE_HIP
#include "device/hip_device.h"

static void results_on_the_programs_streams_are_right(void **state) {
  (void)state;
  gt_open_device open;
  gathertune_context *context = attach_to_current("hip", GATHERTUNE_MODE_COMPILE, &open);
  execute_several(&open, context, open.device->stream);
  const gathertune_plan *plan = plan_of(context, PROBLEM);
  tensors t = make_tensors(&open, PROBLEM, gathertune_workspace(plan));
  execute(context, plan, NULL, &t); // the default stream
  assert_true(open.device->hip->hipStreamSynchronize(NULL) == hipSuccess);
  check_tensors(&t);
  gathertune_close(context);
  gt_device_close(&open);
}

static void threads_may_execute_one_plan_at_once(void **state) {
  (void)state;
  gt_open_device open;
  gathertune_context *context = attach_to_current("hip", GATHERTUNE_MODE_COMPILE, &open);
  execute_in_threads(&open, context, open.device->stream);
  gathertune_close(context);
  gt_device_close(&open);
}

static void a_plan_may_be_captured_in_a_graph(void **state) {
  (void)state;
  gt_open_device open;
  gathertune_context *context = attach_to_current("hip", GATHERTUNE_MODE_COMPILE, &open);
  execute_in_graph(&open, context, open.device->stream);
  gathertune_close(context);
  gt_device_close(&open);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(results_on_the_programs_streams_are_right),
      CASE(threads_may_execute_one_plan_at_once),
      CASE(a_plan_may_be_captured_in_a_graph),
  };
  return cmocka_run_group_tests_name("runtime on HIP", tests, NULL, NULL);
}
#else
static void nothing(void **state) {
  (void)state;
  print_message("built without HIP\n");
  skip();
}
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing)};
  return cmocka_run_group_tests_name("runtime on HIP", tests, NULL, NULL);
}
#endif
