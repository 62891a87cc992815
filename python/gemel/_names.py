# SPDX-License-Identifier: MIT
"""Functions of NumPy whose parameters differ from those of gemel's builders, and names that it has besides."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _functions as f
from . import _native
from ._place import call, call_all, current, where as place
from ._types import ArrayLike, Axes, DimLike, DTypeLike, dtype as find_dtype

if TYPE_CHECKING:
    from ._values import Value

__all__ = [
    "absolute", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "astype",
    "bitcast", "bitwise_and", "bitwise_or", "bitwise_xor", "broadcast_to", "cast", "constant", "divide", "dropout",
    "equal_to", "expand_dims", "flip", "floor_divide", "full", "full_like", "greater", "greater_equal", "index_add",
    "index_set", "invert", "less", "less_equal", "logical_xor", "moveaxis", "multiply", "negative", "not_equal",
    "ones", "ones_like", "pad", "power", "random_bits", "random_normal", "random_uniform", "ravel", "remainder",
    "reshape", "square", "split", "squeeze", "subtract", "tensordot", "transpose", "zeros", "zeros_like",
]

_k = f._INDEX
_TO_END = (1 << 63) - 1

absolute, arccos, arccosh, arcsin, arcsinh = f.abs, f.acos, f.acosh, f.asin, f.asinh
arctan, arctan2, arctanh, divide, flip = f.atan, f.atan2, f.atanh, f.div, f.reverse
greater, greater_equal, less, less_equal = f.gt, f.ge, f.lt, f.le
multiply, negative, not_equal, power, ravel = f.mul, f.neg, f.ne, f.pow, f.flatten
remainder, square, subtract, equal_to = f.mod, f.sqr, f.sub, f.eq


def value(x: ArrayLike) -> Value:
    """X as a value: itself, what a shared variable stands for, or a constant."""
    if isinstance(x, _native.Value):
        return x
    return constant(x)


def constant(array: ArrayLike, dtype: DTypeLike = None) -> Value:
    """A constant of the graph that is being built."""
    from ._tensor import as_tensor

    of = array if dtype is None else as_tensor(array, dtype)
    return _native.constant(of, current(), *place())


def _axis(x: Any, axis: int, more: int = 0) -> int:
    n = x.ndim + more
    if not -n <= axis < n:
        raise ValueError(f"axis {axis} of {x!r}")
    return axis % n if n else 0


def _tuple(of: Any) -> tuple[Any, ...]:
    return tuple(of) if isinstance(of, (tuple, list)) else (of,)


# ---- Dtypes ----


def cast(x: ArrayLike, dtype: DTypeLike) -> Value:
    """x in another dtype; doc/conventions.md says how numbers are rounded and cut off."""
    return call(_k["cast"], x, find_dtype(dtype).name)


astype = cast


def bitcast(x: ArrayLike, dtype: DTypeLike) -> Value:
    """The bits of x as elements of another dtype of as many bits."""
    return call(_k["bitcast"], x, find_dtype(dtype).name)


def floor_divide(x: ArrayLike, y: ArrayLike) -> Value:
    """x // y: rounded down, of floats too."""
    a, b = _pair(x, y)
    if "float" in (a.dtype.kind, b.dtype.kind):
        return f.floor(f.div(a, b))
    return f.floor_div(a, b)


def _pair(x: ArrayLike, y: ArrayLike) -> tuple[Any, Any]:
    """Both as values, a number of the other's dtype."""
    if isinstance(x, (int, float)):
        b = value(y)
        return _number_beside(x, b), b
    a = value(x)
    return a, _number_beside(y, a)


def _number_beside(x: ArrayLike, other: Any) -> Any:
    if not isinstance(x, (int, float)):
        return value(x)
    kind = other.dtype.kind
    of = other.dtype if kind == "float" or (isinstance(x, int) and kind != "bool") else \
        find_dtype("f64" if isinstance(x, float) else "bool" if isinstance(x, bool) else "i64")
    return constant(x, of)


def _bitwise(x: ArrayLike, y: ArrayLike, of_bools: Any, of_integers: Any) -> Value:
    a, b = _pair(x, y)
    return of_bools(a, b) if a.dtype.kind == b.dtype.kind == "bool" else of_integers(a, b)


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Value:
    """x & y, of bools and of integers."""
    return _bitwise(x, y, f.logical_and, f.bit_and)


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Value:
    """x | y, of bools and of integers."""
    return _bitwise(x, y, f.logical_or, f.bit_or)


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Value:
    """x ^ y, of bools and of integers."""
    return _bitwise(x, y, f.ne, f.bit_xor)


def logical_xor(x: ArrayLike, y: ArrayLike) -> Value:
    """Whether one of x and y is true, and not both."""
    return f.ne(cast(x, "bool"), cast(y, "bool"))


def invert(x: ArrayLike) -> Value:
    """~x, of bools and of integers."""
    a: Any = value(x)
    return f.logical_not(a) if a.dtype.kind == "bool" else f.bit_not(a)


# ---- Shapes ----


def reshape(x: ArrayLike, shape: Any) -> Value:
    """The same elements in row-major order in another shape; one size may be -1, and is what is left."""
    a: Any = value(x)
    sizes = list(_tuple(shape))
    if all(isinstance(s, int) for s in sizes):
        return call(_k["reshape_to"], a, sizes)
    if any(isinstance(s, int) and s == -1 for s in sizes):
        others: Any = 1
        for s in sizes:
            others = others * s if not (isinstance(s, int) and s == -1) else others
        sizes = [a.size // others if isinstance(s, int) and s == -1 else s for s in sizes]
    return call(_k["reshape"], a, sizes)


def transpose(x: ArrayLike, *axes: Any) -> Value:
    """Axes in opposite order, or in the order AXES."""
    a: Any = value(x)
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    if order is None or len(order) == 0:
        return call(_k["transpose"], a)
    return call(_k["permute"], a, [_axis(a, k) for k in order])


def moveaxis(x: ArrayLike, source: int, destination: int) -> Value:
    """x with axis SOURCE moved to DESTINATION."""
    a: Any = value(x)
    order = [k for k in range(a.ndim) if k != _axis(a, source)]
    order.insert(_axis(a, destination), _axis(a, source))
    return call(_k["permute"], a, order)


def expand_dims(x: ArrayLike, axis: Any) -> Value:
    """x with a new axis of size 1, or with several."""
    a: Any = value(x)
    for k in sorted(_axis(a, k, len(_tuple(axis))) for k in _tuple(axis)):
        a = call(_k["expand_dims"], a, k)
    return a


def squeeze(x: ArrayLike, axis: Axes = None) -> Value:
    """x without AXIS, whose size is 1; without all axes of size 1."""
    a: Any = value(x)
    axes = [k for k in range(a.ndim) if isinstance(a.shape[k], int) and a.shape[k] == 1] if axis is None else [_axis(a, k) for k in _tuple(axis)]
    for k in sorted(axes, reverse=True):
        a = call(_k["squeeze"], a, k)
    return a


def broadcast_to(x: ArrayLike, shape: Any) -> Value:
    """x repeated to a shape by NumPy's rule."""
    return call(_k["broadcast_to"], x, list(_tuple(shape)))


def split(x: ArrayLike, sections: Any, axis: int = 0) -> tuple[Value, ...]:
    """x cut along an axis into so many equal parts, or before each of the places in a list."""
    a: Any = value(x)
    n = a.shape[_axis(a, axis)]
    if isinstance(sections, int):
        if isinstance(n, int) and n % sections != 0:
            raise ValueError(f"{n} elements aren't {sections} equal parts")
        sizes = [n // sections] * sections
    else:
        ends = [*sections, n]
        sizes = [end - start for start, end in zip([0, *sections], ends)]
    return call_all(_k["split"], a, sizes, _axis(a, axis))


def pad(x: ArrayLike, pad_width: Any, constant_values: ArrayLike = 0) -> Value:
    """Elements of one value around x: as numpy.pad with mode="constant"."""
    a: Any = value(x)
    widths = [pad_width] * a.ndim if isinstance(pad_width, int) else list(pad_width)
    if len(widths) == 1 or (len(widths) == 2 and all(isinstance(w, int) for w in widths)):
        widths = [widths[0] if len(widths) == 1 else tuple(widths)] * a.ndim
    pairs = [(w, w) if isinstance(w, int) else (w[0], w[-1]) for w in widths]
    if len(pairs) != a.ndim:
        raise ValueError(f"{len(pairs)} widths for {a.ndim} axes")
    return call(_k["pad"], a, _number_beside(constant_values, a), [p[0] for p in pairs], [p[1] for p in pairs], None)


def tensordot(x: ArrayLike, y: ArrayLike, axes: Any = 2) -> Value:
    """Sums of products over the axes that are given for x and for y; a number: the last of x and the first of y."""
    a, b = value(x), value(y)
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise ValueError(f"tensordot over {axes} axes of {a!r} and {b!r}")
        axes = (list(range(a.ndim - axes, a.ndim)), list(range(axes)))
    return f.dot(a, b, contract_x=list(_tuple(axes[0])), contract_y=list(_tuple(axes[1])))


# ---- Made from nothing ----


def full(shape: Any, fill_value: Any, dtype: DTypeLike = None) -> Value:
    """fill_value in this shape, whose sizes may be symbols."""
    sizes = list(_tuple(shape))
    one = constant(fill_value, dtype)
    return call(_k["broadcast_to"], one, sizes) if sizes else one


def zeros(shape: Any, dtype: DTypeLike = "f64") -> Value:
    """Zeros in this shape."""
    return full(shape, 0, dtype)


def ones(shape: Any, dtype: DTypeLike = "f64") -> Value:
    """Ones in this shape."""
    return full(shape, 1, dtype)


def full_like(x: ArrayLike, fill_value: float) -> Value:
    """fill_value in the shape and dtype of x."""
    return call(_k["full_like"], x, fill_value)


def zeros_like(x: ArrayLike) -> Value:
    """Zeros in the shape and dtype of x."""
    return full_like(x, 0)


def ones_like(x: ArrayLike) -> Value:
    """Ones in the shape and dtype of x."""
    return full_like(x, 1)


def arange(start: DimLike, stop: DimLike = None, step: int = 1, dtype: DTypeLike = "i64") -> Value:
    """start, start + step, … before stop; of one argument 0, 1, … before it, which may be a symbol."""
    of = find_dtype(dtype)
    if stop is None:
        start, stop = 0, start
    count = (stop - start + (step - (1 if step > 0 else -1))) // step
    if isinstance(count, int):
        count = count if count > 0 else 0
    numbers: Any = call(_k["arange"], count, of.name)
    if step != 1:
        numbers = numbers * constant(step, of)
    return numbers if isinstance(start, int) and start == 0 else numbers + constant(start, of)


# ---- Parts ----


def _bounds(x: Any, axis: int, part: slice) -> Value:
    """x with a slice of one axis."""
    step = 1 if part.step is None else part.step
    if part.start is None and part.stop is None and step == 1:
        return x
    if all(b is None or isinstance(b, int) for b in (part.start, part.stop)):
        start = (0 if step > 0 else -1) if part.start is None else part.start
        return call(_k["slice_step"], x, axis, start, _TO_END if part.stop is None else part.stop, step)
    if step != 1:
        raise ValueError("a slice whose bounds are no ints has no step")
    start = 0 if part.start is None else part.start
    stop = x.shape[axis] if part.stop is None else part.stop
    starts, sizes = [0] * x.ndim, list(x.shape)
    starts[axis], sizes[axis] = start, stop - start
    return call(_k["subtensor"], x, starts, sizes, None)


def _expanded(key: tuple[Any, ...], ndim: int) -> list[Any]:
    """KEY with whole slices in place of the ellipsis and of what is left out."""
    used = sum(1 for k in key if k is not None and k is not Ellipsis)
    dots = [i for i, k in enumerate(key) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index has one ellipsis at most")
    if used > ndim:
        raise IndexError(f"{used} indices for {ndim} axes")
    whole = [slice(None)] * (ndim - used)
    at = dots[0] if dots else len(key)
    return [*key[:at], *whole, *key[at + 1 :]]


def _is_array(part: Any) -> bool:
    return part is not None and not isinstance(part, slice) and not (isinstance(part, int) and not isinstance(part, bool))


def _indices(part: Any) -> Any:
    """An array of indices as a value."""
    from ._tensor import as_tensor

    indices: Any = value(as_tensor(part, "i64") if isinstance(part, (list, tuple)) and len(part) == 0 else part)
    if indices.dtype.kind == "bool":
        raise IndexError("where elements are picked by bools, their number isn't known: use gemel.where")
    return indices


def _basic(x: Any, parts: list[Any], whole: Any) -> tuple[Any, list[int]]:
    """x with all parts of its index but those for which WHOLE is true, whose axes are listed."""
    axis, left = 0, []
    for part in parts:
        if whole(part):
            left.append(axis)
            axis += 1
        elif part is None:
            x = call(_k["expand_dims"], x, axis)
            axis += 1
        elif isinstance(part, slice):
            x = _bounds(x, axis, part)
            axis += 1
        else:
            x = call(_k["index"], x, axis, part)
    return x, left


def _paired(x: Any, axes: list[int], indices: list[Any], together: bool) -> Any:
    """NumPy's x[..., i, j, ...]: the indices are broadcast against each other, and pick one element for each of their
    places. Axes are made one axis, which is picked from; `take` of arange says which indices are outside."""
    sizes = [x.shape[k] for k in axes]
    flat: Any = 0
    for size, index in zip(sizes, indices):
        flat = flat * size + f.take(call(_k["arange"], size, "i64"), index, 0)
    first = axes[0] if together else 0
    rest = [k for k in range(x.ndim) if k not in axes]
    x = transpose(x, rest[:first] + axes + rest[first:])
    merged: Any = 1
    for size in sizes:
        merged = merged * size
    x = reshape(x, [*x.shape[:first], merged, *x.shape[first + len(axes):]])
    return f.take(x, flat, first)


def getitem(x: Any, key: Any) -> Value:
    """x[key], with ints, slices, None, an ellipsis, and arrays of indices. Otherwise than in NumPy, a slice that
    reaches outside is an error."""
    result: Any = value(x)
    parts = _expanded(key if isinstance(key, tuple) else (key,), result.ndim)
    arrays = [p for p in parts if _is_array(p)]
    if not arrays:
        return _basic(result, parts, lambda part: False)[0]
    # NumPy's: an int beside an array is an index as that is.
    chosen = [k for k, p in enumerate(parts) if _is_array(p) or isinstance(p, int)]
    if len(chosen) == 1:
        result, axes = _basic(result, parts, _is_array)
        return f.take(result, _indices(arrays[0]), axes[0])
    together = chosen == list(range(chosen[0], chosen[-1] + 1))
    result, axes = _basic(result, parts, lambda part: _is_array(part) or isinstance(part, int))
    return _paired(result, axes, [_indices(parts[k]) for k in chosen], together)


def _starts(x: Any, start: Any) -> list[Any]:
    starts = list(_tuple(start))
    return starts + [0] * (x.ndim - len(starts))


def index_set(x: ArrayLike, start: Any, y: ArrayLike, step: Any = None) -> Value:
    """A copy of x in which y stands from START on, one for each axis: x[start:start + len(y)] = y."""
    a: Any = value(x)
    return call(_k["set_subtensor"], a, y, _starts(a, start), step)


def index_add(x: ArrayLike, start: Any, y: ArrayLike, step: Any = None) -> Value:
    """A copy of x in which y is added from START on."""
    a: Any = value(x)
    return call(_k["inc_subtensor"], a, y, _starts(a, start), step)


# ---- Random ----


def random_uniform(key: ArrayLike, shape: Any, dtype: DTypeLike = "f32") -> tuple[Value, ...]:
    """Random numbers in [0, 1), and the next key. A key is u64[2]."""
    return call_all(_k["random_uniform"], key, list(_tuple(shape)), find_dtype(dtype).name)


def random_normal(key: ArrayLike, shape: Any, dtype: DTypeLike = "f32") -> tuple[Value, ...]:
    """Random numbers of the standard normal distribution, and the next key."""
    return call_all(_k["random_normal"], key, list(_tuple(shape)), find_dtype(dtype).name)


def random_bits(key: ArrayLike, shape: Any, dtype: DTypeLike = "u32") -> tuple[Value, ...]:
    """Random integers, all equally likely, and the next key."""
    return call_all(_k["random_bits"], key, list(_tuple(shape)), find_dtype(dtype).name)


def dropout(x: ArrayLike, key: ArrayLike, rate: float) -> tuple[Value, Value]:
    """x of which each element is 0 with probability RATE, and else divided by 1 - RATE; and the next key."""
    return call(_k["dropout"], x, key, rate)
