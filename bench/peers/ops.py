#!/usr/bin/env python3
"""Single operations on arrays of 64 MiB: gemel, NumPy and PyTorch on as many threads.

For each operation gemel is timed (`gemel bench FILE --json -`), then NumPy and PyTorch in this
process, then gemel once more, so that what else the machine does shows in both; the best of each
counts. One table: gigabytes a second of operands and result, and how many times as long the peers
take: above 1, gemel is the faster one. Results are written into arrays that are there (`out=`), where
the peer lets one.

Python 3.9 or later; numpy and torch from PyPI, and what isn't installed is left out. Never needed to
build or test gemel. SPDX-License-Identifier: MIT
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

N = 1 << 24
ROWS, COLUMNS = 4096, 4096


def unary(name, numpy=None, torch=None):
    """An elementwise function: its text, and calls on (library, x, out)."""
    return (
        f"graph f(x: f32[E]) {{ return y = {name}(x) }}",
        (N,),
        8 * N,
        None if numpy is None else lambda np, x, out: numpy(np, x, out),
        None if torch is None else lambda t, x, out: torch(t, x, out),
    )


def direct(name, numpy_name=None, torch_name=None):
    """One that all have as FUNCTION(x, out = …)."""
    return unary(
        name,
        lambda np, x, out: getattr(np, numpy_name or name)(x, out=out),
        lambda t, x, out: getattr(t, torch_name or name)(x, out=out),
    )


def matrix(text, moved, numpy=None, torch=None):
    return (f"graph f(x: f32[R, C]) {{ return y = {text} }}", (ROWS, COLUMNS), moved, numpy, torch)


def numpy_sigmoid(np, x, out):
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    return np.reciprocal(out, out=out)


def numpy_softmax(np, x, axis):
    y = np.exp(x - x.max(axis=axis, keepdims=True))
    y /= y.sum(axis=axis, keepdims=True)
    return y


READ, COPY = 4 * N, 8 * N
OPERATIONS = {
    "neg": direct("neg", "negative"),
    "abs": direct("abs"),
    "sqr": unary("sqr", lambda np, x, o: np.square(x, out=o), lambda t, x, o: t.square(x, out=o)),
    "sqrt": direct("sqrt"),
    "exp": direct("exp"),
    "expm1": direct("expm1"),
    "log": direct("log"),
    "log1p": direct("log1p"),
    "tanh": direct("tanh"),
    "sigmoid": unary("sigmoid", numpy_sigmoid, lambda t, x, o: t.sigmoid(x, out=o)),
    "relu": unary("relu", lambda np, x, o: np.maximum(x, 0, out=o), lambda t, x, o: t.clamp(x, min=0, out=o)),
    "sum": matrix("sum(x)", READ, lambda np, x, o: x.sum(), lambda t, x, o: x.sum()),
    "sum rows": matrix("sum(x, axes = [1])", READ, lambda np, x, o: x.sum(1), lambda t, x, o: x.sum(1)),
    "sum columns": matrix("sum(x, axes = [0])", READ, lambda np, x, o: x.sum(0), lambda t, x, o: x.sum(0)),
    "max": matrix("max(x)", READ, lambda np, x, o: x.max(), lambda t, x, o: x.max()),
    "max rows": matrix("max(x, axes = [1])", READ, lambda np, x, o: x.max(1), lambda t, x, o: x.amax(1)),
    "max columns": matrix("max(x, axes = [0])", READ, lambda np, x, o: x.max(0), lambda t, x, o: x.amax(0)),
    "argmax rows": matrix("argmax(x, axis = 1)", READ, lambda np, x, o: x.argmax(1), lambda t, x, o: x.argmax(1)),
    "argmax columns": matrix("argmax(x, axis = 0)", READ, lambda np, x, o: x.argmax(0), lambda t, x, o: x.argmax(0)),
    "softmax rows": matrix(
        "softmax(x)", COPY, lambda np, x, o: numpy_softmax(np, x, 1), lambda t, x, o: t.softmax(x, 1)
    ),
    "softmax columns": matrix(
        "softmax(x, axis = 0)", COPY, lambda np, x, o: numpy_softmax(np, x, 0), lambda t, x, o: t.softmax(x, 0)
    ),
    "transpose": matrix(
        "reshape(dimshuffle(x, order = [1, 0]), shape = [C * R])",
        COPY,
        lambda np, x, o: np.copyto(o.reshape(COLUMNS, ROWS), x.T),
        lambda t, x, o: o.reshape(COLUMNS, ROWS).copy_(x.T),
    ),
    "join": matrix(
        "join(x, x, axis = 1)",
        3 * READ,
        lambda np, x, o: np.concatenate([x, x], 1),
        lambda t, x, o: t.cat([x, x], 1),
    ),
    "every second column": matrix(
        "neg(subtensor(x, start = [0, 0], size = [R, C // 2], step = [1, 2]))",
        COPY // 2 + READ // 2,
        lambda np, x, o: np.negative(x[:, ::2]),
        lambda t, x, o: t.neg(x[:, ::2]),
    ),
}


def best(call, seconds):
    """The shortest time of a call, over some rounds."""
    call()
    least, end, rounds = float("inf"), time.perf_counter() + seconds, 0
    while rounds < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
        rounds += 1
    return least


def gemel_time(options, path):
    command = [options.gemel, "bench", path, "--json", "-", "--size", str(N)]
    command += ["--threads", str(options.threads), "--time", str(int(500 * options.seconds))]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return json.loads(out.splitlines()[0])["value"]


def peers(options):
    found = {}
    try:
        import numpy

        found["NumPy"] = (numpy, 3, lambda shape: (numpy.random.rand(*shape) / 2 + 0.5).astype(numpy.float32))
    except ImportError as problem:
        print(f"NumPy is left out: {problem}", file=sys.stderr)
    try:
        import torch

        torch.set_num_threads(options.threads)
        found["PyTorch"] = (torch, 4, lambda shape: torch.rand(*shape) / 2 + 0.5)
    except ImportError as problem:
        print(f"PyTorch is left out: {problem}", file=sys.stderr)
    return found


def race(options, libraries, row):
    """Seconds of gemel, and of each library that has the operation."""
    text, shape, _, *calls = row
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "f.gmt")
        with open(path, "w") as file:
            file.write(text + "\n")
        first = gemel_time(options, path)
        theirs = {}
        for name, (library, column, make) in libraries.items():
            call = row[column]
            if call is not None:
                x = make(shape)
                out = make((N,))
                theirs[name] = best(lambda: call(library, x, out), options.seconds)
        return min(first, gemel_time(options, path)), theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gemel", default="./gemel", help="the command")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each operation and library")
    parser.add_argument("--only", default="", help="operations whose name contains this")
    parser.add_argument("--json", help="a file for one object an operation, a line each")
    options = parser.parse_args()
    libraries = peers(options)
    print(f"{'':22}{'GB/s':>8}" + "".join(f"{name:>10}" for name in libraries))
    lines = []
    for name, row in OPERATIONS.items():
        if options.only not in name:
            continue
        mine, theirs = race(options, libraries, row)
        ratios = {peer: seconds / mine for peer, seconds in theirs.items()}
        shown = "".join(f"{ratios[p]:10.2f}" if p in ratios else f"{'–':>10}" for p in libraries)
        print(f"{name:22}{1e-9 * row[2] / mine:8.1f}{shown}", flush=True)
        lines.append({"operation": name, "threads": options.threads, "seconds": mine, "ratios": ratios})
    if options.json:
        with open(options.json, "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    main()
