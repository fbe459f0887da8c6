#include "generator/tiling.h"

#include <math.h>
#include <stdlib.h>

#include "base/buffer.h"

#define SHIFT 16                     // of lines: fractions of a position
#define MOST_LINE ((int64_t)1 << 30) // kernels compute with 32 bits
#define SLACK 2                      // columns that a window may be longer for the sake of its start

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

void gt_tiling_free(gt_tiling *t) {
  free(t->from);
  free(t->to);
  free(t->low);
  free(t->high);
  free(t->entries);
  *t = (gt_tiling){0};
}

static void find_windows(gt_tiling *t, const gt_axis *axis) {
  t->from = gt_alloc((size_t)t->tiles * sizeof *t->from);
  t->to = gt_alloc((size_t)t->tiles * sizeof *t->to);
  for (int64_t tile = 0; tile < t->tiles; tile++) {
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (int64_t i = tile * t->size; i < least((tile + 1) * t->size, axis->n_in); i++) {
      if (axis->count[i] == 0) continue;
      from = least(from, axis->first[i]);
      to = most(to, axis->first[i] + axis->count[i]);
    }
    if (from > to) from = to = tile ? t->from[tile - 1] : 0; // nothing was read from this tile
    from -= ((from % t->multiple) + t->multiple) % t->multiple;
    t->from[tile] = (int32_t)from; // axes have fewer than 2^28 positions
    t->to[tile] = (int32_t)to;
  }
  t->work += axis->n_in;
}

// --- where windows start -----------------------------------------------------------------------------------

static int64_t on_line(const gt_tiling_line *line, int64_t tile) {
  int64_t at = (line->slope * tile + line->bias) >> line->shift;
  return line->bounded ? most(0, least(line->most, at)) : at;
}

int64_t gt_tiling_start(const gt_tiling *t, const gt_axis *axis, int64_t tile) {
  if (t->form == GT_TILING_AFFINE) return t->step * tile + t->offset;
  if (t->form == GT_TILING_LINE) return t->multiple * on_line(&t->line, tile);
  return t->multiple > 1 ? t->from[tile] : least(t->from[tile], axis->n_out - t->width);
}

// The least bias with which no window starts behind its first output.
static int64_t find_bias(gt_tiling *t, const gt_tiling_line *line) {
  int64_t bias = INT64_MAX;
  for (int64_t tile = 0; tile < t->tiles; tile++)
    bias = least(bias, ((t->from[tile] / t->multiple + 1) << line->shift) - 1 - line->slope * tile);
  t->work += t->tiles;
  return bias;
}

static bool fits(const gt_tiling_line *line) {
  return line->bias > -MOST_LINE && line->bias < MOST_LINE;
}

// A multiple of the tile's number; nothing where windows would be much longer than `width`.
static bool place_affine(gt_tiling *t, const gt_axis *axis, int64_t width) {
  if (t->tiles > 1 && (t->size * axis->n_out) % (axis->n_in * t->multiple) != 0) return false;
  int64_t step = t->tiles == 1 ? 0 : t->size * axis->n_out / axis->n_in, offset = INT64_MAX, longest = 1;
  for (int64_t tile = 0; tile < t->tiles; tile++) offset = least(offset, t->from[tile] - step * tile);
  for (int64_t tile = 0; tile < t->tiles; tile++) longest = most(longest, t->to[tile] - step * tile - offset);
  t->work += 2 * t->tiles;
  if (longest > width + SLACK * t->multiple) return false;
  t->form = GT_TILING_AFFINE;
  t->step = step;
  t->offset = offset;
  t->width = longest;
  return true;
}

// The line with about this slope that is nearest to the first outputs and not above them; it may leave the
// axis.
static bool line_outside(gt_tiling *t, double slope, gt_tiling_line *line) {
  *line = (gt_tiling_line){.shift = SHIFT};
  while (line->shift > 0 && slope * (double)t->tiles * (double)(1 << line->shift) >= (double)MOST_LINE)
    line->shift--;
  line->slope = (int64_t)floor(slope * (double)(1 << line->shift) + 0.5);
  line->bias = find_bias(t, line);
  return fits(line);
}

static bool place_outside(gt_tiling *t, const gt_axis *axis, int64_t width) {
  const double ratios[] = {axis->ratio > 0 ? 1 / axis->ratio : 1, (double)axis->n_out / (double)axis->n_in};
  bool found = false;
  for (int i = 0; i < 2; i++) {
    gt_tiling_line line;
    if (!line_outside(t, (double)t->size * ratios[i] / (double)t->multiple, &line)) continue;
    int64_t longest = 1;
    for (int64_t tile = 0; tile < t->tiles; tile++)
      longest = most(longest, t->to[tile] - t->multiple * on_line(&line, tile));
    t->work += t->tiles;
    if (found && longest >= t->width) continue;
    found = true;
    t->line = line;
    t->width = longest;
  }
  if (!found || t->width > width + SLACK * t->multiple) return false;
  t->form = GT_TILING_LINE;
  return true;
}

// On a line through the first and the last window, cut to the axis, where that keeps every window's length.
static bool place_on_line(gt_tiling *t, const gt_axis *axis) {
  if (t->tiles < 2) return false;
  gt_tiling_line line = {.shift = SHIFT, .bounded = true, .most = axis->n_out - t->width};
  double slope = (double)(t->from[t->tiles - 1] - t->from[0]) / (double)(t->tiles - 1);
  line.slope = (int64_t)floor(slope * (double)(1 << SHIFT) + 0.5);
  while (line.shift > 0 && line.slope * t->tiles >= MOST_LINE) {
    line.shift--;
    line.slope >>= 1;
  }
  line.bias = find_bias(t, &line);
  t->work += t->tiles;
  for (int64_t tile = 0; tile < t->tiles; tile++)
    if (on_line(&line, tile) + t->width < t->to[tile]) return false;
  if (!fits(&line)) return false;
  t->line = line;
  t->form = GT_TILING_LINE;
  return true;
}

static void place(gt_tiling *t, const gt_axis *axis, bool outside) {
  int64_t width = 1;
  for (int64_t tile = 0; tile < t->tiles; tile++) width = most(width, t->to[tile] - t->from[tile]);
  t->work += t->tiles;
  if (place_affine(t, axis, width) || (outside && place_outside(t, axis, width))) return;
  t->width = t->multiple > 1 ? width : least(width, axis->n_out);
  if (t->multiple > 1 || !place_on_line(t, axis)) t->form = GT_TILING_TABLE;
}

// --- which input of a tile uses which column ---------------------------------------------------------------

static void find_ranges(gt_tiling *t, const gt_axis *axis) {
  t->low = gt_alloc((size_t)t->size * sizeof *t->low);
  t->high = gt_alloc((size_t)t->size * sizeof *t->high);
  for (int64_t j = 0; j < t->size; j++) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (int64_t i = j, tile = 0; i < axis->n_in; i += t->size, tile++) {
      if (axis->count[i] == 0) continue;
      int64_t first = axis->first[i] - gt_tiling_start(t, axis, tile);
      low = least(low, first);
      high = most(high, first + axis->count[i]);
    }
    t->low[j] = low > high ? 0 : low;
    t->high[j] = low > high ? 0 : high;
  }
  t->work += axis->n_in;
}

// Whether it matters which weight a tile's input has for a column.
static bool counts(const gt_tiling *t, const gt_axis *axis, bool zeros, int64_t tile, int64_t j, int64_t c) {
  if (tile * t->size + j >= axis->n_in) return false;
  int64_t output = gt_tiling_start(t, axis, tile) + c;
  return !(zeros && (output < 0 || output >= axis->n_out));
}

static double weight(const gt_tiling *t, const gt_axis *axis, int64_t tile, int64_t j, int64_t c) {
  int64_t i = tile * t->size + j;
  if (i >= axis->n_in) return 0;
  int64_t k = gt_tiling_start(t, axis, tile) + c - axis->first[i];
  return k < 0 || k >= axis->count[i] ? 0 : axis->weight[axis->start[i] + k];
}

static void find_entry(gt_tiling *t, const gt_axis *axis, bool zeros, gt_tiling_entry *entry) {
  int64_t middle = t->tiles / 2, tile = 0;
  while (middle > 0 && !counts(t, axis, zeros, middle, entry->j, entry->c)) middle--;
  entry->value = weight(t, axis, middle, entry->j, entry->c);
  // More than that would tell nothing new.
  for (; tile < t->tiles && !(entry->sometimes_zero && entry->n_exceptions > GT_TILING_EXCEPTIONS); tile++) {
    if (!counts(t, axis, zeros, tile, entry->j, entry->c)) continue;
    double w = weight(t, axis, tile, entry->j, entry->c);
    if (w == 0) entry->sometimes_zero = true;
    if (w != entry->value && entry->n_exceptions <= GT_TILING_EXCEPTIONS)
      entry->exceptions[entry->n_exceptions++] = (gt_tiling_exception){tile, w};
  }
  if (entry->n_exceptions > GT_TILING_EXCEPTIONS) t->literal = false;
  t->work += tile + t->tiles / 2 - middle;
}

static gt_status find_entries(gt_tiling *t, const gt_axis *axis, bool zeros, int64_t most_work,
                              gt_error *error) {
  int64_t count = 0;
  for (int64_t j = 0; j < t->size; j++) count += t->high[j] - t->low[j];
  if (count > GT_TILING_ENTRIES)
    return gt_fail(error, GT_UNSUPPORTED, "tiles of %lld inputs use %lld outputs and more, of at most %d",
                   (long long)t->size, (long long)count, GT_TILING_ENTRIES);
  t->entries = gt_alloc((size_t)(count + 1) * sizeof *t->entries);
  for (int64_t j = 0; j < t->size; j++)
    for (int64_t c = t->low[j]; c < t->high[j]; c++) {
      gt_tiling_entry *entry = &t->entries[t->n_entries++];
      *entry = (gt_tiling_entry){.j = j, .c = c};
      find_entry(t, axis, zeros, entry);
      if (t->work > most_work)
        return gt_fail(error, GT_UNSUPPORTED, "%lld tiles of %lld inputs take too long to be looked through",
                       (long long)t->tiles, (long long)t->size);
    }
  return GT_OK;
}

gt_status gt_tiling_make(const gt_axis *axis, int64_t size, bool zeros, bool outside, int64_t multiple,
                         int64_t most_work, gt_tiling *tiling, gt_error *error) {
  gt_tiling *t = tiling;
  *t = (gt_tiling){
      .size = size, .tiles = (axis->n_in + size - 1) / size, .multiple = multiple, .literal = true};
  find_windows(t, axis);
  place(t, axis, outside);
  find_ranges(t, axis);
  return find_entries(t, axis, zeros, most_work, error);
}
