# SPDX-License-Identifier: MIT
"""The harness: are two graphs one function, does a rewrite hold, is it proved?"""
from __future__ import annotations

import html
import os
import shutil
import tempfile
from typing import Any, Callable, Iterator, Mapping, Sequence

from . import _graph, _native
from ._graph import Function, Graph, _read, _source, _transferred, words_as_bits
from ._tensor import Tensor

Progress = Callable[[str], Any]


def _threads(threads: int | None) -> int:
    if threads is None:
        return min(os.cpu_count() or 1, 256)
    if not 1 <= threads <= 256:
        raise ValueError("threads are 1 to 256")
    return threads


def _checked(seed: int, seconds: float, instances: int = 0) -> float:
    if not (isinstance(seed, int) and 0 <= seed < 1 << 64):
        raise ValueError("a seed is an integer from 0 to 2**64 - 1")
    if not (isinstance(seconds, (int, float)) and seconds >= 0):
        raise ValueError("seconds are a number from 0 on; 0 is no limit")
    if not (isinstance(instances, int) and 0 <= instances <= 1000000):
        raise ValueError("instances are an integer up to 1000000; 0 is the usual number")
    return float(seconds)


def _tier_bits(tiers: Any) -> int:
    bits = 0
    for tier in (tiers.split(",") if isinstance(tiers, str) else tiers or ()):
        if tier.strip() not in _native.TIERS:
            raise ValueError(f"no tier {tier!r}: there are {', '.join(_native.TIERS)}")
        bits |= 1 << _native.TIERS.index(tier.strip())
    return bits


class Evidence:
    """What one tier says: `verdict` ("passed", "refuted", "not applicable", "not run", "uninformative", "overstated"),
    `how` it was found, in so many `instances` and compared `elements`, the `detail`, and for a refutation the
    `counterexample` as text."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.kind: str = record["kind"]
        self.name: str = record["name"]
        self.tier: str = record["tier"]
        self.verdict: str = record["verdict"]
        self.how: str = record["how"]
        self.detail: str = record["detail"]
        self.instances: int = record["instances"]
        self.elements: int = record["elements"]
        self.seed: int = record["seed"]
        self.seconds: float = record["seconds"]
        self.worst: float = record["worst"]
        self.error_probability: float = record["error_probability"]
        self.counterexample: str | None = record["counterexample"]
        self.needs: list[str] = record["needs"]
        self.declared: list[str] = record["declared"]

    @property
    def good(self) -> bool:
        """Whether it passed, or doesn't apply."""
        return self.verdict in ("passed", "not applicable")

    def __str__(self) -> str:
        parts = [f"by {self.how}"] if self.how else []
        parts += [f"{self.instances} instances, {self.elements} results"] if self.instances else []
        parts += [f"error / bound {self.worst:.2g}"] if self.worst > 0 else []
        parts += [f"wrong with probability {self.error_probability:.1g}"] if self.error_probability > 0 else []
        text = ", ".join(parts)
        verdict = "REFUTED" if self.verdict == "refuted" else self.verdict
        text += ("; " if text and self.detail else "") + self.detail
        return f"{self.tier:<9}  {verdict:<15}{text}".rstrip()

    def __repr__(self) -> str:
        return f"<gemel.Evidence {self}>"


class Counterexample:
    """Inputs at which two graphs differ, and what both give there: arrays by name, none of one that ends in an error.
    FIRST and SECOND are the graphs at the sizes of these inputs."""

    def __init__(self, folder: str) -> None:
        self.first_graph, self.inputs, self.first = _load(os.path.join(folder, "first"))
        self.second_graph, _, self.second = _load(os.path.join(folder, "second"))

    def __repr__(self) -> str:
        rows = [f"input {name}: {tensor!r}" for name, tensor in self.inputs.items()]
        for name in self.first or self.second:
            first, second = (repr(side[name]) if name in side else "an error" for side in (self.first, self.second))
            rows.append(f"output {name}: first {first}, second {second}")
        return "\n".join(rows)


def _load(folder: str) -> tuple[Graph, dict[str, Tensor], dict[str, Tensor]]:
    graph, inputs, outputs = _native.load_dump(folder)
    return graph, dict(zip(graph.inputs, inputs)), dict(zip(graph.outputs, outputs))


class Equality:
    """The answer to gemel.equal: true if both are the same function, up to what is allowed. `verdict` is "equal",
    "differs" or "open", where neither was shown; `words` tell the two apart, and `refused` are those of them that
    aren't allowed; `evidence` is what each tier says. Where they differ, `example` is a sentence with simple inputs, both
    results and the nodes that differ first; "" if no inputs were found."""

    def __init__(self, names: tuple[str, str], result: Mapping[str, Any], records: Sequence[Mapping[str, Any]],
                 tiers: int, seed: int, counterexample: Counterexample | None) -> None:
        self.names = names
        self.evidence: dict[str, Evidence] = {r["tier"]: Evidence(r) for r in records}
        self.words: list[str] = result["needs"]
        self.refused: list[str] = result["refused"]
        self.sizes_up_to: int = result["symbols_up_to"]
        self.scaled: str = result["scaled"]
        self.unfollowed: bool = result["unfollowed"]
        self.example: str = result["example"]
        self.out_of_time: bool = result["out_of_time"]
        self.counterexample = counterexample
        self.seed = seed
        self.verdict = "equal" if result["verdict"] == "passed" and not self.refused else \
            "differs" if result["verdict"] == "refuted" or self.refused else "open"
        everything = (1 << len(_native.TIERS)) - 1
        self.tiers: list[str] = [t for k, t in enumerate(_native.TIERS) if tiers >> k & 1] \
            if tiers and tiers != everything else []
        self.bitwise: bool = result["bitwise"] and not self.tiers

    def __bool__(self) -> bool:
        return self.verdict == "equal"

    @property
    def summary(self) -> str:
        """The answer in one line."""
        first, second = self.names
        if self and self.tiers:
            text = f"{first} and {second} agree in the tiers that were asked: {', '.join(self.tiers)}"
        elif self:
            text = f"{first} and {second} are the same function"
        elif self.verdict == "differs":
            text = f"{first} and {second} differ"
        else:
            text = f"{first} and {second} were not shown to be the same function"
        if self.bitwise:
            text += ", bitwise"
        elif self.words:
            text += (", up to " if self else ", told apart by ") + ", ".join(self.words)
        if self and self.sizes_up_to > 0:
            text += f", for sizes up to {self.sizes_up_to}"
        if self and self.scaled:
            text += f", at sizes {self.scaled}"
        if self and self.unfollowed:
            text += ", where no loop takes more than 65,536 steps"
        return text + f" (seed {self.seed})"

    @property
    def refutation(self) -> str | None:
        """The smallest graphs, inputs and results that were found to differ, as text."""
        return next((e.counterexample for e in self.evidence.values() if e.counterexample), None)

    def __str__(self) -> str:
        rows = [str(e) for e in self.evidence.values()]
        if self.refutation:
            rows += ["", *("    " + row for row in self.refutation.rstrip().splitlines())]
        if self.counterexample is not None:
            rows += ["", "at the graphs' own inputs:", *("    " + row for row in repr(self.counterexample).splitlines())]
        if self.refused:
            rows += ["", "not allowed: " + ", ".join(self.refused)]
        if self.example:
            rows += ["", "for example " + self.example]
        return "\n".join([*rows, "", self.summary])

    def __repr__(self) -> str:
        return f"<gemel.Equality {self.summary}>"

    def _repr_html_(self) -> str:
        colour = {"equal": "#2a7", "differs": "#c33", "open": "#b80"}[self.verdict]
        rows = "".join(
            f"<tr><td>{e.tier}</td><td><b>{html.escape(e.verdict)}</b></td><td>{html.escape(e.how)}</td>"
            f"<td style='text-align:left'>{html.escape(e.detail)}</td></tr>" for e in self.evidence.values())
        text = f"<p>For example {html.escape(self.example)}</p>" if self.example else ""
        text += f"<pre>{html.escape(self.refutation)}</pre>" if self.refutation else ""
        return (f"<p style='color:{colour}'><b>{html.escape(self.summary)}</b></p><table><tr><th>tier</th>"
                f"<th>verdict</th><th>by</th><th>detail</th></tr>{rows}</table>{text}")


def _name_of(source: Any, otherwise: str) -> str:
    if isinstance(source, (Graph, Function)):
        return getattr(source, "name", None) or getattr(source, "__name__", otherwise)
    name = _source(source)[3]
    return otherwise if name.startswith("<") else name


def _into(source: Any, definitions: Any, sizes: Mapping[str, int] | None) -> Graph:
    """SOURCE as a graph that this call alone has, in the context of DEFINITIONS if that is a graph."""
    if isinstance(source, Function):
        source = source.graph
    if isinstance(source, Graph):
        graph = _transferred(source, definitions)
        graph.is_onnx = source.is_onnx
        return graph
    return _read(source, definitions, sizes)


def _found(folder: str | None) -> Counterexample | None:
    return Counterexample(folder) if folder and os.path.isdir(os.path.join(folder, "first")) else None


def equal(before: Any, after: Any, *, allow: Any = None, seconds: float = 0, tiers: Any = None, seed: int = 1,
          threads: int | None = None, match: str | None = None, sizes: Mapping[str, int] | None = None,
          counterexample: Any = None, progress: Progress | None = None) -> Equality:
    """Whether two graphs are the same function: paths, bytes, texts, onnx.ModelProtos, gemel.Graphs or functions.

    ALLOW: words that may tell the two apart, as "nsz,reassoc"; without it all kinds of rounding and special values;
    "none" for the same bits. SECONDS: after these, tiers that haven't ended are not run. TIERS: some alone. MATCH:
    which input and output is which: by name, "place", or "FIRST=SECOND,...". SIZES: numbers for symbols of ONNX models.
    COUNTEREXAMPLE: a folder that a counterexample is kept in, for `gemel verify --replay`. PROGRESS is called now and
    then with what is being done; an exception that it raises ends the call."""
    limit = _checked(seed, seconds)
    names = (_name_of(before, "the first graph"), _name_of(after, "the second graph"))
    bits, tier_bits = words_as_bits(allow, _native.PAIR_DEFAULT, _native.PAIR_DEFAULT), _tier_bits(tiers)
    first = _into(before, _graph._definitions, sizes)
    second = _into(after, first, sizes)
    kept = os.fspath(counterexample) if counterexample is not None else None
    scratch = tempfile.mkdtemp(prefix="gemel-") if kept is None else None
    folder = kept if scratch is None else os.path.join(scratch, "pair")
    try:
        result, records = _native.pair(
            first, second, first.name, bits, tier_bits, seed, limit, _threads(threads), match, folder,
            int(first.is_onnx and second.is_onnx), progress)
        found = _found(folder if result["written"] else None)
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
    return Equality(names, result, records, tier_bits, seed, found)


def assert_equal(before: Any, after: Any, **options: Any) -> Equality:
    """Raises AssertionError, with the evidence and the counterexample, unless gemel.equal finds the two to be the same
    function; takes its options."""
    __tracebackhide__ = True
    answer = equal(before, after, **options)
    if not answer:
        raise AssertionError(str(answer))
    return answer


# ---- Rules ----


class Rules:
    """What was found of rules: true if none is refuted, overstated or without evidence. `rules` has for each rule the
    evidence of each tier, and `proofs` what is proved of it."""

    def __init__(self, records: Sequence[Mapping[str, Any]], out_of_time: bool) -> None:
        self.rules: dict[str, dict[str, Evidence]] = {}
        self.proofs: dict[str, Proof] = {}
        self.out_of_time = out_of_time
        for record in records:
            self.rules.setdefault(record["name"], {})[record["tier"]] = Evidence(record)
            if record["proof"] is not None:
                self.proofs[record["name"]] = Proof({**record["proof"], "rule": record["name"]})

    def __bool__(self) -> bool:
        return all(e.good for tiers in self.rules.values() for e in tiers.values())

    @property
    def refuted(self) -> list[str]:
        """The rules that don't hold."""
        return [name for name, tiers in self.rules.items() if any(e.verdict == "refuted" for e in tiers.values())]

    def __str__(self) -> str:
        rows = []
        for name, tiers in self.rules.items():
            worst = next((e for e in tiers.values() if not e.good), None)
            rows.append(f"{name}: {'holds' if worst is None else f'{worst.verdict}, tier {worst.tier}: {worst.detail}'}")
            if worst is not None and worst.counterexample:
                rows += ["    " + row for row in worst.counterexample.rstrip().splitlines()]
        return "\n".join(rows)

    def __repr__(self) -> str:
        return f"<gemel.Rules {len(self.rules)} rules, {len(self.refuted)} refuted>"


class Proof:
    """What is proved of a rule: `elements` says for which ("any", formats of bits, or values), None if there is no
    proof, and `why` there is no more; it holds for all sizes, and for `ranks` axes at most or `all_ranks`."""

    def __init__(self, proof: Mapping[str, Any]) -> None:
        self.rule: str = proof["rule"]
        self.elements: str | None = proof["elements"]
        self.ranks: int = proof["ranks"]
        self.all_ranks: bool = proof["all_ranks"]
        self.why: str = proof["why"]
        self.counterexample: str | None = proof["counterexample"]

    def __bool__(self) -> bool:
        return self.elements is not None

    def __str__(self) -> str:
        if not self:
            return f"{self.rule}: open: {self.why}"
        ranks = "all ranks" if self.all_ranks else f"up to {self.ranks} axes"
        return f"{self.rule}: proved for {self.elements} elements, all sizes, {ranks}" \
            + (f" ({self.why})" if self.why else "")

    def __repr__(self) -> str:
        return f"<gemel.Proof {self}>"


class Proofs(Sequence["Proof"]):
    """Proofs of rules, in their order: true if there is one of each rule."""

    def __init__(self, proofs: Sequence[Proof], out_of_time: bool) -> None:
        self._proofs = list(proofs)
        self.out_of_time = out_of_time

    def __getitem__(self, key: Any) -> Any:
        return next(p for p in self._proofs if p.rule == key) if isinstance(key, str) else self._proofs[key]

    def __len__(self) -> int:
        return len(self._proofs)

    def __iter__(self) -> Iterator[Proof]:
        return iter(self._proofs)

    def __bool__(self) -> bool:
        return all(self._proofs) and not self.out_of_time

    def __str__(self) -> str:
        return "\n".join(map(str, self._proofs))

    def __repr__(self) -> str:
        return f"<gemel.Proofs {len(self)} rules, {sum(map(bool, self))} proved>"


def verify_rules(text: str, *, tiers: Any = None, seed: int = 1, instances: int = 0, seconds: float = 0,
                 threads: int | None = None, proofs: bool = True, progress: Progress | None = None) -> Rules:
    """Tests the rewrites in TEXT, as `rule twice in canonicalize: neg(neg(x)) => x`, on graphs that are drawn from them."""
    limit = _checked(seed, seconds, instances)
    late, records = _native.verify_rules(text, "<rules>", _tier_bits(tiers), seed, instances, limit,
                                         _threads(threads), 0, int(proofs), progress)
    return Rules(records, late)


def prove_rules(text: str, *, ranks: int = 0, seconds: float = 0, threads: int | None = None,
                record: Any = None, progress: Progress | None = None) -> Proofs:
    """Proves the rewrites in TEXT for all sizes, where it can. RECORD: an empty folder for the questions that each proof
    rests on, as SMT-LIB."""
    limit = _checked(1, seconds)
    folder = os.fspath(record) if record is not None else None
    late, found = _native.prove_rules(text, "<rules>", ranks, limit, _threads(threads), folder, progress)
    return Proofs([Proof(p) for p in found], late)
