#include "tuner/child.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "base/clock.h"
#include "tuner/wire.h"
#include "tuner/workshop.h"

#define WORDS_BYTES 2048 // of stderr that are kept
#define KILL_SECONDS 30  // a process that hangs inside a driver may not die: it is left behind then
#define TICK_MS 50       // how soon an interruption is noticed

// The one exception to "no global state": a signal handler knows no handle. A count, of which each loop knows
// how far it has heeded it: one interruption ends the calls of all loops, in whatever threads they are.
static atomic_uint interruptions;
void gt_workshop_interrupt(void) {
  atomic_fetch_add(&interruptions, 1);
}

struct gt_child_loop {
  uv_loop_t loop;
  uv_timer_t timer, tick;
  bool timed_out;
  unsigned heeded; // of the interruptions
  void (*attend)(void *context);
  void *context;
};

struct gt_child {
  gt_child_loop *loop;
  uv_process_t process;
  uv_pipe_t to, from, errors;
  int open_handles;
  bool exited, ended_output, ended_errors;
  int64_t exit_status;
  int exit_signal;
  gt_buffer received;
  gt_buffer words; // the last of stderr
  char block[65536], errors_block[4096];
};

// While libuv may write to a process that is gone, SIGPIPE is blocked, and taken away where one came: a
// library must leave the program's signal handling alone.
typedef struct {
  sigset_t before;
  bool was_pending;
} pipe_guard;

static pipe_guard block_sigpipe(void) {
  pipe_guard guard;
  sigset_t pipe_set, pending;
  sigemptyset(&pipe_set);
  sigaddset(&pipe_set, SIGPIPE);
  sigpending(&pending);
  guard.was_pending = sigismember(&pending, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_set, &guard.before);
  return guard;
}

static void unblock_sigpipe(const pipe_guard *guard) {
  sigset_t pipe_set;
  sigemptyset(&pipe_set);
  sigaddset(&pipe_set, SIGPIPE);
  if (!guard->was_pending) sigtimedwait(&pipe_set, NULL, &(struct timespec){0});
  pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}

static void on_exit_of_process(uv_process_t *process, int64_t status, int signal) {
  gt_child *child = process->data;
  child->exited = true;
  child->exit_status = status;
  child->exit_signal = signal;
}

static void give_block(uv_handle_t *handle, size_t size, uv_buf_t *buffer) {
  (void)size;
  gt_child *child = handle->data;
  *buffer = uv_buf_init(child->block, sizeof child->block);
}

static void on_output(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer) {
  gt_child *child = stream->data;
  if (length > 0) gt_buffer_append(&child->received, buffer->base, (size_t)length);
  if (length < 0) {
    child->ended_output = true;
    uv_read_stop(stream);
  }
}

static void give_errors_block(uv_handle_t *handle, size_t size, uv_buf_t *buffer) {
  (void)size;
  gt_child *child = handle->data;
  *buffer = uv_buf_init(child->errors_block, sizeof child->errors_block);
}

static void on_errors(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer) {
  gt_child *child = stream->data;
  if (length < 0) {
    child->ended_errors = true;
    uv_read_stop(stream);
  }
  if (length <= 0) return;
  gt_buffer_append(&child->words, buffer->base, (size_t)length);
  if (child->words.length > WORDS_BYTES) {
    size_t surplus = child->words.length - WORDS_BYTES;
    memmove(child->words.data, child->words.data + surplus, WORDS_BYTES + 1);
    child->words.length = WORDS_BYTES;
  }
}

static void on_timer(uv_timer_t *timer) {
  ((gt_child_loop *)timer->data)->timed_out = true;
}
static void on_tick(uv_timer_t *timer) {
  (void)timer;
} // only wakes the loop up

gt_status gt_child_loop_make(gt_child_loop **result, gt_error *error) {
  gt_child_loop *loop = gt_alloc(sizeof *loop);
  *result = NULL;
  if (uv_loop_init(&loop->loop) != 0) {
    free(loop);
    return gt_fail(error, GT_IO, "cannot make an event loop");
  }
  uv_timer_init(&loop->loop, &loop->timer);
  uv_timer_init(&loop->loop, &loop->tick);
  loop->timer.data = loop;
  loop->heeded = atomic_load(&interruptions);
  *result = loop;
  return GT_OK;
}

void gt_child_loop_free(gt_child_loop *loop) {
  if (!loop) return;
  uv_close((uv_handle_t *)&loop->timer, NULL);
  uv_close((uv_handle_t *)&loop->tick, NULL);
  uv_run(&loop->loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop->loop);
  free(loop);
}

void gt_child_loop_attend(gt_child_loop *loop, void (*attend)(void *context), void *context) {
  loop->attend = attend;
  loop->context = context;
}

static void start_clock(gt_child_loop *loop, double seconds) {
  loop->timed_out = false;
  uv_update_time(&loop->loop);
  uv_timer_start(&loop->timer, on_timer, (uint64_t)(1e3 * seconds) + 1, 0);
  uv_timer_start(&loop->tick, on_tick, TICK_MS, TICK_MS);
}

static void stop_clock(gt_child_loop *loop) {
  uv_timer_stop(&loop->timer);
  uv_timer_stop(&loop->tick);
}

static void attend(const gt_child_loop *loop) {
  if (loop->attend) loop->attend(loop->context);
}

static bool take_interruption(gt_child_loop *loop) {
  unsigned so_far = atomic_load(&interruptions);
  if (loop->heeded == so_far) return false;
  loop->heeded = so_far;
  return true;
}

bool gt_child_loop_run(gt_child_loop *loop, double seconds, const bool *until) {
  pipe_guard guard = block_sigpipe();
  bool stopped = false;
  uv_run(&loop->loop, UV_RUN_NOWAIT);
  attend(loop);
  start_clock(loop, seconds);
  while (!loop->timed_out && seconds > 0 && !(until && *until) && !(stopped = take_interruption(loop))) {
    uv_run(&loop->loop, UV_RUN_ONCE);
    attend(loop);
  }
  stop_clock(loop);
  unblock_sigpipe(&guard);
  return !stopped;
}

static void on_closed(uv_handle_t *handle) {
  gt_child *child = handle->data;
  child->open_handles--;
}

static void close_all(gt_child *child) {
  uv_close((uv_handle_t *)&child->process, on_closed);
  uv_close((uv_handle_t *)&child->to, on_closed);
  uv_close((uv_handle_t *)&child->from, on_closed);
  uv_close((uv_handle_t *)&child->errors, on_closed);
  while (child->open_handles) uv_run(&child->loop->loop, UV_RUN_ONCE);
  gt_buffer_free(&child->received);
  gt_buffer_free(&child->words);
  free(child);
}

gt_status gt_child_start(gt_child_loop *loop, const char *program, gt_child **result, gt_error *error) {
  gt_child *child = gt_alloc(sizeof *child);
  *result = NULL;
  child->loop = loop;
  child->process.data = child->to.data = child->from.data = child->errors.data = child;
  uv_pipe_init(&loop->loop, &child->to, 0);
  uv_pipe_init(&loop->loop, &child->from, 0);
  uv_pipe_init(&loop->loop, &child->errors, 0);
  child->open_handles = 4; // with the process, which uv_spawn makes a handle of even when it fails

  char *arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "--worker", NULL};
  uv_stdio_container_t stdio[3] = {
      {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&child->to},
      {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&child->from},
      {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&child->errors}};
  uv_process_options_t options = {
      .exit_cb = on_exit_of_process, .file = program, .args = arguments, .stdio = stdio, .stdio_count = 3};
  int failure = uv_spawn(&loop->loop, &child->process, &options);
  if (failure) {
    close_all(child);
    return gt_fail(error, GT_IO, "cannot start the worker process %s: %s", program, uv_strerror(failure));
  }
  uv_read_start((uv_stream_t *)&child->from, give_block, on_output);
  uv_read_start((uv_stream_t *)&child->errors, give_errors_block, on_errors);
  *result = child;
  return GT_OK;
}

void gt_child_end(gt_child *child) {
  if (!child) return;
  pipe_guard guard = block_sigpipe();
  double limit = gt_seconds() + KILL_SECONDS;
  if (!child->exited) {
    uv_process_kill(&child->process, SIGKILL);
    uv_timer_start(&child->loop->tick, on_tick, TICK_MS, TICK_MS);
    while (!child->exited && gt_seconds() < limit) uv_run(&child->loop->loop, UV_RUN_ONCE);
  }
  close_all(child);
  unblock_sigpipe(&guard);
}

typedef struct {
  uv_write_t request;
  gt_buffer frame;
} outgoing;

static void on_written(uv_write_t *request, int status) {
  (void)status; // a process that no longer reads is one that ended, and that shows by itself
  outgoing *out = request->data;
  gt_buffer_free(&out->frame);
  free(out);
}

void gt_child_send(gt_child *child, json_t *message, const void *payload, size_t size) {
  outgoing *out = gt_alloc(sizeof *out);
  out->request.data = out;
  gt_wire_encode(&out->frame, message, payload, size);
  // A uv_buf_t's length may be of 32 bits: long frames go as several.
  const size_t piece = (size_t)1 << 30;
  unsigned count = (unsigned)((out->frame.length + piece - 1) / piece);
  uv_buf_t *buffers = gt_alloc(count * sizeof *buffers);
  for (unsigned i = 0; i < count; i++) {
    size_t start = i * piece, rest = out->frame.length - start;
    buffers[i] = uv_buf_init(out->frame.data + start, (unsigned)(rest < piece ? rest : piece));
  }
  pipe_guard guard = block_sigpipe();
  int failure = uv_write(&out->request, (uv_stream_t *)&child->to, buffers, count, on_written);
  unblock_sigpipe(&guard);
  free(buffers);
  if (failure) on_written(&out->request, failure);
}

void gt_child_flush(gt_child *child, double seconds) {
  pipe_guard guard = block_sigpipe();
  double limit = gt_seconds() + seconds;
  start_clock(child->loop, seconds);
  while (uv_stream_get_write_queue_size((uv_stream_t *)&child->to) && !child->exited && gt_seconds() < limit)
    uv_run(&child->loop->loop, UV_RUN_ONCE);
  stop_clock(child->loop);
  unblock_sigpipe(&guard);
}

gt_child_event gt_child_look(gt_child *child, json_t **message, gt_buffer *payload) {
  int got = gt_wire_decode(&child->received, message, payload);
  if (got) return got > 0 ? GT_CHILD_FRAME : GT_CHILD_GARBAGE;
  // What it sent before its end comes first. Compilers that it started may hold its stderr open for longer.
  if (!child->exited || !child->ended_output) return GT_CHILD_TIMEOUT;
  for (int i = 0; i < 10 && !child->ended_errors; i++) uv_run(&child->loop->loop, UV_RUN_NOWAIT);
  return GT_CHILD_ENDED;
}

gt_child_event gt_child_wait(gt_child *child, double seconds, json_t **message, gt_buffer *payload) {
  gt_child_event event;
  pipe_guard guard = block_sigpipe();
  start_clock(child->loop, seconds);
  for (;;) {
    if (take_interruption(child->loop)) {
      event = GT_CHILD_INTERRUPTED;
      break;
    }
    event = gt_child_look(child, message, payload);
    if (event != GT_CHILD_TIMEOUT || child->loop->timed_out) break;
    uv_run(&child->loop->loop, UV_RUN_ONCE);
    attend(child->loop);
  }
  stop_clock(child->loop);
  unblock_sigpipe(&guard);
  return event;
}

void gt_child_quit(gt_child *child, double seconds) {
  json_t *quit = json_pack("{s:s}", "do", "quit"), *message = NULL;
  gt_buffer payload = {0};
  gt_child_send(child, quit, NULL, 0);
  json_decref(quit);
  gt_child_event event;
  while ((event = gt_child_wait(child, seconds, &message, &payload)) == GT_CHILD_FRAME) json_decref(message);
  if (event == GT_CHILD_INTERRUPTED) child->loop->heeded--; // it was meant for a call that can return it
  gt_buffer_free(&payload);
}

static const char *signal_name(int signal) {
  switch (signal) {
  case SIGSEGV:
    return " (SIGSEGV)";
  case SIGABRT:
    return " (SIGABRT)";
  case SIGBUS:
    return " (SIGBUS)";
  case SIGFPE:
    return " (SIGFPE)";
  case SIGILL:
    return " (SIGILL)";
  case SIGKILL:
    return " (SIGKILL)";
  case SIGTERM:
    return " (SIGTERM)";
  default:
    return "";
  }
}

bool gt_child_was_disturbed(const gt_child *child) {
  if (child->exited) return child->exit_signal == SIGKILL || child->exit_signal == SIGTERM;
  char path[64], line[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", (int)child->process.pid);
  FILE *file = fopen(path, "re");
  if (!file) return false;
  size_t length = fread(line, 1, sizeof line - 1, file);
  fclose(file);
  line[length] = 0;
  const char *state = strrchr(line, ')'); // "PID (NAME) STATE ..."
  return state && state[1] && state[2] == 'T';
}

void gt_child_epitaph(const gt_child *child, gt_buffer *text) {
  if (!child->exited)
    gt_buffer_print(text, "still running");
  else if (child->exit_signal)
    gt_buffer_print(text, "killed by signal %d%s", child->exit_signal, signal_name(child->exit_signal));
  else
    gt_buffer_print(text, "exited with status %d", (int)child->exit_status);
}

void gt_child_last_words(const gt_child *child, gt_buffer *text) {
  size_t length = child->words.length;
  while (length && (child->words.data[length - 1] == '\n' || child->words.data[length - 1] == ' ')) length--;
  for (size_t i = 0; i < length; i++) { // neither a zero nor half a character may come into messages
    unsigned char c = (unsigned char)child->words.data[i];
    gt_buffer_append(text, c && c < 0x80 ? &child->words.data[i] : "?", 1);
  }
}
