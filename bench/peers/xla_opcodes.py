#!/usr/bin/env python3
"""Opcodes of HLO as gemel reads them beside XLA: modules of one instruction, on random shapes and values with the edges
among them, run by both. A table of Markdown.

    PYTHONPATH=BUILD/python xla_opcodes.py [--count 100] [--seed 1] [--only GLOB] [--out bench/results/xla-opcodes.md]

Moved elements, integers and truths must be the same bits; floats may be as many units in the last place apart as stands in the
table of functions, of XLA's own error mostly. Needs jax (0.10). Exit status 1 if something differs. Never needed to build or
test gemel. SPDX-License-Identifier: MIT
"""

import argparse
import fnmatch
import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
import jaxlib._jax as native
import ml_dtypes
from jaxlib import xla_client

import gemel

NUMPY = {"pred": np.bool_, "bf16": ml_dtypes.bfloat16, **{f"f{b}": np.dtype(f"f{b // 8}") for b in (16, 32, 64)},
         **{f"{s}{b}": np.dtype(f"{k}{b // 8}") for s, k in (("s", "i"), ("u", "u")) for b in (8, 16, 32, 64)}}
FLOATS = ["f16", "bf16", "f32", "f64"]
SIGNED = ["s8", "s16", "s32", "s64"]
INTEGERS = SIGNED + ["u8", "u16", "u32", "u64"]
EDGES = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, 3e-5, 6.1e-5, 300.0, -300.0, 1e30, 65504.0, 2.0**31, -(2.0**63)]
# Units in the last place that results may be apart.
ULPS = {"tan": 16, "log-plus-one": 256, "exponential-minus-one": 8, "power": 16, "cbrt": 4, "logistic": 16, "erf": 8, "tanh": 8, "rsqrt": 8,
        "exponential": 4, "log": 4, "sine": 4, "cosine": 4, "atan2": 8, "sqrt": 1, "acos": 16, "asin": 16, "acosh": 32, "asinh": 32,
        "atanh": 32, "sinh": 16, "cosh": 16, "reduce add": 64, "reduce multiply": 64, "remainder": 0}


def compiled(text):
    module = xla_client.hlo.hlo_module_from_text(text)
    computation = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
    program = native.mlir.xla_computation_to_mlir_module(computation)
    device = jax.devices()[0]
    return device.client.compile_and_load(program, xla_client.DeviceList((device,)), xla_client.CompileOptions())


def by_xla(text, arrays):
    return [np.asarray(x) for x in compiled(text).execute([jax.device_put(a) for a in arrays])]


def by_gemel(text, arrays):
    results = gemel.Graph(text).compile(as_written=True)(*arrays)
    return [np.asarray(x) for x in (results if isinstance(results, (list, tuple)) else [results])]


def apart(x, y):
    """The largest distance of two arrays in units in the last place; infinite where a NaN or an infinity stands alone."""
    if x.dtype != y.dtype or x.shape != y.shape:
        return np.inf
    if x.dtype.kind in "biu":
        return 0 if np.array_equal(x, y) else np.inf
    eps, least = float(ml_dtypes.finfo(x.dtype).eps), float(ml_dtypes.finfo(x.dtype).smallest_normal)
    x, y = x.astype(np.longdouble), y.astype(np.longdouble)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(all="ignore"):
        unit = np.maximum(np.exp2(np.floor(np.log2(np.maximum(np.abs(y), least)))), least) * eps
        distance = np.where(same, 0, np.where(np.isfinite(x) & np.isfinite(y), np.abs(x - y) / unit, np.inf))
    tiny = (np.abs(x) <= least) & (np.abs(y) <= least)  # XLA may flush what is subnormal
    return float(np.max(np.where(tiny, 0, distance), initial=0))


class Case:
    """A module being written: parameters with values, and instructions."""

    def __init__(self, random):
        self.random, self.arrays, self.lines, self.regions = random, [], [], []

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def shape(self, least=0, most=3, low=1, high=6):
        return tuple(int(n) for n in self.random.integers(low, high, self.random.integers(least, most + 1)))

    def values(self, dtype, shape):
        r = self.random
        if dtype == "pred":
            return r.integers(0, 2, shape).astype(np.bool_)
        if dtype in FLOATS:
            x = np.where(r.random(shape) < 0.3, r.choice(EDGES, shape), r.normal(0, 3, shape))
            with np.errstate(all="ignore"):
                return np.asarray(x).astype(NUMPY[dtype])
        info = np.iinfo(NUMPY[dtype])
        edges = [info.min, info.max, 0, 1, 2, 3, 7, 31, 32, 33] + ([-1, -2, -7] if info.min < 0 else [])
        wide = r.integers(info.min, info.max, shape, dtype=NUMPY[dtype], endpoint=True)
        return np.where(r.random(shape) < 0.5, r.choice(np.array(edges, dtype=NUMPY[dtype]), shape), wide).astype(NUMPY[dtype])

    def parameter(self, dtype, shape, values=None):
        name = f"p{len(self.arrays)}"
        self.lines.append(f"{name} = {kind(dtype, shape)} parameter({len(self.arrays)})")
        self.arrays.append(self.values(dtype, shape) if values is None else np.asarray(values, NUMPY[dtype]).reshape(shape))
        return name

    def region(self, text):
        self.regions.append(text)

    def root(self, shape, text):
        self.lines.append(f"ROOT r = {shape} {text}")

    def text(self):
        body = "\n".join("  " + line for line in self.lines)
        return "HloModule m\n\n" + "\n".join(self.regions) + f"\nENTRY e {{\n{body}\n}}\n"


def kind(dtype, shape):
    return f"{dtype}[{','.join(map(str, shape))}]"


def listed(axes):
    return "{" + ",".join(map(str, axes)) + "}"


# ---- Opcodes: a function writes a case; its key is what the table calls it ----

CASES = {}


def elementwise(opcode, dtypes, n, result=None, attributes=lambda c: ""):
    def write(c):
        dtype, shape = c.pick(*dtypes), c.shape()
        operands = [c.parameter(dtype, shape) for _ in range(n)]
        c.root(kind(result or dtype, shape), f"{opcode.split()[0]}({', '.join(operands)}){attributes(c)}")
    CASES[opcode] = write


for name in ("cosine", "sine", "tan", "tanh", "exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "sqrt", "rsqrt", "cbrt", "erf",
             "acos", "acosh", "asin", "asinh", "atanh", "sinh", "cosh", "ceil", "floor", "round-nearest-even", "round-nearest-afz"):
    elementwise(name, ["f32", "f64"] if name not in ("ceil", "floor", "sqrt", "tanh") else FLOATS, 1)
for name in ("abs", "negate", "sign"):
    elementwise(name, FLOATS + SIGNED, 1)
for name in ("popcnt", "count-leading-zeros", "not"):
    elementwise(name, INTEGERS + (["pred"] if name == "not" else []), 1)
elementwise("is-finite", FLOATS, 1, "pred")
for name in ("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum"):
    elementwise(name, ["f32", "f64"] + INTEGERS, 2)
for name in ("power", "atan2"):
    elementwise(name, ["f32", "f64"], 2)
for name in ("and", "or", "xor"):
    elementwise(name, INTEGERS + ["pred"], 2)
for name in ("shift-left", "shift-right-arithmetic", "shift-right-logical"):
    elementwise(name, INTEGERS, 2)
elementwise("clamp", FLOATS[2:] + INTEGERS, 3)
elementwise("compare", FLOATS + INTEGERS + ["pred"], 2, "pred", lambda c: f", direction={c.pick('EQ', 'NE', 'LT', 'LE', 'GT', 'GE')}")
elementwise("compare total", FLOATS, 2, "pred", lambda c: f", direction={c.pick('EQ', 'NE', 'LT', 'LE', 'GT', 'GE')}, type=TOTALORDER")
elementwise("reduce-precision", ["f32"], 1, None, lambda c: f", exponent_bits={c.pick('8, mantissa_bits=7', '5, mantissa_bits=10')}")


def case(function):
    CASES[function.__name__.rstrip("_").replace("_", "-")] = function
    return function


@case
def select(c):
    dtype, shape = c.pick(*NUMPY), c.shape()
    p = c.parameter("pred", c.pick(shape, ()) if shape else ())
    if c.arrays[0].shape == ():
        shape = ()
    x, y = c.parameter(dtype, shape), c.parameter(dtype, shape)
    c.root(kind(dtype, shape), f"select({p}, {x}, {y})")


@case
def convert(c):
    dtype, to, shape = c.pick(*NUMPY), c.pick(*NUMPY), c.shape()
    c.root(kind(to, shape), f"convert({c.parameter(dtype, shape)})")


@case
def bitcast_convert(c):
    pairs = [("f32", "s32"), ("u32", "f32"), ("f64", "s64"), ("s16", "bf16"), ("f16", "u16"), ("s8", "u8")]
    (dtype, to), shape = pairs[c.random.integers(len(pairs))], c.shape()
    c.root(kind(to, shape), f"bitcast-convert({c.parameter(dtype, shape)})")


@case
def broadcast(c):
    dtype, out = c.pick(*NUMPY), c.shape(1, 4)
    axes = sorted(c.random.permutation(len(out))[:c.random.integers(0, len(out) + 1)].tolist())
    c.root(kind(dtype, out), f"broadcast({c.parameter(dtype, [out[k] for k in axes])}), dimensions={listed(axes)}")


@case
def reshape(c):
    dtype, shape = c.pick(*NUMPY), c.shape(1, 4)
    to = c.pick((int(np.prod(shape)),), shape[::-1], (1, *shape), (*shape, 1))
    c.root(kind(dtype, to), f"reshape({c.parameter(dtype, shape)})")


@case
def transpose(c):
    dtype, shape = c.pick(*NUMPY), c.shape(1, 4)
    axes = c.random.permutation(len(shape)).tolist()
    c.root(kind(dtype, [shape[k] for k in axes]), f"transpose({c.parameter(dtype, shape)}), dimensions={listed(axes)}")


@case
def reverse(c):
    dtype, shape = c.pick(*NUMPY), c.shape(1, 4)
    axes = c.random.permutation(len(shape))[:c.random.integers(0, len(shape) + 1)].tolist()
    c.root(kind(dtype, shape), f"reverse({c.parameter(dtype, shape)}), dimensions={listed(axes)}")


@case
def iota(c):
    dtype, shape = c.pick("f32", "f64", *INTEGERS), c.shape(1, 3)
    c.root(kind(dtype, shape), f"iota(), iota_dimension={c.random.integers(len(shape))}")


@case
def slice_(c):
    dtype, shape = c.pick(*NUMPY), c.shape(1, 4)
    parts, out = [], []
    for n in shape:
        low, step = int(c.random.integers(0, n + 1)), int(c.random.integers(1, 4))
        high = int(c.random.integers(low, n + 1))
        parts.append(f"[{low}:{high}:{step}]")
        out.append(-(-(high - low) // step))
    c.root(kind(dtype, out), f"slice({c.parameter(dtype, shape)}), slice={{{', '.join(parts)}}}")


@case
def pad(c):
    dtype, shape = c.pick(*NUMPY), c.shape(1, 3)
    x, value, parts, out = c.parameter(dtype, shape), c.parameter(dtype, ()), [], []
    for n in shape:
        low, high, inner = (int(v) for v in c.random.integers((-2, -2, 0), (4, 4, 3)))
        size = n + (n - 1) * inner + low + high
        if size < 0:
            low, high, inner, size = 0, 0, 0, n
        parts.append(f"{low}_{high}_{inner}")
        out.append(size)
    c.root(kind(dtype, out), f"pad({x}, {value}), padding={'x'.join(parts)}")


@case
def concatenate(c):
    dtype, shape = c.pick(*NUMPY), c.shape(1, 3)
    axis = int(c.random.integers(len(shape)))
    sizes = [int(n) for n in c.random.integers(0, 4, c.random.integers(1, 4))]
    xs = [c.parameter(dtype, [n if k == axis else m for k, m in enumerate(shape)]) for n in sizes]
    c.root(kind(dtype, [sum(sizes) if k == axis else m for k, m in enumerate(shape)]), f"concatenate({', '.join(xs)}), dimensions={{{axis}}}")


def starts(c, shape):
    dtype = c.pick(*INTEGERS)
    return [c.parameter(dtype, ()) for _ in shape]


@case
def dynamic_slice(c):
    dtype, shape = c.pick(*NUMPY), c.shape(1, 3)
    sizes = [int(c.random.integers(0, n + 1)) for n in shape]
    x = c.parameter(dtype, shape)
    c.root(kind(dtype, sizes), f"dynamic-slice({', '.join([x, *starts(c, shape)])}), dynamic_slice_sizes={listed(sizes)}")


@case
def dynamic_update_slice(c):
    dtype, shape = c.pick(*NUMPY), c.shape(1, 3)
    sizes = [int(c.random.integers(0, n + 1)) for n in shape]
    x, y = c.parameter(dtype, shape), c.parameter(dtype, sizes)
    c.root(kind(dtype, shape), f"dynamic-update-slice({', '.join([x, y, *starts(c, shape)])})")


def region(c, opcode, dtype):
    c.region(f"f {{\n  a = {dtype}[] parameter(0)\n  b = {dtype}[] parameter(1)\n  ROOT s = {dtype}[] {opcode}(a, b)\n}}")


def neutral(opcode, dtype):
    if opcode in ("maximum", "minimum"):
        sign = -1 if opcode == "maximum" else 1
        return sign * np.inf if dtype in FLOATS else np.iinfo(NUMPY[dtype]).min if sign < 0 else np.iinfo(NUMPY[dtype]).max
    ones = opcode == "and" and (True if dtype == "pred" else np.array(-1).astype(NUMPY[dtype]))
    return {"multiply": 1, "and": ones}.get(opcode, 0)


def reduction(opcode, dtypes):
    def write(c):
        dtype, shape = c.pick(*dtypes), c.shape(1, 3, 0)
        axes = sorted(c.random.permutation(len(shape))[:c.random.integers(1, len(shape) + 1)].tolist())
        region(c, opcode, dtype)
        x = c.parameter(dtype, shape, c.random.normal(0, 1, shape) if dtype in FLOATS and opcode in ("add", "multiply") else None)
        # Where an axis is 1 long, XLA leaves the initial value out: it takes it for one that changes nothing.
        init = c.parameter(dtype, (), neutral(opcode, dtype) if 1 in shape else 1 if dtype in FLOATS else None)
        out = [n for k, n in enumerate(shape) if k not in axes]
        c.root(kind(dtype, out), f"reduce({x}, {init}), dimensions={listed(axes)}, to_apply=f")
    CASES[f"reduce {opcode}"] = write


reduction("add", ["f32", "f64"] + INTEGERS)
reduction("multiply", ["f32", "f64"] + INTEGERS)
reduction("maximum", FLOATS[2:] + INTEGERS)
reduction("minimum", FLOATS[2:] + INTEGERS)
reduction("and", ["pred"] + INTEGERS)
reduction("or", ["pred"] + INTEGERS)
reduction("xor", ["pred"] + INTEGERS)


@case
def reduce_pairs(c):
    """The largest, and where it is, as JAX's argmax has it."""
    shape = c.shape(2, 3)
    axis = int(c.random.integers(len(shape)))
    c.region("f {\n  a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n  j = s32[] parameter(3)\n"
             "  g = pred[] compare(a, b), direction=GT\n  n = pred[] compare(a, a), direction=NE\n  o = pred[] or(g, n)\n"
             "  e = pred[] compare(a, b), direction=EQ\n  l = pred[] compare(i, j), direction=LT\n  t = pred[] and(e, l)\n"
             "  p = pred[] or(o, t)\n  v = f32[] select(o, a, b)\n  w = s32[] select(p, i, j)\n  ROOT r = (f32[], s32[]) tuple(v, w)\n}")
    x, low, zero = c.parameter("f32", shape), c.parameter("f32", (), -np.inf), c.parameter("s32", (), 0)
    c.lines.append(f"i = {kind('s32', shape)} iota(), iota_dimension={axis}")
    out = [n for k, n in enumerate(shape) if k != axis]
    c.root(f"({kind('f32', out)}, {kind('s32', out)})", f"reduce({x}, i, {low}, {zero}), dimensions={{{axis}}}, to_apply=f")


@case
def map_(c):
    dtype, shape = c.pick("f32", *INTEGERS), c.shape(1, 3)
    region(c, c.pick("subtract", "maximum"), dtype)
    x, y = c.parameter(dtype, shape), c.parameter(dtype, shape)
    c.root(kind(dtype, shape), f"map({x}, {y}), dimensions={listed(range(len(shape)))}, to_apply=f")


@case
def sort(c):
    dtype, shape = c.pick("f32", *INTEGERS), c.shape(1, 3)
    axis, order = int(c.random.integers(len(shape))), c.pick("LT", "GT")
    total = ", type=TOTALORDER" if dtype == "f32" else ""
    c.region(f"f {{\n  a = {dtype}[] parameter(0)\n  b = {dtype}[] parameter(1)\n  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n"
             f"  ROOT l = pred[] compare(a, b), direction={order}{total}\n}}")
    x = c.parameter(dtype, shape)
    c.lines.append(f"i = {kind('s32', shape)} iota(), iota_dimension={axis}")
    c.root(f"({kind(dtype, shape)}, {kind('s32', shape)})", f"sort({x}, i), dimensions={{{axis}}}, is_stable=true, to_apply=f")


@case
def while_(c):
    """Counted, and until a value is large."""
    limit, grows = int(c.random.integers(0, 9)), c.pick(True, False)
    bound = f"k = s32[] constant({limit})\n  ROOT l = pred[] compare(i, k), direction=LT"
    until = "k = f32[] constant(20)\n  ROOT l = pred[] compare(x, k), direction=LT"
    state = "t = (s32[], f32[]) parameter(0)\n  i = s32[] get-tuple-element(t), index=0\n  x = f32[] get-tuple-element(t), index=1\n  "
    c.region(f"g {{\n  {state}{until if grows else bound}\n}}")
    c.region(f"f {{\n  {state}o = s32[] constant(1)\n  j = s32[] add(i, o)\n  h = f32[] constant(1.5)\n  y = f32[] multiply(x, h)\n"
             "  ROOT u = (s32[], f32[]) tuple(j, y)\n}")
    x = c.parameter("f32", (), c.random.uniform(0.5, 40))
    c.lines += ["z = s32[] constant(0)", f"b = (s32[], f32[]) tuple(z, {x})"]
    c.root("(s32[], f32[])", "while(b), condition=g, body=f")


@case
def conditional(c):
    shape, n = c.shape(), int(c.random.integers(1, 4))
    for k in range(n):
        c.region(f"f{k} {{\n  x = {kind('f32', shape)} parameter(0)\n  ROOT y = {kind('f32', shape)} {('negate', 'abs', 'sign')[k]}(x)\n}}")
    which, x = c.parameter("s32", (), c.random.integers(-1, n + 1)), c.parameter("f32", shape)
    c.root(kind("f32", shape), f"conditional({', '.join([which] + [x] * n)}), branch_computations={{{', '.join(f'f{k}' for k in range(n))}}}")


# ---- Products, windows, indices ----


def small(c, dtype, shape):
    """Small integers, so that sums are exact."""
    return c.parameter(dtype, shape, c.random.integers(-4, 5, shape))


@case
def dot(c):
    dtype = c.pick("f32", "f64", "s32")
    batch, contracted = c.shape(0, 2, 1, 3), c.shape(0, 2, 1, 4)
    sides, lists = [], []
    for free in (c.shape(0, 2, 1, 4), c.shape(0, 2, 1, 4)):
        axes = c.random.permutation(len(batch) + len(contracted) + len(free)).tolist()
        sizes = [(*batch, *contracted, *free)[k] for k in axes]
        lists.append([[axes.index(k) for k in range(n, m)] for n, m in ((0, len(batch)), (len(batch), len(batch) + len(contracted)))])
        sides.append((sizes, [n for k, n in zip(axes, sizes) if k >= len(batch) + len(contracted)]))
    x, y = (small(c, dtype, sizes) for sizes, _ in sides)
    c.root(kind(dtype, [*batch, *sides[0][1], *sides[1][1]]),
           f"dot({x}, {y}), lhs_batch_dims={listed(lists[0][0])}, lhs_contracting_dims={listed(lists[0][1])}, "
           f"rhs_batch_dims={listed(lists[1][0])}, rhs_contracting_dims={listed(lists[1][1])}")


def window(c, sizes, most=3, pads=True, dilates=True):
    """A window on axes of SIZES: (text, how many fit on each axis)."""
    words, count = {"size": [], "stride": [], "pad": [], "lhs_dilate": [], "rhs_dilate": []}, []
    for n in sizes:
        size, stride = int(c.random.integers(1, most + 1)), int(c.random.integers(1, 3))
        low, high = (int(v) for v in c.random.integers(0, most, 2)) if pads else (0, 0)
        apart, dilation = (int(v) for v in c.random.integers(1, 3, 2)) if dilates else (1, 1)
        longer, span = (n - 1) * apart + 1 + low + high, (size - 1) * dilation + 1
        if longer < span:
            size, span = 1, 1
        for word, value in zip(words, (size, stride, f"{low}_{high}", apart, dilation)):
            words[word].append(str(value))
        count.append((longer - span) // stride + 1)
    return words, count


def said(words):
    return "window={" + " ".join(f"{word}={'x'.join(values)}" for word, values in words.items()) + "}"


@case
def convolution(c):
    dtype, n = c.pick("f32", "f64"), int(c.random.integers(1, 4))
    spatial = [int(v) for v in c.random.integers(2, 6, n)]
    words, out = window(c, spatial)
    if c.pick(True, False):
        words["rhs_reversal"] = [str(v) for v in c.random.integers(0, 2, n)]
    features, batches = c.pick((1, 1), (2, 1), (1, 2))
    batch, channels, filters = 2 * batches, int(c.random.integers(1, 3)), int(c.random.integers(1, 3)) * features * batches
    labels = []
    for letters, sizes in (("bf", (batch, channels * features, *spatial)), ("oi", (filters, channels, *(int(v) for v in words["size"]))),
                           ("bf", (batch // batches, filters, *out))):
        axes = c.random.permutation(n + 2).tolist()
        labels.append(("".join((letters + "012"[:n])[k] for k in axes), [sizes[k] for k in axes]))
    x, w = small(c, dtype, labels[0][1]), small(c, dtype, labels[1][1])
    c.root(kind(dtype, labels[2][1]), f"convolution({x}, {w}), {said(words)}, dim_labels={labels[0][0]}_{labels[1][0]}->{labels[2][0]}, "
           f"feature_group_count={features}, batch_group_count={batches}")


@case
def reduce_window(c):
    opcode, dtype, shape = c.pick("add", "maximum", "minimum", "multiply"), c.pick("f32", "s32"), c.shape(1, 3)
    words, out = window(c, shape)
    region(c, opcode, dtype)
    x = small(c, dtype, shape)
    init = c.parameter(dtype, (), neutral(opcode, dtype))
    c.root(kind(dtype, out), f"reduce-window({x}, {init}), {said(words)}, to_apply=f")


@case
def running_sum(c):
    shape = c.shape(1, 3)
    axis, reverse = int(c.random.integers(len(shape))), c.pick(True, False)
    region(c, "add", "s32")
    sizes = "x".join(str(n) if k == axis else "1" for k, n in enumerate(shape))
    pads = "x".join((f"0_{n - 1}" if reverse else f"{n - 1}_0") if k == axis else "0_0" for k, n in enumerate(shape))
    c.root(kind("s32", shape), f"reduce-window({c.parameter('s32', shape)}, {c.parameter('s32', (), 3)}), window={{size={sizes} pad={pads}}}, to_apply=f")


@case
def select_and_scatter(c):
    shape = c.shape(1, 3)
    words, out = window(c, shape, dilates=False)
    del words["lhs_dilate"], words["rhs_dilate"]
    c.region("f {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = pred[] compare(a, b), direction=GE\n}")
    c.region("g {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}")
    distinct = c.random.permutation(int(np.prod(shape))).reshape(shape)  # among equal ones XLA's CPU takes one or another
    x, y, zero = c.parameter("f32", shape, distinct), small(c, "f32", out), c.parameter("f32", (), 0)
    c.root(kind("f32", shape), f"select-and-scatter({x}, {y}, {zero}), {said(words)}, select=f, scatter=g")


def placed(c, shape):
    """(window axes of all, dropped axes, map, batching axes, those of starts, vector axis, starts' sizes, all sizes, sizes of windows)"""
    rank = len(shape)
    axes = c.random.permutation(rank).tolist()
    batching = sorted(axes[:c.random.integers(0, 2)])
    rest = [k for k in range(rank) if k not in batching]
    mapped = c.random.permutation(rest)[:c.random.integers(1, len(rest) + 1)].tolist() if rest else []
    dropped = [k for k in rest if c.pick(True, False)]
    sizes = [1 if k in dropped or k in batching else int(c.random.integers(1, shape[k] + 1)) for k in range(rank)]
    batch = [shape[k] for k in batching] + list(c.shape(0, 2, 1, 4))
    order = c.random.permutation(len(batch)).tolist()
    batch = [batch[k] for k in order]
    of_starts = [order.index(k) for k in range(len(batching))]
    vector = int(c.random.integers(len(batch) + 1))
    starts = batch[:vector] + [len(mapped)] + batch[vector:]
    of_starts = [k + (k >= vector) for k in of_starts]
    windows = [k for k in range(rank) if k not in dropped and k not in batching]
    places = sorted(c.random.permutation(len(batch) + len(windows))[:len(windows)].tolist())
    whole, b, w = [], iter(batch), iter(windows)
    for k in range(len(batch) + len(windows)):
        whole.append(sizes[next(w)] if k in places else next(b))
    return places, dropped, mapped, batching, of_starts, vector, starts, whole, sizes


def indices(c, shape, starts):
    dtype = c.pick(*INTEGERS)
    values = c.random.integers(0 if dtype[0] == "u" else -2, max(shape, default=1) + 2, starts)
    return c.parameter(dtype, starts, np.where(c.random.random(starts) < 0.1, np.iinfo(NUMPY[dtype]).max, values))


@case
def gather(c):
    dtype, shape = c.pick("f32", "s32", "pred"), c.shape(1, 4, 1, 5)
    places, dropped, mapped, batching, of_starts, vector, starts, whole, sizes = placed(c, shape)
    x, at = c.parameter(dtype, shape), indices(c, shape, starts)
    c.root(kind(dtype, whole), f"gather({x}, {at}), offset_dims={listed(places)}, collapsed_slice_dims={listed(dropped)}, "
           f"start_index_map={listed(mapped)}, operand_batching_dims={listed(batching)}, start_indices_batching_dims={listed(of_starts)}, "
           f"index_vector_dim={vector}, slice_sizes={listed(sizes)}")


@case
def scatter(c):
    opcode, dtype, shape = c.pick("add", "maximum", "minimum", "multiply", "subtract"), c.pick("f32", "s32"), c.shape(1, 4, 1, 5)
    places, dropped, mapped, batching, of_starts, vector, starts, whole, _ = placed(c, shape)
    region(c, opcode, dtype)
    x, at, y = small(c, dtype, shape), indices(c, shape, starts), small(c, dtype, whole)
    c.root(kind(dtype, shape), f"scatter({x}, {at}, {y}), update_window_dims={listed(places)}, inserted_window_dims={listed(dropped)}, "
           f"scatter_dims_to_operand_dims={listed(mapped)}, input_batching_dims={listed(batching)}, "
           f"scatter_indices_batching_dims={listed(of_starts)}, index_vector_dim={vector}, to_apply=f")


# ---- All ----


def judged(name, write, count, seed):
    """(how far apart at most, the first module that is too far apart, or "", what failed)"""
    worst, bad, failed = 0.0, "", ""
    for k in range(count):
        c = Case(np.random.default_rng([seed, k, *name.encode()]))
        write(c)
        text = c.text()
        try:
            wanted = by_xla(text, c.arrays)
        except jax.errors.JaxRuntimeError as error:  # what XLA's CPU compiler hasn't
            failed = failed or "XLA: " + str(error).splitlines()[0][:60]
            continue
        try:
            found = by_gemel(text, c.arrays)
        except gemel.Error as error:
            failed, bad = str(error), bad or text
            continue
        distance = max((apart(x, y) for x, y in zip(found, wanted)), default=0) if len(found) == len(wanted) else np.inf
        worst = max(worst, distance)
        if distance > ULPS.get(name, 0) and not bad:
            bad = f"{text}\n{[a.tolist() for a in c.arrays]}\n{[x.tolist() for x in found]}\n{[x.tolist() for x in wanted]}"
    return worst, bad, failed


def literal(x):
    """An array as HLO writes it."""
    if x.ndim > 0:
        return "{" + ", ".join(literal(part) for part in x) + "}"
    return str(bool(x)).lower() if x.dtype == np.bool_ else str(int(x)) if x.dtype.kind in "iu" else repr(float(x))


def names_of(x):
    return next(name for name, dtype in NUMPY.items() if x.dtype == dtype)


def of_constants(c, results):
    """The module of C with its parameters' values in it; its results are those of C's root, and RESULTS."""
    lines = []
    for line in c.lines:
        name, _, rest = line.removeprefix("ROOT ").partition(" = ")
        if " parameter(" in rest:
            x = c.arrays[len(lines)]
            rest = f"{kind(names_of(x), x.shape)} constant({literal(x)})"
        lines.append(f"{name} = {rest}")
    root = c.lines[-1].removeprefix("ROOT r = ")
    types = [kind(names_of(x), x.shape) for x in results]
    parts = ["r"]
    if root.startswith("("):
        parts = [f"r{k}" for k in range(len(results))]
        lines += [f"r{k} = {t} get-tuple-element(r), index={k}" for k, t in enumerate(types)]
    lines += [f"w{k} = {t} constant({literal(x)})" for k, (t, x) in enumerate(zip(types, results))]
    lines.append(f"ROOT all = ({', '.join(types * 2)}) tuple({', '.join(parts + [f'w{k}' for k in range(len(results))])})")
    c.lines = lines
    return c.text()


def write_cases(path, seed):
    """A module for each opcode whose results are the same bits."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("# A module for each opcode: its result beside XLA's (jaxlib, CPU). Written by bench/peers/xla_opcodes.py --cases.\n")
        for name, write in CASES.items():
            if ULPS.get(name, 0) > 0:
                continue
            for k in range(100):
                c = Case(np.random.default_rng([seed, k, *name.encode()]))
                write(c)
                results = by_xla(c.text(), c.arrays)
                if 4 <= sum(x.size for x in results) <= 24 or (name in ("while", "conditional") and k > 3):
                    break
            file.write(of_constants(c, results).replace("HloModule m", f"HloModule {name.replace(' ', '-')}").replace("\n\n", "\n") + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*")
    parser.add_argument("--out")
    parser.add_argument("--cases", help="write modules to this file, each with XLA's results, for tests/t-hlo.c")
    options = parser.parse_args()
    if options.cases:
        write_cases(options.cases, options.seed)
        return
    rows, status = [], 0
    for name, write in CASES.items():
        if fnmatch.fnmatch(name, options.only):
            worst, bad, failed = judged(name, write, options.count, options.seed)
            rows.append(f"| `{name}` | {options.count} | {worst:.3g} | {ULPS.get(name, 0)} | {failed} |")
            print(rows[-1], flush=True)
            if bad:
                status = 1
                print(f"{name}: differs\n{bad}", file=sys.stderr, flush=True)
    if options.out:
        head = [f"HLO's opcodes as gemel reads them beside XLA's (jaxlib {jax.lib.__version__}, CPU), seed {options.seed}; units in the last place.", "",
                "| opcode | modules | apart | allowed | not run |", "|---|---:|---:|---:|---|"]
        with open(options.out, "w", encoding="utf-8") as file:
            file.write("\n".join(head + rows) + "\n")
    sys.exit(status)


if __name__ == "__main__":
    main()
