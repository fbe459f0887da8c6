// Where the cache lies, by the XDG Base Directory Specification.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "cache/store.h"

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value && value[0] ? value : NULL;
}

gt_status gt_cache_default_path(char **path, gt_error *error) {
  const char *given = variable("GATHERTUNE_CACHE");
  const char *xdg = variable("XDG_CACHE_HOME");
  const char *home = variable("HOME");
  if (given)
    *path = gt_strdup(given);
  else if (xdg && xdg[0] == '/') // the specification has relative paths ignored
    *path = gt_print("%s/gathertune/cache.db", xdg);
  else if (home)
    *path = gt_print("%s/.cache/gathertune/cache.db", home);
  else
    return gt_fail(
        error, GT_USAGE,
        "no place for the cache: set GATHERTUNE_CACHE to a file, or XDG_CACHE_HOME or HOME to a folder");
  return GT_OK;
}

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

gt_status gt_cache_make_folders(const char *path, gt_error *error) {
  char *folder = gt_strdup(path);
  gt_status status = GT_OK;
  for (char *slash = strchr(folder + 1, '/'); slash && status == GT_OK; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    if (mkdir(folder, 0700) != 0) {
      int reason = errno;
      if (!is_folder(folder))
        status = gt_fail(error, GT_IO, "%s: cannot make the folder %s: %s", path, folder, strerror(reason));
    }
    *slash = '/';
  }
  free(folder);
  return status;
}
