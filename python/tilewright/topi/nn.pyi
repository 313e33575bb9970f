# SPDX-License-Identifier: Apache-2.0
# Made by python/stubs/make_stubs.py.
import collections.abc

from tilewright._core import ExprLike, PrimExpr, Tensor


def flatten(data: Tensor) -> Tensor:
    r"""[N, C * ...]; of rank 1 [N, 1]. ONNX Flatten with axis 1.

    data (Tensor): [N, C, ...]
    """


def relu(x: Tensor) -> Tensor:
    r"""Max(x, 0), of NaN NaN. ONNX Relu.

    x (Tensor): numbers
    """


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    r"""X where positive, else alpha * x. ONNX LeakyRelu.

    x (Tensor): floats
    alpha (float): the slope below 0
    """


def prelu(x: Tensor, slope: Tensor, axis: int = 1) -> Tensor:
    r"""X where positive, else slope * x. ONNX PRelu.

    x (Tensor)
    slope (Tensor): [C]
    axis (int): the dimension of x that has extent C
    """


def dense(data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None) -> Tensor:
    r"""Data times the transpose of weight, plus bias: [M, N]. PyTorch Linear.

    data (Tensor): [M, K]
    weight (Tensor): [N, K]
    bias (Tensor | None): [N]; None: none
    out_dtype (str | None): of products and sums; None: that of the first operand
    """


def matmul(tensor_a: Tensor, tensor_b: Tensor, bias: Tensor | None = None, out_dtype: str | None = None, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    r"""The product of two matrices, plus bias: [M, N]. ONNX Gemm with alpha and beta 1.

    tensor_a (Tensor): [M, K]; transposed [K, M]
    tensor_b (Tensor): [K, N]; transposed [N, K]
    bias (Tensor | None): [N]; None: none
    out_dtype (str | None): of products and sums; None: that of the first operand
    transpose_a (bool)
    transpose_b (bool)
    """


def batch_matmul(tensor_a: Tensor, tensor_b: Tensor, oshape: None = None, out_dtype: str | None = None, transpose_a: bool = False, transpose_b: bool = True) -> Tensor:
    r"""A product of matrices for each b: [B, M, N]. Dimensions B are aligned at the last; where one is 1 or missing it is repeated.

    tensor_a (Tensor): [B, M, K]; transposed [B, K, M]; any number of dimensions B
    tensor_b (Tensor): [B, K, N]; transposed [B, N, K]; any number of dimensions B
    oshape (None): the shape follows from the operands
    out_dtype (str | None): of products and sums; None: that of the first operand
    transpose_a (bool)
    transpose_b (bool)
    """


def bias_add(data: Tensor, bias: Tensor, axis: int = 1) -> Tensor:
    r"""Data plus bias along axis.

    data (Tensor)
    bias (Tensor): [C]
    axis (int): the dimension of data that has extent C
    """


def layer_norm(data: Tensor, gamma: Tensor | None, beta: Tensor | None, axis: int | collections.abc.Sequence[int] | None, epsilon: float = 1e-05) -> Tensor:
    r"""(data - mean) / sqrt(variance + epsilon) * gamma + beta, mean and (biased) variance over axis. ONNX LayerNormalization.

    data (Tensor): floats
    gamma (Tensor | None): of the extents of axis; None: 1
    beta (Tensor | None): of the extents of axis; None: 0
    axis (int | collections.abc.Sequence[int] | None): dimensions of a group
    epsilon (float): is added to the variance
    """


def batch_norm(data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Tensor, moving_var: Tensor, axis: int = 1, epsilon: float = 1e-05) -> Tensor:
    r"""Inference: (data - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta. ONNX BatchNormalization.

    data (Tensor): floats
    gamma (Tensor): [C]
    beta (Tensor): [C]
    moving_mean (Tensor): [C]
    moving_var (Tensor): [C]
    axis (int): the dimension of data that has extent C
    epsilon (float): is added to the variance
    """


def pad(data: Tensor, pad_before: ExprLike | collections.abc.Sequence[ExprLike], pad_after: ExprLike | collections.abc.Sequence[ExprLike] | None = None, pad_value: ExprLike | None = 0.0, name: str = 'PadInput') -> Tensor:
    r"""Data with elements of pad_value around each dimension. ONNX Pad.

    data (Tensor)
    pad_before (ExprLike | collections.abc.Sequence[ExprLike]): elements before each dimension
    pad_after (ExprLike | collections.abc.Sequence[ExprLike] | None): elements after each dimension; None: as before
    pad_value (ExprLike | None): is converted to the type of data; None: 0
    name (str): of the stage
    """


def pool1d(data: Tensor, kernel: int | collections.abc.Sequence[int], stride: int | collections.abc.Sequence[int], dilation: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, pool_type: str, ceil_mode: bool = False, layout: str = 'NCW', count_include_pad: bool = True, ceil_rule: str = 'tvm') -> Tensor:
    r"""The greatest element or the mean of each window: [N, C, ...], each spatial extent being (in + padding before and behind + (stride - 1 with ceil_mode) - ((kernel - 1) * dilation + 1)) // stride + 1. A maximum disregards padding, and is minus infinity (the least integer) of a window without elements; a mean is 0 there. A mean is never over what ceil_mode adds. ONNX MaxPool and AveragePool.

    data (Tensor): [N, C, W]; floats for a mean
    kernel (int | collections.abc.Sequence[int]): one extent, or one for each spatial dimension
    stride (int | collections.abc.Sequence[int]): one, or one for each spatial dimension
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or one for each spatial dimension
    padding (int | collections.abc.Sequence[int] | str)
    pool_type (str): "max" or "avg"
    ceil_mode (bool): a last window that does not fit whole counts too
    layout (str): "NCW"
    count_include_pad (bool): means are over padding too
    ceil_rule (str): what ceil_mode does of a window that begins in the padding behind the data: "tvm" keeps it, "pytorch" leaves it out
    """


def adaptive_pool1d(data: Tensor, output_size: int | collections.abc.Sequence[int], pool_type: str, layout: str = 'NCW') -> Tensor:
    r"""The greatest element or the mean of windows that cover the image: window i of n reaches from floor(i * extent / n) to ceil((i + 1) * extent / n). PyTorch's adaptive pooling.

    data (Tensor): [N, C, W]; floats for a mean
    output_size (int | collections.abc.Sequence[int]): how many windows: one number, or one for each spatial dimension
    pool_type (str): "max" or "avg"
    layout (str): "NCW"
    """


def pool2d(data: Tensor, kernel: int | collections.abc.Sequence[int], stride: int | collections.abc.Sequence[int], dilation: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, pool_type: str, ceil_mode: bool = False, layout: str = 'NCHW', count_include_pad: bool = True, ceil_rule: str = 'tvm') -> Tensor:
    r"""The greatest element or the mean of each window: [N, C, ...], each spatial extent being (in + padding before and behind + (stride - 1 with ceil_mode) - ((kernel - 1) * dilation + 1)) // stride + 1. A maximum disregards padding, and is minus infinity (the least integer) of a window without elements; a mean is 0 there. A mean is never over what ceil_mode adds. ONNX MaxPool and AveragePool.

    data (Tensor): [N, C, H, W]; floats for a mean
    kernel (int | collections.abc.Sequence[int]): one extent, or one for each spatial dimension
    stride (int | collections.abc.Sequence[int]): one, or one for each spatial dimension
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or one for each spatial dimension
    padding (int | collections.abc.Sequence[int] | str)
    pool_type (str): "max" or "avg"
    ceil_mode (bool): a last window that does not fit whole counts too
    layout (str): "NCHW"
    count_include_pad (bool): means are over padding too
    ceil_rule (str): what ceil_mode does of a window that begins in the padding behind the data: "tvm" keeps it, "pytorch" leaves it out
    """


def adaptive_pool(data: Tensor, output_size: int | collections.abc.Sequence[int], pool_type: str, layout: str = 'NCHW') -> Tensor:
    r"""The greatest element or the mean of windows that cover the image: window i of n reaches from floor(i * extent / n) to ceil((i + 1) * extent / n). PyTorch's adaptive pooling.

    data (Tensor): [N, C, H, W]; floats for a mean
    output_size (int | collections.abc.Sequence[int]): how many windows: one number, or one for each spatial dimension
    pool_type (str): "max" or "avg"
    layout (str): "NCHW"
    """


def pool3d(data: Tensor, kernel: int | collections.abc.Sequence[int], stride: int | collections.abc.Sequence[int], dilation: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, pool_type: str, ceil_mode: bool = False, layout: str = 'NCDHW', count_include_pad: bool = True, ceil_rule: str = 'tvm') -> Tensor:
    r"""The greatest element or the mean of each window: [N, C, ...], each spatial extent being (in + padding before and behind + (stride - 1 with ceil_mode) - ((kernel - 1) * dilation + 1)) // stride + 1. A maximum disregards padding, and is minus infinity (the least integer) of a window without elements; a mean is 0 there. A mean is never over what ceil_mode adds. ONNX MaxPool and AveragePool.

    data (Tensor): [N, C, D, H, W]; floats for a mean
    kernel (int | collections.abc.Sequence[int]): one extent, or one for each spatial dimension
    stride (int | collections.abc.Sequence[int]): one, or one for each spatial dimension
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or one for each spatial dimension
    padding (int | collections.abc.Sequence[int] | str)
    pool_type (str): "max" or "avg"
    ceil_mode (bool): a last window that does not fit whole counts too
    layout (str): "NCDHW"
    count_include_pad (bool): means are over padding too
    ceil_rule (str): what ceil_mode does of a window that begins in the padding behind the data: "tvm" keeps it, "pytorch" leaves it out
    """


def adaptive_pool3d(data: Tensor, output_size: int | collections.abc.Sequence[int], pool_type: str, layout: str = 'NCDHW') -> Tensor:
    r"""The greatest element or the mean of windows that cover the image: window i of n reaches from floor(i * extent / n) to ceil((i + 1) * extent / n). PyTorch's adaptive pooling.

    data (Tensor): [N, C, D, H, W]; floats for a mean
    output_size (int | collections.abc.Sequence[int]): how many windows: one number, or one for each spatial dimension
    pool_type (str): "max" or "avg"
    layout (str): "NCDHW"
    """


def global_pool(data: Tensor, pool_type: str, layout: str = 'NCHW') -> Tensor:
    r"""One window over all of each image: [N, C, 1, 1] of two spatial dimensions. ONNX GlobalMaxPool and GlobalAveragePool.

    data (Tensor): [N, C, ...]; floats for a mean
    pool_type (str): "max" or "avg"
    layout (str): "NCHW"
    """


def pool_grad(grads: Tensor, data: Tensor, kernel: int | collections.abc.Sequence[int], stride: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, pool_type: str, ceil_mode: bool = False, count_include_pad: bool = True, layout: str = 'NCHW') -> Tensor:
    r"""The gradient of pool2d's data: [N, C, H, W]. Of equal elements of a window the first in row-major order is the greatest, as in PyTorch.

    grads (Tensor): the gradient of the result, of its shape
    data (Tensor): [N, C, H, W], what was pooled
    kernel (int | collections.abc.Sequence[int]): one extent, or (vertical, horizontal)
    stride (int | collections.abc.Sequence[int]): one, or (vertical, horizontal)
    padding (int | collections.abc.Sequence[int] | str)
    pool_type (str): "max" or "avg"
    ceil_mode (bool): a last window that does not fit whole counts too
    count_include_pad (bool): means are over padding too
    layout (str): "NCHW"
    """


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    r"""Exp(x - max) / sum(exp(x - max)) along axis. ONNX Softmax (opset 13).

    x (Tensor): floats
    axis (int): a dimension
    """


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    r"""X - max - log(sum(exp(x - max))) along axis. ONNX LogSoftmax (opset 13).

    x (Tensor): floats
    axis (int): a dimension
    """


def upsampling(data: Tensor, scale_h: int, scale_w: int, layout: str = 'NCHW', method: str = 'nearest_neighbor', align_corners: bool = False) -> Tensor:
    r"""Each pixel scale_h times below itself and scale_w times beside: [N, C, H * scale_h, W * scale_w]. ONNX Resize, nearest.

    data (Tensor): [N, C, H, W]
    scale_h (int): 1 or more
    scale_w (int): 1 or more
    layout (str): "NCHW"
    method (str): "nearest_neighbor" or "bilinear"
    align_corners (bool): whether the outermost pixels of both images lie on each other
    """


def upsampling3d(data: Tensor, scale_d: int, scale_h: int, scale_w: int, layout: str = 'NCDHW', method: str = 'nearest_neighbor', coordinate_transformation_mode: str = 'half_pixel') -> Tensor:
    r"""Each element so many times along each spatial dimension.

    data (Tensor): [N, C, D, H, W]
    scale_d (int): 1 or more
    scale_h (int): 1 or more
    scale_w (int): 1 or more
    layout (str): "NCDHW"
    method (str): "nearest_neighbor" or "trilinear"
    coordinate_transformation_mode (str): of trilinear: as resize3d has it
    """


def depth_to_space(data: Tensor, block_size: int, layout: str = 'NCHW', mode: str = 'DCR') -> Tensor:
    r"""Channels as rows and columns of blocks. ONNX DepthToSpace.

    data (Tensor): images
    block_size (int): rows and columns of a block
    layout (str): NCHW or NHWC
    mode (str): DCR: blocks before channels; CRD: behind
    """


def space_to_depth(data: Tensor, block_size: int, layout: str = 'NCHW', mode: str = 'DCR') -> Tensor:
    r"""Rows and columns of blocks as channels. ONNX SpaceToDepth.

    data (Tensor): images
    block_size (int): rows and columns of a block
    layout (str): NCHW or NHWC
    mode (str): DCR: blocks before channels; CRD: behind
    """


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    r"""X where positive, else alpha * (exp(x) - 1). ONNX Elu.

    x (Tensor): floats
    alpha (float): what it approaches is -alpha
    """


def selu(x: Tensor, alpha: float = 1.6732631921768188, gamma: float = 1.0507010221481323) -> Tensor:
    r"""Gamma * (x where positive, else alpha * (exp(x) - 1)). ONNX Selu.

    x (Tensor): floats
    alpha (float): what it approaches is -alpha * gamma
    gamma (float): the slope above 0
    """


def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    r"""X where positive, else alpha * (exp(x / alpha) - 1). ONNX Celu.

    x (Tensor): floats
    alpha (float): what it approaches is -alpha; not 0
    """


def gelu(x: Tensor, approximate: str = 'none') -> Tensor:
    r"""X / 2 * (1 + erf(x / sqrt(2))); Hendrycks and Gimpel, "Gaussian Error Linear Units". ONNX Gelu.

    x (Tensor): floats
    approximate (str): none, or tanh for the form with the hyperbolic tangent
    """


def silu(x: Tensor) -> Tensor:
    r"""X * sigmoid(x). ONNX Swish.

    x (Tensor): floats
    """


def mish(x: Tensor) -> Tensor:
    r"""X * tanh(log(1 + exp(x))). ONNX Mish.

    x (Tensor): floats
    """


def softplus(x: Tensor, beta: float = 1.0) -> Tensor:
    r"""Log(1 + exp(beta * x)) / beta. ONNX Softplus.

    x (Tensor): floats
    beta (float): how sharp it bends; not 0
    """


def softsign(x: Tensor) -> Tensor:
    r"""X / (1 + |x|). ONNX Softsign.

    x (Tensor): floats
    """


def relu6(x: Tensor) -> Tensor:
    r"""Max(0, min(x, 6)).

    x (Tensor): floats
    """


def hard_sigmoid(x: Tensor, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    r"""Max(0, min(alpha * x + beta, 1)). ONNX HardSigmoid.

    x (Tensor): floats
    alpha (float): the slope
    beta (float): the value at 0
    """


def hard_swish(x: Tensor) -> Tensor:
    r"""X * max(0, min(x + 3, 6)) / 6. ONNX HardSwish.

    x (Tensor): floats
    """


def thresholded_relu(x: Tensor, alpha: float = 1.0) -> Tensor:
    r"""X where it is above alpha, else 0. ONNX ThresholdedRelu.

    x (Tensor): floats
    alpha (float): the threshold
    """


def shrink(x: Tensor, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    r"""X + bias below -lambd, x - bias above lambd, else 0. ONNX Shrink.

    x (Tensor): floats
    bias (float): is taken towards 0
    lambd (float): the threshold
    """


def hardmax(x: Tensor, axis: int = -1) -> Tensor:
    r"""1 at the greatest element along axis, the first of equals, else 0. ONNX Hardmax (opset 13).

    x (Tensor)
    axis (int): a dimension
    """


def rms_norm(data: Tensor, gamma: Tensor | None, axis: int | collections.abc.Sequence[int] | None, epsilon: float = 1e-05) -> Tensor:
    r"""Data / sqrt(mean(data²) + epsilon) * gamma, the mean over axis. ONNX RMSNormalization.

    data (Tensor): floats
    gamma (Tensor | None): of the extents of axis; None: 1
    axis (int | collections.abc.Sequence[int] | None): dimensions of a group
    epsilon (float): is added to the mean
    """


def l2_normalize(data: Tensor, eps: float, axis: int | collections.abc.Sequence[int] | None = None) -> Tensor:
    r"""Data / sqrt(max(sum(data²), eps)), the sum over axis.

    data (Tensor): floats
    eps (float): the least that is divided by, squared
    axis (int | collections.abc.Sequence[int] | None): the dimensions; None: all
    """


def conv1d_ncw(data: Tensor, kernel: Tensor, stride: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, dilation: int | collections.abc.Sequence[int], out_dtype: str | None = None) -> Tensor:
    r"""Cross-correlation: [N, F, ...], each spatial extent being (in + padding before and behind - ((kernel - 1) * dilation + 1)) // stride + 1. With padding a stage pad_temp stands before. ONNX Conv.

    data (Tensor): [N, C, W]
    kernel (Tensor): [F, C, KW]
    stride (int | collections.abc.Sequence[int]): one, or one for each spatial dimension
    padding (int | collections.abc.Sequence[int] | str)
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or one for each spatial dimension
    out_dtype (str | None): of products and sums; None: that of the data
    """


def group_conv1d_ncw(Input: Tensor, Filter: Tensor, stride: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, dilation: int | collections.abc.Sequence[int], groups: int, out_dtype: str | None = None) -> Tensor:
    r"""Cross-correlation: [N, F, ...], each spatial extent being (in + padding before and behind - ((kernel - 1) * dilation + 1)) // stride + 1. With padding a stage pad_temp stands before. ONNX Conv.

    Input (Tensor): [N, C, W]
    Filter (Tensor): [F, C / groups, KW]
    stride (int | collections.abc.Sequence[int]): one, or one for each spatial dimension
    padding (int | collections.abc.Sequence[int] | str)
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or one for each spatial dimension
    groups (int): divide C and F; a group of F reads a group of C
    out_dtype (str | None): of products and sums; None: that of the data
    """


def conv2d_nchw(Input: Tensor, Filter: Tensor, stride: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, dilation: int | collections.abc.Sequence[int], out_dtype: str | None = None) -> Tensor:
    r"""Cross-correlation: [N, F, ...], each spatial extent being (in + padding before and behind - ((kernel - 1) * dilation + 1)) // stride + 1. With padding a stage pad_temp stands before. ONNX Conv.

    Input (Tensor): [N, C, H, W]
    Filter (Tensor): [F, C, KH, KW]
    stride (int | collections.abc.Sequence[int]): one, or one for each spatial dimension
    padding (int | collections.abc.Sequence[int] | str)
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or one for each spatial dimension
    out_dtype (str | None): of products and sums; None: that of the data
    """


def group_conv2d_nchw(Input: Tensor, Filter: Tensor, stride: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, dilation: int | collections.abc.Sequence[int], groups: int, out_dtype: str | None = None) -> Tensor:
    r"""Cross-correlation: [N, F, ...], each spatial extent being (in + padding before and behind - ((kernel - 1) * dilation + 1)) // stride + 1. With padding a stage pad_temp stands before. ONNX Conv.

    Input (Tensor): [N, C, H, W]
    Filter (Tensor): [F, C / groups, KH, KW]
    stride (int | collections.abc.Sequence[int]): one, or one for each spatial dimension
    padding (int | collections.abc.Sequence[int] | str)
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or one for each spatial dimension
    groups (int): divide C and F; a group of F reads a group of C
    out_dtype (str | None): of products and sums; None: that of the data
    """


def conv3d_ncdhw(Input: Tensor, Filter: Tensor, stride: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, dilation: int | collections.abc.Sequence[int], out_dtype: str | None = None) -> Tensor:
    r"""Cross-correlation: [N, F, ...], each spatial extent being (in + padding before and behind - ((kernel - 1) * dilation + 1)) // stride + 1. With padding a stage pad_temp stands before. ONNX Conv.

    Input (Tensor): [N, C, D, H, W]
    Filter (Tensor): [F, C, KD, KH, KW]
    stride (int | collections.abc.Sequence[int]): one, or one for each spatial dimension
    padding (int | collections.abc.Sequence[int] | str)
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or one for each spatial dimension
    out_dtype (str | None): of products and sums; None: that of the data
    """


def group_conv3d_ncdhw(Input: Tensor, Filter: Tensor, stride: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, dilation: int | collections.abc.Sequence[int], groups: int, out_dtype: str | None = None) -> Tensor:
    r"""Cross-correlation: [N, F, ...], each spatial extent being (in + padding before and behind - ((kernel - 1) * dilation + 1)) // stride + 1. With padding a stage pad_temp stands before. ONNX Conv.

    Input (Tensor): [N, C, D, H, W]
    Filter (Tensor): [F, C / groups, KD, KH, KW]
    stride (int | collections.abc.Sequence[int]): one, or one for each spatial dimension
    padding (int | collections.abc.Sequence[int] | str)
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or one for each spatial dimension
    groups (int): divide C and F; a group of F reads a group of C
    out_dtype (str | None): of products and sums; None: that of the data
    """


def conv2d(input: Tensor, filter: Tensor, strides: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, dilation: int | collections.abc.Sequence[int], layout: str = 'NCHW', out_dtype: str | None = None, data_layout: str = 'NCHW') -> Tensor:
    r"""Cross-correlation: [N, F, ...], each spatial extent being (in + padding before and behind - ((kernel - 1) * dilation + 1)) // stride + 1. With padding a stage pad_temp stands before. ONNX Conv.

    input (Tensor): [N, C, H, W]
    filter (Tensor): [F, C, KH, KW]
    strides (int | collections.abc.Sequence[int]): one, or one for each spatial dimension
    padding (int | collections.abc.Sequence[int] | str)
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or one for each spatial dimension
    layout (str): "NCHW"
    out_dtype (str | None): of products and sums; None: that of the data
    data_layout (str): what later TVM calls layout
    """


def conv1d_transpose_ncw(data: Tensor, kernel: Tensor, stride: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, out_dtype: str | None = None, output_padding: int | collections.abc.Sequence[int] = [0], dilation: int | collections.abc.Sequence[int] = [1], groups: int = 1) -> Tensor:
    r"""Each element of data, times the kernel, added to the window that a convolution would have computed it from: [N, F, ...], each spatial extent being (in - 1) * stride + (kernel - 1) * dilation + 1 + output_padding - padding before and behind. Kernels have constant extents. ONNX ConvTranspose.

    data (Tensor): [N, C, W]
    kernel (Tensor): [C, F / groups, KW]
    stride (int | collections.abc.Sequence[int]): one, or one for each spatial dimension
    padding (int | collections.abc.Sequence[int] | str): is taken off the result
    out_dtype (str | None): of products and sums; None: that of the data
    output_padding (int | collections.abc.Sequence[int]): more elements at the end of each dimension
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or one for each spatial dimension
    groups (int): divide C and F; a group of F is made of a group of C
    """


def conv2d_transpose_nchw(Input: Tensor, Filter: Tensor, stride: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, out_dtype: str | None = None, output_padding: int | collections.abc.Sequence[int] = [0], dilation: int | collections.abc.Sequence[int] = [1], groups: int = 1) -> Tensor:
    r"""Each element of data, times the kernel, added to the window that a convolution would have computed it from: [N, F, ...], each spatial extent being (in - 1) * stride + (kernel - 1) * dilation + 1 + output_padding - padding before and behind. Kernels have constant extents. ONNX ConvTranspose.

    Input (Tensor): [N, C, H, W]
    Filter (Tensor): [C, F / groups, KH, KW]
    stride (int | collections.abc.Sequence[int]): one, or one for each spatial dimension
    padding (int | collections.abc.Sequence[int] | str): is taken off the result
    out_dtype (str | None): of products and sums; None: that of the data
    output_padding (int | collections.abc.Sequence[int]): more elements at the end of each dimension
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or one for each spatial dimension
    groups (int): divide C and F; a group of F is made of a group of C
    """


def conv3d_transpose_ncdhw(Input: Tensor, Filter: Tensor, stride: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, out_dtype: str | None = None, output_padding: int | collections.abc.Sequence[int] = [0], dilation: int | collections.abc.Sequence[int] = [1], groups: int = 1) -> Tensor:
    r"""Each element of data, times the kernel, added to the window that a convolution would have computed it from: [N, F, ...], each spatial extent being (in - 1) * stride + (kernel - 1) * dilation + 1 + output_padding - padding before and behind. Kernels have constant extents. ONNX ConvTranspose.

    Input (Tensor): [N, C, D, H, W]
    Filter (Tensor): [C, F / groups, KD, KH, KW]
    stride (int | collections.abc.Sequence[int]): one, or one for each spatial dimension
    padding (int | collections.abc.Sequence[int] | str): is taken off the result
    out_dtype (str | None): of products and sums; None: that of the data
    output_padding (int | collections.abc.Sequence[int]): more elements at the end of each dimension
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or one for each spatial dimension
    groups (int): divide C and F; a group of F is made of a group of C
    """


def conv2d_NCHWc(data: Tensor, kernel: Tensor, stride: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, dilation: int | collections.abc.Sequence[int], layout: str, out_layout: str, out_dtype: str | None = None) -> Tensor:
    r"""Conv2d_nchw with channels in blocks, as oneDNN keeps images: [N, F / f, OH, OW, f].

    data (Tensor): [N, C / c, H, W, c]
    kernel (Tensor): [F / f, C / c, KH, KW, c, f]
    stride (int | collections.abc.Sequence[int]): one, or (vertical, horizontal)
    padding (int | collections.abc.Sequence[int] | str)
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or (vertical, horizontal)
    layout (str): "NCHW16c" where c is 16
    out_layout (str): "NCHW16c" where f is 16
    out_dtype (str | None): of products and sums; None: that of the data
    """


def depthwise_conv2d_NCHWc(Input: Tensor, Filter: Tensor, stride: int | collections.abc.Sequence[int], padding: int | collections.abc.Sequence[int] | str, dilation: int | collections.abc.Sequence[int], layout: str, out_layout: str, out_dtype: str | None = None) -> Tensor:
    r"""Each channel with filters of its own, channels in blocks: [N, F / f, OH, OW, f].

    Input (Tensor): [N, C / c, H, W, c]
    Filter (Tensor): [F / f, 1, KH, KW, 1, f], F a multiple of C
    stride (int | collections.abc.Sequence[int]): one, or (vertical, horizontal)
    padding (int | collections.abc.Sequence[int] | str)
    dilation (int | collections.abc.Sequence[int]): distance of taps: one, or (vertical, horizontal)
    layout (str): "NCHW16c" where c is 16
    out_layout (str): "NCHW16c" where f is 16
    out_dtype (str | None): of products and sums; None: that of the data
    """


def lrn(data: Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75, bias: float = 2.0) -> Tensor:
    r"""Data / (bias + alpha / size * sum of the squares of `size` elements along axis) ** beta. ONNX LRN.

    data (Tensor): floats
    size (int): how many elements are summed
    axis (int): the dimension of channels
    alpha (float): factor of the mean square
    beta (float): the power
    bias (float): what is added to it
    """


def mirror_pad(data: Tensor, pad_before: int | collections.abc.Sequence[int], pad_after: int | collections.abc.Sequence[int] | None = None, mode: str = 'SYMMETRIC') -> Tensor:
    r"""Data with elements of its own around it, as NumPy's pad has them. ONNX Pad.

    data (Tensor)
    pad_before (int | collections.abc.Sequence[int]): elements before each dimension
    pad_after (int | collections.abc.Sequence[int] | None): elements after each dimension; None: as before
    mode (str): "SYMMETRIC", "REFLECT", "EDGE" or "WRAP"
    """
