#!/usr/bin/env python3
"""What gemel does on a GPU beside what PyTorch does there, and beside what the card could do.

Seconds a call, by how much gemel is faster, and which part of the card's ceiling it reaches. The cases are those of
`gemel bench gpu`, and more, each a graph of its own, timed by `gemel bench FILE --device cuda`. Operands and results
lie on the GPU, and calls are waited for once in a number of them; PyTorch's operations are called one by one in the
same way, without gradients, and f32 without TF32, halves added up in f32, as gemel does.

Ceilings are measured on the card, by PyTorch: a copy within the GPU, bytes read and written, and a product of matrices
of 8192 × 8192 of the same dtype. No call takes less than its operands' and results' bytes do at the one, or its
multiplications and additions at the other.

    gpu.py --gemel ./gemel [--size 16777216] [--matrix 4096] [--bench F] [--seconds S] [--json F]

Without PyTorch, and on the sim (--device sim, graphs of small sizes), there is gemel's column only. Status 1: gemel
failed. Python 3.9 or later; torch from PyPI, with CUDA. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import dataclasses
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import time


@dataclasses.dataclass
class Case:
    call: object                 # PyTorch's function of the operands; None: it has none
    shapes: list = ()            # of the operands, where there is no graph
    dtype: str = "float32"
    graph: str = ""              # in gemel's text, where it is no case of gemel bench gpu
    ready: object = None         # a function of the operands that is done beforehand: the operands of `call`
    flops: float = 0
    by: str = ""                 # the dtype of the product that is the ceiling of these
    picks: bool = False          # reads no more bytes than it writes
    bound: bool = True           # neither bytes nor flops are its bound
    where: str = "cuda"


def bench_cases(torch, elements, matrix):
    """The cases of gemel bench gpu by their names."""

    columns = 1
    while 4 * columns * columns <= elements:
        columns *= 2
    side = 1
    while 8 * side**3 <= elements:
        side *= 2
    vector, table = (elements,), (elements // columns, columns)
    cube, square = (side,) * 3, (matrix,) * 2
    product = 2.0 * matrix**3

    def train(m, b, x, t):
        e = torch.addmm(b, m, x).sub_(t)
        m.sub_(e @ x.T, alpha=1e-9)
        b.sub_(e, alpha=1e-9)
        return (e * e).sum()

    def chain(x):
        return ((0.75 - -(x * 0.5 + 0.25)) * 1.5).abs().square().clamp(min=0.125)

    def sums(x):
        for _ in range(8):
            x = x.sum(0)
        return x

    def dot(dtype):
        return Case(torch.matmul, [square, square], dtype, flops=product, by=dtype)

    def taken(dtype):  # all rows in another order
        return Case(lambda x, i: x[i], [table], dtype,
                    ready=lambda x: (x, torch.arange(table[0], device="cuda") * 7919 % table[0]))

    def there_and_back(x, y):  # both in pinned memory, which the GPU reads and writes itself
        y.copy_(x.to("cuda", non_blocking=True).neg(), non_blocking=True)
        torch.cuda.current_stream().synchronize()
        return y

    return {
        "dot f32": dot("float32"),
        "dot f64": dot("float64"),
        "dot f16": dot("float16"),
        "dot bf16": dot("bfloat16"),
        "affine f32": Case(lambda m, x, b: torch.addmm(b, m, x), [square] * 3, flops=product, by="float32"),
        "affine update f32": Case(lambda m, x, b: b.addmm_(m, x), [square] * 3, flops=product, by="float32"),
        "training step f32": Case(train, [square] * 4, flops=2 * product, by="float32"),
        "neg f32": Case(torch.neg, [vector]),
        "add f32": Case(torch.add, [vector, vector]),
        "chain of 8 f32": Case(chain, [vector]),
        "tanh f32": Case(torch.tanh, [vector]),
        "normal f32": Case(lambda: torch.randn(vector, device="cuda")),
        "sum f32": Case(torch.sum, [vector]),
        "sum rows f32": Case(lambda x: x.sum(1), [table]),
        "sum columns f32": Case(lambda x: x.sum(0), [table]),
        "sum bf16": Case(torch.sum, [vector], "bfloat16"),
        "sum rows bf16": Case(lambda x: x.sum(1), [table], "bfloat16"),
        "sum columns bf16": Case(lambda x: x.sum(0), [table], "bfloat16"),
        "sum [0]": Case(lambda x: x.sum(0), [cube]),
        "sum [1]": Case(lambda x: x.sum(1), [cube]),
        "sum [2]": Case(lambda x: x.sum(2), [cube]),
        "sum [0, 2]": Case(lambda x: x.sum((0, 2)), [cube]),
        "argmax rows f32": Case(lambda x: x.argmax(1), [table]),
        "argmax columns f32": Case(lambda x: x.argmax(0), [table]),
        "argmax rows bf16": Case(lambda x: x.argmax(1), [table], "bfloat16"),
        "argmax columns bf16": Case(lambda x: x.argmax(0), [table], "bfloat16"),
        "softmax f32": Case(lambda x: x.softmax(1), [table]),
        "softmax columns f32": Case(lambda x: x.softmax(0), [table]),
        "softmax bf16": Case(lambda x: x.softmax(1), [table], "bfloat16"),
        "softmax columns bf16": Case(lambda x: x.softmax(0), [table], "bfloat16"),
        "normalised f32": Case(lambda x: torch.nn.functional.layer_norm(x, table[1:]), [table]),
        "normalised bf16": Case(lambda x: torch.nn.functional.layer_norm(x, table[1:]), [table], "bfloat16"),
        "log of softmax f32": Case(lambda x: x.log_softmax(1), [table]),
        "cross_entropy f32": Case(
            lambda x, t: torch.nn.functional.cross_entropy(x, t, reduction="none"), [table],
            ready=lambda x: (x, torch.arange(table[0], device="cuda") % 8)),
        "cross_entropy of rows f32": Case(
            lambda x, t: torch.nn.functional.cross_entropy(x, t, reduction="none"), [table] * 2),
        "transposed f32": Case(lambda x: x.T.contiguous(), [table]),
        "order [1, 2, 0]": Case(lambda x: x.permute(1, 2, 0).contiguous(), [cube]),
        "reversed f32": Case(lambda x: x.flip(1), [table]),
        "every other row": Case(lambda x: x[::2].contiguous(), [table], picks=True),
        "every other column": Case(lambda x: x[:, ::2].contiguous(), [table], picks=True),
        "halves swapped f32": Case(lambda x: torch.cat((x[:, columns // 2:], x[:, :columns // 2]), 1), [table]),
        "normal bf16": Case(lambda: torch.randn(vector, device="cuda", dtype=torch.bfloat16)),
        "rows taken f32": taken("float32"),
        "rows taken bf16": taken("bfloat16"),
        "rows put, adding f32": Case(
            lambda x, y, i: x.index_add_(0, i, y), [table] * 2,
            ready=lambda x, y: (x, y, torch.arange(table[0], device="cuda") * 7919 % table[0])),
        "order f32": Case(lambda x: x.argsort(), [vector]),
        "cumsum f32": Case(lambda x: x.cumsum(0), [vector]),
        "cumsum rows f32": Case(lambda x: x.cumsum(1), [table]),
        "cumsum rows bf16": Case(lambda x: x.cumsum(1), [table], "bfloat16"),
        "cumsum columns f32": Case(lambda x: x.cumsum(0), [table]),
        "transposed bf16": Case(lambda x: x.T.contiguous(), [table], "bfloat16"),
        "reversed bf16": Case(lambda x: x.flip(1), [table], "bfloat16"),
        "there and back f32": Case(there_and_back, [vector, vector], bound=False, where="pinned"),
        "call: 1 node": Case(torch.neg, [(1,)], bound=False),
        "call: 8 sums": Case(sums, [(2,) * 8], bound=False),
    }


def graph_cases(torch):
    """Cases that are graphs: what networks and programs are made of. TORCH may be None: then they have no functions."""

    f = torch.nn.functional if torch is not None else None
    aten = torch.ops.aten if torch is not None else None
    linalg = torch.linalg if torch is not None else None
    image = 2.0 * 32 * 64 * 56 * 56
    padded, one = "low = [1, 1], high = [1, 1]", ([1, 1], [1, 1], [1, 1])
    gelu = "return y = 0.5 * t * (1 + tanh(0.7978845608 * (t + 0.044715 * t * t * t)))"

    def indices(n, m):
        return torch.arange(n, device="cuda") * 7919 % m

    def with_indices(n, m):
        return lambda x, *rest: (x, indices(n, m), *rest)

    def back(mask):  # of a convolution of 3 × 3
        return lambda x, w, y: aten.convolution_backward(y, x, w, None, *one, False, [0, 0], 1, mask)[mask.index(True)]

    def with_places(x, y):
        return x, y, f.max_pool2d(x, 3, 2, 1, return_indices=True)[1]

    def cholesky(x):
        a = x @ x.T
        a.diagonal().add_(512)
        return linalg.cholesky(a)

    def adam(p, m, v, g):
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        return p.addcdiv_(m, v.sqrt().add_(1e-8), value=-1e-3), m, v

    def channels_last(*operands):
        return [x.to(memory_format=torch.channels_last) for x in operands]

    def attend(q, k, v):
        return f.scaled_dot_product_attention(q, k, v, scale=0.125)

    def case(graph, call, **more):
        return Case(call, graph="graph f" + graph, **more)

    return {
        "bias and relu of channels f32": case(
            "(x: f32[32, 256, 56, 56], b: f32[256, 1, 1]) { return y = relu(x + b) }", lambda x, b: f.relu(x + b)),
        "bias and gelu of rows bf16": case(
            "(x: bf16[16384, 4096], b: bf16[4096]) { t = x + b " + gelu + " }",
            lambda x, b: f.gelu(x + b, approximate="tanh")),
        "layer norm f32": case(
            "(x: f32[16384, 1024], g: f32[1024], b: f32[1024]) { c = x - sum(x, axes = [1], keepdims = 1) / 1024 "
            "v = sum(sqr(c), axes = [1], keepdims = 1) / 1024 return y = c / sqrt(v + 1e-5) * g + b }",
            lambda x, g, b: f.layer_norm(x, (1024,), g, b)),
        "attention bf16": case(
            "(q: bf16[32, 2048, 64], k: bf16[32, 2048, 64], v: bf16[32, 2048, 64]) { "
            "s = dot(q, dimshuffle(k, order = [0, 2, 1])) * 0.125 return y = dot(softmax(s), v) }",
            attend, flops=4.0 * 32 * 2048 * 2048 * 64, by="bfloat16"),
        "cross-entropy f32": case(
            "(x: f32[8192, 32000]) { t = arange(n = 8192) * 7919 % 32000 return y = cross_entropy(x, t) }",
            lambda x, t: f.cross_entropy(x, t, reduction="none"), ready=with_indices(8192, 32000)),
        "take rows f32": case(
            "(x: f32[50000, 1024]) { i = arange(n = 16384) * 7919 % 50000 return y = take(x, i) }",
            lambda x, i: x[i], ready=with_indices(16384, 50000), picks=True),
        "put rows, adding f32": case(
            "(x: f32[50000, 1024], y: f32[16384, 1024]) { i = arange(n = 16384) * 7919 % 50000 "
            'return z = put(x, i, y, mode = "add") }', lambda x, i, y: x.index_add(0, i, y),
            ready=with_indices(16384, 50000)),
        "histogram f32": case(
            "(x: f32[1000], y: f32[65536]) { i = arange(n = 65536) * 7919 % 1000 "
            'return z = put(x, i, y, mode = "add") }', lambda x, i, y: x.index_add(0, i, y),
            ready=with_indices(65536, 1000)),
        "solve 512 f32": case(
            "(a: f32[512, 512], b: f32[512, 8]) { return y = solve(a, b) }", lambda a, b: linalg.solve(a, b),
            flops=2.0 * 512**3 / 3, by="float32"),
        "solve 4096 of 16 f32": case(
            "(a: f32[4096, 16, 16], b: f32[4096, 16, 1]) { return y = solve(a, b) }", lambda a, b: linalg.solve(a, b)),
        "cholesky 512 f32": case(
            "(x: f32[512, 512]) { n = arange(n = 512) one = cast(eq(dimshuffle(n, order = [0, -1]), n), dtype = f32) "
            "return y = cholesky(dot(x, dimshuffle(x, order = [1, 0])) + 512 * one) }",
            cholesky, flops=7.0 * 512**3 / 3, by="float32"),
        "max pool f32": case(
            "(x: f32[64, 64, 112, 112]) { return y = max_pool(x, size = [3, 3], stride = [2, 2], " + padded + ") }",
            lambda x: f.max_pool2d(x, 3, 2, 1)),
        "average pool f32": case(
            "(x: f32[64, 64, 112, 112]) { return y = avg_pool(x, size = [2, 2], stride = [2, 2]) }",
            lambda x: f.avg_pool2d(x, 2, 2)),
        "max pool, gradient f32": case(
            "(x: f32[64, 64, 112, 112], y: f32[64, 64, 56, 56]) { "
            "return z = max_pool_grad(x, y, size = [3, 3], stride = [2, 2], " + padded + ") }",
            lambda x, y, i: aten.max_pool2d_with_indices_backward(y, x, [3, 3], [2, 2], *one[:2], False, i),
            ready=with_places),
        "conv 3 × 3 f32": case(
            "(x: f32[32, 64, 56, 56], w: f32[64, 64, 3, 3]) { return y = corr(x, w, " + padded + ") }",
            lambda x, w: f.conv2d(x, w, padding=1), flops=image * 64 * 9, by="float32"),
        "conv 3 × 3 bf16": case(
            "(x: bf16[32, 64, 56, 56], w: bf16[64, 64, 3, 3]) { return y = corr(x, w, " + padded + ") }",
            lambda x, w: f.conv2d(x, w, padding=1), ready=channels_last, flops=image * 64 * 9, by="bfloat16"),
        "conv 3 × 3 by weights f32": case(
            "(x: f32[32, 64, 56, 56], y: f32[32, 64, 56, 56]) { "
            "return w = corr_grad_weights(x, y, kernel = [3, 3], " + padded + ") }", back([False, True, False]),
            ready=lambda x, y: (x, x.new_ones(64, 64, 3, 3), y), flops=image * 64 * 9, by="float32"),
        "conv 3 × 3 by inputs f32": case(
            "(w: f32[64, 64, 3, 3], y: f32[32, 64, 56, 56]) { "
            "return x = corr_grad_inputs(w, y, image = [56, 56], " + padded + ") }", back([True, False, False]),
            ready=lambda w, y: (y.new_ones(32, 64, 56, 56), w, y), flops=image * 64 * 9, by="float32"),
        "conv 3 × 3 by channels bf16": case(
            "(x: bf16[32, 64, 56, 56], w: bf16[64, 1, 3, 3]) { return y = corr(x, w, groups = 64, " + padded + ") }",
            lambda x, w: f.conv2d(x, w, padding=1, groups=64), flops=image * 9, by="float32"),
        "sum of short rows f32": case("(x: f32[262144, 256]) { return y = sum(x, axes = [1]) }", lambda x: x.sum(1)),
        "sum of tall columns f32": case("(x: f32[16384, 4096]) { return y = sum(x, axes = [0]) }", lambda x: x.sum(0)),
        "heads apart bf16": case(
            "(x: bf16[32, 2048, 16, 64]) { return y = dimshuffle(x, order = [0, 2, 1, 3]) }",
            lambda x: x.permute(0, 2, 1, 3).contiguous()),
        "adam f32": case(
            "(state p: f32[16777216], state m: f32[16777216], state v: f32[16777216], g: f32[16777216]) { "
            "m1 = 0.9 * m + 0.1 * g v1 = 0.999 * v + 0.001 * g * g update m = m1 update v = v1 "
            "update p = p - 1e-3 * m1 / (sqrt(v1) + 1e-8) }", adam),
        "dot i32": case("(a: i32[1024, 1024], b: i32[1024, 1024]) { return y = dot(a, b) }", None),
        "affine and gelu bf16": case(
            "(x: bf16[4096, 4096], w: bf16[4096, 4096], b: bf16[4096]) { "
            "t = dot(x, dimshuffle(w, order = [1, 0])) + b " + gelu + " }",
            lambda x, w, b: f.gelu(f.linear(x, w, b), approximate="tanh"), flops=2.0 * 4096**3, by="bfloat16"),
        "dot of a long axis f32": case(
            "(a: f32[64, 16384], b: f32[16384, 64]) { return y = dot(a, b) }", lambda a, b: a @ b,
            flops=2.0 * 64 * 16384 * 64, by="float32"),
    }


# ---- PyTorch's side ----

DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64"}


def operands_of(torch, case):
    """What the case is called with: numbers in [0.5, 1)."""
    wanted = [(case.dtype, shape) for shape in case.shapes]
    if case.graph:
        header = case.graph[:case.graph.index(")")]
        wanted = [(DTYPES[dtype], tuple(int(n) for n in shape.split(",")))
                  for dtype, shape in re.findall(r": (\w+)\[([^]]*)\]", header)]
    if case.where == "pinned":
        return [torch.rand(shape).pin_memory() for _, shape in wanted]
    return [(torch.rand(shape, device=case.where) / 2 + 0.5).to(getattr(torch, dtype)) for dtype, shape in wanted]


def bytes_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def seconds(torch, call, budget=0.4):
    """As the bench does: so many calls that they take some milliseconds, and then one wait; the best of many."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    repeat = max(1, min(1000, int(2e-3 / (time.perf_counter() - start))))
    end, least = time.perf_counter() + budget, float("inf")
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(repeat):
            call()
        torch.cuda.synchronize()
        least = min(least, (time.perf_counter() - start) / repeat)
    return least


class Card:
    """PyTorch on the GPU, with what it says of the card."""

    def __init__(self, torch):
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        self.facts = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}

    @functools.lru_cache(None)
    def copied(self):
        """Bytes a second, read and written, of a copy within the GPU."""
        x, y = (self.torch.ones(1 << 28, device="cuda") for _ in range(2))
        return 2 * bytes_of([x]) / seconds(self.torch, lambda: x.copy_(y))

    @functools.lru_cache(None)
    def multiplied(self, dtype):
        """Flops a second of a product of big matrices."""
        x = self.torch.rand((8192, 8192), device="cuda").to(getattr(self.torch, dtype))
        return 2 * 8192.0**3 / seconds(self.torch, lambda: x @ x)

    def measure(self, case):
        """What PyTorch takes, and the least that the card could take."""
        if case.call is None:
            return {}
        torch, operands = self.torch, operands_of(self.torch, case)
        ready = case.ready(*operands) if case.ready is not None else operands
        found = {"PyTorch": seconds(torch, lambda: case.call(*ready))}
        result = case.call(*ready)
        results = result if isinstance(result, tuple) else (result,)
        if case.bound:
            size = bytes_of(results) + bytes_of(results if case.picks else operands)
            flops = case.flops / self.multiplied(case.by) if case.flops else 0
            found["floor"] = max(size / self.copied(), flops)
        if "corr" in case.graph and "bf16" not in case.graph:  # what PyTorch does unless it is told otherwise
            torch.backends.cudnn.allow_tf32 = True
            found["PyTorch, TF32"] = seconds(torch, lambda: case.call(*ready))
            torch.backends.cudnn.allow_tf32 = False
        return found


# ---- gemel's side ----

def run_gemel(options, words):
    """The records that gemel bench prints, and what it says of an error."""
    env = dict(os.environ)
    if "GEMEL_LIBRARIES" in env:
        env["LD_LIBRARY_PATH"] = env["GEMEL_LIBRARIES"]
    command = [options.gemel, "bench", *words, "--device", options.device, "--json", "-"]
    limit = max(5, options.left())
    try:
        out = subprocess.run(command, capture_output=True, text=True, env=env, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return [], "no time left"
    except OSError as problem:
        return [], str(problem)
    records = [json.loads(line) for line in out.stdout.splitlines() if line.startswith("{")]
    fine = out.returncode in (0, 1) and records
    return records, "" if fine else f"status {out.returncode}: {out.stderr.strip()[-300:]}"


def bench_seconds(options):
    """By case, the seconds of `gemel bench gpu`: from --bench, or from a run."""
    if options.bench:
        records, problem = [], ""
        try:
            with open(options.bench, encoding="utf-8") as file:
                records = [json.loads(line) for line in file if line.endswith("\n")]
        except OSError as missing:
            problem = str(missing)
    else:
        sizes = ["--size", str(options.size), "--matrix", str(options.matrix)] if options.device == "cuda" else []
        records, problem = run_gemel(options, ["gpu", *sizes])
    if problem:
        print(f"gpu.py: gemel bench gpu: {problem}", file=sys.stderr)
    return {r["case"]: r["value"] for r in records if r["metric"] == "call"}, problem


def smaller(graph):
    """The graph with sizes for the sim; what belongs together stays so."""
    def fewer(match):
        n = int(match[0])
        return str(n if n < 16 else n // 8 if n < 1024 else n // 256)
    return re.sub(r"(?<![\w.])\d+(?![\w.])", fewer, graph)


def graph_seconds(options, graph):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "case.gmt")
        with open(path, "w", encoding="utf-8") as file:
            file.write((smaller(graph) if options.device == "sim" else graph) + "\n")
        records, problem = run_gemel(options, [path, "--time", "200" if options.device == "cuda" else "1"])
    return records[-1]["value"] if not problem else None, problem


# ---- The table ----

class Table:
    def __init__(self, options, card):
        self.options, self.card, self.failed, self.skipped = options, card, [], []
        self.file = open(options.json, "w", encoding="utf-8") if options.json else None
        print(f"{'us a call':32}{'gemel':>12}{'PyTorch':>12}{'PyTorch / gemel':>17}{'of the ceiling':>16}")

    def say(self, record):
        if self.file is not None:
            self.file.write(json.dumps(record) + "\n")
            self.file.flush()

    def their(self, name, case):
        try:
            return self.card.measure(case) if self.card is not None else {}
        except Exception as problem:  # pylint: disable=broad-except; whatever PyTorch says, gemel's time counts
            print(f"gpu.py: {name} in PyTorch: {str(problem)[:300]}", file=sys.stderr)
            return {}

    def add(self, name, mine, case):
        found = {"gemel": mine, "PyTorch": None, "floor": None, **self.their(name, case)}
        their, floor = found["PyTorch"], found["floor"]
        cells = [(12, mine and 1e6 * mine), (12, their and 1e6 * their), (17, mine and their and their / mine),
                 (16, mine and floor and floor / mine)]
        cells = [f"{cell:{width}.2f}" if cell else " " * width for width, cell in cells]
        print(f"{name:32}" + "".join(cells), flush=True)
        facts = self.card.facts if self.card is not None else {}
        self.say({"bench": "gpu", "case": name, "unit": "s", **found, **facts})
        if self.card is not None:
            self.card.torch.cuda.empty_cache()

    def add_all(self, torch):
        times, problem = bench_seconds(self.options)
        self.failed += ["gemel bench gpu"] if problem or not times and self.options.device == "cuda" else []
        known = bench_cases(torch, self.options.size, self.options.matrix) if torch is not None else {}
        for name, mine in times.items():
            if torch is not None and name not in known:
                sys.exit(f"gpu.py: what is '{name}' in PyTorch?")
            self.add(name, mine, known.get(name))
        for name, case in graph_cases(torch).items():
            mine, problem = None, "no time left"
            if self.options.left() > 5:
                mine, problem = graph_seconds(self.options, case.graph)
            if problem == "no time left":
                self.skipped.append(name)
                continue
            if problem:
                self.failed.append(name)
                print(f"gpu.py: {name}: {problem}", file=sys.stderr)
            self.add(name, mine, case)


def find_card(options):
    if options.device != "cuda":
        return None
    try:
        import torch
    except ImportError as problem:
        print(f"gpu.py: {problem}, so gemel's times stand alone", file=sys.stderr)
        return None
    if not torch.cuda.is_available():
        print("gpu.py: PyTorch finds no GPU, so gemel's times stand alone", file=sys.stderr)
        return None
    return Card(torch)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gemel", default="./gemel")
    parser.add_argument("--device", choices=("cuda", "sim"), default="cuda")
    parser.add_argument("--size", type=int, default=1 << 24)
    parser.add_argument("--matrix", type=int, default=4096)
    parser.add_argument("--bench", help="the JSON lines of a gemel bench gpu of these sizes, instead of a run of it")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case after so many")
    parser.add_argument("--json", help="write the figures to this file, a line each")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    options.left = lambda: min(end - time.monotonic(), 3600)
    card = find_card(options)
    table = Table(options, card)
    if card is None:
        table.add_all(None)
    else:
        with card.torch.inference_mode():
            print(f"a copy within the GPU: {card.copied() / 1e12:.2f} TB/s")
            table.say({"bench": "gpu", "case": "ceiling: copy", "unit": "B/s", "PyTorch": card.copied(), **card.facts})
            table.add_all(card.torch)
    for what, names in (("no time for", table.skipped), ("gemel failed in", table.failed)):
        if names:
            print(f"gpu.py: {what} {', '.join(names)}", file=sys.stderr)
    sys.exit(1 if table.failed else 0)


if __name__ == "__main__":
    main()
