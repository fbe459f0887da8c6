#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "device/recorded.h"

#define BACKEND (&gt_backend_recorded)

// Opens a device on a script given as text.
static gt_status open_script(const char *script, gt_device **device, gt_error *error) {
  char path[] = "/tmp/gathertune-XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, script, strlen(script)), (ssize_t)strlen(script));
  close(file);
  gt_status status = gt_recorded_open(path, device, error);
  unlink(path);
  return status;
}

static gt_device *device_of(const char *script) {
  gt_device *device;
  gt_error error = {0};
  if (open_script(script, &device, &error)) fail_msg("%s", error.text);
  return device;
}

static char *source_of(const char *configuration, const char *problem) {
  return gt_print("// problem: %s\n// configuration: %s\nvoid kernel_0(void) {}\nvoid kernel_1(void) {}\n",
                  problem, configuration);
}

static gt_module *load(gt_device *device, const char *configuration, const char *problem) {
  gt_buffer code = {0}, log = {0};
  gt_module *module;
  char *source = source_of(configuration, problem);
  assert_int_equal(BACKEND->compile(device, NULL, source, &code, &log, NULL), GT_OK);
  assert_string_equal(code.data, source);
  assert_int_equal(BACKEND->load(device, code.data, code.length, &module, NULL), GT_OK);
  gt_buffer_free(&code);
  gt_buffer_free(&log);
  free(source);
  return module;
}

static gt_kernel *kernel_of(gt_device *device, gt_module *module) {
  gt_kernel *kernel;
  assert_int_equal(BACKEND->kernel(device, module, "kernel_0", &kernel, NULL), GT_OK);
  return kernel;
}

static gt_status launch(gt_device *device, gt_kernel *kernel, gt_error *error) {
  const uint32_t grid[3] = {1, 1, 1}, block[3] = {64, 1, 1};
  return BACKEND->launch(device, kernel, grid, block, &(gt_arguments){0}, error);
}

static double timed(gt_device *device, gt_kernel *kernel, int launches) {
  double microseconds;
  assert_int_equal(BACKEND->mark(device, 0, NULL), GT_OK);
  for (int i = 0; i < launches; i++) assert_int_equal(launch(device, kernel, NULL), GT_OK);
  assert_int_equal(BACKEND->mark(device, 1, NULL), GT_OK);
  assert_int_equal(BACKEND->elapsed(device, 0, 1, &microseconds, NULL), GT_OK);
  return microseconds;
}

// The time of one launch of a fresh module.
static double time_of(gt_device *device, const char *configuration, const char *problem) {
  gt_module *module = load(device, configuration, problem);
  double microseconds = timed(device, kernel_of(device, module), 1);
  BACKEND->unload(device, module);
  return microseconds;
}

static void test_rules(void **state) {
  (void)state;
  gt_device *device = device_of("{\"default_us\": 80, \"rules\": ["
                                "{\"match\": \"vx=4\", \"problem\": \"dtype=f16\", \"us\": 10},"
                                "{\"match\": \"vx=4\", \"us\": 20}, {\"problem\": \"n=9\", \"us\": 30.5}]}");
  assert_true(time_of(device, "taps:vx=4", "op:n=1,dtype=f16") == 10);
  assert_true(time_of(device, "taps:vx=4", "op:n=9,dtype=f32") == 20);
  assert_true(time_of(device, "taps:vx=2", "op:n=9,dtype=f16") == 30.5);
  assert_true(time_of(device, "taps:vx=2", "op:n=1,dtype=f16") == 80);
  BACKEND->close(device);
}

static void test_samples(void **state) {
  (void)state;
  gt_device *device = device_of("{\"rules\": [{\"match\": \"\", \"samples\": [1, 2, 4]}]}");
  gt_module *module = load(device, "a:", "p:");
  gt_kernel *kernel = kernel_of(device, module);
  assert_true(timed(device, kernel, 1) == 1);
  assert_true(timed(device, kernel, 3) == 7);
  assert_true(timed(device, kernel, 1) == 2);
  BACKEND->unload(device, module);
  BACKEND->close(device);
}

static void test_hashed(void **state) {
  (void)state;
  gt_device *device = device_of("{\"hashed\": [50, 60], \"rules\": [{\"match\": \"fixed\", \"us\": 7}]}");
  double sum = 0, first = time_of(device, "a:x=0", "p:");
  for (int i = 0; i < 200; i++) {
    char *configuration = gt_print("a:x=%d", i);
    double once = time_of(device, configuration, "p:"), again = time_of(device, configuration, "q:");
    assert_true(once == again && once >= 50 && once <= 60);
    if (i > 0) assert_true(once != first);
    sum += once;
    free(configuration);
  }
  assert_true(sum / 200 > 53 && sum / 200 < 57);
  assert_true(time_of(device, "fixed", "p:") == 7);
  BACKEND->close(device);
}

static void test_fingerprint(void **state) {
  (void)state;
  gt_fingerprint fingerprint;
  gt_device *device = device_of("{}");
  BACKEND->fingerprint(device, &fingerprint, NULL);
  assert_string_equal(fingerprint.backend, "recorded");
  assert_int_equal(fingerprint.wave_size, 64);
  assert_int_equal(fingerprint.target, GT_TARGET_HIP);
  BACKEND->close(device);
  device = device_of("{\"fingerprint\": {\"name\": \"Two\", \"arch\": \"sm_90\", \"target\": \"cuda\", "
                     "\"wave_size\": 32, \"memory_bytes\": 1000000, \"is_cpu\": true}}");
  BACKEND->fingerprint(device, &fingerprint, NULL);
  assert_string_equal(fingerprint.name, "Two");
  assert_string_equal(fingerprint.arch, "sm_90");
  assert_int_equal(fingerprint.target, GT_TARGET_CUDA);
  assert_int_equal(fingerprint.wave_size, 32);
  assert_true(fingerprint.is_cpu && fingerprint.memory_bytes == 1000000);
  gt_address memory;
  assert_int_equal(BACKEND->allocate(device, 600000, &memory, NULL), GT_OK);
  assert_int_equal(BACKEND->allocate(device, 600000, &(gt_address){0}, NULL), GT_OUT_OF_MEMORY);
  BACKEND->release(device, memory);
  assert_int_equal(BACKEND->allocate(device, 600000, &memory, NULL), GT_OK);
  BACKEND->close(device); // frees what was not released
}

static void test_bounds(void **state) {
  (void)state;
  gt_device *device = device_of("{}");
  gt_address memory;
  char byte = 0;
  assert_int_equal(BACKEND->allocate(device, 100, &memory, NULL), GT_OK);
  assert_int_equal(BACKEND->write(device, memory + 99, &byte, 1, NULL), GT_OK);
  assert_int_equal(BACKEND->write(device, memory + 100, &byte, 1, NULL), GT_FAILED);
  assert_int_equal(BACKEND->read(device, &byte, memory - 1, 1, NULL), GT_FAILED);
  assert_int_equal(BACKEND->fill(device, memory, 0, 104, NULL), GT_FAILED);
  BACKEND->close(device);
}

static void test_errors(void **state) {
  (void)state;
  gt_device *device = device_of("{\"rules\": [{\"match\": \"a\", \"action\": \"compile_error\"}, "
                                "{\"match\": \"b\", \"action\": \"launch_error\"}, "
                                "{\"match\": \"w\", \"us\": 3, \"action\": \"wrong\"}, "
                                "{\"match\": \"d\", \"action\": \"device_lost\"}]}");
  gt_buffer code = {0}, log = {0};
  gt_error error;
  char *source = source_of("a:", "p:");
  assert_int_equal(BACKEND->compile(device, NULL, source, &code, &log, &error), GT_COMPILE);
  assert_non_null(strstr(log.data, "error"));
  free(source);
  gt_buffer_free(&code);
  gt_buffer_free(&log);

  gt_module *refused = load(device, "b:", "p:"), *wrong = load(device, "w:", "p:"),
            *lost = load(device, "d:", "p:");
  assert_int_equal(launch(device, kernel_of(device, refused), &error), GT_LAUNCH);
  assert_true(gt_recorded_wrong(kernel_of(device, wrong)));
  assert_false(gt_recorded_wrong(kernel_of(device, refused)));
  assert_true(timed(device, kernel_of(device, wrong), 1) == 3);
  assert_int_equal(launch(device, kernel_of(device, lost), &error), GT_DEVICE_LOST);
  assert_int_equal(BACKEND->synchronize(device, &error), GT_DEVICE_LOST);
  assert_int_equal(BACKEND->allocate(device, 1, &(gt_address){0}, &error), GT_DEVICE_LOST);
  BACKEND->unload(device, refused);
  BACKEND->unload(device, wrong);
  BACKEND->unload(device, lost);
  BACKEND->close(device);
}

// How a process ends that compiles and launches under a rule with an action, and is given so many seconds.
static int end_of(const char *action, unsigned seconds) {
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGABRT, SIG_DFL); // cmocka catches it
    alarm(seconds);
    char *script = gt_print("{\"rules\": [{\"match\": \"a\", \"action\": \"%s\"}]}", action);
    gt_device *device = device_of(script);
    launch(device, kernel_of(device, load(device, "a:", "p:")), NULL);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

static void test_ends(void **state) {
  (void)state;
  int status = end_of("run", 60);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  status = end_of("crash", 60);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  status = end_of("exit", 60);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  status = end_of("hang", 1);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
  status = end_of("compile_hang", 1);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

static void test_refused(void **state) {
  (void)state;
  const struct {
    const char *script, *says;
  } cases[] = {
      {"", "line 1, column 0: "},
      {"[]", ": not an object"},
      {"{\"rules\": []} x", "line 1, column 15: "},
      {"{\"rules\": [], \"rules\": []}", "duplicate object key"},
      {"{\"rule\": []}",
       ": unknown key 'rule' (fingerprint, default_us, hashed, compile_ms, check_ms, readings, journal, rules)"},
      {"{\"default_us\": 0}", ": 'default_us': not a number of microseconds above 0"},
      {"{\"default_us\": \"7\"}", ": 'default_us': not a number of microseconds above 0"},
      {"{\"hashed\": [1]}", ": 'hashed': not an array of two times"},
      {"{\"hashed\": [2, 1]}", ": 'hashed': the first time is the larger one"},
      {"{\"fingerprint\": 1}", ": fingerprint: not an object"},
      {"{\"fingerprint\": {\"arc\": 1}}", ": fingerprint: unknown key 'arc' (backend, name, arch,"},
      {"{\"fingerprint\": {\"arch\": 1}}", ": fingerprint: 'arch': not a string of less than 128 bytes"},
      {"{\"fingerprint\": {\"wave_size\": 0}}", ": fingerprint: 'wave_size': not a whole number above 0"},
      {"{\"fingerprint\": {\"wave_size\": 6.4}}", ": fingerprint: 'wave_size': not a whole number above 0"},
      {"{\"fingerprint\": {\"memory_bytes\": -1}}",
       ": fingerprint: 'memory_bytes': not a whole number from 0"},
      {"{\"fingerprint\": {\"is_cpu\": 1}}", ": fingerprint: 'is_cpu': not true or false"},
      {"{\"fingerprint\": {\"target\": \"vulkan\"}}", ": fingerprint: 'target': not hip, cuda or opencl"},
      {"{\"compile_ms\": -1}", ": 'compile_ms': not a number of milliseconds from 0 to 60000"},
      {"{\"check_ms\": \"1\"}", ": 'check_ms': not a number of milliseconds from 0 to 60000"},
      {"{\"rules\": [{\"compile_ms\": 60001}]}", ": rules[0]: 'compile_ms': not a number of milliseconds"},
      {"{\"rules\": {}}", ": 'rules': not an array"},
      {"{\"rules\": [1]}", ": rules[0]: not an object"},
      {"{\"rules\": [{\"us\": 1}, {\"uss\": 1}]}",
       ": rules[1]: unknown key 'uss' (match, problem, us, samples, action, compile_ms)"},
      {"{\"rules\": [{\"match\": 1, \"us\": 1}]}", ": rules[0]: 'match': not a string"},
      {"{\"rules\": [{\"us\": -1}]}", ": rules[0]: 'us': not a number of microseconds above 0"},
      {"{\"rules\": [{\"samples\": []}]}", ": rules[0]: 'samples': not an array with something in it"},
      {"{\"rules\": [{\"samples\": [1, null]}]}",
       ": rules[0]: 'samples': not a number of microseconds above 0"},
      {"{\"rules\": [{\"us\": 1, \"samples\": [1]}]}", ": rules[0]: both 'us' and 'samples'"},
      {"{\"rules\": [{\"match\": \"a\"}]}", ": rules[0]: none of 'us', 'samples', 'action' and 'compile_ms'"},
      {"{\"rules\": [{\"action\": \"explode\"}]}",
       ": rules[0]: 'action': 'explode' is none of run, crash, hang,"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    gt_device *device;
    gt_error error = {0};
    assert_int_equal(open_script(cases[i].script, &device, &error), GT_USAGE);
    assert_null(device);
    if (!strstr(error.text, cases[i].says)) fail_msg("%s: %s", cases[i].script, error.text);
  }
}

static void test_no_file(void **state) {
  (void)state;
  gt_device *device;
  gt_error error;
  assert_int_equal(gt_recorded_open("/nonexistent/script.json", &device, &error), GT_IO);
  assert_string_equal(error.text, "recorded: /nonexistent/script.json: No such file or directory");
  assert_int_equal(BACKEND->open(0, &device, &error), GT_NO_DEVICE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      {"the first rule that matches gives the time", test_rules, NULL, NULL, NULL},
      {"samples are taken in turn", test_samples, NULL, NULL, NULL},
      {"a hashed time depends on the configuration alone", test_hashed, NULL, NULL, NULL},
      {"a file sets fields of the fingerprint", test_fingerprint, NULL, NULL, NULL},
      {"transfers outside of memory are refused", test_bounds, NULL, NULL, NULL},
      {"actions make calls fail", test_errors, NULL, NULL, NULL},
      {"actions end or stop the process", test_ends, NULL, NULL, NULL},
      {"a file that is no script is refused with the place", test_refused, NULL, NULL, NULL},
      {"a file that is not there is named", test_no_file, NULL, NULL, NULL},
  };
  return cmocka_run_group_tests_name("recorded", tests, NULL, NULL);
}
