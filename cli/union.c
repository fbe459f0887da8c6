#include "cli/union.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/table.h"
#include "exchange/merge.h"
#include "exchange/order.h"
#include "exchange/validate.h"

typedef struct {
  const gt_union *u;
  gt_validation validation;
  gt_merge_counts counts;
  gt_table *table; // of conflicts, or
  json_t *list;
} report;

static const char *source_name(const gt_union *u, int from) {
  return from == GT_FROM_TARGET ? "the cache" : u->sources[from - 1];
}

static json_t *side_json(const gt_union *u, const gt_collected_winner *w) {
  gt_interval interval = gt_winner_interval(&w->winner);
  return json_pack("{s:s, s:s, s:f, s:[f,f], s:s, s:s}", "from", source_name(u, w->from), "configuration",
                   w->winner.variant.configuration, "median_us", w->winner.median_us, "interval_us",
                   interval.low, interval.high, "tuned_at", w->winner.tuned_at, "host", w->host);
}

static void side_cell(gt_table *table, const gt_union *u, const gt_collected_winner *w) {
  gt_interval interval = gt_winner_interval(&w->winner);
  gt_table_cell(table, "%s", gt_microseconds(w->winner.median_us).text);
  gt_table_cell(table, "%.2f … %.2f", interval.low, interval.high);
  gt_table_cell(table, "%s  (%s)", w->winner.variant.configuration, source_name(u, w->from));
}

static void on_conflict(void *context, const gt_conflict *c) {
  report *r = context;
  if (r->u->json) {
    char *model = gt_print("%s / %s / %s / %d", c->model->backend, c->model->name, c->model->arch,
                           c->model->compute_units);
    json_array_append_new(r->list, json_pack("{s:s, s:s, s:o, s:o, s:b}", "problem", c->problem, "model",
                                             model, "kept", side_json(r->u, c->kept), "dropped",
                                             side_json(r->u, c->dropped), "clear", (int)c->clear));
    free(model);
    return;
  }
  if (!r->table) r->table = gt_table_new("winners that differ|µs|95 % of samples|configuration", "lrrl");
  gt_table_cell(r->table, "%s", c->problem);
  side_cell(r->table, r->u, c->kept);
  gt_table_cell(r->table, "  dropped, %s", c->clear ? "clearly slower" : "within the noise");
  side_cell(r->table, r->u, c->dropped);
}

static void print_report(const report *r, const char *path) {
  const gt_merge_counts *n = &r->counts;
  const gt_validation *v = &r->validation;
  if (r->u->json) {
    gt_print_json(json_pack(
        "{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:O}", "cache", path, "dry_run",
        (int)r->u->dry_run, "new_winners", (json_int_t)n->new_winners, "replaced_winners",
        (json_int_t)n->replaced_winners, "kept_winners", (json_int_t)n->kept_winners, "new_deterministic",
        (json_int_t)n->new_deterministic, "replaced_deterministic", (json_int_t)n->replaced_deterministic,
        "new_trials", (json_int_t)n->new_trials, "replaced_trials", (json_int_t)n->replaced_trials,
        "stale_winners", (json_int_t)v->stale_winners, "stale_trials", (json_int_t)v->stale_trials,
        "refused_winners", (json_int_t)v->refused_winners, "refused_trials", (json_int_t)v->refused_trials,
        "conflicts", r->list));
    return;
  }
  if (r->table) {
    gt_table_print(r->table, stdout);
    putchar('\n');
  }
  printf("winners: %zu new, %zu replaced, %zu kept against others; trials: %zu new, %zu replaced%s %s\n",
         n->new_winners, n->replaced_winners, n->kept_winners, n->new_trials, n->replaced_trials,
         r->u->dry_run ? "; nothing was written to" : " in", path);
  if (n->new_deterministic + n->replaced_deterministic)
    printf("the best beside winners whose results repeat: %zu new, %zu replaced\n", n->new_deterministic,
           n->replaced_deterministic);
  if (v->stale_winners + v->stale_trials)
    printf(
        "stale, since the templates have changed: %s and %s; the next tuning run looks at them again\n",
        gt_counted(v->stale_winners, "winner").text, gt_counted(v->stale_trials, "trial").text);
  if (v->refused_winners + v->refused_trials)
    printf("left out, since they are not in the search space: %s and %s; the first: %s\n",
           gt_counted(v->refused_winners, "winner").text, gt_counted(v->refused_trials, "trial").text, v->first);
}

// All that the sources hold and that fits the search space. Read before the cache is opened: a source that
// cannot be read leaves no new, empty cache behind.
static gt_status read_sources(report *r, gt_collection *all, gt_error *error) {
  const gt_union *u = r->u;
  gt_generator *generator = NULL;
  gt_status status = gt_open_generator(&generator, error);
  for (int i = 0; i < u->n_sources && status == GT_OK; i++) {
    gt_collection one = {0};
    status = u->read(&one, u->sources[i], &u->selection.selection, i + 1, error);
    if (status == GT_OK)
      status = gt_collection_validate(&one, generator, u->sources[i], &r->validation, error);
    if (status == GT_OK) gt_collection_append(all, &one);
    gt_collection_free(&one);
  }
  gt_generator_close(generator);
  // Where less than everything is asked for, nothing at all is a mistake in the question.
  const gt_selection *asked = &u->selection.selection;
  const gt_validation *v = &r->validation;
  if (status == GT_OK && (asked->model || asked->op || asked->n_problems) &&
      all->n_winners + all->n_trials + v->refused_winners + v->refused_trials == 0)
    status = gt_fail(error, GT_NOT_FOUND, "nothing to %s: %s%s no winner and no trial that was asked for",
                     u->command, u->n_sources == 1 ? u->sources[0] : "the files",
                     u->n_sources == 1 ? " holds" : " hold");
  return status;
}

// Within one transaction, so that nobody writes between the reading of the cache and its change.
static gt_status take_in(report *r, gt_collection *all, gt_cache *cache, gt_error *error) {
  const gt_selection everything = {0};
  gt_status status = cache ? gt_collection_read(all, cache, &everything, GT_FROM_TARGET, error) : GT_OK;
  if (status == GT_OK) gt_merge_settle(all, on_conflict, r, &r->counts);
  if (status == GT_OK && cache && !r->u->dry_run) status = gt_collection_write(all, cache, error);
  return status;
}

static int run(const gt_union *u) {
  report r = {.u = u, .list = json_array()};
  gt_cache *cache = NULL;
  gt_collection all = {0};
  char *path = NULL;
  bool writing = false;
  gt_error error = {0};
  gt_status status = read_sources(&r, &all, &error);
  if (status == GT_OK)
    status = gt_open_cache(u->into, u->dry_run ? GT_CACHE_READ : GT_CACHE_WRITE, &cache, &path, &error);
  if (status == GT_OK && !u->dry_run) {
    status = gt_cache_begin(cache, &error);
    writing = status == GT_OK;
  }
  if (status == GT_OK) status = take_in(&r, &all, cache, &error);
  if (writing) status = gt_cache_end(cache, status, &error);
  if (status == GT_OK) print_report(&r, path);
  int result = status == GT_OK ? 0 : gt_complain_error(&error);
  gt_table_free(r.table);
  json_decref(r.list);
  gt_collection_free(&all);
  free(path);
  gt_cache_close(cache);
  return result;
}

int gt_union_run(gt_union *u) {
  int result = gt_selection_make(&u->selection);
  if (result == GT_CONTINUE) result = run(u);
  gt_selection_free(&u->selection);
  return result;
}
