// Weight with which output o of an axis used input i, for sizes without scale and align_corners.
float weight_of(int o, int i, int n_in, int n_out, float ratio) {
  float source = max(fma(ratio, (float)o + 0.5f, -0.5f), 0.0f);
  int lower = min((int)source, n_in - 1);
  float fraction = min(source - (float)lower, 1.0f);
  return (lower == i ? 1 - fraction : 0) + (min(lower + 1, n_in - 1) == i ? fraction : 0);
}

float gather(__global const float *slice, int y, int x, int rows_in, int n_in, int rows_out, int n_out, float ratio_y,
             float ratio_x) {
  float sum = 0;
  for (int Y = 0; Y < rows_out; Y++)
    for (int X = 0; X < n_out; X++)
      sum += weight_of(Y, y, rows_in, rows_out, ratio_y) * weight_of(X, x, n_in, n_out, ratio_x) * slice[Y * n_out + X];
  return sum;
}
