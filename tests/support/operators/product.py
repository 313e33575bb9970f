"""Products of matrices of any rank, and attention."""

import numpy as np

from operators.arrays import SHAPES
from operators.row import Operator


def _turned(x, turn):
    return np.swapaxes(x, -1, -2) if turn and x.ndim > 1 else x


def _matmul(a, x, y):
    out = x.dtype if a.out_dtype == "same" else np.dtype(a.out_dtype)
    return np.asarray(np.matmul(_turned(x, a.transpose_a).astype(out), _turned(y, a.transpose_b).astype(out)))


def _dense(a, x, weight, bias=None):
    out = x.dtype if a.out_dtype == "same" else np.dtype(a.out_dtype)
    y = x.astype(out) @ weight.T.astype(out)
    return np.asarray(y if bias is None else y + bias).astype(out)


def _einsum(a, *arrays):
    return np.asarray(np.einsum(a.equation, *arrays)).astype(arrays[0].dtype)


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _attention(a, q, k, v, mask=None):
    dtype, (q, k, v) = q.dtype, (x.astype("float64") for x in (q, k, v))
    if q.ndim > 2 and q.shape[-3] != k.shape[-3]:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (a.scale or q.shape[-1] ** -0.5)
    if a.softcap:
        scores = a.softcap * np.tanh(scores / a.softcap)
    if mask is not None:
        scores = scores + (np.where(mask, 0, -np.inf) if mask.dtype == bool else mask)
    if a.is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], a.causal_offset, dtype=bool), scores, -np.inf)
    with np.errstate(invalid="ignore"):
        shares = np.where(np.isneginf(scores).all(-1, keepdims=True), 0, _softmax(scores))  # rows without any key
    return (shares @ v).astype(dtype)


def _causal_mask(a, x):
    value = np.asarray(a.value if isinstance(a.value, (int, float)) else float(a.value))
    if x.dtype.kind != "f" and np.isinf(value):
        value = np.iinfo(x.dtype).min
    return np.where(np.tri(*x.shape[-2:], int(a.offset), dtype=bool), x, value.astype(x.dtype))


def _mask_scores(a, mask, like):
    return (np.where(mask, 0, -np.inf) if mask.dtype == bool else mask).astype(like.dtype)


def _rotary(a, x, cosine, sine):
    turned = a.rotary_dim or x.shape[-1]
    part, rest = x[..., :turned], x[..., turned:]
    if cosine.ndim == 3:
        cosine, sine = (t.reshape(t.shape[0], *[1] * (x.ndim - 3), *t.shape[1:]) for t in (cosine, sine))
    first, second = (part[..., ::2], part[..., 1::2]) if a.interleaved else (part[..., :turned // 2], part[..., turned // 2:])
    pair = [first * cosine - second * sine, second * cosine + first * sine]
    done = np.stack(pair, -1).reshape(part.shape) if a.interleaved else np.concatenate(pair, -1)
    return np.concatenate([done, rest], -1).astype(x.dtype)


def _bools(shape, seed, dtype):
    mask = np.random.default_rng(seed).uniform(size=shape) < 0.6
    mask[..., 0] = True
    return mask


def _grow_batch_matmul(network):
    x = network.pick_of_rank(3)
    turned = network.chance(0.5)
    columns = network.one_of((1, 3, 8))
    shape = (network.one_of((1, x.shape[0])), *((columns, x.shape[2]) if turned else (x.shape[2], columns)))
    network.keep(network.call("batch_matmul", x, network.weight(shape, x.shape[2]), transpose_b=turned))


def _grow_einsum(network):
    x = network.pick_of_rank(3)
    y = network.weight((x.shape[2], 4), x.shape[2])
    network.keep(network.call("einsum", x, y, equation=network.one_of(("bij,jk->bik", "bij,jk->kb", "bij,jk->ikb"))))


def _grow_attention(network):
    b, heads, groups, rows, keys, width = 2, *network.one_of(((1, 1), (4, 2), (2, 2))), *network.one_of(((3, 3), (2, 5))), 4
    q, k, v = (network.variable(shape) for shape in ((b, heads, rows, width), (b, groups, keys, width), (b, groups, keys, 3)))
    network.keep(network.call("scaled_dot_product_attention", q, k, v, is_causal=network.chance(0.5)))


def _grow_rotary(network):
    x = network.pick_of_rank(3, 4)
    if x.shape[-1] % 2 == 0:
        angles = [network.variable((x.shape[-2], x.shape[-1] // 2), -1, 1, param=True) for _ in range(2)]
        network.keep(network.call("rotary_embedding", x, *angles, interleaved=network.chance(0.5)))


OPERATORS = {
    "dense": Operator(_dense, [([(3, 5), (2, 5), (2,)], {"units": 2}), ([(1, 4), (3, 4)], {"units": 3, "use_bias": False}),
                               ([(2, 3, 5), (4, 5), (4,)], {"units": 4}), ([(5,), (2, 5), (2,)], {"units": 2})]),
    "matmul": Operator(_matmul, [([(3, 4), (4, 5)], {}), ([(4, 3), (5, 4)], {"transpose_a": True, "transpose_b": True}), ([(2, 3, 4), (4, 5)], {}),
                                 ([(4,), (4,)], {}), ([(4,), (2, 4, 3)], {}), ([(2, 1, 3, 4), (5, 4)], {"transpose_b": True}), ([(2, 3, 4), (4,)], {})]),
    "batch_matmul": Operator(_matmul, [([(2, 3, 4), (2, 5, 4)], {}), ([(1, 3, 4), (5, 4, 2)], {"transpose_b": False}),
                                       ([(2, 1, 4, 3), (3, 4, 2)], {"transpose_a": True, "transpose_b": False}), ([(3, 4), (2, 4)], {})], grow=_grow_batch_matmul),
    "_as_rows": Operator(lambda a, x: x.reshape(-1, x.shape[-1]), [([(2, 3, 4)], {}), ([(3,)], {}), ([(2, 5)], {})],
                         grow=lambda network: network.keep(network.call("_as_rows", network.pick_of_rank(1, 3, 4)))),
    "einsum": Operator(_einsum, [([(3, 4), (4, 5)], {"equation": "ij,jk->ik"}), ([(3, 4), (4, 5)], {"equation": "ij,jk"}), ([(3, 3, 2)], {"equation": "iij->ij"}),
                                 ([(3, 3)], {"equation": "ii"}), ([(2, 3, 4), (2, 5, 4)], {"equation": "...ij,...kj->k...i"}), ([(3,), (4,)], {"equation": "i,j->ji"}),
                                 ([(2, 3), (3, 4), (4, 2)], {"equation": "ij,jk,ki->"}), ([(2, 3, 4)], {"equation": "ijk->kj"}), ([(2, 3, 1), (3, 5)], {"equation": "bik,ik->bk"}),
                                 ([(2, 4, 3), (2, 4, 5)], {"equation": "bki,bkj->bij"}), ([(2, 3)], {"equation": "ij->ij"})], grow=_grow_einsum),
    "causal_mask": Operator(_causal_mask, [([(3, 4)], {"value": 0}), ([(2, 3, 3)], {"value": -2, "offset": 1}), ([(4, 3)], {"offset": -1, "value": 1})],
                            grow=lambda network: network.keep(network.call("causal_mask", network.pick_of_rank(2, 3), value=0.5))),
    "_mask_scores": Operator(_mask_scores, [([(3, 4), (2,)], {})],
                              grow=lambda network: network.keep(network.call("_mask_scores", network.pick_of_rank(1, 2), network.pick_of_rank(1)))),
    "scaled_dot_product_attention": Operator(_attention, [
        ([(2, 3, 4), (2, 5, 4), (2, 5, 3)], {}), ([(2, 4, 3, 2), (2, 2, 5, 2), (2, 2, 5, 3)], {"is_causal": True, "causal_offset": 2, "scale": 0.5}),
        ([(1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), (3, 3)], {"use_mask": True, "softcap": 2.0}), ([(3, 4), (5, 4), (5, 2)], {}),
        ([(3, 4), (5, 4), (5, 2)], {"is_causal": True, "causal_offset": -1})],
        floating=True, grow=_grow_attention),
    "rotary_embedding": Operator(_rotary, [([(2, 3, 4), (3, 2), (3, 2)], {}), ([(2, 2, 3, 6), (2, 3, 2), (2, 3, 2)], {"interleaved": True, "rotary_dim": 4})], grow=_grow_rotary),
}
