#!/usr/bin/env python3
"""gemel campaign on the released onnxoptimizer and onnxsim: small models, one of which both make wrong.

ArgMax(Exp(x)) becomes ArgMax(x) (eliminate_nop_monotone_argmax), which is wrong where exp rounds two
numbers to one. The other models are what optimisers rewrite every day; gemel must find them equal.

    campaign.py --gemel ./gemel [--keep DIR]

--keep writes the models, what runs the optimisers and the counterexamples to DIR. Exit status 0 if each model has the
outcome that is expected of it. Python 3.9 or later; numpy, onnx, onnxoptimizer and onnxsim from PyPI.
Never needed to build or test gemel. SPDX-License-Identifier: MIT
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPTIMISERS = {
    "onnxoptimizer": "import onnxoptimizer\nafter = onnxoptimizer.optimize(before)\n",
    "onnxsim": "import onnxsim\nafter = onnxsim.simplify(before)[0]\n",
}


def weight(name, *shape):
    numbers = numpy.random.default_rng(len(name)).normal(size=shape).astype("f")
    return numpy_helper.from_array(abs(numbers) + 0.5 if name == "variance" else numbers, name)


def model(nodes, shape, weights=(), output=TensorProto.FLOAT):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", output, None)], list(weights))
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(proto)  # onnxsim wants the output's shape


def models():
    node = helper.make_node
    yield "argmax_of_exp", model([node("Exp", ["x"], ["e"]), node("ArgMax", ["e"], ["y"], axis=1)], ["N", 5],
                                 output=TensorProto.INT64)
    yield "argmax", model([node("ArgMax", ["x"], ["y"], axis=1)], ["N", 5], output=TensorProto.INT64)
    yield "identities", model([node("Identity", ["x"], ["a"]), node("Relu", ["a"], ["b"]), node("Dropout", ["b"], ["y"])],
                              ["N", 4])
    yield "transposes", model([node("Transpose", ["x"], ["a"], perm=[0, 2, 1]), node("Transpose", ["a"], ["b"], perm=[0, 2, 1]),
                               node("Tanh", ["b"], ["y"])], [2, 3, 4])
    yield "pad_conv_norm", model(
        [node("Pad", ["x", "pads"], ["p"]), node("Conv", ["p", "w"], ["c"]),
         node("BatchNormalization", ["c", "scale", "bias", "mean", "variance"], ["n"]), node("Relu", ["n"], ["y"])],
        [1, 3, 8, 8], [weight("w", 4, 3, 3, 3), weight("scale", 4), weight("bias", 4), weight("mean", 4), weight("variance", 4),
                       numpy_helper.from_array(numpy.array([0, 0, 1, 1, 0, 0, 1, 1]), "pads")])
    yield "product_and_bias", model([node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "b"], ["y"])], [5, 3],
                                    [weight("w", 3, 4), weight("b", 4)])


def campaign(gemel, folder, optimiser):
    script = os.path.join(folder, f"by_{optimiser}.py")  # not called as the module that it imports
    with open(script, "w") as file:
        file.write("import sys, onnx\nbefore = onnx.load(sys.argv[1])\n" + OPTIMISERS[optimiser] + "onnx.save(after, sys.argv[2])\n")
    outcomes = os.path.join(folder, optimiser + ".json")
    command = [gemel, "campaign", os.path.join(folder, "models"), "--optimizer", f"{sys.executable} {script} {{in}} {{out}}",
               "--json", outcomes, "--counterexample", os.path.join(folder, optimiser)]
    print(" ".join(command), flush=True)
    subprocess.run(command, check=False)
    with open(outcomes) as file:
        return {record["model"][:-5]: record["outcome"] for record in map(json.loads, file)}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--gemel", default="./gemel")
    arguments.add_argument("--keep", default=None)
    given = arguments.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or scratch
        os.makedirs(os.path.join(folder, "models"), exist_ok=True)
        for name, proto in models():
            onnx.save(proto, os.path.join(folder, "models", name + ".onnx"))
        for optimiser in OPTIMISERS:
            for name, outcome in campaign(given.gemel, folder, optimiser).items():
                expected = "differs" if name == "argmax_of_exp" else "equal"
                if outcome != expected:
                    print(f"{optimiser}: {name}: {outcome}, expected: {expected}")
                    good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
