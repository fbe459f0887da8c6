// The library on what was tuned with other templates, or under another compiler: served, compiled anew, checked
// once, passed over.
#include "tests/unit/runtime_fixture.h"

#include "cache/cache.h"
#include "device/device.h"
#include "generator/generator.h"
#include "runtime/child.h"

#define DEVICE "recorded:gpu.json"
#define OTHER_BATCH OPERATOR "n=7,c=3,in=6x5,out=12x10,dtype=f32"

// Templates as they might have been: `taps` is another text, and there is a family that is gone.
static void tune_with_old_templates(const fixture *f, const char *families) {
  shell("cp -r '%s/templates' old && echo '// as it was' >>old/taps.kernel && cp old/taps.lua old/gone.lua && "
        "cp old/taps.kernel old/gone.kernel",
        f->home);
  shell("GATHERTUNE_TEMPLATES=old \"$GATHERTUNE_PROGRAM\" tune '%s' --device " DEVICE
        " --families %s --budget 2 >/dev/null 2>&1",
        PROBLEM, families);
}

// The device as it was tuned, with another compiler or rules.
static void change_device(const char *compiler, const char *rules) {
  char *text = gt_print("{\"fingerprint\": {\"arch\": \"gfx942\", \"target\": \"hip\", \"name\": \"Imaginary X\", "
                        "\"compiler\": \"%s\"}, \"hashed\": [50, 200], \"rules\": [%s]}",
                        compiler, rules);
  write_text("gpu.json", text);
  free(text);
}

// From here on the program notes its calls.
static void count_calls(void) {
  char *text = gt_print("#!/bin/sh\necho \"$1\" >>calls\nexec '%s' \"$@\"\n", getenv("GATHERTUNE_PROGRAM"));
  write_text("noting", text);
  free(text);
  chmod("noting", 0755);
  char here[4096];
  assert_non_null(getcwd(here, sizeof here));
  char *path = gt_print("%s/noting", here);
  setenv("GATHERTUNE_PROGRAM", path, 1);
  free(path);
}

static int calls(void) {
  gt_buffer text = {0};
  int count = 0;
  if (gt_buffer_read_file(&text, "calls"))
    for (const char *c = text.data; c && *c; c++) count += *c == '\n';
  gt_buffer_free(&text);
  return count;
}

static void looking_up_serves_the_stored_code_object_and_tells_that_it_is_stale(void **state) {
  tune_with_old_templates(*state, "taps");
  setenv("GATHERTUNE_PROGRAM", "/nowhere", 1);
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  const gathertune_plan *plan = plan_of(context, PROBLEM);
  gathertune_plan_info info = describe(plan);
  assert_int_equal(info.origin, GATHERTUNE_EXACT);
  assert_true(info.stale);
  assert_has(info.note, "its template has changed");
  assert_has(info.note, "stored code object");
  // Another batch has the same kernels; a program of an older header does not ask.
  assert_true(describe(plan_of(context, OTHER_BATCH)).stale);
  gathertune_plan_info old = {.size = offsetof(gathertune_plan_info, stale), .stale = 77};
  gathertune_describe(plan, &old);
  assert_int_equal(old.stale, 77);
  gathertune_close(context);
}

static void what_is_current_is_not_stale_in_any_mode(void **state) {
  (void)state;
  tune(PROBLEM);
  for (int mode = GATHERTUNE_MODE_LOOKUP; mode <= GATHERTUNE_MODE_TUNE; mode++) {
    gathertune_context *context = open_mode(DEVICE, (gathertune_mode)mode);
    gathertune_plan_info info = describe(plan_of(context, PROBLEM));
    assert_int_equal(info.origin, GATHERTUNE_EXACT);
    assert_false(info.stale);
    assert_string_equal(info.note, "");
    gathertune_close(context);
  }
}

static void a_changed_template_is_compiled_and_checked_once(void **state) {
  tune_with_old_templates(*state, "taps");
  count_calls();
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
  gathertune_plan_info info = describe(plan_of(context, PROBLEM));
  assert_int_equal(info.origin, GATHERTUNE_EXACT);
  assert_true(info.stale);
  assert_has(info.note, "compiled anew and checked");
  assert_int_equal(calls(), 2); // one compiles, another runs it
  info = describe(plan_of(context, OTHER_BATCH)); // the same kernels
  assert_int_equal(info.origin, GATHERTUNE_NEAR);
  assert_true(info.stale);
  gathertune_close(context);
  assert_int_equal(calls(), 2);
  // Another process.
  context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
  info = describe(plan_of(context, PROBLEM));
  assert_int_equal(info.origin, GATHERTUNE_EXACT);
  assert_has(info.note, "checked before");
  gathertune_close(context);
  assert_int_equal(calls(), 2);
  // Its code object is lost: compiled, and not checked again.
  unlink("cache.db.code");
  context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
  assert_has(describe(plan_of(context, PROBLEM)).note, "checked before");
  gathertune_close(context);
  assert_int_equal(calls(), 3);
}

static void a_changed_compiler_is_a_reason_as_well_and_each_has_its_own_check(void **state) {
  (void)state;
  tune(PROBLEM);
  count_calls();
  static const char *const compilers[] = {"another", "a third"};
  for (int i = 0; i < 2; i++) {
    change_device(compilers[i], "");
    for (int again = 0; again < 2; again++) {
      gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
      gathertune_plan_info info = describe(plan_of(context, PROBLEM));
      assert_int_equal(info.origin, GATHERTUNE_EXACT);
      assert_has(info.note, "the compiler has changed");
      gathertune_close(context);
      assert_int_equal(calls(), 2 * (i + 1));
    }
  }
}

static void what_fails_its_check_is_passed_over_and_remembered(void **state) {
  static const struct {
    const char *action, *told;
  } cases[] = {{"wrong", "wrong_result"},
               {"crash", "crash"},
               {"launch_error", "launch_error"},
               {"compile_error", "compile_error"},
               {"compile_crash", "crash"}};
  tune_with_old_templates(*state, "taps");
  shell("cp cache.db tuned.db");
  const char *program = getenv("GATHERTUNE_PROGRAM");
  char *plain = gt_strdup(program);
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  char *configuration = gt_strdup(describe(plan_of(context, PROBLEM)).configuration);
  gathertune_close(context);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    shell("cp tuned.db cache.db; rm -f cache.db.code calls");
    setenv("GATHERTUNE_PROGRAM", plain, 1);
    char *rule = gt_print("{\"match\": \"%s\", \"action\": \"%s\"}", configuration, cases[i].action);
    change_device("recorded", rule);
    free(rule);
    count_calls();
    int before = 0;
    for (int again = 0; again < 2; again++) {
      context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
      gathertune_plan_info info = describe(plan_of(context, PROBLEM));
      assert_true(info.origin == GATHERTUNE_DEFAULT || info.origin == GATHERTUNE_NEAR);
      assert_string_not_equal(info.configuration, configuration);
      assert_false(info.stale);
      assert_has(info.note, "passed over");
      assert_has(info.note, cases[i].told);
      gathertune_close(context);
      if (again) assert_int_equal(calls(), before); // nothing is left to do
      before = calls();
    }
    // Those who only look up get what was right when it was tuned.
    context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
    assert_string_equal(describe(plan_of(context, PROBLEM)).configuration, configuration);
    gathertune_close(context);
  }
  free(configuration);
  free(plain);
}

static void a_configuration_that_the_templates_have_no_more_is_passed_over_with_the_reason(void **state) {
  tune_with_old_templates(*state, "gone");
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
  gathertune_plan_info info = describe(plan_of(context, PROBLEM));
  assert_true(info.origin == GATHERTUNE_DEFAULT || info.origin == GATHERTUNE_NEAR);
  assert_true(strncmp(info.configuration, "gone:", 5) != 0);
  assert_has(info.note, "passed over: gone:");
  assert_has(info.note, "do not have its configuration any more");
  gathertune_close(context);
  context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  info = describe(plan_of(context, PROBLEM));
  assert_int_equal(info.origin, GATHERTUNE_EXACT);
  assert_true(info.stale && strncmp(info.configuration, "gone:", 5) == 0);
  gathertune_close(context);
  context = open_mode(DEVICE, GATHERTUNE_MODE_TUNE);
  info = describe(plan_of(context, PROBLEM));
  assert_int_equal(info.origin, GATHERTUNE_EXACT);
  assert_false(info.stale);
  assert_true(strncmp(info.configuration, "gone:", 5) != 0);
  gathertune_close(context);
}

static void where_it_may_be_tuned_what_fails_its_check_is_tuned_again(void **state) {
  tune_with_old_templates(*state, "taps");
  change_device("recorded", "{\"match\": \"taps:\", \"action\": \"wrong\"}");
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_TUNE);
  gathertune_plan_info info = describe(plan_of(context, PROBLEM));
  assert_int_equal(info.origin, GATHERTUNE_EXACT);
  assert_false(info.stale);
  assert_true(strncmp(info.configuration, "taps:", 5) != 0);
  gathertune_close(context);
}

static void what_cannot_be_checked_is_served_as_it_was_stored(void **state) {
  tune_with_old_templates(*state, "taps");
  setenv("GATHERTUNE_PROGRAM", "/nowhere", 1);
  for (int again = 0; again < 2; again++) { // and is not taken for checked
    gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
    gathertune_plan_info info = describe(plan_of(context, PROBLEM));
    assert_int_equal(info.origin, GATHERTUNE_EXACT);
    assert_true(info.stale);
    assert_has(info.note, "could not be checked: /nowhere");
    gathertune_close(context);
  }
}

static void a_stale_entry_of_the_system_is_checked_into_the_users_cache(void **state) {
  tune_with_old_templates(*state, "taps");
  shell("mkdir system && mv cache.db system/ && rm -f cache.db.*");
  shell("cp system/cache.db before.db");
  setenv("GATHERTUNE_SYSTEM_CACHE", "system/cache.db", 1);
  count_calls();
  for (int again = 0; again < 2; again++) {
    gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
    gathertune_plan_info info = describe(plan_of(context, PROBLEM));
    assert_string_equal(info.from_cache, "system/cache.db");
    assert_has(info.note, again ? "checked before" : "compiled anew and checked");
    gathertune_close(context);
  }
  assert_int_equal(calls(), 2);
  shell("cmp system/cache.db before.db && test \"$(ls system)\" = cache.db");
  shell("test \"$(sqlite3 cache.db 'SELECT outcome FROM stale_check')\" = ok");
}

static void what_cannot_be_remembered_is_checked_again_and_nothing_is_harmed(void **state) {
  tune_with_old_templates(*state, "taps");
  shell("mkdir system && mv cache.db system/ && rm -f cache.db.*");
  setenv("GATHERTUNE_SYSTEM_CACHE", "system/cache.db", 1);
  shell("cp system/cache.db cache.db && sqlite3 cache.db 'PRAGMA user_version = 4' && cp cache.db before.db");
  for (int again = 0; again < 2; again++) {
    gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
    assert_has(gathertune_notes(context), "cache.db: made by a newer gathertune");
    gathertune_plan_info info = describe(plan_of(context, PROBLEM));
    assert_string_equal(info.from_cache, "system/cache.db");
    assert_has(info.note, "compiled anew and checked");
    assert_null(strstr(info.note, "before"));
    gathertune_close(context);
  }
  shell("cmp cache.db before.db");
}

// --- on a device that computes
// --------------------------------------------------------------------------------------

static void a_check_in_a_child_process_finds_wrong_kernels_on_a_real_device(void **state) {
  (void)state;
  // What is put before the sum that is stored, and what comes of it.
  static const struct {
    const char *edit;
    gt_outcome outcome;
  } cases[] = {{"", GT_OUTCOME_OK},
               {"1.01f * ", GT_OUTCOME_WRONG_RESULT},
               {"((volatile __global float *)grad_input)[-1] = 0, ", GT_OUTCOME_OUT_OF_BOUNDS}};
  gt_error error = {0};
  gt_open_device open;
  gt_problem problem;
  gt_generator *generator;
  char *configuration;
  gt_variant variant = {0};
  if (gt_device_open("opencl:0", &open, &error) != GT_OK) {
    print_message("no such device: %s\n", error.text);
    skip();
  }
  gt_fingerprint device = open.fingerprint;
  gt_device_close(&open);
  const char *program = getenv("GATHERTUNE_PROGRAM");
  assert_int_equal(gt_problem_parse(PROBLEM, &problem, &error), GT_OK);
  assert_int_equal(gt_generator_open(NULL, &generator, &error), GT_OK);
  assert_int_equal(gt_family_default(generator, "direct", &problem, &device, &configuration, &error), GT_OK);
  assert_int_equal(gt_render(generator, configuration, &problem, &device, &variant, &error), GT_OK);
  static const char narrowed[] = "= gt_narrow(sum)";
  const char *value = strstr(variant.source, narrowed);
  assert_non_null(value);
  value += strlen(narrowed) - strlen("sum)");
  char *whole = variant.source;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    gt_buffer code = {0}, message = {0};
    gt_outcome outcome;
    variant.source = gt_print("%.*s(%ssum)%s", (int)(value - whole), whole, cases[i].edit, value + 3);
    if (gt_child_compile(program, "opencl:0", &device, variant.source, 60, &code, &error) != GT_OK)
      fail_msg("%s", error.text);
    gt_child_code which = {&variant, &code};
    if (gt_child_check(program, "opencl:0", CANONICAL, which, i ? NULL : &which, 60, &outcome, &message, &error) != GT_OK)
      fail_msg("%s", error.text);
    if (outcome != cases[i].outcome)
      fail_msg("%zu: %s: %s", i, gt_outcome_name(outcome), message.data ? message.data : "");
    gt_buffer_free(&code);
    gt_buffer_free(&message);
    free(variant.source);
  }
  variant.source = whole;
  gt_variant_free(&variant);
  gt_generator_close(generator);
  free(configuration);
}

static void on_a_real_device_a_changed_template_is_checked_and_served(void **state) {
  const fixture *f = *state;
  gathertune_options options = GATHERTUNE_OPTIONS_INIT;
  gathertune_context *context;
  options.device = "opencl:0";
  if (gathertune_open(&options, &context) != GATHERTUNE_OK) {
    print_message("no such device: %s\n", gathertune_message(context));
    gathertune_close(context);
    skip();
  }
  gathertune_close(context);
  shell("cp -r '%s/templates' old && echo '// as it was' >>old/direct.kernel", f->home);
  shell("GATHERTUNE_TEMPLATES=old \"$GATHERTUNE_PROGRAM\" tune '%s' --device opencl:0 --families direct "
        "--budget 1 --batch-us 10 >/dev/null 2>&1",
        PROBLEM);
  count_calls();
  for (int again = 0; again < 2; again++) {
    context = open_mode("opencl:0", GATHERTUNE_MODE_COMPILE);
    gathertune_plan_info info = describe(plan_of(context, PROBLEM));
    assert_int_equal(info.origin, GATHERTUNE_EXACT);
    assert_has(info.note, again ? "checked before" : "compiled anew and checked");
    gathertune_close(context);
  }
  assert_int_equal(calls(), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(looking_up_serves_the_stored_code_object_and_tells_that_it_is_stale),
      CASE(what_is_current_is_not_stale_in_any_mode),
      CASE(a_changed_template_is_compiled_and_checked_once),
      CASE(a_changed_compiler_is_a_reason_as_well_and_each_has_its_own_check),
      CASE(what_fails_its_check_is_passed_over_and_remembered),
      CASE(a_configuration_that_the_templates_have_no_more_is_passed_over_with_the_reason),
      CASE(where_it_may_be_tuned_what_fails_its_check_is_tuned_again),
      CASE(what_cannot_be_checked_is_served_as_it_was_stored),
      CASE(a_stale_entry_of_the_system_is_checked_into_the_users_cache),
      CASE(what_cannot_be_remembered_is_checked_again_and_nothing_is_harmed),
      CASE(a_check_in_a_child_process_finds_wrong_kernels_on_a_real_device),
      CASE(on_a_real_device_a_changed_template_is_checked_and_served),
  };
  return cmocka_run_group_tests_name("runtime, stale", tests, NULL, NULL);
}
