#include "tuner/bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/fill.h"
#include "tuner/positions.h"

#define MAX_SLOTS 65536
#define CPU_BYTES ((int64_t)64 << 20) // of all slots together on a CPU: its memory is the host's

#define SHORT_US 20         // a launch; the host keeps ahead of longer ones, so that its time does not show
#define FEWEST_REPLAYED 16  // launch sequences; smaller batches only look for the size of a batch
#define GRAPH_SEQUENCES 256 // about as many in a graph: a few µs between two graphs are then nothing

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// How many slots to ask for: between two uses of a slot the others move twice the last-level cache, within
// the memory that may be used. A slot moves less than it takes where grad_output has gaps.
static int wanted_slots(const gt_open_device *open, int64_t moved_bytes, int64_t slot_bytes,
                        uint64_t free_bytes) {
  int64_t bytes = 2 * open->fingerprint.last_level_cache_bytes;
  if (open->fingerprint.is_cpu) bytes = smaller(bytes, CPU_BYTES);
  int64_t slots = (bytes + moved_bytes - 1) / moved_bytes + 1;
  if (open->fingerprint.is_cpu) slots = smaller(slots, CPU_BYTES / slot_bytes);
  // Rotation is worth no more than part of the memory: workspaces need some too.
  slots = smaller(slots, (int64_t)(free_bytes / 10 * 6) / slot_bytes);
  slots = smaller(slots, MAX_SLOTS);
  return slots < 1 ? 1 : (int)slots;
}

// Bytes from the start of a tensor to just past its last element.
static int64_t extent(const gt_bench *bench, int tensor, int64_t outer) {
  return gt_tensor_extent(&bench->problem, &bench->tensors[tensor], outer) *
         (int64_t)gt_dtype_bytes(bench->problem.dtype);
}

static gt_status make_buffers(gt_bench *bench, int64_t outer, int slots, gt_error *error) {
  gt_status status = GT_OK;
  for (int i = 0; i < bench->n_tensors; i++) gt_guarded_free(bench->open, &bench->buffers[i]);
  for (int i = 0; i < bench->n_tensors && status == GT_OK; i++)
    status = gt_guarded_make(bench->open, gt_tensor_name(bench->tensors[i].kind), extent(bench, i, outer),
                             slots, &bench->buffers[i], error);
  bench->outer = outer;
  bench->slots = slots;
  return status;
}

// "grad_output and grad_input"
static void print_names(const gt_bench *bench, gt_buffer *text) {
  for (int i = 0; i < bench->n_tensors; i++)
    gt_buffer_print(text, "%s%s", i == 0 ? "" : i + 1 < bench->n_tensors ? ", " : " and ",
                    gt_tensor_name(bench->tensors[i].kind));
}

// Allocates as much as is wanted, or what can be had: fewer slots first, then fewer outer indices.
static gt_status allocate(gt_bench *bench, bool whole, gt_error *error) {
  int64_t outer = gt_problem_outer(&bench->problem), per_outer = 0; // gaps included
  int64_t moved_per_outer =
      gt_problem_moved(&bench->problem) / outer * (int64_t)gt_dtype_bytes(bench->problem.dtype);
  for (int i = 0; i < bench->n_tensors; i++) per_outer += (extent(bench, i, outer) + outer - 1) / outer;
  uint64_t free_bytes = 0;
  gt_status status = bench->open->backend->free_memory(bench->open->device, &free_bytes, error);
  if (status != GT_OK) return status;

  // A CPU's memory is the host's, which others use too.
  int64_t most = (int64_t)(free_bytes / 100 * (bench->open->fingerprint.is_cpu ? 25 : 95)) / per_outer;
  // Where the problem is cut anyway, workspaces, which are cut with it, get as much as the buffers.
  if (!whole && most >= 1 && most < outer) outer = most > 1 ? most / 2 : 1;
  int slots = whole ? 1
                    : wanted_slots(bench->open, gt_guarded_total(outer * moved_per_outer, 1),
                                   gt_guarded_total(outer * per_outer, 1), free_bytes);
  for (;;) {
    status = make_buffers(bench, outer, slots, error);
    if (status != GT_OUT_OF_MEMORY) return status;
    if (slots > 1) {
      slots /= 2;
    } else if (outer > 1 && !whole) {
      outer /= 2;
    } else {
      gt_buffer names = {0};
      print_names(bench, &names);
      status = gt_fail(error, GT_OUT_OF_MEMORY, "%s need %" PRId64 " MiB%s, the device has %" PRIu64 " MiB free",
                       names.data, (outer * per_outer) >> 20, whole ? "" : " for a single outer index",
                       free_bytes >> 20);
      gt_buffer_free(&names);
      return status;
    }
  }
}

static void describe(const gt_problem *problem, gt_bench *bench) {
  *bench = (gt_bench){.problem = *problem, .outer = gt_problem_outer(problem), .slots = 1};
  bench->n_tensors = gt_problem_tensors(problem, bench->tensors);
  while (!bench->tensors[bench->n_inputs].is_result) bench->n_inputs++;
}

// Of the outer indices that the bench has; `grid` is of all.
static void make_grid(gt_bench *bench, const void *grid) {
  for (int i = 0; i < bench->n_inputs; i++) {
    if (bench->tensors[i].kind != GT_GRID) continue;
    size_t bytes = (size_t)gt_bench_bytes(bench, i);
    bench->grid = gt_alloc(bytes);
    if (grid)
      memcpy(bench->grid, grid, bytes);
    else
      gt_positions_make(&bench->problem, bench->outer, bench->grid);
  }
}

void gt_bench_describe(const gt_problem *problem, const void *grid, gt_bench *bench) {
  describe(problem, bench);
  make_grid(bench, grid);
}

int64_t gt_bench_bytes(const gt_bench *bench, int tensor) {
  return bench->outer * bench->tensors[tensor].slice * (int64_t)gt_dtype_bytes(bench->problem.dtype);
}

int64_t gt_bench_result_bytes(const gt_bench *bench) {
  int64_t bytes = 0;
  for (int i = bench->n_inputs; i < bench->n_tensors; i++) bytes += gt_bench_bytes(bench, i);
  return bytes;
}

gt_status gt_bench_open(gt_open_device *open, const gt_problem *problem, const void *const *values,
                        const void *grid, gt_bench *bench, gt_error *error) {
  *bench = (gt_bench){0};
  if (gt_problem_outer(problem) < 1 || gt_problem_in_elements(problem) < 1)
    return gt_fail(error, GT_USAGE, "an empty problem has nothing to launch");
  describe(problem, bench);
  bench->open = open;
  if (!open->backend->executes) return GT_OK;

  gt_status status = allocate(bench, values != NULL, error);
  if (status == GT_OK) make_grid(bench, grid);
  for (int i = 0; i < bench->n_inputs && status == GT_OK; i++) {
    const gt_tensor *tensor = &bench->tensors[i];
    status = gt_fill_tensor(open, problem, tensor, bench->outer, gt_guarded_slot(&bench->buffers[i], 0),
                            tensor->kind == GT_GRID ? bench->grid : values ? values[i] : NULL, error);
    if (status == GT_OK) status = gt_guarded_spread(open, &bench->buffers[i], error);
  }
  if (status == GT_OK) status = open->backend->synchronize(open->device, error);
  if (status != GT_OK) gt_bench_close(bench);
  return status;
}

void gt_bench_close(gt_bench *bench) {
  for (int i = 0; bench->open && i < bench->n_tensors; i++) gt_guarded_free(bench->open, &bench->buffers[i]);
  free(bench->grid);
  *bench = (gt_bench){0};
}

static int larger(int a, int b) {
  return a > b ? a : b;
}

gt_status gt_loaded_open(gt_bench *bench, const gt_variant *variant, const void *code, size_t size,
                         gt_loaded *loaded, gt_error *error) {
  const gt_backend *backend = bench->open->backend;
  gt_device *device = bench->open->device;
  *loaded = (gt_loaded){.bench = bench, .n_launches = variant->n_launches, .info = {-1, -1, -1, -1}};
  gt_status status = backend->load(device, code, size, &loaded->module, error);
  if (status != GT_OK) loaded->module = NULL;
  for (int i = 0; status == GT_OK && i < variant->n_launches; i++) {
    const gt_launch_rule *rule = &variant->launches[i];
    gt_kernel_info info = {-1, -1, -1, -1};
    status = backend->kernel(device, loaded->module, rule->kernel, &loaded->kernels[i], error);
    if (status == GT_OK) status = backend->kernel_info(device, loaded->kernels[i], &info, error);
    if (status == GT_OK) status = gt_launch_grid(rule, bench->outer, loaded->grid[i], error);
    memcpy(loaded->block[i], rule->block, sizeof rule->block);
    loaded->info.registers = larger(loaded->info.registers, info.registers);
    loaded->info.lds_bytes = larger(loaded->info.lds_bytes, info.lds_bytes);
    loaded->info.scratch_bytes = larger(loaded->info.scratch_bytes, info.scratch_bytes);
  }
  int64_t workspace = gt_variant_workspace(variant, bench->outer);
  if (status == GT_OK && workspace > 0 && backend->executes) {
    if (workspace > INT64_MAX / 2)
      status = gt_fail(error, GT_OUT_OF_MEMORY, "workspace size overflows");
    else
      status = gt_guarded_make(bench->open, "workspace", workspace, 1, &loaded->workspace, error);
  }
  if (status != GT_OK) gt_loaded_close(loaded);
  return status;
}

static void drop_graphs(gt_loaded *loaded) {
  gt_open_device *open = loaded->bench->open;
  if (!loaded->graphs) return;
  (void)open->backend->synchronize(open->device, NULL); // after an error, replays may still be under way
  for (int i = 0; i < loaded->n_graphs; i++)
    if (loaded->graphs[i]) open->backend->drop(open->device, loaded->graphs[i]);
  free(loaded->graphs);
  loaded->graphs = NULL;
}

void gt_loaded_close(gt_loaded *loaded) {
  if (!loaded->bench) return;
  gt_open_device *open = loaded->bench->open;
  drop_graphs(loaded);
  gt_guarded_free(open, &loaded->workspace);
  if (loaded->module) open->backend->unload(open->device, loaded->module);
  *loaded = (gt_loaded){0};
}

gt_status gt_loaded_launch(gt_loaded *loaded, int slot, gt_error *error) {
  gt_bench *bench = loaded->bench;
  int tensors = bench->n_tensors; // then the workspace
  gt_arguments arguments = {.n_pointers = tensors + 1, .integers = {bench->outer}, .n_integers = 1};
  if (bench->open->backend->executes) {
    for (int i = 0; i < tensors; i++) arguments.pointers[i] = gt_guarded_slot(&bench->buffers[i], slot);
    if (loaded->workspace.base) arguments.pointers[tensors] = gt_guarded_slot(&loaded->workspace, 0);
  }
  for (int i = 0; i < loaded->n_launches; i++) {
    const uint32_t *grid = loaded->grid[i];
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) continue;
    gt_status status = bench->open->backend->launch(bench->open->device, loaded->kernels[i], grid,
                                                    loaded->block[i], &arguments, error);
    if (status != GT_OK) return status;
  }
  return GT_OK;
}

gt_status gt_loaded_run(gt_loaded *loaded, int slot, uint32_t poison, bool *intact, gt_buffer *what,
                        gt_error *error) {
  gt_bench *bench = loaded->bench;
  gt_open_device *open = bench->open;
  *intact = true;
  gt_status status = GT_OK;
  if (open->backend->executes) {
    for (int i = bench->n_inputs; i < bench->n_tensors && status == GT_OK; i++)
      status = gt_guarded_poison(open, &bench->buffers[i], slot, poison, error);
    if (status == GT_OK && loaded->workspace.base)
      status = gt_guarded_poison(open, &loaded->workspace, 0, poison, error);
  }
  if (status == GT_OK) status = gt_loaded_launch(loaded, slot, error);
  if (status == GT_OK) status = open->backend->synchronize(open->device, error);
  if (!open->backend->executes) return status;

  // Results first: a kernel that writes too far does so there.
  for (int i = bench->n_tensors - 1; i >= 0 && status == GT_OK && *intact; i--)
    status = gt_guarded_check(open, &bench->buffers[i], slot, intact, what, error);
  if (status == GT_OK && *intact && loaded->workspace.base)
    status = gt_guarded_check(open, &loaded->workspace, 0, intact, what, error);
  return status;
}

gt_status gt_loaded_traffic(gt_loaded *loaded, gt_traffic *traffic, gt_error *error) {
  const gt_open_device *open = loaded->bench->open;
  gt_traffic before;
  if (!open->backend->traffic)
    return gt_fail(error, GT_UNSUPPORTED, "%s does not count the traffic of kernels", open->name);
  gt_status status = open->backend->synchronize(open->device, error);
  if (status == GT_OK) status = open->backend->traffic(open->device, &before, error);
  if (status == GT_OK) status = gt_loaded_launch(loaded, 0, error);
  if (status == GT_OK) status = open->backend->synchronize(open->device, error);
  return status == GT_OK ? open->backend->traffic(open->device, traffic, error) : status;
}

static int graph_slots(const gt_loaded *loaded) {
  return loaded->warm ? 1 : loaded->bench->slots;
}

// The slots are divided evenly among the graphs; a single graph goes round them several times.
static int first_slot(const gt_loaded *loaded, int graph) {
  return (int)((int64_t)graph_slots(loaded) * graph / loaded->n_graphs);
}

static int graph_sequences(const gt_loaded *loaded, int graph) {
  int slots = graph_slots(loaded);
  if (loaded->n_graphs > 1) return first_slot(loaded, graph + 1) - first_slot(loaded, graph);
  return slots * larger(GRAPH_SEQUENCES / slots, 1);
}

// The graph whose turn it is: other batches on this bench may have ended within one. What is left out then
// is never more than half of the slots, or a single graph's first few.
static int next_graph(const gt_loaded *loaded) {
  for (int graph = 0; loaded->n_graphs > 1 && graph < loaded->n_graphs; graph++)
    if (first_slot(loaded, graph) >= loaded->bench->next_slot) return graph;
  return 0;
}

static gt_status capture(gt_loaded *loaded, int index, gt_error *error) {
  const gt_backend *backend = loaded->bench->open->backend;
  gt_device *device = loaded->bench->open->device;
  gt_graph *graph = NULL;
  gt_status status = backend->capture(device, error);
  if (status != GT_OK) return status;
  for (int i = 0; status == GT_OK && i < graph_sequences(loaded, index); i++)
    status = gt_loaded_launch(loaded, (first_slot(loaded, index) + i) % graph_slots(loaded), error);
  gt_status ended = backend->captured(device, &graph, status == GT_OK ? error : NULL);
  if (ended == GT_OK && status == GT_OK)
    loaded->graphs[index] = graph;
  else if (ended == GT_OK)
    backend->drop(device, graph);
  return status == GT_OK ? ended : status;
}

// Captures what graphs a batch needs and are not there yet; the last status is left for the caller to judge.
static gt_status capture_needed(gt_loaded *loaded, int count, gt_error *error) {
  const gt_backend *backend = loaded->bench->open->backend;
  if (!loaded->graphs) {
    loaded->n_graphs = (graph_slots(loaded) + GRAPH_SEQUENCES - 1) / GRAPH_SEQUENCES;
    loaded->graphs = gt_alloc((size_t)loaded->n_graphs * sizeof(gt_graph *));
  }
  gt_status status = GT_OK;
  int graph = next_graph(loaded), sequences = 0;
  for (int i = 0; status == GT_OK && i < loaded->n_graphs && sequences < count; i++) {
    sequences += graph_sequences(loaded, graph);
    if (!loaded->graphs[graph]) {
      status = capture(loaded, graph, error);
      // The first replay may take longer. Of a graph of some of the slots only it would warm the caches.
      if (status == GT_OK && loaded->n_graphs == 1)
        status = backend->replay(loaded->bench->open->device, loaded->graphs[graph], error);
    }
    graph = (graph + 1) % loaded->n_graphs;
  }
  return status;
}

// Decides how batches of `count` are launched, and makes them ready. That graphs fail is no error.
static gt_status prepare_batch(gt_loaded *loaded, int count, gt_error *error) {
  gt_bench *bench = loaded->bench;
  if (count != loaded->count)
    loaded->replays = count >= FEWEST_REPLAYED && loaded->sequence_us > 0 &&
                      loaded->sequence_us < SHORT_US * loaded->n_launches;
  loaded->count = count;
  if (!bench->open->backend->capture || bench->no_graphs) loaded->replays = false;
  if (!loaded->replays) return GT_OK;
  gt_error problem = {0};
  gt_status status = capture_needed(loaded, count, &problem);
  if (status == GT_DEVICE_LOST) return gt_fail(error, status, "%s", problem.text);
  if (status != GT_OK) {
    drop_graphs(loaded);
    bench->no_graphs = true;
    loaded->replays = false;
  }
  return GT_OK;
}

static gt_status launch_batch(gt_loaded *loaded, int count, int *launched, gt_error *error) {
  gt_bench *bench = loaded->bench;
  gt_status status = GT_OK;
  for (*launched = 0; status == GT_OK && *launched < count; (*launched)++) {
    int slot = loaded->warm ? 0 : bench->next_slot;
    bench->next_slot = (bench->next_slot + 1) % bench->slots;
    status = gt_loaded_launch(loaded, slot, error);
  }
  return status;
}

static gt_status replay_batch(gt_loaded *loaded, int count, int *launched, gt_error *error) {
  gt_bench *bench = loaded->bench;
  gt_status status = GT_OK;
  int graph = next_graph(loaded);
  for (*launched = 0; status == GT_OK && *launched < count; graph = (graph + 1) % loaded->n_graphs) {
    status = bench->open->backend->replay(bench->open->device, loaded->graphs[graph], error);
    *launched += graph_sequences(loaded, graph);
    if (!loaded->warm) bench->next_slot = first_slot(loaded, graph + 1) % bench->slots;
  }
  return status;
}

gt_status gt_loaded_batch(void *context, int count, double *us, gt_error *error) {
  gt_loaded *loaded = context;
  const gt_backend *backend = loaded->bench->open->backend;
  gt_device *device = loaded->bench->open->device;
  int launched = 0;
  gt_status status = prepare_batch(loaded, count, error);
  if (status == GT_OK) status = backend->mark(device, 0, error);
  if (status == GT_OK)
    status = loaded->replays ? replay_batch(loaded, count, &launched, error)
                             : launch_batch(loaded, count, &launched, error);
  if (status == GT_OK) status = backend->mark(device, 1, error);
  if (status == GT_OK) status = backend->elapsed(device, 0, 1, us, error);
  if (status != GT_OK) return status;
  loaded->sequence_us = launched ? *us / launched : 0;
  *us = loaded->replays ? loaded->sequence_us * count : *us; // the very number where nothing was rounded up
  return GT_OK;
}
