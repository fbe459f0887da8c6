// Global, flat and scratch memory, and scalar loads.
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_SHIFT = 12, APERTURE_BITS = 32, PACKET_BYTES = 64, QUEUE_BYTES = 256 };

void store_elements(const Wave *wave, const MemoryShape *shape, int reg, const LaneAddress *access,
                    int accesses, uintptr_t base) {
  if (shape->bytes >= 4) {
    for (int i = 0; i < accesses; i++)
      for (int word = 0; word < shape->words; word++)
        memcpy((uint8_t *)(base + access[i].address) + 4 * word, &wave->vector[reg + word][access[i].lane],
               4);
    return;
  }
  for (int i = 0; i < accesses; i++) {
    uint32_t value = wave->vector[reg][access[i].lane] >> (shape->half == HALF_HIGH ? 16 : 0);
    memcpy((uint8_t *)(base + access[i].address), &value, shape->bytes);
  }
}

void load_elements(Wave *wave, const MemoryShape *shape, int reg, const LaneAddress *access, int accesses,
                   uintptr_t base) {
  if (shape->bytes >= 4) {
    for (int word = 0; word < shape->words; word++)
      for (int i = 0; i < accesses; i++)
        memcpy(&wave->vector[reg + word][access[i].lane], (uint8_t *)(base + access[i].address) + 4 * word,
               4);
    return;
  }
  for (int i = 0; i < accesses; i++) {
    uint32_t value = 0, *destination = &wave->vector[reg][access[i].lane];
    memcpy(&value, (uint8_t *)(base + access[i].address), shape->bytes);
    if (shape->sign_extend) value = shape->bytes == 1 ? (uint32_t)(int8_t)value : (uint32_t)(int16_t)value;
    if (shape->half == HALF_HIGH) value = value << 16 | (*destination & 0xffff);
    if (shape->half == HALF_LOW) value = (value & 0xffff) | (*destination & 0xffff0000);
    *destination = value;
  }
}

static uint64_t lane_value(const Wave *wave, int reg, int lane, int bytes) {
  return bytes == 8 ? vector_pair(wave, reg, lane) : wave->vector[reg][lane];
}

void atomic_elements(Wave *wave, const Instruction *instruction, int data_reg, const LaneAddress *access,
                     int accesses, uintptr_t base, bool compare_first) {
  const MemoryShape *shape = &instruction->memory;
  int destination = instruction->operand[0].reg, operand_reg = data_reg,
      compare_reg = data_reg + shape->words;
  if (compare_first && shape->atomic == ATOMIC_COMPARE_SWAP) {
    compare_reg = data_reg;
    operand_reg = instruction->operand[shape->returns ? 3 : 2].reg;
  }
  for (int i = 0; i < accesses; i++) {
    int lane = access[i].lane;
    uint64_t compare = 0;
    if (shape->atomic == ATOMIC_COMPARE_SWAP) compare = lane_value(wave, compare_reg, lane, shape->bytes);
    uint64_t old = atomic_operation(shape->atomic, shape->bytes, (void *)(base + access[i].address),
                                    lane_value(wave, operand_reg, lane, shape->bytes), compare);
    if (!shape->returns) continue;
    wave->vector[destination][lane] = (uint32_t)old;
    if (shape->bytes == 8) wave->vector[destination + 1][lane] = (uint32_t)(old >> 32);
  }
}

// What the dispatch itself brings: its packet, the queue's description and the arguments.
static bool belongs_to_dispatch(const Workgroup *group, uint64_t address, uint64_t bytes) {
  const gfx_dispatch *dispatch = group->dispatch;
  const uint64_t start[] = {dispatch->packet, dispatch->queue, dispatch->kernarg};
  const uint64_t size[] = {PACKET_BYTES, QUEUE_BYTES, (group->kernarg_bytes + 15u) & ~15u};
  for (int i = 0; i < 3; i++)
    if (address - start[i] < size[i] && bytes <= size[i] - (address - start[i])) return true;
  return false;
}

// Asks for whole pages, so that the next accesses near by need not be asked about; what lies at the end of an
// allocation that is no whole number of pages is asked about each time.
static bool page_is_known(Workgroup *group, uint64_t page) {
  uint64_t *known = &group->known_page[page % KNOWN_PAGES];
  if (*known == page + 1) return true;
  if (!group->options->may_access(group->options->context, page << PAGE_SHIFT, 1u << PAGE_SHIFT))
    return false;
  *known = page + 1;
  return true;
}

static bool allowed(Workgroup *group, uint64_t address, uint64_t bytes, bool store) {
  if (!group->options->may_access) return true;
  uint64_t end = address + bytes - 1;
  if (end < address) return false;
  uint64_t first = address >> PAGE_SHIFT, last = end >> PAGE_SHIFT;
  if (last - first <= 1 && page_is_known(group, first) && page_is_known(group, last)) return true;
  return group->options->may_access(group->options->context, address, (size_t)bytes) ||
         (!store && belongs_to_dispatch(group, address, bytes));
}

const char *access_name(const MemoryShape *shape) {
  return shape->atomic ? "atomic access to" : shape->store ? "store of" : "load of";
}

static bool out_of_bounds(Wave *wave, const Instruction *instruction, LaneAddress access, const char *where) {
  const MemoryShape *shape = &instruction->memory;
  return wave_fault(wave, instruction, "lane %d: %s %d bytes at %#llx is out of bounds of %s", access.lane,
                    access_name(shape), shape->bytes, (unsigned long long)access.address, where);
}

// Finds the distinct lines that the accesses touch, at most two for each lane, and returns how many they are.
static int find_lines(const LaneAddress *access, int accesses, int bytes, uint64_t *found) {
  enum { SLOTS = 512 };
  uint64_t slot[SLOTS];
  int count = 0;
  bool hashed = false;
  for (int i = 0; i < accesses; i++) {
    uint64_t from = access[i].address >> GFX_LINE_SHIFT,
             to = (access[i].address + (uint64_t)bytes - 1) >> GFX_LINE_SHIFT;
    for (uint64_t line = from; line <= to; line++) {
      // Lanes mostly go through memory in order: then a line is new when it is beyond the last one.
      if (!hashed && (count == 0 || line >= found[count - 1])) {
        if (count == 0 || line > found[count - 1]) found[count++] = line;
        continue;
      }
      if (!hashed) {
        // Out of order: start over with a table of lines.
        hashed = true;
        memset(slot, 0, sizeof slot);
        count = 0;
        i = -1;
        break;
      }
      uint64_t at = line * 0x9e3779b97f4a7c15 >> 55;
      while (slot[at] && slot[at] != line + 1) at = (at + 1) % SLOTS;
      if (slot[at] == 0) found[count++] = line;
      slot[at] = line + 1;
    }
  }
  return count;
}

static void move_elements(Wave *wave, const Instruction *instruction, int data_reg, const LaneAddress *access,
                          int accesses, uintptr_t base) {
  const MemoryShape *shape = &instruction->memory;
  if (shape->atomic)
    atomic_elements(wave, instruction, data_reg, access, accesses, base, false);
  else if (shape->store)
    store_elements(wave, shape, data_reg, access, accesses, base);
  else
    load_elements(wave, shape, data_reg, access, accesses, base);
}

// Which of the operands are the address, the data and the scalar base.
typedef struct {
  const Operand *address, *data, *base;
} MemoryOperands;

static MemoryOperands memory_operands(const Instruction *instruction) {
  const MemoryShape *shape = &instruction->memory;
  const Operand *operand = instruction->operand;
  MemoryOperands result;
  int at = shape->store || (shape->atomic && !shape->returns) ? 0 : 1;
  result.address = &operand[at];
  result.data = shape->atomic || shape->store ? &operand[at + 1] : &operand[0];
  int base = shape->atomic || shape->store ? at + 2 : at + 1;
  result.base = base < instruction->operands ? &operand[base] : NULL;
  return result;
}

// Fills in the addresses of the lanes that are on, and returns how many they are.
static int lane_addresses(const Wave *wave, const Instruction *instruction, const MemoryOperands *operands,
                          LaneAddress *access) {
  bool scratch = instruction->memory.space == SPACE_SCRATCH;
  uint64_t base = (uint64_t)(int64_t)instruction->offset;
  if (operands->base && operands->base->kind == OPERAND_SCALAR)
    base += scratch ? wave_read32(wave, operands->base) : wave_read64(wave, operands->base);
  const Operand *address = operands->address;
  const uint32_t *low = address->kind == OPERAND_VECTOR ? wave->vector[address->reg] : NULL;
  const uint32_t *high = low && address->words > 1 ? wave->vector[address->reg + 1] : NULL;
  int count = 0;
  for (uint64_t left = wave_exec(wave); left; left &= left - 1) {
    int lane = __builtin_ctzll(left);
    uint64_t at = base + (low ? low[lane] : 0) + (high ? (uint64_t)high[lane] << 32 : 0);
    access[count++] = (LaneAddress){scratch ? (uint32_t)at : at, (uint8_t)lane};
  }
  return count;
}

// The lanes' parts of scratch memory follow each other.
static bool access_scratch(Wave *wave, const Instruction *instruction, int data_reg, LaneAddress *access,
                           int accesses) {
  for (int i = 0; i < accesses; i++) {
    uint32_t at = (uint32_t)access[i].address;
    if ((uint64_t)at + instruction->memory.bytes > wave->scratch_bytes)
      return out_of_bounds(wave, instruction, access[i], "the lane's scratch memory");
    access[i].address = (uint64_t)access[i].lane * wave->scratch_bytes + at;
  }
  move_elements(wave, instruction, data_reg, access, accesses, (uintptr_t)wave->scratch);
  return true;
}

static bool execute_scratch(Wave *wave, const Instruction *instruction) {
  MemoryOperands operands = memory_operands(instruction);
  LaneAddress access[LANES];
  int accesses = lane_addresses(wave, instruction, &operands, access);
  return access_scratch(wave, instruction, operands.data->reg, access, accesses);
}

static bool access_global(Wave *wave, const Instruction *instruction, int data_reg, LaneAddress *access,
                          int accesses) {
  Workgroup *group = wave->group;
  const MemoryShape *shape = &instruction->memory;
  if (accesses == 0) return true;
  uint64_t low = access[0].address, high = low;
  for (int i = 1; i < accesses; i++) {
    if (access[i].address < low) low = access[i].address;
    if (access[i].address > high) high = access[i].address;
  }
  // Usually the lanes lie close together, and one question settles all of them.
  bool change = shape->store || shape->atomic;
  bool close = high - low < (1u << PAGE_SHIFT) && allowed(group, low, high - low + shape->bytes, change);
  for (int i = 0; !close && i < accesses; i++)
    if (!allowed(group, access[i].address, shape->bytes, change))
      return out_of_bounds(wave, instruction, access[i], "the memory that the kernel may touch");
  for (int i = 0; shape->atomic && i < accesses; i++)
    if (access[i].address % shape->bytes)
      return wave_fault(wave, instruction, "lane %d: the atomic's address %#llx is not aligned",
                        access[i].lane, (unsigned long long)access[i].address);
  uint64_t line[2 * LANES];
  int lines = find_lines(access, accesses, shape->bytes, line);
  group->counts.memory_transactions += (uint64_t)lines;
  if (group->options->count_traffic &&
      (change || !belongs_to_dispatch(group, low, high - low + shape->bytes))) {
    (change ? &group->counts.written : &group->counts.read)->bytes += (uint64_t)accesses * shape->bytes;
    for (int i = 0; i < lines; i++) touch_line(group, line[i], change);
  }
  move_elements(wave, instruction, data_reg, access, accesses, 0);
  return true;
}

static bool execute_global(Wave *wave, const Instruction *instruction) {
  MemoryOperands operands = memory_operands(instruction);
  LaneAddress access[LANES];
  int accesses = lane_addresses(wave, instruction, &operands, access);
  return access_global(wave, instruction, operands.data->reg, access, accesses);
}

static bool access_lds(Wave *wave, const Instruction *instruction, int data_reg, LaneAddress *access,
                       int accesses) {
  Workgroup *group = wave->group;
  const MemoryShape *shape = &instruction->memory;
  for (int i = 0; i < accesses; i++) {
    access[i].address = (uint32_t)access[i].address;
    if (access[i].address + shape->bytes > group->lds_bytes)
      return out_of_bounds(wave, instruction, access[i], "the workgroup's LDS");
  }
  group->counts.lds_cycles += lds_cycles(access, accesses, shape->bytes, !shape->atomic);
  move_elements(wave, instruction, data_reg, access, accesses, (uintptr_t)group->lds);
  return true;
}

// A flat address says itself which memory it means, for each lane.
static bool execute_flat(Wave *wave, const Instruction *instruction) {
  MemoryOperands operands = memory_operands(instruction);
  LaneAddress access[LANES], global[LANES], lds[LANES], scratch[LANES];
  int accesses = lane_addresses(wave, instruction, &operands, access), globals = 0, shared = 0, own = 0;
  // A load may overwrite the registers that hold the addresses: they have all been read above.
  for (int i = 0; i < accesses; i++) {
    uint64_t aperture = access[i].address >> APERTURE_BITS << APERTURE_BITS;
    if (aperture == lds_aperture)
      lds[shared++] = access[i];
    else if (aperture == scratch_aperture)
      scratch[own++] = access[i];
    else
      global[globals++] = access[i];
  }
  int reg = operands.data->reg;
  return access_global(wave, instruction, reg, global, globals) &&
         access_lds(wave, instruction, reg, lds, shared) &&
         access_scratch(wave, instruction, reg, scratch, own);
}

static bool execute_scalar_load(Wave *wave, const Instruction *instruction) {
  const Operand *operand = instruction->operand;
  const MemoryShape *shape = &instruction->memory;
  uint64_t address = wave_read64(wave, &operand[1]) + (uint64_t)(int64_t)instruction->offset;
  if (instruction->operands > 2)
    address +=
        operand[2].kind == OPERAND_SCALAR ? wave_read32(wave, &operand[2]) : (uint64_t)operand[2].integer;
  address &= ~3ull;
  size_t bytes = 4u * shape->words;
  if (!allowed(wave->group, address, bytes, false))
    return wave_fault(
        wave, instruction,
        "scalar load of %zu bytes at %#llx is out of bounds of the memory that the kernel may touch", bytes,
        (unsigned long long)address);
  if (wave->group->options->count_traffic && !belongs_to_dispatch(wave->group, address, bytes)) {
    wave->group->counts.read.bytes += bytes;
    for (uint64_t line = address >> GFX_LINE_SHIFT; line <= (address + bytes - 1) >> GFX_LINE_SHIFT; line++)
      touch_line(wave->group, line, false);
  }
  memcpy(&wave->scalar[operand[0].reg], (const void *)(uintptr_t)address, bytes);
  return true;
}

static bool starts(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

// What follows "load_" or "store_": dwordx4, ubyte, sbyte_d16_hi, short.
static bool element_lookup(const char *name, MemoryShape *shape) {
  if (starts(name, "dword")) {
    shape->words = name[5] == 'x' ? (uint8_t)(name[6] - '0') : 1;
    shape->bytes = (uint8_t)(4 * shape->words);
    return shape->words >= 1 && shape->words <= 4;
  }
  shape->words = 1;
  if (starts(name, "ubyte") || starts(name, "byte") || starts(name, "sbyte"))
    shape->bytes = 1;
  else if (starts(name, "ushort") || starts(name, "short") || starts(name, "sshort"))
    shape->bytes = 2;
  else
    return false;
  shape->sign_extend = starts(name, "sbyte") || starts(name, "sshort");
  shape->half = strstr(name, "d16_hi") ? HALF_HIGH : strstr(name, "d16") ? HALF_LOW : HALF_WHOLE;
  return true;
}

bool memory_lookup(const char *name, Instruction *instruction) {
  MemoryShape *shape = &instruction->memory;
  if (starts(name, "s_load_dword")) {
    const char *count = name + strlen("s_load_dword");
    shape->words = *count == 'x' ? (uint8_t)atoi(count + 1) : 1;
    instruction->execute = execute_scalar_load;
    return instruction->operand[0].reg + shape->words <= SCALARS;
  }
  static const struct {
    const char *prefix;
    Space space;
    Execute execute;
  } spaces[] = {{"global_", SPACE_GLOBAL, execute_global},
                {"flat_", SPACE_FLAT, execute_flat},
                {"scratch_", SPACE_SCRATCH, execute_scratch}};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    if (!starts(name, spaces[i].prefix)) continue;
    name += strlen(spaces[i].prefix);
    shape->space = spaces[i].space;
    instruction->execute = spaces[i].execute;
    shape->store = starts(name, "store_");
    if (shape->store) return element_lookup(name + strlen("store_"), shape);
    if (starts(name, "load_")) return element_lookup(name + strlen("load_"), shape);
    int bytes;
    if (!starts(name, "atomic_") || !atomic_lookup(name + strlen("atomic_"), &shape->atomic, &bytes))
      return false;
    shape->bytes = (uint8_t)bytes;
    shape->words = shape->bytes / 4;
    shape->returns = instruction->sc0;
    return true;
  }
  return false;
}
