// Oracle cases: small problems with results that another program computed. A file of cases, a JSON object a
// line, and beside it a file of the arrays (same name, ending .bin); tests/oracle/README.md describes both.
// Files from elsewhere are untrusted: every offset and shape is checked.
#ifndef GT_CLI_ORACLE_H
#define GT_CLI_ORACLE_H

#include <stddef.h>

#include "generator/tensors.h"

typedef struct {
  char id[64];
  char *skip; // why it cannot be run by this version; NULL when it can, and then only the rest is filled
  gt_problem problem;         // with layout nchw, and all gradients wanted
  double *values[GT_TENSORS]; // by gt_tensor_kind, NCHW order: what is given, and the right results
} gt_oracle_case;

typedef struct {
  gt_oracle_case *cases;
  size_t count;
} gt_oracle;

// Reads every case. GT_USAGE with "FILE:LINE: ..." at the first line that is malformed, or when a file cannot
// be read.
gt_status gt_oracle_read(const char *path, gt_oracle *oracle, gt_error *error);
void gt_oracle_free(gt_oracle *oracle); // harmless on a zeroed one

#endif
