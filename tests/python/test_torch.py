# SPDX-License-Identifier: MIT
"""Modules and functions of PyTorch's, by way of ONNX."""
import pytest

try:  # a torch without its own libraries is there, and can't be imported
    import torch
except ImportError:
    pytest.skip("torch can't be imported", allow_module_level=True)
pytest.importorskip("onnxscript")

import gemel.torch  # noqa: E402


def test_functions():
    x, y = torch.zeros(3, 4), torch.zeros(4)
    answer = gemel.torch.equal(lambda x, y: x @ y, lambda x, y: (x * y).sum(-1), x, y)
    assert answer, str(answer)
    assert gemel.torch.equal(lambda x, y: x @ y, lambda x, y: (x * y).sum(0), torch.zeros(4, 4), y).verdict == "differs"


def test_modules():
    first = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
    second = torch.nn.Linear(4, 2)
    with torch.no_grad():
        second.weight.copy_(first[1].weight @ first[0].weight)
        second.bias.copy_(first[1].weight @ first[0].bias + first[1].bias)
    assert gemel.torch.equal(first, second, torch.zeros(5, 4))
    with torch.no_grad():
        second.bias += 0.01
    assert gemel.torch.equal(first, second, torch.zeros(5, 4)).verdict == "differs"


def test_symbols_and_graphs():
    sizes = ({0: torch.export.Dim.DYNAMIC},)
    assert gemel.torch.equal(torch.nn.SiLU(), lambda x: x * torch.sigmoid(x), torch.zeros(3, 4), dynamic_shapes=None)
    assert gemel.torch.to_graph(torch.nn.ReLU(), torch.zeros(3, 4), dynamic_shapes=sizes).inputs
