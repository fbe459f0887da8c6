// AQL queues. Each has a thread that plays the device's command processor: it waits for the doorbell, runs
// the packets one after another, and signals their completion.
#include "interpreter.h"
#include "thunk.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsakmt/hsakmt.h>

enum { MAX_QUEUES = 256, PACKET_BYTES = 64, BARRIER_SIGNALS = 5 };

// The device's time, which only work moves. Each queue has a time of its own, so that what another queue does
// at the same moment makes no difference to it; a packet that waits for signals begins no earlier than they
// were completed. Copies are different: ROCr runs them in small queues of its own, and its clients do not
// wait for the signal of a copy that happens to be done already. So the time that copies took counts in all
// queues.
//
// What work costs: made-up numbers, of the right order for 2.1 GHz compute units that all work all the time.
// They say nothing about a real MI300X's speed; they only make more work take more time.
enum {
  CYCLES_PER_WAVE_INSTRUCTION = 1,
  CYCLES_PER_MEMORY_TRANSACTION = 16,
  CYCLES_PER_LDS_CYCLE = 1,
  CYCLES_PER_BARRIER = 4,
  PICOSECONDS_PER_CYCLE = 476,
  NANOSECONDS_PER_DISPATCH = 1000, // on top
  // Packets that run no kernel take no time: how many of them the runtime needs depends on the host's timing.
};

// ROCr's own queues are the ones of at most this many packets.
enum { COPY_QUEUE_PACKETS = 64 };

typedef struct {
  bool used;
  bool stop;
  HSA_QUEUEID id;
  char *ring;
  uint64_t packets; // that the ring holds
  amd_queue_t *descriptor;
  uint64_t doorbell; // index of the last packet submitted
  uint64_t next;     // index of the next packet to run
  uint64_t time;     // in nanoseconds, copies not counted
  pthread_t thread;
} queue;

static queue queues[MAX_QUEUES]; // number 0 is not used
static pthread_mutex_t queues_lock = PTHREAD_MUTEX_INITIALIZER;
// The devices run one kernel at a time.
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint_fast64_t copy_time; // in nanoseconds

// What gfx942_traffic() gives, and whether it was called; under the device's lock.
enum { TRAFFIC_VALUES = 8 };
static uint64_t traffic[TRAFFIC_VALUES];
static bool count_traffic;

static uint64_t now(const queue *q) {
  uint64_t stamp = CLOCK_START + q->time + atomic_load(&copy_time);
  clock_reached(stamp);
  return stamp;
}

static void spend(queue *q, uint64_t nanoseconds) {
  if (q->packets <= COPY_QUEUE_PACKETS) {
    atomic_fetch_add(&copy_time, nanoseconds);
  } else {
    q->time += nanoseconds;
  }
}

// Moves the queue's time up to a time stamp.
static void catch_up(queue *q, uint64_t stamp) {
  uint64_t time = now(q);
  if (stamp > time) q->time += stamp - time;
}

static uint64_t cost_in_nanoseconds(const gfx_counts *counts) {
  uint64_t cycles = CYCLES_PER_WAVE_INSTRUCTION * counts->wave_instructions +
                    CYCLES_PER_MEMORY_TRANSACTION * counts->memory_transactions +
                    CYCLES_PER_LDS_CYCLE * counts->lds_cycles + CYCLES_PER_BARRIER * counts->barriers;
  // Whole nanoseconds, since time stamps are: a queue that waits for one takes it over as it is.
  return NANOSECONDS_PER_DISPATCH + cycles * PICOSECONDS_PER_CYCLE / 1000 / GPU_COMPUTE_UNITS;
}

// Adds a kernel's traffic, and tells of it.
static void add_traffic(const gfx_counts *counts) {
  const gfx_traffic *way[] = {&counts->read, &counts->written};
  uint64_t bytes[TRAFFIC_VALUES], *to = bytes;
  for (int i = 0; i < 2; i++) {
    *to++ = way[i]->bytes;
    *to++ = way[i]->access_lines << GFX_LINE_SHIFT;
    *to++ = way[i]->group_lines << GFX_LINE_SHIFT;
    *to++ = way[i]->die_lines << GFX_LINE_SHIFT;
  }
  for (int i = 0; i < TRAFFIC_VALUES; i++) traffic[i] += bytes[i];
  for (int i = 0; i < 2; i++) {
    const uint64_t *one = &bytes[i * TRAFFIC_VALUES / 2];
    thunk_log(1, "  bytes %s: lanes %llu, waves %llu, blocks %llu, dies %llu", i ? "written" : "read",
              (unsigned long long)one[0], (unsigned long long)one[1], (unsigned long long)one[2],
              (unsigned long long)one[3]);
  }
}

THUNK_API void gfx942_traffic(uint64_t bytes[TRAFFIC_VALUES]) {
  pthread_mutex_lock(&device_lock);
  memcpy(bytes, traffic, sizeof traffic);
  memset(traffic, 0, sizeof traffic);
  count_traffic = true;
  pthread_mutex_unlock(&device_lock);
}

_Noreturn static void fault(const char *error) {
  uint64_t address = memory_refused_address();
  if (!address) thunk_die("kernel stopped: %s", error);
  char where[256];
  memory_describe(address, where, sizeof where);
  thunk_die("memory access fault: %s (%#llx lies %s)", error, (unsigned long long)address, where);
}

static void complete(hsa_signal_t handle, uint64_t start, uint64_t end) {
  amd_signal_t *signal = (amd_signal_t *)handle.handle;
  if (!signal) return;
  // Once the value has changed, a waiter that polls may reuse the signal, or destroy it.
  uint32_t event = signal->event_id;
  volatile uint64_t *mailbox = (volatile uint64_t *)signal->event_mailbox_ptr;
  signal->start_ts = start;
  signal->end_ts = end;
  __atomic_sub_fetch(&signal->value, 1, __ATOMIC_SEQ_CST);
  if (mailbox) {
    *mailbox = event;
    event_set(event);
  }
}

static void log_instruction(void *context, uint64_t pc, const char *text) {
  (void)context;
  thunk_log(3, "%#llx: %s", (unsigned long long)pc, text);
}

static void run_kernel(queue *q, const hsa_kernel_dispatch_packet_t *packet) {
  gfx_dispatch dispatch = {
      .kernel_descriptor = packet->kernel_object,
      .kernarg = (uint64_t)packet->kernarg_address,
      .packet = (uint64_t)packet,
      .queue = (uint64_t)q->descriptor,
      .grid = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
      .workgroup = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z},
      .lds_bytes = packet->group_segment_size,
      .scratch_bytes = packet->private_segment_size,
  };
  gfx_options options = {.threads = thunk_threads(),
                         .dies = thunk_dies(),
                         .schedule = thunk_schedule(),
                         .may_access = memory_may_access,
                         .decoded = log_instruction};
  gfx_counts counts = {0};
  char error[512];

  pthread_mutex_lock(&device_lock);
  if (memory_code_may_have_changed()) gfx_forget_code();
  options.count_traffic = count_traffic;
  uint64_t start = now(q);
  if (!gfx_run(&dispatch, &options, &counts, error)) fault(error);
  spend(q, cost_in_nanoseconds(&counts));
  uint64_t end = now(q);
  thunk_log(1,
            "queue %llu: kernel %#llx, grid %u x %u x %u, workgroup %u x %u x %u: %llu wave instructions, "
            "%llu memory transactions, %llu LDS cycles, %llu barriers, %llu ns",
            (unsigned long long)q->id, (unsigned long long)dispatch.kernel_descriptor, dispatch.grid[0],
            dispatch.grid[1], dispatch.grid[2], dispatch.workgroup[0], dispatch.workgroup[1],
            dispatch.workgroup[2], (unsigned long long)counts.wave_instructions,
            (unsigned long long)counts.memory_transactions, (unsigned long long)counts.lds_cycles,
            (unsigned long long)counts.barriers, (unsigned long long)(end - start));
  if (count_traffic) add_traffic(&counts);
  pthread_mutex_unlock(&device_lock);
  complete(packet->completion_signal, start, end);
}

static int64_t value_of(hsa_signal_t handle) {
  return __atomic_load_n(&((amd_signal_t *)handle.handle)->value, __ATOMIC_ACQUIRE);
}

static bool barrier_open(const hsa_barrier_and_packet_t *packet, bool all) {
  int signals = 0, done = 0;
  for (int i = 0; i < BARRIER_SIGNALS; i++) {
    if (!packet->dep_signal[i].handle) continue;
    signals++;
    done += value_of(packet->dep_signal[i]) <= 0;
  }
  return all ? done == signals : done > 0 || signals == 0;
}

static bool value_barrier_open(const hsa_amd_barrier_value_packet_t *packet) {
  if (!packet->signal.handle) return true;
  int64_t value = value_of(packet->signal) & packet->mask;
  switch (packet->cond) {
  case HSA_SIGNAL_CONDITION_EQ:
    return value == packet->value;
  case HSA_SIGNAL_CONDITION_NE:
    return value != packet->value;
  case HSA_SIGNAL_CONDITION_LT:
    return value < packet->value;
  default:
    return value >= packet->value;
  }
}

static bool stopped(const queue *q) {
  return __atomic_load_n(&q->stop, __ATOMIC_ACQUIRE);
}

// The longer nothing has happened, the longer the pause, since an idle queue costs processor time.
static void pause_polling(unsigned *idle_polls) {
  enum { SHORTEST = 20, LONGEST = 1000, POLLS_PER_MICROSECOND = 10 };
  unsigned microseconds = ++*idle_polls / POLLS_PER_MICROSECOND;
  usleep(microseconds < SHORTEST ? SHORTEST : microseconds > LONGEST ? LONGEST : microseconds);
}

static int packet_type(const void *packet) {
  uint16_t header = __atomic_load_n((const uint16_t *)packet, __ATOMIC_ACQUIRE);
  return header >> HSA_PACKET_HEADER_TYPE & ((1 << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}

// Packets that wait for signals. All of them have the completion signal where a barrier-and packet has it.
// False if the queue was stopped meanwhile.
static bool run_barrier(queue *q, const void *packet) {
  const hsa_amd_vendor_packet_header_t *vendor = packet;
  int type = packet_type(packet);
  unsigned idle_polls = 0;
  for (bool open = false; !open;) {
    if (type != HSA_PACKET_TYPE_VENDOR_SPECIFIC) {
      open = barrier_open(packet, type == HSA_PACKET_TYPE_BARRIER_AND);
    } else if (vendor->AmdFormat == HSA_AMD_PACKET_TYPE_BARRIER_VALUE) {
      open = value_barrier_open(packet);
    } else {
      open = true; // commands for the hardware, such as flushing a cache
    }
    if (open) break;
    if (stopped(q)) return false;
    pause_polling(&idle_polls);
  }
  const hsa_barrier_and_packet_t *barrier = packet;
  for (int i = 0; i < BARRIER_SIGNALS && type == HSA_PACKET_TYPE_BARRIER_AND; i++) {
    const amd_signal_t *signal = (const amd_signal_t *)barrier->dep_signal[i].handle;
    if (signal) catch_up(q, signal->end_ts);
  }
  uint64_t stamp = now(q);
  complete(barrier->completion_signal, stamp, stamp);
  return true;
}

static void *serve(void *argument) {
  queue *q = argument;
  unsigned idle_polls = 0;
  while (!stopped(q)) {
    char *packet = q->ring + q->next % q->packets * PACKET_BYTES;
    uint64_t last = __atomic_load_n(&q->doorbell, __ATOMIC_ACQUIRE);
    int type = packet_type(packet);
    // The doorbell starts at -1, and may be rung for a packet before an earlier one is ready.
    if (last == UINT64_MAX || q->next > last || type == HSA_PACKET_TYPE_INVALID) {
      pause_polling(&idle_polls);
      continue;
    }
    idle_polls = 0;
    switch (type) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      run_kernel(q, (const hsa_kernel_dispatch_packet_t *)packet);
      break;
    case HSA_PACKET_TYPE_BARRIER_AND:
    case HSA_PACKET_TYPE_BARRIER_OR:
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      if (!run_barrier(q, packet)) return NULL;
      break;
    default:
      thunk_die("packet of unknown type %d in queue %llu", type, (unsigned long long)q->id);
    }
    thunk_log(2, "queue %llu: packet %llu of type %d done", (unsigned long long)q->id,
              (unsigned long long)q->next, type);
    __atomic_store_n((uint16_t *)packet, HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE, __ATOMIC_RELEASE);
    q->next++;
    __atomic_store_n(&q->descriptor->read_dispatch_id, q->next, __ATOMIC_RELEASE);
  }
  return NULL;
}

THUNK_API HSAKMT_STATUS hsaKmtCreateQueue(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
                                          HSA_QUEUE_PRIORITY priority, void *ring, HSAuint64 bytes,
                                          HsaEvent *event, HsaQueueResource *resource) {
  (void)percentage, (void)priority, (void)event;
  if (!thunk_is_gpu(node)) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  if (type != HSA_QUEUE_COMPUTE_AQL) {
    thunk_log(1, "queue of type %d refused", type);
    return HSAKMT_STATUS_NOT_SUPPORTED;
  }
  pthread_mutex_lock(&queues_lock);
  HSA_QUEUEID id = 1;
  while (id < MAX_QUEUES && queues[id].used) id++;
  if (id == MAX_QUEUES) {
    pthread_mutex_unlock(&queues_lock);
    return HSAKMT_STATUS_OUT_OF_RESOURCES;
  }
  queue *q = &queues[id];
  char *read_pointer = (char *)resource->Queue_read_ptr_aql;
  *q = (queue){.used = true,
               .id = id,
               .ring = ring,
               .packets = bytes / PACKET_BYTES,
               .descriptor = (amd_queue_t *)(read_pointer - offsetof(amd_queue_t, read_dispatch_id)),
               .doorbell = UINT64_MAX};
  catch_up(q, clock_latest());
  q->used = pthread_create(&q->thread, NULL, serve, q) == 0;
  bool created = q->used;
  pthread_mutex_unlock(&queues_lock);
  if (!created) return HSAKMT_STATUS_OUT_OF_RESOURCES;
  resource->QueueId = id;
  resource->Queue_DoorBell_aql = &q->doorbell;
  thunk_log(2, "queue %llu: %llu packets at %p", (unsigned long long)id, (unsigned long long)q->packets,
            ring);
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtDestroyQueue(HSA_QUEUEID id) {
  if (id == 0 || id >= MAX_QUEUES || !queues[id].used) return HSAKMT_STATUS_INVALID_HANDLE;
  queue *q = &queues[id];
  __atomic_store_n(&q->stop, true, __ATOMIC_RELEASE);
  pthread_join(q->thread, NULL);
  pthread_mutex_lock(&queues_lock);
  q->used = false;
  pthread_mutex_unlock(&queues_lock);
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtUpdateQueue(HSA_QUEUEID id, HSAuint32 percentage, HSA_QUEUE_PRIORITY priority,
                                          void *ring, HSAuint64 bytes, HsaEvent *event) {
  (void)id, (void)percentage, (void)priority, (void)ring, (void)bytes, (void)event;
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtSetQueueCUMask(HSA_QUEUEID id, HSAuint32 count, HSAuint32 *mask) {
  (void)id, (void)count, (void)mask;
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtAllocQueueGWS(HSA_QUEUEID id, HSAuint32 count, HSAuint32 *first) {
  (void)id, (void)count, (void)first;
  return HSAKMT_STATUS_SUCCESS;
}
