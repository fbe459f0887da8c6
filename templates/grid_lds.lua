-- Small images: a block keeps the sums of an image (of some channels, or of a band of rows) in shared memory, adds every sample there, and
-- writes grad_input once. grad_output is read once, in the order in which it lies. The order of the additions is not defined, so two runs
-- differ in their last bits.
--
--   channels  that a block has; bands: parts of rows that an image is cut into, each of which goes through all samples
--   images    that a block does at a time, where they are tiny
--   split, flight  of the kernel of grad_grid (lib/grid_gradient)
local choose = use "choose"
local grid_gradient = use "grid_gradient"
local sampling = use "sampling"
local vector = use "vector"

local function ceil(n, unit) return (n + unit - 1) // unit end
local function rows(c, p) return ceil(p.axes[2].n_in, c.bands) end
local function sums(c, p) return c.images * c.channels * rows(c, p) * p.axes[3].n_in end

-- Channels of one load.
local function width(c, p) return p.layout == "nhwc" and math.min(c.channels, vector.common_power(16 // p.dtype_bytes, p.channels)) or 1 end

local constraints = {
  { why = "more threads per block than the device allows", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
  { why = "shared memory does not hold the sums", ok = function(c, p, device) return sampling.real_bytes(p) * sums(c, p) <= device.lds_bytes_per_block end },
  { why = "images are cut into bands, and their channels dealt to blocks, or several are done at a time",
    ok = function(c, p) return c.images == 1 or c.bands == 1 and c.channels == p.channels end },
  { why = "several images at a time have less samples than threads, or all but four",
    ok = function(c, p) return c.images == 1 or (c.images // 2) * sampling.samples(p) < 4 * c.block end },
  { why = "bands of less than four rows, or more of them than fit into shared memory need",
    ok = function(c, p, device)
      return c.bands == 1 or p.axes[2].n_in >= 4 * c.bands and 4 * sampling.real_bytes(p) * sums(c, p) > device.lds_bytes_per_block
    end },
  { why = "no channels for so many threads", ok = function(c, p) return c.split == 1 or c.split <= grid_gradient.steps(p) end },
}

local function split_values(p)
  return grid_gradient.splits(p) and { 1, 4, 16 } or { 1 }
end

local function channel_values(p)
  local values = vector.powers(vector.common_power(8, p.channels))
  if values[#values] < p.channels and p.channels <= 8 then values[#values + 1] = p.channels end
  return values
end

-- One image, in as few bands as fit, of as few channels as keep loads whole; several where they have few samples.
local function default(p, device)
  local list, block = {}, device.is_cpu and 64 or 256
  local values = channel_values(p)
  local function try(channels, bands, images)
    list[#list + 1] = { channels = channels, bands = bands, images = images, split = 1, flight = 2, block = block }
  end
  if values[#values] == p.channels then
    for _, images in ipairs { 16, 8, 4, 2 } do
      if images * sampling.samples(p) <= 2 * block then try(p.channels, 1, images) end
    end
  end
  local first = p.layout == "nhwc" and values[#values] or values[1]
  for _, bands in ipairs { 1, 2, 4, 8, 16 } do
    try(first, bands, 1)
    try(values[1], bands, 1)
  end
  return choose.first_legal(list, constraints, p, device)
end

return {
  role = "candidate",
  form = "grid",
  description = "adds the samples in shared memory; for small images",
  reproducible = false,

  claims = function(p, device)
    if not p.wants_input then return false, "there is nothing to add up without grad_input (grid_bin does it)" end
    if math.max(p.in_slice, p.out_slice) >= 1 << 31 then return false, "images of 2^31 elements and more" end
    if not default(p, device) then return false, "the image does not fit into shared memory" end
    return true
  end,

  parameters = function(p, device)
    return {
      { name = "channels", values = channel_values(p) },
      { name = "bands", values = { 1, 2, 4, 8, 16 } },
      { name = "images", values = { 1, 2, 4, 8, 16 } },
      { name = "split", values = split_values(p) },
      { name = "flight", values = p.interpolation == "bicubic" and { 1 } or p.wants_grid and { 1, 2, 4 } or { 2 } },
      { name = "block", values = device.is_cpu and { 64, 256 } or { 128, 256, 512, 1024 } },
    }
  end,

  constraints = constraints,

  default = function(p, device)
    local c = default(p, device)
    if p.interpolation == "bicubic" then c.flight = 1 end
    return c
  end,

  launches = function(c, p)
    local list = {}
    if p.wants_grid then list[1] = grid_gradient.launch(p, c.block, c.split) end
    list[#list + 1] = { kernel = "gt_add", block = c.block, blocks = { p.channels // c.channels * c.bands, c.images } }
    return list
  end,

  bindings = function(c, p)
    return { sampling = sampling, vector = vector, grid_gradient = grid_gradient, rows = rows(c, p), sums = sums(c, p), v = width(c, p) }
  end,
}
