-- Sorting the samples of an image by the pixels that they touch, as the grid families that gather do it.
--
-- A sample gives `keys` entries, each of which goes into one bin. Bilinear: one entry, in the bin of the cell between pixels (y, x) and
-- (y+1, x+1), from cell (-1, -1) on, so that the cells left and right of a pixel are neighbours; nearest: one entry, in the bin of the pixel;
-- bicubic, whose taps are padded one by one: an entry per tap, in the bin of the pixel. Entry number = sample · keys + tap; within a bin the
-- list is in the order of these numbers, whatever order threads ran in, so that sums over it repeat. Entries that touch no pixel are left out.
local sampling = use "sampling"
local bins = {}

function bins.keys(p) return p.interpolation == "bicubic" and 16 or 1 end

function bins.count(p)
  if p.interpolation ~= "bilinear" then return sampling.pixels(p) end
  return (p.axes[2].n_in + 1) * (p.axes[3].n_in + 1)
end

-- Entries of an image, at most.
function bins.entries(p) return sampling.samples(p) * bins.keys(p) end

-- Pixels that an entry is added to: the corners of its cell, (y, x), (y, x+1), (y+1, x), (y+1, x+1).
function bins.corners(p) return p.interpolation == "bilinear" and 4 or 1 end

-- Numbers kept beside an entry: what is left of x and of y after rounding down; no number; the weight.
local values = { bilinear = 2, nearest = 0, bicubic = 1 }
function bins.values(p) return values[p.interpolation] end

-- Lines that declare key_0, …: the bins (int, -1: none) of the sample at the coordinates x and y (expressions).
function bins.key_lines(p, x, y)
  local lines = {}
  local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  local width, height = p.axes[3].n_in, p.axes[2].n_in
  for i, axis in ipairs(sampling.axes) do
    for _, line in ipairs(sampling.tap_lines(p, axis, i == 1 and y or x, false)) do lines[#lines + 1] = line end
  end
  if p.interpolation == "bilinear" then
    add("const int key_0 = Y_at0 >= -1 && Y_at0 < %d && X_at0 >= -1 && X_at0 < %d ? (Y_at0 + 1) * %d + X_at0 + 1 : -1;", height, width, width + 1)
    return lines
  end
  local taps = sampling.taps(p)
  for j = 0, taps - 1 do
    for k = 0, taps - 1 do
      local inside = sampling.can_miss(p) and ("Y_at%d >= 0 && Y_at%d < %d && X_at%d >= 0 && X_at%d < %d ? "):format(j, j, height, k, k, width) or ""
      add("const int key_%d = %sY_at%d * %d + X_at%d%s;", j * taps + k, inside, j, width, k, inside == "" and "" or " : -1")
    end
  end
  return lines
end

-- After these: the values of entry number `tap` of the sample, as C expressions.
function bins.value_list(p, tap)
  if p.interpolation == "bilinear" then return { "X_w1", "Y_w1" } end
  if p.interpolation == "nearest" then return {} end
  return { ("Y_w%d * X_w%d"):format(tap // 4, tap % 4) }
end

-- Lines that declare `bin`, where entry number `tap` (an int expression) of the sample at the coordinates x and y is, and its values, `value_0`
-- and so on. The entry must touch a pixel.
function bins.entry_lines(p, x, y, tap)
  if p.interpolation ~= "bicubic" then
    local lines = bins.key_lines(p, x, y)
    lines[#lines + 1] = "const int bin = key_0;"
    if p.interpolation == "bilinear" then lines[#lines + 1] = ("const %s value_0 = X_w1, value_1 = Y_w1;"):format(sampling.real(p)) end
    return lines
  end
  local lines = {}
  local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  for i, axis in ipairs(sampling.axes) do
    local name = axis.name
    for _, line in ipairs(sampling.tap_lines(p, axis, i == 1 and y or x, false)) do lines[#lines + 1] = line end
    add("const int %s_tap = %s;", name, i == 1 and ("(%s) / 4"):format(tap) or ("(%s) %% 4"):format(tap))
    for _, what in ipairs { "at", "w" } do
      add("const %s %s_own_%s = %s_tap == 0 ? %s_%s0 : %s_tap == 1 ? %s_%s1 : %s_tap == 2 ? %s_%s2 : %s_%s3;",
        what == "at" and "int" or sampling.real(p), name, what, name, name, what, name, name, what, name, name, what, name, what)
    end
  end
  add("const int bin = Y_own_at * %d + X_own_at;", p.axes[3].n_in)
  add("const %s value_0 = Y_own_w * X_own_w;", sampling.real(p))
  return lines
end

-- Lines that declare before_<name>, the sum of the ints `own` (a C expression) of all threads of a lower number, and all_<name>, that of all
-- threads; `sums` is shared memory of an int per thread. All threads must come here. The doubling steps of a GPU are a loop over all on a CPU,
-- whose compilers take long for barriers.
function bins.scan_lines(name, own, threads, device)
  local lines = { ("sums[gt_thread()] = %s;"):format(own), "gt_barrier();" }
  local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  if device.is_cpu then
    add("int before_%s = 0, all_%s = 0;", name, name)
    add("for (int i = 0; i < %d; i++) before_%s += i < (int)gt_thread() ? sums[i] : 0, all_%s += sums[i];", threads, name, name)
    add("gt_barrier();")
    return lines
  end
  local step = 1
  while step < threads do
    add("const int %s_%d = gt_thread() >= %du ? sums[gt_thread() - %du] : 0;", name, step, step, step)
    add("gt_barrier();")
    add("sums[gt_thread()] += %s_%d;", name, step)
    add("gt_barrier();")
    step = step * 2
  end
  add("const int before_%s = sums[gt_thread()] - (%s), all_%s = sums[%d];", name, own, name, threads - 1)
  add("gt_barrier();")
  return lines
end

-- Lines that declare `name`, the sum of the ints `own` of all threads; else as scan_lines.
function bins.total_lines(name, own, threads)
  local parts = math.min(32, threads)
  return {
    ("sums[gt_thread()] = %s;"):format(own),
    "gt_barrier();",
    ("if (gt_thread() < %du) {"):format(parts),
    ("  int part = sums[gt_thread()];"),
    ("  for (int i = %d; i < %d; i += %d) part += sums[gt_thread() + i];"):format(parts, threads, parts),
    "  sums[gt_thread()] = part;",
    "}",
    "gt_barrier();",
    ("int %s = 0;"):format(name),
    ("for (int i = 0; i < %d; i++) %s += sums[i];"):format(parts, name),
    "gt_barrier();",
  }
end

return bins
