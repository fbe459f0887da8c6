// What scripts and templates see of a problem, a device and a configuration: read-only values, where reading
// a field that does not exist is an error. The batch size and the outer count are not among the fields: a
// variant serves all of them.
#ifndef GT_GENERATOR_VIEW_H
#define GT_GENERATOR_VIEW_H

#include <lua.h>

#include "device/fingerprint.h"
#include "generator/problem.h"

// Each pushes one value, and is called within a gt_script_run.

// The view copies the problem. The last one made is kept, with the taps that scripts asked for, and given
// again for problems that differ in nothing a kernel depends on.
void gt_view_push_problem(lua_State *L, const gt_problem *problem);
void gt_view_push_device(lua_State *L, const gt_fingerprint *device); // copies the fingerprint
// A view of the table on top, which it takes off: names and values of parameters. Later changes of the table
// show.
void gt_view_push_configuration(lua_State *L);

// Body of a gt_script_run that sets up a new state.
int gt_view_open(lua_State *L);

#endif
