#!/usr/bin/env python3
"""Released optimisers of ONNX models, judged by gemel campaign on models that gemel models draws; and who confirms it.

    campaign.py --gemel build/gemel [--count 3000] [--seed 6] [--optimisers onnxsim,ort-basic] [--keep DIR]
                [--seconds S] [--markdown bench/results/campaign.md]

Each optimiser is a server (optimisers.py). What differs is run by ONNX Runtime without optimisations and by onnx's
reference evaluator, before and after, at the inputs that gemel shows (found.py): a difference that neither sees, though
one at least runs both models, is called a false alarm. Python 3.9 or later; numpy, onnx, onnxruntime, onnxoptimizer,
onnxsim, onnxslim, onnxscript from PyPI, and the package gemel (PYTHONPATH=build/python). Never needed to build or test
gemel. SPDX-License-Identifier: MIT
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

import found
from optimisers import OPTIMISERS

HEAD = """# Released optimisers on drawn models

`bench/peers/campaign.py --count {count} --seed {seed} --seconds {seconds}`: each of {count} models that `gemel models` draws goes through each optimiser, and
`gemel campaign` judges the result. *Confirmed*: of what differs or is invalid, where ONNX Runtime without optimisations or onnx's reference evaluator
sees another result at the inputs that gemel shows, or refuses what the optimiser made. *Undefined*: neither sees one, and what differs are values that ONNX leaves undefined
(casts out of range), or the overflow, from 1e19 on, of what ONNX defines GroupNormalization by, which gemel's doesn't have. *Alarm*: where one of them runs
both models and none sees a difference. *Unconfirmed*: where neither runs the model itself.

| optimiser | judged | equal | unchanged | differs | invalid | confirmed | undefined | alarm | unconfirmed | crashed, silent | open | not read | no verdict | seconds |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""


def is_undefined(row):
    words = set(row["not_allowed"])
    return bool(words) and (words <= {"narrows", "widens"} or words == {"worsens"} and row["first_node"].startswith("GroupNormalization"))


def judge(row):
    """"confirmed", "undefined", "alarm" or "unconfirmed"."""
    if "folder" not in row:
        return "unconfirmed"
    try:
        seen, runs = found.confirmed(row["folder"], count=True)
    except Exception as error:
        print(f"{row['model']}: {type(error).__name__}: {error}", file=sys.stderr)
        return "unconfirmed"
    return "confirmed" if seen else "undefined" if is_undefined(row) else "alarm" if runs else "unconfirmed"


def campaign(given, optimiser, folder):
    outcomes = os.path.join(folder, optimiser + ".json")
    server = f"{given.python} {os.path.join(found.HERE, 'optimisers.py')} {optimiser}"
    command = [given.gemel, "campaign", os.path.join(folder, "models"), "--server", server, "--json", outcomes, "--seconds",
               str(given.seconds), "--html", os.path.join(folder, optimiser + ".html"), "--counterexample",
               os.path.join(folder, optimiser)]
    began = time.monotonic()
    with open(os.path.join(folder, optimiser + ".txt"), "w", encoding="utf-8") as file:
        subprocess.run(command, check=False, stdout=file, stderr=subprocess.STDOUT)
    with open(outcomes, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return rows, time.monotonic() - began


def line_of(optimiser, rows, seconds):
    counts = collections.Counter(row["outcome"] for row in rows)
    verdicts = collections.Counter()
    for row in rows:
        if row["outcome"] in ("differs", "invalid"):
            row["confirmed"] = judge(row)
            verdicts[row["confirmed"]] += 1
    name = next((row["optimizer"] for row in rows if "optimizer" in row), optimiser)
    numbers = [len(rows) - counts["unchanged"] - counts["not read"], counts["equal"], counts["unchanged"], counts["differs"],
               counts["invalid"], verdicts["confirmed"], verdicts["undefined"], verdicts["alarm"], verdicts["unconfirmed"],
               counts["crashed"] + counts["silent"], counts["open"], counts["not read"], counts["no verdict"], round(seconds)]
    alarms = [row["model"] for row in rows if row.get("confirmed") in ("alarm", "unconfirmed")]
    print(f"{name}: {dict(counts)}, {dict(verdicts)}, {seconds:.0f} s", *alarms, sep="\n    ", flush=True)
    return f"| {name} | " + " | ".join(map(str, numbers)) + " |\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gemel", default="./gemel")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--optimisers", default=",".join(OPTIMISERS))
    parser.add_argument("--keep", default=None)
    parser.add_argument("--markdown", default=None)
    given = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or scratch
        os.makedirs(folder, exist_ok=True)
        subprocess.run([given.gemel, "models", os.path.join(folder, "models"), "--count", str(given.count), "--seed", str(given.seed)],
                       check=True)
        for optimiser in given.optimisers.split(","):
            lines.append(line_of(optimiser, *campaign(given, optimiser, folder)))
    if given.markdown:
        with open(given.markdown, "w", encoding="utf-8") as file:
            file.write(HEAD.format(count=given.count, seed=given.seed, seconds=f"{given.seconds:g}") + "".join(lines))


if __name__ == "__main__":
    main()
