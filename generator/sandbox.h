// What a script can name: a fixed set of functions without side effects. Order and text of what they return
// do not depend on the process.
#ifndef GT_GENERATOR_SANDBOX_H
#define GT_GENERATOR_SANDBOX_H

#include <lua.h>
#include <stdbool.h>

// Body of a gt_script_run that sets up a new state.
int gt_sandbox_open(lua_State *L);

// The environment of scripts: the sandbox's names and `use`. Pushes it.
void gt_sandbox_push_script_environment(lua_State *L);

// Replaces the table on top by an environment: reads go to the table, then to the sandbox; an unknown name is
// an error, and so is every write.
void gt_sandbox_make_environment(lua_State *L);

// Whether the sandbox has the name.
bool gt_sandbox_has(lua_State *L, const char *name);

#endif
