// The memory that a plan works on: which members of gathertune_buffers it reads, in the order of its kernels' pointers.
#include <inttypes.h>
#include <stddef.h>

#include "generator/strides.h"
#include "runtime/inside.h"

enum { ALIGNMENT = 16, WORKSPACE_ALIGNMENT = 256 }; // in bytes (docs/problem-form.md)

static const size_t members[GT_TENSORS] = {[GT_GRAD_OUTPUT] = offsetof(gathertune_buffers, grad_output),
                                           [GT_INPUT] = offsetof(gathertune_buffers, input),
                                           [GT_GRID] = offsetof(gathertune_buffers, grid),
                                           [GT_GRAD_INPUT] = offsetof(gathertune_buffers, grad_input),
                                           [GT_GRAD_GRID] = offsetof(gathertune_buffers, grad_grid)};

_Static_assert(GT_TENSORS + 1 <= sizeof((gt_arguments){0}).pointers / sizeof(gt_address),
               "kernels take a pointer for each tensor, and the workspace");

// Bytes that a tensor starts at a multiple of. Of a grad_output with gaps, what divides all its strides may be less.
static size_t alignment(const gt_problem *problem, gt_tensor_kind kind) {
  if (kind != GT_GRAD_OUTPUT || !problem->strided) return ALIGNMENT;
  int64_t stride[GT_DIMENSIONS], all = ALIGNMENT / (int64_t)gt_dtype_bytes(problem->dtype);
  gt_strides_of(problem, stride);
  const int64_t size[GT_DIMENSIONS] = {problem->n, problem->c, problem->out[0], problem->out[1],
                                       problem->out[2]};
  for (int i = 0; i < GT_DIMENSIONS; i++)
    if (size[i] > 1 && i != (problem->layout == GT_NCHW ? GT_DIMENSIONS - 1 : 1)) all |= stride[i];
  return (size_t)(all & -all) * gt_dtype_bytes(problem->dtype);
}

void gt_plan_take_buffers(gathertune_plan *plan, const gt_problem *problem, uint64_t workspace_bytes) {
  gt_tensor tensors[GT_TENSORS];
  int count = gt_problem_tensors(problem, tensors);
  for (int i = 0; i < count; i++)
    plan->buffers[i] =
        (gathertune_tensor){.name = gt_tensor_name(tensors[i].kind),
                            .offset = members[tensors[i].kind],
                            .bytes = (uint64_t)gt_tensor_extent(problem, &tensors[i], plan->outer) *
                                     gt_dtype_bytes(problem->dtype),
                            .alignment = alignment(problem, tensors[i].kind),
                            .is_result = tensors[i].is_result};
  plan->buffers[count] = (gathertune_tensor){.name = "workspace",
                                             .offset = offsetof(gathertune_buffers, workspace),
                                             .bytes = workspace_bytes,
                                             .alignment = WORKSPACE_ALIGNMENT};
  plan->n_pointers = count + 1;
  plan->n_buffers = count + (workspace_bytes > 0);
  plan->info.tensors = plan->buffers;
  plan->info.n_tensors = count;
}

gt_status gt_plan_refuse_buffers(const gathertune_plan *plan, const gathertune_buffers *buffers, gt_error *error) {
  for (int i = 0; buffers && i < plan->n_buffers; i++) {
    const gathertune_tensor *t = &plan->buffers[i];
    uintptr_t address = gt_address_of(buffers, t);
    if (!address)
      return gt_fail(error, GT_USAGE, "%s is NULL: the plan of %s needs %" PRIu64 " bytes there", t->name,
                     plan->problem, t->bytes);
    if (address & (t->alignment - 1))
      return gt_fail(error, GT_USAGE, "%s at %#" PRIxPTR " does not start at a multiple of %zu bytes", t->name,
                     address, t->alignment);
  }
  return gt_fail(error, GT_USAGE, "the gathertune_buffers are NULL");
}
