#!/usr/bin/env python3
"""A training step of examples/characters.c, in gemel and in PyTorch.

The example (an LSTM of 128 units over windows of 64 characters, 32 at a time, with Adam) is compiled
and run twice, for few steps and for many: what the others take longer is the time of a step, drawing
the windows included. PyTorch does the same steps with nn.LSTM, one call a window, and, as the example
is written, with nn.LSTMCell, one call a character: the same text, sizes, loss and updates; only its
steps are timed, after ten that aren't. All on one thread, in turns, the best of each; times are the
processor's. One line each: milliseconds a step, how many times as long PyTorch takes, and bits a
character in the end.

    lstm.py --example build/characters --text doc/verify.md [--hidden N] [--batch N] [--json F]

Python 3.9 or later; numpy and torch from PyPI. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time

WINDOW, CODES, RATE, STEPS = 64, 128, 0.002, 300


def gemel_run(options, steps):
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    command = [os.path.abspath(options.example), options.text, str(steps), "1", str(options.hidden), str(options.batch)]
    before = os.times()
    out = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    bits = re.findall(r"([0-9.]+) bits", out.stdout)
    return spent, float(bits[-1]) if bits else float("nan")


def gemel_step(options):
    few, _ = gemel_run(options, 100)
    many, bits = gemel_run(options, 100 + STEPS)
    return (many - few) / STEPS, bits


class Training:
    def __init__(self, torch, codes, options, cells):
        torch.manual_seed(1)
        self.torch, self.codes, self.batch = torch, torch.from_numpy(codes).long(), options.batch
        self.cells = cells
        self.lstm = (torch.nn.LSTMCell if cells else torch.nn.LSTM)(CODES, options.hidden)
        self.output = torch.nn.Linear(options.hidden, CODES)
        parameters = [*self.lstm.parameters(), *self.output.parameters()]
        self.optimizer = torch.optim.Adam(parameters, lr=RATE)

    def states(self, x):
        if not self.cells:
            return self.lstm(x)[0]
        state, all_states = None, []
        for row in x:
            state = self.lstm(row, state)
            all_states.append(state[0])
        return self.torch.stack(all_states)

    def step(self, window):
        functional = self.torch.nn.functional
        self.optimizer.zero_grad()
        logits = self.output(self.states(functional.one_hot(window[:-1], CODES).float()))
        loss = functional.cross_entropy(logits.reshape(-1, CODES), window[1:].reshape(-1))
        loss.backward()
        self.optimizer.step()
        return loss

    def run(self, steps):
        total, rows = 0, self.torch.arange(WINDOW + 1).unsqueeze(1)
        start = time.process_time()
        for _ in range(steps):
            begin = self.torch.randint(0, len(self.codes) - WINDOW, (self.batch,))
            total += self.step(self.codes[begin + rows]).item()
        return (time.process_time() - start) / steps, total / steps / math.log(2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--example", default="./characters", help="examples/characters.c, compiled")
    parser.add_argument("--text", default="doc/verify.md")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--json", help="write the figures to this file, a line each")
    options = parser.parse_args()
    try:
        import numpy
        import torch
    except ImportError as problem:
        sys.exit(f"lstm.py: {problem}")
    torch.set_num_threads(1)
    codes = numpy.fromfile(options.text, dtype=numpy.uint8) & (CODES - 1)
    theirs = {"nn.LSTM": Training(torch, codes, options, False),
              "nn.LSTMCell": Training(torch, codes, options, True)}
    best = {name: float("inf") for name in ["gemel", *theirs]}
    bits = {}
    for training in theirs.values():
        training.run(10)
    for _ in range(4):
        seconds, bits["gemel"] = gemel_step(options)
        best["gemel"] = min(best["gemel"], seconds)
        for name, training in theirs.items():
            seconds, bits[name] = training.run(100)
            best[name] = min(best[name], seconds)
    records = []
    for name, seconds in best.items():
        times = seconds / best["gemel"]
        print(f"{name:16}{1e3 * seconds:8.2f} ms a step{times:8.2f} times{bits[name]:8.3f} bits a character")
        records.append({"bench": "lstm", "program": name, "seconds": seconds, "times": times, "bits": bits[name], "hidden": options.hidden, "batch": options.batch,
                        "threads": 1, "torch": torch.__version__})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)


if __name__ == "__main__":
    main()
