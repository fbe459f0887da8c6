-- The old way: a thread per sample that adds its gradient to the pixels which the forward read, with
-- atomic additions into a grad_input that was set to zero before. The order of the additions is not defined, so two runs differ in their last
-- bits. A baseline. The gradient of the grid is a sum over channels, which a thread forms by itself, in their order.
--
-- 16-bit types are summed in a float workspace and rounded once at the end.
local sampling = use "sampling"

local function narrow(p) return p.dtype_bytes == 2 and p.wants_input end

return {
  role = "baseline",
  form = "grid",
  description = "zero-fill and atomic additions, one thread per sample",
  reproducible = function(c, p) return not p.wants_input end,

  claims = function(p) return true end,

  parameters = function() return { { name = "block", values = { 64, 128, 256, 512 } } } end,

  constraints = {
    { why = "more threads per block than the device allows", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
  },

  default = function(p, device) return { block = device.is_cpu and 64 or 256 } end,

  launches = function(c, p)
    local list = {}
    if p.wants_input then list[1] = { kernel = "gt_zero", block = c.block, blocks = { p.in_slice, c.block } } end
    list[#list + 1] = { kernel = "gt_scatter", block = c.block, blocks = { sampling.samples(p), c.block } }
    if narrow(p) then list[#list + 1] = { kernel = "gt_round", block = c.block, blocks = { p.in_slice, c.block } } end
    return list
  end,

  workspace = function(c, p) return 0, narrow(p) and 4 * p.in_slice or 0 end,

  bindings = function(c, p) return { sampling = sampling, narrow = narrow(p) } end,
}
