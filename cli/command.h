// The subcommands, and what they share: how failures are told, and how generator and cache are opened.
#ifndef GT_CLI_COMMAND_H
#define GT_CLI_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/status.h"
#include "cache/cache.h"
#include "generator/generator.h"

// A subcommand takes its own name as argv[0] and returns the program's exit code: 0, 1 after a failure, 2
// after bad input, 130 when interrupted.
int gt_command_devices(int argc, char **argv);
int gt_command_tune(int argc, char **argv);
int gt_command_lookup(int argc, char **argv);
int gt_command_generate(int argc, char **argv);
int gt_command_list(int argc, char **argv);
int gt_command_verify(int argc, char **argv);
int gt_command_replay(int argc, char **argv);
int gt_command_show(int argc, char **argv);
int gt_command_explain(int argc, char **argv);
int gt_command_gc(int argc, char **argv);
int gt_command_doctor(int argc, char **argv);
int gt_command_export(int argc, char **argv);
int gt_command_import(int argc, char **argv);
int gt_command_merge(int argc, char **argv);

#define GT_EXIT_INTERRUPTED 130

// One line "gathertune: ..." on standard error; line breaks in the text become "; ".
void gt_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Complains with the error's text and returns the exit code that suits its status.
int gt_complain_error(const gt_error *error);

// Opens the generator on $GATHERTUNE_TEMPLATES, and says so, or on the embedded templates.
gt_status gt_open_generator(gt_generator **generator, gt_error *error);

// Opens the cache at `path`, or at the default place when it is NULL. For reading, a missing file is GT_OK
// and *cache is NULL. The caller frees *resolved, the path that was used.
gt_status gt_open_cache(const char *path, gt_cache_mode mode, gt_cache **cache, char **resolved,
                        gt_error *error);

// GT_USAGE, with the families that there are, unless the generator has the family `name`.
gt_status gt_check_family(const gt_generator *generator, const char *name, gt_error *error);

// Prints on standard output and releases the reference.
void gt_print_json(json_t *json);

// Writes a whole file. GT_IO with the path and the reason; nothing half-written is left behind.
gt_status gt_write_file(const char *path, const void *data, size_t size, gt_error *error);

// The beginning of a command line that reproduces a failure: "gathertune" with the environment it ran in.
// More words are added with gt_command_word, quoted for a shell where they need it.
void gt_command_start(gt_buffer *line, const char *command);
void gt_command_word(gt_buffer *line, const char *word);

// SIGINT and SIGTERM end the workshop's call in progress; the second one ends the process.
void gt_catch_interrupts(void);
bool gt_was_interrupted(void);

// "56.2", three to four digits; "-" where there is no time (0 or less). For tables.
typedef struct {
  char text[48];
} gt_short;
gt_short gt_microseconds(double us);
gt_short gt_ratio(double numerator, double denominator,
                  const char *suffix); // two decimals; "-" without a value
gt_short gt_bytes(uint64_t bytes);     // "1.5 KiB"
gt_short gt_counted(uint64_t count, const char *noun); // "1 winner", "3 winners"

// A JSON number, or null where there is no value (0 or less).
json_t *gt_json_number(double value);

#endif
