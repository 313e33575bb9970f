# SPDX-License-Identifier: Apache-2.0
# Made by python/stubs/make_stubs.py.
import collections.abc
import typing

import tilewright._core

__version__: str


class PrimExpr:
    """An expression: immutable, compared by identity."""
    def __abs__(self) -> typing.Any:
        ...
    def __add__(self, other: typing.Any) -> typing.Any:
        ...
    def __and__(self, other: typing.Any) -> typing.Any:
        ...
    def __eq__(self, other: typing.Any) -> typing.Any:
        ...
    def __floordiv__(self, other: typing.Any) -> typing.Any:
        ...
    def __ge__(self, other: typing.Any) -> typing.Any:
        ...
    def __gt__(self, other: typing.Any) -> typing.Any:
        ...
    def __invert__(self) -> typing.Any:
        ...
    def __le__(self, other: typing.Any) -> typing.Any:
        ...
    def __lshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __lt__(self, other: typing.Any) -> typing.Any:
        ...
    def __mod__(self, other: typing.Any) -> typing.Any:
        ...
    def __mul__(self, other: typing.Any) -> typing.Any:
        ...
    def __ne__(self, other: typing.Any) -> typing.Any:
        ...
    def __neg__(self) -> typing.Any:
        ...
    def __or__(self, other: typing.Any) -> typing.Any:
        ...
    def __pow__(self, other: typing.Any) -> typing.Any:
        ...
    def __radd__(self, other: typing.Any) -> typing.Any:
        ...
    def __rand__(self, other: typing.Any) -> typing.Any:
        ...
    def __rfloordiv__(self, other: typing.Any) -> typing.Any:
        ...
    def __rlshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __rmod__(self, other: typing.Any) -> typing.Any:
        ...
    def __rmul__(self, other: typing.Any) -> typing.Any:
        ...
    def __ror__(self, other: typing.Any) -> typing.Any:
        ...
    def __rpow__(self, other: typing.Any) -> typing.Any:
        ...
    def __rrshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __rshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __rsub__(self, other: typing.Any) -> typing.Any:
        ...
    def __rtruediv__(self, other: typing.Any) -> typing.Any:
        ...
    def __rxor__(self, other: typing.Any) -> typing.Any:
        ...
    def __sub__(self, other: typing.Any) -> typing.Any:
        ...
    def __truediv__(self, other: typing.Any) -> typing.Any:
        ...
    def __xor__(self, other: typing.Any) -> typing.Any:
        ...
    def astype(self, dtype: str) -> tilewright._core.PrimExpr:
        ...
    @property
    def dtype(self) -> str:
        ...
    def equal(self, other: typing.Any) -> tilewright._core.PrimExpr:
        ...
    def same_as(self, other: typing.Any) -> bool:
        ...


class Range:
    """The integers from `min` to `min + extent`, exclusive."""
    def __init__(self, begin: typing.Any, end: typing.Any = None) -> None:
        ...
    @property
    def extent(self) -> tilewright._core.PrimExpr:
        ...
    @staticmethod
    def from_min_extent(min_value: tilewright._core.ExprLike, extent: tilewright._core.ExprLike) -> tilewright._core.Range:
        ...
    @property
    def min(self) -> tilewright._core.PrimExpr:
        ...


class IterVar:
    """An axis of a computation or of its loops."""
    def __abs__(self) -> typing.Any:
        ...
    def __add__(self, other: typing.Any) -> typing.Any:
        ...
    def __and__(self, other: typing.Any) -> typing.Any:
        ...
    def __eq__(self, other: typing.Any) -> typing.Any:
        ...
    def __floordiv__(self, other: typing.Any) -> typing.Any:
        ...
    def __ge__(self, other: typing.Any) -> typing.Any:
        ...
    def __gt__(self, other: typing.Any) -> typing.Any:
        ...
    def __invert__(self) -> typing.Any:
        ...
    def __le__(self, other: typing.Any) -> typing.Any:
        ...
    def __lshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __lt__(self, other: typing.Any) -> typing.Any:
        ...
    def __mod__(self, other: typing.Any) -> typing.Any:
        ...
    def __mul__(self, other: typing.Any) -> typing.Any:
        ...
    def __ne__(self, other: typing.Any) -> typing.Any:
        ...
    def __neg__(self) -> typing.Any:
        ...
    def __or__(self, other: typing.Any) -> typing.Any:
        ...
    def __pow__(self, other: typing.Any) -> typing.Any:
        ...
    def __radd__(self, other: typing.Any) -> typing.Any:
        ...
    def __rand__(self, other: typing.Any) -> typing.Any:
        ...
    def __rfloordiv__(self, other: typing.Any) -> typing.Any:
        ...
    def __rlshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __rmod__(self, other: typing.Any) -> typing.Any:
        ...
    def __rmul__(self, other: typing.Any) -> typing.Any:
        ...
    def __ror__(self, other: typing.Any) -> typing.Any:
        ...
    def __rpow__(self, other: typing.Any) -> typing.Any:
        ...
    def __rrshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __rshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __rsub__(self, other: typing.Any) -> typing.Any:
        ...
    def __rtruediv__(self, other: typing.Any) -> typing.Any:
        ...
    def __rxor__(self, other: typing.Any) -> typing.Any:
        ...
    def __sub__(self, other: typing.Any) -> typing.Any:
        ...
    def __truediv__(self, other: typing.Any) -> typing.Any:
        ...
    def __xor__(self, other: typing.Any) -> typing.Any:
        ...
    @property
    def dom(self) -> typing.Any:
        ...
    @property
    def dtype(self) -> str:
        ...
    @property
    def iter_type(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    def same_as(self, arg0: tilewright._core.IterVar) -> bool:
        ...
    @property
    def var(self) -> tilewright._core.Var:
        ...


class Op:
    """What a call calls: an intrinsic, or a way of calling C functions."""
    def __eq__(self, arg0: typing.Any) -> bool:
        ...
    @staticmethod
    def get(op_name: str) -> tilewright._core.Op:
        """The operator of a name such as "tir.exp"."""
    @property
    def name(self) -> str:
        """Such as "tir.exp"."""
    def same_as(self, other: tilewright._core.Op) -> bool:
        ...


class Var(PrimExpr):
    def __init__(self, name: str = 'v', dtype: str = 'int32') -> None:
        ...
    @property
    def name(self) -> str:
        ...


class IntImm(PrimExpr):
    def __index__(self) -> int:
        ...
    def __init__(self, dtype: str, value: int) -> None:
        ...
    def __int__(self) -> int:
        ...
    @property
    def value(self) -> int:
        ...


class FloatImm(PrimExpr):
    def __float__(self) -> float:
        ...
    def __init__(self, dtype: str, value: float) -> None:
        ...
    @property
    def value(self) -> float:
        ...


class StringImm(PrimExpr):
    def __init__(self, value: str) -> None:
        ...
    @property
    def value(self) -> str:
        ...


class Cast(PrimExpr):
    def __init__(self, dtype: str, value: tilewright._core.ExprLike) -> None:
        ...
    @property
    def value(self) -> tilewright._core.PrimExpr:
        ...


class Add(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class Sub(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class Mul(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class Div(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class Mod(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class FloorDiv(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class FloorMod(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class Min(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class Max(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class EQ(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class NE(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class LT(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class LE(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class GT(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class GE(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class And(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class Or(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike, b: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def b(self) -> tilewright._core.PrimExpr:
        ...


class Not(PrimExpr):
    def __init__(self, a: tilewright._core.ExprLike) -> None:
        ...
    @property
    def a(self) -> tilewright._core.PrimExpr:
        ...


class Select(PrimExpr):
    def __init__(self, condition: tilewright._core.ExprLike, true_value: tilewright._core.ExprLike, false_value: tilewright._core.ExprLike) -> None:
        ...
    @property
    def condition(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def false_value(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def true_value(self) -> tilewright._core.PrimExpr:
        ...


class Load(PrimExpr):
    @property
    def buffer_var(self) -> tilewright._core.Var:
        ...
    @property
    def index(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def predicate(self) -> tilewright._core.PrimExpr:
        ...


class Ramp(PrimExpr):
    def __init__(self, base: tilewright._core.ExprLike, stride: tilewright._core.ExprLike, lanes: int) -> None:
        ...
    @property
    def base(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def lanes(self) -> int:
        ...
    @property
    def stride(self) -> tilewright._core.PrimExpr:
        ...


class Broadcast(PrimExpr):
    def __init__(self, value: tilewright._core.ExprLike, lanes: int) -> None:
        ...
    @property
    def lanes(self) -> int:
        ...
    @property
    def value(self) -> tilewright._core.PrimExpr:
        ...


class Shuffle(PrimExpr):
    def __init__(self, vectors: collections.abc.Sequence[tilewright._core.ExprLike], indices: collections.abc.Sequence[int]) -> None:
        ...
    @property
    def indices(self) -> list[int]:
        ...
    @property
    def vectors(self) -> list[tilewright._core.PrimExpr]:
        ...


class Call(PrimExpr):
    @property
    def args(self) -> list[tilewright._core.PrimExpr]:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def op(self) -> tilewright._core.Op:
        ...


class Let(PrimExpr):
    @property
    def body(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def value(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def var(self) -> tilewright._core.Var:
        ...


class Reduce(PrimExpr):
    @property
    def axis(self) -> list[tilewright._core.IterVar]:
        ...
    @property
    def condition(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def source(self) -> list[tilewright._core.PrimExpr]:
        ...
    @property
    def value_index(self) -> int:
        ...


class ProducerLoad(PrimExpr):
    @property
    def indices(self) -> list[tilewright._core.PrimExpr]:
        ...
    @property
    def producer(self) -> typing.Any:
        ...
    @property
    def value_index(self) -> int:
        ...


class Stmt:
    """A statement of lowered IR."""
    def hash(self) -> str:
        ...


class Operation:
    """What computes tensors; immutable."""
    def __eq__(self, arg0: typing.Any) -> bool:
        ...
    @property
    def attrs(self) -> dict:
        ...
    @property
    def axis(self) -> list[tilewright._core.IterVar]:
        ...
    @property
    def body(self) -> list[tilewright._core.PrimExpr]:
        ...
    @property
    def input_tensors(self) -> list[tilewright._core.Tensor]:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def num_outputs(self) -> int:
        ...
    def output(self, index: int) -> tilewright._core.Tensor:
        ...
    @property
    def reduce_axis(self) -> list[tilewright._core.IterVar]:
        ...
    def same_as(self, arg0: tilewright._core.Operation) -> bool:
        ...
    @property
    def tag(self) -> str:
        ...


class Tensor:
    """One output of an operation."""
    def __abs__(self) -> typing.Any:
        ...
    def __add__(self, other: typing.Any) -> typing.Any:
        ...
    def __and__(self, other: typing.Any) -> typing.Any:
        ...
    def __call__(self, *args: typing.Any) -> tilewright._core.PrimExpr:
        ...
    def __eq__(self, arg0: typing.Any) -> bool:
        ...
    def __floordiv__(self, other: typing.Any) -> typing.Any:
        ...
    def __ge__(self, other: typing.Any) -> typing.Any:
        ...
    def __getitem__(self, arg0: typing.Any) -> typing.Any:
        ...
    def __gt__(self, other: typing.Any) -> typing.Any:
        ...
    def __invert__(self) -> typing.Any:
        ...
    def __iter__(self) -> typing.Any:
        ...
    def __le__(self, other: typing.Any) -> typing.Any:
        ...
    def __lshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __lt__(self, other: typing.Any) -> typing.Any:
        ...
    def __mod__(self, other: typing.Any) -> typing.Any:
        ...
    def __mul__(self, other: typing.Any) -> typing.Any:
        ...
    def __ne__(self, arg0: typing.Any) -> bool:
        ...
    def __neg__(self) -> typing.Any:
        ...
    def __or__(self, other: typing.Any) -> typing.Any:
        ...
    def __pow__(self, other: typing.Any) -> typing.Any:
        ...
    def __radd__(self, other: typing.Any) -> typing.Any:
        ...
    def __rand__(self, other: typing.Any) -> typing.Any:
        ...
    def __rfloordiv__(self, other: typing.Any) -> typing.Any:
        ...
    def __rlshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __rmod__(self, other: typing.Any) -> typing.Any:
        ...
    def __rmul__(self, other: typing.Any) -> typing.Any:
        ...
    def __ror__(self, other: typing.Any) -> typing.Any:
        ...
    def __rpow__(self, other: typing.Any) -> typing.Any:
        ...
    def __rrshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __rshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __rsub__(self, other: typing.Any) -> typing.Any:
        ...
    def __rtruediv__(self, other: typing.Any) -> typing.Any:
        ...
    def __rxor__(self, other: typing.Any) -> typing.Any:
        ...
    def __sub__(self, other: typing.Any) -> typing.Any:
        ...
    def __truediv__(self, other: typing.Any) -> typing.Any:
        ...
    def __xor__(self, other: typing.Any) -> typing.Any:
        ...
    @property
    def axis(self) -> list[tilewright._core.IterVar]:
        ...
    @property
    def constant(self) -> bool:
        """Whether its values are known when the kernel is built."""
    @property
    def dtype(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def ndim(self) -> int:
        ...
    @property
    def op(self) -> typing.Any:
        ...
    @property
    def reduce_axis(self) -> list[tilewright._core.IterVar]:
        ...
    def same_as(self, arg0: tilewright._core.Tensor) -> bool:
        ...
    @property
    def shape(self) -> tuple:
        ...
    @property
    def value_index(self) -> int:
        ...


class TensorSlice:
    """A[i] of a tensor with more dimensions."""
    def __abs__(self) -> typing.Any:
        ...
    def __add__(self, other: typing.Any) -> typing.Any:
        ...
    def __and__(self, other: typing.Any) -> typing.Any:
        ...
    def __eq__(self, other: typing.Any) -> typing.Any:
        ...
    def __floordiv__(self, other: typing.Any) -> typing.Any:
        ...
    def __ge__(self, other: typing.Any) -> typing.Any:
        ...
    def __getitem__(self, arg0: typing.Any) -> typing.Any:
        ...
    def __gt__(self, other: typing.Any) -> typing.Any:
        ...
    def __invert__(self) -> typing.Any:
        ...
    def __le__(self, other: typing.Any) -> typing.Any:
        ...
    def __lshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __lt__(self, other: typing.Any) -> typing.Any:
        ...
    def __mod__(self, other: typing.Any) -> typing.Any:
        ...
    def __mul__(self, other: typing.Any) -> typing.Any:
        ...
    def __ne__(self, other: typing.Any) -> typing.Any:
        ...
    def __neg__(self) -> typing.Any:
        ...
    def __or__(self, other: typing.Any) -> typing.Any:
        ...
    def __pow__(self, other: typing.Any) -> typing.Any:
        ...
    def __radd__(self, other: typing.Any) -> typing.Any:
        ...
    def __rand__(self, other: typing.Any) -> typing.Any:
        ...
    def __rfloordiv__(self, other: typing.Any) -> typing.Any:
        ...
    def __rlshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __rmod__(self, other: typing.Any) -> typing.Any:
        ...
    def __rmul__(self, other: typing.Any) -> typing.Any:
        ...
    def __ror__(self, other: typing.Any) -> typing.Any:
        ...
    def __rpow__(self, other: typing.Any) -> typing.Any:
        ...
    def __rrshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __rshift__(self, other: typing.Any) -> typing.Any:
        ...
    def __rsub__(self, other: typing.Any) -> typing.Any:
        ...
    def __rtruediv__(self, other: typing.Any) -> typing.Any:
        ...
    def __rxor__(self, other: typing.Any) -> typing.Any:
        ...
    def __sub__(self, other: typing.Any) -> typing.Any:
        ...
    def __truediv__(self, other: typing.Any) -> typing.Any:
        ...
    def __xor__(self, other: typing.Any) -> typing.Any:
        ...
    def asobject(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def dtype(self) -> str:
        ...


class PlaceholderOp(Operation):
    ...


class ComputeOp(Operation):
    ...


class TensorComputeOp(Operation):
    @property
    def intrin(self) -> typing.Any:
        """The tensor intrinsic that it calls."""
    @property
    def schedulable_ndim(self) -> int:
        """How many of its axes are loops around the calls."""


class ExternOp(Operation):
    @property
    def body(self) -> tilewright._core.Stmt:
        ...


class ScanOp(Operation):
    @property
    def fixed_axes(self) -> list[list[bool]]:
        """For each state and each of its dimensions after the first, whether a position depends on the same position of earlier steps only."""
    @property
    def scan_axis(self) -> tilewright._core.IterVar:
        """The axis of the steps."""


class Program:
    """A te program: arguments in call order, outputs among them."""
    def __getitem__(self, arg0: int) -> tilewright._core.Tensor:
        ...
    def __init__(self, tensors: collections.abc.Sequence[tilewright._core.Tensor]) -> None:
        ...
    def __len__(self) -> int:
        ...
    @property
    def arguments(self) -> list[tilewright._core.Tensor]:
        ...
    @property
    def operations(self) -> float:
        ...
    @property
    def outputs(self) -> list[tilewright._core.Tensor]:
        ...
    @property
    def text(self) -> str:
        ...
    @property
    def workload(self) -> str:
        ...


class Buffer:
    """The memory of a tensor, as the statements of an intrinsic address it."""
    def access_ptr(self, access_mask: typing.Any, ptr_type: str = 'handle', content_lanes: int = 1, offset: tilewright._core.ExprLike = 0) -> tilewright._core.PrimExpr:
        """The address of an element, `offset` after the first, for a call. What may be read and written there is known from the tensor expression."""
    @property
    def data(self) -> tilewright._core.Var:
        ...
    @property
    def data_alignment(self) -> int:
        ...
    @property
    def dtype(self) -> str:
        ...
    @property
    def elem_offset(self) -> tilewright._core.PrimExpr:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def offset_factor(self) -> int:
        ...
    @property
    def scope(self) -> str:
        ...
    @property
    def shape(self) -> list[tilewright._core.PrimExpr]:
        ...
    @property
    def strides(self) -> list[tilewright._core.PrimExpr]:
        ...
    def vload(self, begin: typing.Any, dtype: typing.Any = None) -> tilewright._core.PrimExpr:
        """The element at a position, or as many from there on as the type has lanes."""
    def vstore(self, begin: typing.Any, value: tilewright._core.ExprLike) -> tilewright._core.Stmt:
        """The statement that stores a value, or its lanes, from a position on."""


class TensorIntrin:
    """What a processor or a library computes at once, for Stage.tensorize."""
    def __call__(self, *args: typing.Any, reduce_axis: typing.Any = None) -> tilewright._core.TensorIntrinCall:
        """What te.compute makes an operation of: slices of tensors, A[i, 0:16], in the order of the intrinsic's inputs, and among them expressions for its scalar parameters. reduce_axis: loops around the calls that add to the same block."""
    @property
    def body(self) -> typing.Any:
        ...
    @property
    def buffers(self) -> list[tilewright._core.Buffer]:
        ...
    @property
    def features(self) -> list[str]:
        """What the target must have, by LLVM's names."""
    @property
    def inputs(self) -> list[tilewright._core.Tensor]:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def op(self) -> typing.Any:
        ...
    @property
    def reduce_init(self) -> typing.Any:
        ...
    @property
    def reduce_update(self) -> typing.Any:
        ...
    @property
    def scalar_params(self) -> list[tilewright._core.Var]:
        """Variables that stand for expressions of where the intrinsic is used."""


class TensorIntrinCall:
    """A tensor intrinsic called on slices, for te.compute."""
    @property
    def intrin(self) -> tilewright._core.TensorIntrin:
        ...
    @property
    def reduce_axis(self) -> list[tilewright._core.IterVar]:
        ...
    @property
    def regions(self) -> list[list[tilewright._core.Range]]:
        ...
    @property
    def scalar_inputs(self) -> list[tilewright._core.PrimExpr]:
        ...
    @property
    def tensors(self) -> list[tilewright._core.Tensor]:
        ...


class Schedule:
    """A stage for each operation, and the trace that shaped them."""
    def __getitem__(self, key: typing.Any) -> tilewright._core.Stage:
        ...
    def _repr_html_(self) -> str:
        """What a notebook shows: the nest of loops."""
    def apply(self, trace: tilewright._core.Trace) -> None:
        """Applies a trace recorded on an equal program."""
    def check(self, stored: collections.abc.Sequence[tilewright._core.Tensor] = []) -> list[tilewright._core.Finding]:
        """All that is wrong with the schedule; an empty list for one that can be lowered. `stored` are tensors between inputs and outputs that lowering gets as arguments."""
    def copy(self) -> tilewright._core.Schedule:
        """An independent schedule in the same state."""
    def normalize(self) -> typing.Any:
        """The schedule itself: InferBound, ScheduleOps and lowering normalise a copy."""
    @property
    def outputs(self) -> list[tilewright._core.Tensor]:
        ...
    @property
    def parameters(self) -> list[tilewright._core.Var]:
        """Variables of the sizes of splits that are in no shape, p0 first: arguments of what is built."""
    def show(self, width: int = 80) -> None:
        """Prints the stages as a nest of loops, with what is marked on them, in lines of at most `width` columns."""
    @property
    def stage_map(self) -> dict:
        """The stage of each operation."""
    @property
    def stages(self) -> list[tilewright._core.Stage]:
        ...
    @property
    def trace(self) -> tilewright._core.ScheduleTrace:
        ...
    def cache_write(self, tensor: Tensor | collections.abc.Sequence[Tensor], scope: str) -> typing.Any:
        """Computes the stage's output in a new stage of the given scope, which takes the loops that there are and is stored in their order; the stage copies from it."""
    def cache_read(self, tensor: Tensor | collections.abc.Sequence[Tensor], scope: str, readers: collections.abc.Sequence[Stage], value_index: int | None = None) -> typing.Any:
        """Copies an output of the stage, or a placeholder, into a new stage of the given scope, which the readers read."""
    def rfactor(self, tensor: Tensor | collections.abc.Sequence[Tensor], axis: IterVar, factor_axis: int | None = None) -> typing.Any:
        """Makes a loop of a reduction a data axis (number factor_axis) of a new stage, which reduces over the other loops; the stage reduces over that axis. The other loops of the reduction stay leaf axes of the new stage, those over data of the old one. Where what is reduced is computed inside a data loop of the old stage, the new one is too. Refused where the reducer gives something else for terms in groups, or in another order."""


class Trace:
    """Every primitive applied to a schedule, as data; its text replays it."""
    def __eq__(self, arg0: tilewright._core.Trace) -> bool:
        ...
    def __init__(self, text: str) -> None:
        ...
    def __len__(self) -> int:
        ...
    def as_json(self) -> str:
        """The steps as JSON; the inverse of from_json."""
    def as_python(self, schedule: tilewright._core.Schedule) -> str:
        """A Python function `apply(s)` that applies this trace to a fresh schedule of the program that `schedule` is of."""
    @staticmethod
    def from_json(text: str) -> tilewright._core.Trace:
        """The trace that as_json gave; UserError with the place for what is none."""
    @property
    def steps(self) -> list[str]:
        ...
    @property
    def text(self) -> str:
        ...


class ScheduleTrace(Trace):
    """The trace of a schedule."""
    def as_python(self) -> str:
        """A Python function `apply(s)` that applies this trace to a fresh schedule of the program."""


class Finding:
    """One thing that is wrong with a schedule."""
    @property
    def axis(self) -> str:
        ...
    @property
    def code(self) -> str:
        ...
    @property
    def legal(self) -> str:
        ...
    @property
    def nest(self) -> str:
        """The loops that it is about, with the culprit marked."""
    @property
    def stage(self) -> str:
        ...
    @property
    def what(self) -> str:
        ...
    @property
    def where(self) -> str:
        """The line of the script that did it."""


class Split:
    """An axis in two."""
    @property
    def factor(self) -> typing.Any:
        ...
    @property
    def inner(self) -> tilewright._core.IterVar:
        ...
    @property
    def nparts(self) -> typing.Any:
        ...
    @property
    def outer(self) -> tilewright._core.IterVar:
        ...
    @property
    def parent(self) -> tilewright._core.IterVar:
        ...


class Fuse:
    """Two axes in one."""
    @property
    def fused(self) -> tilewright._core.IterVar:
        ...
    @property
    def inner(self) -> tilewright._core.IterVar:
        ...
    @property
    def outer(self) -> tilewright._core.IterVar:
        ...


class Singleton:
    """A loop of one iteration around a stage."""
    @property
    def iter(self) -> tilewright._core.IterVar:
        ...


class Rebase:
    """An axis from zero; lowering makes it."""
    @property
    def parent(self) -> tilewright._core.IterVar:
        ...
    @property
    def rebased(self) -> tilewright._core.IterVar:
        ...


class IterVarAttr:
    """What is marked on an axis."""
    @property
    def bind_thread(self) -> typing.Any:
        ...
    @property
    def iter_type(self) -> str:
        """How its loop runs: for, parallel, vectorized, unrolled, tensorized."""
    @property
    def pragma_keys(self) -> list[str]:
        ...
    @property
    def pragma_values(self) -> list[tilewright._core.PrimExpr]:
        ...
    @property
    def tensor_intrin(self) -> typing.Any:
        ...


class Stage:
    """How one operation is computed; s[C] of a schedule s."""
    def _apply(self, arg0: str, arg1: collections.abc.Sequence) -> typing.Any:
        ...
    @property
    def all_iter_vars(self) -> list[tilewright._core.IterVar]:
        ...
    @property
    def attach_ivar(self) -> typing.Any:
        ...
    @property
    def attach_type(self) -> str:
        ...
    @property
    def is_output(self) -> bool:
        ...
    @property
    def iter_var_attrs(self) -> dict:
        """What is marked on axes, by axis."""
    @property
    def leaf_iter_vars(self) -> list[tilewright._core.IterVar]:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def op(self) -> typing.Any:
        """None of a group."""
    @property
    def origin_op(self) -> typing.Any:
        ...
    @property
    def relations(self) -> list:
        """How its axes come from one another: Split, Fuse, … in the order they were made."""
    @property
    def scope(self) -> str:
        ...
    def split(self, parent: IterVar, factor: int | PrimExpr | None = None, nparts: int | PrimExpr | None = None) -> tuple[IterVar, IterVar]:
        """Splits an axis of any extent into outer and inner; give factor (extent of inner) or nparts (extent of outer), which may be an expression of the program's symbolic extents and of other variables, which are arguments of what is built: one below 1 is 1. What is computed at the axis is computed at the inner one."""
    def fuse(self, *axes: IterVar) -> IterVar:
        """Fuses adjacent leaf axes of one kind, outermost first, into one; none, of a stage of rank 0, into a loop of one iteration. What is computed at one of them is computed at the fused one."""
    def reorder(self, *axes: IterVar) -> None:
        """Puts the given leaf axes into this order; the others keep their places."""
    def tile(self, x_parent: IterVar, y_parent: IterVar, x_factor: int, y_factor: int) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Splits two axes and orders them x_outer, y_outer, x_inner, y_inner."""
    def vectorize(self, var: IterVar) -> None:
        """Runs a leaf axis of constant extent in vector lanes. An axis is of the kind that was given last: vectorize, parallel or unroll."""
    def parallel(self, var: IterVar) -> None:
        """Runs a leaf axis on the thread pool; reduction axes of several iterations are refused. Inside another parallel loop it is a serial loop, and shown as one."""
    def unroll(self, var: IterVar) -> None:
        """Unrolls a leaf axis of constant extent; one that would make more than 16384 statements of a nest stays a loop."""
    def bind(self, ivar: IterVar, thread_ivar: tilewright.te.thread.ThreadAxis) -> None:
        """Makes a leaf axis a thread axis: blockIdx.x (.y, .z), which runs on the thread pool; threadIdx.x (.y, .z), which a reduction axis may be too; or vthread, whose iterations are interleaved."""
    def env_threads(self, threads: collections.abc.Sequence[tilewright.te.thread.ThreadAxis]) -> None:
        """Says which thread axes a device starts around the stage; each has an extent."""
    def set_store_predicate(self, predicate: PrimExpr) -> None:
        """Of threads that compute the same element, only those store it for which a condition over thread axes holds; refused where an element would not be stored."""
    def pragma(self, var: IterVar, pragma_type: str, pragma_value: int | PrimExpr | None = None) -> None:
        """Attaches a pragma to a leaf axis: auto_unroll_max_step, unroll_explicit, store_nontemporal, or parallel_dynamic (threads take pragma_value iterations of a parallel axis at a time). TVM's parallel_launch_point, parallel_stride_pattern and parallel_barrier_when_finish change nothing: each parallel loop does as they ask."""
    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Computes the stage inside a leaf axis of a stage that consumes it."""
    def compute_inline(self) -> None:
        """Substitutes the stage into its consumers."""
    def compute_root(self) -> None:
        """Computes the stage at the outermost level."""
    def precompute(self) -> None:
        """Computes the stage, which depends on constant placeholders only, once when the kernel is built; where it is built without their values, at the outermost level."""
    def set_scope(self, scope: str) -> None:
        """Sets where the stage is stored: global, local, shared (once for all threads of a block), warp, or amx.tile (tile registers, for tensor intrinsics); a tag may follow, as in global:tag; '', as of all stages of which nothing is said, for what lowering finds best."""
    def transform_layout(self, axis: IterVar | None = None, factor: int | None = None, order: collections.abc.Sequence[int] | None = None) -> None:
        """Stores the stage in tiles: splits a dimension by a factor (padded where it does not divide), then puts the dimensions into the given order; the stage's axes become those of the new layout."""
    def collapse_layout(self, *axes: IterVar) -> None:
        """Stores the stage with neighbouring dimensions as one, outermost first; the stage's axes become those of the new layout."""
    def create_group(self, outputs: collections.abc.Sequence[Stage], inputs: collections.abc.Sequence[Stage], include_inputs: int | None = None) -> IterVar:
        """Makes a group of the stages between inputs and outputs; compute_at of the group moves those that have no place of their own."""
    def double_buffer(self) -> None:
        """Stores the stage twice, so that it is computed for the next iteration of the loop it stands in before this one reads it."""
    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Pads the storage of the stage so that the pitch of a dimension is offset more than a multiple of factor, in elements."""
    def prefetch(self, tensor: Stage | Tensor | Operation, var: IterVar, offset: int, value_index: int | None = None) -> None:
        """In each iteration of a leaf axis, fetches into the caches what the stage reads of the tensor offset iterations later; of its own output, what it stores then, and for writing."""
    def prefetch_ahead(self, axis: IterVar, tensor: Stage | Tensor | Operation, parent: Stage, scope: IterVar, group: int | None = None, value_index: int | None = None) -> None:
        """Deals the iterations of scope, a loop of parent around the leaf axis, into groups (of 1; of 0: fetches nothing); during each, the iterations of the axis fetch in equal shares what the stage reads of the tensor in the next; of an output of parent, what parent stores in the next, and for writing."""
    def tensorize(self, var: IterVar, intrin: TensorIntrin | str) -> None:
        """Computes a leaf axis and all inside it with a tensor intrinsic, which is named; lowering checks that the loops compute what the intrinsic computes."""


class TargetModel:
    """What machine code is made for."""
    def __init__(self, arg0: str) -> None:
        ...
    @property
    def features(self) -> list[str]:
        ...
    @property
    def features_missing_on_host(self) -> list[str]:
        ...
    @property
    def has_fma(self) -> bool:
        ...
    @property
    def has_masks(self) -> bool:
        ...
    @property
    def mcpu(self) -> str:
        ...
    @property
    def opt_level(self) -> int:
        ...
    @property
    def triple(self) -> str:
        ...
    @property
    def vector_bits(self) -> int:
        ...
    @property
    def vector_registers(self) -> int:
        ...


class LoweredFunc:
    """A lowered kernel and the device kernels that it launches; str() of it is its IR."""
    @property
    def args(self) -> list:
        """(name, dtype, shape, whether the kernel writes it) of each argument."""
    @property
    def body(self) -> tilewright._core.Stmt:
        ...
    @property
    def devices(self) -> list[tilewright._core.LoweredFunc]:
        """The device kernels: what blocks and threads run."""
    def ir_hash(self) -> str:
        """Structural hash without names, as the tuning log holds it."""
    @property
    def name(self) -> str:
        ...


class NDArray:
    """A strided view of memory on the CPU, shared through DLPack."""
    def __array__(self, dtype: typing.Any = None, copy: typing.Any = None) -> typing.Any:
        ...
    def __dlpack__(self, *, stream: typing.Any = None, max_version: typing.Any = None, dl_device: typing.Any = None, copy: typing.Any = None) -> typing.Any:
        ...
    def __dlpack_device__(self) -> tuple[int, int]:
        ...
    def __len__(self) -> int:
        ...
    def as_read_only(self) -> tilewright._core.NDArray:
        ...
    def asnumpy(self) -> typing.Any:
        """A copy; np.from_dlpack shares the memory."""
    def copy(self) -> tilewright._core.NDArray:
        ...
    def copyfrom(self, source_array: typing.Any) -> typing.Any:
        """Copies elements of the same shape and type into this array."""
    def copyto(self, target: typing.Any) -> typing.Any:
        ...
    @property
    def data_ptr(self) -> int:
        ...
    @property
    def dtype(self) -> str:
        ...
    @property
    def is_contiguous(self) -> bool:
        ...
    @property
    def nbytes(self) -> int:
        ...
    @property
    def ndim(self) -> int:
        ...
    def numpy(self) -> typing.Any:
        """A copy; np.from_dlpack shares the memory."""
    @property
    def read_only(self) -> bool:
        ...
    def reshape(self, shape: typing.Any) -> tilewright._core.NDArray:
        ...
    @property
    def shape(self) -> tuple:
        ...
    @property
    def size(self) -> int:
        ...
    @property
    def strides(self) -> tuple:
        """In elements."""


class BenchmarkResult:
    """Seconds of one run, as samples and their statistics."""
    @property
    def interval(self) -> tuple[float, float]:
        """Bounds of the median at 95 % confidence."""
    @property
    def max(self) -> float:
        ...
    @property
    def mean(self) -> float:
        ...
    @property
    def median(self) -> float:
        ...
    @property
    def min(self) -> float:
        ...
    @property
    def results(self) -> list[float]:
        """A sample each, in the order taken."""
    @property
    def std(self) -> float:
        ...


class Function:
    """A compiled kernel; keeps its code alive."""
    def __call__(self, *args: typing.Any) -> None:
        """Runs the kernel on NDArrays, NumPy arrays, or DLPack objects."""
    def _time(self, arg0: int, arg1: int, arg2: float, arg3: bool, *args: typing.Any) -> tilewright._core.BenchmarkResult:
        ...
    @property
    def may_share(self) -> dict:
        """{output: inputs}, by position: the inputs that may be the same memory as the output, from the first element on."""
    @property
    def name(self) -> str:
        ...
    @property
    def signature(self) -> str:
        ...
    @property
    def unchecked(self) -> tilewright._core.Function:
        """The same kernel without the checks of its arguments, for arguments that have passed them in a call: types, shapes and strides must be the same, addresses as aligned and as disjoint. With anything else its behaviour is undefined."""
    @property
    def workspace(self) -> tuple[int | None, int | None]:
        """Bytes of scratch memory that a call takes outside parallel regions, and each thread inside of them; None where it depends on the arguments."""


class Module:
    """Functions that were compiled together."""
    def __call__(self, *args: typing.Any) -> None:
        """Calls the entry function."""
    def __getitem__(self, name: str) -> tilewright._core.Function:
        ...
    @property
    def entry_func(self) -> tilewright._core.Function:
        ...
    @property
    def entry_name(self) -> str:
        ...
    def export_library(self, file_name: typing.Any) -> None:
        """Writes a shared library (.so), an object (.o) or a C header (.h). Large constants go to a file beside the library (.params), which loading maps into memory; an object holds them itself."""
    @property
    def function_names(self) -> list[str]:
        ...
    def get_function(self, name: str) -> tilewright._core.Function:
        ...
    def get_source(self, fmt: str = '') -> str:
        """Text in format "ll" (LLVM, the default), "asm" or "ir"."""
    @property
    def schedule_origin(self) -> str:
        """Of tensors built without a schedule: "record", "prior", or "unscheduled" where they have no design space. Else ""."""
    def time_evaluator(self, func_name=None, dev=None, number=10, repeat=1, min_repeat_ms=0, f_preproc='') -> typing.Any:
        """A function that times a kernel: called with its arguments it gives a BenchmarkResult."""


class GraphSymbol:
    def __len__(self) -> int:
        ...
    def all_attributes(self) -> dict:
        ...
    def attributes(self) -> dict:
        ...
    @staticmethod
    def call(arg0: str, arg1: str, arg2: collections.abc.Sequence[tilewright._core.GraphSymbol], arg3: dict, arg4: dict) -> tilewright._core.GraphSymbol:
        ...
    def children(self) -> tilewright._core.GraphSymbol:
        ...
    def compose(self, arg0: collections.abc.Sequence[tilewright._core.GraphSymbol], arg1: dict) -> tilewright._core.GraphSymbol:
        ...
    @staticmethod
    def group(arg0: collections.abc.Sequence[tilewright._core.GraphSymbol]) -> tilewright._core.GraphSymbol:
        ...
    def internals(self) -> tilewright._core.GraphSymbol:
        ...
    def list_input_names(self) -> list[str]:
        ...
    def list_output_names(self) -> list[str]:
        ...
    def list_written_names(self) -> list[str]:
        ...
    def name(self) -> str:
        ...
    def node_key(self) -> int:
        ...
    def node_output(self, arg0: int) -> tilewright._core.GraphSymbol:
        ...
    def num_outputs(self) -> int:
        ...
    def op(self) -> str:
        ...
    def output(*args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Overloaded function. 1. output(self: tilewright._core.GraphSymbol, arg0: typing.SupportsInt | typing.SupportsIndex) -> tilewright._core.GraphSymbol 2. output(self: tilewright._core.GraphSymbol, arg0: str) -> tilewright._core.GraphSymbol"""
    def output_index(self) -> int:
        ...
    def set_attributes(self, arg0: dict) -> None:
        ...
    @staticmethod
    def variable(arg0: str, arg1: dict) -> tilewright._core.GraphSymbol:
        ...


class NativeGraph:
    def __init__(self, arg0: tilewright._core.GraphSymbol) -> None:
        ...
    def apply(self, arg0: str) -> tilewright._core.NativeGraph:
        ...
    def attribute_json(self, arg0: str) -> str | None:
        ...
    def attribute_names(self) -> list[str]:
        ...
    def erase_attribute(self, arg0: str) -> None:
        ...
    def inputs(self) -> list:
        """Of each variable, in order, its name and its attributes."""
    def set_attribute(self, arg0: str, arg1: str, arg2: str) -> None:
        ...
    def set_symbols(self, arg0: str, arg1: tilewright._core.GraphSymbol) -> None:
        ...
    def symbol(self) -> tilewright._core.GraphSymbol:
        ...
    def symbols(self, arg0: str) -> tilewright._core.GraphSymbol | None:
        ...


class NativePattern:
    def call(self, arg0: collections.abc.Sequence[tilewright._core.NativePattern]) -> tilewright._core.NativePattern:
        ...


class NodeProfile:
    """The time of one node, by repetitions."""
    @property
    def bytes_in(self) -> int:
        ...
    @property
    def bytes_out(self) -> int:
        ...
    @property
    def function(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def seconds(self) -> list[float]:
        ...
    @property
    def start(self) -> list[float]:
        """Seconds since the first repetition began."""


class GraphProfile:
    """The time of each node of a network."""
    @property
    def nodes(self) -> list[tilewright._core.NodeProfile]:
        ...
    @property
    def seconds(self) -> list[float]:
        """Of whole runs."""
    @property
    def start(self) -> list[float]:
        ...
    def trace_json(self) -> str:
        """Trace events, for Perfetto."""


class GraphExecutor:
    """One instance of a deployed network."""
    def __init__(self, graph_json: str, module: tilewright._core.Module, parameters: dict) -> None:
        ...
    def _time(self, arg0: int, arg1: int, arg2: float) -> tilewright._core.BenchmarkResult:
        ...
    @property
    def arena_bytes(self) -> int:
        ...
    def clone(self) -> tilewright._core.GraphExecutor:
        """Another instance, which shares code and parameters."""
    def export(self, directory: typing.Any, parameters: dict, fallbacks: collections.abc.Sequence[tuple[str, str, tilewright._core.Module | None, dict]]) -> None:
        ...
    @property
    def graph_json(self) -> str:
        ...
    def input(self, index: int) -> tilewright._core.NDArray:
        ...
    def input_dtype(self, index: int) -> str:
        ...
    def input_index(self, name: str) -> int:
        ...
    def input_name(self, index: int) -> str:
        ...
    def input_shape(self, index: int) -> tuple:
        ...
    def is_set(self, index: int) -> bool:
        ...
    @property
    def num_inputs(self) -> int:
        ...
    @property
    def num_outputs(self) -> int:
        ...
    def output(self, index: int) -> tilewright._core.NDArray:
        """The memory where each run leaves it."""
    def output_name(self, index: int) -> str:
        ...
    @property
    def parameters(self) -> dict:
        ...
    def profile(self, repeat: int) -> tilewright._core.GraphProfile:
        ...
    @property
    def regions(self) -> list:
        ...
    def run(self) -> None:
        ...
    def set_input(self, index: int, value: typing.Any) -> None:
        """Copies the elements."""
    def set_input_zero_copy(self, index: int, value: typing.Any) -> None:
        """Uses the memory of the array, and keeps it."""
    @property
    def workspace_bytes(self) -> int:
        ...


class VendorKey:
    def __init__(self, arg0: str, arg1: str, arg2: str, arg3: str, arg4: int) -> None:
        ...
    @property
    def program(self) -> str:
        ...


class VendorChoice:
    def __init__(self, key: tilewright._core.VendorKey, name: str, kernels: collections.abc.Mapping[str, int], seconds: collections.abc.Mapping[str, collections.abc.Sequence[float]], message: str = '') -> None:
        ...
    @property
    def chosen(self) -> str:
        ...
    @property
    def message(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    def ratio(self, way: str, base: str) -> typing.Any:
        ...
    @property
    def seconds(self) -> dict[str, list[float]]:
        ...


class Race:
    def __init__(self, arg0: int) -> None:
        ...
    def add(self, arg0: collections.abc.Sequence[float]) -> None:
        ...
    @property
    def running(self) -> list[int]:
        ...
    def seconds(self, arg0: int) -> list[float]:
        ...

ExprLike: typing.TypeAlias = PrimExpr | IterVar | TensorSlice | Tensor | int | float
ArrayLike: typing.TypeAlias = typing.Any  # NDArray, NumPy array, or an object with __dlpack__


def allocate(arg0: tilewright._core.Var, arg1: str, arg2: collections.abc.Sequence[tilewright._core.ExprLike], arg3: str, arg4: tilewright._core.Stmt) -> tilewright._core.Stmt:
    ...


def append_vendor_choice(arg0: tilewright._core.autotune.LogFile, arg1: tilewright._core.VendorChoice) -> None:
    ...


def assert_stmt(arg0: tilewright._core.ExprLike, arg1: str, arg2: tilewright._core.Stmt) -> tilewright._core.Stmt:
    ...


def attr_stmt(arg0: str, arg1: tilewright._core.ExprLike, arg2: tilewright._core.Stmt) -> tilewright._core.Stmt:
    ...


def block(arg0: collections.abc.Sequence[tilewright._core.Stmt]) -> tilewright._core.Stmt:
    ...


def borrow_array(arg0: typing.Any) -> tilewright._core.NDArray:
    ...


def buffer_var(arg0: str, arg1: str) -> tilewright._core.Var:
    ...


def build_graph_regions(arg0: tilewright._core.NativeGraph, arg1: collections.abc.Mapping[str, tilewright._core.NDArray], arg2: int) -> tuple:
    ...


def build_program(program: tilewright._core.Program, target: tilewright._core.TargetModel, name: str, constants: list, log: typing.Any, threads: int, cross: bool) -> tilewright._core.Module:
    """threads 0: those of the thread pool. log: a LogFile or None."""


def call_extern(arg0: str, arg1: str, arg2: collections.abc.Sequence[tilewright._core.ExprLike], arg3: bool) -> tilewright._core.PrimExpr:
    ...


def call_intrin(arg0: str, arg1: str, arg2: collections.abc.Sequence[tilewright._core.ExprLike]) -> tilewright._core.PrimExpr:
    ...


def caller() -> str:
    """The line of the script that is running: "conv.py:12"."""


def cast(arg0: str, arg1: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def check_graph_annotations(arg0: tilewright._core.NativeGraph) -> list:
    ...


def check_options(arg0: dict, arg1: collections.abc.Sequence[str], arg2: str) -> None:
    """Raises what `lower` would of unknown options and passes."""


def codegen_version(arg0: str) -> str:
    ...


def compile(kernels: collections.abc.Sequence[tilewright._core.LoweredFunc], target: tilewright._core.TargetModel, cross: bool) -> tilewright._core.Module:
    ...


def compute(arg0: collections.abc.Sequence[tilewright._core.ExprLike], arg1: collections.abc.Callable, arg2: str, arg3: str, arg4: dict, arg5: collections.abc.Sequence[str]) -> list[tilewright._core.Tensor]:
    ...


def configure_threads(spin_microseconds: float | None = None, pin: bool | None = None) -> None:
    """How long waiting threads spin before they sleep, and whether each worker stays on a CPU of its own. None leaves it as it is."""


def const(value: typing.Any, dtype: typing.Any = None) -> tilewright._core.PrimExpr:
    ...


def copy_array(arg0: typing.Any) -> tilewright._core.NDArray:
    ...


def create_schedule(arg0: collections.abc.Sequence) -> tilewright._core.Schedule:
    ...


def decl_buffer(shape: typing.Any, dtype: str, name: str, data: tilewright._core.Var | None, strides: typing.Any, elem_offset: typing.Any, scope: str, data_alignment: int, offset_factor: int) -> tilewright._core.Buffer:
    ...


def decl_tensor_intrin(arg0: str, arg1: tilewright._core.Operation, arg2: collections.abc.Sequence[tilewright._core.Buffer], arg3: tilewright._core.Stmt | None, arg4: tilewright._core.Stmt | None, arg5: tilewright._core.Stmt | None, arg6: collections.abc.Sequence[tilewright._core.Var]) -> tilewright._core.TensorIntrin:
    ...


def describe(value: typing.Any) -> str:
    """An object as messages show it: "str 'x'"."""


def div(arg0: tilewright._core.ExprLike, arg1: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def empty_array(arg0: typing.Any, arg1: str) -> tilewright._core.NDArray:
    ...


def error_codes() -> list[tuple[str, str]]:
    """Every code with the name of its exception class."""


def evaluate(arg0: tilewright._core.ExprLike) -> tilewright._core.Stmt:
    ...


def explain_graph_partition(arg0: tilewright._core.NativeGraph, arg1: str) -> list:
    ...


def export_graph(directory: typing.Any, graph_json: str, module: tilewright._core.Module, parameters: dict, fallbacks: collections.abc.Sequence[tuple[str, str, tilewright._core.Module | None, dict]]) -> None:
    ...


def extern(arg0: str, arg1: collections.abc.Sequence[tilewright._core.Tensor], arg2: collections.abc.Sequence[collections.abc.Sequence[tilewright._core.ExprLike]], arg3: collections.abc.Sequence[str], arg4: list, arg5: tilewright._core.Stmt, arg6: collections.abc.Sequence[tuple[tilewright._core.Stmt, str]], arg7: str, arg8: dict) -> list[tilewright._core.Tensor]:
    ...


def find_vendor_choice(arg0: tilewright._core.autotune.LogFile, arg1: tilewright._core.VendorKey, arg2: collections.abc.Mapping[str, int]) -> tuple:
    ...


def floor_div(arg0: tilewright._core.ExprLike, arg1: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def floor_mod(arg0: tilewright._core.ExprLike, arg1: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def fmod(arg0: tilewright._core.ExprLike, arg1: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def for_loop(arg0: tilewright._core.Var, arg1: tilewright._core.ExprLike, arg2: tilewright._core.ExprLike, arg3: str, arg4: tilewright._core.Stmt) -> tilewright._core.Stmt:
    ...


def graph_codegens() -> list[str]:
    ...


def graph_compute(arg0: tilewright._core.GraphSymbol, arg1: collections.abc.Mapping[str, tilewright._core.Tensor]) -> list[tilewright._core.Tensor]:
    ...


def graph_dtypes() -> dict:
    ...


def graph_functional_text(arg0: tilewright._core.NativeGraph, arg1: bool) -> str:
    ...


def graph_functions(arg0: tilewright._core.NativeGraph) -> list:
    ...


def graph_groups(arg0: tilewright._core.NativeGraph, arg1: collections.abc.Set[str]) -> list:
    ...


def graph_kernels(arg0: tilewright._core.NativeGraph) -> list:
    ...


def graph_kernels_to_be(arg0: tilewright._core.NativeGraph, arg1: collections.abc.Set[str]) -> list:
    ...


def graph_module(arg0: tilewright._core.NativeGraph) -> tilewright._core.Module | None:
    ...


def graph_of_part(arg0: tilewright._core.NativeGraph, arg1: collections.abc.Sequence[int], arg2: collections.abc.Set[int]) -> tilewright._core.NativeGraph:
    ...


def graph_operators() -> list:
    ...


def graph_pack(arg0: tilewright._core.NativeGraph, arg1: dict) -> dict[str, tilewright._core.NDArray]:
    ...


def graph_part_hash(arg0: tilewright._core.NativeGraph, arg1: collections.abc.Set[str]) -> str:
    ...


def graph_passes() -> list:
    ...


def graph_pieces(arg0: tilewright._core.NativeGraph) -> list[list[list[int]]]:
    ...


def graph_printed_name(arg0: str) -> str:
    ...


def if_statement(arg0: tilewright._core.ExprLike, arg1: tilewright._core.Stmt, arg2: tilewright._core.Stmt | None) -> tilewright._core.Stmt:
    ...


def if_then_else(cond: tilewright._core.ExprLike, t: tilewright._core.ExprLike, f: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def import_onnx_bytes(arg0: bytes, arg1: collections.abc.Mapping[str, collections.abc.Sequence[int]], arg2: collections.abc.Mapping[str, str], arg3: collections.abc.Mapping[str, tilewright._core.NDArray]) -> tuple:
    ...


def import_onnx_file(arg0: str, arg1: collections.abc.Mapping[str, collections.abc.Sequence[int]], arg2: collections.abc.Mapping[str, str], arg3: collections.abc.Mapping[str, tilewright._core.NDArray]) -> tuple:
    ...


def infer_bound(arg0: tilewright._core.Schedule) -> dict:
    ...


def intrinsic(arg0: str, arg1: collections.abc.Sequence[tilewright._core.ExprLike]) -> tilewright._core.PrimExpr:
    ...


def keep_composites(arg0: tilewright._core.NativeGraph, arg1: collections.abc.Set[int]) -> tilewright._core.NativeGraph:
    ...


def let_stmt(arg0: tilewright._core.Var, arg1: tilewright._core.ExprLike, arg2: tilewright._core.Stmt) -> tilewright._core.Stmt:
    ...


def likely(cond: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def llvm_version() -> str:
    ...


def load(arg0: str, arg1: tilewright._core.Var, arg2: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def load_executor(directory: typing.Any, verify: bool) -> tilewright._core.GraphExecutor:
    ...


def load_graph_json(arg0: str) -> tilewright._core.NativeGraph:
    ...


def load_module(path: typing.Any) -> tilewright._core.Module:
    ...


def load_param_dict(bytes: bytes) -> dict:
    ...


def logical_and(arg0: tilewright._core.ExprLike, arg1: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def logical_not(arg0: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def logical_or(arg0: tilewright._core.ExprLike, arg1: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def lower(arg0: tilewright._core.Schedule, arg1: collections.abc.Sequence, arg2: tilewright._core.TargetModel, arg3: str, arg4: bool, arg5: dict, arg6: collections.abc.Sequence[str], arg7: str, arg8: typing.Any, arg9: list, arg10: list) -> tilewright._core.LoweredFunc:
    ...


def lower_program(arg0: tilewright._core.Program, arg1: tilewright._core.Schedule, arg2: tilewright._core.TargetModel, arg3: str, arg4: list) -> tilewright._core.LoweredFunc:
    ...


def match_pattern(arg0: tilewright._core.NativePattern, arg1: tilewright._core.NativeGraph) -> typing.Any:
    ...


def max(arg0: tilewright._core.ExprLike, arg1: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def max_value(dtype: str) -> tilewright._core.PrimExpr:
    ...


def min(arg0: tilewright._core.ExprLike, arg1: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def min_value(dtype: str) -> tilewright._core.PrimExpr:
    ...


def module_regions(module: tilewright._core.Module) -> list:
    ...


def name_callers(arg0: bool) -> bool:
    """Whether errors and traces name lines of scripts; gives what it was."""


def nearest_pattern_match(arg0: tilewright._core.NativePattern, arg1: tilewright._core.NativeGraph) -> typing.Any:
    ...


def num_threads() -> int:
    ...


def observe_graph_kernels(arg0: collections.abc.Callable) -> None:
    ...


def onnx_converters() -> list:
    ...


def onnx_inputs(arg0: str) -> list:
    ...


def onnx_opsets() -> tuple[int, int]:
    ...


def park_threads() -> None:
    """Puts the waiting threads to sleep until the next kernel that is parallel."""


def parse_program(arg0: str) -> tilewright._core.Program:
    ...


def pass_options() -> list:
    """Rows of (name, default, documentation)."""


def passes() -> list:
    """Rows of (name, optional, requires, ensures, documentation)."""


def pattern_dominates(arg0: tilewright._core.NativePattern, arg1: tilewright._core.NativePattern, arg2: tilewright._core.NativePattern) -> tilewright._core.NativePattern:
    ...


def pattern_either(arg0: tilewright._core.NativePattern, arg1: tilewright._core.NativePattern) -> tilewright._core.NativePattern:
    ...


def pattern_has_attr(arg0: tilewright._core.NativePattern, arg1: dict) -> tilewright._core.NativePattern:
    ...


def pattern_has_dtype(arg0: tilewright._core.NativePattern, arg1: typing.Any) -> tilewright._core.NativePattern:
    ...


def pattern_has_shape(arg0: tilewright._core.NativePattern, arg1: collections.abc.Sequence[int]) -> tilewright._core.NativePattern:
    ...


def pattern_is_constant() -> tilewright._core.NativePattern:
    ...


def pattern_is_op(arg0: str) -> tilewright._core.NativePattern:
    ...


def pattern_is_var(arg0: str) -> tilewright._core.NativePattern:
    ...


def pattern_named(arg0: tilewright._core.NativePattern, arg1: str) -> tilewright._core.NativePattern:
    ...


def pattern_output(arg0: tilewright._core.NativePattern, arg1: int) -> tilewright._core.NativePattern:
    ...


def pattern_table_names() -> list[str]:
    ...


def pattern_wildcard() -> tilewright._core.NativePattern:
    ...


def placeholder(shape: collections.abc.Sequence[tilewright._core.ExprLike], dtype: str, name: str, constant: bool) -> tilewright._core.Tensor:
    ...


def primitives() -> list:
    """Rows of (name, version, [(parameter, type, optional)], [result types], documentation)."""


def raise_error(code: str, what: str, legal: str = '', where: str = '') -> None:
    ...


def reduce(arg0: collections.abc.Sequence[tilewright._core.Var], arg1: collections.abc.Sequence[tilewright._core.Var], arg2: collections.abc.Sequence[tilewright._core.ExprLike], arg3: collections.abc.Sequence[tilewright._core.ExprLike], arg4: collections.abc.Sequence[tilewright._core.ExprLike], arg5: collections.abc.Sequence[tilewright._core.IterVar], arg6: typing.Any) -> list[tilewright._core.PrimExpr]:
    ...


def reduce_axis(dom: tilewright._core.Range, name: str) -> tilewright._core.IterVar:
    ...


def reduce_expr(arg0: str, arg1: tilewright._core.ExprLike, arg2: collections.abc.Sequence[tilewright._core.IterVar], arg3: typing.Any) -> tilewright._core.PrimExpr:
    ...


def register_graph_codegen(arg0: str, arg1: str) -> None:
    ...


def register_graph_pass(arg0: str, arg1: collections.abc.Callable, arg2: collections.abc.Sequence[str], arg3: collections.abc.Sequence[str], arg4: str) -> None:
    ...


def register_pattern_table(arg0: str, arg1: list) -> None:
    ...


def rewrite_graph(arg0: tilewright._core.NativeGraph, arg1: collections.abc.Callable) -> tilewright._core.NativeGraph:
    ...


def rewrite_pattern(arg0: tilewright._core.NativePattern, arg1: collections.abc.Callable, arg2: tilewright._core.NativeGraph) -> tilewright._core.NativeGraph:
    ...


def saturating_cast(arg0: str, arg1: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def save_param_dict(parameters: dict) -> bytes:
    ...


def scan(arg0: collections.abc.Sequence[tilewright._core.Tensor], arg1: collections.abc.Sequence[tilewright._core.Tensor], arg2: collections.abc.Sequence[tilewright._core.Tensor], arg3: collections.abc.Sequence[tilewright._core.Tensor], arg4: str, arg5: str, arg6: dict) -> list[tilewright._core.Tensor]:
    ...


def schedule_ops(arg0: tilewright._core.Schedule, arg1: bool) -> tilewright._core.Stmt:
    ...


def select(arg0: tilewright._core.ExprLike, arg1: tilewright._core.ExprLike, arg2: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def set_num_threads(num_threads: int) -> list[str]:
    """Kernels run on this many threads, the calling one included, and so do the OpenMP, OpenBLAS and MKL libraries that are loaded, whose file names it returns. Call it again after importing another library; OpenMP keeps the number by calling thread."""


def set_package_directory(arg0: str) -> None:
    """Frames of files below it are not a script's."""


def starting_from(arg0: collections.abc.Sequence[tilewright._core.ExprLike], arg1: collections.abc.Sequence[tilewright._core.ExprLike]) -> list[tilewright._core.PrimExpr]:
    ...


def store(arg0: str, arg1: tilewright._core.Var, arg2: tilewright._core.ExprLike, arg3: tilewright._core.ExprLike) -> tilewright._core.Stmt:
    ...


def structural_equal(arg0: tilewright._core.ExprLike, arg1: tilewright._core.ExprLike) -> bool:
    ...


def summarize(seconds: collections.abc.Sequence[float]) -> tilewright._core.BenchmarkResult:
    """The statistics of samples."""


def tensor_intrin(name: str) -> tilewright._core.TensorIntrin:
    """A declared or built-in intrinsic by its name."""


def tensor_intrin_names() -> list[str]:
    """Of all that are declared or built in."""


def trunc_div(arg0: tilewright._core.ExprLike, arg1: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def trunc_mod(arg0: tilewright._core.ExprLike, arg1: tilewright._core.ExprLike) -> tilewright._core.PrimExpr:
    ...


def unary(arg0: str, arg1: typing.Any) -> typing.Any:
    ...


def while_loop(arg0: tilewright._core.ExprLike, arg1: tilewright._core.Stmt) -> tilewright._core.Stmt:
    ...


def zeros_array(arg0: typing.Any, arg1: str) -> tilewright._core.NDArray:
    ...
