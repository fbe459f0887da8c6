// Opening a shared library at run time, and filling a table with its functions.
#ifndef GT_DEVICE_LIBRARY_H
#define GT_DEVICE_LIBRARY_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  const char *name;        // as the library exports it
  const char *alternative; // an older name of the same function, or NULL
  size_t offset;           // in the table, of the function pointer
  bool required;           // a library without it is passed over; an optional one stays NULL
} gt_symbol;

typedef struct {
  const char *title;        // "the HIP runtime", for messages
  const char *const *names; // in order of preference; NULL ends the list
  const char *const
      *folders; // where to look after the system's own search path, in order; NULL ends the list. One that
                // begins "$NAME/" is under the folder that environment variable names, if it is set.
} gt_library;

// Opens the first library of the list that has all required symbols, and fills the table with their
// addresses. A library that the process has loaded already comes first, wherever it came from. The library
// stays open for good. GT_NO_LIBRARY names every path that was tried, and why those that exist did not do.
gt_status gt_library_open(const gt_library *library, const gt_symbol *symbols, size_t count, void *table,
                          gt_error *error);

// The path of the file that has this function in it; "?" when unknown.
const char *gt_library_path(const void *function);

#endif
