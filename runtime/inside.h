// What the parts of the library share: the public header's opaque types.
#ifndef GT_RUNTIME_INSIDE_H
#define GT_RUNTIME_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "device/device.h"
#include "generator/tensors.h"
#include "include/gathertune.h"
#include "runtime/answers.h"
#include "runtime/lookup.h"
#include "runtime/messages.h"

// A code object that was loaded, once for all plans that launch its kernels.
typedef struct gt_loaded_code gt_loaded_code;
struct gt_loaded_code {
  char hash[GT_HASH_SIZE];
  gt_module *module;
  gt_loaded_code *next;
};

struct gathertune_context {
  // As they were opened.
  gt_error failure; // why the context did not open; GT_OK: it did
  gathertune_mode mode;
  int trials;
  double compile_seconds, tune_seconds;
  char *program, *device_name;
  char **caches, **trusted; // copies
  gt_layers_options layers_options;
  gt_open_device device;
  char model[320];
  char *notes;
  gt_messages messages;
  gt_answers answers;

  // Of whoever makes a plan.
  pthread_mutex_t making;
  gt_layers layers;
  gt_finder *finder;
  gt_loaded_code *codes;
  gathertune_plan *plans;
};

struct gathertune_plan {
  // What executing needs, first.
  gathertune_context *context;
  const gt_backend *backend;
  gt_device *device;
  int n_pointers; // of its kernels: one for each tensor, and the workspace
  int n_buffers;  // that are needed: without the workspace where it is not
  gathertune_tensor buffers[GT_TENSORS + 1]; // in the pointers' order, the workspace last
  int n_launches; // that are not empty
  struct {
    gt_kernel *kernel;
    uint32_t grid[3], block[3];
  } launches[GT_MAX_LAUNCHES];
  int64_t outer;

  gathertune_plan_info info;
  char problem[GT_PROBLEM_TEXT];
  char *from_problem, *from_model, *from_cache, *configuration, *note;
  // Where nothing may be compiled, staleness is looked at when somebody asks: it takes Lua.
  _Atomic(bool) judged; // info.stale and info.note are known
  char source_hash[GT_HASH_SIZE], *compiler; // until then: of the stored code object
  gathertune_plan *next;
};

// Fills the calling thread's message, and returns the status.
gathertune_status gt_context_fail(const gathertune_context *context, const gt_error *error);

// Makes the plan of a problem (plan.c), with context->making held.
gt_status gt_plan_make(gathertune_context *context, const gt_problem *problem, unsigned flags,
                       gathertune_plan **plan, gt_error *error);
void gt_plan_free(gathertune_plan *plan);

// Fills info.stale and info.note of a plan that is not judged.
void gt_plan_judge(gathertune_plan *plan);

// Describes the memory that a plan works on (tensors.c).
void gt_plan_take_buffers(gathertune_plan *plan, const gt_problem *problem, uint64_t workspace_bytes);
// What is wrong with the memory that it was given: GT_USAGE.
gt_status gt_plan_refuse_buffers(const gathertune_plan *plan, const gathertune_buffers *buffers, gt_error *error);

static inline uintptr_t gt_address_of(const gathertune_buffers *buffers, const gathertune_tensor *tensor) {
  const void *address; // members are of two types, which are alike
  memcpy(&address, (const char *)buffers + tensor->offset, sizeof address);
  return (uintptr_t)address;
}

// The code of what was found: stored, or compiled as the mode allows (code.c). *stale: whether that is stale,
// and so dealt with as runtime/stale.h says; `note` receives what the user should know of it.
gt_status gt_plan_code(gathertune_context *context, const gt_problem *problem, gt_found *found, bool *stale,
                       gt_module **module, gt_buffer *note, gt_error *error);

#endif
