-- The speed of light of a grid problem: reads every tensor that is read once and writes every result once, and computes nothing useful. What
-- the problem's kernels are measured against; never a candidate.
local sampling = use "sampling"

local block = 256

-- Of what is read, in bytes per image: the largest has a thread per load, the others are read by the first of these.
local function largest(p)
  local most = 0
  for _, tensor in ipairs(p.tensors) do
    if not tensor.is_result then most = math.max(most, tensor.slice * p.dtype_bytes) end
  end
  return most
end

return {
  role = "bound",
  form = "grid",
  description = "reads every byte of what is read once and writes every byte of the results once",
  claims = function() return true end,

  -- 16-byte loads in flight per thread and tensor.
  parameters = function() return { { name = "loads", values = { 1, 2, 4 } } } end,
  default = function() return { loads = 2 } end,
  launches = function(c, p) return { { kernel = "gt_stream", block = block, blocks = { largest(p), 16 * c.loads * block } } } end,
  bindings = function() return { sampling = sampling, block = block } end,
}
