// What the fuzz harnesses share. A harness is one file fuzz_NAME.c with LLVMFuzzerTestOneInput, which feeds
// one input to the product and checks what must hold whatever the input is, and a folder corpus/NAME with
// inputs to begin from. `make fuzz` links it with clang's libFuzzer; `make check` with replay.c, which needs
// no clang.
#ifndef GT_TESTS_FUZZ_FUZZ_H
#define GT_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "device/fingerprint.h"
#include "generator/generator.h"

// Of every harness. Always 0; what must not be ends the process.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
// Mutations of each input of the corpus that replay.c makes: more for what is fast.
extern const unsigned fuzz_mutations;

// Whether a harness is to do all that it can with an input, where it else takes turns: set for the files of
// the corpus by replay.c.
extern bool fuzz_thorough;

// Ends the process when something does not hold: "fuzz: WHAT".
#define REQUIRE(holds, ...)               \
  do {                                    \
    if (!(holds)) fuzz_fail(__VA_ARGS__); \
  } while (0)
_Noreturn void fuzz_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

// A refusal has a status, and one line of text that a terminal does not obey. `mentions` (may be NULL): what
// the line must have in it, such as the file's name.
void fuzz_refused(gt_status status, const gt_error *error, const char *mentions);

// A file's path in this process's own folder, which lies in memory where there is such a place. Valid until
// the process ends; the same for the same name.
const char *fuzz_path(const char *name);
void fuzz_write(const char *path, const void *data, size_t size);
void fuzz_same(const char *path, const void *data, size_t size, const char *after); // else fails
size_t fuzz_count_files(void);                                                      // in that folder

// The input as a text that ends at its first zero byte. The caller frees it.
char *fuzz_text(const uint8_t *data, size_t size);

// Between these, standard output and error go to memory. The texts, which the caller frees.
void fuzz_hear(void);
void fuzz_heard(gt_buffer *output, gt_buffer *complaints);

// Opened once: the embedded templates.
gt_generator *fuzz_generator(void);
gt_fingerprint fuzz_device(void); // an imaginary GPU, with its limits

#endif
