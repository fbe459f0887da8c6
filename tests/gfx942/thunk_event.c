// The driver's events, on which the runtime sleeps until the device has something to say.
#include "thunk.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <hsakmt/hsakmt.h>

enum { MAX_EVENTS = 4096 }; // number 0 is not used

typedef struct {
  bool used, manual_reset, set;
  uint64_t age; // how often it was set, beginning at 1
} event;

static event events[MAX_EVENTS];
// The events' mailboxes, which kernels that signal the host write to. What they hold is not used.
static _Alignas(4096) uint64_t mailboxes[MAX_EVENTS];
static pthread_once_t mailboxes_shown = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void show_mailboxes(void) {
  memory_show(mailboxes, sizeof mailboxes);
}

THUNK_API HSAKMT_STATUS hsaKmtCreateEvent(HsaEventDescriptor *description, bool manual_reset, bool set,
                                          HsaEvent **created) {
  HsaEvent *handle = calloc(1, sizeof *handle);
  if (!handle) return HSAKMT_STATUS_NO_MEMORY;
  pthread_once(&mailboxes_shown, show_mailboxes);
  pthread_mutex_lock(&lock);
  HSAuint32 id = 1;
  while (id < MAX_EVENTS && events[id].used) id++;
  if (id < MAX_EVENTS) events[id] = (event){.used = true, .manual_reset = manual_reset, .set = set, .age = 1};
  pthread_mutex_unlock(&lock);
  if (id == MAX_EVENTS) {
    free(handle);
    return HSAKMT_STATUS_OUT_OF_RESOURCES;
  }
  handle->EventId = id;
  handle->EventData.EventType = description->EventType;
  handle->EventData.EventData.SyncVar = description->SyncVar;
  handle->EventData.HWData1 = id;
  handle->EventData.HWData2 = (uint64_t)&mailboxes[id];
  handle->EventData.HWData3 = id;
  *created = handle;
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtDestroyEvent(HsaEvent *handle) {
  pthread_mutex_lock(&lock);
  events[handle->EventId].used = false;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  free(handle);
  return HSAKMT_STATUS_SUCCESS;
}

void event_set(uint32_t id) {
  if (id >= MAX_EVENTS) return;
  pthread_mutex_lock(&lock);
  events[id].set = true;
  events[id].age++;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

THUNK_API HSAKMT_STATUS hsaKmtSetEvent(HsaEvent *handle) {
  event_set(handle->EventId);
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtResetEvent(HsaEvent *handle) {
  pthread_mutex_lock(&lock);
  events[handle->EventId].set = false;
  pthread_mutex_unlock(&lock);
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtQueryEventState(HsaEvent *handle) {
  pthread_mutex_lock(&lock);
  bool set = events[handle->EventId].set;
  pthread_mutex_unlock(&lock);
  return set ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_WAIT_TIMEOUT;
}

// An event also counts as set when it was set since the caller last looked, at age `ages[i]`.
static bool satisfied(HsaEvent *handles[], HSAuint32 count, bool all, const uint64_t *ages) {
  HSAuint32 ready = 0;
  for (HSAuint32 i = 0; i < count; i++) {
    const event *e = &events[handles[i]->EventId];
    ready += e->set || (ages && ages[i] && ages[i] != e->age);
  }
  return all ? ready == count : ready > 0;
}

// False when the time is over.
static bool wait_for_change(const struct timespec *deadline) {
  if (!deadline) return pthread_cond_wait(&changed, &lock) == 0;
  return pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, deadline) != ETIMEDOUT;
}

static struct timespec after_milliseconds(HSAuint32 milliseconds) {
  enum { BILLION = 1000 * 1000 * 1000, MILLION = 1000 * 1000 };
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_sec += milliseconds / 1000;
  t.tv_nsec += (long)(milliseconds % 1000) * MILLION;
  if (t.tv_nsec >= BILLION) {
    t.tv_sec++;
    t.tv_nsec -= BILLION;
  }
  return t;
}

THUNK_API HSAKMT_STATUS hsaKmtWaitOnMultipleEvents_Ext(HsaEvent *handles[], HSAuint32 count, bool all,
                                                       HSAuint32 milliseconds, uint64_t *ages) {
  struct timespec deadline = after_milliseconds(milliseconds);
  const struct timespec *until = milliseconds == HSA_EVENTTIMEOUT_INFINITE ? NULL : &deadline;
  pthread_mutex_lock(&lock);
  bool done = satisfied(handles, count, all, ages);
  while (!done && milliseconds != HSA_EVENTTIMEOUT_IMMEDIATE && wait_for_change(until)) {
    done = satisfied(handles, count, all, ages);
  }
  for (HSAuint32 i = 0; done && i < count; i++) {
    event *e = &events[handles[i]->EventId];
    if (ages) ages[i] = e->age;
    if (!e->manual_reset) e->set = false;
  }
  pthread_mutex_unlock(&lock);
  return done ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_WAIT_TIMEOUT;
}

THUNK_API HSAKMT_STATUS hsaKmtWaitOnEvent_Ext(HsaEvent *handle, HSAuint32 milliseconds, uint64_t *age) {
  return hsaKmtWaitOnMultipleEvents_Ext(&handle, 1, true, milliseconds, age);
}

THUNK_API HSAKMT_STATUS hsaKmtWaitOnEvent(HsaEvent *handle, HSAuint32 milliseconds) {
  return hsaKmtWaitOnMultipleEvents_Ext(&handle, 1, true, milliseconds, NULL);
}

THUNK_API HSAKMT_STATUS hsaKmtWaitOnMultipleEvents(HsaEvent *handles[], HSAuint32 count, bool all,
                                                   HSAuint32 milliseconds) {
  return hsaKmtWaitOnMultipleEvents_Ext(handles, count, all, milliseconds, NULL);
}
