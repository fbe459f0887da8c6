// A file for gathertune replay, T4 JSON (plain or by gzip): what is read is a search space that strategies
// can run on.
#include <math.h>
#include <stdlib.h>

#include "cli/recording.h"
#include "tests/fuzz/fuzz.h"
#include "tuner/search.h"

const unsigned fuzz_mutations = 100;

enum { MOST_POINTS = 64 }; // that strategies are run on

static void check_space(const gt_recording *recording) {
  const gt_points *points = &recording->points;
  size_t ok = 0, list_size = 0;
  REQUIRE(recording->name && points->count > 0, "a space without points");
  for (size_t f = 0; f < points->n_families; f++) {
    const gt_point_family *family = &points->families[f];
    size_t room = gt_points_most_neighbours(family);
    if (room > list_size) list_size = room;
    for (size_t i = family->first; i < family->first + family->count; i++)
      REQUIRE(gt_points_find(family, gt_points_coordinates(family, i)) == i, "a point that is not found");
  }
  for (size_t i = 0; i < points->count; i++) {
    REQUIRE(recording->times[i] > 0, "a time that is not above 0"); // nor NaN
    ok += isfinite(recording->times[i]);
  }
  REQUIRE(ok > 0, "a space without times");
}

static void run_strategies(const gt_recording *recording) {
  static const char *const names[] = {"random", "descent", "bayes"};
  gt_score score;
  if (recording->points.count > MOST_POINTS) return;
  gt_score_open(recording->times, recording->points.count, &score);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    gt_replay_result result;
    gt_error error = {0};
    const gt_replay_options options = {names[i], 1, 1};
    gt_status status = gt_replay(recording, &score, &options, &result, &error);
    REQUIRE(status == GT_OK, "%s: %s", names[i], error.text);
    REQUIRE(!isnan(result.rate), "%s has no score", names[i]);
    for (size_t m = 0; m < GT_REPLAY_MARKS; m++)
      REQUIRE(result.median[m] >= 0 && result.median[m] <= 1, "%s: %g of the optimum", names[i],
              result.median[m]);
  }
  gt_score_close(&score);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_path("input.json");
  gt_recordings recordings = {0};
  gt_error error = {0};
  const gt_recording_options options = {.least = 1};
  fuzz_write(path, data, size);
  gt_status status = gt_recordings_read(&recordings, path, fuzz_generator(), &options, &error);
  if (status != GT_OK) fuzz_refused(status, &error, path);
  for (size_t i = 0; i < recordings.count && status == GT_OK; i++) {
    check_space(&recordings.list[i]);
    run_strategies(&recordings.list[i]);
  }
  gt_recordings_free(&recordings);
  return 0;
}
