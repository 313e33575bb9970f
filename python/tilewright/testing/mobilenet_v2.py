# SPDX-License-Identifier: Apache-2.0
"""Depthwise convolutions between two of 1 by 1, with shortcuts between the narrow ends.

"MobileNetV2: Inverted Residuals and Linear Bottlenecks" (Sandler et al. 2018).
"""

from .. import symbol as sym
from .utils import create_workload

# For each row of the paper's table 2: factor by which channels are expanded, channels, blocks, stride of the first.
_BLOCKS = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


def _divisible(channels):
    """The multiple of 8 next to a number of channels, not less than 0.9 of it."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def _conv(data, channels, kernel, stride, name, groups=1, linear=False):
    data = sym.conv2d(data, channels=channels, kernel_size=(kernel, kernel), strides=(stride, stride),
                      padding=(kernel // 2, kernel // 2), groups=groups, use_bias=False, name=f"{name}_conv")
    data = sym.batch_norm(data, epsilon=1e-5, name=f"{name}_bn")
    return data if linear else sym.clip(data, a_min=0, a_max=6, name=f"{name}_relu6")


def get_symbol(num_classes=1000, multiplier=1.0):
    """Symbol: the shares (n, num_classes) of images (n, 3, h, w).

    multiplier: the share of channels that layers have.
    """
    width = _divisible(32 * multiplier)
    body = _conv(sym.Variable("data"), width, 3, 2, "first")
    number = 0
    for factor, channels, count, stride in _BLOCKS:
        channels = _divisible(channels * multiplier)
        for k in range(count):
            number += 1
            name, step, wide = f"block{number}", stride if k == 0 else 1, width * factor
            inner = body if factor == 1 else _conv(body, wide, 1, 1, f"{name}_expand")
            inner = _conv(inner, wide, 3, step, f"{name}_depthwise", groups=wide)
            inner = _conv(inner, channels, 1, 1, f"{name}_project", linear=True)
            body = sym.elemwise_add(inner, body, name=f"{name}_plus") if step == 1 and width == channels else inner
            width = channels
    body = _conv(body, _divisible(1280 * max(1.0, multiplier)), 1, 1, "last")
    body = sym.flatten(sym.global_avg_pool2d(body, name="pool"), name="flatten")
    return sym.softmax(sym.dense(body, units=num_classes, name="fc"), name="softmax")


def get_workload(batch_size=1, num_classes=1000, image_shape=(3, 224, 224), dtype="float32", multiplier=1.0, **options):
    """(symbol, params); `options` are those of utils.create_workload."""
    return create_workload(get_symbol(num_classes, multiplier), batch_size, image_shape, dtype, **options)
