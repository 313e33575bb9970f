"""Symbols computed as one te program each, without passes that rewrite them or choose schedules."""

import numpy as np

import tilewright as tw
import tilewright.graph
from tilewright import te


def run(symbol, arrays):
    """The outputs of a symbol of arrays by the names of its variables; what passes infer of them is checked first."""
    outputs = symbol.list_output_names()
    graph = tw.graph.create(symbol)
    names = symbol.list_input_names()
    graph._set_json_attr("shape_inputs", [list(arrays[n].shape) for n in names], "list_shape")
    numbers = {text: number for number, text in tw.graph.dtypes().items()}
    graph._set_json_attr("dtype_inputs", [numbers[str(arrays[n].dtype)] for n in names], "list_int")
    graph = graph.apply(["InferShape", "InferType"])
    placeholders = {n: te.placeholder(arrays[n].shape, str(arrays[n].dtype), n) for n in names}
    tensors = tw.graph.compute(symbol, placeholders)
    assert len(tensors) == len(outputs)
    results = []
    for tensor, entry in zip(tensors, graph.index.output_entries, strict=True):
        number = graph.index.entry_id(entry)
        if tensor.op.num_outputs > 1:  # a program gives all that an operation does
            tensor = te.compute(tensor.shape, lambda *i, tensor=tensor: tensor(*i), "output")
        shape = tuple(int(e) for e in tensor.shape)
        assert tuple(graph.json_attr("shape")[number]) == shape
        assert tw.graph.dtypes()[graph.json_attr("dtype")[number]] == tensor.dtype
        read = te.Program([tensor]).arguments[:-1]
        out = np.zeros(shape, tensor.dtype)
        by_name = {name: p for name, p in placeholders.items() if p in read}
        tw.build(te.create_schedule(tensor.op), [*by_name.values(), tensor])(*(arrays[n] for n in by_name), out)
        results.append(out)
    return results
