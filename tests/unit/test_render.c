// The template language and what gt_render makes of it.
#include "template_fixture.h"

static void text_is_copied_and_dollars_are_doubled(void **state) {
  (void)state;
  assert_renders("", "");
  assert_renders("a \"b\" \\ \t %d\n\n  c", "a \"b\" \\ \t %d\n\n  c\n");
  assert_renders("a $$ $$(b) $$$(1)\n", "a $ $(b) $1\n");
}

static void lines_with_an_at_sign_are_lua(void **state) {
  (void)state;
  assert_renders("@for i = 0, 2 do\n  x$(i);\n  @  if i == 1 then\nmiddle\n@  end\n@end\n",
                 "  x0;\n  x1;\nmiddle\n  x2;\n");
  assert_renders("@local function line(n)\n<$(n)>\n@end\n@line(1) line(2)\n", "<1>\n<2>\n");
  assert_renders("@emit('a\\nb') emit(3)\n", "a\nb\n3\n");
}

static void emit_writes_lists_of_lines_with_an_indent(void **state) {
  (void)state;
  assert_renders("@emit({'a', 2, 4 / 2}, '  ')\n@emit({})\n@emit('b', ' ')\n", "  a\n  2\n  2\n b\n");
  assert_fails("\n@emit({'a', true})", "t.kernel:2: what emit is given is true, not text or an integer");
  assert_fails("@emit({{}})", "t.kernel:1: what emit is given is a table, not text or an integer");
  assert_fails("@emit({'a'}, {})", "t.kernel:1: bad argument #2 to 'emit' (string expected, got table)");
}

// Renders a template with parts in lib/: names and texts, up to a NULL. `expected` is the text, or a message.
static void assert_includes(const char *const *parts, const char *kernel, const char *expected) {
  gt_error error = {0};
  char *text;
  static const char script[] = FAMILY("p0.bindings = function() return {bound = 7} end");
  gt_status status = render_parts(script, kernel, NULL, parts, SMALL_PROBLEM, &text, &error);
  assert_string_equal(status == GT_OK ? text : error.text, expected);
  free(text);
}

static void a_part_has_the_names_of_the_template_that_includes_it(void **state) {
  (void)state;
  static const char *const parts[] = {"one.kernel",
                                      "one $(bound) $(c.v) $(p.dtype) $(literal(0.5))\n@emit('x')\n",
                                      "two.kernel",
                                      "@local own = {}\n@function own.line(n)\n<$(n)>\n@end\n@return own\n",
                                      "three.kernel",
                                      "@local two = include 'two'\n@return function() two.line(bound) end\n",
                                      NULL};
  assert_includes(parts, "a\n@include 'one'\nb\n@include 'one'\n",
                  "a\none 7 2 f32 0.5f\nx\nb\none 7 2 f32 0.5f\nx\n");
  assert_includes(parts, "@include('two').line(3)\n@include('three')()\n", "<3>\n<7>\n");
  assert_includes(parts, "@local hidden = 1\n@include 'one'", "one 7 2 f32 0.5f\nx\n");
}

static void faults_of_parts_name_their_files_and_lines(void **state) {
  (void)state;
  static const char *const parts[] = {"bad.kernel",
                                      "one\n$(vz)\n",
                                      "broken.kernel",
                                      "\n@if\n",
                                      "itself.kernel",
                                      "@include 'other'\n",
                                      "other.kernel",
                                      "@include 'itself'\n",
                                      "lua.lua",
                                      "return {}",
                                      NULL};
  assert_includes(parts, "\n@include 'bad'", "lib/bad.kernel:2: unknown name 'vz' (called from t.kernel:2)");
  assert_includes(parts, "@local vz = 1\n@include 'bad'",
                  "lib/bad.kernel:2: unknown name 'vz' (called from t.kernel:2)");
  assert_includes(parts, "\n@include 'broken'",
                  "t.kernel:2: lib/broken.kernel:3: unexpected symbol near <eof>");
  assert_includes(parts, "@include 'itself'",
                  "lib/other.kernel:1: part 'itself' includes itself (called from t.kernel:1)");
  assert_includes(parts, "@include 'absent'", "t.kernel:1: no part 'absent' (lib/absent.kernel)");
  assert_includes(parts, "@include 'lua'", "t.kernel:1: no part 'lua' (lib/lua.kernel)");
  assert_includes(parts, "@include '../t'", "t.kernel:1: no part '../t' (lib/../t.kernel)");
  assert_includes(parts, "@include()",
                  "t.kernel:1: bad argument #1 to 'include' (string expected, got no value)");
}

static void expressions_may_hold_parentheses_and_strings(void **state) {
  (void)state;
  assert_renders("$((1 + 2) * (3)) $(\")\" .. '\\')(' .. \"\\\"(\")\n", "9 )')(\"(\n");
  assert_renders("$(({a = 1}).a)$('$(x)')", "1$(x)\n");
}

static void whole_floats_print_as_integers(void **state) {
  (void)state;
  assert_renders("$(4 / 2) $(-0.0) $(2^53) $(1 << 62)", "2 0 9007199254740992 4611686018427387904\n");
  assert_fails("$(1 / 2)", "t.kernel:1: $(1 / 2) is 0.5, not an integer; write literal(x)");
  assert_fails("$(2^70)", "t.kernel:1: $(2^70) is 1.18059162e+21, not an integer; write literal(x)");
  assert_fails("$(math.huge)", "t.kernel:1: $(math.huge) is inf, not an integer; write literal(x)");
}

static void values_that_are_no_text_are_refused_by_name(void **state) {
  (void)state;
  assert_fails("@local foo\nx $(foo)", "t.kernel:2: $(foo) is nil");
  assert_fails("$(true)", "t.kernel:1: $(true) is true, not text or an integer");
  assert_fails("$({})", "t.kernel:1: $({}) is a table, not text or an integer");
  assert_fails("$(p)", "t.kernel:1: $(p) is a problem, not text or an integer");
  assert_fails("\n@emit(nil)", "t.kernel:2: what emit is given is nil");
  assert_fails("$('\\0')", "t.kernel:1: the text has a zero byte");
}

static void an_unknown_name_in_a_template_is_reported_with_its_line(void **state) {
  (void)state;
  assert_fails("one\ntwo\n$(vz)\n", "t.kernel:3: unknown name 'vz'");
  assert_fails("one\n@if vz then\n@end\n", "t.kernel:2: unknown name 'vz'");
  assert_fails("\n@vz = 1\n", "t.kernel:2: assignment to global 'vz' (declare it local)");
  assert_fails("\n$(c.vz)", "t.kernel:2: unknown field 'vz' of configuration");
  assert_fails("\n$(p.foo)", "t.kernel:2: unknown field 'foo' of problem");
  assert_fails("\n$(p.axes.x)", "t.kernel:2: unknown field 'x' of axes");
  assert_fails("\n$(p.axes[1].foo)", "t.kernel:2: unknown field 'foo' of axis");
  assert_fails("\n$(device.name)", "t.kernel:2: unknown field 'name' of device");
  assert_fails("\n@c.v = 1", "t.kernel:2: assignment to field 'v' of a read-only value");
  assert_fails("$(use 'helper')", "t.kernel:1: unknown name 'use'");
}

static void syntax_errors_are_reported_with_the_lines_of_the_template(void **state) {
  (void)state;
  assert_fails("a\n$(1 +)\n", "t.kernel:2: in $(1 +): unexpected symbol near ')'");
  assert_fails("a\n$(1, 2)\n", "t.kernel:2: in $(1, 2): ')' expected near ','");
  assert_fails("a\n$(1 -- 2)\n", "t.kernel:2: in $(1 -- 2): ')' expected near <eof>");
  assert_fails("$([[)\na\n", "t.kernel:1: in $([[): unfinished long string (starting at line 1) near <eof>");
  assert_fails("a\n$(f(1)\n)", "t.kernel:2: '$(' is not closed on its line");
  assert_fails("a\ncosts $5\n", "t.kernel:2: '$' starts neither $(expression) nor $$");
  assert_fails("a\n@for i = 1, 2 do\nb\n",
               "t.kernel:4: 'end' expected (to close 'for' at line 2) near <eof>");
  assert_fails("a\n@x y\n", "t.kernel:2: syntax error near 'y'");
}

static void errors_in_functions_name_the_line_that_called_them(void **state) {
  (void)state;
  static const char helper[] =
      "return {f = function(x)\n  return x + 1 end,\n g = function() error('bad', 0) end}";
  static const char script[] = FAMILY("local helper = use 'helper'\n"
                                      "p0.bindings = function() return {h = helper, own = function(x)\n"
                                      "  return helper.f(x) end} end");
  assert_fails_with(script, "\n$(h.f({}))", helper,
                    "lib/helper.lua:2: attempt to perform arithmetic on a table value (local 'x')"
                    " (called from t.kernel:2)");
  assert_fails_with(script, "\n\n$(h.g())", helper, "lib/helper.lua:3: bad (called from t.kernel:3)");
  // A call whose value is returned as it is leaves no trace of the function that made it.
  assert_fails_with(script, "$(own({}) .. '')", helper,
                    "lib/helper.lua:2: attempt to perform arithmetic on a table value (local 'x')"
                    " (called from t.kernel:1)");
  assert_renders_with(script, "$(own(1))", helper, SMALL_PROBLEM, "2\n");
}

static void literals_are_exact_in_the_type_of_the_arithmetic(void **state) {
  (void)state;
  assert_renders("$(literal(0.75)) $(literal(1)) $(literal(0)) $(literal(1/3)) $(literal(1e30))",
                 "0.75f 1.0f 0.0f 0.333333343f 1.00000002e+30f\n");
  assert_renders("$(literal(-0.5)) $(literal(-0.0)) x-$(literal(-2))", "(-0.5f) (-0.0f) x-(-2.0f)\n");
  assert_renders("$(literal(1/3, 'double')) $(literal(0.1, 'float'))", "0.33333333333333331 0.100000001f\n");
  assert_renders_with(FAMILY(""), "$(literal(0.1)) $(literal(2)) $(literal(0.1, 'float'))", NULL,
                      "upsample_bilinear2d_backward:n=2,c=3,in=4x4,out=8x8,dtype=f64",
                      "0.10000000000000001 2.0 0.100000001f\n");
  assert_fails("\n$(literal(1e39))", "t.kernel:2: literal: infinity has no literal");
  assert_fails("$(literal(0/0))", "t.kernel:1: literal: nan has no literal");
  assert_fails("$(literal(nil))", "t.kernel:1: bad argument #1 to 'literal' (number expected, got nil)");
}

static void every_float_literal_reads_back_as_the_same_float(void **state) {
  (void)state;
  static const char kernel[] = "@local x = 1.0\n@for i = 1, 300 do x = x * 0.7317 emit(literal(x)) end\n";
  gt_error error;
  char *text;
  assert_int_equal(render_texts(FAMILY(""), kernel, NULL, SMALL_PROBLEM, &text, &error), GT_OK);
  double x = 1;
  const char *at = text;
  for (int i = 0; i < 300; i++) {
    x *= 0.7317;
    assert_true(strtof(at, NULL) == (float)x);
    at = strchr(at, '\n') + 1;
  }
  free(text);
}

static void views_show_the_problem_but_not_the_batch(void **state) {
  (void)state;
  assert_renders_with(
      FAMILY(""),
      "@local w = p.axes[3]\n"
      "$(p.operator) $(p.filter) $(p.spatial_axes) $(p.dtype) $(p.dtype_bytes) $(p.layout)\n"
      "$(p.inner) $(p.in_slice) $(p.out_slice) $(#p.axes) $(tostring(p.align_corners))\n"
      "$(tostring(p.double_arithmetic)) $(tostring(p.has_scale))\n"
      "$(w.n_in) $(w.n_out) $(literal(w.ratio)) $(tostring(w.identity)) $(w.max_count)\n"
      "@for i, a in ipairs(p.axes) do\n$(i):$(a.n_in)\n@end\n"
      "$(w.first(1)) $(w.count(1)) $(literal(w.weight(1, 0))) $(tostring(p.axes[1].identity))\n"
      "$(device.target) $(device.wave_size) $(device.arch) $(tostring(device.is_cpu)) $(c.v)\n",
      NULL, "upsample_bilinear2d_backward:n=2,c=3,in=4x4,out=8x8,dtype=f16,layout=nhwc",
      "upsample_bilinear2d_backward linear 2 f16 2 nhwc\n3 48 192 3 false\nfalse false\n"
      "4 8 0.5f false 4\n1:1\n2:4\n3:4\n1 4 0.25f true\nhip 64 gfx942 false 2\n");
  assert_fails("$(p.n)", "t.kernel:1: unknown field 'n' of problem");
  assert_fails("$(p.outer)", "t.kernel:1: unknown field 'outer' of problem");
}

static void views_show_where_the_elements_of_grad_output_lie(void **state) {
  (void)state;
  static const char fields[] = "$(tostring(p.strided)) $(p.pixel_stride) $(p.row_stride) $(p.plane_stride) "
                               "$(p.slice_stride) $(p.batch_slices) $(p.batch_stride) $(p.out_reach)\n";
#define UPSAMPLE "upsample_bilinear2d_backward:n=2,c=3,in=4x4,out=8x8,dtype=f32"
  assert_renders_with(FAMILY(""), fields, NULL, UPSAMPLE, "false 1 8 64 64 1 64 64\n");
  assert_renders_with(FAMILY(""), fields, NULL, UPSAMPLE ",layout=nhwc", "false 3 24 192 192 1 192 192\n");
  assert_renders_with(FAMILY(""), fields, NULL, UPSAMPLE ",stride=300x100x9x1", "true 1 9 72 100 1 100 71\n");
  assert_renders_with(FAMILY(""), fields, NULL, UPSAMPLE ",stride=500x100x9x1", "true 1 9 72 100 3 500 71\n");
  assert_renders_with(FAMILY(""), fields, NULL, UPSAMPLE ",layout=nhwc,stride=500x1x40x4",
                      "true 4 40 320 500 1 500 311\n");
}

static void taps_outside_of_an_axis_are_errors(void **state) {
  (void)state;
  assert_fails("$(p.axes[3].first(4))", "t.kernel:1: first: position 4 is outside 0..3");
  assert_fails("$(p.axes[3].count(-1))", "t.kernel:1: count: position -1 is outside 0..3");
  assert_fails("$(p.axes[3].weight(1, 4))", "t.kernel:1: weight: position 1 has 4 taps, no tap 4");
  assert_fails("$(p.axes[3].weight(1, -1))", "t.kernel:1: weight: position 1 has 4 taps, no tap -1");
}

static void tilings_come_as_tables_and_tell_what_is_wrong_with_their_arguments(void **state) {
  (void)state;
  assert_renders_with(FAMILY(""),
                      "@local t, l = p.axes[3].tiling(2, true, false), p.axes[2].tiling(1, false, true)\n"
                      "$(t.size) $(t.tiles) $(t.width) $(t.step) $(t.offset) $(t.low[1]) $(t.high[1]) "
                      "$(tostring(t.literal)) $(#t.entries)\n"
                      "$(t.entries[1].j) $(t.entries[1].c) $(t.entries[1].slot) "
                      "$(literal(t.entries[1].value)) $(#t.entries[1].exceptions)\n"
                      "$(tostring(l.step)) $(l.line.slope) $(l.line.shift) $(tostring(l.line.most)) "
                      "$(l.starts[0]) $(l.starts[8])\n",
                      NULL, "upsample_bilinear2d_backward:n=2,c=3,in=9x4,out=14x8,dtype=f32",
                      "2 2 6 4 -1 2 6 true 8\n0 0 0 0.25f 0\nnil 101945 16 nil -1 12\n");
  assert_fails("$(#p.axes[3].tiling(0).entries)", "t.kernel:1: tiling: tiles of 0 inputs, and not 1 to 4096");
  assert_fails("$(#p.axes[3].tiling(1e9).entries)",
               "t.kernel:1: tiling: tiles of 1000000000 inputs, and not 1 to 4096");
}

static void starts_of_tilings_are_multiples_where_they_are_to(void **state) {
  (void)state;
  assert_renders_with(FAMILY(""),
                      "@local t = p.axes[2].tiling(1, false, true, 4)\n"
                      "@local agree = true\n"
                      "@for i = 0, t.tiles - 1 do\n"
                      "@  local at = (t.line.slope * i + t.line.bias) // (1 << t.line.shift) * t.line.multiple\n"
                      "@  agree = agree and at == t.starts[i]\n"
                      "@end\n"
                      "$(t.width) $(t.line.multiple) $(tostring(agree)) $(t.first_start) $(t.starts[4]) $(t.last_start)\n",
                      NULL, "upsample_bilinear2d_backward:n=2,c=3,in=9x4,out=14x8,dtype=f32", "6 4 true 0 4 12\n");
  assert_fails("$(#p.axes[3].tiling(1, false, false, 2).entries)",
               "t.kernel:1: tiling: starts at multiples of 2 that may not lie outside of the axis");
  assert_fails("$(#p.axes[3].tiling(1, false, true, 0).entries)", "t.kernel:1: tiling: starts at multiples of 0");
}

static void views_outlive_the_problem_they_were_made_of(void **state) {
  (void)state;
  static const char script[] = FAMILY("local kept = {}\np0.bindings = function(c, p)\n"
                                      "  kept.p = kept.p or p\n  return {old = kept.p} end");
  template_fixture fixture;
  gt_generator *generator;
  gt_error error;
  gt_fingerprint device = some_device();
  assert_int_equal(fixture_open(&fixture, script,
                                "$(old.axes[3].n_in) $(old.axes[3].max_count) $(p.axes[3].n_in)\n", NULL,
                                &generator, &error),
                   GT_OK);
  for (int size = 4; size < 7; size++) {
    char text[128];
    gt_variant variant;
    snprintf(text, sizeof text, "upsample_bilinear2d_backward:n=1,c=1,in=4x%d,out=8x%d,dtype=f32", size,
             2 * size);
    gt_problem problem = problem_of(text);
    assert_int_equal(gt_render(generator, "t:v=1", &problem, &device, &variant, &error), GT_OK);
    snprintf(text, sizeof text, "\n4 4 %d\n", size);
    assert_non_null(strstr(variant.source, text));
    gt_variant_free(&variant);
  }
  gt_generator_close(generator);
}

static void emit_that_was_kept_writes_to_the_rendering_at_hand_only(void **state) {
  (void)state;
  static const char script[] =
      FAMILY("local kept = {}\np0.bindings = function() return {kept = kept} end\n"
             "p0.claims = function() if kept.emit then kept.emit('x') end return true end");
  template_fixture fixture;
  gt_generator *generator;
  gt_error error;
  gt_variant variant;
  gt_problem problem = problem_of(SMALL_PROBLEM);
  gt_fingerprint device = some_device();
  assert_int_equal(fixture_open(&fixture, script, "@kept.emit = emit\n", NULL, &generator, &error), GT_OK);
  assert_int_equal(gt_render(generator, "t:v=1", &problem, &device, &variant, &error), GT_OK);
  gt_variant_free(&variant);
  assert_int_equal(gt_render(generator, "t:v=1", &problem, &device, &variant, &error), GT_TEMPLATE);
  assert_string_equal(error.text, "t.lua:10: text is written while no template is rendered");
  gt_generator_close(generator);
}

static void too_much_text_is_refused(void **state) {
  (void)state;
  assert_fails("@local s = ('x'):rep(1 << 20)\n@for i = 1, 20 do\n$(s)\n@end",
               "t.kernel:3: writes more than 16 MiB of text, the limit");
}

static void bindings_cannot_hide_the_names_of_the_language(void **state) {
  (void)state;
  assert_fails_with(FAMILY("p0.bindings = function() return {include = 1} end"), "", NULL,
                    "t.lua:8: bindings: 'include' is taken");
  assert_fails_with(FAMILY("p0.bindings = function() return {math = 1} end"), "", NULL,
                    "t.lua:8: bindings: 'math' is taken");
  assert_fails_with(FAMILY("p0.bindings = function() return {1} end"), "", NULL,
                    "t.lua:8: bindings: a key is a number, not a name");
}

// The example in tests/unit/templates.
static gt_generator *small_generator(void) {
  gt_generator *generator;
  gt_error error;
  if (gt_generator_open("tests/unit/templates", &generator, &error) != GT_OK) fail_msg("%s", error.text);
  return generator;
}

static void a_source_begins_with_what_it_was_made_from(void **state) {
  (void)state;
  gt_generator *generator = small_generator();
  gt_problem problem = problem_of(SMALL_PROBLEM);
  gt_fingerprint device = some_device();
  gt_error error;
  gt_variant variant;
  char kernel_text[GT_PROBLEM_TEXT], hash[GT_HASH_SIZE];
  assert_int_equal(gt_render(generator, "small:block=64,vx=2,map=slice", &problem, &device, &variant, &error),
                   GT_OK);
  gt_problem_print_kernel(&problem, kernel_text);
  char *expected =
      gt_print("// gathertune kernel\n// problem: %s\n// configuration: small:vx=2,map=slice,block=64\n"
               "#define GT_DTYPE_F32 1\n#define GT_TARGET_HIP 1\n// target hip\n// common\n"
               "// 2 slice of 4 costs $1\n"
               "  x[0] = 0 * 1.0f;\n  x[1] = 2 * 0.25f;\nslice\n",
               kernel_text);
  assert_string_equal(variant.source, expected);
  assert_string_equal(variant.configuration, "small:vx=2,map=slice,block=64");
  assert_string_equal(variant.family, "small");
  const char *hashed = strstr(variant.source, "#define GT_DTYPE");
  gt_hash(hashed, strlen(hashed), hash);
  assert_string_equal(variant.source_hash, hash);
  free(expected);
  gt_variant_free(&variant);
  gt_generator_close(generator);
}

static void a_variant_has_the_launches_and_the_workspace_of_the_script(void **state) {
  (void)state;
  gt_generator *generator = small_generator();
  gt_problem problem = problem_of(SMALL_PROBLEM);
  gt_fingerprint device = some_device();
  gt_error error;
  gt_variant variant;
  assert_int_equal(gt_render(generator, "small:vx=4,map=slice,block=64", &problem, &device, &variant, &error),
                   GT_OK);
  assert_int_equal(variant.n_launches, 2);
  assert_string_equal(variant.launches[0].kernel, "gt_first");
  assert_int_equal(variant.launches[0].block[0], 64);
  assert_int_equal(variant.launches[0].block[1], 1);
  assert_int_equal(variant.launches[0].blocks_num, 16);
  assert_int_equal(variant.launches[0].blocks_den, 256);
  assert_int_equal(variant.launches[1].block[1], 2);
  assert_int_equal(variant.launches[1].blocks_num, 3);
  assert_int_equal(variant.launches[1].blocks_den, 1);
  assert_int_equal(gt_variant_workspace(&variant, 10), 256 + 10 * 64);
  assert_false(variant.reproducible);
  gt_variant_free(&variant);
  assert_int_equal(gt_render(generator, "bound", &problem, &device, &variant, &error), GT_OK);
  assert_true(variant.reproducible);
  assert_string_equal(variant.configuration, "bound");
  gt_variant_free(&variant);
  gt_generator_close(generator);
}

static void rendering_does_not_depend_on_the_batch_or_on_the_generator(void **state) {
  (void)state;
  gt_fingerprint device = some_device();
  gt_error error;
  char *sources[2];
  static const char *const problems[] = {SMALL_PROBLEM,
                                         "upsample_bilinear2d_backward:n=99,c=5,in=4x4,out=8x8,dtype=f32"};
  for (int i = 0; i < 2; i++) {
    gt_generator *generator = small_generator();
    gt_problem problem = problem_of(problems[i]);
    gt_variant variant;
    assert_int_equal(
        gt_render(generator, "small:vx=2,map=slice,block=64", &problem, &device, &variant, &error), GT_OK);
    sources[i] = gt_strdup(variant.source);
    gt_variant_free(&variant);
    gt_generator_close(generator);
  }
  assert_string_equal(sources[0], sources[1]);
  free(sources[0]);
  free(sources[1]);
}

static void faulty_launches_are_refused(void **state) {
  (void)state;
#define LAUNCHES(text) FAMILY("p0.launches = function() return " text " end")
  assert_fails_with(LAUNCHES("{}"), "", NULL, "t.lua:8: launches: is not a list of one to 8 launches");
  assert_fails_with(LAUNCHES("nil"), "", NULL, "t.lua:8: launches: is not a list of one to 8 launches");
  assert_fails_with(LAUNCHES("{{kernel = 'a b', block = 1, blocks = 1}}"), "", NULL,
                    "t.lua:8: launches: entry 1 has no kernel name");
  assert_fails_with(LAUNCHES("{{kernel = 'k', block = {32, 64}, blocks = 1}}"), "", NULL,
                    "t.lua:8: launches: block of k: 32x64x1 threads, the device takes 1024");
  assert_fails_with(LAUNCHES("{{kernel = 'k', block = 0, blocks = 1}}"), "", NULL,
                    "t.lua:8: launches: block of k is not a list of one to three integers");
  assert_fails_with(LAUNCHES("{{kernel = 'k', block = 1, blocks = {1, 0}}}"), "", NULL,
                    "t.lua:8: launches: blocks of k is not {numerator, denominator}");
  assert_fails_with(LAUNCHES("{{kernel = 'k', block = 1, blocks = 1.5}}"), "", NULL,
                    "t.lua:8: launches: blocks of k is not {numerator, denominator}");
  assert_fails_with(
      LAUNCHES("{{kernel = 'k', blok = 1, blocks = 1}}"), "", NULL,
      "t.lua:8: launches: entry 1 is not of the form {kernel=…, block=…, blocks=…}; unknown field blok");
  assert_fails_with(FAMILY("p0.workspace = function() return 1 end"), "", NULL,
                    "t.lua:8: workspace: does not return two numbers of bytes, fixed and per outer index");
  assert_fails_with(FAMILY("p0.reproducible = function() end"), "", NULL,
                    "t.lua:8: reproducible: returns a nil, not a boolean");
}

static void a_script_that_does_not_load_is_reported_with_its_line(void **state) {
  (void)state;
  assert_fails_with("\nreturn {", "", NULL, "t.lua:2: unexpected symbol near <eof>");
  assert_fails_with("\nreturn foo", "", NULL, "t.lua:2: unknown name 'foo'");
  assert_fails_with("return 3", "", NULL, "t.lua: returns a number, not the table of a family");
  assert_fails_with(FAMILY("p0.role = 'best'"), "", NULL,
                    "t.lua: role: must be \"candidate\", \"baseline\" or \"bound\"");
  assert_fails_with(FAMILY("p0.claims = nil"), "", NULL, "t.lua: claims: is a nil, not a function");
  assert_fails_with(FAMILY("p0.constraint = {}"), "", NULL, "t.lua: constraint: a family has no such field");
  assert_fails_with(FAMILY("p0.constraints = {{ok = 1}}"), "", NULL,
                    "t.lua: constraints: entry 1 is not of the form {why=\"…\", ok=function}");
  assert_fails_with(FAMILY("p0.claims = function() return false end"), "", NULL,
                    "t.lua:8: claims: returns false without a text that says why");
}

static void a_directory_must_be_whole(void **state) {
  (void)state;
  template_fixture fixture;
  gt_generator *generator;
  gt_error error;
  assert_int_equal(gt_generator_open("/no/such/directory", &generator, &error), GT_IO);
  assert_null(generator);
  assert_string_equal(error.text,
                      "cannot open template directory /no/such/directory: No such file or directory");
  fixture_start(&fixture);
  fixture_write(&fixture, "t.lua", "return 1", 8);
  assert_int_equal(gt_generator_open(fixture.directory, &generator, &error), GT_TEMPLATE);
  assert_string_equal(error.text, "t.lua: there is no t.kernel beside it");
  fixture_write(&fixture, "t.kernel", "a\0b", 3);
  assert_int_equal(gt_generator_open(fixture.directory, &generator, &error), GT_TEMPLATE);
  assert_string_equal(error.text, "t.kernel: not a text (has a zero byte)");
  fixture_end(&fixture);
}

static void a_missing_target_header_is_named(void **state) {
  (void)state;
  template_fixture fixture;
  gt_generator *generator;
  gt_error error;
  gt_variant variant;
  gt_problem problem = problem_of(SMALL_PROBLEM);
  gt_fingerprint device = some_device();
  device.target = GT_TARGET_OPENCL;
  assert_int_equal(fixture_open(&fixture, FAMILY(""), "", NULL, &generator, &error), GT_OK);
  assert_int_equal(gt_render(generator, "t:v=1", &problem, &device, &variant, &error), GT_TEMPLATE);
  assert_string_equal(error.text, "t.kernel: no target_opencl.h among the templates");
  gt_generator_close(generator);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_copied_and_dollars_are_doubled),
      cmocka_unit_test(lines_with_an_at_sign_are_lua),
      cmocka_unit_test(emit_writes_lists_of_lines_with_an_indent),
      cmocka_unit_test(a_part_has_the_names_of_the_template_that_includes_it),
      cmocka_unit_test(faults_of_parts_name_their_files_and_lines),
      cmocka_unit_test(expressions_may_hold_parentheses_and_strings),
      cmocka_unit_test(whole_floats_print_as_integers),
      cmocka_unit_test(values_that_are_no_text_are_refused_by_name),
      cmocka_unit_test(an_unknown_name_in_a_template_is_reported_with_its_line),
      cmocka_unit_test(syntax_errors_are_reported_with_the_lines_of_the_template),
      cmocka_unit_test(errors_in_functions_name_the_line_that_called_them),
      cmocka_unit_test(literals_are_exact_in_the_type_of_the_arithmetic),
      cmocka_unit_test(every_float_literal_reads_back_as_the_same_float),
      cmocka_unit_test(views_show_the_problem_but_not_the_batch),
      cmocka_unit_test(views_show_where_the_elements_of_grad_output_lie),
      cmocka_unit_test(taps_outside_of_an_axis_are_errors),
      cmocka_unit_test(tilings_come_as_tables_and_tell_what_is_wrong_with_their_arguments),
      cmocka_unit_test(starts_of_tilings_are_multiples_where_they_are_to),
      cmocka_unit_test(views_outlive_the_problem_they_were_made_of),
      cmocka_unit_test(emit_that_was_kept_writes_to_the_rendering_at_hand_only),
      cmocka_unit_test(too_much_text_is_refused),
      cmocka_unit_test(bindings_cannot_hide_the_names_of_the_language),
      cmocka_unit_test(a_source_begins_with_what_it_was_made_from),
      cmocka_unit_test(a_variant_has_the_launches_and_the_workspace_of_the_script),
      cmocka_unit_test(rendering_does_not_depend_on_the_batch_or_on_the_generator),
      cmocka_unit_test(faulty_launches_are_refused),
      cmocka_unit_test(a_script_that_does_not_load_is_reported_with_its_line),
      cmocka_unit_test(a_directory_must_be_whole),
      cmocka_unit_test(a_missing_target_header_is_named),
  };
  return cmocka_run_group_tests_name("render", tests, NULL, NULL);
}
