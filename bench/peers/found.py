#!/usr/bin/env python3
"""The wrong rewrites of released optimisers that gemel found, again: which still happen, and what two runtimes say.

    found.py --gemel build/gemel [--python PYTHON] [--only WORD] [--keep DIR] [--markdown doc/found.md]

The models stand in found.models. Each goes through its optimiser and gemel campaign; what is said to differ is run by
ONNX Runtime without optimisations and by onnx's reference evaluator, before and after, at the inputs that gemel shows.
--markdown writes the table. Exit status 0 if everything that gemel says is confirmed. Python 3.9 or later; numpy, onnx,
onnxruntime, onnxoptimizer, onnxsim, onnxslim, onnxscript from PyPI, and the package gemel (PYTHONPATH=build/python).
Never needed to build or test gemel. SPDX-License-Identifier: MIT
"""

import argparse
import collections
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnx.checker
import onnx.parser
import onnx.reference
import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
SERVERS = {"onnxruntime": "ort-basic"}
HEAD = """# Wrong rewrites that gemel found

What released optimisers of ONNX models get wrong, found by `gemel campaign`, {count} rewrites of {optimisers}. `bench/peers/found.py`
makes this table: it runs each model through its optimiser and gemel, and both models by ONNX Runtime {ort} without optimisations and by the
reference evaluator of onnx {onnx}, at the inputs that gemel shows. The models are in `bench/peers/found.models`.

*Confirmed* says which of the two sees another result than before, or refuses the model. At *edge values* numbers are tiny, NaN, or equal but for a rounding,
so a maintainer may well call it deliberate. Reports are those that a search for the pass and the symptom turned up in the optimisers' public trackers;
that none was found doesn't mean that there is none.

"""


def sections():
    with open(os.path.join(HERE, "found.models"), encoding="utf-8") as file:
        parts = re.split(r"^== (\S+)\n", file.read(), flags=re.M)[1:]
    for name, text in zip(parts[::2], parts[1::2]):
        head, graph = re.split(r"^(?=g \()", text, maxsplit=1, flags=re.M)
        facts = dict(line.split(": ", 1) for line in head.strip().splitlines())
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {facts["opset"]}]>\n{graph}')
        yield name, facts, model


def campaign(given, optimiser, folder):
    outcomes = os.path.join(folder, "outcomes.json")
    server = f"{given.python} {os.path.join(HERE, 'optimisers.py')} {SERVERS.get(optimiser, optimiser)}"
    command = [given.gemel, "campaign", os.path.join(folder, "models"), "--server", server, "--json", outcomes, "--counterexample",
               os.path.join(folder, "wrong")]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    with open(outcomes, encoding="utf-8") as file:
        return {row["model"][:-len(".onnx")]: row for row in map(json.loads, file)}


def by_ort(path, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def by_onnx(path, feeds):
    with numpy.errstate(all="ignore"):
        return onnx.reference.ReferenceEvaluator(path).run(None, feeds)


def differ(before, after):
    for x, y in zip(before, after):
        if x.shape != y.shape or x.dtype != y.dtype:
            return True
        scale = numpy.max(numpy.abs(x), initial=0, where=numpy.isfinite(x)) if x.dtype.kind == "f" else 0
        if not numpy.allclose(x, y, rtol=1e-3, atol=1e-4 * scale, equal_nan=True):
            return True
    return False


def numbers_for(model):
    feeds = {}
    weights = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name not in weights:
            shape = [dim.dim_value or 3 for dim in value.type.tensor_type.shape.dim]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            feeds[value.name] = (numpy.arange(numpy.prod(shape, dtype=int)) % 7 + 1).astype(dtype).reshape(shape)
    return feeds


def refused(path):
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as error:  # of a domain of ONNX Runtime's own it knows nothing
        return "No opset import" not in str(error) and "No Op registered" not in str(error)
    return False


def interface(path):
    """Names and dtypes of a model's inputs and outputs."""
    graph = onnx.load(path).graph
    weights = {tensor.name for tensor in graph.initializer}
    return [{(v.name, v.type.tensor_type.elem_type) for v in values if v.name not in weights} for values in (graph.input, graph.output)]


def confirmed(folder, count=False):
    """Which of the two runtimes sees the difference in a counterexample's folder, or refuses the result; with COUNT also
    how many of them run the model itself. A result with other inputs or outputs shows as it is."""
    paths = [os.path.join(folder, f"{which}.onnx") for which in ("before", "after")]
    feeds = {}
    for name in sorted(os.listdir(folder)):
        if name.startswith("input_"):
            tensor = onnx.load_tensor(os.path.join(folder, name))
            feeds[tensor.name] = onnx.numpy_helper.to_array(tensor)
    if not feeds:  # of an invalid result any inputs will do
        feeds = numbers_for(onnx.load(paths[0]))
    seen, runs = [], 0
    if refused(paths[1]) and not refused(paths[0]):
        return (["onnx.checker"], 1) if count else ["onnx.checker"]
    if interface(paths[0]) != interface(paths[1]):
        return (["its interface"], 1) if count else ["its interface"]
    for name, run in (("ONNX Runtime", by_ort), ("onnx", by_onnx)):
        try:
            before = run(paths[0], feeds)
        except Exception:  # the model itself isn't run by it
            continue
        runs += 1
        try:
            if differ(before, run(paths[1], feeds)):
                seen.append(name)
        except Exception:
            seen.append(name)
    return (seen, runs) if count else seen


def row_of(name, facts, row, folder):
    happens = row["outcome"] in ("differs", "invalid", "crashed", "silent")
    seen = confirmed(row["folder"]) if "folder" in row else []
    if row["outcome"] == "differs":
        what = f"{row['inputs']}: {row['output']} = {row['before']} becomes {row['after']}"
    else:
        why = row["detail"].split(".onnx: ")[-1].split("; see ")[0]
        what = f"{row['outcome']}: {why[:117] + '...' if len(why) > 120 else why}" if happens else "no longer, or not seen: " + row["outcome"]
    return {"name": name, "what": what, "seen": seen, "happens": happens, "row": row, **facts}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gemel", default="./gemel")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", default=None)
    parser.add_argument("--markdown", default=None)
    given = parser.parse_args()
    found, good = [], True
    wanted = [s for s in sections() if given.only in s[0]]
    with tempfile.TemporaryDirectory() as scratch:
        for optimiser in dict.fromkeys(facts["optimiser"] for _, facts, _ in wanted):
            folder = os.path.join(given.keep or scratch, optimiser)
            os.makedirs(os.path.join(folder, "models"), exist_ok=True)
            for name, facts, model in wanted:
                if facts["optimiser"] == optimiser:
                    onnx.save(model, os.path.join(folder, "models", name + ".onnx"))
            rows = campaign(given, optimiser, folder)
            found += [row_of(name, facts, rows[name], folder) for name, facts, _ in wanted if facts["optimiser"] == optimiser]
    for f in found:
        good = good and (f["row"]["outcome"] not in ("differs", "invalid") or bool(f["seen"]))
        print(f"{f['name']:<36} {f['row']['outcome']:<10} {', '.join(f['seen']) or '-':<22} {f['what']}")
    counts = collections.Counter(f["row"]["outcome"] for f in found)
    print(f"{len(found)} models:", ", ".join(f"{n} {outcome}" for outcome, n in counts.most_common()))
    if given.markdown:
        versions = ", ".join(f"{o} {importlib.metadata.version(o)}" for o in dict.fromkeys(f["optimiser"] for f in found))
        with open(given.markdown, "w", encoding="utf-8") as file:
            file.write(HEAD.format(count=len(found), optimisers=versions, ort=onnxruntime.__version__, onnx=onnx.__version__))
            file.write("| optimiser, pass | what is wrong | for example | confirmed | reports |\n|---|---|---|---|---|\n")
            for f in found:
                note = f" ({f['note']})" if "note" in f else ""
                cells = (f"{f['optimiser']}, {f['pass']}", f["cause"] + note, f["what"], ", ".join(f["seen"]), f["status"])
                file.write("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
