#!/usr/bin/env python3
"""Times gathertune's kernels and PyTorch's own operator on the same problems, in one run, and prints the ratios; the memory that
either needs besides grad_output too.

usage: compare_pytorch.py [--suite bench/first_light.txt] [--gathertune build/gathertune] [--device auto] [--budget N]
                          [--cache FILE] [--families LIST] [--json FILE]

Needs PyTorch with a GPU. Both sides are timed cold: calls rotate through tensors that together exceed twice the last-level
cache, batches of calls lie between two events, and the median batch counts. PyTorch's calls are captured in a CUDA graph, so
that the time of Python is not counted. A problem with `stride` has the same strided tensor on both sides; what PyTorch does to make it
dense first is part of its time. PyTorch's memory is the peak that its allocator reports during one call, above what was allocated before:
grad_input, rounded up to 512 bytes, and temporaries. gathertune's is its results and the winner's workspace.

Problems of grid_sampler_2d_backward (--suite bench/grid_sample.txt) have a `grid` key; both sides sample at the same positions.
"""
import argparse
import io
import json
import math
import statistics
import subprocess
import sys

import numpy
import torch

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}


def parse(text):
    operator, _, rest = text.partition(":")
    keys = dict(pair.split("=", 1) for pair in rest.split(","))
    sizes = lambda key: [int(n) for n in keys[key].split("x")]
    spatial = len(sizes("in"))
    scales = [float(s) for s in keys["scale"].split("x")] if "scale" in keys else [None] * spatial
    return dict(text=text, operator=operator, keys=keys, n=int(keys["n"]), c=int(keys["c"]), input=sizes("in"), output=sizes("out"),
                scales=scales, dtype=DTYPES[keys["dtype"]], channels_last=keys.get("layout", "nchw") == "nhwc",
                align_corners=keys.get("align_corners", "0") == "1",
                stride=[int(n) for n in keys["stride"].split("x")] if "stride" in keys else None)


def memory_format(problem):
    if not problem["channels_last"]:
        return torch.contiguous_format
    return {2: torch.channels_last, 3: torch.channels_last_3d}.get(len(problem["input"]), torch.contiguous_format)


def gradient(problem):
    """A random grad_output: dense, or a slice of a larger tensor."""
    shape, stride = [problem["n"], problem["c"], *problem["output"]], problem["stride"]
    if stride is None:
        return torch.empty(shape, device="cuda", dtype=problem["dtype"]).uniform_(-1, 1).to(memory_format=memory_format(problem))
    whole = torch.empty(reach(shape, stride), device="cuda", dtype=problem["dtype"]).uniform_(-1, 1)
    return torch.as_strided(whole, shape, stride)


def reach(shape, stride):
    """Elements from a tensor's first to just past its last."""
    return 1 + sum((n - 1) * step for n, step in zip(shape, stride))


def sampler(problem, options):
    """The same of a grid's gradients: what it takes besides grad_output rotates with it."""
    keys = problem["keys"]
    command = [options.gathertune, "generate", "--emit", "grid", problem["text"]]
    file = io.BytesIO(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    grid = torch.from_numpy(numpy.load(file)).to("cuda", problem["dtype"])
    shape = [problem["n"], problem["c"], *problem["input"]]
    image = torch.empty(shape, device="cuda", dtype=problem["dtype"]).uniform_(-1, 1).to(memory_format=memory_format(problem))
    want = keys.get("want", "both")
    interpolation = ["bilinear", "nearest", "bicubic"].index(keys.get("interpolation", "bilinear"))
    padding = ["zeros", "border", "reflection"].index(keys.get("padding", "zeros"))
    rest = (interpolation, padding, problem["align_corners"], [want != "grid", True])  # PyTorch always makes grad_grid
    copies = {}

    def call(grad):
        mine = copies.setdefault(grad.data_ptr(), (image.clone(), grid.clone()))
        return torch.ops.aten.grid_sampler_2d_backward(grad, *mine, *rest)

    return call


def caller(problem, options):
    """A function of grad_output that calls PyTorch's operator."""
    name, keys, out = problem["operator"], problem["keys"], problem["output"]
    input_size = [problem["n"], problem["c"], *problem["input"]]
    aten = torch.ops.aten
    if name.startswith("grid_sampler"):
        return sampler(problem, options)
    if "pool" in name:
        like = torch.empty(input_size, device="cuda", dtype=problem["dtype"]).to(memory_format=memory_format(problem))
        if name.startswith("adaptive"):
            operator = getattr(aten, "_" + name)
            return lambda grad: operator(grad, like)
        pair = lambda key, default: [int(n) for n in keys.get(key, default).split("x")]
        kernel = pair("kernel", "")
        return lambda grad: aten.avg_pool2d_backward(
            grad, like, kernel, pair("pool_stride", keys["kernel"]), pair("padding", "0x0"), keys.get("ceil_mode", "0") == "1",
            keys.get("count_include_pad", "1") == "1", int(keys["divisor"]) if "divisor" in keys else None)
    operator = getattr(aten, name)
    corners = [] if "nearest" in name else [problem["align_corners"]]
    return lambda grad: operator(grad, out, input_size, *corners, *problem["scales"])


def peak_bytes(call, grad):
    """The most that one call has allocated at any time."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call(grad)  # the result is dropped at once
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def measure_pytorch(problem, cache_bytes, options):
    """The median time of a call in µs and its peak memory in bytes, or two None where PyTorch has no such kernel."""
    shape = [problem["n"], problem["c"], *problem["output"]]
    size = math.prod(shape) * problem["dtype"].itemsize
    slots = max(2, min(512, 2 * cache_bytes // size + 1))
    grads = [gradient(problem) for _ in range(slots)]
    call = caller(problem, options)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    try:
        for grad in grads:
            call(grad)
        for grad in grads[:2]:  # the second call is warm, and its time bounds the work below
            begin.record()
            call(grad)
            end.record()
            end.synchronize()
    except (RuntimeError, NotImplementedError) as error:
        print(f"compare_pytorch: {problem['operator']}: {str(error).splitlines()[0]}", file=sys.stderr)
        return None, None
    once = begin.elapsed_time(end)  # ms
    peak = peak_bytes(call, grads[0])
    graph = torch.cuda.CUDAGraph()
    calls = slots if once < 5 else 2
    with torch.cuda.graph(graph):
        for i in range(calls):
            call(grads[i % slots])
    samples = []
    for i in range(12 if once < 20 else 3):
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        if i:
            samples.append(begin.elapsed_time(end) * 1000 / calls)
    del graph, grads
    torch.cuda.empty_cache()
    return statistics.median(samples), peak


def trials_of(options, problem):
    command = [options.gathertune, "list", "--json", "--cache", options.cache, "--trials", problem, "--device", options.device]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)["trials"]


def scatter_microseconds(options, problem):
    """The best trial of the baseline, which is never a winner."""
    times = [t["median_us"] for t in trials_of(options, problem) if t["configuration"].startswith(("scatter:", "grid_scatter:")) and t["outcome"] == "ok"]
    return min(times, default=None)


def winner_bytes(options, result, result_bytes):
    """The results and the workspace of the winner."""
    command = [options.gathertune, "lookup", "--json", "--cache", options.cache, result["problem"], "--device", options.device]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    if found["configuration"] != result["configuration"]:
        sys.exit(f"compare_pytorch: {result['problem']}: lookup finds {found['configuration']}, not {result['configuration']}")
    return result_bytes + found["workspace_bytes"]


def sizes_in_bytes(problem):
    """Of all tensors that a kernel moves, and of its results."""
    per_pixel = problem["n"] * problem["c"] * problem["dtype"].itemsize
    image, gradient = per_pixel * math.prod(problem["input"]), per_pixel * math.prod(problem["output"])
    if not problem["operator"].startswith("grid_sampler"):
        return image + gradient, image
    grid = 2 * problem["n"] * math.prod(problem["output"]) * problem["dtype"].itemsize
    want = problem["keys"].get("want", "both")
    results = (want != "grid") * image + (want != "input") * grid
    return gradient + grid + (want != "input") * image + results, results


def deterministic_microseconds(options, problem):
    """The best trial whose results are the same bits in every run, without those of the baseline and of the yardstick."""
    others = ("grid_scatter:", "grid_stream:")
    times = [t["median_us"] for t in trials_of(options, problem)
             if t["median_us"] and t["reproducible"] and not t["configuration"].startswith(others)]
    return min(times, default=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="bench/first_light.txt")
    parser.add_argument("--gathertune", default="build/gathertune")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--budget", default="400")
    parser.add_argument("--cache", default="build/bench.db")
    parser.add_argument("--families", help="comma list; add scatter to time that baseline too")
    parser.add_argument("--json")
    options = parser.parse_args()

    command = [options.gathertune, "tune", "--suite", options.suite, "--device", options.device, "--budget", options.budget,
               "--cache", options.cache, "--skip-unknown", "--json"]
    if options.families:
        command += ["--families", options.families]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    try:
        tuned = json.loads(run.stdout)
    except json.JSONDecodeError:
        sys.exit(f"compare_pytorch: {' '.join(command)} ended with {run.returncode}")
    cache_bytes = torch.cuda.get_device_properties(0).L2_cache_size

    rows = []
    for result in tuned["problems"]:
        problem = parse(result["problem"])
        if not result.get("best_us"):
            print(f"compare_pytorch: {result['problem']}: {result['status']}: {result['message']}", file=sys.stderr)
            continue
        moved, results = sizes_in_bytes(problem)
        pytorch_us, pytorch_bytes = measure_pytorch(problem, cache_bytes, options)
        rows.append({**result, "bytes": moved, "scatter_us": scatter_microseconds(options, result["problem"]),
                     "pytorch_us": pytorch_us, "memory_bytes": winner_bytes(options, result, results),
                     "pytorch_memory_bytes": pytorch_bytes})
        if options.json:
            with open(options.json, "w") as file:
                json.dump(rows, file, indent=1)

    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}, cold cache, µs; memory besides grad_output, MiB")
    print(f"{'stream':>8} {'scatter':>8} {'direct':>8} {'best':>8} {'pytorch':>8} {'of stream':>9} {'speed-up':>8} {'memory':>8} {'pytorch':>8}"
          "  problem / configuration")
    for r in rows:
        number = lambda key, unit=1: f"{r[key] / unit:8.1f}" if r.get(key) else f"{'-':>8}"
        ratio = f"{r['pytorch_us'] / r['best_us']:7.1f}×" if r["pytorch_us"] else f"{'-':>8}"
        print(f"{number('stream_us')} {number('scatter_us')} {number('default_us')} {number('best_us')} {number('pytorch_us')} "
              f"{r['stream_us'] / r['best_us']:9.2f} {ratio} {number('memory_bytes', 2**20)} {number('pytorch_memory_bytes', 2**20)}  "
              f"{r['problem']}")
        print(f"{'':81}  {r['configuration']}")

    mean = lambda values: statistics.geometric_mean(values) if values else float("nan")
    fractions = [(r["stream_us"] / r["best_us"], r) for r in rows]
    large = [f for f in fractions if f[1]["bytes"] > 32e6]
    compared = [(r["pytorch_us"] / r["best_us"], r) for r in rows if r["pytorch_us"]]
    wide = [c[0] for c in compared if ("cubic" in c[1]["problem"] or "_aa_" in c[1]["problem"]) and "dtype=f16" in c[1]["problem"]]
    print(f"\nfraction of stream, geometric mean of {len(fractions)}: {mean([f[0] for f in fractions]):.3f}")
    if large:
        worst = min(large, key=lambda f: f[0])
        print(f"the same, worst problem that moves more than 32 MB: {worst[0]:.2f}  {worst[1]['problem']}")
    if compared:
        worst = min(compared, key=lambda c: c[0])
        print(f"speed against PyTorch, geometric mean of {len(compared)}: {mean([c[0] for c in compared]):.1f}×, "
              f"worst {worst[0]:.2f}×  {worst[1]['problem']}")
    memory = [(r["memory_bytes"] / r["pytorch_memory_bytes"], r) for r in rows if r["pytorch_memory_bytes"]]
    if memory:
        most = max(memory, key=lambda m: m[0])
        print(f"memory against PyTorch, geometric mean of {len(memory)}: {mean([m[0] for m in memory]):.2f}×, "
              f"most {most[0]:.2f}×  {most[1]['problem']}")
    sampled = [(deterministic_microseconds(options, r["problem"]), r) for r in rows if r["problem"].startswith("grid_sampler")]
    sampled = [us / r["best_us"] for us, r in sampled if us]
    if sampled:
        print(f"best with one order of sums against the best, geometric mean of {len(sampled)}: {mean(sampled):.2f}×")
    if wide:
        print(f"bicubic and antialiased f16 against PyTorch, geometric mean of {len(wide)}: {mean(wide):.0f}×")
    print(f"direct (untuned) against tuned, geometric mean: "
          f"{mean([r['default_us'] / r['best_us'] for r in rows if r['default_us']]):.1f}×")


if __name__ == "__main__":
    main()
