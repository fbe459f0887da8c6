// gathertune merge: unites tuning caches.
#include <stddef.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/union.h"

static gt_status read_cache(gt_collection *collection, const char *path, const gt_selection *selection,
                            int from, gt_error *error) {
  gt_cache *cache = NULL;
  gt_status status = gt_cache_open(path, GT_CACHE_READ, &cache, error);
  if (status == GT_OK) status = gt_collection_read(collection, cache, selection, from, error);
  gt_cache_close(cache);
  return status;
}

int gt_command_merge(int argc, char **argv) {
  gt_union u = {.command = "merge", .read = read_cache};
  const gt_option options[] = {
      {"into", 0, GT_OPTION_TEXT, &u.into, "FILE",
       "the cache that the others go into; made when it is not there"},
      {"dry-run", 'n', GT_OPTION_FLAG, &u.dry_run, NULL, "tell what would come of it, and write nothing"},
      GT_SELECTION_OPTIONS(u.selection),
      {"json", 0, GT_OPTION_FLAG, &u.json, NULL, GT_HELP_JSON},
      {0},
  };
  const gt_usage usage = {
      .command = "merge",
      .arguments = "FILE... --into FILE",
      .about =
          "Unites tuning caches, and the bundles that gathertune export writes. Where they have different "
          "winners for a problem\n"
          "and model, the measurements decide: the one whose confidence interval ends lowest stays, and "
          "the report says whether\n"
          "that is clear or within the noise. Of trials of one configuration on one device the latest "
          "stays. The result is the\n"
          "same in whatever order caches are merged. Where and when something was measured, and with which "
          "software, goes along.",
      .options = options,
      .examples = "  gathertune merge node1.db node2.db --into all.db --dry-run\n",
  };
  int result = gt_options_parse(&usage, argc, argv, &u.sources, &u.n_sources);
  if (result != GT_CONTINUE) return result;
  if (u.n_sources == 0 || !u.into) {
    gt_complain("merge: takes the caches to be merged and --into FILE; see gathertune merge --help");
    return 2;
  }
  return gt_union_run(&u);
}
