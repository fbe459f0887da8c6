#include "tuner/replay.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "tuner/search.h"

enum { MOST_THREADS = 16 };

const size_t gt_replay_marks[GT_REPLAY_MARKS] = {25, 50, 60, 100, 200};

void gt_recording_set(gt_recording *recording, size_t point, bool is_new, double time) {
  if (point >= recording->room) {
    recording->room = 2 * point + 16;
    recording->times = gt_realloc(recording->times, recording->room * sizeof *recording->times);
  }
  if (is_new || time < recording->times[point]) recording->times[point] = time;
}

bool gt_recording_has_times(const gt_recording *recording) {
  for (size_t i = 0; i < recording->points.count; i++)
    if (recording->times[i] < INFINITY) return true;
  return false;
}

void gt_recording_free(gt_recording *recording) {
  free(recording->name);
  free(recording->times);
  free(recording->expected);
  free(recording->first);
  gt_points_free(&recording->points);
  *recording = (gt_recording){0};
}

// --- one run
// -----------------------------------------------------------------------------------------------

// Best time after each evaluation.
static void run(const gt_recording *recording, const gt_score *score, const gt_search_options *options,
                size_t ahead, double *best, size_t length) {
  gt_search *search;
  if (gt_search_open(&recording->points, options, &search, NULL) != GT_OK) abort(); // the caller checked
  size_t *waiting = gt_alloc(ahead * sizeof *waiting), asked = 0;
  double now = score->slowest;
  for (size_t done = 0; done < length; done++) {
    while (asked < length && asked - done < ahead) {
      size_t point = gt_search_next(search);
      if (point == GT_NO_POINT) break;
      waiting[asked++ % ahead] = point;
    }
    if (asked > done) { // else nothing is left to try
      size_t point = waiting[done % ahead];
      now = fmin(now, recording->times[point]);
      gt_search_report(search, point, recording->times[point]);
    }
    best[done] = now;
  }
  free(waiting);
  gt_search_close(search);
}

// --- many runs
// ---------------------------------------------------------------------------------------------

typedef struct {
  const gt_recording *recording;
  const gt_score *score;
  const gt_replay_options *options;
  size_t length;
  double *best; // seeds × length
  size_t next;  // seed
  pthread_mutex_t lock;
} work;

static void *run_some(void *context) {
  work *w = context;
  for (;;) {
    pthread_mutex_lock(&w->lock);
    size_t seed = w->next++;
    pthread_mutex_unlock(&w->lock);
    if (seed >= w->options->seeds) return NULL;
    gt_search_options options = {.strategy = w->options->strategy,
                                 .seed = seed + 1,
                                 .first = w->recording->first,
                                 .n_first = w->recording->n_first,
                                 .expected = w->recording->expected};
    run(w->recording, w->score, &options, w->options->ahead, w->best + seed * w->length, w->length);
  }
}

static void run_all(work *w) {
  pthread_t threads[MOST_THREADS];
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  int started = 0;
  pthread_mutex_init(&w->lock, NULL);
  while (started + 1 < processors && started < MOST_THREADS &&
         pthread_create(&threads[started], NULL, run_some, w) == 0)
    started++;
  run_some(w);
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  pthread_mutex_destroy(&w->lock);
}

gt_status gt_replay(const gt_recording *recording, const gt_score *score, const gt_replay_options *options,
                    gt_replay_result *result, gt_error *error) {
  size_t seeds = options->seeds, last = gt_replay_marks[GT_REPLAY_MARKS - 1];
  gt_status status = gt_search_check(options->strategy, error);
  if (status != GT_OK) return status;
  work w = {.recording = recording, .score = score, .options = options};
  w.length = score->budget > last ? score->budget : last;
  if (w.length > score->count) w.length = score->count;
  w.best = gt_alloc((seeds * w.length + 1) * sizeof *w.best);
  run_all(&w);

  double *means = gt_alloc((w.length + 1) * sizeof *means), *parts = gt_alloc((seeds + 1) * sizeof *parts);
  for (size_t b = 0; b < w.length; b++)
    for (size_t s = 0; s < seeds; s++) means[b] += w.best[s * w.length + b] / (double)seeds;
  *result = (gt_replay_result){.rate = gt_score_rate(score, means)};
  for (size_t m = 0; m < GT_REPLAY_MARKS; m++) {
    size_t at = gt_replay_marks[m] < w.length ? gt_replay_marks[m] : w.length;
    for (size_t s = 0; s < seeds; s++) parts[s] = score->optimum / w.best[s * w.length + at - 1];
    result->median[m] = gt_quantile(parts, seeds, 0.5);
    result->worst_decile[m] = gt_quantile(parts, seeds, 0.1);
  }
  free(means);
  free(parts);
  free(w.best);
  return GT_OK;
}
