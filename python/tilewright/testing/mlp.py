# SPDX-License-Identifier: Apache-2.0
"""Three products with relu between them. NNVM's `nnvm.testing.mlp`."""

from .. import symbol as sym
from .utils import create_workload


def get_symbol(num_classes=1000):
    """Symbol: the shares (n, num_classes) of "data", of which all dimensions but the first count as one."""
    body = sym.flatten(sym.Variable("data"), name="flatten")
    for k, units in enumerate((128, 64)):
        body = sym.dense(body, units=units, name=f"fc{k + 1}")
        body = sym.relu(body, name=f"relu{k + 1}")
    return sym.softmax(sym.dense(body, units=num_classes, name="fc3"), name="softmax")


def get_workload(batch_size=1, num_classes=1000, image_shape=(3, 224, 224), dtype="float32", **options):
    """(symbol, params); `options` are those of utils.create_workload."""
    return create_workload(get_symbol(num_classes), batch_size, image_shape, dtype, **options)
