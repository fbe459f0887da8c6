-- Channels-first. A block copies the outputs that its inputs used to shared memory, as one run of memory: in vectors of 16 bytes, all under way at
-- once, wherever rows start. Threads then sum a register tile of vx × vy inputs each out of it, as `taps` does out of global memory.
--
-- A block does `slices` units; a unit is a strip of `strip` rows of inputs of one outer slice. Strips copy the outputs twice that they share.
local tiling = use "tiling"
local accumulation = use "accumulation"
local vector = use "vector"
local choose = use "choose"
local amd = use "amd"
local gradient = use "gradient"
local runs = use "runs"

local most_copies = 16    -- vectors that a thread copies
local most_registers = 160
local table_limit = 32768 -- entries of program-scope tables: half a minute of compiling beyond that

local function ceil(a, b) return (a + b - 1) // b end

-- How outputs are read from shared memory: `widest` elements at a time, and the first of row r of a window lies `shift(r)` behind a multiple of that.
-- (The copy keeps the alignment that outputs have in the tensor.)
local function alignment(p, x, y)
  local n_out = p.axes[3].n_out
  local widest = 1
  if not x.starts and not y.starts then
    widest = vector.common_power(16 // p.dtype_bytes, p.out_slice, x.step, y.step * n_out)
  end
  return widest, function(r) return x.starts and 0 or ((y.offset or 0) + r) * n_out + x.offset end
end

local function plan(c, p, device)
  local self = { x = tiling.make(p, 3, c.vx, false, true), y = tiling.make(p, 2, c.vy, true), per_vector = 16 // p.dtype_bytes }
  local x, y, n_out = self.x, self.y, p.axes[3].n_out
  self.widest, self.shift = alignment(p, x, y)
  self.high = c.strip == "whole" and y.tiles or c.strip // c.vy -- tiles of a strip along the height
  self.strips = ceil(y.tiles, self.high)
  self.items = x.tiles * self.high
  self.block = c.slices * self.items
  if not device.is_cpu then self.block = ceil(self.block, device.wave_size) * device.wave_size end
  local rows = 1
  for s = 0, self.strips - 1 do
    local first, last = s * self.high, math.min((s + 1) * self.high, y.tiles) - 1
    rows = math.max(rows, tiling.start_of(y, last) + y.width - tiling.start_of(y, first))
  end
  -- Elements before the first row of a unit and after its last that windows and vectors reach.
  self.before = math.max(0, -x.first_start) + self.widest - 1
  self.after = math.max(0, x.last_start + x.width - n_out) + self.widest - 1
  self.vectors = ceil(rows * n_out + self.before + self.after + self.per_vector - 1, self.per_vector)
  self.copies = ceil(c.slices * self.vectors, self.block)
  -- Whether vectors lie inside of a slice or outside of it as a whole.
  self.whole = p.out_slice % self.per_vector == 0
  self.shared_bytes = c.slices * self.vectors * 16
  self.optimistic = not (x.literal and y.literal)
  return self
end

-- The plan of one configuration is asked for many times in a row.
local last_p, last_key, last_plan
local function plan_of(c, p, device)
  local key = table.concat({ device.wave_size, c.vx, c.vy, c.strip, c.slices }, " ")
  if last_p ~= p or last_key ~= key then last_p, last_key, last_plan = p, key, plan(c, p, device) end
  return last_plan
end

-- The loads of row r of a window from shared memory: the columns at which they begin.
local function row_loads(m, r)
  local columns = {}
  for column = -(m.shift(r) % m.widest), m.x.width - 1, m.widest do columns[#columns + 1] = column end
  return columns
end

local function products(c, m) return m.y.width * tiling.products(m.x) + tiling.products(m.y) * c.vx end

-- Registers that a thread needs for values, about: for what it copies, later for sums, weights and a row.
local function values_alive(c, p, device)
  local m = plan_of(c, p, device)
  local weights = (m.x.literal and 0 or tiling.products(m.x)) + (m.y.literal and 0 or tiling.products(m.y))
  return math.max(4 * math.min(m.copies, 8),
    (math.min(c.vy, p.axes[2].max_count + 1) * c.vx + weights + m.x.width) * accumulation.bytes(c.acc) // 4)
end

local constraints = {
  { why = "a strip of all rows of inputs, or no multiple of vy",
    ok = function(c, p) return c.strip == "whole" or c.strip < p.axes[2].n_in and c.strip % c.vy == 0 end },
  { why = "the tile is larger than the image",
    ok = function(c, p) return (c.vx == 1 or c.vx <= p.axes[3].n_in) and (c.vy == 1 or c.vy <= p.axes[2].n_in) end },
  { why = "several slices per block only whole ones", ok = function(c) return c.slices == 1 or c.strip == "whole" end },
  { why = "more threads per block than the device allows",
    ok = function(c, p, device) return plan_of(c, p, device).block <= math.min(1024, device.max_threads_per_block) end },
  { why = "several slices per block only up to 512 threads",
    ok = function(c, p, device) return c.slices == 1 or plan_of(c, p, device).block <= 512 end },
  { why = "over a quarter of the lanes idle",
    ok = function(c, p, device)
      local m = plan_of(c, p, device)
      return m.block - c.slices * m.items <= m.block // 4
    end },
  { why = "shared memory too small", ok = function(c, p, device) return plan_of(c, p, device).shared_bytes <= device.lds_bytes_per_block end },
  { why = "a thread would copy more than 16 vectors", ok = function(c, p, device) return plan_of(c, p, device).copies <= most_copies end },
  { why = "the kernel's text would be too long",
    ok = function(c, p, device) return products(c, plan_of(c, p, device)) <= (device.is_cpu and 384 or 1024) end },
  { why = "too many values alive for the registers", ok = function(c, p, device) return values_alive(c, p, device) <= most_registers end },
  { why = "weight tables would be too long",
    ok = function(c, p, device)
      local m = plan_of(c, p, device)
      return tiling.table_entries(m.x, false) + tiling.table_entries(m.y, false) <= table_limit
    end },
}

-- Configurations to try in turn without tuning: small strips, so that blocks are many and copy while others sum.
local function defaults(p, device)
  local candidates = {}
  for _, tile in ipairs { { 1, 4 }, { 2, 4 }, { 2, 2 }, { 1, 2 }, { 1, 1 } } do
    for _, strip in ipairs { 8, 4, 2, 1 } do
      candidates[#candidates + 1] = { strip, 1, tile[1], tile[2] }
    end
    for _, slices in ipairs { 8, 4, 2, 1 } do candidates[#candidates + 1] = { "whole", slices, tile[1], tile[2] } end
  end
  for i, shape in ipairs(candidates) do
    candidates[i] = amd.defaults({ strip = shape[1], slices = shape[2], vx = shape[3], vy = shape[4], acc = accumulation.type(p) }, device)
  end
  return candidates
end

return {
  role = "candidate",
  description = "blocks copy runs of outputs to shared memory, and threads sum register tiles of vx × vy inputs out of it",

  claims = function(p, device)
    local ok, why = runs.claims(p)
    if not ok then return false, why end
    if p.axes[2].max_count > 40 then return false, "more than 40 outputs per input along the height" end
    if not choose.first_legal(defaults(p, device), constraints, p, device) then return false, "rows too long or too short for a block" end
    return true
  end,

  parameters = function(p, device)
    return amd.parameters({
      { name = "strip", values = { 1, 2, 4, 8, 16, 32, "whole" } },       -- rows of inputs per block
      { name = "slices", values = { 1, 2, 3, 4, 6, 8, 12, 16, 32 } },
      { name = "vx", values = { 1, 2, 4 } },                             -- inputs per thread, width × height
      { name = "vy", values = { 1, 2, 4, 8 } },
      accumulation.parameter(p),
    }, device)
  end,

  constraints = constraints,

  default = function(p, device) return choose.first_legal(defaults(p, device), constraints, p, device) end,

  launches = function(c, p, device)
    local m = plan_of(c, p, device)
    return { { kernel = "gt_tile", block = m.block, blocks = { m.strips, c.slices } } }
  end,

  work = function(c, p, device)
    local m = plan_of(c, p, device)
    return { loads = m.copies, load_bytes = 16, flight = math.min(m.copies, 8), operations = products(c, m) + 40,
      registers = 24 + values_alive(c, p, device), shared_bytes = m.shared_bytes, steps = 1,
      rereads = math.max(1, m.strips * m.vectors * m.per_vector / p.out_slice) }
  end,

  bindings = function(c, p, device)
    local m, rows = plan_of(c, p, device), {}
    for r = 0, m.y.width - 1 do rows[r] = row_loads(m, r) end
    return { m = m, rows = rows, tiling = tiling, vector = vector, amd = amd, gradient = gradient,
      store_elements = vector.common_power(math.min(c.vx, 16 // p.dtype_bytes), p.axes[3].n_in) }
  end,
}
