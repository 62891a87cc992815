# SPDX-License-Identifier: MIT
"""What PyTensor's Ops are in gemel: a function for each, of a converter, the node, and its operands."""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np
from pytensor.graph.basic import Constant

from . import _functions as f
from . import _names as n
from ._foreign import (NotSaid, batched, broadcast, broadcast_shape, cut, element, index_written, indexed, is_value, largest,
                       part, product, quotient, repeated, same, smallest)
from ._place import call
from ._pytensor_graph import FLOATS, KNOWN, Converter, Raw, Token, kind_of, name_of, says


@says("inlined")
def _inlined(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    graph = node.op.fgraph
    signs = {v: c.sizes.sign(("inside", c.sizes.sign(("at", id(node))), k)) for k, v in enumerate(graph.inputs)}
    return tuple(c.run(graph.inputs, args, graph.outputs, signs))


@says("Composite")
def _composite(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    graph = node.op.fgraph
    c.inside += 1
    try:
        return tuple(c.run(graph.inputs, args, graph.outputs, None))
    finally:
        c.inside -= 1


@says("ScalarOp")
def _scalar(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return c.scalar(node.op, args, node.inputs, kind_of(node.outputs[0]))


@says("Elemwise")
def _elemwise(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    op, outs = node.op.scalar_op, [kind_of(o) for o in node.outputs]
    inner = getattr(op, "fgraph", None)

    def apply(xs: Sequence[Raw]) -> list[Raw]:
        if inner is None:
            return [c.scalar(op, xs, node.inputs, outs[0])]
        return list(_composite(c, op.make_node(*inner.inputs), xs))

    if not any(is_value(a) or isinstance(a, Token) for a in args) and len(outs) == 1:
        lists = [a for a in args if isinstance(a, list)]
        if not lists:
            return apply(args)[0]
        if max(map(len, lists)) <= 16 and outs[0] not in FLOATS and min(map(len, lists)):
            count = max(map(len, lists))
            return [apply([a[k % len(a)] if isinstance(a, list) else a for a in args])[0] for k in range(count)]
    values = [c.value(a, kind_of(v)) for a, v in zip(args, node.inputs)]
    c.meet([x.shape for x in values])
    shape = broadcast_shape([x.shape for x in values])
    return tuple(broadcast(c.value(x, kind), shape) for x, kind in zip(apply(values), outs))


@says("TensorFromScalar ScalarFromTensor DeepCopyOp ViewOp CpuContiguous CheckAndRaise Assert Unbroadcast DisconnectedGrad "
       "GradClip GradScale ZeroGrad UndefinedGrad")
def _same(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return args[0]


@says("SpecifyAssumptions")
def _assumed(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    """What the assumptions leave of any value: its triangle, its product with its transpose."""
    x = c.value(args[0], kind_of(node.outputs[0]))
    for name, state in node.op.assumptions:
        if getattr(state, "name", "") == "TRUE" and name in _ASSUMED:
            x = _ASSUMED[name](x)
        else:
            c.unsaid.append(f"assumption {name}")
    return x


def _symmetric(x: Any) -> Any:
    return f.tril(x) + _transposed(f.tril(x, -1))


def _positive(x: Any) -> Any:
    made = f.matmul(x, _transposed(x))
    return made + f.eye(made.shape[-1], made.dtype.name)


_ASSUMED: dict[str, Any] = {"lower_triangular": f.tril, "upper_triangular": f.triu, "diagonal": lambda x: f.tril(f.triu(x)),
                            "symmetric": _symmetric, "positive_definite": _positive}


@says("SpecifyShape")
def _specify(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x = args[0]
    if not is_value(x):
        return x
    sizes = [s if isinstance(raw, Token) else c.size(raw, True) for s, raw in zip(x.shape, args[1:])]
    for a, b in zip(x.shape, sizes):
        c.sizes.meet(a, b)
    return broadcast(x, sizes)


@says("DimShuffle")
def _dimshuffle(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, order = args[0], node.op.new_order
    if not is_value(x) and len(order) <= 1 and not isinstance(x, Token):
        if list(order) == [0]:
            return x
        return [c.size(x)] if len(order) else c.size(x)
    return f.dimshuffle(c.value(x), [-1 if k == "x" else k for k in order])


@says("Shape")
def _shape(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x = args[0]
    return list(x.shape) if is_value(x) else [len(x)] if isinstance(x, list) else [] if not isinstance(x, Token) else _refuse(node)


def _refuse(node: Any) -> Any:
    raise NotSaid(name_of(node.outputs[0]))


@says("Shape_i")
def _shape_i(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return _shape(c, node, args)[node.op.i]


@says("MakeVector")
def _vector(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    kind = kind_of(node.outputs[0])
    return list(args) if kind not in (*FLOATS, "bool") or not args else f.join([n.reshape(c.value(a, kind), [1]) for a in args], 0)


@says("Reshape")
def _reshape(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, rank = args[0], node.op.ndim
    if not is_value(x) and rank <= 1 and not (isinstance(x, list) and len(x) > 1 and rank == 0):
        return (x if isinstance(x, list) else [x]) if rank else c.size(x)
    x, sizes = c.value(x, kind_of(node.inputs[0])), c.vector(args[1], rank)
    return _in_shape(c, x, sizes)


def _in_shape(c: Converter, x: Any, sizes: list[Any]) -> Any:
    known = [k for k, s in enumerate(sizes) if isinstance(s, int) and s == -1]
    if known:
        sizes[known[0]] = quotient(product(x.shape), product([s for k, s in enumerate(sizes) if k not in known]))
    unknown = [s for s in x.shape if not isinstance(s, int)]
    if len(unknown) == 1 and all(isinstance(s, int) for s in sizes):
        c.sizes.meet(unknown[0], product(sizes) // max(product([s for s in x.shape if isinstance(s, int)]), 1))
    return x if len(sizes) == x.ndim and all(map(same, sizes, x.shape)) else n.reshape(x, sizes)


@says("JoinDims")
def _join_dims(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, at, count = c.value(args[0]), node.op.start_axis, node.op.n_axes
    return n.reshape(x, [*x.shape[:at], product(x.shape[at:at + count]), *x.shape[at + count:]])


@says("SplitDims")
def _split_dims(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, at = c.value(args[0], kind_of(node.inputs[0])), node.op.axis
    sizes = c.vector(args[1], node.outputs[0].type.ndim - x.ndim + 1)
    open_ = [k for k, s in enumerate(sizes) if isinstance(s, int) and s == -1]
    if open_:
        sizes[open_[0]] = quotient(x.shape[at], product([s for k, s in enumerate(sizes) if k not in open_]))
    c.sizes.meet(x.shape[at], product(sizes))
    return n.reshape(x, [*x.shape[:at], *sizes, *x.shape[at + 1:]])


@says("Alloc")
def _alloc(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, sizes = c.value(args[0], kind_of(node.outputs[0])), [c.size(a, True) for a in args[1:]]
    c.meet([x.shape, sizes[len(sizes) - x.ndim:]])
    return broadcast(x, sizes)


@says("AllocEmpty")
def _empty(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return broadcast(n.constant(0, kind_of(node.outputs[0])), [c.size(a, True) for a in args])


@says("Join")
def _join(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    axis, parts = c.number(args[0]), args[1:]
    kind = kind_of(node.outputs[0])
    if kind not in FLOATS and all(isinstance(a, list) for a in parts):
        return [r for a in parts for r in a]
    xs = [c.value(a, kind) for a in parts]
    for k in range(xs[0].ndim):
        if k != axis % xs[0].ndim:
            for x in xs[1:]:
                c.sizes.meet(xs[0].shape[k], x.shape[k])
    return f.join(xs, axis)


@says("Split")
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
            if not isinstance(v, Constant):
                raise NotSaid(f"{name_of(node.outputs[0])} by bools")
            parts += [n.constant(rows.astype(np.int64)) for rows in np.nonzero(v.data)]
            continue
        parts.append(c.size(raw) if v.type.ndim == 0 else c.value(raw, kind_of(v)))
    return parts


@says("Subtensor AdvancedSubtensor AdvancedSubtensor1")
def _subtensor(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x, parts = args[0], _keys(c, node, 1, args)
    if isinstance(x, list) and len(parts) == 1 and not is_value(parts[0]):
        p = parts[0]
        bounds = [p.start, p.stop, p.step] if isinstance(p, slice) else [p]
        if all(b is None or isinstance(b, int) for b in bounds):
            return x[p]
    return indexed(c.value(x, kind_of(node.inputs[0])), parts)


@says("IncSubtensor AdvancedIncSubtensor AdvancedIncSubtensor1")
def _inc_subtensor(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    kind = kind_of(node.outputs[0])
    x, y, parts = c.value(args[0], kind), c.value(args[1], kind), _keys(c, node, 2, args)
    if not parts:
        c.meet([x.shape, y.shape])
    if getattr(node.op, "ignore_duplicates", False) and not node.op.set_instead_of_inc:
        raise NotSaid("AdvancedIncSubtensor that ignores duplicates")
    c.meet([indexed(x, parts).shape, y.shape])
    return index_written(x, y, parts, "set" if node.op.set_instead_of_inc else "add")


_REDUCED: dict[str, Any] = {"Add": f.sum, "Mul": f.prod, "Maximum": f.max, "ScalarMaximum": f.max, "Minimum": f.min,
                            "ScalarMinimum": f.min, "AND": f.all, "OR": f.any}


@says("CAReduce")
def _reduce(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    name, kind, x = type(node.op.scalar_op).__name__, kind_of(node.outputs[0]), args[0]
    if name not in _REDUCED:
        raise NotSaid(f"CAReduce of {name}")
    if isinstance(x, list) and x and name in ("Add", "Mul") and kind not in FLOATS and not any(map(is_value, x)):
        return KNOWN[name](*x)
    x = c.value(x, kind_of(node.inputs[0]))
    if name in ("AND", "OR"):
        if kind != "bool":
            raise NotSaid("CAReduce of bits")
        x = c.value(x, "bool")
    elif name in ("Add", "Mul"):
        x = c.value(x, kind)
    axes = list(range(x.ndim)) if node.op.axis is None else [k % x.ndim for k in node.op.axis]
    return _REDUCED[name](x, axes) if axes else x


@says("Argmax")
def _argmax(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x = c.value(args[0])
    axes = list(range(x.ndim)) if node.op.axis is None else [k % x.ndim for k in node.op.axis]
    kept = [k for k in range(x.ndim) if k not in axes]
    if len(axes) != 1:
        x = n.reshape(n.transpose(x, kept + axes), [*(x.shape[k] for k in kept), product([x.shape[k] for k in axes])])
    return f.argmax(x, axes[0] if len(axes) == 1 else len(kept))


@says("Dot Dot22 Dot22Scalar Gemm Gemv Ger BatchedDot")
def _dot(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    kind, names = kind_of(node.outputs[0]), [b.__name__ for b in type(node.op).__mro__]
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


@says("IfElse")
def _if(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    count = node.op.n_outs
    condition = c.value(args[0], kind_of(node.inputs[0]))
    condition = condition if condition.dtype.name == "bool" else n.cast(condition, "bool")
    kinds = [kind_of(o) for o in node.outputs]
    sides = [[c.value(a, kind) for a, kind in zip(args[at:at + count], kinds)] for at in (1, 1 + count)]
    for x, y in zip(*sides):
        if not all(map(same, x.shape, y.shape)):
            raise NotSaid("IfElse of different shapes")
    return tuple(f.where(condition, x, y) for x, y in zip(*sides))


@says("ARange")
def _arange(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    kind = kind_of(node.outputs[0])
    if kind in FLOATS:
        start, stop, step = (c.value(a, kind) for a in args)
        count = f.maximum(n.cast(f.ceil((stop - start) / step), "i64"), n.value(0))
        return start + step * call(f._INDEX["arange"], count, kind)
    start, stop, step = (c.size(a, k == 1) for k, a in enumerate(args))
    if not isinstance(step, int):
        step = n.value(step)
        count = f.floor_div(n.value(stop - start) + step - f.sign(step), step)
    else:
        count = quotient(stop - start + (step - 1 if step > 0 else step + 1), step)
    numbers = call(f._INDEX["arange"], largest(count, 0), "i64")
    numbers = numbers if isinstance(step, int) and step == 1 else numbers * step
    return numbers if isinstance(start, int) and start == 0 else numbers + n.value(start)


@says("Eye")
def _eye(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    rows, columns, k = (c.size(a) for a in args)
    i = f.dimshuffle(call(f._INDEX["arange"], rows, "i64"), [0, -1])
    j = f.dimshuffle(call(f._INDEX["arange"], columns, "i64"), [-1, 0])
    return n.cast(f.eq(j - i, n.value(k)), kind_of(node.outputs[0]))


@says("ExtractDiag")
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


@says("CumOp")
def _cumulated(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    x = c.value(args[0], kind_of(node.outputs[0]))
    x = f.flatten(x) if node.op.axis is None else x
    return (f.cumsum if node.op.mode == "add" else f.cumprod)(x, node.op.axis or 0)


@says("SortOp")
def _sort(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return f.sort(c.value(args[0]), c.number(args[1]))


@says("ArgSortOp")
def _argsort(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return f.argsort(c.value(args[0]), c.number(args[1]))


@says("SearchsortedOp")
def _searched(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    if len(args) > 2:
        raise NotSaid("SearchsortedOp with a sorter")
    return f.searchsorted(c.value(args[0]), c.value(args[1]), node.op.side)


@says("Repeat")
def _repeat(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    if node.inputs[1].type.ndim or node.op.axis is None:
        raise NotSaid("Repeat by a vector")
    return f.repeat(c.value(args[0]), c.size(args[1]), node.op.axis)


@says("AbstractConvolveNd")
def _convolve(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    kind = kind_of(node.outputs[0])
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
    else:
        kind = getattr(op, "assume_a", "gen")
        if kind in ("sym", "her", "pos"):  # one triangle is read
            a = _symmetric(a if op.lower else _transposed(a))
        made = f.solve(f.tril(f.triu(a, -1), 1) if kind == "tridiagonal" else a, b)
    return n.squeeze(made, -1) if op.b_ndim == 1 else made


_MATRICES: dict[str, Any] = {
    "Det": lambda c, op, a: f.det(a), "MatrixInverse": lambda c, op, a: f.inv(a), "SLogDet": lambda c, op, a: (f.sign(f.det(a)), f.log_abs_det(a)),
    "Cholesky": lambda c, op, a: f.cholesky(a) if op.lower else _transposed(f.cholesky(_transposed(a))),
    **dict.fromkeys(("Solve", "SolveTriangular", "CholeskySolve"), _solved),
}


@says(" ".join(_MATRICES))
def _matrices(c: Converter, node: Any, args: Sequence[Raw], op: Any = None) -> Any:
    op = op or node.op
    kind = kind_of(node.outputs[-1])
    xs = [c.value(a, kind) for a in args]
    c.sizes.meet(xs[0].shape[-1], xs[0].shape[-2])
    if len(xs) > 1:
        c.sizes.meet(xs[0].shape[-1], xs[1].shape[-op.b_ndim])
        batch = broadcast_shape([x.shape[:x.ndim - r] for x, r in zip(xs, (2, op.b_ndim))])
        xs = [broadcast(x, [*batch, *x.shape[x.ndim - r:]]) for x, r in zip(xs, (2, op.b_ndim))]
    return _MATRICES[type(op).__name__](c, op, *xs)


@says("BlockDiagonal")
def _block_diagonal(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    kind = kind_of(node.outputs[0])
    xs = [c.value(a, kind) for a in args]
    batch, zero = broadcast_shape([x.shape[:-2] for x in xs]), n.constant(0, kind)
    rows = []
    for k, x in enumerate(xs):
        blocks = [broadcast(x if j == k else zero, [*batch, x.shape[-2], y.shape[-1]]) for j, y in enumerate(xs)]
        rows.append(f.join(blocks, len(batch) + 1))
    return f.join(rows, len(batch))


@says("Blockwise")
def _blockwise(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    op, core = node.op, node.op.core_op
    ranks = [len(s) for s in op.inputs_sig]
    xs = [c.value(a, kind_of(v)) for a, v in zip(args, node.inputs)]
    c.meet([x.shape[:x.ndim - r] for x, r in zip(xs, ranks)])
    if type(core).__name__ in _MATRICES:
        return _matrices(c, node, xs, core)
    if type(core).__name__ == "BlockDiagonal":
        return _block_diagonal(c, node, xs)
    if type(core).__name__ == "Dot":
        c.sizes.meet(xs[0].shape[-1], xs[1].shape[-2])
        return f.matmul(*(c.value(x, kind_of(node.outputs[0])) for x in xs))
    inner = op._create_dummy_core_node(node.inputs)
    rows = [k for k, a in enumerate(args) if is_value(a)]  # what is known is the same for all

    def one(*values: Any) -> list[Any]:
        mixed = list(args)
        for k, value in zip(rows, values):
            mixed[k] = value
        return [c.value(r, kind_of(o)) for r, o in zip(c.node(inner, mixed), inner.outputs)]

    c.inside += 1
    try:
        if all(x.ndim == r for x, r in zip(xs, ranks)):
            return tuple(one(*(xs[k] for k in rows)))
        return tuple(batched(one, [xs[k] for k in rows], [ranks[k] for k in rows]))
    finally:
        c.inside -= 1


@says("Scan")
def _scan(c: Converter, node: Any, args: Sequence[Raw]) -> Any:
    return _Loop(c, node, args).results()


class _Loop:
    """A Scan: mit-mots are buffers that steps write to, other outputs states of as many rows as there are taps."""

    def __init__(self, c: Converter, node: Any, args: Sequence[Raw]) -> None:
        self.c, self.node, info = c, node, node.op.info
        self.info = info
        self.steps = c.size(args[0], True)
        values: list[Any] = [None if isinstance(a, Token) else c.value(a, kind_of(v)) for a, v in zip(args, node.inputs)]
        counts = [info.n_seqs, info.n_mit_mot, info.n_mit_sot + info.n_sit_sot, info.n_untraced_sit_sot, info.n_nit_sot]
        at, groups = 1, []
        for count in counts:
            groups.append(values[at:at + count])
            at += count
        c.sizes.cut_to_one([size for v in values if v is not None for size in v.shape])
        self.rows = [s if same(s.shape[0], self.steps) else cut(s, 0, 0, self.steps) for s in groups[0]]
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
        kinds = [kind_of(o) for o in graph.outputs]
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
