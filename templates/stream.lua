-- The speed of light: reads all of grad_output once and writes all of grad_input once, and computes nothing useful. What a problem's kernels
-- are measured against; never a candidate.
--
-- A strided grad_output is read in runs: stretches of a slice without a gap longer than what memory moves at a time, so that reading such
-- gaps along costs nothing. A run is read as the aligned 16-byte vectors that hold it. Of longer gaps only the few bytes that share
-- a vector with a run are read.
local gradient = use "gradient"

local block = 256 -- twice as many made no difference on an H200
local sector = 32 -- bytes that memory moves at a time: of NVIDIA's GPUs; AMD's move 64 or 128

local function slice_bytes(p) return p.out_slice * p.dtype_bytes, p.in_slice * p.dtype_bytes end

-- The length of a run in elements, how many vectors may hold it, and the dimensions of a slice that count its runs.
local function runs(p)
  local dimensions, length, per_vector = gradient.dimensions(p, 1, 4), 1, 16 // p.dtype_bytes
  while #dimensions > 0 and (dimensions[#dimensions].stride - length) * p.dtype_bytes < sector do
    local d = table.remove(dimensions)
    length = (d.size - 1) * d.stride + length
  end
  local aligned = p.slice_stride % per_vector == 0 and p.batch_stride % per_vector == 0
  for _, d in ipairs(dimensions) do aligned = aligned and d.stride % per_vector == 0 end
  local before = aligned and 0 or per_vector - 1 -- elements of a run's first vector that may lie before the run
  return { length = length, vectors = (length + before + per_vector - 1) // per_vector, per_vector = per_vector, dimensions = dimensions }
end

-- Vectors per outer slice.
local function slice_vectors(p)
  local r = runs(p)
  local count = r.vectors
  for _, d in ipairs(r.dimensions) do count = count * d.size end
  return count
end

return {
  role = "bound",
  description = "reads every byte of grad_output once and writes every byte of grad_input once",

  claims = function(p)
    if p.strided and slice_vectors(p) >= 1 << 31 then return false, "strided slices of 2^31 vectors and more" end
    return true
  end,

  -- 16-byte loads in flight per thread.
  parameters = function() return { { name = "loads", values = { 1, 2, 4, 8 } } } end,

  default = function() return { loads = 4 } end,

  -- A block moves loads · block vectors of what is read.
  launches = function(c, p)
    local read = slice_bytes(p)
    local blocks = { read, 16 * c.loads * block }
    if p.strided then blocks = { slice_vectors(p), c.loads * block } end
    return { { kernel = "gt_stream", block = block, blocks = blocks } }
  end,

  bindings = function(c, p)
    local read, written = slice_bytes(p)
    return { block = block, read = read, written = written, gradient = gradient, runs = runs(p), slice_vectors = slice_vectors(p) }
  end,
}
