-- Sampling at the positions of a grid, as PyTorch's grid_sample does it (docs/grid.md): what every grid family shares.
--
-- Along an axis of S inputs a coordinate x becomes a position, which `padding` moves into the axis, and a position is read from K taps:
-- 1 of nearest, 2 of bilinear, 4 of bicubic. A tap has an index, a weight, and the derivative of the weight with respect to x. Positions,
-- weights and derivatives are float, or double for f64.
local accumulation = use "accumulation"
local sampling = {}

-- The type of positions, weights and sums, and its bytes.
sampling.real = accumulation.type
function sampling.real_bytes(p) return accumulation.bytes(sampling.real(p)) end

local taps = { nearest = 1, bilinear = 2, bicubic = 4 }
function sampling.taps(p) return taps[p.interpolation] end

-- The taps of an axis that can have an index outside of it, and then count for nothing.
function sampling.can_miss(p) return p.interpolation ~= "bicubic" or p.padding == "zeros" end

-- The names of axes as kernels use them, and their numbers among p.axes.
sampling.axes = { { name = "Y", number = 2 }, { name = "X", number = 3 } }

-- The parameters of every kernel: a pointer per tensor, the workspace and the number of images.
function sampling.arguments(p)
  local list = {}
  for _, tensor in ipairs(p.tensors) do
    list[#list + 1] = ("%sGT_GLOBAL gt_storage *GT_RESTRICT %s"):format(tensor.is_result and "" or "const ", tensor.name)
  end
  list[#list + 1] = "GT_GLOBAL void *workspace"
  list[#list + 1] = "gt_i64 outer"
  return table.concat(list, ", ")
end

function sampling.samples(p) return p.axes[2].n_out * p.axes[3].n_out end
function sampling.pixels(p) return p.axes[2].n_in * p.axes[3].n_in end

-- Distances in elements, of images and of grad_output: from one channel to the next, and from one pixel (or sample) to the next.
function sampling.channel_stride(p, places) return p.layout == "nhwc" and 1 or places end
function sampling.place_stride(p) return p.layout == "nhwc" and p.channels or 1 end

-- Of a channels-first image that was brought into the order [place][channel]: elements from a place to the next, its channels with those that
-- fill up its last 16 bytes, or a power of two where they are less.
function sampling.pitch(p)
  local unit = 16 // p.dtype_bytes
  if p.channels >= unit then return (p.channels + unit - 1) // unit * unit end
  local pitch = 1
  while pitch < p.channels do pitch = 2 * pitch end
  return pitch
end

local function fill(text, values)
  local lines = {}
  for line in text:gsub("<(%w+)>", values):gmatch("[^\n]+") do lines[#lines + 1] = line end
  return lines
end

-- Functions <name>_position(x, &slope) of both axes: the position of a coordinate, moved by the padding, and its derivative; a position that
-- is no number that an int can hold is -100. Of bicubic, whose taps are moved one by one, the position itself, kept near the axis where all
-- taps beyond are alike.
function sampling.functions(p)
  local all = {}
  for _, axis in ipairs(sampling.axes) do
    local size, real = p.axes[axis.number].n_in, sampling.real(p)
    local values = { name = axis.name, real = real, size = size, last = size - 1, out = -100 }
    -- Reflection is at the centres of the outermost pixels, or at their outer edges.
    values.low, values.span = p.align_corners and "0" or "0.5", p.align_corners and size - 1 or size
    local text = "GT_FUNCTION <real> <name>_position(<real> x, <real> *slope) {\n"
    if p.align_corners then
      text = text .. "  *slope = (<real>)<last> / 2;\n  <real> at = (x + 1) / 2 * <last>;\n"
    else
      text = text .. "  *slope = (<real>)<size> / 2;\n  <real> at = gt_fma_<real>(x + 1, <size>, -1) / 2;\n"
    end
    local reflects = p.padding == "reflection"
    local whole = "  if (!(at > -2147483648.0f && at < 2147483520.0f)) at = <out>;\n"
    if p.interpolation == "bicubic" then
      -- NaN: the first.
      text = text .. (reflects and whole or "  at = at > -4 ? at < <size> + 3 ? at : <size> + 3 : -4;\n")
    else
      if reflects then text = text .. whole .. "  if (at != <out>) {\n" .. (values.span == 0 and [[
    at = 0;
    *slope = 0;
]] or [[
    const <real> from = at + <low>, away = from < 0 ? -from : from;
    <real> times = gt_floor_<real>(away / <span>), rest = gt_fma_<real>(-times, <span>, away);
    if (rest < 0) times -= 1, rest += <span>;
    if (rest >= <span>) times += 1, rest -= <span>;
    const int odd = times - 2 * gt_floor_<real>(times / 2) != 0;
    at = (odd ? <span> - rest : rest) - <low>;
    if (odd != (from < 0)) *slope = -*slope;
]]) .. "  }\n" end
      if p.padding ~= "zeros" then
        text = text .. (reflects and "  if (at != <out>) {\n" or "") .. [[
  if (at <= 0) at = 0, *slope = 0;
  else if (at >= <last>) at = <last>, *slope = 0;
]] .. (reflects and "  }\n" or "")
      end
      if not reflects then text = text .. whole end
    end
    text = text .. "  return at;\n}\n"
    if p.interpolation == "bicubic" and p.padding ~= "zeros" then
      text = text .. "GT_FUNCTION int <name>_inside(int at) {\n"
      if reflects and size == 1 then
        text = text .. "  return 0;\n}\n"
      elseif reflects then
        -- One period of the mirrors, from 0 on.
        values.period = p.align_corners and 2 * size - 2 or 2 * size
        values.mirror = p.align_corners and 2 * size - 2 or 2 * size - 1
        text = text .. [[
  at %= <period>;
  if (at < 0) at += <period>;
  return at < <size> ? at : <mirror> - at;
}
]]
      else
        text = text .. "  return gt_clamp(at, <last>);\n}\n"
      end
    end
    for _, line in ipairs(fill(text, values)) do all[#all + 1] = line end
  end
  return all
end

-- Lines that declare, for the coordinate `x` (an expression) of an axis: <name>_at0, …, the taps' indices; <name>_w0, …, their weights; with
-- `derivatives` <name>_d0, …, the derivatives of these.
function sampling.tap_lines(p, axis, x, derivatives)
  local values = { name = axis.name, real = sampling.real(p), x = x }
  local text = "<real> <name>_slope;\nconst <real> <name> = <name>_position(<x>, &<name>_slope);\n"
  if p.interpolation == "nearest" then
    text = text .. "const int <name>_at0 = (int)gt_rint_<real>(<name>);\nconst <real> <name>_w0 = 1;\n"
    if derivatives then text = text .. "const <real> <name>_d0 = 0;\n" end
  elseif p.interpolation == "bilinear" then
    text = text .. [[
const <real> <name>_floor = gt_floor_<real>(<name>);
const int <name>_at0 = (int)<name>_floor, <name>_at1 = <name>_at0 + 1;
const <real> <name>_w1 = <name> - <name>_floor, <name>_w0 = 1 - <name>_w1;
]]
    if derivatives then text = text .. "const <real> <name>_d0 = -<name>_slope, <name>_d1 = <name>_slope;\n" end
  else
    -- Cubic convolution with a = -0.75: (a+2)d³ - (a+3)d² + 1 up to a distance of 1, a(d³ - 5d² + 8d - 4) up to 2 (Keys, 1981), with the
    -- roundings of the forward: by Horner's rule, not contracted, as its own results show. Derivatives are factored at their
    -- zeros, 3d² - 10d + 8 = (3d - 4)(d - 2), where Horner's rule would leave little but rounding errors.
    local inside = p.padding == "zeros" and "" or "<name>_inside"
    text = text .. "const <real> <name>_floor = gt_floor_<real>(<name>), <name>_t = <name> - <name>_floor;\n"
    for k, distance in ipairs { "1 + <name>_t", "<name>_t", "1 - <name>_t", "2 - <name>_t" } do
      values["k" .. k] = k - 1
      local n = ("<k%d>"):format(k)
      text = text .. ("const int <name>_at%s = %s((int)<name>_floor%+d);\nconst <real> <name>_t%s = %s;\n"):format(n, inside, k - 2, n, distance)
      local d, sign = "<name>_t" .. n, k <= 2 and "" or "-"
      if k == 1 or k == 4 then
        text = text .. ("const <real> <name>_w%s = ((-0.75f * %s + 3.75f) * %s - 6) * %s + 3;\n"):format(n, d, d, d)
        if derivatives then
          text = text .. ("const <real> <name>_d%s = %s0.75f * (gt_fma_<real>(3, %s, -4) * (%s - 2)) * <name>_slope;\n"):format(n, k == 1 and "-" or "", d, d)
        end
      else
        text = text .. ("const <real> <name>_w%s = (1.25f * %s - 2.25f) * %s * %s + 1;\n"):format(n, d, d, d)
        if derivatives then
          text = text .. ("const <real> <name>_d%s = %s(gt_fma_<real>(3.75f, %s, -4.5f) * %s) * <name>_slope;\n"):format(n, sign, d, d)
        end
      end
    end
  end
  return fill(text, values)
end

return sampling
