-- Channels-first. A block goes down the rows of outputs of a part of one outer slice. They come to shared memory as runs of memory, wherever rows
-- start, into a ring of `stages` stages: while one is summed the others are under way. A thread owns vx neighbouring inputs along the width: it
-- sums every row along the width out of shared memory, and adds that to the few running sums of the inputs along the height that used the row
-- (lib/intervals). So each output is loaded once, but for what parts share, and nothing is exchanged between threads.
--
-- copy=vectors: all threads load vectors of 16 bytes ahead, to registers. copy=async: they copy without waiting (from sm_80 on). copy=bulk: one
-- thread asks for a stage, and the hardware copies it (from sm_90 on). On CPUs the last two are ordinary copies.
local tiling = use "tiling"
local intervals = use "intervals"
local accumulation = use "accumulation"
local vector = use "vector"
local choose = use "choose"
local amd = use "amd"
local gradient = use "gradient"
local runs = use "runs"

local most_copies = { vectors = 8, async = 16 } -- vectors of a stage that a thread copies
local most_registers = 160
local table_limit = 32768 -- entries of program-scope tables: half a minute of compiling beyond that

local function ceil(a, b) return (a + b - 1) // b end

-- The ways in which the device can copy from global to shared memory; a CPU does not care.
local function copies(device)
  local generation = device.target == "cuda" and tonumber(device.arch:match("^sm_(%d+)$")) or device.is_cpu and 90 or 0
  local ways = { "vectors" }
  if generation >= 80 then ways[#ways + 1] = "async" end
  if generation >= 90 then ways[#ways + 1] = "bulk" end
  return ways
end

-- The first row of outputs of interval t, and the one behind its last; either may lie outside of the axis where intervals are not exact.
local function begin_of(way, t) return way.exact and way.place(t) or way.step * t + way.offset end
local function end_of(way, t) return way.exact and math.max(way.starts[t + 1], way.place(t) + way.common) or way.step * t + way.offset + way.rows end

-- Elements that are aligned alike in all rows of all slices.
local function alignment(p) return vector.common_power(16 // p.dtype_bytes, p.axes[3].n_out, p.out_slice) end

local function plan(c, p, device)
  local self = { x = tiling.make(p, 3, c.vx, false, true, c.load), way = intervals.make(p, 2), per_vector = 16 // p.dtype_bytes, along = 2 }
  local x, way, n_out = self.x, self.way, p.axes[3].n_out
  self.n_way = p.axes[2].n_in
  self.strip = ceil(self.n_way, c.parts) -- inputs along the height of a part
  self.needed = self.strip + way.taps - 1 -- intervals that it takes
  self.steps = ceil(self.needed, c.rows)
  self.block = device.is_cpu and x.tiles or ceil(x.tiles, device.wave_size) * device.wave_size
  -- Elements before a stage's first row and after its last that windows reach.
  self.before = math.max(0, -x.first_start)
  self.behind = math.max(0, x.last_start + x.width - n_out)
  local rows = 1
  for part = 0, ceil(self.n_way, self.strip) - 1 do
    for first = part * self.strip, part * self.strip + (self.steps - 1) * c.rows, c.rows do
      local last = math.min(first + c.rows, part * self.strip + self.needed) - 1
      rows = math.max(rows, end_of(way, last) - begin_of(way, first))
    end
  end
  self.vectors = ceil(rows * n_out + self.before + self.behind + self.per_vector - 1, self.per_vector) -- of a stage
  self.copies = ceil(self.vectors, self.block)
  self.word = accumulation.bytes(c.acc)
  self.weights = way.literal and 0 or tiling.vectors(way, c.acc) * self.steps * c.rows -- in shared memory, in vectors
  self.shared_bytes = (c.stages * self.vectors + self.weights) * 16 + 8 * c.stages
  -- Where weights stand in tables, any may be zero, and what it is multiplied with may be a NaN that does not count: whole windows are summed, and
  -- what comes out as NaN is summed again.
  self.optimistic = not (way.literal and x.literal)
  -- What lib/march_guarded asks for.
  self.deals, self.together, self.after = 1, 1, false
  return self
end

-- The plan of one configuration is asked for many times in a row.
local last_p, last_key, last_plan
local function plan_of(c, p, device)
  local key = table.concat({ device.wave_size, c.copy, c.stages, c.parts, c.rows, c.vx, c.load, c.acc }, " ")
  if last_p ~= p or last_key ~= key then last_p, last_key, last_plan = p, key, plan(c, p, device) end
  return last_plan
end

-- The loads of a row of a window: the columns at which they begin, of those that are used.
local function row_loads(c, x)
  local used, columns = {}, {}
  for _, entry in ipairs(x.entries) do used[entry.c // c.load] = true end
  for i = 0, (x.width - 1) // c.load do
    if used[i] then columns[#columns + 1] = i * c.load end
  end
  return columns
end

local function products(c, m) return c.rows * m.way.rows * (tiling.products(m.x) + m.way.taps * c.vx) end

-- Registers that a thread needs for values, about.
local function values_alive(c, p, device)
  local m = plan_of(c, p, device)
  local words = m.word // 4
  local weights = m.x.literal and 0 or tiling.products(m.x)
  return (weights + m.way.taps * c.vx + m.x.width + (m.way.literal and 0 or m.way.taps * m.way.rows)) * words
    + (c.copy == "vectors" and 4 * m.copies or 0)
end

local constraints = {
  { why = "a part of the height of no inputs, or one that ends too far behind the axis",
    ok = function(c, p)
      local n = p.axes[2].n_in
      local inputs = ceil(n, c.parts)
      return inputs * (c.parts - 1) < n and inputs * c.parts - n + 2 * c.rows <= intervals.beyond
    end },
  { why = "more rows at a time than a part has", ok = function(c, p) return c.rows == 1 or c.rows <= ceil(p.axes[2].n_in, c.parts) end },
  { why = "vx is wider than the width", ok = function(c, p) return c.vx == 1 or c.vx <= p.axes[3].n_in end },
  { why = "rows of outputs are not aligned to such loads", ok = function(c, p) return alignment(p) % c.load == 0 end },
  { why = "such narrow loads where rows are aligned to wider ones",
    ok = function(c, p) return c.load * p.dtype_bytes >= 4 or alignment(p) % (2 * c.load) ~= 0 end },
  { why = "two stages with copy=vectors, more with copy=async",
    ok = function(c) return c.copy == "bulk" or (c.copy == "vectors") == (c.stages == 2) end },
  { why = "more stages than steps",
    ok = function(c, p, device) return c.stages <= math.max(2, plan_of(c, p, device).steps) end },
  { why = "more threads per block than the device allows",
    ok = function(c, p, device) return plan_of(c, p, device).block <= math.min(1024, device.max_threads_per_block) end },
  { why = "over a quarter of the lanes idle",
    ok = function(c, p, device)
      local m = plan_of(c, p, device)
      return m.block - m.x.tiles <= m.block // 4
    end },
  { why = "shared memory too small", ok = function(c, p, device) return plan_of(c, p, device).shared_bytes <= device.lds_bytes_per_block end },
  { why = "a thread would copy more than 8 vectors ahead, or 16 without waiting",
    ok = function(c, p, device) return c.copy == "bulk" or plan_of(c, p, device).copies <= most_copies[c.copy] end },
  { why = "the kernel's text would be too long",
    ok = function(c, p, device) return products(c, plan_of(c, p, device)) <= (device.is_cpu and 384 or 1024) end },
  { why = "too many values alive for the registers", ok = function(c, p, device) return values_alive(c, p, device) <= most_registers end },
  { why = "weight tables would be too long",
    ok = function(c, p, device)
      local m = plan_of(c, p, device)
      local guarded = 0 -- tables for what is summed again
      for _, axis in ipairs(m.optimistic and { 2, 3 } or {}) do guarded = guarded + tiling.table_entries(tiling.make(p, axis, 1), true) end
      return guarded + tiling.table_entries(m.x, false) + tiling.table_entries(m.way, false) <= table_limit
    end },
}

local parts_values, known_parts = { 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32 }, {}
for _, n in ipairs(parts_values) do known_parts[n] = true end

-- Configurations to try in turn without tuning: four stages of four rows of inputs, in parts of 16 rows, where that is a number of parts to choose.
local function defaults(p, device)
  local candidates = {}
  local wide = vector.common_power(math.max(1, 8 // p.dtype_bytes), alignment(p))
  for _, copy in ipairs(copies(device)) do
    for _, load in ipairs { wide, alignment(p), 1 } do
      for _, vx in ipairs { 1, 2, 4 } do
        for _, rows in ipairs { 4, 2, 1 } do
          for _, parts in ipairs { math.max(1, p.axes[2].n_in // 16), 1, 2, 4 } do
            for _, stages in ipairs(not known_parts[parts] and {} or copy == "vectors" and { 2 } or { 4, 3 }) do
              candidates[#candidates + 1] = amd.defaults({ copy = copy, stages = stages, parts = parts, rows = rows, vx = vx, load = load,
                acc = accumulation.type(p) }, device)
            end
          end
        end
      end
    end
  end
  return candidates
end

return {
  role = "candidate",
  description = "rows of outputs come to a ring in shared memory, and threads walk down them with running sums",

  claims = function(p, device)
    local ok, why = runs.claims(p)
    if not ok then return false, why end
    if p.axes[2].n_in == 1 and p.axes[2].n_out == 1 then return false, "one axis only" end
    if not intervals.make(p, 2) then
      return false, "outputs that do not move on with their inputs, or more than 32 to an input, or used by more than 8 inputs"
    end
    if not choose.first_legal(defaults(p, device), constraints, p, device) then return false, "rows too long or too short for a block" end
    return true
  end,

  parameters = function(p, device)
    return amd.parameters({
      { name = "copy", values = copies(device) },
      { name = "stages", values = #copies(device) > 1 and { 2, 3, 4, 6, 8 } or { 2 } },
      { name = "parts", values = parts_values },    -- of the height, one per block
      { name = "rows", values = { 1, 2, 4, 8 } },   -- of inputs per stage
      { name = "vx", values = { 1, 2, 4 } },        -- inputs per thread, along the width
      { name = "load", values = { 1, 2, 4 } },      -- outputs per load from shared memory: of less than 16 bytes, as rows are no multiple of that
      accumulation.parameter(p),
    }, device)
  end,

  constraints = constraints,

  default = function(p, device) return choose.first_legal(defaults(p, device), constraints, p, device) end,

  launches = function(c, p, device)
    return { { kernel = "gt_ring", block = plan_of(c, p, device).block, blocks = c.parts } }
  end,

  work = function(c, p, device)
    local m = plan_of(c, p, device)
    local bytes = m.vectors * 16 / m.block -- of a stage, per thread
    local rows = math.max(1, m.needed * (m.way.exact and p.axes[2].n_out / m.n_way or m.way.rows)) -- that it sums
    return { loads = math.max(1, m.steps * bytes / 16), load_bytes = 16, flight = math.max(1, (c.stages - 1) * bytes / 16),
      operations = rows * (tiling.products(m.x) + m.way.taps * c.vx) + 20 * m.steps,
      registers = 24 + values_alive(c, p, device), shared_bytes = m.shared_bytes, steps = m.steps, rereads = (m.strip + m.way.taps - 1) / m.strip }
  end,

  bindings = function(c, p, device)
    local m = plan_of(c, p, device)
    return { m = m, tiling = tiling, intervals = intervals, vector = vector, amd = amd, gradient = gradient, loads = row_loads(c, m.x),
      n_in = p.axes[3].n_in, n_out = p.axes[3].n_out, n_way = m.n_way, way_out = p.axes[2].n_out, taps = m.way.taps,
      out_step = p.axes[3].n_out, in_step = p.axes[3].n_in, shared = device.target == "opencl" and "GT_SHARED " or "",
      store_elements = vector.common_power(math.min(c.vx, 16 // p.dtype_bytes), p.axes[3].n_in), add = tiling.adder(not m.optimistic) }
  end,
}
