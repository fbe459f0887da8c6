#include "cli/suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/command.h"

void gt_suite_add(gt_suite *suite, const gt_problem *problem, int64_t calls) {
  char text[GT_PROBLEM_TEXT], other[GT_PROBLEM_TEXT];
  gt_problem_print(problem, text);
  for (size_t i = 0; i < suite->count; i++) {
    gt_problem_print(&suite->problems[i], other);
    if (strcmp(text, other) != 0) continue;
    suite->calls[i] += calls;
    return;
  }
  if (suite->count == suite->capacity) {
    suite->capacity = suite->capacity ? 2 * suite->capacity : 32;
    suite->problems = gt_realloc(suite->problems, suite->capacity * sizeof *suite->problems);
    suite->calls = gt_realloc(suite->calls, suite->capacity * sizeof *suite->calls);
  }
  suite->calls[suite->count] = calls;
  suite->problems[suite->count++] = *problem;
}

bool gt_suite_has_calls(const gt_suite *suite) {
  for (size_t i = 0; i < suite->count; i++)
    if (suite->calls[i]) return true;
  return false;
}

// Whether a problem's text names an operator that another version may know: a name of lower-case letters,
// digits and underscores that ends as ATen's backwards do.
static bool is_unknown_operator(const char *text, char name[64]) {
  size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
  static const char ending[] = "_backward";
  if (text[length] != ':' || length >= 64 || length < sizeof ending) return false;
  memcpy(name, text, length);
  name[length] = 0;
  return strcmp(name + length - (sizeof ending - 1), ending) == 0 && !gt_operator_find(name);
}

static char *trim(char *line) {
  line[strcspn(line, "#")] = 0;
  line += strspn(line, " \t\r");
  size_t length = strlen(line);
  while (length && strchr(" \t\r", line[length - 1])) line[--length] = 0;
  return line;
}

// What stands behind a problem: nothing, or the number of its calls.
static gt_status read_calls(const char *text, int64_t *calls, gt_error *error) {
  static const char key[] = "calls=";
  *calls = 0;
  if (!*text) return GT_OK;
  if (strncmp(text, key, sizeof key - 1) != 0)
    return gt_fail(error, GT_USAGE, "behind a problem stands calls=NUMBER or nothing, not '%.100s'", text);
  const char *number = text + sizeof key - 1;
  size_t digits = strspn(number, "0123456789");
  long long value = digits && digits < 16 && !number[digits] ? atoll(number) : 0;
  if (value < 1 || value > GT_MOST_CALLS)
    return gt_fail(error, GT_USAGE, "calls= takes a whole number of 1 to %lld, not '%.100s'",
                   (long long)GT_MOST_CALLS, number);
  *calls = value;
  return GT_OK;
}

gt_status gt_suite_read(gt_suite *suite, const char *path, bool skip_unknown) {
  gt_buffer file = {0};
  gt_status status = GT_OK;
  errno = 0;
  if (!gt_buffer_read_file(&file, path)) {
    gt_complain("cannot read suite %s: %s", path, strerror(errno));
    status = GT_USAGE;
    goto done;
  }
  size_t number = 0;
  char *next = file.data;
  // A zero byte would hide the rest of the file.
  if (strlen(file.data) != file.length) {
    gt_complain("suite %s is not a text file", path);
    status = GT_USAGE;
    goto done;
  }
  while (next && *next) {
    char *line = next, *end = strchr(line, '\n');
    if (end) *end = 0;
    next = end ? end + 1 : NULL;
    number++;
    line = trim(line);
    if (!*line) continue;
    gt_problem problem;
    gt_error error = {0};
    char name[64], *behind = line + strcspn(line, " \t");
    int64_t calls;
    if (*behind) *behind++ = 0;
    behind += strspn(behind, " \t");
    if (is_unknown_operator(line, name) && skip_unknown) {
      gt_complain("%s:%zu: left out: this version does not know %s", path, number, name);
      suite->unknown++;
    } else if (gt_problem_parse(line, &problem, &error) == GT_OK &&
               read_calls(behind, &calls, &error) == GT_OK)
      gt_suite_add(suite, &problem, calls);
    else {
      gt_complain("%s:%zu: %s", path, number, error.text);
      status = GT_USAGE;
    }
  }
done:
  gt_buffer_free(&file);
  return status;
}

void gt_suite_free(gt_suite *suite) {
  free(suite->problems);
  free(suite->calls);
  *suite = (gt_suite){0};
}
