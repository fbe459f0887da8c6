// What gathertune export --format json wrote, or claims to have: what is read comes back from its export, can
// be taken in once and not twice, and is T4 that gathertune replay reads; what is refused leaves the cache
// alone.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/recording.h"
#include "cli/union.h"
#include "exchange/export.h"
#include "exchange/json.h"
#include "tests/fuzz/database.h"

const unsigned fuzz_mutations = 40;

static gt_status read_text(gt_collection *collection, const char *path, const gt_selection *selection,
                           int from, gt_error *error) {
  gt_buffer text = {0};
  REQUIRE(gt_buffer_read_file(&text, path), "cannot read %s", path);
  gt_status status = gt_json_read(collection, path, text.data, text.length, from, error);
  if (status == GT_OK) gt_collection_select(collection, selection);
  gt_buffer_free(&text);
  return status;
}

// gathertune import of a file into a cache.
static int import(const char *from, const char *into, json_t **report) {
  char *source = (char *)from;
  gt_union u = {
      .command = "import", .into = into, .json = true, .sources = &source, .n_sources = 1, .read = read_text};
  gt_buffer output, complaints;
  fuzz_hear();
  int result = gt_union_run(&u);
  fuzz_heard(&output, &complaints);
  REQUIRE(result == 0 || result == 1 || result == 2, "import ends with %d", result);
  REQUIRE((result != 0) == (complaints.length != 0), "import ends with %d and says: %s", result,
          complaints.data);
  REQUIRE(result == 0 || strchr(complaints.data, '\n') == complaints.data + complaints.length - 1,
          "not one line: %s", complaints.data);
  *report = result == 0 ? json_loadb(output.data, output.length, 0, NULL) : NULL;
  REQUIRE(result != 0 || *report, "the report of an import is no JSON: %s", output.data);
  gt_buffer_free(&output);
  gt_buffer_free(&complaints);
  return result;
}

static json_int_t count(const json_t *report, const char *name) {
  return json_integer_value(json_object_get(report, name));
}

static void check_import(const char *path) {
  static gt_buffer target;
  const char *into = fuzz_path("into.db");
  json_t *report;
  if (!target.length) {
    fuzz_make_database(into);
    REQUIRE(gt_buffer_read_file(&target, into), "cannot read %s", into);
  }
  fuzz_write(into, target.data, target.length);
  size_t files = fuzz_count_files();
  if (import(path, into, &report) != 0) {
    fuzz_same(into, target.data, target.length, "a refused import");
  } else {
    json_decref(report);
    REQUIRE(import(path, into, &report) == 0, "what was imported is refused the second time");
    REQUIRE(count(report, "new_winners") + count(report, "replaced_winners") + count(report, "new_trials") +
                    count(report, "replaced_trials") ==
                0,
            "importing the same again changes something");
    json_decref(report);
    gt_cache *cache = NULL;
    gt_collection all = {0};
    gt_error error = {0};
    const gt_selection everything = {0};
    gt_status status = gt_cache_open(into, GT_CACHE_READ, &cache, &error);
    if (status == GT_OK) status = gt_collection_read(&all, cache, &everything, 1, &error);
    REQUIRE(status == GT_OK, "the cache cannot be read after an import: %s", error.text);
    gt_cache_close(cache);
    gt_collection_free(&all);
  }
  REQUIRE(fuzz_count_files() == files, "an import leaves files behind");
  unlink(into);
}

static void check_export(gt_collection *all) {
  gt_buffer text = {0}, again = {0};
  gt_collection back = {0};
  gt_error error = {0};
  gt_json_print(all, true, &text);
  REQUIRE(gt_json_read(&back, "export.json", text.data, text.length, 1, &error) == GT_OK,
          "what was exported is refused: %s\n%s", error.text, text.data);
  gt_json_print(&back, true, &again);
  REQUIRE(strcmp(text.data, again.data) == 0, "what was exported comes back as something else:\n%s\n%s",
          text.data, again.data);
  gt_collection_free(&back);
  gt_buffer_free(&text);
  gt_buffer_free(&again);
}

// As T4, which is of one problem and model: gathertune replay reads what export writes.
static void check_t4(gt_collection *all) {
  const char *path = fuzz_path("t4.json");
  gt_error error = {0};
  gt_export_counts counts = {0};
  const gt_export_options options = {.path = path, .generator = fuzz_generator()};
  size_t timed = 0;
  for (size_t i = 0; i < all->n_trials; i++) {
    if (strcmp(all->trials[i].problem, all->trials[0].problem) != 0 ||
        all->trials[i].device != all->trials[0].device)
      return;
    timed += gt_trial_is_timed(&all->trials[i].trial) && all->trials[i].trial.median_us > 0;
  }
  if (gt_export_t4(all, &options, &counts, &error) != GT_OK) {
    fuzz_refused(error.status, &error, NULL);
  } else {
    gt_recordings recordings = {0};
    const gt_recording_options reading = {.least = 1};
    gt_status status = gt_recordings_read(&recordings, path, fuzz_generator(), &reading, &error);
    REQUIRE(status == GT_OK || (timed == 0 && strstr(error.text, "no result is correct")),
            "T4 that was exported is refused: %s", error.text);
    gt_recordings_free(&recordings);
  }
  unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_path("input.json");
  char *text = fuzz_text(data, size);
  gt_collection all = {0};
  gt_error error = {0};
  fuzz_write(path, data, size);
  gt_status status = gt_json_read(&all, path, text, size, 1, &error);
  if (status != GT_OK) fuzz_refused(status, &error, path);
  if (status == GT_OK) {
    check_export(&all);
    check_t4(&all);
  }
  if (status == GT_OK || size % 16 == 0) check_import(path);
  gt_collection_free(&all);
  free(text);
  return 0;
}
