# SPDX-License-Identifier: Apache-2.0
"""Stacks of 3 by 3 convolutions. NNVM's `nnvm.testing.vgg`.

"Very Deep Convolutional Networks for Large-Scale Image Recognition" (Simonyan and Zisserman 2014).
"""

from .. import symbol as sym
from .._core import raise_error
from .utils import create_workload

_CHANNELS = (64, 128, 256, 512, 512)
# Convolutions of each stack, by the number of layers.
_STACKS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


def get_symbol(num_classes=1000, num_layers=11, batch_norm=False):
    """Symbol: the shares (n, num_classes) of images (n, 3, h, w), with h and w 32 or more.

    num_layers: 11, 13, 16 or 19. batch_norm: whether convolutions are normalized.
    """
    if num_layers not in _STACKS:
        raise_error("bad-argument", f"a vgg of {num_layers} layers", legal=", ".join(map(str, _STACKS)))
    body = sym.Variable("data")
    for i, (count, channels) in enumerate(zip(_STACKS[num_layers], _CHANNELS, strict=True), 1):
        for j in range(1, count + 1):
            body = sym.conv2d(body, channels=channels, kernel_size=(3, 3), padding=(1, 1), name=f"conv{i}_{j}")
            if batch_norm:
                body = sym.batch_norm(body, name=f"bn{i}_{j}")
            body = sym.relu(body, name=f"relu{i}_{j}")
        body = sym.max_pool2d(body, pool_size=(2, 2), strides=(2, 2), name=f"pool{i}")
    body = sym.flatten(body, name="flatten")
    for k in (6, 7):
        body = sym.relu(sym.dense(body, units=4096, name=f"fc{k}"), name=f"relu{k}")
        body = sym.dropout(body, rate=0.5, name=f"drop{k}")
    return sym.softmax(sym.dense(body, units=num_classes, name="fc8"), name="softmax")


def get_workload(batch_size=1, num_classes=1000, image_shape=(3, 224, 224), dtype="float32", num_layers=11, batch_norm=False,
                 **options):
    """(symbol, params); `options` are those of utils.create_workload."""
    return create_workload(get_symbol(num_classes, num_layers, batch_norm), batch_size, image_shape, dtype, **options)
