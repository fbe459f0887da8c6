// Strides of grad_output: their texts, what they mean, and which problems they make the same.
#include <string.h>

#include "generator/strides.h"
#include "tests/unit/problem_fixture.h"

#define NCHW "upsample_bilinear2d_backward:n=2,c=3,in=5x7,out=9x13,dtype=f32,layout=nchw"
#define NHWC "upsample_bilinear2d_backward:n=2,c=3,in=5x7,out=9x13,dtype=f32,layout=nhwc"

static void kernel(const char *text, const char *expected) {
  char printed[GT_PROBLEM_TEXT];
  gt_problem problem = parse(text);
  gt_problem_print_kernel(&problem, printed);
  assert_string_equal(printed, expected);
}

static void a_strided_problem_prints_to_itself(void **state) {
  (void)state;
  const char *const texts[] = {
      NCHW ",stride=900x120x13x1,align_corners=0",
      NCHW ",stride=432x144x16x1,align_corners=0",
      NHWC ",stride=1000x1x65x5,align_corners=0",
      "upsample_linear1d_backward:n=2,c=3,in=5,out=9,dtype=f16,layout=nchw,stride=100x10x1,align_corners=0",
      "upsample_nearest3d_backward:n=2,c=3,in=2x3x4,out=4x6x8,dtype=f64,layout=nhwc,stride=999x1x240x40x4",
      "avg_pool2d_backward:n=2,c=3,in=8x8,out=4x4,dtype=f32,layout=nchw,stride=64x16x4x1,kernel=2x2,"
      "pool_stride=2x2,padding=0x0,ceil_mode=0,count_include_pad=1",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) canonical(texts[i], texts[i]);
}

static void strides_of_a_dense_tensor_are_dropped(void **state) {
  (void)state;
  canonical(NCHW ",stride=351x117x13x1", NCHW ",align_corners=0");
  canonical(NHWC ",stride=351x1x39x3", NHWC ",align_corners=0");
  // PyTorch prints whatever for a dimension of length 1: the batch of a slice, say, or a single column.
  canonical("upsample_nearest2d_backward:n=1,c=3,in=5x7,out=9x13,dtype=f32,stride=9999x117x13x1",
            "upsample_nearest2d_backward:n=1,c=3,in=5x7,out=9x13,dtype=f32,layout=nchw");
  canonical("upsample_nearest2d_backward:n=2,c=3,in=1x1,out=1x1,dtype=f32,stride=3x1x77x0",
            "upsample_nearest2d_backward:n=2,c=3,in=1x1,out=1x1,dtype=f32,layout=nchw");
  // A tensor without elements has none.
  canonical("upsample_nearest2d_backward:n=0,c=3,in=5x7,out=9x13,dtype=f32,stride=5x5x5x5",
            "upsample_nearest2d_backward:n=0,c=3,in=5x7,out=9x13,dtype=f32,layout=nchw");
}

static void strides_that_mean_nothing_are_those_of_a_dense_tensor(void **state) {
  (void)state;
  canonical("upsample_nearest2d_backward:n=1,c=3,in=5x7,out=9x13,dtype=f32,stride=7x130x14x1",
            "upsample_nearest2d_backward:n=1,c=3,in=5x7,out=9x13,dtype=f32,layout=nchw,stride=390x130x14x1");
  canonical("upsample_nearest2d_backward:n=2,c=1,in=5x7,out=9x13,dtype=f32,stride=500x3x13x1",
            "upsample_nearest2d_backward:n=2,c=1,in=5x7,out=9x13,dtype=f32,layout=nchw,stride=500x500x13x1");
  canonical("upsample_nearest2d_backward:n=2,c=1,in=5x7,out=9x13,dtype=f32,layout=nhwc,stride=500x9x26x2",
            "upsample_nearest2d_backward:n=2,c=1,in=5x7,out=9x13,dtype=f32,layout=nhwc,stride=500x1x26x2");
}

static void strides_that_are_not_of_the_layout_are_refused(void **state) {
  (void)state;
#define STRIDE "problem: key 'stride': "
  refused(NCHW ",stride=351x117x13",
          STRIDE "'351x117x13' should be 4 strides joined by 'x' for "
                 "upsample_bilinear2d_backward: of the batch, the channels and each axis");
  refused(NCHW ",stride=351x117x13x1x1x1x1",
          STRIDE "'351x117x13x1x1x1x1' should be 4 strides joined by 'x' for "
                 "upsample_bilinear2d_backward: of the batch, the channels and each axis");
  refused(NCHW ",stride=351x117x-13x1", STRIDE "'-13' is not a whole number");
  refused(NCHW ",stride=900x300x26x2", STRIDE "the column stride should be 1 in layout nchw, not 2");
  refused(NHWC ",stride=900x2x78x6", STRIDE "the channel stride should be 1 in layout nhwc, not 2");
  refused(NCHW ",stride=351x117x12x1", STRIDE "elements overlap with a row stride of 12; it is at least 13");
  refused(NCHW ",stride=351x124x14x1",
          STRIDE "elements overlap with a channel stride of 124; it is at least 125");
  refused(NCHW ",stride=0x117x13x1", STRIDE "elements overlap with a batch stride of 0; it is at least 351");
  refused(NCHW ",stride=1x117x13x1,stride=1x1x1x1", "problem: key 'stride' is given twice");
  refused(NCHW ",stride=70368744177664x117x13x1", STRIDE "the tensor reaches over more than 2^46 elements");
  refused(NCHW ",stride=70368744177665x117x13x1", STRIDE "'70368744177665' is more than 2^46");
  // As large as a gap may be: no overflow on the way.
  refused(
      "upsample_nearest2d_backward:n=2147483647,c=1,in=1x1,out=1x1,dtype=f32,stride=70368744177664x1x1x1",
      STRIDE "the tensor reaches over more than 2^46 elements");
}

static void a_kernel_depends_on_channels_only_where_slices_are_uneven(void **state) {
  (void)state;
  const char *const uneven = "upsample_bilinear2d_backward:c=3,in=5x7,out=9x13,dtype=f32,layout=nchw,"
                             "stride=900x120x13x1,align_corners=0";
  kernel(NCHW ",stride=900x120x13x1", uneven);
  kernel("upsample_bilinear2d_backward:n=7,c=3,in=5x7,out=9x13,dtype=f32,stride=900x120x13x1", uneven);
  const char *const even =
      "upsample_bilinear2d_backward:in=5x7,out=9x13,dtype=f32,layout=nchw,stride=120x13x1,"
      "align_corners=0";
  kernel(NCHW ",stride=360x120x13x1", even);
  kernel("upsample_bilinear2d_backward:n=1,c=9,in=5x7,out=9x13,dtype=f32,stride=0x120x13x1", even);
  kernel("upsample_bilinear2d_backward:n=9,c=1,in=5x7,out=9x13,dtype=f32,stride=120x0x13x1", even);
  kernel(NHWC ",stride=1000x1x65x5", "upsample_bilinear2d_backward:c=3,in=5x7,out=9x13,dtype=f32,layout=nhwc,"
                                     "stride=1000x1x65x5,align_corners=0");
}

static void slices_lie_where_the_strides_say(void **state) {
  (void)state;
  gt_problem problem = parse(NCHW ",stride=900x120x13x1");
  assert_false(gt_strides_even(&problem));
  assert_int_equal(gt_strides_slice(&problem, 2), 240);
  assert_int_equal(gt_strides_slice(&problem, 4), 1020);
  assert_int_equal(gt_strides_extent(&problem, 1), 117);
  assert_int_equal(gt_strides_extent(&problem, 6), 900 + 240 + 117);
  problem = parse(NHWC ",stride=1000x1x65x5");
  assert_true(gt_strides_even(&problem));
  assert_int_equal(gt_strides_slice(&problem, 1), 1000);
  assert_int_equal(gt_strides_extent(&problem, 1), 8 * 65 + 12 * 5 + 3);
  problem = parse(NCHW);
  assert_int_equal(gt_strides_slice(&problem, 4), 4 * 117);
  assert_int_equal(gt_strides_extent(&problem, 6), 6 * 117);
  // Of an empty problem, which a kernel can be generated for all the same.
  problem = parse("upsample_bilinear2d_backward:n=2,c=0,in=5x7,out=9x13,dtype=f32");
  assert_int_equal(gt_strides_extent(&problem, 1), 117);
}

static void spreading_leaves_a_gap_in_every_dimension(void **state) {
  (void)state;
  char printed[GT_PROBLEM_TEXT];
  gt_error error = {0};
  gt_problem problem = parse(NCHW);
  assert_int_equal(gt_strides_spread(&problem, 3, &error), GT_OK);
  gt_problem_print(&problem, printed);
  assert_string_equal(printed, NCHW ",stride=444x147x16x1,align_corners=0");
  problem.layout = GT_NHWC; // what was spread before does not matter
  assert_int_equal(gt_strides_spread(&problem, 3, &error), GT_OK);
  gt_problem_print(&problem, printed);
  assert_string_equal(printed, NHWC ",stride=732x1x81x6,align_corners=0");
  problem = parse("upsample_bilinear2d_backward:n=1,c=1,in=1x1,out=1x1,dtype=f32");
  assert_int_equal(gt_strides_spread(&problem, 3, &error), GT_OK);
  assert_false(problem.strided);
  problem = parse("upsample_nearest1d_backward:n=32768,c=65535,in=1,out=32768,dtype=f32");
  assert_int_equal(gt_strides_spread(&problem, GT_LARGEST_GAP, &error), GT_USAGE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_strided_problem_prints_to_itself),
      cmocka_unit_test(strides_of_a_dense_tensor_are_dropped),
      cmocka_unit_test(strides_that_mean_nothing_are_those_of_a_dense_tensor),
      cmocka_unit_test(strides_that_are_not_of_the_layout_are_refused),
      cmocka_unit_test(a_kernel_depends_on_channels_only_where_slices_are_uneven),
      cmocka_unit_test(slices_lie_where_the_strides_say),
      cmocka_unit_test(spreading_leaves_a_gap_in_every_dimension),
  };
  return cmocka_run_group_tests_name("strides", tests, NULL, NULL);
}
