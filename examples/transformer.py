# A transformer block, with causal attention of two heads, trained by Adam to say what comes next in a rhyme of letters.
# SPDX-License-Identifier: MIT
#   python transformer.py
import numpy as np
import gemel

text = "the cat sat on the mat, the rat sat on the hat, "
letters = sorted(set(text))
ids = np.array([letters.index(c) for c in text])
n, d, heads = len(letters), 16, 2
rng = np.random.default_rng(0)
def weights(name, *shape):
    return gemel.Shared(rng.standard_normal(shape) / np.sqrt(shape[0]), name)
embedding, qkv, out = weights("embedding", n, d), weights("qkv", d, 3 * d), weights("out", d, d)
up, down, head = weights("up", d, 4 * d), weights("down", 4 * d, d), weights("head", d, n)
places = weights("places", len(ids), d)

def block(x):
    def split(v):  # [T, d] as [heads, T, d / heads]
        return gemel.transpose(v.reshape(-1, heads, d // heads), (1, 0, 2))
    q, k, v = gemel.split(gemel.layer_norm(x) @ qkv, 3, axis=1)
    seen = gemel.attention(split(q), split(k), split(v), causal=True)
    x = x + gemel.transpose(seen, (1, 0, 2)).reshape(-1, d) @ out
    return x + gemel.gelu(gemel.layer_norm(x) @ up) @ down

@gemel.function
def train(ids: gemel.i64[len(ids) - 1], following: gemel.i64[len(ids) - 1]):
    x = block(gemel.embedding(ids, embedding) + places[: len(ids)])
    loss = gemel.mean(gemel.cross_entropy(gemel.layer_norm(x) @ head, following))
    gemel.adam(loss, rate=0.01)
    return loss

for step in range(101):
    loss = train(ids[:-1], ids[1:])
    if step % 50 == 0:
        print(f"step {step}: loss {float(loss):.6f}")
