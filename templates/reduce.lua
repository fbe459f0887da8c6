-- Few inputs with large windows (1→N and the like): `split` threads share the window of one input and add up their parts in shared memory, in
-- a fixed order. Channels-first, neighbouring threads read neighbouring columns of a row; channels-last, neighbouring channels.
local accumulation = use "accumulation"
local gather = use "gather"
local vector = use "vector"
local gradient = use "gradient"

local function window(p)
  return p.axes[1].max_count * p.axes[2].max_count * p.axes[3].max_count
end

-- Vectors that cover the columns of a window, wherever it starts.
local function vectors(c, p)
  local axis = p.axes[3]
  return math.min(axis.n_out // c.v, (axis.max_count + 2 * c.v - 2) // c.v)
end

-- Loads that a thread makes, one after the other but for those that it has in flight at a time.
local function loads(c, p)
  return (p.axes[1].max_count * p.axes[2].max_count * vectors(c, p) + c.split - 1) // c.split
end

local constraints = {
  { why = "more threads per block than the device allows", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
  { why = "a block is no whole number of groups", ok = function(c) return c.split <= c.block end },
  { why = "more threads than loads in a window", ok = function(c, p) return c.split == 2 or c.split * c.v <= window(p) end },
  { why = "rows of outputs are not aligned to such loads",
    ok = function(c, p)
      return c.v == 1 or p.inner == 1 and p.pixel_stride == 1 and c.v * p.dtype_bytes <= 16 and p.axes[3].n_out % c.v == 0 and gradient.alignment(p, c.v) == c.v
        and c.v <= p.axes[3].max_count
    end },
  { why = "a thread makes less loads than it would have in flight", ok = function(c, p) return c.flight == 1 or c.flight <= loads(c, p) end },
  { why = "channels-last, less than 4 neighbouring channels per block",
    ok = function(c, p) return p.inner == 1 or c.block // c.split >= math.min(4, p.inner) end },
  { why = "partial sums do not fit in shared memory",
    ok = function(c, p, device) return c.block * accumulation.bytes(c.acc) <= device.lds_bytes_per_block end },
}

return {
  role = "candidate",
  description = "several threads per input, for large windows",

  claims = function(p)
    if window(p) < 16 then return false, "windows of less than 16 outputs" end
    if not gather.fits(p, true) then return false, "weight tables would be too long" end
    if p.in_slice >= 1 << 31 or p.out_reach >= 1 << 31 then return false, "slices of 2^31 elements and more (direct does them)" end
    return true
  end,

  parameters = function(p)
    return {
      { name = "split", values = { 2, 4, 8, 16, 32, 64, 128, 256, 512 } },
      { name = "v", values = { 1, 2, 4, 8 } },   -- outputs per load
      { name = "flight", values = { 1, 2, 4 } }, -- loads in flight per thread
      { name = "block", values = { 64, 128, 256, 512 } },
      accumulation.parameter(p),
    }
  end,

  constraints = constraints,

  default = function(p, device)
    local c = { split = 2, v = 1, flight = 1, block = device.is_cpu and 64 or 256, acc = accumulation.type(p) }
    local groups = p.inner == 1 and 1 or math.min(4, p.inner)
    if p.inner == 1 and p.pixel_stride == 1 then c.v = vector.common_power(gradient.alignment(p, 16 // p.dtype_bytes), p.axes[3].n_out) end
    while c.v > p.axes[3].max_count do c.v = c.v // 2 end
    while c.split * 2 <= c.block // groups and c.split * 8 * c.v <= window(p) do c.split = c.split * 2 end
    while c.flight < 4 and c.flight * 2 <= loads(c, p) do c.flight = c.flight * 2 end
    return c
  end,

  launches = function(c, p)
    return { { kernel = "gt_reduce", block = c.block, blocks = { p.in_slice, c.block // c.split } } }
  end,

  work = function(c, p)
    local n, steps = loads(c, p), 0
    while 1 << steps < c.split do steps = steps + 1 end
    local rereads = p.in_slice * window(p) / p.out_slice
    return { loads = n, load_bytes = c.v * p.dtype_bytes, flight = math.min(c.flight, n), operations = n * (2 * c.v + 8) + 30,
      registers = 32 + c.flight * c.v * p.dtype_bytes // 4, shared_bytes = c.block * accumulation.bytes(c.acc),
      rereads = math.max(1, rereads), steps = steps }
  end,

  bindings = function(c, p) return { gather = gather, gradient = gradient, vector = vector, per_row = vectors(c, p) } end,
}
