-- C text of linear interpolation's forward, for kernels that compute positions and weights as they go. Arithmetic is gt_real, as PyTorch's
-- forward does it: area_pixel_compute_source_index and guard_index_and_lambda in ATen/native/UpSample.h. Kernels are compiled without
-- contraction, and what PyTorch's compilers contract is written as a fused operation.
local linear = {}

-- Lines that define, for axis number `number` of p, functions named after `name`:
--   gt_real name_source(INT output)          the position that an output was read at
--   gt_real name_weight(INT output, INT input)  the weight with which it used an input
--   INT name_first(INT input), name_last(...)   bounds of the outputs that can have used an input
-- (and, for scatter, name_lower, name_upper and name_fraction: the two inputs that an output used and the weight of the upper one).
-- INT is gt_i32, or gt_i64 for axes longer than that.
function linear.functions(p, number, name, literal)
  local axis = p.axes[number]
  local int = math.max(axis.n_in, axis.n_out) < 1 << 30 and "gt_i32" or "gt_i64"
  local lines = {}
  local function line(text, ...) lines[#lines + 1] = (text:format(...):gsub("INT", int)) end
  if axis.identity then
    line("GT_FUNCTION INT %s_lower(INT output) { return output; }", name)
    line("GT_FUNCTION INT %s_upper(INT output) { return output; }", name)
    line("GT_FUNCTION gt_real %s_fraction(INT output) { return 0; }", name)
    line("GT_FUNCTION INT %s_first(INT input) { return input; }", name)
    line("GT_FUNCTION INT %s_last(INT input) { return input; }", name)
  else
    local ratio = literal(axis.ratio, p.double_arithmetic and "double" or "float")
    line("GT_FUNCTION gt_real %s_source(INT output) {", name)
    if p.align_corners then
      line("  return %s * (gt_real)output;", ratio)
    else
      line("  const gt_real position = gt_fma_%s(%s, (gt_real)output + (gt_real)0.5, (gt_real)-0.5);",
        p.double_arithmetic and "double" or "float", ratio)
      line("  return position < 0 ? 0 : position;")
    end
    line("}")
    line("GT_FUNCTION INT %s_lower(INT output) {", name)
    line("  const INT lower = (INT)%s_source(output);", name)
    line("  return lower < %d ? lower : %d;", axis.n_in - 1, axis.n_in - 1)
    line("}")
    line("GT_FUNCTION INT %s_upper(INT output) {", name)
    line("  const INT lower = %s_lower(output);", name)
    line("  return lower < %d ? lower + 1 : lower;", axis.n_in - 1)
    line("}")
    line("GT_FUNCTION gt_real %s_fraction(INT output) {", name)
    line("  const gt_real fraction = %s_source(output) - (gt_real)%s_lower(output);", name, name)
    line("  return fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;")
    line("}")
    if axis.ratio == 0 then -- every output was read at position 0
      line("GT_FUNCTION INT %s_first(INT input) { return 0; }", name)
      line("GT_FUNCTION INT %s_last(INT input) { return %d; }", name, axis.n_out - 1)
    else
      -- Outputs whose source lies within 1 of the input, and one more on either side for rounding. Beyond a float's integers the bounds
      -- need double; they are computed in it where an axis is that long.
      local long = math.max(axis.n_in, axis.n_out) >= 1 << 20
      local real = (long or p.double_arithmetic) and "double" or "float"
      local inverse = literal(1 / axis.ratio, real)
      local shift = p.align_corners and 0 or 0.5
      line("GT_FUNCTION INT %s_first(INT input) {", name)
      line("  const %s low = ((%s)input - %s) * %s - %s;", real, real, literal(1 - shift, real), inverse, literal(shift + 1, real))
      line("  return low < 0 || input == 0 ? 0 : (INT)low;")
      line("}")
      line("GT_FUNCTION INT %s_last(INT input) {", name)
      line("  const %s high = ((%s)input + %s) * %s + %s;", real, real, literal(1 + shift, real), inverse, literal(2 - shift, real))
      line("  return high > %d || input == %d ? %d : (INT)high;", axis.n_out - 1, axis.n_in - 1, axis.n_out - 1)
      line("}")
    end
  end
  line("GT_FUNCTION gt_real %s_weight(INT output, INT input) {", name)
  line("  const gt_real fraction = %s_fraction(output);", name)
  line("  gt_real weight = 0;")
  line("  if (%s_lower(output) == input) weight = (gt_real)1 - fraction;", name)
  line("  if (%s_upper(output) == input) weight = weight + fraction;", name)
  line("  return weight;")
  line("}")
  return lines
end

return linear
