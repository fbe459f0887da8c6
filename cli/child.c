#include "cli/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static _Noreturn void be_the_child(gt_child_work *work, const void *context, int out) {
  gt_buffer answer = {0};
  work(context, &answer);
  size_t sent = 0;
  while (sent < answer.length) {
    ssize_t wrote = write(out, answer.data + sent, answer.length - sent);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    sent += (size_t)wrote;
  }
  _exit(sent == answer.length ? 0 : 1); // no clean-up of what a library may have left behind
}

// Reads until the other end closes. False when that takes too long.
static bool read_all(int in, double seconds, gt_buffer *answer) {
  double end = gt_seconds() + seconds;
  char block[4096];
  for (;;) {
    double left = end - gt_seconds();
    struct pollfd wait_for = {.fd = in, .events = POLLIN};
    int ready = left > 0 ? poll(&wait_for, 1, (int)(left * 1000) + 1) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    ssize_t got = read(in, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    gt_buffer_append(answer, block, (size_t)got);
  }
}

gt_status gt_child_run(gt_child_work *work, const void *context, double seconds, gt_buffer *answer,
                       gt_error *error) {
  gt_buffer_clear(answer);
  int ends[2];
  if (pipe(ends) != 0) return gt_fail(error, GT_IO, "%s", strerror(errno));
  fflush(NULL); // or the child would write what is buffered once more
  pid_t child = fork();
  if (child < 0) {
    gt_fail(error, GT_IO, "%s", strerror(errno));
    close(ends[0]);
    close(ends[1]);
    return GT_IO;
  }
  if (child == 0) {
    close(ends[0]);
    be_the_child(work, context, ends[1]);
  }
  close(ends[1]);
  bool in_time = read_all(ends[0], seconds, answer);
  close(ends[0]);
  if (!in_time) kill(child, SIGKILL);
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR)
    ;
  if (!in_time) return gt_fail(error, GT_TIMEOUT, "did not answer within %.0f s", seconds);
  if (WIFSIGNALED(state))
    return gt_fail(error, GT_CRASH, "crashed the process (%s)", strsignal(WTERMSIG(state)));
  if (WEXITSTATUS(state) != 0 || answer->length == 0)
    return gt_fail(error, GT_CRASH, "ended the process (exit code %d)", WEXITSTATUS(state));
  return GT_OK;
}
