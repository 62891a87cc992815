# Logistic regression on 200 points of two classes, by gradient descent. SPDX-License-Identifier: MIT
#   python logistic.py
import numpy as np
import gemel

x = np.array([[np.sin(7 * k), np.cos(11 * k)] for k in range(200)])
y = (x[:, 0] + 0.5 * x[:, 1] > 0.1).astype(np.float64)
w, b = gemel.Shared(np.zeros(2), "w"), gemel.Shared(0.0, "b")

@gemel.function
def train(x: gemel.f64["N", 2], y: gemel.f64["N"]):
    loss = gemel.binary_cross_entropy(x @ w + b, y)
    gemel.sgd(loss, rate=1.0)
    return loss

for _ in range(200):
    loss = train(x, y)
print(f"loss {float(loss):.6f}, w {w.numpy().round(6)}, b {float(b.value):.6f}")
