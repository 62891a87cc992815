# SPDX-License-Identifier: MIT
"""gemel.serve under `gemel campaign`: a small optimiser, in a repository of its own, with one wrong condition."""
import os
import subprocess
import sys

import pytest

import gemel

onnx = pytest.importorskip("onnx")
parser = pytest.importorskip("onnx.parser")

OPTIMISER = '''
import sys
import gemel
from onnx import helper, numpy_helper


def constants(graph):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}


def drop(graph, node):
    """What reads NODE's result reads its first operand."""
    for other in graph.node:
        for k, name in enumerate(other.input):
            if name == node.output[0]:
                other.input[k] = node.input[0]
    graph.node.remove(node)


def neutral(model):
    """x + 0 and x * 1 are x."""
    known, outputs = constants(model.graph), {output.name for output in model.graph.output}
    for node in list(model.graph.node):
        wanted = {"Add": 0, "Mul": 1}.get(node.op_type)
        value = known.get(node.input[1]) if wanted is not None else None
        if value is not None and value.size == 1 and node.output[0] not in outputs and (value == wanted).all():
            drop(model.graph, node)
    return model


def pad_into_pool(model):
    """A padding becomes that of the pool behind it."""
    known = constants(model.graph)
    for pad in [node for node in model.graph.node if node.op_type == "Pad"]:
        pools = [node for node in model.graph.node if pad.output[0] in node.input]
        if len(pools) == 1 and pools[0].op_type == "MaxPool" and pad.input[1] in known:
            pads = known[pad.input[1]].tolist()  # the value of the padding isn't looked at: MaxPool's is -inf
            half = len(pads) // 2
            pools[0].attribute.append(helper.make_attribute("pads", pads[2:half] + pads[half + 2:]))
            drop(model.graph, pad)
    return model


PASSES = {"neutral": neutral, "pad_into_pool": pad_into_pool}


def optimise(model, name=None):
    if "raise" in model.graph.name:
        raise ValueError("no such model")
    for each in [name] if name else PASSES:
        model = PASSES[each](model)
    print("a word that is no answer")
    return model


if sys.argv[1:] == ["--passes"]:
    print("\\n".join(PASSES))
else:
    gemel.serve(optimise, "own 2.0")
'''
MODELS = {
    "good": "g (float[N] x) => (float[N] y) <float zero = {0}> { a = Add (x, zero) y = Relu (a) }",
    "pool": "g (float[1,1,4,4] x) => (float[1,1,4,4] y) <int64[8] q = {0,0,1,1,0,0,1,1}> "
            "{ p = Pad (x, q) y = MaxPool <kernel_shape = [3,3]> (p) }",
    "plain": "g (float[3] x) => (float[3] y) { y = Tanh (x) }",
    "raises": "raise (float[3] x) => (float[3] y) { y = Tanh (x) }",
}


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "optimise.py").write_text(OPTIMISER)
    (tmp_path / "models").mkdir()
    for name, text in MODELS.items():
        model = parser.parse_model('<ir_version: 8, opset_import: ["": 17]>' + text)
        onnx.save(model, str(tmp_path / "models" / (name + ".onnx")))
    return tmp_path


def campaign(repository, *options):
    command = [os.environ.get("GEMEL", "gemel"), "campaign", "models", "--server", f"{sys.executable} optimise.py", *options]
    paths = [os.path.dirname(os.path.dirname(gemel.__file__)), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    return subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, timeout=120)


def test_the_input_is_in_the_log(repository):
    done = campaign(repository, "--counterexample", "wrong")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "x = -1 each: y[0, 0, 0, 0] = 0 becomes -1; first different: Pad" in done.stdout
    assert "crashed" in done.stdout and "raises.onnx: the server: ValueError: no such model" in done.stdout
    assert "4 models, 1 equal, 1 unchanged, 1 crashed, 1 differs" in done.stdout
    assert (repository / "wrong" / "pool.onnx" / "input_0.pb").exists()


def test_the_pass_is_named(repository):
    done = campaign(repository, "--passes", f"{sys.executable} optimise.py --passes", "--json", "-")
    assert done.returncode == 1, done.stdout + done.stderr
    assert '"model": "pool.onnx", "pass": "pad_into_pool", "optimizer": "own 2.0", "outcome": "differs"' in done.stdout
