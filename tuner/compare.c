#include "tuner/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/parallel.h"
#include "generator/default.h"
#include "tuner/check.h"

#define READ_BYTES ((int64_t)64 << 20)   // of a result at a time
#define TASK_ELEMENTS ((int64_t)1 << 17) // that a thread takes at a time
#define LOOK_ELEMENTS 512                // that are looked at quickly before they are checked one by one

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

// What the threads share: the elements first … first+count-1 at `host`.
typedef struct {
  const gt_expected *expected;
  const gt_expected_result *result;
  gt_dtype dtype;
  int64_t inner, slice, places; // elements innermost; elements and places of a slice
  const char *host;
  int64_t first, count;
  uint32_t poison;
} piece;

// What one task found: the first difference is described, all are counted.
typedef struct {
  int64_t compared, wrong;
  gt_buffer what;
} differences;

// Adds "grad_input[outer 3][1][20][7][channel 4]" for an element of a result.
static void print_place(gt_buffer *what, const gt_problem *problem, const gt_tensor *tensor, int64_t element) {
  const int64_t *sizes = gt_tensor_sizes(problem, tensor->kind);
  int64_t slice = tensor->slice, rest = element % slice, inner = gt_problem_inner(problem);
  bool by_planes = false; // whether a slice has several channels, one after the other
  if (!sizes) {
    sizes = problem->out;
    inner = slice / (sizes[0] * sizes[1] * sizes[2]);
  } else {
    by_planes = slice > sizes[0] * sizes[1] * sizes[2] * inner;
  }
  int64_t channel = by_planes ? rest / (slice / problem->c) : rest % inner;
  int64_t place = (by_planes ? rest % (slice / problem->c) : rest) / inner;
  gt_buffer_print(what, "%s[outer %" PRId64 "]", gt_tensor_name(tensor->kind), element / slice);
  if (problem->op->spatial_axes > 2) gt_buffer_print(what, "[%" PRId64 "]", place / sizes[2] / sizes[1]);
  if (problem->op->spatial_axes > 1) gt_buffer_print(what, "[%" PRId64 "]", place / sizes[2] % sizes[1]);
  gt_buffer_print(what, "[%" PRId64 "]", place % sizes[2]);
  if (tensor->kind == GT_GRAD_GRID)
    gt_buffer_print(what, "[%s]", channel ? "y" : "x");
  else if (inner > 1 || by_planes)
    gt_buffer_print(what, "[channel %" PRId64 "]", channel);
}

static bool holds_poison(const piece *p, const void *array, size_t index) {
  size_t bytes = gt_dtype_bytes(p->dtype);
  const uint8_t *at = (const uint8_t *)array + index * bytes, *word = (const uint8_t *)&p->poison;
  for (size_t i = 0; i < bytes; i++)
    if (at[i] != word[i % 4]) return false;
  return true;
}

static void add_difference(differences *found, const piece *p, const void *array, size_t index,
                           int64_t element, double right, double tolerance, const char *by) {
  if (found->wrong++) return;
  print_place(&found->what, &p->expected->bench->problem, &p->result->tensor, element);
  if (holds_poison(p, array, index))
    gt_buffer_print(&found->what, " was never written (%s says %.9g)", by, right);
  else
    gt_buffer_print(&found->what, " is %.9g, %s says %.9g (tolerance %.3g)",
                    gt_storage_load(p->dtype, array, index), by, right, tolerance);
}

// --- with the reference
// --------------------------------------------------------------------------------------

// Element within its slice of value number `v` of the reference's values of a slice.
static int64_t element_of(const piece *p, int64_t v) {
  const gt_expected_result *result = p->result;
  return v / result->n_channels * p->inner + result->channels[v % result->n_channels];
}

// Loads values `from` … of the slice that begins with element `slice`.
static void load_values(const piece *p, int64_t slice, int64_t from, int64_t count, double *values) {
  int64_t channels = p->result->n_channels, base = slice - p->first;
  if (channels == p->inner) { // all of them, one after the other
    gt_storage_load_many(p->dtype, p->host, (size_t)(base + from), (size_t)count, values);
    return;
  }
  for (int64_t v = from, left = 0; v < from + count; v += left) { // where they follow each other, at once
    int64_t element = element_of(p, v);
    for (left = 1; v + left < from + count && element_of(p, v + left) == element + left;) left++;
    gt_storage_load_many(p->dtype, p->host, (size_t)(base + element), (size_t)left, &values[v - from]);
  }
}

// The first of the values `from` … `to`-1 that is element `least` of the slice or a later one.
static int64_t first_value(const piece *p, int64_t from, int64_t to, int64_t least) {
  while (from < to) {
    int64_t middle = from + (to - from) / 2;
    if (element_of(p, middle) < least)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

// Values `from` … `to`-1 of the reference's values of slice number s, those of them that are in the piece.
static void compare_slice(const piece *p, int64_t s, int64_t from, int64_t to, differences *found) {
  const gt_expected_result *expected = p->result;
  int64_t slice = p->expected->slices[s] * p->slice;
  const double *reference = expected->reference + s * p->places * expected->n_channels;
  const double *term = expected->term + s * p->places * expected->n_channels;
  from = first_value(p, from, to, p->first - slice);
  to = first_value(p, from, to, p->first + p->count - slice);
  for (int64_t v = from; v < to; v += LOOK_ELEMENTS) {
    int64_t count = smaller(LOOK_ELEMENTS, to - v);
    double result[LOOK_ELEMENTS];
    load_values(p, slice, v, count, result);
    found->compared += count;
    if (gt_check_values_quickly(p->dtype, term + v, result, reference + v, (size_t)count)) continue;
    for (int64_t i = v; i < v + count; i++) {
      int64_t element = slice + element_of(p, i);
      size_t index = (size_t)(element - p->first);
      double value = gt_storage_load(p->dtype, p->host, index);
      if (!gt_check_value(p->dtype, expected->terms, term[i], value, reference[i]))
        add_difference(found, p, p->host, index, element, reference[i],
                       gt_check_tolerance(p->dtype, expected->terms, term[i], reference[i]), "the reference");
    }
  }
}

// --- with the result of the plain family
// -----------------------------------------------------------------------------

// Compares elements `from` … `to`-1, whose right values are at `right`.
static void compare_kept(const piece *p, int64_t from, int64_t to, const char *right, differences *found) {
  const gt_expected_result *expected = p->result;
  const char *by = gt_plain_family(&p->expected->bench->problem);
  int64_t bytes = (int64_t)gt_dtype_bytes(p->dtype);
  double one[LOOK_ELEMENTS], other[LOOK_ELEMENTS], term[LOOK_ELEMENTS];
  for (int64_t at = from; at < to; at += LOOK_ELEMENTS) {
    int64_t count = smaller(LOOK_ELEMENTS, to - at);
    const char *mine = p->host + (at - p->first) * bytes, *its = right + (at - from) * bytes;
    found->compared += count;
    if (memcmp(mine, its, (size_t)(count * bytes)) == 0) continue;
    int64_t place = at % p->slice / p->inner, rest = at % p->inner;
    for (int64_t i = 0; i < count; i++) {
      term[i] = expected->weight ? expected->weight[place] : expected->largest;
      if (++rest < p->inner) continue;
      rest = 0;
      if (++place == p->places) place = 0;
    }
    gt_storage_load_many(p->dtype, mine, 0, (size_t)count, one);
    gt_storage_load_many(p->dtype, its, 0, (size_t)count, other);
    if (gt_check_pairs_quickly(p->dtype, term, one, other, (size_t)count)) continue;
    for (int64_t i = 0; i < count; i++) {
      if (memcmp(mine + i * bytes, its + i * bytes, (size_t)bytes) == 0) continue;
      double result = gt_storage_load(p->dtype, mine, (size_t)i);
      double expects = gt_storage_load(p->dtype, its, (size_t)i);
      if (gt_check_pair(p->dtype, expected->terms, term[i], result, expects)) continue;
      double tolerance =
          gt_check_tolerance(p->dtype, expected->terms, term[i], fmax(fabs(result), fabs(expects)));
      add_difference(found, p, mine, (size_t)i, at + i, expects, 2 * tolerance, by);
    }
  }
}

// --- all of a piece
// ------------------------------------------------------------------------------------------

typedef struct {
  piece piece;
  int64_t per_slice, slice_tasks; // values of the reference per slice; tasks that they are divided into
  size_t reference_tasks;         // the first ones
  differences *found;             // one per task
} work;

static void do_task(void *context, size_t task) {
  const work *w = context;
  const piece *p = &w->piece;
  const gt_expected_result *expected = p->result;
  if (task < w->reference_tasks) {
    int64_t s = (int64_t)task / w->slice_tasks, from = (int64_t)task % w->slice_tasks * TASK_ELEMENTS;
    compare_slice(p, s, from, smaller(from + TASK_ELEMENTS, w->per_slice), &w->found[task]);
    return;
  }
  int64_t from = p->first + (int64_t)(task - w->reference_tasks) * TASK_ELEMENTS;
  int64_t to = smaller(from + TASK_ELEMENTS, p->first + p->count);
  int64_t bytes = (int64_t)gt_dtype_bytes(p->dtype);
  int64_t tail = p->expected->bench->outer * p->slice - expected->tail_elements;
  if (expected->head && from < expected->head_elements)
    compare_kept(p, from, smaller(to, expected->head_elements), (const char *)expected->head + from * bytes,
                 &w->found[task]);
  if (expected->tail && expected->tail_elements && to > tail) {
    int64_t begin = larger(from, tail);
    compare_kept(p, begin, to, (const char *)expected->tail + (begin - tail) * bytes, &w->found[task]);
  }
}

void gt_compare(const gt_expected *expected, const gt_expected_result *result, const void *host,
                int64_t first, int64_t count, uint32_t poison, int64_t *compared, int64_t *wrong,
                gt_buffer *what) {
  work w = {.piece = {.expected = expected,
                      .result = result,
                      .dtype = expected->bench->problem.dtype,
                      .inner = result->inner,
                      .slice = result->tensor.slice,
                      .places = result->places,
                      .host = host,
                      .first = first,
                      .count = count,
                      .poison = poison},
            .per_slice = result->places * result->n_channels};
  w.slice_tasks = (w.per_slice + TASK_ELEMENTS - 1) / TASK_ELEMENTS;
  w.reference_tasks = (size_t)(expected->n_slices * w.slice_tasks);
  size_t tasks = w.reference_tasks + (size_t)((count + TASK_ELEMENTS - 1) / TASK_ELEMENTS);
  w.found = gt_alloc(tasks * sizeof *w.found);
  gt_parallel(tasks, do_task, &w);
  for (size_t i = 0; i < tasks; i++) {
    if (w.found[i].wrong && !*wrong) gt_buffer_append(what, w.found[i].what.data, w.found[i].what.length);
    *compared += w.found[i].compared;
    *wrong += w.found[i].wrong;
    gt_buffer_free(&w.found[i].what);
  }
  free(w.found);
}

void gt_compare_summarise(int64_t compared, int64_t wrong, gt_buffer *what) {
  gt_buffer_print(what, "; %" PRId64 " of %" PRId64 " compared elements are wrong", wrong, compared);
}

// Of one result; adds to what is counted.
static gt_status compare_result(const gt_expected *expected, const gt_expected_result *result, int slot,
                                uint32_t poison, int64_t *compared, int64_t *wrong, gt_buffer *what,
                                uint64_t *hash, gt_error *error) {
  const gt_bench *bench = expected->bench;
  int64_t bytes = (int64_t)gt_dtype_bytes(bench->problem.dtype), total = bench->outer * result->tensor.slice;
  int64_t most = smaller(READ_BYTES / bytes, total);
  void *host = gt_alloc((size_t)(most * bytes));
  gt_status status = GT_OK;
  for (int64_t first = 0; first < total && status == GT_OK; first += most) {
    int64_t count = smaller(most, total - first);
    gt_address from = gt_guarded_slot(&bench->buffers[result->at], slot) + (gt_address)(first * bytes);
    status = bench->open->backend->read(bench->open->device, host, from, (size_t)(count * bytes), error);
    if (status != GT_OK) break;
    *hash = XXH3_64bits_withSeed(host, (size_t)(count * bytes), *hash);
    gt_compare(expected, result, host, first, count, poison, compared, wrong, what);
  }
  free(host);
  return status;
}

gt_status gt_compare_slot(const gt_expected *expected, int slot, uint32_t poison, bool *right,
                          gt_buffer *what, uint64_t *hash, gt_error *error) {
  int64_t compared = 0, wrong = 0;
  gt_status status = GT_OK;
  *hash = 0;
  for (int i = 0; i < expected->n_results && status == GT_OK; i++)
    status = compare_result(expected, &expected->results[i], slot, poison, &compared, &wrong, what, hash, error);
  *right = wrong == 0;
  if (wrong) gt_compare_summarise(compared, wrong, what);
  return status;
}
