"""Small integers that stand for numbers."""

import numpy as np

from operators.arrays import SHAPES
from operators.row import Operator


def _along(values, a, x):
    values = np.asarray(values)
    if a.block_size:
        return np.repeat(values, a.block_size, a.axis).take(range(x.shape[a.axis]), a.axis)
    return values if values.size == 1 and values.ndim < 2 and x.ndim == 0 or values.ndim == 0 else (
        values.reshape(()) if values.size == 1 else values.reshape([-1 if d == a.axis % x.ndim else 1 for d in range(x.ndim)]))


def _wide(x):
    return x.astype("float32") if x.dtype.itemsize < 4 else x


def _level(a, x, scale, zero_point):
    level = np.rint(_wide(x) / _along(_wide(scale), a, x))
    return level if zero_point is None else level + _along(zero_point, a, x)


def _quantize(a, x, scale, zero_point=None):
    limits = np.iinfo(a.out_dtype)
    return np.clip(_level(a, x, scale, zero_point), limits.min, limits.max).astype(a.out_dtype)


def _requantize(a, x, factor, zero_point=None):
    limits = np.iinfo(a.out_dtype)
    level = np.rint(x.astype(factor.dtype) * _along(factor, a, x)) + (0 if zero_point is None else _along(zero_point, a, x))
    return np.clip(level, limits.min, limits.max).astype(a.out_dtype)


def _dequantize(a, q, scale, zero_point=None):
    level = q.astype("int32") - (0 if zero_point is None else _along(zero_point, a, q).astype("int32"))
    return (level.astype(scale.dtype) * _along(scale, a, q)).astype(scale.dtype)


def _fake(a, x, scale, zero_point):
    level = np.clip(_level(a, x, scale, zero_point), a.quant_min, a.quant_max)
    return ((level - _along(zero_point, a, x)) * _along(scale, a, x)).astype(x.dtype)


def _inside(a, x, scale, zero_point):
    level = _level(a, x, scale, zero_point)
    return ((level >= a.quant_min) & (level <= a.quant_max)).astype(x.dtype)


def _dynamic(a, x):
    least, most = min(x.min(), 0), max(x.max(), 0)
    scale = ((most - least) * np.asarray(1 / 255, x.dtype)).astype(x.dtype) or np.ones((), x.dtype)
    zero_point = np.clip(np.rint(_wide(np.asarray(-least)) / _wide(np.asarray(scale))), 0, 255)
    q = np.clip(np.rint(_wide(x) / _wide(np.asarray(scale))) + zero_point, 0, 255)
    return q.astype("uint8"), np.asarray(scale, x.dtype), zero_point.astype("uint8")


def _matmul_integer(a, x, y, *zero_points):
    zero_points = list(zero_points)
    z = zero_points.pop(0).astype("int32") if a.use_lhs_zero_point else 0
    w = zero_points.pop(0).astype("int32") if a.use_rhs_zero_point else 0
    y = np.swapaxes(y, -1, -2) if a.transpose_b else y
    return (x.astype("int32") - z) @ (y.astype("int32") - w)


def integers(dtype):
    def sample(shape, seed, _="float32"):
        limits = np.iinfo(dtype)
        return np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape).astype(dtype)

    return sample


def sums(shape, seed, _="float32"):
    return np.random.default_rng(seed).integers(-3000, 3000, shape).astype("int32")


def scales(shape, seed, dtype="float32"):
    return np.asarray(np.random.default_rng(seed).uniform(0.02, 0.05, shape), dtype if dtype.startswith("float") else "float32")


def numbers(shape, seed, dtype="float32"):
    """Numbers of which none is near half a step of the scales above."""
    return np.asarray(np.random.default_rng(seed).uniform(-6, 6, shape), dtype)


PER_ONE = [([shape, ()], {"use_zero_point": False}) for shape in SHAPES]


def _far_from_halves(x, scale, *_):
    level = x / (scale.reshape(-1)[0] if scale.size else 1)
    return (np.abs(np.abs(level - np.floor(level)) - 0.5) > 1e-3).all()


def _far_from_own_halves(x):
    """Of the scale that the elements have of themselves; 0 is one of those that say it."""
    scale = (max(x.max(), 0) - min(x.min(), 0)) / 255
    return scale > 0 and _far_from_halves(np.append(x, x.min(initial=0)), np.asarray(scale))


def _grow_dynamic(network):
    quantized = network.call_all("dynamic_quantize", network.pick_of_rank(1, 2))
    network.keep(network.call("dequantize", *quantized) if quantized else None)


def _grow(network):
    x = network.pick_of_rank(1, 2, 3)
    scale, zero_point = (network.call("full", shape=(1,), fill_value=v) for v in (0.75, 0))
    network.keep(network.call(network.one_of(("fake_quantize", "_fake_quantize_inside")), x, scale, zero_point, quant_min=-2, quant_max=2))


def _grow_quantized(network):
    x = network.pick_of_rank(1, 2, 3)
    scale = network.call("full", shape=(1,), fill_value=0.75)
    network.keep(network.call("dequantize", network.call("quantize", x, scale, use_zero_point=False), scale, use_zero_point=False))


def _grow_product(network):
    x = network.pick_of_rank(2)
    scale = network.call("full", shape=(1,), fill_value=1.5)
    p, q = (network.call("quantize", v, scale, use_zero_point=False) for v in (x, network.variable((x.shape[1], 3), param=True)))
    product = network.call("matmul_integer", p, q, use_lhs_zero_point=False, use_rhs_zero_point=False)
    network.keep(network.call("dequantize", product, scale, use_zero_point=False))


def _grow_requantized(network):
    x = network.pick_of_rank(2)
    scale, factor = (network.call("full", shape=(1,), fill_value=v) for v in (1.5, 0.37))
    p, q = (network.call("quantize", v, scale, use_zero_point=False) for v in (x, network.variable((x.shape[1], 3), param=True)))
    product = network.call("matmul_integer", p, q, use_lhs_zero_point=False, use_rhs_zero_point=False)
    network.keep(network.call("dequantize", network.call("requantize", product, factor, use_zero_point=False), scale, use_zero_point=False))


OPERATORS = {
    "quantize": Operator(_quantize, [*PER_ONE, ([(2, 3, 2), (3,), (3,)], {}), ([(2, 3), (1,), (1,)], {"axis": 0}),
                                      ([(2, 7, 3), (2, 3, 3), (2, 3, 3)], {"block_size": 3})], samples={0: numbers, 1: scales, 2: integers("int8")},
                         floating=True, gradient="ends", needs=_far_from_halves, grow=_grow_quantized),
    "requantize": Operator(_requantize, [*PER_ONE, ([(2, 3, 2), (3,), (1,)], {}), ([(2, 3), (3,), (3,)], {"axis": -1})],
                           samples={0: sums, 1: scales, 2: integers("int8")}, gradient="ends", grow=_grow_requantized),
    "dequantize": Operator(_dequantize, [*PER_ONE, ([(2, 3, 2), (3,), (3,)], {}), ([(4, 2), (2,), (2,)], {"axis": -1}),
                                         ([(2, 7), (1, 7), (1, 7)], {"axis": 0, "block_size": 2})],
                           samples={0: integers("int8"), 1: scales, 2: integers("int8")}),
    "fake_quantize": Operator(_fake, [([(2, 3, 2), (3,), (3,)], {}), ([(3, 5), (), ()], {"quant_min": 0, "quant_max": 255})],
                              samples={0: numbers, 1: scales, 2: integers("int8")}, floating=True, gradient="decided", needs=_far_from_halves, grow=_grow),
    "_fake_quantize_inside": Operator(_inside, [([(2, 3, 2), (3,), (3,)], {}), ([(3, 5), (1,), (1,)], {"quant_min": -20, "quant_max": 20})],
                                      samples={0: numbers, 1: scales, 2: integers("int8")}, floating=True, gradient="decided", needs=_far_from_halves),
    "dynamic_quantize": Operator(_dynamic, [([(3, 5)], {}), ([(2, 3, 2)], {})], samples={0: numbers}, floating=True, gradient="decided", needs=_far_from_own_halves,
                                 grow=_grow_dynamic),
    "matmul_integer": Operator(_matmul_integer, [([(3, 8), (8, 5), (), ()], {}), ([(2, 3, 4), (4, 5), (5,)], {"use_lhs_zero_point": False}),
                                                 ([(3, 8), (5, 8), (), (5,)], {"transpose_b": True}), ([(2, 3, 4), (2, 5, 4), (), ()], {"transpose_b": True}),
                                                 ([(3, 4), (2, 4, 5)], {"use_lhs_zero_point": False, "use_rhs_zero_point": False})],
                               samples={0: integers("uint8"), 1: integers("int8"), 2: lambda shape, seed, _: integers("uint8" if shape == () else "int8")(shape, seed),
                                        3: integers("int8")}, gradient="ends", grow=_grow_product),
}
