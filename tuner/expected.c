#include "tuner/expected.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "tuner/reference.h"

#define REFERENCE_SLICE_LIMIT ((int64_t)1 << 28) // of one slice: 2 GiB of doubles per array
#define REFERENCE_GROUPS 32                      // that threads take one at a time
#define KEPT_BYTES ((int64_t)1 << 30)

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}
static int64_t product(const int64_t sizes[GT_AXES]) {
  return sizes[0] * sizes[1] * sizes[2];
}

// `count` indices spread over 0 … total-1, the first and the last among them.
static int64_t *spread_over(int64_t total, int64_t count) {
  int64_t *result = gt_alloc((size_t)count * sizeof *result);
  for (int64_t i = 0; i < count; i++) result[i] = count > 1 ? i * (total - 1) / (count - 1) : 0;
  return result;
}

static void choose_slices(gt_expected *expected) {
  const gt_bench *bench = expected->bench;
  int64_t spatial = larger(product(bench->problem.in), product(bench->problem.out));
  int64_t inner = gt_problem_inner(&bench->problem);
  expected->n_channels = smaller(inner, larger(GT_EXPECTED_ELEMENTS / 2 / spatial, smaller(inner, 2)));
  expected->channels = spread_over(inner, expected->n_channels);
  int64_t per_slice = spatial * expected->n_channels;
  int64_t least = per_slice <= 8 * GT_EXPECTED_ELEMENTS ? 2 : 1; // first and last, unless they are huge
  expected->n_slices = smaller(bench->outer, larger(GT_EXPECTED_ELEMENTS / per_slice, least));
  expected->slices = spread_over(bench->outer, expected->n_slices);
}

// grad_output of the chosen channels of slices from … to-1 of those chosen, as the bench generated it.
static double *make_inputs(const gt_expected *expected, int64_t from, int64_t to) {
  const gt_bench *bench = expected->bench;
  gt_dtype dtype = bench->problem.dtype;
  int64_t out = product(bench->problem.out), inner = gt_problem_inner(&bench->problem);
  double *values = gt_alloc((size_t)((to - from) * out * expected->n_channels) * sizeof *values),
         *next = values;
  void *row = gt_alloc((size_t)inner * gt_dtype_bytes(dtype));
  gt_inputs inputs;
  gt_inputs_open(&inputs, dtype);
  for (int64_t s = from; s < to; s++)
    for (int64_t p = 0; p < out; p++) {
      gt_inputs_fill(&inputs, (uint64_t)(expected->slices[s] * bench->out_slice + p * inner), (size_t)inner,
                     row);
      for (int64_t c = 0; c < expected->n_channels; c++)
        *next++ = gt_storage_load(dtype, row, (size_t)expected->channels[c]);
    }
  gt_inputs_close(&inputs);
  free(row);
  return values;
}

// The reference is made in groups of slices.
typedef struct {
  gt_expected *expected;
  gt_problem part; // with the chosen channels only
  int64_t groups;
  gt_error errors[REFERENCE_GROUPS];
} making;

static void make_group(void *context, size_t index) {
  making *m = context;
  gt_expected *expected = m->expected;
  int64_t from = expected->n_slices * (int64_t)index / m->groups;
  int64_t to = expected->n_slices * (int64_t)(index + 1) / m->groups;
  int64_t at = from * product(m->part.in) * expected->n_channels;
  double *inputs = make_inputs(expected, from, to);
  m->errors[index].status = gt_reference(&m->part, to - from, inputs, expected->reference + at,
                                         expected->term + at, &m->errors[index]);
  free(inputs);
}

static gt_status make_reference(gt_expected *expected, gt_error *error) {
  making m = {.expected = expected,
              .part = expected->bench->problem,
              .groups = smaller(expected->n_slices, REFERENCE_GROUPS)};
  if (m.part.layout == GT_NHWC) m.part.c = expected->n_channels;
  gt_parallel((size_t)m.groups, make_group, &m);
  for (int64_t i = 0; i < m.groups; i++)
    if (m.errors[i].status != GT_OK) return gt_fail(error, m.errors[i].status, "%s", m.errors[i].text);
  return GT_OK;
}

// The largest weight that each spatial position is multiplied with: the reference's largest term when all
// inputs are 1.
static gt_status make_weights(gt_expected *expected, gt_error *error) {
  gt_problem one = expected->bench->problem;
  one.n = one.c = 1;
  size_t in = (size_t)product(one.in), out = (size_t)product(one.out);
  double *ones = gt_alloc(out * sizeof *ones), *sums = gt_alloc(in * sizeof *sums);
  for (size_t i = 0; i < out; i++) ones[i] = 1;
  expected->weight = gt_alloc(in * sizeof *expected->weight);
  gt_status status = gt_reference(&one, 1, ones, sums, expected->weight, error);
  free(ones);
  free(sums);
  return status;
}

static void allocate_reference(gt_expected *expected) {
  size_t count = (size_t)(expected->n_slices * product(expected->bench->problem.in) * expected->n_channels);
  expected->reference = gt_alloc(count * sizeof *expected->reference);
  expected->term = gt_alloc(count * sizeof *expected->term);
}

gt_status gt_expected_open(gt_bench *bench, gt_expected *expected, gt_error *error) {
  *expected = (gt_expected){.bench = bench};
  choose_slices(expected);
  int64_t slice = larger(product(bench->problem.in), product(bench->problem.out)) * expected->n_channels;
  gt_status status;
  if (slice > REFERENCE_SLICE_LIMIT)
    status = gt_fail(error, GT_OUT_OF_MEMORY,
                     "one outer slice has %" PRId64 " elements, the reference handles up to %" PRId64, slice,
                     REFERENCE_SLICE_LIMIT);
  else
    status = gt_reference_terms(&bench->problem, &expected->terms, error);
  if (status == GT_OK) status = make_weights(expected, error);
  if (status == GT_OK) {
    allocate_reference(expected);
    status = make_reference(expected, error);
  }
  if (status != GT_OK) gt_expected_close(expected);
  return status;
}

gt_status gt_expected_from_values(gt_bench *bench, const double *reference, const double *term,
                                  gt_expected *expected, gt_error *error) {
  int64_t inner = gt_problem_inner(&bench->problem), spatial = product(bench->problem.in);
  *expected = (gt_expected){.bench = bench, .n_slices = bench->outer, .n_channels = inner};
  expected->slices = spread_over(bench->outer, bench->outer);
  expected->channels = spread_over(inner, inner);
  gt_status status = gt_reference_terms(&bench->problem, &expected->terms, error);
  if (status != GT_OK) {
    gt_expected_close(expected);
    return status;
  }
  allocate_reference(expected);
  for (int64_t s = 0, to = 0; s < bench->outer; s++)
    for (int64_t p = 0; p < spatial; p++)
      for (int64_t c = 0; c < inner; c++, to++) {
        int64_t from = (s * inner + c) * spatial + p; // NCHW: the channels of an image are planes
        expected->reference[to] = reference[from];
        expected->term[to] = term[from];
      }
  return GT_OK;
}

void gt_expected_close(gt_expected *expected) {
  free(expected->slices);
  free(expected->channels);
  free(expected->reference);
  free(expected->term);
  free(expected->head);
  free(expected->tail);
  free(expected->weight);
  *expected = (gt_expected){0};
}

gt_status gt_expected_keep(gt_expected *expected, int slot, gt_error *error) {
  const gt_bench *bench = expected->bench;
  const gt_backend *backend = bench->open->backend;
  int64_t element = (int64_t)gt_dtype_bytes(bench->problem.dtype);
  int64_t total = bench->outer * bench->in_slice, most = KEPT_BYTES / element;
  expected->head_elements = total <= most ? total : most / 2;
  expected->tail_elements = total <= most ? 0 : most / 2;
  expected->head = gt_alloc((size_t)(expected->head_elements * element));
  expected->tail = gt_alloc((size_t)(expected->tail_elements * element));
  gt_address from = gt_guarded_slot(&bench->grad_input, slot);
  gt_status status = backend->read(bench->open->device, expected->head, from,
                                   (size_t)(expected->head_elements * element), error);
  if (status == GT_OK && expected->tail_elements)
    status = backend->read(bench->open->device, expected->tail,
                           from + (gt_address)((total - expected->tail_elements) * element),
                           (size_t)(expected->tail_elements * element), error);
  return status;
}

bool gt_expected_is_partial(const gt_expected *expected) {
  return expected->tail_elements > 0;
}
