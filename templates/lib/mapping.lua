-- How work items are dealt to blocks. An outer slice has `items` work items; a kernel's block number and thread number are turned into the
-- outer index `o` and the work item `item` within its slice.
--   flat    items of all slices are numbered through: every lane works, whatever the size of a slice
--   slice   a block works on one slice only: no division per thread, but lanes idle where the slice does not fill its last block
local mapping = {}

function mapping.values() return { "slice", "flat" } end

local function blocks_per_slice(items, block) return (items + block - 1) // block end

-- The launch rule's blocks: {numerator, denominator} per outer slice.
function mapping.blocks(map, items, block)
  if map == "flat" then return { items, block } end
  return { blocks_per_slice(items, block), 1 }
end

-- Why a mapping is not worth trying, or nil.
function mapping.constraint(items_of)
  return {
    why = "map=slice would leave over a quarter of the lanes idle, or map=flat would be the same as map=slice",
    ok = function(c, p, device)
      local items = items_of(c, p, device)
      local filled = blocks_per_slice(items, c.block) * c.block
      if c.map == "flat" then return filled ~= items end
      return filled - items <= filled // 4
    end,
  }
end

-- The mapping to take when nothing was tuned.
function mapping.default(items, block)
  return blocks_per_slice(items, block) * block == items and "slice" or "flat"
end

-- Lines that declare `o` (gt_u64) and `item` (gt_u32) and return from the kernel where there is nothing to do.
-- Needs items < 2^31, and less than 2^31 outer indices: then almost all of it is arithmetic of 32 bits, which counts in short kernels.
-- `number`: the C expression of the block's number, where it is not gt_block().
function mapping.lines(map, items, block, number)
  local head = ("const gt_u32 block = (gt_u32)(%s);"):format(number or "gt_block()")
  if map == "flat" and items * block < 1 << 32 then
    -- `items` blocks do `block` slices.
    return {
      head,
      ("const gt_u32 batch = block / %du, place = (block - batch * %du) * %du + gt_thread();"):format(items, items, block),
      ("const gt_u32 slice_in_batch = place / %du, item = place - slice_in_batch * %du;"):format(items, items),
      ("const gt_u64 o = batch * %du + slice_in_batch;"):format(block),
      "if (o >= (gt_u64)outer) return;",
    }
  end
  if map == "flat" then
    return {
      head,
      ("const gt_u64 place = (gt_u64)block * %du + gt_thread(), o = place / %du;"):format(block, items),
      ("const gt_u32 item = (gt_u32)(place - o * %du);"):format(items),
      "if (o >= (gt_u64)outer) return;",
    }
  end
  local per_slice = blocks_per_slice(items, block)
  return {
    head,
    ("const gt_u32 slice_number = block / %du;"):format(per_slice),
    ("const gt_u32 item = (block - slice_number * %du) * %du + gt_thread();"):format(per_slice, block),
    "const gt_u64 o = slice_number;",
    ("if (o >= (gt_u64)outer || item >= %du) return;"):format(items),
  }
end

return mapping
