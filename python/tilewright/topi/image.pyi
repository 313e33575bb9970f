# SPDX-License-Identifier: Apache-2.0
# Made by python/stubs/make_stubs.py.
import collections.abc

from tilewright._core import ExprLike, PrimExpr, Tensor


def resize1d(data: Tensor, size: int | collections.abc.Sequence[int], layout: str = 'NCW', method: str = 'linear', coordinate_transformation_mode: str = 'half_pixel', rounding_method: str = 'round', bicubic_alpha: float = -0.5, bicubic_exclude: bool = False, extrapolation_value: float = 0.0) -> Tensor:
    r"""Images of another size, interpolated along one spatial dimension after the other. Integers are interpolated as float32 and rounded. ONNX Resize.

    data (Tensor): [N, C, W]
    size (int | collections.abc.Sequence[int]): extents of the result
    layout (str): "NCW"
    method (str): "nearest_neighbor", "linear" or "cubic"
    coordinate_transformation_mode (str): "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric" or "tf_half_pixel_for_nn"
    rounding_method (str): of nearest_neighbor: "round", "round_prefer_floor", "round_prefer_ceil", "floor" or "ceil"
    bicubic_alpha (float): coefficient of the cubic filter
    bicubic_exclude (bool): taps outside of the image count nothing, else as its border
    extrapolation_value (float): of what lies outside of the image
    """


def resize2d(data: Tensor, size: int | collections.abc.Sequence[int], layout: str = 'NCHW', method: str = 'linear', coordinate_transformation_mode: str = 'half_pixel', rounding_method: str = 'round', bicubic_alpha: float = -0.5, bicubic_exclude: bool = False, extrapolation_value: float = 0.0) -> Tensor:
    r"""Images of another size, interpolated along one spatial dimension after the other. Integers are interpolated as float32 and rounded. ONNX Resize.

    data (Tensor): [N, C, H, W]
    size (int | collections.abc.Sequence[int]): extents of the result
    layout (str): "NCHW"
    method (str): "nearest_neighbor", "linear" or "cubic"
    coordinate_transformation_mode (str): "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric" or "tf_half_pixel_for_nn"
    rounding_method (str): of nearest_neighbor: "round", "round_prefer_floor", "round_prefer_ceil", "floor" or "ceil"
    bicubic_alpha (float): coefficient of the cubic filter
    bicubic_exclude (bool): taps outside of the image count nothing, else as its border
    extrapolation_value (float): of what lies outside of the image
    """


def resize3d(data: Tensor, size: int | collections.abc.Sequence[int], layout: str = 'NCDHW', method: str = 'linear', coordinate_transformation_mode: str = 'half_pixel', rounding_method: str = 'round', bicubic_alpha: float = -0.5, bicubic_exclude: bool = False, extrapolation_value: float = 0.0) -> Tensor:
    r"""Images of another size, interpolated along one spatial dimension after the other. Integers are interpolated as float32 and rounded. ONNX Resize.

    data (Tensor): [N, C, D, H, W]
    size (int | collections.abc.Sequence[int]): extents of the result
    layout (str): "NCDHW"
    method (str): "nearest_neighbor", "linear" or "cubic"
    coordinate_transformation_mode (str): "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric" or "tf_half_pixel_for_nn"
    rounding_method (str): of nearest_neighbor: "round", "round_prefer_floor", "round_prefer_ceil", "floor" or "ceil"
    bicubic_alpha (float): coefficient of the cubic filter
    bicubic_exclude (bool): taps outside of the image count nothing, else as its border
    extrapolation_value (float): of what lies outside of the image
    """


def grid_sample(data: Tensor, grid: Tensor, method: str = 'bilinear', layout: str = 'NCHW', padding_mode: str = 'zeros', align_corners: bool = True) -> Tensor:
    r"""Images at the positions of a grid: [n, c, ...] with the spatial extents of grid. ONNX GridSample, whose grid has positions as its last dimension.

    data (Tensor): [n, c, h, w] or [n, c, d, h, w], floating
    grid (Tensor): [n, 2, ...] or [n, 3, ...]: positions from -1 to 1, those of the last dimension first
    method (str): "nearest", "bilinear" or "bicubic"
    layout (str): "NCHW" or "NCDHW"
    padding_mode (str): what lies outside of images: "zeros", "border" or "reflection"
    align_corners (bool): whether -1 and 1 are centers of pixels, and not their edges
    """


def affine_grid(data: Tensor, target_shape: int | collections.abc.Sequence[int], align_corners: bool = True) -> Tensor:
    r"""The positions of pixels of images, moved by matrices: a grid for grid_sample. ONNX AffineGrid.

    data (Tensor): [n, 2, 3] or [n, 3, 4]: matrices, floating
    target_shape (int | collections.abc.Sequence[int]): extents (h, w) or (d, h, w) of images
    align_corners (bool): whether -1 and 1 are centers of pixels, and not their edges
    """
