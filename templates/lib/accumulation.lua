-- The type that a kernel keeps its sums in: the parameter `acc` of most families.
local accumulation = {}

-- That of a problem's arithmetic: float, or double for f64.
function accumulation.type(p) return p.double_arithmetic and "double" or "float" end

function accumulation.bytes(type) return type == "double" and 8 or 4 end

-- The parameter. Float sums of f64 are not searched, only made on request.
function accumulation.parameter(p)
  return { name = "acc", values = { accumulation.type(p) }, on_request = p.double_arithmetic and { "float" } or {} }
end

return accumulation
