# SPDX-License-Identifier: Apache-2.0
"""Residual networks whose activations stand before convolutions. NNVM's `nnvm.testing.resnet`.

"Identity Mappings in Deep Residual Networks" (He et al. 2016).
"""

from .. import symbol as sym
from .._core import raise_error
from .utils import create_workload

# Residual units of each of the four stages, by the number of layers.
_UNITS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def _activated(data, name, number=""):
    data = sym.batch_norm(data, epsilon=2e-5, name=f"{name}bn{number}")
    return sym.relu(data, name=f"{name}relu{number}")


def _conv(data, channels, kernel, stride, name):
    return sym.conv2d(data, channels=channels, kernel_size=(kernel, kernel), strides=(stride, stride),
                      padding=(kernel // 2, kernel // 2), use_bias=False, name=name)


def _residual_unit(data, channels, stride, same_shape, name, bottleneck):
    """(kernel, channels, stride) of each convolution of the branch; the shortcut has one where shapes differ."""
    quarter = channels // 4
    branch = [(1, quarter, stride), (3, quarter, 1), (1, channels, 1)] if bottleneck else [(3, channels, stride), (3, channels, 1)]
    body, first = data, None
    for k, (kernel, width, step) in enumerate(branch, 1):
        body = _activated(body, f"{name}_", k)
        first = first or body
        body = _conv(body, width, kernel, step, f"{name}_conv{k}")
    shortcut = data if same_shape else _conv(first, channels, 1, stride, f"{name}_sc")
    return sym.elemwise_add(body, shortcut, name=f"{name}_plus")


def _units_of(num_layers, height):
    """Units of the stages, channels of the first convolution and of the stages, and whether units have bottlenecks."""
    if height > 28:
        if num_layers not in _UNITS:
            raise_error("bad-argument", f"a resnet of {num_layers} layers", legal=", ".join(map(str, _UNITS)))
        bottleneck = num_layers >= 50
        return _UNITS[num_layers], (64, *((c * 4 if bottleneck else c) for c in (64, 128, 256, 512))), bottleneck
    per_stage, rest = divmod(num_layers - 2, 6)
    if rest or per_stage < 1:
        raise_error("bad-argument", f"a resnet of {num_layers} layers for images of {height} rows", legal="6 * n + 2 layers")
    return (per_stage,) * 3, (16, 16, 32, 64), False


def get_symbol(num_classes=1000, num_layers=18, image_shape=(3, 224, 224)):
    """Symbol: the shares (n, num_classes) of images (n, *image_shape).

    Images of up to 28 rows have three stages and 6 * n + 2 layers, larger ones four and 18, 34, 50, 101 or 152.
    """
    height = image_shape[1]
    units, channels, bottleneck = _units_of(num_layers, height)
    body = sym.batch_norm(sym.Variable("data"), epsilon=2e-5, scale=False, name="bn_data")
    if height <= 32:
        body = _conv(body, channels[0], 3, 1, "conv0")
    else:
        body = _activated(_conv(body, channels[0], 7, 2, "conv0"), "", 0)
        body = sym.max_pool2d(body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), name="pool0")
    for stage, (count, width) in enumerate(zip(units, channels[1:], strict=True), 1):
        for unit in range(1, count + 1):
            stride = 2 if stage > 1 and unit == 1 else 1
            body = _residual_unit(body, width, stride, unit > 1, f"stage{stage}_unit{unit}", bottleneck)
    body = sym.global_avg_pool2d(_activated(body, "", 1), name="pool1")
    body = sym.dense(sym.flatten(body, name="flatten"), units=num_classes, name="fc1")
    return sym.softmax(body, name="softmax")


def get_workload(batch_size=1, num_classes=1000, num_layers=18, image_shape=(3, 224, 224), dtype="float32", **options):
    """(symbol, params); `options` are those of utils.create_workload."""
    return create_workload(get_symbol(num_classes, num_layers, image_shape), batch_size, image_shape, dtype, **options)
