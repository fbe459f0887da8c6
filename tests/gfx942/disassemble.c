#include "disassemble.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

// The part of amd_comgr's C interface that is used here (version 2.x).
typedef uint64_t (*ReadMemory)(uint64_t from, char *to, uint64_t size, void *context);
typedef void (*PrintInstruction)(const char *text, void *context);
typedef void (*PrintAddress)(uint64_t address, void *context);
typedef int (*CreateInfo)(const char *isa, ReadMemory, PrintInstruction, PrintAddress, uint64_t *info);
typedef int (*Disassemble)(uint64_t info, uint64_t address, void *context, uint64_t *size);

typedef struct {
  char *text;
  size_t size;
} Output;

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static uint64_t info;
static Disassemble disassemble_one; // NULL when the library could not be opened

static uint64_t read_memory(uint64_t from, char *to, uint64_t size, void *context) {
  (void)context;
  memcpy(to, (const void *)(uintptr_t)from, size);
  return size;
}

static void print_instruction(const char *text, void *context) {
  Output *output = context;
  snprintf(output->text, output->size, "%s", text);
}

static void print_address(uint64_t address, void *context) {
  (void)address;
  (void)context;
}

static void open_library(void) {
  void *library = dlopen("libamd_comgr.so.2", RTLD_NOW);
  if (!library) library = dlopen("libamd_comgr.so", RTLD_NOW);
  if (!library) return;
  CreateInfo create = (CreateInfo)(uintptr_t)dlsym(library, "amd_comgr_create_disassembly_info");
  Disassemble one = (Disassemble)(uintptr_t)dlsym(library, "amd_comgr_disassemble_instruction");
  if (create && one &&
      create("amdgcn-amd-amdhsa--gfx942", read_memory, print_instruction, print_address, &info) == 0)
    disassemble_one = one;
}

bool disassemble(uint64_t pc, char *text, size_t text_size, uint32_t *size, char *error, size_t error_size) {
  pthread_once(&opened, open_library);
  if (!disassemble_one) {
    snprintf(error, error_size, "libamd_comgr.so.2 with a gfx942 disassembler is needed and was not found");
    return false;
  }
  Output output = {text, text_size};
  uint64_t bytes = 0;
  text[0] = 0;
  if (disassemble_one(info, pc, &output, &bytes) != 0 || bytes == 0 || bytes > 16) {
    snprintf(error, error_size, "the bytes at pc %#llx are no gfx942 instruction", (unsigned long long)pc);
    return false;
  }
  *size = (uint32_t)bytes;
  return true;
}
