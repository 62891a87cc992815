#!/usr/bin/env python3
"""Models of `gemel models`, by others: does onnx.checker accept them, does ONNX Runtime load and run them?

    models.py --gemel ./gemel [--count 1000] [--seed 6] [--aim OPERATOR,...] [--keep DIR] [--verbose]

Prints how many of them onnx.checker takes with full_check, and how many ONNX Runtime, with its optimisations off, loads and
runs; and why not. Exit status 0 if the checker takes all and ONNX Runtime 95 %. Python 3.9 or later; numpy, onnx and
onnxruntime from PyPI. Never needed to build or test gemel. SPDX-License-Identifier: MIT
"""

import argparse
import collections
import glob
import itertools
import os
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime


def inputs_of(session, size, least):
    """One for each input: SIZE for sizes without a number; integers are small ones from LEAST on, which are indices, too."""
    generator = numpy.random.default_rng(6)
    for value in session.get_inputs():
        shape = [n if isinstance(n, int) else size for n in value.shape]
        dtype = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2", "tensor(bool)": "?"}.get(value.type)
        dtype = numpy.dtype(dtype or value.type[len("tensor("):-1])
        numbers = generator.integers(least, 2, shape) if dtype.kind in "iub" else generator.normal(size=shape)
        yield value.name, numpy.asarray(numbers).astype(dtype)


def check(path):
    try:
        onnx.checker.check_model(onnx.load(path), full_check=True)
    except Exception as error:  # pylint: disable=broad-except
        return str(error)
    return ""


def load_and_run(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # pylint: disable=broad-except
        return f"load\n{error}"
    for size, least in itertools.product((3, 2, 4, 1, 5), (0, 1)):
        try:
            session.run(None, dict(inputs_of(session, size, least)))
            return ""
        except Exception as error:  # pylint: disable=broad-except
            last = error
    return f"run\n{last}"


def apart(function, path):
    """What FUNCTION says of PATH, in a process of its own, which it may end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, function(path)[:4000].encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read().decode(errors="replace")
    status = os.waitpid(child, 0)[1]
    return f"run\nended by signal {status}" if status != 0 else told


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--gemel", default="./gemel")
    arguments.add_argument("--count", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=6)
    arguments.add_argument("--aim")
    arguments.add_argument("--keep")
    arguments.add_argument("--verbose", action="store_true", help="name each model that is refused")
    given = arguments.parse_args()
    failures, reasons = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or scratch
        command = [given.gemel, "models", folder, "--count", str(given.count), "--seed", str(given.seed)]
        subprocess.run(command + (["--aim", given.aim] if given.aim else []), check=True)
        paths = sorted(glob.glob(os.path.join(folder, "*.onnx")))
        for path in paths:
            by_checker = check(path)
            stage, _, by_runtime = apart(load_and_run, path).partition("\n")
            for who, error in (("checker", by_checker), (stage, by_runtime)):
                if error:
                    failures[who] += 1
                    reasons[who, re.sub(r"'[^']*'|/\S+|\d+", "*", error)[:150].replace("\n", " ")] += 1
                    if given.verbose:
                        print(os.path.basename(path), who, error[:600].replace("\n", " "))
    for (who, reason), count in reasons.most_common(30):
        print(f"{count:5} {who}: {reason}")
    total = len(paths)
    for who in ("checker", "load", "run"):
        print(f"{who}: {failures[who]} of {total} refused ({100 * failures[who] / total:.2f} %)")
    return 0 if failures["checker"] == 0 and failures["load"] + failures["run"] <= total / 20 else 1


if __name__ == "__main__":
    sys.exit(main())
