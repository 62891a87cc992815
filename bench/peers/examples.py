#!/usr/bin/env python3
"""examples/logistic.py and transformer.py beside the same programs in JAX: the losses that both print, and how far they are apart.

    python3 examples.py          needs the package gemel, JAX and NumPy
SPDX-License-Identifier: MIT"""
import pathlib
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def printed(name):
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, check=True)
    return [float(loss) for loss in re.findall(r"loss ([\d.]+)", done.stdout)]


def logistic():
    x = jnp.array([[np.sin(7 * k), np.cos(11 * k)] for k in range(200)])
    y = (x[:, 0] + 0.5 * x[:, 1] > 0.1).astype(jnp.float64)

    def loss_of(weights):
        logits = x @ weights[0] + weights[1]
        return (jnp.logaddexp(0, logits) - y * logits).mean()

    weights = (jnp.zeros(2), 0.0)
    for _ in range(200):
        loss, slopes = jax.value_and_grad(loss_of)(weights)
        weights = jax.tree.map(lambda w, g: w - g, weights, slopes)
    return [float(loss)]


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def transformer():
    text = "the cat sat on the mat, the rat sat on the hat, "
    letters = sorted(set(text))
    ids = np.array([letters.index(c) for c in text])
    n, d, heads, t = len(letters), 16, 2, len(ids) - 1
    rng = np.random.default_rng(0)
    shapes = [(n, d), (d, 3 * d), (d, d), (d, 4 * d), (4 * d, d), (d, n), (len(ids), d)]
    weights = [jnp.array(rng.standard_normal(s) / np.sqrt(s[0])) for s in shapes]

    def loss_of(weights):
        embedding, qkv, out, up, down, head, places = weights
        x = embedding[ids[:-1]] + places[:t]
        q, k, v = (part.reshape(t, heads, d // heads).transpose(1, 0, 2)
                   for part in jnp.split(layer_norm(x) @ qkv, 3, axis=1))
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), q @ k.transpose(0, 2, 1) / np.sqrt(d // heads), -jnp.inf)
        x = x + (jax.nn.softmax(scores) @ v).transpose(1, 0, 2).reshape(t, d) @ out
        x = x + jax.nn.gelu(layer_norm(x) @ up, approximate=False) @ down
        logs = jax.nn.log_softmax(layer_norm(x) @ head)
        return -logs[jnp.arange(t), ids[1:]].mean()

    mean, square, losses = [w * 0 for w in weights], [w * 0 for w in weights], []
    for step in range(1, 102):
        loss, slopes = jax.jit(jax.value_and_grad(loss_of))(weights)
        mean = [0.9 * m + 0.1 * g for m, g in zip(mean, slopes)]
        square = [0.999 * s + 0.001 * g * g for s, g in zip(square, slopes)]
        weights = [w - 0.01 * (m / (1 - 0.9 ** step)) / (jnp.sqrt(s / (1 - 0.999 ** step)) + 1e-8)
                   for w, m, s in zip(weights, mean, square)]
        if step % 50 == 1:
            losses.append(float(loss))
    return losses


def main():
    for name, of in (("logistic.py", logistic), ("transformer.py", transformer)):
        ours, theirs = printed(name), of()
        apart = max(abs(a - b) for a, b in zip(ours, theirs))
        print(f"{name}: gemel {ours}, JAX {[round(loss, 6) for loss in theirs]}, apart {apart:.1e}")


main()
