-- Writes each block's number in the order that is asked for: what lib/amd makes of it.
local amd = use "amd"

return {
  role = "candidate",
  description = "the order of blocks",
  claims = function() return true end,
  parameters = function(p, device) return amd.parameters({}, device, true) end,
  default = function(p, device) return amd.defaults({}, device, true) end,
  launches = function(c, p) return { { kernel = "gt_order", block = 64, blocks = { p.in_slice, 1 } } } end,
  bindings = function(c, p) return { amd = amd } end,
}
