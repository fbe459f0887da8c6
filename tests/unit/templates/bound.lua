return {
  role = "bound",
  description = "without parameters",
  claims = function() return true end,
  parameters = function() return {} end,
  default = function() return {} end,
  launches = function(c, p) return { { kernel = "gt_bound", block = 64, blocks = 1 } } end,
}
