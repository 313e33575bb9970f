#!/usr/bin/env python3
"""Random small ONNX models, imported, built and run, against ONNX Runtime.

    ./tw python tests/support/onnx_random.py --count=1000 --seed=1

Where they differ the first value that does becomes the only output, what it does not need goes, and the model is written to a file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tilewright as tw
from tilewright.contrib import graph_runtime

OPSETS = range(9, 22)


class Value(NamedTuple):
    name: str
    shape: tuple


class Writer:
    """A model that is written: its nodes, constants, and float32 values so far."""

    def __init__(self, number: int):
        self.r = np.random.default_rng(number)
        self.opset = int(self.r.choice(OPSETS))
        self.nodes, self.constants, self.values = [], {}, []

    def pick(self, *choices):
        return choices[self.r.integers(len(choices))]

    def value(self, fits=lambda shape: True):
        found = [v for v in self.values if fits(v.shape)]
        return found[self.r.integers(len(found))] if found else None

    def constant(self, array) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def weights(self, *shape) -> str:
        return self.constant(self.r.uniform(-1, 1, shape).astype("float32"))

    def node(self, op, inputs, shapes, **attributes):
        """shapes: those of the outputs."""
        from onnx import helper

        names = [f"v{len(self.values) + k}" for k in range(len(shapes))]
        inputs = [i.name if isinstance(i, Value) else i for i in inputs]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        self.values += [Value(name, tuple(int(e) for e in shape)) for name, shape in zip(names, shapes)]

    def sized(self, op, inputs, name, numbers, shapes, since, **attributes):
        """Numbers that are an attribute before an opset, and an input from it on."""
        if self.opset >= since:
            self.node(op, [*inputs, self.constant(np.array(numbers, "int64"))], shapes, **attributes)
        else:
            self.node(op, inputs, shapes, **attributes, **{name: [int(n) for n in numbers]})


def _unary(w: Writer):
    x = w.value()
    op, attributes = w.pick(
        ("Relu", {}), ("Sigmoid", {}), ("Tanh", {}), ("Neg", {}), ("Abs", {}), ("LeakyRelu", {"alpha": 0.2}), ("HardSigmoid", {"alpha": 0.3}),
        ("Identity", {}), ("Dropout", {}))
    w.node(op, [x], [x.shape], **attributes)


def _binary(w: Writer):
    x = w.value()
    shape = tuple(1 if w.r.random() < 0.3 else e for e in x.shape)[int(w.r.integers(0, len(x.shape) + 1)):]
    other = w.value(lambda s: s == x.shape) if w.r.random() < 0.5 else w.weights(*shape)
    w.node(w.pick("Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean"), [x, other] if w.r.random() < 0.5 else [other, x], [x.shape])


def _divided(w: Writer):
    x = w.value()
    w.node("Div", [x, w.constant(w.r.uniform(1, 2, x.shape[-1:]).astype("float32"))], [x.shape])


def _clip(w: Writer):
    x = w.value()
    if w.opset >= 11:
        limits = [w.constant(np.float32(-0.5)), w.constant(np.float32(0.75))]
        w.node("Clip", [x, *w.pick(limits, [limits[0]], ["", limits[1]])], [x.shape])
    else:
        w.node("Clip", [x], [x.shape], min=-0.5, max=0.75)


def _windows(w, x, kernel, ceil=False):
    """Attributes of windows over images and the shape that they give, or None where nothing is left."""
    h, ww = x.shape[2:]
    strides = [int(w.r.integers(1, 3)) for _ in range(2)]
    auto = w.pick("NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    pads = [int(w.r.integers(0, min(2, k))) for k in kernel * 2] if auto == "NOTSET" else [0] * 4
    sizes = []
    for k, (size, window, stride) in enumerate(zip((h, ww), kernel, strides)):
        room = size + pads[k] + pads[k + 2] - window
        if auto.startswith("SAME") and window < stride:
            return None  # ONNX Runtime would cut the image, and refuses to
        if auto.startswith("SAME"):
            sizes.append(-(-size // stride))
            continue
        if room < 0:
            return None
        windows = (-(-room // stride) if ceil else room // stride) + 1
        if ceil and (windows - 1) * stride >= size + pads[k]:
            windows -= 1
        sizes.append(windows)
    attributes = {"kernel_shape": kernel, "strides": strides, "auto_pad": auto}
    if auto == "NOTSET":
        attributes["pads"] = pads
    return attributes, sizes


def _conv(w: Writer):
    x = w.value(lambda s: len(s) == 4)
    if x is None:
        return
    groups = w.pick(1, 1, x.shape[1])
    channels = groups * w.pick(1, 2)
    kernel = [int(w.r.integers(1, 4)) for _ in range(2)]
    found = _windows(w, x, kernel)
    if found:
        inputs = [x, w.weights(channels, x.shape[1] // groups, *kernel)] + ([w.weights(channels)] if w.r.random() < 0.5 else [])
        w.node("Conv", inputs, [(x.shape[0], channels, *found[1])], group=groups, **found[0])


def _pool(w: Writer):
    x = w.value(lambda s: len(s) == 4)
    if x is None:
        return
    kernel = [int(w.r.integers(1, 4)) for _ in range(2)]
    ceil = w.opset >= 19 and w.r.random() < 0.3
    found = _windows(w, x, kernel, ceil)
    if not found:
        return
    op = w.pick("MaxPool", "AveragePool")
    more = {"count_include_pad": int(w.r.integers(2))} if op == "AveragePool" and not ceil else {}
    if ceil and found[0]["auto_pad"] == "NOTSET":
        more["ceil_mode"] = 1
    elif ceil:
        return
    w.node(op, [x], [(*x.shape[:2], *found[1])], **found[0], **more)


def _of_images(w: Writer):
    x = w.value(lambda s: len(s) == 4)
    if x is None:
        return
    channels = x.shape[1]
    if w.r.random() < 0.5:
        w.node(w.pick("GlobalAveragePool", "GlobalMaxPool"), [x], [(*x.shape[:2], 1, 1)])
    else:
        variance = w.constant(w.r.uniform(0.5, 2, channels).astype("float32"))
        w.node("BatchNormalization", [x, w.weights(channels), w.weights(channels), w.weights(channels), variance], [x.shape])


def _product(w: Writer):
    x = w.value(lambda s: len(s) >= 2)
    if x is None:
        return
    units = int(w.r.integers(1, 6))
    if len(x.shape) == 2 and w.r.random() < 0.5:
        turned = bool(w.r.integers(2))
        weight = w.weights(units, x.shape[1]) if turned else w.weights(x.shape[1], units)
        bias = [w.weights(*w.pick((units,), (1, units), ()))] if w.opset < 11 or w.r.random() < 0.5 else []
        w.node("Gemm", [x, weight, *bias], [(x.shape[0], units)], transB=int(turned), alpha=w.pick(1.0, 0.5), beta=w.pick(1.0, 2.0))
    else:
        w.node("MatMul", [x, w.weights(x.shape[-1], units)], [(*x.shape[:-1], units)])


def _reduced(w: Writer):
    x = w.value(lambda s: len(s) >= 1)
    if x is None:
        return
    axes = sorted(int(a) for a in w.r.permutation(len(x.shape))[: w.r.integers(1, len(x.shape) + 1)])
    keep = int(w.r.integers(2))
    shape = [1 if k in axes else e for k, e in enumerate(x.shape) if keep or k not in axes]
    given = [a - len(x.shape) if w.opset >= 11 and w.r.random() < 0.3 else a for a in axes]
    op, since = w.pick(("ReduceSum", 13), ("ReduceMean", 18), ("ReduceMax", 18), ("ReduceMin", 18), ("ReduceL1", 18), ("ReduceL2", 18),
                       ("ReduceLogSumExp", 18), ("ReduceSumSquare", 18))
    w.sized(op, [x], "axes", given, [shape], since, keepdims=keep)


def _softmax(w: Writer):
    x = w.value(lambda s: len(s) >= 2)
    if x:
        w.node(w.pick("Softmax", "LogSoftmax"), [x], [x.shape], axis=int(w.r.integers(1, len(x.shape))))


def _reshaped(w: Writer):
    x = w.value()
    size = int(np.prod(x.shape))
    first = int(w.r.choice([d for d in range(1, size + 1) if size % d == 0]))
    given, shape = w.pick(([first, -1], (first, size // first)), ([-1, first], (size // first, first)), ([size], (size,)))
    w.node("Reshape", [x, w.constant(np.array(given, "int64"))], [shape])


def _turned(w: Writer):
    x = w.value(lambda s: len(s) >= 2)
    if x:
        perm = [int(a) for a in w.r.permutation(len(x.shape))]
        w.node("Transpose", [x], [[x.shape[a] for a in perm]], perm=perm)


def _joined(w: Writer):
    x = w.value(lambda s: len(s) >= 1)
    if x:
        axis = int(w.r.integers(len(x.shape)))
        shape = list(x.shape)
        shape[axis] *= 2
        w.node("Concat", [x, w.value(lambda s: s == x.shape)], [shape], axis=axis)


def _split(w: Writer):
    x = w.value(lambda s: len(s) >= 1 and s[0] >= 2)
    if x:
        first = int(w.r.integers(1, x.shape[0]))
        w.sized("Split", [x], "split", [first, x.shape[0] - first], [(first, *x.shape[1:]), (x.shape[0] - first, *x.shape[1:])], 13, axis=0)


def _slice(w: Writer):
    x = w.value(lambda s: len(s) >= 1)
    if x is None:
        return
    axis = int(w.r.integers(len(x.shape)))
    if w.opset >= 10:
        begin, end, step = int(w.r.integers(-4, 4)), int(w.r.choice([-(2**62), -2, 1, 3, 2**62])), int(w.r.choice([-2, -1, 1, 2]))
    else:
        begin, end, step = 0, int(w.r.integers(1, 4)), 1
    shape = list(x.shape)
    shape[axis] = len(range(x.shape[axis])[begin:end:step])
    if shape[axis] == 0:
        return
    if w.opset >= 10:
        w.node("Slice", [x, *(w.constant(np.array([k], "int64")) for k in (begin, end, axis, step))], [shape])
    else:
        w.node("Slice", [x], [shape], starts=[begin], ends=[end], axes=[axis])


def _ones(w: Writer):
    x = w.value()
    if len(x.shape) < 5:
        axis = int(w.r.integers(len(x.shape) + 1))
        w.sized("Unsqueeze", [x], "axes", [axis], [(*x.shape[:axis], 1, *x.shape[axis:])], 13)
    x = w.value(lambda s: 1 in s)
    if x:
        axis = x.shape.index(1)
        w.sized("Squeeze", [x], "axes", [axis], [(*x.shape[:axis], *x.shape[axis + 1:])], 13)


def _larger(w: Writer):
    x = w.value(lambda s: len(s) >= 1 and np.prod(s) < 500)
    if x is None:
        return
    rank = len(x.shape)
    if w.r.random() < 0.5:
        repeats = [int(w.r.integers(1, 3)) for _ in x.shape]
        w.node("Tile", [x, w.constant(np.array(repeats, "int64"))], [[e * n for e, n in zip(x.shape, repeats)]])
    else:
        pads = [int(w.r.integers(0, 3)) for _ in range(2 * rank)]
        shape = [e + pads[k] + pads[k + rank] for k, e in enumerate(x.shape)]
        if w.opset >= 11:
            w.node("Pad", [x, w.constant(np.array(pads, "int64")), w.constant(np.float32(0.5))], [shape])
        else:
            w.node("Pad", [x], [shape], pads=pads, value=0.5)


def _expanded(w: Writer):
    x = w.value(lambda s: len(s) <= 3 and np.prod(s) < 500)
    if x:
        wanted = (2, *(3 if e == 1 else e for e in x.shape))
        w.node("Expand", [x, w.constant(np.array(wanted, "int64"))], [wanted])


STEPS = [_unary, _unary, _unary, _binary, _binary, _binary, _divided, _clip, _conv, _conv, _pool, _of_images, _product, _product, _reduced, _softmax,
         _reshaped, _turned, _joined, _split, _slice, _ones, _larger, _expanded]


def random_model(number: int):
    """A model and the arrays of its inputs."""
    from onnx import TensorProto, helper, numpy_helper

    w = Writer(number)
    shapes = [w.pick((1, 2, 5, 6), (2, 3, 4, 4), (3, 4), (2, 3, 5), (5,), (1, 7), (2, 1, 3)) for _ in range(w.pick(1, 2))]
    w.values = [Value(f"x{k}", shape) for k, shape in enumerate(shapes)]
    count = int(w.r.integers(2, 9))
    while len(w.nodes) < count:
        STEPS[w.r.integers(len(STEPS))](w)
    read = {name for node in w.nodes for name in node.input}
    made = [v for v in w.values[len(shapes):] if v.name not in read]
    infos = [[helper.make_tensor_value_info(v.name, TensorProto.FLOAT, v.shape) for v in values]
             for values in ([v for v in w.values[: len(shapes)]], made)]
    tensors = [numpy_helper.from_array(array, name) for name, array in w.constants.items()]
    graph = helper.make_graph(w.nodes, "random", *infos, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", w.opset)], ir_version=7)
    arrays = {v.name: w.r.uniform(-2, 2, v.shape).astype("float32") for v in w.values[: len(shapes)]}
    return model, arrays


def referred(model, arrays):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {v.name: arrays[v.name] for v in session.get_inputs()})


def ours(model, arrays, opt_level):
    net, params = tw.frontend.from_onnx(model)
    with tw.compiler.build_config(opt_level=opt_level):
        graph, lib, built = tw.compiler.build(net, params=params)
    module = graph_runtime.create(graph, lib, tw.cpu(0), built)
    module.run(**{name: a for name, a in arrays.items() if name in graph.index.input_names})
    return [module.get_output(k).numpy() for k in range(module.get_num_outputs())]


def difference(model, arrays, opt_level=3) -> str:
    """What is wrong, or ""."""
    wanted = referred(model, arrays)
    try:
        found = ours(model, arrays, opt_level)
    except tw.TilewrightError as error:
        return f"{type(error).__name__}: {error}"
    for k, (f, w) in enumerate(zip(found, wanted, strict=True)):
        if f.shape != w.shape or f.dtype != w.dtype:
            return f"output {k} is {f.dtype}{f.shape}, not {w.dtype}{w.shape}"
        scale = max(1.0, float(abs(w).max(initial=0)))
        if not np.allclose(f, w, rtol=1e-3, atol=1e-4 * scale, equal_nan=True):
            return f"output {k} differs by up to {abs(f - w).max()}"
    return ""


def shrunk(model, arrays, opt_level=3):
    """The model with one output, the first value that differs, and nothing that it does not need."""
    from onnx import TensorProto, helper

    def only(name):
        needed, nodes = {name}, []
        for node in reversed(model.graph.node):
            if needed.intersection(node.output):
                needed.update(node.input)
                nodes.insert(0, node)
        graph = helper.make_graph(
            nodes, "shrunk", [v for v in model.graph.input if v.name in needed], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
            [t for t in model.graph.initializer if t.name in needed])
        return helper.make_model(graph, opset_imports=model.opset_import, ir_version=7)

    for node in model.graph.node:
        for name in node.output:
            small = only(name)
            if difference(small, arrays, opt_level):
                return small
    return model


def study(count: int, seed: int, folder: Path) -> list[str]:
    """What differs, each with the file that shows it."""
    import onnx

    found = []
    for k in range(count):
        model, arrays = random_model(1_000_003 * seed + k)
        level = (3, 2, 0)[k % 3]
        why = difference(model, arrays, level)
        if why:
            path = Path(folder) / f"differs_{seed}_{k}.onnx"
            onnx.save(shrunk(model, arrays, level), path)
            found.append(f"{path}, level {level}: {why}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("."))
    arguments = parser.parse_args()
    found = study(arguments.count, arguments.seed, arguments.folder)
    print("\n".join(found) or f"{arguments.count} models agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
