#!/usr/bin/env python3
"""A training step of examples/digits.c, in gemel and in PyTorch.

The example is compiled (its first argument is a seed) and run whole: loading, compiling and judging
after each epoch are in its time, which is divided by the steps. PyTorch does the same steps eagerly
and as torch.compile makes them: the same data, sizes, losses and updates (momentum 0.9); only its
steps are timed, after ten that aren't. All on one thread, gemel before and after PyTorch, the best of
each. One line each: microseconds a step, how many times as long PyTorch takes, and the share that is
read right in the end.

    digits.py --example build/digits --folder examples

Python 3.9 or later; numpy and torch from PyPI. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import os
import re
import subprocess
import sys
import time

HIDDEN, CLASSES, BATCH, EPOCHS, RATE = 256, 10, 64, 60, 0.05


def gemel_run(options, steps):
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    start = time.perf_counter()
    command = [os.path.abspath(options.example), "1"]
    out = subprocess.run(command, cwd=options.folder, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    right = re.findall(r"([0-9.]+) % right", out.stdout)
    return seconds / steps, float(right[-1]) if right else float("nan")


def torch_run(torch, images, labels, held, compiled):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    x, y = torch.from_numpy(images), torch.from_numpy(labels).long()
    net = torch.nn.Sequential(
        torch.nn.Linear(64, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, CLASSES)
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=0.9)

    def step(batch, wanted):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(batch.reshape(BATCH, 64).float() / 16), wanted)
        loss.backward()
        optimizer.step()
        return loss

    step = torch.compile(step) if compiled else step
    count, spent, best = len(x) - held, 0, float("inf")
    for epoch in range(EPOCHS):
        order = torch.randperm(count)
        for k in range(count // BATCH):
            chosen = order[k * BATCH : (k + 1) * BATCH]
            batch, wanted = x[chosen], y[chosen]
            start = time.perf_counter()
            step(batch, wanted)
            spent += time.perf_counter() - start
        if epoch > 0:
            best = min(best, spent / (count // BATCH))
        spent = 0
    right = (net(x[count:].reshape(-1, 64).float() / 16).argmax(1) == y[count:]).double().mean()
    return best, 100 * right.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--example", default="./digits", help="examples/digits.c, compiled")
    parser.add_argument("--folder", default="examples", help="where digits.npz is")
    parser.add_argument("--eager-only", action="store_true", help="without torch.compile")
    options = parser.parse_args()
    try:
        import numpy
        import torch
    except ImportError as problem:
        sys.exit(f"digits.py: {problem}")
    data = numpy.load(os.path.join(options.folder, "digits.npz"))
    mixed = numpy.random.default_rng(1).permutation(len(data["images"]))
    images, labels = data["images"][mixed], data["labels"][mixed]
    held = len(images) // 5
    steps = EPOCHS * ((len(images) - held) // BATCH)
    runs = [gemel_run(options, steps) for _ in range(3)]
    theirs = {"PyTorch": torch_run(torch, images, labels, held, False)}
    if not options.eager_only:
        theirs["torch.compile"] = torch_run(torch, images, labels, held, True)
    runs += [gemel_run(options, steps) for _ in range(3)]
    mine = min(seconds for seconds, _ in runs)
    print(f"{'gemel':16}{1e6 * mine:8.1f} us a step{'':15}{runs[0][1]:6.2f} % right")
    for name, (seconds, right) in theirs.items():
        print(f"{name:16}{1e6 * seconds:8.1f} us a step{seconds / mine:8.2f} times{right:7.2f} % right")


if __name__ == "__main__":
    main()
