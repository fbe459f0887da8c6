#include "device/code_object.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool within(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

// NULL, or what is wrong.
static const char *check_elf(const uint8_t *code, size_t size) {
  Elf64_Ehdr header;
  if (size < sizeof header) return "it is too short";
  memcpy(&header, code, sizeof header); // the bytes may lie at any address
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "it is no ELF file";
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return "it is no 64-bit little-endian ELF file";
  if (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr)) return "its segment table is malformed";
  if (header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr)) return "its section table is malformed";
  if (!within(header.e_phoff, (uint64_t)header.e_phnum * sizeof(Elf64_Phdr), size) ||
      !within(header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr), size))
    return "it is cut short";
  for (unsigned i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    memcpy(&segment, code + header.e_phoff + i * sizeof segment, sizeof segment);
    if (!within(segment.p_offset, segment.p_filesz, size)) return "a segment of it reaches beyond its end";
  }
  for (unsigned i = 0; i < header.e_shnum; i++) {
    Elf64_Shdr section;
    memcpy(&section, code + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS && !within(section.sh_offset, section.sh_size, size))
      return "a section of it reaches beyond its end";
  }
  return NULL;
}

// Clang's bundle: a magic text, the number of entries, then of each: offset, size, length of its name, and
// the name.
#define BUNDLE_MAGIC "__CLANG_OFFLOAD_BUNDLE__"

static const char *check_bundle(const uint8_t *code, size_t size) {
  uint64_t at = sizeof BUNDLE_MAGIC - 1, count;
  if (!within(at, sizeof count, size)) return "it is cut short";
  memcpy(&count, code + at, sizeof count);
  at += sizeof count;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t entry[3];
    if (!within(at, sizeof entry, size)) return "it is cut short";
    memcpy(entry, code + at, sizeof entry);
    at += sizeof entry;
    if (!within(at, entry[2], size) || !within(entry[0], entry[1], size))
      return "an entry of the bundle reaches beyond its end";
    at += entry[2];
    const char *wrong = entry[1] ? check_elf(code + entry[0], entry[1]) : NULL;
    if (wrong) return wrong;
  }
  return NULL;
}

gt_status gt_code_object_check(const void *code, size_t size, gt_error *error) {
  bool bundle = size >= sizeof BUNDLE_MAGIC - 1 && memcmp(code, BUNDLE_MAGIC, sizeof BUNDLE_MAGIC - 1) == 0;
  const char *wrong = bundle ? check_bundle(code, size) : check_elf(code, size);
  return wrong ? gt_fail(error, GT_CORRUPT, "a code object of %zu bytes cannot be loaded: %s", size, wrong)
               : GT_OK;
}

const void *gt_code_object_at(const void *code, size_t size, uint64_t address, uint64_t length) {
  if (check_elf(code, size)) return NULL;
  Elf64_Ehdr header;
  memcpy(&header, code, sizeof header);
  for (unsigned i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    memcpy(&segment, (const uint8_t *)code + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        within(address - segment.p_vaddr, length, segment.p_filesz))
      return (const uint8_t *)code + segment.p_offset + (address - segment.p_vaddr);
  }
  return NULL;
}
