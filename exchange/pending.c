#include "exchange/pending.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exchange/json.h"

#define ENDING ".pending-"
#define MOST_BYTES (16 << 20) // a trial has some hundred samples of 20 bytes

struct gt_pending {
  char *path;
  int file; // locked as long as the run lives
};

// --- of this run -------------------------------------------------------------------------------------------

// Locks a file that nobody else has. False: somebody has it, it was removed meanwhile, or it is no file.
static bool take(int file) {
  struct stat info;
  return flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &info) == 0 && info.st_nlink > 0 &&
         S_ISREG(info.st_mode);
}

gt_pending *gt_pending_open(const gt_cache *cache) {
  gt_pending *pending = gt_alloc(sizeof *pending);
  pending->path = gt_print("%s" ENDING "XXXXXX", gt_cache_path(cache));
  pending->file = mkostemp(pending->path, O_CLOEXEC);
  if (pending->file >= 0 && take(pending->file)) return pending;
  gt_pending_close(pending);
  return NULL;
}

void gt_pending_close(gt_pending *pending) {
  if (!pending) return;
  if (pending->file >= 0) {
    unlink(pending->path);
    close(pending->file);
  }
  free(pending->path);
  free(pending);
}

// Not over the text before: half of each could look like a whole one.
static bool write_anew(int file, const gt_buffer *text) {
  return ftruncate(file, 0) == 0 && pwrite(file, text->data, text->length, 0) == (ssize_t)text->length;
}

bool gt_pending_keep(gt_pending *pending, const gt_fingerprint *device, const gt_problem *problem,
                     const gt_trial *trial) {
  if (!pending) return false;
  char host[GT_HOST_SIZE], now[GT_UTC_SIZE], name[GT_PROBLEM_TEXT];
  gt_cache_here_and_now(host, now);
  gt_problem_print(problem, name);
  gt_fingerprint of = *device;
  // Nothing of it is freed: it borrows all.
  gt_collected_trial one = {.problem = name, .host = host, .tried_at = now, .trial = *trial};
  gt_collection collection = {.devices = &of, .n_devices = 1, .trials = &one, .n_trials = 1};
  gt_buffer text = {0};
  gt_json_print(&collection, false, &text);
  bool kept = write_anew(pending->file, &text);
  gt_buffer_free(&text);
  return kept;
}

// --- of killed runs ----------------------------------------------------------------------------------------

static bool read_all(int file, gt_buffer *text) {
  struct stat info;
  if (fstat(file, &info) != 0 || info.st_size > MOST_BYTES) return false;
  char block[65536];
  ssize_t length;
  while ((length = read(file, block, sizeof block)) > 0) gt_buffer_append(text, block, (size_t)length);
  return length == 0;
}

static gt_status recover_file(gt_cache *cache, const char *path, gt_error *error) {
  int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return GT_OK; // another user's, or gone
  gt_status status = GT_OK;
  gt_buffer text = {0};
  gt_collection found = {0};
  if (take(file)) { // else its run is alive, or somebody else recovers it
    if (read_all(file, &text) && gt_json_read(&found, path, text.data, text.length, 1, NULL) == GT_OK) {
      gt_collection_select(&found, &(gt_selection){.no_winners = true});
      status = gt_collection_write(&found, cache, error);
    }
    if (status == GT_OK) unlink(path);
  }
  gt_collection_free(&found);
  gt_buffer_free(&text);
  close(file);
  return status;
}

gt_status gt_pending_recover(gt_cache *cache, gt_error *error) {
  const char *path = gt_cache_path(cache), *slash = strrchr(path, '/');
  char *folder = slash ? gt_print("%.*s", (int)(slash - path + 1), path) : gt_strdup("./");
  char *begin = gt_print("%s" ENDING, slash ? slash + 1 : path);
  DIR *directory = opendir(folder);
  gt_status status = GT_OK;
  for (struct dirent *entry; directory && status == GT_OK && (entry = readdir(directory));) {
    if (strncmp(entry->d_name, begin, strlen(begin)) != 0) continue;
    char *file = gt_print("%s%s", folder, entry->d_name);
    status = recover_file(cache, file, error);
    free(file);
  }
  if (directory) closedir(directory);
  free(folder);
  free(begin);
  return status;
}
