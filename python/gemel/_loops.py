# SPDX-License-Identifier: MIT
"""Loops: a step that is traced once, and applied for each row."""
from __future__ import annotations

from typing import Any, Callable

from . import _native
from ._place import current, pop, push, where as place
from ._types import DimLike

_Tree = Any  # a value, None, or tuples, lists and dicts of such


def _flatten(tree: _Tree, leaves: list[Any]) -> Any:
    """TREE with the number of each leaf in its place; the leaves are appended to LEAVES."""
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {key: _flatten(part, leaves) for key, part in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(_flatten(part, leaves) for part in tree))
    if isinstance(tree, (tuple, list)):
        return type(tree)([_flatten(part, leaves) for part in tree])
    leaves.append(tree)
    return len(leaves) - 1


def _fill(shape: Any, leaves: list[Any]) -> _Tree:
    if isinstance(shape, dict):
        return {key: _fill(part, leaves) for key, part in shape.items()}
    if isinstance(shape, tuple) and hasattr(shape, "_fields"):
        return type(shape)(*(_fill(part, leaves) for part in shape))
    if isinstance(shape, (tuple, list)):
        return type(shape)([_fill(part, leaves) for part in shape])
    return leaves[shape] if isinstance(shape, int) else shape


class _Capture:
    """Makes a value of a graph around the body a constant of the loop, when the body uses it."""

    def __init__(self, loop: Any, outer: Any) -> None:
        self.loop, self.outer = loop, outer

    def __call__(self, value: Any) -> Any:
        around = getattr(self.outer, "_capture", None)
        if value.graph is not self.outer and around is not None:
            value = around(value)
        return self.loop.constant(value, *place()) if value.graph is self.outer else value


def _inside(value: Any) -> Any:
    """VALUE as one of the graph that is being built."""
    return _native.constant(value, current(), *place())


def scan(step: Callable[..., Any], state: _Tree, rows: _Tree = None, *, length: DimLike = None, reverse: bool = False,
         until: Callable[..., Any] | None = None) -> tuple[_Tree, _Tree]:
    """Applies step(state, row) -> (state, kept) once for each row of ROWS (axis 0), or LENGTH times: the last state,
    and what was kept of the steps, stacked. STATE, ROWS and what is kept are values, or tuples, lists and dicts of
    values, or None. A state keeps its type. REVERSE: from the last row to the first. UNTIL: a function of the new
    state, a bool that ends the loop behind the step in which it is true; nothing can be kept then, unless there are rows or a length."""
    states: list[Any] = []
    inputs: list[Any] = []
    kept: list[Any] = []
    shape, rows_shape = _flatten(state, states), _flatten(rows, inputs)
    graph = current() or next((v.graph for v in (*states, *inputs) if isinstance(v, _native.Value)), None)
    if graph is None:
        raise TypeError("scan: none of the operands is a value of a graph")
    push(graph)
    try:
        states, inputs = [_inside(v) for v in states], [_inside(v) for v in inputs]
    finally:
        pop()
    loop = _native.Loop(graph)
    body = loop.body
    body._capture, body._outer = _Capture(loop, graph), graph
    before = [loop.state(v, *place()) for v in states]
    row = [loop.row(v, *place()) for v in inputs]
    push(body)
    try:
        returned = step(_fill(shape, before), _fill(rows_shape, row))
        if not (isinstance(returned, tuple) and len(returned) == 2):
            raise TypeError("scan: the step gives the next state and what is kept, or None: a tuple of two")
        after: list[Any] = []
        if _flatten(returned[0], after) != shape:
            raise TypeError("scan: the next state is put together otherwise than the first one")
        after = [_inside(v) for v in after]
        for old, new in zip(before, after):
            loop.next(old, new, *place())
        kept_shape = _flatten(returned[1], kept)
        kept = [_inside(v) for v in kept]
        for value in kept:
            loop.stack(value, *place())
        if until is not None:
            loop.until(_inside(until(_fill(shape, after))), *place())
    finally:
        pop()
        del body._capture  # which holds the loop, which holds the body
    loop.end(length, int(reverse), *place())
    return (_fill(shape, [loop.last(v, *place()) for v in before]),
            _fill(kept_shape, [loop.stacked(v, *place()) for v in kept]))
