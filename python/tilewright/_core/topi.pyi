# SPDX-License-Identifier: Apache-2.0
# Made by python/stubs/make_stubs.py.
import collections.abc
import typing

import tilewright._core



def argmax(arg0: tilewright._core.Tensor, arg1: collections.abc.Sequence[int], arg2: bool, arg3: bool) -> tilewright._core.Tensor:
    ...


def argmin(arg0: tilewright._core.Tensor, arg1: collections.abc.Sequence[int], arg2: bool, arg3: bool) -> tilewright._core.Tensor:
    ...


def batch_matmul(arg0: tilewright._core.Tensor, arg1: tilewright._core.Tensor, arg2: typing.Any, arg3: bool, arg4: bool) -> tilewright._core.Tensor:
    ...


def batch_norm(arg0: tilewright._core.Tensor, arg1: tilewright._core.Tensor, arg2: tilewright._core.Tensor, arg3: tilewright._core.Tensor, arg4: tilewright._core.Tensor, arg5: int, arg6: float) -> tilewright._core.Tensor:
    ...


def bias_add(arg0: tilewright._core.Tensor, arg1: tilewright._core.Tensor, arg2: int) -> tilewright._core.Tensor:
    ...


def binary(arg0: str, arg1: typing.Any, arg2: typing.Any) -> typing.Any:
    ...


def binary_operators() -> list[tuple[str, str]]:
    """Name and documentation of each operator on two tensors."""


def broadcast_to(arg0: tilewright._core.Tensor, arg1: collections.abc.Sequence[tilewright._core.ExprLike]) -> tilewright._core.Tensor:
    ...


def cast(arg0: tilewright._core.Tensor, arg1: str) -> tilewright._core.Tensor:
    ...


def clip(arg0: tilewright._core.Tensor, arg1: float, arg2: float) -> tilewright._core.Tensor:
    ...


def concatenate(arg0: collections.abc.Sequence[tilewright._core.Tensor], arg1: int) -> tilewright._core.Tensor:
    ...


def conv2d(arg0: tilewright._core.Tensor, arg1: tilewright._core.Tensor, arg2: collections.abc.Sequence[int], arg3: collections.abc.Sequence[int], arg4: collections.abc.Sequence[int], arg5: int, arg6: typing.Any) -> tilewright._core.Tensor:
    ...


def conv2d_nchwc(arg0: tilewright._core.Tensor, arg1: tilewright._core.Tensor, arg2: collections.abc.Sequence[int], arg3: collections.abc.Sequence[int], arg4: collections.abc.Sequence[int], arg5: typing.Any) -> tilewright._core.Tensor:
    ...


def dense(arg0: tilewright._core.Tensor, arg1: tilewright._core.Tensor, arg2: typing.Any, arg3: typing.Any) -> tilewright._core.Tensor:
    ...


def expand_dims(arg0: tilewright._core.Tensor, arg1: int, arg2: int) -> tilewright._core.Tensor:
    ...


def flatten(arg0: tilewright._core.Tensor) -> tilewright._core.Tensor:
    ...


def full(arg0: collections.abc.Sequence[tilewright._core.ExprLike], arg1: str, arg2: tilewright._core.ExprLike) -> tilewright._core.Tensor:
    ...


def full_like(arg0: tilewright._core.Tensor, arg1: tilewright._core.ExprLike) -> tilewright._core.Tensor:
    ...


def gelu(arg0: tilewright._core.Tensor) -> tilewright._core.Tensor:
    ...


def global_pool(arg0: tilewright._core.Tensor, arg1: str) -> tilewright._core.Tensor:
    ...


def layer_norm(arg0: tilewright._core.Tensor, arg1: typing.Any, arg2: typing.Any, arg3: collections.abc.Sequence[int], arg4: float) -> tilewright._core.Tensor:
    ...


def leaky_relu(arg0: tilewright._core.Tensor, arg1: float) -> tilewright._core.Tensor:
    ...


def log_softmax(arg0: tilewright._core.Tensor, arg1: int) -> tilewright._core.Tensor:
    ...


def matmul(arg0: tilewright._core.Tensor, arg1: tilewright._core.Tensor, arg2: typing.Any, arg3: typing.Any, arg4: bool, arg5: bool) -> tilewright._core.Tensor:
    ...


def pad(arg0: tilewright._core.Tensor, arg1: collections.abc.Sequence[tilewright._core.ExprLike], arg2: collections.abc.Sequence[tilewright._core.ExprLike], arg3: typing.Any, arg4: str) -> tilewright._core.Tensor:
    ...


def pool2d(arg0: tilewright._core.Tensor, arg1: collections.abc.Sequence[int], arg2: collections.abc.Sequence[int], arg3: collections.abc.Sequence[int], arg4: collections.abc.Sequence[int], arg5: str, arg6: bool, arg7: bool) -> tilewright._core.Tensor:
    ...


def prelu(arg0: tilewright._core.Tensor, arg1: tilewright._core.Tensor, arg2: int) -> tilewright._core.Tensor:
    ...


def reduction(arg0: str, arg1: tilewright._core.Tensor, arg2: collections.abc.Sequence[int], arg3: bool) -> tilewright._core.Tensor:
    ...


def relu(arg0: tilewright._core.Tensor) -> tilewright._core.Tensor:
    ...


def reshape(arg0: tilewright._core.Tensor, arg1: collections.abc.Sequence[tilewright._core.ExprLike]) -> tilewright._core.Tensor:
    ...


def saturating_cast(arg0: tilewright._core.Tensor, arg1: str) -> tilewright._core.Tensor:
    ...


def softmax(arg0: tilewright._core.Tensor, arg1: int) -> tilewright._core.Tensor:
    ...


def squeeze(arg0: tilewright._core.Tensor, arg1: collections.abc.Sequence[int]) -> tilewright._core.Tensor:
    ...


def transpose(arg0: tilewright._core.Tensor, arg1: collections.abc.Sequence[int]) -> tilewright._core.Tensor:
    ...


def unary(arg0: str, arg1: tilewright._core.Tensor) -> tilewright._core.Tensor:
    ...


def unary_operators() -> list[tuple[str, str]]:
    """Name and documentation of each elementwise operator."""
