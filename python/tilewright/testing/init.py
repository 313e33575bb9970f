# SPDX-License-Identifier: Apache-2.0
"""Random values of parameters. NNVM's `nnvm.testing.init`."""

import numpy as np

from .._core import raise_error

_FACTORS = {"in": lambda i, o: i, "out": lambda i, o: o, "avg": lambda i, o: (i + o) / 2}


class Initializer:
    """Fills arrays by what the name of the parameter ends with.

    Weights are the subclass's. What batch_norm is given lies about 1 or 0 without being either, so that an operator that
    leaves one of them out shows.
    """

    def __init__(self, seed=0):
        self._random = np.random.default_rng(seed)

    def __call__(self, name, array):
        """Fills `array`, of any floating type, for the parameter `name`."""
        for end in ("weight", "bias", "gamma", "beta", "moving_mean", "moving_var"):
            if name.endswith(end):
                getattr(self, f"_{end}")(name, array)
                return
        raise_error("bad-argument", f"nothing is known of the parameter '{name}'",
                    legal="a name that ends with weight, bias, gamma, beta, moving_mean or moving_var")

    def _weight(self, name, array):
        raise NotImplementedError

    def _uniform(self, array, low, high):
        values = array if array.dtype == np.float32 else np.empty(array.shape, "float32")
        self._random.random(out=values, dtype="float32")
        values *= high - low
        values += low
        if values is not array:
            array[...] = values

    def _bias(self, name, array):
        self._uniform(array, -0.1, 0.1)

    def _gamma(self, name, array):
        self._uniform(array, 0.8, 1.2)

    _beta = _moving_mean = _bias
    _moving_var = _gamma


class Xavier(Initializer):
    """Weights whose variance is magnitude / 3 / factor ("Understanding the difficulty of training deep feedforward neural
    networks", Glorot and Bengio 2010), uniform or gaussian.

    Parameters
    ----------
    rnd_type: "uniform" or "gaussian"
    factor_type: "in", "out" or "avg"
        Whether factor is the number of elements that one output is a sum of, that one input goes to, or their mean.
    magnitude: float
        With factor_type="in", 3 keeps the mean square of what a linear layer is given, and 6 that of layers with a relu
        in between ("Delving Deep into Rectifiers", He et al. 2015).
    """

    def __init__(self, rnd_type="uniform", factor_type="avg", magnitude=3, seed=0):
        super().__init__(seed)
        if rnd_type not in ("uniform", "gaussian"):
            raise_error("bad-argument", f"rnd_type '{rnd_type}'", legal="uniform, gaussian")
        if factor_type not in _FACTORS:
            raise_error("bad-argument", f"factor_type '{factor_type}'", legal=", ".join(_FACTORS))
        self._gaussian, self._factor, self._magnitude = rnd_type == "gaussian", _FACTORS[factor_type], magnitude

    def _weight(self, name, array):
        if array.ndim < 2:
            raise_error("bad-shape", f"the weight '{name}' has rank {array.ndim}", legal="2 or more")
        taps = int(np.prod(array.shape[2:]))
        variance = self._magnitude / 3 / self._factor(array.shape[1] * taps, array.shape[0] * taps)
        if self._gaussian:
            array[...] = self._random.standard_normal(array.shape, "float32") * np.float32(variance**0.5)
        else:
            self._uniform(array, -((3 * variance) ** 0.5), (3 * variance) ** 0.5)
