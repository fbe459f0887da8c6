// Status codes and error texts: every function that can fail returns a gt_status and fills the caller's gt_error.
#ifndef GT_BASE_STATUS_H
#define GT_BASE_STATUS_H

// X(name, text). One list yields the codes, their names and their texts.
#define GT_STATUS_LIST(X)                                                                                    \
  X(OK, "ok")                                                                                                \
  X(USAGE, "bad input")                                                                                      \
  X(NOT_FOUND, "not found")                                                                                  \
  X(UNSUPPORTED, "not supported")                                                                            \
  X(NO_DEVICE, "no such device")                                                                             \
  X(NO_LIBRARY, "library not available")                                                                     \
  X(TEMPLATE, "error in a template")                                                                         \
  X(COMPILE, "kernel does not compile")                                                                      \
  X(LAUNCH, "kernel does not launch")                                                                        \
  X(DEVICE_LOST, "device lost")                                                                              \
  X(OUT_OF_MEMORY, "out of memory")                                                                          \
  X(WRONG_RESULT, "wrong result")                                                                            \
  X(TIMEOUT, "timed out")                                                                                    \
  X(CRASH, "process crashed")                                                                                \
  X(IO, "input/output error")                                                                                \
  X(CORRUPT, "corrupt data")                                                                                 \
  X(NEWER_SCHEMA, "made by a newer version")                                                                 \
  X(INTERRUPTED, "interrupted")                                                                              \
  X(FAILED, "failed")

typedef enum {
#define X(name, text) GT_##name,
  GT_STATUS_LIST(X)
#undef X
} gt_status;

// An error: its code and one line that says what was wrong, where, and what would be right.
typedef struct {
  gt_status status;
  char text[1024];
} gt_error;

// "USAGE", "bad input". Never NULL.
const char *gt_status_name(gt_status status);
const char *gt_status_text(gt_status status);

// The status that gt_status_name() names, or GT_FAILED when none has that name.
gt_status gt_status_from_name(const char *name);

// Fills *error (when not NULL) with one line, whatever the arguments hold (gt_utf8_make_line), and returns
// `status`, so that a function can end with `return gt_fail(...)`.
gt_status gt_fail(gt_error *error, gt_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// The exit code for a failure: 2 for bad input, 1 for everything else, 0 for GT_OK.
int gt_exit_code(gt_status status);

#endif
