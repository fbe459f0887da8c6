// What global, flat, scratch and LDS instructions share.
#ifndef GFX942_MEMORY_H
#define GFX942_MEMORY_H

#include "wave.h"

// One lane's address in the host and in the kernel's view. Lanes that are off have no entry.
typedef struct {
  uint64_t address;
  uint8_t lane;
} LaneAddress;

// Does one atomic on 4 or 8 bytes and returns what was there before.
uint64_t atomic_operation(Atomic atomic, int bytes, void *address, uint64_t operand, uint64_t compare);

// The atomic that a name means, such as "add_x2" or "smin", and its bytes. False when it is none.
bool atomic_lookup(const char *name, Atomic *atomic, int *bytes);

// Moves one lane's element between its registers and memory.
void store_element(const Wave *wave, const MemoryShape *shape, int reg, int lane, uint8_t *memory);
void load_element(Wave *wave, const MemoryShape *shape, int reg, int lane, const uint8_t *memory);
void atomic_element(Wave *wave, const Instruction *instruction, int data_reg, bool compare_first, int lane,
                    uint8_t *memory);

// Cycles that LDS takes for accesses of `bytes` each: 32 banks of 4 bytes, each giving one word a cycle;
// lanes that read one word share it.
uint64_t lds_cycles(const LaneAddress *access, int accesses, int bytes, bool shared);

#endif
