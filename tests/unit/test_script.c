// The sandbox: what scripts can name, and the limits they run under.
#include "template_fixture.h"

#include <lauxlib.h>

#include "generator/script.h"

static const gt_template_file files[] = {
    {"lib/bad.lua", "return 1 +", 10, NULL},
    {"lib/cycle.lua", "return use 'cycle'", 18, NULL},
    {"lib/good.lua", "return {three = function() return 3 end}", 40, NULL},
    {"lib/number.lua", "return 3", 8, NULL},
};
static const gt_templates templates = {(gt_template_file *)files, sizeof files / sizeof *files};

typedef struct {
  const char *text;
  size_t length;
  char result[256];
} chunk;

static int run_chunk(lua_State *L) {
  chunk *context = lua_touserdata(L, 1);
  gt_script_load(L, context->text, context->length, "test.lua");
  lua_call(L, 0, 1);
  snprintf(context->result, sizeof context->result, "%s", luaL_tolstring(L, -1, NULL));
  return 0;
}

static const gt_script_limits small_limits = {4 << 20, 1000 * 1000};

// Runs a chunk in a new state, and writes its result or its error.
static gt_status run_bytes(const char *text, size_t length, char result[1024]) {
  gt_script *script;
  gt_error error = {0};
  chunk context = {text, length, ""};
  assert_int_equal(gt_script_open(&templates, small_limits, &script, &error), GT_OK);
  gt_status status = gt_script_run(script, run_chunk, &context, "test.lua", &error);
  snprintf(result, 1024, "%s", status == GT_OK ? context.result : error.text);
  gt_script_close(script);
  return status;
}

static void assert_result(const char *text, const char *expected) {
  char result[1024];
  if (run_bytes(text, strlen(text), result) != GT_OK) fail_msg("%s: %s", text, result);
  assert_string_equal(result, expected);
}

static void assert_error(const char *text, const char *expected) {
  char result[1024];
  gt_status status = run_bytes(text, strlen(text), result);
  assert_string_equal(result, expected);
  assert_int_equal(status, GT_TEMPLATE);
}

static void scripts_have_the_plain_functions_of_lua(void **state) {
  (void)state;
  assert_result("local t = {} for i, v in ipairs{4, 5} do t[i] = v * 2 end return table.concat(t, ',')",
                "8,10");
  assert_result(
      "return math.max(1, 3) .. ('x'):rep(2) .. tostring(nil) .. type(select('#', 1)) .. tonumber('0x10')",
      "3xxnilnumber16");
  assert_result("return ('a-b'):gsub('%-', '+')", "a+b");
  assert_result("return tostring(next({})) .. tostring(next({x = 1}))", "niltrue");
}

static void nothing_that_reaches_outside_has_a_name(void **state) {
  (void)state;
  static const char *const names[] = {"load",         "loadstring",   "dofile", "loadfile", "require",
                                      "io",           "os",           "debug",  "package",  "collectgarbage",
                                      "getmetatable", "setmetatable", "rawget", "rawset",   "coroutine",
                                      "pcall",        "print",        "_G",     "utf8"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char *text = gt_print("return\n%s", names[i]),
         *error = gt_print("test.lua:2: unknown name '%s'", names[i]);
    assert_error(text, error);
    free(text);
    free(error);
  }
  assert_error("return string.dump(function() end)", "test.lua:1: unknown field 'dump' of string");
  assert_error("return ('').dump", "test.lua:1: unknown field 'dump' of string");
  assert_error("return math.random()", "test.lua:1: unknown field 'random' of math");
}

static void binary_chunks_are_refused(void **state) {
  (void)state;
  char result[1024];
  static const char binary[] = LUA_SIGNATURE "\x54\x00\x19\x93\r\n\x1a\n";
  assert_int_equal(run_bytes(binary, sizeof binary - 1, result), GT_TEMPLATE);
  assert_non_null(strstr(result, "attempt to load a binary chunk"));
}

static void globals_and_libraries_cannot_be_assigned(void **state) {
  (void)state;
  assert_error("local a = 1\nb = 2", "test.lua:2: assignment to global 'b' (declare it local)");
  assert_error("function math() end", "test.lua:1: assignment to global 'math' (declare it local)");
  assert_error("math.floor = 1", "test.lua:1: assignment to a field of math, which is read-only");
  assert_error("math.pie = 1", "test.lua:1: assignment to a field of math, which is read-only");
  assert_error("_ENV.x = 1", "test.lua:1: assignment to global 'x' (declare it local)");
  assert_error("table.insert(string, 1)", "test.lua:1: assignment to a field of string, which is read-only");
}

static void an_endless_loop_is_stopped_and_its_line_named(void **state) {
  (void)state;
  assert_error("local i = 0\nwhile true do\ni = i + 1 end",
               "test.lua:3: stopped after 1000000 instructions, the limit");
}

static void a_loop_that_allocates_much_is_stopped(void **state) {
  (void)state;
  char result[1024];
  static const char text[] = "local a = ('x'):rep(1000000) while true do local b = a .. 'y' end";
  assert_int_equal(run_bytes(text, strlen(text), result), GT_TEMPLATE);
  assert_string_equal(result, "test.lua: stopped after 1000000 instructions, the limit");
}

static void functions_that_run_long_without_an_instruction_are_stopped(void **state) {
  (void)state;
  static const char limit[] = "test.lua:1: stopped after 1000000 instructions, the limit";
  assert_error("return (''):rep(1 << 60)", limit);
  assert_error("return ('a'):rep(40):find(('a?'):rep(40) .. ('a'):rep(40))", limit);
  assert_error("return ('a'):rep(4000):find('.-.-.-b')", limit);
  assert_error("return table.move({}, 1, 1 << 60, 2)", limit);
  assert_error("return table.move({}, math.mininteger, math.maxinteger - 1, 2)", limit);
}

static void negative_counts_do_not_give_work_back(void **state) {
  (void)state;
  assert_error("local s = (''):rep(-1 << 60) while true do end",
               "test.lua:1: stopped after 1000000 instructions, the limit");
}

static void memory_beyond_the_limit_is_refused(void **state) {
  (void)state;
  static const char limit[] = "test.lua: needs more than 4 MiB of memory, the limit";
  assert_error("return ('x'):rep(10 << 16, 'yyyyyyyyyyyyyyy')", limit);
  assert_error("local t = {} for i = 1, 200000 do t[i] = {i} end", limit);
}

static void a_state_works_on_after_an_error(void **state) {
  (void)state;
  gt_script *script;
  gt_error error;
  assert_int_equal(gt_script_open(&templates, small_limits, &script, &error), GT_OK);
  static const char *const bad[] = {"while true do end", "local t = {} for i = 1, 200000 do t[i] = {i} end",
                                    "error('x')", "local function f() return f() + 1 end return f()"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    chunk failing = {bad[i], strlen(bad[i]), ""}, working = {"return 42", 9, ""};
    assert_int_equal(gt_script_run(script, run_chunk, &failing, "test.lua", &error), GT_TEMPLATE);
    assert_int_equal(gt_script_run(script, run_chunk, &working, "test.lua", &error), GT_OK);
    assert_string_equal(working.result, "42");
  }
  gt_script_close(script);
}

static void endless_recursion_is_an_error(void **state) {
  (void)state;
  char result[1024];
  static const char text[] = "local function f(x) return f(x) + 1 end return f(1)";
  assert_int_equal(run_bytes(text, strlen(text), result), GT_TEMPLATE);
  assert_null(strchr(result, '\n'));
}

static void messages_are_one_line_with_a_position(void **state) {
  (void)state;
  assert_error("\nerror('two\\nlines')", "test.lua:2: two lines");
  assert_error("\nerror('no position', 0)", "test.lua:2: no position");
  assert_error("error({})", "test.lua:1: error without a message");
  assert_error("error()", "test.lua:1: error without a message");
  assert_error("\n\nassert(false, 'why')", "test.lua:3: why");
  assert_error("return 1 +", "test.lua:1: unexpected symbol near <eof>");
  assert_error("return ('x'):rep({})", "test.lua:1: bad argument #1 to 'rep' (number expected, got table)");
}

static void pairs_goes_in_the_order_of_the_keys(void **state) {
  (void)state;
  assert_result("local r = {} for k, v in pairs{b = 1, a = 2, [3] = 3, [1.5] = 4, zz = 5, [-1] = 6} do "
                "r[#r + 1] = k .. '=' .. v end return table.concat(r, ' ')",
                "-1=6 1.5=4 3=3 a=2 b=1 zz=5");
  assert_error("for k in pairs{[{}] = 1} do end",
               "test.lua:1: pairs: a key is a table; only numbers and strings have an order");
}

static void addresses_are_not_printed(void **state) {
  (void)state;
  assert_result("return tostring({}) .. tostring(tostring)", "tablefunction");
  assert_error("return ('%s'):format({})", "test.lua:1: string.format cannot print a table");
}

static void use_gives_the_value_of_a_library_once(void **state) {
  (void)state;
  assert_result("return use('good').three()", "3");
  assert_result("return tostring(use 'good' == use 'good')", "true");
  assert_error("return use 'absent'", "test.lua:1: no library 'absent' (lib/absent.lua)");
  assert_error("return use '../secret'", "test.lua:1: no library '../secret' (lib/../secret.lua)");
  assert_error("\nreturn use 'cycle'",
               "lib/cycle.lua:1: library 'cycle' uses itself (called from test.lua:2)");
  assert_error("return use 'number'",
               "test.lua:1: lib/number.lua returns a number, not a table or a function");
  assert_error("return use 'bad'", "test.lua:1: lib/bad.lua:1: unexpected symbol near <eof>");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scripts_have_the_plain_functions_of_lua),
      cmocka_unit_test(nothing_that_reaches_outside_has_a_name),
      cmocka_unit_test(binary_chunks_are_refused),
      cmocka_unit_test(globals_and_libraries_cannot_be_assigned),
      cmocka_unit_test(an_endless_loop_is_stopped_and_its_line_named),
      cmocka_unit_test(a_loop_that_allocates_much_is_stopped),
      cmocka_unit_test(functions_that_run_long_without_an_instruction_are_stopped),
      cmocka_unit_test(negative_counts_do_not_give_work_back),
      cmocka_unit_test(memory_beyond_the_limit_is_refused),
      cmocka_unit_test(a_state_works_on_after_an_error),
      cmocka_unit_test(endless_recursion_is_an_error),
      cmocka_unit_test(messages_are_one_line_with_a_position),
      cmocka_unit_test(pairs_goes_in_the_order_of_the_keys),
      cmocka_unit_test(addresses_are_not_printed),
      cmocka_unit_test(use_gives_the_value_of_a_library_once),
  };
  return cmocka_run_group_tests_name("script", tests, NULL, NULL);
}
