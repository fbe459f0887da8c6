#!/usr/bin/env python3
"""Times gathertune's kernels and PyTorch's own operator on the same problems, in one run, and prints the ratios.

usage: compare_pytorch.py [--suite bench/first_light.txt] [--gathertune build/gathertune] [--device auto] [--budget N]
                          [--cache FILE] [--families LIST] [--json FILE]

Needs PyTorch with a GPU. Both sides are timed cold: calls rotate through tensors that together exceed twice the last-level
cache, batches of calls lie between two events, and the median batch counts. PyTorch's calls are captured in a CUDA graph, so
that the time of Python is not counted.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys

import torch

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}


def parse(text):
    operator, _, rest = text.partition(":")
    keys = dict(pair.split("=", 1) for pair in rest.split(","))
    sizes = lambda key: [int(n) for n in keys[key].split("x")]
    spatial = len(sizes("in"))
    scales = [float(s) for s in keys["scale"].split("x")] if "scale" in keys else [None] * spatial
    return dict(operator=operator, n=int(keys["n"]), c=int(keys["c"]), input=sizes("in"), output=sizes("out"), scales=scales,
                dtype=DTYPES[keys["dtype"]], channels_last=keys.get("layout", "nchw") == "nhwc",
                align_corners=keys.get("align_corners", "0") == "1")


def call(problem, grad_output):
    operator = getattr(torch.ops.aten, problem["operator"])
    input_size = [problem["n"], problem["c"], *problem["input"]]
    return operator(grad_output, problem["output"], input_size, problem["align_corners"], *problem["scales"])


def pytorch_microseconds(problem, cache_bytes):
    shape = [problem["n"], problem["c"], *problem["output"]]
    fmt = torch.channels_last if problem["channels_last"] else torch.contiguous_format
    size = math.prod(shape) * problem["dtype"].itemsize
    slots = max(2, min(512, 2 * cache_bytes // size + 1))
    grads = [torch.empty(shape, device="cuda").uniform_(-1, 1).to(problem["dtype"]).contiguous(memory_format=fmt)
             for _ in range(slots)]
    for grad in grads[:2]:
        call(problem, grad)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    calls = max(slots, 8)
    with torch.cuda.graph(graph):
        for i in range(calls):
            call(problem, grads[i % slots])
    samples = []
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for i in range(12):
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        if i >= 2:
            samples.append(begin.elapsed_time(end) * 1000 / calls)
    del graph, grads
    torch.cuda.empty_cache()
    return statistics.median(samples)


def scatter_microseconds(options, problem):
    """The best trial of the baseline, which is never a winner."""
    command = [options.gathertune, "list", "--json", "--cache", options.cache, "--trials", problem, "--device", options.device]
    trials = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)["trials"]
    times = [t["median_us"] for t in trials if t["configuration"].startswith("scatter:") and t["outcome"] == "ok"]
    return min(times, default=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="bench/first_light.txt")
    parser.add_argument("--gathertune", default="build/gathertune")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--budget", default="400")
    parser.add_argument("--cache", default="build/bench.db")
    parser.add_argument("--families", default="direct,taps,inner,scatter")
    parser.add_argument("--json")
    options = parser.parse_args()

    command = [options.gathertune, "tune", "--suite", options.suite, "--device", options.device, "--budget", options.budget,
               "--cache", options.cache, "--families", options.families, "--json"]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"compare_pytorch: {' '.join(command)} ended with {run.returncode}")
    tuned = json.loads(run.stdout)
    cache_bytes = torch.cuda.get_device_properties(0).L2_cache_size

    rows = []
    for result in tuned["problems"]:
        problem = parse(result["problem"])
        rows.append({**result, "scatter_us": scatter_microseconds(options, result["problem"]),
                     "pytorch_us": pytorch_microseconds(problem, cache_bytes)})

    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}, cold cache, µs")
    print(f"{'stream':>8} {'scatter':>8} {'direct':>8} {'best':>8} {'pytorch':>8} {'of stream':>9} {'speed-up':>8}  problem / configuration")
    for r in rows:
        number = lambda key: f"{r[key]:8.1f}" if r.get(key) else f"{'-':>8}"
        print(f"{number('stream_us')} {number('scatter_us')} {number('default_us')} {number('best_us')} {number('pytorch_us')} "
              f"{r['stream_us'] / r['best_us']:9.2f} {r['pytorch_us'] / r['best_us']:7.1f}×  {r['problem']}")
        print(f"{'':56}  {r['configuration']}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
