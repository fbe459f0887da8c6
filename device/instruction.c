#include "device/instruction.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const int gt_access_bytes[GT_ACCESS_WIDTHS] = {1, 2, 4, 8, 12, 16, 0};

int gt_access_total(const gt_access_counts *counts) {
  int total = 0;
  for (int i = 0; i < GT_ACCESS_WIDTHS; i++) total += counts->of_width[i];
  return total;
}

// The parts of a name that tell a width: in names up to gfx10, and in those from gfx11 on.
static const struct {
  const char *part;
  int bytes;
} widths[] = {
    {"ubyte", 1},    {"sbyte", 1},  {"byte", 1},     {"u8", 1},      {"i8", 1},  {"b8", 1},
    {"ushort", 2},   {"sshort", 2}, {"short", 2},    {"u16", 2},     {"i16", 2}, {"b16", 2},
    {"dword", 4},    {"b32", 4},    {"u32", 4},      {"dwordx2", 8}, {"b64", 8}, {"u64", 8},
    {"dwordx3", 12}, {"b96", 12},   {"dwordx4", 16}, {"b128", 16},
};

// Bytes of the first part of the name that tells a width; 0 when none does.
static int width(const char *name) {
  while (*name) {
    size_t length = strcspn(name, "_");
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
      if (strlen(widths[i].part) == length && memcmp(widths[i].part, name, length) == 0)
        return widths[i].bytes;
    name += length;
    name += *name == '_';
  }
  return 0;
}

static void count_access(gt_access_counts *counts, int bytes) {
  int i = 0;
  while (i < GT_ACCESS_WIDTHS - 1 && gt_access_bytes[i] != bytes) i++;
  counts->of_width[i]++;
}

// The rest of `name` behind `prefix`, or NULL when it begins otherwise.
static const char *behind(const char *name, const char *prefix) {
  size_t length = strlen(prefix);
  return strncmp(name, prefix, length) == 0 ? name + length : NULL;
}

static bool begins_with_any(const char *name, const char *const *prefixes) {
  for (; *prefixes; prefixes++)
    if (behind(name, *prefixes)) return true;
  return false;
}

static void count_memory(gt_instruction_counts *counts, const char *what, int *atomics) {
  counts->vector_memory++;
  if (behind(what, "load"))
    count_access(&counts->global_loads, width(what));
  else if (behind(what, "store"))
    count_access(&counts->global_stores, width(what));
  else if (behind(what, "atomic"))
    ++*atomics;
}

static void count_lds(gt_instruction_counts *counts, const char *what) {
  // These go between lanes, or to no memory, or to the memory that all blocks share.
  static const char *const others[] = {"bpermute", "permute", "swizzle", "nop",
                                       "gws_",     "ordered", "bvh_",    NULL};
  counts->lds++;
  int times = strstr(what, "2addr") || behind(what, "read2") || behind(what, "write2") ? 2 : 1;
  if (behind(what, "read") || behind(what, "load"))
    count_access(&counts->lds_reads, times * width(what));
  else if (behind(what, "write") || behind(what, "store"))
    count_access(&counts->lds_writes, times * width(what));
  else if (!begins_with_any(what, others))
    counts->lds_atomics++;
}

static void count_scalar(gt_instruction_counts *counts, const char *what) {
  static const char *const memory[] = {"load",   "store",   "buffer_",     "scratch_", "atomic_",
                                       "dcache", "memtime", "memrealtime", NULL};
  static const char *const waits[] = {"wait", "nop", "sleep", "delay_alu", NULL};
  if (begins_with_any(what, memory))
    counts->scalar_memory++;
  else if (begins_with_any(what, waits))
    counts->waits++;
  else
    counts->scalar++;
  // From gfx12 on a barrier is two instructions, of which one waits.
  if (strcmp(what, "barrier") == 0 || strcmp(what, "barrier_wait") == 0) counts->barriers++;
  if (strcmp(what, "branch") == 0 || behind(what, "cbranch_")) counts->branches++;
}

void gt_instruction_count(gt_instruction_counts *counts, const char *text) {
  char name[64];
  const char *what;
  while (isspace((unsigned char)*text)) text++;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " \t\n"), text);
  counts->total++;
  if ((what = behind(name, "global_")) || (what = behind(name, "buffer_")) ||
      (what = behind(name, "tbuffer_")))
    count_memory(counts, what, &counts->global_atomics);
  else if ((what = behind(name, "flat_")))
    count_memory(counts, what, &counts->flat_atomics);
  else if ((what = behind(name, "scratch_"))) {
    counts->vector_memory++;
    counts->scratch_accesses++;
  } else if ((what = behind(name, "ds_")))
    count_lds(counts, what);
  else if ((what = behind(name, "s_")))
    count_scalar(counts, what);
  else if (behind(name, "v_mfma_") || behind(name, "v_smfmac_") || behind(name, "v_wmma_") ||
           behind(name, "v_swmmac_"))
    counts->matrix++;
  else if (behind(name, "v_"))
    counts->vector++;
  else
    counts->other++;
}
