-- The plain gather-sum: a thread per input element, which computes the window of outputs that used it and their weights itself. Needs no
-- tables and no tuning, works for every size, and is the default where nothing was tuned.
return {
  role = "candidate",
  description = "one thread per input element; window and weights computed in the kernel",

  claims = function(p)
    if p.filter ~= "linear" then return false, "linear interpolation only" end
    if p.spatial_axes ~= 2 then return false, "two spatial axes only" end
    return true
  end,

  parameters = function(p)
    return {
      { name = "block", values = { 64, 128, 256, 512 } },
      { name = "acc", values = { p.double_arithmetic and "double" or "float" }, on_request = p.double_arithmetic and { "float" } or {} },
    }
  end,

  constraints = {
    { why = "more threads per block than the device allows", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
  },

  default = function(p, device)
    return { block = device.is_cpu and 64 or 256, acc = p.double_arithmetic and "double" or "float" }
  end,

  launches = function(c, p) return { { kernel = "gt_direct", block = c.block, blocks = { p.in_slice, c.block } } } end,

  bindings = function(c, p) return { linear = use "linear" } end,
}
