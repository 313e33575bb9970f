# SPDX-License-Identifier: Apache-2.0
"""The table of networks by name: what `autotune NETWORK`, the benchmarks and the tests take them from.

    symbol, params = zoo.get("resnet18")
"""

import difflib as _difflib
from typing import NamedTuple as _NamedTuple

from .._core import raise_error as _raise_error
from . import convnet, mlp, mobilenet, mobilenet_v2, resnet, squeezenet, vgg


class Network(_NamedTuple):
    """A row of the table.

    Attributes
    ----------
    name: str
    module: module
        Where its `get_symbol` and `get_workload` are.
    arguments: dict
        What both are given.
    image_shape: tuple of int
        Of one image, (channels, rows, columns), unless a user says otherwise.
    doc: str
    dtype: str
        Element type, unless a user says otherwise.
    """

    name: str
    module: object
    arguments: dict
    image_shape: tuple
    doc: str
    dtype: str = "float32"

    def get_workload(self, batch_size=1, image_shape=None, dtype=None, **arguments):
        """(symbol, params), as `get`."""
        return self.module.get_workload(
            batch_size=batch_size, image_shape=tuple(image_shape or self.image_shape), dtype=dtype or self.dtype, **{**self.arguments, **arguments}
        )


_IMAGE = (3, 224, 224)
_ROWS = (
    Network("convnet", convnet, {}, (13, 100, 100), "two convolutions, a product and softmax, to try things out", "float64"),
    Network("mlp", mlp, {"num_classes": 10}, (1, 28, 28), "three products with relu between them"),
    Network("resnet18", resnet, {"num_layers": 18}, _IMAGE, "residual network, 18 layers"),
    Network("resnet34", resnet, {"num_layers": 34}, _IMAGE, "residual network, 34 layers"),
    Network("resnet50", resnet, {"num_layers": 50}, _IMAGE, "residual network with bottlenecks, 50 layers"),
    Network("vgg11", vgg, {"num_layers": 11}, _IMAGE, "stacks of 3 by 3 convolutions, 11 layers"),
    Network("vgg16", vgg, {"num_layers": 16}, _IMAGE, "stacks of 3 by 3 convolutions, 16 layers"),
    Network("vgg19", vgg, {"num_layers": 19}, _IMAGE, "stacks of 3 by 3 convolutions, 19 layers"),
    Network("vgg16_bn", vgg, {"num_layers": 16, "batch_norm": True}, _IMAGE, "vgg16 with batch_norm"),
    Network("mobilenet", mobilenet, {}, _IMAGE, "depthwise and 1 by 1 convolutions in turn (version 1)"),
    Network("mobilenet_v2", mobilenet_v2, {}, _IMAGE, "inverted residuals with linear bottlenecks"),
    Network("squeezenet", squeezenet, {"version": "1.1"}, _IMAGE, "squeezing and expanding convolutions, version 1.1"),
    Network("squeezenet1.0", squeezenet, {"version": "1.0"}, _IMAGE, "squeezing and expanding convolutions, version 1.0"),
)
NETWORKS = {row.name: row for row in _ROWS}


def find(name):
    """Network: the row of that name.

    Raises
    ------
    UserError (bad-argument)
        With the nearest name.
    """
    if name in NETWORKS:
        return NETWORKS[name]
    near = _difflib.get_close_matches(str(name), NETWORKS, 1)
    hint = f"; the nearest is '{near[0]}'" if near else ""
    _raise_error("bad-argument", f"there is no network '{name}'{hint}", legal=", ".join(NETWORKS))


def get(name, batch_size=1, image_shape=None, dtype=None, **arguments):
    """A network with random parameters.

    Parameters
    ----------
    name: str
        One of NETWORKS.
    image_shape: tuple of int, optional
        (channels, rows, columns) of one image, by default that of the table; the input "data" is of shape
        (batch_size, *image_shape).
    arguments
        Further ones of the network's get_workload, such as num_classes, and of utils.create_workload.

    Returns
    -------
    (Symbol, dict of str to NDArray)

    Raises
    ------
    UserError (bad-argument, shape-conflict)
        Where there is no such network, or the images are too small for it.
    """
    return find(name).get_workload(batch_size, image_shape, dtype, **arguments)
