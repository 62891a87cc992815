# SPDX-License-Identifier: MIT
"""What gemel.pytensor and gemel.jax share: sizes that are ints, symbols or values, NumPy's indexing with these, and loops."""
from __future__ import annotations

from typing import Any, Callable, Sequence

from . import _functions as f
from . import _names as n
from . import _native
from ._loops import scan
from ._place import call

# A size or an index: an int, a size with symbols, or an i64 scalar of the graph.
Size = Any
_k = f._INDEX


class NotSaid(Exception):
    """Gemel can't say this; the text is the name of the operation, and why."""


def is_value(x: Any) -> bool:
    return isinstance(x, _native.Value)


def _either(a: Size, b: Size, of_ints: Any, of_sizes: str, of_values: Any) -> Size:
    if is_value(a) or is_value(b):
        return of_values(n.value(a), n.value(b))
    if isinstance(a, int) and isinstance(b, int):
        return of_ints(a, b)
    size, other = (a, b) if isinstance(a, _native.Dim) else (b, a)
    return getattr(size, of_sizes)(other)


def largest(a: Size, b: Size) -> Size:
    return _either(a, b, max, "maximum", f.maximum)


def smallest(a: Size, b: Size) -> Size:
    return _either(a, b, min, "minimum", f.minimum)


def same(a: Size, b: Size) -> bool:
    """Whether two sizes are known to be the same."""
    if is_value(a) or is_value(b):
        return a is b
    return str(a) == str(b)


def product(sizes: Sequence[Size]) -> Size:
    result: Size = 1
    for size in sizes:
        result = result * size
    return result


def quotient(a: Size, b: Size) -> Size:
    """a // b."""
    return f.floor_div(n.value(a), n.value(b)) if is_value(a) or is_value(b) else a // b


def counted(index: Size, size: Size, low: Size, high: Size) -> Size:
    """INDEX from the front, NumPy's way, where a negative one counts from the end; then cut off at LOW and HIGH (None: not)."""
    def cut(front: Size, below: bool) -> Size:
        front = largest(front, low) if below and low is not None else front
        return front if below or high is None else smallest(front, high)

    if is_value(index) or is_value(size) and not isinstance(index, int):
        value = n.value(index)
        return f.where(value < 0, n.value(cut(value + size, True)), n.value(cut(value, False)))
    if isinstance(index, int):
        return cut(index + size if index < 0 else index, index < 0)
    if same(largest(index, 0), index):
        return cut(index, False)
    front = smallest(largest(index + 1, 0), 1)  # 1 where the index isn't negative, else 0
    return front * cut(index, False) + (1 - front) * cut(index + size, True)


def cut(x: Any, axis: int, start: Size, size: Size, step: int = 1) -> Any:
    """SIZE elements of x along AXIS, from START on; an error where there are fewer."""
    starts, sizes = [0] * x.ndim, list(x.shape)
    starts[axis], sizes[axis] = start, size
    return call(_k["subtensor"], x, starts, sizes, None if step == 1 else [step if k == axis else 1 for k in range(x.ndim)])


def part(x: Any, axis: int, start: Size, stop: Size, step: Size) -> Any:
    """x[start:stop:step] along AXIS, cut off as NumPy does; None is absent."""
    size, step = x.shape[axis], 1 if step is None else step
    if start is None and stop is None and isinstance(step, int) and step == 1:
        return x
    if not isinstance(step, int):
        if not is_value(step):
            raise NotSaid("a slice's step that is a size")
        return _any_step(x, axis, start, stop, step)
    if step > 0:
        first = 0 if start is None else counted(start, size, 0, size)
        end = size if stop is None else counted(stop, size, 0, size)
        return cut(x, axis, first, largest(quotient(end - first + (step - 1), step), 0), step)
    first = size - 1 if start is None else counted(start, size, -1, size - 1)
    end = -1 if stop is None else counted(stop, size, -1, size - 1)
    count = largest(quotient(first - end + (-step - 1), -step), 0)
    low = smallest(largest(first + (count - 1) * step, 0), size)
    return f.reverse(cut(x, axis, low, count, -step), [axis])


def _any_step(x: Any, axis: int, start: Size, stop: Size, step: Any) -> Any:
    size, up = n.value(x.shape[axis]), step > 0
    zero, last = n.value(0), size - 1
    low, high = f.where(up, zero, n.value(-1)), f.where(up, size, last)
    first = f.where(up, zero, last) if start is None else counted(n.value(start), size, low, high)
    end = f.where(up, size, n.value(-1)) if stop is None else counted(n.value(stop), size, low, high)
    count = f.maximum(f.floor_div(end - first + step - f.sign(step), step), zero)
    return f.take(x, first + step * call(_k["arange"], count, "i64"), axis)


def element(x: Any, axis: int, index: Size) -> Any:
    """x[index] along AXIS, which is dropped."""
    if is_value(index):
        return f.take(x, index, axis)
    return n.squeeze(cut(x, axis, counted(index, x.shape[axis], None, None), 1, 1), axis)


def indexed(x: Any, parts: Sequence[Any]) -> Any:
    """x[parts], of slices, indices, and values that are arrays of indices."""
    arrays = any(is_value(p) and p.ndim for p in parts)
    chosen: list[int] = []
    for axis in reversed(range(len(parts))):
        p = parts[axis]
        if isinstance(p, slice):
            x = part(x, axis, p.start, p.stop, p.step)
        elif arrays:
            chosen.insert(0, axis)
        else:
            x = element(x, axis, p)
    if not chosen:
        return x
    indices = [n.value(parts[k]) for k in chosen]
    if len(chosen) == 1:
        return f.take(x, indices[0], chosen[0])
    return n._paired(x, chosen, indices, chosen == list(range(chosen[0], chosen[-1] + 1)))


def index_written(x: Any, y: Any, parts: Sequence[Any], mode: str) -> Any:
    """x in which x[parts] is set to Y (MODE set), or combined with it (add)."""
    if all(isinstance(p, slice) and (p.step is None or p.step == 1) for p in parts):
        starts = [0 if p.start is None else counted(p.start, s, 0, s) for p, s in zip(parts, x.shape)]
        at = indexed(x, parts)
        starts += [0] * (x.ndim - len(starts))
        return call(_k["set_subtensor" if mode == "set" else "inc_subtensor"], x, broadcast(y, at.shape), starts, None)
    total = product(x.shape)
    places = indexed(n.reshape(call(_k["arange"], total, "i64"), list(x.shape)), parts)
    count = [product(places.shape)]
    flat = f.put(n.reshape(x, [total]), n.reshape(places, count), n.reshape(broadcast(y, places.shape), count), 0, mode)
    return n.reshape(flat, list(x.shape))


def broadcast(x: Any, shape: Sequence[Size]) -> Any:
    """x in SHAPE; itself if it has it."""
    if len(shape) == x.ndim and all(same(a, b) for a, b in zip(x.shape, shape)):
        return x
    return n.broadcast_to(x, list(shape)) if len(shape) else x


def broadcast_shape(shapes: Sequence[Sequence[Size]]) -> list[Size]:
    """The shape of what is broadcast: of each axis the first size that isn't a literal 1."""
    rank = max((len(s) for s in shapes), default=0)
    rows = [[1] * (rank - len(s)) + list(s) for s in shapes]
    return [next((s for s in column if not (isinstance(s, int) and s == 1)), 1) for column in zip(*rows)]


def repeated(count: Size, states: Sequence[Any], rows: Sequence[Any],
             step: Callable[[Any, list[Any], list[Any]], tuple[list[Any], list[Any], Any]], until: bool = False,
             reverse: bool = False) -> tuple[list[Any], list[Any], Any]:
    """A loop: step(t, states, rows) gives the next states, what is kept, and whether to stop. The last states, what was
    kept, and how often it was done."""
    ends: list[Any] = []

    def body(state: Any, row: Any) -> Any:
        after, kept, stop = step(state[0], list(state[1:]), list(row))
        ends[:] = [stop]
        return [state[0] + 1, *after], kept

    last, kept = scan(body, [n.value(0), *states], list(rows), length=None if rows else count,
                      until=(lambda state: ends[0]) if until else None, reverse=reverse)
    return last[1:], kept, last[0]


def batched(function: Callable[..., Any], xs: Sequence[Any], ranks: Sequence[int]) -> list[Any]:
    """FUNCTION, of operands of so many axes, for each element of the axes before these, which are broadcast."""
    batch = broadcast_shape([x.shape[: x.ndim - r] for x, r in zip(xs, ranks)])
    flat = [n.reshape(broadcast(x, [*batch, *x.shape[x.ndim - r:]]), [product(batch), *x.shape[x.ndim - r:]])
            for x, r in zip(xs, ranks)]
    kept = repeated(None, [], flat, lambda t, states, rows: ([], function(*rows), None))[1]
    return [n.reshape(y, [*batch, *y.shape[1:]]) for y in kept]
