-- What `taps` and `inner` share: a thread owns a tile of vx × vy inputs, whose window of outputs it walks down row by row. In 3-D it also owns
-- vz inputs along depth: it goes through the depth window slice by slice, sums each slice as for 2-D, and adds the slice's sums to those
-- inputs that used it.
--
-- A family hands over how many values it moves together (`channels`, a function of c), so that all counts are of single values.
local axes = use "axis"
local accumulation = use "accumulation"
local tiling = use "tiling"
local mapping = use "mapping"
local choose = use "choose"
local amd = use "amd"
local gradient = use "gradient"
local register_tile = {}

local table_limit = 32768 -- entries of program-scope tables: half a minute of compiling beyond that
local most_registers = 160 -- for values: above that occupancy falls, or values spill


-- The tilings of width, height and depth. Outputs of a window that lie outside of the width count as zeros, and rows that are unrolled too.
local function tilings(c, p)
  return tiling.make(p, 3, c.vx, true), tiling.make(p, 2, c.vy, true), tiling.make(p, 1, axes.deep(p) and c.vz or 1)
end
register_tile.tilings = tilings

-- Tiles in an outer slice.
function register_tile.tiles(c, p)
  local x, y, z = tilings(c, p)
  return x.tiles * y.tiles * z.tiles
end

-- Multiply-adds in the kernel's text, per value that is moved together with others.
function register_tile.products(c, p)
  local x, y = tilings(c, p)
  local rows = c.rows == "rolled" and 1 or y.width
  local vertical = c.rows == "rolled" and c.vy * c.vx or tiling.products(y) * c.vx
  return rows * tiling.products(x) + vertical + (axes.deep(p) and c.vz * c.vy * c.vx or 0)
end

-- Sums that are alive at a time, and weights that are kept in registers.
function register_tile.sums(c, p)
  local sums = (c.rows == "rolled" or axes.deep(p)) and c.vy or math.min(c.vy, p.axes[2].max_count + 1)
  if axes.deep(p) then sums = sums + c.vz * c.vy end
  return sums * c.vx
end
function register_tile.weights(c, p)
  local x = tilings(c, p)
  return x.literal and 0 or tiling.products(x)
end

-- Whether the problem is one for register tiles, or false and why not.
function register_tile.claims(p)
  if p.in_slice >= 1 << 31 or p.out_reach >= 1 << 31 then return false, "slices of 2^31 elements and more (direct does them)" end
  if p.axes[3].max_count > 40 then return false, "more than 40 outputs per input along the width" end
  -- A thread would go through them all, and so does what looks for a tile that fits.
  if math.max(p.axes[1].max_count, p.axes[2].max_count) > 1024 then return false, "more than 1024 outputs per input along depth or height" end
  return true
end

-- The list of parameters, with the family's own between those of the tile and those of its mapping.
function register_tile.parameters(p, device, widths, own)
  local list = {}
  if axes.deep(p) then list[1] = { name = "vz", values = p.axes[1].n_in > 1 and { 1, 2 } or { 1 } } end
  list[#list + 1] = { name = "vx", values = widths }
  list[#list + 1] = { name = "vy", values = { 1, 2, 4, 8 } }
  list[#list + 1] = own
  list[#list + 1] = { name = "rows", values = { "unrolled", "rolled" } }
  list[#list + 1] = { name = "map", values = mapping.values() }
  list[#list + 1] = { name = "block", values = { 64, 128, 256, 512 } }
  list[#list + 1] = accumulation.parameter(p)
  return amd.parameters(list, device, true)
end

-- The constraints of a family: `products` and `values` of a configuration (in registers of the accumulation type), at most `limits.cpu` or
-- `limits.gpu` products, and its work items per outer slice.
function register_tile.constraints(family)
  local function registers(c, p) return family.values(c, p) * (c.acc == "double" and 2 or 1) end
  return {
    { why = "the tile is larger than the image",
      ok = function(c, p) return (c.vx == 1 or c.vx <= p.axes[3].n_in) and (c.vy == 1 or c.vy <= p.axes[2].n_in) end },
    { why = "more threads per block than the device allows",
      ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
    { why = "the kernel's text would be too long",
      ok = function(c, p, device) return family.products(c, p) <= (device.is_cpu and family.limits.cpu or family.limits.gpu) end },
    { why = "too many values alive for the registers", ok = function(c, p) return registers(c, p) <= most_registers end },
    amd.constraint(registers),
    { why = "rolled rows pay only for windows of at least 6 rows",
      ok = function(c, p) return c.rows == "unrolled" or select(2, tilings(c, p)).width >= 6 end },
    { why = "weight tables would be too long",
      ok = function(c, p)
        local x, y, z = tilings(c, p)
        return tiling.table_entries(x, false) + tiling.table_entries(y, c.rows == "rolled")
          + (axes.deep(p) and tiling.table_entries(z, true) or 0) <= table_limit
      end },
    { why = "a slice of 2^31 work items and more", ok = function(c, p) return family.items(c, p) < 1 << 31 end },
    mapping.constraint(family.items),
  }
end

-- The first legal of the tiles {vx, vy, rows}, completed by `complete(c)` with the family's own parameters; or nil.
function register_tile.default(p, device, shapes, family, constraints, complete)
  local candidates = {}
  for _, shape in ipairs(shapes) do
    local c = { vx = shape[1], vy = shape[2], rows = shape[3], block = device.is_cpu and 64 or 256,
      acc = accumulation.type(p) }
    if axes.deep(p) then c.vz = 1 end
    complete(c)
    c.map = mapping.default(family.items(c, p), c.block)
    amd.defaults(c, device, true)
    if c.order and axes.deep(p) then c.order = "xcd" end -- windows of several slices are shared by blocks that are far apart
    candidates[#candidates + 1] = c
  end
  return choose.first_legal(candidates, constraints, p, device)
end

-- What a thread does (docs/templates.md), whose window takes `loads` loads of `bytes` on average and `products` multiply-adds in all.
function register_tile.work(c, p, loads, bytes, products, values)
  local x, y, z = tilings(c, p)
  local function read(t) return t.width * t.tiles / t.n_out end
  local rows = c.rows == "rolled" and loads / y.width or loads
  return { loads = loads, load_bytes = bytes, flight = math.min(8, math.max(1, rows)), operations = products + 20,
    registers = 24 + values, rereads = math.max(1, read(x) * read(y) * read(z)) }
end

-- The names that both templates use.
function register_tile.bindings(c, p, items)
  local x, y, z = tilings(c, p)
  return { x = x, y = y, z = z, vz = z.size, deep = axes.deep(p), items = items, tiling = tiling, mapping = mapping, amd = amd, gradient = gradient,
    vector = use "vector",
    n_in = p.axes[3].n_in, rows_in = p.axes[2].n_in, slices_in = p.axes[1].n_in,
    n_out = p.axes[3].n_out, rows_out = p.axes[2].n_out, slices_out = p.axes[1].n_out }
end

return register_tile
