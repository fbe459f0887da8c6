#include "generator/variant.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "generator/configuration.h"

// HIP takes fewer than 2^32 threads along x; with blocks of up to 1024 threads 2^21 blocks stay well below.
enum { GRID_X_LIMIT = 1 << 21, GRID_Y_LIMIT = 65535 };

void gt_variant_free(gt_variant *variant) {
  free(variant->configuration);
  free(variant->family);
  free(variant->source);
  *variant = (gt_variant){0};
}

gt_status gt_launch_grid(const gt_launch_rule *rule, int64_t outer, uint32_t grid[3], gt_error *error) {
  grid[0] = grid[1] = grid[2] = 0;
  if (outer < 0 || rule->blocks_num < 0 || rule->blocks_den < 1)
    return gt_fail(error, GT_USAGE, "kernel %s: no grid for outer %lld and blocks %lld/%lld", rule->kernel,
                   (long long)outer, (long long)rule->blocks_num, (long long)rule->blocks_den);
  __int128 blocks = (__int128)outer * rule->blocks_num; // below 2^126, so adding the divisor cannot overflow
  blocks = (blocks + rule->blocks_den - 1) / rule->blocks_den;
  if (blocks == 0) return GT_OK;
  __int128 rows = (blocks + GRID_X_LIMIT - 1) / GRID_X_LIMIT;
  if (rows > GRID_Y_LIMIT)
    return gt_fail(error, GT_UNSUPPORTED, "kernel %s: outer %lld times %lld/%lld is more than %lld blocks",
                   rule->kernel, (long long)outer, (long long)rule->blocks_num, (long long)rule->blocks_den,
                   (long long)GRID_X_LIMIT * GRID_Y_LIMIT);
  grid[0] = (uint32_t)((blocks + rows - 1) / rows); // rows of equal length leave the fewest blocks idle
  grid[1] = (uint32_t)rows;
  grid[2] = 1;
  return GT_OK;
}

int64_t gt_variant_workspace(const gt_variant *variant, int64_t outer) {
  int64_t bytes;
  if (__builtin_mul_overflow(outer, variant->workspace_per_outer, &bytes) ||
      __builtin_add_overflow(bytes, variant->workspace_fixed, &bytes))
    return INT64_MAX; // no allocation of that size succeeds
  return bytes;
}

json_t *gt_variant_to_json(const gt_variant *variant) {
  json_t *launches = json_array();
  for (int i = 0; i < variant->n_launches; i++) {
    const gt_launch_rule *rule = &variant->launches[i];
    json_array_append_new(launches, json_pack("{s:s, s:[I,I,I], s:[I,I]}", "kernel", rule->kernel, "block",
                                              (json_int_t)rule->block[0], (json_int_t)rule->block[1],
                                              (json_int_t)rule->block[2], "blocks",
                                              (json_int_t)rule->blocks_num, (json_int_t)rule->blocks_den));
  }
  return json_pack("{s:s, s:s, s:o, s:[I,I], s:b, s:s}", "configuration", variant->configuration, "family",
                   variant->family, "launches", launches, "workspace", (json_int_t)variant->workspace_fixed,
                   (json_int_t)variant->workspace_per_outer, "reproducible", (int)variant->reproducible,
                   "source_hash", variant->source_hash);
}

static gt_status corrupt(gt_error *error, const char *what) {
  return gt_fail(error, GT_CORRUPT, "stored variant: %s", what);
}

// Reads an array of exactly n integers, each within minimum … maximum.
static bool read_integers(const json_t *array, size_t n, int64_t minimum, int64_t maximum, int64_t *result) {
  if (!json_is_array(array) || json_array_size(array) != n) return false;
  for (size_t i = 0; i < n; i++) {
    const json_t *item = json_array_get(array, i);
    if (!json_is_integer(item)) return false;
    result[i] = json_integer_value(item);
    if (result[i] < minimum || result[i] > maximum) return false;
  }
  return true;
}

// A string without zero bytes inside.
static const char *read_string(const json_t *object, const char *key) {
  const json_t *item = json_object_get(object, key);
  const char *text = json_string_value(item);
  return text && strlen(text) == json_string_length(item) ? text : NULL;
}

static gt_status read_launch(const json_t *json, gt_launch_rule *rule, gt_error *error) {
  int64_t block[3], blocks[2];
  const char *kernel = read_string(json, "kernel");
  if (!json_is_object(json) || json_object_size(json) != 3) return corrupt(error, "launch has other keys");
  if (!kernel || !gt_is_kernel_name(kernel)) return corrupt(error, "launch has no kernel name");
  if (!read_integers(json_object_get(json, "block"), 3, 1, 1 << 16, block) ||
      block[0] * block[1] * block[2] > 1 << 16)
    return corrupt(error, "launch has a bad block");
  if (!read_integers(json_object_get(json, "blocks"), 2, 0, INT64_MAX, blocks) || blocks[1] < 1)
    return corrupt(error, "launch has a bad number of blocks");
  memcpy(rule->kernel, kernel, strlen(kernel) + 1);
  for (int i = 0; i < 3; i++) rule->block[i] = (uint32_t)block[i];
  rule->blocks_num = blocks[0];
  rule->blocks_den = blocks[1];
  return GT_OK;
}

// The configuration must be one that is printed as it was read, of the family that is named beside it.
static gt_status read_configuration(const json_t *json, gt_variant *variant, gt_error *error) {
  const char *text = read_string(json, "configuration"), *family = read_string(json, "family");
  gt_configuration configuration;
  if (!text || !family) return corrupt(error, "no configuration or no family");
  if (gt_configuration_parse(text, &configuration, NULL) != GT_OK)
    return corrupt(error, "the configuration is not one");
  char *printed = gt_configuration_print(&configuration);
  bool same = strcmp(printed, text) == 0 && strcmp(configuration.family, family) == 0;
  free(printed);
  gt_configuration_free(&configuration);
  if (!same) return corrupt(error, "configuration and family differ");
  variant->configuration = gt_strdup(text);
  variant->family = gt_strdup(family);
  return GT_OK;
}

gt_status gt_variant_from_json(const json_t *json, gt_variant *variant, gt_error *error) {
  gt_status status;
  *variant = (gt_variant){0};
  if (!json_is_object(json) || json_object_size(json) != 6)
    return corrupt(error, "not an object of six keys");
  if ((status = read_configuration(json, variant, error)) != GT_OK) goto done;

  const json_t *launches = json_object_get(json, "launches");
  size_t count = json_array_size(launches); // 0 for what is no array
  if (count < 1 || count > GT_MAX_LAUNCHES) {
    status = corrupt(error, "bad number of launches");
    goto done;
  }
  for (size_t i = 0; i < count; i++) {
    status = read_launch(json_array_get(launches, i), &variant->launches[i], error);
    if (status != GT_OK) goto done;
  }
  variant->n_launches = (int)count;

  int64_t workspace[2];
  const json_t *reproducible = json_object_get(json, "reproducible");
  const char *hash = read_string(json, "source_hash");
  if (!read_integers(json_object_get(json, "workspace"), 2, 0, INT64_MAX, workspace)) {
    status = corrupt(error, "bad workspace");
  } else if (!json_is_boolean(reproducible)) {
    status = corrupt(error, "bad reproducible");
  } else if (!hash || strlen(hash) != GT_HASH_SIZE - 1 ||
             strspn(hash, "0123456789abcdef") != GT_HASH_SIZE - 1) {
    status = corrupt(error, "bad source hash");
  } else {
    variant->workspace_fixed = workspace[0];
    variant->workspace_per_outer = workspace[1];
    variant->reproducible = json_is_true(reproducible);
    memcpy(variant->source_hash, hash, GT_HASH_SIZE);
  }

done:
  if (status != GT_OK) gt_variant_free(variant);
  return status;
}
