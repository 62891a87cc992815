#!/usr/bin/env python3
"""The recurrent networks of `gemel bench scan`, in gemel, in JAX (lax.scan) and in PyTorch (nn.RNN, nn.GRU, nn.LSTM).

`gemel bench scan --json - --graphs DIR` times gemel and the products alone, and writes its graphs. These are run once
more (`gemel run`) on numbers that each peer gets too, and what they give is compared: `error` is the largest
difference ÷ the largest number, over the states, or over all gradients. Then each peer is timed in this process, on as
many threads; the best of each counts. One line a network and direction: milliseconds of gemel, of the products by the
faster library, of the peers (JAX compiles by jit, PyTorch runs its module and autograd eagerly), and how many times as
long as gemel each takes. Of PyTorch there is no module where the rows are given, or without products of the rows.

    venv/bin/python bench/peers/scan.py --gemel ./gemel [--case GLOB] [--units N] [--time MS] [--json F]

Python 3.9 or later; numpy, and jax and torch where they are, from PyPI. A peer that isn't installed is left out. Never
needed to build or test gemel. SPDX-License-Identifier: MIT
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
WAYS = ("forward", "gradient")


def best(run, seconds):
    """The shortest of the runs that fit into SECONDS, at least three."""
    run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


class Case:
    """A network of given sizes: "gru rows 50x64x1000"."""

    def __init__(self, numpy, name):
        self.name, (*words, sizes) = name, name.split()
        self.kind, self.rows_given, self.apart = words[0], "rows" in words, "apart" in words
        self.steps, self.batch, self.units = t, b, h = [int(n) for n in sizes.split("x")]
        gates, random = GATES[self.kind] * h, numpy.random.default_rng(1)
        shapes = {"h0": (b, h), "x": (t, b, gates if self.rows_given else h), "b": (gates,), "dy": (t, b, h)}
        shapes["u"] = (h, gates)
        if self.kind == "lstm":
            shapes["c0"] = (b, h)
        if not self.rows_given:
            shapes["w"] = (h, gates)
        self.values = {n: (random.uniform(-1, 1, s) * (h**-0.5 if n in "wu" else 1)).astype("f4") for n, s in shapes.items()}
        self.by = sorted(set(shapes) - {"dy"})


# ---- gemel ----


def bench(arguments, folder):
    """What `gemel bench scan` says of each case: {metric: value}."""
    command = [arguments.gemel, "bench", "scan", "--case", arguments.case, "--threads", str(arguments.threads), "--matrix",
               str(arguments.units), "--time", str(arguments.time), "--json", "-", "--graphs", folder]
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if out.returncode > 1:
        sys.exit(out.stderr)
    cases = {}
    for row in map(json.loads, out.stdout.splitlines()):
        cases.setdefault(row["case"], {})[row["metric"]] = row["value"]
    return {name: metrics for name, metrics in cases.items() if "forward" in metrics}


def gemel_results(numpy, arguments, folder, case, way):
    """What gemel computes: {"h": ...}, or {"d_h0": ..., ...}."""
    inputs, outputs = dict(case.values), os.path.join(folder, "out.npz")
    thirds = dict(zip(("ur", "uz", "un"), numpy.split(inputs["u"], 3, axis=1))) if case.apart else {}
    if case.apart:
        inputs = {**inputs, **thirds}
        del inputs["u"]
    if way == "forward":
        del inputs["dy"]
    path = os.path.join(folder, "in.npz")
    numpy.savez(path, **inputs)
    subprocess.run([arguments.gemel, "run", "--threads", str(arguments.threads), "--in", path, "--out", outputs,
                    os.path.join(folder, f"{case.name} {way}.gmt")], check=True)
    results = dict(numpy.load(outputs))
    results.pop("loss", None)
    if case.apart and way == "gradient":
        results["d_u"] = numpy.concatenate([results.pop(f"d_{n}") for n in thirds], axis=1)
    return results


# ---- Peers: of a case, how to run each way, and what comes of it, as gemel names it ----


class Jax:
    def __init__(self, arguments):
        os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if arguments.threads > 1 else 'false'}"
        import jax

        self.jax, self.version = jax, jax.__version__

    def states(self, case, v):
        jnp, sigmoid = self.jax.numpy, self.jax.nn.sigmoid
        us = jnp.split(v["u"], 3, axis=1) if case.apart else [v["u"]]

        def rnn(h, x):
            h = jnp.tanh(x + h @ v["u"] + v["b"])
            return h, h

        def gru(h, x):
            a = jnp.split(x + v["b"], 3, axis=1)
            p = [h @ u for u in us] if case.apart else jnp.split(h @ v["u"], 3, axis=1)
            r, z = sigmoid(a[0] + p[0]), sigmoid(a[1] + p[1])
            n = jnp.tanh(a[2] + r * p[2])
            h = n + z * (h - n)
            return h, h

        def lstm(carry, x):
            i, f, g, o = jnp.split(x + carry[0] @ v["u"] + v["b"], 4, axis=1)
            c = sigmoid(f) * carry[1] + sigmoid(i) * jnp.tanh(g)
            h = sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        body = {"rnn": rnn, "gru": gru, "lstm": lstm}[case.kind]
        start = (v["h0"], v["c0"]) if case.kind == "lstm" else v["h0"]
        return self.jax.lax.scan(body, start, v["x"] if case.rows_given else v["x"] @ v["w"])[1]

    def prepare(self, case, way):
        v = {n: self.jax.numpy.asarray(x) for n, x in case.values.items()}
        if way == "forward":
            run = self.jax.jit(lambda v: {"h": self.states(case, v)})
        else:
            gradients = self.jax.grad(lambda by, dy: self.jax.numpy.sum(self.states(case, by) * dy))
            run = self.jax.jit(lambda v: {f"d_{n}": g for n, g in gradients({n: v[n] for n in case.by}, v["dy"]).items()})
        return lambda: self.jax.block_until_ready(run(v))


class Torch:
    def __init__(self, arguments):
        import torch

        torch.set_num_threads(arguments.threads)
        self.torch, self.version = torch, torch.__version__

    def prepare(self, case, way):
        if case.rows_given or case.apart:
            return None
        torch = self.torch
        v = {n: torch.from_numpy(x.copy()) for n, x in case.values.items()}
        module = getattr(torch.nn, case.kind.upper())(case.units, case.units)
        parameters = {"w": module.weight_ih_l0, "u": module.weight_hh_l0, "b": module.bias_ih_l0}
        with torch.no_grad():
            for n, p in parameters.items():
                p.copy_(v[n].T if n in "wu" else v[n])
            module.bias_hh_l0.zero_()
        module.bias_hh_l0.requires_grad_(False)
        wrt = {**{n: v[n].requires_grad_(way == "gradient") for n in ("h0", "c0", "x") if n in v}, **parameters}
        first = tuple(v[n].unsqueeze(0) for n in ("h0", "c0") if n in v)

        def states():
            return module(v["x"], first if case.kind == "lstm" else first[0])[0]

        def forward():
            with torch.no_grad():
                return {"h": states()}

        def gradient():
            first_ = tuple(v[n].unsqueeze(0) for n in ("h0", "c0") if n in v)
            h = module(v["x"], first_ if case.kind == "lstm" else first_[0])[0]
            found = torch.autograd.grad((h * v["dy"]).sum(), list(wrt.values()))
            return {f"d_{n}": g.T if n in "wu" else g for n, g in zip(wrt, found)}

        return forward if way == "forward" else gradient


def peers(arguments):
    found = {}
    for name, make in (("jax", Jax), ("torch", Torch)):
        try:
            found[name] = make(arguments)
        except ImportError as problem:
            print(f"scan.py: without {name}: {problem}", file=sys.stderr)
    return found


# ---- Table ----


def error_of(numpy, ours, theirs):
    """The largest difference ÷ the largest number."""
    if set(ours) != set(theirs):
        sys.exit(f"scan.py: gemel computes {sorted(ours)}, the peer {sorted(theirs)}")
    return max(float(numpy.abs(x - numpy.asarray(theirs[n])).max() / numpy.abs(x).max()) for n, x in ours.items())


def compare(numpy, arguments, folder, name, metrics, rivals):
    case = Case(numpy, name)
    for way in WAYS:
        ours = gemel_results(numpy, arguments, folder, case, way)
        products = [v for n, v in metrics.items() if n.startswith(way + ",")]
        record = {"bench": "scan", "case": name, "way": way, "gemel": metrics[way], "products": min(products, default=None),
                  "threads": arguments.threads}
        cells = [f"{name + ', ' + way:34}{metrics[way]:10.2f}{record['products'] or float('nan'):10.2f}"]
        for rival, peer in rivals.items():
            run = peer.prepare(case, way)
            if run is None:
                cells.append(f"{'-':>10}{'':16}")
                continue
            error = error_of(numpy, ours, {n: x.detach() if hasattr(x, "detach") else x for n, x in run().items()})
            milliseconds = 1e3 * best(run, arguments.time * 1e-3)
            record.update({rival: milliseconds, f"{rival} error": error, f"{rival} version": peer.version})
            cells.append(f"{milliseconds:10.2f}{milliseconds / metrics[way]:7.2f}x{error:8.0e}")
        print("".join(cells), flush=True)
        yield record


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gemel", default="./gemel", help="the command (default ./gemel)")
    parser.add_argument("--case", default="rnn*,gru*,lstm", help="of `gemel bench scan` (default: %(default)s)")
    parser.add_argument("--units", type=int, default=1000, help="of the networks but for the long ones")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--time", type=int, default=1000, metavar="MS", help="for each measurement")
    parser.add_argument("--json", help="write the figures to this file, a line each")
    arguments = parser.parse_args()
    try:
        import numpy
    except ImportError:
        sys.exit("scan.py: there is no numpy")
    rivals = peers(arguments)
    records = []
    with tempfile.TemporaryDirectory() as folder:
        cases = bench(arguments, folder)
        print(f"{'milliseconds':34}{'gemel':>10}{'products':>10}"
              + "".join(f"{name + ' ' + peer.version:>18}{'error':>8}" for name, peer in rivals.items()))
        for name, metrics in cases.items():
            records += compare(numpy, arguments, folder, name, metrics, rivals)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)


if __name__ == "__main__":
    main()
