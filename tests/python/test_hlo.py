# SPDX-License-Identifier: MIT
"""XLA's modules of HLO: read as graphs."""
import numpy as np
import pytest

import gemel

MODULE = """HloModule jit_f

ENTRY %main (x: f32[3]) -> f32[3] {
  %x = f32[3]{0} parameter(0)
  %c = f32[3]{0} constant({1, 2, 4})
  ROOT %y = f32[3]{0} multiply(%x, %c)
}
"""


def test_a_module_is_a_graph(tmp_path):
    path = tmp_path / "f.txt"
    path.write_text(MODULE)
    x = np.array([1, -2, 0.5], np.float32)
    for source in (MODULE, MODULE.encode(), path):
        graph = gemel.Graph(source)
        assert graph.name == "jit_f"
        assert np.asarray(graph(p0=x)).tolist() == [1, -4, 2]


def test_modules_are_compared(tmp_path):
    path = tmp_path / "g.hlo"
    path.write_text(MODULE.replace("multiply(%x, %c)", "multiply(%c, %x)"))
    answer = gemel.equal(MODULE, path, allow="none")
    assert answer and str(path) in answer.summary
    assert not gemel.equal(MODULE, MODULE.replace("multiply", "add"))


def test_an_error_says_where():
    with pytest.raises(gemel.Error, match=r"4:8: .*a shape is expected"):
        gemel.Graph(MODULE.replace("f32[3]{0} parameter", "[3] parameter"))
