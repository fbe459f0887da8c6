#include "exchange/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/version.h"
#include "cache/query.h"
#include "generator/configuration.h"
#include "exchange/base64.h"

enum { DEVICE_LIMIT = 4096 };

// --- writing -----------------------------------------------------------------------------------------------

static json_t *device_json(const gt_fingerprint *device) {
  return json_pack("{s:s, s:s, s:s, s:i, s:I, s:s, s:s, s:s, s:s}", "backend", device->backend, "name",
                   device->name, "arch", device->arch, "compute_units", device->compute_units, "memory_bytes",
                   (json_int_t)device->memory_bytes, "pci_id", device->pci_id, "driver", device->driver,
                   "runtime", device->runtime, "compiler", device->compiler);
}

static json_t *trial_json(const gt_collected_trial *t, size_t device) {
  const gt_trial *trial = &t->trial;
  json_t *samples = json_array();
  for (size_t i = 0; i < trial->n_samples; i++)
    json_array_append_new(samples, json_real(trial->samples_us[i]));
  return json_pack(
      "{s:I, s:s, s:s, s:s, s:s, s:s, s:o, s:f, s:f, s:b, s:f, s:i, s:i, s:i, s:b, s:i, s:i, s:i, s:s, s:s}",
      "device", (json_int_t)device, "problem", t->problem, "configuration", trial->configuration,
      "source_hash", trial->source_hash, "outcome", gt_outcome_name(trial->outcome), "message",
      trial->message ? trial->message : "", "samples_us", samples, "median_us", trial->median_us, "spread_us",
      trial->spread_us, "checked", (int)trial->checked, "compile_ms", trial->compile_ms, "registers",
      trial->registers, "lds_bytes", trial->lds_bytes, "scratch_bytes", trial->scratch_bytes, "noisy",
      (int)trial->noisy, "temperature_c", trial->readings.temperature_c, "clock_mhz",
      trial->readings.clock_mhz, "memory_clock_mhz", trial->readings.memory_clock_mhz, "tried_at",
      t->tried_at, "host", t->host);
}

static json_t *ties_json(const gt_winner *winner) {
  json_t *list = json_array();
  for (size_t i = 0; i < winner->n_ties; i++)
    json_array_append_new(list, json_pack("{s:s, s:f, s:i}", "configuration", winner->ties[i].configuration,
                                          "median_us", winner->ties[i].median_us, "registers",
                                          winner->ties[i].registers));
  return list;
}

static json_t *winner_json(const gt_collected_winner *w, size_t device, bool with_code) {
  const gt_winner *winner = &w->winner;
  json_t *code = with_code && winner->code ? json_string(winner->code_hash) : json_null();
  return json_pack("{s:I, s:s, s:o, s:f, s:f, s:f, s:f, s:o, s:s, s:s, s:o, s:s, s:s}", "device",
                   (json_int_t)device, "problem", winner->problem, "variant",
                   gt_variant_to_json(&winner->variant), "median_us", winner->median_us, "spread_us",
                   winner->spread_us, "default_us", winner->default_us, "stream_us", winner->stream_us,
                   "ties", ties_json(winner), "compiler", winner->compiler, "driver", winner->driver, "code",
                   code, "tuned_at", winner->tuned_at, "host", w->host);
}

static void add_code(json_t *codes, const gt_winner *winner) {
  if (!winner->code || json_object_get(codes, winner->code_hash)) return;
  gt_buffer text = {0};
  gt_base64_print(winner->code, winner->code_size, &text);
  json_object_set_new(codes, winner->code_hash, json_string(text.data));
  gt_buffer_free(&text);
}

json_t *gt_json_write(gt_collection *c, bool with_code) {
  gt_collection_sort(c);
  json_t *devices = json_array(), *winners = json_array(), *deterministic = json_array(),
         *trials = json_array(), *codes = json_object();
  // Devices get numbers as they come: those that nothing refers to are left out, and the text does not depend
  // on the order in which they became known.
  size_t *numbers = gt_alloc((c->n_devices + 1) * sizeof *numbers), count = 0; // 0: has none yet
  for (size_t i = 0; i < c->n_winners + c->n_trials; i++) {
    size_t device = i < c->n_winners ? c->winners[i].device : c->trials[i - c->n_winners].device;
    if (numbers[device]) continue;
    numbers[device] = ++count;
    json_array_append_new(devices, device_json(&c->devices[device]));
  }
  for (size_t i = 0; i < c->n_winners; i++) {
    const gt_collected_winner *w = &c->winners[i];
    json_array_append_new(w->deterministic ? deterministic : winners,
                          winner_json(w, numbers[w->device] - 1, with_code));
    if (with_code) add_code(codes, &w->winner);
  }
  for (size_t i = 0; i < c->n_trials; i++)
    json_array_append_new(trials, trial_json(&c->trials[i], numbers[c->trials[i].device] - 1));
  free(numbers);
  return json_pack("{s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o}", "format", GT_JSON_FORMAT, "version",
                   GT_JSON_VERSION, "program", "gathertune " GT_VERSION, "devices", devices, "winners",
                   winners, "deterministic", deterministic, "trials", trials, "code", codes);
}

void gt_json_print(gt_collection *c, bool with_code, gt_buffer *text) {
  json_t *json = gt_json_write(c, with_code);
  char *dump =
      json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(17)); // every double comes back as it was
  gt_buffer_print(text, "%s\n", dump);
  free(dump);
  json_decref(json);
}

// --- reading -----------------------------------------------------------------------------------------------

typedef struct {
  gt_collection *collection;
  const char *name;
  int from;
  const char *list; // "winners"
  size_t number;    // of the record in it, 1 for the first
  size_t *devices;  // number in the file → in the collection
  size_t n_devices;
} reader;

static gt_status refuse(const reader *r, gt_status kind, gt_error *error, const char *what) {
  return gt_fail(error, kind, "%s: %s %zu: %s", r->name, r->list, r->number, what);
}

static bool copy(char *to, size_t size, const char *from) {
  return snprintf(to, size, "%s", from) < (int)size;
}

static bool is_hash(const char *text) {
  return strlen(text) == GT_HASH_SIZE - 1 && strspn(text, "0123456789abcdef") == GT_HASH_SIZE - 1;
}

static gt_status read_device(reader *r, json_t *json, gt_error *error) {
  gt_fingerprint device = {0};
  const char *backend, *name, *arch, *pci_id, *driver, *runtime, *compiler;
  json_int_t memory;
  json_error_t reason;
  if (json_unpack_ex(json, &reason, JSON_STRICT, "{s:s, s:s, s:s, s:i, s:I, s:s, s:s, s:s, s:s}", "backend",
                     &backend, "name", &name, "arch", &arch, "compute_units", &device.compute_units,
                     "memory_bytes", &memory, "pci_id", &pci_id, "driver", &driver, "runtime", &runtime,
                     "compiler", &compiler) != 0)
    return refuse(r, GT_USAGE, error, reason.text);
  bool good = *backend && device.compute_units >= 0 && memory >= 0;
  good = good && copy(device.backend, sizeof device.backend, backend);
  good = good && copy(device.name, sizeof device.name, name);
  good = good && copy(device.arch, sizeof device.arch, arch);
  good = good && copy(device.pci_id, sizeof device.pci_id, pci_id);
  good = good && copy(device.driver, sizeof device.driver, driver);
  good = good && copy(device.runtime, sizeof device.runtime, runtime);
  good = good && copy(device.compiler, sizeof device.compiler, compiler);
  if (!good) return refuse(r, GT_CORRUPT, error, "a text that is too long, or a number below 0");
  device.memory_bytes = (uint64_t)memory;
  r->devices[r->n_devices++] = gt_collection_device(r->collection, &device);
  return GT_OK;
}

// What trials and winners have in common.
static gt_status check_record(const reader *r, json_int_t device, const char *problem, const char *at,
                              const char *host, gt_error *error) {
  gt_problem parsed;
  gt_error reason = {0};
  char canonical[GT_PROBLEM_TEXT];
  if (device < 0 || (size_t)device >= r->n_devices)
    return refuse(r, GT_CORRUPT, error, "\"device\" is the number of none");
  if (!gt_is_utc(at)) return refuse(r, GT_CORRUPT, error, "its time is not of the form 2025-01-31T12:00:00Z");
  if (strlen(host) >= GT_HOST_SIZE) return refuse(r, GT_CORRUPT, error, "\"host\" is too long");
  if (gt_problem_parse(problem, &parsed, &reason) != GT_OK) return refuse(r, GT_CORRUPT, error, reason.text);
  gt_problem_print(&parsed, canonical);
  if (strcmp(canonical, problem) != 0)
    return refuse(r, GT_CORRUPT, error, "\"problem\" is not in its canonical form");
  return GT_OK;
}

static bool read_samples(const json_t *array, gt_trial *trial) {
  if (!json_is_array(array)) return false;
  trial->n_samples = json_array_size(array);
  trial->samples_us = gt_alloc((trial->n_samples + 1) * sizeof *trial->samples_us);
  for (size_t i = 0; i < trial->n_samples; i++) {
    const json_t *sample = json_array_get(array, i);
    trial->samples_us[i] = json_number_value(sample);
    if (!json_is_number(sample) || !gt_is_time(trial->samples_us[i])) return false;
  }
  return true;
}

static gt_status read_trial(reader *r, json_t *json, gt_error *error) {
  gt_trial trial = {0};
  json_int_t device;
  const char *problem, *configuration, *hash, *outcome, *message, *at, *host;
  json_t *samples;
  int checked, noisy;
  json_error_t reason;
  if (json_unpack_ex(
          json, &reason, JSON_STRICT,
          "{s:I, s:s, s:s, s:s, s:s, s:s, s:o, s:F, s:F, s:b, s:F, s:i, s:i, s:i, s:b, s:i, s:i, s:i, s:s, "
          "s:s}",
          "device", &device, "problem", &problem, "configuration", &configuration, "source_hash", &hash,
          "outcome", &outcome, "message", &message, "samples_us", &samples, "median_us", &trial.median_us,
          "spread_us", &trial.spread_us, "checked", &checked, "compile_ms", &trial.compile_ms, "registers",
          &trial.registers, "lds_bytes", &trial.lds_bytes, "scratch_bytes", &trial.scratch_bytes, "noisy",
          &noisy, "temperature_c", &trial.readings.temperature_c, "clock_mhz", &trial.readings.clock_mhz,
          "memory_clock_mhz", &trial.readings.memory_clock_mhz, "tried_at", &at, "host", &host) != 0)
    return refuse(r, GT_USAGE, error, reason.text);
  gt_status status = check_record(r, device, problem, at, host, error);
  if (status != GT_OK) return status;
  if (!gt_is_configuration(configuration))
    return refuse(r, GT_CORRUPT, error, "\"configuration\" is none, or not in its canonical form");
  bool good = (!*hash || is_hash(hash)) && gt_outcome_from_name(outcome, &trial.outcome) &&
              gt_is_time(trial.median_us) && gt_is_time(trial.spread_us) && gt_is_time(trial.compile_ms) &&
              trial.registers >= -1 && trial.lds_bytes >= -1 && trial.scratch_bytes >= -1 &&
              trial.readings.temperature_c >= 0 && trial.readings.clock_mhz >= 0 &&
              trial.readings.memory_clock_mhz >= 0 && read_samples(samples, &trial);
  if (!good) {
    gt_trial_free(&trial);
    return refuse(r, GT_CORRUPT, error, "a hash, an outcome, a time or a count that cannot be");
  }
  memcpy(trial.source_hash, hash, strlen(hash) + 1);
  trial.checked = checked;
  trial.noisy = noisy;
  trial.configuration = gt_strdup(configuration);
  trial.message = gt_strdup(message);
  gt_collection_add_trial(r->collection, r->devices[device], r->from, problem, at, host, &trial);
  return GT_OK;
}

// The code object of a hash, which must be that of its bytes.
static gt_status read_code(const reader *r, const json_t *codes, const char *hash, gt_winner *winner,
                           gt_error *error) {
  const json_t *text = is_hash(hash) ? json_object_get(codes, hash) : NULL;
  gt_buffer code = {0};
  char actual[GT_HASH_SIZE];
  if (!text) return refuse(r, GT_CORRUPT, error, "\"code\" is the hash of no code object in the file");
  if (!gt_base64_parse(json_string_value(text), json_string_length(text), &code) || code.length == 0) {
    gt_buffer_free(&code);
    return refuse(r, GT_CORRUPT, error, "its code object is not in base 64, or empty");
  }
  gt_hash(code.data, code.length, actual);
  if (strcmp(actual, hash) != 0) {
    gt_buffer_free(&code);
    return refuse(r, GT_CORRUPT, error, "its code object has another hash: it is damaged, or was exchanged");
  }
  winner->code = code.data;
  winner->code_size = code.length;
  memcpy(winner->code_hash, hash, GT_HASH_SIZE);
  return GT_OK;
}

static bool read_ties(json_t *array, gt_winner *winner) {
  size_t i;
  json_t *json;
  if (!json_is_array(array)) return false;
  winner->ties = gt_alloc((json_array_size(array) + 1) * sizeof *winner->ties);
  json_array_foreach(array, i, json) {
    const char *text;
    gt_tie *tie = &winner->ties[winner->n_ties];
    if (json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:F, s:i}", "configuration", &text, "median_us",
                       &tie->median_us, "registers", &tie->registers) != 0 ||
        !gt_is_time(tie->median_us) || tie->registers < -1 || !gt_is_configuration(text))
      return false;
    tie->configuration = gt_strdup(text);
    winner->n_ties++;
  }
  return true;
}

static gt_status read_winner(reader *r, json_t *json, const json_t *codes, bool deterministic,
                             gt_error *error) {
  gt_winner winner = {0};
  json_int_t device;
  const char *problem, *compiler, *driver, *at, *host;
  json_t *variant, *code, *ties;
  json_error_t reason;
  gt_error why = {0};
  if (json_unpack_ex(json, &reason, JSON_STRICT,
                     "{s:I, s:s, s:o, s:F, s:F, s:F, s:F, s:o, s:s, s:s, s:o, s:s, s:s}", "device", &device,
                     "problem", &problem, "variant", &variant, "median_us", &winner.median_us, "spread_us",
                     &winner.spread_us, "default_us", &winner.default_us, "stream_us", &winner.stream_us,
                     "ties", &ties, "compiler", &compiler, "driver", &driver, "code", &code, "tuned_at", &at,
                     "host", &host) != 0)
    return refuse(r, GT_USAGE, error, reason.text);
  gt_status status = check_record(r, device, problem, at, host, error);
  if (status == GT_OK &&
      (!gt_is_time(winner.median_us) || winner.median_us == 0 || !gt_is_time(winner.spread_us) ||
       !gt_is_time(winner.default_us) || !gt_is_time(winner.stream_us)))
    status = refuse(r, GT_CORRUPT, error, "a time that cannot be");
  if (status == GT_OK && gt_variant_from_json(variant, &winner.variant, &why) != GT_OK)
    status = refuse(r, GT_CORRUPT, error, why.text);
  if (status == GT_OK && deterministic && !winner.variant.reproducible)
    status = refuse(r, GT_CORRUPT, error, "its results do not repeat");
  if (status == GT_OK && !read_ties(ties, &winner))
    status = refuse(r, GT_CORRUPT, error, "a tie that cannot be");
  if (status == GT_OK && !json_is_null(code) && !json_is_string(code))
    status = refuse(r, GT_USAGE, error, "\"code\" is neither a hash nor null");
  if (status == GT_OK && json_is_string(code))
    status = read_code(r, codes, json_string_value(code), &winner, error);
  if (status != GT_OK) {
    gt_winner_free(&winner);
    return status;
  }
  const gt_fingerprint *model = &r->collection->devices[r->devices[device]];
  winner.problem = gt_strdup(problem);
  winner.device =
      gt_print("%s / %s / %s / %d", model->backend, model->name, model->arch, model->compute_units);
  winner.compiler = gt_strdup(compiler);
  winner.driver = gt_strdup(driver);
  winner.tuned_at = gt_strdup(at);
  gt_collection_add_winner(r->collection, r->devices[device], r->from, host, &winner);
  r->collection->winners[r->collection->n_winners - 1].deterministic = deterministic;
  return GT_OK;
}

static gt_status read_all(reader *r, json_t *json, gt_error *error) {
  const char *format = NULL, *program;
  int version = 0;
  json_t *devices, *winners, *deterministic = NULL, *trials, *codes, *item;
  json_error_t reason;
  size_t i;
  if (json_unpack(json, "{s:s, s:i}", "format", &format, "version", &version) != 0 ||
      strcmp(format, GT_JSON_FORMAT) != 0)
    return gt_fail(error, GT_USAGE, "%s: not what gathertune export --format json writes", r->name);
  if (version > GT_JSON_VERSION)
    return gt_fail(error, GT_NEWER_SCHEMA,
                   "%s: written by a newer gathertune (format %d, this one reads up to %d)", r->name, version,
                   GT_JSON_VERSION);
  if (version < 1) return gt_fail(error, GT_USAGE, "%s: there never was a format %d", r->name, version);
  if (json_unpack_ex(json, &reason, JSON_STRICT,
                     version > 1 ? "{s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o}"
                                 : "{s:s, s:i, s:s, s:o, s:o, s:o, s:o}", // 1 had no deterministic
                     "format", &format, "version", &version, "program", &program, "devices", &devices,
                     "winners", &winners, "trials", &trials, "code", &codes, "deterministic",
                     &deterministic) != 0)
    return gt_fail(error, GT_USAGE, "%s: %s", r->name, reason.text);
  if (!json_is_array(devices) || !json_is_array(winners) || (version > 1 && !json_is_array(deterministic)) ||
      !json_is_array(trials) || !json_is_object(codes))
    return gt_fail(error, GT_USAGE,
                   "%s: devices, winners, deterministic and trials are to be arrays, and code an object",
                   r->name);
  if (json_array_size(devices) > DEVICE_LIMIT)
    return gt_fail(error, GT_USAGE, "%s: more than %d devices", r->name, DEVICE_LIMIT);
  r->devices = gt_alloc((json_array_size(devices) + 1) * sizeof *r->devices);
  gt_status status = GT_OK;
  r->list = "device";
  json_array_foreach(devices, i, item) {
    r->number = i + 1;
    if (status == GT_OK) status = read_device(r, item, error);
  }
  r->list = "winner";
  json_array_foreach(winners, i, item) {
    r->number = i + 1;
    if (status == GT_OK) status = read_winner(r, item, codes, false, error);
  }
  r->list = "deterministic";
  json_array_foreach(deterministic, i, item) {
    r->number = i + 1;
    if (status == GT_OK) status = read_winner(r, item, codes, true, error);
  }
  r->list = "trial";
  json_array_foreach(trials, i, item) {
    r->number = i + 1;
    if (status == GT_OK) status = read_trial(r, item, error);
  }
  return status;
}

gt_status gt_json_read(gt_collection *collection, const char *name, const char *text, size_t length, int from,
                       gt_error *error) {
  reader r = {.collection = collection, .name = name, .from = from};
  gt_error unseen;
  json_error_t reason;
  if (!error) error = &unseen;
  json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &reason);
  if (!json)
    return gt_fail(error, GT_USAGE, "%s:%d: not JSON, or cut off: %s", name, reason.line, reason.text);
  gt_status status = read_all(&r, json, error);
  free(r.devices);
  json_decref(json);
  return status;
}
