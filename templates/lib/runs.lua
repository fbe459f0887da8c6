-- What families share that copy runs of outputs to shared memory wherever rows start.
local axes = use "axis"
local runs = {}

-- Whether outputs of a problem are such runs, of rows that do not start at vectors, or false and why not.
function runs.claims(p)
  if p.inner ~= 1 or p.pixel_stride ~= 1 then return false, "channels-first only (inner does channels-last)" end
  if axes.deep(p) then return false, "2-D and 1-D only" end
  if p.strided then return false, "dense gradients only" end
  if p.axes[3].n_out * p.dtype_bytes % 16 == 0 then
    return false, "rows of outputs that start at multiples of 16 bytes (march and taps load vectors of them as they are)"
  end
  if p.in_slice >= 1 << 30 or p.out_slice >= 1 << 30 then return false, "slices of 2^30 elements and more (direct does them)" end
  if math.max(p.axes[2].n_in, p.axes[2].n_out, p.axes[3].n_in, p.axes[3].n_out) > 1 << 14 then
    return false, "more than 16384 inputs or outputs along an axis"
  end
  if p.axes[3].max_count > 40 then return false, "more than 40 outputs per input along the width" end
  return true
end

return runs
