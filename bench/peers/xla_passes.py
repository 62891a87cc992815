#!/usr/bin/env python3
"""What XLA's passes make of programs of JAX, judged by gemel pass by pass: a table of Markdown.

    xla_passes.py --dumps DIR [--gemel BUILD/gemel] [--seconds S] [--json F] [--out bench/results/xla-passes.md] [--large] [NAME ...]
    xla_passes.py --dumps DIR --opcodes [NAME ...]

Each program of xla_programs.py, or those named, that has no folder in DIR yet is compiled for the CPU, and each module that a pass
leaves is written into DIR/NAME as text; the larger programs only with --large or by name. With --gemel, `gemel campaign DIR --hlo` judges
them all. With --opcodes, the opcodes, attributes and dtypes in DIR are counted instead. Exit status 0 if all was compiled and judged.
Needs jax from PyPI. Never needed to build or test gemel. SPDX-License-Identifier: MIT
"""

import argparse
import collections
import glob
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

DUMP = {"xla_dump_hlo_pass_re": ".*", "xla_dump_hlo_as_text": True, "xla_dump_large_constants": True}
MODULE = re.compile(r"\.(\d{4}\..*\.after_.*|before_optimizations|cpu_after_optimizations)\.txt$")
INSTRUCTION = re.compile(r"^ *(?:ROOT )?%?[\w.-]+ = (?P<type>\((?:[^()]|\([^()]*\))*\)|\S+) (?P<opcode>[a-z][\w-]*)\(")
OUTCOMES = ["unchanged", "equal", "differs", "open", "not read"]
BATCH = 25  # how many programs share a process


# Dumping

def dump(folder, names):
    """Compiles programs here; what isn't a module's text after a pass is removed again."""
    import jax  # pylint: disable=import-outside-toplevel
    import xla_programs  # pylint: disable=import-outside-toplevel
    large = xla_programs.large()
    for name in names:
        program = xla_programs.PROGRAMS.get(name) or large[name]
        with xla_programs.precision(program.wide):
            jax.jit(program.function).lower(*program.arguments).compile({**DUMP, "xla_dump_to": os.path.join(folder, name)})
        for path in glob.glob(os.path.join(glob.escape(folder), name, "*")):
            if not MODULE.search(path):
                os.remove(path)


def dump_missing(folder, names):
    """Compiles in processes of their own, so that a crash of one is no loss of all; the exit status that is worst."""
    missing = [name for name in names if not glob.glob(os.path.join(glob.escape(folder), name, "*.txt"))]
    status = 0
    for i in range(0, len(missing), BATCH):
        batch = missing[i:i + BATCH]
        run = subprocess.run([sys.executable, __file__, "--dumps", folder, "--child", *batch], check=False, timeout=1200,
                             env={**os.environ, "JAX_PLATFORMS": "cpu"})
        status = max(status, abs(run.returncode))
    return status


def texts(folder, names):
    """Each module in the folders of NAMES: the program's name and the text's lines."""
    for name in names:
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), name, "*.txt"))):
            with open(path, encoding="utf-8") as file:
                yield name, file.readlines()


# Counts

def parts(line):
    """What kinds of things an instruction in LINE has: pairs of a heading and a word."""
    found = INSTRUCTION.match(line)
    if not found:
        return
    yield "opcode", found["opcode"]
    for dtype in set(re.findall(r"(\w+)\[", found["type"])):
        yield "dtype", dtype
    rest = re.sub(r'metadata=\{(?:"(?:\\.|[^"])*"|[^}"])*\}', "", line[found.end():])
    if found["opcode"] == "constant":
        return
    for key, value in re.findall(r", (\w+)=(\{?\"?[\w:$ -]*)", rest):
        if key in ("kind", "custom_call_target", "direction", "comparison_direction", "type", "algorithm", "mode", "distribution"):
            text = value.strip("\"")
            yield "attribute", f"{key}={text}"
        elif key != "index":
            yield "attribute", f"{found['opcode']}: {key}" if key in ("dimensions", "to_apply") else key


def opcodes(folder, names):
    """A table: of each opcode, attribute and dtype how many instructions and how many programs have it."""
    counts, users = collections.Counter(), collections.defaultdict(set)
    for name, lines in texts(folder, names):
        for part in itertools.chain.from_iterable(map(parts, lines)):
            counts[part] += 1
            users[part].add(name)
    rows = ["| | | instructions | programs |", "|---|---|---:|---:|"]
    order = sorted(counts, key=lambda part: (part[0] != "opcode", part[0], -counts[part], part[1]))
    return "\n".join(rows + [f"| {part[0]} | `{part[1]}` | {counts[part]} | {len(users[part])} |" for part in order]) + "\n"


# Judging

def campaign(gemel, folder, seconds, out):
    """A record for each pair that gemel judged."""
    with tempfile.TemporaryDirectory() as scratch:
        out = out or os.path.join(scratch, "records.jsonl")
        run = subprocess.run([gemel, "campaign", "--hlo", "--seconds", str(seconds), "--json", out, folder], check=False, stdout=subprocess.DEVNULL)
        if not os.path.exists(out):
            sys.exit(f"gemel campaign ended with {run.returncode}")
        with open(out, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def quantile(values, percent):
    if len(values) < 2:
        return sum(values)
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def row(name, records):
    count = collections.Counter(r["outcome"] for r in records)
    known = [count.pop(outcome, 0) for outcome in OUTCOMES]
    took = [r["seconds"] for r in records if r["outcome"] != "unchanged"]
    cells = [len(records), *known, sum(count.values())]
    return f"| {name} | {' | '.join(map(str, cells))} | {quantile(took, 50):.2f} | {quantile(took, 90):.2f} |"


def table(records):
    """By pass, those of most work first; then each pair that isn't equal, and why."""
    passes = collections.defaultdict(list)
    for record in records:
        passes[record["pass"]].append(record)
    lines = [f"| pass | pairs | {' | '.join(OUTCOMES)} | other | median s | 90 % s |", "|---|" + "---:|" * (len(OUTCOMES) + 4)]
    changed = lambda name: -sum(r["outcome"] != "unchanged" for r in passes[name])
    lines += [row(f"`{name}`", passes[name]) for name in sorted(passes, key=lambda name: (changed(name), name))]
    lines += [row("all", records), "", "| words that tell the two apart | pairs |", "|---|---:|"]
    words = collections.Counter(", ".join(r["needs"]) or "none: the same bits" for r in records if r["outcome"] == "equal")
    lines += [f"| {word} | {many} |" for word, many in words.most_common()]
    lines += ["", "| outcome | pass | program | |", "|---|---|---|---|"]
    bad = [r for r in records if r["outcome"] not in ("equal", "unchanged")]
    for r in sorted(bad, key=lambda r: (r["outcome"], r["pass"], r["model"])):
        lines.append(f"| {r['outcome']} | `{r['pass']}` | `{r['model'].split('/')[0]}` | {r['detail'].replace('|', '/')} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dumps", required=True)
    parser.add_argument("--gemel")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--json")
    parser.add_argument("--out")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--opcodes", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return dump(options.dumps, options.names)
    import xla_programs  # pylint: disable=import-outside-toplevel
    if unknown := set(options.names) - {*xla_programs.PROGRAMS, *xla_programs.large()}:
        sys.exit(f"there is no program {', '.join(sorted(unknown))}")
    names = options.names or [*xla_programs.PROGRAMS, *(xla_programs.large() if options.large else [])]
    status = dump_missing(options.dumps, names)
    text = ""
    if options.opcodes:
        text = opcodes(options.dumps, names)
    elif options.gemel:
        import jaxlib  # pylint: disable=import-outside-toplevel
        text = f"Pairs of modules before and after XLA's passes, of {len(names)} programs (jaxlib {jaxlib.__version__}, CPU), judged by gemel.\n\n"
        text += table(campaign(options.gemel, options.dumps, options.seconds, options.json))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)
    print(text, end="")
    return status


if __name__ == "__main__":
    sys.exit(main())
