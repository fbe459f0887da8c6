// Where a configuration's time goes: cold-cache times of its first launch, of its first two, and so on. What
// a launch adds is the difference, its gap included.
//
//     build/bench/launches DEVICE PROBLEM CONFIGURATION       GATHERTUNE_TEMPLATES names a folder of other
//     templates
#include <stdio.h>
#include <stdlib.h>

#include "tuner/bench.h"

#include "generator/generator.h"

static void must(gt_status status, const gt_error *error) {
  if (status == GT_OK) return;
  fprintf(stderr, "bench/launches: %s\n", error->text);
  exit(status == GT_USAGE ? 2 : 1);
}

int main(int argc, char **argv) {
  gt_error error = {0};
  gt_open_device open;
  gt_problem problem;
  gt_generator *generator;
  gt_variant variant;
  gt_bench bench;
  gt_buffer code = {0}, log = {0};
  gt_timing_options timing;
  if (argc != 4) must(gt_fail(&error, GT_USAGE, "usage: launches DEVICE PROBLEM CONFIGURATION"), &error);
  must(gt_problem_parse(argv[2], &problem, &error), &error);
  must(gt_device_open(argv[1], &open, &error), &error);
  must(gt_generator_open(getenv("GATHERTUNE_TEMPLATES"), &generator, &error), &error);
  must(gt_render(generator, argv[3], &problem, &open.fingerprint, &variant, &error), &error);
  must(open.backend->compile(open.device, open.fingerprint.arch, variant.source, &code, &log, &error),
       &error);
  must(gt_bench_open(&open, &problem, NULL, NULL, &bench, &error), &error);
  gt_timing_defaults(&timing);
  double before = 0;
  for (int count = 1; count <= variant.n_launches; count++) {
    gt_loaded loaded;
    gt_samples samples = {0};
    must(gt_loaded_open(&bench, &variant, code.data, code.length, &loaded, &error), &error);
    loaded.n_launches = count;
    must(gt_timing_run(&timing, gt_loaded_batch, &loaded, &samples, &error), &error);
    double median = gt_median(samples.us, samples.count);
    printf("%-16s %10.2f µs   up to here %10.2f µs\n", variant.launches[count - 1].kernel, median - before,
           median);
    before = median;
    gt_samples_free(&samples);
    gt_loaded_close(&loaded);
  }
  gt_buffer_free(&code);
  gt_buffer_free(&log);
  gt_bench_close(&bench);
  gt_variant_free(&variant);
  gt_generator_close(generator);
  gt_device_close(&open);
  return 0;
}
