#include "tuner/expected.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "tuner/fill.h"
#include "tuner/reference.h"
#include "tuner/reference_grid.h"
#include "tuner/values.h"

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

// What there is to know of the results before any value.
static void describe(gt_bench *bench, gt_expected *expected) {
  const gt_problem *problem = &bench->problem;
  *expected = (gt_expected){.bench = bench};
  for (int i = bench->n_inputs; i < bench->n_tensors; i++) {
    gt_expected_result *result = &expected->results[expected->n_results++];
    *result = (gt_expected_result){.tensor = bench->tensors[i], .at = i};
    result->inner = problem->op->form == GT_FORM_SEPARABLE ? gt_problem_inner(problem) : 1;
    result->places = result->tensor.slice / result->inner;
  }
}

static gt_expected_result *result_of(gt_expected *expected, gt_tensor_kind kind) {
  for (int i = 0; i < expected->n_results; i++)
    if (expected->results[i].tensor.kind == kind) return &expected->results[i];
  return NULL;
}

static void choose_channels(gt_expected_result *result, int64_t count) {
  result->n_channels = count;
  result->channels = spread_over(result->inner, count);
}

// Outer slices whose reference is made, when one takes `per_slice` elements.
static void choose_slices(gt_expected *expected, int64_t per_slice) {
  int64_t least = per_slice <= 8 * GT_EXPECTED_ELEMENTS ? 2 : 1; // first and last, unless they are huge
  expected->n_slices = smaller(expected->bench->outer, larger(GT_EXPECTED_ELEMENTS / per_slice, least));
  expected->slices = spread_over(expected->bench->outer, expected->n_slices);
}

static void allocate_reference(const gt_expected *expected, gt_expected_result *result) {
  size_t count = (size_t)(expected->n_slices * result->places * result->n_channels);
  result->reference = gt_alloc(count * sizeof *result->reference);
  result->term = gt_alloc(count * sizeof *result->term);
}

// The reference is made in groups of slices.
typedef struct {
  gt_expected *expected;
  gt_problem part; // with the chosen channels only
  int64_t groups;
  gt_error errors[REFERENCE_GROUPS];
} making;

static gt_status make_groups(gt_expected *expected, const gt_problem *part,
                             void (*make)(void *context, size_t index), gt_error *error) {
  making m = {.expected = expected, .part = *part, .groups = smaller(expected->n_slices, REFERENCE_GROUPS)};
  gt_parallel((size_t)m.groups, make, &m);
  for (int64_t i = 0; i < m.groups; i++)
    if (m.errors[i].status != GT_OK) return gt_fail(error, m.errors[i].status, "%s", m.errors[i].text);
  return GT_OK;
}

// The slices of a group: from … to-1 of those chosen.
static void group_slices(const making *m, size_t index, int64_t *from, int64_t *to) {
  *from = m->expected->n_slices * (int64_t)index / m->groups;
  *to = m->expected->n_slices * (int64_t)(index + 1) / m->groups;
}

// --- separable operators ---------------------------------------------------------------------------

// grad_output of the chosen channels of slices from … to-1 of those chosen, as the bench generated it.
static double *make_inputs(const gt_expected *expected, int64_t from, int64_t to) {
  const gt_bench *bench = expected->bench;
  const gt_expected_result *result = &expected->results[0];
  gt_dtype dtype = bench->problem.dtype;
  int64_t out = product(bench->problem.out), inner = result->inner;
  double *values = gt_alloc((size_t)((to - from) * out * result->n_channels) * sizeof *values),
         *next = values;
  void *row = gt_alloc((size_t)inner * gt_dtype_bytes(dtype));
  gt_inputs inputs;
  gt_inputs_open(&inputs, dtype);
  for (int64_t s = from; s < to; s++)
    for (int64_t p = 0; p < out; p++) {
      gt_inputs_fill(&inputs, gt_fill_first(GT_GRAD_OUTPUT) + (uint64_t)((expected->slices[s] * out + p) * inner),
                     (size_t)inner, row);
      for (int64_t c = 0; c < result->n_channels; c++)
        *next++ = gt_storage_load(dtype, row, (size_t)result->channels[c]);
    }
  gt_inputs_close(&inputs);
  free(row);
  return values;
}

static void make_group(void *context, size_t index) {
  making *m = context;
  gt_expected_result *result = result_of(m->expected, GT_GRAD_INPUT);
  int64_t from, to;
  group_slices(m, index, &from, &to);
  int64_t at = from * product(m->part.in) * result->n_channels;
  double *inputs = make_inputs(m->expected, from, to);
  m->errors[index].status = gt_reference(&m->part, to - from, inputs, result->reference + at,
                                         result->term + at, &m->errors[index]);
  free(inputs);
}

// The largest weight that each spatial position is multiplied with: the reference's largest term when all
// inputs are 1.
static gt_status make_weights(gt_expected *expected, gt_error *error) {
  gt_problem one = expected->bench->problem;
  gt_expected_result *result = result_of(expected, GT_GRAD_INPUT);
  one.n = one.c = 1;
  size_t in = (size_t)product(one.in), out = (size_t)product(one.out);
  double *ones = gt_alloc(out * sizeof *ones), *sums = gt_alloc(in * sizeof *sums);
  for (size_t i = 0; i < out; i++) ones[i] = 1;
  result->weight = gt_alloc(in * sizeof *result->weight);
  gt_status status = gt_reference(&one, 1, ones, sums, result->weight, error);
  free(ones);
  free(sums);
  return status;
}

static gt_status check_size(int64_t slice, gt_error *error) {
  if (slice <= REFERENCE_SLICE_LIMIT) return GT_OK;
  return gt_fail(error, GT_OUT_OF_MEMORY,
                 "one outer slice has %" PRId64 " elements, the reference handles up to %" PRId64, slice,
                 REFERENCE_SLICE_LIMIT);
}

static gt_status expect_separable(gt_expected *expected, gt_error *error) {
  const gt_problem *problem = &expected->bench->problem;
  gt_expected_result *result = result_of(expected, GT_GRAD_INPUT);
  int64_t spatial = larger(product(problem->in), product(problem->out)), inner = result->inner;
  choose_channels(result, smaller(inner, larger(GT_EXPECTED_ELEMENTS / 2 / spatial, smaller(inner, 2))));
  choose_slices(expected, spatial * result->n_channels);
  gt_status status = check_size(spatial * result->n_channels, error);
  if (status == GT_OK) status = gt_reference_terms(problem, &result->terms, error);
  if (status == GT_OK) status = make_weights(expected, error);
  if (status != GT_OK) return status;
  allocate_reference(expected, result);
  gt_problem part = *problem;
  if (part.layout == GT_NHWC) part.c = result->n_channels;
  return make_groups(expected, &part, make_group, error);
}

// --- grids -----------------------------------------------------------------------------------------

// Slices from … to-1 of those chosen, of a tensor that the bench generated; NULL when the problem has none.
static double *make_tensor(const gt_expected *expected, gt_tensor_kind kind, int64_t from, int64_t to) {
  const gt_bench *bench = expected->bench;
  gt_dtype dtype = bench->problem.dtype;
  int at = 0;
  while (at < bench->n_inputs && bench->tensors[at].kind != kind) at++;
  if (at == bench->n_inputs) return NULL;
  size_t slice = (size_t)bench->tensors[at].slice;
  double *values = gt_alloc((size_t)(to - from) * slice * sizeof *values);
  void *stored = gt_alloc(slice * gt_dtype_bytes(dtype));
  gt_inputs inputs;
  gt_inputs_open(&inputs, dtype);
  for (int64_t s = from; s < to; s++) {
    size_t first = (size_t)expected->slices[s] * slice;
    if (kind != GT_GRID) gt_inputs_fill(&inputs, gt_fill_first(kind) + first, slice, stored);
    gt_storage_load_many(dtype, kind == GT_GRID ? bench->grid : stored, kind == GT_GRID ? first : 0, slice,
                         values + (size_t)(s - from) * slice);
  }
  gt_inputs_close(&inputs);
  free(stored);
  return values;
}

static void make_grid_group(void *context, size_t index) {
  making *m = context;
  gt_expected_result *of_input = result_of(m->expected, GT_GRAD_INPUT), *of_grid = result_of(m->expected, GT_GRAD_GRID);
  int64_t from, to;
  group_slices(m, index, &from, &to);
  double *grad_output = make_tensor(m->expected, GT_GRAD_OUTPUT, from, to),
         *input = make_tensor(m->expected, GT_INPUT, from, to), *grid = make_tensor(m->expected, GT_GRID, from, to);
  gt_grid_tensors tensors = {.grad_output = grad_output, .input = input, .grid = grid};
  if (of_input) {
    tensors.grad_input = of_input->reference + from * of_input->places;
    tensors.grad_input_term = of_input->term + from * of_input->places;
  }
  if (of_grid) {
    tensors.grad_grid = of_grid->reference + from * of_grid->places;
    tensors.grad_grid_term = of_grid->term + from * of_grid->places;
  }
  gt_reference_grid(&m->part, to - from, &tensors);
  free(grad_output);
  free(input);
  free(grid);
}

// The most terms of the sums of a result of a grid operator.
static double grid_terms(const gt_bench *bench, const gt_expected_result *result) {
  const gt_problem *problem = &bench->problem;
  if (result->tensor.kind == GT_GRAD_INPUT) return gt_reference_grid_terms(problem, bench->outer, bench->grid);
  return (double)problem->c * (problem->sampling.interpolation == GT_INTERPOLATION_BICUBIC ? 16 : 4);
}

static gt_status expect_grid(gt_expected *expected, gt_error *error) {
  const gt_bench *bench = expected->bench;
  int64_t slice = 0;
  for (int i = 0; i < bench->n_tensors; i++) slice = larger(slice, bench->tensors[i].slice);
  gt_status status = check_size(slice, error);
  if (status != GT_OK) return status;
  choose_slices(expected, slice);
  for (int i = 0; i < expected->n_results; i++) {
    gt_expected_result *result = &expected->results[i];
    choose_channels(result, 1);
    allocate_reference(expected, result);
    result->terms = grid_terms(bench, result);
    result->largest = gt_reference_grid_largest(&bench->problem, result->tensor.kind == GT_GRAD_GRID);
  }
  return make_groups(expected, &bench->problem, make_grid_group, error);
}

// --- all -------------------------------------------------------------------------------------------

gt_status gt_expected_open(gt_bench *bench, gt_expected *expected, gt_error *error) {
  describe(bench, expected);
  gt_status status = bench->problem.op->form == GT_FORM_GRID ? expect_grid(expected, error)
                                                             : expect_separable(expected, error);
  if (status != GT_OK) gt_expected_close(expected);
  return status;
}

gt_status gt_expected_from_values(gt_bench *bench, const double *const *reference, const double *const *term,
                                  gt_expected *expected, gt_error *error) {
  const gt_problem *problem = &bench->problem;
  gt_status status = GT_OK;
  describe(bench, expected);
  expected->n_slices = bench->outer;
  expected->slices = spread_over(bench->outer, bench->outer);
  for (int i = 0; i < expected->n_results && status == GT_OK; i++) {
    gt_expected_result *result = &expected->results[i];
    choose_channels(result, result->inner);
    if (problem->op->form == GT_FORM_GRID)
      result->terms = grid_terms(bench, result);
    else
      status = gt_reference_terms(problem, &result->terms, error);
    result->reference = gt_values_in_layout(problem, &result->tensor, reference[i]);
    result->term = gt_values_in_layout(problem, &result->tensor, term[i]);
  }
  if (status != GT_OK) gt_expected_close(expected);
  return status;
}

void gt_expected_close(gt_expected *expected) {
  free(expected->slices);
  for (int i = 0; i < expected->n_results; i++) {
    gt_expected_result *result = &expected->results[i];
    free(result->channels);
    free(result->reference);
    free(result->term);
    free(result->head);
    free(result->tail);
    free(result->weight);
  }
  *expected = (gt_expected){0};
}

static gt_status keep(const gt_bench *bench, gt_expected_result *result, int slot, gt_error *error) {
  const gt_backend *backend = bench->open->backend;
  int64_t element = (int64_t)gt_dtype_bytes(bench->problem.dtype);
  int64_t total = bench->outer * result->tensor.slice, most = KEPT_BYTES / element;
  result->head_elements = total <= most ? total : most / 2;
  result->tail_elements = total <= most ? 0 : most / 2;
  result->head = gt_alloc((size_t)(result->head_elements * element));
  result->tail = gt_alloc((size_t)(result->tail_elements * element));
  gt_address from = gt_guarded_slot(&bench->buffers[result->at], slot);
  gt_status status = backend->read(bench->open->device, result->head, from,
                                   (size_t)(result->head_elements * element), error);
  if (status == GT_OK && result->tail_elements)
    status = backend->read(bench->open->device, result->tail,
                           from + (gt_address)((total - result->tail_elements) * element),
                           (size_t)(result->tail_elements * element), error);
  return status;
}

gt_status gt_expected_keep(gt_expected *expected, int slot, gt_error *error) {
  gt_status status = GT_OK;
  for (int i = 0; i < expected->n_results && status == GT_OK; i++)
    status = keep(expected->bench, &expected->results[i], slot, error);
  return status;
}

bool gt_expected_is_partial(const gt_expected *expected) {
  bool partial = false;
  for (int i = 0; i < expected->n_results; i++) partial = partial || expected->results[i].tail_elements > 0;
  return partial;
}
