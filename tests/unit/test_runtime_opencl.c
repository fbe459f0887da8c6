// The library on OpenCL: on a program's own command queue.
#include "tests/unit/runtime_execute.h"

#ifdef GT_HAVE_OPENCL
#include "device/opencl.h"

static gathertune_context *attach(gt_open_device *open, gathertune_mode mode) {
  gt_error error = {0};
  gathertune_context *context;
  gathertune_options options = GATHERTUNE_OPTIONS_INIT;
  if (gt_device_open("opencl:0", open, &error) != GT_OK) {
    print_message("no OpenCL device: %s\n", error.text);
    skip();
  }
  options.queue = open->device->queue;
  options.mode = mode;
  options.trials = 2;
  if (gathertune_open(&options, &context) != GATHERTUNE_OK) fail_msg("%s", gathertune_message(context));
  return context;
}

static void results_on_the_programs_queue_are_right(void **state) {
  (void)state;
  gt_open_device open;
  gathertune_context *context = attach(&open, GATHERTUNE_MODE_COMPILE);
  execute_several(&open, context, NULL);
  execute_several(&open, context, open.device->queue);
  gathertune_close(context);
  gt_device_close(&open);
}

static void threads_may_execute_one_plan_at_once(void **state) {
  (void)state;
  gt_open_device open;
  gathertune_context *context = attach(&open, GATHERTUNE_MODE_COMPILE);
  execute_in_threads(&open, context, NULL);
  gathertune_close(context);
  gt_device_close(&open);
}

static void what_first_use_tuned_computes_right(void **state) {
  (void)state;
  gt_open_device open;
  gathertune_context *context = attach(&open, GATHERTUNE_MODE_TUNE);
  const gathertune_plan *plan = plan_of(context, PROBLEM);
  assert_int_equal(describe(plan).origin, GATHERTUNE_EXACT);
  tensors t = make_tensors(&open, plan);
  execute(context, plan, NULL, &t);
  gt_error error = {0};
  SUCCEED(open.backend->synchronize(open.device, &error));
  check_tensors(&t);
  gathertune_close(context);
  gt_device_close(&open);
}

// Of several tensors, launches and a workspace, and in LOOKUP mode for positions that were not tuned.
static void what_was_tuned_for_a_grid_computes_right_at_other_positions(void **state) {
  (void)state;
  gt_open_device open;
  gt_error error = {0};
  gathertune_context *context = attach(&open, GATHERTUNE_MODE_LOOKUP);
  gathertune_close(context);
  shell("\"$GATHERTUNE_PROGRAM\" tune '" SAMPLER "n=2,c=3,in=6x5,out=7x8,dtype=f16,grid=random' --device opencl:0 "
        "--families grid_scatter --budget 1 --batch-us 10 >/dev/null 2>&1");
  gt_device_close(&open);
  context = attach(&open, GATHERTUNE_MODE_LOOKUP);
  const gathertune_plan *plan = plan_of(context, SAMPLER "n=5,c=3,in=6x5,out=7x8,dtype=f16,grid=smooth");
  gathertune_plan_info info = describe(plan);
  assert_int_equal(info.origin, GATHERTUNE_NEAR);
  assert_has(info.from_problem, "grid=random");
  assert_int_equal(info.n_tensors, 5);
  assert_int_equal(info.launches, 3); // zeros, additions in float, rounding
  assert_true(info.workspace_bytes > 0);
  tensors t = make_tensors(&open, plan);
  execute(context, plan, NULL, &t);
  SUCCEED(open.backend->synchronize(open.device, &error));
  check_tensors(&t);
  gathertune_close(context);
  gt_device_close(&open);
}

// Two machines' results are merged and shipped; what is faster is not reproducible.
static void a_bundle_serves_programs_elsewhere_that_want_the_same_bits_in_every_run(void **state) {
  (void)state;
  gt_open_device open;
  gt_error error = {0};
  gathertune_context *context = attach(&open, GATHERTUNE_MODE_LOOKUP);
  gathertune_close(context);
  gt_device_close(&open);
  static const char problem[] = SAMPLER "n=2,c=3,in=6x5,out=7x8,dtype=f32,grid=random";
  for (int i = 0; i < 2; i++)
    shell("\"$GATHERTUNE_PROGRAM\" tune '%s' --device opencl:0 --families %s --cache %d.db --budget 1 "
          "--batch-us 10 "
          ">/dev/null 2>&1",
          problem, i ? "grid_bin" : "grid_scatter", i);
  shell("sqlite3 1.db 'UPDATE winner SET median_us = 1000000 * median_us' && mkdir elsewhere && "
        "\"$GATHERTUNE_PROGRAM\" merge 1.db --into 0.db >/dev/null && "
        "\"$GATHERTUNE_PROGRAM\" export --cache 0.db --format bundle -o elsewhere/bundle.db >/dev/null && "
        "rm [01].db*");
  setenv("GATHERTUNE_SYSTEM_CACHE", "elsewhere/bundle.db", 1);
  setenv("GATHERTUNE_PROGRAM", "/nowhere", 1);
  context = attach(&open, GATHERTUNE_MODE_LOOKUP);
  const gathertune_plan *plans[2] = {plan_of(context, problem)};
  if (gathertune_get_plan(context, problem, GATHERTUNE_DETERMINISTIC, &plans[1]) != GATHERTUNE_OK)
    fail_msg("%s", gathertune_message(context));
  for (int i = 0; i < 2; i++) {
    gathertune_plan_info info = describe(plans[i]);
    assert_int_equal(info.origin, GATHERTUNE_EXACT);
    assert_int_equal(info.reproducible, i);
    assert_has(info.configuration, i ? "grid_bin:" : "grid_scatter:");
    assert_has(info.from_cache, "bundle.db");
    assert_false(info.stale);
    tensors t = make_tensors(&open, plans[i]);
    execute(context, plans[i], NULL, &t);
    SUCCEED(open.backend->synchronize(open.device, &error));
    check_tensors(&t);
  }
  gathertune_close(context);
  gt_device_close(&open);
}

static void a_device_by_name_has_a_queue_of_its_own(void **state) {
  (void)state;
  gathertune_context *context;
  gathertune_options options = GATHERTUNE_OPTIONS_INIT;
  options.device = "opencl:0";
  if (gathertune_open(&options, &context) != GATHERTUNE_OK) {
    print_message("no OpenCL device: %s\n", gathertune_message(context));
    gathertune_close(context);
    skip();
  }
  assert_has(gathertune_model(context), "opencl / ");
  gathertune_close(context);
}

static void a_queue_out_of_order_is_refused(void **state) {
  (void)state;
  gt_open_device open;
  gathertune_context *context = attach(&open, GATHERTUNE_MODE_LOOKUP);
  gathertune_close(context);
  const cl_queue_properties loose[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  cl_int code;
  gathertune_options options = GATHERTUNE_OPTIONS_INIT;
  options.queue =
      open.device->cl.clCreateCommandQueueWithProperties(open.device->context, open.device->id, loose, &code);
  if (options.queue) {
    assert_int_equal(gathertune_open(&options, &context), GATHERTUNE_UNSUPPORTED);
    assert_has(gathertune_message(context), "out of order");
    gathertune_close(context);
    open.device->cl.clReleaseCommandQueue(options.queue);
  }
  gt_device_close(&open);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(results_on_the_programs_queue_are_right),
      CASE(threads_may_execute_one_plan_at_once),
      CASE(what_first_use_tuned_computes_right),
      CASE(a_device_by_name_has_a_queue_of_its_own),
      CASE(what_was_tuned_for_a_grid_computes_right_at_other_positions),
      CASE(a_bundle_serves_programs_elsewhere_that_want_the_same_bits_in_every_run),
      CASE(a_queue_out_of_order_is_refused),
  };
  return cmocka_run_group_tests_name("runtime on OpenCL", tests, NULL, NULL);
}
#else
static void nothing(void **state) {
  (void)state;
  print_message("built without OpenCL\n");
  skip();
}
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing)};
  return cmocka_run_group_tests_name("runtime on OpenCL", tests, NULL, NULL);
}
#endif
