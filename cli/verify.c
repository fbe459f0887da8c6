// gathertune verify: runs oracle cases through the families and compares.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/oracle.h"
#include "cli/progress.h"
#include "generator/strides.h"
#include "tuner/reference.h"
#include "tuner/reference_grid.h"
#include "tuner/values.h"
#include "tuner/workshop.h"

typedef struct {
  const char *path, *device, *family, *config, *id, *layout;
  int64_t configurations; // of each family, its default among them; 0: all
  int64_t gap;            // elements after each stretch of grad_output; 0: it is dense
  int64_t every;          // of so many cases, the first only
  bool json;
  const char *device_text;
  gt_generator *generator;
  gt_workshop *workshop;
  size_t passed, failed, skipped;
  json_t *failures, *skips; // list; count by reason
  gt_progress progress;
} session;

enum { DEFAULT_CONFIGURATIONS = 4 };

static void skip(session *s, const char *reason) {
  json_int_t before = json_integer_value(json_object_get(s->skips, reason));
  json_object_set_new(s->skips, reason, json_integer(before + 1));
  s->skipped++;
}

// --- one configuration
// -------------------------------------------------------------------------------------------------

static void tell_failure(session *s, const gt_oracle_case *one, const gt_problem *problem,
                         const char *configuration, const char *outcome, const char *message) {
  gt_buffer line = {0};
  const char *layout = gt_layout_name(problem->layout);
  s->failed++;
  gt_command_start(&line, "verify");
  const char *words[] = {"--cases", s->path,    "--case",      one->id,    "--layout",
                         layout,    "--config", configuration, "--device", s->device_text};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) gt_command_word(&line, words[i]);
  if (s->gap) gt_buffer_print(&line, " --gap %lld", (long long)s->gap);
  gt_progress_clear(&s->progress);
  const char *want = problem->op->form == GT_FORM_GRID ? gt_want_name(problem->sampling.want) : NULL;
  gt_complain("case %s, %s, %s%s%s: %s: %s; again with", one->id, layout, configuration, want ? ", want=" : "",
              want ? want : "", outcome, message);
  fprintf(stderr, "  %s\n", line.data);
  json_array_append_new(s->failures, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "case", one->id, "layout",
                                               layout, "configuration", configuration, "outcome", outcome,
                                               "message", message, "again", line.data));
  gt_buffer_free(&line);
}

static gt_status verify_one(session *s, const gt_oracle_case *one, const gt_case *which,
                            const char *configuration, gt_error *error) {
  gt_variant variant = {0};
  gt_buffer message = {0};
  gt_outcome outcome = GT_OUTCOME_OK;
  gt_error reason = {0};
  gt_status status = gt_render(s->generator, configuration, which->problem,
                               gt_workshop_fingerprint(s->workshop), &variant, &reason);
  if (status != GT_OK) {
    tell_failure(s, one, which->problem, configuration, "does not render", reason.text);
    status = GT_OK;
    goto done;
  }
  status = gt_workshop_verify(s->workshop, &variant, which, &outcome, &message, error);
  if (status != GT_OK) goto done;
  if (outcome == GT_OUTCOME_OK)
    s->passed++;
  else
    tell_failure(s, one, which->problem, configuration, gt_outcome_name(outcome),
                 message.length ? message.data : "no message");
done:
  gt_variant_free(&variant);
  gt_buffer_free(&message);
  return status;
}

// --- one case
// ------------------------------------------------------------------------------------------------------------

// A number that follows from the case's name: where in a space its samples start, so that different cases try
// different configurations and every run the same.
static size_t start_of(const gt_oracle_case *one, const char *family, size_t count) {
  char text[128], hex[GT_HASH_SIZE];
  snprintf(text, sizeof text, "%s %s", one->id, family);
  gt_hash(text, strlen(text), hex);
  hex[12] = 0;
  return (size_t)(strtoull(hex, NULL, 16) % count);
}

static gt_status verify_family(session *s, const gt_oracle_case *one, const gt_case *which,
                               const char *family, gt_error *error) {
  const gt_fingerprint *device = gt_workshop_fingerprint(s->workshop);
  gt_space space = {0};
  char *standard = NULL;
  gt_status status = gt_family_default(s->generator, family, which->problem, device, &standard, error);
  if (status == GT_OK) status = gt_space_make(s->generator, family, which->problem, device, &space, error);
  if (status == GT_OK) status = verify_one(s, one, which, standard, error);
  size_t others = s->configurations > 0 ? (size_t)s->configurations - 1 : space.count;
  size_t samples = others < space.count ? others : space.count;
  size_t start = space.count ? start_of(one, family, space.count) : 0;
  for (size_t i = 0; i < samples && status == GT_OK; i++) {
    const char *configuration = space.configurations[(start + i * space.count / samples) % space.count];
    if (strcmp(configuration, standard) != 0) status = verify_one(s, one, which, configuration, error);
  }
  free(standard);
  gt_space_free(&space);
  return status;
}

// Every family that does the problem in its layout.
static gt_status verify_layout(session *s, const gt_oracle_case *one, const gt_case *which, gt_error *error) {
  size_t count = 0, claimed = 0;
  const char *const *families = gt_generator_families(s->generator, &count);
  gt_error reason = {.text = "there is none"};
  gt_status status = GT_OK;
  if (s->config) return verify_one(s, one, which, s->config, error);
  for (size_t i = 0; i < count && status == GT_OK; i++) {
    gt_family_role role;
    const char *description;
    if (s->family && strcmp(s->family, families[i]) != 0) continue;
    status = gt_family_describe(s->generator, families[i], &role, &description, error);
    if (status != GT_OK || role == GT_ROLE_BOUND) continue;
    status = gt_family_claims(s->generator, families[i], which->problem, gt_workshop_fingerprint(s->workshop),
                              &reason);
    if (status == GT_UNSUPPORTED) {
      status = GT_OK;
      continue;
    }
    if (status != GT_OK) {
      *error = reason;
      continue;
    }
    claimed++;
    status = verify_family(s, one, which, families[i], error);
  }
  if (status == GT_OK && !claimed) {
    char text[sizeof reason.text + 64];
    snprintf(text, sizeof text, "no family does it: %s", reason.text);
    skip(s, text);
  }
  return status;
}

// How large the terms of the results are, that tolerances refer to: by the reference, whose own results are of no
// interest. The expected ones are the oracle's.
static gt_status measure_terms(const gt_oracle_case *one, double *term[GT_TENSORS], gt_error *error) {
  const gt_problem *problem = &one->problem;
  double *sums[GT_TENSORS] = {0};
  gt_tensor tensors[GT_TENSORS];
  int count = gt_problem_tensors(problem, tensors);
  for (int i = 0; i < count; i++) {
    if (!tensors[i].is_result) continue;
    size_t elements = (size_t)gt_tensor_elements(problem, &tensors[i]);
    sums[tensors[i].kind] = gt_alloc(elements * sizeof(double));
    term[tensors[i].kind] = gt_alloc(elements * sizeof(double));
  }
  gt_status status = GT_OK;
  if (problem->op->form == GT_FORM_GRID)
    gt_reference_grid(problem, problem->n,
                      &(gt_grid_tensors){.grad_output = one->values[GT_GRAD_OUTPUT],
                                         .input = one->values[GT_INPUT],
                                         .grid = one->values[GT_GRID],
                                         .grad_input = sums[GT_GRAD_INPUT],
                                         .grad_input_term = term[GT_GRAD_INPUT],
                                         .grad_grid = sums[GT_GRAD_GRID],
                                         .grad_grid_term = term[GT_GRAD_GRID]});
  else
    status = gt_reference(problem, gt_problem_outer(problem), one->values[GT_GRAD_OUTPUT], sums[GT_GRAD_INPUT],
                          term[GT_GRAD_INPUT], error);
  for (int kind = 0; kind < GT_TENSORS; kind++) free(sums[kind]);
  return status;
}

// All gradients that there are; and of a grid operator, by the case's name and the layout, one of both alone.
static gt_status verify_wants(session *s, const gt_oracle_case *one, gt_problem *problem,
                              double *const term[GT_TENSORS], gt_error *error) {
  gt_case which = {.problem = problem};
  memcpy(which.values, one->values, sizeof one->values);
  memcpy(which.term, term, sizeof which.term);
  gt_status status = verify_layout(s, one, &which, error);
  if (status != GT_OK || problem->op->form != GT_FORM_GRID) return status;
  bool other = start_of(one, gt_layout_name(problem->layout), 2);
  problem->sampling.want = other ? GT_WANT_GRID : GT_WANT_INPUT;
  status = verify_layout(s, one, &which, error);
  problem->sampling.want = GT_WANT_BOTH;
  return status;
}

static gt_status verify_case(session *s, const gt_oracle_case *one, gt_error *error) {
  if (one->skip) {
    skip(s, one->skip);
    return GT_OK;
  }
  gt_problem problem = one->problem;
  double *term[GT_TENSORS] = {0};
  gt_status status = GT_OK;
  if (gt_problem_in_elements(&problem) == 0) {
    skip(s, "empty problem: nothing to launch");
    goto done;
  }
  if (s->gap && !(problem.op->keys & GT_KEY_STRIDE)) {
    skip(s, "its operator takes dense gradients only");
    goto done;
  }
  status = measure_terms(one, term, error);
  if (status == GT_UNSUPPORTED) {
    skip(s, error->text);
    status = GT_OK;
    goto done;
  }
  for (int layout = 0; layout < 2 && status == GT_OK; layout++) {
    problem.layout = layout ? GT_NHWC : GT_NCHW;
    if (s->layout && strcmp(s->layout, gt_layout_name(problem.layout)) != 0) continue;
    if (s->gap && (status = gt_strides_spread(&problem, s->gap, error)) != GT_OK) break;
    status = verify_wants(s, one, &problem, term, error);
  }
done:
  for (int kind = 0; kind < GT_TENSORS; kind++) free(term[kind]);
  return status;
}

// --- the command
// -----------------------------------------------------------------------------------------------------------

static void print_result(session *s) {
  const char *reason;
  json_t *count;
  gt_progress_clear(&s->progress);
  if (s->json) {
    gt_print_json(json_pack("{s:s, s:I, s:I, s:I, s:O, s:O}", "device", s->device_text, "passed",
                            (json_int_t)s->passed, "failed", (json_int_t)s->failed, "skipped",
                            (json_int_t)s->skipped, "failures", s->failures, "skips", s->skips));
    return;
  }
  json_object_foreach(s->skips, reason, count)
      printf("skipped %lld: %s\n", (long long)json_integer_value(count), reason);
  printf("%zu passed, %zu failed, %zu skipped\n", s->passed, s->failed, s->skipped);
}

static gt_status verify_all(session *s, const gt_oracle *oracle, gt_error *error) {
  gt_status status = GT_OK;
  bool found = false;
  gt_progress_start(&s->progress);
  for (size_t i = 0; i < oracle->count && status == GT_OK; i++) {
    const gt_oracle_case *one = &oracle->cases[i];
    if (s->id ? strcmp(s->id, one->id) != 0 : i % (size_t)s->every != 0) continue;
    found = true;
    char text[160];
    snprintf(text, sizeof text, "case %zu of %zu: %s, %zu passed, %zu failed", i + 1, oracle->count, one->id,
             s->passed, s->failed);
    gt_progress_text(&s->progress, text);
    status = verify_case(s, one, error);
  }
  if (status == GT_OK && s->id && !found)
    status = gt_fail(error, GT_USAGE, "%s has no case '%s'", s->path, s->id);
  return status;
}

// One that there is, and whose results can be right or wrong.
static gt_status check_family(const session *s, const char *family, gt_error *error) {
  gt_family_role role;
  const char *description;
  gt_status status = gt_check_family(s->generator, family, error);
  if (status == GT_OK) status = gt_family_describe(s->generator, family, &role, &description, error);
  if (status == GT_OK && role == GT_ROLE_BOUND)
    status = gt_fail(error, GT_USAGE, "%s computes nothing useful: there are no results to compare", family);
  return status;
}

static int run(session *s) {
  gt_oracle oracle = {0};
  gt_error error = {0};
  gt_status status = gt_oracle_read(s->path, &oracle, &error);
  if (status == GT_OK) status = gt_open_generator(&s->generator, &error);
  char family[64];
  const char *from = s->config ? s->config : s->family;
  snprintf(family, sizeof family, "%.*s", (int)(from ? strcspn(from, ":") : 0), from ? from : "");
  if (status == GT_OK && from) status = check_family(s, family, &error);
  if (status != GT_OK) goto done;
  gt_catch_interrupts();
  status = gt_workshop_open(s->device, NULL, &s->workshop, &error);
  if (status != GT_OK) goto done;
  if (!gt_workshop_executes(s->workshop)) {
    status =
        gt_fail(&error, GT_UNSUPPORTED, "%s computes nothing: there are no results to compare", s->device);
    goto done;
  }
  s->device_text = strcmp(s->device, "auto") == 0 ? gt_workshop_device(s->workshop) : s->device;
  s->failures = json_array();
  s->skips = json_object();
  status = verify_all(s, &oracle, &error);
  print_result(s);
done:
  if (status != GT_OK) gt_complain_error(&error);
  json_decref(s->failures);
  json_decref(s->skips);
  gt_workshop_close(s->workshop);
  gt_generator_close(s->generator);
  gt_oracle_free(&oracle);
  if (status == GT_INTERRUPTED) return GT_EXIT_INTERRUPTED;
  return status != GT_OK ? gt_exit_code(status) : s->failed ? 1 : 0;
}

int gt_command_verify(int argc, char **argv) {
  session s = {.device = "auto", .configurations = -1, .every = -1};
  const gt_option options[] = {
      {"cases", 0, GT_OPTION_TEXT, &s.path, "FILE.jsonl",
       "the cases; their arrays lie beside them in FILE.bin"},
      {"case", 0, GT_OPTION_TEXT, &s.id, "ID", "only this case"},
      {"every", 0, GT_OPTION_COUNT, &s.every, "N", "only each N-th case (default 1: all)"},
      {"device", 0, GT_OPTION_TEXT, &s.device, "DEVICE", GT_HELP_DEVICE},
      {"family", 0, GT_OPTION_TEXT, &s.family, "FAMILY", "only this family (default: all that do the case)"},
      {"layout", 0, GT_OPTION_TEXT, &s.layout, "LAYOUT", "only nchw or only nhwc (default: both)"},
      {"config", 0, GT_OPTION_TEXT, &s.config, "CONFIGURATION", "only this configuration"},
      {"configurations", 0, GT_OPTION_COUNT, &s.configurations, "N",
       "tried per family: its default, then others spread over its space (default 4; 0: all)"},
      {"gap", 0, GT_OPTION_COUNT, &s.gap, "N",
       "grad_output with N elements between rows, slices and so on, which hold NaNs\n"
       "(default 0: dense)"},
      {"json", 0, GT_OPTION_FLAG, &s.json, NULL, GT_HELP_JSON},
      {0},
  };
  const gt_usage usage = {
      .command = "verify",
      .arguments = "--cases FILE.jsonl",
      .about = "Runs problems whose results another program computed through every family that does them, in "
               "both layouts,\n"
               "and compares. Each case, family, layout and configuration counts as one. Exits with 1 after "
               "a failure.",
      .options = options,
      .examples = "  gathertune verify --cases tests/oracle/open.jsonl --device opencl:0 --family direct\n",
  };
  char **arguments;
  int count, result = gt_options_parse(&usage, argc, argv, &arguments, &count);
  if (result != GT_CONTINUE) return result;
  if (count || !s.path) {
    gt_complain(count ? "verify: takes no argument '%s'; see gathertune verify --help"
                      : "verify: --cases FILE.jsonl is needed%.0s; see gathertune verify --help",
                count ? arguments[0] : "");
    return 2;
  }
  if (s.layout && strcmp(s.layout, "nchw") != 0 && strcmp(s.layout, "nhwc") != 0) {
    gt_complain("verify: --layout takes nchw or nhwc, not '%s'", s.layout);
    return 2;
  }
  if (s.every == 0) {
    gt_complain("verify: --every takes 1 and more, not %lld", (long long)s.every);
    return 2;
  }
  if (s.gap > GT_LARGEST_GAP) {
    gt_complain("verify: --gap takes up to %d, not %lld", GT_LARGEST_GAP, (long long)s.gap);
    return 2;
  }
  if (s.config && s.family) {
    gt_complain("verify: --config names its family: --family does not go with it");
    return 2;
  }
  if (s.config && s.configurations >= 0) {
    gt_complain("verify: --config is one configuration: --configurations does not go with it");
    return 2;
  }
  if (s.id && s.every > 0) {
    gt_complain("verify: --case is one case: --every does not go with it");
    return 2;
  }
  if (s.configurations < 0) s.configurations = DEFAULT_CONFIGURATIONS;
  if (s.every < 0) s.every = 1;
  return run(&s);
}
