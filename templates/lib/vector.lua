-- Vector loads and stores: their C text, for elements of 2, 4 or 8 bytes in vectors of up to 16 bytes.
local vector = {}

local names = { [4] = { "x" }, [8] = { "x", "y" }, [16] = { "x", "y", "z", "w" } }
local types = { [4] = "gt_u32", [8] = "gt_vec8", [16] = "gt_vec16" }

-- The largest power of two that divides every argument, at most `limit`.
function vector.common_power(limit, ...)
  local power = limit
  for _, n in ipairs { ... } do
    while n % power ~= 0 do power = power // 2 end
  end
  return power
end

-- 1, 2, 4, … up to a power of two.
function vector.powers(last)
  local list = { 1 }
  while list[#list] < last do list[#list + 1] = 2 * list[#list] end
  return list
end

local function word(name, bytes, i)
  if bytes == 4 then return name end
  return name .. "." .. names[bytes][i + 1]
end

-- Whether `elements` elements are moved as one vector, not as a scalar.
local function is_vector(p, elements) return elements * p.dtype_bytes >= 4 and elements > 1 end

-- The C type of what vector.read reads, and the expression that reads `elements` elements from `address` (a pointer expression to gt_storage)
-- in one access.
function vector.type(p, elements)
  return is_vector(p, elements) and types[elements * p.dtype_bytes] or "gt_storage"
end
function vector.read(p, elements, address)
  if not is_vector(p, elements) then return ("*(%s)"):format(address) end
  return ("*(const GT_GLOBAL %s *)(%s)"):format(vector.type(p, elements), address)
end

-- Declares `name`, read from `address`.
function vector.load(p, elements, name, address)
  return ("const %s %s = %s;"):format(vector.type(p, elements), name, vector.read(p, elements, address))
end

-- Lines that set the variable `name` to what is read from `address` where `condition` (a C expression; "": always) holds, and to zero elsewhere.
function vector.assign_if(p, elements, name, address, condition)
  local value = vector.read(p, elements, address)
  if condition == "" then return { ("%s = %s;"):format(name, value) } end
  if not is_vector(p, elements) then return { ("%s = %s ? %s : 0;"):format(name, condition, value) } end
  local bytes, zeros = elements * p.dtype_bytes, {}
  for i = 0, bytes // 4 - 1 do zeros[#zeros + 1] = ("%s = 0;"):format(word(name, bytes, i)) end
  return { table.concat(zeros, " "), ("if (%s) %s = %s;"):format(condition, name, value) }
end

-- The same of a variable that is declared.
function vector.load_if(p, elements, name, address, condition)
  if condition == "" then return { vector.load(p, elements, name, address) } end
  local lines = vector.assign_if(p, elements, name, address, condition)
  table.insert(lines, 1, ("%s %s;"):format(vector.type(p, elements), name))
  return lines
end

-- Element `i` of such a value `name`, as a gt_real.
function vector.element(p, elements, name, i)
  if not is_vector(p, elements) then return ("gt_widen(%s)"):format(name) end
  local bytes = elements * p.dtype_bytes
  if p.dtype == "f64" then
    return ("gt_bits_double(%s, %s)"):format(word(name, bytes, 2 * i + 1), word(name, bytes, 2 * i))
  elseif p.dtype == "f32" then
    return ("gt_bits_float(%s)"):format(word(name, bytes, i))
  end
  return ("%s(%s)"):format(i % 2 == 0 and "gt_first" or "gt_second", word(name, bytes, i // 2))
end

-- Of such a vector, word i made of values, given as C expressions of gt_real.
local function narrowed(p, values, i)
  if p.dtype == "f64" then return (i % 2 == 0 and "gt_double_low(%s)" or "gt_double_high(%s)"):format(values[i // 2 + 1]) end
  if p.dtype == "f32" then return ("gt_float_bits(%s)"):format(values[i + 1]) end
  return ("gt_pair(%s, %s)"):format(values[2 * i + 1], values[2 * i + 2])
end

-- The same of values of gt_storage, whose bits stay as they are.
local function copied(p, values, i)
  if p.dtype_bytes > 2 then return narrowed(p, values, i) end
  return ("(gt_u32)%s | (gt_u32)%s << 16"):format(values[2 * i + 1], values[2 * i + 2])
end

local function store(p, elements, name, address, values, word_of)
  local bytes = elements * p.dtype_bytes
  local kind = types[bytes]
  local lines = { ("%s %s;"):format(kind, name) }
  for i = 0, bytes // 4 - 1 do lines[#lines + 1] = ("%s = %s;"):format(word(name, bytes, i), word_of(p, values, i)) end
  lines[#lines + 1] = ("GT_STORE(GT_GLOBAL %s, %s, %s);"):format(kind, address, name)
  return lines
end

-- Lines that store the values (C expressions of gt_real, as many as `elements`) at `address` in one access. `name` is free for use.
function vector.store(p, elements, name, address, values)
  if is_vector(p, elements) then return store(p, elements, name, address, values, narrowed) end
  return { ("GT_STORE(GT_GLOBAL gt_storage, %s, gt_narrow(%s));"):format(address, values[1]) }
end

-- The same of values that are gt_storage already.
function vector.copy(p, elements, name, address, values)
  if is_vector(p, elements) then return store(p, elements, name, address, values, copied) end
  return { ("GT_STORE(GT_GLOBAL gt_storage, %s, %s);"):format(address, values[1]) }
end

return vector
