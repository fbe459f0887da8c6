// The kernel generator: families of templates, their search spaces, and rendering. Scripts run in a Lua state without
// io, os, or binary chunks, and under limits on memory and instructions.
#ifndef GT_GENERATOR_GENERATOR_H
#define GT_GENERATOR_GENERATOR_H

#include "base/status.h"
#include "device/fingerprint.h"
#include "generator/problem.h"
#include "generator/variant.h"

typedef struct gt_generator gt_generator;

// Opens the generator on the templates that are embedded in the program, or on those in `directory` when it is not NULL.
// GT_TEMPLATE when a script does not load, with file and line. Not safe to share between threads.
gt_status gt_generator_open(const char *directory, gt_generator **generator, gt_error *error);
void gt_generator_close(gt_generator *generator); // harmless on NULL

// Names of the families, sorted; `count` of them. Valid until the generator is closed.
const char *const *gt_generator_families(const gt_generator *generator, size_t *count);

// What a family is.
typedef enum {
  GT_ROLE_CANDIDATE, // the tuner chooses among these
  GT_ROLE_BASELINE,  // only when asked for (scatter)
  GT_ROLE_BOUND,     // computes nothing useful, never a candidate (stream)
} gt_family_role;
gt_status gt_family_describe(gt_generator *generator, const char *family, gt_family_role *role,
                             const char **description, gt_error *error);
// Whether a configuration is of a candidate. Those of families that the generator does not know are taken for such.
bool gt_is_of_candidate(gt_generator *generator, const char *configuration);

// Whether the family can do the problem on the device. GT_OK: yes. GT_UNSUPPORTED: no, and the error's text says why.
gt_status gt_family_claims(gt_generator *generator, const char *family, const gt_problem *problem,
                           const gt_fingerprint *device, gt_error *error);

// What a configuration does, as far as its family says (docs/templates.md): of a thread of a launch, on average. A family tells of the first
// launch, of a separable operator, whose bytes follow from the problem; or of each, with its bytes.
typedef struct gt_work {
  bool known;
  gt_launch_rule launch;      // the first; of `rest`: its own
  int launches;               // how many
  int64_t workspace_bytes;    // per outer index, of all launches
  double loads, load_bytes;   // how many (of grad_output, where the first launch alone is told of), and how many bytes each
  double flight;              // loads that are under way at a time
  double operations;          // multiply-adds and what counts as much
  double registers;           // of 32 bits, about
  double shared_bytes, steps; // shared memory of a block; barriers one after the other
  double rereads;             // where the first launch alone is told of: bytes that are loaded / bytes of grad_output, 1 or more
  double bytes, cached_bytes; // else: per outer index, moved from and to memory; and asked of the last-level cache, in whole sectors
  struct gt_work *rest;       // of the launches after the first, launches - 1 of them
  bool each;                  // every launch is told of
} gt_work;

// The search space of a family for a problem: every combination of parameter values that meets the constraints, in a fixed order.
typedef struct {
  char **configurations; // canonical texts
  gt_work *works;        // of each; NULL unless they were asked for
  size_t count;
  size_t rejected; // combinations that a constraint refused
} gt_space;
gt_status gt_space_make(gt_generator *generator, const char *family, const gt_problem *problem,
                        const gt_fingerprint *device, gt_space *space, gt_error *error);
// The same with works, which takes half as long again, and of families that tell of each launch up to nine times as long.
gt_status gt_space_make_with_works(gt_generator *generator, const char *family, const gt_problem *problem,
                                   const gt_fingerprint *device, gt_space *space, gt_error *error);
void gt_space_free(gt_space *space); // harmless on a zeroed space

// The family's configuration to use without tuning. The caller frees *configuration with free().
gt_status gt_family_default(gt_generator *generator, const char *family, const gt_problem *problem,
                            const gt_fingerprint *device, char **configuration, gt_error *error);

// Renders a configuration ("family:name=value,…"; every parameter once, in any order) for a problem and a device.
// GT_USAGE: unknown family or parameter, illegal value or a broken constraint, in one line that says which.
// GT_TEMPLATE: the template is at fault, with file and line.
gt_status gt_render(gt_generator *generator, const char *configuration, const gt_problem *problem,
                    const gt_fingerprint *device, gt_variant *variant, gt_error *error);

// Whether two runs of a configuration give the same bits by construction. Fails as gt_render does, without a look at the template.
gt_status gt_repeats(gt_generator *generator, const char *configuration, const gt_problem *problem,
                     const gt_fingerprint *device, bool *repeats, gt_error *error);

#endif
