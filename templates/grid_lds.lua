-- Small images: a block keeps the sums of an image (of some channels, or of a band of rows) in shared memory, adds every sample there, and
-- writes grad_input once. grad_output is read once, in the order in which it lies.
--
--   sums      atomic: atomic additions, whose order is not defined, so that two runs differ in their last bits.
--             ordered: samples go by chunks, of as many as a block has threads for. Samples of a chunk that have the same cell (the pixel, or
--             that between four) find each other by bits in shared memory, set by integer additions whose order does not matter. The first of
--             each 32 adds up theirs, and the first of all these sums, which it adds to the cell's pixels. Corners of cells go one after
--             the other, since two cells have a pixel in common only as different corners. So the order is that of chunks, cells and samples,
--             with at most six barriers a chunk and 31 + chunk / 32 additions one after the other, whatever the positions are
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
local function ordered(c) return c.sums == "ordered" end

-- Channels of one load.
local function width(c, p) return p.layout == "nhwc" and math.min(c.channels, vector.common_power(16 // p.dtype_bytes, p.channels)) or 1 end

local function lanes(c, p) return p.layout == "nhwc" and c.channels // width(c, p) or 1 end

-- Of ordered sums: samples of a chunk (whole words of bits), the threads that these take, words of bits of a cell and their distance (odd, which
-- keeps banks of shared memory apart); cells, from (-1, -1) on where they lie between pixels, and the type of a sample's number in a chunk; the
-- numbers that a thread gives others: first what is left of y and x after rounding down (shifts), and gradients, later sums of each corner.
local function order(c, p)
  if not ordered(c) then return false end
  local items, bilinear = c.images * sampling.samples(p), p.interpolation == "bilinear"
  local chunk = 32 * math.min(c.block // lanes(c, p) // 32, ceil(items, 32))
  local between = bilinear and 1 or 0
  local own = c.channels // lanes(c, p)
  return {
    chunk = chunk, threads = chunk * lanes(c, p), many = items > chunk,
    words = chunk // 32, pitch = chunk // 32 | 1,
    cells = c.images * (rows(c, p) + between) * (p.axes[3].n_in + between), claim = chunk <= 256 and "unsigned char" or "gt_u16",
    shifts = bilinear and 2 or 0, given = bilinear and 4 * own or own,
  }
end

local function shared_bytes(c, p)
  local bytes, o = sampling.real_bytes(p) * sums(c, p), order(c, p)
  if not o then return bytes end
  return bytes + sampling.real_bytes(p) * o.given * o.threads + 4 * o.chunk * o.pitch + (o.chunk <= 256 and 1 or 2) * o.cells + 16
end

local constraints = {
  { why = "more threads per block than the device allows", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
  { why = "bicubic's taps are padded one by one, so that several of a sample, or corners of other samples' cells, are one pixel",
    ok = function(c, p) return not ordered(c) or p.interpolation ~= "bicubic" end },
  { why = "less than 32 samples for a block", ok = function(c, p) return not ordered(c) or c.block >= 32 * lanes(c, p) end },
  { why = "shared memory does not hold the sums", ok = function(c, p, device) return shared_bytes(c, p) <= device.lds_bytes_per_block end },
  { why = "images are cut into bands, and their channels dealt to blocks, or several are done at a time",
    ok = function(c, p) return c.images == 1 or c.bands == 1 and c.channels == p.channels end },
  { why = "several images at a time have less samples than threads, or all but four",
    ok = function(c, p) return c.images == 1 or (c.images // 2) * sampling.samples(p) < 4 * c.block end },
  { why = "bands of less than four rows, or more of them than fit into shared memory need",
    ok = function(c, p, device)
      return c.bands == 1 or p.axes[2].n_in >= 4 * c.bands and 4 * shared_bytes(c, p) > device.lds_bytes_per_block
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

-- One image, in as few bands as fit, of as few channels as keep loads whole; several where they have few samples. In one order, if it can be.
local function default(p, device)
  local list, samples = {}, sampling.samples(p)
  local values, split, steps = channel_values(p), 1, grid_gradient.steps(p)
  -- Few samples are few threads, unless several share the channels of one.
  if not device.is_cpu and samples <= 8192 and grid_gradient.splits(p) then split = steps >= 64 and 16 or steps >= 16 and 4 or 1 end
  local blocks = device.is_cpu and { 64 } or samples < 512 and { 256, 128 } or { 512, 256, 128 }
  for _, how in ipairs { "ordered", "atomic" } do
    local function try(channels, bands, images)
      for _, block in ipairs(blocks) do
        list[#list + 1] = { sums = how, channels = channels, bands = bands, images = images, split = split, flight = 2, block = block }
      end
    end
    if values[#values] == p.channels then
      for _, images in ipairs { 16, 8, 4, 2 } do
        if images * samples <= 2 * blocks[1] then try(p.channels, 1, images) end
      end
    end
    local first = p.layout == "nhwc" and values[#values] or values[1]
    for _, bands in ipairs { 1, 2, 4, 8, 16 } do
      try(first, bands, 1)
      try(values[1], bands, 1)
    end
  end
  return choose.first_legal(list, constraints, p, device)
end

return {
  role = "candidate",
  form = "grid",
  description = "adds the samples in shared memory; for small images",
  reproducible = ordered,

  claims = function(p, device)
    if not p.wants_input then return false, "there is nothing to add up without grad_input (grid_bin does it)" end
    if math.max(p.in_slice, p.out_slice) >= 1 << 31 then return false, "images of 2^31 elements and more" end
    if not default(p, device) then return false, "the image does not fit into shared memory" end
    return true
  end,

  parameters = function(p, device)
    return {
      { name = "sums", values = { "atomic", "ordered" } },
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

  work = function(c, p)
    local list, samples, b, o = {}, sampling.samples(p), p.dtype_bytes, order(c, p)
    if p.wants_grid then list[1] = grid_gradient.work(p, c.split, c.flight) end
    local items, own = c.images * samples, c.channels // lanes(c, p)
    local turns = ceil(items, o and o.chunk or c.block // lanes(c, p))
    local parts = p.channels // c.channels
    list[#list + 1] = {
      -- Positions, then gradients; of ordered sums with barriers between the steps of a chunk.
      loads = turns * (1 + own), flight = (1 + own) / 2, load_bytes = b * width(c, p),
      operations = turns * (o and 150 + 30 * own or 80 + 48 * own) + ceil(sums(c, p), c.block) * 4,
      registers = 32 + 4 * own, shared_bytes = shared_bytes(c, p), steps = 2 + (o and turns or 0),
      bytes = p.channels * b * (samples + sampling.pixels(p)) + 2 * b * samples,
      cached_bytes = c.bands * samples * (p.channels + 2 * parts) * b,
    }
    return list
  end,

  bindings = function(c, p)
    return { sampling = sampling, vector = vector, grid_gradient = grid_gradient, rows = rows(c, p), sums = sums(c, p), v = width(c, p), lanes = lanes(c, p), order = order(c, p) }
  end,
}
