"""Whether what is made of a network computes what the network does, and if not, the smallest network that shows it.

    ./tw python tests/support/check_graph.py FILE

checks the network of a file that a failing test has written, and prints its text and what is wrong.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import tilewright as tw
import tilewright.compiler
import tilewright.graph

import numpy_graph
from random_graph import Case

FAILURES = Path(__file__).resolve().parents[2] / "build" / "failures"
# Options of compiler.build_config.
BUILDS = [*({"opt_level": level} for level in range(4)), *({"opt_level": level, "fusion": "nnvm"} for level in (1, 3))]


def difference(found: list, expected: list) -> str | None:
    """What is wrong with outputs, in one line."""
    if len(found) != len(expected):
        return f"{len(found)} outputs instead of {len(expected)}"
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {k} is {a.dtype} {a.shape} instead of {b.dtype} {b.shape}"
        distance = np.abs(a.astype("float64") - b)
        if not (distance <= 1e-4 * max(1.0, np.abs(b).max(initial=0))).all():
            return f"output {k} is off by {distance.max():.3g}"
    return None


def described(case: Case) -> tw.graph.Graph:
    """The graph with the shapes and types of its inputs as graph attributes, and a code generator for passes that ask for one."""
    graph = case.load()
    graph._set_json_attr("compiler", "csource", "str")
    tw.compiler.graph_attr.set_shape_inputs(graph, {name: a.shape for name, a in case.inputs.items()})
    return tw.compiler.graph_attr.set_dtype_inputs(graph, {name: str(a.dtype) for name, a in case.inputs.items()})


def built(case: Case, options: dict) -> list:
    """The outputs of the network as `compiler.build` builds it under options of build_config."""
    params = {name: tw.nd.array(case.inputs[name]) for name in case.params}
    others = {name: a for name, a in case.inputs.items() if name not in params}
    with tw.compiler.build_config(**options):
        graph, module, params = tw.compiler.build(
            case.load(), None, {n: a.shape for n, a in others.items()}, {n: str(a.dtype) for n, a in others.items()}, params)
    executor = tw.contrib.graph_runtime.create(graph, module, tw.cpu(0))
    names = set(graph.index.input_names)
    executor.set_input(**params, **{name: tw.nd.array(a) for name, a in others.items() if name in names})
    executor.run()
    return [executor.get_output(k).numpy() for k in range(executor.get_num_outputs())]


def rewritten(case: Case, passes: list[str]) -> list:
    """The outputs of what passes make of the network, computed with NumPy."""
    return numpy_graph.run(described(case).apply(passes), case.inputs)


def trouble(case: Case, compute: Callable[[Case], list]) -> str | None:
    """What is wrong with what `compute` gives for a case; of an error its code and text."""
    try:
        return difference(compute(case), numpy_graph.run(case.load(), case.inputs))
    except tw.TilewrightError as error:
        return f"{error.code}: {error}"


def kind_of(text: str | None) -> str | None:
    """What stays the same when a case becomes smaller: an error's code, or that a number is off."""
    return text and (text.split(":")[0] if ":" in text else "off" if "off" in text else "other outputs")


# Smaller cases ------------------------------------------------------------------------------------------------------


def _with(nodes: list, heads: list, case: Case, values: dict[str, np.ndarray]) -> Case:
    """A case of the nodes that are reached from its outputs."""
    needed, stack = set(), [h[0] for h in heads]
    while stack:
        number = stack.pop()
        if number not in needed:
            needed.add(number)
            stack += [i[0] for i in nodes[number]["inputs"]]
    order = sorted(needed)
    place = {number: k for k, number in enumerate(order)}
    moved = lambda entries: [[place[e[0]], e[1], 0] for e in entries]
    kept = [{**nodes[number], "inputs": moved(nodes[number]["inputs"])} for number in order]
    variables = [k for k, node in enumerate(kept) if node["op"] == "null"]
    names = {kept[k]["name"] for k in variables}
    graph = json.dumps({"nodes": kept, "arg_nodes": variables, "heads": moved(heads)})
    inputs = {name: a for name, a in {**case.inputs, **values}.items() if name in names}
    return Case(graph, inputs, [name for name in case.params if name in names])


def _with_inputs_for(k: int, nodes: list, heads: list, case: Case, outputs: list) -> Case:
    """A case that is given all outputs of node k."""
    names = [f"{nodes[k]['name']}_{output}" for output in range(len(outputs))]
    first = len(names)  # nodes stand behind those inputs
    moved = lambda entries: [[e[1], 0, 0] if e[0] == k else [e[0] + first, *e[1:]] for e in entries]
    cut = [{"op": "null", "name": name, "inputs": []} for name in names]
    return _with(cut + [{**n, "inputs": moved(n["inputs"])} for n in nodes], moved(heads), case, dict(zip(names, outputs, strict=True)))


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with fewer outputs or nodes, the smallest first."""
    graph = case.load()
    nodes, heads = graph.index.nodes, graph.index.output_entries
    values = numpy_graph.run_all(graph, case.inputs)
    calls = [k for k, node in enumerate(nodes) if node["op"] != "null"]
    # One node alone, or all that leads to it; fewer outputs.
    if len(heads) > 1:
        yield from (_with(nodes, [head], case, {}) for head in heads)
        yield from (_with(nodes, heads[:k] + heads[k + 1 :], case, {}) for k in range(len(heads)))
    read = {tuple(e[:2]) for node in nodes for e in node["inputs"]} | {tuple(e[:2]) for e in heads}
    single = [k for k in calls if not any((k, output) in read for output in range(1, len(values[k])))]
    for k in single:
        if [k, 0, 0] not in heads:
            yield _with(nodes, [[k, 0, 0]], case, {})
    for k in calls:
        if k not in single and len(calls) > 1:
            yield _with_inputs_for(k, nodes, heads, case, values[k])
    # A node's value as an input; an input of a node instead of its output.
    for k in single:
        if len(calls) > 1:
            cut = {"op": "null", "name": nodes[k]["name"], "inputs": []}
            yield _with(nodes[:k] + [cut] + nodes[k + 1 :], heads, case, {cut["name"]: values[k][0]})
        for number, output, *_ in nodes[k]["inputs"]:
            instead = values[number][output]
            if instead.shape == values[k][0].shape and instead.dtype == values[k][0].dtype:
                turned = lambda entries, k=k, to=(number, output): [[*to, 0] if e[0] == k else e for e in entries]
                yield _with([{**n, "inputs": turned(n["inputs"])} for n in nodes], turned(heads), case, {})


def _size(case: Case) -> tuple:
    nodes = json.loads(case.graph)["nodes"]
    return sum(node["op"] != "null" for node in nodes), len(nodes), len(json.loads(case.graph)["heads"])


def shrink(case: Case, fails: Callable[[Case], bool]) -> Case:
    """The case, or a smaller one that still fails, of which nothing more can be taken away."""
    while True:
        for smaller in _smaller(case):
            if _size(smaller) < _size(case) and fails(smaller):
                case = smaller
                break
        else:
            return case


def require_same(case: Case, compute: Callable[[Case], list], name: str):
    """Fails with the smallest case that shows the same kind of trouble, and says which file holds it."""
    found = trouble(case, compute)
    if found is None:
        return
    case = shrink(case, lambda smaller: kind_of(trouble(smaller, compute)) == kind_of(found))
    path = FAILURES / f"{name}.json"
    case.save(path)
    raise AssertionError(f"{trouble(case, compute)}\n{case.load().ir()}\n./tw python tests/support/check_graph.py {path}")


def rewriting_passes() -> list[list[str]]:
    """Each pass that a graph alone is enough for, behind those that give what it needs."""
    givers = {"layout": "CorrectLayout", "shape": "InferShape", "dtype": "InferType"}
    chains = []
    for row in tw.graph.passes():
        if row["name"] not in OTHER_PASSES:
            before = [giver for need, giver in givers.items() if need in row["needs"]]
            chains.append([*before, row["name"], *FOLLOWED_BY.get(row["name"], [])])
            if row["name"] in OF_SIMPLE_OPERATORS:
                chains.append(["InferShape", "SimplifyInference", *chains[-1]])
    return chains


# Passes that leave something to others, and passes that have more to do with what SimplifyInference makes.
FOLLOWED_BY = {"AlterOpLayout": ["CorrectLayout"], "MergeComposite": ["InlineFunctions"],
               "AnnotateTarget": ["MergeCompilerRegions", "PartitionGraph", "InlineFunctions"]}
OF_SIMPLE_OPERATORS = ("FoldScaleAxis", "CommonSubexpression", "DeadNodes", "AlterOpLayout")
# Passes that give something else than a graph which computes the same, or need to be told more.
OTHER_PASSES = {
    "SaveJSON": "gives an empty graph",
    "PrintGraphIR": "gives an empty graph",
    "LoadJSON": "reads another graph",
    "Gradient": "gives gradients",
    "GraphFuseCompile": "gives calls of kernels",
    "PrecomputePrune": "gives two graphs",
    "PlaceDevice": "is told devices",
}


def main(path: str) -> int:
    case = Case.read(Path(path))
    print(case.load().ir())
    checks = {str(options): lambda c, options=options: built(c, options) for options in BUILDS}
    checks |= {" ".join(chain): lambda c, chain=chain: rewritten(c, chain) for chain in rewriting_passes()}
    troubles = {name: text for name, compute in checks.items() if (text := trouble(case, compute))}
    for name, text in troubles.items():
        print(f"{name}: {text}")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
