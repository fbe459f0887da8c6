-- What libraries that cut an axis into tiles share. All numbers are zero-based.
local axes = {}

-- Whether a problem has a depth.
function axes.deep(p) return p.axes[1].n_in > 1 or p.axes[1].n_out > 1 end

-- First and end (exclusive) of the window of outputs that each tile of `size` inputs gathers from.
function axes.windows(axis, size, tiles)
  local from, to = {}, {}
  for t = 0, tiles - 1 do
    local a, b = math.maxinteger, math.mininteger
    for i = t * size, math.min((t + 1) * size, axis.n_in) - 1 do
      local count = axis.count(i)
      if count > 0 then
        a = math.min(a, axis.first(i))
        b = math.max(b, axis.first(i) + count)
      end
    end
    if a > b then a, b = from[t - 1] or 0, from[t - 1] or 0 end -- nothing was read from this tile
    from[t], to[t] = a, b
  end
  return from, to
end

-- A line of starts with about this slope: start(t) = (slope · t + bias) >> shift, not below 0 and not above `most`, as {slope, bias, shift, most, multiple},
-- with first[t] ≤ start(t) ≤ last[t] for t from 0 to tiles - 1, or nil.
function axes.line_between(first, last, tiles, slope, most)
  local shift = 16
  while shift > 0 and slope * tiles * (1 << shift) >= 1 << 30 do shift = shift - 1 end
  slope = math.floor(slope * (1 << shift) + 0.5)
  local bias = math.maxinteger
  for t = 0, tiles - 1 do
    if last[t] < most then bias = math.min(bias, ((last[t] + 1) << shift) - 1 - slope * t) end
  end
  if math.abs(bias) >= 1 << 30 then return nil end
  local line = { slope = slope, bias = bias, shift = shift, most = most, multiple = 1 }
  for t = 0, tiles - 1 do
    local start = axes.on_line(line, t)
    if start < first[t] or start > last[t] then return nil end
  end
  return line
end

-- Where tile t starts on such a line.
function axes.on_line(line, t)
  local start = (line.slope * t + line.bias) // (1 << line.shift) * line.multiple
  return line.most and math.max(0, math.min(line.most, start)) or start
end

-- The same as a C expression, for the tile that the C expression `tile` gives.
function axes.line_text(line, tile)
  if not line.most then
    local text = ("((%d * (gt_i32)(%s) + %d) >> %d)"):format(line.slope, tile, line.bias, line.shift)
    return line.multiple == 1 and text or ("(%d * %s)"):format(line.multiple, text)
  end
  return ("gt_clamp((%d * (gt_i32)(%s) + %d) >> %d, %d)"):format(line.slope, tile, line.bias, line.shift, line.most)
end

-- What tells axes of one filter and of the same sizes apart (the kernels, strides and paddings of poolings, say): their first, middle and last
-- windows.
local function signature(axis)
  local parts = {}
  for _, i in ipairs { 0, axis.n_in // 2, axis.n_in - 1 } do
    local count = axis.count(i)
    parts[#parts + 1] = axis.first(i) .. "+" .. count
    if count > 0 then parts[#parts + 1] = ("%a %a"):format(axis.weight(i, 0), axis.weight(i, count - 1)) end
  end
  return table.concat(parts, " ")
end

-- A memory of what is made of the problem that was asked about last: once(p, key, make) returns make()'s result for the key, made once
-- while other problems do not come between.
function axes.once()
  local last, kept
  return function(p, key, make)
    if last ~= p then last, kept = p, {} end
    local result = kept[key]
    if result == nil then
      result = make()
      kept[key] = result
    end
    return result
  end
end

-- A cache of what is made of axis number `number` of a problem and some further choices: remember(p, number, make, ...) returns make()'s
-- result for these, made once while it is among the last 64, whatever the problem. To tell whether axes are alike takes long, so that this is
-- asked only once of a problem.
function axes.cache()
  local kept, count, once = {}, 0, axes.once()
  return function(p, number, make, ...)
    local choices = ""
    for _, choice in ipairs { ... } do choices = choices .. " " .. tostring(choice) end
    return once(p, number .. choices, function()
      local axis = p.axes[number]
      local key = table.concat({ p.filter, p.dtype, tostring(p.align_corners), axis.n_in, axis.n_out, ("%a"):format(axis.ratio), signature(axis) },
        " ") .. choices
      if kept[key] == nil then
        if count >= 64 then kept, count = {}, 0 end
        kept[key], count = make(), count + 1
      end
      return kept[key]
    end)
  end
end

-- A C initializer of n values, which value(i) gives as texts.
function axes.list(n, value)
  local parts = {}
  for i = 0, n - 1 do parts[#parts + 1] = value(i) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

return axes
