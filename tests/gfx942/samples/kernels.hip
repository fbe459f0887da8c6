// Kernels for test_emulated_mi300x.c, which has them compiled at run time.

// result[i] = sum of a[i + k] * b[i] for k < terms; *total = sum of all results.
extern "C" __global__ __launch_bounds__(256) void dot(const float *a, const float *b, float *result,
                                                      float *total, unsigned long long n, int terms) {
  __shared__ float partial[256];
  unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  if (i < n) {
    for (int k = 0; k < terms; k++) sum = fmaf(a[(i + k) % n], b[i], sum);
    result[i] = sum;
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(total, partial[0]);
}

// c = a * b, all n x n, in tiles of 16 x 16.
extern "C" __global__ void multiply(const float *a, const float *b, float *c, int n) {
  __shared__ float tile_a[16][16], tile_b[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int at = 0; at < n; at += 16) {
    tile_a[y][x] = a[row * n + at + x];
    tile_b[y][x] = b[(at + y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; k++) sum += tile_a[y][k] * tile_b[k][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// Counts the remainders of 0 ... n - 1 by 10.
extern "C" __global__ void histogram(unsigned *counts, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[i % 10], 1u);
}

// Reverses one block's values through LDS whose size the launch gives.
extern "C" __global__ void reverse(unsigned *values) {
  extern __shared__ unsigned copy[];
  copy[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}

// x[i] = x[i] * factor + increment, `times` times.
extern "C" __global__ void scale(unsigned *x, unsigned n, unsigned factor, unsigned increment,
                                 unsigned times) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned value = x[i];
  for (unsigned t = 0; t < times; t++) value = value * factor + increment;
  x[i] = value;
}

extern "C" __global__ void store(unsigned *x, long long index, unsigned value) {
  x[index] = value;
}
