"""Networks from ONNX models: shapes, opsets, folding, functions, data, and what is refused."""

import os

import numpy as np
import pytest

import tilewright as tw
from tilewright.contrib import graph_runtime, onnx_export
from tilewright.testing import zoo

import numpy_graph

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def model_of(nodes, inputs, outputs, initializers=None, opset=17, functions=(), opsets=()):
    """A model of float32; inputs and outputs are {name: shape} or value infos."""
    infos = [[v if not isinstance(v, str) else helper.make_tensor_value_info(v, TensorProto.FLOAT, values[v]) for v in values]
             for values in (inputs, outputs)]
    tensors = [numpy_helper.from_array(value, name) for name, value in (initializers or {}).items()]
    graph = helper.make_graph(nodes, "g", *infos, tensors)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(*o) for o in opsets)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=9)


def computed(net, params, inputs):
    return numpy_graph.run(net, {**inputs, **{name: value.numpy() for name, value in params.items()}})


def built(net, params, inputs):
    graph, lib, params = tw.compiler.build(net, params=params)
    module = graph_runtime.create(graph, lib, tw.cpu(0), params)
    module.run(**inputs)
    return [module.get_output(k).numpy() for k in range(module.get_num_outputs())]


def operators(net):
    return [node["op"] for node in tw.graph.create(net).index.nodes if node["op"] != "null"]


def refused(code, model, *words, **arguments):
    with pytest.raises(tw.UserError) as error:
        tw.frontend.from_onnx(model, **arguments)
    assert error.value.code == code, error.value
    for word in words:
        assert word in str(error.value), str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "squeezenet", "mlp"])
def test_networks_come_back(name):
    row = zoo.NETWORKS[name]
    shape = (1, *((3, 32, 32) if row.image_shape[1] > 32 else row.image_shape))
    symbol, params = zoo.get(name, batch_size=1, image_shape=shape[1:], dtype="float32")
    model = onnx_export.to_onnx(symbol, params, {"data": shape})
    net, found = tw.frontend.from_onnx(model)
    data = {"data": np.random.default_rng(0).standard_normal(shape).astype("float32")}
    (wanted,) = numpy_graph.run(symbol, {**data, **{name: value.numpy() for name, value in params.items()}})
    (result,) = computed(net, found, data)
    assert result.shape == wanted.shape
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5 * abs(wanted).max())


def test_a_network_is_built():
    symbol, params = zoo.get("squeezenet", image_shape=(3, 64, 64))
    model = onnx_export.to_onnx(symbol, params, {"data": (1, 3, 64, 64)})
    net, found = tw.frontend.from_onnx(model.SerializeToString())
    data = {"data": np.random.default_rng(0).standard_normal((1, 3, 64, 64)).astype("float32")}
    (wanted,) = computed(net, found, data)
    (result,) = built(net, found, data)
    np.testing.assert_allclose(result, wanted, rtol=1e-3, atol=1e-5)


def test_arithmetic_of_shapes_is_folded():
    """The last two dimensions as one, as exporters write it."""
    constants = {"two": np.array(2, "int64"), "three": np.array(3, "int64"), "axis": np.array([0], "int64"),
                 "begin": np.array([0], "int64"), "end": np.array([2], "int64")}
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "two"], ["h"]),
        helper.make_node("Gather", ["shape", "three"], ["w"]),
        helper.make_node("Mul", ["h", "w"], ["area"]),
        helper.make_node("Unsqueeze", ["area", "axis"], ["last"]),
        helper.make_node("Slice", ["shape", "begin", "end"], ["first"]),
        helper.make_node("Concat", ["first", "last"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"])]
    model = model_of(nodes, {"x": ("n", 3, 4, 5)}, {"y": None}, constants)
    net, params = tw.frontend.from_onnx(model, {"x": (2, 3, 4, 5)})
    assert operators(net) == ["reshape"] and not params
    x = np.arange(120, dtype="float32").reshape(2, 3, 4, 5)
    assert np.array_equal(computed(net, params, {"x": x})[0], x.reshape(2, 3, 20))


@pytest.mark.parametrize("opset", range(7, 29))
def test_axes_move_from_attribute_to_input(opset):
    """Squeeze, Unsqueeze and ReduceSum at each opset; the answers are the same."""
    constants = {"axes": np.array([1], "int64")}
    by_input = opset >= 13

    def node(op, source, target, **more):
        inputs = [source, "axes"] if by_input else [source]
        return helper.make_node(op, inputs, [target], **more, **({} if by_input else {"axes": [1]}))

    nodes = [node("Unsqueeze", "x", "a"), node("Squeeze", "a", "b"), node("ReduceSum", "b", "y", keepdims=0)]
    model = model_of(nodes, {"x": (3, 4)}, {"y": (3,)}, constants if by_input else {}, opset)
    net, params = tw.frontend.from_onnx(model)
    x = np.arange(12, dtype="float32").reshape(3, 4)
    assert np.array_equal(computed(net, params, {"x": x})[0], x.sum(axis=1))


def test_attributes_are_those_of_the_opset():
    squeeze = model_of([helper.make_node("Squeeze", ["x"], ["y"], axes=[0])], {"x": (1, 2)}, {"y": (2,)}, opset=13)
    refused("bad-attribute", squeeze, "no attribute 'axes' in opset 13", "Squeeze 'y'")
    wrong = model_of([helper.make_node("LeakyRelu", ["x"], ["y"], alpha=1)], {"x": (2,)}, {"y": (2,)})
    refused("bad-attribute", wrong, "attribute 'alpha' is of kind int", "float")
    flag = model_of([helper.make_node("ReduceSum", ["x"], ["y"], keepdims=2)], {"x": (2,)}, {"y": (1,)})
    refused("bad-attribute", flag, "'keepdims' is 2", "0 or 1")
    refused("bad-attribute", model_of([helper.make_node("Concat", ["x"], ["y"])], {"x": (2,)}, {"y": (2,)}), "'axis' is missing")


@pytest.mark.parametrize("opset", [6, 99])
def test_other_opsets(opset):
    refused("unknown-operator", model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": (2,)}, {"y": (2,)}, opset=opset), f"opset {opset}")


def test_one_list_of_what_is_not_supported():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Loopy", ["a"], ["b"], name="first"),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("Gone", ["c"], ["y"], name="second", domain="other"),
        helper.make_node("Unread", ["x"], ["nobody"], name="third")]
    model = model_of(nodes, {"x": (2,)}, {"y": (2,)}, opsets=[("other", 1)])
    text = refused("unknown-operator", model, "Loopy 'first'", "other.Gone 'second'")
    assert "third" not in text and "Relu" not in text


def test_shapes_that_the_model_leaves_open():
    model = model_of([helper.make_node("Add", ["x", "z"], ["y"])], {"x": ("n", 3), "z": ("n", 1)}, {"y": ("n", 3)})
    refused("bad-argument", model, "the shape of input 'x' is (n, 3)", "shape={'x'")
    refused("bad-argument", model, "'w', which is no input", shape={"w": (2, 3)})
    refused("shape-conflict", model, "the model says (n, 3)", shape={"x": (2, 4)})
    refused("shape-conflict", model, "'n' is 2 elsewhere", shape={"x": (2, 3), "z": (3, 1)})
    net, params = tw.frontend.from_onnx(model, {"z": (2, 1)})  # x has the same n
    x, z = np.ones((2, 3), "float32"), np.ones((2, 1), "float32")
    assert np.array_equal(computed(net, params, {"x": x, "z": z})[0], x + z)


def test_inputs_of_other_types_are_cast():
    model = model_of([helper.make_node("Mul", ["x", "x"], ["y"])], {"x": (3,)}, {"y": (3,)})
    net, params = tw.frontend.from_onnx(model, dtype={"x": "uint8"})
    (found,) = computed(net, params, {"x": np.array([1, 2, 200], "uint8")})
    assert found.dtype == np.float32 and found.tolist() == [1, 4, 40000]


def test_inputs_that_do_not_change():
    sizes = helper.make_tensor_value_info("sizes", TensorProto.INT64, (2,))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (6,))
    model = model_of([helper.make_node("Reshape", ["x", "sizes"], ["y"])], [x, sizes], {"y": (2, 3)})
    refused("unknown-operator", model, "Reshape 'y': input 1 is not constant")
    net, params = tw.frontend.from_onnx(model, params={"sizes": np.array([2, 3], "int64")})
    assert net.list_input_names() == ["x"] and not params
    refused("type-conflict", model, "'sizes' as float32", params={"sizes": np.array([2, 3], "float32")})


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"])
@pytest.mark.parametrize("raw", [False, True])
def test_elements_of_initializers(dtype, raw):
    value = (np.array([[0, 1, 3], [100, 1, 0]]) * (1 if dtype != "bool" else 1)).astype(dtype)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    tensor = numpy_helper.from_array(value, "w") if raw else helper.make_tensor("w", kind, value.shape, value.flatten().tolist())
    out = helper.make_tensor_value_info("y", kind, (2, 3))
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [out], [tensor])
    net, params = tw.frontend.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))
    assert params["w"].numpy().dtype == dtype
    assert np.array_equal(params["w"].numpy(), value)


def test_functions_are_inlined():
    """Called twice with an attribute of its own, or the default."""
    inner = helper.make_function(
        "local", "Scaled", ["a"], ["b"],
        [helper.make_node("LeakyRelu", ["a"], ["t"], name="slope"), helper.make_node("Neg", ["t"], ["b"])],
        [helper.make_opsetid("", 17)], [], [helper.make_attribute("alpha", 0.5)])
    inner.node[0].attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT))
    nodes = [helper.make_node("Scaled", ["x"], ["m"], domain="local"), helper.make_node("Scaled", ["m"], ["y"], domain="local", alpha=0.25)]
    model = model_of(nodes, {"x": (2,)}, {"y": (2,)}, functions=[inner], opsets=[("local", 1)])
    net, params = tw.frontend.from_onnx(model)
    x = np.array([-4, 8], "float32")
    m = -np.where(x > 0, x, x * 0.5)
    assert np.array_equal(computed(net, params, {"x": x})[0], -np.where(m > 0, m, m * 0.25))


def test_inputs_left_out_in_front_of_others():
    """An empty name in the middle, of an operator and of a function that gives out what it was not given."""
    model = model_of([helper.make_node("Max", ["x", "", "x"], ["y"])], {"x": (2,)}, {"y": (2,)})
    refused("bad-graph", model, "Max 'y'", "input 1 is left out")
    refused("bad-graph", model_of([helper.make_node("Add", ["", "x"], ["y"])], {"x": (2,)}, {"y": (2,)}), "Add 'y'", "input 0 is left out")
    second = helper.make_function("local", "Second", ["a", "b"], ["b"], [], [helper.make_opsetid("", 17)])
    call = helper.make_node("Second", ["x", ""], ["y"], name="call", domain="local")
    model = model_of([call], {"x": (2,)}, {"y": (2,)}, functions=[second], opsets=[("local", 1)])
    refused("bad-graph", model, "Second 'call'", "output 0 is input 'b', which is left out")


def test_functions_that_explode():
    """Each calls the one before twice: 2 to the 60 nodes, and one that calls itself."""
    def of(name, nodes):
        return helper.make_function("local", name, ["a"], ["b"], nodes, [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])

    def call(name, source, target):
        return helper.make_node(name, [source], [target], domain="local")

    functions = [of("F0", [helper.make_node("Neg", ["a"], ["b"])])]
    functions += [of(f"F{k}", [call(f"F{k - 1}", "a", "t"), call(f"F{k - 1}", "t", "b")]) for k in range(1, 60)]
    refused("bad-graph", model_of([call("F59", "x", "y")], {"x": (2,)}, {"y": (2,)}, functions=functions, opsets=[("local", 1)]), "200000 at most")
    itself = [of("F", [call("F", "a", "b")])]
    refused("bad-graph", model_of([call("F", "x", "y")], {"x": (2,)}, {"y": (2,)}, functions=itself, opsets=[("local", 1)]), "64")


def test_parameters_point_into_the_file(tmp_path):
    """Elements that lie aligned are not copied; all of them are the file's, whatever is deleted."""
    value = np.arange(100000, dtype="float32")
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], {"x": (100000,)}, {"y": (100000,)}, {"w": value})
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    net, params = tw.frontend.from_onnx(path)
    content = path.read_bytes()
    maps = [line.split() for line in open("/proc/self/maps") if line.rstrip().endswith("model.onnx")]
    begin, end = (int(n, 16) for n in maps[0][0].split("-"))
    assert begin <= params["w"].data_ptr < end and end - begin >= len(content)
    os.remove(path)
    del net
    assert np.array_equal(params["w"].numpy(), value)
    assert params["w"].read_only
    del params
    assert not [line for line in open("/proc/self/maps") if "model.onnx" in line]


def test_data_in_files_of_their_own(tmp_path):
    value = np.random.default_rng(0).standard_normal(5000).astype("float32")
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], {"x": (5000,)}, {"y": (5000,)}, {"w": value})
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    net, params = tw.frontend.from_onnx(str(path))
    assert np.array_equal(params["w"].numpy(), value)
    content = path.read_bytes()
    refused("bad-argument", content, "'weights.bin' beside the model")
    (tmp_path / "weights.bin").write_bytes(b"short")
    refused("bad-graph", str(path), "'weights.bin', which has 5")
    for location in ("../weights.bin", "/etc/passwd", "a/../../weights.bin", ""):
        moved = onnx.load(path, load_external_data=False)
        moved.graph.initializer[0].external_data[0].value = location
        path.write_bytes(moved.SerializeToString())
        refused("bad-argument", str(path), "a file in the model's folder")
    (tmp_path / "inside").mkdir()
    os.symlink("/etc/passwd", tmp_path / "inside" / "link")
    moved.graph.initializer[0].external_data[0].value = "inside/link"
    path.write_bytes(moved.SerializeToString())
    refused("bad-argument", str(path), "a file in the model's folder")


def test_what_is_no_model(tmp_path):
    for content in (b"", b"\xff" * 40, b"\x0a", b"onnx", b"\x3a\x05\x0a\xff\xff\xff\x7f"):
        refused("parse-error", content, "not an ONNX model")
    refused("bad-argument", str(tmp_path / "missing.onnx"), "cannot read", "No such file")
    refused("bad-argument", str(tmp_path), "no regular file")
    refused("type-mismatch", 3, "the model is a int")


def test_models_that_contradict_themselves():
    relu = helper.make_node("Relu", ["x"], ["y"])
    refused("bad-graph", model_of([helper.make_node("Relu", ["gone"], ["y"])], {"x": (2,)}, {"y": (2,)}), "reads 'gone'")
    refused("bad-graph", model_of([helper.make_node("Add", ["x", "y"], ["y"])], {"x": (2,)}, {"y": (2,)}), "reads 'y'")
    refused("bad-graph", model_of([relu, relu], {"x": (2,)}, {"y": (2,)}), "'y', which is there already")
    refused("bad-graph", model_of([relu], {"x": (2,)}, {}), "no output")
    refused("shape-conflict", model_of([helper.make_node("Add", ["x", "z"], ["y"])], {"x": (2,), "z": (3,)}, {"y": (2,)}), "Add 'y'", "float32(2,)")
    wrong_type = helper.make_tensor_value_info("y", TensorProto.INT64, (2,))
    refused("type-conflict", model_of([relu], {"x": (2,)}, [wrong_type]), "output 'y' is float32")
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], {"x": (2,)}, {"y": (2,)}, {"w": np.zeros(2, "float32")})
    model.graph.initializer[0].dims[0] = 3
    refused("bad-graph", model, "8 bytes for (3) of float32")
    model.graph.initializer[0].dims[:] = [2**62, 2**62]
    refused("bad-graph", model, "fit")


def test_outputs_that_nothing_computes():
    """A variable, a constant and the same output twice are outputs of their own."""
    model = model_of([helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Identity", ["y"], ["z"])],
                     {"x": (2,)}, {"y": (2,), "z": (2,), "x": (2,), "w": (3,)}, {"w": np.ones(3, "float32")})
    net, params = tw.frontend.from_onnx(model)
    x = np.array([-1, 2], "float32")
    for found in (computed(net, params, {"x": x}), built(net, params, {"x": x})):
        assert [f.tolist() for f in found] == [[0, 2], [0, 2], [-1, 2], [1, 1, 1]]
