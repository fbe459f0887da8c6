#include <dirent.h>
#include <math.h>
#include <sys/wait.h>

#include "tests/unit/tuner_fixture.h"
#include "tuner/reference.h"

// One trial of a configuration of the test templates on OpenCL.
static void try_one(const char *configuration, gt_outcome outcome, const char *part_of_message) {
  gt_workshop *workshop = tuner_opencl();
  gt_generator *generator = tuner_generator();
  gt_problem problem = tuner_problem(TUNER_PROBLEM);
  gt_variant direct = tuner_variant(generator, "direct:block=32", &problem, workshop);
  gt_variant variant = tuner_variant(generator, configuration, &problem, workshop);
  gt_timing_options timing = tuner_timing();
  gt_trial trial;
  gt_error error = {0};
  if (gt_workshop_problem(workshop, &problem, &direct, &error) != GT_OK) fail_msg("%s", error.text);
  if (gt_workshop_trial(workshop, &variant, true, &timing, &trial, &error) != GT_OK)
    fail_msg("%s", error.text);
  if (trial.outcome != outcome || !strstr(trial.message, part_of_message))
    fail_msg("%s: %s (%s)", configuration, gt_outcome_name(trial.outcome), trial.message);
  assert_string_equal(trial.configuration, configuration);
  assert_string_equal(trial.source_hash, variant.source_hash);
  assert_int_equal(trial.checked, outcome != GT_OUTCOME_CRASH && outcome != GT_OUTCOME_TIMEOUT &&
                                      outcome != GT_OUTCOME_COMPILE_ERROR);
  if (outcome == GT_OUTCOME_OK) {
    assert_true(trial.n_samples >= 3 && trial.median_us > 0 && trial.compile_ms > 0);
    const gt_compiled *compiled;
    assert_int_equal(gt_workshop_code(workshop, &variant, &compiled, &error), GT_OK);
    assert_true(compiled->status == GT_OK && compiled->code.length > 0);
  }
  gt_trial_free(&trial);

  // Whatever happened: the next trial works.
  if (gt_workshop_trial(workshop, &direct, true, &timing, &trial, &error) != GT_OK)
    fail_msg("%s", error.text);
  assert_int_equal(trial.outcome, GT_OUTCOME_OK);
  gt_trial_free(&trial);
  gt_variant_free(&variant);
  gt_variant_free(&direct);
  gt_generator_close(generator);
  gt_workshop_close(workshop);
}

static void a_right_kernel_is_checked_and_timed(void **state) {
  (void)state;
  try_one("direct:block=64", GT_OUTCOME_OK, "");
}
static void a_slightly_wrong_weight_is_found(void **state) {
  (void)state;
  try_one("faulty:fault=weight", GT_OUTCOME_WRONG_RESULT, "grad_input[outer 5][4][6] is ");
}
static void an_element_that_is_never_written_is_found(void **state) {
  (void)state;
  try_one("faulty:fault=unwritten", GT_OUTCOME_WRONG_RESULT, "was never written");
}
static void a_write_past_the_end_is_found(void **state) {
  (void)state;
  try_one("faulty:fault=overrun", GT_OUTCOME_OUT_OF_BOUNDS, "bytes 0 to 3 past the end of grad_input");
}
static void a_write_before_the_start_is_found(void **state) {
  (void)state;
  try_one("faulty:fault=underrun", GT_OUTCOME_OUT_OF_BOUNDS, "8 bytes before the start of grad_input");
}
static void uninitialised_workspace_is_found(void **state) {
  (void)state;
  try_one("faulty:fault=uninitialised", GT_OUTCOME_WRONG_RESULT, "");
}
static void a_result_that_changes_within_the_tolerance_is_found(void **state) {
  (void)state;
  try_one("faulty:fault=unstable", GT_OUTCOME_UNSTABLE_RESULT, "different bits");
}
static void a_crashing_kernel_costs_its_trial_only(void **state) {
  (void)state;
  try_one("faulty:fault=crash", GT_OUTCOME_CRASH, "killed by signal 11 (SIGSEGV) in phase \"launch\"");
}
static void a_kernel_that_never_ends_is_killed(void **state) {
  (void)state;
  try_one("faulty:fault=hang", GT_OUTCOME_TIMEOUT, "no end of phase \"launch\" within 8 s");
}
static void a_source_that_does_not_compile_is_refused_with_the_compilers_words(void **state) {
  (void)state;
  try_one("faulty:fault=compile", GT_OUTCOME_COMPILE_ERROR, "error");
}

static void a_bound_is_not_compared(void **state) {
  (void)state;
  gt_workshop *workshop = tuner_opencl();
  gt_generator *generator = tuner_generator();
  gt_problem problem = tuner_problem(TUNER_PROBLEM);
  gt_variant variant = tuner_variant(generator, "stream:block=64", &problem, workshop);
  gt_timing_options timing = tuner_timing();
  gt_trial trial;
  assert_int_equal(gt_workshop_problem(workshop, &problem, NULL, NULL), GT_OK);
  assert_int_equal(gt_workshop_trial(workshop, &variant, false, &timing, &trial, NULL), GT_OK);
  assert_int_equal(trial.outcome, GT_OUTCOME_OK);
  assert_false(trial.checked);
  gt_trial_free(&trial);
  gt_variant_free(&variant);
  gt_generator_close(generator);
  gt_workshop_close(workshop);
}

static void verify_compares_with_the_values_it_is_given(void **state) {
  (void)state;
  gt_workshop *workshop = tuner_opencl();
  gt_generator *generator = tuner_generator();
  gt_problem problem = tuner_problem(TUNER_PROBLEM);
  gt_variant variant = tuner_variant(generator, "direct:block=16", &problem, workshop);
  size_t in = (size_t)gt_problem_in_elements(&problem), out = (size_t)gt_problem_out_elements(&problem);
  double *grad_output = gt_alloc(out * 8), *expected = gt_alloc(in * 8), *term = gt_alloc(in * 8);
  for (size_t i = 0; i < out; i++) grad_output[i] = (double)(i % 17) / 16;
  assert_int_equal(gt_reference(&problem, 6, grad_output, expected, term, NULL), GT_OK);
  gt_case which = {.problem = &problem,
                   .values = {[GT_GRAD_OUTPUT] = grad_output, [GT_GRAD_INPUT] = expected},
                   .term = {[GT_GRAD_INPUT] = term}};
  gt_outcome outcome;
  gt_buffer message = {0};
  assert_int_equal(gt_workshop_verify(workshop, &variant, &which, &outcome, &message, NULL), GT_OK);
  if (outcome != GT_OUTCOME_OK) fail_msg("%s", message.data);
  expected[40] += 1e-4;
  assert_int_equal(gt_workshop_verify(workshop, &variant, &which, &outcome, &message, NULL), GT_OK);
  assert_int_equal(outcome, GT_OUTCOME_WRONG_RESULT);
  assert_non_null(strstr(message.data, "grad_input[outer 1][0][5]"));
  gt_buffer_free(&message);
  free(grad_output);
  free(expected);
  free(term);
  gt_variant_free(&variant);
  gt_generator_close(generator);
  gt_workshop_close(workshop);
}

static void a_problem_that_was_begun_is_waited_for_or_makes_way_for_another(void **state) {
  (void)state;
  gt_workshop *workshop = tuner_opencl();
  gt_generator *generator = tuner_generator();
  gt_problem problem = tuner_problem(TUNER_PROBLEM), empty = problem,
             other = tuner_problem("upsample_bilinear2d_backward:n=1,c=2,in=6x6,out=9x9,dtype=f32");
  gt_timing_options timing = tuner_timing();
  gt_error error = {0};
  empty.n = 0;
  for (int round = 0; round < 3; round++) {
    const gt_problem *wanted = round == 2 ? &other : &problem; // of what was begun in the last round nothing is left
    gt_variant direct = tuner_variant(generator, "direct:block=32", wanted, workshop);
    gt_variant sized = tuner_variant(generator, "direct:block=16", wanted, workshop);
    gt_trial trial;
    if (round > 0) gt_workshop_begin_problem(workshop, &problem);
    if (round == 1) gt_workshop_begin_problem(workshop, &problem); // twice does no harm
    if (gt_workshop_problem(workshop, wanted, &direct, &error) != GT_OK) fail_msg("%s", error.text);
    if (gt_workshop_trial(workshop, &sized, true, &timing, &trial, &error) != GT_OK)
      fail_msg("%s", error.text);
    if (trial.outcome != GT_OUTCOME_OK) fail_msg("%d: %s", round, trial.message);
    gt_trial_free(&trial);
    gt_variant_free(&direct);
    gt_variant_free(&sized);
  }
  gt_workshop_begin_problem(workshop, &empty);
  assert_int_equal(gt_workshop_problem(workshop, &empty, NULL, &error), GT_USAGE);
  assert_non_null(strstr(error.text, "an empty problem"));
  gt_workshop_begin_problem(workshop, &problem);
  gt_generator_close(generator);
  gt_workshop_close(workshop); // also while it is under way
}

static void finalists_are_timed_together(void **state) {
  (void)state;
  gt_workshop *workshop = tuner_opencl();
  gt_generator *generator = tuner_generator();
  gt_problem problem = tuner_problem(TUNER_PROBLEM);
  gt_timing_options timing = tuner_timing();
  gt_variant variants[] = {tuner_variant(generator, "direct:block=16", &problem, workshop),
                           tuner_variant(generator, "direct:block=64", &problem, workshop)};
  gt_trial trials[2] = {{0}, {0}};
  assert_int_equal(gt_workshop_problem(workshop, &problem, NULL, NULL), GT_OK);
  assert_int_equal(gt_workshop_retime(workshop, variants, 2, &timing, trials, NULL), GT_OK);
  for (int i = 0; i < 2; i++) {
    assert_true(trials[i].n_samples >= 3 && trials[i].median_us > 0);
    gt_trial_free(&trials[i]);
    gt_variant_free(&variants[i]);
  }
  gt_generator_close(generator);
  gt_workshop_close(workshop);
}

static void a_worker_without_a_device_compiles_or_says_why_not(void **state) {
  (void)state;
  gt_workshop *workshop = tuner_workshop(NULL);
  gt_buffer code = {0}, log = {0};
  gt_error error = {0};
  assert_int_not_equal(gt_workshop_compile(workshop, "no-such", "x", "y", &code, &log, &error), GT_OK);
  assert_true(*error.text);
  assert_int_equal(code.length, 0);
  gt_buffer_free(&code);
  gt_buffer_free(&log);
  gt_workshop_close(workshop);
}

static void a_device_that_is_not_there_is_refused_at_once(void **state) {
  (void)state;
  gt_workshop *workshop;
  gt_error error = {0};
  assert_int_equal(gt_workshop_open("nonsense", NULL, &workshop, &error), GT_USAGE);
  assert_null(workshop);
  assert_true(*error.text);
}

static void a_program_that_cannot_be_started_or_is_no_worker_is_an_error(void **state) {
  (void)state;
  gt_workshop_options options;
  gt_workshop *workshop;
  gt_error error = {0};
  gt_workshop_defaults(&options);
  options.program = "/no/such/program";
  assert_int_equal(gt_workshop_open(NULL, &options, &workshop, &error), GT_IO);
  options.program = "/bin/false";
  assert_int_equal(gt_workshop_open(NULL, &options, &workshop, &error), GT_CRASH);
  assert_non_null(strstr(error.text, "exited with status 1"));
}

static void an_interruption_ends_the_call_in_progress(void **state) {
  (void)state;
  gt_workshop *workshop = tuner_workshop(NULL);
  gt_buffer code = {0}, log = {0};
  gt_workshop_interrupt();
  assert_int_equal(gt_workshop_compile(workshop, "opencl", "x", "y", &code, &log, NULL), GT_INTERRUPTED);
  // And only that one.
  assert_int_not_equal(gt_workshop_compile(workshop, "opencl", "x", "y", &code, &log, NULL), GT_INTERRUPTED);
  gt_buffer_free(&code);
  gt_buffer_free(&log);
  gt_workshop_close(workshop);
}

static void an_interruption_ends_the_calls_of_all_workshops(void **state) {
  (void)state;
  gt_workshop *workshops[] = {tuner_workshop(NULL), tuner_workshop(NULL)};
  gt_buffer code = {0}, log = {0};
  gt_workshop_interrupt();
  gt_workshop *later = tuner_workshop(NULL); // is none of its
  for (int i = 0; i < 2; i++)
    assert_int_equal(gt_workshop_compile(workshops[i], "opencl", "x", "y", &code, &log, NULL), GT_INTERRUPTED);
  assert_int_not_equal(gt_workshop_compile(later, "opencl", "x", "y", &code, &log, NULL), GT_INTERRUPTED);
  gt_buffer_free(&code);
  gt_buffer_free(&log);
  for (int i = 0; i < 2; i++) gt_workshop_close(workshops[i]);
  gt_workshop_close(later);
}

// Ends the worker by a kernel that crashes.
static void crash(gt_workshop *workshop) {
  gt_generator *generator = tuner_generator();
  gt_problem problem = tuner_problem(TUNER_PROBLEM);
  gt_variant variant = tuner_variant(generator, "direct:block=64", &problem, workshop);
  gt_timing_options timing = tuner_timing();
  gt_trial trial;
  assert_int_equal(gt_workshop_problem(workshop, &problem, NULL, NULL), GT_OK);
  assert_int_equal(gt_workshop_trial(workshop, &variant, true, &timing, &trial, NULL), GT_OK);
  assert_int_equal(trial.outcome, GT_OUTCOME_CRASH);
  gt_trial_free(&trial);
  gt_variant_free(&variant);
  gt_generator_close(generator);
}

static void rewrite(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static void a_device_that_does_not_open_again_is_lost_and_so_is_one_whose_name_another_has(void **state) {
  (void)state;
#define MEMBER(place) \
  "{\"fingerprint\":{\"target\":\"opencl\",\"pci_id\":\"" place "\"},\"rules\":[{\"action\":\"crash\"}]}"
  char *path = tuner_file(MEMBER("0000:01:00.0")), *device = gt_print("recorded:%s", path);
  gt_workshop *workshop = tuner_workshop(device);
  gt_error error = {0};
  crash(workshop);
  assert_int_equal(gt_workshop_check(workshop, &error), GT_OK); // it is there
  crash(workshop);
  rewrite(path, MEMBER("0000:02:00.0"));
  assert_int_equal(gt_workshop_check(workshop, &error), GT_DEVICE_LOST);
  assert_non_null(strstr(error.text, "another device now"));
  rewrite(path, "nothing");
  assert_int_equal(gt_workshop_check(workshop, &error), GT_DEVICE_LOST);
  assert_non_null(strstr(error.text, "does not open again"));
  rewrite(path, MEMBER("0000:01:00.0"));
  assert_int_equal(gt_workshop_check(workshop, &error), GT_OK); // back again
  gt_workshop_close(workshop);
  tuner_remove(path);
  free(device);
}

// Whether a process is there and not a zombie.
static bool runs(pid_t pid) {
  char path[64], name[64], status = 'X';
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  int got = fscanf(file, "%*d (%63[^)]) %c", name, &status);
  fclose(file);
  return got == 2 && status != 'Z' && status != 'X';
}

// The first child of a process.
static pid_t child_of(pid_t parent) {
  DIR *directory = opendir("/proc");
  struct dirent *entry;
  pid_t found = 0;
  while (!found && (entry = readdir(directory))) {
    char path[300], name[64];
    int ppid = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
    FILE *file = atoi(entry->d_name) ? fopen(path, "r") : NULL;
    if (!file) continue;
    if (fscanf(file, "%*d (%63[^)]) %*c %d", name, &ppid) == 2 && ppid == parent) found = atoi(entry->d_name);
    fclose(file);
  }
  closedir(directory);
  return found;
}

static void a_worker_ends_when_its_parent_dies(void **state) {
  (void)state;
  char *path =
      tuner_file("{\"fingerprint\":{\"target\":\"opencl\"},\"rules\":[{\"action\":\"compile_hang\"}]}");
  char *device = gt_print("recorded:%s", path);
  pid_t parent = fork();
  assert_true(parent >= 0);
  if (parent == 0) {
    gt_generator *generator = tuner_generator();
    gt_workshop *workshop = tuner_workshop(device);
    gt_problem problem = tuner_problem(TUNER_PROBLEM);
    gt_variant variant = tuner_variant(generator, "direct:block=16", &problem, workshop);
    gt_timing_options timing = tuner_timing();
    gt_trial trial;
    gt_workshop_problem(workshop, &problem, NULL, NULL);
    gt_workshop_trial(workshop, &variant, true, &timing, &trial, NULL);
    _exit(0);
  }
  pid_t worker = 0;
  for (int i = 0; i < 1200 && !worker; i++) {
    usleep(50000);
    worker = child_of(parent);
  }
  usleep(500000); // into the compilation that never ends
  assert_true(worker && runs(worker));
  kill(parent, SIGKILL);
  waitpid(parent, NULL, 0);
  for (int i = 0; i < 1200 && runs(worker); i++) usleep(50000);
  assert_false(runs(worker));
  tuner_remove(path);
  free(device);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_right_kernel_is_checked_and_timed),
    cmocka_unit_test(a_slightly_wrong_weight_is_found),
    cmocka_unit_test(an_element_that_is_never_written_is_found),
    cmocka_unit_test(a_write_past_the_end_is_found),
    cmocka_unit_test(a_write_before_the_start_is_found),
    cmocka_unit_test(uninitialised_workspace_is_found),
    cmocka_unit_test(a_result_that_changes_within_the_tolerance_is_found),
    cmocka_unit_test(a_crashing_kernel_costs_its_trial_only),
    cmocka_unit_test(a_kernel_that_never_ends_is_killed),
    cmocka_unit_test(a_source_that_does_not_compile_is_refused_with_the_compilers_words),
    cmocka_unit_test(a_bound_is_not_compared),
    cmocka_unit_test(verify_compares_with_the_values_it_is_given),
    cmocka_unit_test(a_problem_that_was_begun_is_waited_for_or_makes_way_for_another),
    cmocka_unit_test(finalists_are_timed_together),
    cmocka_unit_test(a_worker_without_a_device_compiles_or_says_why_not),
    cmocka_unit_test(a_device_that_is_not_there_is_refused_at_once),
    cmocka_unit_test(a_program_that_cannot_be_started_or_is_no_worker_is_an_error),
    cmocka_unit_test(an_interruption_ends_the_call_in_progress),
    cmocka_unit_test(an_interruption_ends_the_calls_of_all_workshops),
    cmocka_unit_test(a_device_that_does_not_open_again_is_lost_and_so_is_one_whose_name_another_has),
    cmocka_unit_test(a_worker_ends_when_its_parent_dies),
};

TUNER_MAIN(tests)
