#!/usr/bin/env python3
"""Damaged ONNX models: each is refused with a typed error, or gives what ONNX Runtime gives, within limits of time and memory.

    ./tw python tests/support/onnx_mutants.py --count=2000 --seed=0

The parent makes nothing and loads nothing: a child imports (and builds, where the model is small) under limits of memory and time,
another asks ONNX Runtime. A child says which model it is at before it begins, so that who ends it is known.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 10
BYTES = 2 << 30
SMALL = 1 << 16  # elements of what is built and run
EXTREME = [0, 1, -1, 2, 7, 127, 128, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32, 2**40, 2**62, 2**63 - 1, -(2**63)]


# Models ---------------------------------------------------------------------------------------------------------------


def bases() -> list:
    """Small models that have most of what a file can have."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    r = np.random.default_rng(0)

    def weights(*shape):
        return r.standard_normal(shape).astype("float32")

    def model(nodes, inputs, outputs, initializers, functions=(), opset=17):
        infos = [[helper.make_tensor_value_info(n, t, s) for n, t, s in values] for values in (inputs, outputs)]
        tensors = [t if hasattr(t, "data_type") else numpy_helper.from_array(t, n) for n, t in initializers.items()]
        graph = helper.make_graph(nodes, "g", *infos, tensors)
        imports = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
        return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=9)

    f, i, n = TensorProto.FLOAT, TensorProto.INT64, helper.make_node
    network = model(
        [n("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
         n("BatchNormalization", ["c", "s", "b", "b", "v"], ["d"]), n("Relu", ["d"], ["e"]),
         n("MaxPool", ["e"], ["p"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
         n("GlobalAveragePool", ["p"], ["q"]), n("Flatten", ["q"], ["l"]),
         n("Gemm", ["l", "m"], ["g"], transB=1), n("Softmax", ["g"], ["y"])],
        [("x", f, (1, 3, 7, 5))], [("y", f, (1, 6))],
        {"w": weights(4, 3, 3, 3), "b": weights(4), "s": weights(4), "v": abs(weights(4)) + 1, "m": weights(6, 4)})
    shapes = model(
        [n("Shape", ["x"], ["s"]), n("Slice", ["s", "one", "three"], ["t"]), n("ReduceProd", ["t"], ["p"], keepdims=1),
         n("Concat", ["minus", "p"], ["u"], axis=0), n("Reshape", ["x", "u"], ["z"]), n("Tile", ["z", "two"], ["a"]),
         n("ConstantOfShape", ["one"], ["k"]), n("Expand", ["k", "p"], ["o"]), n("Add", ["a", "o"], ["v"]),
         n("Pad", ["v", "pads"], ["w"]), n("Split", ["w"], ["y", "h"], axis=1), n("Transpose", ["h"], ["g"], perm=[1, 0])],
        [("x", f, (2, 3, 4))], [("y", f, (4, 13)), ("g", f, (13, 4))],
        {"one": np.array([1], "int64"), "three": np.array([3], "int64"), "minus": np.array([-1], "int64"),
         "two": np.array([2, 2], "int64"), "pads": np.array([0, 1, 0, 1], "int64")})
    function = helper.make_function(
        "local", "Twice", ["a"], ["b"], [n("Add", ["a", "a"], ["t"]), n("Clip", ["t", "", ""], ["b"])], [helper.make_opsetid("", 17)])
    functions = model(
        [n("Twice", ["x"], ["t"], domain="local"), n("Twice", ["t"], ["u"], domain="local"), n("Cast", ["u"], ["c"], to=i),
         n("ReduceSum", ["c", "axes"], ["y"], keepdims=0)],
        [("x", f, (3, 4))], [("y", i, (3,))], {"axes": np.array([1], "int64")}, [function])
    typed = model(
        [n("Mul", ["x", "a"], ["m"]), n("Cast", ["d"], ["e"], to=f), n("Sub", ["m", "e"], ["s"]), n("Greater", ["s", "a"], ["y"]),
         n("ArgMax", ["s"], ["z"], axis=1), n("Cast", ["h"], ["y2"], to=f)],
        [("x", f, (2, 3))], [("y", TensorProto.BOOL, (2, 3)), ("z", i, (1, 3)), ("y2", f, (2,))],
        {"a": helper.make_tensor("a", f, (3,), [1, 2, 3]), "d": helper.make_tensor("d", TensorProto.DOUBLE, (2, 1), [0.5, -1]),
         "h": helper.make_tensor("h", TensorProto.FLOAT16, (2,), [1, 2])})
    return [network, shapes, functions, typed]


def exploding() -> list:
    """Models that are small and say something large."""
    from onnx import TensorProto, helper

    n, f, i = helper.make_node, TensorProto.FLOAT, TensorProto.INT64

    def model(nodes, initializers=(), functions=(), output="y", shape=(2,)):
        graph = helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("x", f, shape)], [helper.make_tensor_value_info(output, f, None)], list(initializers))
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)], functions=list(functions), ir_version=9)

    def ints(name, *values):
        return helper.make_tensor(name, i, (len(values),), list(values))

    def chain(op, inputs, count=60, **attributes):
        names = ["x", *(f"v{k}" for k in range(count - 1)), "y"]
        return [n(op, [a, *inputs] if op != "Concat" else [a, a], [b], **attributes) for a, b in zip(names, names[1:])]

    def function(name, called):
        return helper.make_function(
            "local", name, ["a"], ["b"], [n(called, ["a"], ["t"], domain="local"), n(called, ["t"], ["b"], domain="local")],
            [helper.make_opsetid("local", 1)])

    nested = b""
    for _ in range(4000):  # a graph in an attribute of a node of a graph …
        for number in (6, 5, 1):
            length, size = len(nested), b""
            while True:
                size += bytes([length & 127 | (128 if length > 127 else 0)])
                length >>= 7
                if not length:
                    break
            nested = bytes([number << 3 | 2]) + size + nested
    deep = model([n("If", ["x"], ["y"], name="deep")]).SerializeToString() + b"\x3a" + nested[1:]
    return [
        *(m.SerializeToString() for m in (
            model(chain("Tile", ["two"]), [ints("two", 2)]),
            model(chain("Concat", [], axis=0)),
            model(chain("Unsqueeze", ["zero"]), [ints("zero", 0)]),
            model([n("ConstantOfShape", ["s"], ["y"])], [ints("s", 2**31 - 1, 2**31 - 1, 4)]),
            model([n("ConstantOfShape", ["s"], ["y"])], [ints("s", 2**40)]),
            model([n("ConstantOfShape", ["s"], ["c"]), n("Add", ["c", "c"], ["d"]), n("ReduceSum", ["d"], ["y"])], [ints("s", 2**16, 2**14)]),
            model([n("Range", ["a", "b", "c"], ["r"]), n("Cast", ["r"], ["y"], to=f)],
                  [helper.make_tensor(k, i, (), [v]) for k, v in (("a", 0), ("b", 2**62), ("c", 1))]),
            model([n("Expand", ["x", "s"], ["y"])], [ints("s", 2**20, 2**20, 2)]),
            model([n("Pad", ["x", "s"], ["y"])], [ints("s", 2**31 - 1, 2**31 - 1)]),
            model([n("Local", ["x"], ["y"], domain="local")], functions=[function("Local", "Local")]),
            model([n("F40", ["x"], ["y"], domain="local")], functions=[function(f"F{k}", f"F{k - 1}") for k in range(1, 41)]),
            model([n("Neg", ["x" if k == 0 else f"t{k - 1}"], [f"t{k}"]) for k in range(20000)], output="t19999"),
            model([n("Slice", ["x", "a", "b", "z", "s"], ["y"])],
                  [ints("a", 2**63 - 1), ints("b", -(2**63)), ints("z", 0), ints("s", -(2**40))]),
        )), deep, bytes([0x3a]) + nested[1:]]


def mutated(k: int, seed: int, models: list, special: list) -> bytes:
    r = random.Random(f"{seed}/{k}")
    if k < len(special):
        return special[k]
    proto = type(models[0])()
    proto.CopyFrom(r.choice(models))
    if r.random() < 0.55:
        for _ in range(r.choice((1, 1, 1, 2))):
            _change(proto, r)
        try:
            content = proto.SerializeToString()
        except Exception:  # what protobuf itself refuses to write
            content = r.choice(models).SerializeToString()
        if r.random() < 0.8:
            return content
    else:
        content = proto.SerializeToString()
    return _damaged(bytearray(content), r)


def _damaged(content: bytearray, r: random.Random) -> bytes:
    for _ in range(r.choice((1, 1, 1, 1, 2, 5))):
        at, length = r.randrange(len(content)), r.randrange(1, 40)
        kind = r.randrange(10)
        if kind <= 4:
            content[at] ^= 1 << r.randrange(8)
        elif kind == 5:
            del content[at:]
        elif kind == 6:
            del content[at:at + length]
        elif kind == 7:
            content[at:at] = content[at:at + length] * r.choice((1, 2, 50))
        elif kind == 8:
            content[at:at] = r.randbytes(length)
        else:
            content[at:at + 10] = b"\xff" * r.choice((1, 5, 9)) + b"\x7f"
        if not content:
            return bytes(content)
    return bytes(content)


def _change(proto, r: random.Random) -> None:
    """One change of what a model says."""
    from onnx import TensorProto, helper

    graph = proto.graph
    node, tensor = r.choice(graph.node), r.choice(graph.initializer)
    names = [name for n in graph.node for name in (*n.input, *n.output)] + [v.name for v in graph.input] + ["", "nobody"]
    operators = ["Add", "Mul", "Relu", "Reshape", "Gather", "Concat", "Squeeze", "Expand", "Tile", "Slice", "Loop", "Twice", "Div", "Transpose"]
    types = list(range(27))
    kind = r.randrange(14)
    if kind == 0 and tensor.dims:
        tensor.dims[r.randrange(len(tensor.dims))] = r.choice(EXTREME)
    elif kind == 1:
        tensor.dims.append(r.choice((0, 1, 2, *EXTREME)))
    elif kind == 2:
        tensor.data_type = r.choice(types)
    elif kind == 3 and tensor.data_type == TensorProto.INT64 and tensor.raw_data:
        values = [r.choice(EXTREME) for _ in range(len(tensor.raw_data) // 8)]
        tensor.raw_data = b"".join(v.to_bytes(8, "little", signed=True) for v in (min(v, 2**63 - 1) for v in values))
    elif kind == 4:
        r.choice((*graph.input, *graph.output)).type.tensor_type.elem_type = r.choice(types)
    elif kind == 5:
        value = r.choice(graph.input).type.tensor_type.shape.dim
        if value:
            value[r.randrange(len(value))].dim_value = r.choice(EXTREME)
    elif kind == 6:
        node.op_type = r.choice(operators)
    elif kind == 7 and node.input:
        node.input[r.randrange(len(node.input))] = r.choice(names)
    elif kind == 8:
        node.output[r.randrange(len(node.output))] = r.choice(names)
    elif kind == 9 and node.attribute:
        attribute = r.choice(node.attribute)
        attribute.i = r.choice(EXTREME)
        for at in range(len(attribute.ints)):
            if r.random() < 0.5:
                attribute.ints[at] = r.choice(EXTREME)
    elif kind == 10:
        node.attribute.append(helper.make_attribute(r.choice(("axis", "perm", "to", "keepdims")), r.choice((0, 1, -1, 2**40))))
    elif kind == 11:
        graph.node.append(node)
    elif kind == 12:
        del graph.node[r.randrange(len(graph.node))]
        if not graph.node:
            graph.node.append(node)
    else:
        proto.opset_import[0].version = r.choice((1, 7, 9, 11, 13, 18, 21, 28, 2**40))


# Children -------------------------------------------------------------------------------------------------------------


def _limit(extra: int) -> None:
    """What the process has now and so much more; and an end after SECONDS of a model."""
    have = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (have + extra, have + extra))


def _say(**values) -> None:
    print(json.dumps(values), flush=True)


def _inputs(arrays: dict, name, shape, dtype) -> None:
    import numpy as np

    size = int(np.prod(shape, dtype="int64"))
    arrays[name] = (np.arange(size) % 7 - 3).astype(dtype).reshape(shape)


def ours(first: int, count: int, seed: int, folder: str) -> None:
    """Imports; builds and runs what is small, and keeps the model, what it was given and what it gave."""
    import numpy as np

    import tilewright as tw
    from tilewright.compiler import graph_util
    from tilewright.contrib import graph_runtime

    models, special = bases(), exploding()
    net, params = tw.frontend.from_onnx(models[0])
    tw.compiler.build(net, params=params)  # threads and libraries are there
    _limit(BYTES)
    for k in range(first, count):
        content = mutated(k, seed, models, special)
        _say(at=k)
        signal.alarm(SECONDS)
        try:
            net, params = tw.frontend.from_onnx(content)
            graph = tw.graph.create(net)
            names = graph.index.input_names
            shapes = dict(zip(names, graph_util.infer_shape(graph)[0], strict=True))
            types = dict(zip(names, graph_util.infer_dtype(graph)[0], strict=True))
            applied = graph.apply(["InferShape", "InferType"])
            elements = sum(int(np.prod(s, dtype="float64")) for s in applied.json_attr("shape"))
            if elements > SMALL or len(applied.json_attr("shape")) > 200:
                signal.alarm(0)
                _say(k=k, result="large")
                continue
            arrays = {}
            for name in names:
                if name not in params:
                    _inputs(arrays, name, shapes[name], types[name])
            with tw.compiler.build_config(opt_level=2):
                graph, lib, built = tw.compiler.build(net, params=params)
            module = graph_runtime.create(graph, lib, tw.cpu(0), built)
            module.run(**{name: a for name, a in arrays.items() if name in graph.index.input_names})
            found = {f"output{o}": module.get_output(o).numpy() for o in range(module.get_num_outputs())}
            np.savez(Path(folder) / f"{k}.npz", model=np.frombuffer(content, "uint8"), **{f"input {n}": a for n, a in arrays.items()}, **found)
            _say(k=k, result="accepted")
        except tw.UserError as error:
            _say(k=k, result="refused", code=error.code)
        except Exception as error:  # no other error may leave
            _say(k=k, result="untyped", error=f"{type(error).__name__}: {error}"[:500])
        signal.alarm(0)


def theirs(first: int, count: int, seed: int, folder: str) -> None:
    """What ONNX Runtime says of the models that were kept; a model that it refuses is no mistake of ours."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    for path in sorted(Path(folder).glob("*.npz"), key=lambda p: int(p.stem)):
        k = int(path.stem)
        if k < first:
            continue
        _say(at=k)
        with np.load(path) as kept:
            arrays = {name: kept[name] for name in kept.files}
        try:
            session = onnxruntime.InferenceSession(arrays["model"].tobytes(), options, providers=["CPUExecutionProvider"])
            wanted = session.run(None, {v.name: arrays[f"input {v.name}"] for v in session.get_inputs() if f"input {v.name}" in arrays})
        except Exception as error:
            _say(k=k, result="unknown", error=str(error)[:200])
            continue
        if any(np.isnan(w.astype("float64")).any() for w in wanted):  # which of two a maximum is, where one is no number
            _say(k=k, result="unknown", error="NaN")
            continue
        _say(k=k, result="same" if _same(arrays, wanted) or _same(arrays, _by_the_standard(arrays)) else "wrong")


def _same(arrays: dict, wanted: list) -> bool:
    import numpy as np

    return bool(wanted) and all(
        w.shape == arrays[f"output{o}"].shape and w.dtype == arrays[f"output{o}"].dtype
        and np.allclose(w.astype("float64"), arrays[f"output{o}"].astype("float64"), rtol=1e-3, atol=1e-4, equal_nan=True)
        for o, w in enumerate(wanted))


def _by_the_standard(arrays: dict) -> list:
    """What ONNX's own evaluator gives; nothing where it cannot. ONNX Runtime is at times alone with its answer: on the way of
    NaN through pooling, say, or with bytes of a bool that are neither 0 nor 1."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    model = onnx.load_from_string(arrays["model"].tobytes())
    try:
        given = {v.name: arrays[f"input {v.name}"] for v in model.graph.input if f"input {v.name}" in arrays}
        return ReferenceEvaluator(model).run(None, given)
    except Exception:
        return []


def run_children(role: str, count: int, seed: int, folder: str):
    """The results of all models, with ends of children as results too."""
    results, first = [], 0
    while first < count:
        process = subprocess.run(
            [sys.executable, __file__, role, str(first), str(count), str(seed), folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        at = -1
        for line in process.stdout.splitlines():
            if not line.startswith("{"):
                continue
            said = json.loads(line)
            if "at" in said:
                at = said["at"]
            else:
                results.append(said)
        if process.returncode == 0:
            return results
        if at < first:
            raise RuntimeError(f"{role}: {process.stderr[-2000:]}")
        results.append({"k": at, "result": "ended", "error": f"exit status {process.returncode}: {process.stderr[-300:]}"})
        first = at + 1
    return results


def study(count: int, seed: int) -> tuple[dict, list]:
    """How many models came out how, and those that are a mistake."""
    with tempfile.TemporaryDirectory() as folder:
        found = run_children("ours", count, seed, folder)
        compared = run_children("theirs", count, seed, folder)
    counts = {}
    for said in found + [c for c in compared if c["result"] != "ended"]:
        counts[said["result"]] = counts.get(said["result"], 0) + 1
    mistakes = [s for s in found if s["result"] in ("untyped", "ended")] + [s for s in compared if s["result"] == "wrong"]
    return counts, mistakes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=int, metavar="K", help="write model K to a file")
    arguments = parser.parse_args()
    if arguments.write is not None:
        path = Path(f"mutant_{arguments.seed}_{arguments.write}.onnx")
        path.write_bytes(mutated(arguments.write, arguments.seed, bases(), exploding()))
        print(path)
        return 0
    counts, mistakes = study(arguments.count, arguments.seed)
    print(counts)
    for mistake in mistakes:
        print(mistake)
    return 1 if mistakes else 0


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("ours", "theirs"):
        {"ours": ours, "theirs": theirs}[sys.argv[1]](*map(int, sys.argv[2:5]), sys.argv[5])
        sys.exit(0)
    sys.exit(main())
