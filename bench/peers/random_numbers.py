#!/usr/bin/env python3
"""Random numbers: the time for one, in gemel and in NumPy, on one thread.

gemel is run first (`gemel bench cpu --case 'random_*' --threads 1 --json -`), then NumPy's generators
with as many numbers: Philox, which is what gemel's are made by, and PCG64, NumPy's default. NumPy's
Philox makes four words of 64 bits at a time, gemel's four of 32, which is what the published
Philox4x32-10 is. One table: nanoseconds a number, and how many times as long NumPy takes.

Python 3.9 or later and numpy, from PyPI. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import json
import subprocess
import sys
import time


def gemel_times(gemel, size):
    command = [gemel, "bench", "cpu", "--case", "random_*", "--size", str(size), "--threads", "1", "--json", "-"]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return {r["case"]: r["value"] for r in map(json.loads, out.splitlines())}


def numpy_calls(numpy, generator, size):
    """What makes SIZE numbers in an array that is there, by the names of gemel's cases."""
    f32, f64 = numpy.empty(size, numpy.float32), numpy.empty(size)
    return {
        "random_bits u32": lambda: generator.integers(0, 2**32, size, dtype=numpy.uint32),
        "random_bits u64": lambda: generator.integers(0, 2**64 - 1, size, dtype=numpy.uint64, endpoint=True),
        "random_uniform f32": lambda: generator.random(out=f32, dtype=numpy.float32),
        "random_uniform f64": lambda: generator.random(out=f64),
        "random_normal f32": lambda: generator.standard_normal(out=f32, dtype=numpy.float32),
        "random_normal f64": lambda: generator.standard_normal(out=f64),
    }


def best(call, rounds=9):
    least = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gemel", default="./gemel", help="the command")
    parser.add_argument("--size", type=int, default=1 << 22, help="numbers at a time")
    options = parser.parse_args()
    try:
        import numpy
    except ImportError as problem:
        sys.exit(f"random_numbers.py: {problem}")
    ours = gemel_times(options.gemel, options.size)
    makers = {"Philox": numpy.random.Philox, "PCG64": numpy.random.PCG64}
    print(f"{'':20}{'gemel':>10}" + "".join(f"{name:>10}{'ratio':>8}" for name in makers))
    generators = {name: numpy_calls(numpy, numpy.random.Generator(make(1)), options.size) for name, make in makers.items()}
    for case, mine in ours.items():
        line = f"{case:20}{mine:10.3f}"
        for name in makers:
            theirs = 1e9 * best(generators[name][case]) / options.size
            line += f"{theirs:10.3f}{theirs / mine:8.1f}"
        print(line)


if __name__ == "__main__":
    main()
