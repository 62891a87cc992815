# SPDX-License-Identifier: MIT
"""XLA's passes judged: gemel.jax.certify."""
import pytest

jax = pytest.importorskip("jax")

import gemel.jax  # noqa: E402

MODULE = """HloModule jit_f

ENTRY %main (x: f32[3]) -> f32[3] {
  %x = f32[3]{0} parameter(0)
  %c = f32[3]{0} constant({1, 2, 4})
  ROOT %y = f32[3]{0} multiply(%x, %c)
}
"""


def test_passes_are_certified():
    found = gemel.jax.certify(lambda x, y: jax.nn.softmax(x * 2) @ y, jax.ShapeDtypeStruct((4, 3), "float32"),
                              jax.ShapeDtypeStruct((3, 2), "float32"), seconds=20)
    assert found and found.whole.verdict == "equal"
    assert len(found.steps) > 5 and {step.verdict for step in found.changes} == {"equal"}
    assert "all passes" in str(found) and "<td" in found._repr_html_()


def test_a_wrong_pass_is_told():
    right = gemel.jax.Step("turn", MODULE, MODULE.replace("multiply(%x, %c)", "multiply(%c, %x)"))
    wrong = gemel.jax.Step("wrong", MODULE, MODULE.replace("multiply", "add"))
    same = gemel.jax.Step("none", MODULE, MODULE.replace("jit_f", "jit_f, is_scheduled=true"))
    unread = gemel.jax.Step("rng", MODULE, MODULE.replace("multiply(%x, %c)", "slice(%x), slice={[0:9]}"))
    assert [s.verdict for s in (right, wrong, same, unread)] == ["equal", "differs", "unchanged", "not read"]
    found = gemel.jax.Certificate("f", [right, wrong, same, unread], wrong)
    assert not found and "p0 = " in str(found) and unread.reason in str(found)
