# SPDX-License-Identifier: MIT
"""JAX's functions: are two the same?

    gemel.jax.equal(f, g, jax.ShapeDtypeStruct((8, 3), "float32"))

Both are traced to jaxprs, so what jit, grad, vmap and control flow make of them is compared as well.

    print(gemel.jax.certify(f, jax.ShapeDtypeStruct((8, 3), "float32")))

compiles f and judges what each of XLA's passes made of it. doc/python.md of the project has more.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Sequence

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from . import _functions as f
from . import _names as n
from ._equal import Equality, equal as _equal
from ._errors import Error
from ._foreign import NotSaid, is_value, product, repeated
from ._graph import Graph
from ._loops import scan
from ._place import call
from ._types import dtype as find_dtype
from ._xla import Certificate, Step, certify

__all__ = ["Certificate", "Step", "certify", "equal", "to_graph"]

_k = f._INDEX


class _Opaque:
    """A value of a type that gemel hasn't, such as a key."""


def _kind(aval: Any) -> str:
    try:
        return find_dtype(str(aval.dtype)).name
    except TypeError:
        raise NotSaid(f"dtype {aval.dtype}") from None


def _key(of: Any) -> Any:
    """The parameters of a primitive, with all numbers that they hold."""
    if isinstance(of, dict):
        return tuple((k, _key(v)) for k, v in sorted(of.items()))
    if isinstance(of, (tuple, list)):
        return tuple(map(_key, of))
    if isinstance(of, ClosedJaxpr):
        return _key(of.jaxpr), tuple(map(_key, of.consts))
    if hasattr(of, "eqns"):
        return str(of), tuple(_key(eqn.params) for eqn in of.eqns)
    if hasattr(of, "dtype") and hasattr(of, "shape"):
        array = np.asarray(of)
        return str(array.dtype), array.shape, array.tobytes()
    return repr(of)


class _Converter:
    """A jaxpr as nodes of a graph. What gemel can't say is an input of the same name on both sides, if it is made the same
    way; SIGNS, which both share, numbers the ways."""

    def __init__(self, graph: Graph, signs: dict[Any, int]) -> None:
        self.graph, self.signs = graph, signs
        self.unsaid: list[str] = []
        self.free: dict[str, str] = {}

    def sign(self, key: Any) -> int:
        return self.signs.setdefault(key, len(self.signs))

    def input(self, name: str, aval: Any) -> Any:
        text = f"{name}: {_kind(aval)}[{', '.join(map(str, aval.shape))}]"
        self.free[name] = text
        return self.graph.input(text)

    def run(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], signs: Sequence[int] | None = None) -> list[Any]:
        """The results of a jaxpr, with constants and arguments for its variables; and if SIGNS are those of the arguments,
        also how they are made."""
        env: dict[Any, Any] = dict(zip(jaxpr.constvars, (c if is_value(c) else n.constant(np.asarray(c)) for c in consts)))
        env.update(zip(jaxpr.invars, args))
        made = {v: self.sign(("const", id(c))) for v, c in zip(jaxpr.constvars, consts)}
        made.update(zip(jaxpr.invars, signs or ()))

        def read(v: Any) -> Any:
            return n.constant(np.asarray(v.val, getattr(v.aval, "dtype"))) if isinstance(v, Literal) else env[v]

        for eqn in jaxpr.eqns:
            keys = [self.sign(("literal", str(v.val), str(v.aval))) if isinstance(v, Literal) else made.get(v, -1) for v in eqn.invars]
            way = self.sign((eqn.primitive.name, _key(eqn.params), tuple(keys)))
            results = self.equation(eqn, [read(v) for v in eqn.invars], keys if signs is not None else None, way)
            for k, (v, r) in enumerate(zip(eqn.outvars, results)):
                env[v] = r
                made[v] = self.sign((way, k))
        return [read(v) for v in jaxpr.outvars]

    def equation(self, eqn: Any, xs: Sequence[Any], signs: list[int] | None, way: int) -> list[Any]:
        name, outs = eqn.primitive.name, [v.aval for v in eqn.outvars]
        try:
            if any(isinstance(x, _Opaque) for x in xs):
                raise NotSaid(name)
            if name in _CALLS:
                inner = eqn.params["call_jaxpr" if "call_jaxpr" in eqn.params else "jaxpr"]
                closed = isinstance(inner, ClosedJaxpr)
                made = self.run(inner.jaxpr if closed else inner, inner.consts if closed else [], xs, signs)
            elif name in _SAID:
                made = _SAID[name](self, eqn, *xs)
            else:
                raise NotSaid(name)
            made = list(made) if isinstance(made, (list, tuple)) else [made]
            if len(made) != len(outs) or any(not isinstance(m, _Opaque) and tuple(m.shape) != a.shape for m, a in zip(made, outs)):
                raise NotSaid(name)
            return [m if isinstance(m, _Opaque) else _cast(m, _kind(a)) for m, a in zip(made, outs)]
        except (NotSaid, Error, ValueError, TypeError, NotImplementedError) as error:
            if signs is None:
                raise NotSaid(str(error) if isinstance(error, NotSaid) else f"{name}: {error}") from error
            self.unsaid.append(str(error) if isinstance(error, NotSaid) else name)
        return [self.unknown(f"u{way}_{k}", a) for k, a in enumerate(outs)]

    def unknown(self, name: str, aval: Any) -> Any:
        try:
            return self.graph.inputs[name] if name in self.free else self.input(name, aval)
        except NotSaid:
            return _Opaque()


def _cast(x: Any, kind: str) -> Any:
    return x if x.dtype.name == kind else n.cast(x, kind)


def _is_float(x: Any) -> bool:
    return bool(x.dtype.kind == "float")


def _like(x: Any, number: float) -> Any:
    return n.constant(number, x.dtype)


# ---- Elements ----


def _divided(x: Any, y: Any) -> Any:
    """XLA's: an integer divided by 0 has all bits set."""
    return f.div(x, y) if _is_float(x) else f.where(f.eq(y, _like(y, 0)), f.sub(_like(x, 0), _like(x, 1)), f.trunc_div(x, y))


def _rest(x: Any, y: Any) -> Any:
    return f.fmod(x, y) if _is_float(x) else f.where(f.eq(y, _like(y, 0)), x, f.fmod(x, y))


def _integer_pow(c: Any, eqn: Any, x: Any) -> Any:
    y = eqn.params["y"]
    made = f.pow(x, _like(x, abs(y)))
    return _like(x, 1) / made if y < 0 else made


def _round(c: Any, eqn: Any, x: Any) -> Any:
    if int(eqn.params["rounding_method"]) == 1:
        return f.round(x)
    t = f.trunc(x)
    return f.where(f.abs(x - t) >= 0.5, t + f.sign(x), t)


def _logical_shift(x: Any, y: Any) -> Any:
    if x.dtype.kind == "unsigned":
        return f.shift_right(x, y)
    unsigned = "u" + x.dtype.name[1:]
    return n.bitcast(f.shift_right(n.bitcast(x, unsigned), n.bitcast(y, unsigned)), x.dtype.name)


def _converted(c: Any, eqn: Any, x: Any) -> Any:
    """XLA's: a float that no integer of the dtype is becomes the nearest one, and NaN becomes 0."""
    kind = find_dtype(str(eqn.params["new_dtype"]))
    if not _is_float(x) or kind.kind not in ("signed", "unsigned"):
        return n.cast(x, kind)
    info = np.iinfo(np.dtype(eqn.params["new_dtype"]))
    low, high = _like(x, float(info.min)), _like(x, float(info.max))
    made = f.where(f.ge(x, high), n.constant(info.max, kind), n.cast(f.maximum(x, low), kind))
    return f.where(f.ne(x, x), n.constant(0, kind), made)


def _chosen(c: Any, eqn: Any, which: Any, *cases: Any) -> Any:
    if which.dtype.name == "bool":
        return f.where(which, cases[1], cases[0]) if len(cases) == 2 else cases[0]
    made = cases[-1]
    for k in reversed(range(len(cases) - 1)):
        made = f.where(f.le(which, _like(which, k)), cases[k], made)
    return made


def _plain(of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda c, eqn, *xs: of(*xs)


def _axes(of: Any) -> Callable[..., Any]:
    return lambda c, eqn, x: of(x, list(eqn.params["axes"])) if eqn.params["axes"] else x


def _along(of: Any) -> Callable[..., Any]:
    return lambda c, eqn, x: of(x, eqn.params["axis"], reverse=int(eqn.params["reverse"]))


# ---- Shapes and places ----


def _broadcast(c: Any, eqn: Any, x: Any) -> Any:
    shape, where = list(eqn.params["shape"]), list(eqn.params["broadcast_dimensions"])
    x = f.dimshuffle(x, [where.index(k) if k in where else -1 for k in range(len(shape))]) if where != list(range(len(shape))) else x
    return n.broadcast_to(x, shape) if list(x.shape) != shape else x


def _slice(c: Any, eqn: Any, x: Any) -> Any:
    p = eqn.params
    steps = list(p["strides"] or [1] * x.ndim)
    sizes = [-((a - b) // s) for a, b, s in zip(p["start_indices"], p["limit_indices"], steps)]
    return call(_k["subtensor"], x, list(p["start_indices"]), sizes, steps if any(s != 1 for s in steps) else None)


def _starts(x: Any, starts: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
    """XLA moves what would reach outside back inside."""
    return [f.clip(n.cast(s, "i64"), n.value(0), n.value(size - part)) for s, size, part in zip(starts, x.shape, sizes)]


def _dynamic_slice(c: Any, eqn: Any, x: Any, *starts: Any) -> Any:
    sizes = list(eqn.params["slice_sizes"])
    return call(_k["subtensor"], x, _starts(x, starts, sizes), sizes, None)


def _dynamic_update(c: Any, eqn: Any, x: Any, y: Any, *starts: Any) -> Any:
    return call(_k["set_subtensor"], x, y, _starts(x, starts, y.shape), None)


def _padded(x: Any, value: Any, config: Sequence[tuple[int, int, int]]) -> Any:
    low, high, interior = ([p[k] for p in config] for k in range(3))
    made = call(_k["pad"], x, value, [max(k, 0) for k in low], [max(k, 0) for k in high], interior if any(interior) else None)
    if min([*low, *high], default=0) < 0:
        starts = [max(-k, 0) for k in low]
        sizes = [s - a - max(-b, 0) for s, a, b in zip(made.shape, starts, high)]
        made = call(_k["subtensor"], made, starts, sizes, None)
    return made


def _iota(c: Any, eqn: Any, *xs: Any) -> Any:
    p = eqn.params
    shape, axis = list(p["shape"]), p["dimension"]
    line = call(_k["arange"], shape[axis], find_dtype(str(p["dtype"])).name)
    return n.broadcast_to(f.dimshuffle(line, [0 if k == axis else -1 for k in range(len(shape))]), shape)


def _line(size: int, axis: int, rank: int) -> Any:
    """0, 1, … along one axis of RANK."""
    return f.dimshuffle(call(_k["arange"], size, "i64"), [0 if k == axis else -1 for k in range(rank)])


def _places(x: Any, starts: Any, shape: Sequence[int], window: Sequence[int], offsets: Sequence[int], missing: Sequence[int],
            index_map: Sequence[int], of_x: Sequence[int], of_starts: Sequence[int], clamp: bool) -> tuple[Any, Any]:
    """Where in x, as one axis, the elements of a gather's result or a scatter's updates of SHAPE stand, and which of these
    places there are (None: all). WINDOW is the size of a part, OFFSETS are its axes in SHAPE."""
    rank = len(shape)
    batch = [k for k in range(rank) if k not in offsets]
    kept = [d for d in range(x.ndim) if d not in missing and d not in of_x]
    flat: Any = n.value(0)
    inside: Any = None
    batch_of_starts = starts.ndim - 1
    for d in range(x.ndim):
        place: Any = n.value(0)
        if d in index_map:
            s = n.squeeze(call(_k["subtensor"], starts, [0] * batch_of_starts + [list(index_map).index(d)],
                               [*starts.shape[:-1], 1], None), -1)
            place = f.dimshuffle(n.cast(s, "i64"), [batch.index(k) if k in batch else -1 for k in range(rank)])
            last = x.shape[d] - window[d]
            if clamp:
                place = f.clip(place, n.value(0), n.value(last))
            else:
                there = f.logical_and(f.ge(place, n.value(0)), f.le(place, n.value(last)))
                inside = there if inside is None else f.logical_and(inside, there)
        if d in of_x:
            place = place + _line(x.shape[d], batch[of_starts[list(of_x).index(d)]], rank)
        if d in kept and window[d] > 1:
            place = place + _line(window[d], offsets[kept.index(d)], rank)
        flat = flat * x.shape[d] + place
    flat = n.broadcast_to(flat, list(shape))
    return flat, None if inside is None else n.broadcast_to(inside, list(shape))


def _gather(c: Any, eqn: Any, x: Any, starts: Any) -> Any:
    p, d = eqn.params, eqn.params["dimension_numbers"]
    drop = "FILL" in str(p["mode"])
    flat, inside = _places(x, starts, eqn.outvars[0].aval.shape, p["slice_sizes"], d.offset_dims, d.collapsed_slice_dims,
                           d.start_index_map, d.operand_batching_dims, d.start_indices_batching_dims, not drop)
    line = n.reshape(x, [product(x.shape)])
    if inside is None:
        return f.take(line, flat, 0)
    fill = p["fill_value"]
    if fill is None:
        fill = math.nan if _is_float(x) else True if x.dtype.name == "bool" else \
            int(getattr(np.iinfo(eqn.outvars[0].aval.dtype), "min" if x.dtype.kind == "signed" else "max"))
    return f.where(inside, f.take(line, f.where(inside, flat, n.value(0)), 0), _like(x, fill))


def _scatter(mode: str) -> Callable[..., Any]:
    def scatter(c: Any, eqn: Any, x: Any, starts: Any, updates: Any) -> Any:
        p, d = eqn.params, eqn.params["dimension_numbers"]
        missing, of_x = d.inserted_window_dims, d.operand_batching_dims
        sizes = iter(updates.shape[k] for k in d.update_window_dims)
        window = [1 if k in missing or k in of_x else next(sizes) for k in range(x.ndim)]
        flat, inside = _places(x, starts, updates.shape, window, d.update_window_dims, missing, d.scatter_dims_to_operand_dims,
                               of_x, d.scatter_indices_batching_dims, "CLIP" in str(p["mode"]))
        total, count = product(x.shape), [product(updates.shape)]
        line = f.join([n.reshape(x, [total]), n.zeros([1], x.dtype)], 0)  # what is outside goes to an element of its own
        flat = flat if inside is None else f.where(inside, flat, n.value(total))
        made = f.put(line, n.reshape(flat, count), n.reshape(updates, count), 0, mode)
        return n.reshape(call(_k["subtensor"], made, [0], [total], None), list(x.shape))
    return scatter


# ---- Sums, products, windows, order ----


def _dot(c: Any, eqn: Any, x: Any, y: Any) -> Any:
    (cx, cy), (bx, by) = eqn.params["dimension_numbers"]
    kind = _kind(eqn.outvars[0].aval)
    return f.dot(_cast(x, kind), _cast(y, kind), list(cx), list(cy), list(bx), list(by))


def _conv(c: Any, eqn: Any, x: Any, w: Any) -> Any:
    p, d = eqn.params, eqn.params["dimension_numbers"]
    if p["batch_group_count"] != 1:
        raise NotSaid("conv_general_dilated of groups of the batch")
    x, w = n.transpose(x, list(d.lhs_spec)), n.transpose(w, list(d.rhs_spec))
    pads = [(0, 0, 0)] * 2 + [(max(a, 0) * 0, 0, k - 1) for (a, _), k in zip(p["padding"], p["lhs_dilation"])]
    x = _padded(x, _like(x, 0), pads) if any(k != 1 for k in p["lhs_dilation"]) else x
    low, high = ([q[k] for q in p["padding"]] for k in range(2))
    if min([*low, *high], default=0) < 0:
        x = _padded(x, _like(x, 0), [(0, 0, 0)] * 2 + [(min(a, 0), min(b, 0), 0) for a, b in p["padding"]])
        low, high = [max(a, 0) for a in low], [max(b, 0) for b in high]
    made = f.corr(x, w, list(p["window_strides"]), list(p["rhs_dilation"]), low, high, groups=p["feature_group_count"])
    return n.transpose(made, [list(d.out_spec).index(k) for k in range(made.ndim)])


def _windows(of: Any, empty: Callable[[Any], Any]) -> Callable[..., Any]:
    """The results of a window at each place: one strided part for each element of a window."""
    def reduce_window(c: Any, eqn: Any, x: Any, *more: Any) -> Any:
        p = eqn.params
        size = list(p["window_dimensions"])
        if math.prod(size) > 256:
            raise NotSaid(f"{eqn.primitive.name} of large windows")
        pads = [(a, b, k - 1) for (a, b), k in zip(p["padding"], p["base_dilation"])]
        x = _padded(x, _like(x, empty(x)), pads)
        shape, steps, made = eqn.outvars[0].aval.shape, list(p["window_strides"]), None
        for place in np.ndindex(*size):
            starts = [a * k for a, k in zip(place, p["window_dilation"])]
            sizes = [m for m in shape]
            piece = call(_k["subtensor"], x, starts, sizes, steps if any(s != 1 for s in steps) else None)
            made = piece if made is None else of(made, piece)
        return made
    return reduce_window


def _least(x: Any) -> Any:
    return -math.inf if _is_float(x) else False if x.dtype.name == "bool" else int(np.iinfo(_numpy(x)).min)


def _most(x: Any) -> Any:
    return math.inf if _is_float(x) else True if x.dtype.name == "bool" else int(np.iinfo(_numpy(x)).max)


def _numpy(x: Any) -> str:
    return f"{'uint' if x.dtype.name[0] == 'u' else 'int'}{x.dtype.name[1:]}"


def _running(of: Any) -> Callable[..., Any]:
    def running(c: Any, eqn: Any, x: Any) -> Any:
        axis, reverse = eqn.params["axis"], bool(eqn.params["reverse"])
        rows = n.moveaxis(x, axis, 0)
        start = f.take(rows, n.value(-1 if reverse else 0), 0)
        kept = scan(lambda state, row: (of(state, row), of(state, row)), start, rows, reverse=reverse)[1]
        return n.moveaxis(kept, 0, axis)
    return running


def _argument(of: Any) -> Callable[..., Any]:
    def argument(c: Any, eqn: Any, x: Any) -> Any:
        return of(x, eqn.params["axes"][0])
    return argument


def _sort(c: Any, eqn: Any, *xs: Any) -> Any:
    axis = eqn.params["dimension"]
    order: Any = None
    for key in reversed(xs[:eqn.params["num_keys"]]):  # stable, so the first key is sorted by last
        by = f.argsort(key if order is None else f.take_along_axis(key, order, axis), axis)
        order = by if order is None else f.take_along_axis(order, by, axis)
    return [f.take_along_axis(x, order, axis) for x in xs]


def _top(c: Any, eqn: Any, x: Any) -> Any:
    return f.top_k(x, eqn.params["k"], eqn.params.get("axis", -1))


# ---- Control ----


def _scan(c: Any, eqn: Any, *xs: Any) -> Any:
    p = eqn.params
    body, consts, carry = p["jaxpr"], p["num_consts"], p["num_carry"]

    def step(state: Any, row: Any) -> Any:
        made = c.run(body.jaxpr, body.consts, [*xs[:consts], *state, *row])
        return made[:carry], made[carry:]

    rows = list(xs[consts + carry:])
    last, kept = scan(step, list(xs[consts:consts + carry]), rows, length=None if rows else p["length"], reverse=bool(p["reverse"]))
    return [*last, *kept]


def _while(c: Any, eqn: Any, *xs: Any) -> Any:
    p = eqn.params
    nc, nb = p["cond_nconsts"], p["body_nconsts"]
    start = list(xs[nc + nb:])

    def goes_on(state: Any) -> Any:
        return c.run(p["cond_jaxpr"].jaxpr, p["cond_jaxpr"].consts, [*xs[:nc], *state])[0]

    def step(t: Any, state: list[Any], row: Any) -> Any:
        made = c.run(p["body_jaxpr"].jaxpr, p["body_jaxpr"].consts, [*xs[nc:nc + nb], *state])
        after = [f.where(first, new, old) for new, old in zip(made, state)]  # no step is done where the condition is false at once
        return after, [], f.logical_not(f.logical_and(first, goes_on(after)))

    first = goes_on(start)
    return repeated(None, start, [], step, True)[0]


def _cond(c: Any, eqn: Any, which: Any, *xs: Any) -> Any:
    made = [c.run(b.jaxpr, b.consts, xs) for b in eqn.params["branches"]]
    return [_chosen(c, eqn, which, *cases) for cases in zip(*made)]


def _bits(of_bools: Any, otherwise: Any) -> Callable[..., Any]:
    return lambda c, eqn, *xs: (of_bools if xs[0].dtype.name == "bool" else otherwise)(*xs)


# Primitives that call a function of the same operands and results.
_CALLS = set("jit pjit closed_call core_call remat remat2 checkpoint custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr composite".split())
_SAID: dict[str, Callable[..., Any]] = {
    **{theirs: _plain(getattr(f, ours)) for theirs, ours in (pair.split(":") for pair in (
        "neg:neg sign:sign floor:floor ceil:ceil exp:exp log:log expm1:expm1 log1p:log1p sin:sin cos:cos tan:tan asin:asin "
        "acos:acos atan:atan sinh:sinh cosh:cosh tanh:tanh asinh:asinh acosh:acosh atanh:atanh sqrt:sqrt logistic:sigmoid "
        "erf:erf erf_inv:erfinv lgamma:lgamma digamma:digamma abs:abs square:sqr sub:sub pow:pow atan2:atan2 eq:eq ne:ne "
        "lt:lt le:le gt:gt ge:ge eq_to:eq lt_to:lt le_to:le shift_left:shift_left shift_right_arithmetic:shift_right "
        "is_finite:isfinite polygamma:polygamma cholesky:cholesky").split())},
    **dict.fromkeys(("copy", "copy_p", "stop_gradient", "optimization_barrier", "reduce_precision", "pvary", "real", "conj"),
                    lambda c, eqn, *xs: list(xs)),
    "add": _bits(f.logical_or, f.add), "add_any": _bits(f.logical_or, f.add), "mul": _bits(f.logical_and, f.mul),
    "max": _bits(f.logical_or, f.maximum), "min": _bits(f.logical_and, f.minimum), "div": _plain(_divided), "rem": _plain(_rest),
    "and": _plain(n.bitwise_and), "or": _plain(n.bitwise_or), "xor": _plain(n.bitwise_xor), "not": _plain(n.invert),
    "shift_right_logical": _plain(_logical_shift), "integer_pow": _integer_pow, "round": _round,
    "exp2": _plain(lambda x: f.pow(n.full_like(x, 2), x)), "rsqrt": _plain(lambda x: _like(x, 1) / f.sqrt(x)),
    "cbrt": _plain(lambda x: f.sign(x) * f.pow(f.abs(x), _like(x, 1 / 3))), "erfc": _plain(lambda x: _like(x, 1) - f.erf(x)),
    "select_n": _chosen, "clamp": _plain(lambda low, x, high: f.clip(x, low, high)), "convert_element_type": _converted,
    "bitcast_convert_type": lambda c, eqn, x: n.bitcast(x, find_dtype(str(eqn.params["new_dtype"]))),
    "broadcast_in_dim": _broadcast, "reshape": lambda c, eqn, x: n.reshape(x, list(eqn.params["new_sizes"])),
    "transpose": lambda c, eqn, x: n.transpose(x, list(eqn.params["permutation"])),
    "squeeze": lambda c, eqn, x: n.reshape(x, list(eqn.outvars[0].aval.shape)),
    "expand_dims": lambda c, eqn, x: n.reshape(x, list(eqn.outvars[0].aval.shape)),
    "rev": lambda c, eqn, x: f.reverse(x, list(eqn.params["dimensions"])), "slice": _slice, "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update, "concatenate": lambda c, eqn, *xs: f.join(list(xs), eqn.params["dimension"]),
    "stack": lambda c, eqn, *xs: f.stack(list(xs), eqn.params.get("axis", eqn.params.get("dimension", 0))),
    "split": lambda c, eqn, x: n.split(x, [int(k) for k in np.cumsum(eqn.params["sizes"])[:-1]], eqn.params["axis"]),
    "pad": lambda c, eqn, x, value: _padded(x, value, eqn.params["padding_config"]), "iota": _iota, "gather": _gather,
    "scatter": _scatter("set"), "scatter-add": _scatter("add"), "scatter-mul": _scatter("mul"), "scatter-min": _scatter("min"),
    "scatter-max": _scatter("max"), "reduce_sum": _axes(f.sum), "reduce_prod": _axes(f.prod), "reduce_max": _axes(f.max),
    "reduce_min": _axes(f.min), "reduce_and": _axes(f.all), "reduce_or": _axes(f.any), "argmax": _argument(f.argmax),
    "argmin": _argument(f.argmin), "cumsum": _along(f.cumsum), "cumprod": _along(f.cumprod), "cummax": _running(f.maximum),
    "cummin": _running(f.minimum), "dot_general": _dot, "conv_general_dilated": _conv, "sort": _sort, "top_k": _top,
    "reduce_window_sum": _windows(f.add, lambda x: 0), "reduce_window_max": _windows(f.maximum, _least),
    "reduce_window_min": _windows(f.minimum, _most), "scan": _scan, "while": _while, "cond": _cond,
}


def _graph(closed: Any, signs: dict[Any, int]) -> tuple[Graph, _Converter]:
    graph = Graph()
    with graph:
        c = _Converter(graph, signs)
        args = [c.input(f"x{k}", v.aval) for k, v in enumerate(closed.jaxpr.invars)]
        made = c.run(closed.jaxpr, closed.consts, args, [c.sign(("input", k)) for k in range(len(args))])
        for k, value in enumerate(made):
            if isinstance(value, _Opaque):
                raise NotSaid(f"result {k} is of a type that gemel hasn't")
            graph.output(value, f"o{k}")
    return graph, c


def _spec(of: Any) -> Any:
    """OF with jax.ShapeDtypeStruct in place of gemel's types."""
    shape = getattr(of, "shape", None)
    if type(of).__name__ == "Type" and shape is not None:
        return jax.ShapeDtypeStruct(shape, _JAX[of.dtype.name])  # type: ignore[no-untyped-call]
    return of


_JAX = {"bool": "bool", "bf16": "bfloat16", **{f"f{b}": f"float{b}" for b in (16, 32, 64)},
        **{f"{s}{b}": f"{t}{b}" for s, t in (("i", "int"), ("u", "uint")) for b in (8, 16, 32, 64)}}


def _traced(function: Any, specs: Sequence[Any]) -> Any:
    return jax.make_jaxpr(function)(*jax.tree.map(_spec, specs, is_leaf=lambda s: type(s).__name__ == "Type"))


def to_graph(function: Callable[..., Any], *specs: Any) -> Graph:
    """The graph of a function of JAX's: inputs x0, x1, …, outputs o0, o1, … are the leaves of its arguments and results."""
    graph, c = _graph(_traced(function, specs), {})
    if c.unsaid:
        raise NotImplementedError(f"gemel can't say {', '.join(sorted(set(c.unsaid)))}")
    return graph


def equal(f: Callable[..., Any], g: Callable[..., Any], *specs: Any, **options: Any) -> Equality:
    """Whether two functions of JAX's are the same for arguments of these shapes and dtypes: arrays, jax.ShapeDtypeStructs, types
    of gemel's, and what is made of them. OPTIONS are those of gemel.equal. What gemel can't say is taken for any function:
    NotImplementedError if the two aren't equal for all."""
    signs: dict[Any, int] = {}
    first, second = _traced(f, specs), _traced(g, specs)
    types = [[(v.aval.shape, str(v.aval.dtype)) for v in j.jaxpr.outvars] for j in (first, second)]
    if [t[0] for t in types[0]] != [t[0] for t in types[1]]:
        raise ValueError(f"the results of the two are {types[0]} and {types[1]}")
    a, b = _graph(first, signs), _graph(second, signs)
    for one, other in ((a, b), (b, a)):
        for name, text in one[1].free.items():
            if name not in other[1].free:
                other[0].input(text)
    answer = _equal(a[0], b[0], **options)
    unsaid = sorted({*a[1].unsaid, *b[1].unsaid})
    if not answer and unsaid:
        raise NotImplementedError(f"gemel can't say {', '.join(unsaid)}")
    return answer
