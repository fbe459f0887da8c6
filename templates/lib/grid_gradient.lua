-- The gradient of the grid, as the families of grid_sampler_2d_backward share it: a kernel gt_grad_grid. `split` threads form the sum over the
-- channels of one sample, and add up their parts in shared memory in a fixed order. Channels-first, neighbouring threads have neighbouring
-- samples; channels-last, neighbouring vectors of channels.
--
-- Parameters: split, and flight (channels or vectors of them that a thread loads at a time). `rows`, of channels-first images that were
-- transposed: { image =, gradients = where these begin (C expressions, of image o; no gradients: grad_output was not) }.
local sampling = use "sampling"
local vector = use "vector"
local gradient = {}

-- Channels of one load.
local function width(p, rows)
  local pitch = rows and sampling.pitch(p)
  if pitch and pitch * p.dtype_bytes <= 16 then return pitch end
  return (rows or p.layout == "nhwc") and vector.common_power(16 // p.dtype_bytes, p.channels) or 1
end

-- The loads of a sample's channels.
function gradient.steps(p, rows)
  local v = width(p, rows)
  return (p.channels + v - 1) // v
end

-- Whether `split` says anything.
function gradient.splits(p) return p.wants_grid and p.interpolation ~= "nearest" end

function gradient.launch(p, block, split)
  if p.interpolation == "nearest" then split = 1 end
  return { kernel = "gt_grad_grid", block = block, blocks = { sampling.samples(p) * split, block } }
end

-- What a thread of the launch does (docs/templates.md). `rows`: whether images were transposed, and `gradients`, whether grad_output was too.
function gradient.work(p, split, flight, rows, gradients)
  local samples, b = sampling.samples(p), p.dtype_bytes
  if p.interpolation == "nearest" then
    return { loads = 1, load_bytes = 2 * b, flight = 1, operations = 4, registers = 16, bytes = 2 * b * samples, cached_bytes = 2 * b * samples }
  end
  local steps, v, across = gradient.steps(p, rows), width(p, rows), sampling.taps(p)
  flight = math.min(flight, math.ceil(steps / split))
  local taps, turns = across * across, math.ceil(steps / (split * flight))
  -- Of channels-first images the taps of a row are beside each other; else vectors of channels, of which one thread reads whole sectors one by one.
  local row = rows or p.layout == "nhwc"
  local image = row and taps * steps * math.max(v * b, split == 1 and 32 or 0) or across * steps * (32 + (across - 1) * b)
  local touched = p.channels * b * math.min(sampling.pixels(p), taps * samples)
  return {
    loads = (turns + 1) * flight * (taps + 1), flight = flight * (taps + 1), load_bytes = v * b, -- a turn more for the position
    operations = 60 + turns * flight * taps * (4 + 4 * v), registers = 32 + flight * (taps + 1) * math.max(1, v * b // 4),
    shared_bytes = 0, steps = split > 1 and 2 or 0,
    bytes = p.channels * b * samples + touched + 4 * b * samples, cached_bytes = samples * (image + p.channels * b + 4 * b),
  }
end

local function index_type(p, rows)
  local padded = rows and sampling.pitch(p) * math.max(sampling.samples(p), sampling.pixels(p)) or 0
  return math.max(p.in_slice, p.out_slice, padded) < 1 << 31 and "gt_i32" or "gt_i64"
end

-- The lines of the kernel. `first`: lines that every thread runs before, as a rider; `number`: the C expression of the block's number, where it
-- is not gt_block().
function gradient.lines(p, block, split, flight, first, rows, number)
  local lines, real = {}, sampling.real(p)
  local function add(...) lines[#lines + 1] = select("#", ...) == 1 and (...) or (...):format(select(2, ...)) end
  local function add_all(list, indent) for _, line in ipairs(list) do add((indent or "") .. line) end end
  local samples, taps, steps, v = sampling.samples(p), sampling.taps(p), gradient.steps(p, rows), width(p, rows)
  if p.interpolation == "nearest" then
    -- Weights do not depend on the position.
    add("GT_KERNEL(%d) gt_grad_grid(%s) {", block, sampling.arguments(p))
    add_all(first or {}, "  ")
    add("  const gt_u64 i = %s * %du + gt_thread();", number or "gt_block()", block)
    add("  if (i < (gt_u64)outer * %du) {", samples)
    add_all(vector.store(p, 2, "none", "grad_grid + 2 * i", { "0", "0" }), "    ")
    add("  }")
    add("}")
    return lines
  end
  local index, per_block = index_type(p, rows), block // split
  local last = rows or p.layout == "nhwc"
  local place_in, channel_in = sampling.place_stride(p), sampling.channel_stride(p, sampling.pixels(p))
  local place_out, channel_out = place_in, sampling.channel_stride(p, samples)
  if rows then place_in, channel_in = sampling.pitch(p), 1 end
  if rows and rows.gradients then place_out, channel_out = place_in, 1 end
  local packed = p.layout == "nhwc" or rows and rows.gradients -- channels of grad_output lie beside each other
  add("GT_KERNEL(%d) gt_grad_grid(%s) {", block, sampling.arguments(p))
  if split > 1 then add("  GT_SHARED %s sums[%d];", real, 2 * block) end
  add_all(first or {}, "  ")
  if split == 1 then
    add("  const gt_u32 group = gt_thread(), part = 0;")
  elseif last then
    add("  const gt_u32 group = gt_thread() / %du, part = gt_thread() %% %du;", split, split)
  else
    add("  const gt_u32 group = gt_thread() %% %du, part = gt_thread() / %du;", per_block, per_block)
  end
  add("  const gt_u64 i = %s * %du + group, o = i / %du;", number or "gt_block()", per_block, samples)
  add("  %s sum_x = 0, sum_y = 0;", real)
  add("  if (o < (gt_u64)outer) {")
  add("    const %s sample = (%s)(i - o * %du);", index, index, samples)
  add("    const GT_GLOBAL gt_storage *from = %s + sample * %d;", rows and rows.gradients or ("grad_output + o * %du"):format(p.out_slice), place_out)
  add("    const GT_GLOBAL gt_storage *image = %s;", rows and rows.image or ("input + o * %du"):format(p.in_slice))
  add("    " .. vector.load(p, 2, "coordinates", "grid + 2 * i"))
  for n, axis in ipairs(sampling.axes) do
    add_all(sampling.tap_lines(p, axis, vector.element(p, 2, "coordinates", 2 - n), true), "    ")
  end
  for j = 0, taps - 1 do
    for k = 0, taps - 1 do
      local inside = sampling.can_miss(p)
        and ("Y_at%d >= 0 && Y_at%d < %d && X_at%d >= 0 && X_at%d < %d"):format(j, j, p.axes[2].n_in, k, k, p.axes[3].n_in)
      if inside then add("    const int in_%d_%d = %s;", j, k, inside) end
      local at = ("((%s)Y_at%d * %d + X_at%d) * %d"):format(index, j, p.axes[3].n_in, k, place_in)
      add("    const %s at_%d_%d = %s;", index, j, k, inside and ("in_%d_%d ? %s : 0"):format(j, k, at) or at)
      add("    const %s cx_%d_%d = Y_w%d * X_d%d, cy_%d_%d = Y_d%d * X_w%d;", real, j, k, j, k, j, k, j, k)
    end
  end
  local each = split * flight
  add("    for (int step = part; step < %d; step += %d) {", steps, each)
  for f = 0, flight - 1 do
    local guarded = f > 0 and steps % each ~= 0
    local step = f == 0 and "step" or guarded and ("(step + %d < %d ? step + %d : step)"):format(f * split, steps, f * split) or ("(step + %d)"):format(f * split)
    add("      const %s in_%d = (%s)%s * (%s)%d, out_%d = (%s)%s * (%s)%d;", index, f, index, step, index, v * channel_in, f, index, step, index, v * channel_out)
    if packed then
      add("      " .. vector.load(p, v, "g_" .. f, "from + out_" .. f))
    else
      for e = 0, math.min(v, p.channels) - 1 do add("      " .. vector.load(p, 1, ("g_%d_%d"):format(f, e), ("from + out_%d + %d"):format(f, e * channel_out))) end
    end
    for j = 0, taps - 1 do
      for k = 0, taps - 1 do
        local condition = sampling.can_miss(p) and ("in_%d_%d"):format(j, k) or ""
        add_all(vector.load_if(p, v, ("v_%d_%d_%d"):format(f, j, k), ("image + at_%d_%d + in_%d"):format(j, k, f), condition), "      ")
      end
    end
  end
  for f = 0, flight - 1 do
    add("      %s{", f > 0 and steps % each ~= 0 and ("if (step + %d < %d) "):format(f * split, steps) or "")
    for e = 0, math.min(v, p.channels) - 1 do
      local g = packed and vector.element(p, v, "g_" .. f, e) or vector.element(p, 1, ("g_%d_%d"):format(f, e), 0)
      add("        const %s gradient_%d = %s;", real, e, g)
      for j = 0, taps - 1 do
        for k = 0, taps - 1 do
          local name = ("v_%d_%d_%d"):format(f, j, k)
          -- A tap outside counts for nothing, whatever its weight and grad_output are.
          local guard = sampling.can_miss(p) and ("if (in_%d_%d) "):format(j, k) or ""
          add("        %s{", guard)
          add("          const %s product = %s * gradient_%d;", real, vector.element(p, v, name, e), e)
          add("          sum_x = gt_fma_%s(cx_%d_%d, product, sum_x), sum_y = gt_fma_%s(cy_%d_%d, product, sum_y);", real, j, k, real, j, k)
          add("        }")
        end
      end
    end
    add("      }")
  end
  add("    }")
  add("  }")
  if split > 1 then
    local stride = last and 1 or per_block
    add("  sums[2 * gt_thread()] = sum_x, sums[2 * gt_thread() + 1] = sum_y;")
    local left = split
    while left > 1 do
      -- Eight at a time: a barrier costs more than an addition.
      local terms = math.min(8, left)
      left = left // terms
      add("  gt_barrier();")
      add("  if (part < %du) {", left)
      for k = 1, terms - 1 do
        local at = k * left * stride
        add("    sum_x += sums[2 * (gt_thread() + %du)], sum_y += sums[2 * (gt_thread() + %du) + 1];", at, at)
      end
      if left > 1 then add("    sums[2 * gt_thread()] = sum_x, sums[2 * gt_thread() + 1] = sum_y;") end
      add("  }")
    end
  end
  add("  if (part == 0 && o < (gt_u64)outer) {")
  add_all(vector.store(p, 2, "both", "grad_grid + 2 * i", { "sum_x", "sum_y" }), "    ")
  add("  }")
  add("}")
  return lines
end

return gradient
