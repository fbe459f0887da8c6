#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "generator/problem.h"

enum { MOST_OPTIONS = 32, FIRST_VALUE = 256, HELP_VALUE = 'h', HELP_COLUMN = 28 };

// --- help --------------------------------------------------------------------------------------------------

static void print_grammar(void) {
  fputs("\nA problem is OPERATOR:key=value,..., with the keys\n"
        "  n, c           batch and channels; 0 makes an empty problem\n"
        "  in, out        sizes of the forward's input and output, outermost first: 128x128\n"
        "  dtype          f32, f16, bf16 or f64\n"
        "  layout         nchw (default) or nhwc, channels last\n"
        "  stride         of grad_output in elements, as PyTorch's stride() prints it: 1048576x65536x256x1;\n"
        "                 absent when it is dense\n"
        "  align_corners  0 (default) or 1; of linear and cubic operators\n"
        "  scale          the user's scale_factor per axis, 2x2; absent when the sizes alone were given\n"
        "  kernel, pool_stride, padding, ceil_mode, count_include_pad, divisor\n"
        "                 of avg_pool2d_backward: 3x3, 2x2 (default: the kernel), 1x1 (default: 0x0), 0 or "
        "1, 1 or 0,\n"
        "                 and divisor_override where it was given\n"
        "  interpolation, padding, want\n"
        "                 of grid_sampler_2d_backward: bilinear (default), nearest or bicubic; zeros (default),\n"
        "                 border or reflection; input, grid or both (default): which gradients\n"
        "  grid           identity, smooth, random or contended: what its positions are like, for tuning;\n"
        "                 absent: tuned for all of them\n"
        "Operators:\n",
        stdout);
  const gt_operator *op;
  for (size_t i = 0; (op = gt_operator_at(i)); i++) printf("  %s\n", op->name);
}

static void print_option(const gt_option *option) {
  char left[128];
  int length = option->letter ? snprintf(left, sizeof left, "  -%c, --%s", option->letter, option->name)
                              : snprintf(left, sizeof left, "      --%s", option->name);
  if (option->argument) snprintf(left + length, sizeof left - (size_t)length, " %s", option->argument);
  printf("%-*s  ", HELP_COLUMN, left);
  for (const char *c = option->help; *c; c++) {
    putchar(*c);
    if (*c == '\n') printf("%*s", HELP_COLUMN + 2, ""); // further lines stand below the first
  }
  putchar('\n');
}

static void print_help(const gt_usage *usage) {
  printf("usage: gathertune %s %s%s[options]\n\n%s\n\noptions:\n", usage->command, usage->arguments,
         *usage->arguments ? " " : "", usage->about);
  for (const gt_option *option = usage->options; option->name; option++) print_option(option);
  print_option(&(gt_option){.name = "help", .letter = 'h', .help = "print this and exit"});
  if (usage->takes_problem) print_grammar();
  printf("\nexample:\n%s", usage->examples);
}

// --- parsing -----------------------------------------------------------------------------------------------

static int bad_usage(const gt_usage *usage, const char *what, const char *word) {
  gt_complain("%s: %s '%s'; see gathertune %s --help", usage->command, what, word, usage->command);
  return 2;
}

static int bad_value(const gt_usage *usage, const gt_option *option, const char *wanted, const char *text) {
  gt_complain("%s: --%s takes %s, not '%s'", usage->command, option->name, wanted, text);
  return 2;
}

static int take(const gt_usage *usage, const gt_option *option, const char *text) {
  char *end = NULL;
  errno = 0;
  switch (option->kind) {
  case GT_OPTION_FLAG:
    *(bool *)option->value = true;
    return GT_CONTINUE;
  case GT_OPTION_TEXT:
    *(const char **)option->value = text;
    return GT_CONTINUE;
  case GT_OPTION_COUNT: {
    long long number = isdigit((unsigned char)*text) ? strtoll(text, &end, 10) : 0;
    if (!end || *end || errno) return bad_value(usage, option, "a whole number of 0 or more", text);
    *(int64_t *)option->value = number;
    return GT_CONTINUE;
  }
  case GT_OPTION_NUMBER: {
    double number = strtod(text, &end);
    if (end == text || *end || !isfinite(number) || number <= 0)
      return bad_value(usage, option, "a number above 0", text);
    *(double *)option->value = number;
    return GT_CONTINUE;
  }
  }
  return 2;
}

int gt_options_parse(const gt_usage *usage, int argc, char **argv, char ***arguments, int *n_arguments) {
  struct option table[MOST_OPTIONS] = {{0}};
  char letters[2 * MOST_OPTIONS + 4] = ":h"; // the colon: a missing argument is told from an unknown option
  int count = 0;
  for (const gt_option *option = usage->options; option->name; option++) {
    if (count + 2 >= MOST_OPTIONS) abort();
    int argument = option->kind == GT_OPTION_FLAG ? no_argument : required_argument;
    table[count] = (struct option){option->name, argument, NULL, FIRST_VALUE + count};
    if (option->letter)
      snprintf(letters + strlen(letters), 3, "%c%s", option->letter, argument == no_argument ? "" : ":");
    count++;
  }
  table[count] = (struct option){"help", no_argument, NULL, HELP_VALUE};

  bool given[MOST_OPTIONS] = {false};
  optind = 0; // a fresh scan, with argv permuted so that options may follow arguments
  opterr = 0;
  int value;
  while ((value = getopt_long(argc, argv, letters, table, NULL)) != -1) {
    if (value == HELP_VALUE) {
      print_help(usage);
      return 0;
    }
    if (value == ':') return bad_usage(usage, "an argument is missing after", argv[optind - 1]);
    if (value == '?' && optopt >= FIRST_VALUE)
      return bad_usage(usage, "this option takes no argument:", argv[optind - 1]);
    if (value == '?') {
      // A bad letter may stand inside a word of several, which getopt has not passed yet.
      char letter[] = {'-', (char)optopt, 0};
      return bad_usage(usage, "unknown option", optopt ? letter : argv[optind - 1]);
    }
    const gt_option *option = NULL;
    if (value >= FIRST_VALUE) option = &usage->options[value - FIRST_VALUE];
    for (const gt_option *each = usage->options; !option && each->name; each++)
      if (each->letter == value) option = each;
    if (option->argument && given[option - usage->options]) { // of two values one would be ignored
      gt_complain("%s: --%s is given twice; see gathertune %s --help", usage->command, option->name,
                  usage->command);
      return 2;
    }
    given[option - usage->options] = true;
    int result = take(usage, option, optarg);
    if (result != GT_CONTINUE) return result;
  }
  *arguments = argv + optind;
  *n_arguments = argc - optind;
  return GT_CONTINUE;
}
