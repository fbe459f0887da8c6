// The template language (docs/templates.md): lines of text with $(expression), and lines of Lua that begin
// with @. Every line of a template becomes one line of Lua, so that Lua's messages name the template's lines.
#ifndef GT_GENERATOR_RENDER_H
#define GT_GENERATOR_RENDER_H

#include <lua.h>
#include <stdbool.h>

#include "generator/templates.h"

#define GT_TEXT_LIMIT (16 << 20) // bytes that a template may write

// For use within a gt_script_run:

// Translates a template and pushes it as a chunk.
void gt_template_compile(lua_State *L, const gt_template_file *file);

// Runs the chunk at index `chunk` and appends what it writes to the script's output. Its names are those of
// the table on top, which is taken off, `emit`, `literal` and `include`, and those of the sandbox. Literals
// are double by default for problems of double arithmetic.
void gt_template_run(lua_State *L, int chunk, bool double_arithmetic);

// Whether a template has that name already, so that a script cannot bind it.
bool gt_template_has_name(lua_State *L, const char *name);

#endif
