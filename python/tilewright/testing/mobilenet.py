# SPDX-License-Identifier: Apache-2.0
"""Depthwise convolutions, each followed by one of 1 by 1. NNVM's `nnvm.testing.mobilenet`.

"MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications" (Howard et al. 2017).
"""

from .. import symbol as sym
from .utils import create_workload

# Channels and stride of the blocks.
_BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]


def _conv(data, channels, kernel, stride, groups, names):
    """A convolution, batch_norm and relu, under three names."""
    data = sym.conv2d(data, channels=channels, kernel_size=(kernel, kernel), strides=(stride, stride),
                      padding=(kernel // 2, kernel // 2), groups=groups, use_bias=False, name=names[0])
    return sym.relu(sym.batch_norm(data, epsilon=1e-5, name=names[1]), name=names[2])


def get_symbol(num_classes=1000, multiplier=1.0):
    """Symbol: the shares (n, num_classes) of images (n, 3, h, w).

    multiplier: the share of channels that layers have.
    """
    width = int(32 * multiplier)
    body = _conv(sym.Variable("data"), width, 3, 2, 1, [f"conv_block_1_{part}" for part in ("conv", "bn", "relu")])
    for k, (channels, stride) in enumerate(_BLOCKS, 1):
        name = f"separable_conv_block_{k}"
        body = _conv(body, width, 3, stride, width, (f"{name}_depthwise_conv1", f"{name}_bn1", f"{name}_relu1"))
        width = int(channels * multiplier)
        body = _conv(body, width, 1, 1, 1, (f"{name}_conv2", f"{name}_bn2", f"{name}_relu2"))
    body = sym.flatten(sym.global_avg_pool2d(body, name="pool"), name="flatten")
    return sym.softmax(sym.dense(body, units=num_classes, use_bias=False, name="fc"), name="softmax")


def get_workload(batch_size=1, num_classes=1000, image_shape=(3, 224, 224), dtype="float32", multiplier=1.0, **options):
    """(symbol, params); `options` are those of utils.create_workload."""
    return create_workload(get_symbol(num_classes, multiplier), batch_size, image_shape, dtype, **options)
