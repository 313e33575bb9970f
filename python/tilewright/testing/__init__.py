# SPDX-License-Identifier: Apache-2.0
"""What scripts check results with, as in `tvm.testing`, and networks to try things on, as in `nnvm.testing`.

    symbol, params = tw.testing.resnet.get_workload(batch_size=1, num_layers=18)
    symbol, params = tw.testing.zoo.get("resnet18")
"""

from .comparison import assert_allclose

_NETWORKS = ("init", "mlp", "mobilenet", "mobilenet_v2", "resnet", "squeezenet", "utils", "vgg", "zoo")

__all__ = ["assert_allclose", *_NETWORKS]


def __getattr__(name):
    if name in _NETWORKS:  # loaded when they are first used
        from importlib import import_module

        return import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
