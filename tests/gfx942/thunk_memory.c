// Memory of the emulated device: allocations, what the runtime registers, and what a kernel may touch. Device
// memory is host memory at the same address, given by the operating system only when it is touched.
#include "thunk.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <hsakmt/hsakmt.h>

#define PAGE ((uint64_t)4096)
#define HUGE_PAGE ((uint64_t)2 << 20)

typedef struct {
  uint64_t start, size;
  uint64_t reserved; // bytes of address space, with the inaccessible page behind the allocation; 0: not ours
  HSAuint32 node;
  HsaMemFlags flags;
  HSA_POINTER_TYPE type;
  bool mapped; // visible to the devices, of which none has memory that the others do not see
  void *user_data;
} allocation;

// Sorted by start. Registered ranges may overlap each other. Changes take the lock for writing and raise
// `generation`, which makes every thread's remembered ranges stale.
static allocation *allocations;
static size_t count, capacity;
static uint64_t bytes_used[MOST_NODES]; // of the devices' memories, by node
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_uint_fast64_t generation = 1;
static atomic_bool code_may_have_changed;
static atomic_uint_fast64_t refused_address;

static uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}
static uint64_t round_down(uint64_t value, uint64_t unit) {
  return value / unit * unit;
}

// The device sees whole pages.
static bool contains(const allocation *a, uint64_t address, uint64_t bytes) {
  uint64_t start = round_down(a->start, PAGE), end = round_up(a->start + a->size, PAGE);
  return address >= start && address < end && bytes <= end - address;
}

// Index of the first allocation that starts above `address`. Under the lock, as all functions up to the next
// blank comment.
static size_t first_above(uint64_t address) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (allocations[middle].start > address) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// An allocation with [address, address + bytes) in it that is mapped (or any, if `mapped` is false). A range
// that was registered may begin a little above its first page, hence the start of the search.
static allocation *find(uint64_t address, uint64_t bytes, bool mapped) {
  for (size_t i = first_above(address + PAGE); i-- > 0;) {
    allocation *a = &allocations[i];
    if ((a->mapped || !mapped) && contains(a, address, bytes)) return a;
  }
  return NULL;
}

static allocation *find_start(uint64_t start, HSA_POINTER_TYPE type) {
  for (size_t i = first_above(start); i-- > 0 && allocations[i].start == start;) {
    if (type == HSA_POINTER_UNKNOWN || allocations[i].type == type) return &allocations[i];
  }
  return NULL;
}

static bool insert(allocation a) {
  if (count == capacity) {
    size_t larger = capacity ? 2 * capacity : 64;
    allocation *moved = realloc(allocations, larger * sizeof *moved);
    if (!moved) return false;
    allocations = moved;
    capacity = larger;
  }
  size_t at = first_above(a.start);
  memmove(&allocations[at + 1], &allocations[at], (count - at) * sizeof *allocations);
  allocations[at] = a;
  count++;
  atomic_fetch_add(&generation, 1);
  return true;
}

static void erase(allocation *a) {
  size_t at = (size_t)(a - allocations);
  memmove(a, a + 1, (count - at - 1) * sizeof *a);
  count--;
  atomic_fetch_add(&generation, 1);
}

static bool uses_device_memory(const allocation *a) {
  return thunk_is_gpu(a->node) && !a->flags.ui32.Scratch && !a->flags.ui32.OnlyAddress;
}

//
// What kernels may touch.

// Ranges that this thread found legal lately. Kernels walk through a few arrays at a time, so most accesses
// hit here.
enum { REMEMBERED = 8 };
typedef struct {
  uint64_t generation;
  unsigned next;
  struct {
    uint64_t start, end;
  } ranges[REMEMBERED];
} remembered;

static _Thread_local remembered recent;

bool memory_may_access(void *context, uint64_t address, size_t bytes) {
  (void)context;
  uint64_t now = atomic_load_explicit(&generation, memory_order_acquire);
  if (recent.generation != now) recent = (remembered){.generation = now};
  for (int i = 0; i < REMEMBERED; i++) {
    if (address >= recent.ranges[i].start && address < recent.ranges[i].end &&
        bytes <= recent.ranges[i].end - address) {
      return true;
    }
  }
  pthread_rwlock_rdlock(&lock);
  const allocation *a = find(address, bytes, true);
  if (a) {
    unsigned slot = recent.next++ % REMEMBERED;
    recent.ranges[slot].start = round_down(a->start, PAGE);
    recent.ranges[slot].end = round_up(a->start + a->size, PAGE);
  }
  pthread_rwlock_unlock(&lock);
  if (!a) atomic_store(&refused_address, address);
  return a != NULL;
}

uint64_t memory_refused_address(void) {
  return atomic_load(&refused_address);
}

void memory_describe(uint64_t address, char *text, size_t size) {
  pthread_rwlock_rdlock(&lock);
  const allocation *in = find(address, 1, false);
  size_t above = first_above(address);
  const allocation *below = above ? &allocations[above - 1] : NULL;
  if (in) {
    snprintf(text, size, "in the allocation of %llu bytes at %#llx, %s", (unsigned long long)in->size,
             (unsigned long long)in->start, in->mapped ? "at its end" : "which the device cannot see");
  } else if (below) {
    snprintf(text, size, "%llu bytes behind the allocation of %llu bytes at %#llx",
             (unsigned long long)(address - below->start - below->size), (unsigned long long)below->size,
             (unsigned long long)below->start);
  } else {
    snprintf(text, size, "below every allocation");
  }
  pthread_rwlock_unlock(&lock);
}

bool memory_code_may_have_changed(void) {
  return atomic_exchange(&code_may_have_changed, false);
}

//
// Allocation. An inaccessible page follows each allocation, so that two never touch.

static void *reserve(uint64_t size, uint64_t alignment) {
  char *area =
      mmap(NULL, size + PAGE + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) return NULL;
  char *start = (char *)round_up((uint64_t)area, alignment);
  char *end = start + size + PAGE, *area_end = area + size + PAGE + alignment;
  if (start > area) munmap(area, (size_t)(start - area));
  if (area_end > end) munmap(end, (size_t)(area_end - end));
  if (mprotect(start, size, PROT_READ | PROT_WRITE)) {
    munmap(start, size + PAGE);
    return NULL;
  }
  return start;
}

static void *reserve_at(void *address, uint64_t size) {
  void *start = mmap(address, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  return start == MAP_FAILED ? NULL : start;
}

THUNK_API HSAKMT_STATUS hsaKmtAllocMemoryAlign(HSAuint32 node, HSAuint64 size, HSAuint64 alignment,
                                               HsaMemFlags flags, void **address) {
  if (node >= thunk_nodes()) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  if (flags.ui32.NoAddress) return HSAKMT_STATUS_NOT_SUPPORTED;
  size = round_up(size, PAGE);
  if (alignment < PAGE) alignment = size >= HUGE_PAGE ? HUGE_PAGE : PAGE;
  allocation a = {.size = size, .node = node, .flags = flags, .type = HSA_POINTER_ALLOCATED};
  if (flags.ui32.OnlyAddress) a.type = HSA_POINTER_RESERVED_ADDR;

  pthread_rwlock_wrlock(&lock);
  bool fits = !uses_device_memory(&a) || bytes_used[node] + size <= thunk_device_memory();
  void *start = NULL;
  if (fits) start = flags.ui32.FixedAddress ? reserve_at(*address, size) : reserve(size, alignment);
  a.start = (uint64_t)start;
  a.reserved = flags.ui32.FixedAddress ? size : size + PAGE;
  bool done = start && insert(a);
  if (done && uses_device_memory(&a)) bytes_used[node] += size;
  pthread_rwlock_unlock(&lock);

  if (!done) {
    if (start) munmap(start, a.reserved);
    thunk_log(1, "no room for %llu bytes on node %u", (unsigned long long)size, node);
    return HSAKMT_STATUS_NO_MEMORY;
  }
  *address = start;
  thunk_log(2, "allocate %llu bytes on node %u, flags %#x: %p", (unsigned long long)size, node, flags.Value,
            start);
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtAllocMemory(HSAuint32 node, HSAuint64 size, HsaMemFlags flags, void **address) {
  return hsaKmtAllocMemoryAlign(node, size, 0, flags, address);
}

// Gives memory back, but keeps its addresses from new use until many more allocations are freed, so that
// kernels that use freed memory are found out. Under the lock.
static void retire(void *address, uint64_t reserved) {
  enum { KEPT = 1024 };
  static struct {
    void *address;
    uint64_t reserved;
  } kept[KEPT];
  static unsigned next;
  if (kept[next].address) munmap(kept[next].address, kept[next].reserved);
  kept[next].address = NULL;
  void *empty =
      mmap(address, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (empty == MAP_FAILED) {
    munmap(address, reserved);
    return;
  }
  kept[next].address = address;
  kept[next].reserved = reserved;
  next = (next + 1) % KEPT;
}

THUNK_API HSAKMT_STATUS hsaKmtFreeMemory(void *address, HSAuint64 size) {
  (void)size;
  thunk_log(2, "free %p", address);
  pthread_rwlock_wrlock(&lock);
  allocation *a = find_start((uint64_t)address, HSA_POINTER_ALLOCATED);
  if (!a) a = find_start((uint64_t)address, HSA_POINTER_RESERVED_ADDR);
  if (a) {
    if (uses_device_memory(a)) bytes_used[a->node] -= a->size;
    if (a->flags.ui32.ExecuteAccess) {
      munmap(address, a->reserved);
      atomic_store(&code_may_have_changed, true);
    } else {
      retire(address, a->reserved);
    }
    erase(a);
  }
  pthread_rwlock_unlock(&lock);
  return a ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

THUNK_API HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 node, HSAuint64 *bytes) {
  if (!thunk_is_gpu(node)) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  pthread_rwlock_rdlock(&lock);
  *bytes = thunk_device_memory() - bytes_used[node];
  pthread_rwlock_unlock(&lock);
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtRegisterMemoryWithFlags(void *address, HSAuint64 size, HsaMemFlags flags) {
  allocation a = {.start = (uint64_t)address,
                  .size = size,
                  .node = CPU_NODE,
                  .flags = flags,
                  .type = HSA_POINTER_REGISTERED_USER};
  thunk_log(2, "register %llu bytes at %p", (unsigned long long)size, address);
  pthread_rwlock_wrlock(&lock);
  bool done = insert(a);
  pthread_rwlock_unlock(&lock);
  return done ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_NO_MEMORY;
}

THUNK_API HSAKMT_STATUS hsaKmtRegisterMemory(void *address, HSAuint64 size) {
  return hsaKmtRegisterMemoryWithFlags(address, size, (HsaMemFlags){.Value = 0});
}

THUNK_API HSAKMT_STATUS hsaKmtDeregisterMemory(void *address) {
  thunk_log(2, "deregister %p", address);
  pthread_rwlock_wrlock(&lock);
  allocation *a = find_start((uint64_t)address, HSA_POINTER_REGISTERED_USER);
  if (a) erase(a);
  pthread_rwlock_unlock(&lock);
  return a ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_MEMORY_NOT_REGISTERED;
}

// Makes an allocation visible to the device, or hides it.
static void set_mapped(void *address, bool mapped) {
  pthread_rwlock_wrlock(&lock);
  allocation *a = find_start((uint64_t)address, HSA_POINTER_UNKNOWN);
  if (!a) a = find((uint64_t)address, 1, false);
  if (a) a->mapped = mapped;
  atomic_fetch_add(&generation, 1);
  pthread_rwlock_unlock(&lock);
}

void memory_show(void *address, size_t bytes) {
  if (hsaKmtRegisterMemory(address, bytes) == HSAKMT_STATUS_SUCCESS) set_mapped(address, true);
}

THUNK_API HSAKMT_STATUS hsaKmtMapMemoryToGPU(void *address, HSAuint64 size, HSAuint64 *device_address) {
  (void)size;
  if (device_address) *device_address = (uint64_t)address;
  set_mapped(address, true);
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtMapMemoryToGPUNodes(void *address, HSAuint64 size, HSAuint64 *device_address,
                                                  HsaMemMapFlags flags, HSAuint64 node_count,
                                                  HSAuint32 *nodes) {
  (void)flags, (void)node_count, (void)nodes;
  return hsaKmtMapMemoryToGPU(address, size, device_address);
}

THUNK_API HSAKMT_STATUS hsaKmtUnmapMemoryToGPU(void *address) {
  set_mapped(address, false);
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtQueryPointerInfo(const void *pointer, HsaPointerInfo *info) {
  static const HSAuint32 nodes[MOST_NODES] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  memset(info, 0, sizeof *info);
  pthread_rwlock_rdlock(&lock);
  for (size_t i = first_above((uint64_t)pointer); i-- > 0;) {
    const allocation *a = &allocations[i];
    if ((uint64_t)pointer - a->start >= a->size) continue;
    info->Type = a->type;
    info->Node = a->node;
    info->MemFlags = a->flags;
    info->CPUAddress = (void *)a->start;
    info->GPUAddress = a->start;
    info->SizeInBytes = a->size;
    info->UserData = a->user_data;
    info->NMappedNodes = 1;
    info->MappedNodes = &nodes[thunk_is_gpu(a->node) ? a->node : FIRST_GPU_NODE];
    break;
  }
  pthread_rwlock_unlock(&lock);
  return HSAKMT_STATUS_SUCCESS;
}

THUNK_API HSAKMT_STATUS hsaKmtSetMemoryUserData(const void *pointer, void *user_data) {
  pthread_rwlock_wrlock(&lock);
  allocation *a = find_start((uint64_t)pointer, HSA_POINTER_UNKNOWN);
  if (a) a->user_data = user_data;
  pthread_rwlock_unlock(&lock);
  return a ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

THUNK_API HSAKMT_STATUS hsaKmtSetMemoryPolicy(HSAuint32 node, HSAuint32 policy, HSAuint32 other_policy,
                                              void *address, HSAuint64 size) {
  (void)node, (void)policy, (void)other_policy, (void)address, (void)size;
  return HSAKMT_STATUS_SUCCESS;
}
