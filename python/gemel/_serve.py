# SPDX-License-Identifier: MIT
"""An optimiser that stays, for `gemel campaign --server`: one process for all models."""
from __future__ import annotations

import os
import sys
from typing import Any, Callable


def serve(optimise: Callable[..., Any], name: str = "") -> None:
    """Answer `gemel campaign --server` until it ends: each model is optimise(model), or optimise(model, PASS) with
    --passes, of which model and result are onnx.ModelProto. NAME is the optimiser's, with its version. An exception is
    its failure, and the next model is asked for. Needs the package onnx."""
    import onnx

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the optimiser prints is no answer
    print(" ".join(name.split()), file=answers, flush=True)
    for line in sys.stdin:
        path, out, *passes = line.rstrip("\n").split("\t")
        try:
            onnx.save(optimise(onnx.load(path), *passes), out)
            print("ok", file=answers, flush=True)
        except Exception as error:
            print("error", f"{type(error).__name__}: {error}".replace("\n", " "), file=answers, flush=True)
