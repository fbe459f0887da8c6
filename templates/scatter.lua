-- The old way: a thread per output element that adds its gradient to the inputs which the forward read, with atomic additions into an output
-- that was set to zero before. The order of the additions is not defined, so two runs differ in their last bits. A baseline.
--
-- 16-bit types are summed in a float workspace and rounded once at the end. (Adding in 16 bits would round at every addition.)
local gather = use "gather"
local gradient = use "gradient"

local function narrow(p) return p.dtype_bytes == 2 end

return {
  role = "baseline",
  description = "zero-fill and atomic additions, one thread per output element",
  reproducible = false,

  claims = function(p)
    if not gather.fits(p) then return false, "weight tables would be too long" end
    return true
  end,

  parameters = function() return { { name = "block", values = { 64, 128, 256, 512 } } } end,

  constraints = {
    { why = "more threads per block than the device allows", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
  },

  default = function(p, device) return { block = device.is_cpu and 64 or 256 } end,

  launches = function(c, p)
    local list = {
      { kernel = "gt_zero", block = c.block, blocks = { p.in_slice, c.block } },
      { kernel = "gt_scatter", block = c.block, blocks = { p.out_slice, c.block } },
    }
    if narrow(p) then list[3] = { kernel = "gt_round", block = c.block, blocks = { p.in_slice, c.block } } end
    return list
  end,

  workspace = function(c, p) return 0, narrow(p) and 4 * p.in_slice or 0 end,

  bindings = function(c, p) return { gather = gather, gradient = gradient, narrow = narrow(p) } end,
}
