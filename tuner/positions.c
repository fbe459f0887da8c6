#include "tuner/positions.h"

#include "base/parallel.h"
#include "tuner/storage.h"

#define COARSE 16    // samples from one point of a random displacement to the next
#define REACH 0.25   // of a displacement: an eighth of an image, in coordinates
#define OUTSIDE 1.05 // how far random coordinates reach

bool gt_has_classes(const gt_problem *problem) {
  return problem->op->form == GT_FORM_GRID && problem->sampling.positions == GT_GRID_CLASS_ANY;
}

gt_problem gt_problem_of_class(const gt_problem *problem, int k) {
  gt_problem of_class = *problem;
  of_class.sampling.positions = (gt_grid_class)(GT_FIRST_CLASS + k);
  return of_class;
}

// splitmix64's finaliser, of a counter: uniform in [-1, 1).
static double noise(uint64_t index) {
  uint64_t x = index * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return (double)(x >> 11) * 0x1p-52 - 1;
}

static double identity(int64_t index, int64_t size, bool align_corners) {
  if (align_corners) return size > 1 ? 2.0 * (double)index / (double)(size - 1) - 1 : 0;
  return (2.0 * (double)index + 1) / (double)size - 1;
}

// Displacement `which` (0 x, 1 y) of sample (y, x) of image n: linear between random ones.
static double displacement(const gt_problem *problem, int64_t n, int64_t y, int64_t x, int which) {
  int64_t rows = problem->out[1] / COARSE + 2, columns = problem->out[2] / COARSE + 2;
  int64_t row = y / COARSE, column = x / COARSE;
  double v = (double)(y % COARSE) / COARSE, u = (double)(x % COARSE) / COARSE;
  double corner[2][2];
  for (int j = 0; j < 2; j++)
    for (int i = 0; i < 2; i++)
      corner[j][i] = noise((uint64_t)(((n * rows + row + j) * columns + column + i) * 2 + which));
  return REACH * ((1 - v) * ((1 - u) * corner[0][0] + u * corner[0][1]) +
                  v * ((1 - u) * corner[1][0] + u * corner[1][1]));
}

static double position(const gt_problem *problem, int64_t n, int64_t y, int64_t x, int which) {
  int axis = which ? 1 : 2;
  int64_t samples = problem->out[1] * problem->out[2], sample = n * samples + y * problem->out[2] + x;
  double random = noise((uint64_t)(sample * 2 + which)), place = identity(which ? y : x, problem->out[axis], problem->align_corners);
  switch (problem->sampling.positions) {
  case GT_GRID_CLASS_IDENTITY:
    return place;
  case GT_GRID_CLASS_SMOOTH:
    return place + displacement(problem, n, y, x, which);
  case GT_GRID_CLASS_CONTENDED:
    if (sample % 10) return noise((uint64_t)(n * 2 + which + 17)) * 0.9 + random / (double)problem->in[axis];
    return OUTSIDE * random;
  default:
    return OUTSIDE * random;
  }
}

typedef struct {
  const gt_problem *problem;
  void *grid;
} making;

static void make_image(void *context, size_t n) {
  const making *m = context;
  const gt_problem *problem = m->problem;
  size_t at = n * (size_t)(problem->out[1] * problem->out[2] * 2);
  for (int64_t y = 0; y < problem->out[1]; y++)
    for (int64_t x = 0; x < problem->out[2]; x++)
      for (int which = 0; which < 2; which++)
        gt_storage_store(problem->dtype, m->grid, at++, position(problem, (int64_t)n, y, x, which));
}

void gt_positions_make(const gt_problem *problem, int64_t outer, void *grid) {
  making m = {problem, grid};
  gt_parallel((size_t)outer, make_image, &m);
}
