-- One axis at a time: a kernel per axis that is no plain copy, with workspaces of float (double for f64) between them. A window of a·b·c outputs
-- costs a + b + c loads and additions, not a·b·c.
--
-- A pass contracts the axis in the middle of [outer][before][n_out][after] to n_in. It is done in one of two ways:
--   direct   a thread owns v inputs along the axis and as many neighbours along `after` as one load brings, and goes through the window of
--            all v. Neighbouring threads read neighbouring memory if `after` is long: the outermost axis first reads grad_output so.
--   staged   where `after` is short (the width, channels-first), a block copies whole slabs [n_out][after] to shared memory with vector
--            loads, and threads sum from there: v inputs of `slabs` slabs each, which share what weights they load.
--
-- Beside grad_output and grad_input, a configuration moves each workspace twice: it is written once and read once (in direct passes, up to
-- window/step times, mostly from a cache). The axis that goes first sets the size of the largest: out_slice · n_in / n_out elements.
--
-- Workspaces are dense. Of a grad_output with gaps the first pass keeps the dimensions of `before`, of `after` and of a whole slab apart
-- (lib/gradient), and loads no more at once than lies together.
local accumulation = use "accumulation"
local gather = use "gather"
local gradient = use "gradient"
local window = use "window"
local mapping = use "mapping"
local vector = use "vector"
local choose = use "choose"

local smallest_window = 25  -- outputs per input from which on passes can pay
local table_limit = 32768   -- entries of program-scope tables: half a minute of compiling beyond that
local stage_below = 128     -- bytes of `after` from which on lanes of a direct pass read whole lines



local function passes_needed(p)
  local numbers = {}
  for number = 1, 3 do
    if not p.axes[number].identity then numbers[#numbers + 1] = number end
  end
  return numbers
end

-- Bank conflicts of the reads of a staged pass: the most words of one bank that the lanes of a wave ask for at once.
local function conflicts(pass, pitch, step, word_bytes)
  local lanes = word_bytes == 8 and 16 or 32
  local seen, banks, worst = {}, {}, 1
  for lane = 0, lanes - 1 do
    local b, t, g = lane % pass.after, lane // pass.after % pass.w.tiles, lane // (pass.after * pass.w.tiles)
    local start = pass.w.starts and pass.w.starts[t] * pass.after or t * step
    local word = g * pitch + start + b
    if not seen[word] then
      seen[word] = true
      local bank = word % lanes
      banks[bank] = (banks[bank] or 0) + 1
      worst = math.max(worst, banks[bank])
    end
  end
  return worst
end

-- Lays slabs out in shared memory: word = slab · pitch + e + pad · (e / run), e counted from `ahead` elements before the slab.
local function lay_out(pass, word_bytes)
  local w, after = pass.w, pass.after
  local per_store = 16 // word_bytes
  local ahead = w.offset and math.max(0, -w.offset) * after or 0
  local run = w.step and w.step * after or 0
  local best
  local function consider(pad, pitch)
    local vectors = pad == 0 and pass.elements % per_store == 0 and ahead % per_store == 0
      and (pitch % per_store == 0 or pitch == pass.slab) and pass.slab % per_store == 0
    if pitch == pass.slab and ahead == 0 and pad == 0 then vectors = pass.elements % per_store == 0 end
    -- Each element is stored once and read window/step times; scalar stores of vectors conflict, too.
    local cost = 2 * conflicts(pass, pitch, run + pad, word_bytes) + (vectors and 1 or pass.elements > 1 and 2 or 1)
    if not best or cost < best.cost then best = { cost = cost, pad = pad, pitch = pitch, vectors = vectors } end
  end
  if ahead == 0 then consider(0, pass.slab) end
  if pass.slab % pass.elements == 0 then -- else vectors cross from slab to slab
    local length = (ahead + pass.slab + per_store - 1) // per_store * per_store
    for more = 0, 7 do consider(0, length + more * per_store) end
    if run > 0 then
      for more = 0, 3 do consider(1, ahead + pass.slab + (ahead + pass.slab) // run + more) end
    end
  end
  pass.ahead, pass.run, pass.pad, pass.pitch, pass.vector_stores = ahead, run, best.pad, best.pitch, best.vectors
  -- Windows may reach past the last slab; what they read there does not count.
  local last = pass.position(w.start(w.tiles - 1) * after, w.width - 1) + after
  pass.words = (pass.rows - 1) * pass.pitch + math.max(pass.pitch, last)
end

-- The most elements that one load of a strided grad_output may bring, of those that lie together at the end of `dimensions`.
local function strided_load(p, limit, dimensions)
  local innermost = dimensions[#dimensions]
  if not innermost or innermost.stride ~= 1 then return 1 end
  return vector.common_power(gradient.alignment(p, limit), innermost.size)
end

local function plan_staged(pass, c, p)
  local word_bytes = accumulation.bytes(c.acc)
  local fit = c.stage * 1024 // (pass.slab * word_bytes)
  pass.rows = 1
  while pass.rows * 2 <= fit and pass.rows < 128 do pass.rows = pass.rows * 2 end
  pass.slabs = math.min(c.slabs, pass.rows)
  pass.groups = pass.rows // pass.slabs
  pass.whole = pass.before % pass.rows == 0 -- every block has all of its rows
  pass.elements = pass.strided and strided_load(p, 16 // pass.from_bytes, pass.slab_dimensions)
    or vector.common_power(16 // pass.from_bytes, pass.whole and pass.rows * pass.slab or pass.slab)
  pass.w = window.make(p, pass.number, pass.v, pass.slab % pass.elements == 0)
  pass.items = pass.groups * pass.w.tiles * pass.after
  -- Where column `column` of the window of a tile whose first column is element `start` lies in its slab's part of shared memory.
  function pass.position(start, column)
    if not pass.w.step then return start + column * pass.after end
    local tile = (start // pass.after - pass.w.offset) // pass.w.step
    local from = pass.w.offset + pass.ahead // pass.after + column
    return tile * (pass.run + pass.pad) + from * pass.after + pass.pad * (from // pass.w.step)
  end
  lay_out(pass, word_bytes)
  pass.products = #pass.w.entries * pass.slabs
  pass.blocks = { pass.before, pass.rows }
end

local function plan_direct(pass, c, p)
  pass.elements = vector.common_power(math.max(1, c.load // pass.from_bytes), pass.after)
  if pass.strided then pass.elements = strided_load(p, pass.elements, pass.after_dimensions) end
  pass.w = window.make(p, pass.number, pass.v, false)
  pass.items = pass.before * pass.w.tiles * (pass.after // pass.elements)
  pass.products = #pass.w.entries * pass.elements
  pass.map = pass.items < 1 << 31 and mapping.default(pass.items, c.block) or "flat"
  pass.blocks = mapping.blocks(pass.map, pass.items, c.block)
end

-- What each pass does, in order.
local function plan(c, p)
  local numbers = passes_needed(p)
  if c.first == "width" then table.sort(numbers, function(a, b) return a > b end) end
  local sizes = { p.axes[1].n_out, p.axes[2].n_out, p.axes[3].n_out }
  local passes = {}
  for place, number in ipairs(numbers) do
    local axis = p.axes[number]
    local pass = { number = number, name = "w" .. place, kernel = "gt_pass_" .. place, n_in = axis.n_in, n_out = axis.n_out,
      before = 1, after = p.inner, from_storage = place == 1, to_storage = place == #numbers }
    for other = 1, number - 1 do pass.before = pass.before * sizes[other] end
    for other = number + 1, 3 do pass.after = pass.after * sizes[other] end
    pass.slab, pass.result = axis.n_out * pass.after, axis.n_in * pass.after
    pass.step = pass.after -- from one position of the axis to the next in the source
    pass.strided = place == 1 and p.strided
    if pass.strided then
      pass.step = ({ p.plane_stride, p.row_stride, p.pixel_stride })[number]
      pass.before_dimensions = gradient.dimensions(p, 1, number - 1)
      pass.after_dimensions, pass.slab_dimensions = gradient.dimensions(p, number + 1, 4), gradient.dimensions(p, number, 4)
    end
    pass.from_bytes = pass.from_storage and p.dtype_bytes or accumulation.bytes(c.acc)
    pass.v = math.min(place == 1 and c.v or c.later, axis.n_in)
    pass.staged = pass.after * pass.from_bytes < stage_below and pass.slab * accumulation.bytes(c.acc) <= c.stage * 1024
    if pass.staged then plan_staged(pass, c, p) else plan_direct(pass, c, p) end
    sizes[number] = axis.n_in
    passes[place] = pass
  end
  return passes
end

-- The plan of one configuration is asked for many times in a row.
local last_c, last_p, last_passes
local function plan_of(c, p)
  local text = table.concat({ c.first, c.stage, c.slabs, c.v, c.later, c.load, c.block, c.acc }, " ")
  if last_p ~= p or last_c ~= text then last_c, last_p, last_passes = text, p, plan(c, p) end
  return last_passes
end

local function all(c, p, ok)
  for _, pass in ipairs(plan_of(c, p)) do
    if not ok(pass) then return false end
  end
  return true
end

local function some(c, p, ok) return not all(c, p, function(pass) return not ok(pass) end) end

-- Registers that a thread needs for values, about.
local function values_alive(pass, c)
  local words = accumulation.bytes(c.acc) // 4
  if pass.staged then return (pass.v + 8) * pass.slabs * words end
  return pass.v * pass.elements * words + math.max(16, 4 * pass.elements * pass.from_bytes // 4)
end

local constraints = {
  { why = "more threads per block than the device allows", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
  { why = "the tile is longer than the axis that goes first",
    ok = function(c, p)
      local numbers = passes_needed(p)
      return c.v == 1 or c.v < 2 * p.axes[c.first == "width" and numbers[#numbers] or numbers[1]].n_in
    end },
  { why = "the tile is longer than the axes that go later",
    ok = function(c, p)
      return c.later == 1 or some(c, p, function(pass) return not pass.from_storage and pass.n_in >= c.later end)
    end },
  { why = "nothing is staged, so that there are no slabs to choose", ok = function(c) return c.stage > 0 or c.slabs == 1 end },
  { why = "no pass fits in so much shared memory and has lanes that need it",
    ok = function(c, p) return c.stage == 0 or some(c, p, function(pass) return pass.staged end) end },
  { why = "a block has fewer slabs than a thread would sum",
    ok = function(c, p) return c.slabs == 1 or some(c, p, function(pass) return pass.staged and pass.rows >= c.slabs end) end },
  { why = "most threads of a staged pass would idle",
    ok = function(c, p) return all(c, p, function(pass) return not pass.staged or pass.before == 1 or pass.items * 4 >= c.block end) end },
  { why = "no pass can load so many bytes at once",
    ok = function(c, p)
      return c.load == 4 or some(c, p, function(pass) return not pass.staged and pass.elements * pass.from_bytes == c.load end)
    end },
  { why = "staged slabs do not fit in shared memory",
    ok = function(c, p, device)
      return all(c, p, function(pass) return not pass.staged or pass.words * accumulation.bytes(c.acc) <= device.lds_bytes_per_block end)
    end },
  { why = "the kernels' text would be too long",
    ok = function(c, p, device)
      local products = 0
      for _, pass in ipairs(plan_of(c, p)) do products = products + pass.products end
      return products <= (device.is_cpu and 512 or 2048)
    end },
  { why = "a compiler that reads the whole window from shared memory first would run out of registers",
    ok = function(c, p)
      return all(c, p, function(pass) return not pass.staged or pass.w.width * pass.slabs * accumulation.bytes(c.acc) <= 1024 end)
    end },
  { why = "a compiler that loads weights early would run out of registers",
    ok = function(c, p) return all(c, p, function(pass) return pass.v == 1 or #pass.w.entries <= 320 end) end },
  { why = "too many values alive for the registers", ok = function(c, p) return all(c, p, function(pass) return values_alive(pass, c) <= 128 end) end },
  { why = "weight tables would be too long",
    ok = function(c, p)
      local entries = 0
      for _, pass in ipairs(plan_of(c, p)) do entries = entries + window.table_entries(pass.w) end
      return entries <= table_limit
    end },
  { why = "a pass of 2^31 elements or work items per slice and more",
    ok = function(c, p)
      return all(c, p, function(pass) return math.max(pass.items, pass.before * pass.slab, pass.before * pass.result) < 1 << 31 end)
    end },
}

local function default(p, device)
  local candidates = {}
  for _, shape in ipairs { { 4, 8 }, { 4, 4 }, { 2, 4 }, { 1, 4 } } do
    for _, stage in ipairs { 4, 16, 0 } do
      candidates[#candidates + 1] = { first = "outer", stage = stage, slabs = 1, v = shape[1], later = 1, load = shape[2],
        block = device.is_cpu and 64 or 128, acc = accumulation.type(p) }
    end
  end
  return choose.first_legal(candidates, constraints, p, device)
end

return {
  role = "candidate",
  description = "one axis after the other, with workspaces between, for large windows",

  claims = function(p, device)
    if p.in_slice >= 1 << 31 or p.out_reach >= 1 << 31 then return false, "slices of 2^31 elements and more (direct does them)" end
    if not gather.fits(p, true) then return false, "weight tables would be too long" end
    if #passes_needed(p) < 2 then return false, "fewer than two axes to sum over" end
    if p.axes[1].max_count * p.axes[2].max_count * p.axes[3].max_count < smallest_window then
      return false, ("windows of less than %d outputs"):format(smallest_window)
    end
    if not default(p, device) then return false, "windows too long for the kernels' text" end
    return true
  end,

  parameters = function(p)
    return {
      { name = "first", values = { "outer", "width" } },     -- the axis that goes first: depth (else height), or the width
      { name = "stage", values = { 0, 4, 16 } },             -- KiB of shared memory that a block fills with slabs
      { name = "slabs", values = { 1, 2 } },                 -- that a thread sums from shared memory
      { name = "v", values = { 1, 2, 4, 8 } },               -- inputs per thread along the axis, in the first pass
      { name = "later", values = { 1, 2 } },                 -- the same in later passes, which have fewer to deal out
      { name = "load", values = { 4, 8, 16 } },              -- bytes per load of direct passes, at most
      { name = "block", values = { 64, 128, 256 } },
      accumulation.parameter(p),
    }
  end,

  constraints = constraints,

  default = default,

  launches = function(c, p)
    local list = {}
    for place, pass in ipairs(plan_of(c, p)) do list[place] = { kernel = pass.kernel, block = c.block, blocks = pass.blocks } end
    return list
  end,

  -- The second workspace starts at a multiple of 64 elements.
  workspace = function(c, p)
    local passes, elements = plan_of(c, p), 0
    for place = 1, #passes - 1 do elements = elements + passes[place].before * passes[place].result end
    return (#passes > 2 and 64 or 0) * accumulation.bytes(c.acc), elements * accumulation.bytes(c.acc)
  end,

  -- Of the first pass: it reads most.
  work = function(c, p)
    local pass = plan_of(c, p)[1]
    local staged = pass.staged and pass.rows * pass.slab / c.block / pass.elements or 0
    local loads = pass.staged and math.max(1, staged) or pass.w.width
    return { loads = loads, load_bytes = pass.elements * pass.from_bytes, flight = math.min(loads, 8),
      operations = pass.w.width * pass.v * pass.elements + 20, registers = 40, steps = pass.staged and 1 or 0,
      shared_bytes = pass.staged and pass.words * accumulation.bytes(c.acc) or 0,
      rereads = pass.staged and 1 or math.max(1, pass.w.width * pass.w.tiles / pass.n_out) }
  end,

  bindings = function(c, p, device)
    -- Vectors of workspace elements are those of f32 or f64.
    local between = { dtype = c.acc == "double" and "f64" or "f32", dtype_bytes = accumulation.bytes(c.acc) }
    local function load(pass, name, address)
      if pass.from_storage then return vector.load(p, pass.elements, name, address) end
      if pass.elements == 1 then return ("const %s %s = *(%s);"):format(c.acc, name, address) end
      return vector.load(between, pass.elements, name, address)
    end
    local function element(pass, name, i)
      if pass.from_storage then return ("(%s)%s"):format(c.acc, vector.element(p, pass.elements, name, i)) end
      if pass.elements == 1 then return name end
      return vector.element(between, pass.elements, name, i)
    end
    -- Lines that store values at neighbouring places from `address` on, in as few accesses as 16 bytes allow.
    local function store(pass, address, values)
      local lines, kind = {}, pass.to_storage and p or between
      local n = vector.common_power(16 // kind.dtype_bytes, #values)
      for i = 0, #values - 1, n do
        local at, part = ("%s + %d"):format(address, i), table.move(values, i + 1, i + n, 1, {})
        if n == 1 and not pass.to_storage then
          lines[#lines + 1] = ("GT_STORE(GT_GLOBAL %s, %s, %s);"):format(c.acc, at, part[1])
        else
          table.move(vector.store(kind, n, "out_" .. i, at, part), 1, 9, #lines + 1, lines)
        end
      end
      return lines
    end
    return { passes = plan_of(c, p), window = window, gradient = gradient, mapping = mapping, load = load, element = element, store = store,
      word_bytes = accumulation.bytes(c.acc) }
  end,
}
