// The order in which a program is given what is known of a problem.
#include "tests/unit/cache_fixture.h"

#include "device/device.h"
#include "runtime/lookup.h"
#include "tuner/repeat.h"

#define SAMPLER "grid_sampler_2d_backward:c=3,in=6x5,out=7x8,dtype=f32,"
#define UPSAMPLE "upsample_bilinear2d_backward:c=3,in=6x5,out=12x10,dtype=f32,"

static gt_problem parse(const char *text) {
  gt_problem problem;
  gt_error error = {0};
  assert_ok(gt_problem_parse(text, &problem, &error));
  return problem;
}

// Caches over each other, with winners whose configurations are numbered.
typedef struct {
  char *paths[2];
  gt_layers layers;
  gt_finder *finder;
} caches;

static void put(const char *path, const char *text, int number) {
  gt_error error = {0};
  gt_fingerprint device = a_device();
  gt_problem problem = parse(text);
  char *configuration = gt_print("direct:at=%d", number);
  gt_winner winner = a_winner(configuration, NULL);
  gt_cache *cache = open_cache(path, GT_CACHE_WRITE);
  assert_ok(gt_cache_put_winner(cache, &device, &problem, &winner, &error));
  gt_cache_close(cache);
  free(configuration);
}

static caches make_caches(const fixture *f) {
  return (caches){.paths = {gt_print("%s/lower.db", f->folder), gt_print("%s/upper.db", f->folder)}};
}

static void open_caches(caches *c) {
  gt_error error = {0};
  gt_fingerprint device = a_device();
  const gt_layers_options options = {.caches = (const char *const *)c->paths, .n_caches = 2};
  assert_ok(gt_layers_open(&options, &c->layers, &error));
  c->finder = gt_finder_open(&c->layers, &device, NULL);
}

static void close_caches(caches *c) {
  gt_finder_close(c->finder);
  gt_layers_close(&c->layers);
  for (int i = 0; i < 2; i++) free(c->paths[i]);
}

// All answers for the problem, in order: their numbers, `=` behind what was tuned for exactly this.
static void assert_answers(const caches *c, const char *text, const char *expected) {
  gt_problem problem = parse(text);
  const gt_find_options options = {0};
  gt_place place = {0};
  gt_found found;
  gt_buffer answers = {0};
  while (gt_find_next(c->finder, &problem, &options, &place, &found, NULL) == GT_OK) {
    assert_false(found.rendered);
    gt_buffer_print(&answers, "%s%s ", strrchr(found.winner.variant.configuration, '=') + 1,
                    found.origin == GT_ORIGIN_EXACT ? "=" : "");
    gt_found_free(&found);
  }
  assert_string_equal(answers.data ? answers.data : "", expected);
  gt_buffer_free(&answers);
}

static void other_positions_come_last_and_those_of_no_kind_first_among_them(void **state) {
  caches c = make_caches(*state);
  put(c.paths[0], SAMPLER "n=2", 1);
  put(c.paths[0], SAMPLER "n=8", 2);
  put(c.paths[0], SAMPLER "n=2,grid=random", 3);
  put(c.paths[0], SAMPLER "n=64,grid=random", 4);
  put(c.paths[0], SAMPLER "n=2,grid=identity", 5);
  put(c.paths[1], SAMPLER "n=2,grid=contended", 6); // in a cache that goes before the other one
  put(c.paths[1], SAMPLER "n=2,grid=random,padding=border", 7); // other kernels
  put(c.paths[1], UPSAMPLE "n=2", 8);
  open_caches(&c);
  assert_answers(&c, SAMPLER "n=2,grid=random", "3= 4 1 2 5 6 ");
  assert_answers(&c, SAMPLER "n=64,grid=random", "4= 3 2 5 6 ");
  assert_answers(&c, SAMPLER "n=2", "1= 2 3 4 5 6 ");
  assert_answers(&c, SAMPLER "n=2,grid=smooth", "1 2 3 4 5 6 ");
  assert_answers(&c, SAMPLER "n=2,grid=contended", "6= 1 2 3 4 5 ");
  assert_answers(&c, SAMPLER "n=2,padding=border", "7 ");
  assert_answers(&c, SAMPLER "n=2,padding=reflection", "");
  close_caches(&c);
}

static void the_nearest_outer_count_is_taken_of_each_kind_of_positions(void **state) {
  caches c = make_caches(*state);
  put(c.paths[0], SAMPLER "n=1,grid=smooth", 1);
  put(c.paths[0], SAMPLER "n=100,grid=smooth", 2);
  put(c.paths[0], SAMPLER "n=90,grid=identity", 3);
  open_caches(&c);
  assert_answers(&c, SAMPLER "n=80,grid=smooth", "2 3 ");
  assert_answers(&c, SAMPLER "n=3,grid=identity", "3 1 ");
  assert_answers(&c, SAMPLER "n=1", "1 2 3 "); // n=1 of smooth is this very problem but for its positions
  close_caches(&c);
}

static void operators_without_positions_are_found_as_ever(void **state) {
  caches c = make_caches(*state);
  put(c.paths[0], UPSAMPLE "n=2", 1);
  put(c.paths[1], UPSAMPLE "n=2", 2);
  put(c.paths[0], UPSAMPLE "n=3", 3);
  put(c.paths[1], SAMPLER "n=2", 4);
  open_caches(&c);
  assert_answers(&c, UPSAMPLE "n=2", "2= 1= 3 ");
  assert_answers(&c, UPSAMPLE "n=5", "2 3 ");
  close_caches(&c);
}

static void a_default_that_is_not_reproducible_is_refused_where_that_is_asked_for(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_open_device open;
  gt_layers layers = {0};
  // Templates whose only gradients of grids are sums by atomic additions.
  char *command = gt_print("cp -r templates '%s/t' && rm -f '%s'/t/grid_bin.* && echo '{}' >'%s/gpu.json'", f->folder,
                           f->folder, f->folder),
       *templates = gt_print("%s/t", f->folder), *device = gt_print("recorded:%s/gpu.json", f->folder);
  assert_int_equal(system(command), 0);
  assert_ok(gt_device_open(device, &open, &error));
  gt_finder *finder = gt_finder_open(&layers, &open.fingerprint, templates);
  static const char *const problems[] = {SAMPLER "n=2", UPSAMPLE "n=2"};
  for (int i = 0; i < 2; i++)
    for (int deterministic = 0; deterministic < 2; deterministic++) {
      gt_problem problem = parse(problems[i]);
      const gt_find_options options = {.deterministic = deterministic};
      gt_place place = {0};
      gt_found found;
      gt_status status = gt_find_next(finder, &problem, &options, &place, &found, &error);
      if (i == 0 && deterministic) {
        assert_status(status, UNSUPPORTED);
        assert_non_null(strstr(error.text, "grid_scatter"));
      } else {
        assert_ok(status);
        assert_int_equal(found.origin, GT_ORIGIN_DEFAULT);
        assert_int_equal(found.variant.reproducible, i == 1);
      }
      gt_found_free(&found);
    }
  gt_finder_close(finder);
  gt_device_close(&open);
  free(command);
  free(templates);
  free(device);
}

static void put_trial(gt_cache *cache, const gt_fingerprint *device, const char *problem, const char *configuration, double us) {
  gt_error error = {0};
  gt_problem of = parse(problem);
  gt_trial trial = a_trial(configuration);
  trial.median_us = us;
  if (us == 0) trial.outcome = GT_OUTCOME_WRONG_RESULT, trial.message = "wrong";
  assert_ok(gt_cache_put_trial(cache, device, &of, &trial, &error));
}

#define LDS(sums, block) "grid_lds:sums=" sums ",channels=3,bands=1,images=1,split=1,flight=1,block=" block

static void of_what_was_tried_only_what_is_right_legal_and_no_yardstick_is_the_best_that_repeats(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_open_device open;
  gt_generator *generator;
  char *configuration, *command = gt_print("echo '{}' >'%s/gpu.json'", f->folder),
                       *device = gt_print("recorded:%s/gpu.json", f->folder), *path = gt_print("%s/cache.db", f->folder);
  double us, spread_us;
  assert_int_equal(system(command), 0);
  assert_ok(gt_device_open(device, &open, &error));
  assert_ok(gt_generator_open(NULL, &generator, &error));
  const gt_fingerprint *gpu = &open.fingerprint;
  gt_cache *cache = open_cache(path, GT_CACHE_WRITE);
  const char *random = SAMPLER "n=2,grid=random";
  gt_problem problem = parse(random), any = parse(SAMPLER "n=2"), only_grid = parse(SAMPLER "n=2,want=grid,grid=random");
  assert_status(gt_repeat_best(generator, cache, gpu, &problem, &configuration, &us, &spread_us, &error),
                NOT_FOUND);
  put_trial(cache, gpu, random, LDS("atomic", "256"), 5);
  put_trial(cache, gpu, random, LDS("ordered", "128"), 0);
  put_trial(cache, gpu, random, LDS("ordered", "100"), 6); // no such block
  put_trial(cache, gpu, random, "grid_lds:channels=3", 6); // of older templates
  put_trial(cache, gpu, random, "grid_stream:block=256", 1);
  assert_status(gt_repeat_best(generator, cache, gpu, &problem, &configuration, &us, &spread_us, &error),
                NOT_FOUND);
  assert_null(configuration);
  put_trial(cache, gpu, random, LDS("ordered", "512"), 9);
  put_trial(cache, gpu, random, LDS("ordered", "256"), 8);
  assert_ok(gt_repeat_best(generator, cache, gpu, &problem, &configuration, &us, &spread_us, &error));
  assert_string_equal(configuration, LDS("ordered", "256"));
  assert_true(us == 8);
  free(configuration);
  // One class says nothing of the others.
  assert_status(gt_repeat_best(generator, cache, gpu, &any, &configuration, &us, &spread_us, &error),
                NOT_FOUND);
  static const char *const others[] = {"identity", "smooth", "contended"};
  for (int i = 0; i < 3; i++) {
    char *other = gt_print(SAMPLER "n=2,grid=%s", others[i]);
    put_trial(cache, gpu, other, LDS("ordered", "256"), i < 2 ? 8 : 90);
    put_trial(cache, gpu, other, LDS("ordered", "512"), i < 2 ? 9 : 36);
    put_trial(cache, gpu, other, LDS("atomic", "256"), 2);
    free(other);
  }
  assert_ok(gt_repeat_best(generator, cache, gpu, &any, &configuration, &us, &spread_us, &error));
  assert_string_equal(configuration, LDS("ordered", "512"));
  assert_true(us > 12.72 && us < 12.73); // the fourth root of 9 · 9 · 9 · 36
  free(configuration);
  // Trials of its own, for a given grid, say more.
  put_trial(cache, gpu, SAMPLER "n=2", LDS("ordered", "128"), 70);
  assert_ok(gt_repeat_best(generator, cache, gpu, &any, &configuration, &us, &spread_us, &error));
  assert_string_equal(configuration, LDS("ordered", "128"));
  free(configuration);
  // Baselines repeat for the gradient of the grid alone, and still are no answer.
  put_trial(cache, gpu, SAMPLER "n=2,want=grid,grid=random", "grid_scatter:block=256", 3);
  assert_status(gt_repeat_best(generator, cache, gpu, &only_grid, &configuration, &us, &spread_us, &error),
                NOT_FOUND);
  gt_cache_close(cache);
  gt_generator_close(generator);
  gt_device_close(&open);
  free(command);
  free(device);
  free(path);
}

// However many that were faster on the problem alike do not repeat.
static void of_problems_alike_the_best_whose_results_repeat_is_taken_where_that_is_asked_for(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  gt_open_device open;
  gt_generator *generator;
  gt_space space;
  gt_layers layers;
  char *command = gt_print("echo '{}' >'%s/gpu.json'", f->folder), *device = gt_print("recorded:%s/gpu.json", f->folder),
       *path = gt_print("%s/cache.db", f->folder), *ordered = NULL;
  const char *text = "grid_sampler_2d_backward:c=8,in=9x9,out=14x14,dtype=f32,n=2,grid=random";
  gt_problem tuned = parse(text), asked = parse("grid_sampler_2d_backward:c=8,in=9x9,out=14x15,dtype=f32,n=2,grid=random");
  assert_int_equal(system(command), 0);
  assert_ok(gt_device_open(device, &open, &error));
  assert_ok(gt_generator_open(NULL, &generator, &error));
  assert_ok(gt_space_make(generator, "grid_lds", &tuned, &open.fingerprint, &space, &error));
  gt_cache *cache = open_cache(path, GT_CACHE_WRITE);
  int atomic = 0;
  for (size_t i = 0; i < space.count; i++) {
    bool repeats = strstr(space.configurations[i], "sums=ordered");
    if (repeats && ordered) continue;
    if (repeats) ordered = space.configurations[i];
    put_trial(cache, &open.fingerprint, text, space.configurations[i], repeats ? 500 : 5 + 0.01 * atomic++);
  }
  gt_winner winner = a_winner(space.configurations[0], NULL);
  winner.variant.family = "grid_lds";
  winner.variant.reproducible = false;
  assert_ok(gt_cache_put_winner(cache, &open.fingerprint, &tuned, &winner, &error));
  gt_cache_close(cache);
  assert_true(atomic > 64 && ordered);
  const gt_layers_options options = {.caches = (const char *const[]){path}, .n_caches = 1};
  assert_ok(gt_layers_open(&options, &layers, &error));
  gt_finder *finder = gt_finder_open(&layers, &open.fingerprint, NULL);
  for (int deterministic = 0; deterministic < 2; deterministic++) {
    gt_place place = {0};
    gt_found found;
    assert_ok(gt_find_next(finder, &asked, &(gt_find_options){.deterministic = deterministic}, &place, &found, &error));
    assert_true(found.origin == GT_ORIGIN_NEAR && found.guessed);
    assert_int_equal(found.variant.reproducible, deterministic);
    if (deterministic) assert_string_equal(found.variant.configuration, ordered);
    gt_found_free(&found);
  }
  gt_finder_close(finder);
  gt_layers_close(&layers);
  gt_space_free(&space);
  gt_generator_close(generator);
  gt_device_close(&open);
  free(command);
  free(device);
  free(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(other_positions_come_last_and_those_of_no_kind_first_among_them),
      CASE(the_nearest_outer_count_is_taken_of_each_kind_of_positions),
      CASE(operators_without_positions_are_found_as_ever),
      CASE(a_default_that_is_not_reproducible_is_refused_where_that_is_asked_for),
      CASE(of_problems_alike_the_best_whose_results_repeat_is_taken_where_that_is_asked_for),
      CASE(of_what_was_tried_only_what_is_right_legal_and_no_yardstick_is_the_best_that_repeats),
  };
  return cmocka_run_group_tests_name("lookup", tests, NULL, NULL);
}
