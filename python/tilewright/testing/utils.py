# SPDX-License-Identifier: Apache-2.0
"""Parameters for networks. NNVM's `nnvm.testing.utils`."""

import numpy as np

from .. import graph as _graph, nd as _nd
from ..compiler import graph_util as _graph_util
from .init import Xavier


def create_workload(net, batch_size, image_shape=(3, 224, 224), dtype="float32", initializer=None, seed=0):
    """A network with random parameters, the same for the same seed.

    Parameters
    ----------
    net: Symbol
        Its input is the variable "data", of shape (batch_size, *image_shape); all other variables are parameters.
    initializer: Initializer, optional
        By default Xavier with what keeps values in range from layer to layer: magnitude 6 for each input of a sum.
    seed: int
        Of the default initializer.

    Returns
    -------
    (Symbol, dict of str to NDArray)
        Moving variances are those that data of variance 1 would bring about, so that however deep a network is, its
        outputs are finite and not all alike.
    """
    initializer = initializer or Xavier(factor_type="in", magnitude=6, seed=seed)
    graph = _graph.create(net)
    shapes, _ = _graph_util.infer_shape(graph, data=(batch_size, *image_shape))
    params, views = {}, {}
    for name, shape in zip(graph.index.input_names, shapes, strict=True):
        if name == "data":
            continue
        params[name] = _nd.empty(tuple(shape), dtype)
        views[name] = np.from_dlpack(params[name])
        initializer(name, views[name])
    _set_variances(graph.index, views)
    return net, params


def _set_variances(index, values):
    """Multiplies each moving variance by the mean square of what its batch_norm is given, as far as it is known from
    the weights, whose signs are random."""
    squares = []  # of each node's first output

    def of_product(node, given):
        weight = values[index.nodes[node["inputs"][1][0]]["name"]].astype("float32", copy=False)
        channels = 0 if node["op"] == "dense" else node["attrs"].get("kernel_layout", "OIHW").index("O")
        return given[0] * float(np.vdot(weight, weight)) / weight.shape[channels]

    def of_normalized(node, given):
        values[index.nodes[node["inputs"][4][0]]["name"]][...] *= given[0]
        return 1.0

    changed = {
        "conv2d": of_product,
        "dense": of_product,
        "batch_norm": of_normalized,
        "relu": lambda node, given: given[0] / 2,
        "clip": lambda node, given: given[0] / 2,
        "elemwise_add": lambda node, given: sum(given),
        "concatenate": lambda node, given: sum(given) / len(given),
    }
    for node in index.nodes:
        given = [squares[number] for number, *_ in node["inputs"]]
        rule = changed.get(node["op"], lambda _, given: given[0] if given else 1.0)
        squares.append(rule(node, given))
