// The order of configurations before anything is timed.
#include "tests/unit/problem_fixture.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "tuner/agenda.h"
#include "tuner/cost.h"

// Of 132 compute units, with 64 KiB of shared memory each.
static gt_fingerprint gpu(void) {
  gt_fingerprint device;
  assert_true(gt_fingerprint_for_arch("sm_90", &device));
  device.compute_units = 132;
  device.lds_bytes_per_block = 65536;
  return device;
}

#define PLENTY "upsample_bilinear2d_backward:n=64,c=64,in=128x128,out=256x256,dtype=f32"

// 2^17 blocks of 256 threads, which load 32 bytes each: every byte once.
static gt_work plain_work(void) {
  return (gt_work){.known = true,
                   .launch = {.block = {256, 1, 1}, .blocks_num = 32, .blocks_den = 1},
                   .launches = 1,
                   .loads = 2,
                   .load_bytes = 16,
                   .flight = 2,
                   .operations = 10,
                   .registers = 32,
                   .rereads = 1};
}

static double us(const gt_work *work) {
  gt_problem problem = parse(PLENTY);
  gt_fingerprint device = gpu();
  return exp(gt_cost(work, &problem, &device));
}

static void a_kernel_that_keeps_memory_busy_takes_as_long_as_its_bytes(void **state) {
  (void)state;
  gt_work work = plain_work();
  double elements = 64.0 * 64 * (256 * 256 + 128 * 128), bandwidth = 132 * 33e3;
  // 124.1 rounds of 1,056 blocks: a tail of next to nothing. And 5 us for the launch.
  double expected = 4 * elements / bandwidth + 5, wrote = us(&work);
  assert_true(wrote >= expected && wrote < 1.003 * expected);
  work.workspace_bytes = 1000; // per outer index, written and read
  assert_true(fabs(us(&work) - wrote - 2 * 4096 * 1000 / bandwidth) < 0.02);
  work.workspace_bytes = 0;
  work.launches = 2;
  assert_true(fabs(us(&work) - wrote - 5) < 0.01);
}

static void what_holds_memory_up_costs(void **state) {
  (void)state;
  gt_work work = plain_work();
  work.load_bytes = 4; // too few bytes under way: 132 x 2048 x 4 in a microsecond, and 4.36 MB could be
  work.flight = 1;
  double few = us(&work);
  work.flight = 2;
  double more = us(&work);
  assert_true(more < 0.6 * few);
  work.registers = 128; // 2 blocks of 256 threads instead of 8
  double full = us(&work);
  assert_true(full > 3.5 * more && full < 4.5 * more);
  work.registers = 32;
  work.shared_bytes = 32768; // 2 blocks, too
  double shared = us(&work);
  assert_true(fabs(shared - full) < 1e-6 * full);
  work = plain_work();
  double once = us(&work);
  work.rereads = 2; // a fifth of it from memory
  assert_true(us(&work) > 1.1 * once && us(&work) < 1.2 * once);
}

static void arithmetic_and_the_way_of_a_thread_cost_where_they_take_longest(void **state) {
  (void)state;
  gt_work work = plain_work();
  double plain = us(&work);
  work.operations = 1000; // and 4 for its loads; times 2^25 threads, by 132 units
  double heavy = us(&work);
  assert_true(fabs(heavy / (1004 * (double)(1 << 25) / (132 * 80e3)) - 1) < 0.01);
  assert_true(heavy > 10 * plain);
  work = plain_work();
  work.steps = 100; // barriers, in each of 124 rounds
  double waits = us(&work);
  assert_true(fabs(waits / (124.1 * (100 * 0.3 + 1)) - 1) < 0.01);
}

static void a_last_round_that_is_not_full_costs(void **state) {
  (void)state;
  gt_work work = plain_work();
  gt_problem problem = parse("upsample_bilinear2d_backward:n=1,c=1,in=128x128,out=256x256,dtype=f32");
  gt_fingerprint device = gpu();
  work.operations = 100000; // so that the units' work decides
  work.launch.blocks_num = 132 * 8;
  double full = exp(gt_cost(&work, &problem, &device)) - 5;
  work.launch.blocks_num++;
  double one_more = exp(gt_cost(&work, &problem, &device)) - 5;
  assert_true(one_more > 1.2 * full && one_more < 1.4 * full);
  work.launch.blocks_num = 66; // half of the units have nothing to do
  double half = exp(gt_cost(&work, &problem, &device)) - 5;
  assert_true(fabs(half * 8 / full - 1) < 0.01);
}

static void launches_that_are_told_of_one_by_one_cost_their_sum(void **state) {
  (void)state;
  gt_work work = plain_work(), next = plain_work();
  double bandwidth = 132 * 33e3;
  work.each = next.each = true;
  work.bytes = 1e6; // of 4,096 images; loads under way do not hold up what is written
  work.load_bytes = 1;
  double one = us(&work);
  assert_true(one > 4096 * 1e6 / bandwidth + 5 && one < 1.003 * (4096 * 1e6 / bandwidth + 5));
  next.bytes = 0;
  next.cached_bytes = 1e6;
  work.launches = 2;
  work.rest = &next;
  double cached = 4096 * 1e6 / (132 * 50e3);
  assert_true(fabs(us(&work) - one - cached - 2.5) < 0.003 * cached);
  next.flight = 1; // too few sectors under way: 132 x 2048 x 32 in a microsecond, and 6.6 MB could be
  next.load_bytes = 4;
  next.registers = 255;
  double waits = 4096 * 1e6 / (132 * 256 * 32);
  assert_true(fabs(us(&work) - one - waits - 2.5) < 0.003 * waits);
  gt_fingerprint device = gpu();
  device.lds_bytes_per_block = 48 << 10; // of a unit's 200 KiB and more
  gt_problem problem = parse(PLENTY);
  next.registers = 32;
  next.shared_bytes = 40 << 10; // 5 blocks of 256 threads
  double shared = 4096 * 1e6 / (132 * 5 * 256 * 32);
  assert_true(fabs(exp(gt_cost(&work, &problem, &device)) - one - shared - 2.5) < 0.003 * shared);
}

static void what_is_not_known_has_no_cost(void **state) {
  (void)state;
  gt_problem problem = parse(PLENTY);
  gt_fingerprint device = gpu();
  gt_work work = plain_work();
  device.is_cpu = true;
  assert_true(isnan(gt_cost(&work, &problem, &device)));
  device.is_cpu = false;
  assert_false(isnan(gt_cost(&work, &problem, &device)));
  work.known = false;
  assert_true(isnan(gt_cost(&work, &problem, &device)));
}

// --- what families say
// ---------------------------------------------------------------------------------------

static void check_work(const char *problem_text, const char *configuration, const gt_work *work) {
  gt_problem problem = parse(problem_text);
  uint32_t grid[3];
  assert_int_equal(gt_launch_grid(&work->launch, gt_problem_outer(&problem), grid, NULL), GT_OK);
  double threads = (double)work->launch.block[0] * work->launch.block[1] * work->launch.block[2];
  double loaded = threads * grid[0] * grid[1] * grid[2] * work->loads * work->load_bytes;
  double bytes =
      (double)gt_problem_out_elements(&problem) * (double)gt_dtype_bytes(problem.dtype);
  // Each output is loaded at least once, and not much more often than `rereads` says and idle lanes can explain.
  bool good = work->known && loaded > 0.99 * bytes && work->load_bytes <= 16 &&
              work->flight <= work->loads + 3 && work->operations > 0 && work->registers <= 255;
  if (!good)
    fail_msg("%s, %s: %g of %g bytes, %g loads of %g bytes, %g under way, %g operations, %g registers",
             problem_text, configuration, loaded, bytes, work->loads, work->load_bytes, work->flight,
             work->operations, work->registers);
}

static void every_family_says_what_its_threads_do(void **state) {
  (void)state;
  static const char *const problems[] = {
      "upsample_bilinear2d_backward:n=2,c=8,in=32x32,out=64x64,dtype=f32",
      "upsample_bilinear2d_backward:n=2,c=8,in=24x24,out=37x41,dtype=f16",
      "upsample_bilinear2d_backward:n=2,c=8,in=32x32,out=64x64,dtype=bf16,layout=nhwc",
      "upsample_bicubic2d_backward:n=2,c=8,in=8x8,out=64x64,dtype=f32",
      "upsample_trilinear3d_backward:n=1,c=4,in=4x4x4,out=32x32x32,dtype=f32",
      "upsample_nearest2d_backward:n=2,c=8,in=16x16,out=32x32,dtype=f16",
      // Rows that start anywhere.
      "upsample_bilinear2d_backward:n=2,c=8,in=24x31,out=48x62,dtype=f16",
      "upsample_bicubic2d_backward:n=2,c=8,in=16x61,out=41x97,dtype=f32",
      "upsample_bilinear2d_backward:n=2,c=8,in=41x95,out=17x37,dtype=f64",
  };
  gt_generator *generator;
  gt_error error = {0};
  if (gt_generator_open("templates", &generator, &error) != GT_OK) fail_msg("%s", error.text);
  size_t n_families, seen = 0, copies[3] = {0};
  const char *const *families = gt_generator_families(generator, &n_families);
  gt_fingerprint device = gpu();
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
    for (size_t f = 0; f < n_families; f++) {
      gt_problem problem = parse(problems[i]);
      gt_family_role role;
      const char *description;
      gt_space space;
      assert_int_equal(gt_family_describe(generator, families[f], &role, &description, NULL), GT_OK);
      if (role != GT_ROLE_CANDIDATE ||
          gt_family_claims(generator, families[f], &problem, &device, NULL) != GT_OK)
        continue;
      if (gt_space_make_with_works(generator, families[f], &problem, &device, &space, &error) != GT_OK)
        fail_msg("%s", error.text);
      for (size_t k = 0; k < space.count; k++) {
        check_work(problems[i], space.configurations[k], &space.works[k]);
        copies[0] += strstr(space.configurations[k], ":copy=vectors") != NULL;
        copies[1] += strstr(space.configurations[k], ":copy=async") != NULL;
        copies[2] += strstr(space.configurations[k], ":copy=bulk") != NULL;
      }
      seen |= (size_t)1 << f;
      gt_space_free(&space);
    }
  assert_int_equal(__builtin_popcountll(seen), 8); // all candidates claimed some problem
  assert_true(copies[0] && copies[1] && copies[2]);
  gt_generator_close(generator);
}

static void check_launches(const char *problem_text, const char *configuration, const gt_work *work) {
  gt_problem problem = parse(problem_text);
  double element = (double)gt_dtype_bytes(problem.dtype), bytes = 0;
  bool good = work->known && work->each;
  for (int i = 0; good && i < work->launches; i++) {
    const gt_work *one = i ? &work->rest[i - 1] : work;
    bytes += one->bytes;
    good = one->load_bytes <= 16 && one->operations > 0 && one->registers < 512;
  }
  // All of grad_output is read, unless it is to make zeros, and all of grad_input is written.
  double outer = (double)gt_problem_outer(&problem);
  if (problem.sampling.want != GT_WANT_GRID)
    good = good && outer * bytes >= element * (double)gt_problem_out_elements(&problem);
  if (!good || !isfinite(bytes) || work->launches < 1) fail_msg("%s, %s: %g bytes", problem_text, configuration, bytes);
}

static void every_family_of_grids_says_what_each_launch_does(void **state) {
  (void)state;
#define GRIDS "grid_sampler_2d_backward:n=2,"
  static const char *const problems[] = {
      GRIDS "c=8,in=24x24,out=37x41,dtype=f32",
      GRIDS "c=3,in=24x24,out=37x41,dtype=f16,want=grid",
      GRIDS "c=3,in=24x24,out=37x41,dtype=f16,want=input",
      GRIDS "c=32,in=64x64,out=64x64,dtype=bf16,layout=nhwc",
      GRIDS "c=6,in=16x16,out=40x50,dtype=f64,interpolation=nearest",
      GRIDS "c=6,in=16x16,out=40x50,dtype=f32,interpolation=bicubic,padding=border",
      GRIDS "c=1,in=1x1,out=1x1,dtype=f32",
  };
  static const char *const archs[] = {"sm_90", "gfx942"};
  gt_generator *generator;
  gt_error error = {0};
  if (gt_generator_open("templates", &generator, &error) != GT_OK) fail_msg("%s", error.text);
  static const char *const families[] = {"grid_bin", "grid_lds", "grid_near"};
  size_t seen[3] = {0};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
    for (size_t f = 0; f < 3; f++)
      for (size_t a = 0; a < 2; a++) {
        gt_problem problem = parse(problems[i]);
        gt_fingerprint device;
        assert_true(gt_fingerprint_for_arch(archs[a], &device));
        device.compute_units = 132;
        if (gt_family_claims(generator, families[f], &problem, &device, NULL) != GT_OK) continue;
        gt_space space;
        if (gt_space_make_with_works(generator, families[f], &problem, &device, &space, &error) != GT_OK)
          fail_msg("%s", error.text);
        for (size_t k = 0; k < space.count; k++) {
          check_launches(problems[i], space.configurations[k], &space.works[k]);
          assert_true(isfinite(gt_cost(&space.works[k], &problem, &device)));
        }
        seen[f] += space.count;
        gt_space_free(&space);
      }
  assert_true(seen[0] && seen[1] && seen[2]);
  gt_generator_close(generator);
}

// The cost of one configuration on an H200.
static double cost_of(gt_generator *generator, const char *problem_text, const char *configuration) {
  gt_problem problem = parse(problem_text);
  gt_fingerprint device = gpu();
  device.lds_bytes_per_block = 48 << 10;
  char *family = gt_strdup(configuration);
  family[strcspn(family, ":")] = 0;
  gt_space space;
  double cost = NAN;
  assert_int_equal(gt_space_make_with_works(generator, family, &problem, &device, &space, NULL), GT_OK);
  for (size_t k = 0; k < space.count; k++)
    if (strcmp(space.configurations[k], configuration) == 0) cost = gt_cost(&space.works[k], &problem, &device);
  if (isnan(cost)) fail_msg("%s has no cost", configuration);
  gt_space_free(&space);
  free(family);
  return cost;
}

static void what_took_thrice_as_long_on_a_gpu_costs_more(void **state) {
  (void)state;
  // Pairs that were timed on an H200, random positions: 1,594 and 12,687 us; 413 and 4,249; 24 and 133; 397 and 5,084;
  // 23.6 and 119.
  static const char *const pairs[][3] = {
      {"grid_sampler_2d_backward:n=112,c=128,in=60x80,out=1x25000,dtype=f32,want=input",
       "grid_bin:binning=device,parts=1,transpose=1,channels=8,rows=4,flight=2,split=1,block=128",
       "grid_bin:binning=image,parts=1,transpose=0,channels=8,rows=4,flight=4,split=1,block=128"},
      {"grid_sampler_2d_backward:n=42,c=128,in=120x160,out=1x10000,dtype=f32,layout=nhwc",
       "grid_bin:binning=device,parts=1,transpose=0,channels=4,rows=8,flight=2,split=16,block=128",
       "grid_lds:sums=ordered,channels=1,bands=4,images=1,split=1,flight=1,block=256"},
      {"grid_sampler_2d_backward:n=5704,c=1,in=46x62,out=9x9,dtype=f32,align_corners=1,want=input",
       "grid_lds:sums=atomic,channels=1,bands=1,images=2,split=1,flight=2,block=256",
       "grid_bin:binning=image,parts=1,transpose=0,channels=1,rows=8,flight=4,split=1,block=128"},
      {"grid_sampler_2d_backward:n=6,c=32,in=256x256,out=1x196608,dtype=f32",
       "grid_bin:binning=device,parts=1,transpose=1,channels=8,rows=2,flight=2,split=4,block=128",
       "grid_lds:sums=ordered,channels=1,bands=16,images=1,split=1,flight=2,block=256"},
      {"grid_sampler_2d_backward:n=2,c=64,in=64x64,out=64x64,dtype=f32,align_corners=1",
       "grid_bin:binning=device,parts=1,transpose=1,channels=8,rows=2,flight=4,split=4,block=256",
       "grid_near:radius=2,channels=8,split=1,block=256"},
  };
  gt_generator *generator;
  assert_int_equal(gt_generator_open("templates", &generator, NULL), GT_OK);
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (!(cost_of(generator, pairs[i][0], pairs[i][1]) < cost_of(generator, pairs[i][0], pairs[i][2])))
      fail_msg("%s: %s costs no less than %s", pairs[i][0], pairs[i][1], pairs[i][2]);
  gt_generator_close(generator);
}

// --- what comes of it
// ----------------------------------------------------------------------------------------

static void costs_put_defaults_and_the_cheapest_first(void **state) {
  (void)state;
  static const char *const texts[] = {"a:v=1", "a:v=2", "a:v=4", "a:v=8", "b:w=1", "b:w=2"};
  static const double costs[] = {5, 2, 2, 7, NAN, 3};
  gt_points points = {0};
  size_t point;
  bool is_new;
  for (size_t i = 0; i < 6; i++)
    assert_int_equal(gt_points_add_text(&points, texts[i], &point, &is_new, NULL), GT_OK);
  gt_points_finish(&points);
  points.families[0].standard = 0;
  points.families[1].standard = 5;
  gt_seeds seeds = {0};
  gt_seeds_add_costs(&points, costs, &seeds);
  // The defaults of cost 3 and 5; then one of cost 2, and 3 again, which is the next that costs something else.
  static const size_t expected[] = {5, 0, 1, 5};
  assert_int_equal(seeds.n_first, 4);
  assert_memory_equal(seeds.first, expected, sizeof expected);
  assert_float_equal(seeds.view.expected[2], 2, 0);
  assert_float_equal(seeds.view.expected[4], 7, 0); // as the most
  gt_seeds_free(&seeds);
  static const double unknown[] = {NAN, NAN, NAN, NAN, NAN, NAN};
  gt_seeds_add_costs(&points, unknown, &seeds);
  assert_true(seeds.n_first == 0 && !seeds.view.expected);
  gt_points_free(&points);
}

static void put_trial(gt_cache *cache, const gt_fingerprint *device, const char *problem_text,
                      const char *configuration, double median_us) {
  gt_problem problem = parse(problem_text);
  gt_trial trial = {.configuration = (char *)(uintptr_t)configuration,
                    .source_hash = "0123456789abcdef0123456789abcdef",
                    .message = (char *)(uintptr_t) "",
                    .median_us = median_us};
  assert_int_equal(gt_cache_put_trial(cache, device, &problem, &trial, NULL), GT_OK);
}

static void a_search_on_a_new_gpu_begins_with_the_cheapest_until_trials_tell(void **state) {
  (void)state;
  gt_generator *generator;
  gt_cache *cache;
  gt_agenda agenda;
  gt_error error = {0};
  gt_fingerprint device = gpu();
  gt_problem problem = parse("upsample_bilinear2d_backward:n=2,c=256,in=64x64,out=128x128,dtype=f32");
  char folder[] = "/tmp/gathertune-cost-XXXXXX";
  assert_non_null(mkdtemp(folder));
  char *path = gt_print("%s/cache.db", folder);
  assert_int_equal(gt_generator_open("templates", &generator, &error), GT_OK);
  assert_int_equal(gt_cache_open(path, GT_CACHE_WRITE, &cache, &error), GT_OK);
  const gt_agenda_options options = {.budget = 20, .seed = 1};
  if (gt_agenda_make(generator, cache, &problem, &device, &options, &agenda, &error) != GT_OK)
    fail_msg("%s", error.text);
  size_t begin = agenda.known, before = GT_NO_POINT;
  assert_true(agenda.points.n_families >= 3);
  for (size_t i = 0; i + 1 < agenda.points.n_families; i++) { // `direct` is on the agenda already
    size_t now = gt_agenda_get(&agenda, begin + i)->point;
    assert_int_equal(now, gt_points_family(&agenda.points, now)->standard);
    assert_true(before == GT_NO_POINT || agenda.costs[now] >= agenda.costs[before]);
    before = now;
  }
  double least = INFINITY;
  for (size_t p = 0; p < agenda.points.count; p++) least = fmin(least, agenda.costs[p]);
  size_t cheapest = gt_agenda_get(&agenda, begin + agenda.points.n_families - 1)->point;
  assert_float_equal(agenda.costs[cheapest], least, 0);
  assert_float_equal(agenda.seeds.view.expected[cheapest], least, 0);
  gt_agenda_free(&agenda);

  static const char *const tried[] = {"direct:block=64,acc=float", "direct:block=128,acc=float",
                                      "direct:block=256,acc=float", "direct:block=512,acc=float",
                                      "taps:vx=1,vy=2,halo=exact,rows=unrolled,map=slice,block=64,acc=float"};
  for (size_t i = 0; i < 5; i++)
    put_trial(cache, &device, "upsample_bilinear2d_backward:n=2,c=256,in=32x32,out=64x64,dtype=f32", tried[i],
              i == 4 ? 10 : 50);
  assert_int_equal(gt_agenda_make(generator, cache, &problem, &device, &options, &agenda, &error), GT_OK);
  assert_string_equal(gt_agenda_get(&agenda, agenda.known)->configuration, tried[4]);
  assert_null(agenda.costs);
  gt_agenda_free(&agenda);
  gt_cache_close(cache);
  gt_generator_close(generator);
  unlink(path);
  rmdir(folder);
  free(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_kernel_that_keeps_memory_busy_takes_as_long_as_its_bytes),
      cmocka_unit_test(what_holds_memory_up_costs),
      cmocka_unit_test(arithmetic_and_the_way_of_a_thread_cost_where_they_take_longest),
      cmocka_unit_test(a_last_round_that_is_not_full_costs),
      cmocka_unit_test(launches_that_are_told_of_one_by_one_cost_their_sum),
      cmocka_unit_test(what_is_not_known_has_no_cost),
      cmocka_unit_test(every_family_says_what_its_threads_do),
      cmocka_unit_test(every_family_of_grids_says_what_each_launch_does),
      cmocka_unit_test(what_took_thrice_as_long_on_a_gpu_costs_more),
      cmocka_unit_test(costs_put_defaults_and_the_cheapest_first),
      cmocka_unit_test(a_search_on_a_new_gpu_begins_with_the_cheapest_until_trials_tell),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
