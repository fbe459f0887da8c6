#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cache/origin.h"
#include "cache/query.h"
#include "generator/configuration.h"

enum { WINNER_COLUMNS = 13 }; // of GT_WINNER_COLUMNS

// Winners, and the best beside them whose results repeat, are rows of two tables that are alike.
typedef struct {
  gt_sql find, get, put;
  const char *name;
} title;
static const title winners = {GT_SQL_FIND_WINNER, GT_SQL_GET_WINNER, GT_SQL_PUT_WINNER, "winner"};
static const title deterministics = {GT_SQL_FIND_DETERMINISTIC, GT_SQL_GET_DETERMINISTIC,
                                     GT_SQL_PUT_DETERMINISTIC, "configuration whose results repeat"};

void gt_winner_free(gt_winner *winner) {
  free(winner->problem);
  free(winner->device);
  gt_variant_free(&winner->variant);
  free(winner->compiler);
  free(winner->driver);
  free(winner->code);
  free(winner->tuned_at);
  for (size_t i = 0; i < winner->n_ties; i++) free(winner->ties[i].configuration);
  free(winner->ties);
  *winner = (gt_winner){0};
}

// A JSON array, as a string that the caller frees.
static char *print_ties(const gt_winner *winner) {
  json_t *array = json_array();
  for (size_t i = 0; i < winner->n_ties; i++)
    json_array_append_new(array, json_pack("{s:s, s:f, s:i}", "configuration", winner->ties[i].configuration,
                                           "median_us", winner->ties[i].median_us, "registers",
                                           winner->ties[i].registers));
  char *text = json_dumps(array, JSON_COMPACT | JSON_REAL_PRECISION(17));
  json_decref(array);
  return text;
}

static bool parse_ties(const char *text, gt_winner *winner) {
  json_t *array = json_loads(text, 0, NULL);
  bool good = json_is_array(array);
  size_t count = json_array_size(array); // 0 for what is no array
  winner->ties = gt_alloc(count * sizeof *winner->ties);
  for (size_t i = 0; i < count && good; i++) {
    const json_t *tie = json_array_get(array, i), *registers = json_object_get(tie, "registers");
    const char *configuration = json_string_value(json_object_get(tie, "configuration"));
    const json_t *us = json_object_get(tie, "median_us");
    good = configuration && gt_is_configuration(configuration) && json_is_number(us) &&
           gt_is_time(json_number_value(us)) && json_is_integer(registers) &&
           json_integer_value(registers) >= -1 && json_integer_value(registers) <= INT_MAX;
    if (good)
      winner->ties[winner->n_ties++] =
          (gt_tie){gt_strdup(configuration), json_number_value(us), (int)json_integer_value(registers)};
  }
  json_decref(array);
  return good;
}

static bool parse_variant(const char *text, gt_variant *variant) {
  json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  bool good = json && gt_variant_from_json(json, variant, NULL) == GT_OK;
  json_decref(json);
  return good;
}

// The code object of the row, when its statement was asked for it. Its hash is not yet proven.
static void read_code(gt_query *query, gt_winner *winner) {
  size_t size;
  const void *blob = gt_column_blob(query, &size);
  if (size != winner->code_size || size == 0) {
    gt_column_bad(query);
    return;
  }
  winner->code = memcpy(gt_alloc(size), blob, size);
}

static gt_status read_winner(gt_query *query, bool with_code, gt_winner *winner, gt_error *error) {
  *winner = (gt_winner){0};
  winner->problem = gt_strdup(gt_column_text(query));
  winner->device = gt_strdup(gt_column_text(query));
  if (!parse_variant(gt_column_text(query), &winner->variant)) gt_column_bad(query);
  winner->median_us = gt_column_real(query);
  if (winner->median_us == 0) gt_column_bad(query);
  winner->spread_us = gt_column_real(query);
  winner->default_us = gt_column_real(query);
  winner->stream_us = gt_column_real(query);
  winner->compiler = gt_strdup(gt_column_text(query));
  winner->driver = gt_strdup(gt_column_text(query));
  winner->tuned_at = gt_strdup(gt_column_utc(query));
  if (!parse_ties(gt_column_text(query), winner)) gt_column_bad(query);
  const char *hash = gt_column_text_or_null(query);
  if (hash) {
    if (strlen(hash) == GT_HASH_SIZE - 1)
      strcpy(winner->code_hash, hash);
    else
      gt_column_bad(query);
    winner->code_size =
        (size_t)gt_column_int(query, 1, INT64_MAX); // NULL, thus bad, when it is not so or not there
    if (with_code) read_code(query, winner);
  }

  gt_status status = gt_query_check(query, error);
  if (status == GT_OK && winner->code) {
    char actual[GT_HASH_SIZE];
    gt_hash(winner->code, winner->code_size, actual);
    if (strcmp(actual, winner->code_hash) != 0)
      status =
          gt_fail(error, GT_CORRUPT, "%s: the code object of %s is damaged: its hash is %s and should be %s",
                  query->cache->path, winner->problem, actual, winner->code_hash);
  }
  if (status != GT_OK) gt_winner_free(winner);
  return status;
}

static gt_status get_by_id(gt_cache *cache, const title *of, int64_t id, bool with_code, gt_winner *winner,
                           gt_error *error) {
  gt_query query = gt_query_begin(cache, of->get);
  gt_bind_int(&query, ":winner", id);
  gt_bind_int(&query, ":with_code", with_code);
  bool row;
  gt_status status = gt_query_step(&query, &row, error);
  if (status == GT_OK)
    status = row ? read_winner(&query, with_code, winner, error)
                 : gt_fail(error, GT_NOT_FOUND, "%s: the %s is gone", cache->path, of->name);
  gt_query_end(&query);
  return status;
}

// The row of a problem's winner: its id and, as a new string or NULL, the hash of its code object. Id 0 when
// there is none.
static gt_status find(gt_cache *cache, const title *of, int64_t model, int64_t problem, int64_t *id,
                      char **code, gt_error *error) {
  *id = 0;
  if (code) *code = NULL;
  gt_query query = gt_query_begin(cache, of->find);
  gt_bind_int(&query, ":model", model);
  gt_bind_int(&query, ":problem", problem);
  bool row;
  gt_status status = gt_query_step(&query, &row, error);
  if (status == GT_OK && row) {
    *id = gt_column_int(&query, INT64_MIN, INT64_MAX);
    const char *hash = gt_column_text_or_null(&query);
    status = gt_query_check(&query, error);
    if (status == GT_OK && hash && code) *code = gt_strdup(hash);
  }
  gt_query_end(&query);
  return status;
}

static gt_status none(gt_cache *cache, const title *of, const gt_fingerprint *device, const char *problem,
                      gt_error *error) {
  return gt_fail(error, GT_NOT_FOUND, "%s: no %s of %s on %s / %s / %s / %d", cache->path, of->name, problem,
                 device->backend, device->name, device->arch, device->compute_units);
}

static gt_status get(gt_cache *cache, const title *of, const gt_fingerprint *device,
                     const gt_problem *problem, bool with_code, gt_winner *winner, gt_error *error) {
  *winner = (gt_winner){0};
  int64_t model_id, problem_id, id = 0;
  gt_status status = gt_key_model(cache, device, false, &model_id, error);
  if (status == GT_OK) status = gt_key_problem(cache, problem, false, &problem_id, error);
  if (status == GT_OK) status = find(cache, of, model_id, problem_id, &id, NULL, error);
  if (status == GT_OK && id) return get_by_id(cache, of, id, with_code, winner, error);
  if (status != GT_OK && status != GT_NOT_FOUND) return status;
  char text[GT_PROBLEM_TEXT];
  gt_problem_print(problem, text);
  return none(cache, of, device, text, error);
}

gt_status gt_cache_get_winner(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                              bool with_code, gt_winner *winner, gt_error *error) {
  return get(cache, &winners, device, problem, with_code, winner, error);
}

gt_status gt_cache_get_deterministic(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                                     bool with_code, gt_winner *best, gt_error *error) {
  gt_status status = get(cache, &deterministics, device, problem, with_code, best, error);
  if (status != GT_OK || best->variant.reproducible) return status;
  status = gt_fail(error, GT_CORRUPT, "%s: %s of %s is kept as one whose results repeat, which they do not",
                   cache->path, best->variant.configuration, best->problem);
  gt_winner_free(best);
  return status;
}

// The nearest winner on one side: its id and outer count. Id 0 when there is none.
static gt_status nearest(gt_cache *cache, gt_sql sql, int64_t model, const gt_problem *problem, int64_t *id,
                         int64_t *outer, gt_error *error) {
  char text[GT_PROBLEM_TEXT], kernel[GT_PROBLEM_TEXT];
  gt_problem_print(problem, text);
  gt_problem_print_kernel(problem, kernel);
  *id = *outer = 0;
  gt_query query = gt_query_begin(cache, sql);
  gt_bind_int(&query, ":model", model);
  gt_bind_text(&query, ":kernel", kernel);
  gt_bind_text(&query, ":text", text);
  gt_bind_int(&query, ":outer_count", gt_problem_outer(problem));
  bool row;
  gt_status status = gt_query_step(&query, &row, error);
  if (status == GT_OK && row) {
    *id = gt_column_int(&query, INT64_MIN, INT64_MAX);
    *outer = gt_column_int(&query, 1, INT64_MAX);
    status = gt_query_check(&query, error);
  }
  gt_query_end(&query);
  return status;
}

gt_status gt_cache_get_near_winner(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                                   bool with_code, gt_winner *winner, gt_error *error) {
  *winner = (gt_winner){0};
  char text[GT_PROBLEM_TEXT];
  gt_problem_print(problem, text);
  int64_t outer = gt_problem_outer(problem);
  int64_t model_id, below_id = 0, below, above_id = 0, above;
  gt_status status = GT_OK;
  if (outer > 0) { // an empty problem is near nothing
    status = gt_key_model(cache, device, false, &model_id, error);
    if (status == GT_OK)
      status = nearest(cache, GT_SQL_NEAREST_BELOW, model_id, problem, &below_id, &below, error);
    if (status == GT_OK)
      status = nearest(cache, GT_SQL_NEAREST_ABOVE, model_id, problem, &above_id, &above, error);
    if (status != GT_OK && status != GT_NOT_FOUND) return status;
  }
  if (!below_id && !above_id) return none(cache, &winners, device, text, error);

  // |log(outer/above)| <= |log(outer/below)| without the rounding of logarithms; a tie goes to the larger.
  bool take_above = above_id;
  if (above_id && below_id)
    take_above = (unsigned __int128)above * (unsigned __int128)below <=
                 (unsigned __int128)outer * (unsigned __int128)outer;
  return get_by_id(cache, &winners, take_above ? above_id : below_id, with_code, winner, error);
}

gt_status gt_cache_each_winner(gt_cache *cache, void (*visit)(void *context, const gt_winner *winner),
                               void *context, gt_error *error) {
  gt_query query = gt_query_begin(cache, GT_SQL_EACH_WINNER);
  gt_status status = GT_OK;
  for (bool row = true; status == GT_OK;) {
    status = gt_query_step(&query, &row, error);
    if (status != GT_OK || !row) break;
    gt_winner winner;
    status = read_winner(&query, false, &winner, error);
    if (status != GT_OK) break;
    visit(context, &winner);
    gt_winner_free(&winner);
  }
  gt_query_end(&query);
  return status;
}

gt_status gt_cache_each_tuned(gt_cache *cache, const gt_fingerprint *device,
                              void (*visit)(void *context, const char *problem, double median_us, double stream_us),
                              void *context, gt_error *error) {
  int64_t model;
  gt_status status = gt_key_model(cache, device, false, &model, error);
  if (status == GT_NOT_FOUND) return GT_OK;
  if (status != GT_OK) return status;
  gt_query query = gt_query_begin(cache, GT_SQL_EACH_TUNED);
  gt_bind_int(&query, ":model", model);
  for (bool row = true; status == GT_OK;) {
    status = gt_query_step(&query, &row, error);
    if (status != GT_OK || !row) break;
    const char *problem = gt_column_text(&query);
    double median_us = gt_column_real(&query), stream_us = gt_column_real(&query);
    status = gt_query_check(&query, error);
    if (status == GT_OK) visit(context, problem, median_us, stream_us);
  }
  gt_query_end(&query);
  return status;
}

gt_status gt_cache_each_sibling(gt_cache *cache, const gt_fingerprint *device,
                                void (*visit)(void *context, const char *name), void *context, gt_error *error) {
  gt_query query = gt_query_begin(cache, GT_SQL_EACH_SIBLING);
  gt_bind_text(&query, ":backend", device->backend);
  gt_bind_text(&query, ":name", device->name);
  gt_bind_text(&query, ":arch", device->arch);
  gt_bind_int(&query, ":compute_units", device->compute_units);
  gt_status status = GT_OK;
  for (bool row = true; status == GT_OK;) {
    status = gt_query_step(&query, &row, error);
    if (status != GT_OK || !row) break;
    const char *name = gt_column_text(&query);
    status = gt_query_check(&query, error);
    if (status == GT_OK) visit(context, name);
  }
  gt_query_end(&query);
  return status;
}

static gt_status validate(const gt_winner *winner, const char *code_hash, gt_error *error) {
  if (!winner->variant.configuration)
    return gt_fail(error, GT_USAGE, "a winner without a configuration cannot be stored");
  const char *name = winner->variant.configuration;
  for (size_t i = 0; i < winner->n_ties; i++)
    if (!winner->ties[i].configuration || !gt_is_configuration(winner->ties[i].configuration) ||
        !gt_is_time(winner->ties[i].median_us) || winner->ties[i].registers < -1)
      return gt_fail(error, GT_USAGE, "the winner %s has a tie that cannot be", name);
  if (!gt_is_time(winner->median_us) || winner->median_us == 0 || !gt_is_time(winner->spread_us) ||
      !gt_is_time(winner->default_us) || !gt_is_time(winner->stream_us))
    return gt_fail(error, GT_USAGE, "the winner %s has a time that cannot be", name);
  if (winner->code && winner->code_size == 0)
    return gt_fail(error, GT_USAGE, "the winner %s has an empty code object", name);
  if (winner->code && winner->code_hash[0] && strcmp(winner->code_hash, code_hash) != 0)
    return gt_fail(error, GT_CORRUPT, "the code object of %s is damaged: its hash is %s and should be %s",
                   name, code_hash, winner->code_hash);
  return GT_OK;
}

static gt_status put_code(gt_cache *cache, const gt_winner *winner, const char *hash, gt_error *error) {
  gt_query query = gt_query_begin(cache, GT_SQL_PUT_CODE);
  gt_bind_text(&query, ":hash", hash);
  gt_bind_blob(&query, ":blob", winner->code, winner->code_size);
  gt_bind_int(&query, ":size", (int64_t)winner->code_size);
  return gt_query_run(&query, error);
}

static gt_status drop_unused_code(gt_cache *cache, const char *hash, gt_error *error) {
  gt_query query = gt_query_begin(cache, GT_SQL_DROP_UNUSED_CODE);
  gt_bind_text(&query, ":hash", hash);
  return gt_query_run(&query, error);
}

// What is stored of a winner, ready to be bound.
typedef struct {
  int64_t model, problem, device;
  const char *variant, *compiler, *driver, *code_hash, *tuned_at, *ties,
      *host; // code_hash NULL: no code object
} winner_row;

static gt_status put_row(gt_cache *cache, const title *of, const winner_row *row, const gt_winner *winner,
                         gt_error *error) {
  gt_query query = gt_query_begin(cache, of->put);
  gt_bind_int(&query, ":model", row->model);
  gt_bind_int(&query, ":problem", row->problem);
  gt_bind_int(&query, ":device", row->device);
  gt_bind_text(&query, ":variant", row->variant);
  gt_bind_real(&query, ":median_us", winner->median_us);
  gt_bind_real(&query, ":spread_us", winner->spread_us);
  gt_bind_real(&query, ":default_us", winner->default_us);
  gt_bind_real(&query, ":stream_us", winner->stream_us);
  gt_bind_text(&query, ":compiler", row->compiler);
  gt_bind_text(&query, ":driver", row->driver);
  gt_bind_text(&query, ":code", row->code_hash);
  gt_bind_text(&query, ":tuned_at", row->tuned_at);
  gt_bind_text(&query, ":ties", row->ties);
  if (of == &deterministics) gt_bind_text(&query, ":host", row->host);
  return gt_query_run(&query, error);
}

static gt_status put_record(gt_cache *cache, const title *of, const gt_fingerprint *device,
                            const gt_problem *problem, const gt_winner *winner, const char *host,
                            gt_error *error) {
  char now[GT_UTC_SIZE], hash[GT_HASH_SIZE] = "";
  char *old_code = NULL, *variant = NULL, *ties = NULL;
  gt_store_utc(now);
  if (winner->code) gt_hash(winner->code, winner->code_size, hash);
  gt_status status = validate(winner, hash, error);
  if (status != GT_OK) return status;
  json_t *json = gt_variant_to_json(&winner->variant);
  variant = json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  json_decref(json);
  gt_variant again = {0};
  if (!variant || !parse_variant(variant, &again)) { // better refused now than unreadable later
    status = gt_fail(error, GT_USAGE, "the winner %s has a variant that would not be read back",
                     winner->variant.configuration);
    goto done;
  }

  ties = print_ties(winner);
  status = gt_store_begin(cache, error);
  if (status != GT_OK) goto done;
  winner_row row = {.variant = variant,
                    .compiler = winner->compiler ? winner->compiler : device->compiler,
                    .driver = winner->driver ? winner->driver : device->driver,
                    .code_hash = winner->code ? hash : NULL,
                    .tuned_at = winner->tuned_at && winner->tuned_at[0] ? winner->tuned_at : now,
                    .ties = ties,
                    .host = host};
  int64_t old_id;
  status = gt_key_model(cache, device, true, &row.model, error);
  if (status == GT_OK) status = gt_key_device(cache, device, row.model, true, &row.device, error);
  if (status == GT_OK) status = gt_key_problem(cache, problem, true, &row.problem, error);
  if (status == GT_OK) status = find(cache, of, row.model, row.problem, &old_id, &old_code, error);
  if (status == GT_OK && winner->code) status = put_code(cache, winner, hash, error);
  if (status == GT_OK) status = put_row(cache, of, &row, winner, error);
  if (status == GT_OK && of == &winners)
    status = gt_origin_put(cache, GT_ORIGIN_WINNER, row.device, row.problem, winner->variant.configuration,
                           host, error);
  if (status == GT_OK && old_code) status = drop_unused_code(cache, old_code, error);
  status = gt_store_end(cache, status, error);

done:
  gt_variant_free(&again);
  free(old_code);
  free(variant);
  free(ties);
  return status;
}

gt_status gt_cache_put_winner_record(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                                     const gt_winner *winner, const char *host, gt_error *error) {
  return put_record(cache, &winners, device, problem, winner, host, error);
}

gt_status gt_cache_put_winner(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                              const gt_winner *winner, gt_error *error) {
  char host[GT_HOST_SIZE];
  gt_host(host);
  return gt_cache_put_winner_record(cache, device, problem, winner, host, error);
}

gt_status gt_cache_put_deterministic_record(gt_cache *cache, const gt_fingerprint *device,
                                            const gt_problem *problem, const gt_winner *best,
                                            const char *host, gt_error *error) {
  if (best->variant.configuration && !best->variant.reproducible)
    return gt_fail(error, GT_USAGE, "the results of %s do not repeat", best->variant.configuration);
  return put_record(cache, &deterministics, device, problem, best, host, error);
}

gt_status gt_cache_put_deterministic(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                                     const gt_winner *best, gt_error *error) {
  char host[GT_HOST_SIZE];
  gt_host(host);
  return gt_cache_put_deterministic_record(cache, device, problem, best, host, error);
}

static gt_status drop_row(gt_cache *cache, int64_t model, int64_t problem, gt_error *error) {
  gt_query query = gt_query_begin(cache, GT_SQL_DROP_DETERMINISTIC);
  gt_bind_int(&query, ":model", model);
  gt_bind_int(&query, ":problem", problem);
  return gt_query_run(&query, error);
}

gt_status gt_cache_drop_deterministic(gt_cache *cache, const gt_fingerprint *device,
                                      const gt_problem *problem, gt_error *error) {
  int64_t model_id, problem_id, id;
  char *code = NULL;
  gt_status status = gt_store_begin(cache, error);
  if (status != GT_OK) return status;
  status = gt_key_model(cache, device, false, &model_id, error);
  if (status == GT_OK) status = gt_key_problem(cache, problem, false, &problem_id, error);
  if (status == GT_OK) status = find(cache, &deterministics, model_id, problem_id, &id, &code, error);
  if (status == GT_OK && id) status = drop_row(cache, model_id, problem_id, error);
  if (status == GT_OK && code) status = drop_unused_code(cache, code, error);
  free(code);
  return gt_store_end(cache, status == GT_NOT_FOUND ? GT_OK : status, error);
}

// Of one whose results repeat: the machine stands in the row, behind the device.
static gt_status read_origin(gt_query *query, const gt_winner *best, gt_record *record, gt_error *error) {
  int64_t device_id, problem_id;
  gt_origin_read_device(query, record, &device_id, &problem_id);
  if (snprintf(record->host, sizeof record->host, "%s", gt_column_text(query)) >= (int)sizeof record->host ||
      !best->variant.reproducible)
    gt_column_bad(query);
  return gt_query_check(query, error);
}

static gt_status each_record(gt_cache *cache, gt_sql sql,
                             gt_status (*visit)(void *context, const gt_record *record,
                                                const gt_winner *winner, gt_error *error),
                             void *context, gt_error *error) {
  gt_query query = gt_query_begin(cache, sql);
  gt_status status = GT_OK;
  for (bool row = true; status == GT_OK;) {
    status = gt_query_step(&query, &row, error);
    if (status != GT_OK || !row) break;
    gt_winner winner;
    gt_record record;
    // The column behind those of a winner is the code object: NULL where the configuration alone is known.
    bool with_code = sqlite3_column_type(query.statement, WINNER_COLUMNS) != SQLITE_NULL;
    status = read_winner(&query, with_code, &winner, error);
    if (status != GT_OK) break;
    query.column = WINNER_COLUMNS + 1; // how many of them were read depends on whether there is a code object
    record.problem = winner.problem;
    record.at = winner.tuned_at;
    status = sql == GT_SQL_WINNER_RECORDS
                 ? gt_origin_read(&query, GT_ORIGIN_WINNER, winner.variant.configuration, &record, error)
                 : read_origin(&query, &winner, &record, error);
    if (status == GT_OK) status = visit(context, &record, &winner, error);
    gt_winner_free(&winner);
  }
  gt_query_end(&query);
  return status;
}

gt_status gt_cache_each_winner_record(gt_cache *cache,
                                      gt_status (*visit)(void *context, const gt_record *record,
                                                         const gt_winner *winner, gt_error *error),
                                      void *context, gt_error *error) {
  return each_record(cache, GT_SQL_WINNER_RECORDS, visit, context, error);
}

gt_status gt_cache_each_deterministic_record(gt_cache *cache,
                                             gt_status (*visit)(void *context, const gt_record *record,
                                                                const gt_winner *best, gt_error *error),
                                             void *context, gt_error *error) {
  return each_record(cache, GT_SQL_DETERMINISTIC_RECORDS, visit, context, error);
}
