#include "generator/render.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "generator/sandbox.h"
#include "generator/script.h"

// ---- translation

typedef struct {
  const char *file;
  int line;
  gt_buffer *lua; // the script's scratch buffer, so that it is freed when an error is raised
} translation;

static void append_text(gt_buffer *lua, const char *text) {
  gt_buffer_append(lua, text, strlen(text));
}

// Appends a text as it is written inside a Lua string.
static void append_escaped(gt_buffer *lua, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '"' || c == '\\')
      gt_buffer_print(lua, "\\%c", c);
    else if (c < 32 || c == 127)
      gt_buffer_print(lua, "\\%03d", c);
    else
      gt_buffer_append(lua, &text[i], 1);
  }
}

// The length of the expression that starts at `text`, up to its closing parenthesis; -1 when there is none.
static ptrdiff_t expression_length(const char *text, const char *end) {
  int depth = 1;
  for (const char *at = text; at < end; at++) {
    if (*at == '"' || *at == '\'') {
      char quote = *at++;
      for (; at < end && *at != quote; at++)
        if (*at == '\\') at++;
    } else if (*at == '(') {
      depth++;
    } else if (*at == ')' && --depth == 0) {
      return at - text;
    }
  }
  return -1;
}

// Compiles the expression alone. What passes is one whole expression, and cannot reach into the lines that
// follow by an open comment or string.
static void check_expression(lua_State *L, const translation *t, const char *text, size_t length) {
  lua_pushliteral(L, "return (");
  lua_pushlstring(L, text, length);
  lua_pushliteral(L, ")");
  lua_concat(L, 3);
  size_t size;
  const char *chunk = lua_tolstring(L, -1, &size);
  if (luaL_loadbufferx(L, chunk, size, "=", "t") != LUA_OK) {
    const char *message = strstr(lua_tostring(L, -1), ": "); // after an empty name and the line 1
    gt_script_raise(L, GT_TEMPLATE, "%s:%d: in $(%.*s): %s", t->file, t->line, length > 80 ? 80 : (int)length,
                    text, message ? message + strlen(": ") : lua_tostring(L, -1));
  }
  lua_pop(L, 2);
}

static void append_piece(translation *t, const char *text, size_t length, bool ends_line) {
  if (!length && !ends_line) return;
  append_text(t->lua, "_text(\"");
  append_escaped(t->lua, text, length);
  append_text(t->lua, ends_line ? "\\n\");" : "\");");
}

static void translate_text(lua_State *L, translation *t, const char *text, const char *end) {
  const char *dollar;
  while ((dollar = memchr(text, '$', (size_t)(end - text)))) {
    char next = dollar + 1 < end ? dollar[1] : 0;
    if (next == '$') {
      append_piece(t, text, (size_t)(dollar + 1 - text), false);
      text = dollar + 2;
      continue;
    }
    if (next != '(')
      gt_script_raise(L, GT_TEMPLATE, "%s:%d: '$' starts neither $(expression) nor $$", t->file, t->line);
    const char *expression = dollar + 2;
    ptrdiff_t length = expression_length(expression, end);
    if (length < 0)
      gt_script_raise(L, GT_TEMPLATE, "%s:%d: '$(' is not closed on its line", t->file, t->line);
    check_expression(L, t, expression, (size_t)length);
    append_piece(t, text, (size_t)(dollar - text), false);
    append_text(t->lua, "_value((");
    gt_buffer_append(t->lua, expression, (size_t)length);
    append_text(t->lua, "),\"");
    append_escaped(t->lua, expression, (size_t)length);
    append_text(t->lua, "\");");
    text = expression + length + 1;
  }
  append_piece(t, text, (size_t)(end - text), true);
}

void gt_template_compile(lua_State *L, const gt_template_file *file) {
  translation t = {file->name, 0, &gt_script_of(L)->scratch};
  gt_buffer_clear(t.lua);
  append_text(t.lua, "local _text,_value=...;");
  const char *at = file->text, *file_end = file->text + file->length;
  while (at < file_end) {
    const char *end = memchr(at, '\n', (size_t)(file_end - at)), *first = at;
    if (!end) end = file_end;
    t.line++;
    while (first < end && (*first == ' ' || *first == '\t')) first++;
    if (first < end && *first == '@')
      gt_buffer_append(t.lua, first + 1, (size_t)(end - first - 1));
    else
      translate_text(L, &t, at, end);
    append_text(t.lua, "\n");
    at = end + 1;
  }
  gt_script_load(L, t.lua->data, t.lua->length, file->name);
}

// ---- running

static void write(lua_State *L, const char *text, size_t length) {
  gt_buffer *output = gt_script_of(L)->output;
  // A template can keep `emit` beyond its run.
  if (!output) gt_script_raise(L, GT_TEMPLATE, "text is written while no template is rendered");
  if (memchr(text, 0, length)) gt_script_raise(L, GT_TEMPLATE, "the text has a zero byte");
  if (length > GT_TEXT_LIMIT - output->length)
    gt_script_raise(L, GT_TEMPLATE, "writes more than %d MiB of text, the limit", GT_TEXT_LIMIT >> 20);
  gt_buffer_append(output, text, length);
}

// Writes the value at an index; `what` is what messages call it.
static void write_value(lua_State *L, int index, const char *what) {
  char text[32];
  size_t length;
  const char *string;
  lua_Number number;
  int type = lua_type(L, index);
  switch (type) {
  case LUA_TSTRING:
    string = lua_tolstring(L, index, &length);
    write(L, string, length);
    return;
  case LUA_TNUMBER:
    number = lua_tonumber(L, index);
    if (!lua_isinteger(L, index) && !(number == floor(number) && fabs(number) < 0x1p63))
      gt_script_raise(L, GT_TEMPLATE, "%s is %.9g, not an integer; write literal(x)", what, number);
    lua_Integer integer = lua_isinteger(L, index) ? lua_tointeger(L, index) : (lua_Integer)number;
    write(L, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)integer));
    return;
  case LUA_TNIL:
  case LUA_TNONE:
    gt_script_raise(L, GT_TEMPLATE, "%s is nil", what);
    return;
  case LUA_TBOOLEAN:
    gt_script_raise(L, GT_TEMPLATE, "%s is %s, not text or an integer", what,
                    lua_toboolean(L, index) ? "true" : "false");
    return;
  default: // views have names of their own
    gt_script_raise(L, GT_TEMPLATE, "%s is a %s, not text or an integer", what,
                    luaL_getmetafield(L, index, "__name") == LUA_TSTRING ? lua_tostring(L, -1)
                                                                         : luaL_typename(L, index));
  }
}

static int write_text(lua_State *L) {
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length);
  write(L, text, length);
  return 0;
}

static int write_expression(lua_State *L) {
  char what[128];
  snprintf(what, sizeof what, "$(%.100s)", luaL_checkstring(L, 2));
  write_value(L, 1, what);
  return 0;
}

static void emit_line(lua_State *L, int index, const char *indent, size_t length) {
  write(L, indent, length);
  write_value(L, index, "what emit is given");
  write(L, "\n", 1);
}

// emit(line) or emit(lines [, indent]), lines being a list.
static int emit(lua_State *L) {
  size_t length;
  const char *indent = luaL_optlstring(L, 2, "", &length);
  lua_settop(L, 2);
  if (lua_type(L, 1) != LUA_TTABLE) {
    emit_line(L, 1, indent, length);
    return 0;
  }
  lua_Integer count = luaL_len(L, 1);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_geti(L, 1, i);
    emit_line(L, 3, indent, length);
    lua_settop(L, 2);
  }
  return 0;
}

// literal(x [, "float" | "double"]): a C literal with exactly the value of x in that type. Upvalue 1: the
// default type.
static int literal(lua_State *L) {
  static const char *const types[] = {"float", "double", NULL};
  double number = luaL_checknumber(L, 1);
  bool is_double = luaL_checkoption(L, 2, lua_tostring(L, lua_upvalueindex(1)), types) == 1;
  if (!is_double) number = (float)number;
  if (!isfinite(number))
    return gt_script_raise(L, GT_TEMPLATE, "literal: %s has no literal", isnan(number) ? "nan" : "infinity");
  char text[48];
  snprintf(text, sizeof text, is_double ? "%.17g" : "%.9g", fabs(number));
  // A program that uses the library may have set a locale whose decimal point is not a point.
  size_t n = strspn(text, "0123456789");
  if (text[n] && text[n] != 'e') text[n] = '.';
  bool is_whole = !text[n];
  // In parentheses, so that a sign before it does not make a "--".
  const char *format = signbit(number) ? "(-%s%s%s)" : "%s%s%s";
  char result[64];
  snprintf(result, sizeof result, format, text, is_whole ? ".0" : "", is_double ? "" : "f");
  lua_pushstring(L, result);
  return 1;
}

// Runs the template at the index with the names of the table on top, which is taken off, and leaves what it
// returns.
static void run(lua_State *L, int chunk) {
  chunk = lua_absindex(L, chunk);
  gt_sandbox_make_environment(L);
  gt_script_set_environment(L, chunk);
  lua_pushvalue(L, chunk);
  lua_pushcfunction(L, write_text);
  lua_pushcfunction(L, write_expression);
  lua_call(L, 2, 1);
}

// include(name): runs the part lib/name.kernel of the template, which has the template's names, and gives
// what it returns. Upvalues: the names, and the parts that are running.
static int include(lua_State *L) {
  static const char compiled_key[] = "gathertune parts";
  const char *name = luaL_checkstring(L, 1);
  lua_settop(L, 1);
  if (lua_getfield(L, lua_upvalueindex(2), name) != LUA_TNIL)
    return gt_script_raise(L, GT_TEMPLATE, "part '%s' includes itself", name);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, compiled_key);
  if (lua_getfield(L, 3, name) == LUA_TNIL) {
    const char *file_name = lua_pushfstring(L, "lib/%s.kernel", name);
    const gt_template_file *file = gt_templates_find(gt_script_of(L)->templates, file_name);
    if (!file) return gt_script_raise(L, GT_TEMPLATE, "no part '%s' (%s)", name, file_name);
    gt_template_compile(L, file);
    lua_replace(L, 4);
    lua_settop(L, 4);
    lua_pushvalue(L, 4);
    lua_setfield(L, 3, name);
  }
  lua_pushboolean(L, 1);
  lua_setfield(L, lua_upvalueindex(2), name);
  lua_pushvalue(L, lua_upvalueindex(1));
  run(L, 4);
  lua_pushnil(L);
  lua_setfield(L, lua_upvalueindex(2), name);
  return 1;
}

void gt_template_run(lua_State *L, int chunk, bool double_arithmetic) {
  chunk = lua_absindex(L, chunk);
  lua_pushcfunction(L, emit);
  lua_setfield(L, -2, "emit");
  lua_pushstring(L, double_arithmetic ? "double" : "float");
  lua_pushcclosure(L, literal, 1);
  lua_setfield(L, -2, "literal");
  lua_pushvalue(L, -1);
  lua_newtable(L);
  lua_pushcclosure(L, include, 2);
  lua_setfield(L, -2, "include");
  run(L, chunk);
  lua_pop(L, 1);
}

bool gt_template_has_name(lua_State *L, const char *name) {
  static const char *const names[] = {"p", "device", "c", "emit", "literal", "include", "_text", "_value"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return gt_sandbox_has(L, name);
}
