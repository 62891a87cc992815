#!/usr/bin/env python3
"""y = m x + b on square matrices of f32, three ways, in gemel, NumPy and PyTorch.

passed: all three matrices are arguments; shared: m and b lie in shared variables; update: all three
do, and b becomes m x + b. gemel and the bare calls of the matrix libraries (dnnl_sgemm, cblas_sgemm,
whichever is faster, which only multiply) run in turns in `gemel bench cpu`; NumPy computes m @ x + b
and b += m @ x, PyTorch addmm and addmm_. Seconds for 500 steps, going by the fastest tenth of them;
"over bare" is by how much gemel takes longer than the bare call, the median of all turns.

    affine.py --gemel ./gemel [--threads N] [--size 1000] [--json F]

Python 3.9 or later; numpy and torch from PyPI. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import json
import os
import subprocess
import sys
import time

STEPS, ROUNDS = 500, 10


def gemel_run(options):
    command = [options.gemel, "bench", "cpu", "--case", "affine*", "--matrix", str(options.size),
               "--threads", str(options.threads), "--time", "4000", "--json", "-"]
    environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads))
    out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found = {}
    for line in out.stdout.splitlines():
        record = json.loads(line)
        found.setdefault(record["case"].split()[1], {})[record["metric"]] = record["value"]
    if not found:
        sys.exit("affine.py: gemel bench gave nothing")
    work = 2e-9 * STEPS * options.size**3
    ways = {}
    for way, metrics in found.items():
        ratio = metrics.pop("of the faster")
        mine = metrics.pop("gemel")
        ways[way] = {"gemel": work / mine, "bare": work / max(metrics.values()), "over": 1 / ratio - 1}
    return ways


def best(step):
    step()
    least = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(STEPS // ROUNDS):
            step()
        least = min(least, time.perf_counter() - start)
    return least * ROUNDS


def numpy_ways(numpy, m, x, b):
    c = b.copy()

    def update():
        nonlocal c
        c += m @ x

    product = best(lambda: m @ x + b)
    return {"passed": product, "shared": product, "update": best(update)}


def torch_ways(torch, m, x, b):
    m, x, b = (torch.from_numpy(a.copy()) for a in (m, x, b))
    c = b.clone()
    product = best(lambda: torch.addmm(b, m, x))
    return {"passed": product, "shared": product, "update": best(lambda: c.addmm_(m, x))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gemel", default="./gemel")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--json", help="write the figures to this file, a line each")
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    try:
        import numpy
        import torch
    except ImportError as problem:
        sys.exit(f"affine.py: {problem}")
    torch.set_num_threads(options.threads)
    random = numpy.random.default_rng(1)
    m, x, b = (random.random((options.size, options.size), dtype=numpy.float32) for _ in range(3))
    ways = gemel_run(options)
    theirs = {"NumPy": numpy_ways(numpy, m, x, b), "PyTorch": torch_ways(torch, m, x, b)}
    print(f"{'seconds for 500':16}{'gemel':>9}{'bare':>9}{'over bare':>11}{'NumPy':>9}{'PyTorch':>9}")
    records = []
    for way, mine in ways.items():
        row = {name: times[way] for name, times in theirs.items()}
        print(f"{way:16}{mine['gemel']:9.3f}{mine['bare']:9.3f}{100 * mine['over']:9.1f} %"
              f"{row['NumPy']:9.3f}{row['PyTorch']:9.3f}")
        records.append({"bench": "affine", "way": way, "threads": options.threads, "size": options.size,
                        "unit": "s/500", **mine, **row, "numpy": numpy.__version__, "torch": torch.__version__})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)


if __name__ == "__main__":
    main()
