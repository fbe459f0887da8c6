// gathertune import: takes in what gathertune export --format json wrote.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/union.h"
#include "exchange/json.h"

static gt_status read_json(gt_collection *collection, const char *path, const gt_selection *selection,
                           int from, gt_error *error) {
  gt_buffer text = {0};
  struct stat info;
  if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && (uintmax_t)info.st_size > GT_JSON_MOST)
    return gt_fail(error, GT_USAGE, "%s: more than 1 GiB; export it in parts", path);
  errno = 0;
  if (!gt_buffer_read_file(&text, strcmp(path, "-") == 0 ? "/dev/stdin" : path)) {
    gt_buffer_free(&text);
    return gt_fail(error, GT_IO, "cannot read %s: %s", path, strerror(errno));
  }
  gt_status status = gt_json_read(collection, path, text.data ? text.data : "", text.length, from, error);
  if (status == GT_OK) gt_collection_select(collection, selection);
  gt_buffer_free(&text);
  return status;
}

int gt_command_import(int argc, char **argv) {
  gt_union u = {.command = "import", .read = read_json};
  const gt_option options[] = {
      {"dry-run", 'n', GT_OPTION_FLAG, &u.dry_run, NULL, "tell what would come of it, and write nothing"},
      GT_SELECTION_OPTIONS(u.selection),
      {"cache", 0, GT_OPTION_TEXT, &u.into, "FILE", GT_HELP_CACHE},
      {"json", 0, GT_OPTION_FLAG, &u.json, NULL, GT_HELP_JSON},
      {0},
  };
  const gt_usage usage = {
      .command = "import",
      .arguments = "FILE...",
      .about = "Takes in what gathertune export --format json wrote (-: from standard input): all of it or, "
               "where a file is\n"
               "damaged, nothing. Configurations are held against the search space, code objects against "
               "their hashes; nothing\n"
               "is compiled or executed. Where both have a winner, the one with the lower end of its "
               "confidence interval stays,\n"
               "as in gathertune merge.\n"
               "A hash shows that a code object is what was exported, not that whoever did so means well: "
               "import from those\n"
               "whose kernels you would run.",
      .options = options,
      .examples = "  gathertune import --dry-run mi300x.json\n",
  };
  int result = gt_options_parse(&usage, argc, argv, &u.sources, &u.n_sources);
  if (result != GT_CONTINUE) return result;
  if (u.n_sources == 0) {
    gt_complain("import: a file is needed; see gathertune import --help");
    return 2;
  }
  return gt_union_run(&u);
}
