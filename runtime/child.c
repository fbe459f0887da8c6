#include "runtime/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/device.h"
#include "tuner/wire.h"

enum { NAP_MS = 5, GRACE_SECONDS = 2, LAST_WORDS = 300 };
#define LAUNCH_SECONDS 20.0 // that a kernel may take, as in tuning (tuner/workshop.h)

extern char **environ;

typedef struct {
  pid_t pid; // 0: none
  int words; // what it writes to its standard error
} child;

// --- which program, and its surroundings
// --------------------------------------------------------------------

// The program that was installed with the file that has this function in it.
static char *beside_library(void) {
  static const char *const ways[] = {"", "/../bin", "/../../bin"};
  Dl_info info;
  if (!dladdr((void *)(uintptr_t)gt_child_program, &info) || !info.dli_fname) return NULL;
  char *library = realpath(info.dli_fname, NULL), *found = NULL;
  if (!library) return NULL;
  *strrchr(library, '/') = 0;
  for (size_t i = 0; i < sizeof ways / sizeof ways[0] && !found; i++) {
    found = gt_print("%s%s/gathertune", library, ways[i]);
    if (access(found, X_OK) == 0) break;
    free(found);
    found = NULL;
  }
  free(library);
  return found;
}

char *gt_child_program(const char *given) {
  const char *named = getenv("GATHERTUNE_PROGRAM");
  if (given && *given) return gt_strdup(given);
  if (named && *named) return gt_strdup(named);
  char *installed = beside_library();
  return installed ? installed : gt_strdup("gathertune");
}

// Folders of the runtimes that this process has loaded, which the child should find, too: a framework may
// bring its own.
static int add_folder(struct dl_phdr_info *info, size_t size, void *context) {
  static const char *const titles[] = {"libamdhip64.so", "libhiprtc.so", "libnvrtc.so"};
  const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
  (void)size;
  for (size_t i = 0; slash && i < sizeof titles / sizeof titles[0]; i++)
    if (strncmp(slash + 1, titles[i], strlen(titles[i])) == 0) {
      gt_buffer *list = context;
      gt_buffer_print(list, "%s%.*s", list->length ? ":" : "", (int)(slash - info->dlpi_name),
                      info->dlpi_name);
    }
  return 0;
}

// The child's environment; the caller frees the array and its first entry.
static char **surroundings(void) {
  static const char name[] = "LD_LIBRARY_PATH=";
  gt_buffer folders = {0};
  size_t count = 0, kept = 1;
  dl_iterate_phdr(add_folder, &folders);
  while (environ[count]) count++;
  char **list = gt_alloc((count + 2) * sizeof *list);
  const char *old = getenv("LD_LIBRARY_PATH");
  bool both = folders.length && old && *old;
  list[0] = gt_print("%s%s%s%s", name, folders.length ? folders.data : "", both ? ":" : "", old ? old : "");
  if (strcmp(list[0], name) == 0) memcpy(list[0], "GT_", 3); // an empty one would mean the current folder
  for (size_t i = 0; i < count; i++)
    if (strncmp(environ[i], name, sizeof name - 1) != 0) list[kept++] = environ[i];
  gt_buffer_free(&folders);
  return list;
}

// --- starting and ending
// ------------------------------------------------------------------------------------

// Starts the program with `stream` as its standard input and output (-1: nothing).
static gt_status start(const char *program, char *const *arguments, int stream, child *started,
                       gt_error *error) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  char **environment = surroundings();
  *started = (child){.words = memfd_create("gathertune", MFD_CLOEXEC)};
  posix_spawn_file_actions_init(&actions);
  for (int fd = 0; fd < 2; fd++)
    if (stream >= 0)
      posix_spawn_file_actions_adddup2(&actions, stream, fd);
    else
      posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
  if (started->words >= 0)
    posix_spawn_file_actions_adddup2(&actions, started->words, 2);
  else
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  // Whatever the program around us does with signals is its own.
  posix_spawnattr_init(&attributes);
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  int failure = posix_spawnp(&started->pid, program, &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  free(environment[0]);
  free(environment);
  if (!failure) return GT_OK;
  if (started->words >= 0) close(started->words);
  *started = (child){.words = -1};
  return gt_fail(error, GT_IO, "%s: cannot be started: %s; GATHERTUNE_PROGRAM names the gathertune program",
                 program, strerror(failure));
}

// Whether it has ended. *state is that of waitpid, or -1 when somebody else has waited for it.
static bool has_ended(const child *c, int *state) {
  for (;;) {
    pid_t got = waitpid(c->pid, state, WNOHANG);
    if (got == c->pid) return true;
    if (got == 0) return false;
    if (errno == EINTR) continue;
    *state = -1; // the program around us waits for all children, or ignores SIGCHLD
    return true;
  }
}

static void nap(void) {
  nanosleep(&(struct timespec){0, NAP_MS * 1000000L}, NULL);
}

static bool wait_until(const child *c, double end, int *state) {
  while (!has_ended(c, state)) {
    if (gt_seconds() >= end) return false;
    nap();
  }
  return true;
}

static void stop(child *c) {
  int state;
  if (c->pid > 0 && !has_ended(c, &state)) {
    kill(c->pid, SIGKILL);
    (void)wait_until(c, gt_seconds() + GRACE_SECONDS, &state);
  }
  if (c->words >= 0) close(c->words);
  *c = (child){.words = -1};
}

// The last line that it wrote to its standard error.
static void last_words(const child *c, char text[LAST_WORDS]) {
  off_t length = c->words >= 0 ? lseek(c->words, 0, SEEK_END) : 0;
  off_t from = length > LAST_WORDS - 1 ? length - (LAST_WORDS - 1) : 0;
  ssize_t got = length > 0 ? pread(c->words, text, (size_t)(length - from), from) : 0;
  text[got > 0 ? got : 0] = 0;
  while (got > 0 && text[got - 1] == '\n') text[--got] = 0;
  char *line = strrchr(text, '\n');
  if (line) memmove(text, line + 1, strlen(line + 1) + 1);
}

static gt_status crashed(const child *c, const char *doing, gt_error *error) {
  char words[LAST_WORDS];
  int state = -1;
  (void)wait_until(c, gt_seconds() + 1, &state);
  last_words(c, words);
  return gt_fail(error, GT_CRASH, "%s: the child process ended%s%s%s%s", doing,
                 state != -1 && WIFSIGNALED(state) ? " by signal " : "",
                 state != -1 && WIFSIGNALED(state) ? strsignal(WTERMSIG(state)) : "", *words ? ": " : "",
                 words);
}

// --- talking
// ------------------------------------------------------------------------------------------------

static bool send_all(int stream, const gt_buffer *frame) {
  for (size_t sent = 0; sent < frame->length;) {
    ssize_t wrote = send(stream, frame->data + sent, frame->length - sent, MSG_NOSIGNAL);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    sent += (size_t)wrote;
  }
  return true;
}

// Talking with a worker: what for, until when.
typedef struct {
  const child *c;
  int stream;
  const char *doing; // "compiling", in failures' texts
  double end;
} talk;

// Reads what has come, until `limit`.
static gt_status listen_on(const talk *t, double limit, gt_buffer *received, gt_error *error) {
  char block[65536];
  struct pollfd wait_for = {.fd = t->stream, .events = POLLIN};
  double left = limit - gt_seconds();
  int ready = left > 0 ? poll(&wait_for, 1, (int)(left * 1000) + 1) : 0;
  if (ready < 0 && errno == EINTR) return GT_OK;
  if (ready == 0) return gt_fail(error, GT_TIMEOUT, "%s: no answer in time", t->doing);
  ssize_t got = ready > 0 ? recv(t->stream, block, sizeof block, 0) : 0;
  if (got > 0) gt_buffer_append(received, block, (size_t)got);
  if (got == 0 || (got < 0 && errno != EINTR)) return crashed(t->c, t->doing, error);
  return GT_OK;
}

// Sends a request, with `body` (may be NULL) as its payload, and waits for its answer, which the caller
// releases. The status is the answer's; *answer is NULL when none came.
static gt_status ask(const talk *t, json_t *request, const gt_buffer *body, json_t **answer,
                     gt_buffer *payload, gt_error *error) {
  gt_buffer frame = {0}, received = {0};
  gt_status status = GT_OK;
  double limit = t->end;
  *answer = NULL;
  gt_wire_encode(&frame, request, body ? body->data : NULL, body ? body->length : 0);
  json_decref(request);
  if (!send_all(t->stream, &frame)) status = crashed(t->c, t->doing, error);
  while (status == GT_OK && !*answer) {
    int complete = gt_wire_decode(&received, answer, payload);
    if (complete < 0)
      status = gt_fail(error, GT_CRASH, "%s: the child process sent garbage", t->doing);
    else if (complete == 0)
      status = listen_on(t, limit, &received, error);
    else if (strcmp(gt_wire_string(*answer, "event"), "done") != 0) { // progress
      bool launches = strcmp(gt_wire_string(*answer, "phase"), "launch") == 0;
      double most = gt_seconds() + LAUNCH_SECONDS;
      limit = launches && most < t->end ? most : t->end;
      json_decref(*answer);
      *answer = NULL;
    }
  }
  if (*answer) {
    status = gt_status_from_name(gt_wire_string(*answer, "status"));
    if (status != GT_OK) gt_fail(error, status, "%s", gt_wire_string(*answer, "message"));
  }
  gt_buffer_free(&frame);
  gt_buffer_free(&received);
  return status;
}

// Starts a worker to talk with. After success, the caller ends the talk.
static gt_status start_worker(const char *program, const char *doing, double seconds, child *c, talk *t,
                              gt_error *error) {
  char *const arguments[] = {"gathertune", "--worker", NULL};
  int ends[2];
  *t = (talk){.c = c, .stream = -1, .doing = doing, .end = gt_seconds() + seconds};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return gt_fail(error, GT_IO, "%s: %s", doing, strerror(errno));
  gt_status status = start(program, arguments, ends[1], c, error);
  close(ends[1]);
  if (status == GT_OK)
    t->stream = ends[0];
  else
    close(ends[0]);
  return status;
}

static void end_worker(child *c, talk *t) {
  close(t->stream);
  stop(c);
}

// A request whose answer is its status.
static gt_status tell(const talk *t, json_t *request, const gt_buffer *body, gt_error *error) {
  gt_buffer payload = {0};
  json_t *answer;
  gt_status status = ask(t, request, body, &answer, &payload, error);
  json_decref(answer);
  gt_buffer_free(&payload);
  return status;
}

static gt_status open_device(const talk *t, const char *device, gt_error *error) {
  return tell(t, json_pack("{s:s, s:s}", "do", "open", "device", device), NULL, error);
}

gt_status gt_child_compile(const char *program, const char *device, const gt_fingerprint *fingerprint,
                           const char *source, double seconds, gt_buffer *code, gt_error *error) {
  const gt_backend *backend = gt_backend_find(fingerprint->backend);
  json_t *answer = NULL;
  child c;
  talk t;
  gt_status status = start_worker(program, "compiling", seconds, &c, &t, error);
  if (status != GT_OK) return status;
  if (!(backend && backend->compiles_alone)) status = open_device(&t, device, error);
  if (status == GT_OK)
    status = ask(&t,
                 json_pack("{s:s, s:s, s:s, s:o}", "do", "compile", "backend", fingerprint->backend, "arch",
                           fingerprint->arch, "source", gt_wire_text(source)),
                 NULL, &answer, code, error);
  json_decref(answer);
  if (status == GT_OK && code->length == 0)
    status = gt_fail(error, GT_CRASH, "compiling: no code came of it");
  end_worker(&c, &t);
  return status;
}

// --- checking
// -----------------------------------------------------------------------------------------------

// What the answer to a trial says; that there is none is the kernel's doing.
static gt_status judge(gt_status status, const json_t *answer, const gt_error *failure, gt_outcome *outcome,
                       gt_buffer *message, gt_error *error) {
  bool is_answer = gt_outcome_from_name(gt_wire_string(answer, "outcome"), outcome);
  if (is_answer && *outcome == GT_OUTCOME_OUT_OF_MEMORY)
    return gt_fail(error, GT_OUT_OF_MEMORY, "%s", gt_wire_string(answer, "message"));
  if (!is_answer && status != GT_CRASH && status != GT_TIMEOUT)
    return gt_fail(error, status == GT_OK ? GT_FAILED : status, "%s", failure->text);
  if (!is_answer) *outcome = status == GT_CRASH ? GT_OUTCOME_CRASH : GT_OUTCOME_TIMEOUT;
  gt_buffer_print(message, "%s", is_answer ? gt_wire_string(answer, "message") : failure->text);
  return GT_OK;
}

gt_status gt_child_check(const char *program, const char *device, const char *problem, gt_child_code which,
                         const gt_child_code *direct, double seconds, gt_outcome *outcome, gt_buffer *message,
                         gt_error *error) {
  child c;
  talk t;
  gt_buffer payload = {0};
  gt_error failure = {0};
  json_t *answer = NULL;
  gt_status status = start_worker(program, "checking", seconds, &c, &t, error);
  if (status != GT_OK) return status;
  status = open_device(&t, device, error);
  if (status == GT_OK)
    status = tell(&t, json_pack("{s:s, s:s}", "do", "problem", "problem", problem), NULL, error);
  gt_status directly = GT_OK;
  if (status == GT_OK && direct) // that it fails leaves the reference to compare with
    directly = tell(&t, json_pack("{s:s, s:o}", "do", "direct", "variant", gt_variant_to_json(direct->variant)),
                    direct->code, NULL);
  if (directly == GT_CRASH || directly == GT_TIMEOUT) { // it took the process with it
    end_worker(&c, &t);
    return gt_child_check(program, device, problem, which, NULL, seconds, outcome, message, error);
  }
  if (status == GT_OK) {
    gt_status asked = ask(&t,
                          json_pack("{s:s, s:o, s:b, s:n}", "do", "trial", "variant",
                                    gt_variant_to_json(which.variant), "check", 1, "timing"),
                          which.code, &answer, &payload, &failure);
    status = judge(asked, answer, &failure, outcome, message, error);
  }
  json_decref(answer);
  gt_buffer_free(&payload);
  end_worker(&c, &t);
  return status;
}

// --- tuning
// -------------------------------------------------------------------------------------------------

gt_status gt_child_take_turn(const char *cache, double seconds, int *turn, gt_error *error) {
  double end = gt_seconds() + seconds;
  char *path = gt_print("%s.tune", cache);
  *turn = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  free(path);
  if (*turn < 0) return GT_OK;
  while (flock(*turn, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) break;
    if (gt_seconds() >= end) {
      gt_child_give_turn(*turn);
      *turn = -1;
      return gt_fail(error, GT_TIMEOUT, "%s: other processes tune for this cache", cache);
    }
    nap();
  }
  return GT_OK;
}

void gt_child_give_turn(int turn) {
  if (turn >= 0) close(turn);
}

gt_status gt_child_tune(const char *program, const char *device, const char *cache, const char *problem,
                        int trials, double seconds, gt_error *error) {
  double end = gt_seconds() + seconds;
  char budget[32], words[LAST_WORDS];
  int state = -1;
  child c;
  snprintf(budget, sizeof budget, "%d", trials);
  char *const arguments[] = {"gathertune",  "tune",     "--device", (char *)device,  "--cache",
                             (char *)cache, "--budget", budget,     (char *)problem, NULL};
  gt_status status = start(program, arguments, -1, &c, error);
  if (status == GT_OK && !wait_until(&c, end, &state)) {
    kill(c.pid, SIGINT); // keeps what was measured
    (void)wait_until(&c, gt_seconds() + GRACE_SECONDS, &state);
    status = gt_fail(error, GT_TIMEOUT, "tuning %s took longer than %.0f s", problem, seconds);
  }
  if (status == GT_OK && state != -1 && (!WIFEXITED(state) || WEXITSTATUS(state) != 0)) {
    last_words(&c, words);
    status = gt_fail(error, GT_FAILED, "tuning %s failed%s%s", problem, *words ? ": " : "", words);
  }
  if (c.pid > 0) stop(&c);
  return status;
}
