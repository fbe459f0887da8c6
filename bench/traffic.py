#!/usr/bin/env python3
"""Counts, on the emulated MI300X, what kernels move from and to global memory, and prints it as multiples of the least possible:
all of grad_output read once, all of grad_input written once. Nothing is timed.

usage: traffic.py [--suite bench/first_light.txt] [--gathertune build/gfx942/gathertune] [--device hip:0] [--families A,B]
                  [--config CONFIGURATION] [--bytes N] [--json FILE]

Each family's default configuration is counted, and each --config (may be given several times), where its family does the problem. What
cannot be counted is told on standard error, and makes the exit code 1. Problems that move more than --bytes at least are made smaller, by n, and by c where channels are no vector's, which multiples hardly depend on.

  lanes    bytes that threads ask for
  waves    128-byte lines that instructions of a wave touch: what a GPU without caches would move
  blocks   distinct lines of each block: with an L1 for each block that keeps everything
  dies     distinct lines of each of 8 dies: with L2s that keep everything
"""
import argparse
import json
import math
import subprocess
import sys

FAMILIES = "stream,direct,taps,inner,march,reduce,twopass,scatter"
ELEMENT_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
PLACES = ("lanes", "waves", "blocks", "dies")


def split(problem):
    operator, _, rest = problem.partition(":")
    return operator, dict(pair.split("=", 1) for pair in rest.split(","))


def join(operator, keys):
    return operator + ":" + ",".join(f"{key}={value}" for key, value in keys.items())


def least_bytes(keys):
    elements = sum(math.prod(int(n) for n in keys[key].split("x")) for key in ("in", "out"))
    return int(keys["n"]) * int(keys["c"]) * elements * ELEMENT_BYTES[keys["dtype"]]


def reduced(problem, most):
    """The problem with smaller n and c, at least one of each, so that it moves `most` bytes at least, or a little more."""
    operator, keys = split(problem)
    names = ("n",) if keys.get("layout") == "nhwc" else ("n", "c")
    for name in names:
        per_one = least_bytes({**keys, name: "1"})
        keys[name] = str(max(1, min(int(keys[name]), most // per_one)))
    return join(operator, keys)


def claims(options, problem, family):
    """Whether the family does the problem."""
    run, command = generate(options, problem, ["--family", family], "--arch", "gfx942", "--emit", "source")
    if run.returncode not in (0, 1):  # 1: it does not
        sys.exit(f"traffic: {' '.join(command)}: {run.stderr.strip()}")
    return run.returncode == 0


def generate(options, problem, which, *more):
    command = [options.gathertune, "generate", problem, *which, *more]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), command


def count(options, problem, which):
    """What a report tells of one configuration; None after a failure, which is told."""
    run, command = generate(options, problem, which, "--device", options.device, "--emit", "report", "--json")
    if run.returncode:
        print(f"traffic: {' '.join(command)}: {run.stderr.strip()}", file=sys.stderr)
        return None
    report = json.loads(run.stdout)
    if not report["traffic"]:
        sys.exit(f"traffic: {options.device} of {options.gathertune} does not count traffic: make build/gfx942/gathertune")
    return {"problem": problem, "configuration": report["variant"]["configuration"], **report["traffic"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", action="append", help="default: bench/first_light.txt")
    parser.add_argument("--gathertune", default="build/gfx942/gathertune")
    parser.add_argument("--device", default="hip:0")
    parser.add_argument("--families", default=FAMILIES)
    parser.add_argument("--config", action="append", default=[])
    parser.add_argument("--bytes", type=int, default=8 << 20, help="default: 8388608")
    parser.add_argument("--json")
    options = parser.parse_args()

    wanted = [["--family", family] for family in options.families.split(",") if family]
    wanted += [["--config", configuration] for configuration in options.config]
    rows, failures = [], 0
    for suite in options.suite or ["bench/first_light.txt"]:
        with open(suite) as file:
            problems = [line.split()[0] for line in file if line.strip() and not line.startswith("#")]
        for problem in problems:
            small = reduced(problem, options.bytes)
            print(f"\n{small}\n{'lanes':>8} {'waves':>8} {'blocks':>8} {'dies':>8}  configuration")
            for which in wanted:
                if not claims(options, small, which[1].split(":")[0]):
                    continue
                row = count(options, small, which)
                if row is None:
                    failures += 1
                    continue
                least = sum(row["least"].values())
                ratios = (f"{(row['read'][place] + row['written'][place]) / least:8.2f}" for place in PLACES)
                print(*ratios, f" {row['configuration']}", flush=True)
                rows.append(row)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
