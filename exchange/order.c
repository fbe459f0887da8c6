#include "exchange/order.h"

#include <math.h>
#include <string.h>

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))
// The first difference decides.
#define DECIDE(expression)          \
  do {                              \
    int order_ = (expression);      \
    if (order_ != 0) return order_; \
  } while (0)

static int texts(const char *a, const char *b) {
  return strcmp(a ? a : "", b ? b : "");
}

int gt_order_models(const gt_fingerprint *a, const gt_fingerprint *b) {
  DECIDE(strcmp(a->backend, b->backend));
  DECIDE(strcmp(a->name, b->name));
  DECIDE(strcmp(a->arch, b->arch));
  return COMPARE(a->compute_units, b->compute_units);
}

int gt_order_devices(const gt_fingerprint *a, const gt_fingerprint *b) {
  DECIDE(gt_order_models(a, b));
  DECIDE(strcmp(a->pci_id, b->pci_id));
  DECIDE(COMPARE(a->memory_bytes, b->memory_bytes));
  DECIDE(strcmp(a->driver, b->driver));
  DECIDE(strcmp(a->runtime, b->runtime));
  return strcmp(a->compiler, b->compiler);
}

int gt_order_trial_keys(const gt_fingerprint *devices, const gt_collected_trial *a,
                        const gt_collected_trial *b) {
  DECIDE(a->device == b->device ? 0 : gt_order_devices(&devices[a->device], &devices[b->device]));
  DECIDE(strcmp(a->problem, b->problem));
  return strcmp(a->trial.configuration, b->trial.configuration);
}

int gt_order_winner_problems(const gt_fingerprint *devices, const gt_collected_winner *a,
                             const gt_collected_winner *b) {
  DECIDE(a->device == b->device ? 0 : gt_order_models(&devices[a->device], &devices[b->device]));
  return strcmp(a->winner.problem, b->winner.problem);
}

int gt_order_winner_keys(const gt_fingerprint *devices, const gt_collected_winner *a,
                         const gt_collected_winner *b) {
  DECIDE(gt_order_winner_problems(devices, a, b));
  return COMPARE(a->deterministic, b->deterministic);
}

static int samples(const gt_trial *a, const gt_trial *b) {
  DECIDE(COMPARE(a->n_samples, b->n_samples));
  for (size_t i = 0; i < a->n_samples; i++) DECIDE(COMPARE(a->samples_us[i], b->samples_us[i]));
  return 0;
}

int gt_order_trials(const gt_fingerprint *devices, const gt_collected_trial *a, const gt_collected_trial *b) {
  const gt_trial *one = &a->trial, *other = &b->trial;
  DECIDE(gt_order_trial_keys(devices, a, b));
  DECIDE(strcmp(b->tried_at, a->tried_at)); // ISO 8601, in UTC: texts are in the order of times
  DECIDE(COMPARE(one->outcome, other->outcome));
  DECIDE(COMPARE(other->checked, one->checked));
  DECIDE(COMPARE(one->median_us, other->median_us));
  DECIDE(COMPARE(one->spread_us, other->spread_us));
  DECIDE(samples(one, other));
  DECIDE(strcmp(one->source_hash, other->source_hash));
  DECIDE(texts(one->message, other->message));
  DECIDE(COMPARE(one->compile_ms, other->compile_ms));
  DECIDE(COMPARE(one->registers, other->registers));
  DECIDE(COMPARE(one->lds_bytes, other->lds_bytes));
  DECIDE(COMPARE(one->scratch_bytes, other->scratch_bytes));
  DECIDE(COMPARE(one->noisy, other->noisy));
  DECIDE(COMPARE(one->readings.temperature_c, other->readings.temperature_c));
  DECIDE(COMPARE(one->readings.clock_mhz, other->readings.clock_mhz));
  DECIDE(COMPARE(one->readings.memory_clock_mhz, other->readings.memory_clock_mhz));
  return strcmp(a->host, b->host);
}

static int variants(const gt_variant *a, const gt_variant *b) {
  DECIDE(strcmp(a->configuration, b->configuration));
  DECIDE(strcmp(a->source_hash, b->source_hash));
  DECIDE(COMPARE(a->n_launches, b->n_launches));
  for (int i = 0; i < a->n_launches; i++) {
    const gt_launch_rule *one = &a->launches[i], *other = &b->launches[i];
    DECIDE(strcmp(one->kernel, other->kernel));
    for (int k = 0; k < 3; k++) DECIDE(COMPARE(one->block[k], other->block[k]));
    DECIDE(COMPARE(one->blocks_num, other->blocks_num));
    DECIDE(COMPARE(one->blocks_den, other->blocks_den));
  }
  DECIDE(COMPARE(a->workspace_fixed, b->workspace_fixed));
  DECIDE(COMPARE(a->workspace_per_outer, b->workspace_per_outer));
  return COMPARE(a->reproducible, b->reproducible);
}

static int ties(const gt_winner *a, const gt_winner *b) {
  DECIDE(COMPARE(a->n_ties, b->n_ties));
  for (size_t i = 0; i < a->n_ties; i++) {
    DECIDE(strcmp(a->ties[i].configuration, b->ties[i].configuration));
    DECIDE(COMPARE(a->ties[i].median_us, b->ties[i].median_us));
    DECIDE(COMPARE(a->ties[i].registers, b->ties[i].registers));
  }
  return 0;
}

gt_interval gt_winner_interval(const gt_winner *winner) {
  if (winner->median_us <= 0) return (gt_interval){INFINITY, INFINITY}; // never timed
  return (gt_interval){fmax(0, winner->median_us - 2 * winner->spread_us),
                       winner->median_us + 2 * winner->spread_us};
}

int gt_order_winner_merits(const gt_fingerprint *devices, const gt_collected_winner *a,
                           const gt_collected_winner *b) {
  const gt_winner *one = &a->winner, *other = &b->winner;
  DECIDE(COMPARE(gt_winner_interval(one).high, gt_winner_interval(other).high));
  DECIDE(COMPARE(one->median_us, other->median_us));
  DECIDE(COMPARE(one->spread_us, other->spread_us));
  DECIDE(texts(other->code_hash[0] ? "1" : "", one->code_hash[0] ? "1" : "")); // with a code object first
  DECIDE(texts(other->tuned_at, one->tuned_at));                               // then the later one
  DECIDE(variants(&one->variant, &other->variant));
  DECIDE(gt_order_devices(&devices[a->device], &devices[b->device]));
  DECIDE(strcmp(one->code_hash, other->code_hash));
  DECIDE(texts(one->compiler, other->compiler));
  DECIDE(texts(one->driver, other->driver));
  DECIDE(COMPARE(one->default_us, other->default_us));
  DECIDE(COMPARE(one->stream_us, other->stream_us));
  DECIDE(ties(one, other));
  return strcmp(a->host, b->host);
}

int gt_order_winners(const gt_fingerprint *devices, const gt_collected_winner *a,
                     const gt_collected_winner *b) {
  DECIDE(gt_order_winner_keys(devices, a, b));
  return gt_order_winner_merits(devices, a, b);
}
