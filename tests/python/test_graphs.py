# SPDX-License-Identifier: MIT
"""Functions that are traced, and graphs that are built: NumPy's functions give NumPy's results, and errors name the
line of the program."""
import gc
import os
import pickle
import sys
import time

import numpy as np
import pytest

import gemel

RNG = np.random.default_rng(1)
X = RNG.standard_normal((3, 4)).astype("f4")
Y = np.abs(RNG.standard_normal((3, 4)).astype("f4")) + 0.5
I = RNG.integers(-5, 6, (3, 4))
A = RNG.standard_normal((4, 4)) + 4 * np.eye(4)

# Each with gemel's functions for g, and NumPy's: the same results.
SAME = {
    "x + y": lambda g, x, y, i: x + y,
    "1 - x": lambda g, x, y, i: 1 - x,
    "x * 2.5": lambda g, x, y, i: x * 2.5,
    "x / y": lambda g, x, y, i: x / y,
    "i / 2": lambda g, x, y, i: i / 2,
    "i // 3": lambda g, x, y, i: i // 3,
    "7 // y": lambda g, x, y, i: 7 // y,
    "i % 3": lambda g, x, y, i: i % 3,
    "x ** 2": lambda g, x, y, i: x**2,
    "2 ** i": lambda g, x, y, i: 2.0**x,
    "-x": lambda g, x, y, i: -x,
    "+x": lambda g, x, y, i: +x,
    "abs": lambda g, x, y, i: abs(x),
    "~": lambda g, x, y, i: ~(x > 0),
    "~i": lambda g, x, y, i: ~i,
    "i & 3": lambda g, x, y, i: (i & 3) | (i ^ 1),
    "i << 2": lambda g, x, y, i: (i << 2) >> 1,
    "and": lambda g, x, y, i: ((x > 0) & (x < 1)) | (x == 0) ^ (x != 3),
    "array": lambda g, x, y, i: np.arange(4.0) + x - np.arange(4, dtype="f4"),
    "list": lambda g, x, y, i: x * [1.0, 2.0, 3.0, 4.0],
    "x @ y.T": lambda g, x, y, i: x @ y.T,
    "x @ array": lambda g, x, y, i: np.ones((2, 3), "f4") @ x,
    "x[1]": lambda g, x, y, i: x[1],
    "x[-1, 2]": lambda g, x, y, i: x[-1, 2],
    "x[1:, ::2]": lambda g, x, y, i: x[1:, ::2],
    "x[::-1]": lambda g, x, y, i: x[::-1, 3:0:-2],
    "x[..., None]": lambda g, x, y, i: x[..., None][None, :, 1],
    "x[[2, 0]]": lambda g, x, y, i: x[[2, 0]],
    "x[:, i]": lambda g, x, y, i: x[:, np.array([[0, 1], [3, 3]])],
    "sum": lambda g, x, y, i: g.sum(x),
    "sum axis": lambda g, x, y, i: x.sum(axis=0),
    "sum keepdims": lambda g, x, y, i: g.sum(x, axis=(0, 1), keepdims=True),
    "mean": lambda g, x, y, i: x.mean(axis=-1),
    "var": lambda g, x, y, i: x.var(axis=1, ddof=1),
    "std": lambda g, x, y, i: g.std(x, axis=0),
    "prod": lambda g, x, y, i: x.prod(),
    "max": lambda g, x, y, i: x.max(axis=0) - x.min(),
    "argmax": lambda g, x, y, i: x.argmax(axis=1) + x.argmin(axis=1),
    "any": lambda g, x, y, i: (x > 1).any(axis=0) & (x > -9).all(axis=0),
    "cumsum": lambda g, x, y, i: g.cumsum(x, axis=1),
    "sort": lambda g, x, y, i: g.sort(x, axis=1),
    "argsort": lambda g, x, y, i: g.argsort(x, axis=0),
    "where": lambda g, x, y, i: g.where(x > 0, x, 0),
    "clip": lambda g, x, y, i: g.clip(x, -0.5, 0.5),
    "maximum": lambda g, x, y, i: g.maximum(x, 0) + g.minimum(y, 1),
    "exp": lambda g, x, y, i: g.exp(x) + g.log(y) + g.sqrt(y) + g.tanh(x) + g.sin(x) + g.cos(x),
    "arc": lambda g, x, y, i: g.arctan(x) + g.arctan2(x, y) + g.arcsinh(x) + g.absolute(x) + g.square(x),
    "names": lambda g, x, y, i: g.subtract(g.multiply(x, y), g.divide(x, g.negative(y))) + g.power(y, 2),
    "logical": lambda g, x, y, i: g.logical_or(x > 0, y > 1) & g.logical_not(g.logical_and(x > 1, y > 1)),
    "xor": lambda g, x, y, i: g.logical_xor(x > 0, y > 1),
    "compare": lambda g, x, y, i: g.less(x, y) | g.greater_equal(x, y) | g.not_equal(x, 0),
    "T": lambda g, x, y, i: x.T + x.transpose() + g.transpose(x, (1, 0)) + x.swapaxes(0, 1),
    "reshape": lambda g, x, y, i: x.reshape(2, -1) + x.reshape((2, 6)),
    "ravel": lambda g, x, y, i: g.ravel(x),
    "moveaxis": lambda g, x, y, i: g.moveaxis(x[None], 0, 2),
    "expand": lambda g, x, y, i: g.squeeze(g.expand_dims(x, (0, -1)), 0),
    "squeeze": lambda g, x, y, i: x[:, None].squeeze(),
    "broadcast": lambda g, x, y, i: g.broadcast_to(x, (2, 3, 4)),
    "concatenate": lambda g, x, y, i: g.concatenate([x, y], axis=1),
    "stack": lambda g, x, y, i: g.stack([x, y], axis=1),
    "split": lambda g, x, y, i: g.split(x, 2, axis=1)[1] + g.split(x, [1, 3], axis=1)[1],
    "pad": lambda g, x, y, i: g.pad(x, 1),
    "pad pairs": lambda g, x, y, i: g.pad(x, ((0, 1), (2, 0)), constant_values=3.0),
    "einsum": lambda g, x, y, i: g.einsum("ij,kj->ik", x, y),
    "tensordot": lambda g, x, y, i: g.tensordot(x, y, ([0, 1], [0, 1])),
    "take": lambda g, x, y, i: g.take(x, np.array([1, 1]), axis=1),
    "flip": lambda g, x, y, i: g.flip(x, axis=1),
    "astype": lambda g, x, y, i: i.astype(np.float32) / 3,
    "round": lambda g, x, y, i: g.round(3 * x) + g.floor(x) + g.ceil(x) + g.trunc(x),
    "full": lambda g, x, y, i: x + g.ones((3, 4), np.float32) * 2 + g.full((4,), 1.5, np.float32) + g.zeros(4, np.float32),
    "like": lambda g, x, y, i: g.zeros_like(x) + g.ones_like(x) + g.full_like(x, 2),
    "arange": lambda g, x, y, i: g.arange(5) + g.arange(2, 12, 2) + g.arange(9, -1, -2),
    "iteration": lambda g, x, y, i: sum(row for row in x),
    "isnan": lambda g, x, y, i: g.isnan(g.log(x)),
}


@pytest.mark.parametrize("case", SAME)
def test_as_numpy(case):
    with np.errstate(all="ignore"):
        wanted = np.asarray(SAME[case](np, X, Y, I))
    traced = gemel.function(lambda x, y, i: SAME[case](gemel, x, y, i), gemel.f32[3, 4], gemel.f32[3, 4], gemel.i64[3, 4])
    given = np.asarray(traced(X, Y, I))
    assert given.dtype == wanted.dtype and given.shape == wanted.shape
    assert np.allclose(given, wanted, rtol=1e-5, atol=1e-6, equal_nan=True)


BIG = np.arange(60.0).reshape(3, 4, 5)
KEYS = [([0, 1, 2], [0, 1, 2]), ([0, 1], 0, [1, 2]), ([0, 1], slice(None), [1, 2]), (0, slice(None), [0, 1]),
        (slice(None), [[0], [1]], [1, 2]), (0, None, [0, 1]), ([0, 1], None, [0, 1]), ([-1, -3], [-4, 3]), (slice(1, None), [0, 1], [1, 2]),
        ([[0, 1], [1, 2]],), (..., [0, 1], [4, 3]), ([0], ..., [1]), ([],), (slice(None), [1], 2), ([2, 1], slice(0, 2), slice(None, None, 2)),
        (np.array([0, 1]), np.array(2), np.array([[1], [2]]))]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indices_as_numpy(key):
    at = tuple(np.array(k, "i8") if isinstance(k, list) and not k else k for k in key)
    wanted = BIG[at]
    for sizes in ((3, 4, 5), ("A", "B", "C")):
        given = gemel.function(lambda x: x[key], gemel.f64[sizes])(BIG)
        assert given.shape == wanted.shape and (np.asarray(given) == wanted).all()


def test_indices_outside_are_errors():
    for key in (([0, 3], [0, 0]), ([0, 0], [0, 4]), ([0, -4], [0, 0]), (5, [0, 1])):
        with pytest.raises(gemel.Error):
            gemel.function(lambda x: x[key], gemel.f64["A", "B", "C"])(BIG)
    pick = gemel.function(lambda x, labels: -gemel.mean(x[gemel.arange(x.shape[0]), labels]), gemel.f64["N", "M"], gemel.i64["N"])
    assert np.isclose(float(pick(BIG[0], [0, 1, 4, 2])), -BIG[0][np.arange(4), [0, 1, 4, 2]].mean())


def test_sizes_beside_values():
    f = gemel.function(lambda x: (gemel.sum(x) / x.shape[0], x * x.shape[0], x.shape[0] - x, x / x.size, gemel.constant(x.shape[0]),
                                  x.reshape(x.shape[0] // 2, 2)[: x.shape[0] % 2 + 1]), gemel.f32["N"])
    x = np.array([1, 2, 3, 6], "f4")
    mean, product, rest, share, n, part = map(np.asarray, f(x))
    assert mean == 3 and mean.dtype == np.float32 and (product == 4 * x).all() and (rest == 4 - x).all() and (share == x / 4).all()
    assert n == 4 and n.dtype == np.int64 and part.tolist() == [[1, 2]]
    for unknown in (lambda n: n == 3, lambda n: n != 3, lambda n: n > 3, lambda n: 3 < n, lambda n: n == n * 2):
        with pytest.raises(TypeError):
            gemel.function(lambda x: x if unknown(x.shape[0]) else -x, gemel.f32["N"])(x)
    known = gemel.function(lambda x: x if x.shape[0] + 1 > x.shape[0] and x.shape[0] == x.shape[0] and -x.shape[0] < 1 - x.shape[0] else -x, gemel.f32["N"])
    assert (np.asarray(known(x)) == x).all()


def test_allow():
    x = np.array([np.nan, 1, -1], "f4")
    exact = gemel.function(lambda x: gemel.where(x > 0, x, 0), gemel.f32["N"])
    assert np.asarray(exact.compile(allow="none")(x)).tolist() == [0, 1, 0] == np.asarray(exact.compile(as_written=True)(x)).tolist()
    strict = gemel.function(lambda x: gemel.where(x > 0, x, 0), gemel.f32["N"], allow="none")
    assert np.asarray(strict(x)).tolist() == [0, 1, 0]
    with pytest.raises(ValueError):
        exact.compile(allow="nonsense")


def test_numpy_scalars_keep_their_dtype():
    for scalar, dtype in ((np.float64(0.5), "f64"), (np.float32(0.5), "f32"), (0.5, "f16"), (np.int64(2), "f64"), (2, "f16")):
        assert gemel.function(lambda x: x * scalar, gemel.f16["N"])([1.0]).dtype == dtype


def test_numpys_functions_say_what_to_call():
    for call in (lambda x: np.sum(x), lambda x: np.concatenate([x, x]), lambda x: np.sin(x)):
        with pytest.raises(TypeError):
            gemel.function(call, gemel.f64["N"])([1.0])


def alive():
    gc.collect()
    return sum(isinstance(o, gemel.Graph) for o in gc.get_objects())


def test_graphs_are_freed():
    before = alive()
    for _ in range(5):
        f = gemel.function(lambda x: gemel.scan(lambda s, row: (s + row, s), gemel.sum(x) * 0, x), gemel.f64["N"])
        f([1.0, 2.0])
        gemel.function(lambda x: gemel.sum(x * x), gemel.f64["N"]).grad()([1.0])
        graph = gemel.Graph(name="g")
        graph.own = graph.input("x", gemel.f32["N"])
        del f, graph
    assert alive() <= before


def test_a_forked_child_computes():
    f = gemel.function(lambda x: gemel.sum(gemel.sin(x) @ x), gemel.f32["N", "N"])
    x = np.ones((600, 600), "f4")
    wanted = float(f(x))
    child = os.fork()
    if child == 0:
        os._exit(0 if np.isclose(float(f(x)), wanted, rtol=1e-4) else 1)
    for _ in range(600):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
    assert ended and status == 0


def test_linear_algebra():
    solved = gemel.function(lambda a, b: (gemel.solve(a, b), gemel.inv(a), gemel.det(a)), gemel.f64["N", "N"], gemel.f64["N", 2])
    b = np.ones((4, 2))
    x, inverse, det = solved(A, b)
    assert np.allclose(A @ x.numpy(), b) and np.allclose(inverse, np.linalg.inv(A)) and np.isclose(float(det), np.linalg.det(A))


def test_symbols():
    @gemel.function
    def f(x: gemel.f32["N", "M"]):
        n, m = x.shape
        assert str(n * m + 1) == "M*N + 1" or str(n * m + 1) == "N*M + 1"
        return (x.reshape(m, n), x.reshape(-1, n), gemel.zeros((n, 2), "f32"), gemel.arange(n), x[: n - 1],
                gemel.broadcast_to(x[0], (n, m)), gemel.full((m,), 7, "i32"))

    a, b, c, d, e, g, h = f(X)
    assert a.shape == b.shape == (4, 3) and c.shape == (3, 2) and d.tolist() == [0, 1, 2] and e.shape == (2, 4)
    assert g.shape == (3, 4) and h.tolist() == [7] * 4


def test_numbers_keep_the_dtype():
    graph = gemel.Graph()
    with graph:
        x, i, b = graph.input("x", gemel.f16["N"]), graph.input("i", gemel.i8["N"]), graph.input("b", gemel.bool_["N"])
        assert (x + 1).dtype == (2.5 * x).dtype == (x ** 2).dtype == "f16" and (i + 1).dtype == "i8"
        assert (i + 1.5).dtype == "f64" and (b + 1).dtype == "i64" and (b & True).dtype == "bool"
        big = graph.input("big", gemel.u64["N"])
        assert (big + (2**64 - 1)).dtype == "u64"
        with pytest.raises((gemel.Error, OverflowError)):
            i + 1000
        with pytest.raises((TypeError, ValueError)):
            x + "text"


def test_shared_variables():
    w = gemel.Shared(np.zeros((4, 2), "f4"), "w")
    count = gemel.Shared(0)

    @gemel.function
    def step(x: gemel.f32["N", 4], y: gemel.f32["N", 2]):
        """One step."""
        loss = gemel.mean((x @ w - y) ** 2)
        w.update(w - 0.1 * gemel.grad(loss, w))
        count.update(count + 1)
        return {"loss": loss, "count": count}

    x, y = RNG.standard_normal((8, 4)).astype("f4"), RNG.standard_normal((8, 2)).astype("f4")
    weights = np.zeros((4, 2))
    for _ in range(20):
        rest = x @ weights - y
        assert np.isclose(float(step(x, y)["loss"]), (rest**2).mean(), rtol=1e-4)
        weights -= 0.1 * x.T @ rest * 2 / rest.size
    assert np.allclose(w.value, weights, atol=1e-4) and int(count.value) == 20 and step.__doc__ == "One step."
    assert int(step(x, y)["count"]) == 20  # as it was before
    w.value = np.ones((4, 2), "f4")
    assert np.isclose(float(step(x, y)["loss"]), ((x @ np.ones((4, 2)) - y) ** 2).mean(), rtol=1e-5)
    with pytest.raises(TypeError):
        w + 1  # outside of a function
    with pytest.raises(gemel.Error):
        step_twice(w)


def step_twice(w):
    @gemel.function
    def twice(x: gemel.f32["N"]):
        w.update(w + 1)
        w.update(w + 2)

    return twice(X[0])


def test_a_function_in_a_function():
    @gemel.function
    def square(x: gemel.f32["N"]):
        return x * x

    @gemel.function
    def cube(x: gemel.f32["N"]):
        return square(x) * x

    assert np.allclose(cube([1, 2, 3]), [1, 8, 27]) and cube.graph.node_count < 6


def test_derivatives():
    @gemel.function
    def f(x: gemel.f64["N"], s: gemel.f64):
        return gemel.sum(gemel.exp(s * x))

    x = np.array([0.5, -1.0])
    assert np.allclose(f.grad()(x, 2.0), 2 * np.exp(2 * x))
    value, (dx, ds) = f.value_and_grad(["x", "s"])(x, 2.0)
    assert np.isclose(float(value), np.exp(2 * x).sum()) and np.isclose(float(ds), (x * np.exp(2 * x)).sum())
    second = f.grad().graph
    assert list(f.graph.grad(wrt="x").outputs) == ["result", "d_x"] and "result" in second.outputs
    along = gemel.function(lambda x, t: gemel.jvp(gemel.sin(x), x, t), gemel.f64["N"], gemel.f64["N"])
    assert np.allclose(along(x, [1.0, 2.0]), np.cos(x) * [1, 2])
    with pytest.raises(gemel.Error) as raised:
        gemel.function(lambda x: gemel.grad(x * x, x), gemel.f64["N"])(x)
    assert "scalar" in str(raised.value) or "seed" in str(raised.value)
    with pytest.raises(ValueError):
        f.grad("y")
    with pytest.raises(ValueError):
        f.graph.grad(wrt="y")


def test_graphs_by_hand(tmp_path):
    graph = gemel.Graph(name="affine")
    x = graph.input("x: f32[N]")
    with graph:
        graph.output(gemel.relu(2 * x + 1), "y")
    assert graph([-3, 1]).tolist() == [0, 3] and "graph affine(x: f32[N])" in graph.text
    for name in ("affine.gmt", "affine.gemel"):
        graph.save(tmp_path / name)
        again = gemel.Graph(tmp_path / name)
        assert again.text == graph.text and again.name == "affine"
    assert gemel.Graph(graph.text).text == gemel.Graph(bytes(graph)).text == pickle.loads(pickle.dumps(graph)).text
    assert gemel.equal(graph, graph.optimize())
    assert repr(graph).startswith("<gemel.Graph affine(x: f32[N]) -> y: f32[N]")
    assert gemel.Graph("graph g(x: f32[2]) { return y = x }").compile(threads=1)(x=[1, 2]).tolist() == [1, 2]


def test_states_of_a_graph():
    text = "graph count(state n: i64[], by: i64[]) { update n = n + by; return before = n }"
    graph = gemel.Graph(text.replace("; ", "\n").replace("{ ", "{\n"))
    assert [int(r) for r in graph.compile()(3, 4)] == [7, 3]  # states are inputs, updates outputs
    n = gemel.Shared(1)
    bound = graph.compile(states={"n": n})
    assert int(bound(5)) == 1 and int(bound(by=1)) == 6 and int(n.value) == 7
    with pytest.raises(ValueError):
        graph.compile(states={"m": n})


def test_onnx(tmp_path):
    pytest.importorskip("onnx.helper")
    import onnx
    from onnx import TensorProto, helper

    node = helper.make_node("Add", ["x", "x"], ["y"])
    sides = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 2])] for name in "xy"]
    model = helper.make_model(helper.make_graph([node], "g", *sides), opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, tmp_path / "m.onnx")
    for source in (model, model.SerializeToString(), tmp_path / "m.onnx", str(tmp_path / "m.onnx")):
        assert gemel.Graph(source)(np.ones((3, 2), "f4")).tolist() == [[2, 2]] * 3
    assert gemel.equal(model, str(tmp_path / "m.onnx"))


def line_of(function):
    return function.__code__.co_firstlineno


def test_errors_name_the_line():
    @gemel.function
    def wrong(x: gemel.f32[3]):
        y = x + 1
        return y @ gemel.zeros((4, 2), "f32")

    with pytest.raises(gemel.Error) as raised:
        wrong([1, 2, 3])
    assert raised.value.status == "BAD_SHAPE" and f"{__file__}:{line_of(wrong.__wrapped__) + 3}:" in str(raised.value)

    @gemel.function
    def late(x: gemel.f32["N"], k: gemel.i64):
        return x[k]

    with pytest.raises(gemel.Error) as raised:
        late([1, 2, 3], 7)
    assert f"{__file__}:{line_of(late.__wrapped__) + 2}:" in str(raised.value) and "7" in str(raised.value)
    with pytest.raises(gemel.Error) as raised:
        late(np.ones(3), 0)
    assert "input x should be f32[N] and is f64[3]" in str(raised.value)
    with pytest.raises(gemel.Error) as raised:
        gemel.Graph("graph g(x: f32[2]) {\n  return y = foo(x)\n}")
    assert raised.value.line == 2 and "foo" in str(raised.value)
    with pytest.raises(gemel.Error) as raised:
        gemel.function(lambda x: gemel.log(x), gemel.f32["N"]).compile(guard="nan")([-1.0])
    assert "log" in str(raised.value)


def test_a_graph_goes_on_after_an_error():
    graph = gemel.Graph()
    x = graph.input("x", gemel.f32[3])
    with graph:
        with pytest.raises(gemel.Error):
            x @ gemel.zeros((4, 2), "f32")
        graph.output(x + 1, "y")
    assert graph([1, 2, 3]).tolist() == [2, 3, 4]


def test_misuse_is_an_exception():
    graph, other = gemel.Graph(), gemel.Graph()
    x, y = graph.input("x: f32[3]"), other.input("y: f32[3]")
    for call, kind in ((lambda: x + y, ValueError), (lambda: gemel.sin(1.0), TypeError), (lambda: bool(x), TypeError),
                       (lambda: float(x), TypeError), (lambda: graph.input("x: f32[2]"), gemel.Error),
                       (lambda: graph.input("n: f32[?"), gemel.Error), (lambda: graph.output(y, "z"), ValueError),
                       (lambda: graph.input("z", 3), TypeError), (lambda: x[0, 0], IndexError), (lambda: x[5], gemel.Error),
                       (lambda: x[x > 0], IndexError), (lambda: gemel.function(lambda q: q)([1]), TypeError),
                       (lambda: gemel.function(lambda *q: q, gemel.f32)([1]), TypeError), (lambda: gemel.sum(x, axis=3), gemel.Error),
                       (lambda: gemel.reshape(x, (2, -1)), gemel.Error), (lambda: gemel.split(x, 2), ValueError),
                       (lambda: gemel.Graph("/nowhere.gmt"), gemel.Error), (lambda: gemel.Graph(b"\x00\x01"), gemel.Error),
                       (lambda: gemel.Graph(3), TypeError), (lambda: graph.compile(guard="x"), ValueError),
                       (lambda: graph.optimize(allow="x"), ValueError), (lambda: graph.optimize(rules="rule"), gemel.Error),
                       (lambda: graph.optimize(mode="x"), ValueError), (lambda: gemel.define("operation"), gemel.Error),
                       (lambda: gemel.concatenate([]), (gemel.Error, TypeError)), (lambda: gemel.einsum("ij->i", x), gemel.Error),
                       (lambda: gemel.sum(x, axis="a"), TypeError), (lambda: x.reshape("a b"), (ValueError, gemel.Error)),
                       (lambda: graph.save("/nowhere/x.gmt"), gemel.Error), (lambda: gemel.pad(x, ((0, 1),) * 2), ValueError),
                       (lambda: gemel.Shared("a"), TypeError), (lambda: gemel.Graph(name="a b"), ValueError), (lambda: gemel.Shared(1, name="é"), ValueError),
                       (lambda: gemel.Graph("graph g(x: f32[2]) { return y = x }", sizes={"N": 2}), ValueError), (lambda: gemel.tensordot(x, x, 2**31), ValueError),
                       (lambda: setattr(gemel.Shared(np.zeros(3)), "value", np.zeros(4)), ValueError),
                       (lambda: setattr(gemel.Shared(np.zeros(3)), "value", np.zeros(3, "f4")), ValueError), (lambda: gemel.dropout(x, x, 0.5), gemel.Error)):
        with pytest.raises(kind):
            call()
    deep = x
    for _ in range(20000):
        deep = deep + 1
    graph.output(deep, "deep")
    assert graph([0, 0, 0]).tolist() == [20000] * 3 and len(graph.text) > 20000
    assert sys.getrecursionlimit() < 20000


def test_definitions():
    gemel.define("operation swish_of_test(x) { return x * sigmoid(x) }")
    f = gemel.function(lambda x: gemel.apply("swish_of_test", x), gemel.f64["N"])
    assert np.allclose(f([0.0, 1.0]), [0, 1 / (1 + np.exp(-1))]) and "swish_of_test" in f.graph.text
    assert gemel.equal(f, "graph g(x: f64[N]) { return result = x * sigmoid(x) }")
    gemel.define("# Half of x.\ncomposite half_of_test(x) { return x / 2 }")
    assert gemel.function(lambda x: gemel.apply("half_of_test", x), gemel.f64["N"])([3.0]).tolist() == [1.5]
    gemel.define("composite both_of_test(x) { return x + 1, x - 1 }")
    both = gemel.function(lambda x: gemel.apply("both_of_test", x), gemel.f64["N"])([3.0])
    assert [one.tolist() for one in both] == [[4.0], [2.0]]
    with pytest.raises(gemel.Error, match="no operation called nothing_of_test"):
        gemel.function(lambda x: gemel.apply("nothing_of_test", x), gemel.f64["N"])([3.0])
    with pytest.raises(gemel.Error, match="half_of_test already"):
        gemel.define("composite half_of_test(x) { return x }")


def test_operators_of_onnx():
    helper = pytest.importorskip("onnx.helper")
    gemel.define('operator "of.test" Half(x, by: float = 2) { return x / by }')
    x, y = (helper.make_tensor_value_info(name, 1, ["N"]) for name in "xy")
    nodes = [helper.make_node("Half", ["x"], ["y"], domain="of.test", by=4.0)]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("of.test", 1)])
    assert gemel.Graph(model)([6]).tolist() == [1.5]
    assert gemel.equal(model, "graph g(x: f32[N]) { return y = x * 0.25 }")


def test_random_numbers():
    key = gemel.Shared(np.array([7, 0], "u8").astype(np.uint64), "key")

    @gemel.function
    def draw():
        x, after = gemel.random_normal(key, (1000,))
        y, after = gemel.dropout(gemel.ones(1000, "f32"), after, 0.25)
        key.update(after)
        return x, y

    (x, y), (z, _) = draw(), draw()
    assert abs(x.numpy().mean()) < 0.2 and (x.numpy() != z.numpy()).any()
    assert set(np.unique(y.numpy()).tolist()) == {0.0, np.float32(4 / 3)}


def test_certified_rules_of_ones_own():
    graph = gemel.Graph("graph g(x: f32[N]) {\n  return y = x + x\n}")
    assert "mul(" in graph.optimize(rules="rule twice in canonicalize:\n  x + x => 2 * x\n").text


def test_loops():
    @gemel.function
    def powers(x: gemel.f64["N"], k: gemel.f64):
        def step(state, row):
            y, count = state["y"], state["n"]
            return {"y": y * k + row, "n": count + 1}, (y, y * k)
        return gemel.scan(step, {"y": gemel.zeros((), "f64"), "n": 0}, x)

    last, (before, scaled) = powers([1.0, 2.0, 3.0], 10.0)
    assert float(last["y"]) == 123 and int(last["n"]) == 3 and before.tolist() == [0, 1, 12] and scaled.tolist() == [0, 10, 120]
    w = gemel.Shared(2.0, "w")

    @gemel.function
    def nested(x: gemel.f64["N", "M"]):
        def outer(total, row):
            inner, _ = gemel.scan(lambda s, element: (s + w * element * x[0, 0], None), total, row)
            return inner, inner
        total, all_ = gemel.scan(outer, gemel.zeros((), "f64"), x, reverse=True)
        return total, all_, gemel.grad(total, x)

    total, all_, slope = nested([[1.0, 2.0], [3.0, 4.0]])
    assert float(total) == 20 and all_.tolist() == [20, 14] and slope.tolist() == [[22, 2], [2, 2]]
    half = gemel.function(lambda x: gemel.scan(lambda s, _: (s / 2, None), x, until=lambda s: s < 1)[0], gemel.f64)
    assert float(half(37.0)) == 37 / 64
    ten = gemel.function(lambda x: gemel.scan(lambda s, _: (s + x, s), x, length=10), gemel.i64)
    assert int(ten(3)[0]) == 33 and ten(3)[1].shape == (10,)
    for wrong, kind in ((lambda s, r: s, TypeError), (lambda s, r: ((s, s), None), TypeError), (lambda s, r: (s[:1], None), gemel.Error),
                        (lambda s, r: (w.update(s), None), TypeError), (lambda s, r: (1 / 0, None), ZeroDivisionError)):
        with pytest.raises(kind):
            gemel.function(lambda x: gemel.scan(wrong, x, x)[0], gemel.f64["N"])([1.0, 2.0])
    assert powers([1.0], 10.0)[0]["y"].tolist() == 1


def test_optimizers(tmp_path):
    x, y = RNG.standard_normal((8, 4)), RNG.standard_normal(8)

    def trained(step, w, b, path=None):
        @gemel.function
        def train(x: gemel.f64["N", 4], y: gemel.f64["N"]):
            loss = gemel.mean((x @ w + b - y) ** 2)
            step(loss)
            return loss

        for _ in range(5):
            train(x, y)
        if path:
            gemel.save(path, train)
        return train

    def by_numpy(update):
        w, b, memory = np.zeros(4), np.zeros(()), [{}, {}]
        for t in range(1, 6):
            rest = x @ w + b - y
            slopes = 2 * x.T @ rest / 8, np.asarray(2 * rest.mean())
            w, b = (update(p, g, m, t) for p, g, m in zip((w, b), slopes, memory))
        return w, b

    def momentum(p, g, m, t):
        m["m"] = 0.9 * m.get("m", 0) + g + 0.01 * p
        return p - 0.1 * m["m"]

    def adamw(p, g, m, t):
        m["m"], m["v"] = 0.9 * m.get("m", 0) + 0.1 * g, 0.99 * m.get("v", 0) + 0.01 * g * g
        return p * (1 - 0.05 * 0.1) - 0.05 * (m["m"] / (1 - 0.9**t)) / (np.sqrt(m["v"] / (1 - 0.99**t)) + 1e-8)

    for step, update in ((lambda loss: gemel.sgd(loss, rate=0.1), lambda p, g, m, t: p - 0.1 * g),
                         (lambda loss: gemel.sgd(loss, rate=0.1, momentum=0.9, decay=0.01), momentum),
                         (lambda loss: gemel.adam(loss, rate=0.05, beta2=0.99, decay=0.1), adamw)):
        w, b = gemel.Shared(np.zeros(4), "w"), gemel.Shared(0.0, "b")
        trained(step, w, b)
        wanted = by_numpy(update)
        assert np.allclose(w.value, wanted[0], rtol=1e-12) and np.allclose(b.value, wanted[1], rtol=1e-12)
    w, b = gemel.Shared(np.zeros(4), "w"), gemel.Shared(0.0, "b")
    first = trained(lambda loss: gemel.adam(loss), w, b, tmp_path / "s.safetensors")
    v, c = gemel.Shared(np.ones(4), "w"), gemel.Shared(1.0, "b")
    second = trained(lambda loss: gemel.adam(loss), v, c)
    gemel.load(tmp_path / "s.safetensors", into=second)
    assert float(first(x, y)) == float(second(x, y)) and np.array_equal(w.value, v.value)
    with pytest.raises(ValueError):
        gemel.load(tmp_path / "s.safetensors", into={"other": w})
    with pytest.raises(ValueError):
        gemel.load(tmp_path / "s.safetensors", into={"b": w})
    gemel.save(tmp_path / "t.safetensors", {"a": np.arange(3), "b": [1.5]})
    assert gemel.load(tmp_path / "t.safetensors")["a"].tolist() == [0, 1, 2]
    for wrong in (lambda loss: gemel.sgd(loss, rate=0), lambda loss: gemel.adam(loss, epsilon=-1)):
        with pytest.raises(ValueError):
            trained(wrong, w, b)
    with pytest.raises(gemel.Error):
        trained(lambda loss: (gemel.sgd(loss), gemel.sgd(loss)), w, b)
    with pytest.raises(gemel.Error):
        gemel.save("/nowhere/s.safetensors", {"a": [1.0]})
