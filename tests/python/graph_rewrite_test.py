"""Passes written in Python with visitors and mutators."""

from ast import literal_eval

import numpy as np
import pytest

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym

import numpy_graph


pytestmark = pytest.mark.usefixtures("fresh_names")


class PadIntoConv2d(tw.graph.Mutator):
    """Zeros around an image become the padding of the convolution that reads it."""

    def __init__(self):
        self.pads = {}  # nodes by number

    def visit_pad(self, node):
        self.pads[node.number] = node

    def visit_conv2d(self, node):
        pad = self.pads.get(node.input_entries[0][0])
        if pad is None or float(pad.attrs.get("pad_value", 0)) != 0 or "padding" in node.attrs:
            return None
        widths = literal_eval(pad.attrs["pad_width"])
        if widths[0] != (0, 0) or widths[1] != (0, 0):
            return None
        (top, bottom), (left, right) = widths[2:]
        return sym.conv2d(pad.inputs[0], *node.inputs[1:], name=node.name, padding=(top, left, bottom, right), **node.attrs)


def padded_network():
    x = sym.Variable("x", shape=(2, 3, 6, 5), dtype="float32")
    z = sym.pad(x, pad_width=((0, 0), (0, 0), (1, 2), (0, 1)))
    z = sym.relu(sym.conv2d(z, channels=4, kernel_size=(3, 3)))
    return sym.conv2d(sym.pad(z, pad_value=1, pad_width=((0, 0), (0, 0), (1, 1), (1, 1))), channels=2, kernel_size=(3, 3))


def test_a_pass_that_rewrites():
    @tw.graph.register_pass("PadIntoConv2d")
    def pad_into_conv2d(graph):
        """Zeros around images become padding."""
        return PadIntoConv2d().run(graph)

    before = tw.graph.create(padded_network()).apply("InferShape")
    text = before.ir()
    after = before.apply("PadIntoConv2d")
    assert before.ir() == text
    assert [n["op"] for n in after.index.nodes if n["op"] != "null"] == ["conv2d", "relu", "pad", "conv2d"]
    assert "padding='(1, 0, 2, 1)'" in after.ir()
    assert after.index.nodes[3]["name"] == "conv2d0"
    # What was known of variables is known of the new graph.
    shapes = after.apply("InferShape").json_attr("shape")
    assert shapes[-1] == before.json_attr("shape")[-1]
    random = np.random.default_rng(0)
    arrays = {}
    for node, shape in zip(before.index.nodes, before.json_attr("shape"), strict=True):
        if node["op"] == "null":
            arrays[node["name"]] = random.uniform(-1, 1, shape).astype("float32")
    (wanted,) = numpy_graph.run(before.symbol, arrays)
    (found,) = numpy_graph.run(after.symbol, arrays)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_visitor_that_learns():
    class Work(tw.graph.Visitor):
        def __init__(self):
            self.products, self.others, self.variables = 0, [], []

        def visit_null(self, node):
            self.variables.append(node.name)

        def visit_conv2d(self, node):
            taps = np.prod(self.value("shape", node.input_entries[1])[1:])
            self.products += int(np.prod(self.value("shape", node)) * taps)

        def generic_visit(self, node):
            self.others.append(node.op)

    graph = tw.graph.create(padded_network())
    work = Work().run(graph.apply("InferShape"))
    assert work.products == 2 * 4 * 7 * 4 * 27 + 2 * 2 * 7 * 4 * 36
    assert work.others == ["pad", "relu", "pad"]
    assert work.variables == ["x", "conv2d0_weight", "conv2d0_bias", "conv2d1_weight", "conv2d1_bias"]
    with pytest.raises(tw.UserError, match="asks for the graph attribute 'shape'"):
        Work().run(graph)


def test_what_a_mutator_may_return():
    class Replace(tw.graph.Mutator):
        def __init__(self, by):
            self.by = by

        def visit_split(self, node):
            return self.by(node)

    x = sym.Variable("x")
    parts = sym.split(x, indices_or_sections=2)
    graph = tw.graph.create(sym.Group([sym.relu(parts[0]), parts[1]]))
    # The output that the symbol does not give stays the node's.
    first = Replace(lambda node: sym.exp(node.inputs[0])).run(graph)
    assert [n["op"] for n in first.index.nodes] == ["null", "exp", "relu", "split"]
    both = Replace(lambda node: sym.Group([node.outputs[1], node.outputs[0]])).run(graph)
    assert both.index.output_entries[1] == [1, 0, 0]
    with pytest.raises(tw.UserError, match="3 outputs in the place of 'split0'"):
        Replace(lambda node: sym.Group([x, x, x])).run(graph)
    with pytest.raises(tw.UserError, match="what stands in the place of 'split0': int"):
        Replace(lambda node: 3).run(graph)
    with pytest.raises(ZeroDivisionError):
        Replace(lambda node: 1 // 0).run(graph)


def test_variables_that_are_written_to():
    x, y = sym.Variable("x"), sym.Variable("y")
    before = sym.relu(x, name="before")
    write = sym._assign(x, y, name="write")
    after = sym.exp(x, name="after")
    network = sym.Group([after, before, write])
    assert network.list_input_names() == ["x", "y"]
    assert network.list_input_names("read_only") == ["y"]
    assert network.list_input_names("aux_state") == ["x"]
    nodes = tw.graph.create(network).apply("OrderMutation").index.nodes
    number = {node["name"]: k for k, node in enumerate(nodes)}
    assert nodes[number["write"]]["control_deps"] == [number["before"]]
    assert nodes[number["after"]]["control_deps"] == [number["write"]]
    assert nodes[number["write"]]["inputs"][0][2] == 1 and nodes[number["before"]]["inputs"][0][2] == 0


def test_devices_are_those_of_scopes():
    x = sym.Variable("x")
    with tw.attribute.AttrScope(device_group="first"):
        y = sym.exp(x, name="y")
    with tw.attribute.AttrScope(device_group="second"):
        z = sym.tanh(y, name="z")
    graph = tw.graph.create(z)
    graph._set_json_attr("device_group_attr_key", "device_group")
    graph._set_json_attr("device_assign_map", ["first:0", "second:1"], "list_str")
    graph = graph.apply("PlaceDevice")
    assert [node["name"] for node in graph.index.nodes] == ["x", "y", "y_copy1", "z"]
    assert graph.json_attr("device") == [0, 0, 1, 1]


@pytest.fixture
def own_pass():
    """Registers a function as a pass of a new name, which is given."""
    def register(function, **promises):
        own_pass_names.append(f"OfATest{len(own_pass_names)}")
        function.__doc__ = "Of a test."
        tw.graph.register_pass(own_pass_names[-1], **promises)(function)
        return own_pass_names[-1]

    return register


own_pass_names = []


def test_what_a_pass_returns_is_verified(own_pass):
    graph = tw.graph.create(sym.relu(sym.Variable("x", shape=(2, 3)))).apply("InferShape")
    with pytest.raises(tw.UserError, match="returned a NoneType; legal: a Graph"):
        graph.apply(own_pass(lambda g: None))
    with pytest.raises(tw.UserError, match="returned a Symbol"):
        graph.apply(own_pass(lambda g: g.symbol))
    with pytest.raises(tw.UserError, match="did not give the graph attribute 'mine'"):
        graph.apply(own_pass(lambda g: g, gives="mine"))
    with pytest.raises(tw.UserError, match="needs the graph attribute 'shape'"):
        tw.graph.create(sym.Variable("x")).apply(own_pass(lambda g: g, needs="shape"))

    def wrong_shape(g):
        g._set_json_attr("shape", [[2, 3], [3, 2]], "list_shape")
        return g

    with pytest.raises(tw.UserError, match=r"in 'shape' as OfATest\d+ left it: node 'relu0', its output is"):
        graph.apply(own_pass(wrong_shape))

    def too_few(g):
        g._set_json_attr("shape", [[2, 3]], "list_shape")
        return g

    with pytest.raises(tw.UserError, match="'shape' has 1 values"):
        graph.apply(own_pass(too_few))
    assert graph.apply(own_pass(lambda g: g)).json_attr("shape") == [[2, 3], [2, 3]]


def test_graphs_are_dumped(capfd, monkeypatch):
    graph = tw.graph.create(sym.relu(sym.Variable("x", shape=(2, 3))))
    monkeypatch.setenv("TILEWRIGHT_DUMP_GRAPH", "InferShape")
    graph.apply(["InferShape", "InferType"])
    assert capfd.readouterr().err.startswith("// after InferShape\nGraph(%x)")
    monkeypatch.setenv("TILEWRIGHT_DUMP_GRAPH", "InferShap")
    with pytest.raises(tw.UserError, match="no pass 'InferShap'; the nearest is 'InferShape'|InferShape"):
        graph.apply("InferShape")
    monkeypatch.setenv("TILEWRIGHT_DUMP_GRAPH", "all")
    tw.compiler.build(graph, "llvm")
    assert "// after PlanMemory" in capfd.readouterr().err


def test_entries_that_there_are_not():
    index = tw.graph.create(sym.relu(sym.Variable("x"))).index
    assert index.entry_id([1, 0, 0]) == index.entry_id("relu0") == 1
    for key in (99, [1, 5, 0], -1, "none"):
        with pytest.raises(tw.UserError, match="legal"):
            index.entry_id(key)


def test_arrays_are_no_operands():
    x = sym.Variable("x")
    for wrong in (lambda: x + np.ones(3), lambda: np.ones(3) * x, lambda: x - tw.nd.array(np.ones(3, "float32"))):
        with pytest.raises(tw.UserError, match=r"an array of shape \(3,\) beside a Symbol; legal: a number"):
            wrong()
    assert (np.float32(2) * x).list_attr()["scalar"] == "2.0"
    with pytest.raises(tw.UserError, match="the name of a relu: int; legal: text"):
        sym.relu(x, name=3)


def test_what_is_inferred_of():
    infer_shape, gradients = tw.compiler.graph_util.infer_shape, tw.compiler.graph_util.gradients
    x = sym.Variable("x")
    assert infer_shape(sym.relu(x), x=(2, 3)) == ([[2, 3]], [[2, 3]])
    with pytest.raises(tw.UserError, match="no input 'y'; legal: x"):
        infer_shape(tw.graph.create(sym.relu(x)), y=(2, 3))
    with pytest.raises(tw.UserError, match="a str; legal: a Symbol, a Graph, or a list of them"):
        gradients("a", x)


def test_graphs_are_compared():
    of = lambda op, **more: tw.graph.create(op(sym.Variable("x", **more), name="y"))
    check = tw.compiler.graph_util.check_graph_equal
    check(of(sym.relu), of(sym.relu, shape=(2,)))
    with pytest.raises(ValueError, match="node 0"):
        check(of(sym.relu), of(sym.relu, shape=(2,)), compare_variable_attrs=True)
    with pytest.raises(ValueError, match="node 1 is .*relu.* and .*tanh"):
        check(of(sym.relu), of(sym.tanh))


def test_the_build_is_data():
    names = [step.name for step in tw.compiler.BUILD_STEPS]
    assert names.index("CorrectLayout") < names.index("FoldScaleAxis") < names.index("AlterOpLayout") < names.index("GraphFuseCompile")
    known = {row["name"] for row in tw.graph.passes()}
    assert {name for step in tw.compiler.BUILD_STEPS for call in step.calls for name in call.passes} <= known
    net = sym.dropout(sym.relu(sym.Variable("x")))
    graph = tw.compiler.apply_steps(net, ["SimplifyInference"], {"x": (2, 3)})
    assert [node["op"] for node in graph.index.nodes] == ["null", "relu"]
    with pytest.raises(tw.UserError, match="no step of the build is 'Simplify'"):
        tw.compiler.apply_steps(net, ["Simplify"], {"x": (2, 3)})


def test_contradictions_about_inputs():
    net = sym.relu(sym.Variable("x"))
    with pytest.raises(tw.UserError, match=r"parameter 'x' has shape \(3,\), and shape says \(2,\)"):
        tw.compiler.build(net, "llvm", shape={"x": (2,)}, params={"x": np.ones(3, "float32")})
    graph = tw.graph.create(net)
    graph._set_json_attr("fusion", "x", "str")
    with pytest.raises(tw.UserError, match="'fusion' is 'x'; legal: auto, nnvm"):
        graph.apply(["InferShape", "InferType", "GraphFusePartition"])


@pytest.mark.parametrize("windows", [10**9 + 7, 2**31 - 1])
def test_many_adaptive_windows_take_no_time(windows):
    """Neither is computed here: what is asked is the program."""
    x = sym.Variable("x", shape=(1, 1, 6), dtype="float32")
    graph = tw.graph.create(sym.adaptive_max_pool1d(x, output_size=(windows,))).apply(["InferShape", "InferType", "GraphFusePartition"])
    (group,) = tw.graph.groups(graph)
    assert [int(e.value) for e in group.arguments[-1].shape] == [1, 1, windows]
