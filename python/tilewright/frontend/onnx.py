# SPDX-License-Identifier: Apache-2.0
"""ONNX models as networks.

    net, params = tw.frontend.from_onnx("resnet50.onnx")
    graph, lib, params = tw.compiler.build(net, params=params)
"""

import os as _os

from .. import _core, nd as _nd
from .. import symbol as _symbol
from ..compiler import arguments as _arguments

__all__ = ["from_onnx", "operators", "opsets"]


def from_onnx(model, shape=None, dtype=None, params=None):
    """A model as a network.

    Parameters
    ----------
    model: str, os.PathLike, bytes or onnx.ModelProto
        A file, its content, or what the package onnx has read; that package is not needed. Of a file everything beside it
        that holds its tensors is found, and elements are not copied: parameters point into the mapped file, which must
        stay as it is while they are used.
    shape: dict of str to tuple of int, optional
        Shapes of inputs by name: of those that the model leaves open they must be there.
    dtype: dict of str to str, optional
        Element types in which inputs come, where the model has others: they are cast to the model's.
    params: dict of str to array, optional
        Inputs whose values do not change: sizes, axes and the like, which must be constant, and whatever may be.

    Returns
    -------
    symbol: Symbol
        The model's outputs, in its order. Variables say their shapes and element types; inputs are called as in the model.
    params: dict of str to NDArray
        The variables whose values are known, read-only.

    Raises
    ------
    UserError
        parse-error: this is no model. unknown-operator: with one list of all nodes that are not supported. bad-argument: a
        shape is missing, or names no input. bad-graph, bad-attribute, bad-shape, shape-conflict, type-conflict: the model
        contradicts itself, with the node.
    """
    shapes = {name: _arguments.extents(given, name) for name, given in _arguments.by_name(shape, "shape").items()}
    types = _arguments.dtype_names(dtype) if dtype is not None else {}
    if isinstance(types, str):
        _core.raise_error("bad-argument", f"dtype is '{types}'", legal="a dict of input names and types")
    values = {name: _nd.array(value) for name, value in _arguments.by_name(params, "params").items()}
    if isinstance(model, (str, _os.PathLike)):
        symbol, params = _core.import_onnx_file(_os.fsdecode(model), shapes, types, values)
    else:
        symbol, params = _core.import_onnx_bytes(_content(model), shapes, types, values)
    return _symbol.Symbol(symbol), params


def _content(model):
    """The bytes of a model that is in memory."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if not hasattr(model, "SerializeToString"):
        _core.raise_error("type-mismatch", f"the model is a {type(model).__name__}", legal="a path, bytes, or an onnx.ModelProto")
    try:
        return model.SerializeToString()
    except Exception as error:  # protobuf's own, which we do not import
        _core.raise_error("bad-argument", f"the model cannot be written: {error}", legal="its path, where it has 2 GiB or more")


def operators():
    """list of str: ONNX operators that can be imported, as "Conv" or "com.microsoft.Gelu"."""
    return sorted({f"{domain}.{op}" if domain else op for domain, op, *_ in _core.onnx_converters()})


def opsets():
    """(int, int): the oldest and the newest opset that is read."""
    return _core.onnx_opsets()
