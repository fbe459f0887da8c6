// embed OUT.c FILE...: writes the texts of files as a C table (generator/embedded.h). Runs on the building
// machine.
//
// Names in the table are relative to the directory `templates`. Directories among the arguments are skipped,
// so that a plain wildcard can be given.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void fail(const char *what, const char *path) {
  fprintf(stderr, "embed: cannot %s %s: %s\n", what, path, strerror(errno));
  exit(1);
}

static const char *table_name(const char *path) {
  static const char directory[] = "templates/";
  for (const char *at = path; (at = strstr(at, directory)); at++)
    if (at == path || at[-1] == '/') return at + strlen(directory);
  return path;
}

static int by_table_name(const void *a, const void *b) {
  return strcmp(table_name(*(char *const *)a), table_name(*(char *const *)b));
}

// Writes the file as string literals, one per line of the file.
static void write_text(FILE *out, const char *path) {
  FILE *in = fopen(path, "rb");
  if (!in) fail("open", path);
  long length = 0;
  int byte, open = 0;
  fprintf(out, "    {\"%s\",\n", table_name(path));
  while ((byte = getc(in)) != EOF) {
    if (!open) fputs("     \"", out);
    open = 1;
    length++;
    if (byte == '\n') {
      fputs("\\n\"\n", out);
      open = 0;
    } else if (byte == '"' || byte == '\\' || byte == '?') { // '?' could start a trigraph
      fprintf(out, "\\%c", byte);
    } else if (byte < 32 || byte > 126) {
      fprintf(out, "\\%03o", byte);
    } else {
      putc(byte, out);
    }
  }
  if (ferror(in)) fail("read", path);
  fclose(in);
  if (open) fputs("\"\n", out);
  if (!length) fputs("     \"\"\n", out);
  fprintf(out, "     , %ld},\n", length);
}

int main(int count, char **arguments) {
  if (count < 2) {
    fprintf(stderr, "usage: embed OUT.c FILE...\n");
    return 2;
  }
  char **files = arguments + 2;
  int n = 0;
  for (int i = 2; i < count; i++) {
    struct stat status;
    if (stat(arguments[i], &status)) fail("find", arguments[i]);
    if (!S_ISDIR(status.st_mode)) files[n++] = arguments[i];
  }
  qsort(files, (size_t)n, sizeof *files, by_table_name);

  FILE *out = fopen(arguments[1], "wb");
  if (!out) fail("create", arguments[1]);
  fprintf(out, "// Written by tools/embed.c.\n#include \"generator/embedded.h\"\n\n");
  fprintf(out, "const gt_embedded_file gt_embedded_files[] = {\n");
  for (int i = 0; i < n; i++) write_text(out, files[i]);
  fprintf(out, "    {NULL, NULL, 0},\n};\nconst size_t gt_embedded_count = %d;\n", n);
  if (ferror(out) | fclose(out)) {
    remove(arguments[1]);
    fail("write", arguments[1]);
  }
  return 0;
}
