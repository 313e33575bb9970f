"""Random networks that are valid by construction; `check_graph.py` says what is done with them.

`random_case(seed)` makes a network of operators of all families: shared producers, several outputs, residual connections,
convolutions with what usually follows them. Each value is computed when its node is made, so that none comes near an
infinity, a step of floor and the like, or elements that argmax could confuse.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym

import numpy_graph
from operators import OPERATORS
from operators.elements import MARGIN

MOST_ELEMENTS = 3000
MOST = 12.0  # absolute value of an element


@dataclass
class Case:
    """A network and the values of its variables; `params` are the names of those that builds may take for constant."""

    graph: str
    inputs: dict[str, np.ndarray]
    params: list[str] = field(default_factory=list)

    def load(self) -> tw.graph.Graph:
        return tw.graph.load_json(self.graph)

    def save(self, path: Path):
        inputs = {name: {"dtype": str(a.dtype), "shape": a.shape, "values": a.ravel().tolist()} for name, a in self.inputs.items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"graph": json.loads(self.graph), "inputs": inputs, "params": self.params}))

    @staticmethod
    def read(path: Path) -> Case:
        data = json.loads(Path(path).read_text())
        inputs = {name: np.asarray(v["values"], v["dtype"]).reshape(v["shape"]) for name, v in data["inputs"].items()}
        return Case(json.dumps(data["graph"]), inputs, data["params"])


@dataclass
class Value:
    symbol: sym.Symbol
    array: np.ndarray

    @property
    def shape(self) -> tuple:
        return self.array.shape


class Network:
    """A network that grows: `grow` adds a random part, every other time one of `often`, by name."""

    def __init__(self, random: np.random.Generator, often: tuple[str, ...] = ()):
        self._random = random
        self._often = often
        self._count = 0
        # Of all images: where an operator wants another one than its input has, CorrectLayout converts, so that a graph of
        # both means something else than its operators one by one.
        self.layout = "NHWC" if random.random() < 0.2 else "NCHW"
        self.inputs: dict[str, np.ndarray] = {}
        self._variables: dict[str, sym.Symbol] = {}
        self.params: list[str] = []
        self.values: list[Value] = []

    # What parts are made of.

    def one_of(self, choices):
        return choices[self._random.integers(len(choices))]

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def name(self, what: str) -> str:
        self._count += 1
        return f"{what}_{self._count}"

    def variable(self, shape, low=-2.0, high=2.0, param=False) -> Value:
        return self.given(self._random.uniform(low, high, shape).astype("float32"), param)

    def given(self, array, param=False) -> Value:
        """A variable that is that array."""
        name = self.name("p" if param else "x")
        self.inputs[name] = array
        if param:
            self.params.append(name)
        self._variables[name] = sym.Variable(name)
        return Value(self._variables[name], self.inputs[name])

    def weight(self, shape, fan) -> Value:
        return self.variable(shape, -1.5 / fan**0.5, 1.5 / fan**0.5, param=self.chance(0.8))

    def call(self, op: str, *given: Value, **attributes) -> Value | None:
        """The first output of an operator; None where that would not be safe to compare."""
        outputs = self.call_all(op, *given, **attributes)
        return outputs[0] if outputs else None

    def call_all(self, op: str, *given: Value | None, **attributes) -> list[Value]:
        if any(value is None for value in given):
            return []
        arrays = [value.array for value in given]
        needs = OPERATORS[op].needs
        if needs and attributes.get("dtype") != "float64" and not needs(*arrays):
            return []
        with np.errstate(all="ignore"):
            results = numpy_graph.compute(op, {k: str(v) for k, v in attributes.items()}, arrays)
        for r in results:
            rounded = r.dtype.kind == "f"  # others are compared exactly, however large
            if r.size == 0 or r.size > MOST_ELEMENTS or not np.isfinite(r).all() or rounded and np.abs(r).max() > MOST:
                return []
        symbol = getattr(sym, op)(*(value.symbol for value in given), name=self.name(op), **attributes)
        return [Value(symbol[k] if len(symbol) > 1 else symbol, results[k]) for k in range(len(symbol))]

    def keep(self, *values: Value | None):
        self.values += [v for v in values if v is not None]

    def pick(self, fits: Callable[[Value], bool] = lambda v: True) -> Value | None:
        """A value, a late one rather than an early one."""
        fitting = [v for v in self.values if v.array.dtype == np.float32 and fits(v)]
        return fitting[-1 - min(int(self._random.geometric(0.4)) - 1, len(fitting) - 1)] if fitting else None

    def pick_of_rank(self, *ranks: int) -> Value:
        value = self.pick(lambda v: v.array.ndim in ranks)
        if value is None:
            value = self.variable([self.one_of((1, 2, 3, 5, 7)) for _ in range(self.one_of(ranks))])
        return value

    def pick_images(self) -> Value:
        value = self.pick(lambda v: v.array.ndim == 4 and v.shape[2] > 1)
        if value is None or self.chance(0.1):
            n, c, h, w = (self.one_of(choices) for choices in ((1, 1, 2), (1, 3, 5, 8, 16), (5, 6, 7, 9), (4, 5, 7, 8)))
            value = self.variable((n, c, h, w) if self.layout == "NCHW" else (n, h, w, c))
        return value

    @property
    def _places(self) -> tuple:
        """Which dimensions of images are n, c, h and w."""
        return (0, 1, 2, 3) if self.layout == "NCHW" else (0, 3, 1, 2)

    def positive(self, x: Value | None) -> Value | None:
        """Between 0.5 and 1.5."""
        return self.call("__add_scalar__", self.call("sigmoid", x), scalar=0.5) if x else None

    # Parts, each of which keeps what it made.

    def unary(self):
        op = self.one_of(("relu", "relu", "sigmoid", "tanh", "exp", "negative", "abs", "sign", "floor", "ceil", "trunc", "round", "rint", "copy", "block_grad"))
        self.keep(self.call(op, self.pick_of_rank(0, 1, 2, 3, 4)))

    def unary_of_positive(self):
        op, attributes = self.one_of([("log", {}), ("sqrt", {}), ("__rdiv_scalar__", {"scalar": 0.5})])
        self.keep(self.call(op, self.positive(self.pick_of_rank(0, 1, 2, 3, 4)), **attributes))

    def with_attributes(self):
        x = self.pick_of_rank(0, 1, 2, 3, 4)
        op, attributes = self.one_of([
            ("leaky_relu", {"alpha": 0.1}), ("clip", {"a_min": -0.5, "a_max": 1.5}), ("clip", {"a_min": 0, "a_max": 6}),
            ("full_like", {"fill_value": 1.5}), ("ones_like", {}), ("zeros_like", {}), ("dropout", {"rate": 0.5}),
            ("__pow_scalar__", {"scalar": 2}), *[("__rpow_scalar__", {"scalar": 0.5})] * 2,
            *((f"__{f}_scalar__", {"scalar": s}) for f in ("add", "sub", "rsub", "mul", "div") for s in (0.5, -1.25, 3)),
        ])
        self.keep(self.call(op, x, **attributes))

    def converted(self):
        x = self.pick_of_rank(1, 2, 3)
        self.keep(self.call("cast", self.call("cast", x, dtype=self.one_of(("int32", "float64"))), dtype="float32"))

    def pointwise(self):
        x = self.pick_of_rank(0, 1, 2, 3, 4)
        y = self.pick(lambda v: v.shape == x.shape) or self.variable(x.shape, param=self.chance(0.3))
        op = self.one_of(("elemwise_add", "elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div", "greater", "less"))
        self.keep(self.call(op, x, self.positive(y) if op == "elemwise_div" else y))

    def total(self):
        x = self.pick_of_rank(1, 2, 3, 4)
        others = [self.pick(lambda v: v.shape == x.shape) or x for _ in range(self.one_of((1, 2)))]
        self.keep(self.call("elemwise_sum", x, *others, num_args=1 + len(others)))

    def broadcast(self):
        x = self.pick_of_rank(0, 1, 2, 3, 4)
        less = [1 if self.chance(0.4) else e for e in x.shape][self._random.integers(x.array.ndim + 1):]
        y = self.pick(lambda v: v.shape == tuple(less)) or self.variable(less, param=self.chance(0.6))
        op = self.one_of(("add", "add", "sub", "mul", "mul", "div", "max", "min", "pow", "equal", "not_equal", "greater", "greater_equal", "less", "less_equal"))
        if op in ("div", "pow"):
            x, y = self.positive(x), self.positive(y)
        self.keep(self.call(f"broadcast_{op}", *((x, y) if self.chance(0.7) else (y, x))))

    def convolution(self):
        """With batch_norm, a broadcast or a residual connection, and relu behind, or some of it."""
        x = self.pick_images()
        last = self.layout == "NHWC"
        kernel_layout = "HWIO" if last else "OIHW"
        n, c, h, w = (x.shape[k] for k in self._places)
        if self.chance(0.25):
            groups, channels = c, c * self.one_of((1, 1, 2))
        else:
            groups = self.one_of([g for g in (1, 1, 1, 2) if c % g == 0])
            channels = groups * self.one_of((1, 3, 4, 8, 16))
        kernel = (self.one_of([k for k in (1, 2, 3, 3) if k <= h]), self.one_of([k for k in (1, 3, 3) if k <= w] or [1]))
        same = self.chance(0.4) and all(k % 2 for k in kernel)
        attributes = {
            "channels": channels, "kernel_size": kernel, "groups": groups, "layout": self.layout, "kernel_layout": kernel_layout,
            "strides": (1, 1) if same else (self.one_of((1, 1, 2)), self.one_of((1, 2))),
            "padding": tuple(k // 2 for k in kernel) if same else self.one_of([(0, 0), (1, 1), (1, 0), (0, 1, 2, 1)]),
            "use_bias": self.chance(0.4),
        }
        if not same and max(kernel) * 2 - 1 <= min(h, w) and self.chance(0.2):
            attributes["dilation"] = (2, 2)
        by_name = {"O": channels, "I": c // groups, "H": kernel[0], "W": kernel[1]}
        fan = c // groups * kernel[0] * kernel[1]
        weight = self.weight([by_name[k] for k in kernel_layout], fan)
        bias = [self.variable((channels,), param=True)] if attributes["use_bias"] else []
        y = self.call("conv2d", x, weight, *bias, **attributes)
        if y is None:
            return
        axis = 3 if last else 1
        if self.chance(0.5):
            y = self.normalized(y, axis) or y
        if y.shape == x.shape and self.chance(0.6):
            y = self.call("elemwise_add", y, x) or y
        elif self.chance(0.3):
            aligned = (1, channels, 1, 1) if axis == 1 else (channels,)
            y = self.call(self.one_of(("broadcast_add", "broadcast_mul")), y, self.variable(aligned, param=True)) or y
        self.keep(y, self.call("relu", y) if self.chance(0.6) else None)

    def normalized(self, x: Value, axis: int) -> Value | None:
        c = x.shape[axis]
        # A negative gamma must not change places with relu.
        gamma = self.variable((c,), -1.5 if self.chance(0.3) else 0.5, 1.5, param=True)
        others = [self.variable((c,), -0.5, 0.5, param=True) for _ in range(2)]
        attributes = {"axis": axis, "epsilon": 1e-3, "scale": self.chance(0.8), "center": self.chance(0.8)}
        return self.call("batch_norm", x, gamma, *others, self.variable((c,), 0.5, 2, param=True), **attributes)

    def activated(self):
        """batch_norm and relu, for convolutions to come."""
        x = self.pick_images() if self.chance(0.7) else self.pick_of_rank(1, 2, 3)
        y = self.normalized(x, self._random.integers(x.array.ndim) if self.chance(0.3) else min(1, x.array.ndim - 1))
        self.keep(self.call("relu", y) if y and self.chance(0.7) else y)

    def slopes(self):
        x = self.pick_of_rank(2, 3, 4)
        self.keep(self.call("prelu", x, self.variable((x.shape[1],), 0, 1, param=True)))

    def pooling(self):
        x = self.pick_images()
        if self.chance(0.25):
            op = self.one_of(("global_avg_pool2d", "global_max_pool2d"))
            self.keep(self.call(op, x, layout=self.layout))
            return
        op, size = self.one_of(("max_pool2d", "avg_pool2d")), self.one_of([k for k in (1, 2, 3) if k <= min(x.shape[d] for d in self._places[2:])])
        attributes = {"pool_size": (size, size), "strides": self.one_of([(1, 1), (2, 2), (2, 1)]), "ceil_mode": self.chance(0.3),
                      "layout": self.layout}
        if size == 3:
            attributes["padding"] = self.one_of([(0, 0), (1, 1), (1, 0, 0, 1)])
        if op == "avg_pool2d":
            attributes["count_include_pad"] = self.chance(0.5)
        self.keep(self.call(op, x, **attributes))

    def product(self):
        """Of matrices, of vectors in more dimensions, and of batches of matrices; also of unlike ranks."""
        x = self.pick_of_rank(2, 2, 3)
        *batch, _, k = x.shape
        units = self.one_of((1, 3, 8, 10, 16))
        if self.chance(0.4):
            turned = self.chance(0.5)
            batch = self.one_of([[], batch, [1] * len(batch)])
            y = self.weight((*batch, *((units, k) if turned else (k, units))), k)
            self.keep(self.call("matmul", x, y, transpose_b=turned))
            return
        bias = [self.variable((units,), param=True)] if self.chance(0.6) else []
        y = self.call("dense", x, self.weight((units, k), k), *bias, units=units, use_bias=bool(bias))
        self.keep(self.call("relu", y) if y and self.chance(0.4) else y)

    def doubled(self):
        """A convolution or a product added to itself, or to what is behind it."""
        if (x := self.pick(lambda v: v.array.ndim == 4)) is None or self.layout != "NCHW":
            return
        c = x.shape[1]
        y = self.call("conv2d", x, self.weight((c, c, 1, 1), c), channels=c, kernel_size=(1, 1), use_bias=False)
        other = y and self.one_of([lambda: y, lambda: self.normalized(y, 1), lambda: self.call("relu", y)])()
        self.keep(self.call("elemwise_add", *((y, other) if self.chance(0.5) else (other, y))) if other else None)

    def along(self):
        x = self.pick_of_rank(1, 2, 3, 4)
        self.keep(self.call(self.one_of(("softmax", "softmax", "log_softmax")), x, axis=self._random.integers(-x.array.ndim, x.array.ndim)))

    def reduction(self):
        x = self.pick_of_rank(1, 2, 3, 4)
        axes = tuple(int(k) for k in self._random.permutation(x.array.ndim)[: self._random.integers(x.array.ndim + 1)])
        attributes = {"axis": axes, "keepdims": self.chance(0.4), "exclude": self.chance(0.2)}
        self.keep(self.call(self.one_of(("sum", "mean", "mean", "max", "min", "prod")), x, **attributes))

    def position(self):
        x = self.pick_of_rank(1, 2, 3)
        axis = int(self._random.integers(x.array.ndim))
        ordered = np.sort(x.array, axis)
        if (np.diff(ordered, axis=axis) > MARGIN).all():
            found = self.call(self.one_of(("argmax", "argmin")), x, axis=axis, keepdims=self.chance(0.5))
            self.keep(self.call("cast", found, dtype="float32") if found and self.chance(0.7) else found)

    def shape(self):
        x = self.pick_of_rank(1, 2, 3, 4)
        rank = x.array.ndim
        moves: list = [
            ("flatten", {}), ("transpose", {"axes": tuple(map(int, self._random.permutation(rank)))}), ("squeeze", {}),
            ("expand_dims", {"axis": int(self._random.integers(rank + 1)), "num_newaxis": self.one_of((1, 2))}),
            ("reshape", {"shape": (-1,)}), ("reshape", {"shape": (0, -1)}), ("reshape", {"shape": (-2, 1)}),
            ("flip", {"axis": int(self._random.integers(rank))}),
            ("broadcast_to", {"shape": (self.one_of((1, 2)), *x.shape)}),
            ("strided_slice", {"begin": (1 if x.shape[0] > 1 else 0,), "end": (x.shape[0],)}),
            ("strided_slice", {"begin": (x.shape[0] - 1,) + (0,) * (rank - 1), "end": (-x.shape[0] - 1, *x.shape[1:]), "stride": (-1, *[2] * (rank - 1))}),
            ("pad", {"pad_width": tuple((self.one_of((0, 1)), self.one_of((0, 2))) for _ in x.shape), "pad_value": self.one_of((0, 0.5))}),
        ]
        if rank >= 2:
            moves += [("reshape", {"shape": (-3, -2)})] * 2
        if rank == 4:
            moves += [("upsampling", {"scale": 2, "layout": self.layout})] * 3
        op, attributes = self.one_of(moves)
        self.keep(self.call(op, x, **attributes))

    def shape_of_another(self):
        x, like = self.pick_of_rank(1, 2, 3, 4), self.pick_of_rank(2, 3, 4)
        if self.chance(0.3):
            less = self.call("mean", like, axis=int(self._random.integers(like.array.ndim)), keepdims=True)
            op = self.one_of(("collapse_sum", "broadcast_to_like", "cast_like"))
            self.keep(self.call(op, *((like, less) if op == "collapse_sum" else (less, like))))
            return
        if x.array.size == like.array.size:
            self.keep(self.call("reshape_like", x, like))
        elif x.shape == like.shape[1:]:
            self.keep(self.call("expand_like", x, like, axis=0))
        else:
            less = self.call("mean", like, axis=1)
            self.keep(self.call("expand_like", less, like, axis=1) if less else None)

    def joined(self):
        x = self.pick_of_rank(1, 2, 3, 4)
        axis = int(self._random.integers(x.array.ndim))
        rest = lambda v: v.shape[:axis] + v.shape[axis + 1 :]
        others = [self.pick(lambda v: v.array.ndim == x.array.ndim and rest(v) == rest(x)) or x for _ in range(self.one_of((1, 1, 2)))]
        self.keep(self.call("concatenate", x, *others, axis=axis))

    def parts(self):
        x = self.pick_of_rank(1, 2, 3, 4)
        axis = int(self._random.integers(x.array.ndim))
        extent = x.shape[axis]
        if extent > 1:
            sections = self.one_of([k for k in (2, 3, 5, extent) if extent % k == 0 and k <= 7] or [(1,)])
            self.keep(*self.call_all("split", x, indices_or_sections=self.one_of([sections, (extent // 2,)]), axis=axis))

    def residual(self):
        x = self.pick_of_rank(1, 2, 3, 4)
        inner = self.call(self.one_of(("tanh", "relu", "sigmoid")), x)
        inner = self.call("elemwise_mul", inner, self.variable(x.shape, param=self.chance(0.5))) if inner and self.chance(0.5) else inner
        self.keep(self.call("elemwise_add", inner, x))

    def twice(self):
        """One thing computed twice, or undone."""
        x = self.pick_of_rank(1, 2, 3, 4)
        rank = x.array.ndim
        turned = tuple(map(int, self._random.permutation(rank)))
        op, attributes, back = self.one_of([
            ("sigmoid", {}, {}), ("__mul_scalar__", {"scalar": 0.5}, {"scalar": 0.5}), ("flip", {"axis": rank - 1}, {"axis": rank - 1}),
            ("transpose", {"axes": turned}, {"axes": tuple(turned.index(k) for k in range(rank))}),
        ])
        first = self.call(op, x, **attributes)
        again = self.call(op, x if self.chance(0.5) else first, **(attributes if self.chance(0.5) else back)) if first else None
        self.keep(first, again)

    def slope(self):
        """The gradient of a value by one of the variables, whose own functions of elements are safe to compare too."""
        y = self.pick(lambda v: v.symbol.list_input_names())
        if y is None:
            return
        x = self.one_of(y.symbol.list_input_names())
        try:
            gradient, = tw.compiler.graph_util.gradients(y.symbol, [self._variables[x]])
        except tw.UserError as error:  # it ends at whole numbers
            assert error.code == "no-gradient"
            return
        graph = tw.graph.create(gradient)
        if len(graph.index.nodes) > 60:
            return
        values = numpy_graph.run_all(graph, self.inputs)
        for node, results in zip(graph.index.nodes, values, strict=True):
            need = OPERATORS[node["op"]].needs if node["op"] in OPERATORS else None
            if any(not np.isfinite(r).all() or r.size > MOST_ELEMENTS or np.abs(r).max(initial=0) > MOST for r in results):
                return
            if need and not need(*(values[k][output] for k, output, *_ in node["inputs"])):
                return
        (at, output, *_), = graph.index.output_entries
        self.keep(Value(gradient, values[at][output]))

    def filled(self):
        op = self.one_of(("zeros", "ones", "full"))
        self.keep(self.call(op, shape=self.one_of([(3,), (1, 5), (2, 3, 5)]), **({"fill_value": 0.5} if op == "full" else {})))

    def grow(self):
        """Operators whose rows say how they come about, and the parts above."""
        if self._often and self.chance(0.5):
            getattr(self, self.one_of(self._often))()
            return
        part = self.one_of(
            [self.convolution] * 6 + [self.activated, self.pooling, self.broadcast, self.shape] * 2
            + [self.unary, self.unary_of_positive, self.with_attributes, self.converted, self.pointwise, self.total, self.slopes,
               self.product, self.product, self.doubled, self.along, self.reduction, self.reduction, self.position, self.shape_of_another,
               self.joined, self.parts, self.slope, self.slope, self.residual, self.residual, self.twice, self.filled])
        grown = [row.grow for row in OPERATORS.values() if row.grow]
        if grown and self.chance(0.5):
            self.one_of(grown)(self)
        else:
            part()

    def case(self) -> Case:
        """What nothing reads is an output, and now and then another value too."""
        read = {tuple(i[:2]) for node in self._index().nodes for i in node["inputs"]}
        index = self._index()
        entries = [tuple(e[:2]) for e in index.output_entries]
        outputs = [v for v, e in zip(self.values, entries, strict=True) if e not in read or self.chance(0.05)] or self.values[-1:]
        graph = tw.graph.create(sym.Group([v.symbol for v in outputs[-6:]]))
        used = set(graph.index.input_names)
        return Case(graph.json(), {n: a for n, a in self.inputs.items() if n in used}, [n for n in self.params if n in used])

    def _index(self):
        return tw.graph.create(sym.Group([v.symbol for v in self.values])).index


def random_case(seed: int, most_parts: int = 9, often: tuple[str, ...] = ()) -> Case:
    random = np.random.default_rng(seed)
    network = Network(random, often)
    parts = int(random.integers(1, most_parts + 1))
    for _ in range(8 * parts):
        network.grow()
        if len(network.values) >= parts:
            break
    else:
        network.keep(network.variable((3,)))
    return network.case()
