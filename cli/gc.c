// gathertune gc: makes the tuning cache smaller.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/gc.h"
#include "cli/command.h"
#include "cli/options.h"

enum { MOST_DAYS = 10000 };

// "500M": bytes, with K, M or G for powers of 1024.
static bool parse_size(const char *text, int64_t *bytes) {
  char *end;
  if (!isdigit((unsigned char)*text)) return false;
  double value = strtod(text, &end);
  static const char units[] = "KMG";
  const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  if (*end && (!unit || end[1])) return false;
  for (const char *u = units; unit && u <= unit; u++) value *= 1024;
  if (!(value >= 1 && value < 9e18)) return false;
  *bytes = (int64_t)value;
  return true;
}

static void report(const gt_gc_options *options, const gt_gc_counts *n, const char *path, bool as_json) {
  if (as_json) {
    gt_print_json(json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "cache", path,
                            "dry_run", (int)options->dry_run, "trials", (json_int_t)n->trials, "rechecks",
                            (json_int_t)n->rechecks, "stale_checks", (json_int_t)n->stale_checks,
                            "code_objects", (json_int_t)n->codes, "problems",
                            (json_int_t)n->problems, "devices", (json_int_t)n->devices, "bytes_before",
                            (json_int_t)n->bytes_before, "bytes_after", (json_int_t)n->bytes_after));
    return;
  }
  printf("%s %s, %s, %s of stale winners, %s, %s and %s; ", options->dry_run ? "would remove" : "removed",
         gt_counted((uint64_t)n->trials, "trial").text, gt_counted((uint64_t)n->rechecks, "recheck").text,
         gt_counted((uint64_t)n->stale_checks, "check").text, gt_counted((uint64_t)n->codes, "code object").text,
         gt_counted((uint64_t)n->problems, "problem").text, gt_counted((uint64_t)n->devices, "device").text);
  printf("%s: %s, ", path, gt_bytes((uint64_t)n->bytes_before).text);
  printf("%s %s\n", options->dry_run ? "then" : "now", gt_bytes((uint64_t)n->bytes_after).text);
}

int gt_command_gc(int argc, char **argv) {
  const char *cache_path = NULL, *most = NULL;
  gt_gc_options gc = {0};
  bool as_json = false;
  const gt_option options[] = {
      {"older-than", 0, GT_OPTION_NUMBER, &gc.older_than_days, "DAYS",
       "remove trials, rechecks and checks of stale winners that are older"},
      {"max-size", 0, GT_OPTION_TEXT, &most, "SIZE",
       "remove the oldest trials until the file is no larger: 500M, 2G"},
      {"dry-run", 'n', GT_OPTION_FLAG, &gc.dry_run, NULL, "tell what would be removed, and remove nothing"},
      {"cache", 0, GT_OPTION_TEXT, &cache_path, "FILE", GT_HELP_CACHE},
      {"json", 0, GT_OPTION_FLAG, &as_json, NULL, GT_HELP_JSON},
      {0},
  };
  const gt_usage usage = {
      .command = "gc",
      .arguments = "",
      .about =
          "Makes the tuning cache smaller: removes what nothing refers to (code objects, problems, devices), "
          "trials by age or\n"
          "until the file is small enough, and gives free pages back. Winners, the trials of their "
          "configurations and those\n"
          "that crashed or hung stay. Code objects for recompilation lie in CACHE.code, which keeps within "
          "512 MiB by itself.",
      .options = options,
      .examples = "  gathertune gc --older-than 90 --max-size 500M --dry-run\n",
  };
  char **arguments;
  int count, result = gt_options_parse(&usage, argc, argv, &arguments, &count);
  if (result != GT_CONTINUE) return result;
  if (count) {
    gt_complain("gc: takes no argument '%s'; see gathertune gc --help", arguments[0]);
    return 2;
  }
  if (most && !parse_size(most, &gc.most_bytes)) {
    gt_complain("gc: --max-size takes a number of bytes, with K, M or G behind it, not '%s'", most);
    return 2;
  }
  if (gc.older_than_days > MOST_DAYS) {
    gt_complain("gc: --older-than takes up to %d days", MOST_DAYS);
    return 2;
  }
  gt_cache *cache = NULL;
  char *path = NULL;
  gt_gc_counts counts = {0};
  gt_error error = {0};
  // Opened for reading first, so that a cache that is not there is not made.
  gt_status status = gt_open_cache(cache_path, GT_CACHE_READ, &cache, &path, &error);
  if (status == GT_OK && !cache) status = gt_fail(&error, GT_NOT_FOUND, "%s: there is no cache", path);
  gt_cache_close(cache);
  cache = NULL;
  if (status == GT_OK) status = gt_cache_open(path, GT_CACHE_WRITE, &cache, &error);
  if (status == GT_OK) status = gt_cache_collect(cache, &gc, &counts, &error);
  if (status == GT_OK) {
    report(&gc, &counts, path, as_json);
    if (gc.most_bytes && counts.bytes_after > gc.most_bytes)
      gt_complain("gc: %s cannot be made smaller than %s: winners stay", path,
                  gt_bytes((uint64_t)counts.bytes_after).text);
  }
  result = status == GT_OK ? 0 : gt_complain_error(&error);
  gt_cache_close(cache);
  free(path);
  return result;
}
