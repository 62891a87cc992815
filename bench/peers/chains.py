#!/usr/bin/env python3
"""Two chains of elementwise operations over 64 MiB of f32, in gemel, XLA (jax.jit), NumPy and numexpr.

cheap: sums, products, an absolute value and a maximum, eight of them; functions: tanh, exp and sigmoid
and a few of the others. Each program has as many threads as it is told (NumPy has one) and runs three
times, in turns with the others; the best call counts. One line a chain: milliseconds a call, and how
many times as long as gemel the others take.

    chains.py --gemel ./gemel [--threads N] [--json F]

Python 3.9 or later; numpy, jax[cpu] and numexpr from PyPI. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ELEMENTS, TURNS = 1 << 24, 3
GEMEL = {
    "cheap": "maximum(sqr(abs((0.75 - neg(x * 0.5 + 0.25)) * 1.5)), 0.125)",
    "functions": "sigmoid(exp(tanh(x * 0.5 + 0.25) * 0.75) - 1)",
}
SQUARED = "(abs((c - -(x * h + q)) * o)) ** 2"
NUMEXPR = {
    "cheap": f"where({SQUARED} > e, {SQUARED}, e)",  # which computes an expression that comes again once
    "functions": "1 / (1 + exp(-(exp(tanh(x * h + q) * c) - i)))",
}


def gemel_seconds(options, name, folder):
    path = os.path.join(folder, "chain.gmt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"graph f(x: f32[E]) {{ return y = {GEMEL[name]} }}\n")
    command = [options.gemel, "bench", path, "--threads", str(options.threads), "--size", str(ELEMENTS),
               "--time", "1000", "--json", "-"]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return json.loads(out.stdout.splitlines()[0])["value"]


def best(call):
    end, least = time.perf_counter() + 1, float("inf")
    call()
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least


def chains(m, sigmoid):
    """The chains as functions of x over the module M, NumPy's or JAX's."""
    return {
        "cheap": lambda x: m.maximum(m.square(abs((0.75 - -(x * 0.5 + 0.25)) * 1.5)), 0.125),
        "functions": lambda x: sigmoid(m.exp(m.tanh(x * 0.5 + 0.25) * 0.75) - 1),
    }


def callers(options, x):
    import jax
    import jax.numpy
    import numexpr
    import numpy

    numexpr.set_num_threads(options.threads)
    plain = chains(numpy, lambda v: 1 / (1 + numpy.exp(-v)))
    xla = {name: jax.jit(chain) for name, chain in chains(jax.numpy, jax.nn.sigmoid).items()}
    on_device, result = jax.device_put(x), numpy.empty_like(x)
    half, quarter, most, one, least, more = (numpy.float32(v) for v in (0.5, 0.25, 0.75, 1, 0.125, 1.5))
    names = {"x": x, "h": half, "q": quarter, "c": most, "i": one, "e": least, "o": more}
    return {
        "XLA": {name: lambda f=f: f(on_device).block_until_ready() for name, f in xla.items()},
        "NumPy": {name: lambda f=f: f(x) for name, f in plain.items()},
        "numexpr": {name: lambda t=t: numexpr.evaluate(t, local_dict=names, out=result) for name, t in NUMEXPR.items()},
    }, {"jax": jax.__version__, "numpy": numpy.__version__, "numexpr": numexpr.__version__}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gemel", default="./gemel")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", help="write the figures to this file, a line each")
    options = parser.parse_args()
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: options.threads]))  # XLA goes by that
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    try:
        import numpy

        x = numpy.random.default_rng(1).random(ELEMENTS, dtype=numpy.float32)
        peers, versions = callers(options, x)
    except ImportError as problem:
        sys.exit(f"chains.py: {problem}")
    records = []
    print(f"{'':12}{'gemel':>12}" + "".join(f"{name:>16}" for name in peers))
    with tempfile.TemporaryDirectory() as folder:
        for chain in GEMEL:
            least = {name: float("inf") for name in ["gemel", *peers]}
            for _ in range(TURNS):
                least["gemel"] = min(least["gemel"], gemel_seconds(options, chain, folder))
                for name, calls in peers.items():
                    least[name] = min(least[name], best(calls[chain]))
            times = {name: least[name] / least["gemel"] for name in peers}
            print(f"{chain:12}{1e3 * least['gemel']:9.2f} ms"
                  + "".join(f"{1e3 * least[name]:9.2f} {times[name]:5.2f}x" for name in peers))
            records.append({"bench": "chains", "chain": chain, "unit": "s", "threads": options.threads, **least, **versions})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)


if __name__ == "__main__":
    main()
