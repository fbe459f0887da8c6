// Compiles the kernels of the interpreter's tests with hiprtc, puts them in this process's memory, and runs
// them.
#ifndef GFX942_TEST_INTERPRETER_PROGRAM_H
#define GFX942_TEST_INTERPRETER_PROGRAM_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "interpreter.h"

enum { N = 256 }; // work-items in most workgroups

typedef struct {
  uint32_t groups, items; // workgroups, and work-items in each
  uint32_t dynamic_lds;
  int threads;
  int dies;
  uint64_t schedule;
} Shape;

static const Shape one_group = {.groups = 1, .items = N};

// What the last run has left.
extern char error[512];
extern gfx_counts counts;

// Finds the compiler, and compiles and loads the kernels. False when there is no compiler.
bool program_open(const char *source);

// Loads another program over the one that is loaded.
void program_replace(const char *source);

// Memory of exactly `bytes` for a kernel, zero, at the start of a line.
void *buffer(size_t bytes);

// A teardown that lets go of a test's buffers.
int free_buffers(void **state);

// Runs a kernel on `count` arguments of 8 bytes each.
bool try_kernel(const char *kernel, Shape shape, const uint64_t *argument, int count);

#define ARGUMENT(x) ((uint64_t)(uintptr_t)(x))
#define RUN(kernel, shape, ...)                                                                             \
  do {                                                                                                      \
    const uint64_t arguments[] = {__VA_ARGS__};                                                             \
    if (!try_kernel(kernel, shape, arguments, sizeof arguments / sizeof *arguments)) fail_msg("%s", error); \
  } while (0)
#define RUN_AND_FAIL(kernel, shape, ...)                                                      \
  do {                                                                                        \
    const uint64_t arguments[] = {__VA_ARGS__};                                               \
    assert_false(try_kernel(kernel, shape, arguments, sizeof arguments / sizeof *arguments)); \
  } while (0)

// Numbers that are the same in each run.
uint32_t random_bits(void);
float random_float(void);

// The tests of arithmetic and of traffic, in files of their own. Return how many failed. Those of traffic
// replace the program.
int test_arithmetic(void);
int test_traffic(void);

#endif
