# SPDX-License-Identifier: MIT
"""Functions that are written as text, against NumPy's or a formula of one's own."""
import math

import numpy as np
import pytest

import gemel

RNG = np.random.default_rng(2)
X = RNG.standard_normal((3, 4, 5))
S, B = RNG.standard_normal(5), RNG.standard_normal(5)
ODD = np.array([1.0, -np.inf, np.nan, np.inf, -0.0])
erf = np.vectorize(math.erf)


def normal(x, axes, epsilon=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def attend(q, k, v, mask=None, scale=None):
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if mask is None else np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


Q, K, V = (RNG.standard_normal((2, n, 4)) for n in (3, 5, 5))
IMAGES, WEIGHTS = RNG.standard_normal((2, 4, 5)), RNG.standard_normal((4, 3, 3))


def transposed(x, w, stride, low, high, extra=0):
    n, k = x.shape[-1], w.shape[-1]
    full = np.zeros((x.shape[0], w.shape[1], (n - 1) * stride + k + extra))
    for i in range(n):
        full[:, :, i * stride : i * stride + k] += np.einsum("bc,cfk->bfk", x[:, :, i], w)
    return full[:, :, low : full.shape[-1] - high]


# gemel's, NumPy's, and the arrays.
CASES = {
    "isnan": (gemel.isnan, np.isnan, [ODD]),
    "isinf": (gemel.isinf, np.isinf, [ODD]),
    "isfinite": (gemel.isfinite, np.isfinite, [ODD]),
    "isfinite of integers": (gemel.isfinite, np.isfinite, [np.arange(3)]),
    "isinf of integers": (gemel.isinf, np.isinf, [np.arange(3)]),
    "silu": (gemel.silu, lambda x: x / (1 + np.exp(-x)), [X]),
    "softplus": (gemel.softplus, lambda x: np.logaddexp(x, 0), [100 * X]),
    "gelu": (gemel.gelu, lambda x: 0.5 * x * (1 + erf(x / 2**0.5)), [X]),
    "gelu approximate": (lambda x: gemel.gelu(x, approximate=True),
                         lambda x: 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))), [X]),
    "logsumexp": (gemel.logsumexp, lambda x: np.log(np.exp(x - 1000).sum()) + 1000, [X + 1000]),
    "logsumexp axis": (lambda x: gemel.logsumexp(x, axis=(0, -1)), lambda x: np.log(np.exp(x).sum((0, 2))), [X]),
    "logsumexp keepdims": (lambda x: gemel.logsumexp(x, axis=1, keepdims=True), lambda x: np.log(np.exp(x).sum(1, keepdims=True)), [X]),
    "logsumexp -inf": (lambda x: gemel.logsumexp(x, axis=0), lambda x: np.array([-np.inf, 0, np.inf]),
                       [np.array([[-np.inf, 0, np.inf], [-np.inf, -np.inf, 1]])]),
    "log_softmax": (gemel.log_softmax, lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)), [X]),
    "log_softmax axis": (lambda x: gemel.log_softmax(x, 0), lambda x: x - np.log(np.exp(x).sum(0)), [X]),
    "layer_norm": (gemel.layer_norm, lambda x: normal(x, -1), [X]),
    "layer_norm scale": (lambda x, s, b: gemel.layer_norm(x, scale=s, bias=b, epsilon=0.5), lambda x, s, b: normal(x, -1, 0.5) * s + b, [X, S, B]),
    "layer_norm axes": (lambda x: gemel.layer_norm(x, axis=1), lambda x: normal(x, (1, 2)), [X]),
    "rms_norm": (lambda x, s: gemel.rms_norm(x, scale=s), lambda x, s: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * s, [X, S]),
    "batch_norm": (lambda x, m, v, s, b: gemel.batch_norm(x, m, v, scale=s, bias=b),
                   lambda x, m, v, s, b: (x - m[:, None]) / np.sqrt(v[:, None] + 1e-5) * s[:, None] + b[:, None],
                   [X, B[:4], S[:4] ** 2, S[1:], B[1:]]),
    "batch_norm last": (lambda x, m, v: gemel.batch_norm(x, m, v, axis=-1), lambda x, m, v: (x - m) / np.sqrt(v + 1e-5), [X, B, S**2]),
    "group_norm": (lambda x, s, b: gemel.group_norm(x, 2, scale=s, bias=b),
                   lambda x, s, b: normal(x.reshape(3, 2, 2, 5), (2, 3)).reshape(3, 4, 5) * s[:, None] + b[:, None], [X, S[1:], B[1:]]),
    "eye": (lambda x: x[0, :3, :4] @ gemel.eye(4, k=1, dtype="f64"), lambda x: x[0, :3, :4] @ np.eye(4, k=1), [X]),
    "eye columns": (lambda x: gemel.eye(2, columns=3, k=-1, dtype="bool") | (x[0, 0, 0] != x[0, 0, 0]), lambda x: np.eye(2, 3, -1).astype(bool), [X]),
    "tril": (lambda x: gemel.tril(x, 1), lambda x: np.tril(x, 1), [X]),
    "triu": (lambda x: gemel.triu(x, -1), lambda x: np.triu(x, -1), [X]),
    "diag": (gemel.diag, np.diag, [ODD]),
    "diag of wide": (gemel.diag, np.diag, [X[0]]),
    "diag of tall": (gemel.diag, np.diag, [X[0].T]),
    "linspace": (lambda a, b: gemel.linspace(a, b, 7), lambda a, b: np.linspace(a, b, 7), [np.float64(0.1), np.float64(0.7)]),
    "one_hot": (lambda i: gemel.one_hot(i, 4), lambda i: np.eye(4, dtype="f4")[i], [np.array([[0, 3], [1, 1]])]),
    "one_hot axis": (lambda i: gemel.one_hot(i, 4, "i32", axis=0), lambda i: np.moveaxis(np.eye(4, dtype="i4")[i], -1, 0), [np.array([[0, 3], [1, 1]])]),
    "one_hot outside": (lambda i: gemel.one_hot(i, 2), lambda i: np.zeros((2, 2), "f4"), [np.array([-1, 2])]),
    "tile": (lambda x: gemel.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)), [X]),
    "tile fewer": (lambda x: gemel.tile(x, 2), lambda x: np.tile(x, 2), [X]),
    "tile more": (lambda x: gemel.tile(x, (2, 3)), lambda x: np.tile(x, (2, 3)), [S]),
    "repeat": (lambda x: gemel.repeat(x, 3, axis=-1), lambda x: np.repeat(x, 3, -1), [X]),
    "repeat first": (lambda x: gemel.repeat(x, 2), lambda x: np.repeat(x, 2, 0), [X]),
    "embedding": (lambda i, x: gemel.embedding(i, x), lambda i, x: x[i], [np.array([[2, 0]]), X]),
    "attention": (gemel.attention, attend, [Q, K, V]),
    "attention mask": (lambda q, k, v, m: gemel.attention(q, k, v, mask=m, scale=0.7), lambda q, k, v, m: attend(q, k, v, m, 0.7),
                       [Q, K, V, RNG.random((3, 5)) < 0.7]),
    "attention added": (lambda q, k, v, m: gemel.attention(q, k, v, mask=m), attend, [Q, K, V, RNG.standard_normal((2, 1, 5))]),
    "attention causal": (lambda k, v: gemel.attention(k, k, v, causal=True), lambda k, v: attend(k, k, v, np.tri(5, dtype=bool)), [K, V]),
    "causal_mask": (lambda x: gemel.causal_mask(x.shape[1]) & (x[0, 0, 0] == x[0, 0, 0]), lambda x: np.tri(4, dtype=bool), [X]),
    "conv_transpose": (lambda x, w: gemel.conv_transpose(x, w, stride=2, low=1, high=0), lambda x, w: transposed(x, w, 2, 1, 0), [IMAGES, WEIGHTS]),
    "conv_transpose extra": (lambda x, w: gemel.conv_transpose(x, w, stride=[2], extra=[1]), lambda x, w: transposed(x, w, 2, 0, 0, 1), [IMAGES, WEIGHTS]),
    "conv_transpose plain": (gemel.conv_transpose, lambda x, w: transposed(x, w, 1, 0, 0), [IMAGES, WEIGHTS]),
}


def type_of(array, symbolic, k):
    dtype = gemel.dtype(array.dtype)
    return dtype[tuple(f"N{k}_{i}" if symbolic else n for i, n in enumerate(array.shape))]


@pytest.mark.parametrize("case", CASES)
def test_as_numpy(case):
    ours, theirs, arrays = CASES[case]
    arrays = [np.asarray(a) for a in arrays]
    with np.errstate(all="ignore"):
        wanted = np.asarray(theirs(*arrays))
    traced = gemel.function(ours if len(arrays) == ours.__code__.co_argcount else _of(ours, len(arrays)),
                            *(type_of(a, False, k) for k, a in enumerate(arrays)))
    given = np.asarray(traced(*arrays))
    assert given.shape == wanted.shape and (given.dtype == wanted.dtype or "linspace" in case)
    assert np.allclose(given, wanted, rtol=1e-9, atol=1e-11, equal_nan=True)


def _of(function, n):
    """FUNCTION of N operands alone."""
    return {1: lambda a: function(a), 2: lambda a, b: function(a, b), 3: lambda a, b, c: function(a, b, c)}[n]


def test_symbolic_sizes():
    @gemel.function
    def f(x: gemel.f64["N", "M"]):
        n, m = x.shape
        return (gemel.layer_norm(x), gemel.eye(n), gemel.tril(x), gemel.repeat(x, 2), gemel.tile(x, (2, 2)), gemel.diag(x),
                gemel.logsumexp(x, axis=1), gemel.causal_mask(n, keys=m), gemel.one_hot(gemel.arange(n), m))

    for shape in ((3, 4), (4, 3), (1, 5)):
        x = RNG.standard_normal(shape)
        norm, eye, tril, repeated, tiled, diagonal, lse, mask, hot = map(np.asarray, f(x))
        assert np.allclose(norm, normal(x, -1)) and (eye == np.eye(shape[0])).all() and (tril == np.tril(x)).all()
        assert (repeated == np.repeat(x, 2, 0)).all() and (tiled == np.tile(x, (2, 2))).all() and (diagonal == np.diag(x)).all()
        assert np.allclose(lse, np.log(np.exp(x).sum(1))) and (mask == np.tri(*shape, dtype=bool)).all() and (hot == np.eye(*shape)).all()


def test_halves_are_normalised_in_f32():
    x = (1000 + RNG.standard_normal(2048)).astype(np.float16)
    norm = gemel.function(lambda x: (gemel.layer_norm(x), gemel.rms_norm(x)), gemel.f16["N"])
    a, b = map(np.asarray, norm(x))
    wide = x.astype("f4")
    assert a.dtype == np.float16 and np.allclose(a, normal(wide, -1), atol=2e-2) and np.allclose(b, wide / np.sqrt((wide**2).mean()), atol=2e-3)


@pytest.mark.parametrize("f", [gemel.gelu, gemel.silu, gemel.softplus, gemel.layer_norm, gemel.rms_norm, gemel.log_softmax, gemel.logsumexp,
                               lambda x: gemel.attention(x, x, x, causal=True), lambda x: gemel.group_norm(gemel.reshape(x, (1, 4, 3)), 2)])
def test_gradients_are_differences(f):
    weights = RNG.standard_normal((3, 4))
    loss = gemel.function(lambda x: gemel.sum(gemel.reshape(weights, f(x).shape) * f(x)) if f is not gemel.logsumexp else f(x), gemel.f64[3, 4])
    x, v = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4))
    slope = float((np.asarray(loss.grad()(x)) * v).sum())
    h = 1e-5
    assert np.isclose(slope, (float(loss(x + h * v)) - float(loss(x - h * v))) / (2 * h), rtol=1e-5, atol=1e-8)


def test_what_does_not_fit_is_refused():
    graph = gemel.Graph()
    x = graph.input("x: f32[3, 4]")
    with graph:
        for call, words in ((lambda: gemel.layer_norm(x, axis=2), "axis 2 is out of range"), (lambda: gemel.group_norm(x, 3), "group_norm"),
                            (lambda: gemel.group_norm(x[0], 1), "it takes [N, C, ...]"), (lambda: gemel.tril(x[0]), "tril: it takes matrices"),
                            (lambda: gemel.conv_transpose(x, x), "it takes [N, C, ...]"), (lambda: gemel.linspace(x, x, 1), "two numbers"),
                            (lambda: gemel.layer_norm(x, scale=gemel.ones(3, "f32")), ""),
                            (lambda: gemel.eye(-1), ""), (lambda: gemel.diag(x[None]), "a vector or a matrix")):
            with pytest.raises((gemel.Error, ValueError)) as raised:
                call()
            assert words in str(raised.value)
        graph.output(gemel.layer_norm(x), "y")
    assert graph(np.ones((3, 4), "f4")).tolist() == [[0] * 4] * 3
