#!/usr/bin/env python3
"""The graphs of `gemel bench optimizer`, built and made callable by other compilers.

For each model and size gemel is run first (`gemel bench optimizer --json -`), which also says how
many blocks or steps come nearest to the size. Each peer then builds the same model, with its
gradient by every parameter, in a process of its own with a timeout. One table shows:

  ops         operations in the graph of loss and gradient; inputs and constants aren't counted
  ops left    the same after rewriting
  views       those of them that are views, where they are counted at all: they compute nothing
  kernels     what a call runs, where it is told: one may do many operations
  Mflops left 2 x the multiplications in the matrix products that are left
  build       seconds to build, or to trace and lower, gradient included
  rewrite     seconds of rewriting alone, where the peer lets one measure it
  callable    seconds from the graph to a function that can be called, rewriting included

Peers find nothing that an earlier run compiled. torch.compile traces the model once more, which is
in its `callable`. A peer that isn't installed is skipped with the reason; what a peer had measured
when its time was up is shown. Python 3.9 or later; peers from PyPI: pytensor, jax, onnx and onnxruntime, torch, and
numpy. Never needed to build or test gemel. SPDX-License-Identifier: MIT
"""

import argparse
import functools
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

# As in bench/training.c.
BATCH, WIDTH, STEP_IN, STEP_OUT, EPSILON = 16, 32, 12, 8, 1e-5
MODELS = {"residual": "blocks", "bidirectional": "steps"}


# ---- The models, once, over a small set of functions that each peer provides ----
#
# A peer's functions `f` are: constant, add, sub, mul, div, sqrt, relu, tanh, matmul, at_step, and
# sum_rows (over the last axis, kept) and sum_all. Parameters are made by `parameter(name, shape)`
# and data by `data(name, shape)`.


def mean_square(f, x, count):
    return f.div(f.sum_all(f.mul(x, x)), f.constant(count))


def normalise(f, x, gain):
    mean = f.div(f.sum_rows(x), f.constant(WIDTH))
    centred = f.sub(x, mean)
    variance = f.div(f.sum_rows(f.mul(centred, centred)), f.constant(WIDTH))
    deviation = f.sqrt(f.add(variance, f.constant(EPSILON)))
    return f.mul(f.div(centred, deviation), gain)


def residual(f, blocks, parameter, data):
    x, y = data("x", (BATCH, WIDTH)), data("y", (BATCH, WIDTH))
    for k in range(blocks):
        gain = parameter(f"g{k}", (WIDTH,))
        u = parameter(f"u{k}", (WIDTH, WIDTH))
        b = parameter(f"b{k}", (WIDTH,))
        v = parameter(f"v{k}", (WIDTH, WIDTH))
        a = f.add(f.matmul(normalise(f, x, gain), u), b)
        x = f.add(x, f.matmul(f.relu(a), v))
    return mean_square(f, f.sub(x, y), BATCH)


def half(f, name, parameter):
    return (
        parameter("u" + name, (STEP_IN, WIDTH)),
        parameter("r" + name, (WIDTH, WIDTH)),
        parameter("b" + name, (WIDTH,)),
        parameter("o" + name, (WIDTH, STEP_OUT)),
    )


def states(f, weights, xs, state):
    u, r, b, _ = weights
    result = []
    for x in xs:
        state = f.tanh(f.add(f.add(f.matmul(x, u), f.matmul(state, r)), b))
        result.append(state)
    return result


def bidirectional(f, steps, parameter, data):
    x, y = data("x", (steps, BATCH, STEP_IN)), data("y", (steps, BATCH, STEP_OUT))
    first, last = data("f0", (BATCH, WIDTH)), data("g0", (BATCH, WIDTH))
    forward, backward = half(f, "f", parameter), half(f, "g", parameter)
    c = parameter("c", (STEP_OUT,))
    xs = [f.at_step(x, t) for t in range(steps)]
    fs = states(f, forward, xs, first)
    gs = states(f, backward, xs[::-1], last)[::-1]
    total = None
    for t in range(steps):
        both = f.add(f.matmul(fs[t], forward[3]), f.matmul(gs[t], backward[3]))
        one = mean_square(f, f.sub(f.add(both, c), f.at_step(y, t)), BATCH)
        total = one if total is None else f.add(total, one)
    return total


BUILD = {"residual": residual, "bidirectional": bidirectional}


def shapes_of(model, size):
    """The parameters' and the data's names and shapes, in order."""

    class Nothing:
        def __getattr__(self, name):
            return lambda *arguments: None

    parameters, data = {}, {}
    BUILD[model](Nothing(), size, parameters.__setitem__, data.__setitem__)
    return parameters, data


def arrays(shapes, seed):
    import numpy

    random = numpy.random.default_rng(seed)
    return {k: (0.1 * random.standard_normal(s)).astype("f4") for k, s in shapes.items()}


class Operators:
    """What arrays of NumPy's manner have in common."""

    @staticmethod
    def constant(x):
        return x

    @staticmethod
    def add(x, y):
        return x + y

    @staticmethod
    def sub(x, y):
        return x - y

    @staticmethod
    def mul(x, y):
        return x * y

    @staticmethod
    def div(x, y):
        return x / y

    @staticmethod
    def matmul(x, y):
        return x @ y

    @staticmethod
    def at_step(x, t):
        return x[t]


# ---- Workers: each calls say(name = value, ...) as soon as it knows something ----


class Timer:
    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self.start


def work_pytensor(model, size, say, linker="vm"):
    """With the linker "vm" nothing is compiled: what takes time is rewriting."""
    import pytensor
    import pytensor.tensor as pt
    from pytensor.compile.aliasing import add_supervisor_to_fgraph
    from pytensor.graph.fg import FunctionGraph

    class F(Operators):
        constant = staticmethod(lambda x: pt.constant(x, dtype="float32"))
        sqrt = staticmethod(pt.sqrt)
        tanh = staticmethod(pt.tanh)
        matmul = staticmethod(pt.dot)
        relu = staticmethod(lambda x: pt.maximum(x, pt.constant(0, dtype="float32")))
        sum_rows = staticmethod(lambda x: pt.sum(x, axis=-1, keepdims=True))
        sum_all = staticmethod(pt.sum)

    parameters, data = {}, {}

    def make(table):
        def one(name, shape):
            table[name] = pt.tensor(name, dtype="float32", shape=shape)
            return table[name]

        return one

    def count(graph):
        """Fused operations count as what is in them."""
        inside = [getattr(getattr(n.op, "scalar_op", None), "fgraph", None) for n in graph.apply_nodes]
        return sum(len(g.apply_nodes) if g else 1 for g in inside)

    def flops(graph):
        total = 0
        for node in graph.apply_nodes:
            name = type(node.op).__name__.lower()
            if "dot" in name or "gemm" in name:
                out, (x, *_) = node.outputs[0], [v for v in node.inputs if v.ndim == 2][-2:]
                if None not in out.type.shape + x.type.shape and out.ndim == 2:
                    total += 2 * out.type.shape[0] * out.type.shape[1] * x.type.shape[1]
        return total

    with Timer() as build:
        loss = BUILD[model](F, size, make(parameters), make(data))
        outputs = [loss, *pytensor.grad(loss, list(parameters.values()))]
    inputs = [*parameters.values(), *data.values()]
    graph = FunctionGraph(inputs, outputs, clone=True)
    say(build=build.seconds, ops=count(graph))
    add_supervisor_to_fgraph(graph, [pytensor.In(x) for x in graph.inputs])
    mode = pytensor.compile.mode.Mode(linker="vm", optimizer="fast_run")
    if linker != "vm":
        mode = pytensor.compile.mode.get_mode(linker)
    with Timer() as rewrite:
        mode.optimizer.rewrite(graph)
    kernels = len(graph.apply_nodes)
    say(rewrite=rewrite.seconds, left=count(graph), kernels=kernels, flops=flops(graph))
    with Timer() as making:
        function = pytensor.function(inputs, outputs, mode=mode, on_unused_input="ignore")
    if linker == "vm":
        say(callable=making.seconds)
    shapes = shapes_of(model, size)
    values = {**arrays(shapes[0], 1), **arrays(shapes[1], 2)}
    with Timer() as first:  # Numba compiles what it calls
        function(**values)
    with Timer() as second:
        function(**values)
    say(callable=making.seconds + first.seconds - second.seconds)


def hlo_work(text):
    """Instructions that compute (gemel's broadcasts are implicit too), and the products' flops."""
    skipped = set("parameter constant tuple get-tuple-element fusion call bitcast broadcast".split())
    shape, count, flops = {}, 0, 0
    lines = re.findall(
        r"^\s*(?:ROOT )?%?([\w.-]+) = (?:\w+\[([\d,]*)\]\S*|\([^=]*\)) ([\w-]+)\((.*)$", text, re.M
    )
    for name, dims, _, _ in lines:
        shape[name] = [int(d) for d in dims.split(",") if d]
    for name, _, operation, rest in lines:
        count += operation not in skipped
        if operation == "dot":
            left = re.findall(r"%([\w.-]+)", rest)[0]
            summed = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", rest).group(1)
            product = 2
            for d in shape[name]:
                product *= d
            for axis in summed.split(","):
                product *= shape[left][int(axis)]
            flops += product
    return count, flops


def hlo_kernels(text):
    """Instructions of the main computation that compute; a fusion is one."""
    skipped = "parameter constant tuple get-tuple-element bitcast".split()
    entry = re.search(r"^ENTRY .*?^}", text, re.M | re.S).group(0)
    names = re.findall(r"^\s*(?:ROOT )?%?[\w.-]+ = (?:\([^=]*\)|\S+) ([\w-]+)\(", entry, re.M)
    return sum(name not in skipped for name in names)


def work_jax(model, size, say):
    import jax
    import jax.numpy as jnp

    class F(Operators):
        sqrt = staticmethod(jnp.sqrt)
        tanh = staticmethod(jnp.tanh)
        relu = staticmethod(lambda x: jnp.maximum(x, 0))
        sum_rows = staticmethod(lambda x: jnp.sum(x, axis=-1, keepdims=True))
        sum_all = staticmethod(jnp.sum)

    def loss(parameters, data):
        return BUILD[model](F, size, lambda k, _: parameters[k], lambda k, _: data[k])

    shapes = shapes_of(model, size)
    values = arrays(shapes[0], 1), arrays(shapes[1], 2)
    with Timer() as build:
        traced = jax.jit(jax.value_and_grad(loss)).trace(*values)
        lowered = traced.lower()
    say(build=build.seconds, ops=len(traced.jaxpr.eqns))
    with Timer() as compile_:
        compiled = lowered.compile()
    say(callable=compile_.seconds)
    left, flops = hlo_work(compiled.as_text())
    say(left=left, kernels=hlo_kernels(compiled.as_text()), flops=flops)


class Tape:
    """Builds an ONNX graph and, from the same rules that every framework uses, its gradient."""

    def __init__(self, helper, types):
        self.helper, self.types = helper, types
        self.nodes, self.constants, self.shape, self.trace = [], {}, {}, []

    def emit(self, operation, inputs, shape, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operation, inputs, [name], **attributes))
        self.shape[name] = tuple(shape)
        return name

    def fixed(self, key, kind, dims, values):
        if key not in self.constants:
            self.constants[key] = self.helper.make_tensor(key, kind, dims, values)
            self.shape[key] = tuple(dims)
        return key

    def constant(self, x):
        return self.fixed(f"c{float(x)}".replace("-", "m"), self.types.FLOAT, [], [x])

    def ints(self, *values):
        return self.fixed("i" + "_".join(map(str, values)), self.types.INT64, [len(values)], values)

    def broadcast(self, x, y):
        a, b = self.shape[x], self.shape[y]
        a, b = (1,) * (len(b) - len(a)) + a, (1,) * (len(a) - len(b)) + b
        return tuple(q if p == 1 else p for p, q in zip(a, b))

    def record(self, out, inputs, backward):
        self.trace.append((out, inputs, backward))
        return out

    def unbroadcast(self, g, x):
        """Sums g over the axes along which x was repeated."""
        have, want = self.shape[g], self.shape[x]
        extra = len(have) - len(want)
        axes = [k for k in range(len(have)) if k < extra or want[k - extra] < have[k]]
        if not axes:
            return g
        kept = [1 if k in axes else d for k, d in enumerate(have)]
        g = self.emit("ReduceSum", [g, self.ints(*axes)], kept, keepdims=1)
        return g if extra == 0 else self.emit("Reshape", [g, self.ints(*want)], want)

    def binary(self, operation, x, y, backward):
        out = self.emit(operation, [x, y], self.broadcast(x, y))
        return self.record(out, (x, y), lambda g: [
            self.unbroadcast(d, v) if d else None for d, v in zip(backward(g, out), (x, y))])

    def raw(self, operation, *inputs):
        shape = self.shape[inputs[0]] if len(inputs) == 1 else self.broadcast(*inputs)
        return self.emit(operation, inputs, shape)

    def add(self, x, y):
        return self.binary("Add", x, y, lambda g, _: (g, g))

    def sub(self, x, y):
        return self.binary("Sub", x, y, lambda g, _: (g, self.raw("Neg", g)))

    def mul(self, x, y):
        return self.binary("Mul", x, y, lambda g, _: (self.raw("Mul", g, y), self.raw("Mul", g, x)))

    def div(self, x, y):
        def backward(g, out):
            by_y = None
            if y not in self.constants:
                by_y = self.raw("Neg", self.raw("Div", self.raw("Mul", g, out), y))
            return self.raw("Div", g, y), by_y

        return self.binary("Div", x, y, backward)

    def sqrt(self, x):
        out = self.raw("Sqrt", x)
        return self.record(out, (x,), lambda g: [
            self.raw("Div", g, self.raw("Mul", self.constant(2), out))])

    def tanh(self, x):
        out = self.raw("Tanh", x)
        return self.record(out, (x,), lambda g: [
            self.raw("Mul", g, self.raw("Sub", self.constant(1), self.raw("Mul", out, out)))])

    def relu(self, x):
        def backward(g):
            positive = self.raw("Greater", x, self.constant(0))
            return [self.emit("Where", [positive, g, self.constant(0)], self.shape[x])]

        return self.record(self.raw("Relu", x), (x,), backward)

    def product(self, x, y):
        return self.emit("MatMul", [x, y], (self.shape[x][0], self.shape[y][1]))

    def transposed(self, x):
        return self.emit("Transpose", [x], self.shape[x][::-1], perm=[1, 0])

    def matmul(self, x, y):
        return self.record(self.product(x, y), (x, y), lambda g: [
            self.product(g, self.transposed(y)), self.product(self.transposed(x), g)])

    def sum_over(self, x, axes, keepdims):
        shape = self.shape[x][:-1] + (1,) if keepdims else ()
        out = self.emit("ReduceSum", [x, self.ints(*axes)], shape, keepdims=keepdims)
        return self.record(out, (x,), lambda g: [
            self.emit("Expand", [g, self.ints(*self.shape[x])], self.shape[x])])

    def sum_rows(self, x):
        return self.sum_over(x, [1], 1)

    def sum_all(self, x):
        return self.sum_over(x, [0, 1], 0)

    def at_step(self, x, t):
        """Of data: no gradient is asked for."""
        index = self.fixed(f"at{t}", self.types.INT64, [], [t])
        return self.emit("Gather", [x, index], self.shape[x][1:], axis=0)

    def gradients(self, loss, wanted):
        needed, flowing = set(wanted), {loss: self.constant(1)}
        for out, inputs, _ in self.trace:
            if needed.intersection(inputs):
                needed.add(out)
        for out, inputs, backward in reversed(self.trace):
            if out not in needed or out not in flowing:
                continue
            for x, g in zip(inputs, backward(flowing[out])):
                if g and x in needed:
                    flowing[x] = self.raw("Add", flowing[x], g) if x in flowing else g
        return [flowing[w] for w in wanted]


def needed_nodes(graph):
    """Those that an output needs: a tape also writes down what nobody takes."""
    wanted, kept = {o.name for o in graph.output}, []
    for node in reversed(graph.node):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            kept.append(node)
    return kept[::-1]


def onnx_model(onnx, model, size):
    helper, types = onnx.helper, onnx.TensorProto
    tape, inputs, parameters = Tape(helper, types), [], []

    def data(name, shape):
        tape.shape[name] = tuple(shape)
        inputs.append(helper.make_tensor_value_info(name, types.FLOAT, shape))
        return name

    def parameter(name, shape):
        parameters.append(name)
        return data(name, shape)

    loss = BUILD[model](tape, size, parameter, data)
    results = [loss, *tape.gradients(loss, parameters)]
    outputs = [helper.make_tensor_value_info(r, types.FLOAT, tape.shape[r]) for r in results]
    graph = helper.make_graph(tape.nodes, model, inputs, outputs, list(tape.constants.values()))
    kept = needed_nodes(graph)
    del graph.node[:]
    graph.node.extend(kept)
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9), tape.shape


def onnx_flops(graph, shape):
    """Of the products whose operands' shapes are known by name (fused ones have new names)."""
    shape, total = dict(shape), 0
    for value in list(graph.input) + list(graph.value_info) + list(graph.output):
        shape[value.name] = tuple(d.dim_value for d in value.type.tensor_type.shape.dim)
    for node in graph.node:
        if node.op_type in ("MatMul", "Gemm", "FusedMatMul", "FusedGemm"):
            x, out = shape.get(node.input[0]), shape.get(node.output[0])
            swap = any(a.name == "transA" and a.i for a in node.attribute)
            if not x or not out:
                return None
            total += 2 * out[0] * out[1] * (x[0] if swap else x[-1])
    return total


def work_onnxruntime(model, size, say):
    import onnx
    import onnxruntime

    with Timer() as build:
        proto, shape = onnx_model(onnx, model, size)
    say(build=build.seconds, ops=len(proto.graph.node))
    data, seconds = proto.SerializeToString(), {}
    levels = onnxruntime.GraphOptimizationLevel

    def session(level, path=None):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.log_severity_level = 3
        if path:
            options.optimized_model_filepath = path
        with Timer() as timer:
            created = onnxruntime.InferenceSession(data, options, ["CPUExecutionProvider"])
        return created, timer.seconds

    created, seconds["all"] = session(levels.ORT_ENABLE_ALL)
    say(callable=seconds["all"])
    shapes = shapes_of(model, size)
    created.run(None, {**arrays(shapes[0], 1), **arrays(shapes[1], 2)})
    del created
    _, seconds["none"] = session(levels.ORT_DISABLE_ALL)
    say(rewrite=max(0, seconds["all"] - seconds["none"]))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "optimized.onnx")
        session(levels.ORT_ENABLE_ALL, path)
        graph = onnx.load(path).graph
    nodes = len(graph.node)
    say(left=nodes, kernels=nodes, flops=onnx_flops(graph, shape))


def work_torch(model, size, say):
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    class F(Operators):
        sqrt = staticmethod(torch.sqrt)
        tanh = staticmethod(torch.tanh)
        relu = staticmethod(torch.relu)
        sum_rows = staticmethod(lambda x: torch.sum(x, dim=-1, keepdim=True))
        sum_all = staticmethod(torch.sum)

    shapes = shapes_of(model, size)
    parameters = {k: torch.tensor(v, requires_grad=True) for k, v in arrays(shapes[0], 1).items()}
    data = {k: torch.tensor(v) for k, v in arrays(shapes[1], 2).items()}

    def loss(parameters, data):
        return BUILD[model](F, size, lambda k, _: parameters[k], lambda k, _: data[k])

    def both(parameters, data):
        value = loss(parameters, data)
        return [value, *torch.autograd.grad(value, list(parameters.values()))]

    with Timer() as build:
        graph = make_fx(both)(parameters, data).graph
    computing = [n for n in graph.nodes if n.op == "call_function"]
    say(build=build.seconds, ops=len(computing))
    torch._dynamo.reset()
    torch._inductor.metrics.reset()
    compiled = torch.compile(loss, fullgraph=True)

    def step():
        with Timer() as timer:
            torch.autograd.grad(compiled(parameters, data), list(parameters.values()))
        return timer.seconds

    first = step()
    say(callable=first - step(), left=torch._inductor.metrics.ir_nodes_pre_fusion)


PEERS = {
    "pytensor": (work_pytensor, ("pytensor",)),
    "pytensor-numba": (functools.partial(work_pytensor, linker="NUMBA"), ("pytensor", "numba")),
    "jax": (work_jax, ("jax", "jaxlib")),
    "onnxruntime": (work_onnxruntime, ("onnx", "onnxruntime")),
    "torch": (work_torch, ("torch",)),
}


def worker(peer, model, size):
    """Runs one peer on a thread with much stack, since some of them recurse on the graph's depth."""

    def say(**facts):
        print(json.dumps(facts), flush=True)

    def run():
        try:
            PEERS[peer][0](model, size, say)
        except BaseException as error:  # a peer's failure is a row of the table
            text = " ".join(str(error).split())
            say(why=f"{type(error).__name__}: {text}"[:200])

    sys.setrecursionlimit(10**7)
    threading.stack_size(1 << 30)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


# ---- Parent ----


def cold(folder):
    """The environment in which no peer finds what it compiled in an earlier run."""
    ours = f"base_compiledir={folder},cxx="
    flags = ",".join(filter(None, [os.environ.get("PYTENSOR_FLAGS"), ours]))
    return dict(
        os.environ,
        PYTENSOR_FLAGS=flags,
        TORCHINDUCTOR_CACHE_DIR=folder,
        TORCHINDUCTOR_FORCE_DISABLE_CACHES="1",
        JAX_ENABLE_COMPILATION_CACHE="false",
    )


def run_peer(peer, model, size, timeout):
    packages = PEERS[peer][1]
    try:
        versions = [importlib.metadata.version(p) for p in packages]
    except importlib.metadata.PackageNotFoundError as error:
        return {"version": "", "why": f"{error} is not installed"}
    facts = {"version": versions[0 if peer.startswith("pytensor") else -1]}
    command = [sys.executable, __file__, "--worker", peer, "--models", model, "--sizes", str(size)]
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(command, capture_output=True, timeout=timeout, env=cold(folder))
            said, failed = done.stdout, done.returncode
        except subprocess.TimeoutExpired as late:
            said, failed = late.stdout or b"", 0
            facts["why"] = f"stopped after {timeout:g} s"
    for line in said.decode().splitlines():
        if line.startswith("{"):
            facts.update(json.loads(line))
    if failed:
        facts.setdefault("why", f"ended with status {failed}")
    return facts


def run_gemel(path, model, nodes):
    """What gemel says of a size, and how many blocks or steps it has."""
    command = [path, "bench", "optimizer", "--case", model, "--nodes", str(nodes), "--json", "-"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode > 1:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    value = {r["metric"]: r["value"] for r in rows if r["case"] == f"{model} of {nodes}"}
    second = value["nodes"] * 1e-6
    version = subprocess.run([path, "--version"], stdout=subprocess.PIPE, text=True).stdout.split()
    return int(value[MODELS[model]]), {
        "version": version[1],
        "ops": value["operations"],
        "left": value["operations left"],
        "views": value["views left"],
        "kernels": value["kernels"],
        "flops": value["flops left"],
        "build": second * (value["build"] + value["gradient"]),
        "rewrite": second * value["rewrite"],
        "callable": second * (value["callable"] + value["plan"]),
    }


def show(name, facts):
    def number(key, scale=1, form="{:.4g}"):
        return "-" if facts.get(key) is None else form.format(facts[key] * scale)

    print(
        f"{name + ' ' + facts['version']:<20} {number('ops', form='{:.0f}'):>9}"
        f" {number('left', form='{:.0f}'):>9} {number('views', form='{:.0f}'):>7}"
        f" {number('kernels', form='{:.0f}'):>7}"
        f" {number('flops', 1e-6):>11} {number('build'):>9}"
        f" {number('rewrite'):>9} {number('callable'):>9}  {facts.get('why', '')}".rstrip(),
        flush=True,
    )


def compare(options, model, nodes, keep):
    size, gemel = run_gemel(options.gemel, model, nodes)
    print(f"\n{model} of {size} {MODELS[model]}, about {nodes} nodes with its gradient")
    print(
        f"{'':<20} {'ops':>9} {'ops left':>9} {'views':>7} {'kernels':>7} {'Mflops left':>11} {'build':>9}"
        f" {'rewrite':>9} {'callable':>9}"
    )
    for program in ["gemel"] + options.peers:
        facts = gemel if program == "gemel" else run_peer(program, model, size, options.timeout)
        show(program, facts)
        keep(dict(facts, model=model, nodes=nodes, size=size, program=program))


def words(known=None):
    def read(text):
        result = text.split(",")
        for word in result:
            if known and word not in known:
                raise argparse.ArgumentTypeError(f"'{word}' is none of {', '.join(known)}")
        return result

    return read


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gemel", default="./gemel", help="the command (default: %(default)s)")
    parser.add_argument("--models", type=words(MODELS), default=list(MODELS), metavar="M,M")
    parser.add_argument("--sizes", type=words(), default=["1000", "24938"], metavar="N,N")
    parser.add_argument("--peers", type=words(PEERS), default=list(PEERS), metavar="P,P")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for each peer")
    parser.add_argument("--json", help="also write one object a row, a line each, to this file")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.models[0], int(options.sizes[0]))
        return
    out = open(options.json, "w") if options.json else None

    def keep(row):
        if out:
            print(json.dumps(row), file=out, flush=True)  # at once: a run takes long

    for model in options.models:
        for nodes in options.sizes:
            compare(options, model, int(nodes), keep)


if __name__ == "__main__":
    main()
