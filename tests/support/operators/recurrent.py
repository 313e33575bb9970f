"""Recurrent layers, step by step as ONNX describes them."""

import numpy as np

from operators.row import Operator


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _named(a, arrays, names):
    """The inputs that are there, by name."""
    arrays = list(arrays)
    always = ("data", "weight", "recurrence")
    return {name: arrays.pop(0) if name in always or a.get("use_" + name) else None for name in (*always, *names)}


def _layer(a, given, step, gates, states):
    x, h_size = given["data"], given["recurrence"].shape[2]
    steps, batch, _ = x.shape
    directions = given["weight"].shape[0]
    y = np.zeros((steps, directions, batch, h_size), x.dtype)
    last = [np.zeros((directions, batch, h_size), x.dtype) for _ in range(states)]
    for d in range(directions):
        backward = a.direction == "reverse" or d == 1
        bias = np.zeros(2 * gates * h_size, x.dtype) if given["bias"] is None else given["bias"][d]
        wb, rb = bias[:gates * h_size], bias[gates * h_size:]
        for b in range(batch):
            length = steps if given["sequence_lens"] is None else int(given["sequence_lens"][b])
            state = [np.zeros(h_size, x.dtype) if start is None else start[d, b] for start in (given["initial_h"], given.get("initial_c"))[:states]]
            for t in (range(length - 1, -1, -1) if backward else range(length)):
                state = step(a, x[t, b], state, given["weight"][d], given["recurrence"][d], wb, rb, None if given.get("peephole") is None else given["peephole"][d])
                y[t, d, b] = state[0]
            for k in range(states):
                last[k][d, b] = state[k]
    return (y, *last)


def _lstm_step(a, x, state, w, r, wb, rb, peephole):
    h, c = state
    n = h.size
    p = np.zeros(3 * n) if peephole is None else peephole
    i, o, f, g = np.split(w @ x + r @ h + wb + rb, 4)
    limit = (lambda v: np.clip(v, -a.clip, a.clip)) if a.clip else (lambda v: v)
    i = _sigmoid(limit(i + p[:n] * c))
    f = 1 - i if a.input_forget else _sigmoid(limit(f + p[2 * n:] * c))
    c = f * c + i * np.tanh(limit(g))
    o = _sigmoid(limit(o + p[n:2 * n] * c))
    return [o * np.tanh(c), c]


def _gru_step(a, x, state, w, r, wb, rb, _):
    h, = state
    n = h.size
    zr = _sigmoid((w @ x + wb)[:2 * n] + (r @ h + rb)[:2 * n])
    z, gate = zr[:n], zr[n:]
    inner = gate * (r[2 * n:] @ h + rb[2 * n:]) if a.linear_before_reset else r[2 * n:] @ (gate * h) + rb[2 * n:]
    return [(1 - z) * np.tanh((w @ x + wb)[2 * n:] + inner) + z * h]


def _rnn_step(a, x, state, w, r, wb, rb, _):
    total = w @ x + r @ state[0] + wb + rb
    return [np.maximum(total, 0) if a.activation == "relu" else np.tanh(total)]


def _of(step, gates, states, *more):
    def reference(a, *arrays):
        return _layer(a, _named(a, arrays, ("bias", "sequence_lens", "initial_h", *more)), step, gates, states)

    return reference


def _weights(directions, gates, k, h, bias=True):
    return [(directions, gates * h, k), (directions, gates * h, h)] + [(directions, 2 * gates * h)] * bias


def small(shape, seed, dtype="float32"):
    return np.asarray(np.random.default_rng(seed + 50).uniform(-0.5, 0.5, shape), dtype)


def _lengths(shape, seed, dtype):
    return np.asarray([1 + k % 3 for k in range(shape[0])], "int32")


def _input_4(shape, seed, dtype="float32"):
    """Lengths, where the input has one dimension."""
    return _lengths(shape, seed, dtype) if len(shape) == 1 else small(shape, seed, dtype)


SAMPLES = {**{k: small for k in range(8)}, 3: _input_4, 4: _input_4}
EVERYTHING = {"use_sequence_lens": True, "use_initial_h": True}


def _cases(gates):
    return [([(3, 2, 4), *_weights(1, gates, 4, 3)], {"hidden_size": 3}), ([(2, 1, 3), *_weights(1, gates, 3, 2, False)], {"hidden_size": 2, "use_bias": False, "direction": "reverse"}),
            ([(3, 2, 2), *_weights(2, gates, 2, 3), (2,), (2, 2, 3)], {"hidden_size": 3, "direction": "bidirectional", **EVERYTHING}), ]


LSTM = _cases(4)
LSTM[2] = (LSTM[2][0] + [(2, 2, 3), (2, 9)], {**LSTM[2][1], "use_initial_c": True, "use_peephole": True})
LSTM.append(([(1, 2, 2), *_weights(1, 4, 2, 2, False)], {"hidden_size": 2, "use_bias": False, "input_forget": True, "clip": 0.3}))


def _grow(network):
    op, gates = network.one_of((("lstm", 4), ("gru", 3), ("rnn", 1)))
    x = network.pick_of_rank(3)
    h = network.one_of((2, 4))
    if x.shape[0] <= 3:
        weights = [network.weight(shape, 8) for shape in _weights(1, gates, x.shape[2], h)]
        network.keep(*network.call_all(op, x, *weights, hidden_size=h, direction=network.one_of(("forward", "reverse"))))


OPERATORS = {
    "lstm": Operator(_of(_lstm_step, 4, 2, "initial_c", "peephole"), LSTM, samples=SAMPLES, floating=True, grow=_grow, smooth=lambda a: "clip" not in a),
    "gru": Operator(_of(_gru_step, 3, 1), [*_cases(3), ([(2, 2, 3), *_weights(1, 3, 3, 2)], {"hidden_size": 2, "linear_before_reset": True})], samples=SAMPLES, floating=True),
    "rnn": Operator(_of(_rnn_step, 1, 1), [*_cases(1), ([(2, 2, 3), *_weights(1, 1, 3, 2)], {"hidden_size": 2, "activation": "relu"})], samples=SAMPLES, floating=True),
}
