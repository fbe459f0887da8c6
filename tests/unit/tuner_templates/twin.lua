-- Four configurations of one kernel: two are the same source, the third has another comment in it, and the last one is the
-- default of `direct` in another name.
return {
  role = "baseline",
  description = "the same kernel four times",
  claims = function(p) return true end,
  parameters = function(p) return { { name = "note", values = { "none", "nothing", "comment", "direct" } } } end,
  default = function(p, device) return { note = "none" } end,
  launches = function(c, p) return { { kernel = "k", block = c.note == "direct" and 32 or 48,
    blocks = { p.in_slice, c.note == "direct" and 32 or 48 } } } end,
  reproducible = function(c, p) return true end,
}
