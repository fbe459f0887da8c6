// Looks up a kernel and launches it on a HIP stream. Build:
// cc -D__HIP_PLATFORM_AMD__ launch.c $(pkg-config --cflags --libs gathertune) -lamdhip64
#include <gathertune.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>

int main(void) {
  const char *problem = "upsample_bilinear2d_backward:n=2,c=3,in=16x16,out=32x32,dtype=f32";
  const size_t in_bytes = 2 * 3 * 16 * 16 * sizeof(float), out_bytes = 4 * in_bytes;
  gathertune_context *context;
  const gathertune_plan *plan;
  gathertune_options options = GATHERTUNE_OPTIONS_INIT;
  options.device = "hip";                 // the device that HIP has current
  options.mode = GATHERTUNE_MODE_COMPILE; // if no cache has the code
  if (gathertune_open(&options, &context) || gathertune_get_plan(context, problem, 0, &plan)) {
    fprintf(stderr, "%s\n", gathertune_message(context));
    return 1;
  }
  void *grad_output, *grad_input;
  gathertune_buffers buffers = {0};
  hipStream_t stream;
  if (hipStreamCreate(&stream) || hipMalloc(&grad_output, out_bytes) || hipMalloc(&grad_input, in_bytes)) return 1;
  if (gathertune_workspace(plan) && hipMalloc(&buffers.workspace, gathertune_workspace(plan))) return 1;
  buffers.grad_output = grad_output;
  buffers.grad_input = grad_input;
  hipMemsetD32Async((hipDeviceptr_t)grad_output, 0x3f800000, out_bytes / 4, stream); // 1.0f
  if (gathertune_execute(plan, stream, &buffers)) {
    fprintf(stderr, "%s\n", gathertune_message(context));
    return 1;
  }
  static float result[2 * 3 * 16 * 16];
  hipMemcpyAsync(result, grad_input, in_bytes, hipMemcpyDeviceToHost, stream);
  if (hipStreamSynchronize(stream)) return 1;
  gathertune_plan_info info = {.size = sizeof info};
  gathertune_describe(plan, &info);
  printf("%s (%s): each input got %g times its gradient\n", info.configuration, gathertune_origin_name(info.origin), result[40]);
  gathertune_close(context);
  return 0;
}
