#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MOST_THREADS = 8 }; // memory bandwidth ends there, and compilers want CPUs too

typedef struct {
  size_t count;
  void (*work)(void *context, size_t index);
  void *context;
  atomic_size_t next;
} shared;

static void *take_turns(void *argument) {
  shared *s = argument;
  for (size_t i; (i = atomic_fetch_add(&s->next, 1)) < s->count;) s->work(s->context, i);
  return NULL;
}

static size_t thread_count(size_t count) {
  cpu_set_t cpus;
  size_t threads = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? (size_t)CPU_COUNT(&cpus) : 1;
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  return threads < count ? threads : count;
}

void gt_parallel(size_t count, void (*work)(void *context, size_t index), void *context) {
  shared s = {.count = count, .work = work, .context = context};
  pthread_t threads[MOST_THREADS];
  size_t started = 0, wanted = thread_count(count);
  while (started + 1 < wanted && pthread_create(&threads[started], NULL, take_turns, &s) == 0) started++;
  take_turns(&s);
  while (started) pthread_join(threads[--started], NULL);
}
