load helpers

# Kernels that are wrong, each in its way, on a real device: a family like `direct`, whose parameter names the fault.
faulty_templates() {
  mkdir templates
  cp -r "$ROOT"/templates/. templates/
  sed "s/FAULT/$1/" >templates/faulty.lua <<'FAMILY'
local gather = use "gather"
local gradient = use "gradient"

return {
  role = "candidate",
  description = "direct, with a fault",
  claims = gather.fits,
  parameters = function()
    return {
      { name = "block", values = { 64, 256 } },
      { name = "fault", values = { "none", "FAULT" } },
      { name = "acc", values = { "float" } },
    }
  end,
  constraints = {},
  default = function() return { block = 64, fault = "none", acc = "float" } end,
  launches = function(c, p) return { { kernel = "gt_faulty", block = c.block, blocks = { p.in_slice, c.block } } } end,
  workspace = function() return 64, 0 end,
  bindings = function() return { gather = gather, gradient = gradient } end,
}
FAMILY
  { sed -e 's/gt_direct/gt_faulty/' -e '/grad_input\[first + gt_thread()\] = gt_narrow(sum);/,$d' templates/direct.kernel
    cat <<'KERNEL'
  const GT_GLOBAL gt_i32 *poison = (const GT_GLOBAL gt_i32 *)workspace;
@if c.fault == "overrun" then
  if (first + gt_thread() == 0) grad_input[(gt_u64)outer * $(p.in_slice)u] = gt_narrow(1);
@elseif c.fault == "wrong" then
  if (first + gt_thread() == 3) sum *= ($(c.acc))1.01;
@elseif c.fault == "unstable" then
  if (poison[0] != 0x7fff7fff) sum = sum * ($(c.acc))1.0000001;
@elseif c.fault == "fault" then
  *(volatile GT_GLOBAL gt_i32 *)(gt_u64)64 = 1;
@elseif c.fault == "hang" then
  for (volatile gt_i32 again = poison[0]; again != 1;) sum += ($(c.acc))again;
@elseif c.fault == "compile" then
  this does not compile
@end
  grad_input[first + gt_thread()] = gt_narrow(sum);
}
KERNEL
  } >templates/faulty.kernel
  export GATHERTUNE_TEMPLATES=$PWD/templates
}

# Tunes with a fault: half of the configurations must end as one of $2, the winner is a right one, and after that the device works.
survives() {
  local fault=$1 outcomes=$2
  shift 2
  faulty_templates "$fault"
  gt tune "$P" --device "$DEVICE" --families faulty --budget 4 $SHORT --json "$@"
  works
  json '.problems[0] | .failed == 2 and (.configuration | contains("fault=none")) and .best_us > 0'
  gt list --trials "$P" --device "$DEVICE" --json
  json '[.trials[] | select(.configuration | contains("fault=\($fault)"))] | length == 2 and all(.outcome as $o | $allowed | index($o))' \
    --arg fault "$fault" --argjson allowed "$outcomes"
}

quarantined() {
  gt list --quarantine --json
  json '.quarantine | length == $n' --argjson n "$1"
}

@test "a kernel that writes past its output is out of bounds" {
  survives overrun '["out_of_bounds"]'
  quarantined 0
}

@test "a kernel with a wrong element is a wrong result" {
  survives wrong '["wrong_result"]'
}

@test "a kernel whose result depends on what was in memory is unstable" {
  survives unstable '["unstable_result"]'
}

@test "a kernel that faults costs its worker, and is in quarantine when that died" {
  survives fault '["crash", "launch_error"]'
  crashes=$(gathertune list --trials "$P" --device "$DEVICE" --json | jq '[.trials[] | select(.outcome == "crash")] | length')
  quarantined "$crashes"
}

@test "a kernel that never ends is ended after the time limit, and is in quarantine" {
  survives hang '["timeout"]' --launch-limit 8 # the others are compiled for their blocks at their first launch
  quarantined 2
}

@test "a kernel that does not compile is a compile error" {
  survives compile '["compile_error"]'
  quarantined 0
}
