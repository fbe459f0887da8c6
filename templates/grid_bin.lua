-- Bin and gather: the samples of an image are sorted by the pixels that they touch (lib/bins), then every pixel sums what its bins list. A
-- counting sort: count, scan the counters, place in the order of arrival, then put every bin into the order of the samples. So no two
-- additions race, and results repeat. A bin with many entries is summed in pieces beforehand, by other threads.
--
--   binning    device: a launch per step, all threads on each; image: one launch, a block per image that counts in shared memory; fused: that
--              block keeps the list in shared memory and gathers too, for the channels of its part (parts: blocks per image)
--   transpose  channels-first: grad_output (and, for grad_grid, the input) are first brought into the order [place][channel], so that
--              neighbouring threads read neighbouring channels of the same place; 2: the input alone
--   channels   that a thread sums at a time; flight: entries that it loads at a time (and channels, in the kernel of grad_grid)
--   rows       pixels, one below the other, that a thread sums: the entries between two of them are loaded once for both
--   order      of blocks, on GPUs of several chiplets (lib/amd)
--   split      threads per sample in the kernel of grad_grid
local amd = use "amd"
local bin_work = use "bin_work"
local bins = use "bins"
local choose = use "choose"
local grid_gradient = use "grid_gradient"
local sampling = use "sampling"
local vector = use "vector"

local crowded = 1024    -- entries from which on a bin is put into order by a block, not by comparing all of it with each
local function rounded_up(n, unit) return (n + unit - 1) // unit * unit end
local function ceil(n, unit) return (n + unit - 1) // unit end
local function step(device) return device.is_cpu and 64 or 256 end -- threads per block of the launches that bin

-- List positions that are summed together: few, since what is left over at both ends of a bin is summed by one thread, so an eighth of a bin where
-- bins are full on average; but so many that all of an image in one bin makes no more pieces than a thread can sum.
local function piece(p)
  local entries = bins.entries(p)
  local mean = entries // bins.count(p)
  if mean < 64 then return entries < 32768 and 64 or 128 end
  local size = 16
  while size < 128 and size < math.max(mean // 8, entries // 4096) do size = 2 * size end
  return size
end
local function pieces(p) return bins.entries(p) // piece(p) end
local function vectors(c, p) return p.channels // c.channels end

-- Channels of which a block reads transposed samples, one after the other: 128 bytes or all; a power of two.
local function tile_channels(p)
  local n = 1
  while n < p.channels and n * p.dtype_bytes < 128 do n = n * 2 end
  return n
end

-- What a block transposes at a time: places (samples or pixels) × channels.
local function tile(p) return { channels = tile_channels(p), places = 8192 // p.dtype_bytes // tile_channels(p), block = 256 } end

-- Whether the forward's input is transposed too, for the kernel of grad_grid.
local function transposes_input(c, p) return c.transpose > 0 and p.wants_grid and p.interpolation ~= "nearest" end

-- The blocks of the transposition per image, of grad_output and of the input.
local function transposed(c, p)
  local t = tile(p)
  local across = ceil(p.channels, t.channels)
  return {
    channel_tiles = across,
    gradient_blocks = c.transpose == 1 and ceil(sampling.samples(p), t.places) * across or 0,
    input_blocks = transposes_input(c, p) and ceil(sampling.pixels(p), t.places) * across or 0,
  }
end

-- Threads of a block that bins an image by itself.
local function image_block(c, p, device)
  if c.binning == "fused" then return c.block end
  return math.min(device.max_threads_per_block, device.is_cpu and 64 or bins.entries(p) >= 4096 and 1024 or 256)
end

-- Bins of one thread of such a block: odd, which keeps banks of shared memory apart.
local function bins_per_thread(c, p, device) return ceil(bins.count(p), image_block(c, p, device)) | 1 end

-- Ids of bins that a block puts into order by itself, at most.
local function most_crowded(p) return math.max(1, bins.entries(p) // crowded) end

-- Blocks per image that look for crowded bins.
local function crowd_blocks(p, device)
  if bins.entries(p) <= crowded then return 0 end
  return math.max(1, math.min(64, math.max(bins.entries(p) // 8192, bins.count(p) // (4 * step(device)))))
end

-- The scan: a part of the counters per block, in rounds of up to two vectors of four per thread; at most 32 parts, since each adds up what
-- lies before it.
local function scan_parts(p, device)
  local block = device.is_cpu and 64 or math.min(1024, device.max_threads_per_block)
  local vectors = math.min(2, ceil(bins.count(p), 4 * block))
  local round = 4 * vectors * block
  local rounds = ceil(bins.count(p), 32 * round)
  return { block = block, vectors = vectors, rounds = rounds, length = rounds * round, count = ceil(bins.count(p), rounds * round) }
end

-- Columns of pixels, of which a thread sums one.
local function columns(c, p) return ceil(p.axes[2].n_in, c.rows) * p.axes[3].n_in end

-- Where things lie in the workspace of an image, in bytes, and how many it has.
local function layout(c, p)
  local at = { bytes = 0 }
  local function add(name, bytes) at[name], at.bytes = at.bytes, at.bytes + rounded_up(bytes, 16) end
  local entries = bins.entries(p)
  if p.wants_input and c.binning ~= "fused" then
    if c.binning == "device" then add("counts", 4 * bins.count(p)) end
    add("starts", 4 * (bins.count(p) + 1))
    add("ranks", 4 * entries)
    at.entries = at.ranks -- ranks are read before entries are written
    add("arrived", 4 * entries)
    add("values", sampling.real_bytes(p) * bins.values(p) * entries)
    add("partials", sampling.real_bytes(p) * pieces(p) * bins.corners(p) * p.channels)
  end
  if c.transpose == 1 then add("rows", p.dtype_bytes * sampling.pitch(p) * sampling.samples(p)) end
  if transposes_input(c, p) then add("image", p.dtype_bytes * sampling.pitch(p) * sampling.pixels(p)) end
  return at
end

-- Shared memory of a block that bins.
local function shared_bytes(c, p, device)
  local block, entries = image_block(c, p, device), bins.entries(p)
  local bytes = 4 * (bins.count(p) + 1) + 4 * block + 4 * most_crowded(p) + 64
  if c.binning == "image" then return bytes end
  return bytes + 8 * entries + sampling.real_bytes(p) * (bins.values(p) * entries + pieces(p) * bins.corners(p) * p.channels // c.parts)
end

local function is_first(p) return p.layout == "nchw" and p.channels > 1 end -- channels-first

-- What may be transposed: all where a sample has 16 bytes and more; the input for the kernel of grad_grid, of which nearest makes zeros.
local function transpose_values(p)
  local values = { 0 }
  local has_gradient = p.wants_grid and p.interpolation ~= "nearest"
  if not is_first(p) or not (p.wants_input or has_gradient) then return values end
  if p.channels * p.dtype_bytes >= 16 then values[2] = 1 end
  if has_gradient then values[#values + 1] = 2 end
  return values
end

local function channel_values(p)
  local n = vector.common_power(is_first(p) and 8 or 16 // p.dtype_bytes, p.channels)
  if n == 1 and is_first(p) and p.channels <= 7 then return { 1, p.channels } end
  return vector.powers(n)
end

local function split_values(p, device)
  if not grid_gradient.splits(p) then return { 1 } end
  return device.is_cpu and { 1, 4 } or { 1, 4, 16 }
end

local constraints = {
  { why = "more threads per block than the device allows", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
  { why = "shared memory does not hold the counters, or the list",
    ok = function(c, p, device) return not p.wants_input or c.binning == "device" or shared_bytes(c, p, device) <= device.lds_bytes_per_block end },
  { why = "only fused binning has parts, of whole vectors of channels",
    ok = function(c, p) return c.parts == 1 or c.binning == "fused" and vectors(c, p) % c.parts == 0 end },
  { why = "fused binning reads grad_output where it lies", ok = function(c) return c.binning ~= "fused" or c.transpose ~= 1 end },
  { why = "a thread reads less than 16 bytes of a transposed sample",
    ok = function(c, p) return c.transpose ~= 1 or not p.wants_input or c.channels * p.dtype_bytes >= 16 or c.channels == vector.common_power(16 // p.dtype_bytes, p.channels) end },
  { why = "a thread reads more than 32 bytes, or more than a block has, of a transposed sample",
    ok = function(c, p) return c.transpose ~= 1 or c.channels * p.dtype_bytes <= 32 and c.channels <= tile_channels(p) end },
  { why = "what a block has summed takes more than three eighths of shared memory until it is stored",
    ok = function(c, p, device) return c.transpose ~= 1 or not p.wants_input or 8 * c.block * c.channels * c.rows * p.dtype_bytes <= 3 * device.lds_bytes_per_block end },
  { why = "transposed samples are read by powers of two", ok = function(c) return c.transpose ~= 1 or c.channels & (c.channels - 1) == 0 end },
  { why = "a thread has rows of whole columns, of images with more of them; fused binning one pixel",
    ok = function(c, p) return c.rows == 1 or c.binning ~= "fused" and p.axes[2].n_in >= 2 * c.rows end },
  { why = "no channels for so many threads", ok = function(c, p) return c.split == 1 or c.split <= grid_gradient.steps(p, c.transpose > 0) end },
  { why = "fused binning is searched with two entries at a time", ok = function(c) return c.binning ~= "fused" or c.flight == 2 end },
  { why = "blocks of 512 threads and more bin by themselves", ok = function(c) return c.block <= 256 or c.binning == "fused" end },
}

-- Without tuning: everything in one launch where images are small and many, else by all threads. On a CPU blocks are few, and small.
local function default(p, device)
  local values = channel_values(p)
  local wide = is_first(p) and math.min(8, values[#values]) or values[#values]
  if is_first(p) and wide & (wide - 1) ~= 0 then wide = values[#values] end
  local whole = vector.common_power(16 // p.dtype_bytes, p.channels)
  local block, split = device.is_cpu and 64 or 256, 1
  if p.wants_grid and not device.is_cpu and sampling.samples(p) < 4096 and #split_values(p, device) > 1 and grid_gradient.steps(p) >= 16 then split = 4 end
  local list = {}
  local function try(binning, transpose, channels)
    -- Two pixels per thread where bins are not so full that there are too few threads.
    local rows = p.interpolation == "bilinear" and binning == "device" and not device.is_cpu and p.axes[2].n_in >= 16 and bins.entries(p) < 16 * bins.count(p) and 2 or 1
    local c = { binning = binning, parts = 1, transpose = transpose, channels = channels, rows = rows, flight = 2, split = split, block = block }
    list[#list + 1] = amd.order_default(c, device, "xcd") -- blocks that read the same samples share a cache
  end
  if not p.wants_input then
    if is_first(p) and p.channels >= 3 and p.interpolation ~= "nearest" and not device.is_cpu then try("none", 2, 1) end
    try("none", 0, 1)
  else
    if p.channels <= 4 and bins.entries(p) <= 4096 then try("fused", 0, wide) end
    if device.is_cpu then try("image", 0, wide) end
    if is_first(p) and p.channels >= 8 and not device.is_cpu then try("device", 1, whole) end
    try("device", 0, wide)
  end
  return choose.first_legal(list, constraints, p, device)
end

local function launches(c, p, device)
  local list, samples = {}, sampling.samples(p)
  local function add(kernel, block, items) list[#list + 1] = { kernel = kernel, block = block, blocks = { items, block } } end
  local t = transposed(c, p)
  if t.gradient_blocks + t.input_blocks > 0 then
    list[1] = { kernel = "gt_transpose", block = tile(p).block, blocks = t.gradient_blocks + t.input_blocks }
  end
  if p.wants_grid then list[#list + 1] = grid_gradient.launch(p, c.block, c.split) end
  if not p.wants_input then return list end
  if c.binning == "fused" then
    list[#list + 1] = { kernel = "gt_fused", block = c.block, blocks = c.parts }
    return list
  end
  if c.binning == "image" then
    list[#list + 1] = { kernel = "gt_bin", block = image_block(c, p, device), blocks = 1 }
  else
    -- Whatever runs before sets the counters to zero on the way.
    if #list == 0 then add("gt_zero", step(device), ceil(bins.count(p), 4)) end
    add("gt_count", step(device), samples)
    list[#list + 1] = { kernel = "gt_scan", block = scan_parts(p, device).block, blocks = scan_parts(p, device).count }
    add("gt_place", step(device), samples)
    add("gt_order", step(device), bins.entries(p) + step(device) * crowd_blocks(p, device))
  end
  if pieces(p) > 0 then add("gt_pieces", c.block, pieces(p) * vectors(c, p)) end
  if c.transpose == 1 then
    local lanes = tile_channels(p) // c.channels
    list[#list + 1] = { kernel = "gt_gather", block = c.block, blocks = ceil(columns(c, p), c.block // lanes) * transposed(c, p).channel_tiles }
  else
    add("gt_gather", c.block, columns(c, p) * vectors(c, p))
  end
  return list
end

-- The names of the template.
local function names(c, p, device)
  local at, t = layout(c, p), tile(p)
  -- Of a transposed gather: columns of pixels of a block.
  local tile_columns = c.transpose == 1 and c.block * c.channels // t.channels or 0
  return {
    sampling = sampling, bins = bins, vector = vector, mapping = use "mapping", grid_gradient = grid_gradient, ceil = ceil,
    number = amd.block(c, device), step = step(device),
    -- Sizes of an image.
    real = sampling.real(p), samples = sampling.samples(p), pixels = sampling.pixels(p), height = p.axes[2].n_in, width = p.axes[3].n_in,
    keys = bins.keys(p), entries = bins.entries(p), corners = bins.corners(p), values = bins.values(p), count = bins.count(p),
    -- Where things lie. The C declaration of a pointer to part `name` of the workspace of image o:
    at = at, pitch = sampling.pitch(p), last = p.layout == "nhwc" or p.channels == 1,
    declare = function(type, name)
      return ("GT_GLOBAL %s *%s = (GT_GLOBAL %s *)((GT_GLOBAL char *)workspace + o * %du + %du);"):format(type, name, type, at.bytes, at[name])
    end,
    -- Work of a launch, and of a block and a thread of it.
    tile = t, transposed = transposed(c, p), transposes_input = transposes_input(c, p),
    crowded = crowded, most_crowded = most_crowded(p), crowd_blocks = crowd_blocks(p, device), dense = bins.entries(p) // bins.count(p) >= 8,
    scan = scan_parts(p, device), image_block = image_block(c, p, device), bins_per_thread = bins_per_thread(c, p, device),
    piece = piece(p), pieces = pieces(p), vectors = vectors(c, p), fused = c.binning == "fused",
    n = c.channels, columns = columns(c, p), tile_columns = tile_columns, tile_pixels = tile_columns * c.rows,
  }
end

return {
  role = "candidate",
  form = "grid",
  description = "sorts the samples by the pixels that they touch; each pixel sums its own, in a fixed order",

  claims = function(p)
    if bins.entries(p) >= 1 << 30 or bins.count(p) >= 1 << 30 then return false, "2^30 samples of an image, or pixels, and more" end
    if sampling.pitch(p) * math.max(sampling.pixels(p), sampling.samples(p)) >= 1 << 31 then return false, "images of 2^31 elements and more" end
    return true
  end,

  parameters = function(p, device)
    local one = { 1 }
    local list = {
      { name = "binning", values = p.wants_input and { "device", "image", "fused" } or { "none" } },
      { name = "parts", values = p.wants_input and p.channels > 1 and (device.is_cpu and { 1, 4 } or { 1, 4, 16 }) or one },
      { name = "transpose", values = transpose_values(p) },
      { name = "channels", values = p.wants_input and channel_values(p) or one },
      { name = "rows", values = p.wants_input and p.interpolation == "bilinear" and (device.is_cpu and { 1, 3 } or is_first(p) and { 1, 2, 4 } or { 1, 2, 4, 8 }) or one },
      { name = "flight", values = (device.is_cpu or p.interpolation == "bicubic" and p.wants_grid) and { 1, 2 } or { 1, 2, 4 } },
      { name = "split", values = split_values(p, device) },
      { name = "block", values = device.is_cpu and { 64, 256 } or { 128, 256, 512, 1024 } },
    }
    return amd.order_parameter(list, device)
  end,

  constraints = constraints,

  default = default,

  launches = launches,

  workspace = function(c, p) return 0, layout(c, p).bytes end,

  work = function(c, p, device)
    local works, list = bin_work(c, p, names(c, p, device)), {}
    for i, launch in ipairs(launches(c, p, device)) do list[i] = works[launch.kernel] end
    return list
  end,

  bindings = names,
}
