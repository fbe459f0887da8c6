// Executed plans against the float64 reference, on a device that computes. The memory is that of a device
// opened beside the context.
#ifndef GT_TESTS_UNIT_RUNTIME_EXECUTE_H
#define GT_TESTS_UNIT_RUNTIME_EXECUTE_H

#include "tests/unit/runtime_fixture.h"

#include <pthread.h>

#include "device/device.h"
#include "generator/problem.h"
#include "tuner/check.h"
#include "tuner/fill.h"
#include "tuner/reference.h"
#include "tuner/storage.h"

// A problem's tensors on the device.
typedef struct {
  gt_open_device *open;
  gt_problem problem;
  gt_address grad_output, grad_input, workspace;
  size_t in_bytes;
} tensors;

#define SUCCEED(call)                                           \
  do {                                                          \
    if ((call) != GT_OK) fail_msg("%s: %s", #call, error.text); \
  } while (0)

static inline tensors make_tensors(gt_open_device *open, const char *text, uint64_t workspace_bytes) {
  gt_error error = {0};
  tensors t = {.open = open};
  SUCCEED(gt_problem_parse(text, &t.problem, &error));
  size_t bytes = gt_dtype_bytes(t.problem.dtype);
  t.in_bytes = (size_t)gt_problem_in_elements(&t.problem) * bytes;
  SUCCEED(open->backend->allocate(open->device, (size_t)gt_problem_out_elements(&t.problem) * bytes,
                                  &t.grad_output, &error));
  SUCCEED(open->backend->allocate(open->device, t.in_bytes, &t.grad_input, &error));
  if (workspace_bytes) SUCCEED(open->backend->allocate(open->device, workspace_bytes, &t.workspace, &error));
  gt_tensor list[GT_TENSORS];
  gt_problem_tensors(&t.problem, list);
  SUCCEED(gt_fill_tensor(open, &t.problem, &list[0], gt_problem_outer(&t.problem), t.grad_output, NULL, &error));
  void *poison = gt_alloc(t.in_bytes);
  memset(poison, 0xff, t.in_bytes);
  SUCCEED(open->backend->write(open->device, t.grad_input, poison, t.in_bytes, &error));
  free(poison);
  return t;
}

// Compares grad_input with the reference, and frees everything. The stream must be idle.
static inline void check_tensors(tensors *t) {
  gt_error error = {0};
  const gt_problem *p = &t->problem;
  size_t n_in = (size_t)gt_problem_in_elements(p), n_out = (size_t)gt_problem_out_elements(p);
  double *gradient = gt_alloc(n_out * sizeof(double)), *expected = gt_alloc(n_in * sizeof(double)),
         *term = gt_alloc(n_in * sizeof(double)), terms;
  void *stored = gt_alloc((n_in > n_out ? n_in : n_out) * 8);
  gt_inputs inputs;
  gt_inputs_open(&inputs, p->dtype);
  gt_inputs_fill(&inputs, 0, n_out, stored);
  gt_inputs_close(&inputs);
  for (size_t i = 0; i < n_out; i++) gradient[i] = gt_storage_load(p->dtype, stored, i);
  SUCCEED(gt_reference(p, gt_problem_outer(p), gradient, expected, term, &error));
  SUCCEED(gt_reference_terms(p, &terms, &error));
  SUCCEED(t->open->backend->read(t->open->device, stored, t->grad_input, t->in_bytes, &error));
  for (size_t i = 0; i < n_in; i++)
    if (!gt_check_value(p->dtype, terms, term[i], gt_storage_load(p->dtype, stored, i), expected[i]))
      fail_msg("element %zu is %g, not %g", i, gt_storage_load(p->dtype, stored, i), expected[i]);
  t->open->backend->release(t->open->device, t->grad_output);
  t->open->backend->release(t->open->device, t->grad_input);
  if (t->workspace) t->open->backend->release(t->open->device, t->workspace);
  free(gradient);
  free(expected);
  free(term);
  free(stored);
}

#define POINTER(address) ((void *)(uintptr_t)(address))

static inline void execute(gathertune_context *context, const gathertune_plan *plan, void *stream,
                           const tensors *t) {
  if (gathertune_execute(plan, stream, POINTER(t->grad_output), POINTER(t->grad_input),
                         POINTER(t->workspace)))
    fail_msg("%s", gathertune_message(context));
}

// Several problems, of one kernel and of two with a workspace, on a stream.
static inline void execute_several(gt_open_device *open, gathertune_context *context, void *stream) {
  static const char *const problems[] = {
      PROBLEM,
      OPERATOR "n=3,c=5,in=7x9,out=16x13,dtype=f16,align_corners=1",
      OPERATOR "n=2,c=16,in=6x5,out=12x10,dtype=f32,layout=nhwc",
      "_upsample_bicubic2d_aa_backward:n=1,c=2,in=24x24,out=40x64,dtype=f32",
      "upsample_nearest3d_backward:n=1,c=2,in=3x4x5,out=6x8x10,dtype=f64",
  };
  gt_error error = {0};
  for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
    const gathertune_plan *plan = plan_of(context, problems[i]);
    tensors t = make_tensors(open, problems[i], gathertune_workspace(plan));
    execute(context, plan, stream, &t);
    SUCCEED(open->backend->synchronize(open->device, &error));
    check_tensors(&t);
  }
}

typedef struct {
  gathertune_context *context;
  const gathertune_plan *plan;
  void *stream;
  tensors tensors;
  int failed;
} executor;

static void *execute_often(void *argument) {
  executor *e = argument;
  for (int i = 0; i < 50; i++)
    e->failed +=
        gathertune_execute(e->plan, e->stream, POINTER(e->tensors.grad_output),
                           POINTER(e->tensors.grad_input), POINTER(e->tensors.workspace)) != GATHERTUNE_OK;
  return NULL;
}

// One plan, from several threads at once, each with tensors of its own.
static inline void execute_in_threads(gt_open_device *open, gathertune_context *context, void *stream) {
  enum { EXECUTORS = 4 };
  gt_error error = {0};
  pthread_t threads[EXECUTORS];
  executor executors[EXECUTORS];
  const gathertune_plan *plan = plan_of(context, PROBLEM);
  for (int i = 0; i < EXECUTORS; i++) {
    executors[i] =
        (executor){context, plan, stream, make_tensors(open, PROBLEM, gathertune_workspace(plan)), 0};
  }
  for (int i = 0; i < EXECUTORS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, execute_often, &executors[i]), 0);
  for (int i = 0; i < EXECUTORS; i++) pthread_join(threads[i], NULL);
  SUCCEED(open->backend->synchronize(open->device, &error));
  for (int i = 0; i < EXECUTORS; i++) {
    assert_int_equal(executors[i].failed, 0);
    check_tensors(&executors[i].tensors);
  }
}

// A plan captured in a graph and replayed: its result comes with the replay, not before.
static inline void execute_in_graph(gt_open_device *open, gathertune_context *context, void *stream) {
  gt_error error = {0};
  gt_graph *graph;
  const gathertune_plan *plan = plan_of(context, PROBLEM);
  tensors t = make_tensors(open, PROBLEM, gathertune_workspace(plan));
  unsigned char before[4];
  gt_status status = open->backend->capture ? open->backend->capture(open->device, &error) : GT_UNSUPPORTED;
  if (status == GT_UNSUPPORTED) {
    print_message("no graphs here: %s\n", error.text);
    skip();
  }
  execute(context, plan, stream, &t);
  SUCCEED(open->backend->captured(open->device, &graph, &error));
  SUCCEED(open->backend->read(open->device, before, t.grad_input, sizeof before, &error));
  assert_int_equal(before[0] & before[1] & before[2] & before[3], 0xff);
  SUCCEED(open->backend->replay(open->device, graph, &error));
  SUCCEED(open->backend->synchronize(open->device, &error));
  open->backend->drop(open->device, graph);
  check_tensors(&t);
}

// The device that this thread has current in the program around the library.
static inline gathertune_context *attach_to_current(const char *name, gathertune_mode mode,
                                                    gt_open_device *open) {
  gt_error error = {0};
  char *first = gt_print("%s:0", name);
  gt_status status = gt_device_open(first, open, &error);
  free(first);
  if (status != GT_OK) {
    print_message("no such device: %s\n", error.text);
    skip();
  }
  gathertune_context *context = open_mode(name, mode);
  assert_has(gathertune_model(context), open->fingerprint.arch);
  return context;
}

#endif
