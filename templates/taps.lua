-- Channels-first. A thread computes a register tile of vx × vy inputs of one outer slice (lib/register_tile): of each output row it sums
-- horizontally into vx values, which it then adds to the rows of the tile that used them. An input row is stored as soon as its last output row
-- was added, so that few sums are alive at a time. Any ratio, any filter.
local axes = use "axis"
local tiling = use "tiling"
local mapping = use "mapping"
local register_tile = use "register_tile"
local vector = use "vector"
local gradient = use "gradient"

-- How rows of outputs lie to vectors of `widest` elements. Row r of every window starts `shift(r)` elements behind a multiple of them: 0 where
-- rows are aligned to such vectors. Where they are not, tiles may still agree on it (if their first rows do), and then vectors may straddle
-- the row's ends, and the tensor's.
local function alignment(c, p)
  local n_out, x, y = p.axes[3].n_out, register_tile.tilings(c, p)
  local aligned = x.starts and 1 or vector.common_power(gradient.alignment(p, 16 // p.dtype_bytes), x.step)
  local result = { widest = aligned, straddles = false, shift = function() return x.offset or 0 end }
  if x.starts or y.starts or axes.deep(p) or p.strided or p.dtype_bytes > 4 or c.rows == "rolled" then return result end
  local widest = vector.common_power(16 // p.dtype_bytes, p.out_slice, x.step, y.step * n_out)
  if widest <= aligned then return result end
  return { widest = widest, straddles = true, shift = function(r) return (y.offset + r) * n_out + x.offset end }
end

-- The loads of row r of a window: a list of {column, elements, outside}, each as wide as alignment allows. Columns that may lie outside of
-- the axis (`outside`) are loaded one by one.
local function exact_loads(x, a, r)
  local loads, column = {}, 0
  while column < x.width do
    local n = vector.common_power(a.widest, a.shift(r) + column)
    local function fits()
      if column + n > x.width then return false end
      for k = column, column + n - 1 do
        if x.clamped[k] then return false end
      end
      return true
    end
    while n > 1 and not fits() do n = n // 2 end
    loads[#loads + 1] = { column = column, elements = n, outside = x.clamped[column] }
    column = column + n
  end
  return loads
end

-- The same by aligned vectors only, which bring neighbours of the window too. In aligned rows a vector lies inside of the axis or outside
-- of it as a whole.
local function vector_loads(x, a, r)
  local n = a.straddles and a.widest or vector.common_power(a.widest, x.n_out)
  if n == 1 then return nil end
  local loads, column = {}, -(a.shift(r) % n)
  while column < x.width do
    local outside = x.offset + column < 0 or x.offset + x.step * (x.tiles - 1) + column + n > x.n_out
    loads[#loads + 1] = { column = column, elements = n, outside = outside and not a.straddles }
    column = column + n
  end
  return loads
end

-- The loads of all rows that are unrolled (else: of any row), from 0 on.
local function row_loads(c, p, halo, a)
  local x, y = register_tile.tilings(c, p)
  local rows, count = {}, 0
  for r = 0, c.rows == "rolled" and 0 or y.width - 1 do
    rows[r] = (halo == "vector" and vector_loads or exact_loads)(x, a, r)
    if not rows[r] then return nil end
    count = count + #rows[r]
  end
  return rows, count
end

local family = {
  items = register_tile.tiles,
  products = register_tile.products,
  limits = { cpu = 384, gpu = 1536 },
  values = function(c, p)
    return register_tile.sums(c, p) + register_tile.weights(c, p) + register_tile.tilings(c, p).width
  end,
}

local constraints = register_tile.constraints(family)
table.insert(constraints, {
  why = "loading whole vectors would save no loads",
  ok = function(c, p)
    if c.halo == "exact" then return true end
    local a = alignment(c, p)
    local vectors, count = row_loads(c, p, "vector", a)
    local _, exact = row_loads(c, p, "exact", a)
    return vectors ~= nil and count < exact
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
    local a = alignment(c, p)
    local vectors, count = row_loads(c, p, "vector", a)
    local rows, exact = row_loads(c, p, "exact", a)
    c.halo = vectors and count + 3 * (#rows + 1) <= exact and "vector" or "exact"
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

  work = function(c, p)
    local x, y, z = register_tile.tilings(c, p)
    local _, count = row_loads(c, p, c.halo, alignment(c, p))
    local rolled = c.rows == "rolled" and y.width or 1
    local loads = count * rolled * z.width
    return register_tile.work(c, p, loads, x.width * y.width * z.width * p.dtype_bytes / loads,
      register_tile.products(c, p) * rolled * z.width, family.values(c, p))
  end,

  bindings = function(c, p)
    local names = register_tile.bindings(c, p, family.items(c, p))
    local a = alignment(c, p)
    names.loads, names.alignment = row_loads(c, p, c.halo, a), a
    names.single_loads = row_loads(c, p, "exact", { widest = 1, shift = a.shift })
    names.store_elements = vector.common_power(math.min(c.vx, 16 // p.dtype_bytes), p.axes[3].n_in)
    return names
  end,
}
