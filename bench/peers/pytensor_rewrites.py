#!/usr/bin/env python3
"""What PyTensor's rewrites replace during its own tests, judged by gemel: a table of Markdown.

    PYTHONPATH=BUILD/python pytensor_rewrites.py CHECKOUT [--out bench/results/pytensor-rewrites.md] [--keep DIR] [--seconds S] [TESTS ...]

CHECKOUT is PyTensor's repository at the release that is installed; TESTS are files and folders of its tests, by default those of
rewriting. DIR gets a line of JSON for each distinct replacement, and the evidence for those that aren't equal. Takes half an hour. Exit status 0 if the tests ran. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

REWRITING = ["tests/tensor/rewriting", "tests/scan/rewriting", "tests/graph/rewriting", "tests/tensor/random/rewriting"]


def judged(checkout, tests, seconds, keep):
    """The records of all distinct replacements."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(os.path.abspath(keep or folder), "found.jsonl")
        flags = ",".join([os.environ.get("PYTENSOR_FLAGS", ""), f"linker=cvm,cxx=,base_compiledir={folder}"]).strip(",")
        run = subprocess.run([sys.executable, "-m", "pytest", "-q", "--tb=line", "-o", "addopts=", "-p", "no:cacheprovider", "-p", "gemel._pytest",
                              "--gemel-certify", "--gemel-seconds", str(seconds), "--gemel-json", out, "--gemel-report",
                              os.path.join(os.path.dirname(out), "report.txt"), *tests],
                             cwd=checkout, env={**os.environ, "PYTENSOR_FLAGS": flags}, check=False)
        if not os.path.exists(out):
            sys.exit(f"pytest ended with {run.returncode}")
        with open(out, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def kind(record):
    """What sort of difference a record is."""
    if record["words"]:
        return ", ".join(record["words"])
    return "a value where there was none" if record["domain"] else "other values"


def table(records):
    verdicts = ["equal", "differs", "open", "not said"]
    lines = ["| | replacements | distinct |", "|---|---:|---:|"]
    for verdict in verdicts:
        rows = [r for r in records if r["verdict"] == verdict]
        lines.append(f"| {verdict} | {sum(r['count'] for r in rows)} | {len(rows)} |")
    share = sum(r["verdict"] != "not said" for r in records) / max(len(records), 1)
    lines += ["", f"{share:.1%} of the distinct replacements are judged.", "", "| differs by | rewrite | distinct |", "|---|---|---:|"]
    count = collections.Counter((kind(r), r["by"]) for r in records if r["verdict"] == "differs")
    lines += [f"| {what} | `{by}` | {many} |" for (what, by), many in sorted(count.items())]
    count = collections.Counter(name for r in records if r["verdict"] == "not said" for name in r["unsaid"])
    lines += ["", "| not said | distinct |", "|---|---:|"]
    lines += [f"| `{name}` | {many} |" for name, many in count.most_common()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout")
    parser.add_argument("tests", nargs="*", default=REWRITING)
    parser.add_argument("--out")
    parser.add_argument("--keep")
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    text = table(judged(options.checkout, options.tests, options.seconds, options.keep))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)
    print(text)


if __name__ == "__main__":
    main()
