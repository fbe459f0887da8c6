#include "runtime/alike.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generator/distance.h"
#include "generator/tensors.h"

// Chosen by leaving each of 76 problems on an H200 out (gathertune lookup --leave-one-out).
#define NEIGHBOURS 4     // problems that are asked
#define FARTHEST 2.5     // those farther away say nothing: another layout is 3 away
#define PRIOR 0.3        // regret of a configuration that nothing is known of, ln(time / best)
#define PRIOR_WEIGHT 0.5 // against the nearest problem's say
#define SLOWEST 1.5      // regrets are cut off there: slow is slow

typedef struct {
  gt_problem problem;
  double us; // of its winner
  size_t layer;
} neighbour;

struct gt_neighbourhood {
  const gt_layers *layers;
  gt_fingerprint model;
  neighbour *list;
  size_t count;
  size_t layer; // that is being read
};

static void on_tuned(void *context, const char *text, double median_us, double stream_us) {
  gt_neighbourhood *all = context;
  gt_problem problem;
  (void)stream_us;
  // A later version may know more operators.
  if (gt_problem_parse(text, &problem, NULL) != GT_OK || gt_problem_in_elements(&problem) == 0) return;
  if ((all->count & (all->count - 1)) == 0) // room for the next power of two
    all->list = gt_realloc(all->list, (all->count ? 2 * all->count : 1) * sizeof *all->list);
  all->list[all->count++] = (neighbour){problem, median_us, all->layer};
}

gt_neighbourhood *gt_neighbourhood_make(const gt_layers *layers, const gt_fingerprint *model) {
  gt_neighbourhood *all = gt_alloc(sizeof *all);
  *all = (gt_neighbourhood){.layers = layers, .model = *model};
  // A layer that cannot be read through says what it said so far.
  for (; all->layer < layers->count; all->layer++)
    if (layers->list[all->layer].cache)
      (void)gt_cache_each_tuned(layers->list[all->layer].cache, model, on_tuned, all, NULL);
  return all;
}

void gt_neighbourhood_free(gt_neighbourhood *neighbourhood) {
  if (!neighbourhood) return;
  free(neighbourhood->list);
  free(neighbourhood);
}

void gt_alikes_free(gt_alikes *alikes) {
  for (size_t i = 0; i < alikes->count; i++) {
    free(alikes->list[i].configuration);
    free(alikes->list[i].problem);
  }
  free(alikes->list);
  *alikes = (gt_alikes){0};
}

// --- the nearest problems
// ---------------------------------------------------------------------------------

typedef struct {
  const neighbour *from;
  double distance;
} near_one;

static bool are_the_same(const gt_problem *a, const gt_problem *b) {
  char one[GT_PROBLEM_TEXT], other[GT_PROBLEM_TEXT];
  gt_problem_print(a, one);
  gt_problem_print(b, other);
  return strcmp(one, other) == 0;
}

// The nearest ones, in order. Of a problem that several layers have, the most important one's results count.
static size_t nearest(const gt_neighbourhood *all, const gt_problem *problem, bool apart,
                      near_one found[NEIGHBOURS]) {
  size_t count = 0;
  for (size_t i = all->count; i-- > 0;) {
    const neighbour *one = &all->list[i];
    double distance = gt_problem_distance(&one->problem, problem);
    if (!(distance < FARTHEST) || (count == NEIGHBOURS && distance >= found[count - 1].distance)) continue;
    if (apart && gt_problem_same_kernels(&one->problem, problem)) continue;
    bool known = false;
    for (size_t k = 0; k < count && !known; k++)
      known = found[k].distance == distance && found[k].from->layer != one->layer &&
              are_the_same(&found[k].from->problem, &one->problem);
    if (known) continue;
    size_t at = count < NEIGHBOURS ? count++ : count - 1;
    for (; at > 0 && found[at - 1].distance > distance; at--) found[at] = found[at - 1];
    found[at] = (near_one){one, distance};
  }
  return count;
}

// --- what they say
// ----------------------------------------------------------------------------------------

// One trial of a neighbour.
typedef struct {
  char *configuration;
  double us;
} record;

typedef struct {
  record *list;
  size_t count;
} records;

static void add_record(records *all, const char *configuration, double us) {
  all->list = gt_realloc(all->list, (all->count + 1) * sizeof *all->list);
  all->list[all->count++] = (record){gt_strdup(configuration), us};
}

// Trials as they are read.
typedef struct {
  gt_generator *generator;
  records *found;
} reading;

static void on_trial(void *context, const gt_trial *trial) {
  reading *r = context;
  // What computes nothing would be the best of all; what was tried as a baseline is asked for by name only.
  if (gt_trial_is_timed(trial) && gt_is_of_candidate(r->generator, trial->configuration))
    add_record(r->found, trial->configuration, trial->median_us);
}

// A neighbour's trials; where a cache has none, its winner, and the best beside it whose results repeat.
static void read_records(const gt_neighbourhood *all, gt_generator *generator, const neighbour *from,
                         records *found) {
  gt_cache *cache = all->layers->list[from->layer].cache;
  (void)gt_cache_each_trial(cache, &all->model, &from->problem, on_trial, &(reading){generator, found}, NULL);
  gt_winner winner;
  if (found->count) return;
  if (gt_cache_get_winner(cache, &all->model, &from->problem, false, &winner, NULL) == GT_OK) {
    add_record(found, winner.variant.configuration, winner.median_us);
    gt_winner_free(&winner);
  }
  if (gt_cache_get_deterministic(cache, &all->model, &from->problem, false, &winner, NULL) == GT_OK) {
    add_record(found, winner.variant.configuration, winner.median_us);
    gt_winner_free(&winner);
  }
}

// A sum over neighbours for one configuration.
typedef struct {
  gt_alike alike;
  double weight, sum;
} rating;

static rating *rating_of(rating **list, size_t *count, const char *configuration) {
  for (size_t i = 0; i < *count; i++)
    if (strcmp((*list)[i].alike.configuration, configuration) == 0) return &(*list)[i];
  *list = gt_realloc(*list, (*count + 1) * sizeof **list);
  rating *new = &(*list)[(*count)++];
  *new = (rating){.alike = {.configuration = gt_strdup(configuration)}};
  return new;
}

static double bytes_moved(const gt_problem *problem) {
  return (double)gt_problem_moved(problem) * (double)gt_dtype_bytes(problem->dtype);
}

static int by_regret(const void *a, const void *b) {
  const gt_alike *one = a, *other = b;
  if (one->regret != other->regret) return one->regret < other->regret ? -1 : 1;
  if (one->distance != other->distance) return one->distance < other->distance ? -1 : 1;
  return strcmp(one->configuration, other->configuration);
}

void gt_alike_rate(const gt_neighbourhood *neighbourhood, gt_generator *generator, const gt_problem *problem,
                   bool apart, gt_alikes *alikes) {
  near_one near[NEIGHBOURS];
  rating *ratings = NULL;
  size_t count = 0, n_near = nearest(neighbourhood, problem, apart, near);
  *alikes = (gt_alikes){0};
  for (size_t n = 0; n < n_near; n++) {
    records found = {0};
    double best = INFINITY, weight = exp(-near[n].distance);
    read_records(neighbourhood, generator, near[n].from, &found);
    for (size_t i = 0; i < found.count; i++) best = fmin(best, found.list[i].us);
    for (size_t i = 0; i < found.count; i++) {
      rating *r = rating_of(&ratings, &count, found.list[i].configuration);
      r->weight += weight;
      r->sum += weight * fmin(log(found.list[i].us / best), SLOWEST);
      if (!r->alike.problem) {
        const neighbour *from = near[n].from;
        char text[GT_PROBLEM_TEXT];
        gt_problem_print(&from->problem, text);
        r->alike.problem = gt_strdup(text);
        r->alike.layer = from->layer;
        r->alike.distance = near[n].distance;
        r->alike.us = found.list[i].us * bytes_moved(problem) / bytes_moved(&from->problem);
      }
      free(found.list[i].configuration);
    }
    free(found.list);
  }
  if (count == 0) return;
  alikes->list = gt_alloc(count * sizeof *alikes->list);
  alikes->count = count;
  double prior = PRIOR_WEIGHT * exp(-near[0].distance);
  for (size_t i = 0; i < count; i++) {
    alikes->list[i] = ratings[i].alike;
    alikes->list[i].regret = (ratings[i].sum + prior * PRIOR) / (ratings[i].weight + prior);
  }
  free(ratings);
  qsort(alikes->list, count, sizeof *alikes->list, by_regret);
}
