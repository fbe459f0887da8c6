// gathertune: dispatches to the subcommands.
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "cli/command.h"
#include "tuner/worker.h"

static const struct {
  const char *name, *summary;
  int (*run)(int argc, char **argv);
} commands[] = {
    {"devices", "what this machine can tune on, and why the rest is not there", gt_command_devices},
    {"tune", "find the fastest kernel for problems and keep it", gt_command_tune},
    {"lookup", "show the kernel that a program would get for a problem", gt_command_lookup},
    {"generate", "print a kernel's source, or compile it, for any architecture", gt_command_generate},
    {"list", "show what is in the tuning cache", gt_command_list},
    {"verify", "compare kernels with results that another program computed", gt_command_verify},
    {"replay", "try search strategies on recorded times, without a device", gt_command_replay},
    {"show", "show all that the tuning cache has of a problem", gt_command_show},
    {"explain", "tell why a problem has the kernel that it has", gt_command_explain},
    {"export", "write what is tuned for other programs and machines", gt_command_export},
    {"import", "take in what another machine exported", gt_command_import},
    {"merge", "unite tuning caches", gt_command_merge},
    {"doctor", "look for what is wrong or missing, and say what to do", gt_command_doctor},
    {"gc", "make the tuning cache smaller", gt_command_gc},
};

static void print_help(FILE *stream) {
  fputs("usage: gathertune COMMAND [options]\n\n"
        "Generates gather-sum kernels for the backward pass of interpolation operators, and finds the "
        "fastest one\n"
        "for each problem and GPU model.\n\ncommands:\n",
        stream);
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
    fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].summary);
  fputs("\ngathertune COMMAND --help says more; gathertune --version prints the version.\n\n"
        "environment:\n"
        "  GATHERTUNE_CACHE         the tuning cache's file\n"
        "  GATHERTUNE_SYSTEM_CACHE  files, separated by colons, instead of /usr/share/gathertune/*.db, for lookup\n"
        "  GATHERTUNE_TEMPLATES     a folder of templates to use instead of the embedded ones\n",
        stream);
}

int main(int argc, char **argv) {
  const char *word = argc > 1 ? argv[1] : NULL;
  if (!word) {
    print_help(stderr);
    return 2;
  }
  if (strcmp(word, "--worker") == 0) return gt_worker_main(0, 1); // how a tuning parent starts its workers
  // A worker that dies while its parent writes to it costs a trial, not the parent.
  signal(SIGPIPE, SIG_IGN);
  if (strcmp(word, "--version") == 0) {
    puts("gathertune " GT_VERSION);
    return 0;
  }
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
    print_help(stdout);
    return 0;
  }
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
    if (strcmp(commands[i].name, word) == 0) return commands[i].run(argc - 1, argv + 1);
  gt_complain("unknown %s '%s'; see gathertune --help", *word == '-' ? "option" : "command", word);
  return 2;
}
