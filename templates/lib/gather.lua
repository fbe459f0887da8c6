-- C text of one axis for kernels that go through windows in a loop, for axis number `number` of p, named after `name`:
--   INT name_first(INT input), name_last(INT input)   bounds of the outputs that can have used an input; last < first: none did
--   REAL name_weight(INT output, INT input)           the weight with which an output used an input, 0 where it did not
-- INT is gt_i32, or gt_i64 for axes longer than that; REAL is `type`. Linear interpolation computes all of it (lib/linear); other filters
-- read tables (as linear interpolation does where `tables` is asked for).
local axes = use "axis"
local linear = use "linear"
local gather = {}

local table_limit = 1 << 18 -- entries per axis

local function in_tables(p, number)
  local axis = p.axes[number]
  return p.filter ~= "linear" and not axis.identity
end

local function entries(p, number)
  local axis = p.axes[number]
  return axis.n_in * (axis.max_count + 2)
end

-- Whether the tables of all axes (where `tables`: also those that could be computed) are short enough to stand in a kernel.
function gather.fits(p, tables)
  for number = 1, 3 do
    if (tables or in_tables(p, number)) and entries(p, number) > table_limit then return false end
  end
  return true
end

-- The weight that every output has for every input it used, or nil where they differ.
local function only_weight(axis)
  local only
  for i = 0, axis.n_in - 1 do
    for k = 0, axis.count(i) - 1 do
      only = only or axis.weight(i, k)
      if axis.weight(i, k) ~= only then return nil end
    end
  end
  return only
end

function gather.functions(p, number, name, type, literal, tables)
  if not tables and not in_tables(p, number) then return linear.functions(p, number, name, literal) end
  local axis, columns = p.axes[number], math.max(1, p.axes[number].max_count)
  local lines = {}
  local function line(text, ...) lines[#lines + 1] = text:format(...) end
  local constant = only_weight(axis)
  if axis.n_in == 1 and constant then -- one window, all weights the same: no tables
    local first, last = axis.first(0), axis.first(0) + axis.count(0) - 1
    line("#define %s_first(input) %d", name, first)
    line("#define %s_last(input) %d", name, last)
    line("#define %s_weight(output, input) ((output) < %d || (output) > %d ? 0 : %s)", name, first, last, literal(constant, type))
    return lines
  end
  line("GT_TABLE gt_i32 %s_starts[%d] = %s;", name, axis.n_in,
    axes.list(axis.n_in, function(i) return tostring(axis.count(i) > 0 and axis.first(i) or 0) end))
  line("GT_TABLE gt_i32 %s_ends[%d] = %s;", name, axis.n_in,
    axes.list(axis.n_in, function(i) return tostring(axis.count(i) > 0 and axis.first(i) + axis.count(i) or 0) end))
  line("GT_FUNCTION gt_i32 %s_first(gt_i32 input) { return %s_starts[input]; }", name, name)
  line("GT_FUNCTION gt_i32 %s_last(gt_i32 input) { return %s_ends[input] - 1; }", name, name)
  if constant then
    line("#define %s_weight(output, input) ((output) < %s_starts[input] || (output) >= %s_ends[input] ? 0 : %s)", name, name, name,
      literal(constant, type))
  else
    line("GT_TABLE %s %s_weights[%d] = %s;", type, name, axis.n_in * columns, axes.list(axis.n_in * columns, function(i)
      local input, k = i // columns, i % columns
      return literal(k < axis.count(input) and axis.weight(input, k) or 0.0, type)
    end))
    line("GT_FUNCTION %s %s_weight(gt_i32 output, gt_i32 input) {", type, name)
    line("  return output < %s_starts[input] || output >= %s_ends[input]", name, name)
    line("             ? 0 : %s_weights[input * %d + output - %s_starts[input]];", name, columns, name)
    line("}")
  end
  return lines
end

-- The other direction, for kernels that go from outputs to inputs: C text of name_input(output, k) and name_tap(output, k), the k-th input
-- that the forward read for an output, and its weight; and how many there are at most.
function gather.forward(p, number, name, type, literal)
  local axis = p.axes[number]
  if not in_tables(p, number) then
    local lines = linear.functions(p, number, name, literal)
    lines[#lines + 1] = ("#define %s_input(output, k) ((k) ? %s_upper(output) : %s_lower(output))"):format(name, name, name)
    lines[#lines + 1] = ("#define %s_tap(output, k) ((k) ? %s_fraction(output) : 1 - %s_fraction(output))"):format(name, name, name)
    return lines, axis.identity and 1 or 2
  end
  local inputs, weights, most = {}, {}, 1
  for i = 0, axis.n_in - 1 do
    for k = 0, axis.count(i) - 1 do
      local output = axis.first(i) + k
      inputs[output], weights[output] = inputs[output] or {}, weights[output] or {}
      table.insert(inputs[output], i)
      table.insert(weights[output], axis.weight(i, k))
      most = math.max(most, #inputs[output])
    end
  end
  local function entry(of, i, default) return of[i // most] and of[i // most][i % most + 1] or default end
  local n = axis.n_out * most
  return {
    ("GT_TABLE gt_i32 %s_inputs[%d] = %s;"):format(name, n, axes.list(n, function(i) return tostring(entry(inputs, i, 0)) end)),
    ("GT_TABLE %s %s_taps[%d] = %s;"):format(type, name, n, axes.list(n, function(i) return literal(entry(weights, i, 0.0), type) end)),
    ("#define %s_input(output, k) %s_inputs[(output) * %d + (k)]"):format(name, name, most),
    ("#define %s_tap(output, k) %s_taps[(output) * %d + (k)]"):format(name, name, most),
  }, most
end

return gather
