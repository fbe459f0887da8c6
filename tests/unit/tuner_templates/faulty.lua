-- One fault each.
return {
  role = "baseline",
  description = "wrong in a way that its parameter names",
  claims = function(p) return true end,
  parameters = function(p)
    return { { name = "fault", values = { "weight", "unwritten", "overrun", "underrun", "uninitialised", "unstable", "crash", "hang",
                                          "compile" } } }
  end,
  default = function(p, device) return { fault = "weight" } end,
  launches = function(c, p) return { { kernel = "k", block = 32, blocks = { p.in_slice, 32 } } } end,
  workspace = function(c, p)
    if c.fault == "uninitialised" or c.fault == "unstable" then return 64, 0 end
    return 0, 0
  end,
  reproducible = function(c, p) return true end,
}
