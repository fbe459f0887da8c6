#include "code_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

// Instructions are multiples of 4 bytes, so that a page's table has an entry for each place where one may
// start.
enum { PAGE_SHIFT = 12, PAGE_ENTRIES = 1 << (PAGE_SHIFT - 2), BUCKETS = 256 };

struct CodePage {
  CodePage *next;
  uint64_t number;
  _Atomic(const Instruction *) instruction[PAGE_ENTRIES];
};

// Forgetting code starts a new cache; dispatches that run keep the old one, which goes with its last reader.
struct CodeCache {
  int readers;
  bool current;
  CodePage *bucket[BUCKETS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CodeCache *current;

static void free_cache(CodeCache *cache) {
  for (int i = 0; i < BUCKETS; i++)
    for (CodePage *page = cache->bucket[i], *next; page; page = next) {
      next = page->next;
      for (int entry = 0; entry < PAGE_ENTRIES; entry++) free((void *)page->instruction[entry]);
      free(page);
    }
  free(cache);
}

CodeReader code_reader_open(const gfx_options *options) {
  pthread_mutex_lock(&lock);
  if (!current) {
    current = calloc(1, sizeof *current);
    if (current) current->current = true;
  }
  if (current) current->readers++;
  CodeReader reader = {.cache = current, .options = options};
  pthread_mutex_unlock(&lock);
  return reader;
}

void code_reader_close(CodeReader *reader) {
  if (!reader->cache) return;
  pthread_mutex_lock(&lock);
  bool unused = --reader->cache->readers == 0 && !reader->cache->current;
  pthread_mutex_unlock(&lock);
  if (unused) free_cache(reader->cache);
  reader->cache = NULL;
}

void gfx_forget_code(void) {
  pthread_mutex_lock(&lock);
  CodeCache *old = current;
  current = NULL;
  bool unused = false;
  if (old) {
    old->current = false;
    unused = old->readers == 0;
  }
  pthread_mutex_unlock(&lock);
  if (unused) free_cache(old);
}

static CodePage *find_page(CodeCache *cache, uint64_t number) {
  CodePage **bucket = &cache->bucket[number % BUCKETS];
  for (CodePage *page = *bucket; page; page = page->next)
    if (page->number == number) return page;
  CodePage *page = calloc(1, sizeof *page);
  if (!page) return NULL;
  page->number = number;
  page->next = *bucket;
  *bucket = page;
  return page;
}

// The slow way: under the lock, which the disassembler needs too.
static const Instruction *decode(CodeReader *reader, uint64_t pc, char *error, size_t error_size) {
  uint64_t number = pc >> PAGE_SHIFT;
  unsigned entry = (pc >> 2) % PAGE_ENTRIES;
  Instruction *fresh = NULL;
  pthread_mutex_lock(&lock);
  CodePage *page = reader->cache ? find_page(reader->cache, number) : NULL;
  const Instruction *known = page ? page->instruction[entry] : NULL;
  if (page && !known) {
    fresh = malloc(sizeof *fresh);
    if (!fresh) snprintf(error, error_size, "out of host memory for decoded instructions");
    if (fresh && decode_instruction(pc, fresh, error, error_size)) {
      page->instruction[entry] = known = fresh;
      if (reader->options->decoded) reader->options->decoded(reader->options->context, pc, fresh->text);
    } else {
      free(fresh);
    }
  }
  pthread_mutex_unlock(&lock);
  if (!page) snprintf(error, error_size, "out of host memory for decoded instructions");
  reader->page = page;
  reader->page_number = number;
  return known;
}

const Instruction *code_fetch(CodeReader *reader, uint64_t pc, char *error, size_t error_size) {
  if (reader->page && reader->page_number == pc >> PAGE_SHIFT) {
    const Instruction *known =
        atomic_load_explicit(&reader->page->instruction[(pc >> 2) % PAGE_ENTRIES], memory_order_acquire);
    if (known) return known;
  }
  return decode(reader, pc, error, error_size);
}
