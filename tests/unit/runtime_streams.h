// Tests that HIP and CUDA share: the library on a program's streams. Before it is included, BACKEND is the back
// end's name, and wait_for_default_stream(device) is defined.
#ifndef GT_TESTS_UNIT_RUNTIME_STREAMS_H
#define GT_TESTS_UNIT_RUNTIME_STREAMS_H

#include "tests/unit/runtime_execute.h"

// Attached to the device that this thread has current; `body` executes on a stream.
static void on_current_device(void (*body)(gt_open_device *open, gathertune_context *context, void *stream)) {
  gt_open_device open;
  gathertune_context *context = attach_to_current(BACKEND, GATHERTUNE_MODE_COMPILE, &open);
  body(&open, context, open.device->stream);
  gathertune_close(context);
  gt_device_close(&open);
}

static void execute_on_the_default_stream(gt_open_device *open, gathertune_context *context, void *stream) {
  execute_several(open, context, stream);
  const gathertune_plan *plan = plan_of(context, PROBLEM);
  tensors t = make_tensors(open, plan);
  execute(context, plan, NULL, &t);
  wait_for_default_stream(open->device);
  check_tensors(&t);
}

static void results_on_the_programs_streams_are_right(void **state) {
  (void)state;
  on_current_device(execute_on_the_default_stream);
}

static void threads_may_execute_one_plan_at_once(void **state) {
  (void)state;
  on_current_device(execute_in_threads);
}

static void a_plan_may_be_captured_in_a_graph(void **state) {
  (void)state;
  on_current_device(execute_in_graph);
}

#define STREAM_CASES                                                                         \
  CASE(results_on_the_programs_streams_are_right), CASE(threads_may_execute_one_plan_at_once), \
      CASE(a_plan_may_be_captured_in_a_graph)

#endif
