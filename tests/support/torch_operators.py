"""What PyTorch computes for operators, and its gradients: a program of its own, since PyTorch is Debian's and so is its Python.

    /usr/bin/python3 torch_operators.py CASES.npz CASES.json RESULTS.npz

For each case of the list, whose operator is in the table, its outputs and the gradients of its floating inputs; `None` of an
input is a gradient of zeros. The table is of expressions: `a` are attributes, `a.out` the shapes of the outputs.
"""

import ast
import json
import sys

import numpy as np
import torch
import torch.nn.functional as F


class Attributes:
    def __init__(self, texts, out):
        self._texts, self.out = texts, out

    def __getattr__(self, name):
        text = str(self._texts[name])
        if text in ("true", "false"):
            return text == "true"
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text

    def ints(self, name):
        value = getattr(self, name)
        return tuple(value) if isinstance(value, (tuple, list)) else (value,)

    def pair(self, name):
        values = self.ints(name)
        return values if len(values) == 2 else values * 2

    def named(self, x):
        named = {axis % x.dim() for axis in self.ints("axis")} or set(range(x.dim()))
        return [k for k in range(x.dim()) if (k in named) != self.exclude]


def relayout(x, source, target):
    return x.permute([source.index(d) for d in target])


def along(v, axis, rank):
    return v.reshape([-1 if k == axis % rank else 1 for k in range(rank)])


def reduced(function):
    def compute(a, x):
        axes = a.named(x)
        return function(x, axes, a.keepdims) if axes else x

    return compute


def product(x, axes, keepdim):
    for axis in sorted(axes, reverse=True):
        x = torch.prod(x, axis, keepdim)
    return x


def border(a):
    """Left, right, top, bottom, as F.pad takes them."""
    values = a.ints("padding")
    top, left, bottom, right = values if len(values) == 4 else values * (4 // len(values))
    return left, right, top, bottom


def conv2d(a, x, w, *bias):
    y = F.conv2d(F.pad(relayout(x, a.layout, "NCHW"), border(a)), relayout(w, a.kernel_layout, "OIHW"), *bias,
                 stride=a.pair("strides"), dilation=a.pair("dilation"), groups=a.groups)
    return relayout(y, "NCHW", a.layout)


def max_pool2d(a, x):
    y = F.pad(relayout(x, a.layout, "NCHW"), border(a), value=-torch.inf)
    return relayout(F.max_pool2d(y, a.pair("pool_size"), a.pair("strides"), ceil_mode=a.ceil_mode), "NCHW", a.layout)


def avg_pool2d(a, x):
    x = relayout(x, a.layout, "NCHW")
    sums = lambda y: F.avg_pool2d(y, a.pair("pool_size"), a.pair("strides"), ceil_mode=a.ceil_mode, divisor_override=1)
    counted = torch.ones_like(F.pad(x, border(a))) if a.count_include_pad else F.pad(torch.ones_like(x), border(a))
    return relayout(sums(F.pad(x, border(a))) / sums(counted), "NCHW", a.layout)


def over_images(function):
    return lambda a, x: relayout(function(relayout(x, a.layout, "NCHW"), 1), "NCHW", a.layout)


def batch_norm(a, x, gamma, beta, mean, variance):
    rows = lambda v: along(v, a.axis, x.dim())
    y = (x - rows(mean)) / torch.sqrt(rows(variance) + a.epsilon)
    y = y * rows(gamma) if a.scale else y
    return y + rows(beta) if a.center else y


def pad(a, x):
    return F.pad(x, [amount for width in reversed(a.pad_width) for amount in width], value=a.pad_value)


def strided_slice(a, x):
    strides = a.ints("stride") + (1,) * (len(a.ints("begin")) - len(a.ints("stride")))
    for d, (begin, end, stride) in enumerate(zip(a.ints("begin"), a.ints("end"), strides)):
        x = torch.index_select(x, d, torch.tensor(list(range(*slice(begin, end, stride).indices(x.shape[d]))), dtype=torch.long))
    return x


def split(a, x):
    parts = a.indices_or_sections
    return torch.tensor_split(x, parts if isinstance(parts, int) else list(parts), a.axis)


def expand_like(a, x, like):
    if x.dim() < like.dim():
        for axis in a.named(like):
            x = x.unsqueeze(axis)
    return x.expand_as(like)


def topk(a, x):
    values, places = torch.sort(x, a.axis, not a.is_ascend, stable=True)
    k = a.k if a.k > 0 else x.shape[a.axis]
    found = {"values": values.narrow(a.axis, 0, k), "indices": places.narrow(a.axis, 0, k)}
    return tuple(found.values()) if a.ret_type == "both" else found[a.ret_type]


def inside(a, indices, extent):
    """Where positions are any, and positions that are."""
    indices = indices.long()
    holds = (indices >= 0) & (indices < extent)
    return holds, torch.where(holds, indices, torch.zeros_like(indices))


def select_along(a, x, indices):
    holds, at = inside(a, indices, x.shape[a.axis])
    return torch.gather(x, a.axis, at) * holds


def place_along(a, values, indices, like):
    holds, at = inside(a, indices, like.shape[a.axis])
    return torch.zeros_like(like).scatter_add(a.axis, at, values * holds)


def darknet(a, x, logistic, classes=None):
    parts = list(x.reshape(x.shape[0], a.num, -1, *x.shape[2:]).unbind(2))
    parts = [torch.sigmoid(p) if logistic(k) else p for k, p in enumerate(parts)]
    if classes is not None and classes < len(parts):
        parts[classes:] = torch.softmax(torch.stack(parts[classes:], 2), 2).unbind(2)
    return torch.stack(parts, 2).reshape(x.shape)


def region(a, x):
    return darknet(a, x, lambda k: k < 2 or (k == a.coords and not a.background), a.coords + (not a.background) if a.softmax else None)





def of_elements(function):
    return lambda a, *arrays: function(*arrays)


def compared(function):
    return lambda a, x, y: function(x, y).to(x.dtype)


OPERATORS = {
    "__add_scalar__": lambda a, x: x + a.scalar,
    "__sub_scalar__": lambda a, x: x - a.scalar,
    "__rsub_scalar__": lambda a, x: a.scalar - x,
    "__mul_scalar__": lambda a, x: x * a.scalar,
    "__div_scalar__": lambda a, x: x / a.scalar,
    "__rdiv_scalar__": lambda a, x: a.scalar / x,
    "__pow_scalar__": lambda a, x: x**a.scalar,
    "__rpow_scalar__": lambda a, x: a.scalar**x,
    **{name: of_elements(getattr(torch, name)) for name in (
        "relu", "sigmoid", "tanh", "exp", "log", "sqrt", "negative", "abs", "sign", "floor", "ceil", "trunc", "round", "ones_like", "zeros_like",
        "erf", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "rsqrt", "square", "reciprocal",
        "log2", "log10", "log1p", "expm1", "exp2")},
    **{name: of_elements(getattr(F, name)) for name in ("silu", "mish", "relu6", "softsign", "selu")},
    "hard_swish": of_elements(F.hardswish),
    "copy": of_elements(torch.clone),
    "__copy": of_elements(torch.clone),
    "elemwise_sum": lambda a, *arrays: sum(arrays),
    **{f"{kind}_{name}": of_elements(function) for kind in ("elemwise", "broadcast")
       for name, function in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("div", torch.div), ("pow", torch.pow))},
    "broadcast_max": of_elements(torch.maximum),
    "broadcast_min": of_elements(torch.minimum),
    "greater": compared(torch.gt),
    "less": compared(torch.lt),
    **{f"broadcast_{name}": compared(getattr(torch, name)) for name in ("not_equal", "greater", "greater_equal", "less", "less_equal")},
    "broadcast_equal": compared(torch.eq),
    "leaky_relu": lambda a, x: F.leaky_relu(x, a.alpha),
    "prelu": lambda a, x, alpha: torch.where(x > 0, x, x * along(alpha, a.axis, x.dim())),
    "clip": lambda a, x: torch.clamp(x, a.a_min, a.a_max),
    "cast": lambda a, x: x * 1,
    "full_like": lambda a, x: torch.full_like(x, a.fill_value),
    "conv2d": conv2d,
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "global_avg_pool2d": over_images(F.adaptive_avg_pool2d),
    "global_max_pool2d": over_images(F.adaptive_max_pool2d),
    "upsampling": lambda a, x: relayout(F.interpolate(relayout(x, a.layout, "NCHW"), scale_factor=a.scale), "NCHW", a.layout),
    "dense": lambda a, x, w, *b: F.linear(x, w, *b),
    "matmul": lambda a, x, y: (x.T if a.transpose_a else x) @ (y.T if a.transpose_b else y),
    "softmax": lambda a, x: torch.softmax(x, a.axis),
    "log_softmax": lambda a, x: torch.log_softmax(x, a.axis),
    "batch_norm": batch_norm,
    "dropout": lambda a, x: x * 1,
    "sum": reduced(torch.sum),
    "mean": reduced(torch.mean),
    "max": reduced(torch.amax),
    "min": reduced(torch.amin),
    "prod": reduced(product),
    **{name: lambda a, x, *like: x.reshape(a.out[0]) for name in ("flatten", "reshape", "reshape_like", "squeeze", "expand_dims")},
    "transpose": lambda a, x: x.permute([k % x.dim() for k in a.ints("axes")] or list(range(x.dim()))[::-1]),
    **{name: lambda a, x, *like: x.expand(a.out[0]) for name in ("broadcast_to", "broadcast_to_like")},
    "expand_like": expand_like,
    "collapse_sum": lambda a, x, like: x.sum_to_size(like.shape),
    "concatenate": lambda a, *parts: torch.cat(parts, a.axis),
    "split": split,
    "strided_slice": strided_slice,
    "flip": lambda a, x: torch.flip(x, [a.axis]),
    "pad": pad,
    "sort": lambda a, x: torch.sort(x, a.axis, not a.is_ascend, stable=True)[0],
    "topk": topk,
    "_select_along": select_along,
    "_place_along": place_along,
    "yolo_region": region,
    "yolov3_yolo": lambda a, x: darknet(a, x, lambda k: k < 2 or k >= 4),
}


def outputs_and_gradients(operator, attributes, inputs, heads):
    tensors = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]
    found = OPERATORS[operator](Attributes(attributes, [head.shape for head in heads]), *tensors)
    found = list(found) if isinstance(found, (tuple, list)) else [found]
    loss = sum((y * torch.tensor(head)).sum() for y, head in zip(found, heads) if y.is_floating_point())
    moving = [t for t in tensors if t.requires_grad]
    slopes = torch.autograd.grad(loss, moving, allow_unused=True) if loss.requires_grad else [None] * len(moving)
    return [y.detach().numpy() for y in found], [np.zeros(x.shape) if g is None else g.numpy() for g, x in zip(slopes, moving)]


def main(arrays_path, cases_path, results_path):
    torch.set_num_threads(1)
    arrays, cases, results = np.load(arrays_path), json.load(open(cases_path)), {}
    for number, case in enumerate(cases):
        if case["operator"] not in OPERATORS:
            continue
        given = {kind: [arrays[f"{number}/{kind}{k}"] for k in range(case[kind])] for kind in ("input", "head")}
        try:
            outputs, slopes = outputs_and_gradients(case["operator"], case["attributes"], given["input"], given["head"])
        except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, KeyError) as error:
            results[f"{number}/error"] = np.asarray(f"{type(error).__name__}: {error}")
            continue
        results |= {f"{number}/output{k}": y for k, y in enumerate(outputs)} | {f"{number}/gradient{k}": g for k, g in enumerate(slopes)}
    np.savez(results_path, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
