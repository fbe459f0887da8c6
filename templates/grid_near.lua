-- For grids close to the identity, such as those of optical flow: nothing is sorted. A pixel goes, in their order, through the samples of a
-- window around the one that the identity would have it read by, and adds those that touch it. So results repeat.
--
-- It is right for every grid: a first launch finds the images that have a sample which touches a pixel and lies farther than `radius` from where
-- the identity has it; of those the samples are sorted by the pixels that they touch (a block per image, a stable radix sort), and the pixels go
-- through their own in that list. That is slow, and tuning for such grids chooses other families.
--
--   radius    in input pixels, along each axis: how far a sample may lie from its place of the identity
--   channels  that a thread sums at a time
--   split     threads per sample in the kernel of grad_grid (lib/grid_gradient)
--   order     of blocks, on GPUs of several chiplets (lib/amd)
local amd = use "amd"
local bins = use "bins"
local grid_gradient = use "grid_gradient"
local sampling = use "sampling"
local vector = use "vector"

local most_window = 15 -- samples of a window along an axis
local far_samples = 1024 -- of a block that looks for samples that are far
local longest = 16384 -- pixels or samples of an axis: then places of the identity in float are off by less than `slack` samples
local slack = 1 / 16 -- of a sample

local function ceil(n, unit) return (n + unit - 1) // unit end
local function rounded_up(n, unit) return ceil(n, unit) * unit end
local function step(device) return device.is_cpu and 64 or 256 end -- threads per block of the launches before the gather

-- Of axis number `number`: the identity has sample s at `scale` · s + `offset` pixels. A pixel x's samples, if none is farther than `radius` from
-- there, lie from x / scale - below to x / scale + above: a sample touches pixels less than 1 away, or exactly 1 below. `width`: how many at most.
-- `whole`: the window is the whole axis, and no sample too far.
local function window(p, number, radius)
  local axis = p.axes[number]
  local scale, offset = axis.n_in / axis.n_out, (axis.n_in / axis.n_out - 1) / 2
  if p.align_corners then scale, offset = axis.n_out > 1 and (axis.n_in - 1) / (axis.n_out - 1) or 0, 0 end
  if scale == 0 then return { whole = true, width = axis.n_out } end
  local reach = (radius + 1) / scale
  local width = math.floor(2 * (reach + slack)) + 1
  if width >= axis.n_out then return { whole = true, width = axis.n_out } end
  return { scale = scale, offset = offset, inverse = 1 / scale, below = reach + offset / scale + slack, above = reach - offset / scale + slack, width = width }
end

local function windows(p, radius) return { Y = window(p, 2, radius), X = window(p, 3, radius) } end

-- Radii whose windows are small enough; those of which every window is the whole image are alike.
local function radii(p, device)
  local list = {}
  for _, radius in ipairs(device.is_cpu and { 1, 2, 4 } or { 1, 2, 4, 6, 8 }) do
    local w = windows(p, radius)
    if w.Y.width > most_window or w.X.width > most_window then break end
    list[#list + 1] = radius
    if w.Y.whole and w.X.whole then break end
  end
  return list
end

-- Whether a sample can be too far.
local function checks(c, p)
  local w = windows(p, c.radius)
  return not (w.Y.whole and w.X.whole)
end

local function far_blocks(p) return ceil(sampling.samples(p), far_samples) end

-- Where things lie in the workspace of an image, in bytes, and how many it has: whether it has samples that are too far, the same of each block
-- that looked, and two lists of pairs of bin and sample.
local function layout(p)
  local lists = 16 + rounded_up(4 * far_blocks(p), 16)
  return { far = 0, found = 16, list = lists, bytes = lists + 2 * rounded_up(8 * sampling.samples(p), 16) }
end

-- Up to three numbers of channels, the largest: more channels per thread are fewer threads that look through the same window.
local function channel_values(p, device)
  local first = p.layout == "nchw" and p.channels > 1
  local n = vector.common_power(first and 16 or 32 // p.dtype_bytes, p.channels)
  if n == 1 and p.channels > 1 and p.channels <= 7 then return { 1, p.channels } end
  local values = vector.powers(n)
  return { table.unpack(values, math.max(1, #values - (device.is_cpu and 1 or 2))) }
end

return {
  role = "candidate",
  form = "grid",
  description = "each pixel looks through the samples near it; for grids close to the identity",

  claims = function(p, device)
    if not p.wants_input then return false, "there is nothing to add up without grad_input (grid_bin does it)" end
    if p.interpolation == "bicubic" then return false, "bilinear and nearest only" end
    if math.max(p.in_slice, p.out_slice) >= 1 << 31 then return false, "images of 2^31 elements and more" end
    for _, axis in ipairs(sampling.axes) do
      local a = p.axes[axis.number]
      if math.max(a.n_in, a.n_out) > longest then return false, "axes longer than " .. longest end
    end
    if #radii(p, device) == 0 then return false, "so many more samples than pixels that windows would have over " .. most_window .. " along an axis" end
    return true
  end,

  parameters = function(p, device)
    local list = {
      { name = "radius", values = radii(p, device) },
      { name = "channels", values = channel_values(p, device) },
      { name = "split", values = grid_gradient.splits(p) and not device.is_cpu and { 1, 4 } or { 1 } },
      { name = "block", values = device.is_cpu and { 64 } or { 64, 256 } },
    }
    return amd.order_parameter(list, device)
  end,

  constraints = {
    { why = "more threads per block than the device allows", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
    { why = "no channels for so many threads", ok = function(c, p) return c.split == 1 or c.split <= grid_gradient.steps(p) end },
  },

  -- The largest radius up to 4. Blocks that read the same samples share a cache.
  default = function(p, device)
    local radius, values = 0, channel_values(p, device)
    for i, value in ipairs(radii(p, device)) do
      if i == 1 or value <= 4 then radius = value end
    end
    local c = { radius = radius, channels = values[#values], split = 1, block = device.is_cpu and 64 or math.min(256, device.max_threads_per_block) }
    return amd.order_default(c, device, "xcd")
  end,

  launches = function(c, p, device)
    local list = {}
    if p.wants_grid then list[1] = grid_gradient.launch(p, c.block, c.split) end
    if checks(c, p) then
      list[#list + 1] = { kernel = "gt_far", block = step(device), blocks = far_blocks(p) }
      list[#list + 1] = { kernel = "gt_sort", block = step(device), blocks = 1 }
    end
    list[#list + 1] = { kernel = "gt_gather", block = c.block, blocks = { sampling.pixels(p) * (p.channels // c.channels), c.block } }
    return list
  end,

  -- Of images with samples that are too far, as three of the four classes of positions have them.
  work = function(c, p, device)
    local list, samples, pixels, b = {}, sampling.samples(p), sampling.pixels(p), p.dtype_bytes
    if p.wants_grid then list[1] = grid_gradient.work(p, c.split, 2) end
    local w, turns = windows(p, c.radius), ceil(samples, step(device))
    local looked = w.Y.width * w.X.width
    if checks(c, p) then
      list[#list + 1] = { loads = far_samples // step(device), flight = 1, load_bytes = 2 * b, operations = 200, registers = 32, steps = 4,
        bytes = 2 * b * samples, cached_bytes = 2 * b * samples }
      list[#list + 1] = { loads = 16 * turns, flight = 1, load_bytes = 8, operations = 500 * turns, registers = 32, shared_bytes = 4096, steps = 16 * turns,
        bytes = 32 * samples, cached_bytes = 256 * samples }
      looked = 4 * samples / pixels + math.log(samples + 1, 2) -- its own, after a search for where they begin
    end
    list[#list + 1] = { loads = looked + 1, flight = 1, load_bytes = 2 * b, operations = 40 + looked * 40, registers = 32 + 2 * c.channels,
      bytes = p.channels * b * (samples + pixels), cached_bytes = pixels * (p.channels // c.channels) * looked * 8 * b }
    return list
  end,

  workspace = function(c, p) return 0, checks(c, p) and layout(p).bytes or 0 end,

  bindings = function(c, p, device)
    return {
      sampling = sampling, bins = bins, vector = vector, mapping = use "mapping", grid_gradient = grid_gradient, number = amd.block(c, device),
      windows = windows(p, c.radius), checks = checks(c, p), at = layout(p), step = step(device), far_samples = far_samples,
      far_blocks = far_blocks(p), vectors = p.channels // c.channels, ceil = ceil,
    }
  end,
}
