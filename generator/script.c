#include "generator/script.h"

#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator/sandbox.h"

enum {
  HOOK_INTERVAL = 1000, // instructions between two looks at the limit
  CHEAP_BLOCK =
      4096, // bytes; larger allocations are charged, because filling them takes time that no hook sees
  BYTES_PER_STEP = 64, // of a large allocation, for one unit of work
};

gt_script *gt_script_of(lua_State *L) {
  return *(gt_script **)lua_getextraspace(L);
}

// Lua relies on shrinking never to fail.
static void *allocate(void *context, void *old, size_t old_size, size_t size) {
  gt_script *script = context;
  if (!old) old_size = 0; // then it tells the kind of object
  if (size == 0) {
    free(old);
    script->memory -= old_size;
    return NULL;
  }
  if (size > old_size) {
    if (size > CHEAP_BLOCK) {
      script->work += (int64_t)(size / BYTES_PER_STEP);
      if (script->work > script->limits.work) return NULL;
    }
    if (size - old_size > script->limits.memory - script->memory) {
      script->out_of_memory = true;
      return NULL;
    }
  }
  void *memory = realloc(old, size);
  if (!memory) return size > old_size ? NULL : old;
  script->memory += size - old_size;
  return memory;
}

void gt_script_charge(lua_State *L, int64_t work) {
  gt_script *script = gt_script_of(L);
  if (__builtin_add_overflow(script->work, work, &script->work)) script->work = INT64_MAX;
  if (script->work > script->limits.work)
    gt_script_raise(L, GT_TEMPLATE, "stopped after %lld instructions, the limit",
                    (long long)script->limits.work);
}

static void count(lua_State *L, lua_Debug *activation) {
  (void)activation;
  gt_script_charge(L, HOOK_INTERVAL);
}

int gt_script_raise(lua_State *L, gt_status status, const char *format, ...) {
  char text[sizeof((gt_error *)0)->text];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  gt_script_of(L)->raised = status;
  // The handler adds the position of the Lua code that is running, if any is.
  lua_pushstring(L, text);
  return lua_error(L);
}

static bool is_file(const char *source, const char *end) {
  size_t length = strlen(source), end_length = strlen(end);
  return length > end_length && strcmp(source + length - end_length, end) == 0;
}

// Whether the message begins with "source:digits:".
static bool has_position(const char *message, const char *source) {
  size_t length = strlen(source);
  if (strncmp(message, source, length) != 0 || message[length] != ':') return false;
  const char *digits = message + length + 1;
  size_t n = strspn(digits, "0123456789");
  return n > 0 && digits[n] == ':';
}

// Makes one line of an error: "file:line: message", and where a library is at fault also the template or
// script that called it. Frames are looked at from the innermost out.
static int handle(lua_State *L) {
  lua_Debug frame, innermost = {0}, caller = {0};
  bool inside = false, called = false, positioned = false;
  if (!lua_isstring(L, 1)) {
    lua_settop(L, 0);
    lua_pushliteral(L, "error without a message");
  }
  const char *message = lua_tostring(L, 1);
  for (int level = 1; lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline <= 0) continue;
    if (!inside) innermost = frame;
    inside = true;
    positioned |= has_position(message, frame.short_src);
  }
  for (int level = 1; lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline <= 0 || has_position(message, frame.short_src)) continue;
    if (!positioned && strcmp(frame.short_src, innermost.short_src) == 0) continue;
    bool better = !called ? strncmp(frame.short_src, "lib/", 4) != 0
                          : is_file(frame.short_src, ".kernel") && !is_file(caller.short_src, ".kernel");
    if (better) {
      caller = frame;
      called = true;
    }
  }
  if (inside && !positioned)
    lua_pushfstring(L, "%s:%d: %s", innermost.short_src, innermost.currentline, message);
  else
    lua_pushvalue(L, 1);
  if (called) {
    lua_pushfstring(L, " (called from %s:%d)", caller.short_src, caller.currentline);
    lua_concat(L, 2);
  }
  return 1;
}

gt_status gt_script_run(gt_script *script, lua_CFunction body, void *context, const char *what,
                        gt_error *error) {
  lua_State *L = script->L;
  script->work = 0;
  script->out_of_memory = false;
  script->raised = GT_TEMPLATE;
  lua_pushcfunction(L, handle);
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, context);
  int result = lua_pcall(L, 1, 0, -3);
  gt_status status = result == LUA_OK ? GT_OK : script->raised;
  if (result == LUA_ERRMEM || result == LUA_ERRERR) {
    if (script->work > script->limits.work)
      status = gt_fail(error, GT_TEMPLATE, "%s: stopped after %lld instructions, the limit", what,
                       (long long)script->limits.work);
    else if (script->out_of_memory)
      status = gt_fail(error, GT_TEMPLATE, "%s: needs more than %zu MiB of memory, the limit", what,
                       script->limits.memory >> 20);
    else if (result == LUA_ERRMEM)
      status = gt_fail(error, GT_OUT_OF_MEMORY, "%s: out of memory", what);
    else
      status = gt_fail(error, GT_TEMPLATE, "%s: too many calls within calls", what);
  } else if (result != LUA_OK) {
    status = gt_fail(error, status, "%s", lua_tostring(L, -1));
  }
  lua_settop(L, 0);
  script->output = NULL;
  return status;
}

void gt_script_load(lua_State *L, const char *text, size_t length, const char *name) {
  char chunk_name[LUA_IDSIZE];
  snprintf(chunk_name, sizeof chunk_name, "=%s", name);
  if (luaL_loadbufferx(L, text, length, chunk_name, "t") != LUA_OK) lua_error(L);
  gt_sandbox_push_script_environment(L);
  gt_script_set_environment(L, -2);
}

void gt_script_set_environment(lua_State *L, int chunk) {
  chunk = lua_absindex(L, chunk);
  lua_setupvalue(L, chunk, 1); // of a chunk, the first and only one is _ENV
}

gt_status gt_script_open(const gt_templates *templates, gt_script_limits limits, gt_script **result,
                         gt_error *error) {
  gt_script *script = gt_alloc(sizeof *script);
  *result = NULL;
  script->templates = templates;
  script->limits = limits;
  script->L = lua_newstate(allocate, script);
  if (!script->L) {
    free(script);
    return gt_fail(error, GT_OUT_OF_MEMORY, "cannot create a Lua state");
  }
  *(gt_script **)lua_getextraspace(script->L) = script;
  lua_sethook(script->L, count, LUA_MASKCOUNT, HOOK_INTERVAL);
  gt_status status = gt_script_run(script, gt_sandbox_open, NULL, "sandbox", error);
  if (status == GT_OK)
    *result = script;
  else
    gt_script_close(script);
  return status;
}

void gt_script_close(gt_script *script) {
  if (!script) return;
  lua_close(script->L);
  gt_buffer_free(&script->scratch);
  free(script);
}
