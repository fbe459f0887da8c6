#include "cli/command.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/workshop.h"

// --- failures ----------------------------------------------------------------------------------------------

static void print_line(const char *text) {
  fflush(stdout); // so that both streams appear in order where they go to one place
  fputs("gathertune: ", stderr);
  size_t length = strlen(text);
  while (length && (text[length - 1] == '\n' || text[length - 1] == ' ')) length--;
  for (size_t i = 0; i < length; i++)
    if (text[i] == '\n')
      fputs("; ", stderr);
    else // texts of files may hold what a terminal would obey
      fputc(iscntrl((unsigned char)text[i]) ? '?' : text[i], stderr);
  fputc('\n', stderr);
}

void gt_complain(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = NULL;
  if (vasprintf(&text, format, arguments) < 0) abort();
  va_end(arguments);
  print_line(text);
  free(text);
}

int gt_complain_error(const gt_error *error) {
  print_line(error->text[0] ? error->text : gt_status_text(error->status));
  return error->status == GT_INTERRUPTED ? GT_EXIT_INTERRUPTED : gt_exit_code(error->status);
}

static bool needs_no_quotes(const char *word) {
  static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  return *word && strspn(word, safe) == strlen(word);
}

static void quote(gt_buffer *line, const char *word) {
  if (needs_no_quotes(word)) {
    gt_buffer_print(line, "%s", word);
    return;
  }
  gt_buffer_print(line, "'");
  for (; *word; word++)
    if (*word == '\'')
      gt_buffer_print(line, "'\\''");
    else
      gt_buffer_append(line, word, 1);
  gt_buffer_print(line, "'");
}

void gt_command_start(gt_buffer *line, const char *command) {
  const char *templates = getenv("GATHERTUNE_TEMPLATES");
  gt_buffer_clear(line);
  if (templates && *templates) {
    gt_buffer_print(line, "GATHERTUNE_TEMPLATES=");
    quote(line, templates);
    gt_buffer_print(line, " ");
  }
  gt_buffer_print(line, "gathertune %s", command);
}

void gt_command_word(gt_buffer *line, const char *word) {
  gt_buffer_print(line, " ");
  quote(line, word);
}

// --- interrupts --------------------------------------------------------------------------------------------

static volatile sig_atomic_t interrupted; // a signal handler has no other place to write to

static void on_signal(int number) {
  (void)number;
  interrupted = 1;
  gt_workshop_interrupt();
}

void gt_catch_interrupts(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

bool gt_was_interrupted(void) {
  return interrupted;
}

// --- opening -----------------------------------------------------------------------------------------------

gt_status gt_open_generator(gt_generator **generator, gt_error *error) {
  const char *templates = getenv("GATHERTUNE_TEMPLATES");
  if (templates && !*templates) templates = NULL;
  if (templates) gt_complain("templates from %s", templates);
  return gt_generator_open(templates, generator, error);
}

gt_status gt_open_cache(const char *path, gt_cache_mode mode, gt_cache **cache, char **resolved,
                        gt_error *error) {
  *cache = NULL;
  *resolved = NULL;
  gt_status status = GT_OK;
  if (path)
    *resolved = gt_strdup(path);
  else
    status = gt_cache_default_path(resolved, error);
  if (status != GT_OK) return status;
  status = gt_cache_open(*resolved, mode, cache, error);
  return status == GT_NOT_FOUND && mode == GT_CACHE_READ ? GT_OK : status;
}

gt_status gt_check_family(const gt_generator *generator, const char *name, gt_error *error) {
  size_t count = 0;
  const char *const *families = gt_generator_families(generator, &count);
  gt_buffer names = {0};
  for (size_t i = 0; i < count; i++) {
    if (strcmp(families[i], name) == 0) {
      gt_buffer_free(&names);
      return GT_OK;
    }
    gt_buffer_print(&names, "%s%s", i ? ", " : "", families[i]);
  }
  gt_fail(error, GT_USAGE, "unknown family '%s'; families are %s", name, names.data ? names.data : "none");
  gt_buffer_free(&names);
  return GT_USAGE;
}

// --- output ------------------------------------------------------------------------------------------------

void gt_print_json(json_t *json) {
  json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
  putchar('\n');
  json_decref(json);
}

gt_status gt_write_file(const char *path, const void *data, size_t size, gt_error *error) {
  // Written aside and renamed, so that a reader never sees half of it; a name that is no plain file
  // (/dev/stdout) is written to as it is.
  bool aside = access(path, F_OK) != 0;
  char *name = aside ? gt_print("%s.%ld", path, (long)getpid()) : gt_strdup(path);
  gt_status status = GT_OK;
  FILE *file = fopen(name, "wb");
  if (!file) {
    status = gt_fail(error, GT_IO, "cannot write %s: %s", path, strerror(errno));
    goto done;
  }
  bool written = size == 0 || fwrite(data, size, 1, file) == 1;
  written = fclose(file) == 0 && written;
  if (!written || (aside && rename(name, path) != 0)) {
    status = gt_fail(error, GT_IO, "cannot write %s: %s", path, strerror(errno));
    if (aside) unlink(name);
  }
done:
  free(name);
  return status;
}

gt_short gt_microseconds(double us) {
  gt_short result = {"-"};
  if (us > 0) snprintf(result.text, sizeof result.text, us < 10 ? "%.2f" : us < 1000 ? "%.1f" : "%.0f", us);
  return result;
}

gt_short gt_ratio(double numerator, double denominator, const char *suffix) {
  gt_short result = {"-"};
  if (numerator > 0 && denominator > 0)
    snprintf(result.text, sizeof result.text, "%.2f%s", numerator / denominator, suffix);
  return result;
}

gt_short gt_counted(uint64_t count, const char *noun) {
  gt_short result;
  snprintf(result.text, sizeof result.text, "%" PRIu64 " %.20s%s", count, noun, count == 1 ? "" : "s");
  return result;
}

gt_short gt_bytes(uint64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  double value = (double)bytes;
  while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
    value /= 1024;
    unit++;
  }
  gt_short result;
  snprintf(result.text, sizeof result.text, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return result;
}

json_t *gt_json_number(double value) {
  return value > 0 ? json_real(value) : json_null();
}
