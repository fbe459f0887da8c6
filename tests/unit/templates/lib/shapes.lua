local shapes = {}

function shapes.blocks(elements, per_block) return { elements, per_block } end
function shapes.double(i) return 2.0 * i end

function shapes.check(value)
  if value ~= 1 then error("not one") end
  return value
end

return shapes
