// Command lines: one table of options per subcommand gives both the parser and the text of --help.
#ifndef GT_CLI_OPTIONS_H
#define GT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
  GT_OPTION_FLAG,   // bool *
  GT_OPTION_TEXT,   // const char **, borrowed from the command line
  GT_OPTION_COUNT,  // int64_t *, 0 or more
  GT_OPTION_NUMBER, // double *, more than 0
} gt_option_kind;

typedef struct {
  const char *name; // without dashes; NULL ends a table
  char letter;      // one-letter form, 0 where there is none
  gt_option_kind kind;
  void *value;
  const char *argument; // what the option takes, as --help calls it; NULL for flags
  const char *help;
} gt_option;

typedef struct {
  const char *command;   // "tune"
  const char *arguments; // "PROBLEM..."
  const char *about;     // what it does, a paragraph or two
  const gt_option *options;
  bool takes_problem; // --help states the problem grammar
  const char *examples;
} gt_usage;

// Explanations of options that several commands have.
#define GT_HELP_CACHE \
  "tuning cache (default $GATHERTUNE_CACHE, else gathertune/cache.db in the XDG cache folder)"
#define GT_HELP_DEVICE "auto (default), hip:0, cuda:0, opencl:0, ... or recorded:FILE; see gathertune devices"
#define GT_HELP_JSON "print facts as JSON on standard output"

#define GT_CONTINUE (-1)

// Parses argv[1] and on into the options' values. Returns GT_CONTINUE, with the arguments that are no options
// in *arguments (they point into argv, which is permuted), or the exit code to leave with: 0 after --help, 2
// after an error, which it has printed.
int gt_options_parse(const gt_usage *usage, int argc, char **argv, char ***arguments, int *n_arguments);

#endif
