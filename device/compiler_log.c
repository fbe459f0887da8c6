#include "device/compiler_log.h"

#include <stdio.h>
#include <string.h>

const char *gt_compiler_log_error(const gt_buffer *log, char *line, size_t size) {
  const char *text = log->data && log->length ? log->data : "no log";
  const char *error = strstr(text, "error");
  const char *from = error ? error : text + strspn(text, " \n");
  while (from > text && from[-1] != '\n') from--;
  size_t length = strcspn(from, "\n");
  // "/tmp/folder/of/this/run/kernel.hip:1:43: error: ...": the folders differ from run to run.
  size_t file = strcspn(from, ": \n");
  while (*from == '/' && file > 0 && from[file - 1] != '/') file--;
  if (*from != '/') file = 0;
  snprintf(line, size, "%.*s", (int)(length - file), from + file);
  return line;
}
