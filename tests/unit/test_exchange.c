// Merging in any order gives the same, what is written is read back, and damaged files are refused.
#include "tests/unit/cache_fixture.h"

#include "exchange/base64.h"
#include "exchange/json.h"
#include "exchange/merge.h"
#include "exchange/order.h"
#include "exchange/validate.h"

// --- random collections ------------------------------------------------------------------------------------

static uint64_t next_random(uint64_t *state) { // splitmix64
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static int pick(uint64_t *state, int count) {
  return (int)(next_random(state) % (uint64_t)count);
}

// Few values for everything, so that records meet, tie and agree often.
static gt_fingerprint random_device(uint64_t *state) {
  gt_fingerprint device = a_device();
  if (pick(state, 3) == 0) strcpy(device.name, "Other GPU");
  if (pick(state, 2)) strcpy(device.driver, "driver 2");
  if (pick(state, 3) == 0) strcpy(device.compiler, "compiler 2");
  return device;
}

static void random_times(uint64_t *state, double *median, double *spread) {
  *median = 1 + pick(state, 4) / 3.0;
  *spread = pick(state, 3) / 7.0;
}

static const char *const hosts[] = {"", "alpha", "beta"};

static void add_random_trial(gt_collection *collection, uint64_t *state, int from) {
  gt_fingerprint device = random_device(state);
  gt_problem problem = a_problem(1 + pick(state, 3), "f32");
  char text[GT_PROBLEM_TEXT], *at = gt_print("2026-01-0%dT00:00:00Z", 1 + pick(state, 3));
  gt_problem_print(&problem, text);
  gt_trial trial = {.configuration = gt_print("direct:block=%d", 64 << pick(state, 3)),
                    .source_hash = "0123456789abcdef0123456789abcdef",
                    .outcome = pick(state, 4) ? GT_OUTCOME_OK : GT_OUTCOME_CRASH,
                    .message = gt_strdup(pick(state, 2) ? "" : "words"),
                    .n_samples = (size_t)pick(state, 3),
                    .checked = pick(state, 2),
                    .registers = pick(state, 2) ? -1 : 32,
                    .lds_bytes = -1,
                    .scratch_bytes = -1};
  trial.noisy = pick(state, 2);
  trial.readings = (gt_readings){.temperature_c = 40 * pick(state, 2), .clock_mhz = 900 * pick(state, 2)};
  random_times(state, &trial.median_us, &trial.spread_us);
  trial.samples_us = gt_alloc(2 * sizeof *trial.samples_us);
  for (size_t i = 0; i < trial.n_samples; i++) trial.samples_us[i] = 1 / (1.0 + pick(state, 3));
  gt_collection_add_trial(collection, gt_collection_device(collection, &device), from, text, at,
                          hosts[pick(state, 3)], &trial);
  free(at);
}

static void add_random_winner(gt_collection *collection, uint64_t *state, int from) {
  gt_fingerprint device = random_device(state);
  gt_problem problem = a_problem(1 + pick(state, 3), "f32");
  char text[GT_PROBLEM_TEXT];
  gt_problem_print(&problem, text);
  gt_winner winner = a_winner("direct", NULL);
  winner.problem = gt_strdup(text);
  winner.device =
      gt_print("%s / %s / %s / %d", device.backend, device.name, device.arch, device.compute_units);
  winner.variant.configuration = gt_print("direct:block=%d", 64 << pick(state, 3));
  winner.variant.family = gt_strdup("direct");
  winner.compiler = gt_strdup(pick(state, 2) ? "compiler 1" : "compiler 2");
  winner.driver = gt_strdup("driver 1");
  winner.tuned_at = gt_print("2026-01-0%dT00:00:00Z", 1 + pick(state, 3));
  winner.stream_us = pick(state, 2);
  winner.ties = gt_alloc(2 * sizeof *winner.ties);
  for (int i = pick(state, 3); i > 0; i--)
    winner.ties[winner.n_ties++] =
        (gt_tie){gt_print("direct:block=%d", 7 + pick(state, 2)), 1 + pick(state, 2), -1};
  random_times(state, &winner.median_us, &winner.spread_us);
  int code = pick(state, 4);
  if (code) {
    winner.code = gt_print("code %d", code);
    winner.code_size = strlen(winner.code);
    gt_hash(winner.code, winner.code_size, winner.code_hash);
  }
  // Those beside winners are among the reproducible ones only.
  bool beside = pick(state, 3) == 0;
  winner.variant.reproducible = beside || pick(state, 2);
  gt_collection_add_winner(collection, gt_collection_device(collection, &device), from, hosts[pick(state, 3)],
                           &winner);
  collection->winners[collection->n_winners - 1].deterministic = beside;
}

// A collection as a cache can hold it: one record of each key. The same for the same seed.
static void make_random(gt_collection *collection, uint64_t seed, int from) {
  uint64_t state = seed;
  gt_merge_counts counts;
  *collection = (gt_collection){0};
  for (int i = pick(&state, 12); i > 0; i--) add_random_trial(collection, &state, from);
  for (int i = pick(&state, 12); i > 0; i--) add_random_winner(collection, &state, from);
  gt_merge_settle(collection, NULL, NULL, &counts);
}

// --- merging
// ------------------------------------------------------------------------------------------------

// Takes collections into a cache, as the command does, in one go.
static gt_merge_counts merge_into(const char *path, const uint64_t *seeds, size_t count) {
  gt_error error = {0};
  gt_collection all = {0};
  gt_merge_counts counts;
  const gt_selection everything = {0};
  gt_cache *cache = open_cache(path, GT_CACHE_WRITE);
  assert_ok(gt_cache_begin(cache, &error));
  assert_ok(gt_collection_read(&all, cache, &everything, GT_FROM_TARGET, &error));
  for (size_t i = 0; i < count; i++) {
    gt_collection one;
    make_random(&one, seeds[i], (int)i + 1);
    gt_collection_append(&all, &one);
    gt_collection_free(&one);
  }
  gt_merge_settle(&all, NULL, NULL, &counts);
  assert_ok(gt_cache_end(cache, gt_collection_write(&all, cache, &error), &error));
  gt_collection_free(&all);
  gt_cache_close(cache);
  return counts;
}

static char *text_of(const char *path) {
  gt_error error = {0};
  gt_collection all = {0};
  gt_buffer text = {0};
  const gt_selection everything = {0};
  gt_cache *cache = open_cache(path, GT_CACHE_READ);
  assert_ok(gt_collection_read(&all, cache, &everything, 1, &error));
  gt_json_print(&all, true, &text);
  gt_collection_free(&all);
  gt_cache_close(cache);
  return text.data;
}

static void merging_in_any_order_and_grouping_gives_the_same(void **state) {
  fixture *f = *state;
  static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};
  for (uint64_t round = 0; round < 40; round++) {
    char *expected = NULL;
    for (size_t order = 0; order < 8; order++) {
      uint64_t seeds[4];
      for (int i = 0; i < 4; i++) seeds[i] = 1000 * round + (uint64_t)orders[order % 4][i];
      char *path = gt_print("%s/%zu-%zu.db", f->folder, (size_t)round, order);
      if (order < 4) { // one after the other
        for (int i = 0; i < 4; i++) merge_into(path, &seeds[i], 1);
      } else { // the last two at once with the first, which comes a second time
        merge_into(path, seeds, 2);
        merge_into(path, (uint64_t[]){seeds[3], seeds[0], seeds[2]}, 3);
      }
      char *text = text_of(path);
      if (!expected)
        expected = gt_strdup(text);
      else
        assert_string_equal(text, expected);
      free(text);
      unlink(path);
      free(path);
    }
    free(expected);
  }
}

static void what_is_there_already_is_not_written_again(void **state) {
  fixture *f = *state;
  uint64_t seeds[] = {5, 6};
  merge_into(f->path, seeds, 2);
  gt_merge_counts again = merge_into(f->path, seeds, 2);
  assert_int_equal(again.new_trials + again.replaced_trials + again.new_winners + again.replaced_winners +
                       again.new_deterministic + again.replaced_deterministic,
                   0);
}

// One winner of a problem, with its time.
static void add_winner(gt_collection *collection, int from, const char *configuration, double median,
                       double spread) {
  gt_fingerprint device = a_device();
  gt_problem problem = a_problem(1, "f32");
  char text[GT_PROBLEM_TEXT];
  gt_problem_print(&problem, text);
  gt_winner winner = a_winner(configuration, NULL);
  winner.variant.configuration = gt_strdup(configuration);
  winner.variant.family = gt_strdup("direct");
  winner.problem = gt_strdup(text);
  winner.device = gt_strdup("");
  winner.compiler = gt_strdup("");
  winner.driver = gt_strdup("");
  winner.tuned_at = gt_strdup("2026-01-01T00:00:00Z");
  winner.median_us = median;
  winner.spread_us = spread;
  gt_collection_add_winner(collection, gt_collection_device(collection, &device), from, "", &winner);
}

static void remember(void *context, const gt_conflict *conflict) {
  *(gt_conflict *)context = *conflict;
}

static void the_interval_that_ends_lowest_wins_and_the_report_says_whether_that_is_clear(void **state) {
  (void)state;
  gt_merge_counts counts;
  gt_conflict conflict = {0};
  gt_collection all = {0};
  add_winner(&all, 1, "direct:block=64", 10, 1);      // 8 to 12
  add_winner(&all, 2, "direct:block=128", 10.5, 0.1); // 10.3 to 10.7
  gt_merge_settle(&all, remember, &conflict, &counts);
  assert_int_equal(counts.conflicts, 1);
  assert_int_equal(all.n_winners, 1);
  assert_string_equal(all.winners[0].winner.variant.configuration, "direct:block=128");
  assert_false(conflict.clear);
  gt_collection_free(&all);
  add_winner(&all, 1, "direct:block=64", 10, 0.1);
  add_winner(&all, 2, "direct:block=128", 10.5, 0.1);
  gt_merge_settle(&all, remember, &conflict, &counts);
  assert_string_equal(all.winners[0].winner.variant.configuration, "direct:block=64");
  assert_true(conflict.clear);
  gt_collection_free(&all);
  add_winner(&all, 1, "direct:block=64", 0, 0); // never timed
  add_winner(&all, 2, "direct:block=128", 1000, 1);
  gt_merge_settle(&all, NULL, NULL, &counts);
  assert_string_equal(all.winners[0].winner.variant.configuration, "direct:block=128");
  gt_collection_free(&all);
}

static void a_failed_change_leaves_the_cache_as_it_was(void **state) {
  fixture *f = *state;
  gt_error error = {0};
  merge_into(f->path, (uint64_t[]){7}, 1);
  char *before = text_of(f->path), *after;
  gt_collection one;
  gt_cache *cache = open_cache(f->path, GT_CACHE_WRITE);
  make_random(&one, 8, 1);
  assert_true(one.n_winners > 0);
  one.winners[one.n_winners - 1].winner.median_us = -1; // refused after all others are written
  assert_ok(gt_cache_begin(cache, &error));
  assert_status(gt_cache_end(cache, gt_collection_write(&one, cache, &error), &error), USAGE);
  gt_cache_close(cache);
  after = text_of(f->path);
  assert_string_equal(after, before);
  free(before);
  free(after);
  gt_collection_free(&one);
}

// --- JSON
// ---------------------------------------------------------------------------------------------------

static char *print(gt_collection *collection) {
  gt_buffer text = {0};
  gt_json_print(collection, true, &text);
  return text.data;
}

static void json_is_read_back_as_it_was(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 50; seed++) {
    gt_error error = {0};
    gt_collection one, other = {0};
    make_random(&one, seed, 1);
    char *text = print(&one), *again;
    assert_ok(gt_json_read(&other, "x.json", text, strlen(text), 1, &error));
    again = print(&other);
    assert_string_equal(again, text);
    free(text);
    free(again);
    gt_collection_free(&one);
    gt_collection_free(&other);
  }
}

static void json_that_is_cut_off_anywhere_is_refused(void **state) {
  (void)state;
  gt_collection one, other = {0};
  make_random(&one, 3, 1);
  assert_true(one.n_winners > 0 && one.n_trials > 0);
  char *text = print(&one);
  for (size_t length = 0; length + 2 < strlen(text); length += 7) {
    gt_error error = {0};
    assert_status(gt_json_read(&other, "x.json", text, length, 1, &error), USAGE);
    assert_non_null(strstr(error.text, "x.json"));
    assert_null(strchr(error.text, '\n'));
  }
  free(text);
  gt_collection_free(&one);
  gt_collection_free(&other);
}

// A replaced part of a good file: each must be refused for its own reason.
static void json_with_values_that_cannot_be_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *from, *to, *expected;
  } cases[] = {
      {"\"version\": 2", "\"version\": 3", "newer"},
      {"\"version\": 2", "\"version\": 0", "never was"},
      {"\"version\": 2", "\"version\": 1", "deterministic"},
      {"\"deterministic\": []", "\"deterministic\": {}", "to be arrays"},
      {"\"deterministic\": []", "\"deterministic\": [1]", "deterministic 1: "},
      {"\"winners\": [", "\"winners\": [], \"deterministic\": [", "duplicate"},
      {"\"format\": \"gathertune\"", "\"format\": \"other\"", "not what gathertune export"},
      {"\"median_us\": 7.5", "\"median_us\": -7.5", "winner 1: a time"},
      {"\"median_us\": 7.5", "\"median_us\": 1e999", "not JSON"},
      {"\"median_us\": 7.5", "\"median_us\": NaN", "not JSON"},
      {"\"median_us\": 7.5", "\"median_us\": 0", "winner 1: a time"},
      {"\"median_us\": 7.5", "\"median_us\": \"7.5\"", "winner 1: "},
      {"\"median_us\": 10.125", "\"median_us\": -1", "trial 1: "},
      {"\"host\": \"h\"", "\"host\": \"h\", \"more\": 1", "winner 1: "},
      {"\"host\": \"h\"", "\"host\": \"h\\u0000\"", "not JSON"},
      {"n=1,c=1", "c=1,n=1", "canonical"},
      {"upsample_bilinear2d", "upsample_nonsense", "winner 1: "},
      {"\"device\": 0", "\"device\": 1", "the number of none"},
      {"\"device\": 0", "\"device\": -1", "the number of none"},
      {"2026-01-01T00:00:00Z", "yesterday", "its time"},
      {"\"kernel\": \"main_kernel\"", "\"kernel\": \"main kernel\"", "winner 1: stored variant"},
      {"\"ok\"", "\"fine\"", "trial 1: "},
      {"\"Y29kZQ==\"", "\"Y29kZg==\"", "another hash"},
      {"\"Y29kZQ==\"", "\"Y29kZR==\"", "not in base 64"},
      {"\"Y29kZQ==\"", "\"Y29k ZQ=\"", "not in base 64"},
      {"\"Y29kZQ==\"", "\"\"", "not in base 64, or empty"},
      {"\"Y29kZQ==\"", "7", "not in base 64"},
      {"\"code\": {", "\"code\": {\"a\": \"b\"}, \"code\": {", "duplicate"},
      {"\"code\": {", "\"other\": {", ""},
      {"\"compute_units\": 304", "\"compute_units\": -304", "device 1: "},
      {"\"ties\": []", "\"ties\": [7]", "winner 1: a tie"},
      {"\"ties\": []", "\"ties\": {}", "winner 1: a tie"},
      {"\"ties\": []", "\"ties\": [{\"configuration\": \"x y\", \"median_us\": 1, \"registers\": 1}]",
       "winner 1: a tie"},
      {"\"clock_mhz\": 2100", "\"clock_mhz\": -1", "trial 1: "},
      {"\"driver 1\"",
       "\"a text of more than 128 bytes ..............................................."
       "...............................................................\"",
       "device 1: "},
  };
  gt_error error = {0};
  gt_collection one = {0};
  gt_fingerprint device = a_device();
  gt_trial trial = a_trial("x"), owned = trial;
  owned.configuration = gt_strdup("direct:block=64");
  owned.message = gt_strdup("");
  owned.samples_us = memcpy(gt_alloc(3 * sizeof(double)), trial.samples_us, 3 * sizeof(double));
  add_winner(&one, 1, "direct:block=64", 7.5, 0.25);
  free(one.winners[0].host);
  one.winners[0].host = gt_strdup("h");
  gt_winner *winner = &one.winners[0].winner;
  winner->code = gt_strdup("code");
  winner->code_size = 4;
  gt_hash("code", 4, winner->code_hash);
  gt_collection_add_trial(&one, gt_collection_device(&one, &device), 1, winner->problem,
                          "2026-01-01T00:00:00Z", "h", &owned);
  char *text = print(&one);
  gt_collection good = {0};
  assert_ok(gt_json_read(&good, "x.json", text, strlen(text), 1, &error));
  gt_collection_free(&good);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *at = strstr(text, cases[i].from);
    if (!at) fail_msg("no %s in the file", cases[i].from);
    char *bad = gt_print("%.*s%s%s", (int)(at - text), text, cases[i].to, at + strlen(cases[i].from));
    gt_collection other = {0};
    error = (gt_error){0};
    gt_status status = gt_json_read(&other, "x.json", bad, strlen(bad), 1, &error);
    if (status == GT_OK || !strstr(error.text, cases[i].expected) || !strstr(error.text, "x.json"))
      fail_msg("%s: %s: %s", cases[i].to, gt_status_name(status), error.text);
    gt_collection_free(&other);
    free(bad);
  }
  free(text);
  gt_collection_free(&one);
}

static void base_64_is_read_back_as_it_was(void **state) {
  (void)state;
  static const char *const texts[] = {"",         "Zg==",     "Zm8=",    "Zm9v",
                                      "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"}; // RFC 4648
  for (size_t length = 0; length < 7; length++) {
    gt_buffer text = {0}, data = {0};
    gt_base64_print("foobar", length, &text);
    assert_string_equal(text.data ? text.data : "", texts[length]);
    assert_true(gt_base64_parse(texts[length], strlen(texts[length]), &data));
    assert_int_equal(data.length, length);
    assert_memory_equal(data.data ? data.data : "", "foobar", length);
    gt_buffer_free(&text);
    gt_buffer_free(&data);
  }
  for (const char *const *bad = (const char *const[]){"Z", "Zg=", "Zg=g", "====", "Zh==", "Zm9v\n", NULL};
       *bad; bad++) {
    gt_buffer data = {0};
    assert_false(gt_base64_parse(*bad, strlen(*bad), &data));
    gt_buffer_free(&data);
  }
}

// --- validation
// ---------------------------------------------------------------------------------------------

// A winner as the templates render it for gfx942.
static void add_rendered(gt_collection *collection, gt_generator *generator, const char *configuration) {
  gt_error error = {0};
  gt_fingerprint device;
  gt_variant variant = {0};
  gt_problem problem = a_problem(1, "f32");
  assert_true(gt_fingerprint_for_arch("gfx942", &device));
  assert_ok(gt_render(generator, configuration, &problem, &device, &variant, &error));
  add_winner(collection, 1, configuration, 10, 1);
  collection->devices[0] = device;
  gt_winner *winner = &collection->winners[collection->n_winners - 1].winner;
  gt_variant_free(&winner->variant);
  winner->variant = variant;
}

static void winners_are_held_against_the_search_space(void **state) {
  (void)state;
  gt_error error = {0};
  gt_generator *generator;
  assert_ok(gt_generator_open(NULL, &generator, &error));
  gt_collection all = {0};
  gt_validation found = {0};

  add_rendered(&all, generator, "direct:block=256,acc=float");
  assert_ok(gt_collection_validate(&all, generator, "x", &found, &error));
  assert_int_equal(all.n_winners, 1);
  assert_int_equal(found.stale_winners + found.refused_winners, 0);

  all.winners[0].winner.variant.launches[0].blocks_num++;
  assert_status(gt_collection_validate(&all, generator, "x", &found, &error), CORRUPT);
  assert_non_null(strstr(error.text, "launched in another way"));

  char *digit = &all.winners[0].winner.variant.source_hash[0];
  *digit = *digit == '0' ? '1' : '0'; // of other templates
  assert_ok(gt_collection_validate(&all, generator, "x", &found, &error));
  assert_int_equal(found.stale_winners, 1);

  free(all.winners[0].winner.variant.configuration);
  all.winners[0].winner.variant.configuration = gt_strdup("direct:block=7,acc=float");
  assert_ok(gt_collection_validate(&all, generator, "x", &found, &error));
  assert_int_equal(found.refused_winners, 1);
  assert_int_equal(all.n_winners, 0);
  assert_non_null(strstr(found.first, "block=7"));
  gt_collection_free(&all);
  gt_generator_close(generator);
}

static void winners_in_another_order_or_of_axes_without_end_are_left_out(void **state) {
  (void)state;
  gt_error error = {0};
  gt_generator *generator;
  assert_ok(gt_generator_open(NULL, &generator, &error));
  gt_collection all = {0};
  gt_validation found = {0};

  add_rendered(&all, generator, "direct:block=256,acc=float");
  free(all.winners[0].winner.variant.configuration);
  all.winners[0].winner.variant.configuration = gt_strdup("direct:acc=float,block=256");
  assert_ok(gt_collection_validate(&all, generator, "x", &found, &error));
  assert_int_equal(all.n_winners, 0);
  assert_non_null(strstr(found.first, "it is to be written direct:block=256,acc=float"));

  found = (gt_validation){0};
  add_rendered(&all, generator, "direct:block=256,acc=float");
  free(all.winners[0].winner.problem);
  all.winners[0].winner.problem = gt_strdup(
      "upsample_linear1d_backward:n=1,c=1,in=100000000,out=100000000,dtype=f32,layout=nchw,align_corners=0");
  assert_ok(gt_collection_validate(&all, generator, "x", &found, &error));
  assert_int_equal(all.n_winners, 0);
  assert_non_null(strstr(found.first, "too long"));
  gt_collection_free(&all);
  gt_generator_close(generator);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(merging_in_any_order_and_grouping_gives_the_same),
      CASE(what_is_there_already_is_not_written_again),
      CASE(the_interval_that_ends_lowest_wins_and_the_report_says_whether_that_is_clear),
      CASE(a_failed_change_leaves_the_cache_as_it_was),
      CASE(json_is_read_back_as_it_was),
      CASE(json_that_is_cut_off_anywhere_is_refused),
      CASE(json_with_values_that_cannot_be_is_refused),
      CASE(base_64_is_read_back_as_it_was),
      CASE(winners_are_held_against_the_search_space),
      CASE(winners_in_another_order_or_of_axes_without_end_are_left_out),
  };
  return cmocka_run_group_tests_name("exchange", tests, NULL, NULL);
}
