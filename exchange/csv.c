// Winners as comma-separated values (RFC 4180), one line for a problem, with the columns by which AMD's
// libraries keep tuned rows first: architecture and compute units, then the problem, then the kernel and its
// time.
#include <string.h>

#include "exchange/export.h"
#include "exchange/order.h"

static const char heading[] =
    "gfx,cu_num,backend,device,op,n,c,in,out,dtype,layout,flags,family,config,kernelName,us,spread_us,"
    "default_us,stream_us,compiler,driver,tuned_at,code_hash,problem\r\n";

static void field(gt_buffer *text, const char *value, size_t length) {
  bool quoted = false;
  for (size_t i = 0; i < length; i++) quoted = quoted || strchr(",\"\r\n", value[i]);
  if (quoted) gt_buffer_print(text, "\"");
  for (size_t i = 0; i < length; i++) {
    if (value[i] == '"') gt_buffer_print(text, "\"");
    gt_buffer_append(text, &value[i], 1);
  }
  gt_buffer_print(text, "%s,", quoted ? "\"" : "");
}

static void text_field(gt_buffer *text, const char *value) {
  field(text, value, strlen(value));
}

static const char *const columns[] = {"n", "c", "in", "out", "dtype", "layout"};
enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

// The keys of a problem's canonical text: those with a column of their own, then the others together.
static void problem_fields(gt_buffer *text, const char *problem) {
  const char *keys = problem + strcspn(problem, ":");
  field(text, problem, (size_t)(keys - problem));
  const char *values[COLUMN_COUNT] = {0};
  size_t lengths[COLUMN_COUNT] = {0};
  gt_buffer flags = {0};
  for (const char *at = keys; *at; at += strcspn(at, ",")) {
    at++; // the colon or the comma
    size_t length = strcspn(at, ","), name = strcspn(at, "="), i = 0;
    while (i < COLUMN_COUNT && (strlen(columns[i]) != name || memcmp(columns[i], at, name) != 0)) i++;
    if (i < COLUMN_COUNT) {
      values[i] = at + name + 1;
      lengths[i] = length - name - 1;
    } else {
      gt_buffer_print(&flags, "%s%.*s", flags.length ? ";" : "", (int)length, at);
    }
  }
  for (size_t i = 0; i < COLUMN_COUNT; i++) field(text, values[i] ? values[i] : "", lengths[i]);
  text_field(text, flags.data ? flags.data : "");
  gt_buffer_free(&flags);
}

static void kernel_names(gt_buffer *text, const gt_variant *variant) {
  gt_buffer names = {0};
  for (int i = 0; i < variant->n_launches; i++)
    gt_buffer_print(&names, "%s%s", i ? ";" : "", variant->launches[i].kernel);
  text_field(text, names.data ? names.data : "");
  gt_buffer_free(&names);
}

static void time_field(gt_buffer *text, double us) { // empty where there is none
  if (us > 0) gt_buffer_print(text, "%.4f", us);
  gt_buffer_print(text, ",");
}

gt_status gt_export_csv(gt_collection *c, const gt_export_options *options, gt_export_counts *counts,
                        gt_error *error) {
  gt_buffer text = {0};
  gt_collection_sort(c);
  gt_buffer_print(&text, "%s", heading);
  for (size_t i = 0; i < c->n_winners; i++) {
    const gt_winner *w = &c->winners[i].winner;
    const gt_fingerprint *device = &c->devices[c->winners[i].device];
    text_field(&text, device->arch);
    gt_buffer_print(&text, "%d,", device->compute_units);
    text_field(&text, device->backend);
    text_field(&text, device->name);
    problem_fields(&text, w->problem);
    text_field(&text, w->variant.family);
    text_field(&text, w->variant.configuration);
    kernel_names(&text, &w->variant);
    time_field(&text, w->median_us);
    time_field(&text, w->spread_us);
    time_field(&text, w->default_us);
    time_field(&text, w->stream_us);
    text_field(&text, w->compiler);
    text_field(&text, w->driver);
    text_field(&text, w->tuned_at);
    text_field(&text, w->code_hash);
    text_field(&text, w->problem);
    text.data[--text.length] = 0; // the last comma
    gt_buffer_print(&text, "\r\n");
  }
  *counts = (gt_export_counts){.winners = c->n_winners, .files = 1};
  gt_status status = gt_export_text(&text, options, error);
  gt_buffer_free(&text);
  return status;
}
