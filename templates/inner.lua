-- Channels-last. A thread computes vx × vy inputs for as many neighbouring channels as one vector load brings, so that the lanes of a wave
-- read consecutive channels. It walks down the output rows as `taps` does.
local tiling = use "tiling"
local mapping = use "mapping"
local depth = use "depth"
local choose = use "choose"
local amd = use "amd"

local table_limit = 32768

local function tilings(c, p) return tiling.make(p, 3, c.vx), tiling.make(p, 2, c.vy) end

local function vectors(c, p) return p.inner // c.channels end

local function items(c, p)
  local x, y = tilings(c, p)
  return x.tiles * y.tiles * depth.tiling(c, p).tiles * vectors(c, p)
end

local function products(c, p)
  local x, y = tilings(c, p)
  local rows = c.rows == "rolled" and 1 or y.width
  local vertical = c.rows == "rolled" and c.vy * c.vx or tiling.products(y) * c.vx
  return (rows * tiling.products(x) + vertical + (depth.deep(p) and c.vz * c.vy * c.vx or 0)) * c.channels
end

local function most_products(device) return device.is_cpu and 512 or 2048 end

local function most_channels(p)
  local n = 16 // p.dtype_bytes
  while p.inner % n ~= 0 do n = n // 2 end
  return n
end

-- Registers that a thread needs for values, about.
local function values_alive(c, p)
  local x, y = tilings(c, p)
  local sums = (c.rows == "rolled" or depth.deep(p)) and c.vy or math.min(c.vy, p.axes[2].max_count + 1)
  if depth.deep(p) then sums = sums + c.vz * c.vy end
  local weights = x.literal and 0 or tiling.products(x)
  return ((sums + 1) * c.vx * c.channels + weights) * (c.acc == "double" and 2 or 1)
end

local constraints = {
  { why = "the tile is larger than the image",
    ok = function(c, p) return (c.vx == 1 or c.vx <= p.axes[3].n_in) and (c.vy == 1 or c.vy <= p.axes[2].n_in) end },
  { why = "more threads per block than the device allows", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
  { why = "the kernel's text would be too long", ok = function(c, p, device) return products(c, p) <= most_products(device) end },
  { why = "too many values alive for the registers", ok = function(c, p) return values_alive(c, p) <= 160 end },
  amd.constraint(values_alive),
  { why = "rolled rows pay only for windows of at least 6 rows",
    ok = function(c, p) return c.rows == "unrolled" or tiling.make(p, 2, c.vy).width >= 6 end },
  { why = "weight tables would be too long",
    ok = function(c, p)
      local x, y = tilings(c, p)
      local z = depth.deep(p) and tiling.table_entries(depth.tiling(c, p), true) or 0
      return tiling.table_entries(x, false) + tiling.table_entries(y, c.rows == "rolled") + z <= table_limit
    end },
  { why = "a slice of 2^31 work items and more", ok = function(c, p) return items(c, p) < 1 << 31 end },
  mapping.constraint(items),
}

-- The configuration to use without tuning: neighbouring lanes read neighbouring words, and a thread computes 2 × 4 inputs (the best of
-- most problems on an H200); less, or rolled rows, where the window is large.
local function default(p, device)
  local candidates = {}
  local channels = math.min(most_channels(p), math.max(1, 4 // p.dtype_bytes))
  if channels * 4 < most_channels(p) then channels = most_channels(p) // 4 end
  for _, shape in ipairs { { 2, 4, "unrolled" }, { 2, 2, "unrolled" }, { 1, 2, "unrolled" }, { 1, 1, "unrolled" }, { 1, 1, "rolled" } } do
    local c = { vx = shape[1], vy = shape[2], channels = channels, rows = shape[3], block = device.is_cpu and 64 or 256,
      acc = p.double_arithmetic and "double" or "float" }
    if depth.deep(p) then c.vz = 1 end
    c.map = mapping.default(items(c, p), c.block)
    candidates[#candidates + 1] = amd.defaults(c, device)
  end
  return choose.first_legal(candidates, constraints, p, device)
end

return {
  role = "candidate",
  description = "channels-last: vectors of channels, a register tile of vx × vy inputs per thread",

  claims = function(p, device)
    if p.inner == 1 then return false, "channels-last only (taps does channels-first)" end
    if p.in_slice >= 1 << 31 or p.out_slice >= 1 << 31 then return false, "slices of 2^31 elements and more (direct does them)" end
    if p.axes[3].max_count > 40 then return false, "more than 40 outputs per input along the width" end
    if not default(p, device) then return false, "windows too large for tables or registers" end
    return true
  end,

  parameters = function(p, device)
    local channels, n = {}, most_channels(p)
    while n >= 1 do
      if n * 4 >= most_channels(p) then channels[#channels + 1] = n end
      n = n // 2
    end
    local list = depth.parameters(p)
    for _, parameter in ipairs {
      { name = "vx", values = { 1, 2, 4 } },
      { name = "vy", values = { 1, 2, 4, 8 } },
      { name = "channels", values = channels },
      { name = "rows", values = { "unrolled", "rolled" } },
      { name = "map", values = mapping.values() },
      { name = "block", values = { 64, 128, 256, 512 } },
      { name = "acc", values = { p.double_arithmetic and "double" or "float" }, on_request = p.double_arithmetic and { "float" } or {} },
    } do
      list[#list + 1] = parameter
    end
    return amd.parameters(list, device)
  end,

  constraints = constraints,

  default = default,

  launches = function(c, p)
    return { { kernel = "gt_inner", block = c.block, blocks = mapping.blocks(c.map, items(c, p), c.block) } }
  end,

  bindings = function(c, p)
    local x, y = tilings(c, p)
    return { x = x, y = y, z = depth.tiling(c, p), vz = depth.size(c, p), deep = depth.deep(p), items = items(c, p),
      vectors = vectors(c, p), tiling = tiling, mapping = mapping, amd = amd, vector = use "vector",
      n_in = p.axes[3].n_in, rows_in = p.axes[2].n_in, slices_in = p.axes[1].n_in,
      n_out = p.axes[3].n_out, rows_out = p.axes[2].n_out, slices_out = p.axes[1].n_out }
  end,
}
