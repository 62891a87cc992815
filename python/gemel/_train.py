# SPDX-License-Identifier: MIT
"""Training: steps of optimisers as updates of shared variables, and variables in one file."""
from __future__ import annotations

import os
from typing import Any, Mapping

from . import _native
from . import _names as n
from ._graph import Compiled, Graph, Shared, _graph_of, _root
from ._place import current, where as place
from ._tensor import Tensor, as_tensor
from ._types import ArrayLike


def _positive(**options: float) -> None:
    for name, value in options.items():
        if not value > 0:
            raise ValueError(f"{name} is above 0, not {value!r}")


def _graph(loss: Any) -> tuple[Graph, Any]:
    value = n.value(loss)
    graph = _graph_of([value])
    if graph is not _root(current() or graph):
        raise TypeError("a step is said outside of loops")
    return graph, value


def _remember(graph: Graph) -> None:
    """Variables of zeros for the states that the optimiser made."""
    for name, value, is_state in graph.input_list():
        if is_state and name not in graph.states:
            zeros = _native.tensor_of_bytes(value.dtype.name, value.shape, bytes(value.size * value.dtype.itemsize))
            graph.states[name] = Shared(zeros, name)  # type: ignore[index]


def sgd(loss: ArrayLike, *, rate: float = 0.01, momentum: float = 0.0, decay: float = 0.0) -> None:
    """Makes a call a step of stochastic gradient descent that lessens LOSS: every shared variable of a float dtype that
    has been used and has no update yet gets one."""
    _positive(rate=rate)
    graph, value = _graph(loss)
    graph.train_sgd(value, rate, momentum, decay, *place())
    _remember(graph)


def adam(loss: ArrayLike, *, rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
         decay: float = 0.0) -> None:
    """The same by Adam; with DECAY by AdamW."""
    _positive(rate=rate, beta1=beta1, beta2=beta2, epsilon=epsilon)
    graph, value = _graph(loss)
    graph.train_adam(value, rate, beta1, beta2, epsilon, decay, *place())
    _remember(graph)


def _variables(of: Any) -> Mapping[str, Any]:
    if isinstance(of, Compiled):
        return of.states
    if not isinstance(of, Mapping):
        of = getattr(of, "graph", of)
        return of.states if isinstance(of, Graph) else dict(of)
    return of


def save(path: Any, of: Any) -> None:
    """Writes the variables of a function, a graph or a compiled one, an optimiser's among them, or a dict of arrays, to a
    .safetensors file, whole or not at all."""
    arrays = _variables(of)
    tensors = [a.value if isinstance(a, Shared) else as_tensor(a) for a in arrays.values()]
    _native.save_tensors(os.fspath(path), list(arrays), tensors)


def load(path: Any, into: Any = None) -> dict[str, Tensor]:
    """The tensors of a .safetensors file by name. The variables of INTO, as for `save`, become those of their names; if one
    is missing, or of another type, it is an error and nothing has changed."""
    found: dict[str, Tensor] = _native.load_tensors(os.fspath(path))
    variables = _variables(into) if into is not None else {}
    for name, variable in variables.items():
        if name not in found:
            raise ValueError(f"{path} has no {name}")
        if found[name].dtype != variable.dtype or found[name].shape != variable.shape:
            raise ValueError(f"{name} is {found[name].dtype}{list(found[name].shape)} in {path}, and {variable!r}")
    for name, variable in variables.items():
        variable.value = found[name]
    return found
