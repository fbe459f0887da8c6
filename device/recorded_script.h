// The file behind a recorded device: parsed, checked and asked. Its format is in recorded.h.
#ifndef GT_DEVICE_RECORDED_SCRIPT_H
#define GT_DEVICE_RECORDED_SCRIPT_H

#include <jansson.h>

#include "device/fingerprint.h"
#include "base/status.h"

// X(enumerator suffix, name in the file)
#define GT_ACTION_LIST(X)           \
  X(RUN, "run")                     \
  X(CRASH, "crash")                 \
  X(HANG, "hang")                   \
  X(EXIT, "exit")                   \
  X(KILL, "kill")                   \
  X(COMPILE_ERROR, "compile_error") \
  X(COMPILE_HANG, "compile_hang")   \
  X(COMPILE_CRASH, "compile_crash") \
  X(UNLOAD_CRASH, "unload_crash")   \
  X(LAUNCH_ERROR, "launch_error")   \
  X(WRONG, "wrong")                 \
  X(DEVICE_LOST, "device_lost")
typedef enum {
#define X(name, text) GT_ACTION_##name,
  GT_ACTION_LIST(X)
#undef X
} gt_action;

typedef struct {
  const char *match, *problem; // NULL matches everything
  double microseconds;         // 0 when the rule does not say
  double compile_seconds;      // < 0 when the rule does not say
  const json_t *samples;       // NULL, or an array of numbers
  gt_action action;
} gt_recorded_rule;

typedef struct {
  json_t *document; // owns the texts of the rules
  gt_fingerprint fingerprint;
  double default_microseconds;
  double hashed[2]; // both 0 when absent
  double compile_seconds, check_seconds; // that compiling and checks really take
  gt_readings readings;
  const char *journal; // path, NULL: none
  gt_recorded_rule *rules;
  size_t n_rules;
} gt_recorded_script;

gt_status gt_recorded_script_read(const char *path, gt_recorded_script *script, gt_error *error);
void gt_recorded_script_free(gt_recorded_script *script); // harmless on a zeroed one

// The first rule that matches, or NULL.
const gt_recorded_rule *gt_recorded_script_find(const gt_recorded_script *script, const char *problem,
                                                const char *configuration);

// The time of launch number `launch`, from 0, of a kernel that `rule` (or NULL) applies to, in microseconds.
double gt_recorded_script_time(const gt_recorded_script *script, const gt_recorded_rule *rule,
                               const char *configuration, size_t launch);

#endif
