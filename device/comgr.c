#include "device/comgr.h"

#include "device/code_object.h"
#include "device/comgr_symbols.h"
#include "device/library.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
#define X(name, parameters) int(*name) parameters;
  COMGR_SYMBOLS(X)
#undef X
} comgr_table;

// One code object that is being read.
typedef struct {
  comgr_table comgr;
  comgr_data data;
  comgr_metadata metadata;
  comgr_disassembler disassembler;
  const uint8_t *code;
  size_t size;
} reading;

static gt_status open_library(comgr_table *table, gt_error *error) {
  static const char *const names[] = {"libamd_comgr.so.2", "libamd_comgr.so.3", "libamd_comgr.so", NULL};
  static const char *const folders[] = {"$ROCM_PATH/lib", "$HIP_PATH/lib", "/opt/rocm/lib", NULL};
  static const gt_library library = {"AMD's code object manager (comgr)", names, folders};
  static const gt_symbol symbols[] = {
#define X(name, parameters) {#name, NULL, offsetof(comgr_table, name), true},
      COMGR_SYMBOLS(X)
#undef X
  };
  return gt_library_open(&library, symbols, sizeof symbols / sizeof symbols[0], table, error);
}

// --- metadata
// ------------------------------------------------------------------------------------------------------

// The text of a map's entry; false when there is none of a length that fits.
static bool read_text(const reading *r, comgr_metadata map, const char *key, char *text, size_t size) {
  comgr_metadata value;
  size_t length = 0; // with the terminating zero
  if (r->comgr.amd_comgr_metadata_lookup(map, key, &value) != COMGR_SUCCESS) return false;
  bool fits = r->comgr.amd_comgr_get_metadata_string(value, &length, NULL) == COMGR_SUCCESS && length > 0 &&
              length <= size && r->comgr.amd_comgr_get_metadata_string(value, &length, text) == COMGR_SUCCESS;
  if (fits) text[length - 1] = 0;
  r->comgr.amd_comgr_destroy_metadata(value);
  return fits;
}

static int read_number(const reading *r, comgr_metadata map, const char *key) {
  char text[32], *end;
  if (!read_text(r, map, key, text, sizeof text)) return -1;
  long long number = strtoll(text, &end, 10);
  return end > text && !*end && number >= 0 && number <= INT32_MAX ? (int)number : -1;
}

static gt_status read_metadata(const reading *r, comgr_metadata map, gt_kernel_facts *kernel,
                               gt_error *error) {
  if (!read_text(r, map, ".name", kernel->name, sizeof kernel->name))
    return gt_fail(error, GT_CORRUPT, "the code object's metadata has a kernel without a name");
  const struct {
    const char *key;
    int *value;
  } numbers[] = {
      {".vgpr_count", &kernel->vgprs},
      {".agpr_count", &kernel->accum_vgprs},
      {".sgpr_count", &kernel->sgprs},
      {".vgpr_spill_count", &kernel->vgpr_spills},
      {".sgpr_spill_count", &kernel->sgpr_spills},
      {".group_segment_fixed_size", &kernel->lds_bytes},
      {".private_segment_fixed_size", &kernel->scratch_bytes},
      {".kernarg_segment_size", &kernel->kernarg_bytes},
      {".max_flat_workgroup_size", &kernel->max_threads},
      {".wavefront_size", &kernel->wave_size},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    *numbers[i].value = read_number(r, map, numbers[i].key);
  return GT_OK;
}

// --- instructions
// --------------------------------------------------------------------------------------------------

// A kernel's machine code; `address` is that of its first byte, once it is loaded.
typedef struct {
  const uint8_t *bytes;
  uint64_t address, size;
  gt_instruction_counts *counts;
} function;

static uint64_t read_code(uint64_t from, char *to, uint64_t size, void *context) {
  const function *f = context;
  if (from < f->address || from - f->address >= f->size) return 0;
  uint64_t offset = from - f->address, left = f->size - offset;
  if (size > left) size = left;
  memcpy(to, f->bytes + offset, size);
  return size;
}

static void count_instruction(const char *text, void *context) {
  const function *f = context;
  gt_instruction_count(f->counts, text);
}

static void ignore_address(uint64_t address, void *context) {
  (void)address;
  (void)context;
}

static gt_status find_function(const reading *r, const char *name, function *f, gt_error *error) {
  comgr_symbol symbol;
  if (r->comgr.amd_comgr_symbol_lookup(r->data, name, &symbol) != COMGR_SUCCESS ||
      r->comgr.amd_comgr_symbol_get_info(symbol, COMGR_SYMBOL_VALUE, &f->address) != COMGR_SUCCESS ||
      r->comgr.amd_comgr_symbol_get_info(symbol, COMGR_SYMBOL_SIZE, &f->size) != COMGR_SUCCESS)
    return gt_fail(error, GT_CORRUPT, "the code object has no function of its kernel %s", name);
  f->bytes = gt_code_object_at(r->code, r->size, f->address, f->size);
  return f->bytes ? GT_OK
                  : gt_fail(error, GT_CORRUPT, "the code of kernel %s lies outside of the code object", name);
}

static gt_status count_instructions(const reading *r, gt_kernel_facts *kernel, gt_error *error) {
  function f = {.counts = &kernel->instructions};
  gt_status status = find_function(r, kernel->name, &f, error);
  uint64_t at = 0;
  while (status == GT_OK && at < f.size) {
    uint64_t length = 0;
    int result = r->comgr.amd_comgr_disassemble_instruction(r->disassembler, f.address + at, &f, &length);
    if (result != COMGR_SUCCESS || length == 0 || length > f.size - at)
      status = gt_fail(error, GT_UNSUPPORTED, "byte %llu of kernel %s is no instruction that comgr knows",
                       (unsigned long long)at, kernel->name);
    at += length;
  }
  return status;
}

// --- the whole
// -----------------------------------------------------------------------------------------------------

static gt_status open_code(reading *r, gt_error *error) {
  char isa[160];
  size_t length = 0;
  if (r->comgr.amd_comgr_create_data(COMGR_EXECUTABLE, &r->data) != COMGR_SUCCESS)
    return gt_fail(error, GT_FAILED, "comgr has no room for a code object");
  if (r->comgr.amd_comgr_set_data(r->data, r->size, (const char *)r->code) != COMGR_SUCCESS ||
      r->comgr.amd_comgr_get_data_metadata(r->data, &r->metadata) != COMGR_SUCCESS)
    return gt_fail(error, GT_CORRUPT, "comgr finds no metadata of kernels in the code object");
  if (r->comgr.amd_comgr_get_data_isa_name(r->data, &length, NULL) != COMGR_SUCCESS || length == 0 ||
      length > sizeof isa || r->comgr.amd_comgr_get_data_isa_name(r->data, &length, isa) != COMGR_SUCCESS)
    return gt_fail(error, GT_UNSUPPORTED, "comgr does not know the architecture of the code object");
  // Without ":sramecc+:xnack-": they change no instruction's text, and some versions of comgr read a byte too many of
  // them, of which they complain on standard error.
  isa[strcspn(isa, ":")] = 0;
  if (r->comgr.amd_comgr_create_disassembly_info(isa, read_code, count_instruction, ignore_address,
                                                 &r->disassembler) != COMGR_SUCCESS)
    return gt_fail(error, GT_UNSUPPORTED, "comgr has no disassembler for %s", isa);
  return GT_OK;
}

static gt_status read_kernels(const reading *r, comgr_metadata list, gt_code_facts *facts, gt_error *error) {
  size_t count = 0;
  if (r->comgr.amd_comgr_get_metadata_list_size(list, &count) != COMGR_SUCCESS)
    return gt_fail(error, GT_CORRUPT, "the code object's metadata has no list of kernels");
  if (count > GT_KERNELS_OF_CODE)
    return gt_fail(error, GT_UNSUPPORTED, "the code object has %zu kernels, and only %d can be told about",
                   count, GT_KERNELS_OF_CODE);
  gt_status status = GT_OK;
  for (size_t i = 0; i < count && status == GT_OK; i++) {
    comgr_metadata map;
    if (r->comgr.amd_comgr_index_list_metadata(list, i, &map) != COMGR_SUCCESS)
      return gt_fail(error, GT_CORRUPT, "the code object's metadata has no kernel %zu", i);
    status = read_metadata(r, map, &facts->kernels[i], error);
    if (status == GT_OK) status = count_instructions(r, &facts->kernels[i], error);
    r->comgr.amd_comgr_destroy_metadata(map);
  }
  facts->count = status == GT_OK ? count : 0;
  return status;
}

gt_status gt_comgr_read(const void *code, size_t size, gt_code_facts *facts, gt_error *error) {
  memset(facts, 0, sizeof *facts);
  reading r = {.code = code, .size = size};
  comgr_metadata list;
  gt_status status = gt_code_object_check(code, size, error);
  if (status == GT_OK) status = open_library(&r.comgr, error);
  if (status != GT_OK) return status;
  status = open_code(&r, error);
  if (status != GT_OK) goto done;
  if (r.comgr.amd_comgr_metadata_lookup(r.metadata, "amdhsa.kernels", &list) != COMGR_SUCCESS) {
    status = gt_fail(error, GT_CORRUPT, "the code object's metadata names no kernels");
    goto done;
  }
  status = read_kernels(&r, list, facts, error);
  r.comgr.amd_comgr_destroy_metadata(list);
done:
  if (r.disassembler.handle) r.comgr.amd_comgr_destroy_disassembly_info(r.disassembler);
  if (r.metadata.handle) r.comgr.amd_comgr_destroy_metadata(r.metadata);
  if (r.data.handle) r.comgr.amd_comgr_release_data(r.data);
  return status;
}
