// Decoded instructions by address, shared by the threads and dispatches that run the same code.
#ifndef GFX942_CODE_CACHE_H
#define GFX942_CODE_CACHE_H

#include "decode.h"
#include "interpreter.h"

typedef struct CodeCache CodeCache;
typedef struct CodePage CodePage;

// One thread's view: it remembers the page that the last instruction lay in.
typedef struct {
  CodeCache *cache;
  CodePage *page;
  uint64_t page_number;
  const gfx_options *options;
} CodeReader;

CodeReader code_reader_open(const gfx_options *options);
void code_reader_close(CodeReader *reader);

// The instruction at pc, decoded when this is its first use. NULL, with the reason in `error`, when it is not
// known.
const Instruction *code_fetch(CodeReader *reader, uint64_t pc, char *error, size_t error_size);

#endif
