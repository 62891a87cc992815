# SPDX-License-Identifier: MIT
"""What PyTensor's Ops are in gemel. A value of PyTensor's is one of gemel's, or, if it is a scalar or vector of integers
such as shapes are, an int, a size, or a list of these; what gemel has no dtype for is a Token."""
from __future__ import annotations

import operator
from typing import Any, Callable, Sequence

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import toposort
from pytensor.scalar.basic import ScalarOp

from . import _functions as f
from . import _names as n
from ._errors import Error
from ._foreign import (NotSaid, batched, broadcast, broadcast_shape, element, index_written, indexed, is_value, largest,
                       part, product, quotient, repeated, same, smallest)
from ._graph import Graph
from ._place import call
from ._types import DTYPES, dtype as find_dtype

Raw = Any
_FLOATS = ("f16", "f32", "f64")


class Again(Exception):
    """Two sizes turned out to be the same: the graph is to be built again."""


class Token:
    """A value of a type that gemel hasn't: equal if it is made the same way."""

    def __init__(self, sign: int) -> None:
        self.sign = sign

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Token) and other.sign == self.sign

    __hash__ = None  # type: ignore[assignment]


class Sizes:
    """What both sides of a question share: sizes known to be the same, and the numbers of values that gemel can't say."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.symbols: set[str] = set()
        self.frozen = False
        self.signs: dict[Any, int] = {}
        self.counts: set[str] = set()  # inputs that are used as sizes, and so aren't negative

    def text(self, symbol: str) -> str:
        while symbol in self.known:
            symbol = self.known[symbol]
        return symbol

    def meet(self, a: Any, b: Any) -> None:
        """A and B have to be the same: a symbol among them becomes the other."""
        if self.frozen or is_value(a) or is_value(b) or same(a, b):
            return
        for x, y in ((str(a), str(b)), (str(b), str(a))):
            if x in self.symbols and x not in y.replace("(", " ").replace(")", " ").replace("*", " ").split() and "value" not in y:
                self.known[x] = y
                raise Again

    def sign(self, key: Any) -> int:
        return self.signs.setdefault(key, len(self.signs))


def name_of(v: Any) -> str:
    """The name of the Op that makes V."""
    if v.owner is None:
        return str(v.type)
    op = v.owner.op
    return "/".join(type(o).__name__ for o in (op, getattr(op, "core_op", None), getattr(op, "scalar_op", None)) if o is not None)


def _dtype(v: Any) -> str:
    try:
        return find_dtype(v.type.dtype).name
    except (TypeError, AttributeError):
        raise NotSaid(f"dtype {getattr(v.type, 'dtype', v.type)}") from None


def _is_known(raw: Raw) -> bool:
    return not is_value(raw) and not isinstance(raw, (Token, list)) or isinstance(raw, list)


class Converter:
    """Builds one side of a question."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes, self.graph, self.unsaid = sizes, Graph(), []
        self.free: dict[str, str] = {}
        self.results: list[Raw] = []
        self.inside = 0  # of how many loops
        self.opaque: dict[int, Raw] = {}
        self.named: dict[int, tuple[str, Any]] = {}  # integer inputs and their casts, by id

    def build(self, leaves: Sequence[Any], outputs: Sequence[Any], like: Sequence[Any] | None = None) -> None:
        with self.graph:
            signs = {v: self.sizes.sign(("input", k)) for k, v in enumerate(leaves)}
            raws = [self.input(f"x{k}", v, w, signs[v]) for k, (v, w) in enumerate(zip(leaves, like or leaves))]
            self.results = self.run(leaves, raws, outputs, signs)
            for k, (raw, v) in enumerate(zip(self.results, outputs)):
                if not isinstance(raw, Token):
                    self.graph.output(self.value(raw, _dtype(v)), f"o{k}")

    # Values.

    def input(self, name: str, v: Any, like: Any, sign: int) -> Raw:
        """A new input for V, of the sizes that LIKE has."""
        try:
            kind = _dtype(v)
        except NotSaid:
            return Token(sign)
        dims = []
        for axis, size in enumerate(getattr(like.type, "shape", ())):
            symbol = f"{name}_{axis}"
            self.sizes.symbols.add(symbol)
            dims.append(self.sizes.text(symbol) if size is None else str(size))
        if name in self.sizes.counts:
            if not dims:
                return self.count(name)
            return [self.count(f"{name}_{k}") for k in range(int(dims[0]))]
        text = f"{name}: {kind}[{', '.join(dims)}]{_fact(like)}"
        self.free[name] = text
        made = self.graph.input(text)
        if kind[0] in "iu" and (not dims or (len(dims) == 1 and dims[0].isdigit())):
            self.named[id(made)] = (name, made)
        return made

    def count(self, name: str) -> Any:
        """An input that is used as a size: the size of an input that nothing reads."""
        symbol = f"{name}_n"
        self.sizes.symbols.add(symbol)
        self.free[name] = f"{name}: bool[{self.sizes.text(symbol)}]"
        made = self.graph.input(self.free[name])
        return made.shape[0]

    def used_as_size(self, raw: Raw) -> None:
        """Says that RAW, if it is an input, is no element but a size; so the sizes that it meets are known to be it."""
        if is_value(raw) and id(raw) in self.named and not self.sizes.frozen:
            self.sizes.counts.add(self.named[id(raw)][0])
            raise Again

    def value(self, raw: Raw, kind: str | None = None) -> Any:
        """RAW as a value of gemel's, of a dtype."""
        if isinstance(raw, Token):
            raise NotSaid("a type that gemel hasn't")
        if isinstance(raw, list):
            kind = kind or "i64"
            if not raw or all(isinstance(r, (int, bool)) for r in raw):
                return n.constant(np.array(raw, dtype=_numpy(kind)))
            return f.join([n.reshape(self.value(r, kind), [1]) for r in raw], 0)
        if not is_value(raw):
            raw = n.constant(raw, kind) if isinstance(raw, (int, bool)) and kind else n.constant(raw)
        if kind is None or raw.dtype.name == kind:
            return raw
        made = n.cast(raw, kind)
        if id(raw) in self.named and kind[0] in "iu":
            self.named[id(made)] = (self.named[id(raw)][0], made)
        return made

    def size(self, raw: Raw, is_size: bool = False) -> Any:
        """RAW, an integer scalar, as a size or an index."""
        if isinstance(raw, list) and len(raw) == 1:
            raw = raw[0]
        if is_size:
            self.used_as_size(raw)
        if is_value(raw):
            raw = n.reshape(raw, []) if raw.ndim else raw
            return n.cast(raw, "i64") if raw.dtype.name != "i64" else raw
        if isinstance(raw, (list, Token)):
            raise NotSaid("a size that is no number")
        return int(raw) if isinstance(raw, bool) else raw

    def vector(self, raw: Raw, length: int | None = None) -> list[Any]:
        """RAW, an integer vector, as sizes."""
        if not is_value(raw):
            return [self.size(r, True) for r in (raw if isinstance(raw, list) else [raw])]
        self.used_as_size(raw)
        count = raw.shape[0] if length is None else length
        if not isinstance(count, int):
            raise NotSaid("a vector of sizes of unknown length")
        return [self.size(element(raw, 0, k)) for k in range(count)]

    def number(self, raw: Raw) -> int:
        """RAW as an int."""
        raw = self.size(raw)
        if not isinstance(raw, int):
            raise NotSaid("an axis that isn't known")
        return raw

    def constant(self, v: Any, sign: int) -> Raw:
        data = v.data
        if data is None or isinstance(data, (slice, str)) or not hasattr(v.type, "dtype"):
            return Token(sign)
        array = np.asarray(data)
        if array.dtype.kind == "c":
            return Token(sign)
        if array.dtype.kind in "iub" and array.ndim <= 1 and array.size <= 16 and (array.ndim == 0 or array.dtype.kind != "b"):
            return array.tolist()
        return n.constant(np.ascontiguousarray(array).reshape(array.shape))

    def meet(self, shapes: Sequence[Sequence[Any]]) -> None:
        """Shapes that are broadcast: sizes of an axis that aren't a literal 1 are the same."""
        rank = max((len(s) for s in shapes), default=0)
        for axis in range(-rank, 0):
            sizes = [s[axis] for s in shapes if len(s) >= -axis and not (isinstance(s[axis], int) and s[axis] == 1)]
            for size in sizes[1:]:
                self.sizes.meet(sizes[0], size)

    # Graphs.

    def run(self, inputs: Sequence[Any], raws: Sequence[Raw], outputs: Sequence[Any], signs: dict[Any, int] | None) -> list[Raw]:
        """The OUTPUTS of a graph of PyTensor's whose INPUTS are RAWS."""
        env: dict[Any, Raw] = dict(zip(inputs, raws))
        signs = {} if signs is None else signs
        for node in toposort(outputs, blockers=list(inputs)):
            if all(o in env for o in node.outputs):
                continue
            for v in node.inputs:
                self.leaf(v, env, signs)
            for k, o in enumerate(node.outputs):
                signs[o] = self.sizes.sign((_hashable(node.op), k, tuple(signs.get(v, -1) for v in node.inputs)))
            for o, raw in zip(node.outputs, self.node(node, [env[v] for v in node.inputs], signs)):
                env[o] = raw
        for v in outputs:
            self.leaf(v, env, signs)
        return [env[v] for v in outputs]

    def leaf(self, v: Any, env: dict[Any, Raw], signs: dict[Any, int]) -> None:
        if v in env and (v in signs or not isinstance(v, Constant)):
            return
        if not isinstance(v, Constant):
            raise NotSaid(f"an input {v}")
        data = v.data
        signs[v] = self.sizes.sign(("constant", str(v.type), data.tobytes() if hasattr(data, "tobytes") else str(data)))
        env[v] = self.constant(v, signs[v])

    def node(self, node: Any, args: Sequence[Raw], signs: dict[Any, int] | None = None) -> list[Raw]:
        """The results of one Op; what can't be said stands for itself."""
        try:
            rule = _rule(node.op)
            raws = rule(self, node, args)
            raws = raws if isinstance(raws, tuple) else (raws,)
            if len(raws) != len(node.outputs):
                raise NotSaid(name_of(node.outputs[0]))
            return [self.typed(raw, o) for raw, o in zip(raws, node.outputs)]
        except (NotSaid, Error, ValueError, TypeError, IndexError, AttributeError, NotImplementedError) as error:
            if self.inside or signs is None:
                raise NotSaid(str(error) or name_of(node.outputs[0])) from error
            self.unsaid.append(name_of(node.outputs[0]))
        return [self.unknown(o, signs[o]) for o in node.outputs]

    def typed(self, raw: Raw, v: Any) -> Raw:
        """RAW with V's dtype; an axis that V's type knows the size of has that."""
        if not is_value(raw):
            return raw
        if isinstance(v.owner.op, ScalarOp):  # of elements: in an Elemwise of any rank
            return self.value(raw, _dtype(v))
        if raw.ndim != getattr(v.type, "ndim", 0):
            raise NotSaid(f"{name_of(v)}: rank {raw.ndim}")
        for a, b in zip(raw.shape, getattr(v.type, "shape", ())):
            if b is not None and not isinstance(a, int):
                self.sizes.meet(a, b)
        if raw.ndim == 1 and v.type.ndim == 1 and isinstance(v.type.shape[0], int) and not isinstance(raw.shape[0], int):
            return self.value(part(raw, 0, 0, v.type.shape[0], 1), _dtype(v))
        return self.value(raw, _dtype(v))

    def unknown(self, v: Any, sign: int) -> Raw:
        if sign not in self.opaque:
            self.opaque[sign] = self.input(f"u{sign}", v, v, sign)
        return self.opaque[sign]

    # Operations of elements.

    def scalar(self, op: Any, args: Sequence[Raw], inputs: Sequence[Any], out: str) -> Raw:
        name = type(op).__name__
        if name in KNOWN and not any(is_value(a) or isinstance(a, Token) for a in args) and out not in _FLOATS:
            try:
                raw = KNOWN[name](*args)
                return _wrapped(raw, out)
            except (TypeError, ZeroDivisionError):
                pass
        if name in COMPARED:
            kind = find_dtype(np.result_type(*(np.dtype(v.type.dtype) for v in inputs))).name
            return COMPARED[name](*(self.value(a, kind) for a in args))
        if name == "Switch":
            condition = self.value(args[0], _dtype(inputs[0]))
            condition = condition if condition.dtype.name == "bool" else n.cast(condition, "bool")
            return f.where(condition, self.value(args[1], out), self.value(args[2], out))
        if name in TESTED:
            return TESTED[name](self.value(args[0], _dtype(inputs[0])))
        if name not in SCALAR:
            raise NotSaid(name)
        return SCALAR[name](*(self.value(a, out) for a in args))


def _hashable(op: Any) -> Any:
    try:
        hash(op)
        return op
    except TypeError:
        return id(op)


def _numpy(kind: str) -> str:
    sizes = {"f": "float", "i": "int", "u": "uint"}
    return "bool" if kind == "bool" else sizes[kind[0]] + kind[1:]


def _wrapped(raw: Raw, kind: str) -> Raw:
    """RAW as an integer of a dtype."""
    if isinstance(raw, bool) or kind == "bool":
        return bool(raw) if kind == "bool" and isinstance(raw, int) else int(raw)
    return int(np.array(raw).astype(_numpy(kind))) if isinstance(raw, int) else raw


_POSITIVE = {"Exp", "Exp2", "Sigmoid", "Softplus", "Cosh"}
_NONNEGATIVE = {"Abs", "Sqr", "Sqrt"}


def _fact(v: Any) -> str:
    """What is known of V by the Op that makes it."""
    if v.owner is None:
        return ""
    name = type(getattr(v.owner.op, "scalar_op", v.owner.op)).__name__
    return " positive" if name in _POSITIVE else " nonnegative" if name in _NONNEGATIVE | {"Shape", "Shape_i", "Softmax"} else ""


# ---- Operations of elements ----


def _away(x: Any) -> Any:
    t = f.trunc(x)
    return f.where(f.abs(x - t) >= 0.5, t + f.sign(x), t)


def _fold(of: Any) -> Callable[..., Any]:
    def fold(*xs: Any) -> Any:
        result = xs[0]
        for x in xs[1:]:
            result = of(result, x)
        return result
    return fold


def _of_bools(of_bools: Any, otherwise: Any) -> Callable[..., Any]:
    return _fold(lambda x, y: (of_bools if x.dtype.name == "bool" else otherwise)(x, y))


SCALAR: dict[str, Callable[..., Any]] = {
    **{theirs: getattr(f, ours) for theirs, ours in (pair.split(":") for pair in (
        "Abs:abs Sign:sign Ceil:ceil Floor:floor Trunc:trunc RoundHalfToEven:round Neg:neg Log:log Log1p:log1p Exp:exp "
        "Expm1:expm1 Sqr:sqr Sqrt:sqrt Cos:cos ArcCos:acos Sin:sin ArcSin:asin Tan:tan ArcTan:atan Cosh:cosh ArcCosh:acosh "
        "Sinh:sinh ArcSinh:asinh Tanh:tanh ArcTanh:atanh Sigmoid:sigmoid Erf:erf Erfinv:erfinv GammaLn:lgamma Psi:digamma "
        "Sub:sub TrueDiv:div Mod:mod Pow:pow ArcTan2:atan2 Clip:clip PolyGamma:polygamma Softplus:softplus").split())},
    **dict.fromkeys(("Identity", "Cast", "TensorCopy", "Conj", "Real"), lambda x: x),
    "Add": _of_bools(f.logical_or, f.add), "Mul": _of_bools(f.logical_and, f.mul),
    "Maximum": _of_bools(f.logical_or, f.maximum), "Minimum": _of_bools(f.logical_and, f.minimum),
    "AND": _fold(n.bitwise_and), "OR": _fold(n.bitwise_or), "XOR": _fold(n.bitwise_xor), "Invert": n.invert,
    "IntDiv": n.floor_divide, "Second": lambda x, y: y, "Reciprocal": lambda x: 1 / x,
    "Erfc": lambda x: 1 - f.erf(x), "Erfcx": lambda x: f.exp(x * x) * (1 - f.erf(x)), "Erfcinv": lambda x: f.erfinv(1 - x),
    "Log2": lambda x: f.log(x) / float(np.log(2)), "Log10": lambda x: f.log(x) / float(np.log(10)), "Exp2": lambda x: f.pow(2 + 0 * x, x),
    "Deg2Rad": lambda x: x * float(np.pi / 180), "Rad2Deg": lambda x: x * float(180 / np.pi), "RoundHalfAwayFromZero": _away,
    "TriGamma": lambda x: f.polygamma(1 + 0 * x, x),
    "Log1mexp": lambda x: f.where(x < -float(np.log(2)), f.log1p(-f.exp(x)), f.log(-f.expm1(x))),
}
SCALAR["ScalarMaximum"], SCALAR["ScalarMinimum"] = SCALAR["Maximum"], SCALAR["Minimum"]
COMPARED: dict[str, Any] = {"LT": f.lt, "GT": f.gt, "LE": f.le, "GE": f.ge, "EQ": f.eq, "NEQ": f.ne}
TESTED: dict[str, Any] = {"IsNan": lambda x: f.ne(x, x), "IsInf": f.isinf}


def _switch(condition: Any, x: Any, y: Any) -> Any:
    if not isinstance(condition, (bool, int)):
        raise TypeError
    return x if condition else y


# Of ints and sizes, without a node.
KNOWN: dict[str, Any] = {
    "Add": lambda *xs: sum(xs[1:], xs[0]), "Mul": lambda *xs: product(xs), "Sub": operator.sub, "IntDiv": quotient, "Neg": operator.neg,
    "Maximum": largest, "Minimum": smallest, "ScalarMaximum": largest, "ScalarMinimum": smallest, "Identity": lambda x: x,
    "Cast": lambda x: x, "Second": lambda x, y: y, "Switch": _switch, "Mod": operator.mod, "LT": operator.lt, "GT": operator.gt,
    "LE": operator.le, "GE": operator.ge, "EQ": operator.eq, "NEQ": operator.ne, "Abs": lambda x: abs(x) if isinstance(x, int) else x if
    same(largest(x, 0), x) else _switch(x, x, x), "AND": lambda x, y: operator.and_(*map(_int, (x, y))), "OR": lambda x, y: operator.or_(*map(_int, (x, y))),
    "Sign": lambda x: (x > 0) - (x < 0), "Sqr": lambda x: x * x,
}


def _int(x: Any) -> int:
    if not isinstance(x, int):
        raise TypeError
    return x


# ---- Ops ----

_RULES: dict[str, Callable[..., Any]] = {}


def _says(names: str) -> Callable[[Any], Any]:
    def remember(rule: Any) -> Any:
        _RULES.update(dict.fromkeys(names.split(), rule))
        return rule
    return remember


def _rule(op: Any) -> Callable[..., Any]:
    name = type(op).__name__
    if name in _RULES:
        return _RULES[name]
    for base in type(op).__mro__:
        if base.__name__ in _RULES:
            return _RULES[base.__name__]
    if hasattr(op, "fgraph") and not isinstance(op, ScalarOp):
        return _inlined
    raise NotSaid(name)


def _inlined(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    graph = node.op.fgraph
    signs = {v: c.sizes.sign(("inside", c.sizes.sign(("at", id(node))), k)) for k, v in enumerate(graph.inputs)}
    return tuple(c.run(graph.inputs, args, graph.outputs, signs))


@_says("Composite")
def _composite(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    graph = node.op.fgraph
    c.inside += 1
    try:
        return tuple(c.run(graph.inputs, args, graph.outputs, None))
    finally:
        c.inside -= 1


@_says("ScalarOp")
def _scalar(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return c.scalar(node.op, args, node.inputs, _dtype(node.outputs[0]))


@_says("Elemwise")
def _elemwise(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    op, outs = node.op.scalar_op, [_dtype(o) for o in node.outputs]
    inner = getattr(op, "fgraph", None)

    def apply(xs: Sequence[Raw]) -> list[Raw]:
        if inner is None:
            return [c.scalar(op, xs, node.inputs, outs[0])]
        return list(_composite(c, op.make_node(*inner.inputs), xs))

    if not any(is_value(a) or isinstance(a, Token) for a in args) and len(outs) == 1:
        lists = [a for a in args if isinstance(a, list)]
        if not lists:
            return apply(args)[0]
        if max(map(len, lists)) <= 16 and outs[0] not in _FLOATS and min(map(len, lists)):
            count = max(map(len, lists))
            return [apply([a[k % len(a)] if isinstance(a, list) else a for a in args])[0] for k in range(count)]
    values = [c.value(a, _dtype(v)) for a, v in zip(args, node.inputs)]
    c.meet([x.shape for x in values])
    shape = broadcast_shape([x.shape for x in values])
    return tuple(broadcast(c.value(x, kind), shape) for x, kind in zip(apply(values), outs))


@_says("TensorFromScalar ScalarFromTensor DeepCopyOp ViewOp CpuContiguous CheckAndRaise Assert Unbroadcast DisconnectedGrad "
       "GradClip GradScale ZeroGrad UndefinedGrad SpecifyAssumptions")
def _same(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return args[0]


@_says("SpecifyShape")
def _specify(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x = args[0]
    if not is_value(x):
        return x
    sizes = [s if isinstance(raw, Token) else c.size(raw, True) for s, raw in zip(x.shape, args[1:])]
    for a, b in zip(x.shape, sizes):
        c.sizes.meet(a, b)
    return broadcast(x, sizes)


@_says("DimShuffle")
def _dimshuffle(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, order = args[0], node.op.new_order
    if not is_value(x) and len(order) <= 1 and not isinstance(x, Token):
        if list(order) == [0]:
            return x
        return [c.size(x)] if len(order) else c.size(x)
    return f.dimshuffle(c.value(x), [-1 if k == "x" else k for k in order])


@_says("Shape")
def _shape(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x = args[0]
    return list(x.shape) if is_value(x) else [len(x)] if isinstance(x, list) else [] if not isinstance(x, Token) else _refuse(node)


def _refuse(node: Any) -> Any:
    raise NotSaid(name_of(node.outputs[0]))


@_says("Shape_i")
def _shape_i(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return _shape(c, node, args)[node.op.i]


@_says("MakeVector")
def _vector(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    kind = _dtype(node.outputs[0])
    return list(args) if kind not in (*_FLOATS, "bool") or not args else f.join([n.reshape(c.value(a, kind), [1]) for a in args], 0)


@_says("Reshape")
def _reshape(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, rank = args[0], node.op.ndim
    if not is_value(x) and rank <= 1 and not (isinstance(x, list) and len(x) > 1 and rank == 0):
        return (x if isinstance(x, list) else [x]) if rank else c.size(x)
    x, sizes = c.value(x, _dtype(node.inputs[0])), c.vector(args[1], rank)
    return _in_shape(c, x, sizes)


def _in_shape(c: Converter, x: Any, sizes: list[Any]) -> Any:
    known = [k for k, s in enumerate(sizes) if isinstance(s, int) and s == -1]
    if known:
        sizes[known[0]] = quotient(product(x.shape), product([s for k, s in enumerate(sizes) if k not in known]))
    return x if len(sizes) == x.ndim and all(map(same, sizes, x.shape)) else n.reshape(x, sizes)


@_says("JoinDims")
def _join_dims(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, at, count = c.value(args[0]), node.op.start_axis, node.op.n_axes
    return n.reshape(x, [*x.shape[:at], product(x.shape[at:at + count]), *x.shape[at + count:]])


@_says("SplitDims")
def _split_dims(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, at = c.value(args[0], _dtype(node.inputs[0])), node.op.axis
    sizes = c.vector(args[1], node.outputs[0].type.ndim - x.ndim + 1)
    open_ = [k for k, s in enumerate(sizes) if isinstance(s, int) and s == -1]
    if open_:
        sizes[open_[0]] = quotient(x.shape[at], product([s for k, s in enumerate(sizes) if k not in open_]))
    return n.reshape(x, [*x.shape[:at], *sizes, *x.shape[at + 1:]])


@_says("Alloc")
def _alloc(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, sizes = c.value(args[0], _dtype(node.outputs[0])), [c.size(a, True) for a in args[1:]]
    c.meet([x.shape, sizes[len(sizes) - x.ndim:]])
    return broadcast(x, sizes)


@_says("AllocEmpty")
def _empty(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return broadcast(n.constant(0, _dtype(node.outputs[0])), [c.size(a, True) for a in args])


@_says("Join")
def _join(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    axis, parts = c.number(args[0]), args[1:]
    kind = _dtype(node.outputs[0])
    if kind not in _FLOATS and all(isinstance(a, list) for a in parts):
        return [r for a in parts for r in a]
    xs = [c.value(a, kind) for a in parts]
    for k in range(xs[0].ndim):
        if k != axis % xs[0].ndim:
            for x in xs[1:]:
                c.sizes.meet(xs[0].shape[k], x.shape[k])
    return f.join(xs, axis)


@_says("Split")
def _split(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, axis, at, parts = c.value(args[0]), c.number(args[1]), 0, []
    axis %= x.ndim
    sizes = c.vector(args[2], node.op.len_splits)
    c.sizes.meet(x.shape[axis], sum(sizes[1:], sizes[0]))
    for k, size in enumerate(sizes):  # the last one is what is left: an Op whose sizes don't add up is an error
        parts.append(part(x, axis, at, at + size if k < len(sizes) - 1 else None, 1) if len(sizes) > 1 else x)
        at = at + size
    return tuple(parts)


def _keys(c: Converter, node: Any, first: int, args: Sequence[Raw]) -> list[Any]:
    """What stands in the brackets of a Subtensor of any kind, whose indices begin with input FIRST."""
    at = iter(zip(args[first:], node.inputs[first:]))

    def bound(entry: Any) -> Any:
        return None if entry is None else c.size(next(at)[0])

    parts: list[Any] = []
    for entry in node.op.idx_list:
        if isinstance(entry, slice):
            parts.append(slice(bound(entry.start), bound(entry.stop), bound(entry.step)))
            continue
        raw, v = next(at)
        if str(v.type.dtype) == "bool":
            raise NotSaid(f"{name_of(node.outputs[0])} by bools")
        parts.append(c.size(raw) if v.type.ndim == 0 else c.value(raw, _dtype(v)))
    return parts


@_says("Subtensor AdvancedSubtensor AdvancedSubtensor1")
def _subtensor(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, parts = args[0], _keys(c, node, 1, args)
    if isinstance(x, list) and len(parts) == 1 and not is_value(parts[0]):
        p = parts[0]
        bounds = [p.start, p.stop, p.step] if isinstance(p, slice) else [p]
        if all(b is None or isinstance(b, int) for b in bounds):
            return x[p]
    return indexed(c.value(x, _dtype(node.inputs[0])), parts)


@_says("IncSubtensor AdvancedIncSubtensor AdvancedIncSubtensor1")
def _inc_subtensor(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    kind = _dtype(node.outputs[0])
    x, y, parts = c.value(args[0], kind), c.value(args[1], kind), _keys(c, node, 2, args)
    if not parts:
        c.meet([x.shape, y.shape])
    if getattr(node.op, "ignore_duplicates", False) and not node.op.set_instead_of_inc:
        raise NotSaid("AdvancedIncSubtensor that ignores duplicates")
    c.meet([indexed(x, parts).shape, y.shape])
    return index_written(x, y, parts, "set" if node.op.set_instead_of_inc else "add")


_REDUCED: dict[str, Any] = {"Add": f.sum, "Mul": f.prod, "Maximum": f.max, "ScalarMaximum": f.max, "Minimum": f.min,
                            "ScalarMinimum": f.min, "AND": f.all, "OR": f.any}


@_says("CAReduce")
def _reduce(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    name, kind, x = type(node.op.scalar_op).__name__, _dtype(node.outputs[0]), args[0]
    if name not in _REDUCED:
        raise NotSaid(f"CAReduce of {name}")
    if isinstance(x, list) and x and name in ("Add", "Mul") and kind not in _FLOATS and not any(map(is_value, x)):
        return KNOWN[name](*x)
    x = c.value(x, _dtype(node.inputs[0]))
    if name in ("AND", "OR"):
        if kind != "bool":
            raise NotSaid("CAReduce of bits")
        x = c.value(x, "bool")
    elif name in ("Add", "Mul"):
        x = c.value(x, kind)
    axes = list(range(x.ndim)) if node.op.axis is None else [k % x.ndim for k in node.op.axis]
    return _REDUCED[name](x, axes) if axes else x


@_says("Argmax")
def _argmax(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x = c.value(args[0])
    axes = list(range(x.ndim)) if node.op.axis is None else [k % x.ndim for k in node.op.axis]
    kept = [k for k in range(x.ndim) if k not in axes]
    if len(axes) != 1:
        x = n.reshape(n.transpose(x, kept + axes), [*(x.shape[k] for k in kept), product([x.shape[k] for k in axes])])
    return f.argmax(x, axes[0] if len(axes) == 1 else len(kept))


@_says("Dot Dot22 Dot22Scalar Gemm Gemv Ger BatchedDot")
def _dot(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    kind, names = _dtype(node.outputs[0]), [b.__name__ for b in type(node.op).__mro__]
    xs = [c.value(a, kind) for a in args]

    def product_of(x: Any, y: Any) -> Any:
        if "BatchedDot" in names:
            c.sizes.meet(x.shape[0], y.shape[0])
            c.sizes.meet(x.shape[2], y.shape[1])
            return f.dot(x, y, [2], [1], [0], [0])
        c.sizes.meet(x.shape[-1], y.shape[0])
        return f.dot(x, y, [x.ndim - 1], [0])

    if "Gemm" in names or "Gemv" in names:
        z, a, x, y, b = xs
        made = product_of(x, y)
        c.meet([z.shape, made.shape])
        return b * z + a * made
    if "Ger" in names:
        z, a, x, y = xs
        made = f.dimshuffle(x, [0, -1]) * f.dimshuffle(y, [-1, 0])
        c.meet([z.shape, made.shape])
        return z + a * made
    return product_of(*xs[:2]) * xs[2] if "Dot22Scalar" in names else product_of(*xs)


@_says("IfElse")
def _if(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    count = node.op.n_outs
    condition = c.value(args[0], _dtype(node.inputs[0]))
    condition = condition if condition.dtype.name == "bool" else n.cast(condition, "bool")
    kinds = [_dtype(o) for o in node.outputs]
    sides = [[c.value(a, kind) for a, kind in zip(args[at:at + count], kinds)] for at in (1, 1 + count)]
    for x, y in zip(*sides):
        if not all(map(same, x.shape, y.shape)):
            raise NotSaid("IfElse of different shapes")
    return tuple(f.where(condition, x, y) for x, y in zip(*sides))


@_says("ARange")
def _arange(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    kind = _dtype(node.outputs[0])
    if kind in _FLOATS:
        start, stop, step = (c.value(a, kind) for a in args)
        count = f.maximum(n.cast(f.ceil((stop - start) / step), "i64"), n.value(0))
        return start + step * call(f._INDEX["arange"], count, kind)
    start, stop, step = (c.size(a) for a in args)
    if not isinstance(step, int):
        step = n.value(step)
        count = f.floor_div(n.value(stop - start) + step - f.sign(step), step)
    else:
        count = quotient(stop - start + (step - 1 if step > 0 else step + 1), step)
    numbers = call(f._INDEX["arange"], largest(count, 0), "i64")
    numbers = numbers if isinstance(step, int) and step == 1 else numbers * step
    return numbers if isinstance(start, int) and start == 0 else numbers + n.value(start)


@_says("Eye")
def _eye(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    rows, columns, k = (c.size(a) for a in args)
    i = f.dimshuffle(call(f._INDEX["arange"], rows, "i64"), [0, -1])
    j = f.dimshuffle(call(f._INDEX["arange"], columns, "i64"), [-1, 0])
    return n.cast(f.eq(j - i, n.value(k)), _dtype(node.outputs[0]))


@_says("ExtractDiag")
def _diagonal(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, op = c.value(args[0]), node.op
    axes = [op.axis1 % x.ndim, op.axis2 % x.ndim]
    kept = [k for k in range(x.ndim) if k not in axes]
    rows, columns = (x.shape[k] for k in axes)
    count = largest(smallest(rows + min(op.offset, 0), columns - max(op.offset, 0)), 0)
    at = call(f._INDEX["arange"], count, "i64")
    i, j = (at + max(-op.offset, 0)), (at + max(op.offset, 0))
    x = n.transpose(x, kept + axes)
    return n._paired(x, [x.ndim - 2, x.ndim - 1], [i, j], True)


@_says("CumOp")
def _cumulated(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x = c.value(args[0], _dtype(node.outputs[0]))
    x = f.flatten(x) if node.op.axis is None else x
    return (f.cumsum if node.op.mode == "add" else f.cumprod)(x, node.op.axis or 0)


@_says("SortOp")
def _sort(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return f.sort(c.value(args[0]), c.number(args[1]))


@_says("ArgSortOp")
def _argsort(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return f.argsort(c.value(args[0]), c.number(args[1]))


@_says("SearchsortedOp")
def _searched(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    if len(args) > 2:
        raise NotSaid("SearchsortedOp with a sorter")
    return f.searchsorted(c.value(args[0]), c.value(args[1]), node.op.side)


@_says("Repeat")
def _repeat(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    if node.inputs[1].type.ndim or node.op.axis is None:
        raise NotSaid("Repeat by a vector")
    return f.repeat(c.value(args[0]), c.size(args[1]), node.op.axis)


@_says("AbstractConvolveNd")
def _convolve(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    kind = _dtype(node.outputs[0])
    x, w = (f.dimshuffle(c.value(a, kind), [-1, -1, *range(node.op.ndim)]) for a in args[:2])
    full = c.number(args[2])
    if not full and not all(isinstance(a, int) and isinstance(b, int) for a, b in zip(x.shape, w.shape)):
        raise NotSaid("a valid convolution of unknown sizes")
    if not full and any(a < b for a, b in zip(x.shape, w.shape)):
        x, w = w, x
    made = f.corr(x, w, padding="full" if full else "valid", flip=1)
    return n.squeeze(made, (0, 1))


def _transposed(x: Any) -> Any:
    return f.swapaxes(x, -2, -1)


def _triangle(a: Any, lower: bool) -> Any:
    return f.tril(a) if lower else f.triu(a)


# Of matrices: of operands with axes before those of the matrices too.
def _solved(c: Converter, op: Any, a: Any, b: Any) -> Any:
    name = type(op).__name__
    b = f.dimshuffle(b, [*range(b.ndim), -1]) if op.b_ndim == 1 else b
    if name == "SolveTriangular":
        made = f.triangular_solve(a, b, int(op.lower), 0, int(op.unit_diagonal))
    elif name == "CholeskySolve":
        low = _triangle(a, op.lower) if op.lower else _transposed(_triangle(a, False))
        made = f.triangular_solve(_transposed(low), f.triangular_solve(low, b, 1, 0, 0), 0, 0, 0)
    elif getattr(op, "assume_a", "gen") == "gen":
        made = f.solve(a, b)
    else:
        raise NotSaid(f"{name} that assumes {op.assume_a}")
    return n.squeeze(made, -1) if op.b_ndim == 1 else made


_MATRICES: dict[str, Any] = {
    "Det": lambda c, op, a: f.det(a), "MatrixInverse": lambda c, op, a: f.inv(a), "SLogDet": lambda c, op, a: (f.sign(f.det(a)), f.log_abs_det(a)),
    "Cholesky": lambda c, op, a: f.cholesky(a) if op.lower else _transposed(f.cholesky(_transposed(a))),
    **dict.fromkeys(("Solve", "SolveTriangular", "CholeskySolve"), _solved),
}


@_says(" ".join(_MATRICES))
def _matrices(c: Converter, node: Any, args: Sequence[Raw], op: Any = None) -> Any:
    op = op or node.op
    kind = _dtype(node.outputs[-1])
    xs = [c.value(a, kind) for a in args]
    c.sizes.meet(xs[0].shape[-1], xs[0].shape[-2])
    if len(xs) > 1:
        c.sizes.meet(xs[0].shape[-1], xs[1].shape[-op.b_ndim])
        batch = broadcast_shape([x.shape[:x.ndim - r] for x, r in zip(xs, (2, op.b_ndim))])
        xs = [broadcast(x, [*batch, *x.shape[x.ndim - r:]]) for x, r in zip(xs, (2, op.b_ndim))]
    return _MATRICES[type(op).__name__](c, op, *xs)


@_says("Blockwise")
def _blockwise(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    op, core = node.op, node.op.core_op
    ranks = [len(s) for s in op.inputs_sig]
    xs = [c.value(a, _dtype(v)) for a, v in zip(args, node.inputs)]
    c.meet([x.shape[:x.ndim - r] for x, r in zip(xs, ranks)])
    if type(core).__name__ in _MATRICES:
        return _matrices(c, node, xs, core)
    if type(core).__name__ == "Dot":
        c.sizes.meet(xs[0].shape[-1], xs[1].shape[-2])
        return f.matmul(*(c.value(x, _dtype(node.outputs[0])) for x in xs))
    inner = op._create_dummy_core_node(node.inputs)
    rows = [k for k, a in enumerate(args) if is_value(a)]  # what is known is the same for all

    def one(*values: Any) -> list[Any]:
        mixed = list(args)
        for k, value in zip(rows, values):
            mixed[k] = value
        return [c.value(r, _dtype(o)) for r, o in zip(c.node(inner, mixed), inner.outputs)]

    c.inside += 1
    try:
        if all(x.ndim == r for x, r in zip(xs, ranks)):
            return tuple(one(*(xs[k] for k in rows)))
        return tuple(batched(one, [xs[k] for k in rows], [ranks[k] for k in rows]))
    finally:
        c.inside -= 1


@_says("Scan")
def _scan(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return _Loop(c, node, args).results()


class _Loop:
    """A Scan: mit-mots are buffers that steps write to, other outputs states of as many rows as there are taps."""

    def __init__(self, c: Converter, node: Any, args: Sequence[Raw]) -> None:
        self.c, self.node, info = c, node, node.op.info
        self.info = info
        self.steps = c.size(args[0], True)
        values = [None if isinstance(a, Token) else c.value(a, _dtype(v)) for a, v in zip(args, node.inputs)]
        counts = [info.n_seqs, info.n_mit_mot, info.n_mit_sot + info.n_sit_sot, info.n_untraced_sit_sot, info.n_nit_sot]
        at, groups = 1, []
        for count in counts:
            groups.append(values[at:at + count])
            at += count
        self.rows = [part(s, 0, 0, self.steps, 1) for s in groups[0]]
        self.buffers, self.outs, self.untraced = groups[1], groups[2], groups[3]
        self.lengths = [c.size(a, True) for a in args[at - info.n_nit_sot:at]]
        self.fixed = list(args[at:])
        self.taps = [list(t) for t in (*info.mit_sot_in_slices, *info.sit_sot_in_slices)]
        self.widths = [-min(t) for t in self.taps]
        self.types: list[Any] = []

    def step(self, t: Any, states: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any], Any]:
        c, info, mit = self.c, self.info, len(self.buffers)
        buffers, at = states[:mit], mit
        inner: list[Any] = list(rows)
        for buffer, taps in zip(buffers, info.mit_mot_in_slices):
            inner += [f.take(buffer, t + (k - min(taps)), 0) for k in taps]
        windows = []
        for taps, width in zip(self.taps, self.widths):
            windows.append(states[at:at + width])
            inner += [states[at + width + k] for k in taps]
            at += width
        graph = self.node.op.fgraph
        inner += [*states[at:], *self.fixed]
        made = c.run(graph.inputs, inner, graph.outputs, None)
        kinds = [_dtype(o) for o in graph.outputs]
        made = [c.value(raw, kind) for raw, kind in zip(made, kinds)]
        after, k = [], 0
        for buffer, taps, outs in zip(buffers, info.mit_mot_in_slices, info.mit_mot_out_slices):
            for out in outs:
                row = f.dimshuffle(made[k], [-1, *range(made[k].ndim)])
                starts = [t + (out - min(taps)), *[0] * (buffer.ndim - 1)]
                buffer = call(f._INDEX["set_subtensor"], buffer, row, starts, None)
                k += 1
            after.append(buffer)
        kept = made[k:k + len(windows)]
        for window, new, width in zip(windows, kept, self.widths):
            after += [*window[1:], broadcast(new, window[0].shape)]
        k += len(windows)
        kept = kept + made[k:k + info.n_nit_sot]
        k += info.n_nit_sot
        after += made[k:k + info.n_untraced_sit_sot]
        return after, kept, made[-1] if info.as_while else None

    def results(self) -> tuple[Raw, ...]:
        c, info = self.c, self.info
        states = [*self.buffers, *(element(o, 0, k) for o, w in zip(self.outs, self.widths) for k in range(w)), *self.untraced]
        c.inside += 1
        try:
            last, kept, count = repeated(self.steps, states, self.rows, self.step, info.as_while)
        finally:
            c.inside -= 1
        made: list[Raw] = list(last[:len(self.buffers)])
        count = count if info.as_while else self.steps
        sizes = [o.shape[0] for o in self.outs] + self.lengths
        for k, rows in enumerate(kept):
            width = self.widths[k] if k < len(self.outs) else 0
            if width:
                rows = f.join([part(self.outs[k], 0, 0, width, 1), rows], 0)
            made.append(self.kept(rows, sizes[k], count + width))
        return (*made, *last[len(last) - info.n_untraced_sit_sot:]) if info.n_untraced_sit_sot else tuple(made)

    def kept(self, rows: Any, size: Any, total: Any) -> Any:
        """The last rows, as many as there is room for."""
        self.c.sizes.meet(size, total)
        if same(size, total) and not self.info.as_while:
            return rows
        size = smallest(size, total)
        return part(rows, 0, total - size, total, 1)
