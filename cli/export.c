// gathertune export: what is in the cache, for other programs and other machines.
#include "exchange/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/selection.h"
#include "cli/options.h"

typedef struct {
  const char *cache, *format;
  bool no_trials, deterministic, json;
  gt_selection_options selection;
  gt_export_options options;
} arguments;

static int unknown_format(const char *name) {
  gt_buffer names = {0};
  const gt_format *format;
  for (size_t i = 0; (format = gt_format_at(i)); i++)
    gt_buffer_print(&names, "%s%s", i ? ", " : "", format->name);
  gt_complain("export: unknown format '%s'; formats are %s", name, names.data);
  gt_buffer_free(&names);
  return 2;
}

static gt_status collect(const arguments *a, const gt_format *format, gt_collection *collection,
                         gt_error *error) {
  gt_cache *cache = NULL;
  char *path = NULL;
  gt_selection selection = a->selection.selection;
  selection.no_trials = !format->wants_trials || a->no_trials;
  selection.no_winners = !format->wants_winners;
  gt_status status = gt_open_cache(a->cache, GT_CACHE_READ, &cache, &path, error);
  if (status == GT_OK && !cache) status = gt_fail(error, GT_NOT_FOUND, "%s: there is no cache", path);
  if (status == GT_OK) status = gt_collection_read(collection, cache, &selection, 1, error);
  if (status == GT_OK && a->deterministic)
    gt_collection_keep_deterministic(collection);
  else if (status == GT_OK && !format->wants_deterministic)
    gt_collection_keep_winners(collection);
  if (status == GT_OK && collection->n_winners + collection->n_trials == 0)
    status =
        gt_fail(error, GT_NOT_FOUND, "%s: nothing to export: it holds no %s%s%s", path,
                format->wants_winners ? "winner" : "trial",
                a->deterministic ? " whose results are the same bits in every run" : "",
                a->selection.selection.model || a->selection.selection.op || a->selection.selection.n_problems
                    ? " that was asked for"
                    : "");
  free(path);
  gt_cache_close(cache);
  return status;
}

// Where the export itself does not go to standard output, what was exported is told there.
static void report(const arguments *a, const gt_export_counts *counts) {
  struct stat output, there;
  if (!a->options.path || strcmp(a->options.path, "-") == 0) return;
  if (stat(a->options.path, &output) == 0 && fstat(STDOUT_FILENO, &there) == 0 &&
      output.st_dev == there.st_dev && output.st_ino == there.st_ino)
    return; // by another name
  if (a->json)
    gt_print_json(json_pack("{s:s, s:s, s:I, s:I, s:I}", "format", a->format, "output", a->options.path,
                            "winners", (json_int_t)counts->winners, "trials", (json_int_t)counts->trials,
                            "files", (json_int_t)counts->files));
  else
    printf("%s and %s in %s\n", gt_counted(counts->winners, "winner").text,
           gt_counted(counts->trials, "trial").text, a->options.path);
}

static int run(arguments *a) {
  const gt_format *format = gt_format_find(a->format);
  if (!format) return unknown_format(a->format);
  if (format->to_path && (!a->options.path || strcmp(a->options.path, "-") == 0)) {
    gt_complain("export: --format %s needs --output PATH", format->name);
    return 2;
  }
  bool json = strcmp(a->format, "json") == 0;
  const char *odd = a->no_trials && !json                              ? "no-trials"
                    : a->options.no_code && !json                      ? "no-code"
                    : a->deterministic && !format->wants_winners       ? "deterministic"
                    : a->options.prefix && strcmp(a->format, "c") != 0 ? "prefix"
                                                                       : NULL;
  if (odd) {
    gt_complain("export: --%s says nothing about --format %s; see gathertune export --help", odd, a->format);
    return 2;
  }
  gt_collection collection = {0};
  gt_export_counts counts = {0};
  gt_error error = {0};
  int result = gt_selection_make(&a->selection);
  if (result == GT_CONTINUE) {
    gt_status status = gt_open_generator(&a->options.generator, &error);
    if (status == GT_OK) status = collect(a, format, &collection, &error);
    if (status == GT_OK) status = format->write(&collection, &a->options, &counts, &error);
    result = status == GT_OK ? 0 : gt_complain_error(&error);
  }
  if (result == 0) report(a, &counts);
  gt_generator_close(a->options.generator);
  gt_collection_free(&collection);
  gt_selection_free(&a->selection);
  return result;
}

// "json, t4 or csv; …": of the table, so that --help cannot forget one.
static char *format_help(void) {
  gt_buffer text = {0};
  const gt_format *format;
  for (size_t i = 0; (format = gt_format_at(i)); i++)
    gt_buffer_print(&text, "%s%-8s %s", i ? "\n" : "", format->name,
                    format->summary);
  return text.data;
}

int gt_command_export(int argc, char **argv) {
  arguments a = {.format = "json"};
  char *formats = format_help();
  const gt_option options[] = {
      {"format", 0, GT_OPTION_TEXT, &a.format, "FORMAT", formats},
      {"output", 'o', GT_OPTION_TEXT, &a.options.path, "PATH", "where to (default: standard output)"},
      GT_SELECTION_OPTIONS(a.selection),
      {"deterministic", 0, GT_OPTION_FLAG, &a.deterministic, NULL,
       "where a winner's results are not the same bits in every run,\nthe best whose are in its place"},
      {"no-trials", 0, GT_OPTION_FLAG, &a.no_trials, NULL, "json: winners alone"},
      {"no-code", 0, GT_OPTION_FLAG, &a.options.no_code, NULL, "json: without code objects"},
      {"prefix", 0, GT_OPTION_TEXT, &a.options.prefix, "NAME",
       "c: what the names in the source begin with (default: tuned)"},
      {"cache", 0, GT_OPTION_TEXT, &a.cache, "FILE", GT_HELP_CACHE},
      {"json", 0, GT_OPTION_FLAG, &a.json, NULL, "with --output: tell what was exported as JSON"},
      {0},
  };
  const gt_usage usage = {
      .command = "export",
      .arguments = "",
      .about = "Writes what is in the tuning cache, or a part of it, in a format for other programs and\n"
               "machines. The cache is only read. Host names and device addresses are part of json and bundle: they\n"
               "say where a time comes from.",
      .options = options,
      .examples = "  gathertune export --model MI300X --format json -o mi300x.json\n",
  };
  char **words;
  int count, result = gt_options_parse(&usage, argc, argv, &words, &count);
  if (result == GT_CONTINUE && count) {
    gt_complain("export: takes no argument '%s'; see gathertune export --help", words[0]);
    result = 2;
  }
  if (result == GT_CONTINUE) result = run(&a);
  free(formats);
  return result;
}
