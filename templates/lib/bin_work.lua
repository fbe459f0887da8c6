-- What a thread of each launch of grid_bin does, for the order in which a search begins (docs/search.md), where samples are spread over the
-- image. `is`: the names that grid_bin binds.
local grid_gradient = use "grid_gradient"
local sampling = use "sampling"

-- The loads of an entry's gradients, and the bytes in whole sectors.
local function gradients(c, p, is)
  local b = p.dtype_bytes
  if not is.last and c.transpose ~= 1 then return c.channels, 32 * c.channels end
  return math.ceil(c.channels * b / 16), math.max(c.channels * b, c.transpose == 1 and 16 or 32)
end

-- What a thread does that sums a column of `rows` pixels: loads, how many at a time, operations, sectors; and the share of entries that are in
-- whole pieces.
local function column(c, p, is, rows)
  local loads, bytes = gradients(c, p, is)
  local corners = is.corners == 4
  local bands, per_band = rows + (corners and 1 or 0), (corners and 2 or 1) * is.entries / is.count -- bins one below the other, and entries of each
  local mean = is.entries / is.count
  local whole = math.max(0, 1 - is.piece / mean) -- what is left over at the ends of a bin is a piece, on average
  local left = per_band * (1 - whole)
  local turns = math.max(1, math.ceil(left / c.flight))
  local id = 4 + is.values * sampling.real_bytes(p)
  if c.transpose == 1 then id = id * c.channels / is.tile.channels end -- neighbouring threads have the same entries
  local each = (2 + loads) / 2 -- one wait for the number, one for what it leads to
  return {
    loads = bands * (turns * 2 * c.flight * each + (whole > 0 and per_band / is.piece / 8 or 0) * c.flight * each), flight = c.flight * each,
    operations = 20 + bands * (left * (12 + 4 * loads + 2 * c.channels * (corners and rows > 1 and 2 or 1)) + 10),
    cached = bands * (left * (id + bytes) + whole * per_band / is.piece * c.channels * sampling.real_bytes(p) + 12), whole = whole,
  }
end

-- Sorting by all threads: the launches by name.
local function add_device(list, p, is, position, list_bytes)
  local samples, entries, count, keys, mean = is.samples, is.entries, is.count, is.keys, is.entries / is.count
  list.gt_zero = { loads = 1, flight = 1, load_bytes = 16, operations = 10, registers = 16, bytes = 4 * count, cached_bytes = 4 * count }
  list.gt_count = { loads = 1 + keys, flight = keys, load_bytes = position, operations = 50 + 10 * keys, registers = 32,
    shared_bytes = 5120, steps = keys == 1 and 5 or 0,
    bytes = position * samples + 4 * entries, cached_bytes = position * samples + 36 * entries }
  list.gt_scan = { loads = 2 * is.scan.rounds, flight = 1, load_bytes = 16, operations = 60 * is.scan.rounds, registers = 32,
    shared_bytes = 4096, steps = 4 * is.scan.rounds, bytes = 8 * count, cached_bytes = 8 * count }
  list.gt_place = { loads = 1 + 2 * keys, flight = keys, load_bytes = position, operations = 50 + 4 * keys, registers = 32,
    bytes = position * samples + 8 * entries, cached_bytes = position * samples + 68 * entries }
  -- The positions, beginnings and numbers before it of an entry lie anywhere: a sector each.
  list.gt_order = { loads = 3 + mean / 8, flight = 1, load_bytes = 4, operations = 60 + 4 * mean, registers = 40,
    bytes = (8 + list_bytes) * entries, cached_bytes = (100 + 4 * mean) * entries }
end

-- The launches by name: those that a configuration has, and maybe gt_zero.
local function works(c, p, is)
  local b, real, samples, entries, count, keys = p.dtype_bytes, sampling.real_bytes(p), is.samples, is.entries, is.count, is.keys
  local list, image_bytes, mean = {}, p.channels * b * (samples + is.pixels), entries / count
  local position, list_bytes = 2 * b, 4 + real * is.values
  if c.transpose > 0 then
    local moved = (c.transpose == 1 and p.channels * b * samples or 0) + (is.transposes_input and p.channels * b * is.pixels or 0)
    local loads = 32 // b
    list.gt_transpose = { loads = loads, flight = loads, load_bytes = b, operations = 4 * loads, registers = 32, shared_bytes = 8192, steps = 1,
      bytes = 2 * moved, cached_bytes = 2 * moved }
  end
  if p.wants_grid then
    local flight = p.wants_input and p.interpolation == "bicubic" and 1 or c.flight
    list.gt_grad_grid = grid_gradient.work(p, c.split, flight, is.transposes_input, c.transpose == 1)
  end
  if not p.wants_input then return list end
  local sum = column(c, p, is, is.fused and 1 or c.rows)
  if is.fused then
    -- A block's threads go through the samples, then through the pixels.
    local turns, sums = math.ceil(samples / c.block), math.ceil(is.pixels * is.vectors / c.parts / c.block)
    list.gt_fused = { loads = turns * (2 + mean / 16) + sums * sum.loads / sum.flight, flight = 1, load_bytes = b,
      operations = turns * 180 + sums * sum.operations, registers = 40,
      shared_bytes = 4 * (count + c.block) + (8 + real * is.values) * entries + real * is.pieces * is.corners * p.channels // c.parts, steps = 8,
      bytes = image_bytes + position * samples, cached_bytes = 2 * position * samples * c.parts + is.pixels * is.vectors * sum.cached }
    return list
  end
  if c.binning == "device" then
    add_device(list, p, is, position, list_bytes)
  else
    local turns = math.ceil(samples / is.image_block)
    list.gt_bin = { loads = turns * (2 + keys * (1 + mean / 16)), flight = 1, load_bytes = position,
      operations = turns * (90 + keys * (60 + 4 * mean)), registers = 40, shared_bytes = 4 * (count + is.image_block), steps = 8,
      bytes = 2 * position * samples + (8 + list_bytes) * entries, cached_bytes = 2 * position * samples + (100 + 4 * mean) * entries }
  end
  local loads, bytes = gradients(c, p, is)
  local flight, each, full = c.channels <= 4 and 4 or 2, (2 + loads) / 2, sum.whole > 0
  list.gt_pieces = { loads = full and 2 * is.piece * each or 2, flight = full and flight * each or 1, load_bytes = math.min(16, c.channels * b),
    operations = full and is.piece * (6 + 4 * loads + 8 * c.channels) or 20, registers = 32 + 8 * c.channels,
    bytes = 0, cached_bytes = sum.whole * entries * is.vectors * (bytes + 4 + list_bytes) }
  list.gt_gather = { loads = math.max(1, sum.loads), flight = sum.flight, load_bytes = (is.last or c.transpose == 1) and math.min(16, c.channels * b) or b,
    operations = sum.operations, registers = 36 + 2 * c.channels + c.flight * (2 + c.channels * b // 4),
    shared_bytes = c.transpose == 1 and c.block * c.channels * c.rows * b or 0,
    bytes = image_bytes + list_bytes * entries, cached_bytes = is.columns * is.vectors * sum.cached }
  return list
end

return works
