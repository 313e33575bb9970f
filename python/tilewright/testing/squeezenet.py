# SPDX-License-Identifier: Apache-2.0
"""Convolutions that squeeze channels, and two beside each other that expand them. NNVM's `nnvm.testing.squeezenet`.

"SqueezeNet: AlexNet-level accuracy with 50x fewer parameters and <0.5MB model size" (Iandola et al. 2016).
"""

from .. import symbol as sym
from .._core import raise_error
from .utils import create_workload

# Channels, kernel and padding of the first convolution, and what follows: channels to which a block squeezes, of which
# each half of its output has four times as many; "pool" is a pooling.
_VERSIONS = {
    "1.0": ((96, 7, 3), ("pool", 16, 16, 32, "pool", 32, 48, 48, 64, "pool", 64)),
    "1.1": ((64, 3, 1), ("pool", 16, 16, "pool", 32, 32, "pool", 48, 48, 64, 64)),
}


def _conv(data, channels, kernel, padding, name, stride=1):
    data = sym.conv2d(data, channels=channels, kernel_size=(kernel, kernel), strides=(stride, stride),
                      padding=(padding, padding), name=name)
    return sym.relu(data, name=f"{name}_relu")


def get_symbol(num_classes=1000, version="1.0"):
    """Symbol: the shares (n, num_classes) of images (n, 3, h, w), with h and w 32 or more.

    version: "1.0" or "1.1".
    """
    if version not in _VERSIONS:
        raise_error("bad-argument", f"squeezenet of version '{version}'", legal=", ".join(_VERSIONS))
    (channels, kernel, padding), layers = _VERSIONS[version]
    body = _conv(sym.Variable("data"), channels, kernel, padding, "conv1", stride=2)
    for number, layer in enumerate(layers, 1):
        if layer == "pool":
            body = sym.max_pool2d(body, pool_size=(3, 3), strides=(2, 2), name=f"pool{number}")
            continue
        body = _conv(body, layer, 1, 0, f"fire{number}_squeeze")
        halves = [_conv(body, 4 * layer, k, k // 2, f"fire{number}_expand{k}x{k}") for k in (1, 3)]
        body = sym.concatenate(*halves, axis=1, name=f"fire{number}")
    body = _conv(sym.dropout(body, rate=0.5, name="drop"), num_classes, 1, 0, "conv_last")
    body = sym.flatten(sym.global_avg_pool2d(body, name="pool_last"), name="flatten")
    return sym.softmax(body, name="softmax")


def get_workload(batch_size=1, num_classes=1000, version="1.0", image_shape=(3, 224, 224), dtype="float32", **options):
    """(symbol, params); `options` are those of utils.create_workload."""
    return create_workload(get_symbol(num_classes, version), batch_size, image_shape, dtype, **options)
