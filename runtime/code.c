// From a configuration to a loaded code object: the one that is stored, else one that was compiled before,
// else, if the context may, one that is compiled now.
#include "runtime/code.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/child.h"
#include "runtime/stale.h"

gt_status gt_code_load(gathertune_context *context, const void *code, size_t size, gt_module **module,
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

gt_status gt_code_load_kept(gathertune_context *context, const char *key, const char *source_hash,
                            gt_module **module, gt_error *error) {
  gt_buffer code = {0};
  gt_status status = gt_fail(error, GT_NOT_FOUND, "no code object of it is kept");
  for (size_t i = context->layers.count; i-- > 0 && status != GT_OK;) {
    const gt_layer *layer = &context->layers.list[i];
    if (!layer->store_trusted || !gt_code_store_get(layer->store, key, source_hash, &code)) continue;
    status = gt_code_load(context, code.data, code.length, module, error);
    gt_buffer_clear(&code);
  }
  gt_buffer_free(&code);
  return status;
}

gt_status gt_code_compile(gathertune_context *context, const gt_variant *variant, gt_buffer *code,
                          gt_error *error) {
  const gt_fingerprint *device = &context->device.fingerprint;
  gt_status status = gt_child_compile(context->program, context->device_name, device, variant->source,
                                      context->compile_seconds, code, error);
  gt_code_store *store = context->layers.count ? context->layers.list[context->layers.count - 1].store : NULL;
  if (status != GT_OK || !store) return status;
  char key[GT_HASH_SIZE];
  gt_code_store_key(device, key);
  gt_code_store_put(store, key, variant->source_hash, code->data, code->length);
  gt_code_store_key_any(device, key);
  gt_code_store_put(store, key, variant->source_hash, code->data, code->length);
  return GT_OK;
}

static gt_status compile(gathertune_context *context, const gt_problem *problem, gt_found *found,
                         gt_module **module, gt_error *error) {
  gt_buffer code = {0};
  gt_status status = gt_found_render(context->finder, problem, found, error);
  if (status == GT_OK) status = gt_code_compile(context, &found->variant, &code, error);
  if (status == GT_OK) status = gt_code_load(context, code.data, code.length, module, error);
  gt_buffer_free(&code);
  return status;
}

gt_status gt_code_load_stored(gathertune_context *context, const gt_found *found, gt_module **module,
                              gt_error *error) {
  char key[GT_HASH_SIZE];
  gt_status status = GT_NOT_FOUND;
  gt_code_store_key_any(&context->device.fingerprint, key);
  if (!found->rendered && found->winner.code)
    status = gt_code_load(context, found->winner.code, found->winner.code_size, module, error);
  if (status != GT_OK)
    status = gt_code_load_kept(context, key, gt_found_variant(found)->source_hash, module, error);
  return status;
}

gt_status gt_plan_code(gathertune_context *context, const gt_problem *problem, gt_found *found, bool *stale,
                       gt_module **module, gt_buffer *note, gt_error *error) {
  bool may_compile = context->mode != GATHERTUNE_MODE_LOOKUP;
  gt_status status = GT_OK;
  *stale = false;
  if (may_compile && !found->rendered)
    status = gt_stale_code(context, problem, found, stale, module, note, error);
  // The configuration of a problem alike may be the very one that was just passed over.
  if (found->rendered && !*stale)
    status = gt_stale_refuse_wrong(context, problem, &found->variant, error);
  if (*stale || status != GT_OK) return status;
  status = gt_code_load_stored(context, found, module, error);
  if (status != GT_OK && may_compile) status = compile(context, problem, found, module, error);
  return status;
}
