-- Tilings: an axis cut into tiles of `size` inputs, each with the window of outputs that its inputs gather from.
--
-- What makes a fast kernel out of an axis is known when it is rendered: where each tile's window starts (an affine function of the
-- tile's number when the scale is regular, else a table), which part of the window each input of a tile uses, and the weights: literals
-- where all tiles agree, but for a few at the borders; a table otherwise.
--
-- Positions in a window are called columns, whatever the axis. All numbers are zero-based.
local axes = use "axis"
local tiling = {}

local most_exceptions = 4 -- tiles that may differ from the others in one weight and still be written as literals (also generator/tiling.h)

-- Appends the entry of (input j, column c) to self.entries. `value` is the weight that most tiles have, `exceptions` the tiles that have
-- another; `sometimes_zero`: some tile does not use it, so that what is loaded there must not count (it may be NaN). self.literal stays true
-- while all weights may be written as literals. self.weight(t, j, c) gives a weight, 0 where tile t's input j does not use column c, and
-- self.counts(t, j, c) whether it matters which.
function tiling.add_entry(self, j, c)
  local entry = { j = j, c = c, slot = #self.entries, exceptions = {}, sometimes_zero = false }
  local middle = self.middle or self.tiles // 2
  while middle > 0 and not self.counts(middle, j, c) do middle = middle - 1 end
  entry.value = self.weight(middle, j, c)
  for t = 0, self.tiles - 1 do
    if self.counts(t, j, c) then
      local w = self.weight(t, j, c)
      if w == 0 then entry.sometimes_zero = true end
      if w ~= entry.value and #entry.exceptions <= most_exceptions then
        entry.exceptions[#entry.exceptions + 1] = { tile = t, value = w }
      end
    end
  end
  if #entry.exceptions > most_exceptions then self.literal = false end
  self.entries[#self.entries + 1] = entry
end

-- The output at which the window of tile t starts.
function tiling.start_of(self, t)
  if self.line then return axes.on_line(self.line, t) end
  if self.starts then return self.starts[t] end
  return self.step * t + self.offset
end

-- The axis function has all that takes a look at every tile: tiles, width; step and offset (a window starts at step·t + offset, where windows
-- stay about as short that way) or else `starts` that keep every window inside of the axis, on a line (lib/axis) where they lie on one (empty where
-- there are more than 65536); low and high, the columns that input j of any tile uses; entries and literal, as add_entry makes them.
local function make(axis, size, zeros, outside, multiple)
  local self = axis.tiling(size, zeros, outside, multiple)
  self.n_in, self.n_out = axis.n_in, axis.n_out
  function self.weight(t, j, c)
    local i = t * size + j
    if i >= axis.n_in then return 0.0 end
    local k = tiling.start_of(self, t) + c - axis.first(i)
    if k < 0 or k >= axis.count(i) then return 0.0 end
    return axis.weight(i, k)
  end
  self.clamped = {} -- columns that lie outside of the axis for some tile
  for c = 0, self.width - 1 do self.clamped[c] = self.first_start + c < 0 or self.last_start + c >= axis.n_out end
  return self
end

local remember = axes.cache()

-- The tiling of axis number `number` (1 depth, 2 height, 3 width) of problem p in tiles of `size` inputs. `zeros`: the kernel takes zeros for the
-- outputs of a window that lie outside of the axis, so that their weights do not matter. `outside`: the kernel can read outside of the axis, so that
-- windows may start there also where starts are not affine; then at multiples of `multiple`, if there is one.
function tiling.make(p, number, size, zeros, outside, multiple)
  return remember(p, number, function() return make(p.axes[number], size, zeros, outside, multiple) end, size, zeros or false, outside or false,
    multiple or 1)
end

-- How many multiplications one pass over a tile's window takes.
function tiling.products(self) return #self.entries end

-- Weights lie in tables as [vector][tile][element] with vectors of 16 bytes, so that neighbouring lanes load neighbouring ones.
local function per_vector(type) return type == "double" and 2 or 4 end
local function padded(self, type)
  local n = per_vector(type)
  return (#self.entries + n - 1) // n * n
end

-- How many starts stand in a table: of exact intervals (lib/intervals) also where the last ends.
local function starts_in_table(self)
  if not self.starts or self.line then return 0 end
  return self.tiles + (self.exact and 1 or 0)
end

-- How many table entries the tiling needs in a kernel.
function tiling.table_entries(self, dense)
  local starts = starts_in_table(self)
  if dense then return starts + self.tiles * self.size * self.width end
  return starts + (self.literal and 0 or self.tiles * padded(self, "float"))
end

-- Program-scope tables that the tiling needs, named after `name`. `dense`: weights as [tile][input][column].
function tiling.tables(self, name, type, literal, dense)
  local lines = {}
  local starts = starts_in_table(self)
  if starts > 0 then
    lines[#lines + 1] = ("GT_TABLE gt_i32 %s_starts[%d] = %s;"):format(name, starts,
      axes.list(starts, function(t) return tostring(self.starts[t]) end))
  end
  local function put(count, value)
    lines[#lines + 1] = ("GT_TABLE %s %s_weights[%d] GT_ALIGNED16 = %s;"):format(type, name, count,
      axes.list(count, function(i) return literal(value(i), type) end))
  end
  if dense then
    local row = self.size * self.width
    put(self.tiles * row, function(i)
      return self.weight(i // row, i % row // self.width, i % self.width)
    end)
  elseif not self.literal and #self.entries > 0 then
    local n = per_vector(type)
    put(self.tiles * padded(self, type), function(i)
      local entry = self.entries[i // (n * self.tiles) * n + i % n + 1]
      return entry and self.weight(i // n % self.tiles, entry.j, entry.c) or 0.0
    end)
  end
  return lines
end

-- The C expression of the window's start for the tile that variable `tile` names.
function tiling.start(self, name, tile)
  if self.line then return axes.line_text(self.line, tile) end
  if self.starts then return ("%s_starts[%s]"):format(name, tile) end
  if self.step == 0 then return tostring(self.offset) end
  return ("%d * (gt_i32)%s + %d"):format(self.step, tile, self.offset)
end

-- The C condition under which a position that may lie outside of its axis lies in it.
function tiling.inside(position, length) return ("(gt_u32)(%s) < %du"):format(position, length) end

local function variable(name, entry) return ("%s_%d_%d"):format(name, entry.j, entry.c) end

-- The C expression of where in a table of weights those of the tile that variable `tile` names begin.
function tiling.first_weight(name, tile, type) return ("%s_weights + %s * %du"):format(name, tile, per_vector(type)) end

-- How many vectors of weights a tile has.
function tiling.vectors(self, type) return padded(self, type) // per_vector(type) end

-- How many words a table of weights has: none where all are literals.
function tiling.weight_words(self, type) return self.literal and 0 or self.tiles * padded(self, type) end

-- Declarations of the weights that are not plain literals, for the tile that variable `tile` names. Their tables are those of `tables`, where
-- that is not `name`; or from.pointer, the name of a pointer of type from.type to vectors, is where they begin from.ahead tiles before this one.
function tiling.declare(self, name, tile, type, literal, tables, from)
  local lines = {}
  if not self.literal then
    local row, n, words = padded(self, type), per_vector(type), { "x", "y", "z", "w" }
    for i = 0, row // n - 1 do
      local at = from and ("%s + %d"):format(from.pointer, (i * (from.pitch or self.tiles) + from.ahead) * n)
        or ("%s_weights + (%s + %du) * %du"):format(tables or name, tile, i * self.tiles, n)
      lines[#lines + 1] = ("const gt_vec16 %s_vector_%d = *(%s)(%s);"):format(name, i, from and from.type or "GT_TABLE_POINTER(gt_vec16)", at)
    end
    for _, entry in ipairs(self.entries) do
      local vector, at = ("%s_vector_%d"):format(name, entry.slot // n), entry.slot % n
      local value = ("gt_bits_float(%s.%s)"):format(vector, words[at + 1])
      if type == "double" then
        value = ("gt_bits_double(%s.%s, %s.%s)"):format(vector, words[2 * at + 2], vector, words[2 * at + 1])
      end
      lines[#lines + 1] = ("const %s %s = %s;"):format(type, variable(name, entry), value)
    end
    return lines
  end
  for _, entry in ipairs(self.entries) do
    if #entry.exceptions > 0 then
      local text = literal(entry.value, type)
      for _, exception in ipairs(entry.exceptions) do
        text = ("%s == %du ? %s : %s"):format(tile, exception.tile, literal(exception.value, type), text)
      end
      lines[#lines + 1] = ("const %s %s = %s;"):format(type, variable(name, entry), text)
    end
  end
  return lines
end

-- The C expression of an entry's weight.
function tiling.weight(self, name, entry, type, literal)
  if self.literal and #entry.exceptions == 0 then return literal(entry.value, type) end
  return variable(name, entry)
end

-- A statement that adds weight · value to `sum` (or sets it, when it is the first term), whatever tile it is.
function tiling.add_always(type, sum, weight_text, value, first)
  if first then return ("%s = %s * (%s)%s;"):format(sum, weight_text, type, value) end
  return ("%s = gt_fma_%s(%s, %s, %s);"):format(sum, type, weight_text, value, sum)
end

-- The same for an entry: a tile that does not use its column adds nothing, even if the value there is NaN.
function tiling.add(entry, type, sum, weight_text, value, first)
  if not entry.sometimes_zero then return tiling.add_always(type, sum, weight_text, value, first) end
  if first then return ("%s = %s != 0 ? %s * (%s)%s : 0;"):format(sum, weight_text, weight_text, type, value) end
  return ("if (%s != 0) %s"):format(weight_text, tiling.add_always(type, sum, weight_text, value, false))
end

-- A function of what tiling.add takes: that one where sums are guarded; else whatever a tile does not use is added, too, and kernels find by the sum
-- that it makes no number.
function tiling.adder(guarded)
  return guarded and tiling.add or function(entry, ...) return tiling.add_always(...) end
end

return tiling
