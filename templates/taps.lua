-- A thread computes a register tile of vx × vy inputs of one outer slice. It walks down the output rows that its tile gathers from; of each
-- row it sums horizontally into vx values, which it then adds to the rows of the tile that used them. An input row is stored as soon as
-- its last output row was added, so that few sums are alive at a time. Any ratio, any filter; 3-D operators slice by slice (lib/depth).
local tiling = use "tiling"
local mapping = use "mapping"
local depth = use "depth"
local vector = use "vector"
local choose = use "choose"
local amd = use "amd"

local table_limit = 32768 -- entries of program-scope tables: half a minute of compiling beyond that

local function tilings(c, p) return tiling.make(p, 3, c.vx), tiling.make(p, 2, c.vy) end

local function items(c, p)
  local x, y = tilings(c, p)
  return x.tiles * y.tiles * depth.tiling(c, p).tiles
end

-- Multiply-adds in the kernel's text.
local function products(c, p)
  local x, y = tilings(c, p)
  local rows = c.rows == "rolled" and 1 or y.width
  local vertical = c.rows == "rolled" and c.vy * c.vx or tiling.products(y) * c.vx
  return rows * tiling.products(x) + vertical + (depth.deep(p) and c.vz * c.vy * c.vx or 0)
end

local function most_products(device) return device.is_cpu and 384 or 1536 end

-- The most elements that one load may bring, by the alignment of rows and windows.
local function widest_load(x, p)
  if x.starts then return 1 end
  return vector.common_power(16 // p.dtype_bytes, p.axes[3].n_out, x.step)
end

-- The loads of one row: a list of {column, elements, clamped}, each as wide as alignment allows. Columns that may lie outside of the axis
-- are loaded one by one, from a clamped place.
local function exact_loads(x, p)
  local widest = widest_load(x, p)
  local loads, column = {}, 0
  while column < x.width do
    local n = x.starts and 1 or vector.common_power(widest, x.offset + column)
    local function fits()
      if column + n > x.width then return false end
      for k = column, column + n - 1 do
        if x.clamped[k] then return false end
      end
      return true
    end
    while n > 1 and not fits() do n = n // 2 end
    loads[#loads + 1] = { column = column, elements = n, clamped = x.clamped[column] }
    column = column + n
  end
  return loads
end

-- The same by aligned vectors only, which bring neighbours of the window too. A vector lies inside of the axis or outside of it as a whole;
-- in the latter case it is loaded from the nearest place, and none of its elements counts.
local function vector_loads(x, p)
  local n = widest_load(x, p)
  if n == 1 then return nil end
  local loads, column = {}, -(x.offset % n)
  while column < x.width do
    local first, last = x.offset + column, x.offset + x.step * (x.tiles - 1) + column
    loads[#loads + 1] = { column = column, elements = n, clamped = first < 0 or last + n > p.axes[3].n_out }
    column = column + n
  end
  return loads
end

local function row_loads(c, p)
  local x = tiling.make(p, 3, c.vx)
  if c.halo == "vector" then return vector_loads(x, p) end
  return exact_loads(x, p)
end

-- Registers that a thread needs for values, about.
local function values_alive(c, p)
  local x, y = tilings(c, p)
  local sums = (c.rows == "rolled" or depth.deep(p)) and c.vy or math.min(c.vy, p.axes[2].max_count + 1)
  if depth.deep(p) then sums = sums + c.vz * c.vy end
  local weights = x.literal and 0 or tiling.products(x)
  return (sums * c.vx + x.width + weights) * (c.acc == "double" and 2 or 1)
end

local constraints = {
  { why = "the tile is larger than the image",
    ok = function(c, p) return (c.vx == 1 or c.vx <= p.axes[3].n_in) and (c.vy == 1 or c.vy <= p.axes[2].n_in) end },
  { why = "more threads per block than the device allows", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
  { why = "the kernel's text would be too long", ok = function(c, p, device) return products(c, p) <= most_products(device) end },
  { why = "too many values alive for the registers", ok = function(c, p) return values_alive(c, p) <= 160 end },
  amd.constraint(values_alive),
  { why = "loading whole vectors would save no loads",
    ok = function(c, p)
      if c.halo == "exact" then return true end
      local x = tiling.make(p, 3, c.vx)
      local loads = vector_loads(x, p)
      return loads ~= nil and #loads < #exact_loads(x, p)
    end },
  { why = "rolled rows pay only for windows of at least 6 rows",
    ok = function(c, p) return c.rows == "unrolled" or tiling.make(p, 2, c.vy).width >= 6 end },
  { why = "weight tables would be too long",
    ok = function(c, p)
      local x, y = tilings(c, p)
      local z = depth.deep(p) and tiling.table_entries(depth.tiling(c, p), true) or 0
      return tiling.table_entries(x, false) + tiling.table_entries(y, c.rows == "rolled") + z <= table_limit
    end },
  mapping.constraint(items),
}

-- The configuration to use without tuning: two rows (four, where windows are high), and as many columns as 16 bytes of an output row reach
-- (the best of most problems on an H200); less, or rolled rows, where the window is large.
local function default(p, device)
  local width, vx = p.axes[3], 1
  while vx < 8 and vx * 2 <= width.n_in and vx * 2 * width.n_out * p.dtype_bytes <= 16 * width.n_in do vx = vx * 2 end
  local candidates = {}
  local vy = p.axes[2].max_count > 5 and 4 or 2
  for _, shape in ipairs { { vx, vy, "unrolled" }, { vx, 2, "unrolled" }, { vx, 1, "unrolled" }, { 2, 2, "unrolled" }, { 1, 1, "unrolled" }, { 1, 1, "rolled" } } do
    local c = { vx = shape[1], vy = shape[2], halo = "exact", rows = shape[3], block = device.is_cpu and 64 or 256,
      acc = p.double_arithmetic and "double" or "float" }
    if depth.deep(p) then c.vz = 1 end
    local x = tiling.make(p, 3, c.vx)
    local vectors = vector_loads(x, p)
    if vectors and #vectors + 3 <= #exact_loads(x, p) then c.halo = "vector" end
    c.map = mapping.default(items(c, p), c.block)
    candidates[#candidates + 1] = amd.defaults(c, device)
  end
  return choose.first_legal(candidates, constraints, p, device)
end

return {
  role = "candidate",
  description = "register tile of vx × vy inputs per thread, weights as literals or from tables",

  claims = function(p, device)
    if p.inner ~= 1 then return false, "channels-first only (inner does channels-last)" end
    if p.in_slice >= 1 << 31 or p.out_slice >= 1 << 31 then return false, "slices of 2^31 elements and more (direct does them)" end
    if p.axes[3].max_count > 40 then return false, "more than 40 outputs per input along the width" end
    if not default(p, device) then return false, "windows too large for tables or registers" end
    return true
  end,

  parameters = function(p, device)
    local list = depth.parameters(p)
    for _, parameter in ipairs {
      { name = "vx", values = { 1, 2, 4, 8 } },
      { name = "vy", values = { 1, 2, 4, 8 } },
      { name = "halo", values = { "exact", "vector" } },
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
    return { { kernel = "gt_taps", block = c.block, blocks = mapping.blocks(c.map, items(c, p), c.block) } }
  end,

  bindings = function(c, p)
    local x, y = tilings(c, p)
    return { x = x, y = y, z = depth.tiling(c, p), vz = depth.size(c, p), deep = depth.deep(p), items = items(c, p),
      loads = row_loads(c, p), tiling = tiling, mapping = mapping, amd = amd, vector = vector,
      n_in = p.axes[3].n_in, rows_in = p.axes[2].n_in, slices_in = p.axes[1].n_in,
      n_out = p.axes[3].n_out, rows_out = p.axes[2].n_out, slices_out = p.axes[1].n_out,
      store_elements = vector.common_power(math.min(c.vx, 16 // p.dtype_bytes), p.axes[3].n_in) }
  end,
}
