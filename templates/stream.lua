-- The speed of light: reads all of grad_output once and writes all of grad_input once, and computes nothing useful. What a problem's kernels
-- are measured against; never a candidate.
local block = 256 -- twice as many made no difference on an H200

local function slice_bytes(p) return p.out_slice * p.dtype_bytes, p.in_slice * p.dtype_bytes end

return {
  role = "bound",
  description = "reads every byte of grad_output once and writes every byte of grad_input once",

  claims = function() return true end,

  -- 16-byte loads in flight per thread.
  parameters = function() return { { name = "loads", values = { 1, 2, 4, 8 } } } end,

  default = function() return { loads = 4 } end,

  -- A block moves loads · block vectors of what is read.
  launches = function(c, p)
    local read = slice_bytes(p)
    return { { kernel = "gt_stream", block = block, blocks = { read, 16 * c.loads * block } } }
  end,

  bindings = function(c, p)
    local read, written = slice_bytes(p)
    return { block = block, read = read, written = written }
  end,
}
