-- Where the words of rows lie in shared memory, so that lanes that read at once meet in few banks: 32 of 4 bytes, which is what NVIDIA's
-- and AMD's GPUs have. In a layout, position X of a row is at
--   X                                 plain
--   X mod split · part + X / split    split: positions that are neighbours after division by `split` are neighbours
-- All numbers are zero-based, lengths in words.
local banks = {}

local bank_bytes = 128

-- The position `X` (a C expression of a gt_u32, in parentheses if it needs them) in a layout, as a C expression.
function banks.text(layout, X)
  if layout.split > 1 then return ("%s %% %du * %du + %s / %du"):format(X, layout.split, layout.part, X, layout.split) end
  return X
end

local function position(layout, X)
  if layout.split > 1 then return X % layout.split * layout.part + X // layout.split end
  return X
end

-- Cycles that 32 lanes' reading of a word of `bytes` bytes takes on average, at `column` past where lanes' windows start.
local function cycles(layout, lanes, column, bytes)
  local per_phase, total, groups = bank_bytes // bytes, 0, 0
  for first = 0, lanes.n - per_phase, per_phase do
    local seen, worst = {}, 1
    for lane = first, first + per_phase - 1 do
      local word = lanes.rows[lane] * layout.pitch + position(layout, lanes.starts[lane] + column)
      local bank = word % per_phase
      seen[bank] = seen[bank] or {}
      if not seen[bank][word] then
        seen[bank][word] = true
        seen[bank].n = (seen[bank].n or 0) + 1
        worst = math.max(worst, seen[bank].n)
      end
    end
    total, groups = total + worst, groups + 1
  end
  return groups == 0 and 1 or total / groups * (32 // per_phase)
end

-- A layout of rows of `length` positions in their order, so that they can be read in aligned vectors.
function banks.plain(length) return { split = 1, pitch = (length + 3) // 4 * 4, offsets = 0 } end

-- One of rows that are read by words of `bytes` bytes. Of each of `lanes.n` lanes, in order, the window starts at lanes.starts[lane] of row
-- lanes.rows[lane] and is `width` long.
function banks.choose(length, lanes, width, bytes)
  local candidates = {}
  for pad = 0, 28, 4 do candidates[#candidates + 1] = banks.plain(length + pad) end
  for _, split in ipairs { 2, 4, 8 } do
    local apart = 32 // split -- banks that parts are apart
    local part = ((length + split - 1) // split - apart + 31) // 32 * 32 + apart
    candidates[#candidates + 1] = { split = split, part = part, pitch = split * part, offsets = split }
  end
  local best
  for _, layout in ipairs(candidates) do
    local sum, different = 0, math.min(layout.split, width)
    for column = 0, different - 1 do sum = sum + cycles(layout, lanes, column, bytes) end
    -- Shared memory serves one instruction per cycle where the schedulers issue four, of which an offset takes one.
    layout.cost = sum / different * width + layout.offsets / 4
    -- What saves little is not worth its offsets or its room.
    if not best or layout.cost < (layout.offsets > best.offsets and 0.85 or 0.95) * best.cost then best = layout end
  end
  return best
end

return banks
