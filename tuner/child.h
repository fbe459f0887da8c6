// A worker process as its parent sees it: frames to it, frames from it, its last words on stderr, and how it
// ended.
#ifndef GT_TUNER_CHILD_H
#define GT_TUNER_CHILD_H

#include <jansson.h>

#include "base/buffer.h"
#include "base/status.h"

typedef struct gt_child gt_child;

// Starts `program --worker`. GT_IO when it cannot be started.
gt_status gt_child_start(const char *program, gt_child **child, gt_error *error);

// Kills the process, if it still runs, waits for its end, and frees everything. Harmless on NULL.
void gt_child_end(gt_child *child);

// Queues a frame; it is written while waiting. `message` is borrowed.
void gt_child_send(gt_child *child, json_t *message, const void *payload, size_t size);

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

// How the process ended, "killed by signal 11 (SIGSEGV)", and the last lines that it wrote on stderr.
void gt_child_epitaph(const gt_child *child, gt_buffer *text);
void gt_child_last_words(const gt_child *child, gt_buffer *text);

#endif
