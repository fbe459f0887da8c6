// The part of AMD's code object manager (amd_comgr.h, interface 2.x and 3.x) that is used, declared here
// since the library is opened at run time and its header is in different folders.
#ifndef GT_DEVICE_COMGR_SYMBOLS_H
#define GT_DEVICE_COMGR_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint64_t handle;
} comgr_data;
typedef struct {
  uint64_t handle;
} comgr_metadata;
typedef struct {
  uint64_t handle;
} comgr_symbol;
typedef struct {
  uint64_t handle;
} comgr_disassembler;

enum { COMGR_SUCCESS = 0, COMGR_EXECUTABLE = 8, COMGR_SYMBOL_SIZE = 3, COMGR_SYMBOL_VALUE = 5 };

typedef uint64_t comgr_read_memory(uint64_t from, char *to, uint64_t size, void *context);
typedef void comgr_print_instruction(const char *text, void *context);
typedef void comgr_print_address(uint64_t address, void *context);

// X(name, parameters): each returns 0 or an error's number.
#define COMGR_SYMBOLS(X)                                                                                 \
  X(amd_comgr_create_data, (int kind, comgr_data *data))                                                 \
  X(amd_comgr_release_data, (comgr_data data))                                                           \
  X(amd_comgr_set_data, (comgr_data data, size_t size, const char *bytes))                               \
  X(amd_comgr_get_data_isa_name, (comgr_data data, size_t * size, char *name))                           \
  X(amd_comgr_get_data_metadata, (comgr_data data, comgr_metadata * metadata))                           \
  X(amd_comgr_destroy_metadata, (comgr_metadata metadata))                                               \
  X(amd_comgr_metadata_lookup, (comgr_metadata map, const char *key, comgr_metadata *value))             \
  X(amd_comgr_get_metadata_string, (comgr_metadata text, size_t * size, char *string))                   \
  X(amd_comgr_get_metadata_list_size, (comgr_metadata list, size_t * size))                              \
  X(amd_comgr_index_list_metadata, (comgr_metadata list, size_t index, comgr_metadata * value))          \
  X(amd_comgr_symbol_lookup, (comgr_data data, const char *name, comgr_symbol *symbol))                  \
  X(amd_comgr_symbol_get_info, (comgr_symbol symbol, int what, void *value))                             \
  X(amd_comgr_create_disassembly_info, (const char *isa, comgr_read_memory *, comgr_print_instruction *, \
                                        comgr_print_address *, comgr_disassembler *disassembler))        \
  X(amd_comgr_destroy_disassembly_info, (comgr_disassembler disassembler))                               \
  X(amd_comgr_disassemble_instruction,                                                                   \
    (comgr_disassembler disassembler, uint64_t address, void *context, uint64_t *size))

#endif
