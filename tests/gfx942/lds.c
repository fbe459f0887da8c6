// LDS instructions, and those that exchange values between lanes through LDS's crossbar.
#include <stdio.h>
#include <string.h>

#include "memory.h"

enum { BANKS = 32, EXCHANGE_CYCLES = 2 };

// Whether all lanes access elements that follow each other.
static bool in_a_row(const LaneAddress *access, int accesses, int bytes) {
  if (accesses != LANES) return false;
  bool row = true;
  for (int i = 0; i < LANES; i++) row &= access[i].address == access[0].address + (uint64_t)(i * bytes);
  return row;
}

uint64_t lds_cycles(const LaneAddress *access, int accesses, int bytes, bool shared) {
  // As many lanes go together as have a word for each bank.
  int words = (bytes + 3) / 4, together = words >= 3 ? 8 : words == 2 ? 16 : 32;
  // The usual case: consecutive words are in different banks.
  if (shared && in_a_row(access, accesses, bytes)) return (uint64_t)(LANES / together);
  uint64_t cycles = 0;
  for (int i = 0; i < accesses;) {
    int group = access[i].lane / together, entries[BANKS] = {0}, most = 0;
    uint32_t word_of[BANKS][LANES];
    for (int start = i; i < accesses && access[i].lane / together == group; i++) {
      // Neighbours often read the same element.
      if (shared && i > start && access[i].address == access[i - 1].address) continue;
      for (int k = 0; k < words; k++) {
        uint32_t word = (uint32_t)(access[i].address >> 2) + (uint32_t)k, bank = word % BANKS;
        // Only loads and stores of one word share a cycle: atomics on it follow each other.
        int entry = shared ? 0 : entries[bank];
        while (entry < entries[bank] && word_of[bank][entry] != word) entry++;
        if (entry < entries[bank]) continue;
        word_of[bank][entries[bank]++] = word;
        if (entries[bank] > most) most = entries[bank];
      }
    }
    cycles += (uint64_t)most;
  }
  return cycles;
}

static int collect(const Wave *wave, int address_reg, uint32_t offset, LaneAddress *access) {
  int count = 0;
  for (uint64_t left = wave_exec(wave); left; left &= left - 1) {
    int lane = __builtin_ctzll(left);
    access[count++] = (LaneAddress){(uint32_t)(wave->vector[address_reg][lane] + offset), (uint8_t)lane};
  }
  return count;
}

static bool check(Wave *wave, const Instruction *instruction, LaneAddress *access, int accesses) {
  const MemoryShape *shape = &instruction->memory;
  uint32_t limit = wave->group->lds_bytes;
  for (int i = 0; i < accesses; i++) {
    if (access[i].address + shape->bytes > limit)
      return wave_fault(wave, instruction,
                        "lane %d: %s %d bytes at %#llx is out of bounds of the workgroup's LDS of %u bytes",
                        access[i].lane, access_name(shape), shape->bytes,
                        (unsigned long long)access[i].address, limit);
    if (shape->atomic && access[i].address % shape->bytes)
      return wave_fault(wave, instruction, "lane %d: the atomic's LDS address %#llx is not aligned",
                        access[i].lane, (unsigned long long)access[i].address);
  }
  wave->group->counts.lds_cycles += lds_cycles(access, accesses, shape->bytes, !shape->atomic);
  return true;
}

static bool execute_access(Wave *wave, const Instruction *instruction) {
  const MemoryShape *shape = &instruction->memory;
  const Operand *operand = instruction->operand;
  int at = shape->store || (shape->atomic && !shape->returns) ? 0 : 1;
  LaneAddress access[LANES];
  int accesses = collect(wave, operand[at].reg, (uint32_t)instruction->offset, access);
  if (!check(wave, instruction, access, accesses)) return false;
  uintptr_t lds = (uintptr_t)wave->group->lds;
  if (shape->atomic)
    atomic_elements(wave, instruction, operand[at + 1].reg, access, accesses, lds, true);
  else if (shape->store)
    store_elements(wave, shape, operand[1].reg, access, accesses, lds);
  else
    load_elements(wave, shape, operand[0].reg, access, accesses, lds);
  return true;
}

// read2 and write2: two elements, each at its own offset from one address.
static bool execute_pair(Wave *wave, const Instruction *instruction) {
  const MemoryShape *shape = &instruction->memory;
  const Operand *operand = instruction->operand;
  int address_reg = operand[shape->store ? 0 : 1].reg;
  LaneAddress access[2][LANES];
  int accesses = 0;
  for (int k = 0; k < 2; k++) {
    uint32_t offset = (uint32_t)(k ? instruction->offset1 : instruction->offset0) * shape->pair_stride;
    accesses = collect(wave, address_reg, offset, access[k]);
    if (!check(wave, instruction, access[k], accesses)) return false;
  }
  uintptr_t lds = (uintptr_t)wave->group->lds;
  for (int k = 0; k < 2; k++)
    if (shape->store)
      store_elements(wave, shape, operand[1 + k].reg, access[k], accesses, lds);
    else
      load_elements(wave, shape, operand[0].reg + k * shape->words, access[k], accesses, lds);
  return true;
}

static void write_lanes(Wave *wave, int reg, const uint32_t *value) {
  for (uint64_t left = wave_exec(wave); left; left &= left - 1) {
    int lane = __builtin_ctzll(left);
    wave->vector[reg][lane] = value[lane];
  }
  wave->group->counts.lds_cycles += EXCHANGE_CYCLES;
}

// Each lane takes the value of the lane that its address names; a lane that is off gives zero.
static bool execute_bpermute(Wave *wave, const Instruction *instruction) {
  const Operand *operand = instruction->operand;
  uint64_t exec = wave_exec(wave);
  uint32_t value[LANES];
  for (int lane = 0; lane < LANES; lane++) {
    unsigned from = (wave->vector[operand[1].reg][lane] + (uint32_t)instruction->offset) >> 2 & 63;
    value[lane] = exec >> from & 1 ? wave->vector[operand[2].reg][from] : 0;
  }
  write_lanes(wave, operand[0].reg, value);
  return true;
}

// Each lane gives its value to the lane that its address names; the last one counts.
static bool execute_permute(Wave *wave, const Instruction *instruction) {
  const Operand *operand = instruction->operand;
  uint32_t value[LANES] = {0};
  for (uint64_t left = wave_exec(wave); left; left &= left - 1) {
    int lane = __builtin_ctzll(left);
    unsigned to = (wave->vector[operand[1].reg][lane] + (uint32_t)instruction->offset) >> 2 & 63;
    value[to] = wave->vector[operand[2].reg][lane];
  }
  write_lanes(wave, operand[0].reg, value);
  return true;
}

static bool execute_swizzle(Wave *wave, const Instruction *instruction) {
  const Operand *operand = instruction->operand;
  uint64_t exec = wave_exec(wave);
  unsigned pattern = (unsigned)instruction->offset;
  uint32_t value[LANES];
  for (unsigned lane = 0; lane < LANES; lane++) {
    unsigned from;
    if (pattern & 0x8000)
      from = (lane & ~3u) | (pattern >> 2 * (lane & 3) & 3);
    else
      from = (lane & 32) | (((lane & pattern & 31) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
    value[lane] = exec >> from & 1 ? wave->vector[operand[1].reg][from] : 0;
  }
  write_lanes(wave, operand[0].reg, value);
  return true;
}

static bool atomic_name(const char *name, Instruction *instruction) {
  MemoryShape *shape = &instruction->memory;
  char plain[32];
  // "add_rtn_u32" is "add_u32" that returns; an exchange always returns.
  const char *returns = strstr(name, "_rtn");
  snprintf(plain, sizeof plain, "%.*s%s", returns ? (int)(returns - name) : (int)strlen(name), name,
           returns ? returns + strlen("_rtn") : "");
  int bytes;
  if (!atomic_lookup(plain, &shape->atomic, &bytes)) return false;
  shape->returns = returns != NULL;
  shape->bytes = (uint8_t)bytes;
  shape->words = shape->bytes / 4;
  instruction->execute = execute_access;
  return true;
}

bool lds_lookup(const char *name, Instruction *instruction) {
  static const struct {
    const char *name;
    uint8_t bytes;
    bool sign_extend;
    Half half;
  } elements[] = {
      {"b8", 1, false, HALF_WHOLE},    {"b8_d16_hi", 1, false, HALF_HIGH},
      {"u8", 1, false, HALF_WHOLE},    {"i8", 1, true, HALF_WHOLE},
      {"u8_d16", 1, false, HALF_LOW},  {"u8_d16_hi", 1, false, HALF_HIGH},
      {"i8_d16", 1, true, HALF_LOW},   {"i8_d16_hi", 1, true, HALF_HIGH},
      {"b16", 2, false, HALF_WHOLE},   {"b16_d16_hi", 2, false, HALF_HIGH},
      {"u16", 2, false, HALF_WHOLE},   {"i16", 2, true, HALF_WHOLE},
      {"u16_d16", 2, false, HALF_LOW}, {"u16_d16_hi", 2, false, HALF_HIGH},
      {"b32", 4, false, HALF_WHOLE},   {"b64", 8, false, HALF_WHOLE},
      {"b96", 12, false, HALF_WHOLE},  {"b128", 16, false, HALF_WHOLE},
  };
  static const struct {
    const char *name;
    bool store;
    uint8_t bytes;
    uint16_t stride;
  } pairs[] = {
      {"read2_b32", false, 4, 4},       {"read2_b64", false, 8, 8},       {"read2st64_b32", false, 4, 256},
      {"read2st64_b64", false, 8, 512}, {"write2_b32", true, 4, 4},       {"write2_b64", true, 8, 8},
      {"write2st64_b32", true, 4, 256}, {"write2st64_b64", true, 8, 512},
  };
  if (strncmp(name, "ds_", 3) != 0) return false;
  name += 3;
  MemoryShape *shape = &instruction->memory;
  shape->space = SPACE_LDS;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (!strcmp(name, pairs[i].name)) {
      shape->store = pairs[i].store;
      shape->bytes = pairs[i].bytes;
      shape->words = pairs[i].bytes / 4;
      shape->pair_stride = pairs[i].stride;
      instruction->execute = execute_pair;
      return true;
    }
  shape->store = strncmp(name, "write_", 6) == 0;
  const char *element = shape->store ? name + 6 : strncmp(name, "read_", 5) == 0 ? name + 5 : "";
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
    if (!strcmp(element, elements[i].name)) {
      shape->bytes = elements[i].bytes;
      shape->words = elements[i].bytes < 4 ? 1 : elements[i].bytes / 4;
      shape->sign_extend = elements[i].sign_extend;
      shape->half = elements[i].half;
      instruction->execute = execute_access;
      return true;
    }
  if (!strcmp(name, "bpermute_b32")) instruction->execute = execute_bpermute;
  if (!strcmp(name, "permute_b32")) instruction->execute = execute_permute;
  if (!strcmp(name, "swizzle_b32")) instruction->execute = execute_swizzle;
  return instruction->execute || atomic_name(name, instruction);
}
