#!/usr/bin/env python3
"""Programs in JAX, as its users write them, whose compilation by XLA is checked: two hundred of twelve kinds, and three larger ones.

    xla_programs.py [NAME ...]

PROGRAMS maps names to programs: a kind, a function and its arguments' dtypes and shapes. large() makes the larger ones. As a command
it traces the programs named, all by default, and prints a line for each: kind, name, arguments, equations of its jaxpr.
Needs jax from PyPI. Never needed to build or test gemel. SPDX-License-Identifier: MIT
"""

import collections
import contextlib
import functools
import re
import sys

import jax
import jax.numpy as jnp
from jax import lax, nn

Program = collections.namedtuple("Program", "kind function arguments wide")
PROGRAMS = {}
DTYPES = {"f16": jnp.float16, "bf16": jnp.bfloat16, "f32": jnp.float32, "f64": jnp.float64, "pred": jnp.bool_, "s4": jnp.int4,
          **{f"{c}{n}": getattr(jnp, f"{'u' * (c == 'u')}int{n}") for c in "su" for n in (8, 16, 32, 64)}}


def arguments(text):
    """The arguments TEXT says, as "f32[4,5] s32[3]" does; a shape of its own for each."""
    found = re.findall(r"(\w+)\[([\d,]*)\]", text)
    return [jax.ShapeDtypeStruct([int(n) for n in shape.split(",") if n], DTYPES[dtype]) for dtype, shape in found]


def named(function, name):
    """FUNCTION under NAME, by which XLA calls the module."""
    def program(*operands):
        return function(*operands)
    program.__name__ = name
    return program


def of_kind(kind):
    """What registers programs of KIND: @kind("f32[4]") over a function, or kind("f32[4]", name=lambda x: x, ...)."""
    def register(text, **functions):
        def add(function):
            assert function.__name__ not in PROGRAMS, function.__name__
            PROGRAMS[function.__name__] = Program(kind, function, arguments(text), bool(re.search("[fsu]64", text)))
            return function
        for name, function in functions.items():
            add(named(function, name))
        return add
    return register


def precision(wide):
    """Within it JAX keeps 64 bits if WIDE."""
    return jax.enable_x64(True) if wide else contextlib.nullcontext()


forward, gradient, attention, convolution, scan, loops, sorting, gathering, cumulating, pooling, integers, mixed = map(
    of_kind, ("forward", "gradient", "attention", "convolution", "scan", "loops", "sorting", "gather and scatter", "cumulating", "pooling",
              "integers", "mixed precision"))


# What several programs share.

def normalised(x, axis=-1, epsilon=1e-5):
    centred = x - x.mean(axis, keepdims=True)
    return centred * lax.rsqrt((centred * centred).mean(axis, keepdims=True) + epsilon)


def cross_entropy(logits, labels):
    return -(nn.log_softmax(logits) * nn.one_hot(labels, logits.shape[-1])).sum(-1).mean()


def attend(q, k, v, mask=None, bias=0.0):
    scores = jnp.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5 + bias
    return nn.softmax(scores if mask is None else jnp.where(mask, scores, -1e9), axis=-1) @ v


def causal(n):
    return jnp.tril(jnp.ones((n, n), bool))


def mlp(x, w, b, v):
    return jnp.tanh(x @ w + b) @ v


def lstm_cell(state, gates):
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    c = nn.sigmoid(f) * state[1] + nn.sigmoid(i) * jnp.tanh(g)
    return nn.sigmoid(o) * jnp.tanh(c), c


def conv(x, w, stride=1, padding="SAME", layout=("NCHW", "OIHW", "NCHW"), **more):
    return lax.conv_general_dilated(x, w, (stride,) * (x.ndim - 2), padding, dimension_numbers=layout, **more)


NHWC = ("NHWC", "HWIO", "NHWC")


def of_sum(function, which=0):
    """The gradient of the sum of the squares of FUNCTION's results."""
    return jax.grad(lambda *operands: (function(*operands) ** 2).sum(), which)


# Forward passes of small networks.

forward("f32[5,7]",
        gelu_exact=lambda x: nn.gelu(x, approximate=False),
        gelu_tanh=lambda x: nn.gelu(x) * nn.sigmoid(1.702 * x),
        softmax_of_columns=lambda x: nn.softmax(x, axis=0),
        less_usual=lambda x: jnp.tan(x) + jnp.cbrt(x) + lax.erf_inv(jnp.sinc(x)))

forward("f32[3,8] f32[8,16] f32[16] f32[16,1]",
        two_layers=mlp,
        maxout=lambda x, w, b, v: (x @ w + b).reshape(3, 4, 4).max(-1) @ v[:4],
        gated=lambda x, w, b, v: (nn.silu(x @ w) * (x @ w + b)) @ v,
        selu_elu_softplus=lambda x, w, b, v: (nn.selu(x @ w) + nn.elu(x @ w + b) - nn.softplus(b)) @ v)


@forward("f32[4,6] f32[6] f32[6]")
def layer_norm(x, scale, shift):
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.var(x, -1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-6) * scale + shift


@forward("f32[4,3,5,5] f32[3] f32[3]")
def batch_norm(x, scale, shift):
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    factor = scale * lax.rsqrt(variance + 1e-5)
    return x * factor[:, None, None] + (shift - mean * factor)[:, None, None], mean, variance


@forward("f32[2,8,3,3] f32[8]")
def group_norm(x, scale):
    return normalised(x.reshape(2, 4, 18)).reshape(x.shape) * scale[None, :, None, None]


@forward("f32[3,9] f32[9]")
def rms_norm(x, scale):
    return x * lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6) * (1.0 + scale)


@forward("f32[7,3] f32[4,3]")
def k_means_step(points, centres):
    distance = ((points[:, None] - centres[None]) ** 2).sum(-1)
    mine = nn.one_hot(distance.argmin(1), 4)
    return (mine.T @ points) / jnp.maximum(mine.sum(0), 1.0)[:, None]


@forward("f32[4,8] u32[2]")
def dropout(x, key):
    keep = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.8, x.shape)
    return jnp.where(keep, x / 0.8, 0.0)


@forward("f32[2,12,12,1] f32[16,8] f32[9,8]")
def patches(image, w, position):
    x = image.reshape(2, 3, 4, 3, 4).transpose(0, 1, 3, 2, 4).reshape(2, 9, 16)
    return normalised(x @ w + position).mean(1)


@forward("f32[3,6] f32[6,4] f32[4,6,5]")
def mixture_of_experts(x, gate, experts):
    weights = nn.softmax(x @ gate)
    return jnp.einsum("be,bi,eio->bo", weights, x, experts)


@forward("f32[64] f32[5]")
def moving_filter(signal, taps):
    frames = jnp.stack([signal[i:60 + i] for i in range(5)], -1)
    return jnp.clip(frames @ taps, -1, 1), jnp.convolve(signal, taps, mode="same")


@forward("f32[5,5] f32[5]")
def pairwise_kernel(x, y):
    distance = jnp.sum((x[:, None, :] - x[None, :, :]) ** 2, -1)
    return jax.vmap(lambda row: jnp.vdot(row, y))(jnp.exp(-0.5 * distance) + 1e-3 * jnp.eye(5))


# Gradients.

gradient("f32[3,8] f32[8,16] f32[16] f32[16,1]",
         two_layers_gradient=of_sum(mlp, (1, 2, 3)),
         remat=of_sum(jax.checkpoint(mlp), (0, 1)),
         directional=lambda x, w, b, v: jax.jvp(lambda w: mlp(x, w, b, v), (w,), (jnp.ones_like(w),)),
         per_example=lambda x, w, b, v: jax.vmap(of_sum(mlp, 1), (0, None, None, None))(x, w, b, v))

gradient("f32[6]",
         hessian=jax.hessian(lambda x: jnp.sum(jnp.sin(x) * x[::-1]) + jnp.prod(x)),
         laplacian=lambda x: jnp.trace(jax.hessian(lambda x: jnp.log1p(jnp.exp(x) @ x ** 2))(x)),
         hessian_vector=lambda x: jax.jvp(jax.grad(lambda x: (x ** 3).sum() / (1 + x @ x)), (x,), (jnp.cos(x),))[1])

gradient("f32[4,6]",
         gelu_gradient=of_sum(functools.partial(nn.gelu, approximate=False)),
         layer_norm_gradient=of_sum(lambda x: normalised(x) * jnp.arange(6.0)),
         logsumexp_gradient=of_sum(lambda x: nn.logsumexp(x, axis=0)),
         norms_gradient=jax.grad(lambda x: jnp.linalg.norm(x, axis=1).sum() + jnp.abs(x).max()),
         quotients_gradient=of_sum(lambda x: jnp.arctan2(x, 2.0 + x[:1]) / (1 + jnp.abs(x)) ** 1.5))


@gradient("f32[5,8] s32[5] f32[8,3] f32[3]")
def sgd_step(x, labels, w, b):
    loss, (dw, db) = jax.value_and_grad(lambda w, b: cross_entropy(x @ w + b, labels), (0, 1))(w, b)
    return loss, w - 0.1 * dw, b - 0.1 * db


@gradient("f32[4,3] f32[4,3] f32[4,3] f32[4,3] s32[]")
def adam_step(w, target, m, v, step):
    g = jax.grad(lambda w: jnp.mean((jnp.tanh(w) - target) ** 2))(w)
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - 1e-3 * (m / (1 - 0.9 ** step)) / (jnp.sqrt(v / (1 - 0.999 ** step)) + 1e-8), m, v


@gradient("f32[3,4] f32[3,4]")
def clipped_gradient(w, x):
    g = jax.grad(lambda w: jnp.sum(jnp.where(w * x > 1, w * x - 0.5, 0.5 * (w * x) ** 2)))(w)
    norm = jnp.sqrt(jnp.sum(g * g))
    return g * jnp.minimum(1.0, 1.0 / (norm + 1e-6))


@gradient("f32[4,5] f32[4,5]")
def straight_through(x, y):
    rounded = lambda x: x + lax.stop_gradient(jnp.round(x) - x)
    return jax.grad(lambda x: jnp.vdot(rounded(3 * x), y))(x)


@gradient("f64[3,3] f64[3]")
def quadratic_wide(a, x):
    return jax.value_and_grad(lambda x: x @ a @ x - jnp.log(jnp.sum(x ** 2)))(x)


# Attention.

attention("f32[2,4,8,6] f32[2,4,8,6] f32[2,4,8,6]",
          heads=attend,
          causal_heads=lambda q, k, v: attend(q, k, v, causal(8)),
          heads_gradient=of_sum(attend, (0, 1, 2)),
          causal_gradient=of_sum(lambda q, k, v: attend(q, k, v, causal(8)), 1),
          cosine=lambda q, k, v: attend(*(x / jnp.linalg.norm(x, axis=-1, keepdims=True) for x in (q, k)), v),
          sliding_window=lambda q, k, v: attend(q, k, v, jnp.abs(jnp.arange(8)[:, None] - jnp.arange(8)) < 3),
          slopes=lambda q, k, v: attend(q, k, v, bias=-(2.0 ** -jnp.arange(4))[:, None, None] * jnp.arange(8)[::-1]),
          library=lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True))

attention("f32[5,4] f32[7,4] f32[7,3]",
          crossed=attend,
          linear_attention=lambda q, k, v: (nn.elu(q) + 1) @ ((nn.elu(k) + 1).T @ v) / ((nn.elu(q) + 1) @ (nn.elu(k) + 1).sum(0))[:, None],
          hard=lambda q, k, v: nn.one_hot((q @ k.T).argmax(-1), 7) @ v)


@attention("f32[2,6,8] f32[8,24] f32[8,8]")
def self_attention(x, w, v):
    q, k, values = jnp.split(x @ w, 3, axis=-1)
    split = lambda x: x.reshape(2, 6, 2, 4).transpose(0, 2, 1, 3)
    return x + attend(split(q), split(k), split(values)).transpose(0, 2, 1, 3).reshape(2, 6, 8) @ v


@attention("f32[2,8,5,4] f32[2,2,5,4] f32[2,2,5,4]")
def grouped_queries(q, k, v):
    return attend(q.reshape(2, 2, 4, 5, 4), k[:, :, None], v[:, :, None]).reshape(q.shape)


@attention("f32[3,6,4] f32[3,6,4] f32[3,6,4] s32[3]")
def by_lengths(q, k, v, lengths):
    return attend(q, k, v, (jnp.arange(6) < lengths[:, None])[:, None])


@attention("f32[6,8] f32[6,8]")
def rotary(q, k):
    angle = jnp.arange(6)[:, None] / 10000 ** (jnp.arange(4) / 4)
    turn = lambda x: jnp.concatenate([x[:, :4] * jnp.cos(angle) - x[:, 4:] * jnp.sin(angle), x[:, 4:] * jnp.cos(angle) + x[:, :4] * jnp.sin(angle)], -1)
    return turn(q) @ turn(k).T


@attention("f32[1,4] f32[9,4] f32[9,4] f32[1,4] f32[1,4] s32[]")
def cached_step(q, keys, values, k, v, position):
    keys = lax.dynamic_update_slice(keys, k, (position, 0))
    values = lax.dynamic_update_slice(values, v, (position, 0))
    return attend(q, keys, values, jnp.arange(9) <= position), keys, values


@attention("f32[4,6] f32[12,6] f32[12,5]")
def online_softmax(q, k, v):
    def block(state, kv):
        top, total, out = state
        scores = q @ kv[0].T
        new = jnp.maximum(top, scores.max(-1))
        weights, scale = jnp.exp(scores - new[:, None]), jnp.exp(top - new)
        return (new, total * scale + weights.sum(-1), out * scale[:, None] + weights @ kv[1]), None
    start = jnp.full(4, -jnp.inf), jnp.zeros(4), jnp.zeros((4, 5))
    (_, total, out), _ = lax.scan(block, start, (k.reshape(3, 4, 6), v.reshape(3, 4, 5)))
    return out / total[:, None]


# Convolutions and their gradients.

convolution("f32[2,3,8,8] f32[4,3,3,3]",
            conv_same=conv,
            conv_valid_relu=lambda x, w: nn.relu(conv(x, w, padding="VALID")),
            conv_strided=lambda x, w: conv(x, w, 2),
            conv_dilated=lambda x, w: conv(x, w, rhs_dilation=(2, 2)),
            conv_uneven=lambda x, w: conv(x, w, 3, [(0, 2), (-1, 3)]),
            conv_gradient=of_sum(conv, (0, 1)),
            conv_strided_gradient=of_sum(functools.partial(conv, stride=2, padding=[(1, 1), (1, 1)]), (0, 1)),
            conv_tangent=lambda x, w: jax.jvp(lambda w: conv(x, w, 2), (w,), (w[::-1],))[1])

convolution("f32[1,7,7,4] f32[3,3,1,8]",
            depthwise=functools.partial(conv, layout=NHWC, feature_group_count=4),
            depthwise_gradient=of_sum(functools.partial(conv, layout=NHWC, feature_group_count=4), (0, 1)))

convolution("f32[4,9,3] f32[3,3,6]",
            conv_line=functools.partial(conv, layout=("NWC", "WIO", "NWC")),
            conv_batch_groups=functools.partial(conv, layout=("NWC", "WIO", "NWC"), batch_group_count=2))

convolution("f32[1,2,4,5,4] f32[3,2,2,2,2]", conv_volume=functools.partial(conv, layout=("NCDHW", "OIDHW", "NCDHW")))
convolution("f32[2,5,5,3] f32[1,1,3,6]", pointwise=functools.partial(conv, layout=NHWC))
convolution("f32[1,4,4,3] f32[3,3,3,2]",
            conv_transposed=lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"),
            conv_transposed_gradient=of_sum(lambda x, w: lax.conv_transpose(x, w, (2, 2), "VALID"), 1))


@convolution("f32[2,4,6,6] f32[4,4,3,3] f32[4] f32[4]")
def residual(x, w, scale, shift):
    y = conv(x, w) * scale[:, None, None] + shift[:, None, None]
    return nn.relu(x + y)


# Scans.

scan("f32[6]",
     decaying=lambda x: lax.scan(lambda s, x: (0.9 * s + x, s), 0.0, x),
     scan_reversed=lambda x: lax.scan(lambda s, x: (s * x, s + x), 1.0, x, reverse=True),
     scan_gradient=of_sum(lambda x: lax.scan(lambda s, x: (jnp.sin(s) + x, s * x), 0.5, x)[1]),
     scan_unrolled=lambda x: lax.scan(lambda s, x: (jnp.maximum(s, x), s - x), x[0], x, unroll=2),
     logistic_map=lambda x: lax.scan(lambda s, _: (3.5 * s * (1 - s), s), x, None, length=5))

scan("f32[5,2,3] f32[3,4] f32[4,4]",
     rnn=lambda x, w, u: lax.scan(lambda h, x: (jnp.tanh(x @ w + h @ u),) * 2, jnp.zeros((2, 4)), x),
     rnn_gradient=of_sum(lambda x, w, u: lax.scan(lambda h, x: (jnp.tanh(x @ w + h @ u), None), jnp.zeros((2, 4)), x)[0], (1, 2)),
     rnn_remat=of_sum(lambda x, w, u: lax.scan(jax.checkpoint(lambda h, x: (jnp.tanh(x @ w + h @ u), None)), jnp.ones((2, 4)), x)[0], 2),
     rnn_of_batch=lambda x, w, u: jax.vmap(lambda x: lax.scan(lambda h, x: (nn.relu(x @ w + h @ u), h), jnp.zeros(4), x), 1)(x))


def lstm_over(x, w, u, h):
    return lax.scan(lambda s, x: (lstm_cell(s, x @ w + s[0] @ u), s[0]), (h, jnp.zeros_like(h)), x)


scan("f32[5,2,3] f32[3,16] f32[4,16] f32[2,4]", lstm=lstm_over, lstm_gradient=of_sum(lambda *args: lstm_over(*args)[1], (0, 1)))


@scan("f32[4,3] f32[3,9] f32[3,9]")
def gru(x, w, u):
    def step(h, x):
        a, b = x @ w, h @ u
        z, r = nn.sigmoid(a[:3] + b[:3]), nn.sigmoid(a[3:6] + b[3:6])
        h = (1 - z) * h + z * jnp.tanh(a[6:] + r * b[6:])
        return h, h
    return lax.scan(step, jnp.zeros(3), x)[1]


@scan("f32[7,4] f32[4,4] f32[4]")
def viterbi_scores(emissions, transitions, start):
    def step(score, e):
        every = score[:, None] + transitions
        return every.max(0) + e, every.argmax(0)
    return lax.scan(step, start, emissions)


@scan("f32[3,4,4] f32[2,4]")
def layers_scanned(weights, x):
    return lax.scan(lambda x, w: (normalised(x + nn.gelu(x @ w)), None), x, weights)[0]


@scan("f32[6] f32[6] f32[]")
def kalman(z, u, noise):
    def step(state, inputs):
        x, p = state[0] + inputs[1], state[1] + 0.1
        gain = p / (p + noise)
        x = x + gain * (inputs[0] - x)
        return (x, (1 - gain) * p), x
    return lax.scan(step, (0.0, 1.0), (z, u))


@scan("f32[4] f32[]")
def runge_kutta(y, step):
    rate = lambda y: jnp.roll(y, 1) * y - y
    def one(y, _):
        a = rate(y)
        b = rate(y + step / 2 * a)
        return y + step / 6 * (a + 2 * b + 2 * rate(y + step / 2 * b)), y.sum()
    return lax.scan(one, y, None, length=4)


@scan("f32[5,8] s32[5]")
def ring_buffer(x, where):
    return lax.scan(lambda s, i: (lax.dynamic_update_index_in_dim(s, i[0], i[1], 0), s.sum(0)), jnp.zeros((3, 8)), (x, where))


# Loops and branches.

loops("f32[4] s32[]",
      repeated=lambda x, n: lax.fori_loop(0, n, lambda i, x: x * 0.5 + i, x),
      fixed_trip=lambda x, n: lax.fori_loop(1, 6, lambda i, x: x.at[i % 4].add(x[n] / i), x),
      until_small=lambda x, n: lax.while_loop(lambda s: (jnp.abs(s[0]).max() > 0.1) & (s[1] < n), lambda s: (s[0] / 3, s[1] + 1), (x, 0)),
      branch=lambda x, n: lax.cond(n > 0, jnp.sin, lambda x: x * 2, x),
      switch=lambda x, n: lax.switch(n, [jnp.exp, jnp.negative, lambda x: jnp.roll(x, 1)], x),
      branch_gradient=lambda x, n: jax.grad(lambda x: lax.cond(n > 3, lambda x: (x ** 2).sum(), lambda x: jnp.cos(x).prod(), x))(x),
      select_by_vmap=lambda x, n: jax.vmap(lambda x: lax.cond(x > n, jnp.exp, lambda x: -x, x))(x),
      dynamic_slices=lambda x, n: lax.fori_loop(0, 3, lambda i, s: s + lax.dynamic_slice(x, (i + n,), (2,)), jnp.zeros(2)))

loops("f32[5]",
      newton_roots=lambda x: lax.fori_loop(0, 5, lambda _, y: 0.5 * (y + jnp.abs(x) / y), jnp.ones(5)),
      newton_while=lambda x: jax.vmap(lambda a: lax.while_loop(lambda y: jnp.abs(y * y - a) > 1e-3 * a, lambda y: 0.5 * (y + a / y), 1 + a))(x * x + 1),
      fixed_loop_gradient=of_sum(lambda x: lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) * x, x)),
      nested_loops=lambda x: lax.fori_loop(0, 3, lambda i, s: lax.fori_loop(0, i, lambda j, s: s + x[j] * x[i], s), 0.0))


@loops("f32[4,4] f32[4]")
def power_iteration(a, v):
    v = lax.fori_loop(0, 8, lambda _, v: (a @ v) / jnp.linalg.norm(a @ v), v)
    return v, v @ a @ v


@loops("f32[4,4] f32[4]")
def conjugate_gradient(a, b):
    a = a @ a.T + jnp.eye(4)
    def step(_, s):
        x, r, p = s
        alpha = (r @ r) / (p @ a @ p)
        new = r - alpha * a @ p
        return x + alpha * p, new, new + (new @ new) / (r @ r) * p
    return lax.fori_loop(0, 4, step, (jnp.zeros(4), b, b))[0]


@loops("s32[] s32[]")
def greatest_divisor(a, b):
    return lax.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (jnp.abs(a), jnp.abs(b)))[0]


@loops("f32[6,6]")
def heat(u):
    inner = lambda u: 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return lax.fori_loop(0, 4, lambda _, u: u.at[1:-1, 1:-1].set(inner(u)), u)


# Sorting.

sorting("f32[9]",
        sorted_floats=jnp.sort,
        ranks=lambda x: jnp.argsort(jnp.argsort(x)),
        median=jnp.median,
        middle_mean=lambda x: jnp.sort(x)[2:-2].mean(),
        sort_gradient=jax.grad(lambda x: jnp.sort(x) @ jnp.arange(9.0)),
        quantiles=lambda x: jnp.quantile(x, jnp.array([0.1, 0.5, 0.75])),
        empirical=lambda x: jnp.searchsorted(jnp.sort(x), jnp.linspace(-1, 1, 5)))

sorting("f32[4,7] s32[7]",
        sorted_rows=lambda x, i: jnp.sort(x, axis=1),
        sorted_columns=lambda x, i: jnp.sort(x, axis=0, descending=True),
        argsorted_columns=lambda x, i: jnp.argsort(x, axis=0),
        ordered_by=lambda x, i: x[:, jnp.argsort(i)],
        lexicographic=lambda x, i: jnp.lexsort((x[0], i)),
        key_and_values=lambda x, i: lax.sort((i, x[0], x[1]), num_keys=2),
        best_three=lambda x, i: jnp.take_along_axis(x, jnp.argsort(-x, axis=1)[:, :3], axis=1))

sorting("s8[8] u16[8]",
        sorted_small=lambda a, b: (jnp.sort(a), jnp.sort(b)[::-1]))


@sorting("u32[2] s32[6]")
def shuffled(key, x):
    return jax.random.permutation(jax.random.wrap_key_data(key), x)


# Gather and scatter.

gathering("f32[5,6] s32[4]",
          taken_rows=lambda x, i: jnp.take(x, i, axis=0),
          taken_clipped=lambda x, i: jnp.take(x, i, axis=1, mode="clip"),
          taken_filled=lambda x, i: x.at[i].get(mode="fill", fill_value=-1.0),
          added_rows=lambda x, i: x.at[i].add(1.5),
          set_columns=lambda x, i: x.at[:, i].set(jnp.arange(4.0)),
          max_of_rows=lambda x, i: x.at[i].max(x[:4] * 2),
          multiplied_points=lambda x, i: x.at[i, i[::-1]].multiply(3.0),
          min_of_points=lambda x, i: x.at[i, 2].min(0.0),
          unique_sorted=lambda x, i: x.at[i].add(x[:4], unique_indices=True, indices_are_sorted=True),
          embedding_gradient=of_sum(lambda x, i: jnp.take(x, i, axis=0)),
          segments=lambda x, i: jax.ops.segment_sum(x[:4], i, num_segments=3),
          segment_maxima=lambda x, i: jax.ops.segment_max(x[:4].sum(1), i, num_segments=5),
          window_of_rows=lambda x, i: jax.vmap(lambda j: lax.dynamic_slice(x, (j, j), (2, 3)))(i))


@gathering("f32[3,4] s32[3,2]")
def along_axis(x, i):
    return jnp.take_along_axis(x, i, axis=1)


@gathering("f32[3,4] s32[3]")
def picked_gradient(logits, labels):
    return jax.grad(lambda x: -jnp.take_along_axis(nn.log_softmax(x), labels[:, None], 1).mean())(logits)


@gathering("f32[4,3] s32[2,6]")
def graph_network(nodes, edges):
    messages = nodes[edges[0]] - 0.5 * nodes[edges[1]]
    return jnp.zeros_like(nodes).at[edges[1]].add(messages) / jnp.zeros(4).at[edges[1]].add(1.0).clip(1)[:, None]


@gathering("f32[10] s32[10]")
def histogram(weights, i):
    return jnp.zeros(6).at[i].add(weights), jnp.bincount(i, length=4)


# Cumulating.

cumulating("f32[9]",
           sums=jnp.cumsum,
           maxima=lax.cummax,
           logsumexps=lax.cumlogsumexp,
           sums_reversed=lambda x: lax.cumsum(x, reverse=True),
           products_gradient=of_sum(jnp.cumprod),
           sums_gradient=of_sum(jnp.cumsum),
           running_mean=lambda x: jnp.cumsum(x) / jnp.arange(1, 10),
           trapezia=lambda x: jnp.cumsum((x[1:] + x[:-1]) / 2),
           moving_sums=lambda x: (lambda c: c[3:] - c[:-3])(jnp.cumsum(jnp.pad(x, (1, 0)))),
           associative_products=lambda x: lax.associative_scan(jnp.multiply, x, reverse=True))

cumulating("f32[4,5] s32[4,5]",
           sums_of_columns=lambda x, i: jnp.cumsum(x, axis=0),
           products_of_rows=lambda x, i: jnp.cumprod(x, axis=1),
           minima_of_integers=lambda x, i: lax.cummin(i, axis=1, reverse=True),
           first_true=lambda x, i: (jnp.cumsum(i > 0, axis=1) == 1) & (i > 0))


@cumulating("f32[6] f32[6]")
def linear_recurrence(a, b):
    return lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (a, b))[1]


@cumulating("f32[5,2,2]")
def matrix_products(m):
    return lax.associative_scan(jnp.matmul, m)


# Pooling.

def pooled(x, start, function, window, strides=None, padding="VALID", **more):
    return lax.reduce_window(x, start, function, window, strides or window, padding, **more)


peak, total = functools.partial(pooled, start=-jnp.inf, function=lax.max), functools.partial(pooled, start=0.0, function=lax.add)

pooling("f32[2,3,6,8]",
        max_pool=lambda x: peak(x, window=(1, 1, 2, 2)),
        max_pool_gradient=of_sum(lambda x: peak(x, window=(1, 1, 2, 2))),
        max_overlapping=lambda x: peak(x, window=(1, 1, 3, 3), strides=(1, 1, 2, 2), padding="SAME"),
        max_overlapping_gradient=of_sum(lambda x: peak(x, window=(1, 1, 3, 3), strides=(1, 1, 2, 2), padding="SAME")),
        avg_pool=lambda x: total(x, window=(1, 1, 2, 2)) / 4,
        avg_pool_gradient=of_sum(lambda x: total(x, window=(1, 1, 3, 2), strides=(1, 1, 1, 2)) / 6),
        avg_true_count=lambda x: (lambda p: p(x) / p(jnp.ones_like(x)))(lambda x: total(x, window=(1, 1, 3, 3), strides=(1, 1, 3, 3), padding="SAME")),
        min_pool=lambda x: pooled(x, jnp.inf, lax.min, (1, 1, 2, 4)),
        dilated_sums=lambda x: total(x, window=(1, 1, 2, 2), strides=(1, 1, 1, 1), window_dilation=(1, 1, 2, 3)),
        spread_sums=lambda x: total(x, window=(1, 1, 3, 3), strides=(1, 1, 1, 1), base_dilation=(1, 1, 1, 2)),
        pool_by_reshape=lambda x: x.reshape(2, 3, 3, 2, 4, 2).max((3, 5)),
        whole_image=lambda x: (x.mean((2, 3)), x.max((2, 3)), x.min((1, 2))),
        across_channels=lambda x: x / (1 + 0.1 * total(x * x, window=(1, 3, 1, 1), strides=(1, 1, 1, 1), padding="SAME")) ** 0.75,
        upsampled=lambda x: jnp.repeat(jnp.repeat(x, 2, 2), 2, 3) - jax.image.resize(x, (2, 3, 12, 16), "nearest"))


@pooling("s32[8] f32[8]")
def line_pools(i, x):
    smallest = jnp.iinfo(jnp.int32).min
    return pooled(i, smallest, lax.max, (3,), (1,), "SAME"), pooled(x, 1.0, lax.mul, (2,))


@pooling("f32[1,4,4,2] f32[3,3,2,2]")
def conv_and_pool_gradient(x, w):
    return of_sum(lambda x, w: peak(nn.relu(conv(x, w, layout=NHWC)), window=(1, 2, 2, 1)), (0, 1))(x, w)


# Integers.

integers("s32[7] s32[7]",
         quotients=lambda a, b: (a // b, a % b),
         truncated=lambda a, b: (lax.div(a, b), lax.rem(a, b)),
         shifts=lambda a, b: (a << b, a >> b, lax.shift_right_logical(a, b)),
         bits=lambda a, b: (a & b, a | ~b, a ^ b),
         counts=lambda a, b: (lax.population_count(a), lax.clz(b)),
         clamped=lambda a, b: (lax.clamp(-3, a, 5), jnp.clip(a, b, b + 2)),
         signs=lambda a, b: (jnp.sign(a) * jnp.abs(b), jnp.minimum(a, -b), jnp.maximum(a, b)),
         bits_of_floats=lambda a, b: lax.bitcast_convert_type(a & 0x7FFFFFFF, jnp.float32) > 1.0,
         dot_of_integers=lambda a, b: (a @ b, (a > b).any(), (a * b).prod(), jnp.argmax(a)))

integers("u8[6] s8[6] f32[6]",
         small_sums=lambda a, b, x: (a + a, a - 1, b * b, -b),
         small_casts=lambda a, b, x: (a.astype(jnp.int8), b.astype(jnp.uint8), b.astype(jnp.int32) * a),
         saturated=lambda a, b, x: (x.astype(jnp.int8), (100 * x).astype(jnp.uint8), (x * 1e10).astype(jnp.int32)),
         quantised=lambda a, b, x: jnp.clip(jnp.round(x / 0.1), -128, 127).astype(jnp.int8).astype(jnp.float32) * 0.1)

integers("u32[5] u32[5]",
         unsigned=lambda a, b: (a // b, a % b, a - b, a < b, a.astype(jnp.float32)))


@integers("u32[2]")
def threefry(key):
    return jax.random.uniform(jax.random.wrap_key_data(key), (5,)), jax.random.randint(jax.random.wrap_key_data(key), (4,), 0, 9)


@integers("s64[4] u64[4]")
def wide_integers(a, b):
    return a * a // 7, b >> 3, a.astype(jnp.int32), b.astype(jnp.float64), lax.population_count(b)


@integers("pred[5] pred[5]")
def logic(a, b):
    return a & ~b, a ^ b, a.sum(), jnp.where(a, 3, b), jnp.all(a | b)


# Mixed precision.

mixed("bf16[4,6] bf16[6,5] f32[5]",
      dense_bf16=lambda x, w, b: nn.relu(x @ w + b.astype(x.dtype)),
      dense_accumulating=lambda x, w, b: lax.dot(x, w, preferred_element_type=jnp.float32) + b,
      softmax_bf16=lambda x, w, b: nn.softmax(x, axis=-1),
      softmax_widened=lambda x, w, b: nn.softmax((x @ w).astype(jnp.float32) * b).astype(jnp.bfloat16),
      sums_bf16=lambda x, w, b: (x.sum(0), x.mean(), w.max(1), jnp.cumsum(w[:, 0])),
      norm_bf16=lambda x, w, b: normalised(x.astype(jnp.float32)).astype(jnp.bfloat16) * w[:, 0],
      gradient_bf16=lambda x, w, b: jax.grad(lambda w: jnp.tanh(x @ w).astype(jnp.float32).sum())(w))

mixed("f16[3,8] f16[8,4] f32[8]",
      gelu_f16=lambda x, w, b: nn.gelu(x) @ w,
      scaled_loss=lambda x, w, b: jax.grad(lambda w: 1024.0 * ((x @ w.astype(jnp.float16)) ** 2).mean())(w.astype(jnp.float32)) / 1024,
      transcendental_f16=lambda x, w, b: (jnp.exp(x), jnp.log(jnp.abs(x)), jnp.tanh(x), lax.rsqrt(x * x + 1), x ** 1.5),
      widened_to_f32=lambda x, w, b: (x * b, (x.astype(jnp.float32) @ w.astype(jnp.float32)).astype(jnp.float16)),
      between_halves=lambda x, w, b: (x.astype(jnp.bfloat16), (70000.0 * b).astype(jnp.float16), x.astype(jnp.int8)))


@mixed("f32[5,4] f32[4,3] s32[5]")
def master_weights(x, w, labels):
    def loss(w):
        return cross_entropy((x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(jnp.float32), labels)
    value, g = jax.value_and_grad(loss)(w)
    finite = jnp.isfinite(g).all()
    return value, jnp.where(finite, w - 0.1 * g, w)


@mixed("bf16[2,2,5,4] bf16[2,2,5,4] bf16[2,2,5,4]")
def attention_bf16(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=jnp.float32) * 0.5
    return nn.softmax(jnp.where(causal(5), scores, -jnp.inf)).astype(jnp.bfloat16) @ v


@mixed("bf16[1,2,6,6] bf16[3,2,3,3]")
def conv_bf16(x, w):
    return conv(x, w, preferred_element_type=jnp.float32), peak(x, start=jnp.bfloat16(-jnp.inf), window=(1, 1, 2, 2))


@mixed("s8[4,6] s8[6,3] f32[]")
def dense_int8(x, w, scale):
    return lax.dot(x, w, preferred_element_type=jnp.int32).astype(jnp.float32) * scale


# The larger ones.

def weights(**shapes):
    return {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in shapes.items()}


STAGES = [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]


def resnet_blocks():
    """Of each block: features that enter and its own, and the stride."""
    before = 64
    for width, count, stride in STAGES:
        for i in range(count):
            yield before, width, stride if i == 0 else 1
            before = 4 * width


def resnet_weights():
    unit = lambda i, o, k: {"w": (k, k, i, o), "scale": (o,), "shift": (o,), "mean": (o,), "variance": (o,)}
    blocks = [{"a": unit(i, n, 1), "b": unit(n, n, 3), "c": unit(n, 4 * n, 1), **({"d": unit(i, 4 * n, 1)} if i != 4 * n else {})}
              for i, n, _ in resnet_blocks()]
    all_weights = {"stem": unit(3, 64, 7), "blocks": blocks, "out": {"w": (2048, 1000), "b": (1000,)}}
    return jax.tree.map(lambda shape: jax.ShapeDtypeStruct(shape, jnp.float32), all_weights, is_leaf=lambda x: isinstance(x, tuple))


def resnet50(p, x):
    """ResNet-50's class scores of images, channels last, with statistics kept from training."""
    def unit(p, x, stride=1):
        x = conv(x, p["w"], stride, layout=NHWC)
        return (x - p["mean"]) * lax.rsqrt(p["variance"] + 1e-5) * p["scale"] + p["shift"]
    x = peak(nn.relu(unit(p["stem"], x, 2)), window=(1, 3, 3, 1), strides=(1, 2, 2, 1), padding="SAME")
    for block, (_, _, stride) in zip(p["blocks"], resnet_blocks()):
        y = nn.relu(unit(block["b"], nn.relu(unit(block["a"], x)), stride))
        x = nn.relu(unit(block["c"], y) + (unit(block["d"], x, stride) if "d" in block else x))
    return x.mean((1, 2)) @ p["out"]["w"] + p["out"]["b"]


def transformer_layer(p, x):
    """A layer of a decoder with its norms before attention and before its dense layers."""
    n, d = x.shape
    q, k, v = jnp.moveaxis((normalised(x) * p["scale"] @ p["qkv"]).reshape(n, 3, 4, d // 4), 0, 2)
    x = x + attend(q, k, v, causal(n)).swapaxes(0, 1).reshape(n, d) @ p["join"]
    return x + nn.gelu(normalised(x) * p["scale2"] @ p["up"]) @ p["down"]


def transformer12_gradient(layers, embedding, tokens):
    """The loss of predicting the next of TOKENS, and its gradient by all weights."""
    def loss(layers, embedding):
        x = embedding[tokens[:-1]]
        for p in layers:
            x = transformer_layer(p, x)
        return cross_entropy(normalised(x) @ embedding.T, tokens[1:])
    return jax.value_and_grad(loss, (0, 1))(layers, embedding)


def lstm100(p, x):
    """Class scores after a hundred steps."""
    (h, _), _ = lstm_over(x, p["w"], p["u"], jnp.zeros((x.shape[1], p["u"].shape[0])))
    return h @ p["out"]


def large(side=224, width=64):
    """The three larger programs: ResNet-50 of a square image, twelve layers of a transformer with gradient, an LSTM of a hundred steps."""
    layer = weights(qkv=(width, 3 * width), join=(width, width), up=(width, 4 * width), down=(4 * width, width), scale=(width,), scale2=(width,))
    shapes = {resnet50: [resnet_weights(), *arguments(f"f32[1,{side},{side},3]")],
              transformer12_gradient: [[layer] * 12, *arguments(f"f32[128,{width}] s32[33]")],
              lstm100: [weights(w=(16, 4 * width), u=(width, 4 * width), out=(width, 10)), *arguments("f32[100,4,16]")]}
    return {f.__name__: Program("large", f, shape, False) for f, shape in shapes.items()}


def traced(program):
    with precision(program.wide):
        return jax.jit(program.function).trace(*program.arguments)


def main():
    every = {**PROGRAMS, **large()}
    for name in sys.argv[1:] or every:
        program = every[name]
        shapes = " ".join(f"{x.dtype}{list(x.shape)}" for x in jax.tree.leaves(program.arguments)[-6:])
        print(f"{program.kind}\t{name}\t{shapes}\t{len(traced(program).jaxpr.eqns)}", flush=True)


if __name__ == "__main__":
    main()
