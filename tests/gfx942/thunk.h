// What the parts of the stand-in for libhsakmt.so.1 share. libhsakmt is the thunk between AMD's ROCr runtime
// and the Linux kernel's driver; here it serves one CPU node and emulated MI300X, all in this process.
#ifndef GFX942_THUNK_H
#define GFX942_THUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <hsakmt/hsakmttypes.h>

#define THUNK_API __attribute__((visibility("default")))

enum { CPU_NODE, FIRST_GPU_NODE, MOST_GPUS = 8, MOST_NODES = FIRST_GPU_NODE + MOST_GPUS };
enum { GPU_COMPUTE_UNITS = 304, GPU_SIMDS_PER_UNIT = 4 };

// thunk_topology.c: the machine that is reported, and the environment's knobs.

// Nodes that there are: the CPU's, then those of the GPUs.
uint32_t thunk_nodes(void);
bool thunk_is_gpu(uint32_t node);
// Bytes of each device's memory.
uint64_t thunk_device_memory(void);
// Host threads that run a kernel.
int thunk_threads(void);
// Dies (XCDs) of each device.
int thunk_dies(void);
uint64_t thunk_schedule(void); // of the next dispatch, another one each time; 0: in order
// Writes a line to stderr if GFX942_LOG is at least `level` (1: kernels and refusals, 2: also memory,
// queues and packets, 3: also code).
void thunk_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Writes "gfx942 emulation: ..." to stderr and aborts, as ROCr does when the device faults.
_Noreturn void thunk_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

// thunk_queue.c: what a program may ask for that finds this function (dlsym), which no real thunk has.

// The traffic with global memory, in bytes, of the kernels that have ended since the last call: four values
// of what they read, then four of what they wrote (atomics included). Of each: asked for by lanes; lines of
// single wave instructions; distinct lines of each workgroup; distinct lines of each die and kernel (see
// gfx_traffic). Nothing is counted before the first call, since with counting kernels take half as long
// again.
THUNK_API void gfx942_traffic(uint64_t bytes[8]);

// thunk_memory.c: allocations.

// Whether a kernel may touch all of [address, address + bytes). Of type gfx_may_access; any thread may call
// it.
bool memory_may_access(void *context, uint64_t address, size_t bytes);
// Lets kernels touch memory that is not an allocation.
void memory_show(void *address, size_t bytes);
// The address last refused to this process's kernels; 0 if none was.
uint64_t memory_refused_address(void);
// Says in words where an address lies in relation to the allocations.
void memory_describe(uint64_t address, char *text, size_t size);
// Whether memory for code was freed since the last call, so that other code may be at old addresses.
bool memory_code_may_have_changed(void);

// thunk_event.c: the driver's events.

// Sets event `id` and wakes who waits for it.
void event_set(uint32_t id);

// thunk_clock.c: the device's clock, in nanoseconds.

// The first time stamp. It lies well above zero, since the runtime takes 0 for "none".
#define CLOCK_START ((uint64_t)1000 * 1000 * 1000)

// Tells the clock of a packet's time stamp.
void clock_reached(uint64_t nanoseconds);
// The latest time stamp so far.
uint64_t clock_latest(void);

#endif
