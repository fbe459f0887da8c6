// The inside of a workshop, which workshop.c (processes) and workshop_trial.c (requests to the device's
// worker) share. Private to them.
#ifndef GT_TUNER_WORKSHOP_INSIDE_H
#define GT_TUNER_WORKSHOP_INSIDE_H

#include <jansson.h>

#include "tuner/child.h"
#include "tuner/workshop.h"

// Between begin and end.
typedef struct {
  gt_trial trial; // so far: what the variant is, and how it failed if it did not come to the device
  bool on_device; // its request was sent, and is to be answered
  char phase[16];
  // To send it once more.
  json_t *request;
  gt_buffer code;
} gt_trial_in_progress;

struct gt_workshop {
  gt_workshop_options options;
  char *program;
  char *device; // as asked for; the resolved name once it was opened; NULL: none
  gt_fingerprint fingerprint;
  bool executes, opened_once;
  gt_child_loop *loop;
  gt_child *child;         // NULL when there is none at the moment
  gt_compilers *compilers; // NULL until something is to be compiled for the device
  gt_code_store *store;
  // The problem that each new worker prepares.
  char problem[GT_PROBLEM_TEXT]; // empty: none
  gt_variant direct;             // zeroed: none
  gt_buffer grid;                // sampling positions for it in storage form; empty: those of its class
  bool prepared;                 // in the present child
  bool preparing;                // the present child was asked to prepare it, and its answer is still to be heard
  bool disturbed;                // the last child that was lost was stopped or killed from outside
  gt_buffer note;                // that the worker gave with it
  gt_trial_in_progress trial;
  double device_seconds;
};

// How a conversation with a worker ended. After everything but GT_TALK_ANSWERED the worker is gone.
typedef enum { GT_TALK_ANSWERED, GT_TALK_DIED, GT_TALK_TIMED_OUT, GT_TALK_INTERRUPTED } gt_talk_end;

// Ends the device's worker.
void gt_workshop_drop(gt_workshop *workshop);

// Makes sure that there is a worker with an open device; and that it has prepared the problem, if need be
// without `direct`, which may take the worker down.
gt_status gt_workshop_ensure_open(gt_workshop *workshop, gt_error *error);
gt_status gt_workshop_ensure_prepared(gt_workshop *workshop, gt_error *error);

// The compilers, which know the device from its fingerprint.
gt_compilers *gt_workshop_compilers(gt_workshop *workshop);

// Waits for the answer to a request that was sent in `phase`. *answer is the caller's when GT_TALK_ANSWERED;
// otherwise `failure` says what happened.
gt_talk_end gt_workshop_await(gt_workshop *workshop, char phase[16], json_t **answer, gt_buffer *payload,
                              gt_buffer *failure);
// Sends a request and waits for its answer.
gt_talk_end gt_workshop_talk(gt_workshop *workshop, json_t *request, const void *data, size_t size,
                             json_t **answer, gt_buffer *payload, gt_buffer *failure);
// The status of a conversation that was not answered, and of one that was.
gt_status gt_workshop_fail(gt_talk_end end, const gt_buffer *failure, gt_error *error);
gt_status gt_workshop_status(const json_t *answer, gt_error *error);

#endif
