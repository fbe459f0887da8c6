// What an AMD GPU's instruction does, told from its name as LLVM's assembler spells it.
#ifndef GT_DEVICE_INSTRUCTION_H
#define GT_DEVICE_INSTRUCTION_H

// Accesses by the bytes that one lane moves: 1, 2, 4, 8, 12, 16, and last 0 for other or unknown widths.
enum { GT_ACCESS_WIDTHS = 7 };
extern const int gt_access_bytes[GT_ACCESS_WIDTHS];
typedef struct {
  int of_width[GT_ACCESS_WIDTHS];
} gt_access_counts;
int gt_access_total(const gt_access_counts *counts);

// X(field, words): what units the instructions keep busy. Each instruction is of one unit.
#define GT_UNIT_LIST(X)             \
  X(vector, "vector")               \
  X(matrix, "matrix")               \
  X(scalar, "scalar")               \
  X(vector_memory, "vector memory") \
  X(scalar_memory, "scalar memory") \
  X(lds, "LDS")                     \
  X(waits, "waits")                 \
  X(other, "other")

typedef struct {
  int total;
#define X(field, words) int field;
  GT_UNIT_LIST(X)
#undef X
  gt_access_counts global_loads, global_stores; // global_, flat_ and buffer_ instructions
  gt_access_counts lds_reads, lds_writes;       // the two halves of read2 and write2 together
  int scratch_accesses;                         // scratch_ instructions
  int global_atomics, flat_atomics, lds_atomics;
  int barriers, branches;
} gt_instruction_counts;

// Counts one instruction: a line of assembler, of which only the first word is read.
void gt_instruction_count(gt_instruction_counts *counts, const char *text);

#endif
