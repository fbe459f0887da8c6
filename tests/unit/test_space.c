// Search spaces, defaults and configuration texts.
#include "template_fixture.h"

#include "generator/configuration.h"

static gt_generator *small_generator(void) {
  gt_generator *generator;
  gt_error error;
  if (gt_generator_open("tests/unit/templates", &generator, &error) != GT_OK) fail_msg("%s", error.text);
  return generator;
}

typedef gt_status making(gt_generator *generator, const char *family, const gt_problem *problem,
                         const gt_fingerprint *device, gt_space *space, gt_error *error);

// Makes the space of a family `t`, and expects a message.
static void assert_making_fails(making *make, const char *script, const char *message) {
  template_fixture fixture;
  gt_generator *generator;
  gt_error error = {0};
  gt_space space;
  gt_problem problem = problem_of(SMALL_PROBLEM);
  gt_fingerprint device = some_device();
  if (fixture_open(&fixture, script, "", NULL, &generator, &error) != GT_OK) fail_msg("%s", error.text);
  assert_int_equal(make(generator, "t", &problem, &device, &space, &error), GT_TEMPLATE);
  assert_string_equal(error.text, message);
  assert_true(!space.configurations && !space.works);
  gt_generator_close(generator);
}

#define assert_space_fails(script, message) assert_making_fails(gt_space_make, script, message)

static void families_are_listed_by_name(void **state) {
  (void)state;
  gt_generator *generator = small_generator();
  size_t count;
  const char *const *families = gt_generator_families(generator, &count);
  assert_int_equal(count, 2);
  assert_string_equal(families[0], "bound");
  assert_string_equal(families[1], "small");
  gt_generator_close(generator);
}

static void a_family_is_described(void **state) {
  (void)state;
  gt_generator *generator = small_generator();
  gt_family_role role;
  const char *description;
  gt_error error;
  assert_int_equal(gt_family_describe(generator, "small", &role, &description, &error), GT_OK);
  assert_int_equal(role, GT_ROLE_CANDIDATE);
  assert_string_equal(description, "a small family");
  assert_int_equal(gt_family_describe(generator, "bound", &role, &description, &error), GT_OK);
  assert_int_equal(role, GT_ROLE_BOUND);
  assert_int_equal(gt_family_describe(generator, "big", &role, &description, &error), GT_USAGE);
  assert_string_equal(error.text, "unknown family 'big'; families are: bound, small");
  gt_generator_close(generator);
}

static void a_problem_that_is_not_claimed_is_refused_with_the_reason(void **state) {
  (void)state;
  gt_generator *generator = small_generator();
  gt_problem problem =
      problem_of("upsample_bilinear2d_backward:n=2,c=3,in=4x4,out=8x8,dtype=f32,layout=nhwc");
  gt_fingerprint device = some_device();
  gt_error error;
  gt_space space;
  gt_variant variant;
  char *configuration;
  assert_int_equal(gt_family_claims(generator, "bound", &problem, &device, &error), GT_OK);
  assert_int_equal(gt_family_claims(generator, "small", &problem, &device, &error), GT_UNSUPPORTED);
  assert_string_equal(error.text, "small: channels-first only");
  gt_problem empty = problem_of("upsample_bilinear2d_backward:n=2,c=0,in=4x4,out=8x8,dtype=f32,layout=nhwc");
  assert_int_equal(gt_family_claims(generator, "bound", &empty, &device, &error), GT_UNSUPPORTED);
  assert_string_equal(error.text, "bound: without channels the problem is empty, and has no kernels");
  assert_int_equal(gt_space_make(generator, "small", &problem, &device, &space, &error), GT_UNSUPPORTED);
  assert_int_equal(gt_family_default(generator, "small", &problem, &device, &configuration, &error),
                   GT_UNSUPPORTED);
  assert_null(configuration);
  assert_int_equal(gt_render(generator, "small:vx=1,map=slice,block=64", &problem, &device, &variant, &error),
                   GT_UNSUPPORTED);
  gt_generator_close(generator);
}

static void the_space_is_every_combination_that_constraints_allow_in_order(void **state) {
  (void)state;
  static const char *const expected[] = {
      "small:vx=1,map=slice,block=64",    "small:vx=1,map=slice,block=256",
      "small:vx=1,map=flat.2-d,block=64", "small:vx=1,map=flat.2-d,block=256",
      "small:vx=2,map=slice,block=64",    "small:vx=2,map=slice,block=256",
      "small:vx=2,map=flat.2-d,block=64", "small:vx=2,map=flat.2-d,block=256",
      "small:vx=4,map=slice,block=64",    "small:vx=4,map=slice,block=256",
  };
  gt_generator *generator = small_generator();
  gt_problem problem = problem_of(SMALL_PROBLEM);
  gt_fingerprint device = some_device();
  gt_space space;
  gt_error error;
  assert_int_equal(gt_space_make(generator, "small", &problem, &device, &space, &error), GT_OK);
  assert_int_equal(space.count, sizeof expected / sizeof *expected);
  assert_int_equal(space.rejected, 2);
  for (size_t i = 0; i < space.count; i++) assert_string_equal(space.configurations[i], expected[i]);
  gt_space_free(&space);
  gt_space_free(&space);
  gt_generator_close(generator);
}

static void a_family_without_parameters_has_one_configuration(void **state) {
  (void)state;
  gt_generator *generator = small_generator();
  gt_problem problem = problem_of(SMALL_PROBLEM);
  gt_fingerprint device = some_device();
  gt_space space;
  gt_error error;
  assert_int_equal(gt_space_make(generator, "bound", &problem, &device, &space, &error), GT_OK);
  assert_int_equal(space.count, 1);
  assert_string_equal(space.configurations[0], "bound");
  gt_space_free(&space);
  gt_generator_close(generator);
}

static void the_default_is_canonical_and_renders(void **state) {
  (void)state;
  gt_generator *generator = small_generator();
  gt_problem problem = problem_of(SMALL_PROBLEM);
  gt_fingerprint device = some_device();
  gt_variant variant;
  gt_error error;
  char *configuration;
  assert_int_equal(gt_family_default(generator, "small", &problem, &device, &configuration, &error), GT_OK);
  assert_string_equal(configuration, "small:vx=2,map=slice,block=256");
  assert_int_equal(gt_render(generator, configuration, &problem, &device, &variant, &error), GT_OK);
  gt_variant_free(&variant);
  free(configuration);
  gt_generator_close(generator);
}

static void a_space_that_is_too_large_is_refused(void **state) {
  (void)state;
  assert_space_fails(
      FAMILY(
          "local v, l = {}, {}\nfor i = 1, 101 do v[i] = i end\n"
          "p0.parameters = function() for i = 1, 3 do l[i] = {name = 'v' .. i, values = v} end return l end"),
      "t.lua:10: parameters: 1030301 combinations, more than 1000000");
}

static void a_default_outside_of_the_space_is_refused(void **state) {
  (void)state;
  assert_space_fails(FAMILY("p0.default = function() return {v = 3} end"),
                     "t.lua:8: default: 'v' has a value that parameters() does not list");
  assert_space_fails(FAMILY("p0.default = function() return {} end"),
                     "t.lua:8: default: lacks parameter 'v'");
  assert_space_fails(FAMILY("p0.default = function() return {v = 1, w = 2} end"),
                     "t.lua:8: default: unknown parameter 'w'");
  assert_space_fails(FAMILY("p0.constraints = {{why = 'v is odd', ok = function(c) return c.v == 2 end}}"),
                     "t.lua:5: default: breaks the constraint 'v is odd'");
  assert_space_fails(
      FAMILY("p0.parameters = function() return {{name = 'v', values = {2}, on_request = {1}}} end"),
      "t.lua:5: default: 'v' has a value that parameters() does not list");
}

static void faulty_parameters_are_refused(void **state) {
  (void)state;
#define PARAMETERS(text) FAMILY("p0.parameters = function() return " text " end")
  assert_space_fails(PARAMETERS("nil"), "t.lua:8: parameters: returns a nil, not a list");
  assert_space_fails(PARAMETERS("{{name = 'V', values = {1}}}"),
                     "t.lua:8: parameters: 'V' is no name for a parameter ([a-z][a-z0-9_]*)");
  assert_space_fails(PARAMETERS("{{name = 'v', values = {}}}"), "t.lua:8: parameters: 'v' has no values");
  assert_space_fails(PARAMETERS("{{name = 'v', values = {1, 2, 1}}}"),
                     "t.lua:8: parameters: value '1' of 'v' is listed twice");
  assert_space_fails(PARAMETERS("{{name = 'v', values = {1.5}}}"),
                     "t.lua:8: parameters: value 1 of 'v' is neither an integer nor a string of [a-z0-9_.-]");
  assert_space_fails(PARAMETERS("{{name = 'v', values = {1, 'a,b'}}}"),
                     "t.lua:8: parameters: value 2 of 'v' is neither an integer nor a string of [a-z0-9_.-]");
  assert_space_fails(PARAMETERS("{{name = 'v', values = {1}}, {name = 'v', values = {1}}}"),
                     "t.lua:8: parameters: 'v' is listed twice");
  assert_space_fails(
      PARAMETERS("{{name = 'v', value = {1}}}"),
      "t.lua:8: parameters: entry 1 is not of the form {name=\"…\", values={…} [, on_request={…}]}");
}

static void a_constraint_must_say_true_or_false(void **state) {
  (void)state;
  assert_space_fails(FAMILY("p0.constraints = {{why = 'odd', ok = function(c) end}}"),
                     "t.lua: constraints: 'odd' returns a nil, not a boolean");
  assert_space_fails(FAMILY("p0.constraints = {{why = 'odd', ok = function(c)\n return c.w == 1 end}}"),
                     "t.lua:9: unknown field 'w' of configuration");
}

static void what_a_thread_does_must_be_said_in_numbers(void **state) {
  (void)state;
#define WORK(text) FAMILY("p0.work = function() return " text " end")
#define assert_works_fail(script, message) assert_making_fails(gt_space_make_with_works, script, message)
  assert_works_fail(WORK("3"), "t.lua:8: work: is no table of what a thread does");
  assert_works_fail(WORK("{loads = 1, byte = 2}"),
                     "t.lua:8: work: is no table of what a thread does; unknown field byte");
  assert_works_fail(WORK("{loads = 1}"), "t.lua:8: work: load_bytes is no number of 1 and more");
  assert_works_fail(WORK("{loads = 1, load_bytes = 4, flight = 1, operations = 0 / 0, registers = 8}"),
                     "t.lua:8: work: operations is no number of 0 and more");
#define ONE "loads = 1, load_bytes = 4, flight = 1, operations = 0, registers = 8"
  assert_works_fail(WORK("{" ONE ", bytes = 1}"),
                    "t.lua:8: work: is no table of what a thread does; unknown field bytes");
  assert_works_fail(WORK("{{" ONE "}}"), "t.lua:8: work: bytes is no number of 0 and more");
  assert_works_fail(WORK("{{" ONE ", bytes = 1}}"), "t.lua:8: work: cached_bytes is no number of 0 and more");
  assert_works_fail(WORK("{{" ONE ", bytes = 1, cached_bytes = 1, rereads = 1}}"),
                    "t.lua:8: work: is no table of what a thread does; unknown field rereads");
  assert_works_fail(WORK("{{" ONE ", bytes = 1, cached_bytes = 1}, 3}"),
                    "t.lua:8: work: tells of 2 launches, and there are 1");
  assert_works_fail(WORK("{3}"), "t.lua:8: work: is no table of what a thread does");
#undef ONE
}

static void assert_render_refuses(const char *configuration, const char *message) {
  gt_generator *generator = small_generator();
  gt_problem problem = problem_of(SMALL_PROBLEM);
  gt_fingerprint device = some_device();
  gt_variant variant;
  gt_error error = {0};
  device.max_threads_per_block = 512;
  assert_int_equal(gt_render(generator, configuration, &problem, &device, &variant, &error), GT_USAGE);
  assert_string_equal(error.text, message);
  assert_null(variant.source);
  gt_generator_close(generator);
}

static void an_illegal_configuration_is_refused_with_what_is_legal(void **state) {
  (void)state;
  assert_render_refuses("small:vx=3,map=slice,block=64",
                        "small: parameter 'vx' cannot be '3' here; legal values are: 1, 2, 4");
  assert_render_refuses("small:vx=02,map=slice,block=64",
                        "small: parameter 'vx' cannot be '02' here; legal values are: 1, 2, 4");
  assert_render_refuses("small:vx=1,map=slice",
                        "small: missing parameter 'block'; parameters are: vx, map, block");
  assert_render_refuses("small", "small: missing parameter 'vx'; parameters are: vx, map, block");
  assert_render_refuses("small:vx=1,map=slice,block=64,vz=1",
                        "small: unknown parameter 'vz'; parameters are: vx, map, block");
  assert_render_refuses("bound:vz=1", "bound: unknown parameter 'vz'; parameters are: none");
  assert_render_refuses("large:vx=1", "unknown family 'large'; families are: bound, small");
  assert_render_refuses("small:vx=4,map=flat.2-d,block=64",
                        "small: these values do not go together: flat tiles are at most 2 wide");
  assert_render_refuses("small:vx=1,map=slice,block=1024",
                        "small: these values do not go together: the block is too large");
}

static void values_on_request_render_but_are_not_in_the_space(void **state) {
  (void)state;
  gt_generator *generator = small_generator();
  gt_problem problem = problem_of(SMALL_PROBLEM);
  gt_fingerprint device = some_device();
  gt_variant variant;
  gt_error error = {0};
  assert_int_equal(
      gt_render(generator, "small:vx=1,map=slice,block=1024", &problem, &device, &variant, &error), GT_OK);
  gt_variant_free(&variant);
  gt_generator_close(generator);
}

static void a_malformed_configuration_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "configuration '' does not start with the name of a family"},
      {":vx=1", "configuration ':vx=1' does not start with the name of a family"},
      {"Small:vx=1", "configuration 'Small:vx=1' does not start with the name of a family"},
      {"../small:vx=1", "configuration '../small:vx=1' does not start with the name of a family"},
      {"small:vx", "configuration: 'vx' is not of the form name=value"},
      {"small:vx=1,", "configuration: '' is not of the form name=value"},
      {"small:vx=1,,vy=2", "configuration: '' is not of the form name=value"},
      {"small:=1", "configuration: '=1' has no parameter name before '='"},
      {"small:vx=", "configuration: 'vx=' has no value after '='"},
      {"small:vx=1 ,vy=2", "configuration: 'vx=1 ' has no value after '='"},
      {"small:vx=1,vx=1", "configuration: parameter 'vx' is given twice"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gt_configuration configuration;
    gt_error error;
    assert_int_equal(gt_configuration_parse(cases[i].text, &configuration, &error), GT_USAGE);
    assert_string_equal(error.text, cases[i].message);
    assert_null(configuration.family);
  }
}

static void a_configuration_prints_as_it_was_parsed(void **state) {
  (void)state;
  static const char *const texts[] = {"small", "small:a=1", "small:b_2=x.y-z,a=-1"};
  gt_configuration configuration;
  gt_error error;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    assert_int_equal(gt_configuration_parse(texts[i], &configuration, &error), GT_OK);
    char *printed = gt_configuration_print(&configuration);
    assert_string_equal(printed, texts[i]);
    free(printed);
    gt_configuration_free(&configuration);
  }
  assert_int_equal(gt_configuration_parse("small:", &configuration, &error), GT_OK);
  assert_int_equal(configuration.count, 0);
  gt_configuration_free(&configuration);
}

static void the_embedded_templates_load(void **state) {
  (void)state;
  gt_generator *generator;
  gt_error error;
  size_t count;
  if (gt_generator_open(NULL, &generator, &error) != GT_OK) fail_msg("%s", error.text);
  gt_generator_families(generator, &count);
  assert_true(count > 0);
  gt_generator_close(generator);
  gt_generator_close(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(families_are_listed_by_name),
      cmocka_unit_test(a_family_is_described),
      cmocka_unit_test(a_problem_that_is_not_claimed_is_refused_with_the_reason),
      cmocka_unit_test(the_space_is_every_combination_that_constraints_allow_in_order),
      cmocka_unit_test(a_family_without_parameters_has_one_configuration),
      cmocka_unit_test(the_default_is_canonical_and_renders),
      cmocka_unit_test(a_space_that_is_too_large_is_refused),
      cmocka_unit_test(a_default_outside_of_the_space_is_refused),
      cmocka_unit_test(faulty_parameters_are_refused),
      cmocka_unit_test(a_constraint_must_say_true_or_false),
      cmocka_unit_test(what_a_thread_does_must_be_said_in_numbers),
      cmocka_unit_test(an_illegal_configuration_is_refused_with_what_is_legal),
      cmocka_unit_test(values_on_request_render_but_are_not_in_the_space),
      cmocka_unit_test(a_malformed_configuration_is_refused),
      cmocka_unit_test(a_configuration_prints_as_it_was_parsed),
      cmocka_unit_test(the_embedded_templates_load),
  };
  return cmocka_run_group_tests_name("space", tests, NULL, NULL);
}
