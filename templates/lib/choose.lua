-- Choosing a configuration by rule.
local choose = {}

-- The first of the configurations that meets every constraint, or nil.
function choose.first_legal(candidates, constraints, p, device)
  for _, c in ipairs(candidates) do
    local legal = true
    for _, constraint in ipairs(constraints) do
      if not constraint.ok(c, p, device) then legal = false break end
    end
    if legal then return c end
  end
  return nil
end

return choose
