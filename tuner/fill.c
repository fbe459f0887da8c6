#include "tuner/fill.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/parallel.h"
#include "generator/strides.h"
#include "tuner/guard.h"
#include "tuner/storage.h"

#define CHUNK_BYTES ((int64_t)64 << 20)
#define PIECE_ELEMENTS ((size_t)1 << 20) // of generated values, that a thread takes at a time

// A stretch of the tensor's memory that is put together on the host and then written.
typedef struct {
  gt_open_device *open;
  gt_address to;
  int64_t element, capacity; // bytes of an element; elements
  int64_t first, used;       // the stretch, in elements from the tensor's start
  char *memory;
  const char *values; // NULL: generated
  gt_inputs inputs;
  uint64_t input; // that is value 0
} chunk;

static gt_status flush(chunk *c, gt_error *error) {
  if (!c->used) return GT_OK;
  gt_status status = c->open->backend->write(c->open->device, c->to + (gt_address)(c->first * c->element),
                                             c->memory, (size_t)(c->used * c->element), error);
  c->used = 0;
  return status;
}

// A run of generated values, made in pieces.
typedef struct {
  const gt_inputs *inputs;
  uint64_t first;
  size_t count, element; // elements; bytes of one
  char *to;
} filling;

static void fill_piece(void *context, size_t index) {
  const filling *f = context;
  size_t at = index * PIECE_ELEMENTS;
  size_t count = f->count - at < PIECE_ELEMENTS ? f->count - at : PIECE_ELEMENTS;
  gt_inputs_fill(f->inputs, f->first + at, count, f->to + at * f->element);
}

static void generate(const chunk *c, int64_t index, int64_t count, char *to) {
  filling f = {&c->inputs, c->input + (uint64_t)index, (size_t)count, (size_t)c->element, to};
  gt_parallel((f.count + PIECE_ELEMENTS - 1) / PIECE_ELEMENTS, fill_piece, &f);
}

// Adds `count` elements that lie together from `at` on; the first of them is number `index` of the values.
// Calls go up in memory.
static gt_status add(chunk *c, int64_t at, int64_t index, int64_t count, gt_error *error) {
  gt_status status = GT_OK;
  while (count > 0 && status == GT_OK) {
    if (c->used && at - c->first >= c->capacity) status = flush(c, error);
    if (status != GT_OK) break;
    if (!c->used) c->first = at;
    int64_t begin = at - c->first, n = count < c->capacity - begin ? count : c->capacity - begin;
    const uint32_t canary = GT_CANARY;
    for (int64_t i = c->used * c->element; i < begin * c->element; i++)
      c->memory[i] = ((const char *)&canary)[i % 4];
    char *memory = c->memory + begin * c->element;
    if (c->values)
      memcpy(memory, c->values + index * c->element, (size_t)(n * c->element));
    else
      generate(c, index, n, memory);
    c->used = begin + n;
    at += n;
    index += n;
    count -= n;
  }
  return status;
}

// One outer index of a strided tensor: by rows or, channels-last, pixels with gaps between them.
static gt_status add_slice(chunk *c, const gt_problem *problem, int64_t outer, gt_error *error) {
  const int64_t *out = problem->out, inner = gt_problem_inner(problem);
  int64_t stride[GT_DIMENSIONS], index = outer * out[0] * out[1] * out[2] * inner;
  gt_strides_of(problem, stride);
  int64_t start = gt_strides_slice(problem, outer);
  int64_t together = stride[4] == inner ? out[2] : 1; // pixels of a row
  gt_status status = GT_OK;
  for (int64_t z = 0; z < out[0]; z++)
    for (int64_t y = 0; y < out[1]; y++)
      for (int64_t x = 0; x < out[2] && status == GT_OK; x += together, index += together * inner)
        status =
            add(c, start + z * stride[2] + y * stride[3] + x * stride[4], index, together * inner, error);
  return status;
}

uint64_t gt_fill_first(gt_tensor_kind kind) {
  return (uint64_t)kind << 48;
}

gt_status gt_fill_tensor(gt_open_device *open, const gt_problem *problem, const gt_tensor *tensor,
                         int64_t outer, gt_address to, const void *values, gt_error *error) {
  chunk c = {.open = open, .to = to, .element = (int64_t)gt_dtype_bytes(problem->dtype), .values = values};
  c.capacity = CHUNK_BYTES / c.element;
  c.input = gt_fill_first(tensor->kind);
  gt_status status = GT_OK;
  c.memory = gt_alloc((size_t)CHUNK_BYTES);
  gt_inputs_open(&c.inputs, problem->dtype);
  if (tensor->kind == GT_GRAD_OUTPUT && problem->strided)
    for (int64_t o = 0; o < outer && status == GT_OK; o++) status = add_slice(&c, problem, o, error);
  else
    status = add(&c, 0, 0, outer * tensor->slice, error);
  if (status == GT_OK) status = flush(&c, error);
  gt_inputs_close(&c.inputs);
  free(c.memory);
  return status;
}
