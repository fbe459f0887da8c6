// The header from C++, and everything that it declares.
#include <gathertune.h>

#include <cstdio>
#include <cstring>

int main(int argc, char **argv) {
  gathertune_options options = GATHERTUNE_OPTIONS_INIT;
  gathertune_context *context = nullptr;
  const gathertune_plan *plan = nullptr;
  options.device = argc > 1 ? argv[1] : "recorded:gpu.json";
  options.mode = GATHERTUNE_MODE_COMPILE;
  if (gathertune_open(&options, &context) != GATHERTUNE_OK ||
      gathertune_get_plan(context, "upsample_bilinear2d_backward:n=2,c=3,in=6x5,out=12x10,dtype=f32",
                          GATHERTUNE_DETERMINISTIC, &plan) != GATHERTUNE_OK) {
    std::fprintf(stderr, "%s\n", gathertune_message(context));
    gathertune_close(context);
    return 1;
  }
  gathertune_plan_info info{};
  info.size = sizeof info;
  gathertune_describe(plan, &info);
  gathertune_buffers buffers{};
  buffers.grad_output = nullptr; // what is needed: refused below
  std::size_t results = 0;
  for (int i = 0; i < info.n_tensors; i++)
    if (info.tensors[i].is_result) results += info.tensors[i].bytes;
  gathertune_status status = gathertune_execute(plan, nullptr, &buffers);
  if (results != 2 * 3 * 6 * 5 * sizeof(float) || !std::strstr(gathertune_message(context), "grad_output is NULL")) return 1;
  std::printf("%s %s %s %s %s %llu %s|%s\n", gathertune_version(), gathertune_model(context), info.configuration,
              gathertune_origin_name(info.origin), gathertune_status_name(status),
              static_cast<unsigned long long>(gathertune_workspace(plan)), gathertune_status_text(GATHERTUNE_OK),
              gathertune_notes(context));
  gathertune_close(context);
  return status == GATHERTUNE_USAGE ? 0 : 1;
}
