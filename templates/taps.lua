-- Channels-first. A thread computes a register tile of vx × vy inputs of one outer slice (lib/register_tile): of each output row it sums
-- horizontally into vx values, which it then adds to the rows of the tile that used them. An input row is stored as soon as its last output row
-- was added, so that few sums are alive at a time. Any ratio, any filter.
local tiling = use "tiling"
local mapping = use "mapping"
local register_tile = use "register_tile"
local vector = use "vector"
local gradient = use "gradient"

-- The most elements that one load may bring, by the alignment of rows and windows.
local function widest_load(x, p)
  if x.starts then return 1 end
  return vector.common_power(gradient.alignment(p, 16 // p.dtype_bytes), x.step)
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
  local n = vector.common_power(widest_load(x, p), p.axes[3].n_out)
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

local family = {
  items = register_tile.tiles,
  products = register_tile.products,
  limits = { cpu = 384, gpu = 1536 },
  values = function(c, p)
    return register_tile.sums(c, p) + register_tile.weights(c, p) + tiling.make(p, 3, c.vx).width
  end,
}

local constraints = register_tile.constraints(family)
table.insert(constraints, {
  why = "loading whole vectors would save no loads",
  ok = function(c, p)
    if c.halo == "exact" then return true end
    local x = tiling.make(p, 3, c.vx)
    local loads = vector_loads(x, p)
    return loads ~= nil and #loads < #exact_loads(x, p)
  end,
})

-- The configuration to use without tuning: two rows (four, where windows are high), and as many columns as 16 bytes of an output row reach
-- (the best of most problems on an H200); less, or rolled rows, where the window is large.
local function default(p, device)
  local width, vx = p.axes[3], 1
  while vx < 8 and vx * 2 <= width.n_in and vx * 2 * width.n_out * p.dtype_bytes <= 16 * width.n_in do vx = vx * 2 end
  local vy = p.axes[2].max_count > 5 and 4 or 2
  local shapes = { { vx, vy, "unrolled" }, { vx, 2, "unrolled" }, { vx, 1, "unrolled" }, { 2, 2, "unrolled" }, { 1, 1, "unrolled" },
    { 1, 1, "rolled" } }
  return register_tile.default(p, device, shapes, family, constraints, function(c)
    local x = tiling.make(p, 3, c.vx)
    local vectors = vector_loads(x, p)
    c.halo = vectors and #vectors + 3 <= #exact_loads(x, p) and "vector" or "exact"
  end)
end

return {
  role = "candidate",
  description = "register tile of vx × vy inputs per thread, weights as literals or from tables",

  claims = function(p, device)
    if p.inner ~= 1 or p.pixel_stride ~= 1 then return false, "channels-first only (inner does channels-last)" end
    local ok, why = register_tile.claims(p)
    if ok and not default(p, device) then return false, "windows too large for tables or registers" end
    return ok, why
  end,

  parameters = function(p, device)
    return register_tile.parameters(p, device, { 1, 2, 4, 8 }, { name = "halo", values = { "exact", "vector" } })
  end,

  constraints = constraints,

  default = default,

  launches = function(c, p)
    return { { kernel = "gt_taps", block = c.block, blocks = mapping.blocks(c.map, family.items(c, p), c.block) } }
  end,

  bindings = function(c, p)
    local names = register_tile.bindings(c, p, family.items(c, p))
    names.loads = row_loads(c, p)
    names.store_elements = vector.common_power(math.min(c.vx, 16 // p.dtype_bytes), p.axes[3].n_in)
    return names
  end,
}
