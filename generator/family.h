// Families: the tables that template scripts return, and calls of the functions in them.
#ifndef GT_GENERATOR_FAMILY_H
#define GT_GENERATOR_FAMILY_H

#include "generator/generator.h"
#include "generator/parameters.h"
#include "generator/script.h"
#include "generator/templates.h"

typedef struct {
  char *name;                     // "taps"
  const gt_template_file *script; // taps.lua
  const gt_template_file *kernel; // taps.kernel
  gt_family_role role;
  gt_form form; // of the operators that it is for
  char *description;
  int table; // registry reference of the table that the script returned
  int chunk; // of the compiled template, LUA_NOREF until it is used first
} gt_family;

struct gt_generator {
  gt_templates templates;
  gt_script *script;
  gt_family *families; // sorted by name, as templates are
  const char **names;
  size_t count;
};

// One question to a family. It is the context of a gt_script_run, and owns what the run allocates outside
// Lua.
typedef struct {
  gt_generator *generator;
  gt_family *family;
  const gt_problem *problem;
  const gt_fingerprint *device;
  gt_parameters parameters;
  gt_buffer text;
} gt_request;

// Where the body of a request finds things on the Lua stack after gt_request_enter.
enum {
  GT_AT_REQUEST = 1,
  GT_AT_FAMILY,  // the family's table
  GT_AT_PROBLEM, // views
  GT_AT_DEVICE,
  GT_AT_VALUES,        // parameter name → value, at first empty
  GT_AT_CONFIGURATION, // the view of those
  GT_AT_TOP = GT_AT_CONFIGURATION
};

// GT_USAGE, listing the families, when there is none of that name. GT_UNSUPPORTED for a problem without channels
// whose kernels would have them in their text.
gt_status gt_request_begin(gt_generator *generator, const char *family, const gt_problem *problem,
                           const gt_fingerprint *device, gt_request *request, gt_error *error);
void gt_request_end(gt_request *request);
gt_status gt_request_run(gt_request *request, lua_CFunction body, gt_error *error);

// For use within the body of a request:

// The request at index 1, with the stack filled as above. Raises GT_UNSUPPORTED when the family does not
// claim the problem.
gt_request *gt_request_enter(lua_State *L);
// Calls a function of the family with (p, device) or (c, p, device); pushes `results` values. False, and
// nothing pushed, when the family leaves the function out.
bool gt_request_call(lua_State *L, const gt_request *request, const char *field, bool with_configuration,
                     int results);
// The reason of the first constraint that the current values break, or NULL. It stays on the stack.
const char *gt_request_broken_constraint(lua_State *L, const gt_request *request);

// Asks for launches, workspace and reproducibility of the current values (launches.c).
void gt_family_read_plan(lua_State *L, const gt_request *request, gt_variant *variant);

// What a thread does, where the family says it.
void gt_family_read_work(lua_State *L, const gt_request *request, gt_work *work);

// Body of a gt_script_run: loads the script of the gt_family that is its context.
int gt_family_load(lua_State *L);

// Raises GT_TEMPLATE: "taps.lua:12: <field>: message", with the line of the family's function where it is
// one.
int gt_family_fault(lua_State *L, const gt_family *family, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// A field of the table at `index` that is not among `fields` (ended by NULL), or NULL.
const char *gt_unknown_field(lua_State *L, int index, const char *const *fields);
// Reads an integer of at least `minimum` from the value at `index`; false when it is none.
bool gt_read_integer(lua_State *L, int index, int64_t minimum, int64_t *value);

#endif
