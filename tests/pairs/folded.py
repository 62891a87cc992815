# SPDX-License-Identifier: MIT
#
# Writes folded.pairs: constants folded by NumPy, in the arithmetic of the graph's own dtype or in
# f64. Each case is there once as it is, and once with one folded element off by 1e-4 of itself.
#
#   python3 tests/pairs/folded.py > tests/pairs/folded.pairs

import numpy as np

random = np.random.default_rng(14)
cases = []


def text(a):
    a = np.asarray(a)
    name = {"float32": "f32", "float64": "f64"}[str(a.dtype)]
    numbers = ", ".join(repr(float(x)) if name == "f64" else str(np.float32(x)) for x in a.ravel())
    return f"tensor({name}[{', '.join(map(str, a.shape))}], [{numbers}])"


def draw(dtype, *shape):
    return random.uniform(-1, 1, shape).astype(dtype)


def positive(dtype, *shape):
    return random.uniform(0.5, 2, shape).astype(dtype)


def case(name, inputs, first, second, constants, folded):
    """FIRST and SECOND are bodies with {names} of CONSTANTS and FOLDED, arrays both."""
    names = {k: text(v) for k, v in constants.items()}
    names |= {k: text(v) for k, v in folded.items()}
    a = f"graph a({inputs}) {{\n  {first.format(**names)}\n}}\n"
    b = f"graph b({inputs}) {{\n  {second.format(**names)}\n}}\n"
    cases.append(f"== equal {name} says=folded instances=10\n{a}{b}")
    which = list(folded)[random.integers(len(folded))]
    wrong = np.array(folded[which])
    at = random.integers(wrong.size)
    wrong.flat[at] *= wrong.dtype.type(1 + 1e-4)
    names[which] = text(wrong)
    b = f"graph b({inputs}) {{\n  {second.format(**names)}\n}}\n"
    cases.append(f"== differ {name}-off instances=10\n{a}{b}")


def both(dtype, wide):
    """NumPy in the dtype itself, or in f64 with one rounding at the end."""
    t = np.float64 if wide else dtype
    return lambda *arrays: [np.asarray(a, t) for a in arrays]


f32, f64 = np.float32, np.float64

# A scale of the columns.
w, s = draw(f32, 5, 4), positive(f32, 4)
case("columns-scaled", "x: f32[3, 5]", "return y = dot(x, {w}) * {s}", "return y = dot(x, {v})",
     {"w": w, "s": s}, {"v": w * s})

# One factor for all, in f64 and rounded.
w = draw(f32, 4, 4)
case("all-scaled", "x: f32[N, 4]", "return y = dot(x, {w}) * 0.35355338", "return y = dot(x, {v})",
     {"w": w}, {"v": (w.astype(f64) * f64(f32(0.35355338))).astype(f32)})

# Batch normalisation behind a product, in both arithmetics.
for dtype, wide, name in ((f32, False, "batch-norm"), (f32, True, "batch-norm-wide"),
                          (f64, False, "batch-norm-f64")):
    d = "f32" if dtype == f32 else "f64"
    w, b, mean = draw(dtype, 4, 3), draw(dtype, 3), draw(dtype, 3)
    var, gamma, beta = positive(dtype, 3), positive(dtype, 3), draw(dtype, 3)
    eps = dtype(1e-3)
    W, B, M, V, G, T, E = both(dtype, wide)(w, b, mean, var, gamma, beta, eps)
    k = G / np.sqrt(V + E)
    case(name, f"x: {d}[2, 4]",
         "z = dot(x, {w}) + {b}\n  return y = (z - {m}) / sqrt({v} + {e}) * {g} + {t}",
         "return y = dot(x, {W}) + {B}",
         {"w": w, "b": b, "m": mean, "v": var, "e": eps, "g": gamma, "t": beta},
         {"W": (W * k).astype(dtype), "B": ((B - M) * k + T).astype(dtype)})

# Normalised inputs: mean and deviation folded into the weights that follow.
w, b, mean, dev = draw(f32, 4, 3), draw(f32, 3), draw(f32, 4), positive(f32, 4)
v = (w.astype(f64) / dev.astype(f64)[:, None])
case("inputs-normalised", "x: f32[N, 4]", "return y = dot((x - {m}) / {d}, {w}) + {b}",
     "return y = dot(x, {v}) + {c}", {"w": w, "b": b, "m": mean, "d": dev},
     {"v": v.astype(f32), "c": (b - (mean.astype(f64) @ v)).astype(f32)})

# A mean folded into a bias alone.
w, mean = draw(f64, 4, 3), draw(f64, 4)
case("mean-to-bias", "x: f64[2, 4]", "return y = dot(x - {m}, {w})",
     "return y = dot(x, {w}) - {c}", {"w": w, "m": mean}, {"c": mean @ w})

# A convolution of width 3 as three products, with batch normalisation in other words.
w, var, gamma = draw(f32, 3, 2, 3), positive(f32, 3), positive(f32, 3)
mean = draw(f32, 3)
r = (f32(1) / np.sqrt(var)) * gamma
taps = ["dot(subtensor(p, start = [{0}, 0], size = [6, 2]), {w{0}})".replace("{0}", str(k))
        for k in range(3)]
case("convolution", "x: f32[6, 2]",
     "p = pad(x, 0, low = [1, 0], high = [1, 0])\n  z = " + " + ".join(taps) +
     "\n  return y = relu((z - {m}) / sqrt({v}) * {g})",
     "p = pad(x, 0, low = [1, 0], high = [1, 0])\n  z = " + " + ".join(taps).replace("{w", "{u") +
     "\n  return y = relu(z - {c})",
     {"w0": w[0], "w1": w[1], "w2": w[2], "v": var, "g": gamma, "m": mean},
     {"u0": w[0] * r, "u1": w[1] * r, "u2": w[2] * r, "c": mean * r})

# The same as one product of gathered windows, channels moved to the front behind it.
w, s, t = draw(f32, 6, 3), positive(f32, 3, 1), draw(f32, 3, 1)
gathered = ("a = subtensor(x, start = [0, 0], size = [4, 2])\n"
            "  b = subtensor(x, start = [1, 0], size = [4, 2])\n"
            "  c = subtensor(x, start = [2, 0], size = [4, 2])\n"
            "  g = join(a, b, c, axis = 1)\n"
            "  z = reshape(dimshuffle(dot(g, {w}), order = [1, 0]), shape = [3, 2, 2])\n  ")
case("windows", "x: f32[6, 2]",
     gathered + "return y = z * reshape({s}, shape = [3, 1, 1]) + reshape({t}, shape = [3, 1, 1])",
     gathered.replace("{w}", "{v}") + "return y = z + {u}",
     {"w": w, "s": s, "t": t}, {"v": w * s.ravel(), "u": t.reshape(3, 1, 1) * f32(1)})

# Two products in a row.
u, v, b, c = draw(f64, 4, 5), draw(f64, 5, 3), draw(f64, 5), draw(f64, 3)
case("two-products", "x: f64[2, 4]", "return y = dot(dot(x, {u}) + {b}, {v}) + {c}",
     "return y = dot(x, {w}) + {d}", {"u": u, "v": v, "b": b, "c": c},
     {"w": u @ v, "d": b @ v + c})

# Scores of attention: the factor goes to one of the weights, or its root to both.
q, k = draw(f32, 4, 4), draw(f32, 4, 4)
scores = "return y = softmax(dot(dot(x, {q}), dot(x, {k}), contract_x = [1], contract_y = [1])"
case("attention", "x: f32[3, 4]", scores + " * 0.35355338)", scores.replace("{q}", "{p}") + ")",
     {"q": q, "k": k}, {"p": q * f32(0.35355338)})
h = np.sqrt(f32(0.35355338))
case("attention-in-halves", "x: f32[3, 4]", scores + " * 0.35355338)",
     scores.replace("{q}", "{p}").replace("{k}", "{o}") + ")", {"q": q, "k": k},
     {"p": q * h, "o": k * h})

# Weights side by side, one of them scaled, and transposed.
q, k = draw(f32, 4, 2), draw(f32, 4, 3)
case("side-by-side", "x: f32[3, 4]", "return y = join(dot(x, {q}) * 0.7, dot(x, {k}), axis = 1)",
     "return y = dot(x, {w}, contract_x = [1], contract_y = [0])", {"q": q, "k": k},
     {"w": np.concatenate([q * f32(0.7), k], 1)})
w, s = draw(f32, 4, 3), positive(f32, 3)
case("transposed", "x: f32[3, 4]", "return y = dot(x, {w}) * {s}",
     "return y = dot(x, {v}, contract_x = [1], contract_y = [1])", {"w": w, "s": s},
     {"v": (w * s).T.copy()})

# A gain behind a norm, folded into what follows.
g, w = positive(f32, 4), draw(f32, 4, 3)
norm = "r = 1 / sqrt(sum(x * x, axes = [1], keepdims = 1) / 4 + 1e-3)\n  return y = "
case("gain", "x: f32[2, 4]", norm + "dot(x * r * {g}, {w})", norm + "dot(x * r, {v})",
     {"g": g, "w": w}, {"v": g[:, None] * w})

# A mean over places, its 1/6 folded into what follows.
w = draw(f32, 4, 3)
case("pooled", "x: f32[2, 6, 4]", "return y = dot(sum(x, axes = [1]) / 6, {w})",
     "return y = dot(sum(x, axes = [1]), {v})", {"w": w}, {"v": w * f32(1 / 6)})

# The first graph has folded one layer, the second the other.
u, v, s, t = draw(f32, 3, 4), draw(f32, 4, 2), positive(f32, 4), positive(f32, 2)
case("one-layer-each", "x: f32[2, 3]", "return y = dot(relu(dot(x, {us})), {v}) * {t}",
     "return y = dot(relu(dot(x, {u}) * {s}), {vt})", {"us": u * s, "v": v, "t": t, "u": u, "s": s},
     {"vt": v * t})

# A constant that the first graph computes, and one number.
w, v = draw(f32, 3, 4), draw(f32, 4, 3)
case("computed", "x: f32[3]", "return y = dot(exp({w}) * 0.5, x * 1, contract_x = [0], contract_y = [0])",
     "return y = dot({e}, x, contract_x = [0], contract_y = [0])", {"w": w},
     {"e": np.exp(w) * f32(0.5)})
case("one-number", "x: f64[4]", "return y = x / sqrt(8)", "return y = x * {c}", {},
     {"c": np.float64(1) / np.sqrt(np.float64(8))})

# Forbidden.
w, s = draw(f32, 3, 2), positive(f32, 2)
cases.append(f"""== differ forbidden instances=10 allow=nsz,ninf,nnan,contract,arcp,afn,reassoc
graph a(x: f32[2, 3]) {{
  return y = dot(x, {text(w)}) * {text(s)}
}}
graph b(x: f32[2, 3]) {{
  return y = dot(x, {text(w * s)})
}}
""")

# Batch normalisation behind a correlation: of images and of what a relu made of it, with padding,
# stride and groups, and in front of one without padding.
for name, attrs, groups in (("corr", "", 1), ("corr-padded", ", low = [1, 1], high = [1, 1]", 1),
                            ("corr-strided", ", stride = [2, 2]", 1),
                            ("corr-groups", ", groups = 2", 2), ("corr-flipped", ", flip = 1", 1)):
    w, b, mean = draw(f32, 4, 2 // groups, 2, 2), draw(f32, 4, 1, 1), draw(f32, 4, 1, 1)
    var, gamma, beta = positive(f32, 4, 1, 1), positive(f32, 4, 1, 1), draw(f32, 4, 1, 1)
    k = gamma.astype(f64) / np.sqrt(var.astype(f64) + f64(f32(1e-3)))
    case(name, "x: f32[1, 2, 3, 3]",
         "z = corr(x, {w}" + attrs + ") + {b}\n"
         "  return y = relu((z - {m}) / sqrt({v} + 1e-3) * {g} + {t})",
         "return y = relu(corr(x, {W}" + attrs + ") + {B})",
         {"w": w, "b": b, "m": mean, "v": var, "g": gamma, "t": beta},
         {"W": (w * k[:, :, :, None]).astype(f32), "B": ((b - mean) * k + beta).astype(f32)})
w, mean, dev, b = draw(f32, 3, 2, 2, 2), draw(f32, 2, 1, 1), positive(f32, 2, 1, 1), draw(f32, 3, 1, 1)
v = w.astype(f64) / dev.astype(f64)[None]
case("images-normalised", "x: f32[1, 2, 3, 3]", "return y = corr((x - {m}) / {d}, {w}) + {b}",
     "return y = corr(x, {v}) + {c}", {"w": w, "m": mean, "d": dev, "b": b},
     {"v": v.astype(f32),
      "c": (b - (v * mean.astype(f64)[None]).sum(axis=(1, 2, 3))[:, None, None]).astype(f32)})

# A scale of images behind the correlation's gradient by them, and weights before it.
w, s = draw(f32, 3, 2, 2, 2), positive(f32, 2, 1, 1)
case("corr-transposed", "y: f32[1, 3, 2, 2]",
     "return x = corr_grad_inputs({w}, y, image = [3, 3]) * {s}",
     "return x = corr_grad_inputs({v}, y, image = [3, 3])", {"w": w, "s": s}, {"v": w * s[None]})

# Through what else is linear: means of windows, order of elements, parts, choices.
w, s = draw(f32, 3, 2, 1, 1), positive(f32, 3, 1, 1)
for name, wrap in (("average-of-windows", "avg_pool({0}, size = [2, 2])"),
                   ("reversed", "reverse({0}, axes = [2])"),
                   ("chosen", "where(c, {0}, 0)")):
    case(name, "x: f32[1, 2, 2, 2]" + (", c: bool[2]" if name == "chosen" else ""),
         "return y = " + wrap.replace("{0}", "corr(x, {w})") + " * {s}",
         "return y = " + wrap.replace("{0}", "corr(x, {v})"), {"w": w, "s": s},
         {"v": w * s[:, :, :, None]})

# Both biases of a recurrent layer, which are one tensor, written over one of them.
b = draw(f32, 8)
for name, wrap in (("halves", "tanh(x + (m + n))"), ("halves-of-product", "sigmoid(x * (m * n))")):
    second = np.concatenate([b[:4] + b[4:], np.zeros(4, f32)] if name == "halves" else
                            [b[:4] * b[4:], np.ones(4, f32)])
    case(name, "x: f32[2, 4]", "m, n = split({b}, sizes = [4, 4])\n  return y = " + wrap,
         "m, n = split({v}, sizes = [4, 4])\n  return y = " + wrap, {"b": b}, {"v": second})

# A factor behind a term, and another one before it, of which the weights take up the last alone.
w, c, b = draw(f32, 3, 4), draw(f32, 2, 3, 2, 2), draw(f32, 3)
case("factor-behind-a-term", "x: f32[2, 3]", "return y = dot((x * 0.3 + {b}) * 0.7, {w})",
     "return y = dot(x * 0.3 + {b}, {v})", {"b": b, "w": w}, {"v": w * f32(0.7)})
case("factor-of-images-behind-a-term", "x: f32[1, 3, 3, 3]",
     "return y = corr((x * 0.3 + -1.1) * 0.7, {c})", "return y = corr(x * 0.3 + -1.1, {v})", {"c": c},
     {"v": c * f32(0.7)})

# Bounds that infinities alone exceed, behind what overflows: Clip of ONNX without bounds.
case("bounded-by-the-largest", "x: f32[6, 3]",
     "return y = minimum(maximum(dot(x, {w}) * 1.7, -3.4028235e+38), 3.4028235e+38)",
     "return y = minimum(maximum(dot(x, {v}), -3.4028235e+38), 3.4028235e+38)", {"w": w},
     {"v": w * f32(1.7)})

print("# Constants that were folded; made by folded.py.\n# SPDX-License-Identifier: MIT")
print("".join(cases), end="")
