"""Elements at the places that integers name: taken, chosen and written."""

import math

import numpy as np

from operators.arrays import number
from operators.mathematics import grown_integers, whole
from operators.row import Operator


def place(index, extent, mode="fast"):
    """What an integer says of a place in an extent: clip, wrap, or fast, from the end where negative."""
    index = np.asarray(index, "int64")
    if mode == "wrap":
        return index % max(extent, 1)
    if mode == "fast":
        index = np.where(index < 0, index + extent, index)
    return np.clip(index, 0, max(extent - 1, 0))


def _take(a, x, indices):
    if a.axis is None:
        return x.ravel()[place(indices, x.size, a.mode)]
    axis = a.axis % x.ndim
    at = place(indices, x.shape[axis], a.mode)
    if a.batch_dims == 0:
        return np.take(x, at, axis)
    batch = x.shape[: a.batch_dims]
    parts = [np.take(x[b], at[b], axis - a.batch_dims) for b in np.ndindex(batch)]
    return np.stack(parts).reshape(*batch, *parts[0].shape)


def _gather(a, x, indices):
    result = np.empty(indices.shape, x.dtype)
    for p in np.ndindex(indices.shape):
        q = list(p)
        if a.mode == "skip" and not 0 <= indices[p] < x.shape[a.axis]:
            result[p] = 0
            continue
        q[a.axis] = place(indices[p], x.shape[a.axis], a.mode)
        result[p] = x[tuple(q)]
    return result


def _gather_grad(a, grad, x, indices):
    result = np.zeros_like(x)
    for p in np.ndindex(indices.shape):
        q = list(p)
        q[a.axis] = place(indices[p], x.shape[a.axis], a.mode)
        if a.mode != "skip" or 0 <= indices[p] < x.shape[a.axis]:
            result[tuple(q)] += grad[p]
    return result


def _columns(shape, indices, batch=0):
    """For each column of indices, [m, y...], where it is in y, and what it names of a shape."""
    for y in np.ndindex(indices.shape[1:]):
        names = (place(indices[(m, *y)], shape[batch + m]) for m in range(indices.shape[0]))
        yield y, (*y[:batch], *map(int, names))


def _gather_nd(a, x, indices):
    result = np.empty((*indices.shape[1:], *x.shape[a.batch_dims + indices.shape[0]:]), x.dtype)
    for y, at in _columns(x.shape, indices, a.batch_dims):
        result[y] = x[at]
    return result


def _transposed(forward):
    """The gradient of a linear function of x that only moves elements: where each of them went, by sending numbers through it."""

    def compute(a, grad, x, indices):
        went = forward(a, np.arange(x.size).reshape(x.shape), indices)
        result = np.zeros(x.size, x.dtype)
        np.add.at(result, went.ravel(), grad.ravel())
        return result.reshape(x.shape)

    return compute


WRITTEN = {"update": lambda old, new: new, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def _scatter(a, x, indices, updates):
    result, write = x.copy(), WRITTEN[a.get("reduction", "add")]
    for p in np.ndindex(indices.shape):
        q = list(p)
        q[a.axis] = place(indices[p], x.shape[a.axis])
        result[tuple(q)] = write(result[tuple(q)], updates[p])
    return result


def _scatter_nd(a, x, indices, updates):
    result = x.copy()
    for y, at in _columns(x.shape, indices):
        result[at] = WRITTEN[a.mode](result[at], updates[y])
    return result


def _one_hot(a, indices):
    axis = a.axis % (indices.ndim + 1)
    index = np.expand_dims(np.where(indices < 0, indices + a.depth, indices), axis)
    positions = np.arange(a.depth).reshape([-1 if k == axis else 1 for k in range(indices.ndim + 1)])
    type_ = a.element_type("dtype")
    return np.where(index == positions, number(a.on_value, type_), number(a.off_value, type_)).astype(type_)


def _orders(shape, seed, dtype):
    """Along the first dimension each place once, from -1 on."""
    return (np.argsort(np.random.default_rng(seed).random(shape), axis=0) - 1).astype("int64")


def _spread(shape, seed, dtype):
    """Each another, from -1 on."""
    return (np.arange(math.prod(shape)).reshape(shape) - 1).astype("int32")


def _truths(shape, seed, dtype):
    return np.asarray(np.random.default_rng(seed).integers(0, 2, shape), dtype)


def _positions(network, shape):
    return grown_integers(network, shape, -4, 4)


def _grow_take(network):
    x = network.pick_of_rank(1, 2, 3, 4)
    axis = network.one_of([*range(-x.array.ndim, x.array.ndim), "None"])
    network.keep(network.call("take", x, _positions(network, network.one_of([(), (3,), (2, 2)])), axis=axis, mode=network.one_of(("clip", "wrap", "fast"))))


def _grow_gather(network):
    x = network.pick_of_rank(1, 2, 3)
    axis = network.one_of(range(x.array.ndim))
    shape = [4 if k == axis else e for k, e in enumerate(x.shape)]
    network.keep(network.call("gather", x, _positions(network, shape), axis=axis))


def _grow_scatter(network):
    x = network.pick_of_rank(1, 2, 3)
    axis = network.one_of(range(x.array.ndim))
    shape = [4 if k == axis else e for k, e in enumerate(x.shape)]
    op, attributes = network.one_of([("scatter_add", {}), ("scatter_elements", {"reduction": "add"})])
    network.keep(network.call(op, x, _positions(network, shape), network.variable(shape), axis=axis, **attributes))


def _grow_gather_nd(network):
    x = network.pick_of_rank(2, 3)
    network.keep(network.call("gather_nd", x, _positions(network, (network.one_of((1, 2)), 3))))


def _grow_scatter_nd(network):
    x = network.pick_of_rank(2, 3)
    named = network.one_of((1, 2))
    network.keep(network.call("scatter_nd", x, _positions(network, (named, 3)), network.variable((3, *x.shape[named:])), mode="add"))


def _grow_where(network):
    x = network.pick_of_rank(1, 2, 3)
    condition = network.call("__greater_scalar__", network.variable(x.shape[-1:]), scalar=0)
    network.keep(network.call("where", condition, x, network.variable(x.shape)))


def _grow_embedding(network):
    network.keep(network.call("embedding", _positions(network, (2, 3)), network.variable((5, 4), param=True)))


def _grow_one_hot(network):
    network.keep(network.call("one_hot", _positions(network, (3,)), depth=4))


INDICES = {1: whole(-9, 9)}
OF_SECOND = {2: whole(-9, 9)}
TAKE = [([(3, 5), (2, 3)], {"axis": 0}), ([(3, 5), ()], {"axis": -1, "mode": "wrap"}), ([(3, 5), (4,)], {"mode": "fast"}), ([(2, 7, 3), (2, 4)], {"axis": 1, "batch_dims": 1}),
        ([(2, 3, 5), (2, 3, 2)], {"axis": 2, "batch_dims": 2, "mode": "fast"}), ([(5, 0), (2,)], {"axis": 0}), ([(3, 5), (0,)], {"axis": 1})]
GATHER = [([(3, 5), (4, 5)], {}), ([(3, 5, 2), (2, 4, 1)], {"axis": 1}), ([(7,), (3,)], {"axis": -1}), ([(3, 0), (2, 0)], {}),
          *(([(3, 5), (3, 7)], {"axis": -1, "mode": mode}) for mode in ("skip", "clip", "wrap")), ([(5, 2), (3, 2)], {"axis": 0, "mode": "skip"}),
          ([(2, 5, 3), (2, 1, 3)], {"axis": 1, "mode": "skip"})]
GATHER_ND = [([(3, 5), (2, 4)], {}), ([(3, 5, 2), (1, 2, 3)], {}), ([(2, 3, 5), (1, 2, 4)], {"batch_dims": 1}), ([(3, 5), (0, 2)], {}), ([(4,), (1,)], {})]
SCATTER = [([(3, 5), (3, 4), (3, 4)], {}), ([(5, 3, 2), (2, 7, 2), (2, 7, 2)], {"axis": 1}), ([(9,), (4,), (4,)], {"axis": -1})]


def _grads(cases, forward):
    """Cases of a gradient: of the output's shape, the input's and the indices'."""
    shape_of = {"take": _take, "gather": _gather, "gather_nd": _gather_nd}[forward]
    return [([shape_of(Given(attributes), np.zeros(x), np.zeros(indices, "int32")).shape, x, indices], attributes) for (x, indices), attributes in cases]


class Given:
    """Attributes with the initial values of the family."""

    def __init__(self, given):
        self.__dict__.update({"axis": None, "batch_dims": 0, "mode": "clip"} | given)
        if "axis" not in given and "mode" not in given:
            self.axis = 0


OPERATORS = {
    "take": Operator(_take, TAKE, samples=INDICES, grow=_grow_take),
    "_take_grad": Operator(_transposed(_take), _grads(TAKE, "take"), samples=OF_SECOND),
    "embedding": Operator(lambda a, indices, weight: weight[place(indices, weight.shape[0])], [([(2, 3), (7, 5)], {}), ([(), (4, 1)], {"input_dim": 4, "output_dim": 1})],
                          samples={0: whole(-9, 9)}, grow=_grow_embedding),
    "gather": Operator(_gather, GATHER, samples=INDICES, grow=_grow_gather),
    "_gather_grad": Operator(_gather_grad, _grads(GATHER, "gather"), samples=OF_SECOND),
    "gather_nd": Operator(_gather_nd, GATHER_ND, samples=INDICES, grow=_grow_gather_nd),
    "_gather_nd_grad": Operator(_transposed(_gather_nd), _grads(GATHER_ND, "gather_nd"), samples=OF_SECOND),
    "one_hot": Operator(_one_hot, [([(3, 2)], {"depth": 5, "axis": 1}), ([()], {"depth": 3, "on_value": 2.5, "off_value": -1}), ([(4,)], {"depth": 2, "dtype": "int8"})],
                        samples={0: whole(-4, 5)}, gradient="ends", grow=_grow_one_hot),
    "where": Operator(lambda a, c, x, y: np.where(c, x, y), [([(3, 5)] * 3, {}), ([(5,), (2, 3, 1), ()], {}), ([(), (), ()], {})], samples={0: _truths}, grow=_grow_where),
    "scatter_elements": Operator(_scatter, [*SCATTER[:1], ([(0, 2), (0, 2), (0, 2)], {}),
                                            *((case, attributes | {"reduction": r}) for case, attributes in SCATTER for r in ("add", "mul", "min", "max"))],
                                 samples={1: _orders}, grow=_grow_scatter),
    "scatter_add": Operator(_scatter, SCATTER, samples={1: whole(-9, 9)}),
    "scatter_nd": Operator(_scatter_nd, [([(5, 3), (1, 3), (3, 3)], {}), ([(4, 5), (2, 4), (4,)], {})]
                           + [([(3, 5, 2), (2, 7), (7, 2)], {"mode": mode}) for mode in ("add", "mul", "min", "max")], samples={1: _spread}, grow=_grow_scatter_nd),
}
