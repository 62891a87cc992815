#!/usr/bin/env python3
"""Errors planted in modules that XLA's passes left, and which of them gemel finds.

    xla_planted.py --folder OUT --dumps DIR [--count 500] [--seed 56]
    xla_planted.py --folder OUT --gemel BUILD/gemel [--seconds S]

The first takes modules of DIR, which xla_passes.py wrote, changes one thing in each, and runs both on XLA with twenty inputs. OUT gets the
pairs, and planted.jsonl with a line for each: "before" and "after", files in OUT; "of", the file in DIR; "kind" and "change"; "differs",
whether results do beyond rounding; "at", the sort of inputs that showed it first. COUNT of them differ; the others, where XLA shows no
effect, are kept too. Takes half an hour, and goes on where it was ended. The second prints what gemel says of each kind, as Markdown, then
where it says otherwise; exit status 1 if it misses an error. Needs jax and numpy from PyPI. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import collections
import glob
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys

import jax
import numpy
from jaxlib import _hlo, _jax

from xla_passes import INSTRUCTION
from xla_programs import DTYPES

OPCODES = {"float": "add subtract multiply divide maximum minimum power; exponential tanh sine cosine log negate abs sqrt rsqrt floor ceil sign",
           "integer": "add subtract multiply maximum minimum and or xor divide remainder; shift-left shift-right-logical shift-right-arithmetic; "
                      "negate abs sign not popcnt",
           "pred": "and or xor"}
NUMBER = re.compile(r"(?<![\w=.*-])-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf)(?![\w*])")
SKIPPED = "metadata|backend_config|frontend_attributes|kind|slice|direction|type|calls|to_apply|body|condition|branch_computations|select|scatter"
ATTRIBUTE = re.compile(rf", (?!(?:{SKIPPED})=)(\w+)=(?:\{{size=[\dx]+(?= ))?(\{{(?!size=)[^}}]*\}}| [^}}]+|[^ ,{{}}]+)")
SORTS = ["moderate"] * 7 + ["whole"] * 6 + ["special"] * 7
PATIENCE = 15  # seconds for one pair: a planted error may make a loop endless


# What is changed: each function yields the places it may change in an instruction, from AT on, and other words there.

def dtype_class(text):
    return "pred" if text.startswith("pred[") else "integer" if re.match(r"[su]\d", text) else "float"


def without_layout(text):
    return re.sub(r"(?<=\])\{[\d,]*\}", "", text)


def opcodes(found, *_):
    groups = map(str.split, OPCODES[dtype_class(found["type"])].split(";"))
    return [(found.span("opcode"), set(group) - {found["opcode"]}) for group in groups if found["opcode"] in group]


def directions(found, *_):
    return [(m.span(1), {"EQ", "NE", "LT", "LE", "GT", "GE"} - {m[1]}) for m in re.finditer(r", direction=(\w\w)", found.string)]


def attributes(found, *_):
    """Two numbers or letters change places, or numbers become others; XLA refuses what can't be, but for the size of a window."""
    for m in ATTRIBUTE.finditer(found.string.split(", metadata=")[0], found.end()):
        letters = m[1] == "dim_labels"
        parts = re.split(r"([a-z0-9])" if letters else r"((?<![\w])-?\d+|(?<=[_x])-?\d+)", m[2])
        others = [[*parts[:i], parts[j], *parts[i + 1:j], parts[i], *parts[j + 1:]] for j in range(1, len(parts), 2) for i in range(1, j, 2)]
        for i in range(1, 0 if letters else len(parts), 2):
            moved = [(str(int(parts[i]) + by), str(int(parts[(i + 2) % (len(parts) - 1)]) - by)) for by in (1, -1)]
            others += [[*parts[:i], one, *parts[i + 1:]] for one, _ in moved]
            others += [[*parts[:i], one, parts[i + 1], other, *parts[i + 3:]] for one, other in moved if i + 2 < len(parts)]
        words = map("".join, others)
        yield m.span(2), [word for word in words if word != m[2] and (m[1] in ("padding", "window") or not re.search(r"-\d", word))]


def slices(found, *_):
    """The bounds of an axis move by one."""
    bounds = re.finditer(r"\[(\d+):(\d+)", found.string if " slice={" in found.string else "")
    return [(m.span(), [f"[{int(m[1]) + by}:{int(m[2]) + by}" for by in (1, -1)]) for m in bounds]


def operands(found, types):
    """An operand becomes another value of its type that was computed before."""
    used = re.compile(r"%[\w.-]+").finditer(found.string, found.end(), found.string.index(")", found.end()))
    return [(m.span(), [name for name, shape in types.items() if shape == types.get(m[0]) and name != m[0]]) for m in used]


def constants(found, *_):
    end = re.compile(r"\)(,|$)").search(found.string, found.end())
    if found["opcode"] != "constant" or not end:
        return
    for m in re.compile(NUMBER.pattern + "|true|false").finditer(found.string, found.end(), end.start()):
        sort = dtype_class(found["type"])
        if sort == "integer":
            yield m.span(), [str(int(m[0]) + by) for by in (1, 2)]
        elif sort == "pred" or m[0].endswith("inf"):
            yield m.span(), [{"true": "false", "false": "true"}.get(m[0], "0")]
        else:
            yield m.span(), [f"{float(m[0]) + 1:g}", f"{2 * float(m[0]) + 0.5:g}"]


CHANGES = {"opcode": opcodes, "direction": directions, "attribute": attributes, "slice": slices, "operand": operands, "constant": constants}


def mutated(rng, text, kind):
    """TEXT with one change of KIND, and words for it; None where there is none."""
    lines, types, places = text.splitlines(), {}, []
    for number, line in enumerate(lines):
        found = INSTRUCTION.match(line)
        if found:
            places += [(found["opcode"], number, span, sorted(words)) for span, words in CHANGES[kind](found, types) if words]
            types[line.split("=")[0].split()[-1]] = without_layout(found["type"])
        elif line.endswith("{"):
            types = {}
    if not places:
        return None
    opcode = rng.choice(sorted({place[0] for place in places}))  # or else most would be broadcasts
    _, number, (start, end), words = rng.choice([place for place in places if place[0] == opcode])
    before = lines[number]
    lines[number] = before[:start] + rng.choice(words) + before[end:]
    said = [re.sub(r", (metadata|backend_config)=.*", "", line.strip()) for line in (before, lines[number])]
    return "\n".join(lines) + "\n", " -> ".join(said)


# XLA

def loosened(text):
    """The module without what only the backend may ask for: layouts, schedules, fusions; None if bitcasts need another layout than C's."""
    layouts = [layout.split(",") for layout in re.findall(r"\]\{([\d,]+)\}", text) if " bitcast(" in text]
    if any(layout != sorted(layout, key=int, reverse=True) for layout in layouts):
        return None
    text = without_layout(text).replace("is_scheduled=true, ", "").replace(" bitcast(", " reshape(")
    text = re.sub(r", (?:(?:backend_config|metadata|frontend_attributes)=.*|entry_computation_layout=.*)$", "", text, flags=re.M)
    return re.sub(r" fusion\((.*)\), kind=\w+, (?:output_to_operand_aliasing=\{.*?\}, )?calls=", r" call(\1), to_apply=", text)


def compiled(text):
    """The executable for the CPU; an exception if XLA refuses TEXT."""
    code = _jax.mlir.hlo_to_stablehlo(_hlo.hlo_module_from_text(loosened(text)).as_serialized_hlo_module_proto())
    device = jax.devices("cpu")[0]
    return device.client.compile_and_load(code, _jax.DeviceList((device,)), _jax.CompileOptions())


def drawn(rng, dtype, shape, sort):
    """A tensor: moderate numbers, small whole ones, or special ones. Integers without axes are small, since loops run so often."""
    dtype = numpy.dtype(DTYPES[dtype])
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        ends = numpy.iinfo(dtype)
        low, high = (0, 4) if sort == "moderate" else (-9, 10) if sort == "whole" or not shape else (ends.min // 2, ends.max // 2)
        numbers, special = rng.integers(max(low, ends.min), high, shape), [ends.min, ends.max, 0, 31]
    else:
        numbers = rng.integers(-2, 4, shape) if sort == "whole" else rng.normal(size=shape)
        special = [0.0, -0.0, 1, -1, 0.5, 2.5, numpy.inf, -numpy.inf, numpy.nan, 1e4, -3e4, 1e-7]
    numbers = numpy.asarray(numbers).astype(dtype)
    if sort != "special" or dtype.kind in "iu" and not shape:
        return numbers
    return numpy.where(rng.random(shape) < 0.4, rng.choice(numpy.array(special).astype(dtype), shape), numbers).astype(dtype)


def differ(before, after):
    """Whether two arrays do beyond rounding."""
    if before.dtype.kind in "biu":
        return bool((before != after).any())
    margin = {2: 0.06, 4: 2e-3}.get(before.dtype.itemsize, 1e-6)
    with numpy.errstate(all="ignore"):
        x, y = before.astype(numpy.float64), after.astype(numpy.float64)
        finite = numpy.isfinite(x) & numpy.isfinite(y)
        size = numpy.maximum(abs(x), 1e-2 * abs(x).max(where=finite, initial=0))
        near = (x == y) | (numpy.isnan(x) & numpy.isnan(y)) | finite & (abs(x - y) <= margin * size)
    return not near.all()


def compared(before, after, seed):
    """What twenty inputs show: whether the modules differ, and at which sort of inputs first."""
    entry = re.findall(r" = (\w+)\[([\d,]*)\]\S* parameter\((\d+)\)", before[before.index("\nENTRY "):])
    shapes = {int(n): (dtype, [int(d) for d in dims.split(",") if d]) for dtype, dims, n in entry}
    signal.alarm(PATIENCE)
    both = [compiled(after), compiled(before)]  # what XLA refuses first
    for i, sort in enumerate(SORTS):
        inputs = [jax.device_put(drawn(numpy.random.default_rng([seed, i, n]), *shapes[n], sort)) for n in sorted(shapes)]
        made = [executable.execute_sharded(inputs).disassemble_into_single_device_arrays() for executable in both]
        if any(differ(numpy.asarray(x[0]), numpy.asarray(y[0])) for y, x in zip(*made)):
            return {"differs": True, "at": sort}
    return {"differs": False, "at": ""}


def candidate(options, programs, number):
    """A record, with both texts, of a change drawn for NUMBER; None if none of some tries makes a module that XLA takes."""
    rng, kind = random.Random(f"{options.seed} {number}"), list(CHANGES)[number % len(CHANGES)]
    path = rng.choice(sorted(glob.glob(os.path.join(glob.escape(options.dumps), programs[number % len(programs)], "*.txt"))))
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for _ in range(20 if loosened(text) else 0):
        change = mutated(rng, text, kind)
        try:
            if change:
                record = {"of": os.path.relpath(path, options.dumps), "kind": kind, "change": change[1], **compared(text, change[0], number)}
                return {**record, "before": text, "after": change[0]}
        except (RuntimeError, ValueError):
            pass  # XLA refuses it
    return None


def child(options):
    """Plants candidates from a number on, a line each; a crash of XLA or the alarm ends it."""
    programs = sorted(os.listdir(options.dumps))
    random.Random(options.seed).shuffle(programs)
    for number in itertools.count(options.child):
        record = candidate(options, programs, number)
        for word in ("before", "after") if record else ():
            with open(os.path.join(options.folder, f"{number:05}.{word}.hlo"), "w", encoding="utf-8") as file:
                file.write(record[word])
            record[word] = os.path.basename(file.name)
        print(json.dumps([number, record]), flush=True)


def plant(options):
    """Where a child ends, another goes on with the candidate after that."""
    os.makedirs(options.folder, exist_ok=True)
    command = [sys.executable, *sys.argv, "--child"]
    with open(os.path.join(options.folder, "planted.jsonl"), "a+", encoding="utf-8") as out:
        out.seek(0)
        before = [json.loads(line) for line in out]
        found, number = sum(r["differs"] for r in before), int(before[-1]["before"][:5]) + 1 if before else 0
        while found < options.count:
            with subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                for line in itertools.takewhile(lambda _: found < options.count, process.stdout):
                    number, record = json.loads(line)
                    number += 1
                    if record:
                        print(json.dumps(record), file=out, flush=True)
                        found += record["differs"]
                process.kill()
            number += 1


# gemel

def verdict(options, record):
    """What gemel says of a pair, and the words that tell the two apart, or why it doesn't read them."""
    files = [os.path.join(options.folder, record[word]) for word in ("before", "after")]
    run = subprocess.run([options.gemel, "equal", "--seconds", str(options.seconds), "--json", "-", *files], capture_output=True, text=True, check=False)
    said = ([json.loads(line) for line in run.stdout.splitlines() if '"kind": "whole"' in line] or [{}])[0]
    return said.get("verdict", "not read" if run.returncode in (2, 3) else f"ended with {run.returncode}"), said.get("needs", run.stderr.strip()[-120:])


def judge(options):
    """A table by kind, then the pairs of which gemel says another thing than XLA showed; whether it misses an error."""
    with open(os.path.join(options.folder, "planted.jsonl"), encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    said = [verdict(options, record) for record in records]
    verdicts = sorted({one for one, _ in said})
    count = collections.Counter((r["kind"], r["differs"], one) for r, (one, _) in zip(records, said))
    print(f"| changed | XLA's results differ | | {' | '.join(verdicts)} |", "|---|---|---:|" + "---:|" * len(verdicts), sep="\n")
    for kind, differs in itertools.product(CHANGES, (True, False)):
        cells = [count[kind, differs, one] for one in verdicts]
        print(f"| {kind} | {'yes' if differs else 'no'} | {sum(cells)} | {' | '.join(map(str, cells))} |")
    wrong = [(r, *words) for r, words in zip(records, said) if (words[0] != "differs" if r["differs"] else words[0] == "differs")]
    for r, one, words in wrong:
        print(f"- {r['before']}, {r['of']}, {r['kind']}, {r['at'] or 'nowhere'}: {one} {words}: `{r['change'][:200]}`")
    return any(r["differs"] and one == "equal" for r, one, _ in wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--folder", "--dumps", "--gemel"):
        parser.add_argument(name, required=name == "--folder")
    for name, value in (("--count", 500), ("--seed", 56), ("--seconds", 20)):
        parser.add_argument(name, type=int, default=value)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    if options.child is not None:
        return child(options)
    return judge(options) if options.gemel else plant(options)


if __name__ == "__main__":
    os.environ["JAX_PLATFORMS"] = "cpu"
    sys.exit(main())
