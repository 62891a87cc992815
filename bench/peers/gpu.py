#!/usr/bin/env python3
"""The cases of `gemel bench gpu` in PyTorch, on the same GPU: seconds a call, and by how much gemel is faster.

gemel's figures come from `gemel bench gpu`, where operands and results lie on the GPU and calls are
waited for once in a number of them; PyTorch's operations are called one by one in the same way,
without gradients, and f32 without TF32, halves added up in f32, as gemel does.

    gpu.py --gemel ./gemel [--size 16777216] [--matrix 4096] [--json F]

Python 3.9 or later; torch from PyPI, with CUDA. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import json
import subprocess
import sys
import time


def cases(torch, device, elements, matrix):
    """name: a function that does what the case of this name does, and makes its operands when it is called first."""

    columns = 1
    while 4 * columns * columns <= elements:
        columns *= 2
    side = 1
    while 8 * side**3 <= elements:
        side *= 2
    vector, table = (elements,), (elements // columns, columns)
    cube, square = (side,) * 3, (matrix,) * 2

    def train(m, b, x, t):
        e = torch.addmm(b, m, x).sub_(t)
        m.sub_(e @ x.T, alpha=1e-9)
        b.sub_(e, alpha=1e-9)
        return (e * e).sum()

    def chain(x):
        return ((0.75 - -(x * 0.5 + 0.25)) * 1.5).abs().square().clamp(min=0.125)

    def sums(x):
        for _ in range(8):
            x = x.sum(0)
        return x

    made = {
        "dot f32": (torch.matmul, [square, square]),
        "dot f64": (torch.matmul, [square, square], torch.float64),
        "dot f16": (torch.matmul, [square, square], torch.float16),
        "dot bf16": (torch.matmul, [square, square], torch.bfloat16),
        "affine f32": (lambda m, x, b: torch.addmm(b, m, x), [square] * 3),
        "affine update f32": (lambda m, x, b: b.addmm_(m, x), [square] * 3),
        "training step f32": (train, [square] * 4),
        "neg f32": (torch.neg, [vector]),
        "add f32": (torch.add, [vector, vector]),
        "chain of 8 f32": (chain, [vector]),
        "tanh f32": (torch.tanh, [vector]),
        "normal f32": (lambda: torch.randn(vector, device=device), []),
        "sum f32": (torch.sum, [vector]),
        "sum rows f32": (lambda x: x.sum(1), [table]),
        "sum columns f32": (lambda x: x.sum(0), [table]),
        "sum [0]": (lambda x: x.sum(0), [cube]),
        "sum [1]": (lambda x: x.sum(1), [cube]),
        "sum [2]": (lambda x: x.sum(2), [cube]),
        "sum [0, 2]": (lambda x: x.sum((0, 2)), [cube]),
        "argmax rows f32": (lambda x: x.argmax(1), [table]),
        "argmax columns f32": (lambda x: x.argmax(0), [table]),
        "softmax f32": (lambda x: x.softmax(1), [table]),
        "softmax columns f32": (lambda x: x.softmax(0), [table]),
        "transposed f32": (lambda x: x.T.contiguous(), [table]),
        "order [1, 2, 0]": (lambda x: x.permute(1, 2, 0).contiguous(), [cube]),
        "reversed f32": (lambda x: x.flip(1), [table]),
        "every other row": (lambda x: x[::2].contiguous(), [table]),
        "every other column": (lambda x: x[:, ::2].contiguous(), [table]),
        "halves swapped f32": (lambda x: torch.cat((x[:, columns // 2:], x[:, :columns // 2]), 1), [table]),
        "there and back f32": (lambda x: x.to(device).neg().cpu(), [vector], torch.float32, "cpu"),
        "call: 1 node": (torch.neg, [(1,)]),
        "call: 8 sums": (sums, [(2,) * 8]),
    }

    def prepared(run, shapes, dtype=torch.float32, where=device):
        operands = [(torch.rand(shape, device=where) / 2 + 0.5).to(dtype) for shape in shapes]
        return lambda: run(*operands)

    return {name: (lambda case=case: prepared(*case)) for name, case in made.items()}


def seconds(torch, call):
    """As the bench does: so many calls that they take some milliseconds, and then one wait; the best of many."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    repeat = max(1, min(1000, int(2e-3 / (time.perf_counter() - start))))
    end, least = time.perf_counter() + 0.5, float("inf")
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(repeat):
            call()
        torch.cuda.synchronize()
        least = min(least, (time.perf_counter() - start) / repeat)
    return least


def gemel_seconds(options):
    command = [options.gemel, "bench", "gpu", "--size", str(options.size), "--matrix", str(options.matrix),
               "--json", "-"]
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = {}
    for line in out.stdout.splitlines():
        record = json.loads(line)
        if record["metric"] == "call":
            found[record["case"]] = record["value"]
    if not found:
        sys.exit(f"gpu.py: gemel bench gpu gave nothing: {out.stderr.strip()}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gemel", default="./gemel")
    parser.add_argument("--size", type=int, default=1 << 24)
    parser.add_argument("--matrix", type=int, default=4096)
    parser.add_argument("--json", help="write the figures to this file, a line each")
    options = parser.parse_args()
    try:
        import torch
    except ImportError as problem:
        sys.exit(f"gpu.py: {problem}")
    if not torch.cuda.is_available():
        sys.exit("gpu.py: PyTorch finds no GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    theirs = cases(torch, "cuda", options.size, options.matrix)
    records = []
    print(f"{'us a call':22}{'gemel':>12}{'PyTorch':>12}{'PyTorch / gemel':>17}")
    with torch.inference_mode():
        for name, mine in gemel_seconds(options).items():
            if name not in theirs:
                sys.exit(f"gpu.py: what is '{name}' in PyTorch?")
            their = seconds(torch, theirs[name]())
            print(f"{name:22}{1e6 * mine:12.2f}{1e6 * their:12.2f}{their / mine:17.2f}", flush=True)
            records.append({"bench": "gpu", "case": name, "unit": "s", "gemel": mine, "PyTorch": their,
                            "gpu": torch.cuda.get_device_name(), "torch": torch.__version__})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)


if __name__ == "__main__":
    main()
