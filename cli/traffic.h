// What a report says of a kernel's traffic with global memory, where the device counts it.
#ifndef GT_CLI_TRAFFIC_H
#define GT_CLI_TRAFFIC_H

#include <jansson.h>

#include "base/buffer.h"
#include "device/device.h"
#include "generator/problem.h"

// The least that any kernel moves: everything that it is given read once, all results written once.
json_t *gt_traffic_json(const gt_traffic *traffic, const gt_problem *problem);
void gt_traffic_print(const gt_traffic *traffic, const gt_problem *problem, const char *device,
                      gt_buffer *text);

#endif
