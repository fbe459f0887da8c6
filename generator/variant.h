// What a configuration renders to: a source text, the launches to make of it and the workspace that they need.
#ifndef GT_GENERATOR_VARIANT_H
#define GT_GENERATOR_VARIANT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/status.h"

#define GT_MAX_LAUNCHES 8
#define GT_KERNEL_NAME 64

// One kernel launch. The number of blocks follows from the outer count alone, so that one kernel serves every batch size:
// blocks = ceil(outer · blocks_num / blocks_den).
typedef struct {
  char kernel[GT_KERNEL_NAME]; // name in the source
  uint32_t block[3];           // threads per block
  int64_t blocks_num, blocks_den;
} gt_launch_rule;

typedef struct {
  char *configuration; // canonical text, "taps:block=256,vx=4,vy=8"
  char *family;
  char *source; // complete text for the compiler
  char source_hash[GT_HASH_SIZE];
  gt_launch_rule launches[GT_MAX_LAUNCHES];
  int n_launches;
  int64_t workspace_fixed, workspace_per_outer; // bytes = fixed + outer · per_outer
  bool reproducible;                            // whether two runs give the same bits by construction
} gt_variant;

void gt_variant_free(gt_variant *variant); // harmless on a zeroed variant

// The grid of a launch for an outer count, in blocks. Kernels take the linear block number blockIdx.y · gridDim.x + blockIdx.x,
// which may lie past the last block. GT_UNSUPPORTED when it is more than a device can number.
gt_status gt_launch_grid(const gt_launch_rule *rule, int64_t outer, uint32_t grid[3], gt_error *error);

int64_t gt_variant_workspace(const gt_variant *variant, int64_t outer); // bytes

// Everything of a variant that is needed to launch its code object (not the source), as JSON and back.
// from_json: GT_CORRUPT on anything that gt_variant_to_json would not have written.
json_t *gt_variant_to_json(const gt_variant *variant);
gt_status gt_variant_from_json(const json_t *json, gt_variant *variant, gt_error *error);

#endif
