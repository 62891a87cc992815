# SPDX-License-Identifier: MIT
"""Graphs and rewrites of PyTensor's: what Ops mean is compared with PyTensor's own results."""
import json

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor")

import pytensor.tensor as pt  # noqa: E402
from pytensor.graph.fg import FunctionGraph  # noqa: E402
from pytensor.scan.utils import until  # noqa: E402
from pytensor.graph.rewriting.basic import PatternNodeRewriter  # noqa: E402

import gemel.pytensor as gp  # noqa: E402

PLAIN = pytensor.Mode("py", None)
m, v, t, s = pt.dmatrix("m"), pt.dvector("v"), pt.dtensor3("t"), pt.dscalar("s")
i, k = pt.lvector("i"), pt.lscalar("k")
VALUES = {m: np.arange(12.0).reshape(3, 4) % 5 - 1.5, v: np.array([0.3, -1.2, 2.0, 0.7]), t: np.arange(24.0).reshape(2, 3, 4) % 7, s: 0.6,
          i: np.array([2, 0, -1]), k: 2}


def loop(step, *, steps=None, sequences=(), start=(), **more):
    return pytensor.scan(step, sequences=list(sequences), outputs_info=list(start), n_steps=steps, return_updates=False, **more)


def zero(*shape):
    return pt.zeros(shape, dtype="float64")


OPS = {
    "elements": pt.exp(m) + v * s - pt.log1p(v**2), "comparison": pt.switch(m > v, m, -v), "integers": (i * 3 + k) // 2 % 5,
    "special": pt.erfc(v) + pt.gammaln(v**2 + 1) + pt.softplus(v) + pt.expit(v), "casts": pt.cast(m, "int8") + pt.cast(v > 0, "int32"),
    "sums": m.sum(axis=0) + m.max(axis=0) * m.prod(axis=0) - m.min(axis=0), "any": (m > 1).any(axis=1) | (m > 0).all(axis=1),
    "argmax": m.argmax(axis=1), "argmax of all": m.argmax(), "dot": m.dot(v), "batched": pt.matmul(t, m.T), "outer": pt.outer(v, v),
    "shape": m.shape[0] * v.shape[0] + m.size, "reshape": m.reshape((k, -1)), "known": t.reshape((6, 4)).dimshuffle(1, "x", 0),
    "flat": t.flatten(2), "alloc": pt.alloc(v, k, 4), "joined": pt.join(0, m, m[::-1]), "split": pt.split(v, [1, 3], n_splits=2)[1], "stack": pt.stack([v, v * 2], axis=1),
    "slices": m[1:, ::-2], "cut": m[-9:2, 1:99], "run time": m[k - 1:, :k], "steps": v[::k], "one": m[k] + m[-1], "below": v[3:0:-1],
    "rows": m[i], "places": m[i, i], "columns": m[:, i], "apart": t[i % 2, :, i], "set": pt.set_subtensor(m[1:, ::2], s),
    "added": pt.inc_subtensor(m[k], v), "added rows": pt.inc_subtensor(m[i], v), "added places": pt.inc_subtensor(m[i, i], s), "backwards": pt.set_subtensor(v[::-1], v),
    "softmax": pt.special.softmax(m, axis=1), "all of it": pt.special.log_softmax(m), "sorted": pt.sort(m, axis=0), "argsort": pt.argsort(v),
    "cumsum": pt.cumsum(m, axis=1), "cumprod": pt.cumprod(v), "flat sums": pt.cumsum(m), "arange": pt.arange(1, 9, k), "floats": pt.arange(s, 3.0, 0.5), "eye": pt.eye(3, 4, 1),
    "diagonal": pt.diagonal(t, 1, 0, 2), "diag": pt.diag(v), "triangle": pt.tril(m), "repeat": pt.repeat(v, k), "tile": pt.tile(v, (2, 1)),
    "det": pt.linalg.det(m.dot(m.T) + pt.eye(3)), "inv": pt.linalg.inv(m.dot(m.T) + pt.eye(3)), "solve": pt.linalg.solve(m.dot(m.T) + pt.eye(3), m[:, 0]),
    "cholesky": pt.linalg.cholesky(m.dot(m.T) + pt.eye(3)), "triangular": pt.linalg.solve_triangular(pt.eye(4) + pt.tril(pt.outer(v, v)), v, lower=True),
    "convolution": pt.signal.convolve1d(v, m[0], mode="full"), "if": pytensor.ifelse(s > 0, v, v * 2), "searched": pt.searchsorted(pt.sort(v), v),
    "scan": loop(lambda x, h: x * h + 1, sequences=[v], start=[zero()]), "two back": loop(lambda a, b: a + 2 * b, steps=5, start=[dict(initial=v[:2], taps=[-2, -1])]),
    "no state": loop(lambda row: row.sum(), sequences=[m], start=[None]), "last": loop(lambda h: h * s, steps=k, start=[v])[-1],
    "until": loop(lambda h: (h + 1, until(h > 2)), steps=9, start=[s]),
    "gradient": pytensor.grad(loop(lambda x, h: x * h + pt.sin(h), sequences=[v], start=[s])[-1], v),
}


@pytest.mark.parametrize("name", OPS)
def test_ops_mean_what_they_do(name):
    inputs, output = [m, v, t, s, i, k], OPS[name]
    expected = pytensor.function(inputs, output, mode=PLAIN, on_unused_input="ignore")(*(VALUES[x] for x in inputs))
    graph = gp.to_graph((inputs, [output]))
    assert not any(n.startswith("u") for n in graph.inputs), graph.text
    arrays = {}
    for n, x in zip((f"x{q}" for q in range(len(inputs))), inputs):
        counts = graph.inputs[n].dtype.name == "bool"  # k where it is a size
        arrays[n] = np.zeros(VALUES[x], bool) if counts else np.asarray(VALUES[x])
    found = np.asarray(graph(**arrays))
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_check():
    x, y = pt.dmatrix("x"), pt.dmatrix("y")
    assert gp.check(([x, y], [x.dot(y).T]), ([x, y], [x.T.dot(y.T)])).verdict == "differs"
    assert gp.check(([x, y], [x.dot(y).T]), ([x, y], [y.T.dot(x.T)]))
    other = gp.check(([x], [x.sum(axis=0)]), ([x], [x.sum(axis=1)]))
    assert other.verdict == "differs" and "before" in str(other)
    compiled = pytensor.function([x, y], pt.exp(x + y), mode=PLAIN)
    assert gp.check(compiled, FunctionGraph([x, y], [pt.exp(x) * pt.exp(y)], clone=True), allow="all,worsens")
    with pytest.raises(ValueError):
        gp.check(([x], [x]), ([x, y], [x]))


def test_shapes_are_asked_about():
    x, y = pt.dmatrix("x"), pt.dmatrix("y")
    assert gp.check(([x, y], [(x + y).shape[0]]), ([x, y], [y.shape[0]]))
    assert gp.check(([x, y], [(x + y).shape[0]]), ([x, y], [y.shape[1]])).verdict == "differs"


def test_what_gemel_cannot_say_is_any_function():
    x = pt.dmatrix("x")
    value = pt.linalg.pinv(x)
    assert gp.check(([x], [value + value]), ([x], [2 * value]))
    unsaid = gp.check(([x], [value]), ([x], [value + 1]))
    assert unsaid.verdict == "not said" and any("Pinv" in name for name in unsaid.unsaid)


def drawn(mean, spread, **more):
    return pt.random.normal(mean, spread, rng=GENERATOR, **more)


GENERATOR = pytensor.shared(np.random.default_rng(3))
CORNER = pt.random.multivariate_normal(m[:, :2], pt.eye(2), rng=GENERATOR)
MASK = np.array([True, False, True, True])
LAWS = {
    "row": (drawn(m, v)[1], drawn(m[1], v), "equal"), "not the row": (drawn(m, v)[1], drawn(m[0], v), "differs"),
    "turned": (drawn(v, m).T, drawn(v.dimshuffle(0, "x"), m.T), "equal"), "spread forgotten": (drawn(v, m).T, drawn(v.dimshuffle(0, "x"), m.T * 2), "differs"),
    "sized": (drawn(s, v, size=(3, 4)), drawn(pt.alloc(s, 3, 4), v), "equal"), "more": (drawn(s, v, size=(k, 4)), drawn(s, v, size=(k + 1, 4)), "differs"),
    "masked": (drawn(v, s, size=(4,))[MASK], drawn(v[MASK], s), "equal"), "masked otherwise": (drawn(v, s, size=(4,))[MASK], drawn(v[MASK[::-1]], s), "differs"),
    "a draw twice": (drawn(v, s)[np.array([0, 0])], drawn(v[np.array([0, 0])], s), "not said"),
    "another law": (drawn(v, s), pt.random.laplace(v, s, rng=GENERATOR), "not said"),
    "batch": (CORNER[0], pt.random.multivariate_normal(m[0, :2], pt.eye(2), rng=GENERATOR), "equal"),
    "its own axis": (CORNER[:, 0], drawn(m[:, 0], 1.0), "not said"), "a function of draws": (drawn(v, s) + drawn(v, s), 2 * drawn(v, s), "equal"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LAWS)
def test_random_variables_have_laws(name):
    old, new, verdict = LAWS[name]
    graph = FunctionGraph(outputs=[old], clone=False, features=None)
    with gp.certify() as found:
        graph.replace(graph.outputs[0], new, reason=name, import_missing=True)
    assert [j.verdict for j in found.judgements.values()] == [verdict], str(found)


def test_certify():
    x = pt.dvector("x")
    with gp.certify() as found:
        pytensor.function([x], pt.log(pt.exp(x * 1)) + x.shape[0], mode=pytensor.Mode("py", "fast_run"))
    assert found and sum(n for _, n, _ in found.table) > 2 and found.of("equal") and "replacements" in str(found)
    wrong = PatternNodeRewriter((pt.sub, "a", "b"), (pt.sub, "b", "a"))
    graph = FunctionGraph([x], [x - pt.exp(x)], clone=False)
    with gp.certify() as found:
        _once(wrong, graph)
    assert not found and len(found.differing) == 1
    key = found.differing[0].key
    with gp.certify(accepted=[key]) as found:
        _once(wrong, FunctionGraph([x], [x - pt.exp(x)], clone=False))
    assert found
    with pytest.raises(AssertionError, match="differs"), gp.certify(stop=True):
        _once(wrong, FunctionGraph([x], [x - pt.exp(x)], clone=False))


def _once(rewrite, graph):
    node = graph.outputs[0].owner
    graph.replace(node.outputs[0], rewrite.transform(graph, node)[0], reason="wrong", import_missing=True)


SUITE = """
import pytensor, pytensor.tensor as pt
from pytensor.graph.fg import FunctionGraph
def test_it():
    x = pt.dvector("x")
    g = FunctionGraph([x], [pt.exp(x) * 2], clone=False)
    g.replace(g.outputs[0], pt.exp(x) * {number}, reason="by hand")
"""


@pytest.mark.parametrize("number, kept", [("2.0", True), ("2.5", False)])
def test_the_plugin(tmp_path, number, kept, pytestconfig):
    import subprocess
    import sys

    (tmp_path / "test_suite.py").write_text(SUITE.format(number=number))
    plugin = [] if pytestconfig.pluginmanager.hasplugin("gemel") else ["-p", "gemel._pytest"]
    run = [sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider", "--gemel-certify"]

    def suite(*more):
        return subprocess.run([*run, *more, "test_suite.py"], cwd=tmp_path, capture_output=True, text=True)

    first = suite("--gemel-json", "found.json")
    assert (first.returncode == 0) == kept and "replacements" in first.stdout, first.stdout + first.stderr
    assert json.loads((tmp_path / "found.json").read_text())["verdict"] == ("equal" if kept else "differs")
    (tmp_path / "broken.json").write_text("{")
    broken = suite("--gemel-baseline", "broken.json")
    assert broken.returncode == pytest.ExitCode.USAGE_ERROR and "broken.json" in broken.stderr and "Traceback" not in broken.stderr
    if not kept:
        assert suite("--gemel-baseline", "accepted.json").returncode == 0 and suite("--gemel-baseline", "accepted.json").returncode == 0
        assert "by hand" in (tmp_path / "accepted.json").read_text()
