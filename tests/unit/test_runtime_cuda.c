// The library on CUDA: on a program's streams and its current device.
#include "tests/unit/runtime_execute.h"

#ifdef GT_HAVE_CUDA
#include "device/cuda_device.h"

static void wait_for_default_stream(const gt_device *device) {
  assert_int_equal(gt_cuda_enter(device, NULL), GT_OK); // NULL is the default stream of the current context
  assert_int_equal(device->cuda->cuStreamSynchronize(NULL), CUDA_SUCCESS);
  gt_cuda_leave(device);
}

#define BACKEND "cuda"
#include "tests/unit/runtime_streams.h"

static void execute_with_no_current_context(gt_open_device *open, gathertune_context *context, void *stream) {
  CUcontext current = open->device->context;
  execute_several(open, context, stream);
  assert_int_equal(open->device->cuda->cuCtxGetCurrent(&current), CUDA_SUCCESS);
  assert_null(current); // as it was
}

static void device_zero_is_entered_where_the_program_has_none_current(void **state) {
  (void)state;
  on_current_device(execute_with_no_current_context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      STREAM_CASES,
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
