-- The right result.
return {
  role = "candidate",
  description = "right",
  claims = function(p)
    if p.dtype ~= "f32" or p.inner ~= 1 or p.align_corners then return false, "float, channels first only" end
    return true
  end,
  parameters = function(p) return { { name = "block", values = { 16, 32, 64 } } } end,
  default = function(p, device) return { block = 32 } end,
  launches = function(c, p) return { { kernel = "k", block = c.block, blocks = { p.in_slice, c.block } } } end,
  reproducible = function(c, p) return true end,
}
