#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tuner/wire.h"

static void a_frame_comes_back_as_it_was_sent(void **state) {
  (void)state;
  gt_buffer wire = {0}, payload = {0};
  json_t *sent = json_pack("{s:s, s:i}", "do", "trial", "n", 7), *got = NULL;
  gt_wire_encode(&wire, sent, "a\nb\0c", 5);
  assert_int_equal(gt_wire_decode(&wire, &got, &payload), 1);
  assert_true(json_equal(sent, got));
  assert_int_equal(payload.length, 5);
  assert_memory_equal(payload.data, "a\nb\0c", 5);
  assert_int_equal(wire.length, 0);
  json_decref(sent);
  json_decref(got);
  gt_buffer_free(&wire);
  gt_buffer_free(&payload);
}

static void frames_that_arrive_byte_by_byte_are_all_found(void **state) {
  (void)state;
  gt_buffer all = {0}, wire = {0}, payload = {0};
  for (int i = 0; i < 3; i++) {
    json_t *message = json_pack("{s:i}", "n", i);
    gt_wire_encode(&all, message, "xyz", (size_t)i);
    json_decref(message);
  }
  int found = 0;
  for (size_t i = 0; i < all.length; i++) {
    json_t *message = NULL;
    gt_buffer_append(&wire, all.data + i, 1);
    int got = gt_wire_decode(&wire, &message, &payload);
    assert_true(got >= 0);
    if (!got) continue;
    assert_int_equal(json_integer_value(json_object_get(message, "n")), found);
    assert_int_equal(payload.length, found);
    found++;
    json_decref(message);
  }
  assert_int_equal(found, 3);
  gt_buffer_free(&all);
  gt_buffer_free(&wire);
  gt_buffer_free(&payload);
}

static void garbage_is_refused(void **state) {
  (void)state;
  static const char *const lines[] = {"hello\n",
                                      "[1]\n",
                                      "{}\n",
                                      "{\"payload\":-1}\n",
                                      "{\"payload\":1e300}\n",
                                      "{\"payload\":0,\"payload\":0}\n",
                                      "\n"};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    gt_buffer wire = {0}, payload = {0};
    json_t *message = NULL;
    gt_buffer_append(&wire, lines[i], strlen(lines[i]));
    assert_int_equal(gt_wire_decode(&wire, &message, &payload), -1);
    gt_buffer_free(&wire);
    gt_buffer_free(&payload);
  }
}

static void a_fingerprint_comes_back_as_it_was_sent(void **state) {
  (void)state;
  gt_fingerprint one, other;
  memset(&one, 0, sizeof one);
  strcpy(one.backend, "hip");
  strcpy(one.name, "a name");
  strcpy(one.arch, "gfx942");
  strcpy(one.compiler, "c 1");
  one.compute_units = 304;
  one.memory_bytes = 192ull << 30;
  one.last_level_cache_bytes = 256 << 20;
  one.wave_size = 64;
  one.target = GT_TARGET_HIP;
  json_t *json = gt_wire_fingerprint(&one);
  assert_true(gt_wire_read_fingerprint(json, &other));
  assert_string_equal(other.name, one.name);
  assert_string_equal(other.arch, one.arch);
  assert_string_equal(other.compiler, one.compiler);
  assert_int_equal(other.compute_units, 304);
  assert_true(other.memory_bytes == one.memory_bytes);
  assert_int_equal(other.wave_size, 64);
  assert_int_equal(other.target, GT_TARGET_HIP);
  json_object_del(json, "arch");
  assert_false(gt_wire_read_fingerprint(json, &other));
  json_decref(json);
}

static void text_that_is_no_utf8_still_becomes_a_string(void **state) {
  (void)state;
  json_t *text = gt_wire_text("caf\xe9");
  assert_string_equal(json_string_value(text), "caf?");
  json_decref(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_frame_comes_back_as_it_was_sent),
      cmocka_unit_test(frames_that_arrive_byte_by_byte_are_all_found),
      cmocka_unit_test(garbage_is_refused),
      cmocka_unit_test(a_fingerprint_comes_back_as_it_was_sent),
      cmocka_unit_test(text_that_is_no_utf8_still_becomes_a_string),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
