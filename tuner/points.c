#include "tuner/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "generator/configuration.h"

void gt_points_add_family(gt_points *points, const char *name, const char *const *parameters, size_t count) {
  points->families = gt_realloc(points->families, (points->n_families + 1) * sizeof *points->families);
  gt_point_family *family = &points->families[points->n_families++];
  *family = (gt_point_family){.name = gt_strdup(name),
                              .axes = gt_alloc(count * sizeof *family->axes),
                              .n_axes = count,
                              .first = points->count,
                              .standard = GT_NO_POINT};
  for (size_t i = 0; i < count; i++) family->axes[i].name = gt_strdup(parameters[i]);
}

// Place of a value on the axis, which gets longer by one that it does not have.
static size_t place_of(gt_parameter_axis *axis, const char *value) {
  for (size_t i = 0; i < axis->n_values; i++)
    if (strcmp(axis->values[i], value) == 0) return i;
  if (axis->n_values == GT_MAX_VALUES) return GT_MAX_VALUES;
  if ((axis->n_values & (axis->n_values - 1)) == 0) // room for the next power of two
    axis->values = gt_realloc(axis->values, (axis->n_values ? 2 * axis->n_values : 1) * sizeof *axis->values);
  axis->values[axis->n_values] = gt_strdup(value);
  return axis->n_values++;
}

// FNV-1a with a final mix.
static size_t hash(const uint16_t *coordinates, size_t count) {
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < count; i++) h = (h ^ coordinates[i]) * 1099511628211u;
  return (size_t)(h ^ h >> 29);
}

// Where in the table the coordinates are, or where they would go.
static size_t slot_of(const gt_point_family *family, const uint16_t *coordinates) {
  size_t mask = family->table_size - 1, slot = hash(coordinates, family->n_axes) & mask;
  for (; family->table[slot]; slot = (slot + 1) & mask) {
    const uint16_t *other = family->coordinates + (family->table[slot] - 1) * family->n_axes;
    if (memcmp(other, coordinates, family->n_axes * sizeof *coordinates) == 0) break;
  }
  return slot;
}

// Keeps the table at most half full and the array of coordinates large enough for one more point.
static void make_room(gt_point_family *family) {
  if (2 * (family->count + 1) <= family->table_size) return;
  family->table_size = family->table_size ? 2 * family->table_size : 16;
  family->coordinates = gt_realloc(family->coordinates, (family->table_size / 2 * family->n_axes + 1) *
                                                            sizeof *family->coordinates);
  free(family->table);
  family->table = gt_alloc(family->table_size * sizeof *family->table);
  for (size_t i = 0; i < family->count; i++)
    family->table[slot_of(family, family->coordinates + i * family->n_axes)] = i + 1;
}

gt_status gt_points_add(gt_points *points, const char *const *values, size_t *point, bool *is_new,
                        gt_error *error) {
  gt_point_family *family = &points->families[points->n_families - 1];
  make_room(family);
  uint16_t *coordinates = family->coordinates + family->count * family->n_axes;
  for (size_t i = 0; i < family->n_axes; i++) {
    size_t place = place_of(&family->axes[i], values[i]);
    if (place == GT_MAX_VALUES)
      return gt_fail(error, GT_USAGE, "parameter %.80s of %.80s has more than %d values",
                     family->axes[i].name, family->name, GT_MAX_VALUES);
    coordinates[i] = (uint16_t)place;
  }
  size_t slot = slot_of(family, coordinates);
  *is_new = family->table[slot] == 0;
  if (*is_new) {
    family->table[slot] = ++family->count;
    points->count++;
  }
  *point = family->first + family->table[slot] - 1;
  return GT_OK;
}

gt_status gt_points_add_text(gt_points *points, const char *configuration, size_t *point, bool *is_new,
                             gt_error *error) {
  gt_configuration parsed;
  gt_status status = gt_configuration_parse(configuration, &parsed, error);
  if (status != GT_OK) return status;
  gt_point_family *family = points->n_families ? &points->families[points->n_families - 1] : NULL;
  if (!family || strcmp(family->name, parsed.family) != 0)
    gt_points_add_family(points, parsed.family, (const char *const *)parsed.names, parsed.count);
  family = &points->families[points->n_families - 1];
  bool same = parsed.count == family->n_axes;
  for (size_t i = 0; same && i < parsed.count; i++) same = strcmp(parsed.names[i], family->axes[i].name) == 0;
  status = same ? gt_points_add(points, (const char *const *)parsed.values, point, is_new, error)
                : gt_fail(error, GT_USAGE, "%s does not have the parameters of the configurations before it",
                          configuration);
  gt_configuration_free(&parsed);
  return status;
}

// --- what is known when all points are there
// ---------------------------------------------------------------

bool gt_is_power_of_two(double number) {
  int exponent;
  return number == 0 || (number > 0 && frexp(number, &exponent) == 0.5);
}

static bool to_number(const char *text, double *number) {
  char *end;
  *number = strtod(text, &end);
  return end != text && !*end && isfinite(*number);
}

static void finish_axis(gt_parameter_axis *axis) {
  size_t n = axis->n_values, odd = 0;
  axis->numbers = gt_alloc(n * sizeof *axis->numbers);
  axis->rank = gt_alloc(n * sizeof *axis->rank);
  bool numeric = true;
  for (size_t i = 0; i < n && numeric; i++) numeric = to_number(axis->values[i], &axis->numbers[i]);
  for (size_t i = 0; i < n; i++) {
    axis->rank[i] = numeric ? 0 : i;
    for (size_t k = 0; k < n && numeric; k++)
      axis->rank[i] += axis->numbers[k] < axis->numbers[i] || (axis->numbers[k] == axis->numbers[i] && k < i);
    odd += numeric && !gt_is_power_of_two(axis->numbers[i]);
  }
  axis->has_odd = odd > 0 && odd < n;
  if (numeric) return;
  free(axis->numbers);
  axis->numbers = NULL;
}

void gt_points_finish(gt_points *points) {
  for (size_t f = 0; f < points->n_families; f++)
    for (size_t i = 0; i < points->families[f].n_axes; i++) finish_axis(&points->families[f].axes[i]);
}

void gt_points_free(gt_points *points) {
  for (size_t f = 0; f < points->n_families; f++) {
    gt_point_family *family = &points->families[f];
    for (size_t i = 0; i < family->n_axes; i++) {
      gt_parameter_axis *axis = &family->axes[i];
      for (size_t v = 0; v < axis->n_values; v++) free(axis->values[v]);
      free(axis->values);
      free(axis->numbers);
      free(axis->rank);
      free(axis->name);
    }
    free(family->axes);
    free(family->name);
    free(family->coordinates);
    free(family->table);
  }
  free(points->families);
  *points = (gt_points){0};
}

// --- questions
// ---------------------------------------------------------------------------------------------

const gt_point_family *gt_points_family(const gt_points *points, size_t point) {
  size_t f = 0;
  while (point - points->families[f].first >= points->families[f].count) f++;
  return &points->families[f];
}

const uint16_t *gt_points_coordinates(const gt_point_family *family, size_t point) {
  return family->coordinates + (point - family->first) * family->n_axes;
}

size_t gt_points_find(const gt_point_family *family, const uint16_t *coordinates) {
  if (!family->table_size) return GT_NO_POINT;
  size_t place = family->table[slot_of(family, coordinates)];
  return place ? family->first + place - 1 : GT_NO_POINT;
}

size_t gt_points_find_text(const gt_points *points, const char *configuration) {
  gt_configuration parsed;
  size_t point = GT_NO_POINT;
  if (gt_configuration_parse(configuration, &parsed, NULL) != GT_OK) return GT_NO_POINT;
  for (size_t f = 0; f < points->n_families && point == GT_NO_POINT; f++) {
    const gt_point_family *family = &points->families[f];
    uint16_t coordinates[GT_MAX_PARAMETERS];
    bool known = strcmp(family->name, parsed.family) == 0 && family->n_axes == parsed.count;
    for (size_t i = 0; known && i < family->n_axes; i++) {
      const gt_parameter_axis *axis = &family->axes[i];
      const char *value = gt_configuration_get(&parsed, axis->name);
      size_t v = 0;
      while (value && v < axis->n_values && strcmp(axis->values[v], value) != 0) v++;
      known = value && v < axis->n_values;
      coordinates[i] = (uint16_t)v;
    }
    if (known) point = gt_points_find(family, coordinates);
  }
  gt_configuration_free(&parsed);
  return point;
}

size_t gt_points_most_neighbours(const gt_point_family *family) {
  size_t most = 0;
  for (size_t i = 0; i < family->n_axes; i++) most += family->axes[i].n_values - 1;
  return most;
}

size_t gt_points_neighbours(const gt_point_family *family, size_t point, size_t *list) {
  size_t count = 0, bytes = family->n_axes * sizeof(uint16_t);
  uint16_t *changed = gt_alloc(bytes);
  const uint16_t *own = gt_points_coordinates(family, point);
  memcpy(changed, own, bytes);
  for (size_t i = 0; i < family->n_axes; i++) {
    for (size_t v = 0; v < family->axes[i].n_values; v++) {
      changed[i] = (uint16_t)v;
      size_t other = v == own[i] ? GT_NO_POINT : gt_points_find(family, changed);
      if (other != GT_NO_POINT) list[count++] = other;
    }
    changed[i] = own[i];
  }
  free(changed);
  return count;
}

size_t gt_points_distance(const gt_point_family *family, size_t a, size_t b) {
  const uint16_t *one = gt_points_coordinates(family, a), *other = gt_points_coordinates(family, b);
  size_t distance = 0;
  for (size_t i = 0; i < family->n_axes; i++) distance += one[i] != other[i];
  return distance;
}

size_t gt_points_odd(const gt_point_family *family, size_t point) {
  const uint16_t *own = gt_points_coordinates(family, point);
  size_t odd = 0;
  for (size_t i = 0; i < family->n_axes; i++)
    odd += family->axes[i].has_odd && !gt_is_power_of_two(family->axes[i].numbers[own[i]]);
  return odd;
}
