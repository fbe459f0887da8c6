-- Channels-last. A thread computes vx × vy inputs (lib/register_tile) for some neighbouring channels, so that the lanes of a wave read
-- consecutive channels.
local mapping = use "mapping"
local register_tile = use "register_tile"
local gradient = use "gradient"

local function vectors(c, p) return p.inner // c.channels end

-- Channels that one store of at most 16 bytes takes.
local function most_channels(p)
  local n = 16 // p.dtype_bytes
  while p.inner % n ~= 0 do n = n // 2 end
  return n
end

local family = {
  items = function(c, p) return register_tile.tiles(c, p) * vectors(c, p) end,
  products = function(c, p) return register_tile.products(c, p) * c.channels end,
  limits = { cpu = 512, gpu = 2048 },
  values = function(c, p) return (register_tile.sums(c, p) + c.vx) * c.channels + register_tile.weights(c, p) end,
}

local constraints = register_tile.constraints(family)

-- The configuration to use without tuning: neighbouring lanes read neighbouring words, and a thread computes 2 × 4 inputs (the best of
-- most problems on an H200); less, or rolled rows, where the window is large.
local function default(p, device)
  local channels = math.min(most_channels(p), math.max(1, 4 // p.dtype_bytes))
  if channels * 4 < most_channels(p) then channels = most_channels(p) // 4 end
  local shapes = { { 2, 4, "unrolled" }, { 2, 2, "unrolled" }, { 1, 2, "unrolled" }, { 1, 1, "unrolled" }, { 1, 1, "rolled" } }
  return register_tile.default(p, device, shapes, family, constraints, function(c) c.channels = channels end)
end

return {
  role = "candidate",
  description = "channels-last: some neighbouring channels of a register tile of vx × vy inputs per thread",

  claims = function(p, device)
    if p.inner == 1 and p.pixel_stride == 1 then return false, "channels-last only (taps does channels-first)" end
    local ok, why = register_tile.claims(p)
    if ok and not default(p, device) then return false, "windows too large for tables or registers" end
    return ok, why
  end,

  parameters = function(p, device)
    local channels, n = {}, most_channels(p)
    while n >= 1 and n * 4 >= most_channels(p) do
      channels[#channels + 1] = n
      n = n // 2
    end
    return register_tile.parameters(p, device, { 1, 2, 4 }, { name = "channels", values = channels })
  end,

  constraints = constraints,

  default = default,

  launches = function(c, p)
    return { { kernel = "gt_inner", block = c.block, blocks = mapping.blocks(c.map, family.items(c, p), c.block) } }
  end,

  work = function(c, p)
    local x, y, z = register_tile.tilings(c, p)
    local elements = gradient.alignment(p, c.channels)
    local rolled = c.rows == "rolled" and y.width or 1
    return register_tile.work(c, p, x.width * y.width * z.width * c.channels / elements, elements * p.dtype_bytes,
      family.products(c, p) * rolled * z.width, family.values(c, p))
  end,

  bindings = function(c, p)
    local names = register_tile.bindings(c, p, family.items(c, p))
    names.vectors = vectors(c, p)
    names.load_elements = gradient.alignment(p, c.channels) -- less where gaps break the alignment of pixels
    return names
  end,
}
