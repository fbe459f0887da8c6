// A worker process as its parent sees it: frames to it, frames from it, its last words on stderr, and how it
// ended. Children of one loop are attended together: while one of them is waited for, the others' frames come
// in too.
#ifndef GT_TUNER_CHILD_H
#define GT_TUNER_CHILD_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/status.h"

typedef struct gt_child_loop gt_child_loop;
typedef struct gt_child gt_child;

gt_status gt_child_loop_make(gt_child_loop **loop, gt_error *error); // GT_IO
void gt_child_loop_free(gt_child_loop *loop); // after the last of its children has ended; harmless on NULL

// What is called again and again while the loop is waited on, after whatever came in. It may start, send to,
// look at and end children of the loop, but not wait.
void gt_child_loop_attend(gt_child_loop *loop, void (*attend)(void *context), void *context);

// Lets in what comes, for up to `seconds`, and attends. With `until`: only as long as that is false. False
// when gt_workshop_interrupt was called.
bool gt_child_loop_run(gt_child_loop *loop, double seconds, const bool *until);

// Starts `program --worker`. GT_IO when it cannot be started. `loop` is borrowed.
gt_status gt_child_start(gt_child_loop *loop, const char *program, gt_child **child, gt_error *error);

// Kills the process, if it still runs, waits for its end, and frees everything. Harmless on NULL.
void gt_child_end(gt_child *child);

// Queues a frame; what does not go out at once is written while waiting. `message` is borrowed.
void gt_child_send(gt_child *child, json_t *message, const void *payload, size_t size);

// Waits until all that was queued is written, for up to `seconds`.
void gt_child_flush(gt_child *child, double seconds);

// Queues the request to end, and lets the process end by itself for up to `seconds`.
void gt_child_quit(gt_child *child, double seconds);

typedef enum {
  GT_CHILD_FRAME,       // *message and *payload are filled
  GT_CHILD_TIMEOUT,     // nothing came in time; the process still runs
  GT_CHILD_ENDED,       // the process ended: see gt_child_epitaph
  GT_CHILD_GARBAGE,     // it sent bytes that are no frame
  GT_CHILD_INTERRUPTED, // gt_workshop_interrupt was called
} gt_child_event;
gt_child_event gt_child_wait(gt_child *child, double seconds, json_t **message, gt_buffer *payload);

// The same without waiting: GT_CHILD_TIMEOUT when there is nothing.
gt_child_event gt_child_look(gt_child *child, json_t **message, gt_buffer *payload);

// Whether something outside stopped or killed the process (SIGSTOP, SIGKILL, SIGTERM), which what it ran
// cannot be blamed for: somebody did, or the kernel when memory ran short.
bool gt_child_was_disturbed(const gt_child *child);

// How the process ended, "killed by signal 11 (SIGSEGV)", and the last lines that it wrote on stderr.
void gt_child_epitaph(const gt_child *child, gt_buffer *text);
void gt_child_last_words(const gt_child *child, gt_buffer *text);

#endif
