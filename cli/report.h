// generate --emit report: what the compiler made of a configuration, from an AMD code object.
#ifndef GT_CLI_REPORT_H
#define GT_CLI_REPORT_H

#include <jansson.h>

#include "base/buffer.h"
#include "base/status.h"
#include "device/comgr.h"
#include "generator/variant.h"

// Reads a code object in a process of its own. GT_CRASH or GT_TIMEOUT when that does not end well.
gt_status gt_report_read(const gt_buffer *code, gt_code_facts *facts, gt_error *error);

// The facts of each kernel, as a list for --json or as text. The variant tells the blocks that kernels are
// launched in; for a kernel that it does not launch, the largest block is taken.
json_t *gt_report_json(const gt_code_facts *facts, const char *arch, const gt_variant *variant);
void gt_report_print(const gt_code_facts *facts, const char *arch, const gt_variant *variant,
                     gt_buffer *text);

#endif
