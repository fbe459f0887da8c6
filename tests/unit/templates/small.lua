-- A family with every kind of parameter, for tests.
local shapes = use "shapes"

return {
  role = "candidate",
  description = "a small family",
  claims = function(p)
    if p.inner ~= 1 then return false, "channels-first only" end
    return true
  end,
  parameters = function(p)
    return {
      { name = "vx", values = { 1, 2, 4 } },
      { name = "map", values = { "slice", "flat.2-d" } },
      { name = "block", values = { 64, 256 }, on_request = { 1024 } },
    }
  end,
  constraints = {
    { why = "flat tiles are at most 2 wide", ok = function(c) return c.map == "slice" or c.vx <= 2 end },
    { why = "the block is too large", ok = function(c, p, device) return c.block <= device.max_threads_per_block end },
  },
  default = function() return { vx = 2, map = "slice", block = 256 } end,
  launches = function(c, p)
    return {
      { kernel = "gt_first", block = c.block, blocks = shapes.blocks(p.in_slice, c.vx * c.block) },
      { kernel = "gt_second", block = { 32, 2 }, blocks = 3 },
    }
  end,
  workspace = function(c, p) return 256, p.in_slice * 4 end,
  reproducible = function(c) return c.vx ~= 4 end,
  bindings = function(c, p)
    return { double = shapes.double, check = shapes.check, x = p.axes[3] }
  end,
}
