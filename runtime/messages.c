#include "runtime/messages.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"

// Stays until the handle is closed; a later thread of the same identity takes it over.
struct gt_message {
  pthread_t thread;
  char text[sizeof((gt_error *)0)->text];
  gt_message *next;
};

void gt_messages_open(gt_messages *messages) {
  pthread_mutex_init(&messages->adding, NULL);
  atomic_init(&messages->first, NULL);
}

void gt_messages_close(gt_messages *messages) {
  gt_message *message = atomic_load(&messages->first);
  while (message) {
    gt_message *next = message->next;
    free(message);
    message = next;
  }
  pthread_mutex_destroy(&messages->adding);
}

static gt_message *mine(const gt_messages *messages) {
  gt_message *message = atomic_load_explicit(&((gt_messages *)messages)->first, memory_order_acquire);
  while (message && !pthread_equal(message->thread, pthread_self())) message = message->next;
  return message;
}

void gt_messages_set(gt_messages *messages, const char *text) {
  gt_message *message = mine(messages);
  if (!message) {
    message = gt_alloc(sizeof *message);
    message->thread = pthread_self();
    pthread_mutex_lock(&messages->adding);
    message->next = atomic_load(&messages->first);
    atomic_store_explicit(&messages->first, message, memory_order_release);
    pthread_mutex_unlock(&messages->adding);
  }
  snprintf(message->text, sizeof message->text, "%s", text);
}

const char *gt_messages_get(const gt_messages *messages) {
  const gt_message *message = mine(messages);
  return message ? message->text : "";
}
