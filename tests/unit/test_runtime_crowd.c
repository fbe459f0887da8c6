// The library used by many threads, and by many processes while one tunes.
#include "tests/unit/runtime_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#define DEVICE "recorded:gpu.json"

enum { THREADS = 8, PROBLEMS = 12, ROUNDS = 20000, PROCESSES = 64 };

static void print_problem(int number, char text[200]) {
  snprintf(text, 200, OPERATOR "n=%d,c=3,in=6x5,out=12x10,dtype=f32", number + 1);
}

typedef struct {
  gathertune_context *context;
  const gathertune_plan *plans[PROBLEMS];
  int number, bad;
} asker;

static void *ask(void *argument) {
  _Alignas(16) char memory[64];
  const gathertune_buffers buffers = {.grad_output = memory, .grad_input = memory + 32};
  asker *a = argument;
  for (int round = 0; round < ROUNDS; round++) {
    char text[200];
    int which = (round + a->number) % PROBLEMS;
    const gathertune_plan *plan;
    print_problem(which, text);
    if (gathertune_get_plan(a->context, text, 0, &plan) != GATHERTUNE_OK) a->bad++;
    if (a->plans[which] && a->plans[which] != plan) a->bad++;
    a->plans[which] = plan;
    if (round % 100 == 0 && gathertune_execute(plan, NULL, &buffers) != GATHERTUNE_OK)
      a->bad++;
    // Each thread's failures are its own.
    if (round % 100 == 1) {
      snprintf(text, sizeof text, OPERATOR "n=1,c=1,in=4x4,out=8x8,dtype=x%d", a->number);
      if (gathertune_get_plan(a->context, text, 0, &plan) != GATHERTUNE_USAGE || plan) a->bad++;
    }
    if (round > 1) {
      snprintf(text, sizeof text, "x%d", a->number);
      if (!strstr(gathertune_message(a->context), text)) a->bad++;
    }
  }
  return NULL;
}

static void threads_that_ask_at_once_get_the_same_plans_and_their_own_messages(void **state) {
  (void)state;
  tune(PROBLEM);
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  pthread_t threads[THREADS];
  asker askers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    askers[i] = (asker){.context = context, .number = i};
    assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(askers[i].bad, 0);
    assert_memory_equal(askers[i].plans, askers[0].plans, sizeof askers[0].plans);
  }
  gathertune_close(context);
}

// One of many processes: opens and looks up, again and again until the time is over. Exit code 0 when every
// answer was right: a tuned problem is found exactly each time.
static int be_one_of_many(const char *problem, int rounds) {
  for (int i = 0; i < rounds; i++) {
    gathertune_context *context;
    const gathertune_plan *plan;
    gathertune_options options = GATHERTUNE_OPTIONS_INIT;
    gathertune_plan_info info = {.size = sizeof info};
    options.device = DEVICE;
    gathertune_status status = gathertune_open(&options, &context);
    if (status == GATHERTUNE_OK) status = gathertune_get_plan(context, problem, 0, &plan);
    if (status == GATHERTUNE_OK) gathertune_describe(plan, &info);
    if (status != GATHERTUNE_OK || info.origin != GATHERTUNE_EXACT || *gathertune_notes(context)) {
      fprintf(stderr, "%s %s\n", gathertune_message(context), gathertune_notes(context));
      return 1;
    }
    gathertune_close(context);
  }
  return 0;
}

static void sixty_four_processes_start_at_once_while_one_tunes(void **state) {
  (void)state;
  tune(PROBLEM);
  pid_t tuner = fork(), pids[PROCESSES];
  if (tuner == 0) {
    char *command = gt_print(
        "exec \"$GATHERTUNE_PROGRAM\" tune '%s' --device recorded:gpu.json --budget 12 >/dev/null 2>&1",
        OPERATOR "n=2,c=3,in=9x9,out=18x18,dtype=f32");
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  for (int i = 0; i < PROCESSES; i++) {
    pids[i] = fork();
    if (pids[i] == 0) _exit(be_one_of_many(PROBLEM, 3));
    assert_true(pids[i] > 0);
  }
  int status, failed = 0;
  for (int i = 0; i < PROCESSES; i++) {
    assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
    failed += status != 0;
  }
  assert_int_equal(failed, 0);
  assert_int_equal(waitpid(tuner, &status, 0), tuner);
  assert_int_equal(status, 0);
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_LOOKUP);
  assert_int_equal(describe(plan_of(context, OPERATOR "n=2,c=3,in=9x9,out=18x18,dtype=f32")).origin,
                   GATHERTUNE_EXACT);
  gathertune_close(context);
  shell("test ! -e cache.db-journal");
}

static void processes_that_want_the_same_problem_tuned_tune_it_once(void **state) {
  (void)state;
  enum { WANTING = 4 };
  pid_t pids[WANTING];
  int status, failed = 0;
  for (int i = 0; i < WANTING; i++) {
    pids[i] = fork();
    if (pids[i] == 0) {
      gathertune_context *context;
      const gathertune_plan *plan;
      gathertune_options options = GATHERTUNE_OPTIONS_INIT;
      gathertune_plan_info info = {.size = sizeof info};
      options.device = DEVICE;
      options.mode = GATHERTUNE_MODE_TUNE;
      options.trials = 3;
      if (gathertune_open(&options, &context) || gathertune_get_plan(context, PROBLEM, 0, &plan)) {
        fprintf(stderr, "%s\n", gathertune_message(context));
        _exit(1);
      }
      gathertune_describe(plan, &info);
      gathertune_close(context);
      _exit(info.origin != GATHERTUNE_EXACT);
    }
  }
  for (int i = 0; i < WANTING; i++) {
    assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
    failed += status != 0;
  }
  assert_int_equal(failed, 0);
  // As many trials as one run makes.
  shell("\"$GATHERTUNE_PROGRAM\" tune '%s' --device recorded:gpu.json --budget 3 --cache one.db >/dev/null "
        "2>&1",
        PROBLEM);
  shell("test \"$(sqlite3 cache.db 'select count(*) from trial')\" = \"$(sqlite3 one.db 'select count(*) "
        "from trial')\"");
}

// As some programs do: a handler that waits for every child.
static void take_all(int signal) {
  int number = errno;
  (void)signal;
  while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  errno = number;
}

static void a_program_may_wait_for_children_that_are_not_its_own(void **state) {
  (void)state;
  struct sigaction action = {.sa_handler = take_all}, found, old;
  sigaction(SIGCHLD, &action, &old);
  gathertune_context *context = open_mode(DEVICE, GATHERTUNE_MODE_TUNE);
  plan_of(context, PROBLEM);
  gathertune_close(context);
  sigaction(SIGCHLD, NULL, &found);
  assert_true(found.sa_handler == take_all);
  signal(SIGCHLD, SIG_IGN);
  context = open_mode(DEVICE, GATHERTUNE_MODE_COMPILE);
  plan_of(context, OPERATOR "n=2,c=16,in=6x5,out=12x10,dtype=f32,layout=nhwc");
  gathertune_close(context);
  sigaction(SIGCHLD, &old, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(threads_that_ask_at_once_get_the_same_plans_and_their_own_messages),
      CASE(sixty_four_processes_start_at_once_while_one_tunes),
      CASE(processes_that_want_the_same_problem_tuned_tune_it_once),
      CASE(a_program_may_wait_for_children_that_are_not_its_own),
  };
  return cmocka_run_group_tests_name("runtime, many at once", tests, NULL, NULL);
}
