# SPDX-License-Identifier: MIT
"""The examples in Python: what they print, how long they are, and that a checker of types takes a program."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import gemel

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def run(name):
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def lines(name):
    return len([line for line in (EXAMPLES / name).read_text().splitlines() if line.strip() and not line.startswith("#")])


def test_logistic_regression():
    x = np.array([[np.sin(7 * k), np.cos(11 * k)] for k in range(200)])
    y = (x[:, 0] + 0.5 * x[:, 1] > 0.1).astype(np.float64)
    w, b = np.zeros(2), 0.0
    for _ in range(200):
        logits = x @ w + b
        loss = (np.logaddexp(0, logits) - y * logits).mean()
        rest = (1 / (1 + np.exp(-logits)) - y) / len(y)
        w, b = w - x.T @ rest, b - rest.sum()
    assert run("logistic.py") == f"loss {loss:.6f}, w {w.round(6)}, b {b:.6f}\n" and lines("logistic.py") <= 15


def test_transformer():
    losses = [float(found) for found in re.findall(r"loss ([\d.]+)", run("transformer.py"))]
    assert len(losses) == 3 and losses[0] > 2 and losses[2] < 0.02 < losses[0] and lines("transformer.py") <= 35


def test_lengths_in_c():
    """Lines of code, without comments, of the same two programs in C."""
    for name, most in (("logistic.c", 25), ("transformer.c", 70)):
        code = re.sub(r"/\*.*?\*/", "", (EXAMPLES / name).read_text(), flags=re.S)
        assert len([line for line in code.splitlines() if line.strip()]) <= most


def test_types(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text("""
import gemel
import numpy as np


def length(x: gemel.Value) -> gemel.Value:
    y: gemel.Value = gemel.sqrt(gemel.sum(x * x)) / x.shape[0]
    return y


f = gemel.function(length, gemel.f64["N"])
answer: gemel.Equality = gemel.equal("a.onnx", "b.onnx", allow="nsz")
print(bool(answer), answer.words[0].upper(), float(f([1.0])))
w = gemel.Shared(np.zeros(3), "w")
t: gemel.Tensor = w.value
print(t.shape, gemel.layer_norm(w).dtype.name, gemel.reshape(w, (3, 1)).T)
""")
    package = pathlib.Path(gemel.__file__).parents[1]
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", tmp_path / "cache", "user.py"],
                          cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(package)})
    assert "Success" in done.stdout, done.stdout
