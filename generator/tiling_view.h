// Tilings for scripts (lib/tiling.lua).
#ifndef GT_GENERATOR_TILING_VIEW_H
#define GT_GENERATOR_TILING_VIEW_H

#include <lua.h>

#include "generator/axis.h"

// Pushes the tiling of an axis (generator/tiling.h) as a table. Arguments 1 to 3 of the running function are
// the inputs of a tile, `zeros` and `outside`. Raises what is wrong with them, and when there is too much to
// do.
int gt_tiling_push(lua_State *L, const gt_axis *axis);

#endif
