// gathertune: the fastest known kernel for the backward pass of an interpolation, looked up at run time.
//
//     gathertune_context *context;
//     const gathertune_plan *plan;
//     gathertune_buffers buffers = {.grad_output = grad_output, .grad_input = grad_input};
//     gathertune_options options = GATHERTUNE_OPTIONS_INIT;
//     options.device = "hip"; // the device that HIP has current on this thread
//     if (gathertune_open(&options, &context) != GATHERTUNE_OK ||
//         gathertune_get_plan(context, "upsample_bilinear2d_backward:n=8,c=64,in=128x128,out=256x256,dtype=f16",
//                             0, &plan) != GATHERTUNE_OK ||
//         gathertune_execute(plan, stream, &buffers) != GATHERTUNE_OK)
//       fprintf(stderr, "%s\n", gathertune_message(context));
//     gathertune_close(context);
//
// What is looked up was found before, by `gathertune tune`, once per GPU model. Looking up needs no compiler, and
// neither Lua nor SQL once a plan has been made.
//
// This header is the manual. It can be included from C (C99) and C++, and nothing in it needs another library's header.
//
// Ownership. A context owns its plans: they are valid until it is closed, and are never freed before. Texts that
// functions return belong to the handle that they were asked of, and live as long unless it says otherwise. Texts that
// are passed in are copied.
//
// Threads. Any number of threads may use one context at a time, but for gathertune_close, which must come last. A plan
// may be executed by several threads at once.
//
// Errors. Every function that can fail returns a status; gathertune_message() has one line about the calling thread's
// last failure on that context: what was wrong, where, and what would be right. Nothing is ever printed. Running out of
// host memory ends the process.
//
// Forks. A context belongs to the process that opened it.
#ifndef GATHERTUNE_H
#define GATHERTUNE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GATHERTUNE_API __attribute__((visibility("default")))
#else
#define GATHERTUNE_API
#endif

// Of this header. The library's soname has the first number; a library of the same first number and an equal or larger
// second one does what this header says.
#define GATHERTUNE_VERSION_MAJOR 0
#define GATHERTUNE_VERSION_MINOR 1
#define GATHERTUNE_VERSION_PATCH 0

GATHERTUNE_API const char *gathertune_version(void); // of the library, "0.1.0"

typedef struct gathertune_context gathertune_context;
typedef struct gathertune_plan gathertune_plan;

// --- statuses
// ----------------------------------------------------------------------------------------------------

// X(name, number, text)
#define GATHERTUNE_STATUS_LIST(X)                                                                          \
  X(OK, 0, "ok")                                                                                           \
  X(USAGE, 1, "bad input")                                                                                 \
  X(NOT_FOUND, 2, "not found")              /* nothing in the caches, and the mode allows no more */       \
  X(UNSUPPORTED, 3, "not supported")        /* no kernel can do it, or the device cannot */                \
  X(NO_DEVICE, 4, "no such device")                                                                        \
  X(NO_LIBRARY, 5, "library not available") /* HIP, CUDA or OpenCL; every path that was tried is named */  \
  X(TEMPLATE, 6, "error in a template")                                                                    \
  X(COMPILE, 7, "kernel does not compile")                                                                 \
  X(LAUNCH, 8, "kernel does not launch")                                                                   \
  X(DEVICE_LOST, 9, "device lost")                                                                         \
  X(OUT_OF_MEMORY, 10, "out of memory")     /* of the device */                                            \
  X(WRONG_RESULT, 11, "wrong result")                                                                      \
  X(TIMEOUT, 12, "timed out")                                                                              \
  X(CRASH, 13, "process crashed")           /* a child process: this one goes on */                        \
  X(IO, 14, "input/output error")                                                                          \
  X(CORRUPT, 15, "corrupt data")                                                                           \
  X(NEWER_SCHEMA, 16, "made by a newer version")                                                           \
  X(INTERRUPTED, 17, "interrupted")                                                                        \
  X(FAILED, 18, "failed")

typedef enum {
#define X(name, number, text) GATHERTUNE_##name = number,
  GATHERTUNE_STATUS_LIST(X)
#undef X
} gathertune_status;

GATHERTUNE_API const char *gathertune_status_name(gathertune_status status); // "USAGE"; never NULL
GATHERTUNE_API const char *gathertune_status_text(gathertune_status status); // "bad input"; never NULL

// --- contexts
// ----------------------------------------------------------------------------------------------------

// What a request may do when the caches have no code object for it.
typedef enum {
  // Nothing: such a request fails with GATHERTUNE_NOT_FOUND. No process is started, and no file written.
  GATHERTUNE_MODE_LOOKUP = 0,
  // Compile the best configuration that is known, in a child process (`gathertune --worker`), and keep the code object
  // beside the last cache. Takes a tenth of a second to some seconds, once.
  GATHERTUNE_MODE_COMPILE = 1,
  // Tune a problem that was not tuned on this GPU model, in a child process (`gathertune tune`), and keep the result in
  // the last cache. Takes seconds to minutes, in which the device is also used by others if the program goes on
  // meanwhile. One process at a time tunes for a cache; others wait for it. Where tuning fails: as GATHERTUNE_MODE_COMPILE.
  GATHERTUNE_MODE_TUNE = 2
} gathertune_mode;

// How a context is opened. Begin with GATHERTUNE_OPTIONS_INIT, which also says which version of the structure this is;
// what is zero or NULL keeps its default.
typedef struct {
  size_t size; // of the structure

  // The device: "hip:0", "cuda:1", "opencl:0", … by number, as the back end counts; "hip" or "cuda": the one that the
  // program already uses, that is the calling thread's current HIP device, or the device of its current CUDA context,
  // which must be a primary one, as the CUDA runtime's always are; "auto" (the default): the first GPU, else the CPU
  // through OpenCL. NULL with a `queue`: the queue's.
  const char *device;

  // OpenCL only: a cl_command_queue (in order) whose device and context are used. NULL: the context makes its own.
  void *queue;

  // The caches, `n_caches` files, from the least to the most important: what is found in a later one is preferred to
  // the same in an earlier one, and the last one is where code objects and tuning results are kept. NULL: the system's
  // caches, then the user's. The user's is $GATHERTUNE_CACHE, else gathertune/cache.db in the XDG cache folder. The
  // system's are the files that $GATHERTUNE_SYSTEM_CACHE lists, separated by colons (empty: none), else all
  // /usr/share/gathertune/*.db in the order of their names; they are opened as immutable: nothing is written or locked
  // beside them, and a program must not change them in place (replace the file instead).
  // A cache that is missing, damaged or unreadable is passed over; gathertune_notes() says so.
  const char *const *caches;
  size_t n_caches;

  // Code objects are taken only from cache files that nobody but their owner can write to. Files whose group or others
  // may write must be named here (or in $GATHERTUNE_TRUST, separated by colons), as they are named in the list of
  // caches. From others, configurations are still used.
  const char *const *trusted;
  size_t n_trusted;

  gathertune_mode mode; // default GATHERTUNE_MODE_LOOKUP
  int trials;           // GATHERTUNE_MODE_TUNE: most configurations to try per problem; 0: 64
  double seconds;       // that one child process may take to compile (0: 120), to tune (0: 600)

  // The `gathertune` program that children run. NULL: $GATHERTUNE_PROGRAM, else the installed one, else the first on
  // the PATH.
  const char *program;
} gathertune_options;

#define GATHERTUNE_OPTIONS_INIT \
  { sizeof(gathertune_options), NULL, NULL, NULL, 0, NULL, 0, GATHERTUNE_MODE_LOOKUP, 0, 0.0, NULL }

// Opens a context; options NULL: all defaults. *context is set even when this fails, so that gathertune_message() can
// tell why, and must then be closed too; a context that did not open answers all requests with that failure.
// On HIP and CUDA it makes a stream and some events of its own; the calling thread's current device or context is as it
// was when this returns.
GATHERTUNE_API gathertune_status gathertune_open(const gathertune_options *options, gathertune_context **context);

// Unloads all kernels and frees all plans; nothing that was executed may still be running, and no graph that has its
// kernels may be launched again. Harmless on NULL.
GATHERTUNE_API void gathertune_close(gathertune_context *context);

// One line about the calling thread's last failure on this context; "" when it had none. Valid until the thread's next
// failure.
GATHERTUNE_API const char *gathertune_message(const gathertune_context *context);

// What was passed over at opening, one line each ("" when nothing): caches that could not be read, and those that no
// code is taken from.
GATHERTUNE_API const char *gathertune_notes(const gathertune_context *context);

// The GPU model that configurations are looked up for, "hip / AMD Instinct MI300X / gfx942:sramecc+:xnack- / 304".
GATHERTUNE_API const char *gathertune_model(const gathertune_context *context);

// --- plans
// -------------------------------------------------------------------------------------------------------

// Flags of a request.
enum {
  // Only kernels that give the same bits in every run, whatever they take: where those that won do not, the
  // best of what was tried that do.
  // Their code objects are in the caches, beside the winners', and in what is exported of them.
  GATHERTUNE_DETERMINISTIC = 1
};

// The plan of a problem, in the grammar of every gathertune tool:
//
//     OPERATOR:key=value,…
//     upsample_bilinear2d_backward:n=8,c=64,in=128x128,out=256x256,dtype=f16,layout=nchw,align_corners=0,scale=2x2
//
// OPERATOR is ATen's name. n, c: batch and channels; in, out: spatial sizes of grad_input and grad_output; dtype: f32,
// f16, bf16, f64; layout: nchw (default), nhwc; stride: of a grad_output with gaps, in elements, as PyTorch's stride();
// `gathertune lookup --help` has the rest. Different texts of one problem give the same plan.
//
// The first request of a problem looks into the caches, loads a code object, and may do what the mode allows. Later ones
// take a tenth of a microsecond, take no lock and allocate nothing. Failures that would come again (NOT_FOUND,
// UNSUPPORTED, COMPILE, USAGE) are remembered as well. First requests of several threads take turns. One must not be made while the calling thread
// captures a graph.
//
// The lookup goes from the problem itself to the same problem with another outer count (batch, or batch · channels), to
// the same tuned on other sampling positions (`grid=`, of which none comes first), to the tuned problems most like it,
// whose configurations are rated by their times there; the same on GPU models of the same architecture and number of
// compute units; last the default by rule.
//
// What was tuned with other templates than this library has, or with another compiler than the device has now, is
// stale, and is served all the same: in GATHERTUNE_MODE_LOOKUP from its stored code object. The other modes compile it
// anew, run that in a child process on poisoned memory and compare the result with a float64 reference, as tuning does,
// and serve it when it is right; the last cache remembers what came of it, so that this is done once for a GPU model,
// driver, runtime and compiler. What fails its check, and whose configuration the templates do not have any more, is
// passed over for the next answer (GATHERTUNE_MODE_TUNE: and tuned again). Where it cannot be checked, because the
// device has no memory left for it, say, it is served from its stored code object. gathertune_describe() tells all
// this; so do `gathertune list --stale`, `explain` and `doctor`.
//
// *plan is NULL on failure.
GATHERTUNE_API gathertune_status gathertune_get_plan(gathertune_context *context, const char *problem, unsigned flags,
                                                     const gathertune_plan **plan);

typedef enum {
  GATHERTUNE_EXACT = 0,   // tuned for exactly this problem
  GATHERTUNE_NEAR = 1,    // taken from another problem
  GATHERTUNE_DEFAULT = 2, // by rule: nothing alike was tuned
  GATHERTUNE_EMPTY = 3    // no elements: executing it does nothing
} gathertune_origin;
GATHERTUNE_API const char *gathertune_origin_name(gathertune_origin origin); // "exact"; never NULL

// A tensor of a plan's problem. `name` is that of its member of gathertune_buffers, below, and `offset` where that member
// is in the structure, for programs that fill it in a loop.
typedef struct {
  const char *name; // "grad_output"
  size_t offset;    // bytes
  uint64_t bytes;   // from its first element to just past its last one, gaps included
  size_t alignment; // of its address: bytes, a power of two
  int is_result;    // whether it is written; the others are read only
} gathertune_tensor;

// What there is to know about a plan. Texts and lists live as long as the plan; "" where there is none.
typedef struct {
  size_t size; // of the structure, to be set by the caller: fields beyond it are not written
  gathertune_origin origin;
  const char *problem;       // canonical text
  const char *from_problem;  // exact, near: that the configuration was tuned for
  const char *from_model;    // exact, near: that it was tuned on, in the form of gathertune_model()
  const char *from_cache;    // exact, near: the file that it was found in
  const char *configuration; // "taps:vx=4,vy=2,…"
  double expected_us;        // microseconds, cold caches; 0: not known. Of `near` an estimate
  int reproducible;          // whether every run gives the same bits
  uint64_t workspace_bytes;  // that gathertune_execute needs
  int launches;              // kernels that it launches
  int n_tensors;             // that it reads and writes; those that are read come first
  const gathertune_tensor *tensors;
  int stale;        // exact, near of the same kernels: whether template or compiler have changed since it was tuned
  const char *note; // one line: how it is stale and what was done about it, what was passed over for being
                    // stale, and why GATHERTUNE_MODE_TUNE did not tune it
} gathertune_plan_info;
// A plan's `stale` and `note` are found out when they are first asked for where the mode is GATHERTUNE_MODE_LOOKUP: that
// takes some milliseconds, and a lock. Callers whose `size` ends before them are not concerned.
GATHERTUNE_API void gathertune_describe(const gathertune_plan *plan, gathertune_plan_info *info);

GATHERTUNE_API uint64_t gathertune_workspace(const gathertune_plan *plan); // bytes

// The memory that a plan works on, as addresses on the device. Those are needed that the plan's problem has
// (gathertune_plan_info.tensors), and the workspace where gathertune_workspace() is not 0; the others are not looked at.
// Zero them, and what later versions add: = {.grad_output = …} in C, = {} in C++, do.
//
// The structure has no size in it, since the library never reads all of it: a plan reads its own members and no more.
// Later versions add members at the end, for operators that they add.
typedef struct {
  const void *grad_output, *input, *grid; // all of it as the problem says; read only
  void *grad_input, *grad_grid;           // dense; every element is written, so they must not overlap with anything
  void *workspace; // gathertune_workspace() bytes, 256-byte aligned, for the duration of an execution; what it holds before
                   // and after means nothing
} gathertune_buffers;

// Computes a problem's results, asynchronously, in the order of the stream. `buffers` is read before it returns.
//
// stream       hipStream_t, CUstream (cudaStream_t) or cl_command_queue. NULL: the default stream of HIP and CUDA;
//              OpenCL: the queue that the context was opened with, or its own.
//
// OpenCL: the addresses are of coarse-grained shared virtual memory (clSVMAlloc) of the queue's context. clSVMAlloc aligns
// by 128 bytes at most: where a workspace needs 256, allocate as many more and round its address up.
//
// It does not allocate, wait, lock or log (the driver may; on OpenCL, threads that execute one plan wait for each other
// while its arguments are set), leaves the calling thread's current device as it is, and may be captured in a HIP or
// CUDA graph, which is then valid until the context is closed. GATHERTUNE_USAGE for an address that is needed and is NULL
// or misaligned, GATHERTUNE_LAUNCH when the driver refuses the launch. Faults of running kernels show on the stream, as
// ever.
GATHERTUNE_API gathertune_status gathertune_execute(const gathertune_plan *plan, void *stream,
                                                    const gathertune_buffers *buffers);

#ifdef __cplusplus
}
#endif

#endif
