// Tests of the gfx942 interpreter: kernels are compiled by hiprtc, put in this process's memory by a small
// loader, run by the interpreter, and compared with the same computation on the host.
//
// Build: gcc -std=c11 -D_GNU_SOURCE -O2 -ffp-contract=off test_interpreter.c and the interpreter's files
// (atomic.c code_cache.c decode.c disassemble.c interpreter.c lds.c memory.c scalar.c vector*.c wave.c), with
// -ldl -lm -lpthread -lcmocka. Run: where libamdhip64.so.5 (which has hiprtc in it) and libamd_comgr.so.2 of
// ROCm 5.7 are found; with Debian 13's packages unpacked in a folder that is ld-linux-x86-64.so.2
// --library-path FOLDER test_interpreter. Without these libraries it says so and exits with status 77. -s
// instead runs a long kernel and prints its rate.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "interpreter.h"
#include "test_interpreter_kernels.h"

enum { MAX_REGIONS = 16, KERNARG_BYTES = 512, N = 256 };

typedef struct {
  uint8_t *image;
  size_t bytes;
} Program;

static Program program;

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

// Memory of exactly `bytes` for a kernel, in whole lines; forgotten at the end of a test.
static void *buffer(size_t bytes) {
  void *memory = aligned_alloc(128, (bytes + 127) / 128 * 128);
  assert_non_null(memory);
  memset(memory, 0, bytes);
  allow(memory, bytes);
  return memory;
}

// Lets go of the memory that a test has used, but not of the program.
static int free_buffers(void **state) {
  (void)state;
  for (int i = 1; i < regions; i++) free((void *)(uintptr_t)region[i].start);
  regions = 1;
  return 0;
}

static const Elf64_Shdr *sections(const uint8_t *elf) {
  return (const Elf64_Shdr *)(elf + ((const Elf64_Ehdr *)elf)->e_shoff);
}

// Loads a code object at `image`, or anywhere when that is NULL.
static Program load(const uint8_t *elf, uint8_t *image) {
  enum { RELATIVE64 = 13 };
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf;
  const Elf64_Phdr *segment = (const Elf64_Phdr *)(elf + header->e_phoff);
  size_t bytes = 0;
  for (int i = 0; i < header->e_phnum; i++)
    if (segment[i].p_type == PT_LOAD && segment[i].p_vaddr + segment[i].p_memsz > bytes)
      bytes = segment[i].p_vaddr + segment[i].p_memsz;
  bytes = (bytes + 4095) & ~(size_t)4095;
  if (!image) image = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (image == MAP_FAILED || bytes > 1 << 20) abort();
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
  return (Program){image, bytes};
}

static const uint8_t *elf_of_program; // of the program that the tests share

// The address of a kernel's descriptor.
static uint64_t descriptor_of(const uint8_t *elf, const char *kernel) {
  char wanted[64];
  snprintf(wanted, sizeof wanted, "%s.kd", kernel);
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf;
  for (int i = 0; i < header->e_shnum; i++) {
    const Elf64_Shdr *section = &sections(elf)[i];
    if (section->sh_type != SHT_DYNSYM) continue;
    const Elf64_Sym *symbol = (const Elf64_Sym *)(elf + section->sh_offset);
    const char *names = (const char *)elf + sections(elf)[section->sh_link].sh_offset;
    for (size_t k = 0; k < section->sh_size / sizeof *symbol; k++)
      if (!strcmp(names + symbol[k].st_name, wanted))
        return (uint64_t)(uintptr_t)program.image + symbol[k].st_value;
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

static bool open_compiler(Compiler *compiler) {
  void *library = dlopen("libamdhip64.so.5", RTLD_NOW);
  if (!library || !dlopen("libamd_comgr.so.2", RTLD_NOW)) return false;
  *(void **)&compiler->create = dlsym(library, "hiprtcCreateProgram");
  *(void **)&compiler->compile = dlsym(library, "hiprtcCompileProgram");
  *(void **)&compiler->log_size = dlsym(library, "hiprtcGetProgramLogSize");
  *(void **)&compiler->get_log = dlsym(library, "hiprtcGetProgramLog");
  *(void **)&compiler->code_size = dlsym(library, "hiprtcGetCodeSize");
  *(void **)&compiler->get_code = dlsym(library, "hiprtcGetCode");
  return compiler->create && compiler->compile && compiler->code_size && compiler->get_code;
}

static uint8_t *compile(const Compiler *compiler, const char *source) {
  void *handle;
  const char *options[] = {"--offload-arch=gfx942", "-mcode-object-version=5", "-O3", "-ffp-contract=off"};
  compiler->create(&handle, source, "kernels.hip", 0, NULL, NULL);
  if (compiler->compile(handle, 4, options) != 0) {
    size_t bytes;
    compiler->log_size(handle, &bytes);
    char *text = calloc(1, bytes + 1);
    compiler->get_log(handle, text);
    fprintf(stderr, "%s\n", text);
    exit(1);
  }
  size_t bytes;
  compiler->code_size(handle, &bytes);
  uint8_t *code = malloc(bytes);
  compiler->get_code(handle, (char *)code);
  return code;
}

typedef struct {
  uint32_t groups, items; // workgroups, and work-items in each
  uint32_t dynamic_lds;
  int threads;
} Shape;

static char error[512];
static gfx_counts counts;

// Runs a kernel on `count` arguments of 8 bytes each.
static bool try_kernel(const char *kernel, Shape shape, const uint64_t *argument, int count) {
  static _Alignas(64) uint8_t kernarg[KERNARG_BYTES], packet[64], queue[256];
  uint64_t descriptor = descriptor_of(elf_of_program, kernel);
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
  gfx_options options = {.threads = shape.threads ? shape.threads : 2, .may_access = may_access};
  error[0] = 0;
  return gfx_run(&dispatch, &options, &counts, error);
}

#define ARGUMENT(x) ((uint64_t)(uintptr_t)(x))
#define RUN(kernel, shape, ...)                                                                             \
  do {                                                                                                      \
    const uint64_t arguments[] = {__VA_ARGS__};                                                             \
    if (!try_kernel(kernel, shape, arguments, sizeof arguments / sizeof *arguments)) fail_msg("%s", error); \
  } while (0)
#define RUN_AND_FAIL(kernel, shape, ...)                                                      \
  do {                                                                                        \
    const uint64_t arguments[] = {__VA_ARGS__};                                               \
    assert_false(try_kernel(kernel, shape, arguments, sizeof arguments / sizeof *arguments)); \
  } while (0)

static const Shape one_group = {.groups = 1, .items = N};

static uint32_t random_state = 1;

static uint32_t random_bits(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  return random_state ^= random_state << 5;
}

static float random_float(void) {
  return (float)(int32_t)random_bits() / 65536.f;
}

static void assert_contains(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("'%s' is not in '%s'", part, text);
}

static bool same_float(float x, float y) {
  return x == y || (isnan(x) && isnan(y));
}

static void arithmetic_in_single_precision_equals_the_hosts(void **state) {
  (void)state;
  float *x = buffer(4 * N), *y = buffer(4 * N), *r = buffer(4 * N * 10);
  for (int i = 0; i < N; i++) x[i] = random_float(), y[i] = random_float();
  x[0] = 0, y[0] = -0.f, x[1] = INFINITY, y[1] = 3, x[2] = NAN, x[3] = 1e-40f, y[3] = 3, x[4] = 1, y[4] = 0;
  x[5] = 3e38f, y[5] = 1e-5f;
  RUN("single", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    const float expected[10] = {x[i] + y[i],        x[i] - y[i],         x[i] * y[i],  x[i] / y[i],
                                sqrtf(fabsf(x[i])), fmaf(x[i], y[i], 1), floorf(x[i]), rintf(x[i]),
                                ldexpf(x[i], 3),    fabsf(-y[i])};
    for (int k = 0; k < 10; k++)
      if (!same_float(r[k * N + i], expected[k]))
        fail_msg("result %d of %g, %g: %g", k, x[i], y[i], r[k * N + i]);
  }
}

static void arithmetic_in_double_precision_equals_the_hosts(void **state) {
  (void)state;
  double *x = buffer(8 * N), *y = buffer(8 * N), *r = buffer(8 * N * 8);
  for (int i = 0; i < N; i++) x[i] = random_float() / 7., y[i] = random_float() / 3.;
  RUN("doubles", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    const double expected[8] = {x[i] + y[i],          x[i] * y[i], x[i] / y[i],       sqrt(fabs(x[i])),
                                fma(x[i], y[i], 0.1), floor(x[i]), fmin(x[i], -y[i]), (double)(int64_t)x[i]};
    for (int k = 0; k < 8; k++)
      if (r[k * N + i] != expected[k]) fail_msg("result %d of %g, %g: %.17g", k, x[i], y[i], r[k * N + i]);
  }
}

static void arithmetic_in_half_precision_equals_the_hosts(void **state) {
  (void)state;
  _Float16 *x = buffer(2 * N), *y = buffer(2 * N), *r = buffer(2 * N * 6);
  for (int i = 0; i < N; i++)
    x[i] = (_Float16)(random_float() / 100), y[i] = (_Float16)(random_float() / 300);
  RUN("halves", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    float a = (float)x[i], b = (float)y[i];
    const _Float16 expected[6] = {(_Float16)(a + b),         (_Float16)(a * b),
                                  (_Float16)(a / b),         (_Float16)((double)a * b + 1),
                                  (_Float16)sqrtf(fabsf(a)), (_Float16)(a - b)};
    for (int k = 0; k < 6; k++)
      if (!same_float((float)r[k * N + i], (float)expected[k]))
        fail_msg("result %d of %g, %g: %g", k, a, b, (float)r[k * N + i]);
  }
}

static void pairs_of_halves_are_computed_together(void **state) {
  (void)state;
  _Float16 *x = buffer(4 * N), *y = buffer(4 * N), *r = buffer(4 * N * 4);
  for (int i = 0; i < 2 * N; i++)
    x[i] = (_Float16)(random_float() / 1000), y[i] = (_Float16)(random_float() / 3000);
  RUN("half_pairs", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < 2 * N; i++) {
    float a = (float)x[i], b = (float)y[i], swapped = (float)y[i ^ 1];
    assert_true(same_float((float)r[i], (float)(_Float16)(a + b)));
    assert_true(same_float((float)r[2 * N + i], (float)(_Float16)(a * swapped)));
    assert_true(same_float((float)r[4 * N + i], (float)(_Float16)((double)a * b - swapped)));
    assert_true(same_float((float)r[6 * N + i], a > b ? a : b));
  }
}

static float from_bfloat(uint16_t bits) {
  uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

static uint16_t to_bfloat(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

static void bfloats_are_loaded_rounded_and_stored(void **state) {
  (void)state;
  uint16_t *x = buffer(2 * N), *r = buffer(2 * N);
  for (int i = 0; i < N; i++) x[i] = to_bfloat(random_float());
  RUN("bfloats", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++) assert_int_equal(r[i], to_bfloat(from_bfloat(x[i]) * 3.f + 1.f));
}

static void integers_are_divided_right(void **state) {
  (void)state;
  uint64_t *x = buffer(8 * N), *y = buffer(8 * N), *r = buffer(8 * N * 8);
  for (int i = 0; i < N; i++) {
    x[i] = (uint64_t)random_bits() << 32 | random_bits();
    y[i] = ((uint64_t)random_bits() << 32 | random_bits()) >> random_bits() % 62;
    if ((uint32_t)y[i] == 0 || (uint32_t)y[i] == UINT32_MAX) y[i] = 7;
  }
  RUN("divide", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    uint32_t a = (uint32_t)x[i], b = (uint32_t)y[i];
    int64_t sx = (int64_t)x[i], sy = (int64_t)y[i];
    const uint64_t expected[8] = {x[i] / y[i],
                                  x[i] % y[i],
                                  (uint64_t)(sx / sy),
                                  (uint64_t)(sx % sy),
                                  a / b,
                                  a % b,
                                  (uint64_t)((int32_t)a / (int32_t)b),
                                  (uint64_t)((int32_t)a % (int32_t)b)};
    for (int k = 0; k < 8; k++) assert_int_equal(r[k * N + i], expected[k]);
  }
}

static void integers_of_64_bits_are_computed_in_pairs_of_registers(void **state) {
  (void)state;
  uint64_t *x = buffer(8 * N), *y = buffer(8 * N), *r = buffer(8 * N * 10);
  for (int i = 0; i < N; i++)
    x[i] = (uint64_t)random_bits() << 32 | random_bits(),
    y[i] = (uint64_t)random_bits() << 32 | random_bits();
  RUN("wide", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    const uint64_t expected[10] = {x[i] + y[i],
                                   x[i] - y[i],
                                   x[i] * y[i],
                                   (uint64_t)((unsigned __int128)x[i] * y[i] >> 64),
                                   x[i] << (y[i] & 63),
                                   (uint64_t)((int64_t)x[i] >> (y[i] & 63)),
                                   (uint64_t)__builtin_popcountll(x[i]),
                                   (uint64_t)__builtin_clzll(x[i] | 1),
                                   (int64_t)x[i] < (int64_t)y[i] ? x[i] : y[i],
                                   __builtin_bswap64(x[i])};
    for (int k = 0; k < 10; k++) assert_int_equal(r[k * N + i], expected[k]);
  }
}

static void numbers_are_converted_between_all_kinds(void **state) {
  (void)state;
  float *x = buffer(4 * N), *back = buffer(4 * N * 4);
  int32_t *r = buffer(4 * N * 6);
  for (int i = 0; i < N; i++) x[i] = random_float() / 200;
  RUN("convert", one_group, ARGUMENT(x), ARGUMENT(r), ARGUMENT(back));
  for (int i = 0; i < N; i++) {
    assert_int_equal(r[i], (int32_t)x[i]);
    assert_int_equal(r[N + i], (int32_t)(uint32_t)fabsf(x[i]));
    assert_int_equal(r[2 * N + i], (int8_t)(int32_t)x[i]);
    assert_int_equal(r[3 * N + i], (uint8_t)(int32_t)x[i]);
    assert_int_equal(r[4 * N + i], (int16_t)(int32_t)x[i]);
    assert_int_equal(r[5 * N + i], (int32_t)(double)x[i]);
    assert_true(back[i] == (float)(_Float16)x[i]);
    assert_true(back[N + i] == (float)(int64_t)(x[i] * 1e9f));
    assert_true(back[2 * N + i] == (float)((uint32_t)i * 2654435761u));
    assert_true(back[3 * N + i] == (float)(uint8_t)((uint32_t)i * 2654435761u >> 16));
  }
}

static void mathematical_functions_are_close_to_the_hosts(void **state) {
  (void)state;
  float *x = buffer(4 * N), *r = buffer(4 * N * 8);
  for (int i = 0; i < N; i++) x[i] = fabsf(random_float()) / 4000 + 0.01f;
  RUN("functions", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    const double expected[8] = {sin(x[i]),      cos(x[i]),  exp(x[i]),      log(x[i]),
                                pow(x[i], 1.7), tanh(x[i]), 1 / sqrt(x[i]), erf(x[i])};
    for (int k = 0; k < 8; k++)
      if (fabs(r[k * N + i] - expected[k]) > 4e-6 * fabs(expected[k]) + 1e-6)
        fail_msg("function %d of %g: %g, not %g", k, x[i], r[k * N + i], expected[k]);
  }
}

static void a_reduction_in_lds_needs_its_barriers_and_gets_them(void **state) {
  (void)state;
  enum { GROUPS = 9 };
  int *x = buffer(4 * N * GROUPS), *sum = buffer(4 * GROUPS), expected;
  for (int i = 0; i < N * GROUPS; i++) x[i] = (int)(random_bits() >> 16);
  RUN("reduce", ((Shape){.groups = GROUPS, .items = N}), ARGUMENT(x), ARGUMENT(sum));
  for (int group = 0; group < GROUPS; group++) {
    expected = 0;
    for (int i = 0; i < N; i++) expected += x[group * N + i];
    assert_int_equal(sum[group], expected);
  }
  // Nine barriers for each of the four waves of a workgroup.
  assert_int_equal(counts.barriers, 9 * 4 * GROUPS);
}

static void waves_may_wait_for_each_other_without_a_barrier(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  RUN("handshake", one_group, ARGUMENT(r));
  for (int i = 0; i < N; i++) assert_int_equal(r[i], 1 + 64 * 3);
}

static void atomics_of_all_kinds_add_up(void **state) {
  (void)state;
  enum { GROUPS = 8, ITEMS = GROUPS * N };
  uint32_t *word = buffer(4 * 16);
  uint64_t *wide = buffer(8 * 4);
  double *real = buffer(8);
  float *single = buffer(4);
  uint32_t *pairs = buffer(8);
  word[2] = UINT32_MAX;
  word[4] = UINT32_MAX;
  RUN("atomics", ((Shape){.groups = GROUPS, .items = N}), ARGUMENT(word), ARGUMENT(wide), ARGUMENT(real),
      ARGUMENT(single), ARGUMENT(pairs));
  assert_int_equal(word[0], ITEMS * (ITEMS - 1) / 2);
  assert_int_equal(word[1], ITEMS - 1);
  assert_int_equal(word[2], 0);
  assert_int_equal((int32_t)word[3], -(ITEMS - 1));
  assert_int_equal(word[4], 0);
  assert_int_equal(word[5], 0xffffffff);
  assert_int_equal(word[6], ITEMS); // through a loop of compare and swap
  assert_int_equal(word[7], ITEMS % 10);
  assert_int_equal(word[8], ITEMS); // every ticket was given once: the sum of what add returned is checked by
  assert_int_equal(wide[1], (uint64_t)ITEMS * (ITEMS - 1) / 2);
  assert_int_equal(wide[0], (uint64_t)ITEMS << 33);
  assert_true(*real == ITEMS * 0.5);
  assert_true(*single == ITEMS * 0.25f);
  assert_int_equal(pairs[0], 0x68006400); // 2048 and 1024 as halves
  assert_int_equal(pairs[1], 0x43804300); // 256 and 128 as bfloats: more would be rounded away
}

static void atomics_in_lds_return_what_was_there(void **state) {
  (void)state;
  uint32_t *r = buffer(4 * N), *total = buffer(4 * 4), seen[N] = {0};
  RUN("lds_atomics", one_group, ARGUMENT(r), ARGUMENT(total));
  for (int i = 0; i < N; i++) seen[r[i]]++;
  for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
  assert_int_equal(total[0], N);
  assert_int_equal(total[1], N - 1);
  assert_true(((float *)total)[2] == N * 0.5f);
  assert_int_equal(total[3], N);
}

static void lanes_exchange_values(void **state) {
  (void)state;
  int *r = buffer(4 * N * 10);
  RUN("exchange", one_group, ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    int wave = i & ~63, lane = i & 63, value = 3 * i + 1;
    assert_int_equal(r[i], 3 * (wave + (lane + 7) % 64) + 1);
    assert_int_equal(r[N + i], 3 * (i ^ 5) + 1);
    assert_int_equal(r[2 * N + i], lane < 2 ? value : 3 * (i - 2) + 1);
    assert_int_equal(r[3 * N + i], 3 * (wave + 17) + 1);
    assert_int_equal(r[4 * N + i], __builtin_popcountll(0x9249249249249249)); // every third lane of 64
    assert_int_equal(r[5 * N + i], 3 * (i ^ 1) + 1);                          // a quad permutation
    assert_int_equal(r[6 * N + i], (lane & 15) < 1 ? -1 : 3 * (i - 1) + 1);   // a shift within a row
    assert_int_equal(r[7 * N + i], 3 * ((i & ~31) | (31 - (i & 31))) + 1);    // a swizzle that reverses
    assert_int_equal(r[8 * N + i], 3 * (wave + ((lane + 63) & 63)) + 1);      // a forward permutation
    assert_int_equal(r[9 * N + i], 64 * 3 * wave + 3 * 63 * 32 + 64);         // a sum over the wave
  }
}

static void arrays_in_scratch_keep_each_lanes_values(void **state) {
  (void)state;
  int *x = buffer(4 * N), *r = buffer(4 * N);
  for (int i = 0; i < N; i++) x[i] = (int)(random_bits() % 64);
  RUN("scratch", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    int values[64], sum = 0;
    for (int k = 0; k < 64; k++) values[k] = i * k;
    for (int k = 0; k < 64; k++) values[(k * 5 + x[i]) % 64] += k;
    for (int k = 0; k < 8; k++) sum += values[(x[i] + k * k) % 64];
    assert_int_equal(r[i], sum);
  }
}

static void registers_may_be_chosen_at_run_time(void **state) {
  (void)state;
  int *x = buffer(4 * N), *r = buffer(4 * N);
  for (int i = 0; i < N; i++) x[i] = i / 64;
  RUN("indexed", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++) assert_int_equal(r[i], (i + 1) * (i / 64 + 1) * 10);
}

static void lanes_leave_loops_at_different_times(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  RUN("diverge", one_group, ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    int steps = 0;
    for (unsigned k = (unsigned)i + 1; k != 1; steps++) k = k & 1 ? 3 * k + 1 : k / 2;
    assert_int_equal(r[i], i % 3 == 0 ? steps : i % 3 == 1 ? -steps : i);
  }
}

static void sixteen_bytes_are_moved_at_once(void **state) {
  (void)state;
  float *x = buffer(16 * N), *r = buffer(16 * N);
  for (int i = 0; i < 4 * N; i++) x[i] = random_float();
  RUN("quads", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++)
    for (int k = 0; k < 4; k++) assert_true(r[4 * i + k] == x[4 * (N - 1 - i) + 3 - k] * 2);
  // Four waves load and store 8 lines each; the stores to LDS take 8 cycles for each wave, and so do the
  // loads.
  assert_int_equal(counts.memory_transactions, 4 * (8 + 8));
  assert_int_equal(counts.lds_cycles, 4 * (8 + 8));
}

static void bytes_and_shorts_are_extended(void **state) {
  (void)state;
  uint8_t *x = buffer(N);
  uint16_t *y = buffer(2 * N), *narrow = buffer(2 * N);
  int32_t *r = buffer(4 * N * 4);
  for (int i = 0; i < N; i++) x[i] = (uint8_t)random_bits(), y[i] = (uint16_t)random_bits();
  RUN("narrow", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r), ARGUMENT(narrow));
  for (int i = 0; i < N; i++) {
    assert_int_equal(r[i], x[i]);
    assert_int_equal(r[N + i], (int8_t)x[i]);
    assert_int_equal(r[2 * N + i], y[i]);
    assert_int_equal(r[3 * N + i], (int16_t)y[i]);
    assert_int_equal(narrow[i], (uint16_t)(x[i] * y[i] + (y[i] >> 3)));
  }
}

static void a_flat_pointer_finds_global_lds_and_scratch_memory(void **state) {
  (void)state;
  int *x = buffer(4 * N), *r = buffer(4 * N);
  for (int i = 0; i < N; i++) x[i] = 1000 + i;
  RUN("flat", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++)
    assert_int_equal(r[i], i % 3 == 0 ? 1000 + i : i % 3 == 1 ? 2000 + i : 3000 + i);
}

static void functions_are_called_and_constants_read(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  static const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
  RUN("calls", one_group, ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    int product = 1;
    for (int k = i % 8; k > 0; k--) product *= table[k];
    assert_int_equal(r[i], product + table[i % 8]);
  }
}

static void a_workgroup_need_not_fill_its_waves(void **state) {
  (void)state;
  int *r = buffer(4 * 100);
  RUN("identify", ((Shape){.groups = 1, .items = 100}), ARGUMENT(r));
  for (int i = 0; i < 100; i++) assert_int_equal(r[i], i);
}

static void an_out_of_bounds_store_is_reported_with_its_lane(void **state) {
  (void)state;
  int *r = buffer(4 * 70);
  char address[32];
  RUN_AND_FAIL("identify", ((Shape){.groups = 1, .items = 128}), ARGUMENT(r));
  assert_contains(error, "global_store_dword");
  assert_contains(error, "lane 6: store of 4 bytes");
  assert_contains(error, "workgroup 0,0,0 wave 1");
  assert_contains(error, "kernel entry +");
  snprintf(address, sizeof address, "at %p", (void *)(r + 70));
  assert_contains(error, address);
}

static void an_out_of_bounds_load_is_reported_with_its_width(void **state) {
  (void)state;
  float *x = buffer(16 * N - 4), *r = buffer(16 * N);
  RUN_AND_FAIL("quads", one_group, ARGUMENT(x), ARGUMENT(r));
  assert_contains(error, "global_load_dwordx4");
  assert_contains(error, "load of 16 bytes");
}

static void an_out_of_bounds_scalar_load_and_atomic_are_reported(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  RUN_AND_FAIL("uniform", one_group, 64, ARGUMENT(r));
  assert_contains(error, "scalar load of");
  RUN_AND_FAIL("lds_atomics", one_group, ARGUMENT(r), 4096);
  assert_contains(error, "at 0x1000 is out of bounds");
  RUN_AND_FAIL("count", one_group, 4096);
  assert_contains(error, "atomic access to 4 bytes at 0x1000");
}

static void the_same_fault_is_reported_with_any_number_of_threads(void **state) {
  (void)state;
  char first[512];
  int *r = buffer(4 * 1000);
  RUN_AND_FAIL("identify", ((Shape){.groups = 40, .items = 64, .threads = 1}), ARGUMENT(r));
  strcpy(first, error);
  for (int threads = 2; threads < 6; threads++) {
    RUN_AND_FAIL("identify", ((Shape){.groups = 40, .items = 64, .threads = threads}), ARGUMENT(r));
    assert_string_equal(error, first);
  }
}

static void accesses_outside_of_lds_are_reported(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  RUN("dynamic", ((Shape){.groups = 1, .items = N, .dynamic_lds = 4 * N}), ARGUMENT(r));
  for (int i = 0; i < N; i++) assert_int_equal(r[i], N - 1 - i);
  RUN_AND_FAIL("dynamic", ((Shape){.groups = 1, .items = N, .dynamic_lds = 4 * N - 4}), ARGUMENT(r));
  assert_contains(error, "lane 63: store of 4 bytes at 0x3fc is out of bounds of the workgroup's LDS");
}

static void accesses_outside_of_scratch_are_reported(void **state) {
  (void)state;
  int *x = buffer(4 * N), *r = buffer(4 * N);
  x[9] = 100000;
  RUN_AND_FAIL("stray", one_group, ARGUMENT(x), ARGUMENT(r));
  assert_contains(error, "lane 9: ");
  assert_contains(error, "scratch memory");
}

static void an_unknown_instruction_is_named(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  RUN_AND_FAIL("matrix", one_group, ARGUMENT(r));
  assert_contains(error, "unknown instruction: 'v_mfma_f32_4x4x1");
  assert_contains(error, "at pc 0x");
}

static void a_trap_is_reported(void **state) {
  (void)state;
  RUN_AND_FAIL("traps", one_group, 0);
  assert_contains(error, "s_trap");
}

static void counts_are_the_same_with_one_thread_and_two(void **state) {
  (void)state;
  enum { GROUPS = 40 };
  int *x = buffer(4 * N * GROUPS), *sum = buffer(4 * GROUPS);
  RUN("reduce", ((Shape){.groups = GROUPS, .items = N, .threads = 1}), ARGUMENT(x), ARGUMENT(sum));
  gfx_counts one = counts;
  assert_true(one.wave_instructions > GROUPS * 4 * 50);
  for (int threads = 2; threads <= 4; threads++) {
    RUN("reduce", ((Shape){.groups = GROUPS, .items = N, .threads = threads}), ARGUMENT(x), ARGUMENT(sum));
    assert_memory_equal(&counts, &one, sizeof one);
  }
}

static void memory_lines_and_bank_conflicts_are_counted(void **state) {
  (void)state;
  int *x = buffer(4 * 64 * 64), *r = buffer(4 * 64);
  const Shape wave = {.groups = 1, .items = 64};
  // 64 words in a row are two lines; with a stride of 32 words each is in its own. The result is two lines.
  RUN("stride", wave, ARGUMENT(x), ARGUMENT(r), 1);
  assert_int_equal(counts.memory_transactions, 2 + 2);
  RUN("stride", wave, ARGUMENT(x), ARGUMENT(r), 2);
  assert_int_equal(counts.memory_transactions, 4 + 2);
  RUN("stride", wave, ARGUMENT(x), ARGUMENT(r), 32);
  assert_int_equal(counts.memory_transactions, 64 + 2);
  RUN("stride", wave, ARGUMENT(x), ARGUMENT(r), 0);
  assert_int_equal(counts.memory_transactions, 1 + 2);
  // 32 banks: one store and one load of 64 words take two cycles each; a stride of two words doubles that.
  static const struct { int stride, cycles; } cases[] = {{1, 2}, {2, 4}, {4, 8}, {32, 64}, {33, 2}, {0, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    RUN("banks", ((Shape){.groups = 1, .items = 64, .dynamic_lds = 16384}), ARGUMENT(r),
        (uint64_t)cases[i].stride);
    assert_int_equal(counts.lds_cycles, 2 * cases[i].cycles);
  }
}

static const char *second_source;
static Compiler compiler;

static void code_loaded_over_other_code_is_decoded_anew(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  const uint8_t *first = elf_of_program, *second = compile(&compiler, second_source);
  RUN("identify", one_group, ARGUMENT(r));
  load(second, program.image);
  elf_of_program = second;
  gfx_forget_code();
  RUN("identify", one_group, ARGUMENT(r));
  for (int i = 0; i < N; i++) assert_int_equal(r[i], 7 * i);
  load(first, program.image);
  elf_of_program = first;
  gfx_forget_code();
  RUN("identify", one_group, ARGUMENT(r));
  for (int i = 0; i < N; i++) assert_int_equal(r[i], i);
}

static int print_rate(void) {
  enum { GROUPS = 64 };
  float *x = buffer(4 * N), *r = buffer(4 * N * GROUPS);
  struct timespec start, end;
  for (int threads = 1; threads <= 2; threads++) {
    const uint64_t arguments[] = {ARGUMENT(x), ARGUMENT(r), 2000};
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (!try_kernel("long_loop", (Shape){.groups = GROUPS, .items = N, .threads = threads}, arguments, 3))
      return 1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    printf("%d threads: %.1f million wave-instructions in %.2f s, %.2f million a second\n", threads,
           1e-6 * (double)counts.wave_instructions, seconds,
           1e-6 * (double)counts.wave_instructions / seconds);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (!open_compiler(&compiler)) {
    fprintf(stderr, "libamdhip64.so.5 and libamd_comgr.so.2 are needed: %s\n", dlerror());
    return 77;
  }
  elf_of_program = compile(&compiler, kernels);
  program = load(elf_of_program, NULL);
  allow(program.image, program.bytes);
  second_source = "extern \"C\" __global__ void identify(int *r) { r[threadIdx.x] = 7 * threadIdx.x; }";
  if (argc > 1 && !strcmp(argv[1], "-s")) return print_rate();
#define TEST(name) cmocka_unit_test_teardown(name, free_buffers)
  const struct CMUnitTest tests[] = {
      TEST(arithmetic_in_single_precision_equals_the_hosts),
      TEST(arithmetic_in_double_precision_equals_the_hosts),
      TEST(arithmetic_in_half_precision_equals_the_hosts),
      TEST(pairs_of_halves_are_computed_together),
      TEST(bfloats_are_loaded_rounded_and_stored),
      TEST(integers_are_divided_right),
      TEST(integers_of_64_bits_are_computed_in_pairs_of_registers),
      TEST(numbers_are_converted_between_all_kinds),
      TEST(mathematical_functions_are_close_to_the_hosts),
      TEST(a_reduction_in_lds_needs_its_barriers_and_gets_them),
      TEST(waves_may_wait_for_each_other_without_a_barrier),
      TEST(atomics_of_all_kinds_add_up),
      TEST(atomics_in_lds_return_what_was_there),
      TEST(lanes_exchange_values),
      TEST(arrays_in_scratch_keep_each_lanes_values),
      TEST(registers_may_be_chosen_at_run_time),
      TEST(lanes_leave_loops_at_different_times),
      TEST(sixteen_bytes_are_moved_at_once),
      TEST(bytes_and_shorts_are_extended),
      TEST(a_flat_pointer_finds_global_lds_and_scratch_memory),
      TEST(functions_are_called_and_constants_read),
      TEST(a_workgroup_need_not_fill_its_waves),
      TEST(an_out_of_bounds_store_is_reported_with_its_lane),
      TEST(an_out_of_bounds_load_is_reported_with_its_width),
      TEST(an_out_of_bounds_scalar_load_and_atomic_are_reported),
      TEST(the_same_fault_is_reported_with_any_number_of_threads),
      TEST(accesses_outside_of_lds_are_reported),
      TEST(accesses_outside_of_scratch_are_reported),
      TEST(an_unknown_instruction_is_named),
      TEST(a_trap_is_reported),
      TEST(counts_are_the_same_with_one_thread_and_two),
      TEST(memory_lines_and_bank_conflicts_are_counted),
      TEST(code_loaded_over_other_code_is_decoded_anew),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
