-- An axis seen from its outputs: the inputs that an output used are neighbours, at most `taps` of them, and move on with the output. So whoever
-- goes through the outputs in order needs `taps` running sums only, and has finished an input when the next interval begins.
--
-- Interval t is made of outputs that used no inputs but y = t - (taps - 1) and the taps - 1 after it; its j-th tap is input y + j. The first
-- intervals belong to inputs below 0: their sums count from input 0 on only. Either all intervals have `rows` outputs, some of them maybe
-- outside of the axis; or (`exact`) interval t has those from its start to the start of interval t + 1, all inside: most of them `common` and
-- maybe one more, at borders from none up to `rows`. Its columns begin where `common` of them are inside. There an output at a border, which used
-- fewer inputs, may belong to several intervals: it goes to the one that keeps starts on a line and intervals about equally long.
--
-- The value has the form of a tiling (lib/tiling): a tile is an interval, its inputs are taps, its columns the outputs of an interval; so that
-- tiling.tables (not dense), start, declare, weight and add work on it. Outputs of an interval that lie outside of the axis are to be taken as
-- zeros; one that is not an exact interval's own has the weight 0.
local axes = use "axis"
local tiling = use "tiling"
local intervals = {
  most_rows = 32, -- outputs per input: beyond that their loop would have to be rolled
  most_taps = 8,  -- inputs per output
  beyond = 32,    -- intervals after the last input's, of weights zero, for strips that reach past the end of the axis
}

-- low[Y] and high[Y]: the first and the last input that output Y used with a weight. Where a weight at the end of a filter happens to be zero, the
-- first is later than that of the output after it: then `low` is that one too, so that it never goes backwards.
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
    last = low[Y]
  end
  for Y = axis.n_out - 2, 0, -1 do low[Y] = math.min(low[Y], low[Y + 1]) end
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

-- Exact intervals' starts: sets self.starts (with one more, where the last ends) and self.line, if they lie on one.
local function place_exact(self, axis, low, high)
  -- An output that used the inputs from low to high fits intervals from high to low + taps - 1; so interval t may start from first[t] to last[t].
  local first, last, Y, Z = {}, {}, 0, 0
  for t = 0, self.tiles do
    while Y < axis.n_out and low[Y] + self.taps - 1 < t do Y = Y + 1 end
    while Z < axis.n_out and high[Z] < t do Z = Z + 1 end
    first[t], last[t] = Y, math.max(Y, Z)
  end
  local ratios = { axis.ratio > 0 and 1 / axis.ratio or 1, axis.n_out / axis.n_in, (axis.n_out - 1) / math.max(1, axis.n_in - 1) }
  for _, ratio in ipairs(ratios) do
    self.line = axes.line_between(first, last, self.tiles + 1, ratio, axis.n_out)
    if self.line then break end
  end
  self.starts = {}
  for t = 0, self.tiles do
    local even = math.floor((first[self.middle] + last[self.middle]) / 2 + (t - self.middle) * axis.n_out / axis.n_in)
    self.starts[t] = self.line and axes.on_line(self.line, t) or math.max(first[t], math.min(last[t], even))
  end
end

local function make(axis)
  if axis.n_out > intervals.most_rows * axis.n_in then return false end
  local low, high = find_inputs(axis)
  local taps = 1
  for Y = 0, axis.n_out - 1 do taps = math.max(taps, high[Y] - low[Y] + 1) end
  if taps > intervals.most_taps then return false end
  local affine = place_affine(axis, low, high)
  local self = { taps = taps, tiles = axis.n_in + taps - 1 + intervals.beyond, n_out = axis.n_out }
  self.middle = (axis.n_in + taps - 1) // 2
  if affine and affine.taps == taps then
    -- The interval of input y starts at rows · (y - lowest) + offset.
    self.rows, self.step = affine.rows, affine.rows
    self.offset = affine.rows * (1 - taps - affine.lowest) + affine.offset
  else
    place_exact(self, axis, low, high)
    self.exact, self.rows, self.common = true, 1, axis.n_out // axis.n_in
    for t = 0, self.tiles - 1 do self.rows = math.max(self.rows, self.starts[t + 1] - self.starts[t]) end
    function self.owns(t, Y) return Y >= self.starts[t] and Y < self.starts[t + 1] end
    function self.place(t) return math.min(self.starts[t], axis.n_out - self.common) end
  end
  local function exists(t, j) return t - (taps - 1) + j >= 0 and t - (taps - 1) + j < axis.n_in end
  function self.counts(t, j, c)
    local output = self.exact and 0 or self.step * t + self.offset + c
    return exists(t, j) and output >= 0 and output < axis.n_out
  end
  function self.weight(t, j, c)
    local output = c + (self.exact and self.place(t) or self.step * t + self.offset)
    if not exists(t, j) or self.exact and not self.owns(t, output) then return 0.0 end
    local input = t - (taps - 1) + j
    local k = output - axis.first(input)
    if k < 0 or k >= axis.count(input) then return 0.0 end
    return axis.weight(input, k)
  end
  self.entries, self.literal = {}, true
  for c = 0, self.rows - 1 do
    for j = 0, taps - 1 do tiling.add_entry(self, j, c) end
  end
  self.clamped = {} -- outputs of intervals that are not exact: outside of the axis for some interval
  for c = 0, self.rows - 1 do
    self.clamped[c] = not self.exact and (self.offset + c < 0 or self.step * (axis.n_in + taps - 2) + self.offset + c >= axis.n_out)
  end
  return self
end

-- C expressions of where the columns of exact interval `t` (a C expression) begin, and where its outputs end. `within`: t is no less than taps - 1.
local function position_text(self, name, t, most, within)
  if self.line and within and self.line.slope * (self.taps - 1) + self.line.bias >= 0 then -- not below 0 from there on
    local text = axes.line_text({ slope = self.line.slope, bias = self.line.bias, shift = self.line.shift, multiple = 1 }, t)
    return ("gt_min(%s, %d)"):format(text, most)
  end
  if self.line then return axes.line_text({ slope = self.line.slope, bias = self.line.bias, shift = self.line.shift, most = most, multiple = 1 }, t) end
  return most < self.n_out and ("gt_clamp(%s_starts[%s], %d)"):format(name, t, most) or ("%s_starts[%s]"):format(name, t)
end
function intervals.begin_text(self, name, t, within) return position_text(self, name, t, self.n_out - self.common, within) end
function intervals.end_text(self, name, t, within) return position_text(self, name, ("(%s + 1u)"):format(t), self.n_out, within) end

local remember = axes.cache()

-- The intervals of axis number `number` of problem p; false where outputs do not move on with their inputs, or are too many per input, or used too
-- many inputs.
function intervals.make(p, number)
  return remember(p, number, function() return make(p.axes[number]) end)
end

return intervals
