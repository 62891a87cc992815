# SPDX-License-Identifier: MIT
"""Tensors: results of calls. They share their memory with NumPy, PyTorch and JAX."""
from __future__ import annotations

import struct
from typing import Any, Iterator

from . import _native
from ._errors import Error
from ._types import ArrayLike, DType, DTypeLike, DTYPES, dtype as find_dtype

_LETTERS = {"bool": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I",
            "u64": "Q", "f16": "e", "f32": "f", "f64": "d"}


class Tensor(_native.Tensor):
    """An array of gemel's. `Tensor(array)` has the array's elements where they are. NumPy reads one by
    `numpy.asarray(t)`, PyTorch and JAX by `torch.from_dlpack(t)` and `jax.dlpack.from_dlpack(t)`: no element is
    copied."""

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return DTYPES[_native.Tensor.dtype.__get__(self)]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    def numpy(self) -> Any:
        """The elements as an array of NumPy, which isn't copied; bf16 needs the package ml_dtypes."""
        import numpy

        if self.dtype.name == "bf16":
            import ml_dtypes

            return numpy.asarray(self.view("u16")).view(ml_dtypes.bfloat16)
        return numpy.asarray(memoryview(self))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def _flat(self) -> list[Any]:
        """The elements in row-major order."""
        name = self.dtype.name
        if name == "bf16":
            bits = struct.unpack(f"={self.size}H", memoryview(self.view("u16")).tobytes())
            return list(struct.unpack(f"={self.size}f", struct.pack(f"={self.size}I", *(b << 16 for b in bits))))
        return list(struct.unpack(f"={self.size}{_LETTERS[name]}", memoryview(self).tobytes()))

    def tolist(self) -> Any:
        """The elements as nested lists; of a scalar the element."""
        level: list[Any] = self._flat()
        if not self.shape:
            return level[0]
        count = self.size
        for n in reversed(self.shape[1:]):
            count = count // n if n else 0
            level = [level[k * n : (k + 1) * n] for k in range(count)]
        return level if self.size or len(self.shape) == 1 else [[] for _ in range(self.shape[0])]

    def item(self) -> Any:
        """The element of a tensor that has one."""
        if self.size != 1:
            raise ValueError(f"a tensor of shape {self.shape} has not one element")
        return self._flat()[0]

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in ("signed", "unsigned") or self.shape:
            raise TypeError("only a scalar of integers is an index")
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        return int(self.shape[0])

    def __getitem__(self, key: Any) -> Any:
        """As NumPy's, and by it."""
        return self.numpy()[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numpy())

    def __reduce__(self) -> Any:
        data = memoryview(self.view("u16") if self.dtype.name == "bf16" else self).tobytes()
        return _native.tensor_of_bytes, (self.dtype.name, self.shape, data)

    def __format__(self, form: str) -> str:
        return format(self.item(), form) if form else str(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = [i.numpy() if isinstance(i, Tensor) else i for i in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __add__(self, other: Any) -> Any: return self.numpy() + other
    def __radd__(self, other: Any) -> Any: return other + self.numpy()
    def __sub__(self, other: Any) -> Any: return self.numpy() - other
    def __rsub__(self, other: Any) -> Any: return other - self.numpy()
    def __mul__(self, other: Any) -> Any: return self.numpy() * other
    def __rmul__(self, other: Any) -> Any: return other * self.numpy()
    def __truediv__(self, other: Any) -> Any: return self.numpy() / other
    def __rtruediv__(self, other: Any) -> Any: return other / self.numpy()
    def __neg__(self) -> Any: return -self.numpy()

    def __eq__(self, other: object) -> Any:
        return self.numpy() == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = str(self.tolist()) if self.size <= 24 else f"{self.size} elements"
        return f"Tensor({shown}, {self.dtype.name}[{', '.join(map(str, self.shape))}])"


def _shape_of(nested: Any) -> tuple[int, ...]:
    """The shape that nested lists have at their first elements."""
    shape = []
    while isinstance(nested, (list, tuple)):
        shape.append(len(nested))
        if not nested:
            break
        nested = nested[0]
    return tuple(shape)


def _flatten(nested: Any, shape: tuple[int, ...]) -> list[Any]:
    level = [nested]
    for n in shape:
        for part in level:
            if not isinstance(part, (list, tuple)) or len(part) != n:
                raise ValueError("lists of different lengths are no array")
        level = [element for part in level for element in part]
    return level


def _infer(elements: list[Any]) -> DType:
    if all(isinstance(e, bool) for e in elements) and elements:
        return DTYPES["bool"]
    if all(isinstance(e, int) for e in elements) and elements:
        return DTYPES["i64"]
    return DTYPES["f64"]


def _bf16_bits(number: float) -> int:
    bits: int = struct.unpack("=I", struct.pack("=f", number))[0]
    if number != number:
        return (bits >> 16) | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF


def _pack(elements: list[Any], of: DType) -> bytes:
    try:
        if of.name == "bf16":
            return struct.pack(f"={len(elements)}H", *(_bf16_bits(float(e)) for e in elements))
        if of.name == "bool":
            elements = [bool(e) for e in elements]
        return struct.pack(f"={len(elements)}{_LETTERS[of.name]}", *elements)
    except (struct.error, OverflowError) as error:
        raise ValueError(f"{of.name} can't hold these elements: {error}") from None


def as_tensor(array: ArrayLike, dtype: DTypeLike = None) -> Tensor:
    """ARRAY as a tensor: another library's array where it is, numbers and lists of numbers in DTYPE (without it bool,
    i64 or f64, as NumPy has them)."""
    if isinstance(array, Tensor):
        return array
    wanted = find_dtype(dtype) if dtype is not None else None
    if type(array) in (bool, int, float) or isinstance(array, (list, tuple)):
        nested = [a.tolist() if hasattr(a, "tolist") else a for a in array] if isinstance(array, (list, tuple)) else array
        shape = _shape_of(nested)
        elements = _flatten(nested, shape)
        for e in elements:
            if not isinstance(e, (bool, int, float)):
                raise TypeError(f"a list with {e!r} is no array of numbers")
        of = wanted or _infer(elements)
        return _native.tensor_of_bytes(of.name, shape, _pack(elements, of))
    if getattr(getattr(array, "dtype", None), "kind", "") in tuple("mMOSUc"):  # a scalar of these lends its bytes
        raise TypeError(f"gemel has no elements of {array.dtype}")
    if getattr(getattr(array, "dtype", None), "name", "") == "bfloat16" and hasattr(array, "view"):
        return Tensor(array.view("uint16")).view("bf16")  # ml_dtypes'
    try:
        return Tensor(array)
    except (TypeError, BufferError, Error) as error:
        # An array that lies elsewhere than any buffer, as pandas' and TensorFlow's do.
        other = array.__array__() if hasattr(array, "__array__") else array
        if other is not array and type(other) is not type(array):
            return as_tensor(other)
        if not hasattr(array, "dtype"):
            raise TypeError(f"{type(array).__name__} is neither an array nor numbers: {array!r:.60}") from None
        raise TypeError(f"{type(array).__name__} of {array.dtype} is no array that gemel has: {error}") from None
