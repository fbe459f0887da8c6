// The reference of grid_sampler_2d_backward: against PyTorch's results, against the derivatives of a forward that is
// written here once more, and where PyTorch's definition has special cases.
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "generator/tensors.h"
#include "tuner/check.h"
#include "tuner/positions.h"
#include "tuner/reference_grid.h"
#include "tuner/storage.h"

#define OP "grid_sampler_2d_backward:"

enum { ORACLE_GRID_CASES = 18 };

static gt_problem problem_of(const char *text) {
  gt_problem problem;
  gt_error error = {0};
  if (gt_problem_parse(text, &problem, &error) != GT_OK) fail_msg("%s: %s", text, error.text);
  return problem;
}

#define assert_near(a, b, tolerance)                                                  \
  do {                                                                                \
    double one = (a), other = (b);                                                    \
    if (!(fabs(one - other) <= (tolerance))) fail_msg("%.17g is not %.17g", one, other); \
  } while (0)

// All tensors of a problem, as doubles.
typedef struct {
  gt_problem problem;
  size_t in, out, grid;
  gt_grid_tensors t;
  double *grad_output, *input, *positions;
} tensors;

static tensors make(const char *text) {
  tensors s = {.problem = problem_of(text)};
  const gt_problem *p = &s.problem;
  s.in = (size_t)(p->n * gt_tensor_slice(p, GT_GRAD_INPUT));
  s.out = (size_t)(p->n * gt_tensor_slice(p, GT_GRAD_OUTPUT));
  s.grid = (size_t)(p->n * gt_tensor_slice(p, GT_GRID));
  s.grad_output = gt_alloc(s.out * sizeof(double));
  s.input = gt_alloc(s.in * sizeof(double));
  s.positions = gt_alloc(s.grid * sizeof(double));
  for (size_t i = 0; i < s.out; i++) s.grad_output[i] = sin((double)i * 1.7);
  for (size_t i = 0; i < s.in; i++) s.input[i] = cos((double)i * 0.9);
  s.t = (gt_grid_tensors){.grad_output = s.grad_output,
                          .input = s.input,
                          .grid = s.positions,
                          .grad_input = gt_alloc(s.in * sizeof(double)),
                          .grad_input_term = gt_alloc(s.in * sizeof(double)),
                          .grad_grid = gt_alloc(s.grid * sizeof(double)),
                          .grad_grid_term = gt_alloc(s.grid * sizeof(double))};
  return s;
}

static void run(tensors *s) {
  gt_reference_grid(&s->problem, s->problem.n, &s->t);
}

static void release(tensors *s) {
  free(s->grad_output);
  free(s->input);
  free(s->positions);
  free(s->t.grad_input);
  free(s->t.grad_input_term);
  free(s->t.grad_grid);
  free(s->t.grad_grid_term);
}

// --- PyTorch's results

static double *array_of(const json_t *json, const gt_buffer *blob, size_t count) {
  size_t offset = (size_t)json_integer_value(json_object_get(json, "offset"));
  bool wide = strcmp(json_string_value(json_object_get(json, "type")), "f64") == 0;
  double *values = gt_alloc(count * sizeof *values);
  for (size_t i = 0; i < count; i++) {
    float narrow;
    memcpy(wide ? (void *)&values[i] : (void *)&narrow, blob->data + offset + i * (wide ? 8 : 4), wide ? 8 : 4);
    if (!wide) values[i] = narrow;
  }
  return values;
}

static long long dimension(const json_t *array, size_t index) {
  return json_integer_value(json_array_get(json_object_get(array, "shape"), index));
}

static void compare(const char *id, gt_dtype dtype, double terms, size_t count, const double *term,
                    const double *result, const double *right) {
  for (size_t i = 0; i < count; i++)
    if (!gt_check_value(dtype, terms, term[i], result[i], right[i]))
      fail_msg("%s: element %zu is %.17g, not %.17g", id, i, result[i], right[i]);
}

static void compare_case(const json_t *test, const gt_buffer *blob) {
  const json_t *args = json_object_get(test, "args"), *in = json_object_get(test, "inputs"), *right = json_object_get(test, "expect");
  const json_t *input = json_object_get(in, "input"), *gradient = json_object_get(in, "grad_output");
  char *text = gt_print(OP "n=%lld,c=%lld,in=%lldx%lld,out=%lldx%lld,dtype=%s,interpolation=%s,padding=%s,align_corners=%d",
                        dimension(input, 0), dimension(input, 1), dimension(input, 2), dimension(input, 3),
                        dimension(gradient, 2), dimension(gradient, 3), json_string_value(json_object_get(test, "dtype")),
                        json_string_value(json_object_get(args, "interpolation")),
                        json_string_value(json_object_get(args, "padding")), json_is_true(json_object_get(args, "align_corners")));
  tensors s = make(text);
  double *grad_output = array_of(gradient, blob, s.out), *values = array_of(input, blob, s.in),
         *grid = array_of(json_object_get(in, "grid"), blob, s.grid),
         *grad_input = array_of(json_object_get(right, "grad_input"), blob, s.in),
         *grad_grid = array_of(json_object_get(right, "grad_grid"), blob, s.grid);
  s.t.grad_output = grad_output, s.t.input = values, s.t.grid = grid;
  run(&s);
  void *stored = gt_alloc(s.grid * 8);
  for (size_t i = 0; i < s.grid; i++) gt_storage_store(s.problem.dtype, stored, i, grid[i]);
  const char *id = json_string_value(json_object_get(test, "id"));
  compare(id, s.problem.dtype, gt_reference_grid_terms(&s.problem, s.problem.n, stored), s.in, s.t.grad_input_term,
          s.t.grad_input, grad_input);
  compare(id, s.problem.dtype, 16.0 * (double)s.problem.c, s.grid, s.t.grad_grid_term, s.t.grad_grid, grad_grid);
  free(stored);
  free(grad_output), free(values), free(grid), free(grad_input), free(grad_grid);
  release(&s);
  free(text);
}

static void it_is_what_pytorch_computes(void **state) {
  (void)state;
  gt_buffer blob = {0}, lines = {0};
  int count = 0;
  assert_true(gt_buffer_read_file(&blob, "tests/oracle/open.bin"));
  assert_true(gt_buffer_read_file(&lines, "tests/oracle/open.jsonl"));
  for (char *rest = lines.data, *line; (line = strsep(&rest, "\n"));) {
    json_t *test = *line ? json_loads(line, 0, NULL) : NULL;
    const char *op = json_string_value(json_object_get(test, "op"));
    if (op && strcmp(op, "grid_sampler_2d_backward") == 0) {
      compare_case(test, &blob);
      count++;
    }
    json_decref(test);
  }
  gt_buffer_free(&blob);
  gt_buffer_free(&lines);
  assert_int_equal(count, ORACLE_GRID_CASES);
}

// --- derivatives of a forward

// Σ grad_output · grid_sample(input, grid), which is linear in input: of bilinear sampling with zeros outside, f64.
static double loss(const tensors *s, const double *input, const double *grid) {
  const gt_problem *p = &s->problem;
  int64_t height = p->in[1], width = p->in[2], samples = p->out[1] * p->out[2];
  double sum = 0;
  for (int64_t n = 0; n < p->n; n++)
    for (int64_t i = 0; i < samples; i++) {
      double x = ((grid[2 * (n * samples + i)] + 1) * (double)width - 1) / 2;
      double y = ((grid[2 * (n * samples + i) + 1] + 1) * (double)height - 1) / 2;
      for (int64_t c = 0; c < p->c; c++)
        for (int64_t row = 0; row < height; row++)
          for (int64_t column = 0; column < width; column++) {
            double weight = fmax(0, 1 - fabs(x - (double)column)) * fmax(0, 1 - fabs(y - (double)row));
            bool last = p->layout == GT_NHWC;
            int64_t at = last ? ((n * height + row) * width + column) * p->c + c : ((n * p->c + c) * height + row) * width + column;
            int64_t from = last ? (n * samples + i) * p->c + c : (n * p->c + c) * samples + i;
            sum += weight * input[at] * s->grad_output[from];
          }
    }
  return sum;
}

static void gradients_are_the_derivatives_of_the_forward(void **state) {
  (void)state;
  static const char *const texts[] = {OP "n=2,c=3,in=4x5,out=3x2,dtype=f64", OP "n=2,c=3,in=4x5,out=3x2,dtype=f64,layout=nhwc"};
  for (size_t k = 0; k < 2; k++) {
    tensors s = make(texts[k]);
    for (size_t i = 0; i < s.grid; i++) s.positions[i] = 1.1 * sin(3.3 * (double)i + 0.2);
    run(&s);
    for (size_t i = 0; i < s.in; i++) { // linear: a difference is the derivative
      double before = s.input[i], low = loss(&s, s.input, s.positions);
      s.input[i] += 1;
      assert_near(s.t.grad_input[i], loss(&s, s.input, s.positions) - low, 1e-12);
      s.input[i] = before;
    }
    const double step = 1e-6;
    for (size_t i = 0; i < s.grid; i++) {
      double before = s.positions[i];
      s.positions[i] = before + step;
      double high = loss(&s, s.input, s.positions);
      s.positions[i] = before - step;
      double low = loss(&s, s.input, s.positions);
      s.positions[i] = before;
      assert_near(s.t.grad_grid[i], (high - low) / (2 * step), 1e-7);
    }
    release(&s);
  }
}

// --- special cases

static double sum_of(const double *values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += values[i];
  return sum;
}

// Runs one sample of gradient 1 at (x, y) and returns what grad_input adds up to.
static double received(const char *interpolation, const char *padding, double x, double y, double grad_grid[2]) {
  char *text = gt_print(OP "n=1,c=1,in=4x6,out=1x1,dtype=f32,interpolation=%s,padding=%s", interpolation, padding);
  tensors s = make(text);
  s.grad_output[0] = 1;
  s.positions[0] = x, s.positions[1] = y;
  run(&s);
  double sum = sum_of(s.t.grad_input, s.in);
  memcpy(grad_grid, s.t.grad_grid, 2 * sizeof *grad_grid);
  release(&s);
  free(text);
  return sum;
}

static void a_sample_that_is_nowhere_counts_for_nothing_with_zeros(void **state) {
  (void)state;
  static const char *const interpolations[] = {"bilinear", "nearest", "bicubic"};
  const double nowhere[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1e38, -1e38, 3, -3};
  double grad_grid[2];
  for (size_t i = 0; i < 3; i++)
    for (size_t k = 0; k < sizeof nowhere / sizeof *nowhere; k++) {
      assert_near(received(interpolations[i], "zeros", nowhere[k], 0.1, grad_grid), 0, 0);
      assert_near(grad_grid[0], 0, 0);
      assert_near(grad_grid[1], 0, 0);
      assert_near(received(interpolations[i], "zeros", 0.1, nowhere[k], grad_grid), 0, 0);
    }
}

static void the_border_takes_what_lies_beyond_it_and_has_no_slope(void **state) {
  (void)state;
  static const char *const interpolations[] = {"bilinear", "nearest", "bicubic"};
  const double beyond[] = {(double)INFINITY, -(double)INFINITY, 1e38, -1e38, 3, -3};
  double grad_grid[2];
  for (size_t i = 0; i < 3; i++)
    for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++) {
      assert_near(received(interpolations[i], "border", beyond[k], 0.1, grad_grid), 1, 1e-6);
      assert_near(grad_grid[0], 0, 1e-6);
    }
}

static void reflection_keeps_all_of_a_gradient_and_turns_its_slope(void **state) {
  (void)state;
  double inside[2], outside[2];
  assert_near(received("bilinear", "reflection", 0.8, 0.1, inside), 1, 1e-6);
  assert_near(received("bilinear", "reflection", 1.2, 0.1, outside), 1, 1e-6); // mirrored at 1
  assert_near(inside[0], -outside[0], 1e-5);
  assert_near(inside[1], outside[1], 1e-5);
}

static void nearest_rounds_halves_to_even_and_has_no_slope(void **state) {
  (void)state;
  tensors s = make(OP "n=1,c=1,in=1x8,out=1x4,dtype=f32,interpolation=nearest");
  for (int i = 0; i < 4; i++) { // positions 0.5, 1.5, 2.5, 3.5
    s.grad_output[i] = 1;
    s.positions[2 * i] = (2 * (i + 0.5) + 1) / 8 - 1, s.positions[2 * i + 1] = 0;
  }
  run(&s);
  const double right[] = {1, 0, 2, 0, 1, 0, 0, 0};
  for (int i = 0; i < 8; i++) assert_near(s.t.grad_input[i], right[i], 0);
  for (size_t i = 0; i < s.grid; i++) assert_near(s.t.grad_grid[i], 0, 0);
  release(&s);
}

// --- grids

static void grids_are_what_their_classes_say(void **state) {
  (void)state;
  enum { SAMPLES = 3 * 32 * 48 };
  double *grids[GT_GRID_CLASSES];
  for (int class = 0; class < GT_GRID_CLASSES; class++) {
    gt_problem p = problem_of(OP "n=3,c=1,in=64x80,out=32x48,dtype=f64");
    p.sampling.positions = (gt_grid_class)class;
    grids[class] = gt_alloc(2 * SAMPLES * sizeof(double));
    double *again = gt_alloc(2 * SAMPLES * sizeof(double));
    gt_positions_make(&p, 3, grids[class]);
    gt_positions_make(&p, 3, again);
    assert_memory_equal(grids[class], again, 2 * SAMPLES * sizeof(double));
    free(again);
  }
  assert_memory_equal(grids[GT_GRID_CLASS_ANY], grids[GT_GRID_CLASS_RANDOM], 2 * SAMPLES * sizeof(double));
  const double *identity = grids[GT_GRID_CLASS_IDENTITY], *smooth = grids[GT_GRID_CLASS_SMOOTH],
               *contended = grids[GT_GRID_CLASS_CONTENDED], *random = grids[GT_GRID_CLASS_RANDOM];
  int near = 0, outside = 0;
  for (int i = 0; i < SAMPLES; i++) {
    assert_near(identity[2 * i], (2.0 * (i % 48) + 1) / 48 - 1, 1e-15);
    assert_near(identity[2 * i + 1], (2.0 * (i / 48 % 32) + 1) / 32 - 1, 1e-15);
    for (int k = 0; k < 2; k++) assert_true(fabs(smooth[2 * i + k] - identity[2 * i + k]) <= 0.25);
    if (i % 48) assert_true(fabs(smooth[2 * i] - smooth[2 * i - 2]) < 2.0 / 48 + 2 * 0.25 / 16 + 1e-9);
    int first = i / (32 * 48) * 32 * 48 + 1; // of the image: not one of ten that are random
    near += fabs(contended[2 * i] - contended[2 * first]) <= 2.0 / 80 && fabs(contended[2 * i + 1] - contended[2 * first + 1]) <= 2.0 / 64;
    outside += fabs(random[2 * i]) > 1;
    assert_true(fabs(random[2 * i]) <= 1.05);
  }
  assert_true(near >= SAMPLES * 9 / 10 - 3);
  assert_in_range(outside, SAMPLES / 40, SAMPLES / 10);
  for (int class = 0; class < GT_GRID_CLASSES; class++) free(grids[class]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_is_what_pytorch_computes),
      cmocka_unit_test(gradients_are_the_derivatives_of_the_forward),
      cmocka_unit_test(a_sample_that_is_nowhere_counts_for_nothing_with_zeros),
      cmocka_unit_test(the_border_takes_what_lies_beyond_it_and_has_no_slope),
      cmocka_unit_test(reflection_keeps_all_of_a_gradient_and_turns_its_slope),
      cmocka_unit_test(nearest_rounds_halves_to_even_and_has_no_slope),
      cmocka_unit_test(grids_are_what_their_classes_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
