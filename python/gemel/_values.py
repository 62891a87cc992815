# SPDX-License-Identifier: MIT
"""Values of a graph, with NumPy's operators, indexing and methods."""
from __future__ import annotations

from typing import Any, Iterator

from . import _functions as f
from . import _names as n
from . import _native
from ._types import ArrayLike, Axes, DType, DTypeLike, DTYPES, Type


class Operators:
    """What values and shared variables have in common: each operator and method makes a node."""

    __array_ufunc__ = None  # so that NumPy leaves array + value to __radd__
    __array_priority__ = 1000.0

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        raise TypeError(f"numpy.{function.__name__} is for arrays; gemel has functions of its own for values: "
                        f"gemel.{function.__name__}, perhaps")

    def __add__(self, y: ArrayLike) -> Value: return f.add(self, y)
    def __radd__(self, y: ArrayLike) -> Value: return f.add(y, self)
    def __sub__(self, y: ArrayLike) -> Value: return f.sub(self, y)
    def __rsub__(self, y: ArrayLike) -> Value: return f.sub(y, self)
    def __mul__(self, y: ArrayLike) -> Value: return f.mul(self, y)
    def __rmul__(self, y: ArrayLike) -> Value: return f.mul(y, self)
    def __truediv__(self, y: ArrayLike) -> Value: return f.div(self, y)
    def __rtruediv__(self, y: ArrayLike) -> Value: return f.div(y, self)
    def __floordiv__(self, y: ArrayLike) -> Value: return n.floor_divide(self, y)
    def __rfloordiv__(self, y: ArrayLike) -> Value: return n.floor_divide(y, self)
    def __mod__(self, y: ArrayLike) -> Value: return f.mod(self, y)
    def __rmod__(self, y: ArrayLike) -> Value: return f.mod(y, self)
    def __pow__(self, y: ArrayLike) -> Value: return f.pow(self, y)
    def __rpow__(self, y: ArrayLike) -> Value: return f.pow(y, self)
    def __matmul__(self, y: ArrayLike) -> Value: return f.matmul(self, y)
    def __rmatmul__(self, y: ArrayLike) -> Value: return f.matmul(y, self)
    def __and__(self, y: ArrayLike) -> Value: return n.bitwise_and(self, y)
    def __rand__(self, y: ArrayLike) -> Value: return n.bitwise_and(y, self)
    def __or__(self, y: ArrayLike) -> Value: return n.bitwise_or(self, y)
    def __ror__(self, y: ArrayLike) -> Value: return n.bitwise_or(y, self)
    def __xor__(self, y: ArrayLike) -> Value: return n.bitwise_xor(self, y)
    def __rxor__(self, y: ArrayLike) -> Value: return n.bitwise_xor(y, self)
    def __lshift__(self, y: ArrayLike) -> Value: return f.shift_left(self, y)
    def __rlshift__(self, y: ArrayLike) -> Value: return f.shift_left(y, self)
    def __rshift__(self, y: ArrayLike) -> Value: return f.shift_right(self, y)
    def __rrshift__(self, y: ArrayLike) -> Value: return f.shift_right(y, self)
    def __lt__(self, y: ArrayLike) -> Value: return f.lt(self, y)
    def __le__(self, y: ArrayLike) -> Value: return f.le(self, y)
    def __gt__(self, y: ArrayLike) -> Value: return f.gt(self, y)
    def __ge__(self, y: ArrayLike) -> Value: return f.ge(self, y)
    def __eq__(self, y: ArrayLike) -> Value: return f.eq(self, y)  # type: ignore[override]
    def __ne__(self, y: ArrayLike) -> Value: return f.ne(self, y)  # type: ignore[override]
    def __neg__(self) -> Value: return f.neg(self)
    def __pos__(self) -> Value: return n.value(self)
    def __abs__(self) -> Value: return f.abs(self)
    def __invert__(self) -> Value: return n.invert(self)
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("a value of a graph isn't known yet, so it is neither true nor false: use gemel.where, or "
                        "decide by a Python value")

    def __float__(self) -> float:
        raise TypeError("a value of a graph isn't known before the graph is called")

    __int__ = __index__ = __complex__ = __float__  # type: ignore[assignment]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        if not isinstance(self.shape[0], int):
            raise TypeError(f"the length {self.shape[0]} isn't known before the graph is called: use x.shape[0]")
        return self.shape[0]

    def __iter__(self) -> Iterator[Value]:
        return iter([self[k] for k in range(len(self))])

    def __getitem__(self, key: Any) -> Value: return n.getitem(self, key)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes: ints, and symbols with + - * // where a size isn't known yet."""
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        """The dtype."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Any:
        """The number of elements."""
        product: Any = 1
        for s in self.shape:
            product = product * s
        return product

    @property
    def T(self) -> Value: return n.transpose(self)

    def astype(self, dtype: DTypeLike) -> Value: return n.cast(self, dtype)
    def reshape(self, *shape: Any) -> Value: return n.reshape(self, shape[0] if len(shape) == 1 else shape)
    def transpose(self, *axes: Any) -> Value: return n.transpose(self, *axes)
    def swapaxes(self, a: int, b: int) -> Value: return f.swapaxes(self, a, b)
    def squeeze(self, axis: Axes = None) -> Value: return n.squeeze(self, axis)
    def ravel(self) -> Value: return f.flatten(self)
    def flatten(self) -> Value: return f.flatten(self)
    def take(self, indices: ArrayLike, axis: int = 0) -> Value: return f.take(self, indices, axis)
    def dot(self, y: ArrayLike) -> Value: return f.dot(self, y)
    def clip(self, low: ArrayLike, high: ArrayLike) -> Value: return f.clip(self, low, high)
    def round(self) -> Value: return f.round(self)
    def sum(self, axis: Axes = None, keepdims: bool = False) -> Value: return f.sum(self, axis, keepdims)
    def mean(self, axis: Axes = None, keepdims: bool = False) -> Value: return f.mean(self, axis, keepdims)
    def prod(self, axis: Axes = None, keepdims: bool = False) -> Value: return f.prod(self, axis, keepdims)
    def max(self, axis: Axes = None, keepdims: bool = False) -> Value: return f.max(self, axis, keepdims)
    def min(self, axis: Axes = None, keepdims: bool = False) -> Value: return f.min(self, axis, keepdims)
    def any(self, axis: Axes = None, keepdims: bool = False) -> Value: return f.any(self, axis, keepdims)
    def all(self, axis: Axes = None, keepdims: bool = False) -> Value: return f.all(self, axis, keepdims)
    def var(self, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Value:
        return f.var(self, axis, keepdims, ddof)
    def std(self, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Value:
        return f.std(self, axis, keepdims, ddof)
    def argmax(self, axis: int) -> Value: return f.argmax(self, axis)
    def argmin(self, axis: int) -> Value: return f.argmin(self, axis)
    def argsort(self, axis: int = -1) -> Value: return f.argsort(self, axis)
    def cumsum(self, axis: int = 0) -> Value: return f.cumsum(self, axis)


class Value(_native.Value, Operators):
    """A value of a graph: what is computed when the graph is called."""

    __eq__ = Operators.__eq__  # type: ignore[assignment]
    __ne__ = Operators.__ne__  # type: ignore[assignment]
    __lt__, __le__, __gt__, __ge__ = Operators.__lt__, Operators.__le__, Operators.__gt__, Operators.__ge__
    __hash__ = object.__hash__
    shape = _native.Value.shape  # type: ignore[assignment]

    @property
    def dtype(self) -> DType:
        return DTYPES[self.dtype_name]

    @property
    def type(self) -> Type:
        """The type, as of an input."""
        return Type(self.dtype, self.shape)

    def __repr__(self) -> str:
        return f"<gemel.Value {self.type_text} of {self.operation}>"
