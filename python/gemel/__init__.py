# SPDX-License-Identifier: MIT
"""gemel: symbolic tensor graphs, and evidence that what is made of them is the same function.

    answer = gemel.equal("model.onnx", "model.optimized.onnx")
    print(answer)             # the evidence, or a counterexample

    @gemel.function
    def length(x: gemel.f64["N"]):
        return gemel.sqrt(gemel.sum(x * x))

    length([3.0, 4.0])        # 5.0

doc/python.md of the project has more.
"""
from . import _functions, _names, _native
from ._equal import (Counterexample, Equality, Evidence, Proof, Proofs, Rules, assert_equal, equal, prove_rules,
                     verify_rules)
from ._errors import Error
from ._functions import *  # noqa: F401,F403
from ._graph import Compiled, Function, Graph, Shared, apply, define, function, grad, jvp
from ._loops import scan
from ._names import *  # noqa: F401,F403
from ._serve import serve
from ._tensor import Tensor, as_tensor
from ._train import adam, load, save, sgd
from ._types import DType, DTYPES, Type, dtype
from ._values import Value

_native.set_classes(Tensor, Graph, Value, Error, as_tensor)
__version__: str = _native.VERSION
bool_, f16, bf16, f32, f64 = (DTYPES[name] for name in ("bool", "f16", "bf16", "f32", "f64"))
i8, i16, i32, i64, u8, u16, u32, u64 = (DTYPES[s + n] for s in "iu" for n in ("8", "16", "32", "64"))
shared = Shared
WORDS = dict(zip(_native.WORDS, _native.MEANINGS))

__all__ = ["Compiled", "Counterexample", "DType", "Equality", "Error", "Evidence", "Function", "Graph", "Proof",
           "Proofs", "Rules", "Shared", "Tensor", "Type", "Value", "WORDS", "adam", "apply", "as_tensor", "assert_equal",
           "bool_", "define", "dtype", "equal", "function", "grad", "jvp", "load", "prove_rules", "save", "serve", "sgd", "scan", "shared", "verify_rules",
           *(name for name in DTYPES if name != "bool"), *_functions.__all__, *_names.__all__]
