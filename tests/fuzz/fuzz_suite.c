// A suite file: every bad line is told by file and number; what is accepted, written down, is the same suite.
#include <stdio.h>
#include <string.h>

#include "cli/suite.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_mutations = 200;

// Complaints are whole lines, each with the file's name and nothing that a terminal would obey.
static void check_complaints(const gt_buffer *complaints, const char *path) {
  const char *line = complaints->data;
  while (*line) {
    const char *end = strchr(line, '\n');
    REQUIRE(end, "a complaint that does not end: %s", line);
    const char *named = strstr(line, path);
    REQUIRE(strncmp(line, "gathertune: ", 12) == 0 && named && named < end,
            "a complaint that names no file: %s", line);
    for (const char *at = line; at < end; at++)
      REQUIRE((unsigned char)*at >= ' ' && *at != 127, "a complaint with control characters: %s", line);
    line = end + 1;
  }
}

static void print_suite(const gt_suite *suite, gt_buffer *text) {
  char line[GT_PROBLEM_TEXT];
  for (size_t i = 0; i < suite->count; i++) {
    gt_problem_print(&suite->problems[i], line);
    gt_buffer_print(text, "%s\n", line);
  }
}

// Reads a file; *text receives what was read of it, as a suite file.
static gt_status read_suite(const char *path, bool skip_unknown, gt_buffer *text, gt_buffer *complaints) {
  gt_suite suite = {0};
  gt_buffer output;
  fuzz_hear();
  gt_status status = gt_suite_read(&suite, path, skip_unknown);
  fuzz_heard(&output, complaints);
  REQUIRE(output.length == 0, "a suite that is read prints: %s", output.data);
  REQUIRE(status == GT_OK || status == GT_USAGE, "a suite is refused as %s", gt_status_name(status));
  REQUIRE(status == GT_OK || complaints->length, "a suite is refused without a word");
  REQUIRE(suite.unknown == 0 || complaints->length, "a line is left out without a word");
  print_suite(&suite, text);
  gt_suite_free(&suite);
  gt_buffer_free(&output);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_path("input.txt"), *other = fuzz_path("again.txt");
  gt_buffer text = {0}, again = {0}, complaints;
  bool skip_unknown = size % 2;
  fuzz_write(path, data, size);
  gt_status status = read_suite(path, skip_unknown, &text, &complaints);
  check_complaints(&complaints, path);
  gt_buffer_free(&complaints);
  fuzz_same(path, data, size, "reading it");
  if (status == GT_OK) {
    fuzz_write(other, text.data, text.length);
    status = read_suite(other, false, &again, &complaints);
    REQUIRE(status == GT_OK && complaints.length == 0, "a suite that was written down is refused: %s",
            complaints.data);
    REQUIRE(text.length == again.length && (text.length == 0 || strcmp(text.data, again.data) == 0),
            "a suite that was written down is another one:\n%s\n%s", text.data, again.data);
    gt_buffer_free(&complaints);
  }
  gt_buffer_free(&text);
  gt_buffer_free(&again);
  return 0;
}
