-- The speed of light: reads all of grad_output once and writes all of grad_input once, and computes nothing useful. What a problem's kernels
-- are measured against; never a candidate.
local function slice_bytes(p) return p.out_slice * p.dtype_bytes, p.in_slice * p.dtype_bytes end

return {
  role = "bound",
  description = "reads every byte of grad_output once and writes every byte of grad_input once",

  claims = function() return true end,

  parameters = function()
    return {
      { name = "loads", values = { 1, 2, 4, 8 } }, -- 16-byte loads in flight per thread
      { name = "block", values = { 256, 512 } },
    }
  end,

  constraints = {
    { why = "more threads per block than the device allows", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
  },

  default = function(p, device)
    return { loads = 4, block = 256 }
  end,

  -- A block moves loads · block vectors of what is read.
  launches = function(c, p)
    local read = slice_bytes(p)
    return { { kernel = "gt_stream", block = c.block, blocks = { read, 16 * c.loads * c.block } } }
  end,

  bindings = function(c, p)
    local read, written = slice_bytes(p)
    return { read = read, written = written }
  end,
}
