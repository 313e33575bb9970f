"""What PyTorch computes for operators, and its gradients: a program of its own, since PyTorch is Debian's and so is its Python.

    /usr/bin/python3 torch_operators.py CASES.npz CASES.json RESULTS.npz

For each case of the list, whose operator is in the table, its outputs and the gradients of its floating inputs; `None` of an
input is a gradient of zeros. The table is of expressions: `a` are attributes, `a.out` the shapes of the outputs.
"""

import json
import sys

import numpy as np
import torch
import torch.nn.functional as F

import attribute_values


class Attributes(attribute_values.Attributes):
    def __init__(self, texts, out):
        super().__init__(texts)
        self.out = out

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


def natural(layout):
    return "NC" + "".join(d for d in "DHW" if d in layout)


def steps(values, spatial):
    return values if len(values) == spatial else values * spatial


class Windows:
    """Windows over images whose layout is `a.layout`; those that the output of an operator has."""

    def __init__(self, a, kernel, data, out):
        self.layout, self.natural = a.layout, natural(a.layout)
        n = self.spatial = len(self.natural) - 2
        self.kernel, self.stride, self.dilation = (steps(a.ints(name), n) for name in (kernel, "strides", "dilation"))
        pads = a.ints("padding")
        pads = pads if len(pads) == 2 * n else steps(pads, n) * 2
        self.before, self.after = pads[:n], pads[n:]
        extents, positions = ([shape[self.layout.index(d)] for d in self.natural[2:]] for shape in (data, out))
        self.extents = extents
        # Elements behind the data that the last windows reach; less than 0 where they do not reach its end.
        self.behind = [(p - 1) * s + (k - 1) * d + 1 - b - e
                       for p, s, k, d, b, e in zip(positions, self.stride, self.kernel, self.dilation, self.before, extents)]

    def images(self, x):
        return relayout(x, self.layout, self.natural)

    def padded(self, x, value=0.0, behind=None):
        amounts = list(zip(self.before, behind or self.behind))
        return F.pad(x, [amount for pair in reversed(amounts) for amount in pair], value=value)

    def result(self, y):
        return relayout(y, self.natural, self.layout)

    def function(self, name):
        return getattr(F, f"{name}{self.spatial}d")

    def sums(self, x):
        """Of each window of padded images."""
        lines = x.reshape(-1, 1, *x.shape[2:])
        total = self.function("conv")(lines, torch.ones(1, 1, *self.kernel, dtype=x.dtype), stride=self.stride, dilation=self.dilation)
        return total.reshape(*x.shape[:2], *total.shape[2:])


def conv(a, x, w, *bias):
    v = Windows(a, "kernel_size", x.shape, a.out[0])
    kernel = relayout(w, a.kernel_layout, "OI" + v.natural[2:])
    return v.result(v.function("conv")(v.padded(v.images(x)), kernel, *bias, stride=v.stride, dilation=v.dilation, groups=a.groups))


def conv_transpose(a, x, w, *bias):
    v = Windows(a, "kernel_size", a.out[0], x.shape)
    kernel = relayout(w, a.kernel_layout, "OI" + v.natural[2:])
    whole = v.function("conv_transpose")(v.images(x), kernel, stride=v.stride, dilation=v.dilation, groups=a.groups)
    taken = F.pad(whole, [amount for pair in reversed(list(zip(v.before, v.behind))) for amount in (-pair[0], -pair[1])])
    return v.result(taken + along(bias[0], 1, taken.dim()) if bias else taken)


def max_pool(a, x):
    v = Windows(a, "pool_size", x.shape, a.out[0])
    return v.result(v.function("max_pool")(v.padded(v.images(x), -torch.inf), v.kernel, v.stride, 0, v.dilation))


def avg_pool(a, x):
    v = Windows(a, "pool_size", x.shape, a.out[0])
    x = v.images(x)
    counted = torch.ones_like(x)
    if a.count_include_pad:
        counted = v.padded(counted, 1.0, v.after)
        counted = F.pad(counted, [n for behind, after in reversed(list(zip(v.behind, v.after))) for n in (0, behind - after)])
    else:
        counted = v.padded(counted)
    return v.result(v.sums(v.padded(x)) / v.sums(counted).clamp(min=1))


def lp_pool(a, x):
    """0 where all of a window is, and its slope too, of which PyTorch makes no number."""
    v = Windows(a, "pool_size", x.shape, a.out[0])
    sums = v.sums(v.padded(v.images(x).abs() ** a.p))
    return v.result(torch.where(sums > 0, sums, torch.ones_like(sums)) ** (1 / a.p) * (sums > 0))


def sum_pool(a, x):
    v = Windows(a, "pool_size", x.shape, a.out[0])
    return v.result(v.sums(v.padded(v.images(x))))


def adaptive(name, size=None):
    def compute(a, x):
        letters, spatial = natural(a.layout), len(a.layout) - 2
        function = getattr(F, f"adaptive_{name}_pool{spatial}d")
        return relayout(function(relayout(x, a.layout, letters), size or steps(a.ints("output_size"), spatial)), letters, a.layout)

    return compute


def upsampling(a, x):
    letters = natural(a.layout)
    x = relayout(x, a.layout, letters)
    if a.method == "NEAREST_NEIGHBOR":
        x = F.interpolate(x, scale_factor=a.scale)
    elif a.align_corners:
        x = F.interpolate(x, scale_factor=a.scale, mode="bilinear" if x.dim() == 4 else "trilinear", align_corners=True)
    else:
        for d in range(2, x.dim()):
            places = torch.arange(x.shape[d] * a.scale)
            low, share = places // a.scale, along((places % a.scale) / a.scale, d, x.dim()).to(x.dtype)
            x = x.index_select(d, low) * (1 - share) + x.index_select(d, (low + 1).clamp(max=x.shape[d] - 1)) * share
    return relayout(x, letters, a.layout)


def lrn(a, x):
    """Of an even size PyTorch's has one more element in front of each, ONNX's behind."""
    turned = lambda y: y.flip(1) if a.size % 2 == 0 else y
    y = turned(x.movedim(a.axis, 1).unsqueeze(-1))
    return turned(F.local_response_norm(y, a.size, a.alpha, a.beta, a.bias)).squeeze(-1).movedim(1, a.axis)


def batch_norm(a, x, gamma, beta, mean, variance):
    rows = lambda v: along(v, a.axis, x.dim())
    y = (x - rows(mean)) / torch.sqrt(rows(variance) + a.epsilon)
    y = y * rows(gamma) if a.scale else y
    return y + rows(beta) if a.center else y


def pad(a, x):
    if a.pad_mode == "constant":
        return F.pad(x, [amount for width in reversed(a.pad_width) for amount in width], value=a.pad_value)
    for d, width in enumerate(a.pad_width):
        x = x.index_select(d, torch.tensor(np.pad(np.arange(x.shape[d]), width, mode=a.pad_mode)))
    return x


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
    values, places = torch.sort(x, dim=a.axis, descending=not a.is_ascend, stable=True)
    k = a.k if a.k > 0 else x.shape[a.axis]
    found = {"values": values.narrow(a.axis, 0, k), "indices": places.narrow(a.axis, 0, k)}
    return tuple(found.values()) if a.ret_type == "both" else found[a.ret_type]


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
    **{name: of_elements(getattr(F, name)) for name in ("silu", "mish", "relu6", "softsign")},
    # The factors of ONNX are float32.
    "selu": lambda a, x: a.gamma * F.elu(x, a.alpha),
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
    **{f"{name}{d}d{rest}": function for d in (1, 2, 3) for name, rest, function in (
        ("conv", "", conv), ("_conv", "", conv), ("conv", "_transpose", conv_transpose), ("max_pool", "", max_pool), ("avg_pool", "", avg_pool),
        ("lp_pool", "", lp_pool), ("_sum_pool", "", sum_pool), ("global_avg_pool", "", adaptive("avg", 1)), ("global_max_pool", "", adaptive("max", 1)),
        ("adaptive_avg_pool", "", adaptive("avg")), ("adaptive_max_pool", "", adaptive("max")))},
    "upsampling": upsampling,
    "upsampling3d": upsampling,
    "lrn": lrn,
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
    "sort": lambda a, x: torch.sort(x, dim=a.axis, descending=not a.is_ascend, stable=True)[0],
    "topk": topk,
    "yolo_region": region,
    "yolov3_yolo": lambda a, x: darknet(a, x, lambda k: k < 2 or k >= 4),
}


def placed(indices, extent, mode="fast"):
    """Places that integers mean, as take has it."""
    i = indices.long()
    if mode == "wrap":
        return i % extent
    return torch.clamp(torch.where(i < 0, i + extent, i) if mode == "fast" else i, 0, extent - 1)


def take(a, x, indices):
    if a.axis is None:
        return x.flatten()[placed(indices, x.numel(), a.mode)]
    axis = a.axis % x.dim()
    at = placed(indices, x.shape[axis], a.mode) if x.shape[axis] else indices.long()
    if a.batch_dims == 0:
        return torch.index_select(x, axis, at.flatten()).reshape(a.out[0])
    batch = x.shape[: a.batch_dims]
    x, at = x.reshape(-1, *x.shape[a.batch_dims:]), at.reshape(-1, *at.shape[a.batch_dims:])
    return torch.stack([torch.index_select(rows, axis - a.batch_dims, i.flatten()) for rows, i in zip(x, at)]).reshape(*batch, *a.out[0][a.batch_dims:])


def inside(a, indices, extent):
    """Where positions are any, and positions that are."""
    indices = indices.long()
    holds = (indices >= 0) & (indices < extent)
    return holds, torch.where(holds, indices, torch.zeros_like(indices))


def gather(a, x, indices):
    if a.mode == "skip":
        holds, at = inside(a, indices, x.shape[a.axis])
        return torch.gather(x, a.axis, at) * holds
    return torch.gather(x, a.axis, placed(indices, x.shape[a.axis], a.mode))


def scatter(a, x, indices, updates, reduction="add"):
    at = placed(indices, x.shape[a.axis])
    if reduction == "update":
        return x.scatter(a.axis, at, updates)
    return x.scatter_reduce(a.axis, at, updates, {"add": "sum", "mul": "prod", "min": "amin", "max": "amax"}[reduction], include_self=True)


def walked(function, first):
    def compute(a, x):
        axis = 0 if a.axis is None else a.axis
        x = x.flatten() if a.axis is None else x
        x = x.flip(axis) if a.reverse else x
        y = function(x, axis)
        if a.exclusive and y.shape[axis]:
            y = torch.cat([torch.full_like(y.narrow(axis, 0, 1), first), y.narrow(axis, 0, y.shape[axis] - 1)], axis)
        return y.flip(axis) if a.reverse else y

    return compute


def spread_of(function):
    return lambda a, x: function(x, a.named(x), correction=int(a.unbiased), keepdim=a.keepdims) if a.named(x) else x - x


OPERATORS |= {
    "elemwise_mod": of_elements(torch.fmod),
    "broadcast_mod": of_elements(torch.fmod),
    "broadcast_floor_mod": of_elements(torch.remainder),
    "broadcast_floor_div": lambda a, x, y: torch.floor(x / y),
    "__mod_scalar__": lambda a, x: torch.fmod(x, a.scalar),
    "__rmod_scalar__": lambda a, x: torch.fmod(torch.tensor(a.scalar), x),
    "__max_scalar__": lambda a, x: torch.maximum(x, torch.tensor(a.scalar, dtype=x.dtype)),
    "__min_scalar__": lambda a, x: torch.minimum(x, torch.tensor(a.scalar, dtype=x.dtype)),
    "take": take,
    "embedding": lambda a, indices, weight: weight[placed(indices, weight.shape[0])],
    "gather": gather,
    "where": lambda a, c, x, y: torch.where(c != 0, x, y),
    "scatter_add": scatter,
    "scatter_elements": lambda a, *given: scatter(a, *given, a.reduction),
    "cumsum": walked(torch.cumsum, 0),
    "cumprod": walked(torch.cumprod, 1),
    "logsumexp": lambda a, x: torch.logsumexp(x, a.named(x), a.keepdims) if a.named(x) else x * 1,
    "norm": lambda a, x: torch.linalg.vector_norm(x, a.ord, a.named(x), a.keepdims) if a.named(x) else x.abs(),
    "variance": spread_of(torch.var),
    "std": spread_of(torch.std),
    "tile": lambda a, x: x.tile(a.ints("reps")),
    "repeat": lambda a, x: torch.repeat_interleave(x, a.repeats, a.axis),
    "stack": lambda a, *parts: torch.stack(parts, a.axis),
    "pixel_shuffle": lambda a, x: relayout(F.pixel_shuffle(relayout(x, a.layout, "NCHW"), a.upscale_factor), "NCHW", a.layout),
    "pixel_unshuffle": lambda a, x: relayout(F.pixel_unshuffle(relayout(x, a.layout, "NCHW"), a.downscale_factor), "NCHW", a.layout),
    "roll": lambda a, x: torch.roll(x, a.ints("shift"), a.ints("axis")),
    "diag": lambda a, x: torch.diag(x, a.k) if x.dim() == 1 else torch.diagonal(x, a.k, -2, -1),
    "trilu": lambda a, x: (torch.triu if a.upper else torch.tril)(x, a.k),
    "meshgrid": lambda a, *vectors: torch.meshgrid(*vectors, indexing=a.indexing),
}


def max_pool_with_indices(a, x):
    v = Windows(a, "pool_size", x.shape, a.out[0])
    padded = v.padded(v.images(x), -torch.inf)
    values, places = v.function("max_pool")(padded, v.kernel, v.stride, 0, v.dilation, return_indices=True)
    whole, step, places_in_padded = torch.zeros_like(places), 1, places
    for extent, wide, before in reversed(list(zip(v.extents, padded.shape[2:], v.before))):
        whole = whole + (places_in_padded % wide - before) * step
        places_in_padded, step = places_in_padded // wide, step * extent
    return v.result(values), v.result(whole)


def max_unpool(a, x, indices):
    pixels = int(np.prod(a.out[0][2:]))
    places = torch.where(indices < 0, pixels, indices.long())
    zeros = torch.zeros(*x.shape[:2], pixels + 1, dtype=x.dtype)
    return zeros.scatter(2, places.flatten(2), x.flatten(2))[:, :, :pixels].reshape(a.out[0])


OPERATORS |= {
    "grid_sample": lambda a, x, grid: F.grid_sample(x, grid.movedim(1, -1), a.method, a.padding_mode, a.align_corners),
    "affine_grid": lambda a, x: F.affine_grid(x, (x.shape[0], 1, *a.target_shape), a.align_corners).movedim(-1, 1),
    **{f"max_pool{d}d_with_indices": max_pool_with_indices for d in (1, 2, 3)},
    **{f"max_unpool{d}d": max_unpool for d in (1, 2, 3)},
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
