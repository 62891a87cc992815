# SPDX-License-Identifier: MIT
"""Which graph is being built on this thread, and which line of the user's program builds it."""
from __future__ import annotations

import sys
import threading
from typing import Any

from . import _native


class _Stack(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Any] = []


_stack = _Stack()


def current() -> Any:
    """The graph that is being built on this thread; None if there is none."""
    return _stack.graphs[-1] if _stack.graphs else None


def push(graph: Any) -> None:
    _stack.graphs.append(graph)


def pop() -> None:
    _stack.graphs.pop()


def where() -> tuple[str, int]:
    """The file and line of the nearest caller outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def call(index: int, *arguments: Any) -> Any:
    """Calls builder INDEX, which gives one value, or two if it is made so."""
    return _native.build(index, arguments, current(), *where(), 0)


def call_all(index: int, *arguments: Any) -> Any:
    """The same for an operation with several outputs: a tuple of them."""
    result = _native.build(index, arguments, current(), *where(), 1)
    return result if isinstance(result, tuple) else (result,)
