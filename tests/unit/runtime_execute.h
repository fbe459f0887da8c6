// Executed plans against the float64 reference, on a device that computes. The memory is that of a device
// opened beside the context.
#ifndef GT_TESTS_UNIT_RUNTIME_EXECUTE_H
#define GT_TESTS_UNIT_RUNTIME_EXECUTE_H

#include "tests/unit/runtime_fixture.h"

#include <pthread.h>

#include "device/device.h"
#include "generator/problem.h"
#include "tuner/compare.h"
#include "tuner/fill.h"

// A problem's tensors on the device, and what its results are to be.
typedef struct {
  gt_open_device *open;
  gt_bench bench; // of sizes and the grid alone: the memory is that of `buffers`
  gt_address memory[GT_TENSORS], workspace;
  gathertune_buffers buffers;
} tensors;

#define POISON 0xffffffff // NaNs

#define SUCCEED(call)                                           \
  do {                                                          \
    if ((call) != GT_OK) fail_msg("%s: %s", #call, error.text); \
  } while (0)

#define POINTER(address) ((void *)(uintptr_t)(address))

// For a plan: its tensors, one after the other, with inputs as a bench makes them.
static inline tensors make_tensors(gt_open_device *open, const gathertune_plan *plan) {
  gt_error error = {0};
  gt_problem problem;
  tensors t = {.open = open};
  gathertune_plan_info info = describe(plan);
  SUCCEED(gt_problem_parse(info.problem, &problem, &error));
  gt_bench_describe(&problem, NULL, &t.bench);
  assert_int_equal(info.n_tensors, t.bench.n_tensors);
  for (int i = 0; i < info.n_tensors; i++) {
    const gathertune_tensor *told = &info.tensors[i];
    const gt_tensor *tensor = &t.bench.tensors[i];
    assert_string_equal(told->name, gt_tensor_name(tensor->kind));
    assert_int_equal(told->bytes, gt_bench_bytes(&t.bench, i)); // nothing here has gaps
    assert_int_equal(told->is_result, i >= t.bench.n_inputs);
    size_t bytes = (told->bytes + 3) & ~(size_t)3; // fills are of whole words
    SUCCEED(open->backend->allocate(open->device, bytes, &t.memory[i], &error));
    if (told->is_result)
      SUCCEED(open->backend->fill(open->device, t.memory[i], POISON, bytes, &error));
    else
      SUCCEED(gt_fill_tensor(open, &problem, tensor, t.bench.outer, t.memory[i],
                             tensor->kind == GT_GRID ? t.bench.grid : NULL, &error));
    memcpy((char *)&t.buffers + told->offset, &(void *){POINTER(t.memory[i])}, sizeof(void *));
  }
  if (info.workspace_bytes) {
    SUCCEED(open->backend->allocate(open->device, info.workspace_bytes, &t.workspace, &error));
    t.buffers.workspace = POINTER(t.workspace);
  }
  SUCCEED(open->backend->synchronize(open->device, &error));
  return t;
}

// Compares the results with the float64 reference, and frees everything. The stream must be idle.
static inline void check_tensors(tensors *t) {
  gt_error error = {0};
  gt_expected expected;
  gt_buffer what = {0};
  int64_t compared = 0, wrong = 0, elements = 0;
  SUCCEED(gt_expected_open(&t->bench, &expected, &error));
  for (int i = 0; i < expected.n_results; i++) {
    const gt_expected_result *result = &expected.results[i];
    size_t bytes = (size_t)gt_bench_bytes(&t->bench, result->at);
    int64_t count = t->bench.outer * result->tensor.slice;
    void *host = gt_alloc(bytes);
    SUCCEED(t->open->backend->read(t->open->device, host, t->memory[result->at], bytes, &error));
    gt_compare(&expected, result, host, 0, count, POISON, &compared, &wrong, &what);
    elements += count;
    free(host);
  }
  if (wrong) fail_msg("%s", what.data);
  assert_int_equal(compared, elements); // the reference is of all of them
  for (int i = 0; i < t->bench.n_tensors; i++) t->open->backend->release(t->open->device, t->memory[i]);
  if (t->workspace) t->open->backend->release(t->open->device, t->workspace);
  gt_expected_close(&expected);
  gt_bench_close(&t->bench);
  gt_buffer_free(&what);
}

static inline void execute(gathertune_context *context, const gathertune_plan *plan, void *stream,
                           const tensors *t) {
  if (gathertune_execute(plan, stream, &t->buffers)) fail_msg("%s", gathertune_message(context));
}

// Several problems, of one kernel and of several with a workspace, of two tensors and of more, on a stream.
static inline void execute_several(gt_open_device *open, gathertune_context *context, void *stream) {
  static const char *const problems[] = {
      PROBLEM,
      OPERATOR "n=3,c=5,in=7x9,out=16x13,dtype=f16,align_corners=1",
      OPERATOR "n=2,c=16,in=6x5,out=12x10,dtype=f32,layout=nhwc",
      "_upsample_bicubic2d_aa_backward:n=1,c=2,in=4x4,out=40x64,dtype=f32,layout=nhwc",
      "upsample_nearest3d_backward:n=1,c=2,in=3x4x5,out=6x8x10,dtype=f64",
      SAMPLER "n=2,c=3,in=6x5,out=7x8,dtype=f32",
      SAMPLER "n=2,c=3,in=6x5,out=7x8,dtype=f16,layout=nhwc,padding=border,want=input",
      SAMPLER "n=1,c=2,in=6x5,out=7x8,dtype=f64,interpolation=bicubic,align_corners=1,want=grid,grid=identity",
  };
  gt_error error = {0};
  for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
    const gathertune_plan *plan = plan_of(context, problems[i]);
    tensors t = make_tensors(open, plan);
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
    e->failed += gathertune_execute(e->plan, e->stream, &e->tensors.buffers) != GATHERTUNE_OK;
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
    executors[i] = (executor){context, plan, stream, make_tensors(open, plan), 0};
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
  tensors t = make_tensors(open, plan);
  gt_address result = t.memory[t.bench.n_inputs];
  unsigned char before[4];
  gt_status status = open->backend->capture ? open->backend->capture(open->device, &error) : GT_UNSUPPORTED;
  if (status == GT_UNSUPPORTED) {
    print_message("no graphs here: %s\n", error.text);
    skip();
  }
  execute(context, plan, stream, &t);
  SUCCEED(open->backend->captured(open->device, &graph, &error));
  SUCCEED(open->backend->read(open->device, before, result, sizeof before, &error));
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
