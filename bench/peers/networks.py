#!/usr/bin/env python3
"""Whole networks, in gemel and in ONNX Runtime: the time of a call.

The light models of the package onnx with random weights, and three transformers, those of networks_equal.py, one
image or sentence at a time. ONNX Runtime has all its optimizations; gemel reads the same file, weights as constants.
Both in turns, the best of each, on one thread and on two. Results are compared by the largest difference, relative to
the largest element. One line each: milliseconds, how many times as long ONNX Runtime takes, the difference.

    networks.py --gemel ./gemel --folder DIR [--only GLOB] [--threads 1,2] [--turns 5] [--json F]

Python 3.9 or later; numpy, onnx and onnxruntime from PyPI. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import fnmatch
import json
import math
import os
import re
import subprocess
import tempfile
import time

import numpy
import onnxruntime

from networks_equal import CONVOLUTIONAL, build

NETWORKS = CONVOLUTIONAL + ["gpt2", "vit", "bert"]
BUDGET = 0.4  # seconds a turn


def session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def environment(threads):
    return dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))


def gemel_seconds(options, path, threads):
    command = [options.gemel, "bench", path, "--threads", str(threads), "--time", str(int(1000 * BUDGET)), "--json", "-"]
    said = subprocess.run(command, env=environment(threads), check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return json.loads(said.stdout.splitlines()[-1])["value"]


def peer_seconds(peer, image):
    name, best, end = peer.get_inputs()[0].name, math.inf, time.perf_counter() + BUDGET
    while best == math.inf or time.perf_counter() < end:
        began = time.perf_counter()
        peer.run(None, {name: image})
        best = min(best, time.perf_counter() - began)
    return best


def difference(options, path, peer, image):
    entry, result = peer.get_inputs()[0].name, peer.get_outputs()[0].name
    expected = peer.run(None, {entry: image})[0]
    with tempfile.TemporaryDirectory() as folder:
        a, b = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
        numpy.save(a, image)
        names = [re.sub(r"\W", "_", name) for name in (entry, result)]  # as gemel reads them
        subprocess.run([options.gemel, "run", path, "--in", names[0] + "=" + a, "--out", names[1] + "=" + b], check=True,
                       stdout=subprocess.DEVNULL)
        return float(abs(numpy.load(b) - expected).max() / abs(expected).max())


def measure(options, name, threads):
    path = build(options, name)
    peer = session(path, threads)
    image = numpy.random.default_rng(3).normal(0, 1, peer.get_inputs()[0].shape).astype("f")
    ours = theirs = math.inf
    for _ in range(options.turns):
        ours = min(ours, gemel_seconds(options, path, threads))
        theirs = min(theirs, peer_seconds(peer, image))
    return {"network": name, "threads": threads, "gemel_ms": round(1e3 * ours, 3), "onnxruntime_ms": round(1e3 * theirs, 3),
            "ratio": round(theirs / ours, 2), "difference": float("%.1e" % difference(options, path, peer, image))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gemel", required=True)
    parser.add_argument("--folder", required=True, help="where models are written, or are already")
    parser.add_argument("--only", default="*")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    options.gemel = os.path.abspath(options.gemel)
    os.makedirs(options.folder, exist_ok=True)
    rows = []
    for threads in map(int, options.threads.split(",")):
        for name in fnmatch.filter(NETWORKS, options.only):
            rows.append(measure(options, name, threads))
            print("%(network)-14s %(threads)d  gemel %(gemel_ms)9.3f ms  ONNX Runtime %(onnxruntime_ms)9.3f ms  ratio %(ratio)5.2f  "
                  "difference %(difference).1e" % rows[-1], flush=True)
    if options.json:
        with open(options.json, "w") as f:
            f.writelines(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    main()
