#include "tuner/gaussian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

// Where the fit of the kernel starts, and how far the prior lets it go. Features are in [0, 1].
#define FIRST_WEIGHT 1.0  // 1 / length², for a length of a feature's whole range
#define WEIGHT_SPREAD 1.0 // standard deviation of ln(length)
#define FIRST_NOISE 1e-3  // variance of a measurement, of a signal of variance 1
#define NOISE_SPREAD 2.0  // standard deviation of ln(noise)
#define FIRST_SHARED 0.3  // part of the variance that a family's points have in common
#define LEAST_VARIANCE 1e-9
enum { FIT_ROUNDS = 4, FIT_LIMIT = 160 }; // observations that the fit looks at

// One number per value of a parameter.
typedef struct {
  size_t axis;
  double *of_value; // NULL: two values are equal or not
  double weight;
} feature;

typedef struct {
  feature *list;
  size_t count;
  size_t from, to; // the candidates from … to - 1: those of the family, and maybe others among them
} family_features;

struct gt_gaussian {
  const gt_points *points;
  family_features *families;
  double noise, shared;

  const size_t *candidates;
  size_t n_candidates;
  size_t *observed;
  size_t n, room;
  double **lower;    // Cholesky factor of the observed points' covariance: row i has i + 1 entries
  float **cross;     // lower⁻¹ · covariance with the candidates of its family: a row per observed point
  double *variance;  // of each candidate, relative to the signal's
  double *distances; // scratch: of one point from every value of every axis of its family
};

// --- features
// ----------------------------------------------------------------------------------------------

static void add_feature(family_features *family, size_t axis, double *of_value) {
  family->list[family->count++] = (feature){axis, of_value, FIRST_WEIGHT};
}

// How often a whole number divides by two; 0 for what is none.
static double twos(double number) {
  double count = 0;
  for (; number >= 2 && fmod(number, 2) == 0; number /= 2) count++;
  return count;
}

static void to_unit_range(double *numbers, size_t count) {
  double least = numbers[0], most = numbers[0];
  for (size_t i = 1; i < count; i++) least = fmin(least, numbers[i]), most = fmax(most, numbers[i]);
  for (size_t i = 0; i < count && most > least; i++) numbers[i] = (numbers[i] - least) / (most - least);
}

static void make_features(family_features *family, const gt_point_family *from) {
  family->list = gt_alloc(3 * from->n_axes * sizeof *family->list);
  for (size_t i = 0; i < from->n_axes; i++) {
    const gt_parameter_axis *axis = &from->axes[i];
    size_t n = axis->n_values;
    if (n < 2) continue;
    if (!axis->numbers) {
      add_feature(family, i, NULL);
      continue;
    }
    double *rank = gt_alloc(n * sizeof *rank);
    for (size_t v = 0; v < n; v++) rank[v] = (double)axis->rank[v] / (double)(n - 1);
    add_feature(family, i, rank);
    if (!axis->has_odd) continue;
    double *power = gt_alloc(n * sizeof *power), *divides = gt_alloc(n * sizeof *divides);
    for (size_t v = 0; v < n; v++) power[v] = gt_is_power_of_two(axis->numbers[v]);
    for (size_t v = 0; v < n; v++) divides[v] = twos(axis->numbers[v]);
    to_unit_range(divides, n);
    add_feature(family, i, power);
    add_feature(family, i, divides);
  }
}

gt_gaussian *gt_gaussian_open(const gt_points *points) {
  gt_gaussian *g = gt_alloc(sizeof *g);
  g->points = points;
  g->noise = FIRST_NOISE;
  g->shared = FIRST_SHARED;
  g->families = gt_alloc(points->n_families * sizeof *g->families);
  size_t most = 1;
  for (size_t f = 0; f < points->n_families; f++) {
    make_features(&g->families[f], &points->families[f]);
    size_t values = 0;
    for (size_t i = 0; i < points->families[f].n_axes; i++) values += points->families[f].axes[i].n_values;
    if (values > most) most = values;
  }
  g->distances = gt_alloc(most * sizeof *g->distances);
  return g;
}

static void forget(gt_gaussian *g) {
  for (size_t i = 0; i < g->n; i++) {
    free(g->lower[i]);
    free(g->cross[i]);
  }
  g->n = 0;
}

void gt_gaussian_close(gt_gaussian *g) {
  if (!g) return;
  forget(g);
  for (size_t f = 0; f < g->points->n_families; f++) {
    for (size_t i = 0; i < g->families[f].count; i++) free(g->families[f].list[i].of_value);
    free(g->families[f].list);
  }
  free(g->families);
  free(g->observed);
  free(g->lower);
  free(g->cross);
  free(g->variance);
  free(g->distances);
  free(g);
}

// --- the kernel
// --------------------------------------------------------------------------------------------

// Weighted square distances of a point's values from all values of each axis, one axis after the other.
static void measure(gt_gaussian *g, const gt_point_family *family, size_t point) {
  const uint16_t *own = gt_points_coordinates(family, point);
  const family_features *features = &g->families[family - g->points->families];
  double *at = g->distances;
  size_t axis = 0;
  for (size_t i = 0; i < family->n_axes; i++)
    for (size_t v = 0; v < family->axes[i].n_values; v++) *at++ = 0;
  at = g->distances;
  for (size_t f = 0; f < features->count; f++) {
    const feature *each = &features->list[f];
    for (; axis < each->axis; axis++) at += family->axes[axis].n_values;
    const double *of_value = each->of_value;
    size_t home = own[axis];
    for (size_t v = 0; v < family->axes[axis].n_values; v++) {
      double d = of_value ? of_value[v] - of_value[home] : v != home;
      at[v] += each->weight * d * d;
    }
  }
}

// Covariance of the point that was measured with another one of its family.
static double covariance(const gt_gaussian *g, const gt_point_family *family, size_t other) {
  const uint16_t *own = gt_points_coordinates(family, other);
  const double *at = g->distances;
  double square = 0;
  for (size_t i = 0; i < family->n_axes; at += family->axes[i++].n_values) square += at[own[i]];
  double r = sqrt(5 * square);
  return g->shared + (1 - g->shared) * (1 + r + r * r / 3) * exp(-r);
}

// Covariances of a point with many others.
static void covariances(gt_gaussian *g, size_t point, const size_t *others, size_t count, double *result) {
  const gt_point_family *family = gt_points_family(g->points, point);
  measure(g, family, point);
  for (size_t i = 0; i < count; i++)
    result[i] = others[i] - family->first < family->count ? covariance(g, family, others[i]) : 0;
}

// Takes from row[k] … row[k + 3] what the entries before k stand for. Side by side, as none of the four sums waits for
// another one.
static void reduce_four(double *const *lower, double *row, size_t k) {
  const double *a = lower[k], *b = lower[k + 1], *c = lower[k + 2], *d = lower[k + 3];
  double of_a = row[k], of_b = row[k + 1], of_c = row[k + 2], of_d = row[k + 3];
  for (size_t m = 0; m < k; m++) {
    of_a -= row[m] * a[m];
    of_b -= row[m] * b[m];
    of_c -= row[m] * c[m];
    of_d -= row[m] * d[m];
  }
  row[k] = of_a, row[k + 1] = of_b, row[k + 2] = of_c, row[k + 3] = of_d;
}

// Row `n` of a Cholesky factor from the covariances with the n points before it, in place; row[n] is set.
static void factor_row(double *const *lower, double *row, size_t n, double noise) {
  size_t in_fours = n / 4 * 4;
  double diagonal = 1 + noise;
  for (size_t k = 0; k < n; k++) {
    if (k % 4 == 0 && k < in_fours) reduce_four(lower, row, k);
    const double *other = lower[k];
    double rest = row[k];
    for (size_t m = k < in_fours ? k / 4 * 4 : 0; m < k; m++) rest -= row[m] * other[m];
    row[k] = rest / other[k];
    diagonal -= row[k] * row[k];
  }
  row[n] = sqrt(fmax(diagonal, LEAST_VARIANCE));
}

// The n-th entry of lower⁻¹ · values, from the ones before it.
static double solve_next(const double *row, const double *solved, size_t n, double value) {
  for (size_t m = 0; m < n; m++) value -= row[m] * solved[m];
  return value / row[n];
}

// --- observations
// ------------------------------------------------------------------------------------------

// So many floats as every machine adds at once.
typedef float lanes __attribute__((vector_size(16)));
enum { LANES = sizeof(lanes) / sizeof(float) };

// to[i] -= by · what[i].
static void subtract(float *to, const float *what, float by, size_t count) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    lanes some, other;
    memcpy(&some, to + i, sizeof some);
    memcpy(&other, what + i, sizeof other);
    some -= by * other;
    memcpy(to + i, &some, sizeof some);
  }
  for (; i < count; i++) to[i] -= by * what[i];
}

void gt_gaussian_add(gt_gaussian *g, size_t point) {
  const family_features *family = &g->families[gt_points_family(g->points, point) - g->points->families];
  size_t n = g->n, from = family->from, count = family->to - from;
  if (n == g->room) {
    g->room = 2 * n + 16;
    g->observed = gt_realloc(g->observed, g->room * sizeof *g->observed);
    g->lower = gt_realloc(g->lower, g->room * sizeof *g->lower);
    g->cross = gt_realloc(g->cross, g->room * sizeof *g->cross);
  }
  double *row = gt_alloc((n + 1) * sizeof *row), *with = gt_alloc((count + 1) * sizeof *with);
  float *cross = gt_alloc((count + 1) * sizeof *cross);
  covariances(g, point, g->observed, n, row);
  covariances(g, point, g->candidates + from, count, with);
  factor_row(g->lower, row, n, g->noise);
  for (size_t c = 0; c < count; c++) cross[c] = (float)with[c];
  // Points of other families have no part in the row.
  for (size_t k = 0; k < n; k++)
    if ((float)row[k] != 0) subtract(cross, g->cross[k], (float)row[k], count);
  float scale = (float)(1 / row[n]);
  for (size_t c = 0; c < count; c++) {
    cross[c] *= scale;
    g->variance[from + c] -= (double)cross[c] * (double)cross[c];
  }
  free(with);
  g->observed[n] = point;
  g->lower[n] = row;
  g->cross[n] = cross;
  g->n++;
}

size_t gt_gaussian_count(const gt_gaussian *g) {
  return g->n;
}

// Values shifted and scaled to mean 0 and variance 1.
typedef struct {
  double mean, deviation;
} scale;

static scale scale_of(const double *values, size_t n) {
  scale s = {0, 0};
  for (size_t i = 0; i < n; i++) s.mean += values[i] / (double)n;
  for (size_t i = 0; i < n; i++) s.deviation += (values[i] - s.mean) * (values[i] - s.mean) / (double)n;
  s.deviation = sqrt(s.deviation);
  if (!(s.deviation > 0)) s.deviation = 1;
  return s;
}

void gt_gaussian_predict(const gt_gaussian *g, const double *values, double *mean, double *deviation) {
  scale s = scale_of(values, g->n);
  double *solved = gt_alloc((g->n + 1) * sizeof *solved), squares = 0;
  for (size_t i = 0; i < g->n; i++) {
    solved[i] = solve_next(g->lower[i], solved, i, (values[i] - s.mean) / s.deviation);
    squares += solved[i] * solved[i];
  }
  // The signal's variance is the one of greatest likelihood.
  double signal = g->n ? sqrt(squares / (double)g->n) : 1;
  for (size_t c = 0; c < g->n_candidates; c++) mean[c] = 0;
  for (size_t i = 0; i < g->n; i++) {
    const family_features *family =
        &g->families[gt_points_family(g->points, g->observed[i]) - g->points->families];
    const float *cross = g->cross[i];
    for (size_t c = family->from; c < family->to; c++) mean[c] += solved[i] * (double)cross[c - family->from];
  }
  for (size_t c = 0; c < g->n_candidates; c++) {
    mean[c] = s.mean + s.deviation * mean[c];
    deviation[c] = s.deviation * signal * sqrt(fmax(g->variance[c], LEAST_VARIANCE));
  }
  free(solved);
}

// --- the fit
// -----------------------------------------------------------------------------------------------

// Points of different families have no covariance, so that the factor is made of one block for each family: what
// changes in one leaves the others as they are.
typedef struct {
  size_t *members, *place; // points of the family in the order of the observations, and their places among all
  size_t count;
} fitting_family;

// What a point adds to the logarithm of the likelihood.
typedef struct {
  double solved, ln_diagonal;
} part;

typedef struct {
  fitting_family *families;
  const double *values; // scaled, of all points
  size_t n;
  part *parts, *tried;  // of all points: with the kernel as it is, and with the one that is being tried
  double **lower, *solved; // scratch, for one family
} fitting;

static void evaluate_family(gt_gaussian *g, const fitting *f, size_t family) {
  const fitting_family *of = &f->families[family];
  for (size_t i = 0; i < of->count; i++) {
    covariances(g, of->members[i], of->members, i, f->lower[i]);
    factor_row(f->lower, f->lower[i], i, g->noise);
    f->solved[i] = solve_next(f->lower[i], f->solved, i, f->values[of->place[i]]);
    f->tried[of->place[i]] = (part){f->solved[i], log(f->lower[i][i])};
  }
}

enum { ALL_FAMILIES = -1 };

// Logarithm of the likelihood of the values, with the best variance of the signal, up to a constant, when the
// kernel of one family has changed, or of all. It is f->tried that tells the parts, of that family's points.
static double likelihood(gt_gaussian *g, const fitting *f, int family) {
  double squares = 0, determinant = 0;
  if (family == ALL_FAMILIES)
    for (size_t k = 0; k < g->points->n_families; k++) evaluate_family(g, f, k);
  else
    evaluate_family(g, f, (size_t)family);
  for (size_t i = 0; i < f->n; i++) {
    squares += f->tried[i].solved * f->tried[i].solved;
    determinant += f->tried[i].ln_diagonal;
  }
  return -determinant - 0.5 * (double)f->n * log(squares / (double)f->n + 1e-12);
}

static double square(double x) {
  return x * x;
}

static double prior(const gt_gaussian *g) {
  double sum = -0.5 * square(log(g->noise / FIRST_NOISE) / NOISE_SPREAD) -
               0.5 * square(log(g->shared / (1 - g->shared) * (1 - FIRST_SHARED) / FIRST_SHARED));
  for (size_t f = 0; f < g->points->n_families; f++)
    for (size_t i = 0; i < g->families[f].count; i++)
      sum -= 0.5 * square(0.5 * log(g->families[f].list[i].weight / FIRST_WEIGHT) / WEIGHT_SPREAD);
  return sum;
}

// Tries a parameter of the kernel, of one family or of all, at both sides of where it is; whether one of them is
// better.
static bool improve(gt_gaussian *g, const fitting *f, int family, double *parameter, double factor, bool is_part,
                    double *best) {
  double kept = *parameter;
  size_t bytes = f->n * sizeof *f->parts;
  for (int side = 0; side < 2; side++) {
    double by = side ? 1 / factor : factor;
    *parameter = is_part ? kept * by / (1 - kept + kept * by) : kept * by;
    double now = likelihood(g, f, family) + prior(g);
    if (now > *best) {
      *best = now;
      memcpy(f->parts, f->tried, bytes);
      return true;
    }
  }
  *parameter = kept;
  memcpy(f->tried, f->parts, bytes);
  return false;
}

// One parameter after the other, with steps that get smaller.
static void climb(gt_gaussian *g, const fitting *f) {
  double best = likelihood(g, f, ALL_FAMILIES) + prior(g), step = 2;
  memcpy(f->parts, f->tried, f->n * sizeof *f->parts);
  for (int round = 0; round < FIT_ROUNDS; round++) {
    bool better = improve(g, f, ALL_FAMILIES, &g->noise, exp(step), false, &best);
    better |= improve(g, f, ALL_FAMILIES, &g->shared, exp(step), true, &best);
    for (size_t k = 0; k < g->points->n_families; k++)
      for (size_t i = 0; i < g->families[k].count; i++)
        better |= improve(g, f, (int)k, &g->families[k].list[i].weight, exp(step), false, &best);
    if (!better) step /= 2;
  }
}

static void open_fitting(const gt_gaussian *g, const size_t *observed, const double *values, size_t n, fitting *f) {
  size_t most = 0, families = g->points->n_families;
  *f = (fitting){.values = values, .n = n};
  f->families = gt_alloc((families + 1) * sizeof *f->families);
  for (size_t i = 0; i < n; i++) f->families[gt_points_family(g->points, observed[i]) - g->points->families].count++;
  for (size_t k = 0; k < families; k++) {
    fitting_family *of = &f->families[k];
    if (of->count > most) most = of->count;
    of->members = gt_alloc((of->count + 1) * sizeof *of->members);
    of->place = gt_alloc((of->count + 1) * sizeof *of->place);
    of->count = 0;
  }
  for (size_t i = 0; i < n; i++) {
    fitting_family *of = &f->families[gt_points_family(g->points, observed[i]) - g->points->families];
    of->members[of->count] = observed[i];
    of->place[of->count++] = i;
  }
  f->parts = gt_alloc((n + 1) * sizeof *f->parts);
  f->tried = gt_alloc((n + 1) * sizeof *f->tried);
  f->lower = gt_alloc((most + 1) * sizeof *f->lower);
  f->solved = gt_alloc((most + 1) * sizeof *f->solved);
  for (size_t i = 0; i < most; i++) f->lower[i] = gt_alloc((i + 1) * sizeof **f->lower);
}

static void close_fitting(const gt_gaussian *g, fitting *f) {
  size_t most = 0;
  for (size_t k = 0; k < g->points->n_families; k++) {
    if (f->families[k].count > most) most = f->families[k].count;
    free(f->families[k].members);
    free(f->families[k].place);
  }
  for (size_t i = 0; i < most; i++) free(f->lower[i]);
  free(f->families);
  free(f->parts);
  free(f->tried);
  free(f->lower);
  free(f->solved);
}

// Between which candidates those of each family are. Mostly they lie together.
static void take_candidates(gt_gaussian *g, const size_t *candidates, size_t count) {
  g->candidates = candidates;
  g->n_candidates = count;
  g->variance = gt_realloc(g->variance, (count + 1) * sizeof *g->variance);
  for (size_t k = 0; k < g->points->n_families; k++) g->families[k].from = g->families[k].to = 0;
  for (size_t c = 0; c < count; c++) {
    family_features *family = &g->families[gt_points_family(g->points, candidates[c]) - g->points->families];
    g->variance[c] = 1;
    if (!family->to) family->from = c;
    family->to = c + 1;
  }
}

void gt_gaussian_fit(gt_gaussian *g, const size_t *candidates, size_t n_candidates, const size_t *observed,
                     const double *values, size_t n) {
  forget(g);
  take_candidates(g, candidates, n_candidates);

  // The best half of what the fit looks at, since there the kernel has to be right, and some of the others.
  size_t used = n < FIT_LIMIT ? n : FIT_LIMIT, taken = 0;
  size_t *points = gt_alloc((used + 1) * sizeof *points);
  double *scaled = gt_alloc((used + 1) * sizeof *scaled);
  scale s = scale_of(values, n);
  for (size_t i = 0; i < n && taken < used; i++) {
    size_t better = 0;
    for (size_t k = 0; k < n; k++) better += values[k] < values[i] || (values[k] == values[i] && k < i);
    if (n > used && better >= used / 2 && i % (2 * n / used) != 0) continue;
    points[taken] = observed[i];
    scaled[taken++] = (values[i] - s.mean) / s.deviation;
  }
  fitting f;
  open_fitting(g, points, scaled, taken, &f);
  climb(g, &f);
  close_fitting(g, &f);
  free(points);
  free(scaled);
  for (size_t i = 0; i < n; i++) gt_gaussian_add(g, observed[i]);
}
