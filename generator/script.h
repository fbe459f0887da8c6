// A Lua state for code from elsewhere: no files, no processes, no binary chunks, no way to change what other
// chunks see, and limits on memory and on work. The same script gives the same result in every process.
#ifndef GT_GENERATOR_SCRIPT_H
#define GT_GENERATOR_SCRIPT_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "generator/templates.h"

typedef struct {
  size_t memory; // bytes of the whole state
  int64_t work;  // instructions per gt_script_run; what costs time outside the interpreter is charged in the
                 // same unit
} gt_script_limits;

#define GT_SCRIPT_LIMITS ((gt_script_limits){(size_t)256 << 20, 400 * 1000 * 1000})

typedef struct {
  lua_State *L;
  const gt_templates *templates; // where `use` finds libraries
  gt_script_limits limits;
  size_t memory;      // bytes in use
  int64_t work;       // since the last gt_script_run began
  bool out_of_memory; // why an allocation was refused in this run
  gt_status raised;   // what the error on its way is to be reported as
  gt_buffer scratch;  // memory for whoever needs a text that an error must not leak
  gt_buffer *output;  // of the template that is being rendered, else NULL
} gt_script;

// `templates` must outlive the script.
gt_status gt_script_open(const gt_templates *templates, gt_script_limits limits, gt_script **script,
                         gt_error *error);
void gt_script_close(gt_script *script); // harmless on NULL

// The one way into Lua: runs body(context) as a protected call; body finds `context` as light userdata at
// index 1. Whatever is raised ends it and is returned as one line. An error leaves body by a jump, so memory
// that it allocates outside Lua must hang on the context. `what` names the run where Lua has no position to
// report.
gt_status gt_script_run(gt_script *script, lua_CFunction body, void *context, const char *what,
                        gt_error *error);

// For use within a run:

gt_script *gt_script_of(lua_State *L);
// Raises an error that gt_script_run returns as `status`.
int gt_script_raise(lua_State *L, gt_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Counts work that the interpreter does not see, and raises when there was too much of it.
void gt_script_charge(lua_State *L, int64_t work);
// Loads a text as a chunk and pushes it; its names are those of scripts. `name` is what messages call it.
void gt_script_load(lua_State *L, const char *text, size_t length, const char *name);
// Pops an environment and makes it the one of the chunk at index `chunk`.
void gt_script_set_environment(lua_State *L, int chunk);

#endif
