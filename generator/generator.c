#include "generator/generator.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "generator/family.h"
#include "generator/render.h"
#include "generator/view.h"

// ---- opening

// The family's name when the file is a family's script: "taps" of "taps.lua". The caller frees it.
static char *family_of_script(const char *file_name) {
  size_t length = strlen(file_name);
  if (strchr(file_name, '/') || length < 5 || strcmp(file_name + length - 4, ".lua") != 0) return NULL;
  char *name = gt_strdup(file_name);
  name[length - 4] = 0;
  return name;
}

static gt_status add_family(gt_generator *generator, const gt_template_file *script, char *name,
                            gt_error *error) {
  gt_family *family = &generator->families[generator->count];
  generator->names[generator->count++] = name;
  *family = (gt_family){.name = name, .script = script, .table = LUA_NOREF, .chunk = LUA_NOREF};
  if (!gt_is_name(name, strlen(name)))
    return gt_fail(error, GT_TEMPLATE, "%s: '%s' is no name for a family ([a-z][a-z0-9_]*)", script->name,
                   name);
  char *kernel = gt_print("%s.kernel", name);
  family->kernel = gt_templates_find(&generator->templates, kernel);
  free(kernel);
  if (!family->kernel)
    return gt_fail(error, GT_TEMPLATE, "%s: there is no %s.kernel beside it", script->name, name);
  return gt_script_run(generator->script, gt_family_load, family, script->name, error);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const gt_family *)a)->name, ((const gt_family *)b)->name);
}

gt_status gt_generator_open(const char *directory, gt_generator **result, gt_error *error) {
  gt_generator *generator = gt_alloc(sizeof *generator);
  *result = NULL;
  gt_status status = gt_templates_open(directory, &generator->templates, error);
  if (status != GT_OK) goto done;
  status = gt_script_open(&generator->templates, GT_SCRIPT_LIMITS, &generator->script, error);
  if (status != GT_OK) goto done;
  status = gt_script_run(generator->script, gt_view_open, NULL, "views", error);

  size_t files = generator->templates.count;
  generator->families = gt_alloc(files * sizeof *generator->families);
  generator->names = gt_alloc(files * sizeof *generator->names);
  for (size_t i = 0; status == GT_OK && i < files; i++) {
    char *name = family_of_script(generator->templates.files[i].name);
    if (name) status = add_family(generator, &generator->templates.files[i], name, error);
  }
  // Not the order of the files: "a_b.lua" comes after "a.lua", but "a1" of "a1.lua" after "a" of "a.lua".
  qsort(generator->families, generator->count, sizeof *generator->families, by_name);
  for (size_t i = 0; i < generator->count; i++) generator->names[i] = generator->families[i].name;

done:
  if (status == GT_OK)
    *result = generator;
  else
    gt_generator_close(generator);
  return status;
}

void gt_generator_close(gt_generator *generator) {
  if (!generator) return;
  for (size_t i = 0; i < generator->count; i++) {
    free(generator->families[i].name);
    free(generator->families[i].description);
  }
  free(generator->families);
  free(generator->names);
  gt_script_close(generator->script);
  gt_templates_close(&generator->templates);
  free(generator);
}

const char *const *gt_generator_families(const gt_generator *generator, size_t *count) {
  *count = generator->count;
  return generator->names;
}

gt_status gt_family_describe(gt_generator *generator, const char *family, gt_family_role *role,
                             const char **description, gt_error *error) {
  gt_request request;
  gt_status status = gt_request_begin(generator, family, NULL, NULL, &request, error);
  if (status == GT_OK) {
    *role = request.family->role;
    *description = request.family->description;
  }
  gt_request_end(&request);
  return status;
}

bool gt_is_of_candidate(gt_generator *generator, const char *configuration) {
  gt_family_role role;
  const char *description;
  char *family = gt_strdup(configuration);
  family[strcspn(family, ":")] = 0;
  gt_status status = gt_family_describe(generator, family, &role, &description, NULL);
  free(family);
  return status != GT_OK || role == GT_ROLE_CANDIDATE;
}

static int claim(lua_State *L) {
  gt_request_enter(L);
  return 0;
}

gt_status gt_family_claims(gt_generator *generator, const char *family, const gt_problem *problem,
                           const gt_fingerprint *device, gt_error *error) {
  gt_request request;
  gt_status status = gt_request_begin(generator, family, problem, device, &request, error);
  if (status == GT_OK) status = gt_request_run(&request, claim, error);
  gt_request_end(&request);
  return status;
}

// ---- rendering

typedef struct {
  gt_request request; // first, so that the body of a request finds it
  gt_configuration configuration;
  gt_variant variant;
} render_request;

// Appends the upper case form of a name.
static void append_upper(gt_buffer *text, const char *name) {
  for (; *name; name++) gt_buffer_print(text, "%c", toupper((unsigned char)*name));
}

static void append_file(lua_State *L, gt_request *request, const char *name) {
  const gt_template_file *file = gt_templates_find(&request->generator->templates, name);
  if (!file)
    gt_script_raise(L, GT_TEMPLATE, "%s: no %s among the templates", request->family->kernel->name, name);
  gt_buffer_append(&request->text, file->text, file->length);
  if (file->length && file->text[file->length - 1] != '\n') gt_buffer_append(&request->text, "\n", 1);
}

// What stands before the text of the template.
static void append_prelude(lua_State *L, gt_request *request) {
  gt_buffer *text = &request->text;
  const char *target = gt_target_name(request->device->target);
  gt_buffer_print(text, "#define GT_DTYPE_");
  append_upper(text, gt_dtype_name(request->problem->dtype));
  gt_buffer_print(text, " 1\n#define GT_TARGET_");
  append_upper(text, target);
  gt_buffer_print(text, " 1\n");
  append_file(L, request, lua_pushfstring(L, "target_%s.h", target));
  append_file(L, request, "common.h");
  lua_pop(L, 1);
}

// Pushes the table of names that the template has.
static void push_names(lua_State *L, gt_request *request) {
  lua_newtable(L);
  if (gt_request_call(L, request, "bindings", true, 1)) {
    if (!lua_istable(L, -1))
      gt_family_fault(L, request->family, "bindings", "returns a %s, not a table", luaL_typename(L, -1));
    for (lua_pushnil(L); lua_next(L, -2);) {
      if (lua_type(L, -2) != LUA_TSTRING)
        gt_family_fault(L, request->family, "bindings", "a key is a %s, not a name", luaL_typename(L, -2));
      if (gt_template_has_name(L, lua_tostring(L, -2)))
        gt_family_fault(L, request->family, "bindings", "'%s' is taken", lua_tostring(L, -2));
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_rawset(L, -5); // names, bindings, key, key, value
    }
    lua_pop(L, 1);
  }
  lua_pushvalue(L, GT_AT_PROBLEM);
  lua_setfield(L, -2, "p");
  lua_pushvalue(L, GT_AT_DEVICE);
  lua_setfield(L, -2, "device");
  lua_pushvalue(L, GT_AT_CONFIGURATION);
  lua_setfield(L, -2, "c");
}

static void render_text(lua_State *L, gt_request *request) {
  gt_family *family = request->family;
  append_prelude(L, request);
  if (family->chunk == LUA_NOREF) {
    gt_template_compile(L, family->kernel);
    family->chunk = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, family->chunk);
  push_names(L, request);
  gt_script *script = gt_script_of(L);
  script->output = &request->text;
  gt_template_run(L, -2, request->problem->dtype == GT_F64);
  script->output = NULL;
}

// Everything but the text.
static int plan(lua_State *L) {
  gt_request *request = gt_request_enter(L);
  render_request *context = (render_request *)request;
  const gt_family *family = request->family;
  gt_error error;
  gt_parameters_read(L);
  gt_status status = gt_parameters_choose(&request->parameters, &context->configuration, &error);
  if (status != GT_OK) gt_script_raise(L, status, "%s", error.text);
  gt_parameters_show(L);
  const char *why = gt_request_broken_constraint(L, request);
  if (why) gt_script_raise(L, GT_USAGE, "%s: these values do not go together: %s", family->name, why);
  lua_settop(L, GT_AT_TOP);
  gt_family_read_plan(L, request, &context->variant);
  return 0;
}

static int render(lua_State *L) {
  plan(L);
  render_text(L, lua_touserdata(L, GT_AT_REQUEST));
  return 0;
}

// Fills what follows from the text.
static void finish(render_request *context) {
  const gt_request *request = &context->request;
  gt_variant *variant = &context->variant;
  char problem[GT_PROBLEM_TEXT];
  gt_buffer source = {0};
  gt_problem_print_kernel(request->problem, problem);
  variant->family = gt_strdup(request->family->name);
  variant->configuration = gt_parameters_print(&request->parameters, request->family->name);
  // The comments are not part of the identity: two configurations may well give the same kernel.
  gt_hash(request->text.data, request->text.length, variant->source_hash);
  gt_buffer_print(&source, "// gathertune kernel\n// problem: %s\n// configuration: %s\n", problem,
                  variant->configuration);
  gt_buffer_append(&source, request->text.data, request->text.length);
  variant->source = source.data;
}

// Asks the family of a configuration; `context` is zeroed, and to be ended.
static gt_status ask(gt_generator *generator, const char *configuration, const gt_problem *problem,
                     const gt_fingerprint *device, lua_CFunction body, render_request *context, gt_error *error) {
  gt_status status = gt_configuration_parse(configuration, &context->configuration, error);
  if (status != GT_OK) return status;
  status =
      gt_request_begin(generator, context->configuration.family, problem, device, &context->request, error);
  return status == GT_OK ? gt_request_run(&context->request, body, error) : status;
}

static void end(render_request *context) {
  gt_request_end(&context->request);
  gt_configuration_free(&context->configuration);
}

gt_status gt_render(gt_generator *generator, const char *configuration, const gt_problem *problem,
                    const gt_fingerprint *device, gt_variant *variant, gt_error *error) {
  render_request context = {0};
  *variant = (gt_variant){0};
  gt_status status = ask(generator, configuration, problem, device, render, &context, error);
  if (status == GT_OK) {
    finish(&context);
    *variant = context.variant;
  }
  end(&context);
  return status;
}

gt_status gt_repeats(gt_generator *generator, const char *configuration, const gt_problem *problem,
                     const gt_fingerprint *device, bool *repeats, gt_error *error) {
  render_request context = {0};
  gt_status status = ask(generator, configuration, problem, device, plan, &context, error);
  *repeats = status == GT_OK && context.variant.reproducible;
  end(&context);
  return status;
}
