-- Windows of an axis for passes over one axis alone: the axis is cut into tiles of `size` inputs, and a tile's window is the outputs that its
-- inputs gather from. (lib/tiling is for kernels that do two axes at once, with literals; here windows may be long, and weights stand in
-- tables.) Positions in a window are called columns. All numbers are zero-based.
local axes = use "axis"
local window = {}

-- Windows that start at step·t + offset, maybe outside of the axis: only where they are about as short as others.
local function place_affine(self, from, to, width)
  local axis, size, tiles = self.axis, self.size, self.tiles
  if tiles == 1 or (size * axis.n_out) % axis.n_in ~= 0 then return false end
  local step, offset, longest = size * axis.n_out // axis.n_in, math.maxinteger, 1
  for t = 0, tiles - 1 do offset = math.min(offset, from[t] - step * t) end
  for t = 0, tiles - 1 do longest = math.max(longest, to[t] - step * t - offset) end
  if step == 0 or longest > width + 2 then return false end
  self.step, self.offset, self.width = step, offset, longest
  return true
end

-- One entry per (input, column) that some tile uses, ordered by column. `constant`: the weight, if all tiles have the same; else `slot` is
-- the weight's place in the table. `guarded`: some tile does not use it, so that what is loaded there must not count (it may be NaN).
local function find_entries(self)
  local axis, n_slots = self.axis, 0
  self.entries, self.columns, self.slots = {}, {}, {}
  for c = 0, self.width - 1 do
    self.columns[c] = {}
    for j = 0, self.size - 1 do
      local used, guarded, constant = false, false, nil
      for t = 0, self.tiles - 1 do
        if t * self.size + j < axis.n_in then
          local w = self.weight(t, j, c)
          if w == 0 then guarded = true else used = true end
          if constant == nil then constant = w elseif constant ~= w then constant = false end
        end
      end
      if used then
        local entry = { j = j, c = c, guarded = guarded, constant = constant }
        if not constant then
          entry.slot, n_slots = n_slots, n_slots + 1
          self.slots[entry.slot] = entry
        end
        table.insert(self.entries, entry)
        table.insert(self.columns[c], entry)
      end
    end
  end
  self.n_slots = n_slots
end

local function make(axis, size, affine)
  local self = { axis = axis, size = size, tiles = (axis.n_in + size - 1) // size }
  local from, to = axes.windows(axis, size, self.tiles)
  local width = 1
  for t = 0, self.tiles - 1 do width = math.max(width, to[t] - from[t]) end
  if not (affine and place_affine(self, from, to, width)) then
    self.width, self.starts = width, {}
    for t = 0, self.tiles - 1 do self.starts[t] = math.min(from[t], axis.n_out - width) end
  end
  function self.start(t) return self.starts and self.starts[t] or self.step * t + self.offset end
  function self.weight(t, j, c)
    local i = t * size + j
    if i >= axis.n_in then return 0.0 end
    local k = self.start(t) + c - axis.first(i)
    if k < 0 or k >= axis.count(i) then return 0.0 end
    return axis.weight(i, k)
  end
  find_entries(self)
  return self
end

local remember = axes.cache()

-- The windows of axis number `number` of p in tiles of `size` inputs. `affine`: they may start outside of the axis if that makes their starts
-- an affine function of the tile (for kernels that may read there); else every window lies within the axis.
function window.make(p, number, size, affine)
  return remember(p, number, function() return make(p.axes[number], size, affine) end, size, affine or false)
end

local function per_vector(type) return type == "double" and 2 or 4 end
local function vectors(self, type) return (self.n_slots + per_vector(type) - 1) // per_vector(type) end

-- How many entries the tables of a window have.
function window.table_entries(self) return (self.starts and self.tiles or 0) + (self.n_slots + 3) // 4 * 4 * self.tiles end

-- Program-scope tables, named after `name`: starts, and weights as [slot / n][tile][slot % n], n to 16 bytes, so that neighbouring lanes with
-- neighbouring tiles load neighbouring vectors.
function window.tables(self, name, type, literal)
  local lines, n = {}, per_vector(type)
  if self.starts then
    lines[#lines + 1] = ("GT_TABLE gt_i32 %s_starts[%d] = %s;"):format(name, self.tiles,
      axes.list(self.tiles, function(t) return tostring(self.starts[t]) end))
  end
  if self.n_slots > 0 then
    local count = vectors(self, type) * self.tiles * n
    lines[#lines + 1] = ("GT_TABLE %s %s_weights[%d] GT_ALIGNED16 = %s;"):format(type, name, count, axes.list(count, function(i)
      local entry = self.slots[i // (self.tiles * n) * n + i % n]
      return literal(entry and self.weight(i // n % self.tiles, entry.j, entry.c) or 0.0, type)
    end))
  end
  return lines
end

-- The C expression of the start of the window of the tile that variable `tile` names; of an affine one: without its offset.
function window.start_text(self, name, tile)
  if self.starts then return ("%s_starts[%s]"):format(name, tile) end
  return ("%d * (gt_i32)%s"):format(self.step, tile)
end

-- Lines that load the weights which column c is the first to need.
function window.load(self, name, tile, c, type)
  local lines, n = {}, per_vector(type)
  for _, entry in ipairs(self.columns[c]) do
    if entry.slot and entry.slot % n == 0 then
      lines[#lines + 1] = ("const gt_vec16 %s_%d = *(GT_TABLE_POINTER(gt_vec16))(%s_weights + %s * %du + %du);"):format(name,
        entry.slot // n, name, tile, n, entry.slot // n * self.tiles * n)
    end
  end
  return lines
end

-- The C expression of an entry's weight.
function window.weight_text(entry, name, type, literal)
  if not entry.slot then return literal(entry.constant, type) end
  local words = { "x", "y", "z", "w" }
  if type == "double" then
    local vector, at = ("%s_%d"):format(name, entry.slot // 2), entry.slot % 2 * 2
    return ("gt_bits_double(%s.%s, %s.%s)"):format(vector, words[at + 2], vector, words[at + 1])
  end
  return ("gt_bits_float(%s_%d.%s)"):format(name, entry.slot // 4, words[entry.slot % 4 + 1])
end

return window
