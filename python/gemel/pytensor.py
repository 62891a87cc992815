# SPDX-License-Identifier: MIT
"""PyTensor's graphs: are two the same function, and does each replacement of its rewrites keep what it replaces?

    gemel.pytensor.check(before, after)           # FunctionGraphs, compiled functions, or (inputs, outputs)

    with gemel.pytensor.certify() as found:
        f = pytensor.function([x], y)
    print(found)

What an Op means is said in gemel._pytensor_ops. doc/python.md of the project has more.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
from collections import Counter
from typing import Any, Iterable, Iterator, Sequence

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import ancestors

from . import _pytensor_ops  # noqa: F401: the Ops
from ._equal import Equality, equal
from ._errors import Error
from ._foreign import NotSaid
from ._pytensor_graph import Again, Converter, Sizes, Token, name_of
from ._pytensor_random import laws

__all__ = ["Certificate", "Judgement", "assert_equal", "certify", "check", "to_graph"]

# What is cut off no more than this many nodes before a difference is reported.
_LARGE = 120
# How often a graph is built again, as more is found out about sizes.
_AGAIN = 60
# The least size where symbols are too small to say anything.
_LEAST = 12
# How far behind the parts that both sides share a difference is followed.
_DEPTHS = (0, 1, 3, 8, 1 << 30)


class Judgement:
    """What was found of one replacement, or pair of graphs: `verdict` is "equal", "differs", "open", where neither was
    shown, or "not said", where `unsaid` names the Ops that gemel can't say; true if it is "equal". `answer` is what
    gemel.equal gave, `before` and `after` are the graphs as text, `key` stands for both."""

    def __init__(self, verdict: str, before: str, after: str, answer: Equality | None = None, unsaid: Sequence[str] = (),
                 reason: str = "") -> None:
        self.verdict, self.before, self.after, self.answer = verdict, before, after, answer
        self.unsaid, self.reason, self.test = list(unsaid), reason, ""
        self.key = hashlib.sha256(f"{before}\0{after}".encode()).hexdigest()[:16]

    def __bool__(self) -> bool:
        return self.verdict == "equal"

    @property
    def words(self) -> list[str]:
        """What tells the two apart, though they are the same function over the reals."""
        return [] if self.answer is None else self.answer.refused or self.answer.words

    @property
    def domain(self) -> bool:
        """Whether the counterexample has NaN in the first result wherever the two differ: what is replaced has no value
        there, and what replaces it has one, as x * y / y and x have at y = 0."""
        found = self.answer.counterexample if self.answer is not None else None
        if self.verdict != "differs" or found is None or self.answer is None or self.answer.refused:
            return False
        for name, tensor in found.first.items():
            if name not in found.second:
                return False
            a, b = np.asarray(tensor), np.asarray(found.second[name])
            if a.shape != b.shape or a.dtype.kind != "f" or not np.isnan(a[~((a == b) | (np.isnan(a) & np.isnan(b)))]).all():
                return False
        return True

    def __str__(self) -> str:
        rows = [f"{self.verdict}{': ' if self.words or self.unsaid else ''}{', '.join(self.unsaid or self.words)}"
                + (f" (by {self.reason})" if self.reason else ""), "before:", self.before, "after:", self.after]
        return "\n".join(rows + ([str(self.answer)] if self.answer is not None else []))

    def __repr__(self) -> str:
        return f"<gemel.pytensor.Judgement {self.verdict}>"


# ---- Pairs ----


def _sides(before: Sequence[Any], after: Sequence[Any], leaves: Sequence[tuple[Any, Any]],
           least: int = 0) -> tuple[Converter, Converter]:
    """Both sides as graphs: LEAVES are what stands for the same input in each. What the first side needs of sizes holds of
    both. Sizes that aren't known are symbols, or numbers from LEAST on."""
    sizes = Sizes(least)
    for again in range(_AGAIN):
        sizes.frozen = again == _AGAIN - 1
        first = Converter(sizes)
        try:
            first.build([pair[0] for pair in leaves], before)
            break
        except Again:
            continue
    sizes.frozen = True
    second = Converter(sizes)
    second.build([pair[1] for pair in leaves], after, like=[pair[0] for pair in leaves])
    for one, other in ((first, second), (second, first)):
        for name, text in one.free.items():
            if name not in other.free:
                other.graph.input(text)
    return first, second


def _judge(before: Sequence[Any], after: Sequence[Any], leaves: Sequence[tuple[Any, Any]], reason: str = "",
           known: dict[str, Judgement] | None = None, **options: Any) -> Judgement:
    try:
        first, second = _sides(before, after, leaves)
    except Exception as error:  # an Op of somebody else's may raise any, and the suite that is judged goes on
        names = [str(error)[:60] if isinstance(error, NotSaid) else f"{name_of(v)}: {type(error).__name__} {error}"[:80] for v in after]
        return Judgement("not said", _outline(before), _outline(after), None, names, reason)
    unsaid = sorted(set(first.unsaid) | set(second.unsaid))
    made = Judgement("open", first.graph.text, second.graph.text, None, (), reason)
    if any(isinstance(t, Token) for t in (*first.results, *second.results)):
        same = first.results == second.results
        return Judgement("equal" if same else "not said", _outline(before), _outline(after), None, () if same else unsaid, reason)
    if known is not None and made.key in known:
        return known[made.key]
    if made.before == made.after:
        made.verdict = "equal"
        return made
    try:
        made.answer = equal(first.graph, second.graph, **{"seconds": 20, **options})
        if made.answer.verdict == "open" and "no result was defined" in getattr(made.answer.evidence.get("real"), "detail", ""):
            sides = _sides(before, after, leaves, _LEAST)  # slices may need more elements than symbols have
            unsaid = sorted({*unsaid, *sides[0].unsaid, *sides[1].unsaid})
            made.answer = equal(sides[0].graph, sides[1].graph, **{"seconds": 20, **options})
    except (Error, MemoryError) as error:
        made.unsaid = [f"gemel: {getattr(error, 'status', 'MemoryError')}"]
        made.verdict = "not said"
        return made
    made.verdict = made.answer.verdict
    if made.verdict != "equal" and unsaid:
        made.verdict, made.unsaid = "not said", unsaid
    if known is not None:
        known[made.key] = made
    return made


def _outline(outputs: Sequence[Any]) -> str:
    """The names of the Ops that OUTPUTS are made of, for what has no graph of gemel's."""
    from pytensor.printing import debugprint

    return str(debugprint(list(outputs), file="str", depth=6, id_type="CHAR"))


def _parts(of: Any) -> tuple[list[Any], list[Any]]:
    if isinstance(of, FunctionGraph):
        return list(of.inputs), list(of.outputs)
    if hasattr(of, "maker"):
        return _parts(of.maker.fgraph)
    inputs, outputs = of
    return list(inputs), list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def check(before: Any, after: Any, **options: Any) -> Judgement:
    """Whether two graphs are the same function: FunctionGraphs, compiled functions, or pairs of inputs and outputs. Inputs
    and outputs are matched by their places. OPTIONS are those of gemel.equal."""
    (inputs, first), (others, second) = _parts(before), _parts(after)
    if len(inputs) != len(others) or len(first) != len(second):
        raise ValueError(f"{len(inputs)} inputs and {len(first)} outputs, and {len(others)} and {len(second)}")
    return _judge(first, second, list(zip(inputs, others)), **options)


def assert_equal(before: Any, after: Any, **options: Any) -> Judgement:
    """Raises AssertionError, with the evidence, unless `check` finds the two to be the same function."""
    __tracebackhide__ = True
    found = check(before, after, **options)
    if not found:
        raise AssertionError(str(found))
    return found


def to_graph(of: Any) -> Any:
    """A FunctionGraph, a compiled function, or a pair of inputs and outputs as a gemel.Graph: inputs are x0, x1, …, outputs
    o0, o1, …"""
    inputs, outputs = _parts(of)
    return _sides(outputs, outputs, [(v, v) for v in inputs])[0].graph


# ---- Replacements ----

_SHAPES = {"Shape", "Shape_i", "MakeVector", "ScalarFromTensor", "TensorFromScalar", "Subtensor", "Elemwise", "Join", "Cast",
           "Prod", "CAReduce", "Reshape", "DimShuffle", "Sum", "Alloc", "Second"}


def _is_size(v: Any) -> bool:
    """Whether V says something of sizes: an integer scalar or vector that is made of shapes, perhaps."""
    owner = v.owner
    if owner is None or not str(getattr(v.type, "dtype", "")).startswith(("int", "uint")) or v.type.ndim > 1:
        return False
    return name_of(v) in _SHAPES or hasattr(owner.op, "nfunc_spec")


def _cut(old: Sequence[Any], new: Sequence[Any], depth: int) -> list[Any]:
    """The values of which both are made and that the local question takes for inputs: the nearest that both share, and so
    many nodes farther back."""
    shared = set(ancestors(old)) & set(ancestors(new))
    leaves: dict[Any, None] = {}
    level = {v: depth for v in (*new, *old)}
    stack = [*old, *new]
    while stack:
        v = stack.pop()
        if isinstance(v, Constant):
            continue
        left = level[v]
        if v.owner is None or (v in shared and left <= 0 and not _is_size(v)):
            leaves[v] = None
            continue
        for i in v.owner.inputs:
            next_left = left - 1 if v in shared and not _is_size(v) else left
            if level.get(i, -1) < next_left or i not in level:
                level[i] = next_left
                leaves.pop(i, None)
                stack.append(i)
    return list(leaves)


def judge_replacement(old: Any, new: Any, reason: str = "", known: dict[str, Judgement] | None = None,
                      **options: Any) -> Judgement:
    """Whether NEW may stand for OLD in a graph: over the values that both are made of, and where that doesn't decide it,
    over those that these are made of."""
    if type(getattr(old.owner, "op", None)).__name__ == "SpecifyAssumptions" and new is old.owner.inputs[0]:
        return Judgement("equal", _outline([old]), _outline([new]), reason=reason)
    try:
        pair = laws(old, new)
    except Exception as error:  # an Op of somebody else's may raise any
        return Judgement("not said", _outline([old]), _outline([new]), None, [str(error)[:60]], reason)
    before, after = ([old], [new]) if pair is None else pair
    if not before:
        return Judgement("equal", _outline([old]), _outline([new]), reason=reason)
    first: Judgement | None = None
    last: Judgement | None = None
    previous: list[Any] | None = None
    for depth in _DEPTHS:
        leaves = _cut(before, after, depth)
        if leaves == previous:
            continue
        if previous is not None and _nodes([*before, *after], leaves) > _LARGE:
            break
        previous = leaves
        last = _judge(before, after, [(v, v) for v in leaves], reason, known, **options)
        if first is None:
            first = last
        if last:
            break
    assert first is not None and last is not None
    if last is not first:
        last = _under(first, last)
    if known is not None and last:
        known[first.key] = last
    return last


def _under(first: Judgement, last: Judgement) -> Judgement:
    """LAST under the key of FIRST, which is the question as it was met."""
    made = Judgement(last.verdict, last.before, last.after, last.answer, last.unsaid, last.reason)
    made.key = first.key
    return made


def _nodes(outputs: Iterable[Any], leaves: Sequence[Any]) -> int:
    seen: set[Any] = set(leaves)
    stack, count = list(outputs), 0
    while stack:
        v = stack.pop()
        if v not in seen and v.owner is not None:
            count += 1
            stack.extend(v.owner.inputs)
        seen.add(v)
    return count


class Certificate:
    """What was found of each replacement: `judgements` by key, `count` how often each was made, `accepted` the keys of
    differences that are meant."""

    def __init__(self, accepted: Iterable[str] = ()) -> None:
        self.judgements: dict[str, Judgement] = {}
        self.count: Counter[str] = Counter()
        self.accepted = set(accepted)
        self.test = ""

    def add(self, judgement: Judgement) -> None:
        if judgement.key not in self.judgements:
            judgement.test = self.test
        self.judgements.setdefault(judgement.key, judgement)
        self.count[judgement.key] += 1

    def of(self, verdict: str) -> list[Judgement]:
        return [j for j in self.judgements.values() if j.verdict == verdict]

    @property
    def differing(self) -> list[Judgement]:
        """The replacements that differ, and aren't accepted."""
        return [j for j in self.of("differs") if j.key not in self.accepted]

    def __bool__(self) -> bool:
        return not self.differing

    @property
    def table(self) -> list[tuple[str, int, int]]:
        """Of each verdict the number of replacements, and of distinct ones."""
        verdicts = ["equal", "differs", "open", "not said"]
        return [(v, sum(self.count[j.key] for j in self.of(v)), len(self.of(v))) for v in verdicts]

    @property
    def unsaid(self) -> Counter[str]:
        """How many distinct replacements are not said because of each Op."""
        return Counter(name for j in self.of("not said") for name in j.unsaid)

    def __str__(self) -> str:
        rows = [f"{'':<10}{'replacements':>14}{'distinct':>10}"]
        rows += [f"{verdict:<10}{many:>14}{distinct:>10}" for verdict, many, distinct in self.table]
        if self.unsaid:
            rows.append("not said: " + ", ".join(f"{name} {count}" for name, count in self.unsaid.most_common(20)))
        for j in self.of("differs"):
            rows.append(f"differs{' (accepted)' if j.key in self.accepted else ''}: {j.key} by {j.reason or '?'}"
                        f"{' in ' + j.test if j.test else ''}: {', '.join(j.words) or ('a value where the first has none' if j.domain else 'other values')}")
        return "\n".join(rows)

    def save(self, path: Any) -> None:
        """Writes the differences as a baseline."""
        found = {j.key: {"by": j.reason, "test": j.test, "words": j.words} for j in self.of("differs")}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1, sort_keys=True)
            file.write("\n")


@contextlib.contextmanager
def certify(*, accepted: Iterable[str] = (), stop: bool = False, **options: Any) -> Iterator[Certificate]:
    """Judges each replacement that is made in a FunctionGraph meanwhile. ACCEPTED: keys of differences that are meant.
    STOP: the first other one raises AssertionError where it is made. OPTIONS are those of gemel.equal."""
    found = Certificate(accepted)
    known: dict[str, Judgement] = {}
    original = FunctionGraph.replace
    busy = False

    def replace(self: Any, var: Any, new_var: Any, reason: Any = None, **more: Any) -> Any:
        nonlocal busy
        if not busy and var is not new_var and var.owner is not None:  # an input is no value that a rewrite could keep
            busy = True
            try:
                new = var.type.filter_variable(new_var, allow_convert=True)
                judgement = judge_replacement(var, new, str(getattr(reason, "name", None) or reason or "")[:80], known, **options)
                found.add(judgement)
            finally:
                busy = False
            if stop and judgement.verdict == "differs" and judgement.key not in found.accepted:
                raise AssertionError(str(judgement))
        return original(self, var, new_var, reason=reason, **more)

    setattr(FunctionGraph, "replace", replace)
    try:
        yield found
    finally:
        setattr(FunctionGraph, "replace", original)
