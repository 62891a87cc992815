#!/usr/bin/env python3
"""Released optimisers of ONNX models as servers for gemel campaign.

    gemel campaign MODELS --server 'python3 bench/peers/optimisers.py onnxsim'
    gemel campaign MODELS --server 'python3 bench/peers/optimisers.py onnxoptimizer' \\
                          --passes 'python3 bench/peers/optimisers.py onnxoptimizer --passes'

Each is run as its users run it: ONNX Runtime by levels (ort-basic, ort-extended, ort-all), onnxoptimizer with its
default passes, or by one pass; onnxsim; onnxslim; onnxscript's optimiser. Python 3.9 or later; the package gemel
(PYTHONPATH=build/python), onnx and the optimisers from PyPI. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import importlib.metadata
import os
import sys
import tempfile


def ort(level):
    import onnx
    import onnxruntime

    def session(model, name, path=None):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_{name}")
        options.log_severity_level = 4
        if path:
            options.optimized_model_filepath = path
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def optimise(model):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            try:
                session(model, f"ENABLE_{level.upper()}", path)
                return onnx.load(path)
            except Exception:
                try:
                    session(model, "DISABLE_ALL")
                except Exception:  # it has no kernels for the model itself, so it leaves it as it is
                    return model
                raise
    return optimise


def onnxoptimizer():
    import onnxoptimizer as package

    return lambda model, *names: package.optimize(model, list(names) or None)


def onnxsim():
    import onnxsim as package

    return lambda model: package.simplify(model)[0]


def onnxslim():
    import onnxslim as package

    return lambda model: package.slim(model)


def onnxscript():
    import onnxscript.optimizer as package

    return lambda model: package.optimize(model)


OPTIMISERS = {"ort-basic": ("onnxruntime", lambda: ort("basic")), "ort-extended": ("onnxruntime", lambda: ort("extended")),
              "ort-all": ("onnxruntime", lambda: ort("all")), "onnxoptimizer": ("onnxoptimizer", onnxoptimizer),
              "onnxsim": ("onnxsim", onnxsim), "onnxslim": ("onnxslim", onnxslim), "onnxscript": ("onnxscript", onnxscript)}


def passes():
    import onnxoptimizer as package

    return [name for name in package.get_available_passes() if not name.startswith(("extract_", "split_", "rename_"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("optimiser", choices=OPTIMISERS)
    parser.add_argument("--passes", action="store_true", help="print the names of onnxoptimizer's passes")
    given = parser.parse_args()
    if given.passes:
        print("\n".join(passes()))
        return
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]
    import gemel

    package, make = OPTIMISERS[given.optimiser]
    suffix = given.optimiser[len("ort"):].replace("-", ", ") if package == "onnxruntime" else ""
    gemel.serve(make(), f"{package} {importlib.metadata.version(package)}{suffix}")


if __name__ == "__main__":
    main()
