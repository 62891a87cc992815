# SPDX-License-Identifier: MIT
"""PyTorch's modules and functions: are two the same?

    gemel.torch.equal(before, after, torch.zeros(2, 3))

Both are exported by torch.export to ONNX, which gemel reads (doc/onnx.md of the project).
"""
from __future__ import annotations

import os
import tempfile
from typing import Any, Callable

import torch

from ._equal import Equality, equal as _equal
from ._graph import Graph

__all__ = ["equal", "to_graph"]


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def _export(of: Any, arguments: tuple[Any, ...], path: str, dynamic_shapes: Any) -> str:
    module = of if isinstance(of, torch.nn.Module) else _Module(of)
    torch.onnx.export(module.eval(), arguments, path, dynamo=True, dynamic_shapes=dynamic_shapes)
    return path


def to_graph(of: Any, *arguments: Any, dynamic_shapes: Any = None) -> Graph:
    """The graph of a module, or of a function of tensors, for arguments such as these."""
    with tempfile.TemporaryDirectory(prefix="gemel-") as folder:
        return Graph(_export(of, arguments, os.path.join(folder, "of.onnx"), dynamic_shapes))


def equal(before: Any, after: Any, *arguments: Any, dynamic_shapes: Any = None, **options: Any) -> Equality:
    """Whether two modules, as they are in evaluation, or functions of tensors are the same for arguments of these shapes and dtypes;
    DYNAMIC_SHAPES says which sizes aren't fixed, as for torch.export. OPTIONS are those of gemel.equal."""
    with tempfile.TemporaryDirectory(prefix="gemel-") as folder:
        paths = [_export(of, arguments, os.path.join(folder, name), dynamic_shapes)
                 for of, name in ((before, "before.onnx"), (after, "after.onnx"))]
        return _equal(*paths, **{"match": "place", **options})
