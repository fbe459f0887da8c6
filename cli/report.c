#include "cli/report.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/child.h"
#include "cli/command.h"
#include "device/occupancy.h"

static const double seconds_to_read = 60; // kernels take milliseconds: by then the library has hung

// --- reading
// -------------------------------------------------------------------------------------------------------

// What the child answers: the bytes of this, since both are one program.
typedef struct {
  gt_status status;
  gt_error error;
  gt_code_facts facts;
} reply;

static void read_in_child(const void *context, gt_buffer *answer) {
  const gt_buffer *code = context;
  reply r = {0};
  r.status = gt_comgr_read(code->data, code->length, &r.facts, &r.error);
  gt_buffer_append(answer, &r, sizeof r);
}

gt_status gt_report_read(const gt_buffer *code, gt_code_facts *facts, gt_error *error) {
  gt_buffer answer = {0};
  gt_error why = {0};
  reply r;
  gt_status status = gt_child_run(read_in_child, code, seconds_to_read, &answer, &why);
  if (status != GT_OK) {
    gt_fail(error, status, "AMD's code object manager (comgr) %s%s", status == GT_IO ? "cannot run: " : "",
            why.text);
    goto done;
  }
  if (answer.length != sizeof r) {
    status = gt_fail(error, GT_CRASH, "AMD's code object manager (comgr) ended the process early");
    goto done;
  }
  memcpy(&r, answer.data, sizeof r);
  status = r.status;
  *facts = r.facts;
  if (status != GT_OK) gt_fail(error, status, "%s", r.error.text);
done:
  gt_buffer_free(&answer);
  return status;
}

// Threads per block that the variant launches a kernel with, or the most that it was compiled for.
static int threads_of(const gt_kernel_facts *kernel, const gt_variant *variant) {
  for (int i = 0; i < variant->n_launches; i++) {
    const gt_launch_rule *launch = &variant->launches[i];
    if (strcmp(launch->kernel, kernel->name) == 0)
      return (int)(launch->block[0] * launch->block[1] * launch->block[2]);
  }
  return kernel->max_threads;
}

// Registers of the architecture's own kind. On those that share one file, the compiler rounds them up to 4
// where accumulation registers follow, which the metadata does not undo.
static int arch_vgprs(const gt_kernel_facts *kernel) {
  if (kernel->vgprs < 0 || kernel->accum_vgprs < 0) return kernel->vgprs;
  return kernel->vgprs - kernel->accum_vgprs;
}

// --- JSON
// ----------------------------------------------------------------------------------------------------------

// A fact, or null where the metadata does not tell it.
static json_t *fact(int value) {
  return value < 0 ? json_null() : json_integer(value);
}

// {"2": 4, "16": 1}: how many accesses there are of which width; only widths that there are.
static json_t *accesses(const gt_access_counts *counts) {
  json_t *json = json_object();
  for (int i = 0; i < GT_ACCESS_WIDTHS; i++) {
    if (!counts->of_width[i]) continue;
    char width[16] = "other";
    if (gt_access_bytes[i]) snprintf(width, sizeof width, "%d", gt_access_bytes[i]);
    json_object_set_new(json, width, json_integer(counts->of_width[i]));
  }
  return json;
}

static json_t *occupancy_json(const gt_kernel_facts *kernel, const char *arch, int threads) {
  gt_occupancy o;
  if (!gt_occupancy_on(arch, kernel->vgprs, kernel->lds_bytes, threads, &o)) return json_null();
  return json_pack("{s:i, s:f, s:i, s:f, s:f, s:i}", "threads", threads, "waves_per_simd", o.waves,
                   "by_vgprs", o.by_vgprs, "by_lds", o.by_lds, "by_block", o.by_block, "most", o.most);
}

static json_t *kernel_json(const gt_kernel_facts *kernel, const char *arch, const gt_variant *variant) {
  const gt_instruction_counts *n = &kernel->instructions;
  json_t *json = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                           kernel->name, "vgprs", fact(kernel->vgprs), "arch_vgprs", fact(arch_vgprs(kernel)),
                           "accum_vgprs", fact(kernel->accum_vgprs), "sgprs", fact(kernel->sgprs),
                           "vgpr_spills", fact(kernel->vgpr_spills), "sgpr_spills", fact(kernel->sgpr_spills),
                           "lds_bytes", fact(kernel->lds_bytes), "scratch_bytes", fact(kernel->scratch_bytes),
                           "kernarg_bytes", fact(kernel->kernarg_bytes), "max_threads",
                           fact(kernel->max_threads), "wave_size", fact(kernel->wave_size), "occupancy",
                           occupancy_json(kernel, arch, threads_of(kernel, variant)));
  json_t *units = json_pack("{s:i}", "total", n->total);
#define X(field, words) json_object_set_new(units, #field, json_integer(n->field));
  GT_UNIT_LIST(X)
#undef X
  json_object_set_new(json, "instructions", units);
  json_object_set_new(json, "global_loads", accesses(&n->global_loads));
  json_object_set_new(json, "global_stores", accesses(&n->global_stores));
  json_object_set_new(json, "lds_reads", accesses(&n->lds_reads));
  json_object_set_new(json, "lds_writes", accesses(&n->lds_writes));
  json_object_set_new(json, "scratch_accesses", json_integer(n->scratch_accesses));
  json_object_set_new(json, "atomics",
                      json_pack("{s:i, s:i, s:i}", "global", n->global_atomics, "flat", n->flat_atomics,
                                "lds", n->lds_atomics));
  json_object_set_new(json, "barriers", json_integer(n->barriers));
  json_object_set_new(json, "branches", json_integer(n->branches));
  return json;
}

json_t *gt_report_json(const gt_code_facts *facts, const char *arch, const gt_variant *variant) {
  json_t *list = json_array();
  for (size_t i = 0; i < facts->count; i++)
    json_array_append_new(list, kernel_json(&facts->kernels[i], arch, variant));
  return list;
}

// --- text
// ----------------------------------------------------------------------------------------------------------

static void begin_line(gt_buffer *text, const char *what) {
  gt_buffer_print(text, "  %-15s", what);
}

// "41", or "?" where the metadata does not tell it.
static gt_short number(int value) {
  gt_short result = {"?"};
  if (value >= 0) snprintf(result.text, sizeof result.text, "%d", value);
  return result;
}

// "12 of 4 bytes, 3 of 16 bytes"
static void print_accesses(gt_buffer *text, const char *what, const gt_access_counts *counts) {
  const char *comma = "";
  begin_line(text, what);
  if (gt_access_total(counts) == 0) gt_buffer_print(text, "none");
  for (int i = 0; i < GT_ACCESS_WIDTHS; i++) {
    if (!counts->of_width[i]) continue;
    int bytes = gt_access_bytes[i];
    gt_buffer_print(text, "%s%d of ", comma, counts->of_width[i]);
    if (bytes)
      gt_buffer_print(text, "%d byte%s", bytes, bytes == 1 ? "" : "s");
    else
      gt_buffer_print(text, "another width");
    comma = ", ";
  }
  gt_buffer_print(text, "\n");
}

static void print_occupancy(gt_buffer *text, const gt_kernel_facts *kernel, const char *arch, int threads) {
  gt_occupancy o;
  begin_line(text, "occupancy");
  if (gt_occupancy_on(arch, kernel->vgprs, kernel->lds_bytes, threads, &o))
    gt_buffer_print(text, "%g of %d waves per SIMD (registers allow %d, LDS %g, blocks of %d threads %g)\n",
                    o.waves, o.most, o.by_vgprs, o.by_lds, threads, o.by_block);
  else
    gt_buffer_print(text, "not known for %s\n", arch);
}

static void print_instructions(gt_buffer *text, const gt_instruction_counts *n) {
  const char *comma = ": ";
  begin_line(text, "instructions");
  gt_buffer_print(text, "%d", n->total);
#define X(field, words)                                       \
  if (n->field) {                                             \
    gt_buffer_print(text, "%s%d %s", comma, n->field, words); \
    comma = ", ";                                             \
  }
  GT_UNIT_LIST(X)
#undef X
  gt_buffer_print(text, "\n");
}

static void print_kernel(gt_buffer *text, const gt_kernel_facts *kernel, const char *arch, int threads) {
  const gt_instruction_counts *n = &kernel->instructions;
  gt_buffer_print(text, "%s\n", kernel->name);
  begin_line(text, "registers");
  gt_buffer_print(text, "%s vector", number(kernel->vgprs).text);
  if (kernel->accum_vgprs >= 0)
    gt_buffer_print(text, " (%d architectural, %d accumulation)", arch_vgprs(kernel), kernel->accum_vgprs);
  gt_buffer_print(text, ", %s scalar\n", number(kernel->sgprs).text);
  begin_line(text, "spills");
  gt_buffer_print(text, "%s vector, %s scalar, %d accesses to scratch\n", number(kernel->vgpr_spills).text,
                  number(kernel->sgpr_spills).text, n->scratch_accesses);
  begin_line(text, "memory");
  gt_buffer_print(text, "LDS %s bytes per block, scratch %s per thread, kernel arguments %s\n",
                  number(kernel->lds_bytes).text, number(kernel->scratch_bytes).text,
                  number(kernel->kernarg_bytes).text);
  begin_line(text, "block");
  gt_buffer_print(text, "%s threads, at most %s, in waves of %s\n", number(threads).text,
                  number(kernel->max_threads).text, number(kernel->wave_size).text);
  print_occupancy(text, kernel, arch, threads);
  print_instructions(text, n);
  print_accesses(text, "global loads", &n->global_loads);
  print_accesses(text, "global stores", &n->global_stores);
  print_accesses(text, "LDS reads", &n->lds_reads);
  print_accesses(text, "LDS writes", &n->lds_writes);
  begin_line(text, "atomics");
  gt_buffer_print(text, "global %d, flat %d, LDS %d\n", n->global_atomics, n->flat_atomics, n->lds_atomics);
  begin_line(text, "control");
  gt_buffer_print(text, "branches %d, barriers %d\n", n->branches, n->barriers);
}

void gt_report_print(const gt_code_facts *facts, const char *arch, const gt_variant *variant,
                     gt_buffer *text) {
  for (size_t i = 0; i < facts->count; i++) {
    if (i) gt_buffer_print(text, "\n");
    print_kernel(text, &facts->kernels[i], arch, threads_of(&facts->kernels[i], variant));
  }
}
