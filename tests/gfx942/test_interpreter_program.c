#include "test_interpreter_program.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_REGIONS = 16, KERNARG_BYTES = 512, IMAGE_BYTES = 1 << 20 };

static uint8_t *image;           // the loaded program
static const uint8_t *image_elf; // the code object that it was loaded from

// The memory that kernels may touch.
static struct { uint64_t start, bytes; } region[MAX_REGIONS];
static int regions;

static bool may_access(void *context, uint64_t address, size_t bytes) {
  (void)context;
  for (int i = 0; i < regions; i++)
    if (address >= region[i].start && bytes <= region[i].bytes &&
        address - region[i].start <= region[i].bytes - bytes)
      return true;
  return false;
}

static void allow(const void *start, size_t bytes) {
  assert_true(regions < MAX_REGIONS);
  region[regions].start = (uint64_t)(uintptr_t)start;
  region[regions++].bytes = bytes;
}

void *buffer(size_t bytes) {
  void *memory = aligned_alloc(128, (bytes + 127) / 128 * 128);
  assert_non_null(memory);
  memset(memory, 0, bytes);
  allow(memory, bytes);
  return memory;
}

// The first region is the program.
int free_buffers(void **state) {
  (void)state;
  for (int i = 1; i < regions; i++) free((void *)(uintptr_t)region[i].start);
  regions = 1;
  return 0;
}

static const Elf64_Shdr *sections(const uint8_t *elf) {
  return (const Elf64_Shdr *)(elf + ((const Elf64_Ehdr *)elf)->e_shoff);
}

// Loads a code object at `image`.
static void load(const uint8_t *elf) {
  enum { RELATIVE64 = 13 };
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf;
  const Elf64_Phdr *segment = (const Elf64_Phdr *)(elf + header->e_phoff);
  for (int i = 0; i < header->e_phnum; i++)
    if (segment[i].p_type == PT_LOAD && segment[i].p_vaddr + segment[i].p_memsz > IMAGE_BYTES) abort();
  memset(image, 0, IMAGE_BYTES);
  for (int i = 0; i < header->e_phnum; i++)
    if (segment[i].p_type == PT_LOAD)
      memcpy(image + segment[i].p_vaddr, elf + segment[i].p_offset, segment[i].p_filesz);
  for (int i = 0; i < header->e_shnum; i++) {
    const Elf64_Shdr *section = &sections(elf)[i];
    if (section->sh_type != SHT_RELA) continue;
    const Elf64_Rela *relocation = (const Elf64_Rela *)(elf + section->sh_offset);
    for (size_t k = 0; k < section->sh_size / sizeof *relocation; k++) {
      if (ELF64_R_TYPE(relocation[k].r_info) != RELATIVE64) abort();
      uint64_t value = (uint64_t)(uintptr_t)image + (uint64_t)relocation[k].r_addend;
      memcpy(image + relocation[k].r_offset, &value, sizeof value);
    }
  }
  image_elf = elf;
}

// The address of a kernel's descriptor.
static uint64_t descriptor_of(const char *kernel) {
  const uint8_t *elf = image_elf;
  char wanted[64];
  snprintf(wanted, sizeof wanted, "%s.kd", kernel);
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf;
  for (int i = 0; i < header->e_shnum; i++) {
    const Elf64_Shdr *section = &sections(elf)[i];
    if (section->sh_type != SHT_DYNSYM) continue;
    const Elf64_Sym *symbol = (const Elf64_Sym *)(elf + section->sh_offset);
    const char *names = (const char *)elf + sections(elf)[section->sh_link].sh_offset;
    for (size_t k = 0; k < section->sh_size / sizeof *symbol; k++)
      if (!strcmp(names + symbol[k].st_name, wanted)) return (uint64_t)(uintptr_t)image + symbol[k].st_value;
  }
  fail_msg("there is no kernel %s", kernel);
  return 0;
}

typedef struct {
  int (*create)(void **, const char *, const char *, int, const char **, const char **);
  int (*compile)(void *, int, const char **);
  int (*log_size)(void *, size_t *), (*get_log)(void *, char *);
  int (*code_size)(void *, size_t *), (*get_code)(void *, char *);
} Compiler;

static Compiler compiler;

static bool open_compiler(void) {
  void *library = dlopen("libamdhip64.so.5", RTLD_NOW);
  if (!library || !dlopen("libamd_comgr.so.2", RTLD_NOW)) return false;
  *(void **)&compiler.create = dlsym(library, "hiprtcCreateProgram");
  *(void **)&compiler.compile = dlsym(library, "hiprtcCompileProgram");
  *(void **)&compiler.log_size = dlsym(library, "hiprtcGetProgramLogSize");
  *(void **)&compiler.get_log = dlsym(library, "hiprtcGetProgramLog");
  *(void **)&compiler.code_size = dlsym(library, "hiprtcGetCodeSize");
  *(void **)&compiler.get_code = dlsym(library, "hiprtcGetCode");
  return compiler.create && compiler.compile && compiler.code_size && compiler.get_code;
}

static uint8_t *compile(const char *source) {
  void *handle;
  const char *options[] = {"--offload-arch=gfx942", "-mcode-object-version=5", "-O3", "-ffp-contract=off"};
  compiler.create(&handle, source, "kernels.hip", 0, NULL, NULL);
  if (compiler.compile(handle, 4, options) != 0) {
    size_t bytes;
    compiler.log_size(handle, &bytes);
    char *text = calloc(1, bytes + 1);
    compiler.get_log(handle, text);
    fprintf(stderr, "%s\n", text);
    exit(1);
  }
  size_t bytes;
  compiler.code_size(handle, &bytes);
  uint8_t *code = malloc(bytes);
  compiler.get_code(handle, (char *)code);
  return code;
}

bool program_open(const char *source) {
  if (!open_compiler()) return false;
  image = mmap(NULL, IMAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (image == MAP_FAILED) return false;
  allow(image, IMAGE_BYTES);
  load(compile(source));
  return true;
}

void program_replace(const char *source) {
  load(compile(source));
  gfx_forget_code();
}

char error[512];
gfx_counts counts;

bool try_kernel(const char *kernel, Shape shape, const uint64_t *argument, int count) {
  static _Alignas(64) uint8_t kernarg[KERNARG_BYTES], packet[64], queue[256];
  uint64_t descriptor = descriptor_of(kernel);
  memset(kernarg, 0, sizeof kernarg);
  memcpy(kernarg, argument, 8 * (size_t)count);
  // The arguments that the compiler adds: the numbers of workgroups, and the work-items in each.
  uint8_t *hidden = kernarg + 8 * count;
  const uint32_t groups[3] = {shape.groups, 1, 1};
  const uint16_t items[3] = {(uint16_t)shape.items, 1, 1};
  memcpy(hidden, groups, sizeof groups);
  memcpy(hidden + 12, items, sizeof items);
  gfx_dispatch dispatch = {.kernel_descriptor = descriptor,
                           .kernarg = (uint64_t)(uintptr_t)kernarg,
                           .packet = (uint64_t)(uintptr_t)packet,
                           .queue = (uint64_t)(uintptr_t)queue,
                           .grid = {shape.groups * shape.items, 1, 1},
                           .workgroup = {shape.items, 1, 1}};
  memcpy(&dispatch.lds_bytes, (void *)(uintptr_t)descriptor, 4);
  memcpy(&dispatch.scratch_bytes, (void *)(uintptr_t)(descriptor + 4), 4);
  dispatch.lds_bytes += shape.dynamic_lds;
  gfx_options options = {.threads = shape.threads ? shape.threads : 2,
                         .dies = shape.dies,
                         .schedule = shape.schedule,
                         .count_traffic = true,
                         .may_access = may_access};
  error[0] = 0;
  return gfx_run(&dispatch, &options, &counts, error);
}

static uint32_t random_state = 1;

uint32_t random_bits(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  return random_state ^= random_state << 5;
}

float random_float(void) {
  return (float)(int32_t)random_bits() / 65536.f;
}
