// The interpreter's arithmetic: what kernels compute equals what the host computes.
#include "test_interpreter_program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same_float(float x, float y) {
  return x == y || (isnan(x) && isnan(y));
}

static void arithmetic_in_single_precision_equals_the_hosts(void **state) {
  (void)state;
  float *x = buffer(4 * N), *y = buffer(4 * N), *r = buffer(4 * N * 10);
  for (int i = 0; i < N; i++) x[i] = random_float(), y[i] = random_float();
  x[0] = 0, y[0] = -0.f, x[1] = INFINITY, y[1] = 3, x[2] = NAN, x[3] = 1e-40f, y[3] = 3, x[4] = 1, y[4] = 0;
  x[5] = 3e38f, y[5] = 1e-5f;
  RUN("single", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    const float expected[10] = {x[i] + y[i],        x[i] - y[i],         x[i] * y[i],  x[i] / y[i],
                                sqrtf(fabsf(x[i])), fmaf(x[i], y[i], 1), floorf(x[i]), rintf(x[i]),
                                ldexpf(x[i], 3),    fabsf(-y[i])};
    for (int k = 0; k < 10; k++)
      if (!same_float(r[k * N + i], expected[k]))
        fail_msg("result %d of %g, %g: %g", k, x[i], y[i], r[k * N + i]);
  }
}

static void arithmetic_in_double_precision_equals_the_hosts(void **state) {
  (void)state;
  double *x = buffer(8 * N), *y = buffer(8 * N), *r = buffer(8 * N * 8);
  for (int i = 0; i < N; i++) x[i] = random_float() / 7., y[i] = random_float() / 3.;
  RUN("doubles", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    const double expected[8] = {x[i] + y[i],          x[i] * y[i], x[i] / y[i],       sqrt(fabs(x[i])),
                                fma(x[i], y[i], 0.1), floor(x[i]), fmin(x[i], -y[i]), (double)(int64_t)x[i]};
    for (int k = 0; k < 8; k++)
      if (r[k * N + i] != expected[k]) fail_msg("result %d of %g, %g: %.17g", k, x[i], y[i], r[k * N + i]);
  }
}

static void arithmetic_in_half_precision_equals_the_hosts(void **state) {
  (void)state;
  _Float16 *x = buffer(2 * N), *y = buffer(2 * N), *r = buffer(2 * N * 6);
  for (int i = 0; i < N; i++)
    x[i] = (_Float16)(random_float() / 100), y[i] = (_Float16)(random_float() / 300);
  RUN("halves", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    float a = (float)x[i], b = (float)y[i];
    const _Float16 expected[6] = {(_Float16)(a + b),         (_Float16)(a * b),
                                  (_Float16)(a / b),         (_Float16)((double)a * b + 1),
                                  (_Float16)sqrtf(fabsf(a)), (_Float16)(a - b)};
    for (int k = 0; k < 6; k++)
      if (!same_float((float)r[k * N + i], (float)expected[k]))
        fail_msg("result %d of %g, %g: %g", k, a, b, (float)r[k * N + i]);
  }
}

static void pairs_of_halves_are_computed_together(void **state) {
  (void)state;
  _Float16 *x = buffer(4 * N), *y = buffer(4 * N), *r = buffer(4 * N * 4);
  for (int i = 0; i < 2 * N; i++)
    x[i] = (_Float16)(random_float() / 1000), y[i] = (_Float16)(random_float() / 3000);
  RUN("half_pairs", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < 2 * N; i++) {
    float a = (float)x[i], b = (float)y[i], swapped = (float)y[i ^ 1];
    assert_true(same_float((float)r[i], (float)(_Float16)(a + b)));
    assert_true(same_float((float)r[2 * N + i], (float)(_Float16)(a * swapped)));
    assert_true(same_float((float)r[4 * N + i], (float)(_Float16)((double)a * b - swapped)));
    assert_true(same_float((float)r[6 * N + i], a > b ? a : b));
  }
}

static float half_as_float(uint32_t bits) {
  uint16_t low = (uint16_t)bits;
  _Float16 value;
  memcpy(&value, &low, sizeof value);
  return (float)value;
}

static uint32_t float_as_half(double value) {
  _Float16 half = (_Float16)value;
  uint16_t bits;
  memcpy(&bits, &half, sizeof bits);
  return bits;
}

static float word_as_float(uint32_t word) {
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

// Both halves, and the word as a single, are numbers of a middling size.
static uint32_t random_number_in_each_half(void) {
  return (0x3c00 + random_bits() % 0x400) << 16 | (0x3400 + random_bits() % 0x1000) |
         (random_bits() & 0x80008000);
}

// What a mixed instruction reads from a word: half precision if op_sel_hi has its bit, from the half of
// op_sel.
static float mixed_operand(uint32_t word, int source, int op_sel, int op_sel_hi) {
  if (!(op_sel_hi >> source & 1)) return word_as_float(word);
  return half_as_float(op_sel >> source & 1 ? word >> 16 : word);
}

static void halves_and_singles_are_mixed_in_all_ways(void **state) {
  (void)state;
  enum { WAYS = 8 };
  uint32_t *x = buffer(4 * N), *y = buffer(4 * N), *z = buffer(4 * N), *r = buffer(4 * N * 3 * WAYS * WAYS);
  for (int i = 0; i < N; i++) {
    x[i] = random_number_in_each_half();
    y[i] = random_number_in_each_half();
    z[i] = random_number_in_each_half();
  }
  RUN("mixed", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(z), ARGUMENT(r));
  const uint32_t *result = r;
  for (int op_sel = 0; op_sel < WAYS; op_sel++)
    for (int op_sel_hi = 0; op_sel_hi < WAYS; op_sel_hi++, result += 3 * N)
      for (int i = 0; i < N; i++) {
        float expected =
            fmaf(mixed_operand(x[i], 0, op_sel, op_sel_hi), mixed_operand(y[i], 1, op_sel, op_sel_hi),
                 mixed_operand(z[i], 2, op_sel, op_sel_hi));
        uint32_t half = float_as_half(expected);
        if (word_as_float(result[i]) != expected || result[N + i] != (0xdead0000 | half) ||
            result[2 * N + i] != (0xbeef | half << 16))
          fail_msg("op_sel %d, op_sel_hi %d: %g, %#x, %#x, not %g, %#x", op_sel, op_sel_hi,
                   word_as_float(result[i]), result[N + i], result[2 * N + i], expected, half);
      }
}

static void mixtures_that_the_compiler_makes_equal_the_hosts(void **state) {
  (void)state;
  _Float16 *x = buffer(4 * N), *h = buffer(2 * N * 4);
  float *y = buffer(4 * N), *z = buffer(4 * N), *f = buffer(4 * N * 3);
  for (int i = 0; i < N; i++) {
    x[2 * i] = (_Float16)(random_float() / 3000);
    x[2 * i + 1] = (_Float16)(random_float() / 3000);
    y[i] = random_float() / 1000, z[i] = random_float() / 2000;
  }
  RUN("mixed_by_the_compiler", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(z), ARGUMENT(f), ARGUMENT(h));
  for (int i = 0; i < N; i++) {
    float low = (float)x[2 * i], high = (float)x[2 * i + 1];
    assert_true(f[i] == fmaf(low, y[i], z[i]));
    assert_true(f[N + i] == fmaf(high, -y[i], low));
    assert_true(h[i] == (_Float16)fmaf(z[i], y[i], z[i]));
    assert_true(h[N + i] == (_Float16)fmaf(y[i], high, fabsf(z[i])));
    assert_true(h[2 * N + 2 * i] == (_Float16)fmaf(z[i], y[i], y[i]));
    assert_true(h[2 * N + 2 * i + 1] == (_Float16)fmaf(z[i], z[i], y[i]));
    // Clamped to [0, 1]. How the hardware rounds between the two products is its own affair.
    float dot = fminf(fmaxf(2 * low * high - z[i], 0), 1);
    assert_true(fabsf(f[2 * N + i] - dot) <= 1e-5f * (fabsf(low * high) + fabsf(z[i])));
  }
}

static void half_a_register_is_read_and_written_without_the_other(void **state) {
  (void)state;
  uint32_t *x = buffer(4 * N), *r = buffer(4 * N * 13);
  float *y = buffer(4 * N);
  for (int i = 0; i < N; i++) x[i] = random_number_in_each_half(), y[i] = random_float() / 1000;
  RUN("half_registers", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    uint32_t a = x[i], b = x[(i + 1) % N], a_low = a & 0xffff, a_high = a >> 16, b_low = b & 0xffff,
             b_high = b >> 16, half = float_as_half(y[i]);
    double fused = (double)half_as_float(a_low) * -half_as_float(b_high) + half_as_float(a_high);
    float converted = half_as_float(a_high);
    uint32_t converted_bits;
    memcpy(&converted_bits, &converted, sizeof converted);
    const uint32_t expected[13] = {(a_high + b_low) << 16 | 0x5678,
                                   (a_low - b_high) << 16 | 0x5678,
                                   (a_low * b_high + a_high) << 16 | 0x5678,
                                   float_as_half(fused) << 16 | 0x5678,
                                   (a_high ^ 0x8000) | (b_low & 0x7fff) << 16,
                                   converted_bits,
                                   half << 16 | 0x5678,
                                   half << 16,
                                   0x12340000 | half,
                                   a_low << 16 | 0x5678,
                                   a_high,
                                   a_high << 16 | 0x5678,
                                   0x12340000 | a_high};
    for (int k = 0; k < 13; k++)
      if (r[k * N + i] != expected[k])
        fail_msg("result %d of item %d: %#x, not %#x", k, i, r[k * N + i], expected[k]);
  }
}

static float from_bfloat(uint16_t bits) {
  uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

static uint16_t to_bfloat(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

static void bfloats_are_loaded_rounded_and_stored(void **state) {
  (void)state;
  uint16_t *x = buffer(2 * N), *r = buffer(2 * N);
  for (int i = 0; i < N; i++) x[i] = to_bfloat(random_float());
  RUN("bfloats", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++) assert_int_equal(r[i], to_bfloat(from_bfloat(x[i]) * 3.f + 1.f));
}

static void integers_are_divided_right(void **state) {
  (void)state;
  uint64_t *x = buffer(8 * N), *y = buffer(8 * N), *r = buffer(8 * N * 8);
  for (int i = 0; i < N; i++) {
    x[i] = (uint64_t)random_bits() << 32 | random_bits();
    y[i] = ((uint64_t)random_bits() << 32 | random_bits()) >> random_bits() % 62;
    if ((uint32_t)y[i] == 0 || (uint32_t)y[i] == UINT32_MAX) y[i] = 7;
  }
  RUN("divide", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    uint32_t a = (uint32_t)x[i], b = (uint32_t)y[i];
    int64_t sx = (int64_t)x[i], sy = (int64_t)y[i];
    const uint64_t expected[8] = {x[i] / y[i],
                                  x[i] % y[i],
                                  (uint64_t)(sx / sy),
                                  (uint64_t)(sx % sy),
                                  a / b,
                                  a % b,
                                  (uint64_t)((int32_t)a / (int32_t)b),
                                  (uint64_t)((int32_t)a % (int32_t)b)};
    for (int k = 0; k < 8; k++) assert_int_equal(r[k * N + i], expected[k]);
  }
}

static void integers_of_64_bits_are_computed_in_pairs_of_registers(void **state) {
  (void)state;
  uint64_t *x = buffer(8 * N), *y = buffer(8 * N), *r = buffer(8 * N * 10);
  for (int i = 0; i < N; i++)
    x[i] = (uint64_t)random_bits() << 32 | random_bits(),
    y[i] = (uint64_t)random_bits() << 32 | random_bits();
  RUN("wide", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    const uint64_t expected[10] = {x[i] + y[i],
                                   x[i] - y[i],
                                   x[i] * y[i],
                                   (uint64_t)((unsigned __int128)x[i] * y[i] >> 64),
                                   x[i] << (y[i] & 63),
                                   (uint64_t)((int64_t)x[i] >> (y[i] & 63)),
                                   (uint64_t)__builtin_popcountll(x[i]),
                                   (uint64_t)__builtin_clzll(x[i] | 1),
                                   (int64_t)x[i] < (int64_t)y[i] ? x[i] : y[i],
                                   __builtin_bswap64(x[i])};
    for (int k = 0; k < 10; k++) assert_int_equal(r[k * N + i], expected[k]);
  }
}

static void numbers_are_converted_between_all_kinds(void **state) {
  (void)state;
  float *x = buffer(4 * N), *back = buffer(4 * N * 4);
  int32_t *r = buffer(4 * N * 6);
  for (int i = 0; i < N; i++) x[i] = random_float() / 200;
  RUN("convert", one_group, ARGUMENT(x), ARGUMENT(r), ARGUMENT(back));
  for (int i = 0; i < N; i++) {
    assert_int_equal(r[i], (int32_t)x[i]);
    assert_int_equal(r[N + i], (int32_t)(uint32_t)fabsf(x[i]));
    assert_int_equal(r[2 * N + i], (int8_t)(int32_t)x[i]);
    assert_int_equal(r[3 * N + i], (uint8_t)(int32_t)x[i]);
    assert_int_equal(r[4 * N + i], (int16_t)(int32_t)x[i]);
    assert_int_equal(r[5 * N + i], (int32_t)(double)x[i]);
    assert_true(back[i] == (float)(_Float16)x[i]);
    assert_true(back[N + i] == (float)(int64_t)(x[i] * 1e9f));
    assert_true(back[2 * N + i] == (float)((uint32_t)i * 2654435761u));
    assert_true(back[3 * N + i] == (float)(uint8_t)((uint32_t)i * 2654435761u >> 16));
  }
}

static void mathematical_functions_are_close_to_the_hosts(void **state) {
  (void)state;
  float *x = buffer(4 * N), *r = buffer(4 * N * 8);
  for (int i = 0; i < N; i++) x[i] = fabsf(random_float()) / 4000 + 0.01f;
  RUN("functions", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    const double expected[8] = {sin(x[i]),      cos(x[i]),  exp(x[i]),      log(x[i]),
                                pow(x[i], 1.7), tanh(x[i]), 1 / sqrt(x[i]), erf(x[i])};
    for (int k = 0; k < 8; k++)
      if (fabs(r[k * N + i] - expected[k]) > 4e-6 * fabs(expected[k]) + 1e-6)
        fail_msg("function %d of %g: %g, not %g", k, x[i], r[k * N + i], expected[k]);
  }
}

static void bytes_and_shorts_are_extended(void **state) {
  (void)state;
  uint8_t *x = buffer(N);
  uint16_t *y = buffer(2 * N), *narrow = buffer(2 * N);
  int32_t *r = buffer(4 * N * 4);
  for (int i = 0; i < N; i++) x[i] = (uint8_t)random_bits(), y[i] = (uint16_t)random_bits();
  RUN("narrow", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r), ARGUMENT(narrow));
  for (int i = 0; i < N; i++) {
    assert_int_equal(r[i], x[i]);
    assert_int_equal(r[N + i], (int8_t)x[i]);
    assert_int_equal(r[2 * N + i], y[i]);
    assert_int_equal(r[3 * N + i], (int16_t)y[i]);
    assert_int_equal(narrow[i], (uint16_t)(x[i] * y[i] + (y[i] >> 3)));
  }
}

static void functions_in_double_precision_are_close_to_the_hosts(void **state) {
  (void)state;
  double *x = buffer(8 * N), *r = buffer(8 * N * 8);
  for (int i = 0; i < N; i++) x[i] = fabs((double)random_float()) / 100 + 0.01;
  RUN("double_functions", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    const double expected[8] = {sin(x[i]),       cos(x[i] * 1e30), exp(x[i] / 50), log(x[i]),
                                pow(x[i], -2.5), atan2(x[i], 3.0), cbrt(x[i]),     fmod(x[i], 0.7)};
    for (int k = 0; k < 8; k++)
      if (fabs(r[k * N + i] - expected[k]) > 1e-14 * fabs(expected[k]) + 1e-15)
        fail_msg("function %d of %.17g: %.17g, not %.17g", k, x[i], r[k * N + i], expected[k]);
  }
}

#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

static void integers_of_16_bits_wrap_around(void **state) {
  (void)state;
  int16_t *x = buffer(2 * N), *r = buffer(2 * N * 10);
  uint16_t *y = buffer(2 * N);
  for (int i = 0; i < N; i++) x[i] = (int16_t)random_bits(), y[i] = (uint16_t)random_bits();
  RUN("short_integers", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    int a = x[i], b = x[(i + 1) % N], c = x[(i + 2) % N], d = y[i], e = y[(i + 1) % N], f = y[(i + 2) % N];
    const int expected[10] = {a + b,
                              a * b + c,
                              a >> (d & 15),
                              (int)((uint32_t)a << (d & 15)),
                              d >> (e & 15),
                              SMALLER(LARGER(a, b), c),
                              LARGER(d, SMALLER(e, f)),
                              d / (e | 1),
                              a < b ? c : d,
                              (int)(float)(_Float16)(float)a};
    for (int k = 0; k < 10; k++) {
      // The largest shorts become halves that are no shorts any more.
      if (k == 9 && expected[k] > INT16_MAX) continue;
      if (r[k * N + i] != (int16_t)expected[k]) fail_msg("result %d of %d: %d", k, a, r[k * N + i]);
    }
  }
}

static void pairs_of_shorts_are_computed_together(void **state) {
  (void)state;
  int16_t *x = buffer(4 * N), *y = buffer(4 * N), *r = buffer(4 * N * 8);
  for (int i = 0; i < 2 * N; i++) x[i] = (int16_t)random_bits(), y[i] = (int16_t)random_bits();
  RUN("short_pairs", one_group, ARGUMENT(x), ARGUMENT(y), ARGUMENT(r));
  for (int i = 0; i < 2 * N; i++) {
    int a = x[i], b = y[i], sum = a + b, difference = a - b;
    const int expected[8] = {sum,
                             a * b + x[i ^ 1],
                             a >> (b & 15),
                             (int)((uint32_t)a << (b & 15)),
                             SMALLER(a, b),
                             LARGER(a, b),
                             SMALLER(LARGER(sum, INT16_MIN), INT16_MAX),
                             SMALLER(LARGER(difference, INT16_MIN), INT16_MAX)};
    for (int k = 0; k < 8; k++)
      if (r[2 * k * N + i] != (int16_t)expected[k]) fail_msg("result %d of %d: %d", k, a, r[2 * k * N + i]);
  }
}

static uint32_t reversed(uint32_t x) {
  uint32_t result = 0;
  for (int i = 0; i < 32; i++) result |= (x >> i & 1) << (31 - i);
  return result;
}

static uint32_t byte_differences(uint32_t x, uint32_t y) {
  uint32_t sum = 0;
  for (int i = 0; i < 32; i += 8) sum += (uint32_t)abs((int)(x >> i & 255) - (int)(y >> i & 255));
  return sum;
}

static uint32_t byte_products(uint32_t x, uint32_t y) {
  uint32_t sum = 0;
  for (int i = 0; i < 32; i += 8) sum += (uint32_t)((int8_t)(x >> i) * (int8_t)(y >> i));
  return sum;
}

static void words_are_shifted_counted_and_picked_apart(void **state) {
  (void)state;
  uint32_t *x = buffer(4 * N), *r = buffer(4 * N * 16);
  for (int i = 0; i < N; i++) x[i] = random_bits();
  RUN("words", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    uint32_t a = x[i], b = x[(i + 1) % N], c = x[(i + 2) % N], right = a >> (b & 31), left = a << (b & 31);
    uint32_t larger = (uint32_t)LARGER((int32_t)b, (int32_t)c);
    // The selector 0x7351 takes bytes 1, 5, 3 and 7 of b and a.
    uint32_t picked = (a >> 8 & 255) | (b >> 8 & 255) << 8 | (a >> 24) << 16 | (b >> 24) << 24;
    const uint32_t expected[16] = {right ? (uint32_t)__builtin_clz(right) : 32,
                                   (uint32_t)__builtin_ffs((int)left),
                                   (uint32_t)__builtin_popcount(a),
                                   reversed(a),
                                   (uint32_t)((uint64_t)a * b >> 32),
                                   (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32),
                                   (a & 0xffffff) * (b & 0xffffff) + c,
                                   picked,
                                   (a & b) | (~a & c),
                                   right & ((1u << (c & 31)) - 1),
                                   (a << 7 | b) ^ c,
                                   (a > b ? a - b : b - a) + c,
                                   a << (c & 31) | a >> (-c & 31),
                                   (uint32_t)LARGER((int32_t)a, (int32_t)larger),
                                   byte_differences(a, b) + c,
                                   byte_products(a, b) + c};
    for (int k = 0; k < 16; k++)
      if (r[k * N + i] != expected[k]) fail_msg("result %d of %#x, %#x, %#x: %#x", k, a, b, c, r[k * N + i]);
  }
}

static void special_numbers_are_told_apart(void **state) {
  (void)state;
  const float special[] = {0.f,     -0.f, INFINITY, -INFINITY, NAN,    -NAN, 1e-40f,
                           -1e-40f, 1.5f, -1.5f,    3e38f,     -3e38f, 4e9f};
  float *x = buffer(4 * N), *f = buffer(4 * N * 3);
  uint32_t *r = buffer(4 * N * 3);
  for (int i = 0; i < N; i++) x[i] = special[i % 13];
  RUN("specials", one_group, ARGUMENT(x), ARGUMENT(r), ARGUMENT(f));
  for (int i = 0; i < N; i++) {
    unsigned classes = (isnan(x[i]) != 0) | (isinf(x[i]) != 0) << 1 | (isfinite(x[i]) != 0) << 2 |
                       (isnormal(x[i]) != 0) << 3 | (signbit(x[i]) != 0) << 4;
    assert_int_equal(r[i], classes);
    double truncated = isnan(x[i]) ? 0 : trunc((double)x[i]);
    assert_int_equal((int32_t)r[N + i], (int32_t)SMALLER(LARGER(truncated, -2147483648.), 2147483647.));
    assert_int_equal(r[2 * N + i], (uint32_t)SMALLER(LARGER(truncated, 0.), 4294967295.));
    assert_true(f[i] == fminf(x[i], 1.f));
    if (!same_float(f[N + i], x[i] < 0 ? 0 : x[i] > 1 ? 1 : x[i]))
      fail_msg("%g saturates to %g", x[i], f[N + i]);
    assert_true(same_float(f[2 * N + i], 1.f / x[i]));
  }
}

static void rare_encodings_are_decoded_with_their_modifiers(void **state) {
  (void)state;
  uint32_t *x = buffer(4 * N), *r = buffer(4 * N * 16);
  float *f = buffer(4 * 2);
  // The nearest half of the first is above it; the second is so small that it is next to a whole number.
  f[0] = 1.0007f, f[1] = -0x1p-30f;
  for (int i = 0; i < N; i++) x[i] = random_bits();
  RUN("encodings", one_group, ARGUMENT(x), ARGUMENT(r), ARGUMENT(f));
  for (int i = 0; i < N; i++) {
    uint32_t a = x[i], b = x[(i + 1) % N];
    bool moved = (i >> 4 & 1) == 0 && (i >> 2 & 3) < 2;
    const uint32_t expected[16] = {moved ? b : 7,
                                   0x11003344 | (((a >> 8) + (b >> 16)) & 255) << 16,
                                   (uint32_t)(int32_t)(int8_t)(a >> 24) << 8,
                                   0xbc003c00,
                                   1,
                                   UINT32_MAX,
                                   (a & 255) << 16 | 0xabcd,
                                   0x12340000 | (uint16_t)(int8_t)a,
                                   0xc0004000,
                                   0x3e800000,
                                   0x3f7fffff,
                                   0xdead4400,
                                   0x45804400,
                                   UINT32_MAX - 7,
                                   (i & 63) < 32 ? 9 : 4,
                                   ((uint32_t)(int8_t)a + b) << 16};
    for (int k = 0; k < 16; k++)
      if (r[k * N + i] != expected[k])
        fail_msg("result %d of item %d: %#x, not %#x", k, i, r[k * N + i], expected[k]);
  }
}

int test_arithmetic(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(arithmetic_in_single_precision_equals_the_hosts, free_buffers),
      cmocka_unit_test_teardown(arithmetic_in_double_precision_equals_the_hosts, free_buffers),
      cmocka_unit_test_teardown(arithmetic_in_half_precision_equals_the_hosts, free_buffers),
      cmocka_unit_test_teardown(pairs_of_halves_are_computed_together, free_buffers),
      cmocka_unit_test_teardown(halves_and_singles_are_mixed_in_all_ways, free_buffers),
      cmocka_unit_test_teardown(mixtures_that_the_compiler_makes_equal_the_hosts, free_buffers),
      cmocka_unit_test_teardown(half_a_register_is_read_and_written_without_the_other, free_buffers),
      cmocka_unit_test_teardown(bfloats_are_loaded_rounded_and_stored, free_buffers),
      cmocka_unit_test_teardown(integers_are_divided_right, free_buffers),
      cmocka_unit_test_teardown(integers_of_64_bits_are_computed_in_pairs_of_registers, free_buffers),
      cmocka_unit_test_teardown(numbers_are_converted_between_all_kinds, free_buffers),
      cmocka_unit_test_teardown(mathematical_functions_are_close_to_the_hosts, free_buffers),
      cmocka_unit_test_teardown(bytes_and_shorts_are_extended, free_buffers),
      cmocka_unit_test_teardown(functions_in_double_precision_are_close_to_the_hosts, free_buffers),
      cmocka_unit_test_teardown(integers_of_16_bits_wrap_around, free_buffers),
      cmocka_unit_test_teardown(pairs_of_shorts_are_computed_together, free_buffers),
      cmocka_unit_test_teardown(words_are_shifted_counted_and_picked_apart, free_buffers),
      cmocka_unit_test_teardown(special_numbers_are_told_apart, free_buffers),
      cmocka_unit_test_teardown(rare_encodings_are_decoded_with_their_modifiers, free_buffers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
