#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "tests/unit/problem_fixture.h"

static void one_and_three_axes_have_as_many_sizes(void **state) {
  (void)state;
  gt_problem problem;
  const char *text =
      "upsample_linear1d_backward:n=1,c=2,in=4096,out=8192,dtype=f32,layout=nchw,align_corners=0,scale=2";
  canonical(text, text);
  assert_int_equal(gt_problem_parse(text, &problem, NULL), GT_OK);
  assert_int_equal(problem.in[0] * problem.in[1], 1);
  assert_int_equal(problem.in[2], 4096);
  text = "upsample_trilinear3d_backward:n=1,c=2,in=7x8x9,out=14x16x18,dtype=f16,layout=nhwc,align_corners=1";
  canonical(text, text);
  assert_int_equal(gt_problem_parse(text, &problem, NULL), GT_OK);
  assert_int_equal(problem.in[0], 7);
  refused("upsample_nearest3d_backward:n=1,c=1,in=2x2,out=4x4x4,dtype=f32",
          "problem: key 'in': '2x2' should be 3 sizes joined by 'x' for upsample_nearest3d_backward");
}

static void a_problem_prints_the_keys_that_its_operator_has(void **state) {
  (void)state;
  canonical("upsample_nearest2d_backward:n=1,c=1,in=2x2,out=4x4,dtype=f32,scale=2",
            "upsample_nearest2d_backward:n=1,c=1,in=2x2,out=4x4,dtype=f32,layout=nchw,scale=2x2");
  canonical("adaptive_avg_pool2d_backward:n=1,c=1,in=2x2,out=1x1,dtype=f32",
            "adaptive_avg_pool2d_backward:n=1,c=1,in=2x2,out=1x1,dtype=f32,layout=nchw");
  refused("upsample_nearest2d_backward:n=1,c=1,in=2x2,out=4x4,dtype=f32,align_corners=0",
          "problem: key 'align_corners': upsample_nearest2d_backward has no such key (n, c, in, out, dtype, "
          "layout, stride, scale)");
  refused("adaptive_avg_pool2d_backward:n=1,c=1,in=2x2,out=1x1,dtype=f32,scale=2",
          "problem: key 'scale': adaptive_avg_pool2d_backward has no such key (n, c, in, out, dtype, layout, "
          "stride)");
  refused("adaptive_avg_pool2d_backward:n=1,c=1,in=2x2,out=1x1,dtype=f32,size=2",
          "problem: unknown key 'size' (n, c, in, out, dtype, layout, stride)");
}

static void a_grid_without_channels_is_refused_where_its_gradient_would_be_all_zero(void **state) {
  (void)state;
#define SAMPLER "grid_sampler_2d_backward:"
  const char *rest = ",layout=nchw,interpolation=bilinear,padding=zeros,align_corners=0,want=input";
  char *text = gt_print(SAMPLER "n=2,c=0,in=2x2,out=4x4,dtype=f32%s", rest);
  canonical(text, text);
  free(text);
  refused(SAMPLER "n=2,c=0,in=2x2,out=4x4,dtype=f32",
          "problem: key 'c': 0 channels, with which all of grad_grid is 0; want=input is legal");
  canonical(SAMPLER "n=0,c=0,in=2x2,out=4x4,dtype=f32",
            SAMPLER "n=0,c=0,in=2x2,out=4x4,dtype=f32,layout=nchw,interpolation=bilinear,padding=zeros,align_corners=0,want=both");
#undef SAMPLER
}

#define POOL "avg_pool2d_backward:n=1,c=1,"

static void a_pool_prints_its_defaults(void **state) {
  (void)state;
  canonical(POOL "in=8x9,out=2x3,dtype=f32,kernel=3",
            POOL "in=8x9,out=2x3,dtype=f32,layout=nchw,kernel=3x3,pool_stride=3x3,padding=0x0,ceil_mode=0,"
                 "count_include_pad=1");
  const char *text = POOL "in=56x56,out=29x28,dtype=f16,layout=nhwc,kernel=3x2,pool_stride=2x2,padding=1x0,"
                          "ceil_mode=1,count_include_pad=0,divisor=5";
  canonical(text, text);
}

static void a_pool_has_the_sizes_that_follow_from_its_keys(void **state) {
  (void)state;
  // PyTorch's pooling_output_shape by hand: floor or ceiling of (in + 2 padding - kernel) / stride, plus 1.
  canonical(POOL "in=8x8,out=4x4,dtype=f32,kernel=3,pool_stride=2,padding=1",
            POOL "in=8x8,out=4x4,dtype=f32,layout=nchw,kernel=3x3,pool_stride=2x2,padding=1x1,ceil_mode=0,"
                 "count_include_pad=1");
  gt_problem problem;
  assert_int_equal(gt_problem_parse(POOL
                                    "in=8x8,out=5x5,dtype=f32,kernel=3,pool_stride=2,padding=1,ceil_mode=1",
                                    &problem, NULL),
                   GT_OK);
  // A fourth window would begin at 3 · 3 - 1 = 8, in the padding behind the 8 inputs.
  assert_int_equal(gt_problem_parse(POOL
                                    "in=8x8,out=3x3,dtype=f32,kernel=2,pool_stride=3,padding=1,ceil_mode=1",
                                    &problem, NULL),
                   GT_OK);
  // A kernel that is larger than the input has one window where the ceiling makes it.
  assert_int_equal(
      gt_problem_parse(POOL "in=2x2,out=1x1,dtype=f32,kernel=3,pool_stride=2,ceil_mode=1", &problem, NULL),
      GT_OK);
  refused(POOL "in=8x8,out=5x4,dtype=f32,kernel=3,pool_stride=2,padding=1",
          "problem: key 'out': should be 4x4, from in, kernel, pool_stride, padding and ceil_mode");
  refused(POOL "in=4x2,out=1x1,dtype=f32,kernel=3",
          "problem: key 'kernel': 3 is more than the 2 inputs with their padding");
  refused(POOL "in=8x8,out=8x8,dtype=f32,kernel=3,pool_stride=1,padding=2",
          "problem: key 'padding': 2 is more than half of the kernel's 3");
}

static void illegal_values_of_a_pool_are_refused(void **state) {
  (void)state;
  refused(POOL "in=8x8,out=4x4,dtype=f32", "problem: key 'kernel' is missing");
  refused(POOL "in=8x8,out=4x4,dtype=f32,kernel=0",
          "problem: key 'kernel': '0' is no size: sizes are at least 1");
  refused(POOL "in=8x8,out=4x4,dtype=f32,kernel=2,pool_stride=2x0",
          "problem: key 'pool_stride': '0' is no size: sizes are at least 1");
  refused(POOL "in=8x8,out=4x4,dtype=f32,kernel=2x2x2",
          "problem: key 'kernel': '2x2x2' should be 2 sizes joined by 'x' for avg_pool2d_backward");
  refused(POOL "in=8x8,out=4x4,dtype=f32,kernel=2,padding=-1",
          "problem: key 'padding': '-1' is not a whole number");
  refused(POOL "in=8x8,out=4x4,dtype=f32,kernel=2,ceil_mode=2",
          "problem: key 'ceil_mode': '2' is not 0 or 1");
  refused(POOL "in=8x8,out=4x4,dtype=f32,kernel=2,count_include_pad=yes",
          "problem: key 'count_include_pad': 'yes' is not 0 or 1");
  refused(POOL "in=8x8,out=4x4,dtype=f32,kernel=2,divisor=0",
          "problem: key 'divisor': '0' divides nothing: a divisor is at least 1");
}

#define SCALED "n=1,c=1,in=3x5,out=6x10,scale="

static void a_scale_needs_a_reciprocal_in_the_arithmetic_type(void **state) {
  (void)state;
  gt_problem problem;
  refused("upsample_bilinear2d_backward:" SCALED "2x1e-39,dtype=f16",
          "problem: key 'scale': 9.9999999999999993e-40 is so small that 1/scale overflows float");
  refused("upsample_bilinear2d_backward:dtype=f64," SCALED "1e-310x2",
          "problem: key 'scale': 9.9999999999999694e-311 is so small that 1/scale overflows double");
  // Nearest has float positions for f64 too.
  refused("upsample_nearest2d_backward:dtype=f64," SCALED "1e-39x2",
          "problem: key 'scale': 9.9999999999999993e-40 is so small that 1/scale overflows float");
  assert_int_equal(gt_problem_parse("upsample_bilinear2d_backward:dtype=f64," SCALED "1e-39", &problem, NULL),
                   GT_OK);
  assert_int_equal(gt_problem_parse("upsample_bilinear2d_backward:dtype=f32," SCALED "1e300", &problem, NULL),
                   GT_OK);
}

// A problem text's keys in their order, with those that have a default value left out.
static void strip(char *text) {
  static const char *const defaults[] = {",align_corners=0", ",layout=nchw"};
  for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
    char *found = strstr(text, defaults[i]);
    if (found) memmove(found, found + strlen(defaults[i]), strlen(found + strlen(defaults[i])) + 1);
  }
}

static void problems_of_real_models_print_to_themselves(void **state) {
  (void)state;
  static const char *const files[] = {"tests/shapes/models.txt", "tests/shapes/grid_sample.txt"};
  gt_buffer file = {0};
  int count = 0;
  for (size_t i = 0; i < 2; i++) assert_true(gt_buffer_read_file(&file, files[i])); // one behind the other
  for (char *rest = file.data, *line; (line = strsep(&rest, "\n"));) {
    line[strcspn(line, " #")] = 0;
    if (!*line) continue;
    gt_problem problem;
    gt_error error = {0};
    char printed[GT_PROBLEM_TEXT];
    if (gt_problem_parse(line, &problem, &error)) fail_msg("%s: %s", line, error.text);
    gt_problem_print(&problem, printed);
    strip(line);
    strip(printed);
    assert_string_equal(printed, line);
    count++;
  }
  assert_true(count >= 91);
  gt_buffer_free(&file);
}

#define GRID "grid_sampler_2d_backward:"

static void a_grid_prints_its_defaults_and_its_class_only_where_it_has_one(void **state) {
  (void)state;
  canonical(GRID "n=2,c=3,in=4x5,out=6x7,dtype=f32",
            GRID "n=2,c=3,in=4x5,out=6x7,dtype=f32,layout=nchw,interpolation=bilinear,padding=zeros,align_corners=0,want=both");
  const char *text = GRID "n=2,c=3,in=4x5,out=6x7,dtype=bf16,layout=nhwc,interpolation=bicubic,padding=reflection,"
                          "align_corners=1,want=input,grid=contended";
  canonical(text, text);
}

static void a_grid_has_words_for_values_and_is_dense(void **state) {
  (void)state;
  refused(GRID "n=2,c=3,in=4x5,out=6x7,dtype=f32,interpolation=cubic",
          "problem: key 'interpolation': 'cubic' is none of bilinear, nearest, bicubic");
  refused(GRID "n=2,c=3,in=4x5,out=6x7,dtype=f32,padding=1", "problem: key 'padding': '1' is none of zeros, border, reflection");
  refused(GRID "n=2,c=3,in=4x5,out=6x7,dtype=f32,want=none", "problem: key 'want': 'none' is none of input, grid, both");
  refused(GRID "n=2,c=3,in=4x5,out=6x7,dtype=f32,grid=", "problem: key 'grid': '' is none of identity, smooth, random, contended");
  refused(GRID "n=2,c=3,in=4x5,out=6x7,dtype=f32,stride=210x70x7x1",
          "problem: key 'stride': grid_sampler_2d_backward has no such key (n, c, in, out, dtype, layout, interpolation, "
          "padding, align_corners, want, grid)");
  refused(POOL "in=8x9,out=2x3,dtype=f32,kernel=3,padding=zeros", "problem: key 'padding': 'zeros' is not a whole number");
}

static void kernels_of_a_grid_depend_on_channels_and_not_on_images_or_classes(void **state) {
  (void)state;
  gt_problem one, other;
  assert_int_equal(gt_problem_parse(GRID "n=2,c=3,in=4x5,out=6x7,dtype=f32,grid=smooth", &one, NULL), GT_OK);
  assert_int_equal(gt_problem_parse(GRID "n=9,c=3,in=4x5,out=6x7,dtype=f32", &other, NULL), GT_OK);
  assert_true(gt_problem_same_kernels(&one, &other));
  assert_int_equal(gt_problem_outer(&other), 9);
  other.c = 4;
  assert_false(gt_problem_same_kernels(&one, &other));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_and_three_axes_have_as_many_sizes),
      cmocka_unit_test(a_problem_prints_the_keys_that_its_operator_has),
      cmocka_unit_test(a_grid_without_channels_is_refused_where_its_gradient_would_be_all_zero),
      cmocka_unit_test(a_pool_prints_its_defaults),
      cmocka_unit_test(a_pool_has_the_sizes_that_follow_from_its_keys),
      cmocka_unit_test(illegal_values_of_a_pool_are_refused),
      cmocka_unit_test(a_scale_needs_a_reciprocal_in_the_arithmetic_type),
      cmocka_unit_test(problems_of_real_models_print_to_themselves),
      cmocka_unit_test(a_grid_prints_its_defaults_and_its_class_only_where_it_has_one),
      cmocka_unit_test(a_grid_has_words_for_values_and_is_dense),
      cmocka_unit_test(kernels_of_a_grid_depend_on_channels_and_not_on_images_or_classes),
  };
  return cmocka_run_group_tests_name("keys of problems", tests, NULL, NULL);
}
