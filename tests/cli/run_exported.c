// Runs kernels that gathertune export --format c wrote and compares them with a scatter on the host: the backward of
// bilinear interpolation by 2, or of bilinear sampling at the positions of a grid. Includes the source's declarations
// alone, as a program would.
// usage: run_exported PROBLEM OUTER HEIGHT WIDTH [CHANNELS OUT_HEIGHT OUT_WIDTH]: with the last ones a grid's, layout nchw
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define tuned_DECLARATIONS
#include "exported.c"

typedef struct {
  int outer, height, width;                // of the inputs
  int channels, samples_high, samples_wide; // of a grid
} sizes;

static void check(hipError_t code, const char *what) {
  if (code == hipSuccess) return;
  fprintf(stderr, "%s: %s\n", what, hipGetErrorString(code));
  exit(1);
}

// A tensor on the host and on the device; one that the problem does not have is of 0 elements.
typedef struct {
  size_t count;
  float *host;
  void *device;
} tensor;

static tensor make(int count) {
  tensor t = {.count = (size_t)count, .host = calloc((size_t)count + 1, sizeof(float))};
  check(hipMalloc(&t.device, (t.count + 1) * sizeof(float)), "hipMalloc");
  check(hipMemset(t.device, 0xff, (t.count + 1) * sizeof(float)), "hipMemset"); // NaN where nothing is written
  return t;
}

static void send(const tensor *t) {
  check(hipMemcpy(t->device, t->host, t->count * sizeof(float), hipMemcpyHostToDevice), "hipMemcpy");
}

// The largest difference of what is on the device from what is on the host.
static float difference(const tensor *t) {
  float worst = 0, *result = malloc((t->count + 1) * sizeof(float));
  check(hipMemcpy(result, t->device, t->count * sizeof(float), hipMemcpyDeviceToHost), "hipMemcpy");
  for (size_t i = 0; i < t->count; i++) {
    float off = fabsf(result[i] - t->host[i]);
    worst = off <= worst ? worst : isnan(off) ? INFINITY : off;
  }
  free(result);
  return worst;
}

static void discard(tensor *t) {
  check(hipFree(t->device), "hipFree");
  free(t->host);
}

// Source positions of upsampling by 2 without align_corners: the weights of output y to inputs y0 and y1.
static void taps(int out, int n_in, int *first, int *second, float *weight) {
  float position = ((float)out + 0.5f) * 0.5f - 0.5f;
  if (position < 0) position = 0;
  *first = (int)position;
  *second = *first + (*first + 1 < n_in);
  *weight = position - (float)*first;
}

static void interpolation(const sizes *s, const float *grad_output, float *grad_input) {
  for (int o = 0; o < s->outer; o++)
    for (int y = 0; y < 2 * s->height; y++)
      for (int x = 0; x < 2 * s->width; x++) {
        int y0, y1, x0, x1;
        float wy, wx, g = *grad_output++, *slice = grad_input + o * s->height * s->width;
        taps(y, s->height, &y0, &y1, &wy);
        taps(x, s->width, &x0, &x1, &wx);
        slice[y0 * s->width + x0] += (1 - wy) * (1 - wx) * g;
        slice[y0 * s->width + x1] += (1 - wy) * wx * g;
        slice[y1 * s->width + x0] += wy * (1 - wx) * g;
        slice[y1 * s->width + x1] += wy * wx * g;
      }
}

// One sample of one channel: bilinear, padding=zeros, align_corners=0.
static void sample(const sizes *s, float g, const float *position, const float *image, float *grad_image, float *grad_position) {
  float x = ((position[0] + 1) * (float)s->width - 1) / 2, y = ((position[1] + 1) * (float)s->height - 1) / 2;
  int left = (int)floorf(x), top = (int)floorf(y);
  for (int dy = 0; dy < 2; dy++)
    for (int dx = 0; dx < 2; dx++) {
      int row = top + dy, column = left + dx, at = row * s->width + column;
      if (row < 0 || row >= s->height || column < 0 || column >= s->width) continue;
      float wx = dx ? x - (float)left : 1 - (x - (float)left), wy = dy ? y - (float)top : 1 - (y - (float)top);
      grad_image[at] += wy * wx * g;
      grad_position[0] += (dx ? wy : -wy) * image[at] * g * (float)s->width / 2;
      grad_position[1] += (dy ? wx : -wx) * image[at] * g * (float)s->height / 2;
    }
}

static void sampling(const sizes *s, const float *grad_output, const float *input, const float *grid, float *grad_input,
                     float *grad_grid) {
  int samples = s->samples_high * s->samples_wide, pixels = s->height * s->width;
  for (int slice = 0; slice < s->outer * s->channels; slice++)
    for (int i = 0; i < samples; i++) {
      int at = 2 * (slice / s->channels * samples + i);
      sample(s, *grad_output++, grid + at, input + slice * pixels, grad_input + slice * pixels, grad_grid + at);
    }
}

// Positions around the image, at least a quarter of a pixel from where the nearest pixels change.
static void place(const sizes *s, tensor *grid) {
  for (size_t i = 0; i < grid->count; i++) {
    int size = i % 2 ? s->height : s->width;
    float pixel = (float)(i * 7919 % (size_t)(size + 1)) - 1, rest = 0.25f + (float)(i * 31 % 64) / 128;
    grid->host[i] = (2 * (pixel + rest) + 1) / (float)size - 1;
  }
}

int main(int argc, char **argv) {
  if (argc != 5 && argc != 8) return 2;
  int numbers[6] = {0};
  for (int i = 2; i < argc; i++) numbers[i - 2] = atoi(argv[i]);
  const sizes s = {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
  int is_grid = argc == 8, samples = s.outer * s.samples_high * s.samples_wide, pixels = s.outer * s.height * s.width;
  tensor grad_output = make(is_grid ? samples * s.channels : 4 * pixels), input = make(pixels * s.channels),
         grid = make(2 * samples), grad_input = make(is_grid ? pixels * s.channels : pixels), grad_grid = make(2 * samples);
  for (size_t i = 0; i < grad_output.count; i++) grad_output.host[i] = (float)(i * 7919 % 1009) / 1009 - 0.5f;
  for (size_t i = 0; i < input.count; i++) input.host[i] = (float)(i * 5501 % 1013) / 1013 - 0.5f;
  place(&s, &grid);
  if (is_grid)
    sampling(&s, grad_output.host, input.host, grid.host, grad_input.host, grad_grid.host);
  else
    interpolation(&s, grad_output.host, grad_input.host);

  tuned_plan plan;
  hipStream_t stream;
  check(hipStreamCreate(&stream), "hipStreamCreate");
  if (tuned_load(&plan, "no such problem", s.outer) != hipErrorNotFound) return 1;
  check(tuned_load(&plan, argv[1], s.outer), "tuned_load");
  tuned_buffers buffers = {grad_output.device, is_grid ? input.device : NULL, is_grid ? grid.device : NULL,
                           grad_input.device, is_grid ? grad_grid.device : NULL, NULL};
  check(hipMalloc(&buffers.workspace, (size_t)tuned_workspace(&plan, s.outer) + 1), "hipMalloc");
  send(&grad_output);
  send(&input);
  send(&grid);
  check(tuned_launch(&plan, &buffers, s.outer, stream), "tuned_launch");
  check(hipStreamSynchronize(stream), "hipStreamSynchronize");

  float worst = fmaxf(difference(&grad_input), difference(&grad_grid));
  printf("%s %s: largest difference %g\n", plan.entry->problem, plan.entry->launches[0].kernel, (double)worst);
  tuned_unload(&plan);
  tuned_unload(&plan); // harmless
  check(hipFree(buffers.workspace), "hipFree");
  check(hipStreamDestroy(stream), "hipStreamDestroy");
  discard(&grad_output);
  discard(&input);
  discard(&grid);
  discard(&grad_input);
  discard(&grad_grid);
  return worst <= 1e-5f ? 0 : 1;
}
