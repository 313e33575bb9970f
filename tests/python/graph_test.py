"""Symbols and graphs with NNVM's surface; the code and the outputs are those of the notebook that the layer comes from."""

import copy
import pickle

import numpy as np
import pytest

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym


pytestmark = pytest.mark.usefixtures("fresh_names")


def tutorial():
    x = sym.Variable("x")
    w = sym.Variable("w")
    b = sym.Variable("b")
    z = sym.conv2d(data=x, weight=w, bias=b, channels=3, kernel_size=(5, 5))
    return z + sym.conv2d(data=z, weight=w, bias=b, channels=3, kernel_size=(5, 5), padding=[2, 2])


def same_text(found, expected):
    """Equal but for the order of attributes, which the document itself varies."""

    def lines(text):
        return [sorted(line.replace(")", "").replace("(", ", ").split(", ")) for line in text.strip().split("\n")]

    assert lines(found) == lines(expected)


def test_the_tutorials_network_prints_as_in_the_document():
    same_text(
        tw.graph.create(tutorial()).ir(),
        """
Graph(%x, %w, %b) {
  %3 = conv2d(%x, %w, %b, kernel_size='(5, 5)', channels='3')
  %4 = conv2d(%3, %w, %b, channels='3', padding='[2, 2]', kernel_size='(5, 5)')
  %5 = broadcast_add(%3, %4)
  ret %5
}""",
    )


def network():
    tutorial()  # as in the document, whose names go on counting
    x = sym.Variable("x", shape=(1, 13, 100, 100), dtype=1)
    z = x
    z = sym.conv2d(data=z, channels=13, kernel_size=(3, 3), padding=[1, 1])
    z = sym.relu(data=z)
    z = sym.conv2d(data=z, channels=13, kernel_size=(3, 3), padding=[1, 1])
    z = sym.relu(data=z)
    z = x + z
    z = sym.flatten(z)
    z = sym.dense(data=z, units=10)
    z = sym.softmax(data=z)
    return sym.sum(z, keepdims=True)


def test_inputs_that_are_left_out_are_variables_with_sensible_names():
    same_text(
        tw.graph.create(network()).ir(),
        """
Graph(%x,
      %conv2d2_weight,
      %conv2d2_bias,
      %conv2d3_weight,
      %conv2d3_bias,
      %dense0_weight,
      %dense0_bias) {
  %3 = conv2d(%x, %conv2d2_weight, %conv2d2_bias, channels='13', padding='[1, 1]', kernel_size='(3, 3)')
  %4 = relu(%3)
  %7 = conv2d(%4, %conv2d3_weight, %conv2d3_bias, channels='13', padding='[1, 1]', kernel_size='(3, 3)')
  %8 = relu(%7)
  %9 = broadcast_add(%x, %8)
  %10 = flatten(%9)
  %13 = dense(%10, %dense0_weight, %dense0_bias, units='10')
  %14 = softmax(%13)
  %15 = sum(%14, keepdims='True')
  ret %15
}""",
    )


def test_shapes_and_types_are_those_of_the_document():
    graph = tw.graph.create(network())
    graph = graph.apply("InferShape").apply("InferType")
    assert str(graph.json_attr("shape")) == (
        "[[1, 13, 100, 100], [13, 13, 3, 3], [13], [1, 13, 100, 100], [1, 13, 100, 100], [13, 13, 3, 3], [13], "
        "[1, 13, 100, 100], [1, 13, 100, 100], [1, 13, 100, 100], [1, 130000], [10, 130000], [10], [1, 10], [1, 10], "
        "[1, 1]]"
    )
    assert str(graph.json_attr("dtype")) == "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"
    assert tw.graph.dtypes()[1] == "float64"


def test_nodes_are_those_of_the_document():
    nodes = tw.graph.create(network()).apply("InferShape").index.nodes
    window = {"channels": "13", "kernel_size": "(3, 3)", "padding": "[1, 1]"}
    assert nodes[:5] == [
        {"attrs": {"dtype": "1", "shape": "(1, 13, 100, 100)"}, "inputs": [], "name": "x", "op": "null"},
        {"attrs": window, "inputs": [], "name": "conv2d2_weight", "op": "null"},
        {"attrs": window, "inputs": [], "name": "conv2d2_bias", "op": "null"},
        {"attrs": window, "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]], "name": "conv2d2", "op": "conv2d"},
        {"inputs": [[3, 0, 0]], "name": "relu0", "op": "relu"},
    ]
    assert nodes[9]["name"] == "__add_symbol__1"
    assert nodes[10] == {"op": "flatten", "name": "flatten0", "inputs": [[9, 0, 0]]}


def test_a_patched_apply_sees_every_pass(capsys):
    applied = []
    old = tw.graph.Graph.apply

    def patched(self, passes):
        applied.append(passes)
        return old(self, passes)

    tw.graph.Graph.apply = patched
    try:
        graph = tw.graph.create(tutorial())
        graph.index
        graph.ir()
    finally:
        tw.graph.Graph.apply = old
    assert applied == ["SaveJSON", "PrintGraphIR"]
    assert old(graph, "SaveJSON").ir() == "Graph() {\n  ret \n}\ngraph_attr_keys = [json]\n"


def test_the_index_finds_nodes_and_entries():
    index = tw.graph.create(tutorial()).index
    assert index.input_names == ["x", "w", "b"]
    assert (index.num_nodes, index.num_node_entries) == (6, 6)
    assert index.node_id("conv2d1") == index.entry_id("conv2d1") == index.entry_id([4, 0, 0]) == 4
    assert index.output_entries == [[5, 0, 0]]
    with pytest.raises(tw.UserError, match="no node 'conv2d7'"):
        index.node_id("conv2d7")


def test_graph_attributes_are_set_and_read():
    graph = tw.graph.create(sym.Variable("x") + sym.Variable("y"))
    graph._set_json_attr("shape_inputs", [None, [2, 3]], "list_shape")
    graph._set_json_attr("target", "llvm")
    graph = graph.apply("InferShape")
    assert graph.json_attr("shape") == [None, [2, 3], None]
    assert graph.json_attr("shape_num_unknown_nodes") == 2
    assert graph.json_attr("target") == "llvm" and graph.json_attr("nothing") is None
    assert graph.attr_keys() == ["shape", "shape_num_unknown_nodes", "target"]
    assert "%2 = broadcast_add(%x, %y)  # shape=None" in graph.ir(join_entry_attrs=["shape"])
    with pytest.raises(tw.UserError, match="type_name"):
        graph._set_json_attr("numbers", [1, 2])
    with pytest.raises(tw.UserError, match="no kind of attribute"):
        graph._set_json_attr("numbers", [1, 2], "list_float")
    with pytest.raises(tw.UserError, match="no integer"):
        graph._set_json_attr("numbers", ["a"], "list_int")


def test_symbols_are_saved_copied_and_pickled(tmp_path):
    z = network()
    graph = tw.graph.create(z)
    graph.save_json(tmp_path / "graph.json")
    for text in (
        tw.graph.load_json((tmp_path / "graph.json").read_text()).ir(),
        tw.graph.create(copy.copy(z)).ir(),
        tw.graph.create(copy.deepcopy(z)).ir(),
        tw.graph.create(pickle.loads(pickle.dumps(z))).ir(),
    ):
        assert text == graph.ir()
    copied = copy.deepcopy(z)
    copied._set_attr(keepdims="False")
    assert z.attr("keepdims") == "True"


def test_composition_and_outputs():
    x, y = sym.Variable("x"), sym.Variable("y")
    both = sym.Group([sym.relu(x), sym.exp(x)])
    assert both.list_output_names() == ["relu0_output", "exp0_output"]
    assert len(both) == 2 and [s.attr("name") for s in both] == ["relu0", "exp0"]
    assert both["exp0_output"].attr("name") == both[-1].attr("name") == "exp0"
    assert both(x=sym.tanh(y)).list_input_names() == ["y"] and both.list_input_names() == ["x"]
    assert both(y).list_input_names() == ["y"]
    assert sym.relu(both[0]).get_children().list_output_names() == ["relu0_output"]
    assert x.get_children() is None
    assert both.get_internals().list_output_names() == ["x", "relu0_output", "exp0_output"]
    with pytest.raises(tw.UserError, match="nearest is 'exp0_output'"):
        both["exp_output"]
    with pytest.raises(tw.UserError, match="output 2 of a symbol of 2"):
        both[2]
    with pytest.raises(tw.UserError, match="no input 'z'"):
        both(z=y)
    with pytest.raises(tw.UserError, match="a Symbol"):
        sym.relu(3)


def test_operators_of_python():
    x, y = sym.Variable("x"), sym.Variable("y")
    cases = {
        "__add_symbol__": x + y, "__sub_symbol__": x - y, "__mul_symbol__": x * y, "__div_symbol__": x / y,
        "__pow_symbol__": x**y, "__add_scalar__": 1 + x, "__sub_scalar__": x - 2, "__rsub_scalar__": 2 - x,
        "__mul_scalar__": np.float32(3) * x, "__div_scalar__": x / 2, "__rdiv_scalar__": 2 / x,
        "__pow_scalar__": x**2, "__rpow_scalar__": 2**x, "negative": -x,
    }  # fmt: skip
    for hint, symbol in cases.items():
        assert symbol.attr("name") == hint + "0"
    assert cases["__rsub_scalar__"].attr("scalar") == "2"
    with pytest.raises(TypeError):
        x + "a"


def test_names_and_attributes_by_scope():
    x = sym.Variable("x")
    with tw.name.Prefix("block_"):
        assert sym.relu(x).attr("name") == "block_relu0"
        assert sym.relu(x, name="r").attr("name") == "block_r"
    assert sym.relu(x).attr("name") == "relu0"
    with tw.attribute.AttrScope(device="cpu"), tw.attribute.AttrScope(stage="1"):
        inner = sym.relu(x, attr={"stage": "2"})
        assert sym.Variable("y").list_attr() == {"device": "cpu", "stage": "1"}
    assert inner.list_attr() == {"device": "cpu", "stage": "2"}
    assert sym.relu(inner).list_attr(recursive=True) == {"relu1$device": "cpu", "relu1$stage": "2"}
    with pytest.raises(tw.UserError, match="device"):
        tw.attribute.AttrScope(device=1)


def test_wrong_calls_say_what_is_legal():
    x = sym.Variable("x")
    with pytest.raises(tw.UserError, match="no attribute 'chanels'; the nearest is 'channels'") as error:
        sym.conv2d(x, chanels=3, kernel_size=(3, 3))
    assert "graph_test.py" in error.value.where
    with pytest.raises(tw.UserError, match="'channels' is 'many'; legal: an integer"):
        sym.conv2d(x, channels="many", kernel_size=(3, 3))
    with pytest.raises(tw.UserError, match="'units' is missing"):
        sym.dense(x)
    with pytest.raises(tw.UserError, match="no input 'wieght'; the nearest is 'weight'"):
        sym.dense(x, wieght=x, units=3)
    y = sym.Variable("y", shape=(2, 3)) + sym.Variable("z", shape=(4,))
    with pytest.raises(tw.UserError, match=r"shapes \(2, 3\) and \(4,\) do not broadcast"):
        tw.graph.create(y).apply("InferShape")
    with pytest.raises(tw.UserError, match="'InferShape'"):
        tw.graph.create(y).apply("InferShap")
    with pytest.raises(tw.UserError, match="no JSON"):
        tw.graph.load_json("{")


def test_passes_are_listed_and_written_in_python():
    listed = {row["name"]: row for row in tw.graph.passes()}
    assert {"InferShape", "InferType", "SaveJSON", "LoadJSON", "PrintGraphIR"} <= set(listed)
    assert all(row["doc"] for row in listed.values())

    @tw.graph.register_pass("CountNodes", needs=["shape"], gives=["nodes"])
    def count(graph):
        """How many nodes there are."""
        graph._set_json_attr("nodes", graph.index.num_nodes)
        return graph

    graph = tw.graph.create(network())
    with pytest.raises(tw.UserError, match="needs the graph attribute 'shape'; legal: apply InferShape first"):
        graph.apply("CountNodes")
    assert graph.apply(["InferShape", "CountNodes"]).json_attr("nodes") == 16
    assert next(row for row in tw.graph.passes() if row["name"] == "CountNodes")["doc"] == "How many nodes there are."
    with pytest.raises(tw.UserError, match="already"):
        tw.graph.register_pass("CountNodes")(count)


def test_a_pass_that_fails_in_python_gives_its_own_error():
    @tw.graph.register_pass("Fails")
    def fails(graph):
        raise ValueError("of its own")

    with pytest.raises(ValueError, match="of its own"):
        tw.graph.create(network()).apply("Fails")


def test_every_operator_has_a_function_with_its_signature():
    import inspect

    for op in tw.graph.operators():
        for name in (op["name"], *op["aliases"]):
            function = getattr(sym, name)
            parameters = inspect.signature(function).parameters
            assert {"name", "attr"} <= set(parameters)
            assert {a[0] for a in op["attributes"]} <= set(parameters)
            assert op["doc"] in function.__doc__


def test_groups_are_those_of_the_document():
    graph = tw.graph.create(network()).apply(["InferShape", "InferType", "GraphFusePartition"])
    roots, masters = graph.json_attr("group_root"), graph.json_attr("group_master")
    assert str(roots) == "[0, 1, 2, 4, 4, 5, 6, 9, 9, 9, 10, 11, 12, 13, 14, 15]"
    assert str(masters) == "[-1, -1, -1, 3, 3, -1, -1, 7, 7, 7, 10, -1, -1, 13, 14, 15]"
    nodes = graph.index.nodes
    lines = [
        n["name"] + " has root " + (nodes[r]["name"] if r >= 0 else "None") + " and master " + (nodes[m]["name"] if m >= 0 else "None")
        for n, r, m in zip(nodes, roots, masters, strict=True)
    ]
    assert lines[7] == "conv2d3 has root __add_symbol__1 and master conv2d3"
    assert lines[10] == "flatten0 has root flatten0 and master flatten0"


def test_fusion_is_explained():
    graph = tw.graph.create(network()).apply("InferShape")
    with pytest.raises(tw.UserError, match="apply GraphFusePartition first"):
        tw.graph.explain_fusion(graph)
    graph = graph.apply("GraphFusePartition")
    assert tw.graph.explain_fusion(graph, "conv2d3", "relu1") == (
        "'conv2d3' and 'relu1' are one kernel, whose root is '__add_symbol__1'"
    )
    assert tw.graph.explain_fusion(graph, "conv2d3", "conv2d2") == (
        "'conv2d2' and 'conv2d3' are two kernels, since 'relu0' is stored: 'conv2d3', a conv2d, reads its inputs from memory"
    )
    text = tw.graph.explain_fusion(graph)
    assert "conv2d2: root relu0, master conv2d2; computed within 'relu0', the only node that reads it" in text
    assert len(text.split("\n")) == 9


def numpy_reference(x, params):
    """The document's network on an image of any size."""

    def conv(data, weight, bias):
        padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)))
        rows, columns = data.shape[2:]
        windows = [padded[:, :, i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
        out = np.einsum("knchw,ock->nohw", np.stack(windows), weight.reshape(*weight.shape[:2], 9))
        return out + bias[None, :, None, None]

    z = np.maximum(conv(x, params["conv2d2_weight"], params["conv2d2_bias"]), 0)
    z = np.maximum(conv(z, params["conv2d3_weight"], params["conv2d3_bias"]), 0) + x
    z = z.reshape(len(z), -1) @ params["dense0_weight"].T + params["dense0_bias"]
    z = np.exp(z - z.max(-1, keepdims=True))
    return z / z.sum(-1, keepdims=True)


def run_groups(graph, inputs):
    """The outputs of a partitioned graph, a kernel a group."""
    index = graph.index
    values = {index.node_id(name): [value] for name, value in inputs.items()}
    shapes, types = graph.json_attr("shape"), graph.json_attr("dtype")
    names = []
    for group in tw.graph.groups(graph):
        names.append(group.name)
        kernel = tw.build(group.arguments)
        root = group.nodes[-1]
        entries = range(index.entry_ptr[root], index.entry_ptr[root + 1])
        values[root] = [np.full(shapes[e], np.nan, tw.graph.dtypes()[types[e]]) for e in entries]
        kernel(*[values[node][output] for node, output in group.inputs], *values[root])
    return [values[node][output] for node, output, _ in index.output_entries], names


@pytest.mark.parametrize("opt_level", [0, 2])
def test_groups_compute_the_network(opt_level):
    symbol = network().get_children()  # without the sum, which is 1
    rng = np.random.default_rng(3)
    graph = tw.graph.create(symbol)
    graph._set_json_attr("opt_level", opt_level)
    text = graph.json().replace("(1, 13, 100, 100)", "(2, 13, 7, 5)").replace('"dtype": "1"', '"dtype": "float32"')
    graph = tw.graph.load_json(text).apply(["InferShape", "InferType", "GraphFusePartition"])
    shapes = graph.json_attr("shape")
    inputs = {
        name: rng.standard_normal(shapes[graph.index.entry_id(name)]).astype("float32") * 0.3
        for name in graph.index.input_names
    }
    (found,), names = run_groups(graph, inputs)
    np.testing.assert_allclose(found, numpy_reference(inputs["x"], inputs), rtol=2e-4, atol=1e-6)
    fused = ["fuse_conv2d_relu", "fuse_conv2d_relu_broadcast_add", "fuse_flatten", "fuse_dense", "fuse_softmax"]
    assert (names == fused) == (opt_level == 2)


def test_parameters_are_constant_placeholders():
    graph = tw.graph.create(network()).apply(["InferShape", "InferType", "GraphFusePartition"])
    group = tw.graph.groups(graph, ["conv2d2_weight"])[0]
    assert [graph.index.nodes[node]["name"] for node, _ in group.inputs] == ["x", "conv2d2_weight", "conv2d2_bias"]
    assert [graph.index.nodes[node]["name"] for node in group.nodes] == ["conv2d2", "relu0"]
    task = tw.autotune.make_task(group.arguments)
    assert "constant" in task.te_text
    same = tw.graph.groups(graph)
    # Equal kernels are one workload, whatever stands around them.
    assert len({tw.autotune.make_task(g.arguments).workload for g in same}) == len(same) == 6
    graph = tw.graph.create(sym.relu(sym.Variable("x"))).apply(["InferShape", "InferType", "GraphFusePartition"])
    with pytest.raises(tw.UserError, match="the shape of 'x' is unknown"):
        tw.graph.groups(graph)
    with pytest.raises(tw.UserError, match="apply GraphFusePartition first"):
        tw.graph.groups(tw.graph.create(network()))


def differentiated(symbol, shapes, seed=5):
    """Numbers of the gradients by our graph, and by differences, of the sum of a network's outputs."""
    rng = np.random.default_rng(seed)
    xs = {name: sym.Variable(name, shape=shape, dtype="float64") for name, shape in shapes.items()}
    y = symbol(**xs)
    inputs = {name: rng.uniform(0.3, 0.9, shape) for name, shape in shapes.items()}

    def outputs(of, values):
        graph = tw.graph.create(of).apply(["InferShape", "InferType", "GraphFusePartition"])
        values = {name: values[name] for name in graph.index.input_names}
        return run_groups(graph, values)[0]

    found = outputs(tw.graph.create(sym.Group(tw.compiler.graph_util.gradients(y, list(xs.values())))).symbol, inputs)
    total = sym.sum(y)
    for (name, value), gradient in zip(inputs.items(), found, strict=True):
        expected = np.zeros_like(value)
        for at in np.ndindex(value.shape):
            sides = []
            for step in (1e-5, -1e-5):
                moved = value.copy()
                moved[at] += step
                sides.append(float(outputs(total, inputs | {name: moved})[0]))
            expected[at] = (sides[0] - sides[1]) / 2e-5
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7, err_msg=name)


GRADIENTS = {
    "relu": (lambda x: sym.relu(x - 0.5), {"x": (3, 2)}),
    "sigmoid": (sym.sigmoid, {"x": (3, 2)}),
    "tanh": (sym.tanh, {"x": (3, 2)}),
    "exp and log": (lambda x: sym.elemwise_add(sym.exp(x), sym.log(x)), {"x": (4,)}),
    "sqrt": (sym.sqrt, {"x": (3,)}),
    "products": (lambda x, y: sym.elemwise_div(sym.elemwise_mul(x, y), sym.elemwise_sub(-x, y)), {"x": (3,), "y": (3,)}),
    "scalars": (lambda x: sym.elemwise_add(2 / (1 - 3 * x**3), 2**x / 4), {"x": (3,)}),
    "softmax": (lambda x: sym.elemwise_mul(sym.softmax(x), x), {"x": (2, 3)}),
    "log_softmax": (lambda x: sym.elemwise_mul(sym.log_softmax(x, axis=0), x), {"x": (2, 3)}),
    "dense": (lambda x, w, b: sym.dense(x, w, b, units=2), {"x": (2, 3), "w": (2, 3), "b": (2,)}),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_agree_with_differences(name):
    function, shapes = GRADIENTS[name]
    differentiated(function(*[sym.Variable(n) for n in shapes]), shapes)


@pytest.mark.parametrize(
    "attributes",
    [
        {"padding": (1, 0, 0, 1)},
        {"strides": (2, 1), "groups": 2, "use_bias": False},
        {"dilation": (2, 1), "layout": "NHWC", "kernel_layout": "HWIO"},
    ],
)
def test_the_gradient_of_a_convolution(attributes):
    groups, nhwc = attributes.get("groups", 1), "layout" in attributes
    shapes = {"x": (1, 4, 4, 2) if nhwc else (1, 2, 4, 4)}
    shapes["w"] = (2, 2, 2, 2) if nhwc else (2, 2 // groups, 2, 2)
    inputs = {n: sym.Variable(n) for n in shapes}
    if attributes.get("use_bias", True):
        shapes["b"] = (2,)
        inputs["b"] = sym.Variable("b")
    named = dict(zip(("data", "weight", "bias"), inputs.values(), strict=False))
    differentiated(sym.tanh(sym.conv2d(**named, channels=2, kernel_size=(2, 2), **attributes)), shapes)


def test_gradients_print_as_in_the_document():
    with tw.name.NameManager():
        network()  # as in the document, whose names go on counting
        x = sym.Variable("x", shape=(1, 13, 100, 100), dtype=1)
        z = x
        z = sym.conv2d(data=z, channels=13, kernel_size=(3, 3), padding=[1, 1])
        z = sym.relu(data=z)
        z = sym.flatten(z)
        z = sym.dense(data=z, units=10)
        z = sym.softmax(data=z)
        z = sym.sum(z, keepdims=True)
    expected = """
Graph(%x,
      %conv2d4_weight,
      %conv2d4_bias,
      %dense1_weight,
      %dense1_bias) {
  %3 = conv2d(%x, %conv2d4_weight, %conv2d4_bias, channels='13', padding='[1, 1]', kernel_size='(3, 3)')
  %4 = relu(%3)
  %5 = flatten(%4)
  %8 = dense(%5, %dense1_weight, %dense1_bias, units='10')
  %9 = softmax(%8)
  %10 = sum(%9, keepdims='True')
  %11 = ones_like(%10)
  %12 = expand_like(%11, %9, exclude='0', axis='[]')
  %13 = elemwise_mul(%12, %9)
  %14 = sum(%13, keepdims='true', axis='-1')
  %15 = broadcast_mul(%14, %9)
  %16 = elemwise_sub(%13, %15)
  %17 = matmul(%16, %dense1_weight)
  %18 = reshape_like(%17, %4, ='')
  %19 = zeros_like(%3)
  %20 = greater(%3, %19, exclude='true')
  %21 = elemwise_mul(%18, %20)
  %22 = _conv2d_grad(%21, %x, %conv2d4_weight, channels='13', padding='[1, 1]', kernel_size='(3, 3)')
  ret %22.0
}"""
    same_text(tw.compiler.graph_util.get_gradient_graph(z, x).ir(), expected)
    both = tw.graph.create(sym.Group([z, *tw.compiler.graph_util.gradients(z, x)]))
    same_text(both.ir(), expected.replace("ret %22.0", "ret %10, %22.0"))
    # Shapes of gradients are those of what they belong to.
    shapes = tw.compiler.graph_util.infer_shape(both)[1]
    assert shapes == [[1, 1], [1, 13, 100, 100]]


def test_what_a_group_is_called():
    group = sym.Group([sym.Variable("a"), sym.Variable("b")])
    assert repr(group) == "<Grouped Symbol>" and group.attr("name") is None
    with pytest.raises(tw.UserError, match="a group of symbols is no node"):
        group.attr("shape")
