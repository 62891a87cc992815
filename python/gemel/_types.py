# SPDX-License-Identifier: MIT
"""Dtypes, which with sizes in brackets are the types of tensors: f32["N", 64]."""
from __future__ import annotations

from typing import Any, Sequence, Union

from . import _native

# What functions take: values, shared variables, numbers, and arrays of any library.
ArrayLike = Any
Axes = Union[int, Sequence[int], None]
# A size: a number, a name, an expression of sizes, an integer scalar of the graph.
DimLike = Any
DTypeLike = Any

_KINDS = ("bool", "signed", "unsigned", "float")


class DType:
    """A dtype: gemel.f32 and its like. `gemel.f32["N", 64]` is a type, and so is `gemel.f32`, of scalars."""

    __slots__ = ("name", "itemsize", "kind")

    def __init__(self, name: str, itemsize: int, kind: int) -> None:
        self.name, self.itemsize, self.kind = name, itemsize, _KINDS[kind]

    def __getitem__(self, sizes: Any) -> Type:
        return Type(self, sizes if isinstance(sizes, tuple) else (sizes,))

    def __call__(self) -> Type:
        """The type of scalars."""
        return Type(self, ())

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.name == other.name
        try:
            return self.name == dtype(other).name
        except TypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> Any:
        return dtype, (self.name,)


class Type:
    """The type of a tensor: its dtype, its sizes, and what may be assumed of its elements."""

    __slots__ = ("dtype", "shape", "facts")

    def __init__(self, dtype: DType, shape: Sequence[DimLike], facts: Sequence[str] = ()) -> None:
        self.dtype, self.shape, self.facts = dtype, tuple(shape), tuple(facts)

    def assuming(self, *facts: str) -> Type:
        """The type with facts about the elements of inputs: "positive", "nonnegative", "nonzero", "not_nan",
        "finite". What violates them isn't checked."""
        return Type(self.dtype, self.shape, self.facts + facts)

    def __repr__(self) -> str:
        sizes = "[" + ", ".join(str(s) for s in self.shape) + "]" if self.shape else "[]"
        return " ".join((self.dtype.name + sizes, *self.facts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __call__(self) -> Type:  # what typing asks of a type
        return self


DTYPES = {name: DType(name, size, kind) for name, size, kind in _native.DTYPES}

# NumPy's, PyTorch's and JAX's names.
_OTHERS = {"bool_": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "int": "i64",
           "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "half": "f16", "float16": "f16",
           "bfloat16": "bf16", "float": "f64", "float32": "f32", "float64": "f64", "double": "f64"}


def dtype(of: DTypeLike) -> DType:
    """The dtype that OF is: one of gemel's, its name, or another library's dtype or its name."""
    if isinstance(of, DType):
        return of
    name = of if isinstance(of, str) else getattr(of, "name", None) or getattr(of, "__name__", None) or str(of)
    name = str(name).rpartition(".")[2]
    name = _OTHERS.get(name, name)
    if name not in DTYPES:
        raise TypeError(f"gemel has no dtype {of!r}: it has {', '.join(DTYPES)}")
    return DTYPES[name]


def as_type(of: Any) -> Type:
    """OF as a type: a type, a dtype for scalars of it, or their text."""
    if isinstance(of, Type):
        return of
    if isinstance(of, DType):
        return of()
    raise TypeError(f"{of!r} is no type: write gemel.f32[\"N\", 64], or gemel.f32 for a scalar")
