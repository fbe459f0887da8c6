// The library on HIP: on a program's streams and its current device.
#include "tests/unit/runtime_execute.h"

#ifdef GT_HAVE_HIP
#include "device/hip_device.h"

static void wait_for_default_stream(const gt_device *device) {
  assert_true(device->hip->hipStreamSynchronize(NULL) == hipSuccess);
}

#define BACKEND "hip"
#include "tests/unit/runtime_streams.h"

int main(void) {
  const struct CMUnitTest tests[] = {STREAM_CASES};
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
