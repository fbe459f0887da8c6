-- Channels-first. Threads own `v` neighbouring outputs of a row each and walk down the rows, or in 3-D down the depth slices: every output is
-- loaded once, in whole lines whatever the ratio, and added to the few running sums of the inputs that used it (lib/intervals). When `rows`
-- inputs along the way are finished, their sums, now shorter by the ratio of that axis, go to shared memory, and the block sums them along
-- the width (in 3-D: height and width) and stores, while the outputs that the next `rows` inputs need are under way to registers.
--
-- A block takes `slices` units; a unit is a strip of `strip` inputs along the way, of one outer slice (in 3-D of a part of its height: `down`)
-- and of a part of its width (`across`). Strips load `taps` - 1 intervals twice.
--
-- plane=turns, in 3-D where windows are high: what the walk has finished is summed along the height into lines, by all threads, and these along the
-- width; plane=once sums every input's window of the plane by one thread.
--
-- depth=after, in 3-D: the walk goes down the rows of every depth slice, into a workspace, and a second kernel sums along the depth. That pays
-- where the first shrinks its slices much.
local tiling = use "tiling"
local intervals = use "intervals"
local axes = use "axis"
local accumulation = use "accumulation"
local mapping = use "mapping"
local vector = use "vector"
local choose = use "choose"
local amd = use "amd"
local gradient = use "gradient"
local banks = use "banks"

local most_threads = 1024
local most_depth = 64     -- outputs that the second kernel of depth=after adds up
local most_strip = 32     -- inputs, of strips that are not whole
local table_limit = 32768 -- entries of program-scope tables: half a minute of compiling beyond that

local function depth_block(device) return device.is_cpu and 64 or 128 end
local function depth_tiling(p) return tiling.make(p, 1, 1, false, true) end
local function ceil(a, b) return (a + b - 1) // b end

-- An axis cut into `parts` parts of as many inputs, each with the window of outputs that it needs, cut to multiples of `multiple`.
local function make_cut(axis, parts, multiple)
  local self = { parts = parts, inputs = ceil(axis.n_in, parts), starts = {} }
  if parts == 1 then
    self.length, self.starts[0] = axis.n_out, 0
    return self
  end
  local from, to = axes.windows(axis, self.inputs, ceil(axis.n_in, self.inputs))
  self.length = 0
  for t = 0, #from do
    from[t] = from[t] // multiple * multiple
    self.length = math.max(self.length, ceil(to[t] - from[t], multiple) * multiple)
  end
  self.length = math.min(self.length, axis.n_out)
  for t = 0, #from do self.starts[t] = math.min(from[t], axis.n_out - self.length) end
  return self
end

-- The C expression of where the part starts that the C expression `number` gives. (No table: until it has come from memory nothing could be loaded.)
local function part_start(part, number)
  local text = tostring(part.starts[part.parts - 1])
  for t = part.parts - 2, 0, -1 do text = ("%s == %d ? %d : %s"):format(number, t, part.starts[t], text) end
  return part.parts > 1 and "(" .. text .. ")" or text
end

local cuts = axes.once()
local function cut(p, number, parts, multiple)
  return cuts(p, number .. " " .. parts .. " " .. multiple, function() return make_cut(p.axes[number], parts, multiple) end)
end

-- The first and the last position, relative to the start of its part, that a tile of the axis reads.
local function find_reach(part, tiles)
  local low, high = 0, part.length
  for t = 0, tiles.tiles - 1 do
    local at = tiling.start_of(tiles, t) - part.starts[t * tiles.size // part.inputs]
    low, high = math.min(low, at), math.max(high, at + tiles.width)
  end
  return { low = low, high = high }
end

local reaches = axes.once()

-- Whether a tile of the axis has its column `c` outside of its part, or, where there is one part, of the axis.
local function leaves_part(part, tiles, c)
  if part.parts == 1 then return tiles.clamped[c] end
  for t = 0, tiles.tiles - 1 do
    local at = tiling.start_of(tiles, t) - part.starts[t * tiles.size // part.inputs] + c
    if at < 0 or at >= part.length then return true end
  end
  return false
end

-- Inputs along the way per block: powers of two. Where there is a depth, of few inputs as a rule, also a half and a third of it, rounded up, so
-- that strips of an odd depth are of about one length.
local function strips(p)
  local halves = axes.deep(p) and { [ceil(p.axes[1].n_in, 2)] = true, [ceil(p.axes[1].n_in, 3)] = true } or {}
  local list = {}
  for n = 2, most_strip do
    if n & (n - 1) == 0 or halves[n] then list[#list + 1] = n end
  end
  list[#list + 1] = "whole"
  return list
end

-- What the walk goes down, "depth" or "height", as a number of an axis; and in how many parts the height is cut.
local function along(c, p) return axes.deep(p) and c.depth == "march" and 1 or 2 end
local function down(c, p) return axes.deep(p) and c.down or 1 end

-- Where the words of a plane's rows lie (lib/banks).
local function choose_layout(m)
  local lanes = { n = 64, starts = {}, rows = {} }
  for lane = 0, lanes.n - 1 do
    local x, line = lane % m.x_items, lane // m.x_items
    lanes.starts[lane] = m.pad + tiling.start_of(m.tx, x)
    lanes.rows[lane] = line
    if m.plane_deep and not m.turns then
      local y = line % m.y.inputs
      local top = tiling.start_of(m.ty, y)
      lanes.rows[lane] = line // m.y.inputs * m.y.length + math.max(0, math.min(m.y.length - 1, top))
    end
  end
  return banks.choose(m.length, lanes, m.tx.width, m.word)
end

local layouts = axes.once()

-- Whether planes may be summed along the height and the width in turns, not at once, and whether they are.
local function high_windows(p) return axes.deep(p) and p.axes[2].max_count >= 6 end
local function in_turns(c, p) return high_windows(p) and c.plane == "turns" end

-- What a configuration comes to. A unit's plane of outputs is y.length × x.length; items are what a unit's plane is summed to.
local function plan(c, p, device)
  local self = { along = along(c, p), after = axes.deep(p) and c.depth == "after" }
  self.way, self.plane_deep = intervals.make(p, self.along), self.along == 1
  self.turns = self.plane_deep and in_turns(c, p)
  self.tx, self.ty = tiling.make(p, 3, c.vx, false, true), self.plane_deep and tiling.make(p, 2, 1) or nil
  self.x = cut(p, 3, c.across, c.v)
  self.y = self.plane_deep and cut(p, 2, down(c, p), 1) or { parts = 1, inputs = 1, length = 1, starts = { [0] = 0 } }
  self.per_row = self.x.length // c.v
  self.threads = self.per_row * self.y.length
  self.block = c.slices * self.threads
  if not device.is_cpu then self.block = ceil(self.block, device.wave_size) * device.wave_size end
  self.n_way = p.axes[self.along].n_in
  self.strip = c.strip == "whole" and self.n_way or c.strip
  self.strips = ceil(self.n_way, self.strip)
  self.units = self.strips * self.y.parts * self.x.parts
  self.outer = self.after and p.axes[1].n_out or 1 -- slices of the walk per outer slice
  self.x_items = ceil(self.x.inputs, c.vx)
  self.items = self.x_items * self.y.inputs
  -- So many of the finished inputs at a time as there are threads for.
  self.together = c.rows
  while self.together > 1 and self.together * c.slices * self.items > self.block do self.together = self.together // 2 end
  self.deals = ceil(self.together * c.slices * self.items, self.block)
  self.word = accumulation.bytes(c.acc)
  -- Shared memory: rows of sums, with room on either side for windows that reach past the ends. They are read in vectors of `vector` words where
  -- windows start at multiples of them.
  local reach = reaches(p, c.across .. " " .. c.v .. " " .. c.vx, function() return find_reach(self.x, self.tx) end)
  self.pad = ceil(-reach.low, 8) * 8
  self.vector = self.tx.starts and 1 or vector.common_power(16 // self.word, self.tx.step, self.x.parts > 1 and c.v or 16)
  self.length = ceil(self.pad + math.max(reach.high, self.x.length), 4) * 4
  self.layout = self.vector > 1 and banks.plain(self.length)
    or layouts(p, table.concat({ self.length, self.word, c.across, c.v, c.vx, self.turns and -1 or self.along, self.y.length }, " "),
      function() return choose_layout(self) end)
  self.put = { layout = self.layout, pad = self.pad, plane = self.layout.pitch * self.y.length } -- where sums are put that the walk has finished
  self.plane = self.put.plane -- words of a unit's rows that are summed along the width
  self.halves = 2
  -- Where weights stand in tables, any may be zero, and what it is multiplied with may be a NaN that does not count. Guarding every product against
  -- that takes as many instructions as the products: whole windows are summed instead, and what comes out as NaN is summed again, guarded.
  self.optimistic = not (self.way.literal and self.tx.literal and (not self.ty or self.ty.literal))
  local words = 0
  if self.turns then
    -- One half is enough, since there is a barrier between reading and writing it. Columns are summed in vectors of `columns`.
    self.put = { layout = { split = 1, pitch = ceil(self.x.length, 4) * 4 }, pad = 0 }
    self.put.plane = self.put.layout.pitch * self.y.length
    self.plane, self.halves = self.layout.pitch * self.y.inputs, 1
    self.columns = vector.common_power(16 // self.word, self.x.length)
    words = c.rows * c.slices * self.plane + tiling.weight_words(self.tx, c.acc) + tiling.weight_words(self.ty, c.acc)
  end
  self.put_words = self.halves * c.rows * c.slices * self.put.plane
  self.shared = self.put_words + words
  return self
end

-- The plan of one configuration is asked for many times in a row.
local last_p, last_key, last_plan
local function plan_of(c, p, device)
  local key = table.concat({ device.wave_size, c.v, c.strip, c.rows, c.slices, c.across, c.vx, c.acc }, " ")
  if axes.deep(p) then key = key .. " " .. c.depth .. " " .. c.down .. (in_turns(c, p) and " turns" or "") end
  if last_p ~= p or last_key ~= key then last_p, last_key, last_plan = p, key, plan(c, p, device) end
  return last_plan
end

-- Multiplications that a thread needs to sum a plane, about.
local function plane_products(m, c)
  local width = m.deals * c.rows // m.together * tiling.products(m.tx)
  if not m.turns then return width * (m.plane_deep and m.ty.width or 1) end
  return width + ceil(c.rows * c.slices * m.y.inputs * m.x.length, m.block * m.columns) * m.columns * tiling.products(m.ty)
end

-- Registers that a thread needs for values, about: for what is under way at the start, or later for weights and what is summed with them.
local function values_alive(c, p, device)
  local m = plan_of(c, p, device)
  local words = m.word // 4
  local interval = m.way.rows * math.max(1, c.v * p.dtype_bytes // 4)
  local first, sums = (c.rows + m.way.taps - 1) * interval, m.way.taps * c.v * words
  if m.turns then return first + sums end -- the weights of planes are in shared memory
  local weights = (m.tx.literal and 0 or tiling.products(m.tx) * m.deals) * words
  if m.plane_deep and not m.ty.literal then weights = weights + tiling.products(m.ty) * m.deals * words end
  return math.max(first, c.rows * interval + weights + m.tx.width * words) + sums
end

local function products(c, p, device)
  local m = plan_of(c, p, device)
  return (c.rows + m.way.taps - 1) * m.way.rows * m.way.taps * c.v + plane_products(m, c)
end

local constraints = {
  { why = "a strip that is no power of two, of what is no depth",
    ok = function(c, p) return c.strip == "whole" or c.strip & (c.strip - 1) == 0 or c.depth == "march" end },
  { why = "planes summed in turns only where the walk goes down the depth",
    ok = function(c, p) return not in_turns(c, p) or c.depth == "march" end },
  { why = "outputs that do not move on with their inputs, or more than 32 to an input, or used by more than 8 inputs",
    ok = function(c, p) return intervals.make(p, along(c, p)) ~= false end },
  { why = "rows of outputs are not aligned to such loads",
    ok = function(c, p) return c.v * p.dtype_bytes <= 16 and p.axes[3].n_out % c.v == 0 and gradient.alignment(p, c.v) == c.v end },
  { why = "such narrow loads where rows are aligned to wider ones",
    ok = function(c, p) return c.v * p.dtype_bytes >= 4 or p.axes[3].n_out % (2 * c.v) ~= 0 or gradient.alignment(p, 2 * c.v) == c.v end },
  { why = "the strip is as long as the axis and more, or no multiple of rows",
    ok = function(c, p)
      local n = p.axes[along(c, p)].n_in
      if c.strip == "whole" then return c.rows <= n end
      return c.strip < n and c.strip % c.rows == 0
    end },
  { why = "a part of the width of no inputs, or no multiple of vx",
    ok = function(c, p)
      local inputs = ceil(p.axes[3].n_in, c.across)
      return c.across == 1 or inputs * (c.across - 1) < p.axes[3].n_in and inputs % c.vx == 0
    end },
  { why = "vx is wider than the width", ok = function(c, p) return c.vx == 1 or c.vx <= p.axes[3].n_in end },
  { why = "a part of the height of no inputs, or parts that are not walked down",
    ok = function(c, p)
      if down(c, p) == 1 then return true end
      local inputs = ceil(p.axes[2].n_in, c.down)
      return c.depth == "march" and inputs * (c.down - 1) < p.axes[2].n_in
    end },
  { why = "a depth that stays as it is, or over 64 outputs per input along it",
    ok = function(c, p)
      return not axes.deep(p) or c.depth == "march" or not p.axes[1].identity and depth_tiling(p).width <= most_depth
    end },
  { why = "more threads per block than the device allows",
    ok = function(c, p, device) return plan_of(c, p, device).block <= math.min(most_threads, device.max_threads_per_block) end },
  { why = "several slices per block only up to 512 threads",
    ok = function(c, p, device) return c.slices == 1 or plan_of(c, p, device).block <= 512 end },
  { why = "over a quarter of the lanes idle",
    ok = function(c, p, device)
      local m = plan_of(c, p, device)
      return m.block - c.slices * m.threads <= m.block // 4
    end },
  { why = "shared memory too small",
    ok = function(c, p, device)
      local m = plan_of(c, p, device)
      return m.shared * m.word <= device.lds_bytes_per_block
    end },
  { why = "the kernel's text would be too long",
    ok = function(c, p, device) return products(c, p, device) <= (device.is_cpu and 512 or 2048) end },
  { why = "too many values alive for the registers", ok = function(c, p, device) return values_alive(c, p, device) <= 160 end },
  { why = "a thread would sum more than 8 items",
    ok = function(c, p, device) return plan_of(c, p, device).deals <= 8 end },
  { why = "weight tables would be too long",
    ok = function(c, p, device)
      local m = plan_of(c, p, device)
      local guarded = 0 -- tables for what is summed again
      for _, axis in ipairs(m.optimistic and { m.along, 3, m.plane_deep and 2 or nil } or {}) do
        guarded = guarded + tiling.table_entries(tiling.make(p, axis, 1), true)
      end
      return guarded + tiling.table_entries(m.tx, false) + tiling.table_entries(m.way, false)
        + (m.plane_deep and tiling.table_entries(m.ty, false) or 0)
        + (m.after and tiling.table_entries(depth_tiling(p), false) or 0) <= table_limit
    end },
}

-- Configurations to try in turn without tuning: loads of up to 16 bytes, blocks of up to 256 threads, strips of 16 inputs of which two are
-- finished together (near the best of most problems on an H200).
local function defaults(p, device)
  -- Strip, rows and vx. Wide windows at odd ratios: more rows are under way at once while few of them are summed.
  local shapes = { { 16, 2, 2 }, { "whole", 2, 2 }, { 16, 1, 1 }, { "whole", 1, 1 } }
  if not axes.deep(p) and p.axes[3].max_count >= 8 and intervals.make(p, 2) and intervals.make(p, 2).exact then
    table.insert(shapes, 1, { "whole", 4, 2 })
  end
  local width, height, candidates = p.axes[3], p.axes[2], {}
  local v = vector.common_power(gradient.alignment(p, 16 // p.dtype_bytes), width.n_out)
  local shrinks = width.n_out * height.n_out >= 16 * width.n_in * height.n_in
  for _, depth in ipairs(axes.deep(p) and (shrinks and { "after", "march" } or { "march", "after" }) or { "none" }) do
    for _, across in ipairs { 1, 2, 4 } do
      for _, parts in ipairs(depth == "march" and { 1, 2, 4, 8 } or { 1 }) do
        for _, slices in ipairs { 32, 16, 8, 6, 4, 3, 2, 1 } do
          if slices == 1 or slices * ceil(width.n_out, across * v) <= 256 then
            for _, shape in ipairs(shapes) do
              local c = { v = v, strip = shape[1], rows = shape[2], slices = slices, across = across, vx = shape[3], acc = accumulation.type(p) }
              if axes.deep(p) then c.depth, c.down = depth, parts end
              if high_windows(p) then c.plane = "once" end
              candidates[#candidates + 1] = amd.defaults(c, device)
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
  description = "threads walk down columns of outputs with running sums, and sum finished rows through shared memory",

  claims = function(p, device)
    if p.inner ~= 1 or p.pixel_stride ~= 1 then return false, "channels-first only (inner does channels-last)" end
    if p.in_slice >= 1 << 31 or p.out_reach >= 1 << 31 then return false, "slices of 2^31 elements and more (direct does them)" end
    if not axes.deep(p) and p.axes[2].n_in == 1 and p.axes[2].n_out == 1 then return false, "one axis only" end
    if p.axes[3].max_count > 40 then return false, "more than 40 outputs per input along the width" end
    if math.max(p.axes[1].n_out, p.axes[2].n_out, p.axes[3].n_out) > 1 << 14 then return false, "more than 16384 outputs along an axis" end
    for number = axes.deep(p) and 1 or 2, 2 do
      if not intervals.make(p, number) then
        return false, "outputs that do not move on with their inputs, or more than 32 to an input, or used by more than 8 inputs"
      end
    end
    if not choose.first_legal(defaults(p, device), constraints, p, device) then return false, "rows too long or too short for a block" end
    return true
  end,

  parameters = function(p, device)
    local list = {}
    if axes.deep(p) then list[1] = { name = "depth", values = { "march", "after" } } end
    list[#list + 1] = { name = "v", values = { 1, 2, 4, 8 } }               -- outputs per load
    list[#list + 1] = { name = "strip", values = strips(p) }                -- inputs along the way per block
    list[#list + 1] = { name = "rows", values = { 1, 2, 4 } }               -- of which so many are finished together
    list[#list + 1] = { name = "slices", values = { 1, 2, 3, 4, 6, 8, 12, 16, 32 } }
    list[#list + 1] = { name = "across", values = { 1, 2, 4 } }
    if axes.deep(p) then list[#list + 1] = { name = "down", values = { 1, 2, 4, 8 } } end
    -- Planes are summed along the height and the width at once, or in turns, where windows are high.
    if high_windows(p) then list[#list + 1] = { name = "plane", values = { "once", "turns" } } end
    list[#list + 1] = { name = "vx", values = { 1, 2, 4 } }                 -- inputs per sum along the width
    list[#list + 1] = accumulation.parameter(p)
    return amd.parameters(list, device)
  end,

  constraints = constraints,

  default = function(p, device) return choose.first_legal(defaults(p, device), constraints, p, device) end,

  launches = function(c, p, device)
    local m = plan_of(c, p, device)
    local list = { { kernel = "gt_march", block = m.block, blocks = { m.units * m.outer, c.slices } } }
    if m.after then
      local block = depth_block(device)
      list[2] = { kernel = "gt_march_depth", block = block, blocks = mapping.blocks("flat", p.in_slice, block) }
    end
    return list
  end,

  workspace = function(c, p, device)
    local m = plan_of(c, p, device)
    if not m.after then return 0, 0 end
    return 0, p.axes[1].n_out * p.axes[2].n_in * p.axes[3].n_in * m.word
  end,

  work = function(c, p, device)
    local m = plan_of(c, p, device)
    local rows = m.way.exact and m.way.n_out / m.n_way or m.way.rows -- per interval, on average
    local loads, groups = math.max(1, (m.strip + m.way.taps - 1) * rows), ceil(m.strip, c.rows)
    return { loads = loads, load_bytes = c.v * p.dtype_bytes, flight = math.max(1, c.rows * rows),
      operations = loads * m.way.taps * c.v + groups * plane_products(m, c), registers = 24 + values_alive(c, p, device),
      shared_bytes = m.shared * m.word, steps = groups,
      rereads = (m.strip + m.way.taps - 1) / m.strip * m.x.length * m.x.parts / p.axes[3].n_out * m.y.length * m.y.parts
        / (m.plane_deep and p.axes[2].n_out or 1) }
  end,

  bindings = function(c, p, device)
    local m = plan_of(c, p, device)
    local split = m.put.layout.split > 1
    return {
      m = m, tiling = tiling, vector = vector, amd = amd, mapping = mapping, gradient = gradient, banks = banks, intervals = intervals, ceil = ceil, part_start = part_start,
      n_in = p.axes[3].n_in, rows_in = p.axes[2].n_in, n_way = m.n_way, way_out = p.axes[m.along].n_out, taps = m.way.taps,
      -- Elements between neighbours along the way, in grad_output and in grad_input (or the workspace), of which an outer index has so many.
      out_step = m.plane_deep and p.plane_stride or p.row_stride, in_step = m.plane_deep and p.axes[2].n_in * p.axes[3].n_in or p.axes[3].n_in,
      in_slice = m.after and p.axes[2].n_in * p.axes[3].n_in or p.in_slice,
      -- Outputs of a load; whether the words of a row lie elsewhere than in order, and how many of a thread's are written as one vector.
      per_load = c.v, put_scattered = split, per_put = split and 1 or math.min(c.v, 16 // m.word),
      shared = device.target == "opencl" and "GT_SHARED " or "", words = { "x", "y", "z", "w" },
      -- Windows are read in vectors of m.vector words, from the last multiple of that at or before them on: so many words ahead.
      window_ahead = m.tx.starts and 0 or (m.tx.offset + m.pad) % m.vector,
      -- The height of the plane, where it is summed together with the width.
      ty = not m.turns and m.ty or false,
      leaves_part = leaves_part,
      add = tiling.adder(not m.optimistic), -- to a sum of inputs along the width or the height
      store_elements = m.after and 1 or vector.common_power(math.min(c.vx, 16 // p.dtype_bytes), p.axes[3].n_in),
      depth_block = depth_block(device), depth = m.after and depth_tiling(p) or nil,
    }
  end,
}
