#include "tests/fuzz/fuzz.h"
#include "tests/gpu_fixture.h"

#include <dirent.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool fuzz_thorough;

// SQLite waits for the disk after each change, which is not what is tested.
__attribute__((visibility("default"))) int fsync(int file);
__attribute__((visibility("default"))) int fdatasync(int file);
int fsync(int file) {
  (void)file;
  return 0;
}
int fdatasync(int file) {
  (void)file;
  return 0;
}

static char folder[4096]; // of this process; "" until it is made

static void remove_folder(void) {
  DIR *directory = folder[0] ? opendir(folder) : NULL;
  if (!directory) return;
  for (struct dirent *entry; (entry = readdir(directory));)
    if (entry->d_name[0] != '.') unlinkat(dirfd(directory), entry->d_name, 0);
  closedir(directory);
  rmdir(folder);
}

void fuzz_fail(const char *format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length >= (int)sizeof text) length = sizeof text - 1;
  remove_folder();
  // Past stdio, whose stderr may be in memory.
  if (write(2, "fuzz: ", 6) < 0 || write(2, text, (size_t)length) < 0 || write(2, "\n", 1) < 0) abort();
  abort();
}

static bool is_one_line(const char *text) {
  for (; *text; text++)
    if ((unsigned char)*text < ' ' || *text == 127) return false;
  return true;
}

void fuzz_refused(gt_status status, const gt_error *error, const char *mentions) {
  REQUIRE(status != GT_OK, "no refusal");
  REQUIRE(error->status == status, "status %s, and its error says %s: %s", gt_status_name(status),
          gt_status_name(error->status), error->text);
  REQUIRE(error->text[0], "a refusal without a word: %s", gt_status_name(status));
  REQUIRE(is_one_line(error->text), "a refusal of several lines, or with control characters: %s",
          error->text);
  REQUIRE(!mentions || strstr(error->text, mentions), "a refusal that does not name %s: %s", mentions,
          error->text);
}

// --- files -------------------------------------------------------------------------------------------------

enum { MOST_PATHS = 16 };

static struct { char name[64], path[4200]; } paths[MOST_PATHS];

static void make_folder(void) {
  const char *top = getenv("TMPDIR");
  if (!top || !*top) top = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(folder, sizeof folder, "%s/gathertune-fuzz-XXXXXX", top);
  REQUIRE(mkdtemp(folder), "no folder in %s", top);
  atexit(remove_folder);
}

const char *fuzz_path(const char *name) {
  if (!folder[0]) make_folder();
  for (size_t i = 0; i < MOST_PATHS; i++) {
    if (!paths[i].name[0]) {
      snprintf(paths[i].name, sizeof paths[i].name, "%s", name);
      snprintf(paths[i].path, sizeof paths[i].path, "%s/%s", folder, name);
    }
    if (strcmp(paths[i].name, name) == 0) return paths[i].path;
  }
  fuzz_fail("more than %d names of files", MOST_PATHS);
}

void fuzz_write(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  bool written = file && (size == 0 || fwrite(data, size, 1, file) == 1);
  written = file && fclose(file) == 0 && written;
  REQUIRE(written, "cannot write %s", path);
}

void fuzz_same(const char *path, const void *data, size_t size, const char *after) {
  gt_buffer now = {0};
  REQUIRE(gt_buffer_read_file(&now, path), "%s is gone after %s", path, after);
  REQUIRE(now.length == size && (size == 0 || memcmp(now.data, data, size) == 0), "%s was changed by %s",
          path, after);
  gt_buffer_free(&now);
}

size_t fuzz_count_files(void) {
  size_t count = 0;
  DIR *directory = opendir(folder);
  REQUIRE(directory, "%s is gone", folder);
  while (readdir(directory)) count++;
  closedir(directory);
  return count;
}

char *fuzz_text(const uint8_t *data, size_t size) {
  char *text = gt_alloc(size + 1);
  if (size) memcpy(text, data, size);
  return text;
}

// --- streams -----------------------------------------------------------------------------------------------

static FILE *real[2];
static char *texts[2];
static size_t lengths[2];

void fuzz_hear(void) {
  real[0] = stdout;
  real[1] = stderr;
  stdout = open_memstream(&texts[0], &lengths[0]);
  stderr = open_memstream(&texts[1], &lengths[1]);
  REQUIRE(stdout && stderr, "no stream in memory");
}

void fuzz_heard(gt_buffer *output, gt_buffer *complaints) {
  fclose(stdout);
  fclose(stderr);
  stdout = real[0];
  stderr = real[1];
  *output = (gt_buffer){texts[0], lengths[0], lengths[0] + 1};
  *complaints = (gt_buffer){texts[1], lengths[1], lengths[1] + 1};
}

// --- fixtures ----------------------------------------------------------------------------------------------

// Objects of JSON are hashed with a random seed: without it, every run of an input is the same.
__attribute__((constructor)) static void settle_hashes(void) {
  json_object_seed(1);
}

static gt_generator *generator;

static void close_generator(void) {
  gt_generator_close(generator);
}

gt_generator *fuzz_generator(void) {
  gt_error error = {0};
  if (generator) return generator;
  REQUIRE(gt_generator_open(NULL, &generator, &error) == GT_OK, "%s", error.text);
  atexit(close_generator);
  return generator;
}

gt_fingerprint fuzz_device(void) {
  gt_fingerprint device = test_gpu();
  device.target = GT_TARGET_HIP;
  device.wave_size = 64;
  device.max_threads_per_block = 1024;
  device.lds_bytes_per_block = 65536;
  device.last_level_cache_bytes = 256 << 20;
  return device;
}
