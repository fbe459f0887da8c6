// From a configuration to a loaded code object: the one that is stored, else one that was compiled before,
// else, if the context may, one that is compiled now.
#include <stdlib.h>
#include <string.h>

#include "runtime/child.h"
#include "runtime/inside.h"

static gt_status load(gathertune_context *context, const void *code, size_t size, gt_module **module,
                      gt_error *error) {
  char hash[GT_HASH_SIZE];
  gt_hash(code, size, hash);
  for (gt_loaded_code *each = context->codes; each; each = each->next)
    if (strcmp(each->hash, hash) == 0) {
      *module = each->module;
      return GT_OK;
    }
  const gt_open_device *open = &context->device;
  gt_status status = open->backend->load(open->device, code, size, module, error);
  if (status != GT_OK) return status;
  gt_loaded_code *new = gt_alloc(sizeof *new);
  *new = (gt_loaded_code){.module = *module, .next = context->codes};
  memcpy(new->hash, hash, sizeof new->hash);
  context->codes = new;
  return GT_OK;
}

// What was compiled before from the same source, by this program or another.
static gt_status load_kept(gathertune_context *context, const char *source_hash, gt_module **module,
                           gt_error *error) {
  char key[GT_HASH_SIZE];
  gt_buffer code = {0};
  gt_status status = gt_fail(error, GT_NOT_FOUND, "no code object of it is kept");
  gt_code_store_key_any(&context->device.fingerprint, key);
  for (size_t i = context->layers.count; i-- > 0 && status != GT_OK;) {
    const gt_layer *layer = &context->layers.list[i];
    if (!layer->store_trusted || !gt_code_store_get(layer->store, key, source_hash, &code)) continue;
    status = load(context, code.data, code.length, module, error);
    gt_buffer_clear(&code);
  }
  gt_buffer_free(&code);
  return status;
}

static gt_status compile(gathertune_context *context, const gt_problem *problem, gt_found *found,
                         gt_module **module, gt_error *error) {
  gt_buffer code = {0};
  const gt_open_device *open = &context->device;
  gt_status status = gt_found_render(context->finder, problem, found, error);
  if (status != GT_OK) return status;
  // Templates may have changed since it was tuned: what they make now may have been compiled before.
  if (load_kept(context, found->variant.source_hash, module, error) == GT_OK) return GT_OK;
  status = gt_child_compile(context->program, context->device_name, &open->fingerprint, found->variant.source,
                            context->compile_seconds, &code, error);
  if (status == GT_OK) status = load(context, code.data, code.length, module, error);
  if (status == GT_OK && context->layers.count) {
    char key[GT_HASH_SIZE];
    gt_code_store_key_any(&open->fingerprint, key);
    gt_code_store *store = context->layers.list[context->layers.count - 1].store;
    if (store) gt_code_store_put(store, key, found->variant.source_hash, code.data, code.length);
  }
  gt_buffer_free(&code);
  return status;
}

gt_status gt_plan_code(gathertune_context *context, const gt_problem *problem, gt_found *found,
                       gt_module **module, gt_error *error) {
  gt_status status = GT_NOT_FOUND;
  if (!found->rendered && found->winner.code)
    status = load(context, found->winner.code, found->winner.code_size, module, error);
  if (status != GT_OK) status = load_kept(context, gt_found_variant(found)->source_hash, module, error);
  if (status != GT_OK && context->mode != GATHERTUNE_MODE_LOOKUP)
    status = compile(context, problem, found, module, error);
  return status;
}
