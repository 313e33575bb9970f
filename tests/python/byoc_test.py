"""Annotations, patterns and partitions from Python; tests/documents/external_codegen.txt is the thread that they come from."""

import json

import numpy as np
import pytest

import tilewright as tw
import tilewright.symbol as sym
from tilewright import byoc, expr_functor, graph
from tilewright.byoc import compiler_begin, compiler_end
from tilewright.dataflow_pattern import DFPatternCallback, dominates, explain, is_constant, is_op, is_var, rewrite, wildcard


def test_a_fault_names_the_line_that_built_the_node():
    first = compiler_end(sym.relu(compiler_begin(sym.Variable("x"), "dnnl"), name="a"), "dnnl")
    second = sym.elemwise_add(first, compiler_begin(sym.Variable("y"), "dnnl"), name="b")  # here
    annotated = compiler_end(second, "dnnl")
    (fault,) = byoc.check_annotations(annotated)
    assert (fault.kind, fault.target) == ("missing-begin", "b")
    number = next(k for k, text in enumerate(open(__file__, encoding="utf-8"), 1) if text.endswith("# here\n"))
    assert fault.line == f"byoc_test.py:{number}"
    with pytest.raises(tw.UserError, match="missing-begin") as info:
        byoc.partition_graph(annotated)
    assert info.value.code == "bad-graph" and fault.line in str(info.value) and fault.repair in str(info.value)
    assert len(byoc.partition_graph(annotated, repair=True).functions()) == 2


def test_functions_travel_in_files():
    x = sym.Variable("x", shape=(2, 3))
    parted = byoc.partition_graph(compiler_end(sym.relu(compiler_begin(x, "dnnl")), "dnnl"))
    assert graph.load_json(parted.json()).astext() == parted.astext()
    assert list(parted.functions()) == ["dnnl_0"]
    assert "relu" in byoc.inline_functions(parted).ir()


def test_text_with_meta_data():
    text = graph.create(compiler_begin(sym.Variable("x"), "dnnl")).astext(show_meta_data=True)
    assert text.endswith('#[metadata]\n{"relay.attrs.CompilerAttrs": [{"compiler": "dnnl"}]}') and "Tensor[?, ?]" in text


class Negated(expr_functor.ExprMutator):
    def visit_call(self, call):
        new = super().visit_call(call)
        return expr_functor.Call("negative", [new]) if call.op.name == "nn.relu" else new


def test_a_mutator_that_recurses_is_not_stopped_by_depth():
    z = sym.Variable("x")
    for _ in range(1500):
        z = sym.relu(z)
    ops = [node["op"] for node in graph.create(Negated().run(z)).index.nodes]
    assert ops.count("negative") == ops.count("relu") == 1500


def test_patterns_match_with_captures():
    x, w = sym.Variable("x"), sym.Variable("w")
    net = graph.create(sym.relu(sym.dense(x, w, units=3, use_bias=False)))
    net._set_json_attr("param_name_list", ["w"], "list_str")
    dense = is_op("nn.dense")(is_var(), is_constant().named("weight"))
    found = is_op("nn.relu")(dense | is_op("nn.conv2d")).match(net)
    assert found["weight"].attr("name") == "w" and found.root.attr("name").startswith("relu")
    assert is_op("nn.relu")(dense.has_attr({"units": 4})).match(net) is None
    assert "nn.conv2d is wanted" in explain(is_op("nn.relu")(is_op("nn.conv2d")), net)
    assert explain(is_op("nn.relu"), net) == "it matches"
    assert dominates(is_op("nn.dense"), is_op("nn.relu")).match(net)
    with pytest.raises(tw.UserError) as info:
        is_op("nn.conv3")
    assert info.value.code == "unknown-operator"
    with pytest.raises(tw.UserError):
        found["bias"]


def test_rewriting_by_function_and_by_class():
    x = sym.Variable("x", shape=(2, 3))
    net = sym.tanh(sym.relu(sym.relu(x)))
    inner = wildcard().named("x")
    pattern = is_op("nn.relu")(is_op("nn.relu")(inner))
    once = rewrite(pattern, lambda match: sym.relu(match["x"]), net)

    class Once(DFPatternCallback):
        pattern = is_op("nn.relu")(is_op("nn.relu")(inner))

        def callback(self, match):
            return sym.relu(match["x"])

    for result in (once, Once().rewrite(net)):
        assert [node["op"] for node in result.index.nodes] == ["null", "relu", "tanh"]


def network():
    x = sym.Variable("data", shape=(2, 8), dtype="float32")
    z = sym.relu(sym.dense(x, units=4, name="d1"), name="r1")
    return sym.softmax(sym.dense(sym.relu(z, name="r2"), units=3, name="d2"), name="s")


def test_a_pattern_table_partitions_and_explains():
    @byoc.register_pattern_table("blas_test")
    def table():
        return [("blas_test.dense", is_op("nn.dense").named("dense"), lambda match: match.shape()[1] > 3),
                ("blas_test.dense_relu", is_op("nn.relu")(is_op("nn.dense")), None, 1)]

    assert "blas_test" in byoc.pattern_tables()
    text = byoc.partition(network(), "blas_test").astext()
    assert text.count('Compiler="blas_test"') == 1 and 'Composite="blas_test.dense_relu"' in text
    lines = byoc.explain_partition(network(), "blas_test").split("\n")
    assert lines[0].startswith("d1: blas_test.dense_relu, of 'r1', in region 0; it ends before 'r2'")
    assert "its predicate refuses it" in next(line for line in lines if line.startswith("d2"))
    assert byoc.partition(network(), "blas_test").apply("InlineFunctions").symbol.list_input_names() == network().list_input_names()
    with pytest.raises(tw.UserError):
        byoc.partition(network(), "blas_tset")


def test_what_a_partition_computes_without_a_code_generator():
    byoc.register_pattern_table("nobody", [("nobody.dense", is_op("nn.dense"))])
    values = {"data": np.ones((2, 8), "float32")}
    plain, parted = (tw.compiler.build(byoc.inline_functions(net), shape={"data": (2, 8)}) for net in (network(), byoc.partition(network(), "nobody")))
    results = []
    for compiled, module, _ in (plain, parted):
        executor = tw.contrib.graph_runtime.create(compiled, module, tw.cpu())
        rng = np.random.default_rng(0)
        for name in compiled.index.input_names:
            shape = executor.get_input(name).shape
            executor.set_input(name, values.get(name, rng.normal(size=shape).astype("float32")))
        executor.run()
        results.append(executor.get_output(0).numpy())
    np.testing.assert_allclose(*results, rtol=1e-5)


def test_a_parameter_that_a_function_does_not_read():
    """Its type stands in the text too."""
    x, z = (sym.Variable(name, shape=(2, 4), dtype="float32") for name in "xz")
    region = compiler_end(sym.elemwise_add(compiler_begin(x, "dnnl"), compiler_begin(z, "dnnl")), "dnnl")
    graph = json.loads(byoc.partition_graph(region).json())
    (call,) = (node for node in graph["nodes"] if "function" in node)
    call["function"]["nodes"][-1] = {"op": "relu", "name": "r", "inputs": [[0, 0, 0]]}
    text = tw.graph.load_json(json.dumps(graph)).astext()
    assert text.count("float32]") >= 4 and "_input1: Tensor[(2, 4), float32]" in text


def dense_relu():
    return sym.relu(sym.dense(sym.Variable("x"), units=3, name="d"), name="r")


@pytest.mark.parametrize("compiler", ["onednn", "openblas", "csource"])
def test_shapes_of_a_partition_are_printed(compiler):
    parted = byoc.partition(dense_relu(), compiler, {"x": (2, 4)})
    text = parted.astext()
    assert text.startswith("v0.0.4\nfn (%x: Tensor[(2, 4), float32]") and "?" not in text and f'Compiler="{compiler}"' in text, text


def test_annotate_infers_what_it_needs():
    said = sym.relu(sym.dense(sym.Variable("x", shape=(2, 4), dtype="float32"), units=3))
    assert "compiler_end" in byoc.annotate(said, "onednn").ir()
    given = graph.create(dense_relu())
    tw.compiler.graph_attr.set_dtype_inputs(tw.compiler.graph_attr.set_shape_inputs(given, {"x": (2, 4)}), "float32")
    assert "compiler_end" in byoc.annotate(given, "onednn").ir()
    for unknown in (dense_relu(), sym.relu(sym.Variable("x", shape=(2, 4)))):
        with pytest.raises(tw.UserError, match="the shape or type of '.*' is unknown") as info:
            byoc.annotate(unknown, "onednn")
        assert info.value.code == "pass-requirement"
    assert "the shape or type of 'x' is unknown" in byoc.explain_partition(dense_relu(), "onednn")


def test_annotate_target_alone_marks_instances():
    byoc.register_pattern_table("alone", [("alone.dense_relu", is_op("nn.relu")(is_op("nn.dense")))])
    net = graph.create(sym.tanh(dense_relu()))
    net._set_json_attr("compiler", "alone")
    marked = net.apply("AnnotateTarget")
    assert [n["op"] for n in marked.index.nodes if n["op"] != "null"].count("compiler_end") == 1
    (body,) = byoc.partition_graph(marked).functions().values()
    assert [n["op"] for n in body.index.nodes if n["op"] != "null"] == ["dense", "relu"]


ROW = ("t.relu", is_op("nn.relu"))


@pytest.mark.parametrize(("rows", "said"), [
    ([("a",)], "row 0 of the pattern table of 'wrong': ('a',)"),
    ([ROW, (3, wildcard())], "row 1 of the pattern table of 'wrong': the name 3"),
    ([("a", "b")], "the pattern 'b'"),
    ([(*ROW, 3)], "the predicate 3"),
    ([(*ROW, None, "high")], "the priority 'high'"),
    ([(*ROW, None, 0, 0)], "row 0"),
    ([3], "row 0 of the pattern table of 'wrong': 3"),
    (3, "'wrong': int"),
    (lambda: None, "'wrong': NoneType"),
])
def test_wrong_pattern_tables(rows, said):
    with pytest.raises((tw.UserError, TypeError)) as info:
        byoc.register_pattern_table("wrong", rows)
    assert isinstance(info.value, tw.TilewrightError) and said in str(info.value) and info.value.legal
    assert "wrong" not in byoc.pattern_tables()


def test_calls_take_values_as_symbols_do():
    x = expr_functor.Expr.of(sym.Variable("x"))
    conv = expr_functor.Call("conv2d", [x], {"channels": 3, "kernel_size": (3, 3), "layout": "NCHW", "out_dtype": None})
    assert conv.attrs["channels"] == "3" and conv.attrs["kernel_size"] == "(3, 3)" and "out_dtype" not in conv.attrs
    for op, args in (("relu", [sym.Variable("x")]), ("relu", [None]), (3, [x])):
        with pytest.raises(tw.TilewrightError) as info:
            expr_functor.Call(op, args)
        assert info.value.code == "type-mismatch"


def test_a_mutator_that_returns_nothing():
    class Forgets(expr_functor.ExprMutator):
        def visit_call(self, call):
            super().visit_call(call)

    class ForgetsVariables(expr_functor.ExprMutator):
        def visit_var(self, var):
            return var.name

    for mutator, said in ((Forgets, "Forgets.visit_call returned for 'd': NoneType"), (ForgetsVariables, "ForgetsVariables.visit_var returned for 'x': str")):
        with pytest.raises(tw.TilewrightError) as info:
            mutator().run(dense_relu())
        assert info.value.code == "type-mismatch" and said in str(info.value)

    class Counts(expr_functor.ExprVisitor):
        calls = 0

        def visit_call(self, call):
            super().visit_call(call)
            self.calls += 1

    visitor = Counts()
    visitor.run(dense_relu())
    assert visitor.calls == 2
    with pytest.raises(tw.TilewrightError, match="what Counts visits: NoneType"):
        visitor.visit(None)
