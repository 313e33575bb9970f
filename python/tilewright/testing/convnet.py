# SPDX-License-Identifier: Apache-2.0
"""Two convolutions and what they were given added to them, a product and softmax: the network on which NNVM's fusion
was explained."""

from .. import symbol as sym
from .utils import create_workload


def get_symbol(num_classes=10, channels=13, **_):
    """Symbol: the sum of the probabilities, shape (1, 1), of images with that many channels."""
    data = sym.Variable("data")
    body = data
    for number in (1, 2):
        body = sym.conv2d(body, channels=channels, kernel_size=(3, 3), padding=(1, 1), name=f"conv{number}")
        body = sym.relu(body, name=f"relu{number}")
    body = sym.flatten(data + body)
    body = sym.softmax(sym.dense(body, units=num_classes, name="fc"))
    return sym.sum(body, keepdims=True)


def get_workload(batch_size=1, image_shape=(13, 100, 100), dtype="float32", num_classes=10, **arguments):
    """(symbol, params): see utils.create_workload."""
    net = get_symbol(num_classes, channels=image_shape[0])
    return create_workload(net, batch_size, image_shape, dtype, **arguments)
