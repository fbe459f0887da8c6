-- An axis seen from its outputs: the inputs that an output used are neighbours, at most `taps` of them, and move on with the output. So whoever
-- goes through the outputs in order needs `taps` running sums only, and has finished an input when the next interval begins.
--
-- Interval t is made of the outputs whose lowest input is y = t - (taps - 1); its j-th tap is input y + j. The first intervals belong to
-- inputs below 0: their sums count from input 0 on only. Intervals have `rows` outputs, or (where starts are a table) up to so many.
--
-- The value has the form of a tiling (lib/tiling): a tile is an interval, its inputs are taps, its columns the outputs of an interval; so that
-- tiling.tables (not dense), start, declare, weight and add work on it. Outputs of an interval that lie outside of the axis are to be taken as zeros.
local axes = use "axis"
local tiling = use "tiling"
local intervals = { most_rows = 32 } -- outputs per input: beyond that their loop would have to be rolled

-- low[Y] and high[Y]: the first and the last input that output Y used with a weight, in order of Y; or nil where that goes backwards.
local function find_inputs(axis)
  local low, high = {}, {}
  for i = 0, axis.n_in - 1 do
    local first = axis.first(i)
    for k = 0, axis.count(i) - 1 do
      if axis.weight(i, k) ~= 0 then
        low[first + k] = low[first + k] or i
        high[first + k] = i
      end
    end
  end
  local last = 0
  for Y = 0, axis.n_out - 1 do
    if not low[Y] then low[Y], high[Y] = last, last end -- an output that nothing was read for
    if low[Y] < last then return nil end
    last = low[Y]
  end
  return low, high
end

-- Where every input stands for as many outputs, intervals of that length: {offset, lowest, taps} such that output Y used inputs from
-- ⌊(Y - offset) / rows⌋ + lowest on, of the offsets the one with the fewest taps.
local function place_affine(axis, low, high)
  if axis.n_out % axis.n_in ~= 0 then return nil end
  local rows, best = axis.n_out // axis.n_in, nil
  for offset = 0, rows - 1 do
    local from, to = math.maxinteger, math.mininteger
    for Y = 0, axis.n_out - 1 do
      local interval = (Y - offset) // rows
      from, to = math.min(from, low[Y] - interval), math.max(to, high[Y] - interval)
    end
    if not best or to - from + 1 < best.taps then best = { rows = rows, offset = offset, lowest = from, taps = to - from + 1 } end
  end
  return best
end

local function make(axis)
  if axis.n_out > intervals.most_rows * axis.n_in then return false end
  local low, high = find_inputs(axis)
  if not low then return false end
  local taps = 1
  for Y = 0, axis.n_out - 1 do taps = math.max(taps, high[Y] - low[Y] + 1) end
  local affine = place_affine(axis, low, high)
  local self = { taps = taps, tiles = axis.n_in + taps - 1 }
  if affine and affine.taps == taps then
    -- The interval of input y starts at rows · (y - lowest) + offset.
    self.rows, self.step = affine.rows, affine.rows
    self.offset = affine.rows * (1 - taps - affine.lowest) + affine.offset
  else
    -- Which outputs are an interval's own; it may start before them.
    local next, from, to = 0, {}, {}
    self.rows = 1
    for t = 0, self.tiles - 1 do
      from[t] = next
      while next < axis.n_out and low[next] <= t - (taps - 1) do next = next + 1 end
      to[t] = next
      self.rows = math.max(self.rows, to[t] - from[t])
    end
    self.starts, self.line = {}, axes.line(from, to, self.tiles, self.rows, math.max(0, axis.n_out - self.rows))
    for t = 0, self.tiles - 1 do self.starts[t] = self.line and axes.on_line(self.line, t) or from[t] end
    function self.owns(t, Y) return Y >= from[t] and Y < to[t] end
  end
  local function exists(t, j) return t - (taps - 1) + j >= 0 and t - (taps - 1) + j < axis.n_in end
  function self.counts(t, j, c)
    local output = self.starts and 0 or self.step * t + self.offset + c
    return exists(t, j) and output >= 0 and output < axis.n_out
  end
  function self.weight(t, j, c)
    local output = c + (self.starts and self.starts[t] or self.step * t + self.offset)
    if not exists(t, j) or self.starts and not self.owns(t, output) then return 0.0 end
    local input = t - (taps - 1) + j
    local k = output - axis.first(input)
    if k < 0 or k >= axis.count(input) then return 0.0 end
    return axis.weight(input, k)
  end
  self.entries, self.literal = {}, true
  for c = 0, self.rows - 1 do
    for j = 0, taps - 1 do tiling.add_entry(self, j, c) end
  end
  self.clamped = {} -- outputs that lie outside of the axis for some interval
  for c = 0, self.rows - 1 do
    if self.starts then
      self.clamped[c] = not self.line
    else
      self.clamped[c] = self.offset + c < 0 or self.step * (self.tiles - 1) + self.offset + c >= axis.n_out
    end
  end
  return self
end

local remember = axes.cache()

-- The intervals of axis number `number` of problem p; false where outputs do not move on with their inputs, or are too many per input.
function intervals.make(p, number)
  return remember(p, number, function() return make(p.axes[number]) end)
end

return intervals
