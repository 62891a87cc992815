#!/usr/bin/env python3
"""The node tests of the installed onnx package, judged by tests/t-onnx-nodes: which models gemel reads,
and why it doesn't read the others, as a table of Markdown.

    onnx_nodes.py --tests BUILD/tests/t-onnx-nodes [--out bench/results/onnx-1.23-nodes.md]

The tests are made by onnx's own collect_testcases: a model, its inputs and outputs. A model that is read must
give the outputs; one that isn't is listed with gemel's reason. Tests of strings, sequences, optional values,
complex numbers and elements of fewer than 8 bits are counted and left out. Exit status 0 if no result differs.
Python 3.9 or later; onnx from PyPI (and ml_dtypes). Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def write_tensors(folder, what, values, infos):
    for k, (value, info) in enumerate(zip(values, infos)):
        if isinstance(value, onnx.TensorProto):
            proto = value
        elif hasattr(value, "dtype"):
            proto = numpy_helper.from_array(numpy.asarray(value), info.name)
        else:
            return False
        proto.name = info.name
        with open(os.path.join(folder, f"{what}_{k}.pb"), "wb") as file:
            file.write(proto.SerializeToString())
    return True


def write_tests(root):
    """How many were written, and how many have values that are no tensors."""
    written = others = 0
    for case in collect_testcases(None):
        if case.model is None:
            continue
        folder = os.path.join(root, case.name)
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data)
        graph = case.model.graph
        inputs, outputs = case.data_sets[0]
        if write_tensors(data, "input", inputs, graph.input) and write_tensors(data, "output", outputs, graph.output):
            onnx.save(case.model, os.path.join(folder, "model.onnx"))
            written += 1
        else:
            subprocess.run(["rm", "-r", folder], check=True)
            others += 1
    return written, others


def table(text, others):
    """Lines of Markdown, and how many results differ."""
    counts = re.search(r"^read (\d+), refused (\d+), of other types (\d+)$", text, re.M)
    read, refused, other = map(int, counts.groups())
    differ = len(re.findall(r"^  with /", text, re.M))
    reasons = collections.Counter()
    for line in text.splitlines():
        found = re.search(r"/model\.onnx: (?:node \d+ \S* ?\((\w+)\): )?(.*)$", line)
        if found:
            reason = re.sub(r", of which the model has \d+$", "", found.group(2))
            reasons[(found.group(1) or "", re.sub(r"'[^']*'|input \w+ is", lambda m: "input" if m.group(0)[0] == "i" else "…", reason))] += 1
    lines = [f"# Node tests of onnx {onnx.__version__}", "",
             f"Of {read + refused} tests of gemel's dtypes {read} are read and {read - differ} give ONNX's results; {refused} are refused. "
             f"{other + others} more are of strings, sequences, optional values, complex numbers or fewer than 8 bits. "
             "`bench/peers/onnx_nodes.py` writes this table.", "",
             "| tests | operator | why it isn't read |", "|---|---|---|"]
    lines += [f"| {n} | {operator} | {reason} |" for (operator, reason), n in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))]
    return lines, differ


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tests", required=True)
    arguments.add_argument("--out")
    given = arguments.parse_args()
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as root:
        _, others = write_tests(root)
        environment = dict(os.environ, GEMEL_ONNX_DATA=root, GEMEL_SRCDIR=os.getcwd())
        judged = subprocess.run([given.tests, "--gtest_filter=*others*"], env=environment, capture_output=True, text=True, check=False)
    lines, differ = table(judged.stdout, others)
    print("\n".join(lines))
    if given.out:
        with open(given.out, "w") as file:
            file.write("\n".join(lines) + "\n")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
