# SPDX-License-Identifier: Apache-2.0
"""Runs exported networks with the runtime library alone: no compiler, no NumPy, nothing of `tilewright`.

    import tilewright_runtime

    module = tilewright_runtime.load("resnet18")       # a folder that graph_runtime.GraphModule.export wrote
    module.set_input("data", image)                    # anything with a buffer: an array of NumPy, array.array, bytes
    module.run()
    scores = module.get_output(0)                      # a memoryview; numpy.asarray(scores) shares its memory

Names are those of `tilewright.contrib.graph_runtime`.
"""

import ctypes as _ctypes
import importlib.util as _util
import os as _os

__all__ = ["GraphModule", "RuntimeFailure", "load"]


class RuntimeFailure(RuntimeError):
    """What the runtime refused, in its words."""


class _DType(_ctypes.Structure):
    _fields_ = [("code", _ctypes.c_uint8), ("bits", _ctypes.c_uint8), ("lanes", _ctypes.c_uint16)]


class _Tensor(_ctypes.Structure):
    """DLTensor, of DLPack."""

    _fields_ = [
        ("data", _ctypes.c_void_p), ("device_type", _ctypes.c_int32), ("device_id", _ctypes.c_int32),
        ("ndim", _ctypes.c_int32), ("dtype", _DType), ("shape", _ctypes.POINTER(_ctypes.c_int64)),
        ("strides", _ctypes.POINTER(_ctypes.c_int64)), ("byte_offset", _ctypes.c_uint64)]


# The struct module's letter and the name of each element type, by DLPack's code and bits. Types that Python has no letter for
# are given as integers of their size.
_TYPES = {
    (0, 8): ("b", "int8"), (0, 16): ("h", "int16"), (0, 32): ("i", "int32"), (0, 64): ("q", "int64"),
    (1, 8): ("B", "uint8"), (1, 16): ("H", "uint16"), (1, 32): ("I", "uint32"), (1, 64): ("Q", "uint64"),
    (2, 16): ("H", "float16"), (2, 32): ("f", "float32"), (2, 64): ("d", "float64"), (4, 16): ("H", "bfloat16"),
    (6, 8): ("?", "bool"),
}
# Letters that mean the same on this machine.
_SAME = {"l": "q", "L": "Q", "e": "H"}


def _load_library():
    name = "libtilewright_runtime.so"
    places = [_os.path.dirname(__file__)]
    package = _util.find_spec("tilewright")  # which is found and not imported
    if package is not None:
        places += list(package.submodule_search_locations)
    for place in places:
        if _os.path.exists(_os.path.join(place, name)):
            return _ctypes.CDLL(_os.path.join(place, name))
    raise ImportError(f"there is no {name} in {' or '.join(places)}")


_library = _load_library()
_pointer, _text, _number = _ctypes.c_void_p, _ctypes.c_char_p, _ctypes.c_int32
for _name, _result, _arguments in (
        ("tw_last_error", _text, ()),
        ("tw_set_num_threads", _number, (_number,)),
        ("tw_num_threads", _number, ()),
        ("tw_graph_load", _pointer, (_text,)),
        ("tw_graph_clone", _pointer, (_pointer,)),
        ("tw_graph_free", None, (_pointer,)),
        ("tw_graph_num_inputs", _number, (_pointer,)),
        ("tw_graph_num_outputs", _number, (_pointer,)),
        ("tw_graph_input_name", _text, (_pointer, _number)),
        ("tw_graph_output_name", _text, (_pointer, _number)),
        ("tw_graph_input_index", _number, (_pointer, _text)),
        ("tw_graph_input_tensor", _number, (_pointer, _number, _ctypes.POINTER(_Tensor))),
        ("tw_graph_set_input", _number, (_pointer, _text, _ctypes.POINTER(_Tensor))),
        ("tw_graph_run", _number, (_pointer,)),
        ("tw_graph_output", _number, (_pointer, _number, _ctypes.POINTER(_Tensor)))):
    _function = getattr(_library, _name)
    _function.restype, _function.argtypes = _result, _arguments


def _require(done):
    if not done:
        raise RuntimeFailure(_library.tw_last_error().decode(errors="replace"))


def set_num_threads(number):
    """How many threads kernels use, by default one for each processor that this process may use."""
    _require(_library.tw_set_num_threads(number) == 0)


def num_threads():
    """How many threads kernels use."""
    return _library.tw_num_threads()


def load(directory):
    """GraphModule: a network from a folder that was exported. Its parameters are mapped, and read when kernels read them.

    Raises
    ------
    RuntimeFailure
        Where the folder is not whole, is of a newer version, or needs what this machine lacks.
    """
    graph = _library.tw_graph_load(_os.fsencode(directory))
    _require(graph)
    return GraphModule(graph)


class GraphModule:
    """One instance of a network, for one thread at a time."""

    def __init__(self, graph):
        self._graph = graph

    def __del__(self):
        if self._graph:
            _library.tw_graph_free(self._graph)
            self._graph = None

    def clone(self):
        """Another instance, for another thread. Code and parameters are shared."""
        graph = _library.tw_graph_clone(self._graph)
        _require(graph)
        return GraphModule(graph)

    @property
    def input_names(self):
        """list of str: the inputs, parameters among them."""
        return [_library.tw_graph_input_name(self._graph, k).decode() for k in range(_library.tw_graph_num_inputs(self._graph))]

    @property
    def output_names(self):
        """list of str"""
        return [_library.tw_graph_output_name(self._graph, k).decode() for k in range(_library.tw_graph_num_outputs(self._graph))]

    def input_info(self, name):
        """(shape, dtype) of an input: tuple of int and str."""
        tensor = self._input(name)
        return tuple(tensor.shape[: tensor.ndim]), _type_of(tensor)[1]

    def set_input(self, name, value):
        """Copies the elements of an input.

        Parameters
        ----------
        name: str
        value: object with a buffer
            Of the input's shape and element type; or its bytes, row by row. Elements of bfloat16 come as uint16, and those of
            float16 may.
        """
        tensor = self._input(name)
        shape, (letter, dtype) = tuple(tensor.shape[: tensor.ndim]), _type_of(tensor)
        view = memoryview(value)
        if view.nbytes * 8 != _count(shape) * tensor.dtype.bits or not _fits(view, shape, letter):
            raise RuntimeFailure(f"input '{name}' is given as {view.format} of shape {view.shape}; legal: {dtype} of shape {shape}")
        raw = bytes(view) if view.readonly or not view.c_contiguous else view.cast("B") if view.nbytes else b""
        tensor.data = _address(raw)
        tensor.strides = None
        _require(_library.tw_graph_set_input(self._graph, name.encode(), _ctypes.byref(tensor)) == 0)

    def run(self):
        """Computes all outputs."""
        _require(_library.tw_graph_run(self._graph) == 0)

    def get_output(self, index):
        """memoryview: an output's memory, which the next run overwrites."""
        tensor = _Tensor()
        _require(_library.tw_graph_output(self._graph, index, _ctypes.byref(tensor)) == 0)
        shape = tuple(tensor.shape[: tensor.ndim])
        letter, _ = _type_of(tensor)
        memory = (_ctypes.c_char * (_count(shape) * tensor.dtype.bits // 8)).from_address(tensor.data + tensor.byte_offset)
        memory.owner = self  # the memory is the instance's
        return memoryview(memory).cast("B").cast(letter, shape)

    def _input(self, name):
        index = _library.tw_graph_input_index(self._graph, name.encode())
        if index < 0:
            raise RuntimeFailure(f"there is no input '{name}'; legal: {', '.join(self.input_names)}")
        tensor = _Tensor()
        _require(_library.tw_graph_input_tensor(self._graph, index, _ctypes.byref(tensor)) == 0)
        return tensor


def _count(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def _type_of(tensor):
    return _TYPES[(tensor.dtype.code, tensor.dtype.bits)]


def _fits(view, shape, letter):
    """Whether a buffer is a tensor of that shape and type, or bytes."""
    if view.ndim == 1 and view.format in ("B", "c"):
        return True
    return view.shape == shape and _SAME.get(view.format, view.format) == letter


def _address(raw):
    """Where the bytes of an object lie, as long as it is there."""
    if isinstance(raw, bytes):
        return _ctypes.cast(_ctypes.c_char_p(raw), _ctypes.c_void_p).value
    return _ctypes.addressof(_ctypes.c_char.from_buffer(raw))
