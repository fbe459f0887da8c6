// Code objects of a context: loading what is stored or kept, and compiling in a child process what is not. All
// with context->making held.
#ifndef GT_RUNTIME_CODE_H
#define GT_RUNTIME_CODE_H

#include "runtime/inside.h"

// Loads a code object, unless the same bytes are loaded already.
gt_status gt_code_load(gathertune_context *context, const void *code, size_t size, gt_module **module,
                       gt_error *error);
// Loads what was compiled before from a source, by this program or another. `key`: of a store (cache/code_store.h).
// GT_NOT_FOUND.
gt_status gt_code_load_kept(gathertune_context *context, const char *key, const char *source_hash,
                            gt_module **module, gt_error *error);
// Loads the code object that was stored with what was found, or what is kept of its very source. GT_NOT_FOUND.
gt_status gt_code_load_stored(gathertune_context *context, const gt_found *found, gt_module **module,
                              gt_error *error);
// Compiles a variant with its source, and keeps the code object beside the last cache.
gt_status gt_code_compile(gathertune_context *context, const gt_variant *variant, gt_buffer *code,
                          gt_error *error);

#endif
