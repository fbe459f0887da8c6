// A search space as the search strategies see it: points with one value per parameter. Points of several
// families lie in one space; each family has parameters of its own, and neighbours are of one family.
#ifndef GT_TUNER_POINTS_H
#define GT_TUNER_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define GT_NO_POINT ((size_t)-1)
#define GT_MAX_VALUES 4096 // of one parameter

typedef struct {
  char *name;
  char **values; // texts, in the order in which they first came
  size_t n_values;
  double *numbers; // of the values, when all are numbers; else NULL
  size_t *rank;    // of each value among all: by number, else in the order in which they first came
  // Whether some of its numbers are powers of two (or 0) and others are not; then these are the odd ones.
  bool has_odd;
} gt_parameter_axis;

typedef struct {
  char *name;
  gt_parameter_axis *axes; // one per parameter
  size_t n_axes;
  size_t first, count;   // its points: first … first + count - 1
  size_t standard;       // its default configuration; GT_NO_POINT: none
  uint16_t *coordinates; // count × n_axes: of each point, its place in `values` on every axis
  size_t *table;         // hash table from coordinates to the place in the family + 1; 0: free
  size_t table_size;     // a power of two
} gt_point_family;

typedef struct {
  gt_point_family *families;
  size_t n_families, count; // count: of all points
} gt_points;

// Building: a family, then all of its points, then the next family; gt_points_finish after the last one.
void gt_points_add_family(gt_points *points, const char *name, const char *const *parameters, size_t count);
// One value per parameter. *point is the new point, or the one that has the same values already (then
// *is_new is false). GT_USAGE when a parameter gets too many different values.
gt_status gt_points_add(gt_points *points, const char *const *values, size_t *point, bool *is_new,
                        gt_error *error);
void gt_points_finish(gt_points *points);
void gt_points_free(gt_points *points); // harmless on a zeroed one

// Adds a configuration's text ("family:name=value,…") of the family that was added last; adds the family when
// it is the first one of it. Every configuration of a family has the same parameters, in the same order;
// GT_USAGE when they do not.
gt_status gt_points_add_text(gt_points *points, const char *configuration, size_t *point, bool *is_new,
                             gt_error *error);

// The point of a configuration's text, or GT_NO_POINT.
size_t gt_points_find_text(const gt_points *points, const char *configuration);

const gt_point_family *gt_points_family(const gt_points *points, size_t point);
const uint16_t *gt_points_coordinates(const gt_point_family *family, size_t point);
// The point with these coordinates, or GT_NO_POINT.
size_t gt_points_find(const gt_point_family *family, const uint16_t *coordinates);
// The points that differ from `point` in one parameter. `list` has room for gt_points_most_neighbours.
size_t gt_points_neighbours(const gt_point_family *family, size_t point, size_t *list);
size_t gt_points_most_neighbours(const gt_point_family *family);
size_t gt_points_distance(const gt_point_family *family, size_t a, size_t b); // parameters that differ

// How many parameters of the point have an odd value: one that is no power of two while others are. Sizes of
// tensors, of cache lines and of wavefronts are mostly powers of two or multiples of large ones; a tile that
// does not divide them leaves partial blocks and unaligned rows.
size_t gt_points_odd(const gt_point_family *family, size_t point);
bool gt_is_power_of_two(double number); // or zero

#endif
