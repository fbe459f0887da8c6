-- A bound: computes nothing useful.
return {
  role = "bound",
  description = "writes something",
  claims = function(p) return true end,
  parameters = function(p) return { { name = "block", values = { 32, 64 } } } end,
  default = function(p, device) return { block = 64 } end,
  launches = function(c, p) return { { kernel = "k", block = c.block, blocks = { p.in_slice, c.block } } } end,
}
