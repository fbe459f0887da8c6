// Feeds a harness the files of its corpus, and mutations of each that are the same in every run: what `make
// check` does where `make fuzz` would go on for an hour. Usage: fuzz_NAME FOLDER, or FILE… for single inputs.
// Speaks TAP. The input at which the process dies is left behind beside the program, as PROGRAM.failed.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

typedef struct {
  char *name;
  gt_buffer bytes;
} input;

typedef struct {
  input *list;
  size_t count;
} inputs;

// --- the input at which it dies ----------------------------------------------------------------------------

static const uint8_t *current;
static size_t current_size;
static char failed_path[4096];

// Of what a signal handler may call.
static void leave_behind(void) {
  int file = open(failed_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool written = file >= 0 && write(file, current, current_size) == (ssize_t)current_size;
  if (file >= 0) close(file);
  const char *words[] = {"the input: ", written ? failed_path : "could not be written", "\n"};
  for (size_t i = 0; i < 3; i++)
    if (write(2, words[i], strlen(words[i])) < 0) return;
}

static void on_signal(int number) {
  leave_behind();
  signal(number, SIG_DFL);
  raise(number);
}

// Sanitizers are to end the process by a signal, too.
const char *__asan_default_options(void) __attribute__((visibility("default")));
const char *__ubsan_default_options(void) __attribute__((visibility("default")));
const char *__asan_default_options(void) {
  return "abort_on_error=1";
}
const char *__ubsan_default_options(void) {
  return "abort_on_error=1";
}

static void watch(void) {
  static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) signal(signals[i], on_signal);
}

enum { MOST_SECONDS = 20 }; // of one input

static void feed(const uint8_t *data, size_t size) {
  // In a block of its own, so that reading past its end shows.
  uint8_t *copy = malloc(size ? size : 1);
  if (!copy) abort();
  memcpy(copy, data, size);
  current = copy;
  current_size = size;
  alarm(MOST_SECONDS);
  LLVMFuzzerTestOneInput(copy, size);
  alarm(0);
  free(copy);
}

// --- the corpus --------------------------------------------------------------------------------------------

static int by_name(const void *a, const void *b) {
  return strcmp(((const input *)a)->name, ((const input *)b)->name);
}

static void add_file(inputs *corpus, const char *path) {
  corpus->list = gt_realloc(corpus->list, (corpus->count + 1) * sizeof *corpus->list);
  input *new = &corpus->list[corpus->count++];
  *new = (input){.name = gt_strdup(path)};
  REQUIRE(gt_buffer_read_file(&new->bytes, path), "cannot read %s", path);
}

static void add(inputs *corpus, const char *path) {
  struct stat info;
  REQUIRE(stat(path, &info) == 0, "there is no %s", path);
  if (!S_ISDIR(info.st_mode)) {
    add_file(corpus, path);
    return;
  }
  DIR *directory = opendir(path);
  REQUIRE(directory, "cannot open %s", path);
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (entry->d_name[0] == '.') continue;
    char *name = gt_print("%s/%s", path, entry->d_name);
    add_file(corpus, name);
    free(name);
  }
  closedir(directory);
  if (corpus->count) qsort(corpus->list, corpus->count, sizeof *corpus->list, by_name);
}

// --- mutations ---------------------------------------------------------------------------------------------

static uint64_t next_random(uint64_t *state) { // splitmix64
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static size_t below(uint64_t *state, size_t bound) {
  return bound ? (size_t)(next_random(state) % bound) : 0;
}

static void cut_off(gt_buffer *bytes, uint64_t *state) {
  bytes->length = below(state, bytes->length + 1);
}

static void flip_bits(gt_buffer *bytes, uint64_t *state) {
  for (size_t flips = 1 + below(state, 4); flips > 0 && bytes->length; flips--)
    bytes->data[below(state, bytes->length)] ^= (char)(1 << below(state, 8));
}

static void set_bytes(gt_buffer *bytes, uint64_t *state) {
  static const char values[] = "\0\xff\x7f\x80\n\"'{}[],:=-0019eE.x";
  for (size_t sets = 1 + below(state, 3); sets > 0 && bytes->length; sets--)
    bytes->data[below(state, bytes->length)] = values[below(state, sizeof values - 1)];
}

// Part of the input a second time, at another place.
static void repeat(gt_buffer *bytes, uint64_t *state) {
  size_t from = below(state, bytes->length), length = below(state, bytes->length - from + 1) % 256,
         to = below(state, bytes->length + 1);
  gt_buffer result = {0};
  gt_buffer_append(&result, bytes->data, to);
  gt_buffer_append(&result, bytes->data + from, length);
  gt_buffer_append(&result, bytes->data + to, bytes->length - to);
  gt_buffer_free(bytes);
  *bytes = result;
}

static void leave_out(gt_buffer *bytes, uint64_t *state) {
  size_t from = below(state, bytes->length), length = below(state, bytes->length - from + 1) % 64;
  memmove(bytes->data + from, bytes->data + from + length, bytes->length - from - length);
  bytes->length -= length;
}

static const struct {
  const char *name;
  void (*mutate)(gt_buffer *bytes, uint64_t *state);
} mutations[] = {
    {"is cut off", cut_off},        {"has flipped bits", flip_bits}, {"has other bytes", set_bytes},
    {"has parts repeated", repeat}, {"lacks a part", leave_out},
};

enum { MUTATIONS = sizeof mutations / sizeof mutations[0] };

static void feed_mutations(const inputs *corpus, size_t which) {
  unsigned rounds = (fuzz_mutations + MUTATIONS - 1) / MUTATIONS;
  for (size_t i = 0; i < corpus->count; i++) {
    uint64_t state = which;
    for (unsigned round = 0; round < rounds; round++) {
      gt_buffer bytes = {0};
      gt_buffer_append(&bytes, corpus->list[i].bytes.data, corpus->list[i].bytes.length);
      mutations[which].mutate(&bytes, &state);
      feed((const uint8_t *)bytes.data, bytes.length);
      gt_buffer_free(&bytes);
    }
  }
}

int main(int argc, char **argv) {
  inputs corpus = {0};
  if (argc < 2) {
    fprintf(stderr, "usage: %s FOLDER | FILE...\n", argv[0]);
    return 2;
  }
  for (int i = 1; i < argc; i++) add(&corpus, argv[i]);
  REQUIRE(corpus.count, "%s: there is no input", argv[1]);
  snprintf(failed_path, sizeof failed_path, "%s.failed", argv[0]);
  watch();
  struct stat info;
  bool single = stat(argv[1], &info) == 0 && !S_ISDIR(info.st_mode);
  printf("1..%zu\n", corpus.count + (single ? 0 : MUTATIONS));
  size_t number = 0;
  for (size_t i = 0; i < corpus.count; i++) {
    fuzz_thorough = true;
    feed((const uint8_t *)corpus.list[i].bytes.data, corpus.list[i].bytes.length);
    fuzz_thorough = false;
    printf("ok %zu %s\n", ++number, corpus.list[i].name);
    fflush(stdout);
  }
  for (size_t which = 0; which < MUTATIONS && !single; which++) {
    feed_mutations(&corpus, which);
    printf("ok %zu an input that %s\n", ++number, mutations[which].name);
    fflush(stdout);
  }
  for (size_t i = 0; i < corpus.count; i++) {
    free(corpus.list[i].name);
    gt_buffer_free(&corpus.list[i].bytes);
  }
  free(corpus.list);
  return 0;
}
