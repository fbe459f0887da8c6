// The search space: every combination of parameter values that no constraint refuses.
#include <stdlib.h>

#include "base/buffer.h"
#include "generator/family.h"
#include "generator/generator.h"

enum { SPACE_LIMIT = 1000 * 1000 }; // combinations, before constraints

typedef struct {
  gt_request request; // first, so that the body of a request finds it
  gt_space space;
  bool works;     // are asked for
  char *standard; // the default configuration
} space_request;

static void check_size(lua_State *L, const gt_request *request) {
  double size = 1;
  for (size_t i = 0; i < request->parameters.count; i++) size *= (double)request->parameters.list[i].n_values;
  if (size > SPACE_LIMIT)
    gt_family_fault(L, request->family, "parameters", "%.0f combinations, more than %d", size, SPACE_LIMIT);
}

// `work`: NULL where works are not asked for.
static void add(gt_space *space, char *configuration, const gt_work *work) {
  if ((space->count & (space->count - 1)) == 0) { // room for the next power of two
    size_t room = space->count ? 2 * space->count : 1;
    space->configurations = gt_realloc(space->configurations, room * sizeof(char *));
    if (work) space->works = gt_realloc(space->works, room * sizeof *space->works);
  }
  if (work) space->works[space->count] = *work;
  space->configurations[space->count++] = configuration;
}

static int enumerate(lua_State *L) {
  gt_request *request = gt_request_enter(L);
  gt_space *space = &((space_request *)request)->space;
  bool works = ((space_request *)request)->works;
  gt_parameters *parameters = &request->parameters;
  gt_parameters_read(L);
  check_size(L, request);
  gt_parameters_choose_default(L); // raises when it is not in the space
  for (size_t i = 0; i < parameters->count; i++) parameters->choice[i] = 0;
  do {
    gt_parameters_show(L);
    gt_work work;
    bool legal = !gt_request_broken_constraint(L, request);
    lua_settop(L, GT_AT_TOP);
    if (legal) {
      if (works) gt_family_read_work(L, request, &work);
      add(space, gt_parameters_print(parameters, request->family->name), works ? &work : NULL);
    } else {
      space->rejected++;
    }
    lua_settop(L, GT_AT_TOP);
  } while (gt_parameters_advance(parameters));
  return 0;
}

static gt_status make(gt_generator *generator, const char *family, const gt_problem *problem,
                      const gt_fingerprint *device, bool works, gt_space *space, gt_error *error) {
  space_request context = {.works = works};
  gt_status status = gt_request_begin(generator, family, problem, device, &context.request, error);
  if (status == GT_OK) status = gt_request_run(&context.request, enumerate, error);
  *space = context.space;
  if (status != GT_OK) gt_space_free(space);
  gt_request_end(&context.request);
  return status;
}

gt_status gt_space_make(gt_generator *generator, const char *family, const gt_problem *problem,
                        const gt_fingerprint *device, gt_space *space, gt_error *error) {
  return make(generator, family, problem, device, false, space, error);
}

gt_status gt_space_make_with_works(gt_generator *generator, const char *family, const gt_problem *problem,
                                   const gt_fingerprint *device, gt_space *space, gt_error *error) {
  return make(generator, family, problem, device, true, space, error);
}

void gt_space_free(gt_space *space) {
  for (size_t i = 0; i < space->count; i++) {
    free(space->configurations[i]);
    if (space->works) free(space->works[i].rest);
  }
  free(space->configurations);
  free(space->works);
  *space = (gt_space){0};
}

static int choose_default(lua_State *L) {
  gt_request *request = gt_request_enter(L);
  gt_parameters_read(L);
  gt_parameters_choose_default(L);
  ((space_request *)request)->standard = gt_parameters_print(&request->parameters, request->family->name);
  return 0;
}

gt_status gt_family_default(gt_generator *generator, const char *family, const gt_problem *problem,
                            const gt_fingerprint *device, char **configuration, gt_error *error) {
  space_request context = {0};
  gt_status status = gt_request_begin(generator, family, problem, device, &context.request, error);
  if (status == GT_OK) status = gt_request_run(&context.request, choose_default, error);
  *configuration = context.standard;
  gt_request_end(&context.request);
  return status;
}
