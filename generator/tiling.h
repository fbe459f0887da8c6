// An axis cut into tiles of some inputs, each with the window of outputs that its inputs gather from: what
// lib/tiling.lua makes kernels of, worked out here, since an axis may have millions of positions. Positions
// in a window are called columns. All numbers are zero-based.
#ifndef GT_GENERATOR_TILING_H
#define GT_GENERATOR_TILING_H

#include "generator/axis.h"

#define GT_TILING_ENTRIES (1 << 20)
#define GT_TILING_EXCEPTIONS \
  4 // tiles that may differ from the others in one weight and still be written as literals

// A tile that has another weight than most.
typedef struct {
  int64_t tile;
  double value;
} gt_tiling_exception;

// Input j of a tile and column c of its window.
typedef struct {
  int64_t j, c;
  double value; // the weight that most tiles have
  // The first of the tiles with another one; one more than GT_TILING_EXCEPTIONS: there are too many.
  gt_tiling_exception exceptions[GT_TILING_EXCEPTIONS + 1];
  int n_exceptions;
  bool sometimes_zero; // some tile does not use it
} gt_tiling_entry;

// How the start of a window follows from the tile's number t.
typedef enum {
  GT_TILING_AFFINE, // step · t + offset
  GT_TILING_LINE,   // multiple · ((slope · t + bias) >> shift), cut to 0 … most where `bounded`
  GT_TILING_TABLE,  // from a table
} gt_tiling_form;

typedef struct {
  int64_t slope, bias, most;
  int shift;
  bool bounded;
} gt_tiling_line;

typedef struct {
  int64_t size, tiles; // inputs of a tile; the last one may have less
  int64_t multiple;    // that starts are multiples of
  int64_t width;       // of every window
  gt_tiling_form form;
  int64_t step, offset;
  gt_tiling_line line;
  int32_t *from, *to;  // [tiles]: first and end of the outputs that a tile's inputs used
  int64_t *low, *high; // [size]: first and end of the columns that an input uses, of whatever tile
  gt_tiling_entry *entries;
  size_t n_entries;
  bool literal; // no entry has too many exceptions
  int64_t work; // steps that it took, each about as long as a few instructions of a script
} gt_tiling;

// `zeros`: outputs of a window that lie outside of the axis count as zeros, so that their weights do not
// matter. `outside`: windows may start outside of the axis also where their starts are not affine.
// `multiple`: windows start at multiples of that, 1 unless they may start `outside`. The axis is borrowed for
// the call. GT_UNSUPPORTED where there are more than GT_TILING_ENTRIES entries, or about
// `most_work` steps do not do. The caller frees it, also then.
gt_status gt_tiling_make(const gt_axis *axis, int64_t size, bool zeros, bool outside, int64_t multiple,
                         int64_t most_work, gt_tiling *tiling, gt_error *error);
void gt_tiling_free(gt_tiling *tiling); // harmless on a zeroed one

// Where the window of a tile starts.
int64_t gt_tiling_start(const gt_tiling *tiling, const gt_axis *axis, int64_t tile);

#endif
