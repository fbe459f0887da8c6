#include "generator/templates.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "generator/embedded.h"

enum { FILE_LIMIT = 1 << 20 }; // bytes; the longest template is some hundred times shorter

static int by_name(const void *a, const void *b) {
  return strcmp(((const gt_template_file *)a)->name, ((const gt_template_file *)b)->name);
}

static gt_status add(gt_templates *templates, const char *name, const char *text, size_t length, char *owned,
                     gt_error *error) {
  templates->files = gt_realloc(templates->files, (templates->count + 1) * sizeof *templates->files);
  templates->files[templates->count++] = (gt_template_file){gt_strdup(name), text, length, owned};
  if (length > FILE_LIMIT) return gt_fail(error, GT_TEMPLATE, "%s: longer than %d bytes", name, FILE_LIMIT);
  if (memchr(text, 0, length)) return gt_fail(error, GT_TEMPLATE, "%s: not a text (has a zero byte)", name);
  return GT_OK;
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), end_length = strlen(end);
  return length > end_length && strcmp(text + length - end_length, end) == 0;
}

// Editors leave hidden and backup files; only what is named like a template is one.
static bool is_template_name(const char *name) {
  return isalnum((unsigned char)name[0]) &&
         (ends_with(name, ".lua") || ends_with(name, ".kernel") || ends_with(name, ".h"));
}

// Adds the files of one directory; `prefix` comes before their names.
static gt_status add_directory(gt_templates *templates, const char *path, const char *prefix,
                               gt_error *error) {
  DIR *directory = opendir(path);
  if (!directory)
    return gt_fail(error, GT_IO, "cannot open template directory %s: %s", path, strerror(errno));
  gt_status status = GT_OK;
  struct dirent *entry;
  while (status == GT_OK && (entry = readdir(directory))) {
    if (!is_template_name(entry->d_name)) continue;
    char *file = gt_print("%s/%s", path, entry->d_name), *name = gt_print("%s%s", prefix, entry->d_name);
    gt_buffer text = {0};
    if (gt_buffer_read_file(&text, file)) {
      status = add(templates, name, text.data, text.length, text.data, error);
    } else {
      status = gt_fail(error, GT_IO, "cannot read template %s: %s", file, strerror(errno));
      gt_buffer_free(&text);
    }
    free(name);
    free(file);
  }
  closedir(directory);
  return status;
}

gt_status gt_templates_open(const char *directory, gt_templates *templates, gt_error *error) {
  gt_status status = GT_OK;
  *templates = (gt_templates){0};
  if (!directory) {
    for (size_t i = 0; status == GT_OK && i < gt_embedded_count; i++) {
      const gt_embedded_file *file = &gt_embedded_files[i];
      status = add(templates, file->name, file->text, file->length, NULL, error);
    }
  } else {
    char *library = gt_print("%s/lib", directory);
    status = add_directory(templates, directory, "", error);
    if (status == GT_OK) {
      DIR *probe = opendir(library); // a directory without libraries is fine
      if (probe) {
        closedir(probe);
        status = add_directory(templates, library, "lib/", error);
      }
    }
    free(library);
  }
  if (status == GT_OK)
    qsort(templates->files, templates->count, sizeof *templates->files, by_name);
  else
    gt_templates_close(templates);
  return status;
}

void gt_templates_close(gt_templates *templates) {
  for (size_t i = 0; i < templates->count; i++) {
    free(templates->files[i].name);
    free(templates->files[i].owned);
  }
  free(templates->files);
  *templates = (gt_templates){0};
}

const gt_template_file *gt_templates_find(const gt_templates *templates, const char *name) {
  if (!templates->count) return NULL;
  gt_template_file key = {.name = (char *)name};
  return bsearch(&key, templates->files, templates->count, sizeof key, by_name);
}
