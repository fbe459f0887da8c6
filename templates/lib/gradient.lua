-- Where the elements of grad_output lie. It may be a slice of a larger tensor, with gaps between pixels (channels-last), rows, planes, slices
-- and batches; then p.strided is true. grad_input is always dense.
--
-- Kernels and families read `slice` and the strides of p, never products of sizes, so that a dense tensor is just the case without gaps.
local vector = use "vector"
local gradient = {}

-- The C expression of where slice `o` (the name of a gt_u64: an outer index) starts, in elements.
function gradient.slice(p, o)
  if p.batch_slices == 1 then return ("%s * %du"):format(o, p.slice_stride) end
  return ("(%s / %du * %du + %s %% %du * %du)"):format(o, p.batch_slices, p.batch_stride, o, p.batch_slices, p.slice_stride)
end

-- The largest power of two, at most `limit`, that divides all strides but the innermost: so many elements are as aligned at the start of a row
-- (channels-last: of a pixel) as at the start of the tensor. A dimension of length 1 has no say.
function gradient.alignment(p, limit)
  local power = vector.common_power(limit, p.slice_stride, p.batch_stride)
  if p.axes[1].n_out > 1 then power = vector.common_power(power, p.plane_stride) end
  if p.axes[2].n_out > 1 then power = vector.common_power(power, p.row_stride) end
  if p.layout == "nhwc" and p.axes[3].n_out > 1 then power = vector.common_power(power, p.pixel_stride) end
  return power
end

-- The dimensions of a slice from number `first` to `last` (1 depth, 2 height, 3 width, 4 the inner index), outermost first, as {size, stride}:
-- without those of length 1, and with those in one that lie within each other without a gap.
function gradient.dimensions(p, first, last)
  local sizes = { p.axes[1].n_out, p.axes[2].n_out, p.axes[3].n_out, p.inner }
  local strides = { p.plane_stride, p.row_stride, p.pixel_stride, 1 }
  local list = {}
  for i = first, last do
    local outside = list[#list]
    if outside and sizes[i] > 1 and outside.stride == sizes[i] * strides[i] then
      list[#list] = { size = outside.size * sizes[i], stride = strides[i] }
    elseif sizes[i] > 1 then
      list[#list + 1] = { size = sizes[i], stride = strides[i] }
    end
  end
  return list
end

-- The C expression of where index `i` (the name of a gt_u32) of dimensions numbered through lies, in elements.
function gradient.offset(dimensions, i)
  local terms, within = {}, 1
  for k = #dimensions, 1, -1 do
    local d, text = dimensions[k], i
    if within > 1 then text = ("%s / %du"):format(text, within) end
    if k > 1 then text = ("%s %% %du"):format(text, d.size) end
    table.insert(terms, 1, d.stride == 1 and text or ("%s * %du"):format(text, d.stride))
    within = within * d.size
  end
  return #terms == 0 and "0u" or table.concat(terms, " + ")
end

return gradient
