# SPDX-License-Identifier: MIT
"""Graphs: read, built by hand, or traced from functions of Python; and what they are made into."""
from __future__ import annotations

import inspect
import os
import threading
from typing import Any, Callable, Iterator, Mapping, Sequence

from . import _native
from . import _names as n
from ._errors import Error
from ._place import current, pop, push, where as place
from ._tensor import Tensor, as_tensor
from ._types import ArrayLike, DType, DTYPES, Type, as_type
from ._values import Operators, Value

_ALL = (1 << len(_native.WORDS)) - 1


def words_as_bits(words: Any, default: int, everything: int) -> int:
    """Words that tell two graphs apart, as bits: an iterable of words or a text with commas; "all", "none",
    "default"."""
    if words is None:
        return default
    bits = 0
    for word in words.split(",") if isinstance(words, str) else words:
        word = word.strip()
        if word == "all":
            bits |= everything
        elif word == "default":
            bits |= default
        elif word in _native.WORDS:
            bits |= 1 << _native.WORDS.index(word)
        elif word not in ("none", ""):
            raise ValueError(f"no word {word!r}: there are all, default, none, {', '.join(_native.WORDS)}")
    return bits


# ---- Definitions ----

_definitions: tuple[str, ...] = ()


def define(text: str) -> None:
    """Defines the operations of TEXT, as `operation swish(x) { return x * sigmoid(x) }`, or its composites and operators of
    ONNX, for graphs that are made or read from now on; gemel.apply("swish", x) applies an operation or composite."""
    global _definitions
    _native.Graph.make(_definitions + (text,))  # an error shows here
    _definitions += (text,)


def apply(operation: str, *xs: ArrayLike) -> Any:
    """The result of an operation without attributes, such as one that gemel.define defined; a tuple of several."""
    return _native.apply(current(), operation, xs, *place())


# ---- Reading ----


def _source(source: Any) -> tuple[str, Any, Any, str]:
    """What SOURCE is: (kind, path, bytes, the name for messages)."""
    if hasattr(source, "SerializeToString"):  # onnx.ModelProto
        return "onnx", None, source.SerializeToString(), "<model>"
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        kind = "binary" if data.startswith(_BINARY) else "hlo" if data.startswith(_HLO) else "text" if _is_text(data) else "onnx"
        return kind, None, data, "<bytes>"
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return "hlo" if source.startswith("HloModule") else "text", None, source.encode(), "<text>"
    path = os.fspath(source)
    if path.endswith(".onnx"):
        return "onnx", path, None, path
    module = _module(path)
    return ("file", path, None, path) if module is None else ("hlo", None, module, path)


_HLO = b"HloModule"


def _module(path: Any) -> bytes | None:
    """What the file PATH has, if that is a module of HLO."""
    try:
        with open(path, "rb") as file:
            return file.read() if file.read(len(_HLO)) == _HLO and file.seek(0) == 0 else None
    except OSError:  # which is said when the file is read
        return None


_BINARY = _native.Graph.make(()).serialize("main")[:4]


def _is_text(data: bytes) -> bool:
    words = data.lstrip().split(None, 1)
    return bool(words) and (words[0] in (b"graph", b"operation", b"rule") or words[0].startswith(b"#"))


class Graph(_native.Graph):
    """A graph: inputs, values computed of them, outputs.

    Graph(source): read from a path (.gmt text, .gemel, .onnx, XLA's HLO as text), from a graph's text, or from the bytes
    of any of these or an onnx.ModelProto. SIZES gives numbers for symbols of an ONNX model.
    Graph(): empty. Inside `with graph:` functions build on it.
    """

    name: str = "main"
    states: Mapping[str, Shared]
    is_onnx = False
    _results: Any = None

    def __new__(cls, source: Any = None, *, name: str | None = None, sizes: Mapping[str, int] | None = None) -> Graph:
        if source is None:
            graph = _native.Graph.make(_definitions)
        elif isinstance(source, Graph):
            return source
        elif isinstance(source, Function):
            return source.graph
        else:
            graph = _read(source, _definitions, sizes)
        if name is not None:
            if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
                raise ValueError(f"a graph's name is letters of ASCII, digits and _, not {name!r}")
            graph.name = name
        return graph

    def __init_subclass__(cls) -> None:
        raise TypeError("gemel.Graph is final")

    # Built by hand.

    def __enter__(self) -> Graph:
        push(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        pop()

    def input(self, name: str, type: Any = None) -> Value:
        """A new input: input("x", gemel.f32["N", 3]), or as in a graph's text input("x: f32[N, 3]")."""
        return self.declare(name if type is None else f"{name}: {as_type(type)}", *place())

    def state(self, name: str, type: Any) -> Value:
        """A new state: an input that lives in a shared variable, and that calls may change."""
        return self.declare(f"state {name}: {as_type(type)}", *place())

    def update(self, state: Value, value: ArrayLike) -> None:
        """Says what STATE becomes when a call is done."""
        self.set_update(state, n.value(value), *place())

    def output(self, value: ArrayLike, name: str) -> None:
        """Makes VALUE an output."""
        self.set_output(n.value(value), name, *place())

    def constant(self, array: ArrayLike, dtype: Any = None) -> Value:
        """A constant."""
        return _native.constant(array if dtype is None else as_tensor(array, dtype), self, *place())

    # Looked at.

    @property
    def inputs(self) -> dict[str, Value]:
        """The inputs by name, states among them."""
        return {name: value for name, value, _ in self.input_list()}

    @property
    def outputs(self) -> dict[str, Value]:
        """The outputs by name, updates of states among them."""
        return {name: value for name, value, _ in self.output_list()}

    @property
    def text(self) -> str:
        """The graph as text, which reads back the same."""
        return self.print_text(self.name)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        sides = [", ".join(f"{name}: {value.type_text}" for name, value in side.items())
                 for side in (self.inputs, self.outputs)]
        return f"<gemel.Graph {self.name}({sides[0]}) -> {sides[1]}, {self.node_count} nodes>"

    def __bytes__(self) -> bytes:
        return self.serialize(self.name)

    def __reduce__(self) -> Any:
        text = self.text
        return _from_bytes, (text.encode() if text.startswith("operation") else bytes(self), self.name)

    # Made into something.

    def save(self, path: Any) -> None:
        """Writes the graph to a file: binary if PATH ends in ".gemel", else text, ".gmt" by custom."""
        self.save_file(os.fspath(path), self.name)

    def optimize(self, *, mode: str = "fast_run", allow: Any = None, include: str | None = None,
                 exclude: str | None = None, rules: str | None = None) -> Graph:
        """A graph that computes the same with less work, by gemel's rules and those in the text RULES. ALLOW says what
        of IEEE arithmetic may be given up ("none", or words such as "reassoc,nsz")."""
        bits = words_as_bits(allow, _native.FASTMATH_DEFAULT, _ALL)
        made = self.rewritten(mode, bits, include, exclude, rules, "<rules>")
        made.name, made.states, made._results = self.name, self.states, self._results
        return made

    def grad(self, of: str | None = None, wrt: Any = None) -> Graph:
        """A graph with the outputs of this one and, for each input X of a float dtype that WRT names, the gradient d_X
        of the scalar output OF (the first one)."""
        made = _copy(self)
        outputs = made.outputs
        output = next(iter(outputs.values())) if of is None else _named(outputs, of, "output")
        names = [wrt] if isinstance(wrt, str) else wrt
        if names is None:
            names = [name for name, value in made.inputs.items() if value.dtype.kind == "float"]
        inputs = [_named(made.inputs, name, "input") for name in names]
        for name, slope in zip(names, made.gradients([output], inputs, None)):
            made.set_output(slope, f"d_{name}", *place())
        return made

    def compile(self, *, states: Mapping[str, Any] | None = None, allow: Any = None, threads: int = 0,
                deterministic: bool = False, as_written: bool = False, guard: str | None = None,
                autotune: bool = False) -> Compiled:
        """The graph as a function of arrays. It is optimised as far as ALLOW says (as for `optimize`), or not at all if
        AS_WRITTEN. STATES are the shared variables of its states, by name (those that it was
        traced with by themselves); of a graph without any, states are inputs and their updates outputs. GUARD "nan",
        "inf" or "all" ends a call where the first NaN or infinity is made, with an error that names the line."""
        return Compiled(self, {**self.states, **(states or {})}, allow, threads, deterministic, as_written, guard,
                        autotune)

    def __call__(self, /, *arrays: ArrayLike, **named: ArrayLike) -> Any:
        """Compiles the graph as it is written, and calls it once."""
        return self.compile(as_written=True)(*arrays, **named)


Graph.states = {}


def _read(source: Any, definitions: Any, sizes: Mapping[str, int] | None) -> Graph:
    kind, path, data, name = _source(source)
    if sizes and kind != "onnx":
        raise ValueError("sizes are for symbols of ONNX models")
    graph, called = _native.Graph.read(definitions, kind, path, data, name, None, dict(sizes or {}))
    graph.name = called or "main"
    if kind == "onnx":
        graph.is_onnx = True
    return graph


def _from_bytes(data: bytes, name: str) -> Graph:
    graph = _read(data, _definitions, None)
    graph.name = name
    return graph


def _transferred(graph: Graph, definitions: Any) -> Graph:
    """A copy of GRAPH in the context of DEFINITIONS. Bytes don't carry the operations that a text defined; text does."""
    try:
        return _read(bytes(graph), definitions, None)
    except Error:
        return _read(graph.text.encode(), definitions, None)


def _copy(graph: Graph) -> Graph:
    """A graph of its own context with the same nodes, inputs and outputs."""
    made = _transferred(graph, ())
    made.name = graph.name
    made.states = graph.states
    return made


def _named(values: Mapping[str, Value], name: str, what: str) -> Value:
    if name not in values:
        raise ValueError(f"no {what} {name!r}: there are {', '.join(values) or 'none'}")
    return values[name]


# ---- Shared variables ----


class Shared(_native.Shared, Operators):
    """A variable that lives between calls. In a function that is traced it is a value, and `update` says what it
    becomes when a call is done."""

    def __new__(cls, value: ArrayLike, name: str | None = None) -> Shared:
        return _native.Shared.__new__(cls, as_tensor(value))

    def __init__(self, value: ArrayLike, name: str | None = None) -> None:
        if name is not None and not (isinstance(name, str) and name.isascii() and name.isidentifier()):
            raise ValueError(f"a variable's name is letters of ASCII, digits and _, not {name!r}")
        self.name = name

    def __reduce__(self) -> Any:
        return Shared, (self.read(), self.name)

    @property
    def value(self) -> Tensor:
        """What it holds now."""
        return self.read()

    @value.setter
    def value(self, array: ArrayLike) -> None:
        tensor, now = as_tensor(array, self.dtype), self.read()
        if tensor.dtype != now.dtype or tensor.shape != now.shape:
            raise ValueError(f"a variable keeps its type: {self!r} can't become {tensor.dtype}{list(tensor.shape)}")
        self.write(tensor)

    def numpy(self) -> Any:
        """What it holds now, as an array of NumPy that isn't to be written to."""
        return self.read().numpy()

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.read().shape

    @property
    def dtype(self) -> DType:
        return self.read().dtype

    def __gemel_value__(self) -> Value:
        graph = current()
        if graph is None:
            raise TypeError("a shared variable is a value only while a function is traced; its array is .value")
        return _state_of(_root(graph), self)

    def update(self, value: ArrayLike) -> None:
        """Says, in a function that is traced, what the variable becomes when a call is done."""
        state = self.__gemel_value__()
        if current() is not _root(current()):
            raise TypeError("what a variable becomes is said outside of loops, which have states of their own")
        current().set_update(state, n.value(value), *place())

    def __repr__(self) -> str:
        return f"<gemel.Shared {self.name or ''}: {self.dtype}{list(self.shape)}>"


def _root(graph: Any) -> Graph:
    """The graph around all loops of which GRAPH is a body."""
    while getattr(graph, "_outer", None) is not None:
        graph = graph._outer
    return graph


def _state_of(graph: Graph, shared: Shared) -> Value:
    """The state of GRAPH that stands for SHARED: a new one where it is read first."""
    for name, known in graph.states.items():
        if known is shared:
            return graph.inputs[name]
    if "states" not in graph.__dict__:
        graph.states = {}
    taken = graph.inputs
    name = shared.name or f"shared{len(graph.states)}"
    while name in taken:
        name += "_"
    state = graph.declare(f"state {name}: {Type(shared.dtype, shared.shape)}", *place())
    graph.states[name] = shared  # type: ignore[index]
    return state


# ---- Compiled graphs ----

# How often this process was made by fork: threads of OpenMP aren't there in a child, and a function that was compiled
# for them would wait for ever.
_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1
    _native.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

_GUARDS = {None: 0, "nan": 1, "inf": 2, "all": 3}


class Compiled:
    """A graph as a function of arrays. It may be called on several threads at once."""

    def __init__(self, graph: Graph, states: Mapping[str, Any], allow: Any, threads: int, deterministic: bool,
                 as_written: bool, guard: str | None, autotune: bool) -> None:
        if guard not in _GUARDS:
            raise ValueError("guard is \"nan\", \"inf\" or \"all\"")
        inputs = graph.input_list()
        bound = bool(states)
        names = [name for name, _, is_state in inputs if is_state]
        missing = [name for name in names if name not in states]
        if bound and missing:
            raise ValueError(f"no variable for the states {', '.join(missing)}")
        unknown = [name for name in states if name not in names]
        if unknown:
            raise ValueError(f"the graph has no states {', '.join(unknown)}")
        self.states: dict[str, Shared] = {
            name: s if isinstance(s, Shared) else Shared(s, name) for name, s in states.items()}
        self._inputs = [(name, value.dtype) for name, value, is_state in inputs if not (bound and is_state)]
        self.outputs: list[str] = [name for name, _, is_update in graph.output_list() if not (bound and is_update)]
        self._results = graph._results
        self._made_of = (graph, tuple(self.states[name] for name in names) if bound else ())
        self._options = (int(deterministic), int(as_written), _GUARDS[guard], int(autotune),
                         words_as_bits(allow, _native.FASTMATH_DEFAULT, _ALL))
        self._forks = _forks
        self._function = _native.Function(*self._made_of, threads if _forks == 0 else 1, *self._options)

    @property
    def inputs(self) -> list[str]:
        """The names of the arrays that a call takes, in their order."""
        return [name for name, _ in self._inputs]

    def _bind(self, arrays: Sequence[ArrayLike], named: Mapping[str, ArrayLike]) -> tuple[Tensor, ...]:
        if len(arrays) + len(named) != len(self._inputs) or any(name not in self.inputs for name in named):
            raise TypeError(f"this function takes ({', '.join(self.inputs)}), not {len(arrays)} arrays"
                            + (f" and {', '.join(named)}" if named else ""))
        rest = [(name, dtype) for name, dtype in self._inputs if name not in named]
        by_name = {name: as_tensor(a, dtype) for (name, dtype), a in zip(rest, arrays)}
        by_name.update((name, as_tensor(named[name], dtype)) for name, dtype in self._inputs if name in named)
        return tuple(by_name[name] for name in self.inputs)

    def __call__(self, /, *arrays: ArrayLike, **named: ArrayLike) -> Any:
        if self._forks != _forks:
            self._function = _native.Function(*self._made_of, 1, *self._options)
            self._forks = _forks
        results = self._function.run(self._bind(arrays, named))
        if self._results is not None:
            return self._results(dict(zip(self.outputs, results)))
        return results[0] if len(results) == 1 else results


# ---- Traced functions ----


class _Structure:
    """How a function's results are put together: a value, or tuples, lists and dicts of values; each value is an
    output by a name of its own."""

    def __init__(self, returned: Any) -> None:
        self.values: dict[str, Any] = {}
        self.shape = self._visit(returned, "result")

    def _visit(self, part: Any, name: str) -> Any:
        if isinstance(part, dict):
            return {key: self._visit(value, _name_of(key, name)) for key, value in part.items()}
        if isinstance(part, (tuple, list)) and not all(isinstance(p, (int, float)) for p in part):
            parts = [self._visit(p, f"{name}{k}") for k, p in enumerate(part)]
            return type(part)(parts) if type(part) in (tuple, list) else type(part)(*parts)
        if part is None:
            return None
        while name in self.values:
            name += "_"
        self.values[name] = part
        return _Place(name)

    def __call__(self, results: Mapping[str, Tensor]) -> Any:
        return self._fill(self.shape, results)

    def _fill(self, shape: Any, results: Mapping[str, Tensor]) -> Any:
        if isinstance(shape, _Place):
            return results[shape.name]
        if isinstance(shape, dict):
            return {key: self._fill(part, results) for key, part in shape.items()}
        if isinstance(shape, (tuple, list)):
            parts = [self._fill(p, results) for p in shape]
            return type(shape)(parts) if type(shape) in (tuple, list) else type(shape)(*parts)
        return shape


class _Place:
    def __init__(self, name: str) -> None:
        self.name = name


def _name_of(key: Any, otherwise: str) -> str:
    name = str(key)
    return name if name.isidentifier() and name.isascii() else otherwise


def _annotation(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """What stands behind the parameter's colon; evaluated, where the file has annotations as text."""
    annotation = parameter.annotation
    if isinstance(annotation, str):
        names = dict(inspect.getclosurevars(function).nonlocals)
        annotation = eval(annotation, function.__globals__, names)
    return annotation


class Function:
    """A function of Python over values, which is traced once into a graph. Called with arrays it computes; called
    with values, as from another such function, it adds its nodes to their graph."""

    def __init__(self, function: Callable[..., Any], types: Sequence[Any], options: Mapping[str, Any]) -> None:
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", "main")
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self._types = types
        self._options = options
        self._lock = threading.RLock()
        self._graph: Graph | None = None
        self._compiled: Compiled | None = None

    def _parameters(self) -> Iterator[tuple[str, Type]]:
        parameters = list(inspect.signature(self.__wrapped__).parameters.values())
        types = list(self._types)
        for k, p in enumerate(parameters):
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                raise TypeError(f"{self.__name__}: *{p.name} has no type: name each input")
            given = types[k] if k < len(types) else _annotation(self.__wrapped__, p)
            if p.default is not p.empty and not isinstance(given, (Type, DType)):
                continue  # a parameter with a default is what it is when the function is traced
            if not (p.name.isascii() and p.name.isidentifier()):
                raise ValueError(f"{self.__name__}: names of inputs are letters of ASCII, digits and _, not {p.name!r}")
            if given is p.empty:
                raise TypeError(f"{self.__name__}: {p.name} has no type: write {p.name}: gemel.f32[\"N\", 64]")
            yield p.name, as_type(given)

    def _trace(self) -> Graph:
        graph = Graph(name=_name_of(self.__name__, "main"))
        graph.states = {}
        code = self.__wrapped__.__code__ if hasattr(self.__wrapped__, "__code__") else None
        line = (code.co_filename, code.co_firstlineno) if code is not None else place()
        with graph:
            inputs = {name: graph.declare(f"{name}: {type}", *line) for name, type in self._parameters()}
            returned = self.__wrapped__(**inputs)
            structure = _Structure(returned)
            for name, value in structure.values.items():
                graph.set_output(n.value(value), name, *line)
        structure.values.clear()  # they hold the graph, which holds this
        graph._results = structure
        return graph

    @property
    def graph(self) -> Graph:
        """The graph of the function."""
        with self._lock:
            if self._graph is None:
                self._graph = self._trace()
            return self._graph

    def compile(self, **options: Any) -> Compiled:
        """The function compiled, with the options of Graph.compile."""
        return self.graph.compile(**{**self._options, **options})

    def optimize(self, **options: Any) -> Graph:
        """The optimised graph, with the options of Graph.optimize."""
        return self.graph.optimize(**options)

    def save(self, path: Any) -> None:
        """Writes the graph to a file."""
        self.graph.save(path)

    def __call__(self, /, *arrays: Any, **named: Any) -> Any:
        if current() is not None or any(isinstance(a, Operators) for a in (*arrays, *named.values())):
            return self.__wrapped__(*arrays, **named)
        with self._lock:
            if self._compiled is None:
                self._compiled = self.compile()
        return self._compiled(*arrays, **named)

    def _derived(self, wrt: Any, and_value: bool) -> Function:
        names = [name for name, _ in self._parameters()]
        types = [type for _, type in self._parameters()]
        chosen = [names[0]] if wrt is None else [wrt] if isinstance(wrt, str) else list(wrt)
        for name in chosen:
            if name not in names:
                raise ValueError(f"{self.__name__} has no parameter {name!r}")

        def derivative(**inputs: Any) -> Any:
            value = self.__wrapped__(**inputs)
            slopes = grad(value, [inputs[name] for name in chosen])
            result = slopes[0] if wrt is None or isinstance(wrt, str) else tuple(slopes)
            return (value, result) if and_value else result

        derivative.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])
        derivative.__name__ = f"d_{self.__name__}"
        return Function(derivative, types, self._options)

    def grad(self, wrt: Any = None) -> Function:
        """The gradient of the function's result, a scalar, by the parameter WRT (the first), or by several."""
        return self._derived(wrt, False)

    def value_and_grad(self, wrt: Any = None) -> Function:
        """The function's result and its gradient."""
        return self._derived(wrt, True)

    def __repr__(self) -> str:
        return f"<gemel.function {self.__name__}>"


def function(function: Callable[..., Any] | None = None, *types: Any, **options: Any) -> Any:
    """Makes a function of Python over values into one of arrays. Its parameters are annotated with types, or TYPES gives
    them. OPTIONS are those of Graph.compile.

        @gemel.function
        def length(x: gemel.f64["N"]):
            return gemel.sqrt(gemel.sum(x * x))
    """
    if function is None:
        return lambda of: Function(of, (), options)
    return Function(function, types, options)


# ---- Derivatives ----


def _graph_of(values: Sequence[Any]) -> Graph:
    for value in values:
        if isinstance(value, Value):
            return value.graph
    raise TypeError("no value of a graph")


def grad(y: ArrayLike, x: Any, seed: Any = None) -> Any:
    """The gradient of y, a scalar (or the product of SEED with y's derivative), by x; of a list of values, a list. Where
    nothing of x flows into y it is 0."""
    several = isinstance(x, (list, tuple))
    wrt = [n.value(v) for v in (x if several else [x])]
    value = n.value(y)
    slopes = _graph_of([value]).gradients([value], wrt, None if seed is None else [n.value(seed)])
    return slopes if several else slopes[0]


def jvp(y: ArrayLike, x: Any, tangent: Any) -> Value:
    """The derivative of y along TANGENT, a value of x's type; of lists, along all at once."""
    several = isinstance(x, (list, tuple))
    value = n.value(y)
    wrt = [n.value(v) for v in (x if several else [x])]
    tangents = [n.value(t) for t in (tangent if several else [tangent])]
    result: Value = _graph_of([value]).tangents([value], wrt, tangents)[0]
    return result
