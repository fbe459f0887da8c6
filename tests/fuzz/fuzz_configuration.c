// A problem and, behind a line break, a configuration: its text is canonical or refused, and no template
// fails on it, whatever the problem.
#include <stdlib.h>
#include <string.h>

#include "generator/axis.h"
#include "generator/configuration.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_mutations = 40;

// A new string, or NULL when the text is refused.
static char *canonical(const char *text) {
  gt_configuration configuration;
  gt_error error = {0};
  gt_status status = gt_configuration_parse(text, &configuration, &error);
  if (status != GT_OK) {
    fuzz_refused(status, &error, "configuration");
    return NULL;
  }
  char *printed = gt_configuration_print(&configuration);
  gt_configuration_free(&configuration);
  return printed;
}

static void check_text(const char *text) {
  char *printed = canonical(text), *again = printed ? canonical(printed) : NULL;
  if (printed) {
    REQUIRE(again && strcmp(printed, again) == 0, "%s is printed as %s, and that as %s", text, printed,
            again);
    REQUIRE(gt_is_configuration(printed), "%s is no configuration", printed);
  }
  free(printed);
  free(again);
}

// Tables of gigabytes are a right of whoever asks for them, and no finding.
static bool takes_long(const gt_problem *problem) {
  int64_t bytes = 0;
  for (int axis = 0; axis < GT_AXES; axis++) bytes += gt_axis_bytes(problem, axis);
  return bytes > 1 << 20;
}

static void check_rendering(const char *text, const gt_problem *problem) {
  gt_variant variant = {0}, again = {0};
  gt_error error = {0};
  gt_fingerprint device = fuzz_device();
  gt_status status = gt_render(fuzz_generator(), text, problem, &device, &variant, &error);
  if (status != GT_OK) {
    fuzz_refused(status, &error, NULL);
    REQUIRE(status == GT_USAGE || status == GT_UNSUPPORTED, "%s: %s", gt_status_name(status), error.text);
    return;
  }
  REQUIRE(gt_render(fuzz_generator(), variant.configuration, problem, &device, &again, &error) == GT_OK,
          "%s: %s", variant.configuration, error.text);
  REQUIRE(strcmp(variant.source_hash, again.source_hash) == 0, "%s and %s have other sources", text,
          variant.configuration);
  gt_variant_free(&again);
  json_t *json = gt_variant_to_json(&variant);
  REQUIRE(gt_variant_from_json(json, &again, &error) == GT_OK, "a variant does not come back: %s",
          error.text);
  json_decref(json);
  gt_variant_free(&again);
  gt_variant_free(&variant);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size), *configuration = strchr(text, '\n');
  gt_problem problem;
  if (configuration) {
    *configuration++ = 0;
    check_text(configuration);
    if (gt_problem_parse(text, &problem, NULL) == GT_OK && !takes_long(&problem))
      check_rendering(configuration, &problem);
  }
  free(text);
  return 0;
}
