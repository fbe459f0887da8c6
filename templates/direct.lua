-- The plain gather-sum: a thread per input element, which goes through the window of outputs that used it. Linear interpolation computes
-- windows and weights as it goes, other filters read tables. Needs no tuning, and is the default where nothing was tuned.
local accumulation = use "accumulation"
local gather = use "gather"
local gradient = use "gradient"

return {
  role = "candidate",
  description = "one thread per input element, which goes through its window",

  claims = function(p)
    if not gather.fits(p) then return false, "weight tables would be too long" end
    return true
  end,

  parameters = function(p)
    return {
      { name = "block", values = { 64, 128, 256, 512 } },
      accumulation.parameter(p),
    }
  end,

  constraints = {
    { why = "more threads per block than the device allows", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
  },

  default = function(p, device)
    return { block = device.is_cpu and 64 or 256, acc = accumulation.type(p) }
  end,

  launches = function(c, p) return { { kernel = "gt_direct", block = c.block, blocks = { p.in_slice, c.block } } } end,

  work = function(c, p)
    local window = p.axes[1].max_count * p.axes[2].max_count * p.axes[3].max_count
    return { loads = window, load_bytes = p.dtype_bytes, flight = 4, operations = 8 * window, registers = 32 }
  end,

  bindings = function(c, p) return { gather = gather, gradient = gradient } end,
}
