// Runs kernels that gathertune export --format c wrote: the backward of bilinear interpolation by 2, compared
// with a scatter on the host. Includes the source's declarations alone, as a program would.
// usage: run_exported PROBLEM OUTER HEIGHT WIDTH
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define tuned_DECLARATIONS
#include "exported.c"

// Source positions of upsampling by 2 without align_corners: the weights of output y to inputs y0 and y1.
static void taps(int out, int n_in, int *first, int *second, float *weight) {
  float position = ((float)out + 0.5f) * 0.5f - 0.5f;
  if (position < 0) position = 0;
  *first = (int)position;
  *second = *first + (*first + 1 < n_in);
  *weight = position - (float)*first;
}

static void scatter(const float *grad_output, float *grad_input, int outer, int height, int width) {
  memset(grad_input, 0, sizeof(float) * (size_t)outer * (size_t)height * (size_t)width);
  for (int o = 0; o < outer; o++)
    for (int y = 0; y < 2 * height; y++)
      for (int x = 0; x < 2 * width; x++) {
        int y0, y1, x0, x1;
        float wy, wx, g = *grad_output++, *slice = grad_input + (size_t)o * (size_t)height * (size_t)width;
        taps(y, height, &y0, &y1, &wy);
        taps(x, width, &x0, &x1, &wx);
        slice[y0 * width + x0] += (1 - wy) * (1 - wx) * g;
        slice[y0 * width + x1] += (1 - wy) * wx * g;
        slice[y1 * width + x0] += wy * (1 - wx) * g;
        slice[y1 * width + x1] += wy * wx * g;
      }
}

static void check(hipError_t code, const char *what) {
  if (code == hipSuccess) return;
  fprintf(stderr, "%s: %s\n", what, hipGetErrorString(code));
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  int outer = atoi(argv[2]), height = atoi(argv[3]), width = atoi(argv[4]);
  size_t n_in = (size_t)outer * (size_t)height * (size_t)width, n_out = 4 * n_in;
  float *grad_output = malloc(n_out * sizeof(float)), *expected = malloc(n_in * sizeof(float)),
        *result = malloc(n_in * sizeof(float));
  void *on_device[3] = {0};
  tuned_plan plan;
  hipStream_t stream;
  for (size_t i = 0; i < n_out; i++) grad_output[i] = (float)(i * 7919 % 1009) / 1009 - 0.5f;
  scatter(grad_output, expected, outer, height, width);

  check(hipStreamCreate(&stream), "hipStreamCreate");
  if (tuned_load(&plan, "no such problem", outer) != hipErrorNotFound) return 1;
  check(tuned_load(&plan, argv[1], outer), "tuned_load");
  check(hipMalloc(&on_device[0], n_out * sizeof(float)), "hipMalloc");
  check(hipMalloc(&on_device[1], n_in * sizeof(float)), "hipMalloc");
  check(hipMalloc(&on_device[2], (size_t)tuned_workspace(&plan, outer) + 1), "hipMalloc");
  check(hipMemset(on_device[1], 0xff, n_in * sizeof(float)), "hipMemset"); // NaN where nothing is written
  check(hipMemcpy(on_device[0], grad_output, n_out * sizeof(float), hipMemcpyHostToDevice), "hipMemcpy");
  check(tuned_launch(&plan, on_device[0], on_device[1], on_device[2], outer, stream), "tuned_launch");
  check(hipStreamSynchronize(stream), "hipStreamSynchronize");
  check(hipMemcpy(result, on_device[1], n_in * sizeof(float), hipMemcpyDeviceToHost), "hipMemcpy");

  float worst = 0;
  for (size_t i = 0; i < n_in; i++) {
    float difference = fabsf(result[i] - expected[i]);
    if (!(difference <= worst)) worst = difference; // also for a NaN
  }
  printf("%s: largest difference %g\n", plan.entry->launches[0].kernel, (double)worst);
  tuned_unload(&plan);
  tuned_unload(&plan); // harmless
  for (int i = 0; i < 3; i++) check(hipFree(on_device[i]), "hipFree");
  check(hipStreamDestroy(stream), "hipStreamDestroy");
  free(grad_output);
  free(expected);
  free(result);
  return worst <= 1e-5f ? 0 : 1;
}
