"""Losses, and random numbers."""

import math

import numpy as np

from operators.row import Operator

WORD = 2**32


def _philox(position, seed):
    """Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", Philox 2x32-10, with Python's integers."""
    left, right, key = position % WORD, seed >> 32 & (WORD - 1), seed % WORD
    for _ in range(10):
        product = left * 0xD256D193
        left, right = (product >> 32) ^ right ^ key, product % WORD
        key = (key + 0x9E3779B9) % WORD
    return left


def _uniform(a, x):
    numbers = [(_philox(k, a.seed) >> 8) / 2**24 for k in range(x.size)]
    return np.asarray(numbers, "float32").reshape(x.shape)


def _dropout(a, x):
    kept = _uniform(a, x) >= np.float32(a.rate)
    return (x * kept / (1 - a.rate)).astype(x.dtype), kept.astype(x.dtype)


def _classes(a, labels, like):
    classes = np.arange(like.shape[1]).reshape(1, -1, *[1] * (like.ndim - 2))
    return ((np.expand_dims(labels, 1) == classes) & (classes != a.ignore_index)).astype(like.dtype)


def _nll(a, x, labels, weights=None):
    count = math.prod(labels.shape)
    flat, which = np.moveaxis(x, 1, -1).reshape(count, -1), labels.ravel()
    there = which != a.ignore_index
    own = np.ones(flat.shape[1], x.dtype) if weights is None else weights
    weight = np.asarray([own[k] if t else 0 for k, t in zip(which, there, strict=True)], x.dtype)
    losses = np.asarray([-row[k] if t else 0 for row, k, t in zip(flat, which, there, strict=True)], x.dtype) * weight
    if a.reduction == "none":
        return losses.reshape(labels.shape).astype(x.dtype)
    return np.asarray(losses.sum() if a.reduction == "sum" else losses.sum() / weight.sum(), x.dtype)


def _entropy(a, x, labels, weights=None):
    shifted = x - x.max(1, keepdims=True)
    return _nll(a, shifted - np.log(np.exp(shifted).sum(1, keepdims=True)), labels, weights)


def _labels(shape, seed, dtype):
    return np.random.default_rng(seed).integers(0, 3, shape).astype("int32")


LOSSES = [([(4, 3), (4,)], {}), ([(2, 3, 5), (2, 5), (3,)], {"use_weights": True, "ignore_index": 1}), ([(2, 3, 2), (2, 2)], {"reduction": "none"}), ([(5, 4), (5,)], {"reduction": "sum"})]


def _grow_dropout(network):
    network.keep(*network.call_all("dropout_training", network.pick_of_rank(1, 2, 3), rate=0.25, seed=network.one_of((0, 7, 2**40 + 3))))


def _grow_loss(network):
    x = network.pick_of_rank(2, 3)
    labels = network.call("argmax", network.variable(x.shape), axis=1)
    op = network.one_of(("nll_loss", "softmax_cross_entropy", "_classes"))
    attributes = {} if op == "_classes" else {"reduction": network.one_of(("mean", "sum", "none"))}
    network.keep(network.call(op, *((labels, x) if op == "_classes" else (x, labels)), **attributes))


OPERATORS = {
    "random_uniform_like": Operator(_uniform, [([(3, 5)], {}), ([()], {"seed": 7}), ([(2, 70)], {"seed": 2**40 + 3})], gradient="decided",
                                    grow=lambda network: network.keep(network.call("random_uniform_like", network.pick_of_rank(1, 2), seed=11))),
    "dropout_training": Operator(_dropout, [([(3, 5)], {}), ([(40,)], {"rate": 0.75, "seed": 5}), ([(3,)], {"rate": 0.0})], grow=_grow_dropout),
    "_classes": Operator(_classes, [([(4,), (4, 3)], {}), ([(2, 5), (2, 3, 5)], {"ignore_index": 1})], samples={0: _labels}),
    "nll_loss": Operator(_nll, LOSSES, samples={1: _labels}, grow=_grow_loss),
    "softmax_cross_entropy": Operator(_entropy, LOSSES, samples={1: _labels}, floating=True),
}
