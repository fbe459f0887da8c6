-- What is worth choosing on AMD's CDNA GPUs only, for families whose blocks are independent:
--   order    linear, or xcd: workgroups are dealt to the 8 chiplets (XCDs) of an MI300X in turn; numbered through per XCD instead, blocks
--            that share outputs share an L2 cache
--   stores   plain, or nontemporal: grad_input is not read again, and need not displace grad_output in the caches
--   waves    waves per SIMD that the compiler must leave registers for; auto: its own choice (of families that ask for it)
local amd = {}

local function is_cdna(device) return device.target == "hip" and device.arch:find("^gfx9") ~= nil end

-- Chiplets that blocks are dealt to in turn: 8 on gfx940 … gfx950.
local function chiplets(device) return is_cdna(device) and device.arch:find("^gfx9[45]") and 8 or 1 end

-- Appends the parameter `order` alone to `list` and returns it.
function amd.order_parameter(list, device)
  if chiplets(device) > 1 then list[#list + 1] = { name = "order", values = { "linear", "xcd" } } end
  return list
end

-- Appends the parameters to `list` and returns it.
function amd.parameters(list, device, with_waves)
  if not is_cdna(device) then return list end
  amd.order_parameter(list, device)
  list[#list + 1] = { name = "stores", values = { "plain", "nontemporal" } }
  if with_waves then list[#list + 1] = { name = "waves", values = { "auto", 4, 8 } } end
  return list
end

-- Adds the default of `order` alone to a configuration and returns it: linear, or what is given.
function amd.order_default(c, device, value)
  if chiplets(device) > 1 then c.order = value or "linear" end
  return c
end

-- Adds their defaults to a configuration and returns it.
function amd.defaults(c, device, with_waves)
  if not is_cdna(device) then return c end
  amd.order_default(c, device)
  c.stores = "plain"
  if with_waves then c.waves = "auto" end
  return c
end

-- The registers of a CDNA SIMD allow so many waves only if a thread needs no more than its share.
function amd.constraint(values_alive)
  return {
    why = "so many waves would leave too few registers",
    ok = function(c, p, device)
      if not is_cdna(device) or c.waves == "auto" then return true end
      return values_alive(c, p, device) + 24 <= 512 // c.waves
    end,
  }
end

-- Lines to stand before a kernel: what its stores are.
function amd.stores(c, device)
  if is_cdna(device) and c.stores == "nontemporal" then
    return { "#undef GT_STORE", "#define GT_STORE(type, address, value) __builtin_nontemporal_store(value, (type *)(address))" }
  end
  return {}
end

-- What stands before GT_KERNEL's name: attributes.
function amd.attributes(c, device)
  if is_cdna(device) and c.waves ~= "auto" then return (" __attribute__((amdgpu_waves_per_eu(%d)))"):format(c.waves) end
  return ""
end

-- The C expression of the block's number in the chosen order: XCD x = b mod X gets the blocks from x·⌊N/X⌋ + min(x, N mod X) on.
function amd.block(c, device)
  if not is_cdna(device) or chiplets(device) == 1 or c.order == "linear" then return "gt_block()" end
  local n = chiplets(device)
  return ("gt_block_by_chiplet(gt_block(), gt_blocks(), %d)"):format(n)
end

return amd
