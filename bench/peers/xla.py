#!/usr/bin/env python3
"""Rules of XLA's algebraic simplifier (xla.rules beside this file): what gemel proves of each for all sizes, and which it
refutes by instances, as a table of Markdown; and the same of what the wrong ones need (xla-corrected.rules).

    xla.py --gemel BUILD/gemel [--ranks R] [--out bench/results/xla-rules.md]

Proofs of all of them take a minute or two, measuring some seconds. Exit status 0 unless a rule is both proved and refuted. Python 3.9
or later. Never needed to build or test gemel, but tests/t-xla.sh proves what the table says, for tensors of one axis.
SPDX-License-Identifier: MIT
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))


def sources(path):
    """What the comment above each rule names: XLA's functions."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return dict(reversed(pair) for pair in re.findall(r"^# ([A-Za-z, ]+?)(?:,[^:\n]*)?[:,'][^\n]*\n(?:#[^\n]*\n)*rule (\w+) ", text, re.M))


def asked(gemel, path, options):
    """What gemel verify says of the rules in PATH, a dictionary a record; its exit status isn't asked."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "records.jsonl")
        run = subprocess.run([gemel, "verify", "--rules", path, "--json", out, *options],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode > 1:
            sys.exit(run.stderr)
        with open(out, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def words(record):
    proof = record["proof"]
    if proof is None:
        return "open: " + record["why"]
    ranks = "all ranks" if proof["ranks"] == "all" else f"ranks to {proof['ranks']}"
    return f"{proof['elements']}, {ranks}"


def table(gemel, path, ranks):
    """The lines of a table, and how many rules are proved and refuted, both, and for all ranks."""
    start = time.monotonic()
    proofs = asked(gemel, path, ["--proof", "--jobs", "1", *ranks])
    seconds = time.monotonic() - start
    measured = asked(gemel, path, ["--tier", "real,integer", "--instances", "12"])
    refuted = {}
    for record in measured:
        if record["verdict"] == "refuted":
            refuted.setdefault(record["name"], record["tier"])
    function = sources(path)
    lines = ["| rule | XLA's function | proved for all sizes | refuted |", "|---|---|---|---|"]
    for record in proofs:
        name = record["name"]
        lines.append(f"| {name} | {function[name]} | {words(record)} | {refuted.get(name, '')} |")
    proved = [record for record in proofs if record["proof"] is not None]
    both = [record["name"] for record in proved if record["name"] in refuted]
    everywhere = sum(record["proof"]["ranks"] == "all" for record in proved)
    said = (f"{len(proofs)} rules, {len(proved)} of them proved for all sizes, {everywhere} of these for all ranks; "
            f"{len(refuted)} refuted by instances, {len(both)} of them proved; proofs take {seconds:.0f} s.")
    return said, lines, both


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("--gemel", default="./gemel")
    arguments.add_argument("--ranks")
    arguments.add_argument("--out")
    given = arguments.parse_args()
    ranks = ["--ranks", given.ranks] if given.ranks else []
    said, lines, wrong = table(given.gemel, os.path.join(FOLDER, "xla.rules"), ranks)
    again, others, also = table(given.gemel, os.path.join(FOLDER, "xla-corrected.rules"), ranks)
    text = "\n".join(["# Rules of XLA's algebraic simplifier", "", said, "`bench/peers/xla.py` writes this page.", "", *lines, "",
                      "## Rules that are wrong, with what they need", "", again, "", *others, ""])
    with open(given.out, "w", encoding="utf-8") if given.out else sys.stdout as file:
        file.write(text)
    return bool(wrong or also)


if __name__ == "__main__":
    sys.exit(main())
