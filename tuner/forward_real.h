// The interpolating forwards in one arithmetic. forward.c includes this file once for float and once for
// double, which it defines as `real`; in_real(name) is the name of a function in that arithmetic. Compiled
// without contraction: PyTorch's builds fuse where real_fma is written, and its results show it
// (tests/oracle). No include guard.

// ATen/native/UpSample.h: area_pixel_compute_scale.
static real in_real(ratio)(const sampling *s) {
  if (s->problem->align_corners) return s->out > 1 ? (real)(s->in - 1) / (real)(s->out - 1) : 0;
  if (s->problem->has_scale) return (real)(1.0 / s->problem->scale[s->axis]);
  return (real)s->in / (real)s->out;
}

// Where an output lies among the inputs, for centres or corners that fall together:
// area_pixel_compute_source_index.
static real in_real(source)(const sampling *s, int64_t output, bool contracted) {
  real scale = in_real(ratio)(s), half = (real)0.5, at;
  if (s->problem->align_corners) return scale * (real)output;
  real centre = (real)output + half;
  if (contracted) return real_fma(scale, centre, -half);
  at = scale * centre;
  return at - half;
}

// guard_index_and_lambda
static real in_real(beyond)(real at, int64_t input) {
  real lambda = at - (real)input;
  return lambda < 0 ? 0 : lambda > 1 ? 1 : lambda;
}

// (1 - λ) of the input before and λ of the one after, which past the end is the last one.
static void in_real(linear)(const sampling *s, int64_t output) {
  real at = in_real(source)(s, output, true);
  int64_t before = index_of(at, s->in - 1);
  real lambda = in_real(beyond)(at < 0 ? 0 : at, before), rest = 1 - lambda;
  push(s, before, rest);
  push(s, clamp(before + 1, 0, s->in - 1), lambda);
}

// The convolution kernel of Keys with parameter a at distance x ≥ 0, in Horner form: cubic_convolution1 and
// 2.
static real in_real(convolution)(real x, real a, bool contracted) {
  real y;
  if (x <= 1) {
    if (contracted) {
      y = real_fma(a + 2, x, -(a + 3)) * x;
      return real_fma(y, x, 1);
    }
    y = (a + 2) * x;
    y = y - (a + 3);
    y = y * x * x;
    return y + 1;
  }
  if (contracted) {
    y = real_fma(a, x, -5 * a);
    y = real_fma(y, x, 8 * a);
    return real_fma(y, x, -4 * a);
  }
  y = a * x - 5 * a;
  y = y * x + 8 * a;
  return y * x - 4 * a;
}

// Four inputs around the position, at distances 1 + t, t, 1 - t and 2 - t; outside there is the border's
// value. In ATen/native/UpSampleBicubic2d.cpp, which is compiled for processors without a fused operation.
static void in_real(cubic)(const sampling *s, int64_t output) {
  const real a = (real)-0.75;
  real at = in_real(source)(s, output, false);
  int64_t before = at < 0 ? -1 : index_of(at, s->in - 1), last = s->in - 1;
  real t = in_real(beyond)(at, before), u = 1 - t, far_t = t + 1, far_u = u + 1;
  push(s, clamp(before - 1, 0, last), in_real(convolution)(far_t, a, false));
  push(s, clamp(before, 0, last), in_real(convolution)(t, a, false));
  push(s, clamp(before + 1, 0, last), in_real(convolution)(u, a, false));
  push(s, clamp(before + 2, 0, last), in_real(convolution)(far_u, a, false));
}

// A hat of half width 1, and the kernel of Keys of half width 2: HelperInterpLinear and
// HelperInterpCubic::aa_filter in ATen/native/cpu/UpSampleKernel.cpp.
static real in_real(hat)(real x, int width) {
  x = real_abs(x);
  if (x >= (real)width / 2) return 0;
  return width == 2 ? 1 - x : in_real(convolution)(x, (real)-0.5, true);
}

// The filter, widened by the ratio where it is above 1, over all inputs whose centres it covers, divided by
// its sum: _compute_indices_min_size_weights_aa in UpSampleKernel.cpp, whose literals are of type double.
static void in_real(antialiased)(const sampling *s, int64_t output, int width) {
  real ratio = in_real(ratio)(s), support = (real)(width * 0.5), inverse = 1, total = 0;
  if (ratio >= 1) {
    support = (real)(width * 0.5 * ratio);
    inverse = (real)(1.0 / ratio);
  }
  real centre = (real)(ratio * ((double)output + 0.5)), from = centre - support, to = centre + support;
  int64_t begin = index_of(from + 0.5, s->in), end = index_of(to + 0.5, s->in), first = s->reads->count;
  double most = ceil(support) * 2 + 1;
  if ((double)(end - begin) > most) end = begin + (int64_t)most;
  for (int64_t input = begin; input < end; input++) {
    real distance = (real)input - centre, weight = in_real(hat)((real)((distance + 0.5) * inverse), width);
    total += weight;
    push(s, input, weight);
  }
  for (int64_t i = first; i < s->reads->count && total != 0; i++)
    s->reads->weight[i] = (real)s->reads->weight[i] / total;
}

static void in_real(linear_aa)(const sampling *s, int64_t output) {
  in_real(antialiased)(s, output, 2);
}

static void in_real(cubic_aa)(const sampling *s, int64_t output) {
  in_real(antialiased)(s, output, 4);
}

#undef real
#undef in_real
#undef real_fma
#undef real_abs
