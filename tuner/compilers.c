#include "tuner/compilers.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tuner/wire.h"

#define KEPT_BYTES ((size_t)256 << 20) // of finished code objects; those asked for longest ago go first
#define START_ATTEMPTS 3               // compiler processes in a row that die before they can compile
#define QUIT_SECONDS 5.0
#define SLICE_SECONDS 0.5 // of a wait, after which it is seen whether there still is a compiler process
#define SHORT_SLICE_SECONDS 0.02
#define LOG_BYTES 2000 // of a compiler's words that go into a message

typedef enum { WAITING, RUNNING, DONE } job_state;

typedef struct {
  char source_hash[GT_HASH_SIZE];
  char *source; // until it is compiled
  job_state state;
  bool finished;  // state == DONE, for the loop to watch
  bool disturbed; // its process was stopped or killed from outside, once
  gt_compiled result;
} job;

typedef struct {
  gt_child *child; // NULL: not started, or ended
  bool opened;
  job *job;     // that it compiles, NULL: none
  double since; // of the present phase, gt_seconds
} compiler;

struct gt_compilers {
  gt_child_loop *loop;
  gt_compilers_options options;
  gt_code_store *store;
  char store_key[GT_HASH_SIZE]; // of all that code depends on beside the source
  job **jobs;                   // in the order in which they were asked for
  size_t n_jobs, capacity;
  compiler *compilers;
  const bool *awaited; // whether the code is there that somebody waits for; NULL: nobody does
  int failed_starts;
  gt_error broken; // why no compiler process can be had; status GT_OK: they can
  gt_compilers_counts counts;
};

static job *find(const gt_compilers *all, const char *source_hash) {
  for (size_t i = 0; i < all->n_jobs; i++)
    if (strcmp(all->jobs[i]->source_hash, source_hash) == 0) return all->jobs[i];
  return NULL;
}

static void free_job(job *j) {
  free(j->source);
  gt_buffer_free(&j->result.code);
  gt_buffer_free(&j->result.message);
  free(j);
}

static void remove_job(gt_compilers *all, size_t index) {
  free_job(all->jobs[index]);
  memmove(&all->jobs[index], &all->jobs[index + 1], (--all->n_jobs - index) * sizeof *all->jobs);
}

static void add_job(gt_compilers *all, job *j) {
  if (all->n_jobs == all->capacity) {
    all->capacity = all->capacity ? 2 * all->capacity : 64;
    all->jobs = gt_realloc(all->jobs, all->capacity * sizeof *all->jobs);
  }
  all->jobs[all->n_jobs++] = j;
}

static void trim(gt_compilers *all) {
  size_t bytes = 0;
  for (size_t i = all->n_jobs; i-- > 0;) {
    bytes += all->jobs[i]->result.code.length;
    if (bytes > KEPT_BYTES && all->jobs[i]->finished) {
      bytes -= all->jobs[i]->result.code.length;
      remove_job(all, i);
    }
  }
}

static void finish(job *j, gt_status status) {
  j->result.status = status;
  if (status == GT_OK)
    gt_hash(j->result.code.data, j->result.code.length, j->result.code_hash);
  else
    gt_buffer_clear(&j->result.code);
  free(j->source);
  j->source = NULL;
  j->state = DONE;
  j->finished = true;
}

// --- the processes
// -------------------------------------------------------------------------------------------

static void drop(compiler *c) {
  gt_child_end(c->child);
  *c = (compiler){0};
}

static void give_up(gt_compilers *all, gt_status status, const char *why) {
  if (all->broken.status == GT_OK) gt_fail(&all->broken, status, "no compiler process: %s", why);
}

// Sends the job's source. The answer to an open request that went before comes first.
static void give(gt_compilers *all, compiler *c, job *j) {
  const gt_fingerprint *device = all->options.fingerprint;
  json_t *request = json_pack("{s:s, s:s, s:s, s:o}", "do", "compile", "backend", device->backend, "arch",
                              device->arch, "source", gt_wire_text(j->source));
  gt_child_send(c->child, request, NULL, 0);
  json_decref(request);
  j->state = RUNNING;
  c->job = j;
  c->since = gt_seconds();
}

static bool start(gt_compilers *all, compiler *c) {
  gt_error error = {0};
  if (gt_child_start(all->loop, all->options.program, &c->child, &error) != GT_OK) {
    c->child = NULL;
    give_up(all, error.status, error.text);
    return false;
  }
  json_t *request = json_pack("{s:s, s:s?}", "do", "open", "device", all->options.device);
  gt_child_send(c->child, request, NULL, 0);
  json_decref(request);
  return true;
}

// A process is lost. What it was compiling when it had its device open is what it died of, unless it was
// stopped or killed from outside.
static void lose(gt_compilers *all, compiler *c, gt_status status, const char *how) {
  gt_buffer words = {0}, failure = {0};
  gt_buffer_print(&failure, "%s", how);
  gt_child_last_words(c->child, &words);
  if (words.length) gt_buffer_print(&failure, "; its last words: %s", words.data);
  if (c->opened && c->job && !c->job->disturbed && gt_child_was_disturbed(c->child)) {
    c->job->disturbed = true;
    c->job->state = WAITING;
  } else if (c->opened && c->job) {
    gt_buffer_print(&c->job->result.message, "%s", failure.data);
    finish(c->job, status);
  } else if (!c->opened) {
    if (c->job) c->job->state = WAITING;
    if (++all->failed_starts >= START_ATTEMPTS) give_up(all, status, failure.data);
  }
  gt_buffer_free(&words);
  gt_buffer_free(&failure);
  drop(c);
}

static void take_opened(gt_compilers *all, compiler *c, const json_t *message) {
  gt_status status = gt_status_from_name(gt_wire_string(message, "status"));
  if (status == GT_OK) {
    c->opened = true;
    c->since = gt_seconds();
    all->failed_starts = 0;
    return;
  }
  if (c->job) c->job->state = WAITING;
  if (++all->failed_starts >= START_ATTEMPTS) give_up(all, status, gt_wire_string(message, "message"));
  drop(c);
}

static void take_code(gt_compilers *all, compiler *c, const json_t *message, gt_buffer *payload) {
  job *j = c->job;
  gt_status status = gt_status_from_name(gt_wire_string(message, "status"));
  j->result.ms = json_number_value(json_object_get(message, "compile_ms"));
  gt_buffer_print(&j->result.message, "%s", gt_wire_string(message, "message"));
  const char *log = gt_wire_string(message, "log");
  if (status == GT_COMPILE && *log) gt_buffer_print(&j->result.message, "\n%.*s", LOG_BYTES, log);
  if (status == GT_OK) {
    j->result.code = *payload;
    *payload = (gt_buffer){0};
  }
  finish(j, status);
  c->job = NULL;
  if (status == GT_OK && all->store)
    gt_code_store_put(all->store, all->store_key, j->source_hash, j->result.code.data, j->result.code.length);
}

// Takes what one process has said, until there is nothing more.
static void hear(gt_compilers *all, compiler *c) {
  json_t *message = NULL;
  gt_buffer payload = {0};
  gt_buffer how = {0};
  double limit = all->options.seconds;
  while (c->child) {
    gt_child_event event = gt_child_look(c->child, &message, &payload);
    if (event == GT_CHILD_FRAME) {
      if (strcmp(gt_wire_string(message, "event"), "progress") == 0)
        c->since = gt_seconds();
      else if (!c->opened)
        take_opened(all, c, message);
      else if (c->job)
        take_code(all, c, message, &payload);
      json_decref(message);
      continue;
    }
    bool busy = !c->opened || c->job;
    if (event == GT_CHILD_ENDED) {
      gt_child_epitaph(c->child, &how);
      gt_buffer_print(&how, " in phase \"%s\"", c->opened ? "compile" : "open");
      lose(all, c, GT_CRASH, how.data);
    } else if (event == GT_CHILD_GARBAGE) {
      lose(all, c, GT_CRASH, "sent garbage in phase \"compile\"");
    } else if (busy && gt_seconds() - c->since > limit) {
      gt_buffer_print(&how, "no end of phase \"%s\" within %g s", c->opened ? "compile" : "open", limit);
      lose(all, c, GT_TIMEOUT, how.data);
    }
    break;
  }
  gt_buffer_free(&payload);
  gt_buffer_free(&how);
}

// The process that the next job goes to: one that is idle, or one more.
static compiler *find_free(gt_compilers *all) {
  compiler *absent = NULL;
  for (int i = 0; i < all->options.jobs; i++) {
    compiler *c = &all->compilers[i];
    if (c->child && !c->job) return c;
    if (!c->child && !absent) absent = c;
  }
  if (!absent || !start(all, absent)) return NULL;
  absent->since = gt_seconds();
  return absent;
}

static void attend(void *context) {
  gt_compilers *all = context;
  for (int i = 0; i < all->options.jobs; i++) hear(all, &all->compilers[i]);
  if (all->options.on_demand && (!all->awaited || *all->awaited)) return;
  for (size_t i = 0; i < all->n_jobs && all->broken.status == GT_OK; i++) {
    if (all->jobs[i]->state != WAITING) continue;
    compiler *c = find_free(all);
    if (!c) return;
    give(all, c, all->jobs[i]);
  }
}

// --- for the tuner
// -------------------------------------------------------------------------------------------

gt_compilers *gt_compilers_open(gt_child_loop *loop, const gt_compilers_options *options) {
  gt_compilers *all = gt_alloc(sizeof *all);
  all->loop = loop;
  all->options = *options;
  all->compilers = gt_alloc((size_t)options->jobs * sizeof *all->compilers);
  gt_code_store_key(options->fingerprint, all->store_key);
  gt_child_loop_attend(loop, attend, all);
  return all;
}

void gt_compilers_close(gt_compilers *all) {
  if (!all) return;
  gt_child_loop_attend(all->loop, NULL, NULL);
  // Those that have nothing to do end by themselves, all at the same time.
  json_t *quit = json_pack("{s:s}", "do", "quit");
  for (int i = 0; i < all->options.jobs; i++) {
    compiler *c = &all->compilers[i];
    if (c->child && c->opened && !c->job) gt_child_send(c->child, quit, NULL, 0);
  }
  json_decref(quit);
  for (int i = 0; i < all->options.jobs; i++) {
    compiler *c = &all->compilers[i];
    if (c->child && c->opened && !c->job) gt_child_quit(c->child, QUIT_SECONDS);
    drop(c);
  }
  for (size_t i = 0; i < all->n_jobs; i++) free_job(all->jobs[i]);
  free(all->jobs);
  free(all->compilers);
  free(all);
}

void gt_compilers_use_store(gt_compilers *all, gt_code_store *store) {
  all->store = store;
}

static job *ask(gt_compilers *all, const gt_variant *variant) {
  job *j = find(all, variant->source_hash);
  if (j) return j;
  j = gt_alloc(sizeof *j);
  memcpy(j->source_hash, variant->source_hash, sizeof j->source_hash);
  trim(all);
  add_job(all, j);
  if (all->store && gt_code_store_get(all->store, all->store_key, j->source_hash, &j->result.code)) {
    all->counts.reused++;
    finish(j, GT_OK);
    return j;
  }
  j->source = gt_strdup(variant->source);
  all->counts.compiled++;
  return j;
}

void gt_compilers_ask(gt_compilers *all, const gt_variant *variant) {
  ask(all, variant);
  (void)gt_child_loop_run(all->loop, 0, NULL); // on its way at once
}

void gt_compilers_provide(gt_compilers *all, const gt_variant *variant, const void *code, size_t size) {
  job *j = find(all, variant->source_hash);
  if (j && j->finished && j->result.status == GT_OK) return;
  if (j && j->state == RUNNING) return; // it will be there soon
  if (!j) {
    j = gt_alloc(sizeof *j);
    memcpy(j->source_hash, variant->source_hash, sizeof j->source_hash);
    trim(all);
    add_job(all, j);
  }
  gt_buffer_clear(&j->result.message);
  gt_buffer_append(&j->result.code, code, size);
  finish(j, GT_OK);
}

static bool any_runs(const gt_compilers *all) {
  for (int i = 0; i < all->options.jobs; i++)
    if (all->compilers[i].job) return true;
  return false;
}

gt_status gt_compilers_get(gt_compilers *all, const gt_variant *variant, const gt_compiled **compiled,
                           gt_error *error) {
  job *j = ask(all, variant);
  bool goes_on = true;
  *compiled = &j->result;
  all->awaited = &j->finished;
  while (goes_on && !j->finished && all->broken.status == GT_OK)
    goes_on = gt_child_loop_run(all->loop, SLICE_SECONDS, &j->finished);
  all->awaited = NULL;
  while (goes_on && all->options.on_demand && any_runs(all))
    goes_on = gt_child_loop_run(all->loop, SHORT_SLICE_SECONDS, NULL);
  if (!goes_on) return gt_fail(error, GT_INTERRUPTED, "interrupted");
  return j->finished ? GT_OK : gt_fail(error, all->broken.status, "%s", all->broken.text);
}

bool gt_compilers_has(const gt_compilers *all, const gt_variant *variant) {
  const job *j = find(all, variant->source_hash);
  return j && j->finished;
}

void gt_compilers_forget(gt_compilers *all) {
  for (size_t i = all->n_jobs; i-- > 0;) {
    const job *j = all->jobs[i];
    if (j->state == WAITING) all->counts.compiled--;
    if (j->state == WAITING || (j->finished && j->result.status != GT_OK)) remove_job(all, i);
  }
}

gt_compilers_counts gt_compilers_count(const gt_compilers *all) {
  return all->counts;
}
