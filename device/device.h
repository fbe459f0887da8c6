// Devices: one small table of functions per back end. Everything happens in order on one stream per open device.
#ifndef GT_DEVICE_DEVICE_H
#define GT_DEVICE_DEVICE_H

#include "base/buffer.h"
#include "base/status.h"
#include "device/fingerprint.h"

#define GT_BACKEND_VERSION 4
#define GT_MAX_EVENTS 8

typedef struct gt_device gt_device;
typedef struct gt_module gt_module; // a loaded code object
typedef struct gt_kernel gt_kernel; // belongs to its module
typedef struct gt_graph gt_graph;   // launches that were captured; ends before the modules of its kernels
typedef uint64_t gt_address;        // of device memory; byte arithmetic is legal

// What the compiler and the loader say about a kernel; -1 where unknown.
typedef struct {
  int registers;     // vector registers per thread
  int lds_bytes;     // static group memory per block
  int scratch_bytes; // private memory per thread (spills and arrays)
  int max_threads;   // per block
} gt_kernel_info;

// Kernel parameters: all pointers, then all 64-bit integers.
typedef struct {
  gt_address pointers[8];
  int n_pointers;
  int64_t integers[4];
  int n_integers;
} gt_arguments;

// Bytes that kernels move from or to global memory, counted at four places, each nearer to the memory.
typedef struct {
  uint64_t lanes;  // what threads ask for
  uint64_t waves;  // cache lines that instructions of a wave touch: without any cache
  uint64_t blocks; // distinct lines of each block: with a first-level cache that keeps everything, for each block
  uint64_t dies;   // distinct lines of each die and kernel: with a last-level cache of the die that keeps everything
} gt_moved;

typedef struct {
  gt_moved read, written; // atomics are written
} gt_traffic;

typedef struct {
  unsigned version; // GT_BACKEND_VERSION
  const char *name; // "hip"
  gt_target target;
  const char *compile_options; // part of a code object's identity
  bool compiles_alone;         // compiling needs no open device, and depends on compiler and architecture alone
  bool executes;               // false: launches compute nothing, times are scripted (recorded)

  // Number of devices, 0 or more. GT_NO_LIBRARY: names every path that was tried.
  gt_status (*count)(int *count, gt_error *error);
  // GT_NO_DEVICE when there is no device of that index.
  gt_status (*open)(int index, gt_device **device, gt_error *error);
  void (*close)(gt_device *device);
  gt_status (*fingerprint)(gt_device *device, gt_fingerprint *fingerprint, gt_error *error);

  // Compiles a source for an architecture, without a device where the back end can (device may be NULL for hip and cuda).
  // `log` receives the compiler's words, also on success. GT_COMPILE when the source is refused. The compiler may crash
  // or hang the process: call it in a worker process only.
  gt_status (*compile)(gt_device *device, const char *arch, const char *source, gt_buffer *code, gt_buffer *log,
                       gt_error *error);

  gt_status (*load)(gt_device *device, const void *code, size_t size, gt_module **module, gt_error *error);
  void (*unload)(gt_device *device, gt_module *module);
  gt_status (*kernel)(gt_device *device, gt_module *module, const char *name, gt_kernel **kernel, gt_error *error);
  gt_status (*kernel_info)(gt_device *device, gt_kernel *kernel, gt_kernel_info *info, gt_error *error);

  gt_status (*allocate)(gt_device *device, size_t bytes, gt_address *address, gt_error *error); // 256-byte aligned
  void (*release)(gt_device *device, gt_address address);
  gt_status (*free_memory)(gt_device *device, uint64_t *bytes, gt_error *error);
  // Copies are complete when they return.
  gt_status (*write)(gt_device *device, gt_address to, const void *from, size_t bytes, gt_error *error);
  gt_status (*read)(gt_device *device, void *to, gt_address from, size_t bytes, gt_error *error);
  gt_status (*copy)(gt_device *device, gt_address to, gt_address from, size_t bytes, gt_error *error); // asynchronous
  gt_status (*fill)(gt_device *device, gt_address to, uint32_t word, size_t bytes, gt_error *error);   // bytes % 4 == 0

  // Launches are asynchronous. grid is in blocks.
  gt_status (*launch)(gt_device *device, gt_kernel *kernel, const uint32_t grid[3], const uint32_t block[3],
                      const gt_arguments *arguments, gt_error *error);
  gt_status (*synchronize)(gt_device *device, gt_error *error); // reports faults of earlier launches
  // Marks a point in the stream, in one of GT_MAX_EVENTS slots; the time between two marks, in microseconds (waits).
  gt_status (*mark)(gt_device *device, int slot, gt_error *error);
  gt_status (*elapsed)(gt_device *device, int from, int to, double *microseconds, gt_error *error);

  // Optional, all four or none (then NULL): graphs, whose launches follow each other without the host's doing.
  // From capture on, launches are kept instead of done, and nothing but launch may be called until captured, which makes
  // a graph of them and ends the capture in any case. GT_UNSUPPORTED when the driver that is there has no graphs: whoever
  // captures can launch plainly after any failure but GT_DEVICE_LOST. A kernel should have been launched plainly before:
  // drivers may load it only then, which a capture may not allow.
  gt_status (*capture)(gt_device *device, gt_error *error);
  gt_status (*captured)(gt_device *device, gt_graph **graph, gt_error *error);
  gt_status (*replay)(gt_device *device, gt_graph *graph, gt_error *error); // asynchronous, as often as is wanted
  void (*drop)(gt_device *device, gt_graph *graph);                         // after its last replay has ended

  // Optional: the traffic of the kernels that have ended since the last call; kernels before the first call count nowhere,
  // and from it on they may be slower. GT_UNSUPPORTED where the device does not count, as real ones do not.
  gt_status (*traffic)(gt_device *device, gt_traffic *traffic, gt_error *error);

  // Optional: what the device's sensors say at this moment.
  gt_readings (*readings)(gt_device *device);
} gt_backend;

// The back ends of this build, in the order in which `auto` prefers them: hip, cuda, opencl; then recorded.
size_t gt_backend_count(void);
const gt_backend *gt_backend_at(size_t index);
const gt_backend *gt_backend_find(const char *name); // NULL when unknown
// Why a known back end is not in this build and how to get it, or NULL when it is. ("built without HIP headers: install …")
const char *gt_backend_missing(const char *name);

// An open device and its back end.
typedef struct {
  const gt_backend *backend;
  gt_device *device;
  char name[32]; // "hip:0"
  gt_fingerprint fingerprint;
} gt_open_device;

// Opens a device by name: "hip:0", "cuda:1", "opencl:0", "recorded:FILE", or "auto": the first GPU, else OpenCL on the CPU.
// GT_USAGE for a name that is no device name; GT_NO_DEVICE with everything that was looked for.
gt_status gt_device_open(const char *name, gt_open_device *open, gt_error *error);
void gt_device_close(gt_open_device *open); // harmless on a zeroed one

#endif
