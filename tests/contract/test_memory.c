// Fingerprints and memory.
#include "tests/contract/contract.h"

static void test_table(void **state) {
  subject *of = *state;
  const gt_backend *backend = of->backend;
  if (!backend) device_of(state, &backend);
  assert_int_equal(backend->version, GT_BACKEND_VERSION);
  assert_string_equal(backend->name, of->name);
  assert_non_null(backend->compile_options);
  assert_true(backend->count && backend->open && backend->close && backend->fingerprint && backend->compile);
  assert_true(backend->load && backend->unload && backend->kernel && backend->kernel_info);
  assert_true(backend->allocate && backend->release && backend->free_memory);
  assert_true(backend->write && backend->read && backend->copy && backend->fill);
  assert_true(backend->launch && backend->synchronize && backend->mark && backend->elapsed);
}

static void test_fingerprint(void **state) {
  DEVICE(state);
  gt_fingerprint fingerprint;
  SUCCEED(backend->fingerprint(device, &fingerprint, &fault));
  assert_string_equal(fingerprint.backend, backend->name);
  if (backend->compiler) {
    assert_true(!*fingerprint.compiler); // a library of its own, which is not opened for this
    backend->compiler(fingerprint.compiler, sizeof fingerprint.compiler);
  }
  assert_true(*fingerprint.name && *fingerprint.arch && *fingerprint.driver && *fingerprint.runtime &&
              *fingerprint.compiler);
  assert_null(strpbrk(fingerprint.arch, " \t\n,"));
  assert_true(fingerprint.compute_units > 0 && fingerprint.memory_bytes > 0);
  assert_true(fingerprint.wave_size >= 1 && fingerprint.max_threads_per_block >= 64);
  assert_true(fingerprint.lds_bytes_per_block > 0 && fingerprint.last_level_cache_bytes > 0);
}

static void test_no_device(void **state) {
  DEVICE(state);
  (void)device;
  gt_device *none = NULL;
  REFUSE(backend->open(9999, &none, &fault), GT_NO_DEVICE);
  assert_null(none);
}

static unsigned char pattern(size_t i) {
  return (unsigned char)(i * 37 + i / 251 + 11);
}

static void test_alignment(void **state) {
  DEVICE(state);
  const size_t sizes[] = {1, 3, 255, 256, 257, 4099};
  gt_address addresses[sizeof sizes / sizeof sizes[0]];
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    addresses[i] = allocate(backend, device, sizes[i]);
    assert_int_equal(addresses[i] % 256, 0);
    for (size_t j = 0; j < i; j++)
      assert_true(addresses[i] >= addresses[j] + sizes[j] || addresses[j] >= addresses[i] + sizes[i]);
  }
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) backend->release(device, addresses[i]);
}

enum { ROOM = 9000 };

static void test_write_read(void **state) {
  DEVICE(state);
  const size_t offsets[] = {0, 1, 3, 127, 4095}, sizes[] = {1, 2, 5, 255, 1021, 4097};
  unsigned char sent[ROOM], got[ROOM];
  gt_address memory = allocate(backend, device, ROOM);
  for (size_t i = 0; i < ROOM; i++) sent[i] = pattern(i);
  for (size_t o = 0; o < sizeof offsets / sizeof offsets[0]; o++) {
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      size_t offset = offsets[o], size = sizes[s];
      SUCCEED(backend->fill(device, memory, 0x55555555, ROOM, &fault));
      SUCCEED(backend->write(device, memory + offset, sent, size, &fault));
      SUCCEED(backend->read(device, got, memory, ROOM, &fault));
      for (size_t i = 0; i < ROOM; i++)
        assert_int_equal(got[i], i < offset || i >= offset + size ? 0x55 : sent[i - offset]);
      memset(got, 0, ROOM);
      SUCCEED(backend->read(device, got + 1, memory + offset, size, &fault));
      assert_memory_equal(got + 1, sent, size);
      assert_int_equal(got[0] | got[size + 1], 0);
    }
  }
  backend->release(device, memory);
}

static void test_copy(void **state) {
  DEVICE(state);
  const size_t sizes[] = {1, 6, 4097};
  unsigned char sent[ROOM], got[ROOM];
  gt_address from = allocate(backend, device, ROOM), to = allocate(backend, device, ROOM);
  for (size_t i = 0; i < ROOM; i++) sent[i] = pattern(i);
  SUCCEED(backend->write(device, from, sent, ROOM, &fault));
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    SUCCEED(backend->fill(device, to, 0, ROOM, &fault));
    SUCCEED(backend->copy(device, to + 7, from + 13, sizes[s], &fault));
    SUCCEED(backend->synchronize(device, &fault));
    SUCCEED(backend->read(device, got, to, ROOM, &fault));
    for (size_t i = 0; i < ROOM; i++)
      assert_int_equal(got[i], i < 7 || i >= 7 + sizes[s] ? 0 : sent[13 + i - 7]);
  }
  backend->release(device, from);
  backend->release(device, to);
}

static void test_fill(void **state) {
  DEVICE(state);
  uint32_t words[2048], got[2048];
  const size_t counts[] = {1, 3, 17, 1023};
  gt_address memory = allocate(backend, device, sizeof words);
  for (size_t i = 0; i < 2048; i++) words[i] = (uint32_t)i;
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
    SUCCEED(backend->write(device, memory, words, sizeof words, &fault));
    SUCCEED(backend->fill(device, memory + 5 * 4, 0x7fc12345, counts[c] * 4, &fault));
    SUCCEED(backend->read(device, got, memory, sizeof got, &fault));
    for (size_t i = 0; i < 2048; i++)
      assert_int_equal(got[i], i < 5 || i >= 5 + counts[c] ? words[i] : 0x7fc12345);
  }
  backend->release(device, memory);
}

static void test_large_fill(void **state) {
  DEVICE(state);
  size_t bytes = ((size_t)5 << 20) + 4;
  uint32_t *got = gt_alloc(bytes);
  gt_address memory = allocate(backend, device, bytes);
  SUCCEED(backend->fill(device, memory, 0xdeadbeef, bytes, &fault));
  SUCCEED(backend->read(device, got, memory, bytes, &fault));
  for (size_t i = 0; i < bytes / 4; i++)
    if (got[i] != 0xdeadbeef) fail_msg("word %zu is %08x", i, got[i]);
  free(got);
  backend->release(device, memory);
}

static void test_nothing(void **state) {
  DEVICE(state);
  unsigned char byte = 7, got = 0;
  gt_address memory = allocate(backend, device, 16);
  SUCCEED(backend->write(device, memory, &byte, 1, &fault));
  SUCCEED(backend->write(device, memory, NULL, 0, &fault));
  SUCCEED(backend->read(device, NULL, memory, 0, &fault));
  SUCCEED(backend->copy(device, memory + 8, memory, 0, &fault));
  SUCCEED(backend->fill(device, memory, 0, 0, &fault));
  SUCCEED(backend->read(device, &got, memory, 1, &fault));
  assert_int_equal(got, 7);
  backend->release(device, memory);
}

static void test_out_of_memory(void **state) {
  DEVICE(state);
  gt_address memory = 1;
  REFUSE(backend->allocate(device, (size_t)1 << 46, &memory, &fault), GT_OUT_OF_MEMORY);
  memory = allocate(backend, device, 4096); // it still gives what it has
  SUCCEED(backend->fill(device, memory, 1, 4096, &fault));
  SUCCEED(backend->synchronize(device, &fault));
  backend->release(device, memory);
}

static void test_free_memory(void **state) {
  DEVICE(state);
  gt_fingerprint fingerprint;
  uint64_t bytes = 0;
  SUCCEED(backend->fingerprint(device, &fingerprint, &fault));
  SUCCEED(backend->free_memory(device, &bytes, &fault));
  assert_true(bytes > 0 && bytes <= fingerprint.memory_bytes);
}

int main(void) {
  static const property properties[] = {
      {"the table of functions is complete", test_table, true},
      {"a fingerprint has all its fields", test_fingerprint, false},
      {"a device that is not there does not open", test_no_device, false},
      {"addresses are multiples of 256 and apart", test_alignment, false},
      {"what is written at odd sizes and offsets is read back", test_write_read, false},
      {"a copy moves the bytes asked for and no others", test_copy, false},
      {"a fill of an odd number of words leaves its neighbours alone", test_fill, false},
      {"a fill of megabytes reaches the last word", test_large_fill, false},
      {"transfers of no bytes succeed", test_nothing, false},
      {"memory that is not there is out of memory", test_out_of_memory, false},
      {"free memory is part of the memory", test_free_memory, false},
  };
  return contract_main(properties, sizeof properties / sizeof properties[0]);
}
