#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/problem_fixture.h"

#define OP "upsample_bilinear2d_backward:"

// Refused with a line that begins so and names every operator.
static void unknown_operator(const char *text, const char *begin) {
  gt_problem problem;
  gt_error error = {0};
  assert_int_equal(gt_problem_parse(text, &problem, &error), GT_USAGE);
  assert_true(strncmp(error.text, begin, strlen(begin)) == 0);
  for (size_t i = 0; gt_operator_at(i); i++) assert_non_null(strstr(error.text, gt_operator_at(i)->name));
}

static void test_canonical(void **state) {
  (void)state;
  const char *text = OP "n=8,c=64,in=128x128,out=256x256,dtype=f16,layout=nchw,align_corners=0,scale=2x2";
  canonical(text, text);
  canonical(OP "dtype=bf16,out=9x7,c=3,n=2,in=3x5",
            OP "n=2,c=3,in=3x5,out=9x7,dtype=bf16,layout=nchw,align_corners=0");
  canonical(OP "n=007,c=1,in=1x1,out=1x1,dtype=f64,layout=nhwc,align_corners=1",
            OP "n=7,c=1,in=1x1,out=1x1,dtype=f64,layout=nhwc,align_corners=1");
}

static void test_empty_batches(void **state) {
  (void)state;
  gt_problem problem;
  const char *text = OP "n=0,c=0,in=3x5,out=6x10,dtype=f32,layout=nchw,align_corners=0";
  canonical(text, text);
  assert_int_equal(gt_problem_parse(text, &problem, NULL), GT_OK);
  assert_int_equal(gt_problem_in_elements(&problem), 0);
  assert_int_equal(gt_problem_outer(&problem), 0);
}

#define SCALED OP "n=1,c=1,in=3x5,out=6x10,dtype=f32,layout=nchw,align_corners=0,scale="

static void test_scales(void **state) {
  (void)state;
  canonical(SCALED "2", SCALED "2x2");
  canonical(SCALED "2.50x0.1", SCALED "2.5x0.1");
  canonical(SCALED "1.0239041660002521x3", SCALED "1.0239041660002521x3");
  canonical(SCALED "0.30000000000000004x1e-30", SCALED "0.30000000000000004x1e-30");
  canonical(SCALED "1.7976931348623157e308x.5e+1", SCALED "1.7976931348623157e+308x5");
  refused(SCALED "0x2", "problem: key 'scale': '0' is not a finite number above 0");
  refused(SCALED "-1x2", "problem: key 'scale': '-1' is not a positive number");
  refused(SCALED "infx2", "problem: key 'scale': 'inf' is not a positive number");
  refused(SCALED "nanx2", "problem: key 'scale': 'nan' is not a positive number");
  refused(SCALED "1e999x2", "problem: key 'scale': '1e999' is not a finite number above 0");
  refused(SCALED "1e-999x2", "problem: key 'scale': '1e-999' is not a finite number above 0");
  refused(SCALED "2x2x2", "problem: key 'scale': '2x2x2' should be 2 factors joined by 'x' for "
                          "upsample_bilinear2d_backward");
  refused(SCALED "2x", "problem: key 'scale': '' is not a positive number");
  refused(SCALED ".x2", "problem: key 'scale': '.' is not a positive number");
  refused(SCALED "1e2e3x2", "problem: key 'scale': '1e2e3' is not a positive number");
}

static void test_locale(void **state) {
  (void)state;
  const char *names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
  bool found = false;
  for (size_t i = 0; !found && i < sizeof names / sizeof names[0]; i++) found = setlocale(LC_ALL, names[i]);
  if (!found) {
    print_message("no locale with a decimal comma is installed\n");
    skip();
  }
  canonical(SCALED "2.5x0.125", SCALED "2.5x0.125");
  setlocale(LC_ALL, "C");
}

static void test_refused_values(void **state) {
  (void)state;
  refused(OP "n=1,c=1,in=2x2,out=4x4,dtype=f8",
          "problem: key 'dtype': 'f8' is not a data type (f32, f16, bf16, f64)");
  refused(OP "n=1,c=1,in=2x2,out=4x4,dtype=",
          "problem: key 'dtype': '' is not a data type (f32, f16, bf16, f64)");
  refused(OP "n=1,c=1,in=2x2,out=4x4,dtype=f32,layout=NHWC",
          "problem: key 'layout': 'NHWC' is not a layout (nchw, nhwc)");
  refused(OP "n=1,c=1,in=2x2,out=4x4,dtype=f32,align_corners=true",
          "problem: key 'align_corners': 'true' is not 0 or 1");
  refused(OP "n=-1,c=1,in=2x2,out=4x4,dtype=f32", "problem: key 'n': '-1' is not a whole number");
  refused(OP "n=1.5,c=1,in=2x2,out=4x4,dtype=f32", "problem: key 'n': '1.5' is not a whole number");
  refused(OP "n=,c=1,in=2x2,out=4x4,dtype=f32", "problem: key 'n': '' is not a whole number");
  refused(OP "n=1,c=1,in=0x2,out=4x4,dtype=f32", "problem: key 'in': '0' is no size: sizes are at least 1");
  refused(OP "n=1,c=1,in=2x-2,out=4x4,dtype=f32", "problem: key 'in': '-2' is not a whole number");
}

static void test_wrong_number_of_sizes(void **state) {
  (void)state;
  refused(OP "n=1,c=1,in=2,out=4x4,dtype=f32",
          "problem: key 'in': '2' should be 2 sizes joined by 'x' for upsample_bilinear2d_backward");
  refused(OP "n=1,c=1,in=2x2,out=4x4x4,dtype=f32",
          "problem: key 'out': '4x4x4' should be 2 sizes joined by 'x' for upsample_bilinear2d_backward");
  refused(OP "n=1,c=1,in=2x,out=4x4,dtype=f32", "problem: key 'in': '' is not a whole number");
}

static void test_refused_structure(void **state) {
  (void)state;
  refused("", "problem: '' is not OPERATOR:key=value,...");
  refused("upsample_bilinear2d_backward",
          "problem: 'upsample_bilinear2d_backward' is not OPERATOR:key=value,...");
  unknown_operator("conv2d:n=1", "problem: unknown operator 'conv2d' (");
  refused(OP, "problem: an empty item (a comma too many, or nothing after ':')");
  refused(OP "n=1,c=1,in=2x2,out=4x4,dtype=f32,",
          "problem: an empty item (a comma too many, or nothing after ':')");
  refused(OP "n=1,,c=1", "problem: an empty item (a comma too many, or nothing after ':')");
  refused(OP "n", "problem: 'n' is not key=value");
  refused(OP "n=1,n=1", "problem: key 'n' is given twice");
  refused(OP "n=1, c=1",
          "problem: unknown key ' c' (n, c, in, out, dtype, layout, stride, align_corners, scale)");
  refused(OP "n=1,c=1,in=2x2,out=4x4", "problem: key 'dtype' is missing");
  refused(OP "c=1,in=2x2,out=4x4,dtype=f32", "problem: key 'n' is missing");
  unknown_operator("a\nb:n=1", "problem: unknown operator 'a?b' (");
}

static void test_large(void **state) {
  (void)state;
  const char *text = OP "n=2147483647,c=1,in=1x1,out=1x32768,dtype=f32,layout=nchw,align_corners=0";
  canonical(text, text);
  refused(OP "n=32768,c=65536,in=1x1,out=1x1,dtype=f32",
          "problem: key 'n': 2^31 slices and more (n times c); call it in parts");
  refused(OP "n=2147483648,c=1,in=1x1,out=1x1,dtype=f32,layout=nhwc",
          "problem: key 'n': 2^31 slices and more (n); call it in parts");
  refused(OP "n=70368744177665,c=1,in=1x1,out=1x1,dtype=f32",
          "problem: key 'n': '70368744177665' is more than 2^46");
  refused(OP "n=99999999999999999999999,c=1,in=1x1,out=1x1,dtype=f32",
          "problem: key 'n': '99999999999999999999999' is more than 2^46");
  refused(OP "n=1,c=1,in=1x1,out=35184372088832x3,dtype=f32",
          "problem: key 'out': the tensor has more than 2^46 elements");
  refused(OP "n=0,c=1,in=70368744177664x2,out=1x3,dtype=f32",
          "problem: key 'in': the tensor has more than 2^46 elements");
}

static void test_kernel_text(void **state) {
  (void)state;
  gt_problem problem;
  char text[GT_PROBLEM_TEXT];
  gt_problem_parse(OP "n=8,c=64,in=3x5,out=6x10,dtype=f16,scale=2x2", &problem, NULL);
  gt_problem_print_kernel(&problem, text);
  assert_string_equal(text, OP "in=3x5,out=6x10,dtype=f16,layout=nchw,align_corners=0,scale=2x2");
  gt_problem_parse(OP "n=8,c=64,in=3x5,out=6x10,dtype=f16,layout=nhwc", &problem, NULL);
  gt_problem_print_kernel(&problem, text);
  assert_string_equal(text, OP "c=64,in=3x5,out=6x10,dtype=f16,layout=nhwc,align_corners=0");
}

static void test_form(void **state) {
  (void)state;
  gt_problem problem;
  gt_problem_parse(OP "n=8,c=64,in=3x5,out=6x10,dtype=f16,scale=2x3", &problem, NULL);
  assert_int_equal(problem.in[0], 1);
  assert_int_equal(problem.in[1], 3);
  assert_int_equal(problem.out[2], 10);
  assert_true(problem.scale[0] == 1 && problem.scale[1] == 2 && problem.scale[2] == 3);
  assert_int_equal(gt_problem_outer(&problem), 512);
  assert_int_equal(gt_problem_inner(&problem), 1);
  assert_int_equal(gt_problem_in_elements(&problem), 8 * 64 * 15);
  assert_int_equal(gt_problem_out_elements(&problem), 8 * 64 * 60);
  problem.layout = GT_NHWC;
  assert_int_equal(gt_problem_outer(&problem), 8);
  assert_int_equal(gt_problem_inner(&problem), 64);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      {"a problem prints in its canonical form, which parses to itself", test_canonical, NULL, NULL, NULL},
      {"a problem may have no batch and no channels", test_empty_batches, NULL, NULL, NULL},
      {"scales print as the shortest text that parses back", test_scales, NULL, NULL, NULL},
      {"a locale with a decimal comma changes nothing", test_locale, NULL, NULL, NULL},
      {"an illegal value is refused with its key", test_refused_values, NULL, NULL, NULL},
      {"a wrong number of sizes is refused", test_wrong_number_of_sizes, NULL, NULL, NULL},
      {"text that is not OPERATOR:key=value,... is refused", test_refused_structure, NULL, NULL, NULL},
      {"tensors of more than 2^46 elements are refused", test_large, NULL, NULL, NULL},
      {"the kernel's text leaves out what one kernel serves all of", test_kernel_text, NULL, NULL, NULL},
      {"the form that kernels see follows from the layout", test_form, NULL, NULL, NULL},
  };
  return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
