-- The depth axis of 3-D operators, for families that tile height and width: a thread also owns vz inputs along depth. It goes through the
-- depth window slice by slice, sums each slice as for 2-D, and adds the slice's sums to those inputs that used it.
local tiling = use "tiling"
local depth = {}

function depth.deep(p) return p.axes[1].n_in > 1 or p.axes[1].n_out > 1 end

-- The parameter, only where there is something to choose.
function depth.parameters(p)
  if not depth.deep(p) then return {} end
  return { { name = "vz", values = p.axes[1].n_in > 1 and { 1, 2 } or { 1 } } }
end

function depth.size(c, p) return depth.deep(p) and c.vz or 1 end

function depth.tiling(c, p) return tiling.make(p, 1, depth.size(c, p)) end

return depth
