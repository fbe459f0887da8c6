// Text of gfx942 machine instructions, from AMD's code object manager (libamd_comgr), opened when it is first
// needed.
#ifndef GFX942_DISASSEMBLE_H
#define GFX942_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Fills `text` with the instruction at `pc` and *size with its length in bytes. Callers take turns.
bool disassemble(uint64_t pc, char *text, size_t text_size, uint32_t *size, char *error, size_t error_size);

#endif
