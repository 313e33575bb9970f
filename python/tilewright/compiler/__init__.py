# SPDX-License-Identifier: Apache-2.0
"""Building networks. NNVM's `nnvm.compiler`.

    graph, lib, params = tw.compiler.build(symbol, "llvm", shape={"data": (1, 3, 224, 224)}, params=params)
    module = tw.contrib.graph_runtime.create(graph, lib, tw.cpu(0))
    module.set_input("data", image)
    module.set_input(**params)
    module.run()
    print(module.get_output(0))
"""

from ..contrib.graph_runtime import load_param_dict, save_param_dict
from . import graph_attr, graph_util
from .build_config import OPT_PASS_LEVEL, BuildConfig, build_config
from .build_module import build, initialize_variables, optimize, precompute_prune
from .steps import BUILD_STEPS, Step, apply_steps

__all__ = [
    "BUILD_STEPS",
    "OPT_PASS_LEVEL",
    "BuildConfig",
    "Step",
    "apply_steps",
    "build",
    "build_config",
    "graph_attr",
    "graph_util",
    "initialize_variables",
    "load_param_dict",
    "optimize",
    "precompute_prune",
    "save_param_dict",
]
