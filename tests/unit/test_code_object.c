#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "device/code_object.h"
#include "device/compiler_log.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

// An ELF file of a header, one segment, two sections, and 16 bytes of contents.
typedef struct {
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  Elf64_Shdr sections[2];
  char contents[16];
} elf_file;

static elf_file make(void) {
  elf_file file = {0};
  memcpy(file.header.e_ident, ELFMAG, SELFMAG);
  file.header.e_ident[EI_CLASS] = ELFCLASS64;
  file.header.e_ident[EI_DATA] = ELFDATA2LSB;
  file.header.e_phoff = offsetof(elf_file, segment);
  file.header.e_phnum = 1;
  file.header.e_phentsize = sizeof(Elf64_Phdr);
  file.header.e_shoff = offsetof(elf_file, sections);
  file.header.e_shnum = 2;
  file.header.e_shentsize = sizeof(Elf64_Shdr);
  file.segment.p_offset = file.sections[0].sh_offset = offsetof(elf_file, contents);
  file.segment.p_filesz = file.sections[0].sh_size = sizeof file.contents;
  file.sections[0].sh_type = SHT_PROGBITS;
  file.sections[1].sh_type = SHT_NOBITS; // takes memory, and no place in the file
  file.sections[1].sh_size = 1 << 20;
  return file;
}

static gt_status check(elf_file file) {
  return gt_code_object_check(&file, sizeof file, NULL);
}

static void a_whole_file_is_accepted(void **state) {
  (void)state;
  assert_int_equal(check(make()), GT_OK);
}

static void a_file_cut_short_anywhere_is_refused(void **state) {
  (void)state;
  elf_file file = make();
  for (size_t size = 0; size < sizeof file; size++) {
    // A copy of just that size, for a sanitizer to see a read beyond it.
    void *copy = gt_alloc(size ? size : 1);
    memcpy(copy, &file, size);
    gt_error error = {0};
    assert_int_equal(gt_code_object_check(copy, size, &error), GT_CORRUPT);
    assert_non_null(strstr(error.text, "cannot be loaded"));
    free(copy);
  }
}

static void sizes_that_overflow_are_refused(void **state) {
  (void)state;
  elf_file file = make();
  file.sections[0].sh_size = UINT64_MAX - 8;
  assert_int_equal(check(file), GT_CORRUPT);
  file = make();
  file.segment.p_offset = UINT64_MAX - 8;
  assert_int_equal(check(file), GT_CORRUPT);
  file = make();
  file.header.e_shoff = UINT64_MAX - 8;
  assert_int_equal(check(file), GT_CORRUPT);
  file = make();
  file.header.e_phnum = UINT16_MAX;
  assert_int_equal(check(file), GT_CORRUPT);
  file = make();
  file.header.e_shentsize = 1;
  assert_int_equal(check(file), GT_CORRUPT);
}

static void a_file_of_another_kind_is_refused(void **state) {
  (void)state;
  assert_int_equal(gt_code_object_check("", 0, NULL), GT_CORRUPT);
  elf_file file = make();
  file.header.e_ident[EI_CLASS] = ELFCLASS32;
  assert_int_equal(check(file), GT_CORRUPT);
  memset(&file, 'x', sizeof file);
  assert_int_equal(check(file), GT_CORRUPT);
}

static void what_lies_at_an_address_is_found_in_whole(void **state) {
  (void)state;
  elf_file file = make();
  file.segment.p_type = PT_LOAD;
  file.segment.p_vaddr = 0x1000;
  file.segment.p_memsz = 64; // more than the file has of it
  const size_t size = sizeof file;
  assert_ptr_equal(gt_code_object_at(&file, size, 0x1000, 16), file.contents);
  assert_ptr_equal(gt_code_object_at(&file, size, 0x100f, 1), file.contents + 15);
  assert_null(gt_code_object_at(&file, size, 0xfff, 1));
  assert_null(gt_code_object_at(&file, size, 0x1001, 16));
  assert_null(gt_code_object_at(&file, size, 0x1008, UINT64_MAX));
  assert_null(gt_code_object_at(&file, size, UINT64_MAX, 1));
  assert_null(gt_code_object_at(&file, size - 1, 0x1000, 1)); // such a file does not pass the check
  file.segment.p_type = PT_NOTE;
  assert_null(gt_code_object_at(&file, size, 0x1000, 16));
}

static gt_status check_bundle(uint64_t count, uint64_t offset, uint64_t size, uint64_t name) {
  elf_file file = make();
  gt_buffer bundle = {0};
  const uint64_t entry[] = {count, offset, size, name};
  gt_buffer_append(&bundle, "__CLANG_OFFLOAD_BUNDLE__", 24);
  gt_buffer_append(&bundle, entry, sizeof entry);
  gt_buffer_append(&bundle, "hip!", 4);
  gt_buffer_append(&bundle, &file, sizeof file);
  gt_status status = gt_code_object_check(bundle.data, bundle.length, NULL);
  gt_buffer_free(&bundle);
  return status;
}

static void a_bundle_is_checked_with_all_its_entries(void **state) {
  (void)state;
  assert_int_equal(check_bundle(1, 60, sizeof(elf_file), 4), GT_OK);
  assert_int_equal(check_bundle(1, 60, 0, 4), GT_OK); // the host's entry is empty
  assert_int_equal(check_bundle(1, 61, sizeof(elf_file), 4), GT_CORRUPT);
  assert_int_equal(check_bundle(1, 60, sizeof(elf_file) - 1, 4), GT_CORRUPT);
  assert_int_equal(check_bundle(1, 60, sizeof(elf_file), UINT64_MAX), GT_CORRUPT);
  assert_int_equal(check_bundle(UINT64_MAX, 60, sizeof(elf_file), 4), GT_CORRUPT);
}

static void assert_line(const char *log, const char *expected) {
  gt_buffer buffer = {0};
  char line[64];
  gt_buffer_append(&buffer, log, strlen(log));
  assert_string_equal(gt_compiler_log_error(&buffer, line, sizeof line), expected);
  gt_buffer_free(&buffer);
}

static void the_first_error_of_a_log_is_told_without_folders(void **state) {
  (void)state;
  assert_line("", "no log");
  assert_line(
      "/tmp/a b/kernel.hip:1:2: warning: w\n/tmp/xyz/kernel.hip:1:43: error: no 'a'\n  more\nerror: 2\n",
      "kernel.hip:1:43: error: no 'a'");
  assert_line("kernel.cu(1): error: no \"a\"\n\n", "kernel.cu(1): error: no \"a\"");
  assert_line("something else\nand more", "something else");
  assert_line("error", "error");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_whole_file_is_accepted),
      cmocka_unit_test(a_file_cut_short_anywhere_is_refused),
      cmocka_unit_test(sizes_that_overflow_are_refused),
      cmocka_unit_test(a_file_of_another_kind_is_refused),
      cmocka_unit_test(what_lies_at_an_address_is_found_in_whole),
      cmocka_unit_test(a_bundle_is_checked_with_all_its_entries),
      cmocka_unit_test(the_first_error_of_a_log_is_told_without_folders),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
