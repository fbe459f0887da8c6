// gathertune generate: a kernel's source, its code object, or what the compiler made of it, for any
// architecture, with no device at hand.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/traffic.h"
#include "tuner/bench.h"
#include "tuner/npy.h"
#include "tuner/workshop.h"

typedef struct {
  const char *config, *family, *target, *arch, *device, *emit, *output;
  bool json;
  gt_problem problem;
  char text[GT_PROBLEM_TEXT];
} request;

static bool emits(const request *r, const char *what) {
  return strcmp(r->emit, what) == 0;
}

// --- what for
// ------------------------------------------------------------------------------------------------------

// The fingerprint to generate for. A worker is opened where one is needed: on a device that was named, or for
// OpenCL, whose compiler belongs to a device.
static gt_status choose(const request *r, gt_fingerprint *device, gt_workshop **workshop, gt_error *error) {
  gt_target target = GT_TARGET_HIP;
  if (r->target && !gt_target_from_name(r->target, &target))
    return gt_fail(error, GT_USAGE, "unknown target '%s'; targets are hip, cuda and opencl", r->target);
  bool object = emits(r, "object");
  const char *name = r->device;
  if (!name && object && r->target && target == GT_TARGET_OPENCL) name = "opencl:0";
  if (name) {
    if (r->arch)
      return gt_fail(error, GT_USAGE, "--arch and %s exclude each other",
                     r->device ? "--device" : "objects for OpenCL, which belong to a device,");
    gt_status status = gt_workshop_open(name, NULL, workshop, error);
    if (status != GT_OK) return status;
    *device = *gt_workshop_fingerprint(*workshop);
    if (r->target && target != device->target)
      return gt_fail(error, GT_USAGE, "%s is a device for %s, not for %s", name,
                     gt_target_name(device->target), r->target);
    return GT_OK;
  }
  const char *arch = r->arch ? r->arch : r->target && target == GT_TARGET_CUDA ? "sm_90" : "gfx942";
  if (!gt_fingerprint_for_arch(arch, device))
    return gt_fail(error, GT_USAGE,
                   "unknown architecture '%s'; known are gfx90a, gfx942, gfx950 and others of AMD, "
                   "sm_80, sm_90 and others of NVIDIA",
                   arch);
  if (r->target && target != device->target) {
    if (target != GT_TARGET_OPENCL)
      return gt_fail(error, GT_USAGE, "%s is no architecture for %s", arch, r->target);
    device->target = target; // OpenCL C for the same hardware
    snprintf(device->backend, sizeof device->backend, "opencl");
  }
  if (!object && !emits(r, "report")) return GT_OK;
  return gt_workshop_open(NULL, NULL, workshop, error);
}

// GT_USAGE unless it is HIP that compiles for the device, whose code objects alone can be read.
static gt_status check_report(const gt_fingerprint *device, gt_error *error) {
  if (device->target == GT_TARGET_HIP) return GT_OK;
  if (device->target == GT_TARGET_CUDA)
    return gt_fail(error, GT_USAGE, "reports are for AMD's architectures, such as gfx942, not for %s",
                   device->arch);
  return gt_fail(error, GT_USAGE,
                 "reports are of what HIP compiles for AMD's architectures, not of OpenCL's");
}

// --- output
// --------------------------------------------------------------------------------------------------------

static gt_status put(const request *r, const void *data, size_t size, gt_error *error) {
  if (r->output) return gt_write_file(r->output, data, size, error);
  if (size && fwrite(data, size, 1, stdout) != 1)
    return gt_fail(error, GT_IO, "cannot write to standard output");
  return GT_OK;
}

static json_t *describe(const request *r, const gt_fingerprint *device) {
  return json_pack("{s:s, s:s, s:s}", "problem", r->text, "target", gt_target_name(device->target), "arch",
                   device->arch);
}

static gt_status emit_space(const request *r, gt_generator *generator, const gt_fingerprint *device,
                            const char *family, gt_error *error) {
  gt_space space = {0};
  gt_buffer lines = {0};
  gt_status status = gt_space_make(generator, family, &r->problem, device, &space, error);
  if (status != GT_OK) goto done;
  if (r->json) {
    json_t *list = json_array(), *json = describe(r, device);
    for (size_t i = 0; i < space.count; i++)
      json_array_append_new(list, json_string(space.configurations[i]));
    json_object_set_new(json, "family", json_string(family));
    json_object_set_new(json, "rejected", json_integer((json_int_t)space.rejected));
    json_object_set_new(json, "configurations", list);
    gt_print_json(json);
    goto done;
  }
  for (size_t i = 0; i < space.count; i++) gt_buffer_print(&lines, "%s\n", space.configurations[i]);
  status = put(r, lines.data, lines.length, error);
  fflush(stdout);
  // On the other stream, so that the list can be read by a program.
  if (status == GT_OK)
    fprintf(stderr, "%s of %s; its constraints rule out %s\n",
            gt_counted(space.count, "configuration").text, family, gt_counted(space.rejected, "combination").text);
done:
  gt_buffer_free(&lines);
  gt_space_free(&space);
  return status;
}

static gt_status emit_source(const request *r, const gt_fingerprint *device, const gt_variant *variant,
                             gt_error *error) {
  gt_status status = GT_OK;
  if (r->output || !r->json) status = put(r, variant->source, strlen(variant->source), error);
  if (status != GT_OK || !r->json) return status;
  json_t *json = describe(r, device);
  json_object_set_new(json, "source", json_string(variant->source));
  json_object_set_new(json, "source_hash", json_string(variant->source_hash));
  json_object_set_new(json, "variant", gt_variant_to_json(variant));
  gt_print_json(json);
  return GT_OK;
}

// The line that repeats a failed compilation's rendering, to look at the source.
static void tell_source(const request *r, const gt_fingerprint *device, const gt_variant *variant) {
  gt_buffer line = {0};
  gt_command_start(&line, "generate");
  gt_command_word(&line, r->text);
  gt_command_word(&line, "--config");
  gt_command_word(&line, variant->configuration);
  if (r->device) {
    gt_command_word(&line, "--device");
    gt_command_word(&line, r->device);
  } else if (r->target && device->target == GT_TARGET_OPENCL)
    gt_buffer_print(&line, " --target opencl");
  else {
    gt_command_word(&line, "--arch");
    gt_command_word(&line, device->arch);
  }
  fprintf(stderr, "  %s\n", line.data);
  gt_buffer_free(&line);
}

// Compiles, and tells what the compiler says. What is wrong with a source can be looked at.
static gt_status compile(const request *r, gt_workshop *workshop, const gt_fingerprint *device,
                         const gt_variant *variant, gt_buffer *code, gt_buffer *log, gt_error *error) {
  gt_status status =
      gt_workshop_compile(workshop, device->backend, device->arch, variant->source, code, log, error);
  if (status == GT_OK || status == GT_NO_LIBRARY || status == GT_UNSUPPORTED) return status;
  fflush(stdout);
  if (log->length) fprintf(stderr, "%s%s", log->data, log->data[log->length - 1] == '\n' ? "" : "\n");
  gt_complain("%s; its source is printed by", error->text);
  error->text[0] = 0; // it has been told
  tell_source(r, device, variant);
  return status;
}

static json_t *describe_code(const request *r, const gt_fingerprint *device, const gt_variant *variant,
                             const gt_buffer *code, const gt_buffer *log) {
  char hash[GT_HASH_SIZE];
  gt_hash(code->data, code->length, hash);
  json_t *json = describe(r, device);
  json_object_set_new(json, "code_bytes", json_integer((json_int_t)code->length));
  json_object_set_new(json, "code_hash", json_string(hash));
  json_object_set_new(json, "log", json_string(log->data ? log->data : ""));
  json_object_set_new(json, "variant", gt_variant_to_json(variant));
  return json;
}

static gt_status emit_object(const request *r, gt_workshop *workshop, const gt_fingerprint *device,
                             const gt_variant *variant, gt_error *error) {
  gt_buffer code = {0}, log = {0};
  gt_status status = GT_OK;
  if (!r->output && !r->json && isatty(STDOUT_FILENO)) {
    status = gt_fail(error, GT_USAGE, "a code object is not for a terminal: use -o FILE");
    goto done;
  }
  status = compile(r, workshop, device, variant, &code, &log, error);
  if (status != GT_OK) goto done;
  if (r->output || !r->json) status = put(r, code.data, code.length, error);
  if (status == GT_OK && r->json) gt_print_json(describe_code(r, device, variant, &code, &log));
done:
  gt_buffer_free(&code);
  gt_buffer_free(&log);
  return status;
}

// Counts the traffic of one run, if a device was named that counts it.
static gt_status count_traffic(const request *r, gt_workshop *workshop, const gt_variant *variant,
                               const gt_buffer *code, gt_traffic *traffic, bool *counted, gt_error *error) {
  gt_status status = GT_UNSUPPORTED;
  *counted = false;
  if (gt_problem_out_elements(&r->problem) == 0 || gt_problem_in_elements(&r->problem) == 0)
    gt_fail(error, status, "an empty problem has nothing to launch");
  else if (r->device)
    status = gt_workshop_traffic(workshop, variant, &r->problem, code, traffic, error);
  *counted = status == GT_OK;
  return status == GT_UNSUPPORTED ? GT_OK : status;
}

static gt_status emit_report(const request *r, gt_workshop *workshop, const gt_fingerprint *device,
                             const gt_variant *variant, gt_error *error) {
  gt_buffer code = {0}, log = {0}, text = {0};
  gt_code_facts facts;
  gt_traffic traffic;
  bool counted;
  gt_status status = compile(r, workshop, device, variant, &code, &log, error);
  if (status == GT_OK) status = gt_report_read(&code, &facts, error);
  if (status == GT_OK) status = count_traffic(r, workshop, variant, &code, &traffic, &counted, error);
  if (status != GT_OK) goto done;
  gt_buffer_print(&text, "%s for %s\n%s\n\n", variant->configuration, device->arch, r->text);
  gt_report_print(&facts, device->arch, variant, &text);
  if (counted) gt_traffic_print(&traffic, &r->problem, gt_workshop_device(workshop), &text);
  if (r->device && !counted) gt_buffer_print(&text, "\ntraffic not counted: %s\n", error->text);
  if (r->output || !r->json) status = put(r, text.data, text.length, error);
  if (status != GT_OK || !r->json) goto done;
  json_t *json = describe_code(r, device, variant, &code, &log);
  json_object_set_new(json, "kernels", gt_report_json(&facts, device->arch, variant));
  json_object_set_new(json, "traffic", counted ? gt_traffic_json(&traffic, &r->problem) : json_null());
  gt_print_json(json);
done:
  gt_buffer_free(&code);
  gt_buffer_free(&log);
  gt_buffer_free(&text);
  return status;
}

// The sampling positions of the problem's class, as NumPy reads them. bf16, which NumPy lacks, becomes f32.
static gt_status emit_grid(const request *r, gt_error *error) {
  gt_problem problem = r->problem;
  if (problem.op->form != GT_FORM_GRID)
    return gt_fail(error, GT_USAGE, "%s has no grid", problem.op->name);
  if (gt_problem_in_elements(&problem) == 0) return gt_fail(error, GT_USAGE, "an empty problem has no grid");
  gt_bench sizes;
  gt_buffer file = {0};
  if (problem.dtype == GT_BF16) problem.dtype = GT_F32;
  gt_bench_describe(&problem, NULL, &sizes);
  const int64_t shape[] = {problem.n, problem.out[1], problem.out[2], 2};
  gt_npy_print(&file, problem.dtype, 4, shape, sizes.grid);
  gt_status status = put(r, file.data, file.length, error);
  gt_bench_close(&sizes);
  gt_buffer_free(&file);
  return status;
}

// --- the command
// -----------------------------------------------------------------------------------------------------

static int run(const request *r) {
  gt_generator *generator = NULL;
  gt_workshop *workshop = NULL;
  gt_fingerprint device = {0};
  gt_variant variant = {0};
  char *configuration = NULL, *family = NULL;
  gt_error error = {0};
  gt_status status = emits(r, "grid") ? emit_grid(r, &error) : gt_open_generator(&generator, &error);
  if (status != GT_OK || emits(r, "grid")) goto done;
  const char *from = r->family ? r->family : r->config;
  family = gt_print("%.*s", (int)strcspn(from, ":"), from);
  status = gt_check_family(generator, family, &error);
  if (status == GT_OK) status = choose(r, &device, &workshop, &error);
  if (status == GT_OK && emits(r, "report")) status = check_report(&device, &error);
  if (status == GT_OK) status = gt_family_claims(generator, family, &r->problem, &device, &error);
  if (status != GT_OK) goto done;
  if (emits(r, "space")) {
    status = emit_space(r, generator, &device, family, &error);
    goto done;
  }
  if (r->config)
    configuration = gt_strdup(r->config);
  else
    status = gt_family_default(generator, family, &r->problem, &device, &configuration, &error);
  if (status == GT_OK) status = gt_render(generator, configuration, &r->problem, &device, &variant, &error);
  if (status != GT_OK) goto done;
  if (emits(r, "object"))
    status = emit_object(r, workshop, &device, &variant, &error);
  else if (emits(r, "report"))
    status = emit_report(r, workshop, &device, &variant, &error);
  else
    status = emit_source(r, &device, &variant, &error);
done:
  if (status != GT_OK && error.text[0]) gt_complain_error(&error);
  free(configuration);
  free(family);
  gt_variant_free(&variant);
  gt_workshop_close(workshop);
  gt_generator_close(generator);
  return gt_exit_code(status);
}

static int check(request *r, char **arguments, int count) {
  gt_error error = {0};
  if (count != 1) {
    gt_complain("generate: takes one problem, not %d; see gathertune generate --help", count);
    return 2;
  }
  if (!emits(r, "grid") && !r->config == !r->family) {
    gt_complain("generate: either --config or --family is needed; see gathertune generate --help");
    return 2;
  }
  if (emits(r, "space") && r->config) {
    gt_complain("generate: --emit space is of a --family, and goes without --config");
    return 2;
  }
  if (emits(r, "grid") && (r->config || r->family)) {
    gt_complain("generate: --emit grid is of a problem, and goes without --config and --family");
    return 2;
  }
  if (!emits(r, "source") && !emits(r, "object") && !emits(r, "report") && !emits(r, "space") && !emits(r, "grid")) {
    gt_complain("generate: --emit takes source, object, report, space or grid, not '%s'", r->emit);
    return 2;
  }
  if (gt_problem_parse(arguments[0], &r->problem, &error) != GT_OK) return gt_complain_error(&error);
  gt_problem_print(&r->problem, r->text);
  return GT_CONTINUE;
}

int gt_command_generate(int argc, char **argv) {
  request r = {.emit = "source"};
  const gt_option options[] = {
      {"config", 0, GT_OPTION_TEXT, &r.config, "CONFIGURATION",
       "family and parameters, as list and tune print them"},
      {"family", 0, GT_OPTION_TEXT, &r.family, "FAMILY", "instead: this family with its default parameters"},
      {"target", 0, GT_OPTION_TEXT, &r.target, "TARGET",
       "hip (default), cuda or opencl; follows from --arch"},
      {"arch", 0, GT_OPTION_TEXT, &r.arch, "ARCH", "gfx942 (default), gfx90a, sm_90, ..."},
      {"device", 0, GT_OPTION_TEXT, &r.device, "DEVICE", "instead: what this device is"},
      {"emit", 0, GT_OPTION_TEXT, &r.emit, "WHAT",
       "source (default), object, report (facts of an AMD object), space: all configurations,\n"
       "or grid: the sampling positions of a class, as a .npy file"},
      {"output", 'o', GT_OPTION_TEXT, &r.output, "FILE", "write there instead of to standard output"},
      {"json", 0, GT_OPTION_FLAG, &r.json, NULL, GT_HELP_JSON},
      {0},
  };
  const gt_usage usage = {
      .command = "generate",
      .arguments = "PROBLEM (--config CONFIGURATION | --family FAMILY)",
      .about = "Prints the source that a configuration renders to for an architecture, no device needed, or "
               "compiles it\n"
               "(in a process of its own). Objects for OpenCL are compiled by the device that they are for.\n"
               "A report tells what AMD's compiler made of it: registers, spills, LDS, occupancy, and how "
               "many\n"
               "instructions there are of which kind; with --device, if that device counts it, also the "
               "traffic of a run\n"
               "with global memory, against the least possible.",
      .options = options,
      .takes_problem = true,
      .examples = "  gathertune generate --family direct --arch gfx942 \\\n"
                  "    upsample_bilinear2d_backward:n=8,c=64,in=128x128,out=256x256,dtype=f16,scale=2x2\n"
                  "  gathertune generate --family taps --arch gfx942 --emit report \\\n"
                  "    upsample_bilinear2d_backward:n=8,c=64,in=128x128,out=256x256,dtype=f16,scale=2x2\n",
  };
  char **arguments;
  int count, result = gt_options_parse(&usage, argc, argv, &arguments, &count);
  if (result == GT_CONTINUE) result = check(&r, arguments, count);
  return result == GT_CONTINUE ? run(&r) : result;
}
