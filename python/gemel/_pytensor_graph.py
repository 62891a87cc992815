# SPDX-License-Identifier: MIT
"""PyTensor's graphs as gemel's. A value of PyTensor's is one of gemel's, or, if it is a scalar or vector of integers such as
shapes are, an int, a size, or a list of these; what gemel has no dtype for is a Token."""
from __future__ import annotations

import operator
import re
from typing import Any, Callable, Sequence

import numpy as np
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import toposort
from pytensor.scalar.basic import ScalarOp

from . import _functions as f
from . import _names as n
from ._errors import Error
from ._foreign import NotSaid, element, is_value, largest, part, product, quotient, same, smallest
from ._graph import Graph
from ._types import dtype as find_dtype

Raw = Any
FLOATS = ("f16", "f32", "f64")


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

    def __init__(self, least: int = 0) -> None:
        self.least = least  # the size of symbols, and more for each further one; 0: they stay symbols
        self.known: dict[str, str] = {}
        self.partners: dict[str, Any] = {}  # sizes that were found to be the same as one that is known at run time
        self.symbols: set[str] = set()
        self.frozen = False
        self.signs: dict[Any, int] = {}
        self.counts: set[str] = set()  # inputs that are used as sizes, and so aren't negative

    def text(self, symbol: str) -> str:
        """What is known of a symbol, as text without symbols of which more is known."""
        if self.least and symbol in self.symbols and symbol not in self.known:
            self.known[symbol] = str(self.least + sum(v.isdigit() for v in self.known.values()) % 4)
        if symbol not in self.known:
            return symbol
        return re.sub(r"[A-Za-z_]\w*", lambda m: self._inside(m[0]), self.known[symbol])

    def _inside(self, name: str) -> str:
        known = self.text(name)
        return known if known.isalnum() or known.isidentifier() else f"({known})"

    def meet(self, a: Any, b: Any) -> None:
        """A and B have to be the same: a symbol among them becomes the other."""
        if self.frozen or is_value(a) or is_value(b) or same(a, b):
            return
        for x, y in ((a, str(b)), (b, str(a))):
            if y.startswith("value(") and str(x) in self.symbols:
                self.meet(self.partners.setdefault(y, x), x)
        for x, y in ((str(a), str(b)), (str(b), str(a))):
            if x in self.symbols and x not in re.findall(r"\w+", y) and "value" not in y:
                self.known[x] = y
                raise Again

    def cut_to_one(self, sizes: Sequence[Any]) -> None:
        """Of lengths that are cut to the shortest among them, as those of a Scan's sequences, takes all for the same: a body
        of gemel's has no symbols but those of its operands."""
        for text in map(str, sizes):
            found = [s for s in re.findall(r"\w+", text) if s in self.symbols] if "min(" in text else []
            if len(set(found)) > 1 and not self.frozen:
                self.known[found[1] if found[0] != found[1] else found[-1]] = found[0]
                raise Again

    def sign(self, key: Any) -> int:
        return self.signs.setdefault(key, len(self.signs))


def name_of(v: Any) -> str:
    """The name of the Op that makes V."""
    if v.owner is None:
        return str(v.type)
    op = v.owner.op
    return "/".join(type(o).__name__ for o in (op, getattr(op, "core_op", None), getattr(op, "scalar_op", None)) if o is not None)


def kind_of(v: Any) -> str:
    try:
        return find_dtype(v.type.dtype).name
    except (TypeError, AttributeError):
        raise NotSaid(f"dtype {getattr(v.type, 'dtype', v.type)}") from None


class Converter:
    """Builds one side of a question."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes, self.graph = sizes, Graph()
        sizes.partners = {}
        self.unsaid: list[str] = []
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
                    self.graph.output(self.value(raw, kind_of(v)), f"o{k}")

    # Values.

    def input(self, name: str, v: Any, like: Any, sign: int) -> Raw:
        """A new input for V, of the sizes that LIKE has."""
        try:
            kind = kind_of(v)
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
                signs[o] = self.sizes.sign((_way(node), k, tuple(signs.get(v, -1) for v in node.inputs)))
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
            return self.value(raw, kind_of(v))
        if raw.ndim != getattr(v.type, "ndim", 0):
            raise NotSaid(f"{name_of(v)}: rank {raw.ndim}")
        for a, b in zip(raw.shape, getattr(v.type, "shape", ())):
            if b is not None and not isinstance(a, int):
                self.sizes.meet(a, b)
        if raw.ndim == 1 and v.type.ndim == 1 and isinstance(v.type.shape[0], int) and not isinstance(raw.shape[0], int):
            return self.value(part(raw, 0, 0, v.type.shape[0], 1), kind_of(v))
        return self.value(raw, kind_of(v))

    def unknown(self, v: Any, sign: int) -> Raw:
        if sign not in self.opaque:
            self.opaque[sign] = self.input(f"u{sign}", v, v, sign)
        return self.opaque[sign]

    # Operations of elements.

    def scalar(self, op: Any, args: Sequence[Raw], inputs: Sequence[Any], out: str) -> Raw:
        name = type(op).__name__
        if _is_foreign(op):
            raise NotSaid(name)
        if name in KNOWN and not any(is_value(a) or isinstance(a, Token) for a in args) and out not in FLOATS:
            try:
                raw = KNOWN[name](*args)
                return _wrapped(raw, out)
            except (TypeError, ZeroDivisionError):
                pass
        if name in COMPARED:
            kind = find_dtype(np.result_type(*(np.dtype(v.type.dtype) for v in inputs))).name
            return COMPARED[name](*(self.value(a, kind) for a in args))
        if name == "Switch":
            condition = self.value(args[0], kind_of(inputs[0]))
            condition = condition if condition.dtype.name == "bool" else n.cast(condition, "bool")
            return f.where(condition, self.value(args[1], out), self.value(args[2], out))
        if name in TESTED:
            return TESTED[name](self.value(args[0], kind_of(inputs[0])))
        if name not in SCALAR:
            raise NotSaid(name)
        return SCALAR[name](*(self.value(a, out) for a in args))


def _way(node: Any) -> Any:
    """What a node does, as a key: a Blockwise of no batch is its Op, and whether memory is written over doesn't matter."""
    op = node.op
    if hasattr(op, "core_op") and all(v.type.ndim == len(sig) for v, sig in zip(node.inputs, op.inputs_sig)):
        op = op.core_op
    return _props(op)


def _props(op: Any) -> Any:
    names = None if hasattr(op, "fgraph") else getattr(op, "__props__", None)
    if names:
        kept = [n for n in names if n not in ("inplace", "destroyhandler_tolerate_aliased") and not n.startswith("overwrite")]
        return type(op), tuple((n, _props(getattr(op, n))) for n in kept)
    try:
        hash(op)
        return op
    except TypeError:
        return repr(op)


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
        "Sub:sub TrueDiv:div Mod:mod Pow:pow ArcTan2:atan2 PolyGamma:polygamma Softplus:softplus").split())},
    **dict.fromkeys(("Identity", "Cast", "TensorCopy", "Conj", "Real"), lambda x: x),
    "Add": _of_bools(f.logical_or, f.add), "Mul": _of_bools(f.logical_and, f.mul),
    "Maximum": _of_bools(f.logical_or, f.maximum), "Minimum": _of_bools(f.logical_and, f.minimum),
    "AND": _fold(n.bitwise_and), "OR": _fold(n.bitwise_or), "XOR": _fold(n.bitwise_xor), "Invert": n.invert,
    "Clip": lambda x, low, high: f.where(f.lt(x, low), low, f.where(f.gt(x, high), high, x)),
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

RULES: dict[str, Callable[..., Any]] = {}


def says(names: str) -> Callable[[Any], Any]:
    def remember(rule: Any) -> Any:
        RULES.update(dict.fromkeys(names.split(), rule))
        return rule
    return remember


def _is_foreign(op: Any) -> bool:
    """Whether OP is of a class that isn't PyTensor's own: it may have the name of one, or be derived of it, and mean something else."""
    return not type(op).__module__.startswith("pytensor.")


def _rule(op: Any) -> Callable[..., Any]:
    if isinstance(op, OpFromGraph) and not any(base.__name__ in RULES for base in type(op).__mro__):
        return RULES["inlined"]
    if not _is_foreign(op):
        for base in type(op).__mro__:
            if base.__name__ in RULES:
                return RULES[base.__name__]
    raise NotSaid(type(op).__name__)
