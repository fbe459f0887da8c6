#include "cli/traffic.h"

#include <inttypes.h>

#include "generator/tensors.h"

typedef struct {
  uint64_t read, written; // bytes
} way;

static way least_of(const gt_problem *problem) {
  gt_tensor tensors[GT_TENSORS];
  int count = gt_problem_tensors(problem, tensors);
  way least = {0};
  for (int i = 0; i < count; i++) {
    uint64_t bytes = (uint64_t)(tensors[i].slice * gt_problem_outer(problem)) * gt_dtype_bytes(problem->dtype);
    *(tensors[i].is_result ? &least.written : &least.read) += bytes;
  }
  return least;
}

static json_t *moved_json(const gt_moved *moved) {
  return json_pack("{s:I, s:I, s:I, s:I}", "lanes", (json_int_t)moved->lanes, "waves",
                   (json_int_t)moved->waves, "blocks", (json_int_t)moved->blocks, "dies",
                   (json_int_t)moved->dies);
}

json_t *gt_traffic_json(const gt_traffic *traffic, const gt_problem *problem) {
  way least = least_of(problem);
  return json_pack("{s:{s:I, s:I}, s:o, s:o}", "least", "read", (json_int_t)least.read, "written",
                   (json_int_t)least.written, "read", moved_json(&traffic->read), "written",
                   moved_json(&traffic->written));
}

void gt_traffic_print(const gt_traffic *traffic, const gt_problem *problem, const char *device,
                      gt_buffer *text) {
  way least = least_of(problem);
  const gt_moved *read = &traffic->read, *written = &traffic->written;
  const struct {
    const char *place;
    way bytes;
  } lines[] = {{"lanes", {read->lanes, written->lanes}},
               {"waves", {read->waves, written->waves}},
               {"blocks", {read->blocks, written->blocks}},
               {"dies", {read->dies, written->dies}}};
  gt_buffer_print(text, "\ntraffic of one run on %s\n", device);
  gt_buffer_print(text, "  %-15sread %" PRIu64 ", written %" PRIu64 " bytes\n", "least", least.read,
                  least.written);
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    const way *bytes = &lines[i].bytes;
    gt_buffer_print(text, "  %-15sread %.2f, written %.2f, together %.2f of the least\n", lines[i].place,
                    (double)bytes->read / (double)least.read, (double)bytes->written / (double)least.written,
                    (double)(bytes->read + bytes->written) / (double)(least.read + least.written));
  }
}
