#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "device/fingerprint.h"

#include <string.h>

static bool known(const char *arch) {
  gt_fingerprint fingerprint;
  return gt_fingerprint_for_arch(arch, &fingerprint);
}

static void every_target_is_found_by_its_name(void **state) {
  (void)state;
  for (int i = GT_TARGET_HIP; i <= GT_TARGET_OPENCL; i++) {
    gt_target target;
    assert_true(gt_target_from_name(gt_target_name((gt_target)i), &target));
    assert_int_equal(target, i);
  }
}

static void a_name_that_is_no_target_is_refused(void **state) {
  (void)state;
  gt_target target = GT_TARGET_CUDA;
  assert_false(gt_target_from_name("vulkan", &target));
  assert_false(gt_target_from_name("", &target));
  assert_false(gt_target_from_name(NULL, &target));
  assert_int_equal(target, GT_TARGET_CUDA);
}

static void an_mi300x_is_known_by_its_architecture(void **state) {
  (void)state;
  gt_fingerprint fingerprint;
  assert_true(gt_fingerprint_for_arch("gfx942", &fingerprint));
  assert_string_equal(fingerprint.backend, "hip");
  assert_string_equal(fingerprint.name, "gfx942 (architecture only)");
  assert_string_equal(fingerprint.arch, "gfx942");
  assert_int_equal(fingerprint.target, GT_TARGET_HIP);
  assert_int_equal(fingerprint.compute_units, 304);
  assert_int_equal(fingerprint.wave_size, 64);
  assert_int_equal(fingerprint.max_threads_per_block, 1024);
  assert_int_equal(fingerprint.lds_bytes_per_block, 65536);
  assert_int_equal(fingerprint.last_level_cache_bytes, 256 << 20);
  assert_string_equal(fingerprint.pci_id, "");
  assert_false(fingerprint.is_cpu);
}

static void an_h100_is_known_by_its_architecture(void **state) {
  (void)state;
  gt_fingerprint fingerprint;
  assert_true(gt_fingerprint_for_arch("sm_90", &fingerprint));
  assert_string_equal(fingerprint.backend, "cuda");
  assert_int_equal(fingerprint.target, GT_TARGET_CUDA);
  assert_int_equal(fingerprint.compute_units, 132);
  assert_int_equal(fingerprint.wave_size, 32);
  assert_int_equal(fingerprint.lds_bytes_per_block, 49152);
}

static void features_stay_in_the_architecture_but_not_in_the_name(void **state) {
  (void)state;
  gt_fingerprint fingerprint;
  assert_true(gt_fingerprint_for_arch("gfx942:sramecc+:xnack-", &fingerprint));
  assert_string_equal(fingerprint.arch, "gfx942:sramecc+:xnack-");
  assert_string_equal(fingerprint.name, "gfx942 (architecture only)");
  assert_int_equal(fingerprint.compute_units, 304);
}

static void only_features_that_an_architecture_has_are_taken(void **state) {
  (void)state;
  assert_true(known("gfx90a:xnack+"));
  assert_true(known("gfx90a:xnack+:sramecc-"));
  assert_true(known("gfx900:xnack-"));
  assert_false(known("gfx900:sramecc+"));
  assert_false(known("gfx1100:xnack+"));
  assert_false(known("sm_90:xnack+"));
}

static void a_malformed_feature_is_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"gfx942:",         "gfx942:xnack",    "gfx942:xnack*",
                                      "gfx942:xnack+-",  "gfx942:xnack+:",  "gfx942:xnack+:xnack+",
                                      "gfx942:tgsplit+", "gfx942:xnack+ -x"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) assert_false(known(wrong[i]));
}

static void an_unknown_architecture_is_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"",    "gfx",  "gfx9",   "gfx9420", "GFX942",
                                      "sm_", "sm_9", "sm_900", "native",  " sm_90"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) assert_false(known(wrong[i]));
  assert_false(known(NULL));
  char long_name[1000];
  memset(long_name, 'g', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = 0;
  assert_false(known(long_name));
}

static void every_known_architecture_has_usable_limits(void **state) {
  (void)state;
  static const char *const archs[] = {
      "gfx900",  "gfx906",  "gfx908",  "gfx90a",  "gfx940",  "gfx941",  "gfx942",  "gfx950", "gfx1010",
      "gfx1030", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1200", "gfx1201", "sm_50",  "sm_60",
      "sm_70",   "sm_75",   "sm_80",   "sm_86",   "sm_89",   "sm_90",   "sm_100",  "sm_120", "sm_121"};
  for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++) {
    gt_fingerprint fingerprint;
    assert_true(gt_fingerprint_for_arch(archs[i], &fingerprint));
    bool gcn = strncmp(archs[i], "gfx9", 4) == 0;
    assert_int_equal(fingerprint.wave_size, gcn ? 64 : 32);
    assert_true(fingerprint.compute_units > 0);
    assert_int_equal(fingerprint.max_threads_per_block, 1024);
    assert_true(fingerprint.lds_bytes_per_block >= 49152);
    assert_true(fingerprint.last_level_cache_bytes >= 1 << 18);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_target_is_found_by_its_name),
      cmocka_unit_test(a_name_that_is_no_target_is_refused),
      cmocka_unit_test(an_mi300x_is_known_by_its_architecture),
      cmocka_unit_test(an_h100_is_known_by_its_architecture),
      cmocka_unit_test(features_stay_in_the_architecture_but_not_in_the_name),
      cmocka_unit_test(only_features_that_an_architecture_has_are_taken),
      cmocka_unit_test(a_malformed_feature_is_refused),
      cmocka_unit_test(an_unknown_architecture_is_refused),
      cmocka_unit_test(every_known_architecture_has_usable_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
