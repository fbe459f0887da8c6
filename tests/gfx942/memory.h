// What global, flat, scratch and LDS instructions share.
#ifndef GFX942_MEMORY_H
#define GFX942_MEMORY_H

#include "wave.h"

// One lane's address. Lanes that are off have no entry in lists of these.
typedef struct {
  uint64_t address;
  uint8_t lane;
} LaneAddress;

// Does one atomic on 4 or 8 bytes and returns what was there before.
uint64_t atomic_operation(Atomic atomic, int bytes, void *address, uint64_t operand, uint64_t compare);

// The atomic that a name means, such as "add_x2" or "smin", and its bytes. False when it is none.
bool atomic_lookup(const char *name, Atomic *atomic, int *bytes);

// Moves the lanes' elements between registers, from `reg` on, and the memory at `base` plus their addresses.
void store_elements(const Wave *wave, const MemoryShape *shape, int reg, const LaneAddress *access,
                    int accesses, uintptr_t base);
void load_elements(Wave *wave, const MemoryShape *shape, int reg, const LaneAddress *access, int accesses,
                   uintptr_t base);

// Does an atomic for each lane. Compare and swap has the compared value first in LDS, and last elsewhere.
void atomic_elements(Wave *wave, const Instruction *instruction, int data_reg, const LaneAddress *access,
                     int accesses, uintptr_t base, bool compare_first);

// "load of" and the like, for faults.
const char *access_name(const MemoryShape *shape);

// Cycles that LDS takes for accesses of `bytes` each: 32 banks of 4 bytes, each giving one word a cycle;
// lanes that read one word share it.
uint64_t lds_cycles(const LaneAddress *access, int accesses, int bytes, bool shared);

#endif
