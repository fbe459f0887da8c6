#include "device/library.h"

#include "base/buffer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One search. `tried` lists the paths that do not exist, `faults` what was wrong with those that do.
typedef struct {
  const gt_symbol *symbols;
  size_t count;
  void *table;
  gt_buffer tried, faults;
} library_search;

static const char *find(void *handle, const gt_symbol *symbol, void **address) {
  *address = dlsym(handle, symbol->name);
  if (!*address && symbol->alternative) *address = dlsym(handle, symbol->alternative);
  return *address || !symbol->required ? NULL : symbol->name;
}

// Fills the table. The name of a required symbol that the library lacks, or NULL when it has all.
static const char *resolve(const library_search *search, void *handle) {
  for (size_t i = 0; i < search->count; i++) {
    void *address;
    const char *missing = find(handle, &search->symbols[i], &address);
    if (missing) return missing;
    // ISO C has no conversion from an object pointer to a function pointer; POSIX promises that the bytes are
    // right.
    memcpy((char *)search->table + search->symbols[i].offset, &address, sizeof address);
  }
  return NULL;
}

// dlerror() begins with the path that was asked for when it is that file which is missing, and with the name
// of a dependency when it is that. The first is said by naming the path; all else is worth its words.
static void note_failure(library_search *search, const char *path, const char *reason) {
  size_t length = strlen(path);
  if (!reason) reason = "unknown reason";
  bool names_path = strncmp(reason, path, length) == 0 && reason[length] == ':';
  if (names_path && strstr(reason, "No such file"))
    gt_buffer_print(&search->tried, "%s%s", search->tried.length ? ", " : "", path);
  else
    gt_buffer_print(&search->faults, "; %s: %.160s", path, names_path ? reason + length + 2 : reason);
}

// Tries one path. With RTLD_NOLOAD in `flags`, a library that is not loaded is passed over in silence.
static bool try_path(library_search *search, const char *path, int flags) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
  if (!handle) {
    const char *reason = dlerror();
    if (!(flags & RTLD_NOLOAD)) note_failure(search, path, reason);
    return false;
  }
  const char *missing = resolve(search, handle);
  if (!missing) return true;
  if (!(flags & RTLD_NOLOAD)) gt_buffer_print(&search->faults, "; %s: has no symbol %s", path, missing);
  dlclose(handle);
  return false;
}

// The folder that an entry of the list stands for; a new string, or NULL when its environment variable is not
// set.
static char *expand(const char *folder) {
  if (*folder != '$') return gt_strdup(folder);
  size_t length = strcspn(folder, "/");
  char *name = gt_print("%.*s", (int)length - 1, folder + 1);
  const char *value = getenv(name);
  char *expanded = value && *value ? gt_print("%s%s", value, folder + length) : NULL;
  free(name);
  return expanded;
}

static bool try_folder(library_search *search, const gt_library *library, const char *entry) {
  char *folder = expand(entry);
  bool found = false;
  for (const char *const *name = library->names; folder && *name && !found; name++) {
    char *path = gt_print("%s/%s", folder, *name);
    found = try_path(search, path, 0);
    free(path);
  }
  free(folder);
  return found;
}

gt_status gt_library_open(const gt_library *library, const gt_symbol *symbols, size_t count, void *table,
                          gt_error *error) {
  library_search search = {.symbols = symbols, .count = count, .table = table};
  gt_status status = GT_OK;

  for (const char *const *name = library->names; *name; name++)
    if (try_path(&search, *name, RTLD_NOLOAD)) goto done;
  for (const char *const *name = library->names; *name; name++)
    if (try_path(&search, *name, 0)) goto done;
  for (const char *const *folder = library->folders; *folder; folder++)
    if (try_folder(&search, library, *folder)) goto done;

  status =
      gt_fail(error, GT_NO_LIBRARY, "%s was not found: %s%s%s", library->title,
              search.tried.length ? "there is no " : "nothing fits",
              search.tried.length ? search.tried.data : "", search.faults.data ? search.faults.data : "");
done:
  gt_buffer_free(&search.tried);
  gt_buffer_free(&search.faults);
  return status;
}

const char *gt_library_path(const void *function) {
  Dl_info info;
  return dladdr(function, &info) && info.dli_fname ? info.dli_fname : "?";
}
