#!/usr/bin/env python3
"""Does `gemel equal` decide whole networks? The light models of the package onnx, with random weights, and three transformers.

Each network is compared with what ONNX Runtime (basic, extended), onnxoptimizer and onnxsim make of it: that must be the
same function. Faults are planted in networks, which ONNX Runtime optimises then: each must be told apart. Weights are
drawn with a seed. Times are the wall clock's and the processor's, memory is the most that was resident.

    networks_equal.py --gemel ./gemel --folder DIR [--only GLOB] [--seconds 60] [--json F]

Python 3.9 or later; numpy, onnx, onnxruntime, onnxoptimizer, onnxsim from PyPI. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys
import time

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

LIGHT = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
CONVOLUTIONAL = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet",
                 "vgg19", "zfnet512"]
OPTIMISERS = ["ort-basic", "ort-extended", "onnxoptimizer", "onnxsim"]


# ---- Light models with random weights


def draw(rng, op, place, shape):
    if op == "BatchNormalization" and place in (1, 4):
        return rng.uniform(0.5, 1.5, shape)
    if op in ("Conv", "Gemm") and place == 1:
        deviation = numpy.sqrt(2 / numpy.prod(shape[1:])) if op == "Conv" else 0.2 / numpy.sqrt(max(shape))
        return rng.normal(0, deviation, shape)
    return rng.uniform(0.5, 1.5, shape) if op == "Mul" else rng.normal(0, 0.1, shape)


def light(name):
    """The model, whose constants of one number become random initializers."""
    rng = numpy.random.default_rng(1)
    model = onnx.load(os.path.join(LIGHT, "light_%s.onnx" % name))
    graph, uses, nodes = model.graph, {}, []
    for node in graph.node:
        for place, value in enumerate(node.input):
            uses.setdefault(value, (node.op_type, place))
    known = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shape = known.pop(node.input[0])
            known[node.output[0]] = draw(rng, *uses[node.output[0]], shape).astype("f")
        else:
            nodes.append(node)
    for key, value in known.items():
        if value.dtype == numpy.float32 and value.size > 1:
            known[key] = draw(rng, *uses[key], value.shape).astype("f")
    constants = {t.name for t in graph.initializer}
    inputs = [i for i in graph.input if i.name not in constants]
    del graph.node[:], graph.initializer[:], graph.input[:]
    graph.node.extend(nodes)
    graph.input.extend(inputs)
    graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in known.items())
    model.ir_version = max(model.ir_version, 4)
    calibrate(model)
    return model


def calibrate(model):
    """Makes the last product small enough for the softmax behind it, as it is in a network that was trained."""
    import onnxruntime

    makers = {n.output[0]: n for n in model.graph.node}
    last = next((makers.get(n.input[0]) for n in model.graph.node if n.op_type == "Softmax"), None)
    if last is not None and last.op_type == "Gemm":
        seen = onnx.ModelProto()
        seen.CopyFrom(model)
        seen.graph.output.append(helper.make_empty_tensor_value_info(last.output[0]))
        session = onnxruntime.InferenceSession(seen.SerializeToString(), providers=["CPUExecutionProvider"])
        entry = session.get_inputs()[0]
        image = numpy.random.default_rng(2).normal(0, 1.5, entry.shape).astype("f")
        size = session.run([last.output[0]], {entry.name: image})[0].std()
        change(model, last.input[1], lambda a: (a / size).astype("f"))


# ---- Transformers


class Writer:
    def __init__(self, seed):
        self.rng = numpy.random.default_rng(seed)
        self.nodes, self.weights, self.n = [], [], 0

    def weight(self, *shape, value=None):
        self.n += 1
        array = self.rng.normal(0, 0.5 / numpy.sqrt(shape[0]), shape) if value is None else value
        array = array if getattr(array, "dtype", None) == numpy.int64 else numpy.asarray(array, "f")
        self.weights.append(numpy_helper.from_array(array, "w%d" % self.n))
        return "w%d" % self.n

    def __call__(self, op, *inputs, **attributes):
        self.n += 1
        self.nodes.append(helper.make_node(op, list(inputs), ["t%d" % self.n], **attributes))
        return "t%d" % self.n

    def ints(self, *values):
        return self.weight(value=numpy.array(values, "int64"))

    def affine(self, x, m, n):
        return self("Add", self("MatMul", x, self.weight(m, n)), self.weight(n))

    def norm(self, x, d):
        scale = self.weight(value=self.rng.uniform(0.5, 1.5, d))
        return self("LayerNormalization", x, scale, self.weight(d), axis=-1, epsilon=1e-5)

    def gelu(self, x, tanh):
        half, one = self.weight(value=0.5), self.weight(value=1.0)
        if tanh:
            cube = self("Mul", self("Mul", x, self("Mul", x, x)), self.weight(value=0.044715))
            inner = self("Tanh", self("Mul", self("Add", x, cube), self.weight(value=0.7978845608)))
        else:
            inner = self("Erf", self("Div", x, self.weight(value=1.4142135381698608)))
        return self("Mul", self("Mul", x, self("Add", inner, one)), half)

    def attention(self, x, t, d, heads, mask):
        split, merge = self.ints(1, t, heads, d // heads), self.ints(1, t, d)
        q, k, v = (self("Reshape", self.affine(x, d, d), split) for _ in range(3))
        q, v = (self("Transpose", y, perm=[0, 2, 1, 3]) for y in (q, v))
        scores = self("MatMul", q, self("Transpose", k, perm=[0, 2, 3, 1]))
        scores = self("Div", scores, self.weight(value=float(numpy.sqrt(d // heads))))
        if mask:
            scores = self("Add", scores, self.weight(value=numpy.triu(numpy.full((t, t), -1e4), 1)))
        mixed = self("MatMul", self("Softmax", scores, axis=-1), v)
        return self.affine(self("Reshape", self("Transpose", mixed, perm=[0, 2, 1, 3]), merge), d, d)


def transformer(kind, t=32, d=128, heads=4, layers=2):
    """Embeddings to logits: gpt2 and vit normalize before each layer, bert behind it; vit begins with patches."""
    w = Writer({"gpt2": 11, "bert": 12, "vit": 13}[kind])
    shape = [1, 3, 32, 64] if kind == "vit" else [1, t, d]
    x = "x"
    if kind == "vit":
        x = w("Conv", x, w.weight(d, 3, 8, 8), w.weight(d), kernel_shape=[8, 8], strides=[8, 8])
        x = w("Transpose", w("Reshape", x, w.ints(1, d, t)), perm=[0, 2, 1])
    x = w("Add", x, w.weight(1, t, d))
    for _ in range(layers):
        a = x if kind == "bert" else w.norm(x, d)
        x = w("Add", x, w.attention(a, t, d, heads, kind == "gpt2"))
        x = w.norm(x, d) if kind == "bert" else x
        a = x if kind == "bert" else w.norm(x, d)
        x = w("Add", x, w.affine(w.gelu(w.affine(a, d, 4 * d), kind == "gpt2"), 4 * d, d))
        x = w.norm(x, d) if kind == "bert" else x
    y = w.affine(w.norm(x, d), d, 50)
    w.nodes.append(helper.make_node("Identity", [y], ["y"]))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(w.nodes, kind, [info("x", TensorProto.FLOAT, shape)],
                              [info("y", TensorProto.FLOAT, [1, t, 50])], w.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


# ---- Optimisers


def optimise(how, source, result):
    if how.startswith("ort"):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        level = "ORT_ENABLE_" + how.split("-")[1].upper()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.optimized_model_filepath = result
        options.log_severity_level = 3
        onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    elif how == "onnxoptimizer":
        import onnxoptimizer

        passes = onnxoptimizer.get_fuse_and_elimination_passes()
        onnx.save(onnxoptimizer.optimize(onnx.load(source), passes), result)
    else:
        import onnxsim

        onnx.save(onnxsim.simplify(onnx.load(source))[0], result)


# ---- Faults


def nodes_of(model, op):
    return [n for n in model.graph.node if n.op_type == op]


def attribute(node, name):
    return next(a for a in node.attribute if a.name == name)


def change(model, name, function):
    for t in model.graph.initializer:
        if t.name == name:
            t.CopyFrom(numpy_helper.from_array(numpy.ascontiguousarray(function(numpy_helper.to_array(t).copy())), name))


def bypass(model, node, keep=0):
    """What NODE computes becomes its operand KEEP."""
    for other in model.graph.node:
        for k, value in enumerate(other.input):
            if value == node.output[0]:
                other.input[k] = node.input[keep]
    model.graph.node.remove(node)


def middle(nodes):
    return nodes[len(nodes) // 2]


def swap_pads(m):
    node = next(n for n in nodes_of(m, "Conv") if attribute(n, "pads").ints[0] > 0)
    pads = attribute(node, "pads").ints
    pads[0], pads[2] = 0, pads[0] + pads[2]


def one_weight(op):
    def fault(m):
        def scaled(a):
            a.flat[a.size // 3] *= 1.05
            return a
        change(m, middle(nodes_of(m, op)).input[1], scaled)
    return fault


def swap_inputs(op, i, j):
    def fault(m):
        node = middle(nodes_of(m, op))
        node.input[i], node.input[j] = node.input[j], node.input[i]
    return fault


def weights(op, place, function, pick=middle):
    return lambda m: change(m, pick(nodes_of(m, op)).input[place], function)


def square(nodes, m):
    shapes = {t.name: t.dims for t in m.graph.initializer}
    return middle([n for n in nodes if n.input[1] in shapes and len(set(shapes[n.input[1]])) == 1])


def set_attribute(op, name, function):
    def fault(m):
        a = attribute(middle([n for n in nodes_of(m, op) if any(a.name == name for a in n.attribute)]), name)
        if a.type == onnx.AttributeProto.INTS:
            a.ints[:] = function(list(a.ints))
        elif a.type == onnx.AttributeProto.INT:
            a.i = function(a.i)
        else:
            a.f = function(a.f)
    return fault


def relu_first(m):
    """A block adds behind its ReLU instead of before."""
    relu = next(n for n in nodes_of(m, "Relu") if any(n.input[0] == s.output[0] for s in nodes_of(m, "Sum")))
    add = next(n for n in nodes_of(m, "Sum") if n.output[0] == relu.input[0])
    relu.input[0], out = add.input[0], relu.output[0]
    relu.output[0], add.input[0], add.output[0] = out + "_", out + "_", out
    k = list(m.graph.node).index(add)
    nodes = list(m.graph.node)
    nodes[k], nodes[nodes.index(relu)] = relu, add
    del m.graph.node[:]
    m.graph.node.extend(nodes)


FAULTS = [
    ("resnet50", "pads swapped", swap_pads),
    ("resnet50", "epsilon 1e-5 is 1e-2", set_attribute("BatchNormalization", "epsilon", lambda e: 1e-2)),
    ("resnet50", "scale and variance swapped", swap_inputs("BatchNormalization", 1, 4)),
    ("resnet50", "shift and mean swapped", swap_inputs("BatchNormalization", 2, 3)),
    ("resnet50", "one weight 5 % larger", one_weight("Conv")),
    ("resnet50", "residual dropped", lambda m: bypass(m, middle(nodes_of(m, "Sum")))),
    ("resnet50", "ReLU before the sum", relu_first),
    ("resnet50", "a ReLU dropped", lambda m: bypass(m, middle(nodes_of(m, "Relu")))),
    ("resnet50", "kernel flipped", weights("Conv", 1, lambda a: a[..., ::-1, :], lambda n: n[0])),
    ("shufflenet", "channels shuffled otherwise", set_attribute("Transpose", "perm", lambda p: [0, 1, 2, 3, 4])),
    ("shufflenet", "a group's weights at another's", weights("Conv", 1, lambda a: numpy.roll(a, a.shape[0] // 4, 0))),
    ("densenet121", "one weight 5 % larger", one_weight("Conv")),
    ("densenet121", "order of a concatenation", swap_inputs("Concat", 0, 1)),
    ("inception_v2", "maximum for mean", lambda m: setattr(nodes_of(m, "AveragePool")[0], "op_type", "MaxPool")),
    ("squeezenet", "bias dropped", lambda m: middle(nodes_of(m, "Conv")).input.pop()),
    ("squeezenet", "order of a concatenation", swap_inputs("Concat", 0, 1)),
    ("gpt2", "a square weight transposed", lambda m: change(m, square(nodes_of(m, "MatMul"), m).input[1], lambda a: a.T)),
    ("gpt2", "softmax along another axis", set_attribute("Softmax", "axis", lambda a: -2)),
    ("bert", "epsilon 1e-5 is 1e-3", set_attribute("LayerNormalization", "epsilon", lambda e: 1e-3)),
    ("vit", "one weight 5 % larger", one_weight("MatMul")),
]


# ---- Measuring


# Runs a command. In a small process, as what a process had resident before it runs a program counts too.
RUN = """import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)"""


def compare(options, a, b):
    command = [sys.executable, "-S", "-c", RUN] + [os.path.abspath(options.gemel), "equal", "--threads", "1", "--seconds", str(options.seconds), a, b]
    began = time.perf_counter()
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    *_, last, figures = [""] + said.strip().splitlines()
    code, seconds, kilobytes = (float(x) for x in figures.split())
    verdict = "equal" if code == 0 else "refuted" if re.search(r" differ\b", last) else "undecided"
    size = max(os.path.getsize(a), os.path.getsize(b))
    return {"verdict": verdict, "seconds": round(time.perf_counter() - began, 2),
            "processor_seconds": round(seconds, 2), "megabytes": round(kilobytes / 1024),
            "by_file_size": round(kilobytes * 1024 / size, 1),
            "words": (re.search(r"(up to|told apart by) ([a-z, ]*?)(, for sizes|\s*\()", last) or [0, 0, ""])[2]}


def build(options, name):
    path = os.path.join(options.folder, name + ".onnx")
    if not os.path.exists(path):
        onnx.save(light(name) if name in CONVOLUTIONAL else transformer(name), path)
    return path


def row(options, found, name, what, source, result, how, wanted):
    record = {"network": name, "against": what, "wanted": wanted}
    try:
        optimise(how, source, result)
        record.update(compare(options, build(options, name), result))
    except Exception as error:  # an optimiser may refuse a model
        record.update(verdict="no model: " + str(error).splitlines()[0][:100])
    found.append(record)
    print("%-14s %-32s %-10s %6s s %6s s %6s MB %5s  %s" % (
        name, what, record["verdict"], record.get("seconds"), record.get("processor_seconds"), record.get("megabytes"),
        record.get("by_file_size"), record.get("words", "")), flush=True)
    if os.path.exists(result):
        os.remove(result)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gemel", default="./gemel")
    parser.add_argument("--folder", required=True, help="for the models; those that are there already are taken")
    parser.add_argument("--only", default="*", help="networks whose names match")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--json", help="write the figures to this file, a line each")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    found = []
    scratch = os.path.join(options.folder, "after.onnx")
    for name in CONVOLUTIONAL + ["gpt2", "bert", "vit"]:
        for how in OPTIMISERS if fnmatch.fnmatch(name, options.only) else []:
            row(options, found, name, how, build(options, name), scratch, how, "equal")
    faulty = os.path.join(options.folder, "faulty.onnx")
    for name, what, plant in FAULTS:
        if fnmatch.fnmatch(name, options.only):
            model = onnx.load(build(options, name))
            plant(model)
            onnx.save(model, faulty)
            row(options, found, name, what, faulty, scratch, "ort-basic", "refuted")
    right = sum(r["verdict"] == r["wanted"] for r in found)
    print("%d of %d as they should be" % (right, len(found)))
    if options.json:
        with open(options.json, "w") as file:
            file.writelines(json.dumps(r) + "\n" for r in found)
    return right != len(found)


if __name__ == "__main__":
    sys.exit(main())
