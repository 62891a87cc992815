# SPDX-License-Identifier: MIT
"""What XLA made of a function of JAX's, pass by pass: gemel.jax.certify."""
from __future__ import annotations

import html
import os
import re
import tempfile
from typing import Any, Callable, Iterator

import jax

from ._equal import Equality, equal
from ._errors import Error
from ._graph import Graph

# How XLA calls the module behind a pass, and before the first and behind the last.
_STAGE = re.compile(r"\.(?:(\d{4,})\..*\.?after_(.*?)(?:\.before_.*)?|(before)_optimizations|\w+_(after)_optimizations)\.txt$")
_OPTIONS = {"xla_dump_hlo_pass_re": ".*", "xla_dump_hlo_as_text": True, "xla_dump_large_constants": True}


class Step:
    """What one pass did: `verdict` is "unchanged", "equal", "differs", "open", where neither was shown, or "not read", where
    `reason` says why; true unless it is "differs". `answer` is what gemel.equal gave, and `before` and `after` are the
    modules as text."""

    def __init__(self, name: str, before: str, after: str, **options: Any) -> None:
        self.name, self.before, self.after = name, before, after
        self.answer: Equality | None = None
        self.reason = ""
        self.verdict = "unchanged"
        if _behind_first_line(before) != _behind_first_line(after):
            try:
                self.verdict = "not read"
                _ = Graph(before), Graph(after)
                self.verdict = "open"
                self.answer = equal(before, after, **{"match": "place", **options})
                self.verdict = self.answer.verdict
            except Error as error:  # of an opaque instruction, which nothing can run
                self.reason = str(error)

    def __bool__(self) -> bool:
        return self.verdict != "differs"

    @property
    def words(self) -> list[str]:
        """What tells the two apart, though they are the same function over the reals."""
        return list(self.answer.words) if self.answer is not None else []

    def __repr__(self) -> str:
        return f"<gemel.jax.Step {self.name}: {self.verdict}>"


class Certificate:
    """What XLA's passes did, in `steps`, and all of them together, in `whole`; true unless something differs."""

    def __init__(self, name: str, steps: list[Step], whole: Step) -> None:
        self.name, self.steps, self.whole = name, steps, whole

    def __bool__(self) -> bool:
        return all(self.steps) and bool(self.whole)

    @property
    def changes(self) -> list[Step]:
        """The steps that changed something, and the whole."""
        return [step for step in [*self.steps, self.whole] if step.verdict != "unchanged"]

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        for step in self.changes:
            found = step.answer.example if step.answer is not None and not step else ", ".join(step.words)
            yield step.name, step.verdict, found or step.reason

    def __str__(self) -> str:
        rows = [f"{name:<40} {verdict:<9} {more}".rstrip() for name, verdict, more in self._rows()]
        return "\n".join([f"{self.name}: {len(self.steps)} modules, {len(self.changes)} judged", *rows])

    def _repr_html_(self) -> str:
        rows = "".join("<tr>" + "".join(f"<td style='text-align:left'>{html.escape(cell)}</td>" for cell in row) + "</tr>"
                       for row in self._rows())
        return (f"<p><b>{html.escape(self.name)}</b>: {len(self.steps)} modules</p>"
                f"<table><tr><th>pass</th><th>verdict</th><th></th></tr>{rows}</table>")


def _behind_first_line(text: str) -> str:
    return text.partition("\n")[2]


def _stages(folder: str, name: str) -> list[tuple[str, str]]:
    """The module called NAME as it was written to FOLDER: (pass, text), in order."""
    found = []
    for file in os.listdir(folder):
        stage = _STAGE.search(file)
        if stage and file[:stage.start()].endswith(f".{name}"):
            number, after, first, _ = stage.groups()
            order = int(number) if number else -1 if first else 1 << 60
            with open(os.path.join(folder, file), encoding="utf-8") as module:
                found.append((order, after or ("" if first else "the end"), module.read()))
    return [(after, text) for _, after, text in sorted(found, key=lambda stage: stage[0])]


def certify(function: Callable[..., Any], *specs: Any, **options: Any) -> Certificate:
    """Compiles FUNCTION by XLA for arguments as SPECS are, arrays or jax.ShapeDtypeStructs, and judges what each of XLA's
    passes made of the module, and the last module against the first. OPTIONS are those of gemel.equal, for each pair:
    seconds=20 bounds the time that one takes."""
    lowered = (function if hasattr(function, "lower") else jax.jit(function)).lower(*specs)
    name = lowered.compiler_ir("hlo").name()
    with tempfile.TemporaryDirectory(prefix="gemel-") as folder:
        lowered.compile(compiler_options={"xla_dump_to": folder, **_OPTIONS})
        stages = _stages(folder, name)
    if len(stages) < 2:
        raise ValueError(f"XLA has written no modules of {name}: this version doesn't dump them by an option of a compilation")
    steps = [Step(after, before, text, **options) for (_, before), (after, text) in zip(stages, stages[1:])]
    return Certificate(name, steps, Step("all passes", stages[0][1], stages[-1][1], **options))
