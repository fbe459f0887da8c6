#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cache/origin.h"
#include "cache/query.h"
#include "generator/configuration.h"

void gt_trial_free(gt_trial *trial) {
  free(trial->configuration);
  free(trial->message);
  free(trial->samples_us);
  *trial = (gt_trial){0};
}

bool gt_trial_is_timed(const gt_trial *trial) {
  return trial->outcome == GT_OUTCOME_OK && trial->median_us > 0;
}

char *gt_trial_duplicate_of(const gt_trial *trial) {
  size_t skip = strlen(GT_TRIAL_DUPLICATE);
  if (!trial->message || strncmp(trial->message, GT_TRIAL_DUPLICATE, skip) != 0) return NULL;
  const char *from = trial->message + skip, *end = strstr(from, ": ");
  return gt_print("%.*s", (int)(end ? (size_t)(end - from) : strlen(from)), from);
}

static bool is_hash(const char *text) {
  size_t length = strlen(text);
  return length == 0 || (length == GT_HASH_SIZE - 1 && strspn(text, "0123456789abcdef") == length);
}

// A JSON array, as a string that the caller frees.
static char *print_samples(const double *samples, size_t count) {
  json_t *array = json_array();
  for (size_t i = 0; i < count; i++) json_array_append_new(array, json_real(samples[i]));
  char *text = json_dumps(array, JSON_COMPACT | JSON_REAL_PRECISION(17)); // every double comes back as it was
  json_decref(array);
  return text;
}

static bool parse_samples(const char *text, gt_trial *trial) {
  json_t *array = json_loads(text, 0, NULL);
  bool good = json_is_array(array);
  size_t count = json_array_size(array); // 0 for what is no array
  trial->samples_us = gt_alloc(count * sizeof *trial->samples_us);
  for (size_t i = 0; i < count && good; i++) {
    json_t *sample = json_array_get(array, i);
    trial->samples_us[i] = json_number_value(sample);
    good = json_is_number(sample) && gt_is_time(trial->samples_us[i]);
  }
  if (good) trial->n_samples = count;
  json_decref(array);
  return good;
}

// What trials and rechecks have in common: the first columns after the key, and the last.
static void read_outcome(gt_query *query, gt_trial *trial) {
  if (!gt_outcome_from_name(gt_column_text(query), &trial->outcome)) gt_column_bad(query);
  trial->message = gt_strdup(gt_column_text(query));
  if (!parse_samples(gt_column_text(query), trial)) gt_column_bad(query);
  trial->median_us = gt_column_real(query);
  trial->spread_us = gt_column_real(query);
}

static void read_conditions(gt_query *query, gt_trial *trial) {
  trial->noisy = gt_column_int(query, 0, 1);
  trial->readings.temperature_c = (int)gt_column_int(query, 0, INT_MAX);
  trial->readings.clock_mhz = (int)gt_column_int(query, 0, INT_MAX);
  trial->readings.memory_clock_mhz = (int)gt_column_int(query, 0, INT_MAX);
}

// Binds what both have, for the device and problem of these ids. `samples`: print_samples' text, bound until
// the query ran.
static void bind_measured(gt_query *query, int64_t device, int64_t problem, const gt_trial *trial,
                          const char *samples) {
  gt_bind_int(query, ":device", device);
  gt_bind_int(query, ":problem", problem);
  gt_bind_text(query, ":configuration", trial->configuration);
  gt_bind_text(query, ":outcome", gt_outcome_name(trial->outcome));
  gt_bind_text(query, ":message", trial->message ? trial->message : "");
  gt_bind_text(query, ":samples_us", samples);
  gt_bind_real(query, ":median_us", trial->median_us);
  gt_bind_real(query, ":spread_us", trial->spread_us);
  gt_bind_int(query, ":noisy", trial->noisy);
  gt_bind_int(query, ":temperature_c", trial->readings.temperature_c);
  gt_bind_int(query, ":clock_mhz", trial->readings.clock_mhz);
  gt_bind_int(query, ":memory_clock_mhz", trial->readings.memory_clock_mhz);
}

// The ids of a device and a problem. `make`: they are made where they are not there, else GT_NOT_FOUND.
static gt_status find_keys(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem, bool make,
                           int64_t *device_id, int64_t *problem_id, gt_error *error) {
  int64_t model_id;
  gt_status status = gt_key_model(cache, device, make, &model_id, error);
  if (status == GT_OK) status = gt_key_device(cache, device, model_id, make, device_id, error);
  if (status == GT_OK) status = gt_key_problem(cache, problem, make, problem_id, error);
  return status;
}

static gt_status read_trial(gt_query *query, gt_trial *trial, gt_error *error) {
  *trial = (gt_trial){0};
  trial->configuration = gt_strdup(gt_column_configuration(query));
  const char *hash = gt_column_text(query);
  if (is_hash(hash))
    strcpy(trial->source_hash, hash);
  else
    gt_column_bad(query);
  read_outcome(query, trial);
  trial->checked = gt_column_int(query, 0, 1);
  trial->compile_ms = gt_column_real(query);
  trial->registers = (int)gt_column_int(query, -1, INT_MAX);
  trial->lds_bytes = (int)gt_column_int(query, -1, INT_MAX);
  trial->scratch_bytes = (int)gt_column_int(query, -1, INT_MAX);
  read_conditions(query, trial);
  gt_status status = gt_query_check(query, error);
  if (status != GT_OK) gt_trial_free(trial);
  return status;
}

static gt_status validate(const gt_trial *trial, gt_error *error) {
  if (!trial->configuration || !trial->configuration[0])
    return gt_fail(error, GT_USAGE, "a trial without a configuration cannot be stored");
  if (!gt_is_configuration(trial->configuration))
    return gt_fail(error, GT_USAGE, "the trial of %s cannot be stored: that is no configuration",
                   trial->configuration);
  bool good = is_hash(trial->source_hash) && (unsigned)trial->outcome <= GT_OUTCOME_TIMEOUT &&
              gt_is_time(trial->median_us) && gt_is_time(trial->spread_us) && gt_is_time(trial->compile_ms) &&
              trial->registers >= -1 && trial->lds_bytes >= -1 && trial->scratch_bytes >= -1 &&
              trial->readings.temperature_c >= 0 && trial->readings.clock_mhz >= 0 &&
              trial->readings.memory_clock_mhz >= 0;
  for (size_t i = 0; i < trial->n_samples; i++) good = good && gt_is_time(trial->samples_us[i]);
  if (good) return GT_OK;
  return gt_fail(error, GT_USAGE, "the trial of %s holds a number that cannot be", trial->configuration);
}

static gt_status put(gt_cache *cache, int64_t device, int64_t problem, const gt_trial *trial,
                     const char *samples, const char *now, gt_error *error) {
  gt_query query = gt_query_begin(cache, GT_SQL_PUT_TRIAL);
  bind_measured(&query, device, problem, trial, samples);
  gt_bind_text(&query, ":source_hash", trial->source_hash);
  gt_bind_int(&query, ":checked", trial->checked);
  gt_bind_real(&query, ":compile_ms", trial->compile_ms);
  gt_bind_int(&query, ":registers", trial->registers);
  gt_bind_int(&query, ":lds_bytes", trial->lds_bytes);
  gt_bind_int(&query, ":scratch_bytes", trial->scratch_bytes);
  gt_bind_text(&query, ":tried_at", now);
  return gt_query_run(&query, error);
}

void gt_cache_here_and_now(char host[GT_HOST_SIZE], char utc[GT_UTC_SIZE]) {
  gt_store_utc(utc);
  gt_host(host);
}

gt_status gt_cache_put_trial(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                             const gt_trial *trial, gt_error *error) {
  char now[GT_UTC_SIZE], host[GT_HOST_SIZE];
  gt_cache_here_and_now(host, now);
  return gt_cache_put_trial_record(cache, device, problem, trial, now, host, error);
}

gt_status gt_cache_put_trial_record(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                                    const gt_trial *trial, const char *tried_at, const char *host,
                                    gt_error *error) {
  gt_status status = validate(trial, error);
  if (status != GT_OK) return status;
  char *samples = print_samples(trial->samples_us, trial->n_samples);
  status = gt_store_begin(cache, error);
  if (status == GT_OK) {
    int64_t device_id, problem_id;
    status = find_keys(cache, device, problem, true, &device_id, &problem_id, error);
    if (status == GT_OK) status = put(cache, device_id, problem_id, trial, samples, tried_at, error);
    if (status == GT_OK)
      status = gt_origin_put(cache, GT_ORIGIN_TRIAL, device_id, problem_id, trial->configuration, host, error);
    status = gt_store_end(cache, status, error);
  }
  free(samples);
  return status;
}

gt_status gt_cache_get_trial(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                             const char *configuration, gt_trial *trial, gt_error *error) {
  *trial = (gt_trial){0};
  int64_t device_id, problem_id;
  gt_status status = find_keys(cache, device, problem, false, &device_id, &problem_id, error);
  if (status != GT_OK) return status;

  gt_query query = gt_query_begin(cache, GT_SQL_GET_TRIAL);
  gt_bind_int(&query, ":device", device_id);
  gt_bind_int(&query, ":problem", problem_id);
  gt_bind_text(&query, ":configuration", configuration);
  bool row;
  status = gt_query_step(&query, &row, error);
  if (status == GT_OK)
    status =
        row ? read_trial(&query, trial, error)
            : gt_fail(error, GT_NOT_FOUND, "%s: %s was not tried on this device", cache->path, configuration);
  gt_query_end(&query);
  return status;
}

gt_status gt_cache_count_trials(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                                size_t *count, gt_error *error) {
  *count = 0;
  int64_t device_id, problem_id;
  gt_status status = find_keys(cache, device, problem, false, &device_id, &problem_id, error);
  if (status != GT_OK) return status == GT_NOT_FOUND ? GT_OK : status;
  gt_query query = gt_query_begin(cache, GT_SQL_COUNT_TRIALS);
  gt_bind_int(&query, ":device", device_id);
  gt_bind_int(&query, ":problem", problem_id);
  bool row;
  status = gt_query_step(&query, &row, error);
  if (status == GT_OK && row) *count = (size_t)gt_column_int(&query, 0, INT64_MAX);
  if (status == GT_OK) status = gt_query_check(&query, error);
  gt_query_end(&query);
  return status;
}

gt_status gt_cache_each_trial(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                              void (*visit)(void *context, const gt_trial *trial), void *context,
                              gt_error *error) {
  int64_t model_id, problem_id;
  gt_status status = gt_key_model(cache, device, false, &model_id, error);
  if (status == GT_OK) status = gt_key_problem(cache, problem, false, &problem_id, error);
  if (status == GT_NOT_FOUND) return GT_OK;
  if (status != GT_OK) return status;

  gt_query query = gt_query_begin(cache, GT_SQL_EACH_TRIAL);
  gt_bind_int(&query, ":model", model_id);
  gt_bind_int(&query, ":problem", problem_id);
  for (bool row = true; status == GT_OK;) {
    status = gt_query_step(&query, &row, error);
    if (status != GT_OK || !row) break;
    gt_trial trial;
    status = read_trial(&query, &trial, error);
    if (status != GT_OK) break;
    visit(context, &trial);
    gt_trial_free(&trial);
  }
  gt_query_end(&query);
  return status;
}

gt_status gt_cache_each_stored_trial(gt_cache *cache, const gt_fingerprint *device,
                                     gt_status (*visit)(void *context, const char *model, const char *problem,
                                                        const gt_trial *trial, gt_error *error),
                                     void *context, gt_error *error) {
  int64_t model_id = -1;
  gt_status status = device ? gt_key_model(cache, device, false, &model_id, error) : GT_OK;
  if (status == GT_NOT_FOUND) return GT_OK;
  if (status != GT_OK) return status;
  gt_query query = gt_query_begin(cache, GT_SQL_EACH_STORED_TRIAL);
  gt_bind_int(&query, ":model", model_id);
  for (bool row = true; status == GT_OK;) {
    status = gt_query_step(&query, &row, error);
    if (status != GT_OK || !row) break;
    gt_trial trial;
    status = read_trial(&query, &trial, error);
    if (status != GT_OK) break;
    const char *problem = gt_column_text(&query), *model = gt_column_text(&query);
    status = gt_query_check(&query, error);
    if (status == GT_OK) status = visit(context, model, problem, &trial, error);
    gt_trial_free(&trial);
  }
  gt_query_end(&query);
  return status;
}

// --- quarantine
// -----------------------------------------------------------------------------------------------

gt_status gt_cache_get_quarantined(gt_cache *cache, const gt_fingerprint *device, const char *source_hash,
                                   gt_trial *trial, gt_error *error) {
  *trial = (gt_trial){0};
  int64_t model_id, device_id;
  gt_status status = gt_key_model(cache, device, false, &model_id, error);
  if (status == GT_OK) status = gt_key_device(cache, device, model_id, false, &device_id, error);
  if (status != GT_OK) return status;
  gt_query query = gt_query_begin(cache, GT_SQL_FIND_QUARANTINED);
  gt_bind_int(&query, ":device", device_id);
  gt_bind_text(&query, ":source_hash", source_hash);
  bool row;
  status = gt_query_step(&query, &row, error);
  if (status == GT_OK)
    status = row ? read_trial(&query, trial, error)
                 : gt_fail(error, GT_NOT_FOUND, "%s: these kernels are not in quarantine", cache->path);
  gt_query_end(&query);
  return status;
}

gt_status gt_cache_each_quarantined(gt_cache *cache,
                                    void (*visit)(void *context, const gt_quarantined *quarantined),
                                    void *context, gt_error *error) {
  gt_query query = gt_query_begin(cache, GT_SQL_EACH_QUARANTINED);
  gt_status status = GT_OK;
  for (bool row = true; status == GT_OK;) {
    status = gt_query_step(&query, &row, error);
    if (status != GT_OK || !row) break;
    gt_trial trial;
    status = read_trial(&query, &trial, error);
    if (status != GT_OK) break;
    gt_quarantined found = {.trial = &trial};
    found.problem = gt_column_text(&query);
    found.model = gt_column_text(&query);
    found.pci_id = gt_column_text(&query);
    found.driver = gt_column_text(&query);
    found.compiler = gt_column_text(&query);
    found.tried_at = gt_column_utc(&query);
    status = gt_query_check(&query, error);
    if (status == GT_OK) visit(context, &found);
    gt_trial_free(&trial);
  }
  gt_query_end(&query);
  return status;
}

// --- rechecks
// -------------------------------------------------------------------------------------------------

static gt_status put_recheck_row(gt_cache *cache, int64_t device, int64_t problem, const gt_recheck *recheck,
                                 const char *samples, gt_error *error) {
  const gt_trial *trial = &recheck->trial;
  char now[GT_UTC_SIZE];
  gt_store_utc(now);
  gt_query query = gt_query_begin(cache, GT_SQL_PUT_RECHECK);
  bind_measured(&query, device, problem, trial, samples);
  gt_bind_real(&query, ":default_us", recheck->default_us);
  gt_bind_real(&query, ":stored_us", recheck->stored_us);
  gt_bind_real(&query, ":stored_default_us", recheck->stored_default_us);
  gt_bind_text(&query, ":rechecked_at", now);
  return gt_query_run(&query, error);
}

gt_status gt_cache_put_recheck(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                               const gt_recheck *recheck, gt_error *error) {
  gt_status status = validate(&recheck->trial, error);
  if (status == GT_OK && !(gt_is_time(recheck->default_us) && gt_is_time(recheck->stored_us) &&
                           gt_is_time(recheck->stored_default_us)))
    status = gt_fail(error, GT_USAGE, "the recheck of %s holds a time that cannot be",
                     recheck->trial.configuration);
  if (status == GT_OK) status = gt_store_begin(cache, error);
  if (status != GT_OK) return status;
  char *samples = print_samples(recheck->trial.samples_us, recheck->trial.n_samples);
  int64_t device_id, problem_id;
  status = find_keys(cache, device, problem, true, &device_id, &problem_id, error);
  if (status == GT_OK) status = put_recheck_row(cache, device_id, problem_id, recheck, samples, error);
  free(samples);
  return gt_store_end(cache, status, error);
}

static gt_status read_recheck(gt_query *query, gt_recheck *recheck, gt_error *error) {
  gt_trial *trial = &recheck->trial;
  *recheck = (gt_recheck){.trial = {.registers = -1, .lds_bytes = -1, .scratch_bytes = -1}};
  trial->configuration = gt_strdup(gt_column_configuration(query));
  read_outcome(query, trial);
  recheck->default_us = gt_column_real(query);
  recheck->stored_us = gt_column_real(query);
  recheck->stored_default_us = gt_column_real(query);
  read_conditions(query, trial);
  return gt_query_check(query, error);
}

gt_status gt_cache_each_recheck(gt_cache *cache,
                                void (*visit)(void *context, const char *model, const char *problem,
                                              const char *rechecked_at, const gt_recheck *recheck),
                                void *context, gt_error *error) {
  gt_query query = gt_query_begin(cache, GT_SQL_EACH_RECHECK);
  gt_status status = GT_OK;
  for (bool row = true; status == GT_OK;) {
    status = gt_query_step(&query, &row, error);
    if (status != GT_OK || !row) break;
    gt_recheck recheck;
    status = read_recheck(&query, &recheck, error);
    const char *at = gt_column_utc(&query), *problem = gt_column_text(&query),
               *model = gt_column_text(&query);
    if (status == GT_OK) status = gt_query_check(&query, error);
    if (status == GT_OK) visit(context, model, problem, at, &recheck);
    gt_trial_free(&recheck.trial);
  }
  gt_query_end(&query);
  return status;
}

// --- with their origin
// -----------------------------------------------------------------------------------------

gt_status gt_cache_each_trial_record(gt_cache *cache,
                                     gt_status (*visit)(void *context, const gt_record *record,
                                                        const gt_trial *trial, gt_error *error),
                                     void *context, gt_error *error) {
  gt_query query = gt_query_begin(cache, GT_SQL_TRIAL_RECORDS);
  gt_status status = GT_OK;
  for (bool row = true; status == GT_OK;) {
    status = gt_query_step(&query, &row, error);
    if (status != GT_OK || !row) break;
    gt_trial trial;
    gt_record record;
    status = read_trial(&query, &trial, error);
    if (status != GT_OK) break;
    record.problem = gt_column_text(&query);
    record.at = gt_column_utc(&query);
    status = gt_origin_read(&query, GT_ORIGIN_TRIAL, trial.configuration, &record, error);
    if (status == GT_OK) status = visit(context, &record, &trial, error);
    gt_trial_free(&trial);
  }
  gt_query_end(&query);
  return status;
}
