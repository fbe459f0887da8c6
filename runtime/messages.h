// The texts of failures, one per thread: a handle that several threads use at a time.
#ifndef GT_RUNTIME_MESSAGES_H
#define GT_RUNTIME_MESSAGES_H

#include <pthread.h>

#include "base/status.h"

typedef struct gt_message gt_message;

typedef struct {
  pthread_mutex_t adding;
  _Atomic(gt_message *) first;
} gt_messages;

void gt_messages_open(gt_messages *messages);
void gt_messages_close(gt_messages *messages);

void gt_messages_set(gt_messages *messages, const char *text); // of the calling thread
const char *gt_messages_get(const gt_messages *messages);      // "" when it has none

#endif
