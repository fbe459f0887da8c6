#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const struct {
  const char *name, *text;
} statuses[] = {
#define X(name, text) {#name, text},
    GT_STATUS_LIST(X)
#undef X
};

enum { STATUS_COUNT = sizeof statuses / sizeof statuses[0] };

const char *gt_status_name(gt_status status) {
  return (unsigned)status < STATUS_COUNT ? statuses[status].name : "FAILED";
}

const char *gt_status_text(gt_status status) {
  return (unsigned)status < STATUS_COUNT ? statuses[status].text : "failed";
}

gt_status gt_status_from_name(const char *name) {
  for (int i = 0; i < STATUS_COUNT; i++)
    if (name && strcmp(name, statuses[i].name) == 0) return (gt_status)i;
  return GT_FAILED;
}

gt_status gt_fail(gt_error *error, gt_status status, const char *format, ...) {
  if (!error) return status;
  // Formatted aside first, since an argument may be the very text that is replaced.
  char text[sizeof error->text];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  gt_utf8_make_line(text);
  memcpy(error->text, text, sizeof text);
  error->status = status;
  return status;
}

int gt_exit_code(gt_status status) { return status == GT_OK ? 0 : status == GT_USAGE ? 2 : 1; }
