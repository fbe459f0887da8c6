#include "wave.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// A wave that does not reach a barrier gives the others of its workgroup a turn after so many instructions:
// waves may wait for each other through memory.
enum { SLICE = 10000, SHORT_SLICE = 96 };

// Bits of the kernel descriptor's properties that put values in the first scalar registers.
enum {
  PROPERTY_PRIVATE_SEGMENT_BUFFER = 1 << 0,
  PROPERTY_DISPATCH_POINTER = 1 << 1,
  PROPERTY_QUEUE_POINTER = 1 << 2,
  PROPERTY_KERNARG_POINTER = 1 << 3,
  PROPERTY_DISPATCH_ID = 1 << 4,
  PROPERTY_FLAT_SCRATCH = 1 << 5,
  PROPERTY_PRIVATE_SEGMENT_SIZE = 1 << 6,
};

uint32_t wave_read32(const Wave *wave, const Operand *operand) {
  switch (operand->kind) {
  case OPERAND_SCALAR:
    return wave->scalar[operand->reg];
  case OPERAND_VECTOR:
    return wave->vector[operand->reg][0];
  case OPERAND_INTEGER:
    return (uint32_t)operand->integer;
  case OPERAND_FLOAT: {
    float value = (float)operand->real;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  case OPERAND_SCC:
    return wave->scc;
  case OPERAND_VCCZ:
    return scalar_pair(wave, SCALAR_VCC) == 0;
  case OPERAND_EXECZ:
    return wave_exec(wave) == 0;
  default:
    return 0;
  }
}

uint64_t wave_read64(const Wave *wave, const Operand *operand) {
  switch (operand->kind) {
  case OPERAND_SCALAR:
    return operand->words > 1 ? scalar_pair(wave, operand->reg) : wave->scalar[operand->reg];
  case OPERAND_INTEGER:
    return (uint64_t)operand->integer;
  case OPERAND_FLOAT: {
    uint64_t bits;
    memcpy(&bits, &operand->real, sizeof bits);
    return bits;
  }
  case OPERAND_SHARED_BASE:
    return lds_aperture;
  case OPERAND_PRIVATE_BASE:
    return scratch_aperture;
  default:
    return wave_read32(wave, operand);
  }
}

bool wave_fault(Wave *wave, const Instruction *instruction, const char *format, ...) {
  Workgroup *group = wave->group;
  char what[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  int64_t entry;
  memcpy(&entry, (const char *)(uintptr_t)group->dispatch->kernel_descriptor + 16, sizeof entry);
  long long offset = (long long)(instruction->pc - (group->dispatch->kernel_descriptor + (uint64_t)entry));
  snprintf(group->fault, sizeof group->fault,
           "'%s' at pc %#llx (kernel entry %c %#llx), workgroup %u,%u,%u wave %d: %s", instruction->text,
           (unsigned long long)instruction->pc, offset < 0 ? '-' : '+', offset < 0 ? -offset : offset,
           group->id[0], group->id[1], group->id[2], wave->index, what);
  return false;
}

// Puts the values that the hardware starts a wave with in its registers.
static void start_wave(Wave *wave, Workgroup *group, int index) {
  const gfx_dispatch *dispatch = group->dispatch;
  const char *descriptor = (const char *)(uintptr_t)dispatch->kernel_descriptor;
  int64_t entry;
  uint32_t resources;
  uint16_t properties, preload;
  memcpy(&entry, descriptor + 16, sizeof entry);
  memcpy(&resources, descriptor + 52, sizeof resources);
  memcpy(&properties, descriptor + 56, sizeof properties);
  memcpy(&preload, descriptor + 58, sizeof preload);

  memset(wave->vector[0], 0, group->registers * sizeof wave->vector[0]);
  memset(wave->vector[ACCUMULATION_REGISTERS], 0, group->registers * sizeof wave->vector[0]);
  memset(wave->scalar, 0, sizeof wave->scalar);
  wave->scc = wave->done = wave->at_barrier = false;
  wave->index_mode = 0;
  wave->instructions = 0;
  wave->index = index;
  wave->group = group;

  int preloaded = preload & 0x7f, preload_offset = preload >> 7;
  // Code that expects preloaded arguments starts with 256 bytes that load them for firmware which does not.
  wave->pc = dispatch->kernel_descriptor + (uint64_t)entry + (preloaded ? 256 : 0);
  int next = 0;
  if (properties & PROPERTY_PRIVATE_SEGMENT_BUFFER) next += 4;
  if (properties & PROPERTY_DISPATCH_POINTER) set_scalar_pair(wave, next, dispatch->packet), next += 2;
  if (properties & PROPERTY_QUEUE_POINTER) set_scalar_pair(wave, next, dispatch->queue), next += 2;
  if (properties & PROPERTY_KERNARG_POINTER) set_scalar_pair(wave, next, dispatch->kernarg), next += 2;
  if (properties & PROPERTY_DISPATCH_ID) next += 2;
  if (properties & PROPERTY_FLAT_SCRATCH) next += 2;
  if (properties & PROPERTY_PRIVATE_SEGMENT_SIZE) wave->scalar[next++] = dispatch->scratch_bytes;
  if (preloaded) {
    memcpy(&wave->scalar[next], (const char *)(uintptr_t)dispatch->kernarg + 4 * preload_offset,
           4 * (size_t)preloaded);
    next += preloaded;
  }
  for (int axis = 0; axis < 3; axis++)
    if (resources >> (7 + axis) & 1) wave->scalar[next++] = group->id[axis];

  const uint32_t *size = dispatch->workgroup;
  uint64_t exec = 0;
  for (uint32_t lane = 0; lane < LANES; lane++) {
    uint32_t item = (uint32_t)index * LANES + lane;
    uint32_t id[3] = {item % size[0], item / size[0] % size[1], item / size[0] / size[1]};
    if (id[2] >= size[2]) break;
    wave->vector[0][lane] = id[0] | id[1] << 10 | id[2] << 20;
    bool inside = true;
    for (int axis = 0; axis < 3; axis++)
      inside = inside && (uint64_t)group->id[axis] * size[axis] + id[axis] < dispatch->grid[axis];
    if (inside) exec |= 1ull << lane;
  }
  set_scalar_pair(wave, SCALAR_EXEC, exec);
  wave->lane_mask_of = 0;
  memset(wave->lane_mask, 0, sizeof wave->lane_mask);
  wave->done = exec == 0;
}

// The next of a workgroup's pseudo-random numbers (Marsaglia's xorshift), for its schedule.
static uint64_t next_number(Workgroup *group) {
  uint64_t x = group->random;
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return group->random = x;
}

// Runs a wave until it ends, waits at a barrier, or has used its slice.
static bool run_slice(Wave *wave) {
  Workgroup *group = wave->group;
  int slice = group->random ? 1 + (int)(next_number(group) % SHORT_SLICE) : SLICE;
  for (int i = 0; i < slice && !wave->done && !wave->at_barrier; i++) {
    const Instruction *instruction = code_fetch(&group->code, wave->pc, group->fault, sizeof group->fault);
    if (!instruction) return false;
    wave->pc += instruction->size;
    wave->instructions++;
    if (!instruction->execute(wave, instruction)) return false;
  }
  return true;
}

bool workgroup_run(Workgroup *group) {
  // Kernels must not count on what an earlier workgroup left in LDS.
  memset(group->lds, 0xcd, group->lds_bytes);
  for (int i = 0; i < group->waves; i++) start_wave(&group->wave[i], group, i);
  uint64_t place = group->id[0] + group->id[1] * 0x100000001ull + group->id[2] * 0x10000000003ull;
  group->random = group->options->schedule ? (group->options->schedule + place) * 0x9e3779b97f4a7c15ull | 1 : 0;
  for (bool alive = true; alive;) {
    alive = false;
    bool all_waiting = true;
    int first = group->random ? (int)(next_number(group) % (uint64_t)group->waves) : 0;
    for (int i = 0; i < group->waves; i++) {
      Wave *wave = &group->wave[(first + i) % group->waves];
      if (!run_slice(wave)) return false;
      if (wave->done) continue;
      alive = true;
      if (!wave->at_barrier) all_waiting = false;
    }
    // Waves that have ended do not hold a barrier up.
    if (all_waiting)
      for (int i = 0; i < group->waves; i++) {
        if (group->wave[i].at_barrier) group->counts.barriers++;
        group->wave[i].at_barrier = false;
      }
  }
  for (int i = 0; i < group->waves; i++) group->counts.wave_instructions += group->wave[i].instructions;
  return true;
}
