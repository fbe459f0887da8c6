#include "interpreter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wave.h"

enum { MAX_THREADS = 64, LDS_LIMIT = 64 << 10, DIE_BITS = 6 };

// A dispatch that several host threads run: they take workgroups in order.
typedef struct {
  const gfx_dispatch *dispatch;
  const gfx_options *options;
  uint32_t groups[3];
  uint64_t total;
  atomic_uint_fast64_t next;
  atomic_bool failed;
  pthread_mutex_t lock; // of what follows
  gfx_counts counts;
  LineSet die_lines; // of all threads
  uint64_t
      failed_group; // the first one in order, so that the same fault is reported with any number of threads
  char fault[512];
} Job;

static void report(Job *job, uint64_t group, const char *fault) {
  pthread_mutex_lock(&job->lock);
  if (group < job->failed_group) {
    job->failed_group = group;
    snprintf(job->fault, sizeof job->fault, "%s", fault);
  }
  pthread_mutex_unlock(&job->lock);
  atomic_store(&job->failed, true);
}

static void *allocate(size_t bytes) {
  // Whole cache lines, and one more so that no request is for nothing.
  return aligned_alloc(64, (bytes + 127) / 64 * 64);
}

// Adds the workgroup's lines to those of its die.
static void pass_lines(const Job *job, Workgroup *group, uint64_t number) {
  uint64_t die = job->options->dies > 1 ? number % (uint64_t)job->options->dies : 0;
  for (size_t i = 0; i < group->lines.slots; i++)
    if (group->lines.slot[i]) line_set_add(&group->die_lines, group->lines.slot[i] << DIE_BITS | die);
  line_set_clear(&group->lines);
}

static void add_traffic(gfx_traffic *sum, const gfx_traffic *more) {
  sum->bytes += more->bytes;
  sum->access_lines += more->access_lines;
  sum->group_lines += more->group_lines;
}

// Counts the lines of the dies that no other thread has touched.
static void add_die_lines(Job *job, const LineSet *lines) {
  for (size_t i = 0; i < lines->slots; i++) {
    if (!lines->slot[i] || !line_set_add(&job->die_lines, lines->slot[i])) continue;
    bool write = ((lines->slot[i] >> DIE_BITS) - 1) & 1; // as touch_line() has it
    (write ? &job->counts.written : &job->counts.read)->die_lines++;
  }
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

// The workgroup that comes at a place of the job's schedule: every (stride)-th one, round and round.
static uint64_t scheduled(const Job *job, uint64_t place) {
  uint64_t seed = job->options->schedule;
  if (!seed) return place;
  uint64_t stride = seed * 0x9e3779b97f4a7c15ull % job->total;
  while (common_divisor(stride, job->total) != 1) stride++;
  return (uint64_t)(((unsigned __int128)stride * place + seed) % job->total);
}

static void run_groups(Job *job, Workgroup *group) {
  while (!atomic_load(&job->failed)) {
    uint64_t place = atomic_fetch_add(&job->next, 1);
    if (place >= job->total) break;
    uint64_t number = scheduled(job, place);
    group->id[0] = (uint32_t)(number % job->groups[0]);
    group->id[1] = (uint32_t)(number / job->groups[0] % job->groups[1]);
    group->id[2] = (uint32_t)(number / job->groups[0] / job->groups[1]);
    if (!workgroup_run(group)) report(job, number, group->fault);
    pass_lines(job, group, number);
    if (group->lines.failed || group->die_lines.failed) report(job, number, "out of host memory");
  }
}

static void *run_thread(void *argument) {
  Job *job = argument;
  const gfx_dispatch *dispatch = job->dispatch;
  const char *descriptor = (const char *)(uintptr_t)dispatch->kernel_descriptor;
  Workgroup *group = calloc(1, sizeof *group);
  if (!group) {
    report(job, 0, "out of host memory");
    return NULL;
  }
  group->dispatch = dispatch;
  group->options = job->options;
  memcpy(&group->kernarg_bytes, descriptor + 8, sizeof group->kernarg_bytes);
  // Bits 0 to 5 of the first resource word: vector registers in units of 8, less one unit.
  uint32_t resources;
  memcpy(&resources, descriptor + 48, sizeof resources);
  group->registers = ((resources & 63) + 1) * 8;
  if (group->registers > ACCUMULATION_REGISTERS) group->registers = ACCUMULATION_REGISTERS;

  uint32_t items = dispatch->workgroup[0] * dispatch->workgroup[1] * dispatch->workgroup[2];
  group->waves = (int)((items + LANES - 1) / LANES);
  group->lds_bytes = dispatch->lds_bytes;
  size_t scratch = (dispatch->scratch_bytes + 15u) & ~15u;
  group->lds = allocate(group->lds_bytes);
  group->wave = allocate(sizeof(Wave) * (size_t)group->waves);
  uint8_t *private_memory = allocate(scratch * LANES * (size_t)group->waves);
  if (group->lds && group->wave && private_memory) {
    for (int i = 0; i < group->waves; i++) {
      group->wave[i].scratch = private_memory + scratch * LANES * (size_t)i;
      group->wave[i].scratch_bytes = (uint32_t)scratch;
    }
    group->code = code_reader_open(job->options);
    run_groups(job, group);
    code_reader_close(&group->code);
    pthread_mutex_lock(&job->lock);
    job->counts.wave_instructions += group->counts.wave_instructions;
    job->counts.memory_transactions += group->counts.memory_transactions;
    job->counts.lds_cycles += group->counts.lds_cycles;
    job->counts.barriers += group->counts.barriers;
    add_traffic(&job->counts.read, &group->counts.read);
    add_traffic(&job->counts.written, &group->counts.written);
    add_die_lines(job, &group->die_lines);
    bool complete = !job->die_lines.failed;
    pthread_mutex_unlock(&job->lock);
    if (!complete) report(job, 0, "out of host memory");
  } else {
    report(job, 0, "out of host memory");
  }
  line_set_free(&group->lines);
  line_set_free(&group->die_lines);
  free(private_memory);
  free(group->wave);
  free(group->lds);
  free(group);
  return NULL;
}

bool gfx_run(const gfx_dispatch *dispatch, const gfx_options *options, gfx_counts *counts, char error[512]) {
  Job job = {.dispatch = dispatch, .options = options, .total = 1, .failed_group = UINT64_MAX};
  uint64_t items = 1;
  for (int axis = 0; axis < 3; axis++) {
    if (dispatch->workgroup[axis] == 0 || dispatch->workgroup[axis] > 1024 || dispatch->grid[axis] == 0) {
      snprintf(error, 512,
               "a dispatch needs 1 to 1024 work-items per workgroup and a grid that is not empty");
      return false;
    }
    items *= dispatch->workgroup[axis];
    job.groups[axis] = (uint32_t)(((uint64_t)dispatch->grid[axis] + dispatch->workgroup[axis] - 1) /
                                  dispatch->workgroup[axis]);
    job.total *= job.groups[axis];
  }
  if (items > 1024 || dispatch->lds_bytes > LDS_LIMIT) {
    snprintf(error, 512,
             "a workgroup of %llu work-items with %u bytes of LDS is over the limits of 1024 and %d",
             (unsigned long long)items, dispatch->lds_bytes, LDS_LIMIT);
    return false;
  }
  pthread_mutex_init(&job.lock, NULL);
  uint64_t threads = options->threads < 1             ? 1
                     : options->threads > MAX_THREADS ? MAX_THREADS
                                                      : (uint64_t)options->threads;
  if (threads > job.total) threads = job.total;
  pthread_t thread[MAX_THREADS];
  uint64_t started = 1;
  // The calling thread is the first; with fewer than asked for the work is done all the same.
  while (started < threads && pthread_create(&thread[started], NULL, run_thread, &job) == 0) started++;
  run_thread(&job);
  for (uint64_t i = 1; i < started; i++) pthread_join(thread[i], NULL);
  pthread_mutex_destroy(&job.lock);
  line_set_free(&job.die_lines);
  if (atomic_load(&job.failed)) {
    snprintf(error, 512, "%s", job.fault);
    return false;
  }
  if (counts) *counts = job.counts;
  return true;
}
