#!/usr/bin/env python3
"""What a call costs: graphs of 1, 10, 100 and 1000 small nodes in gemel, ONNX Runtime and PyTorch.

elementwise: h * x, + y, max x, - y, in turn, on 16 numbers of f32, each node taking the one before.
layers: relu(h w) on 16 numbers, one product and one relu in turn. gemel's calls are timed by `gemel
bench FILE`; ONNX Runtime's Run() is called from Python, on memory that is bound beforehand, and
PyTorch's operations are called one by one, without gradients: the time includes what Python takes for
that, which is how both are called. All on one thread; microseconds, the best of many calls.

    calls.py --gemel ./gemel [--json F]

Python 3.9 or later; numpy, onnx, onnxruntime and torch from PyPI. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

NODES = (1, 10, 100, 1000)
# name: what gemel calls it, with %s for the node before, and the ONNX operation with its other operand
CHAINS = {
    "elementwise": [("%s * x", "Mul", "x"), ("%s + y", "Add", "y"), ("maximum(%s, x)", "Max", "x"),
                    ("%s - y", "Sub", "y")],
    "layers": [("dot(%s, w)", "MatMul", "w"), ("relu(%s)", "Relu", None)],
}


def gemel_text(chain, nodes):
    lines, h = [], "x"
    for k in range(nodes):
        lines.append(f"  h{k} = {chain[k % len(chain)][0] % h}")
        h = f"h{k}"
    return ("graph f(x: f32[1, 16], y: f32[1, 16], w: f32[16, 16]) {\n" + "\n".join(lines)
            + f"\n  return {h}\n}}\n")


def gemel_seconds(options, chain, nodes, folder):
    path = os.path.join(folder, "chain.gmt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(gemel_text(chain, nodes))
    command = [options.gemel, "bench", path, "--threads", "1", "--time", "300", "--json", "-"]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return json.loads(out.stdout.splitlines()[0])["value"]


def best(call):
    end, least = time.perf_counter() + 0.3, float("inf")
    call()
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(20):
            call()
        least = min(least, (time.perf_counter() - start) / 20)
    return least


def onnx_call(chain, nodes, operands):
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    made, h = [], "x"
    for k in range(nodes):
        _, operation, other = chain[k % len(chain)]
        made.append(helper.make_node(operation, [h] + ([other] if other else []), [f"h{k}"]))
        h = f"h{k}"
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, a.shape) for name, a in operands.items()]
    output = helper.make_tensor_value_info(h, TensorProto.FLOAT, (1, 16))
    graph = helper.make_graph(made, "f", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, a in operands.items():
        binding.bind_cpu_input(name, a)
    binding.bind_output(h)
    return lambda: session.run_with_iobinding(binding)


def torch_call(chain, nodes, operands):
    import torch

    torch.set_num_threads(1)
    functions = {"Mul": torch.mul, "Add": torch.add, "Max": torch.maximum, "Sub": torch.sub,
                 "MatMul": torch.matmul, "Relu": torch.relu}
    values = {name: torch.from_numpy(a) for name, a in operands.items()}
    steps = [chain[k % len(chain)] for k in range(nodes)]
    steps = [(functions[operation], (values[other],) if other else ()) for _, operation, other in steps]

    def call():
        h = values["x"]
        with torch.inference_mode():
            for function, rest in steps:
                h = function(h, *rest)
        return h

    return call


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gemel", default="./gemel")
    parser.add_argument("--json", help="write the figures to this file, a line each")
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    try:
        import numpy
        import onnx
        import onnxruntime
        import torch
    except ImportError as problem:
        sys.exit(f"calls.py: {problem}")
    random = numpy.random.default_rng(1)
    shapes = {"x": (1, 16), "y": (1, 16), "w": (16, 16)}
    operands = {name: (random.random(shape, dtype=numpy.float32) - 0.5) / 2 for name, shape in shapes.items()}
    records = []
    print(f"{'us a call':12}{'nodes':>6}{'gemel':>10}{'limit':>8}{'ONNX Runtime':>14}{'PyTorch':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for name, chain in CHAINS.items():
            for nodes in NODES:
                mine = gemel_seconds(options, chain, nodes, folder)
                theirs = best(onnx_call(chain, nodes, operands)), best(torch_call(chain, nodes, operands))
                limit = 1e-6 + 20e-9 * nodes
                print(f"{name:12}{nodes:6}{1e6 * mine:10.2f}{1e6 * limit:8.2f}{1e6 * theirs[0]:14.2f}{1e6 * theirs[1]:10.2f}")
                records.append({"bench": "calls", "chain": name, "nodes": nodes, "unit": "s", "gemel": mine, "limit": limit,
                                "ONNX Runtime": theirs[0], "PyTorch": theirs[1], "threads": 1,
                                "onnxruntime": onnxruntime.__version__, "torch": torch.__version__})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)


if __name__ == "__main__":
    main()
