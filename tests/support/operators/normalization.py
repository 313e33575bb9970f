"""Normalizations by statistics of the data."""

import numpy as np

from operators.arrays import along
from operators.row import Operator


def _moments(x, axes):
    x = x.astype("float64")
    return x.mean(axes, keepdims=True), x.var(axes, keepdims=True)


def _inputs(a, further):
    """gamma and beta, where they are there."""
    further = list(further)
    return (further.pop(0) if a.get("scale", True) else 1.0), (further.pop(0) if a.get("center", True) else 0.0)


def _spread(values, axes, rank):
    """What has the extents of these dimensions, along them."""
    if np.ndim(values) == 0:
        return values
    return values.reshape([values.shape[sorted(axes).index(d)] if d in axes else 1 for d in range(rank)])


def _layer_norm(a, x, *further):
    axes = tuple(axis % x.ndim for axis in a.ints("axis"))
    mean, variance = _moments(x, axes)
    gamma, beta = (_spread(v, axes, x.ndim) for v in _inputs(a, further))
    return ((x - mean) / np.sqrt(variance + a.epsilon) * gamma + beta).astype(x.dtype)


def _rms_norm(a, x, gamma=None):
    axes = tuple(axis % x.ndim for axis in a.ints("axis"))
    y = x / np.sqrt((x.astype("float64") ** 2).mean(axes, keepdims=True) + a.epsilon)
    return (y if gamma is None else y * _spread(gamma, axes, x.ndim)).astype(x.dtype)


def _group_norm(a, x, *further, groups=None):
    axis = a.axis % x.ndim
    groups = groups or a.num_groups
    parts = x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1:])
    mean, variance = _moments(parts, tuple(d for d in range(1, parts.ndim) if d != axis))
    y = ((parts - mean) / np.sqrt(variance + a.epsilon)).reshape(x.shape)
    gamma, beta = (_spread(v, (axis,), x.ndim) for v in _inputs(a, further))
    return (y * gamma + beta).astype(x.dtype)


def _instance_norm(a, x, *further):
    return _group_norm(a, x, *further, groups=x.shape[a.axis])


def _batch_norm_training(a, x, gamma, beta, moving_mean, moving_var):
    axes = tuple(d for d in range(x.ndim) if d != a.axis % x.ndim)
    mean, variance = _moments(x, axes)
    y = (x - mean) / np.sqrt(variance + a.epsilon)
    y = y * (along(gamma, a.axis, x.ndim) if a.scale else 1) + (along(beta, a.axis, x.ndim) if a.center else 0)
    moved = [(before * a.momentum + now.ravel() * (1 - a.momentum)).astype(x.dtype) for before, now in ((moving_mean, mean), (moving_var, variance))]
    return (y.astype(x.dtype), *moved)


def _all_or(a, x):
    return tuple(axis % x.ndim for axis in a.ints("axis")) or tuple(range(x.ndim))


def _l2_normalize(a, x):
    return (x / np.sqrt(np.maximum((x.astype("float64") ** 2).sum(_all_or(a, x), keepdims=True), a.eps))).astype(x.dtype)


def _lp_normalize(a, x):
    return (x / np.linalg.norm(x.astype("float64"), a.p, a.axis, keepdims=True)).astype(x.dtype)


def _mean_variance(a, x):
    mean, variance = _moments(x, _all_or(a, x))
    return ((x - mean) / (np.sqrt(variance) + a.epsilon)).astype(x.dtype)


def _grow_layer_norm(network):
    x = network.pick_of_rank(2, 3, 4)
    axis = network.one_of([-1, 1])
    extent = x.shape[axis]
    scaled = network.chance(0.5)
    further = [network.variable((extent,), 0.5, 1.5, param=True) for _ in range(2 * scaled)]
    if extent > 2:
        network.keep(network.call("layer_norm", x, *further, axis=axis, epsilon=0.1, scale=scaled, center=scaled))


def _grow_rms_norm(network):
    x = network.pick_of_rank(1, 2, 3)
    network.keep(network.call("rms_norm", x, network.variable(x.shape[-1:], 0.5, 1.5, param=True), epsilon=0.1))


def _grow_group_norm(network):
    x = network.pick_images()
    channels = x.shape[network._places[1]]
    if network._places[1] == 1:
        further = [network.variable((channels,), 0.5, 1.5, param=True) for _ in range(2)]
        if network.chance(0.5):
            network.keep(network.call("instance_norm", x, *further, epsilon=0.1))
        else:
            network.keep(network.call("group_norm", x, *further, epsilon=0.1, num_groups=2 if channels % 2 == 0 else 1))


def _grow_batch_norm(network):
    x = network.pick_of_rank(2, 3)
    if x.shape[0] > 1:
        further = [network.variable((x.shape[1],), 0.5, 1.5, param=True) for _ in range(4)]
        network.keep(*network.call_all("batch_norm_training", x, *further, epsilon=0.1))


OF_CHANNELS = [([(2, 4, 3, 2), (4,), (4,)], {}), ([(3, 6, 2), (6,)], {"scale": False, "epsilon": 0.01}), ([(2, 3, 4)], {"scale": False, "center": False, "axis": 2})]
OPERATORS = {
    "layer_norm": Operator(_layer_norm, [([(3, 5), (5,), (5,)], {}), ([(2, 3, 5)], {"axis": (0, -1), "scale": False, "center": False}),
                                         ([(2, 7, 3), (7, 3)], {"axis": (1, 2), "center": False, "epsilon": 0.01})], floating=True, grow=_grow_layer_norm),
    "rms_norm": Operator(_rms_norm, [([(3, 5), (5,)], {}), ([(2, 3, 5)], {"axis": (0, -1), "scale": False}), ([(4,), (4,)], {"epsilon": 0.5})],
                         floating=True, grow=_grow_rms_norm),
    "instance_norm": Operator(_instance_norm, OF_CHANNELS, floating=True, grow=_grow_group_norm),
    "group_norm": Operator(_group_norm, [(shapes, {**attributes, "num_groups": 2}) for shapes, attributes in OF_CHANNELS], floating=True),
    "batch_norm_training": Operator(_batch_norm_training, [([(4, 3, 2, 5)] + [(3,)] * 4, {}), ([(7, 2)] + [(2,)] * 4, {"axis": -1, "scale": False, "center": False, "momentum": 0.5})],
                                    floating=True, grow=_grow_batch_norm),
    "l2_normalize": Operator(_l2_normalize, [([(3, 5)], {"eps": 1e-3, "axis": 1}), ([(2, 3, 2)], {"eps": 1e-3}), ([(2, 3)], {"eps": 1000.0, "axis": (0, -1)})], floating=True,
                             grow=lambda network: network.keep(network.call("l2_normalize", network.pick_of_rank(2, 3), axis=1, eps=0.1))),
    "lp_normalize": Operator(_lp_normalize, [([(3, 5)], {}), ([(2, 3, 2)], {"p": 1, "axis": 1})], floating=True,
                             grow=lambda network: network.keep(network.call("lp_normalize", network.positive(network.pick_of_rank(1, 2)), p=network.one_of((1, 2))))),
    "mean_variance_normalization": Operator(_mean_variance, [([(2, 3, 4, 2)], {}), ([(2, 5)], {"axis": 1, "epsilon": 0.1})], floating=True,
                                            grow=lambda network: network.keep(network.call("mean_variance_normalization", network.pick_of_rank(2), axis=1, epsilon=1))),
}
