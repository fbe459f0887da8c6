// Winners as one C source: code objects as arrays, a table, and a launcher that needs HIP's module functions
// alone.
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "exchange/export.h"
#include "exchange/order.h"
#include "generator/configuration.h"
#include "generator/tensors.h"

// What comes before the code objects; $ stands for the prefix.
static const char declarations[] =
    "// Tuned kernels for the backward pass of interpolation operators, and what launches them.\n"
    "// Written by gathertune " GT_VERSION ". Compile it with HIP's headers and link with libamdhip64:\n"
    "//   cc -c -D__HIP_PLATFORM_AMD__ -I/opt/rocm/include THIS.c\n"
    "// Where only its declarations are wanted: #define $_DECLARATIONS, then #include it.\n"
    "#include <hip/hip_runtime_api.h>\n"
    "#include <stddef.h>\n"
    "#include <stdint.h>\n"
    "\n"
    "#ifndef $_DECLARED\n"
    "#define $_DECLARED\n"
    "\n"
    "typedef struct {\n"
    "  const char *kernel;\n"
    "  uint32_t block[3];              // threads\n"
    "  int64_t blocks_num, blocks_den; // ceil(outer * num / den) blocks\n"
    "} $_rule;\n"
    "\n"
    "// The tensors of a problem, dense unless it says otherwise, in device memory that starts at multiples of 16 bytes\n"
    "// (the workspace: 256). Those that the problem does not have are not looked at.\n"
    "typedef struct {\n"
    "  const void *grad_output, *input, *grid; // read only\n"
    "  void *grad_input, *grad_grid;           // every element is written\n"
    "  void *workspace;                        // $_workspace() bytes; NULL when that is 0\n"
    "} $_buffers;\n"
    "\n"
    "typedef struct {\n"
    "  const char *problem; // without the sizes that one kernel serves all values of\n"
    "  int64_t outer;       // that it was tuned for: n where the layout is nhwc or samples lie in a grid, else n * c\n"
    "  const char *arch;    // \"gfx942:sramecc+:xnack-\"\n"
    "  int compute_units;\n"
    "  const unsigned char *code;\n"
    "  int n_tensors;     // that the kernels have pointers to, before those to the workspace:\n"
    "  size_t tensors[5]; // where in $_buffers they are, in the pointers' order\n"
    "  int64_t workspace_fixed, workspace_per_outer; // bytes = fixed + outer * per_outer\n"
    "  int n_launches;\n"
    "  $_rule launches[8];\n"
    "} $_entry;\n"
    "\n"
    "typedef struct {\n"
    "  const $_entry *entry;\n"
    "  hipModule_t module;\n"
    "  hipFunction_t functions[8];\n"
    "} $_plan;\n"
    "\n"
    "extern const $_entry $_table[];\n"
    "extern const int $_count;\n"
    "\n"
    "// The entry for a problem, as in the table, on an architecture: of those that there are the one tuned "
    "on a\n"
    "// device with as many compute units, for the same `grid` (or else for none) and for the nearest outer count. NULL\n"
    "// when there is none.\n"
    "const $_entry *$_find(const char *problem, int64_t outer, const char *arch, int compute_units);\n"
    "// Finds and loads the kernels for the current device. hipErrorNotFound when there are none.\n"
    "hipError_t $_load($_plan *plan, const char *problem, int64_t outer);\n"
    "void $_unload($_plan *plan); // harmless on a zeroed plan\n"
    "int64_t $_workspace(const $_plan *plan, int64_t outer); // bytes that a launch needs besides the tensors\n"
    "// Computes the results, in stream order. `buffers` is read before it returns.\n"
    "hipError_t $_launch(const $_plan *plan, const $_buffers *buffers, int64_t outer, hipStream_t stream);\n"
    "\n"
    "#endif\n"
    "#ifndef $_DECLARATIONS\n"
    "#include <string.h>\n"
    "\n";

static const char launcher[] =
    "// The length of a problem without `grid`, its last key, on which kernels do not depend.\n"
    "static size_t $_kernel_length(const char *problem) {\n"
    "  const char *grid = strstr(problem, \",grid=\");\n"
    "  return grid ? (size_t)(grid - problem) : strlen(problem);\n"
    "}\n"
    "\n"
    "const $_entry *$_find(const char *problem, int64_t outer, const char *arch, int compute_units) {\n"
    "  const $_entry *best = 0;\n"
    "  int best_unlike = 0;\n"
    "  double best_ratio = 0;\n"
    "  size_t length = $_kernel_length(problem);\n"
    "  for (int i = 0; i < $_count; i++) {\n"
    "    const $_entry *e = &$_table[i];\n"
    "    if ($_kernel_length(e->problem) != length || memcmp(e->problem, problem, length) != 0 ||\n"
    "        strcmp(e->arch, arch) != 0)\n"
    "      continue;\n"
    "    int unlike = strcmp(e->problem + length, problem + length) == 0 ? 0 : e->problem[length] ? 2 : 1;\n"
    "    if (e->compute_units != compute_units) unlike += 3;\n"
    "    double ratio = (double)e->outer / (double)(outer > 0 ? outer : 1);\n"
    "    if (ratio < 1) ratio = 1 / ratio;\n"
    "    if (best && (unlike > best_unlike || (unlike == best_unlike && ratio >= best_ratio))) continue;\n"
    "    best = e, best_unlike = unlike, best_ratio = ratio;\n"
    "  }\n"
    "  return best;\n"
    "}\n"
    "\n"
    "hipError_t $_load($_plan *plan, const char *problem, int64_t outer) {\n"
    "  hipDeviceProp_t properties;\n"
    "  int device;\n"
    "  memset(plan, 0, sizeof *plan);\n"
    "  hipError_t code = hipGetDevice(&device);\n"
    "  if (code == hipSuccess) code = hipGetDeviceProperties(&properties, device);\n"
    "  if (code != hipSuccess) return code;\n"
    "  plan->entry = $_find(problem, outer, properties.gcnArchName, properties.multiProcessorCount);\n"
    "  if (!plan->entry) return hipErrorNotFound;\n"
    "  code = hipModuleLoadData(&plan->module, plan->entry->code);\n"
    "  for (int i = 0; i < plan->entry->n_launches && code == hipSuccess; i++)\n"
    "    code = hipModuleGetFunction(&plan->functions[i], plan->module, plan->entry->launches[i].kernel);\n"
    "  if (code != hipSuccess) $_unload(plan);\n"
    "  return code;\n"
    "}\n"
    "\n"
    "void $_unload($_plan *plan) {\n"
    "  if (plan->module) (void)hipModuleUnload(plan->module);\n"
    "  memset(plan, 0, sizeof *plan);\n"
    "}\n"
    "\n"
    "int64_t $_workspace(const $_plan *plan, int64_t outer) {\n"
    "  return plan->entry->workspace_fixed + outer * plan->entry->workspace_per_outer;\n"
    "}\n"
    "\n"
    "hipError_t $_launch(const $_plan *plan, const $_buffers *buffers, int64_t outer, hipStream_t stream) {\n"
    "  $_buffers memory = *buffers;\n"
    "  void *arguments[7]; // addresses of the kernels' parameters: the tensors, the workspace, the outer count\n"
    "  int n = plan->entry->n_tensors;\n"
    "  for (int i = 0; i < n; i++) arguments[i] = (char *)&memory + plan->entry->tensors[i];\n"
    "  arguments[n] = &memory.workspace;\n"
    "  arguments[n + 1] = &outer;\n"
    "  if (outer < 0) return hipErrorInvalidValue;\n"
    "  for (int i = 0; i < plan->entry->n_launches; i++) {\n"
    "    const $_rule *rule = &plan->entry->launches[i];\n"
    "    int64_t whole = outer / rule->blocks_den, rest = outer % rule->blocks_den;\n"
    "    if (rule->blocks_num && whole > (INT64_MAX >> 1) / rule->blocks_num) return hipErrorInvalidValue;\n"
    "    int64_t blocks = whole * rule->blocks_num + (rest * rule->blocks_num + rule->blocks_den - 1) /\n"
    "                                                    rule->blocks_den;\n"
    "    if (blocks == 0) continue;\n"
    "    // Kernels number their blocks along x, then y; a device takes fewer than 2^32 threads along x.\n"
    "    int64_t rows = (blocks + (1 << 21) - 1) >> 21;\n"
    "    if (rows > 65535) return hipErrorInvalidValue;\n"
    "    hipError_t code = hipModuleLaunchKernel(plan->functions[i], (unsigned)((blocks + rows - 1) / "
    "rows),\n"
    "                                            (unsigned)rows, 1, rule->block[0], rule->block[1],\n"
    "                                            rule->block[2], 0, stream, arguments, 0);\n"
    "    if (code != hipSuccess) return code;\n"
    "  }\n"
    "  return hipSuccess;\n"
    "}\n"
    "#endif\n";

static void print_with_prefix(gt_buffer *text, const char *form, const char *prefix) {
  for (const char *at = form; *at; at += *at == '$') {
    size_t length = strcspn(at, "$");
    gt_buffer_append(text, at, length);
    at += length;
    if (!*at) break;
    gt_buffer_print(text, "%s", prefix);
  }
}

// A C string. What is exported are names of this program and of a device's maker, but also what came from
// elsewhere.
static void print_string(gt_buffer *text, const char *value) {
  gt_buffer_print(text, "\"");
  for (const unsigned char *at = (const unsigned char *)value; *at; at++)
    if (*at < ' ' || *at > '~' || strchr("\"\\?", *at))
      gt_buffer_print(text, "\\%03o", *at);
    else
      gt_buffer_append(text, at, 1);
  gt_buffer_print(text, "\"");
}

static void print_code(gt_buffer *text, const char *prefix, const gt_winner *winner) {
  const unsigned char *bytes = winner->code;
  gt_buffer_print(text, "static const unsigned char %s_code_%s[] __attribute__((aligned(4096))) = {", prefix,
                  winner->code_hash);
  for (size_t i = 0; i < winner->code_size; i++)
    gt_buffer_print(text, "%s%u,", i % 32 ? "" : "\n  ", bytes[i]);
  gt_buffer_print(text, "\n};\n\n");
}

// Where its pointers are in the launcher's buffers.
static void print_tensors(gt_buffer *text, const char *prefix, const gt_problem *problem) {
  gt_tensor tensors[GT_TENSORS];
  int count = gt_problem_tensors(problem, tensors);
  _Static_assert(GT_TENSORS == 5, "as in the declarations");
  gt_buffer_print(text, "%d,\n   {", count);
  for (int i = 0; i < count; i++)
    gt_buffer_print(text, "%soffsetof(%s_buffers, %s)", i ? ", " : "", prefix, gt_tensor_name(tensors[i].kind));
  gt_buffer_print(text, "},\n   ");
}

static gt_status print_entry(gt_buffer *text, const char *prefix, const gt_fingerprint *device,
                             const gt_winner *winner, gt_error *error) {
  gt_problem problem;
  char kernel[GT_PROBLEM_TEXT];
  gt_status status = gt_problem_parse(winner->problem, &problem, error);
  if (status != GT_OK) return status;
  gt_problem_print_kernel(&problem, kernel);
  const char *positions = gt_grid_class_name(problem.sampling.positions);
  char *name = gt_print(*positions ? "%s,grid=%s" : "%s", kernel, positions);
  gt_buffer_print(text, "  // ");
  gt_buffer_print(text, "%s on %d compute units: %.4g microseconds\n  {", winner->variant.configuration,
                  device->compute_units, winner->median_us);
  print_string(text, name);
  free(name);
  gt_buffer_print(text, ", %lld,\n   ", (long long)gt_problem_outer(&problem));
  print_string(text, device->arch);
  gt_buffer_print(text, ", %d, %s_code_%s, ", device->compute_units, prefix, winner->code_hash);
  print_tensors(text, prefix, &problem);
  gt_buffer_print(text, "%lld, %lld, %d,\n   {", (long long)winner->variant.workspace_fixed,
                  (long long)winner->variant.workspace_per_outer, winner->variant.n_launches);
  for (int i = 0; i < winner->variant.n_launches; i++) {
    const gt_launch_rule *rule = &winner->variant.launches[i];
    int64_t product;
    if (__builtin_mul_overflow(rule->blocks_num, rule->blocks_den, &product) || product > INT64_MAX / 2)
      return gt_fail(error, GT_UNSUPPORTED, "%s of %s: %lld/%lld blocks are too many for the launcher",
                     winner->variant.configuration, winner->problem, (long long)rule->blocks_num,
                     (long long)rule->blocks_den);
    gt_buffer_print(text, "%s{", i ? ", " : "");
    print_string(text, rule->kernel);
    gt_buffer_print(text, ", {%u, %u, %u}, %lld, %lld}", rule->block[0], rule->block[1], rule->block[2],
                    (long long)rule->blocks_num, (long long)rule->blocks_den);
  }
  gt_buffer_print(text, "}},\n");
  return GT_OK;
}

// HIP's code objects; the launcher can do nothing with others.
static bool is_exported(const gt_collection *c, size_t i) {
  return c->winners[i].winner.code && strcmp(c->devices[c->winners[i].device].backend, "hip") == 0;
}

static bool was_before(const gt_collection *c, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (is_exported(c, k) && strcmp(c->winners[k].winner.code_hash, c->winners[i].winner.code_hash) == 0)
      return true;
  return false;
}

gt_status gt_export_c(gt_collection *c, const gt_export_options *options, gt_export_counts *counts,
                      gt_error *error) {
  gt_buffer text = {0};
  gt_status status = GT_OK;
  const char *prefix = options->prefix ? options->prefix : "tuned";
  if (!gt_is_kernel_name(prefix))
    return gt_fail(error, GT_USAGE, "--prefix takes an identifier of C, not '%s'", prefix);
  gt_collection_sort(c);
  print_with_prefix(&text, declarations, prefix);
  for (size_t i = 0; i < c->n_winners; i++)
    if (is_exported(c, i) && !was_before(c, i)) print_code(&text, prefix, &c->winners[i].winner);
  gt_buffer_print(&text, "const %s_entry %s_table[] = {\n", prefix, prefix);
  for (size_t i = 0; i < c->n_winners && status == GT_OK; i++) {
    if (!is_exported(c, i)) continue;
    status = print_entry(&text, prefix, &c->devices[c->winners[i].device], &c->winners[i].winner, error);
    counts->winners++;
  }
  gt_buffer_print(&text, "};\nconst int %s_count = %zu;\n\n", prefix, counts->winners);
  print_with_prefix(&text, launcher, prefix);
  if (status == GT_OK && counts->winners == 0)
    status = gt_fail(error, GT_NOT_FOUND, "nothing to export: no winner of a HIP device has a code object");
  counts->files = 1;
  if (status == GT_OK) status = gt_export_text(&text, options, error);
  gt_buffer_free(&text);
  return status;
}
