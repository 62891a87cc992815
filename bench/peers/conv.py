#!/usr/bin/env python3
"""The five layers of `gemel bench conv` in PyTorch, row-major and with channels last.

For each layer and pass gemel is timed (`gemel bench conv --json -`), then PyTorch in this process on as many
threads; the best of each counts. One table: GF/s, and how many times as fast gemel is as the faster of
PyTorch's two layouts.

Python 3.9 or later; torch from PyPI. Never needed to build or test gemel. SPDX-License-Identifier: MIT
"""

import argparse
import json
import os
import subprocess
import sys
import time

BATCH = 16
LAYERS = {"L1": (3, 96, 11, 128), "L2": (64, 128, 9, 64), "L3": (128, 128, 9, 32), "L4": (128, 128, 7, 16),
          "L5": (384, 384, 3, 13)}
PASSES = ("forward", "grad weights", "grad inputs")


def best(run, seconds):
    """The shortest of the runs that fit into SECONDS, at least three."""
    run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def pass_of(torch, x, w, y, which):
    if which == "forward":
        return lambda: torch.nn.functional.conv2d(x, w)
    mask = [which == "grad inputs", which == "grad weights", False]
    return lambda: torch.ops.aten.convolution_backward(y, x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, mask)


def by_torch(torch, layer, which, seconds):
    """GF/s row-major and with channels last."""
    channels, filters, kernel, image = layer
    places = image - kernel + 1
    flops = 2 * BATCH * channels * filters * kernel**2 * places**2
    rates = []
    for layout in (torch.contiguous_format, torch.channels_last):
        x = torch.rand(BATCH, channels, image, image).to(memory_format=layout)
        w = torch.rand(filters, channels, kernel, kernel).to(memory_format=layout)
        y = torch.rand(BATCH, filters, places, places).to(memory_format=layout)
        with torch.no_grad():
            rates.append(flops / best(pass_of(torch, x, w, y, which), seconds) * 1e-9)
    return rates


def by_gemel(gemel, name, threads, milliseconds):
    out = subprocess.run([gemel, "bench", "conv", "--case", name, "--threads", str(threads), "--time",
                          str(milliseconds), "--json", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    rows = [json.loads(line) for line in out.stdout.splitlines()]
    return {row["metric"]: row["value"] for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gemel", default="./gemel", help="the command (default ./gemel)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--time", type=int, default=1000, metavar="MS", help="for each measurement")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("conv.py: there is no torch")
    torch.set_num_threads(arguments.threads)
    print(f"{'':16}{'gemel':>8}{'oneDNN':>8}{'torch':>8}{'last':>8}{'gemel ÷ torch':>16}")
    for layer, sizes in LAYERS.items():
        for which in PASSES:
            name = f"{layer} {which}"
            ours = by_gemel(arguments.gemel, name, arguments.threads, arguments.time)
            plain, last = by_torch(torch, sizes, which, arguments.time * 1e-3)
            print(f"{name:16}{ours['gemel']:8.0f}{ours.get('oneDNN, its layouts', float('nan')):8.0f}{plain:8.0f}{last:8.0f}"
                  f"{ours['gemel'] / max(plain, last):16.2f}", flush=True)


if __name__ == "__main__":
    main()
