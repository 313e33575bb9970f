# SPDX-License-Identifier: Apache-2.0
# Made by python/stubs/make_stubs.py.
import collections.abc

from tilewright._core import ExprLike, PrimExpr, Tensor
from . import ssd as ssd


def get_valid_counts(data: Tensor, score_threshold: float, id_index: int = 0, score_index: int = 1) -> Tensor:
    r"""How many boxes count, int32 [batch]; those, and rows of -1 behind them; and their places, int32 [batch, n].

    data (Tensor): [batch, n, columns], floating
    score_threshold (float): scores above it count
    id_index (int): the column of the class, or -1
    score_index (int): the column of the score
    """


def non_max_suppression(data: Tensor, valid_count: Tensor, indices: Tensor | None = None, max_output_size: int = -1, iou_threshold: float = 0.5, force_suppress: bool = False, top_k: int = -1, coord_start: int = 2, score_index: int = 1, id_index: int = 0, return_indices: bool = True, invalid_to_bottom: bool = False) -> Tensor:
    r"""Boxes from the greatest score to the least without those that overlap one before them; rows of others are -1.

    data (Tensor): [batch, n, columns], floating
    valid_count (Tensor): int32 [batch]: how many boxes of each image count, the first
    indices (Tensor | None): int32 [batch, n]: what boxes are called where indices are returned; None: their places
    max_output_size (int): how many are kept; all where below 0
    iou_threshold (float): what overlaps as much goes; nothing does where it is not above 0
    force_suppress (bool): boxes of other classes go too
    top_k (int): how many of the greatest scores are looked at; all where below 1
    coord_start (int): the first of four columns: left, top, right, bottom
    score_index (int): the column of the score
    id_index (int): the column of the class, or -1
    return_indices (bool): indices [batch, n], -1 behind them, and how many, [batch, 1]
    invalid_to_bottom (bool): what is kept stands in the first rows
    """


def all_class_non_max_suppression(boxes: Tensor, scores: Tensor, max_output_boxes_per_class: int = -1, iou_threshold: float = -1.0, score_threshold: float = -1.0, output_format: str = 'onnx') -> Tensor:
    r"""The boxes of each class from the greatest score to the least, without those that overlap one before them: int64 [batch * classes * n, 3] of image, class and box, rows of -1 behind them, and how many there are, int64 [1]. ONNX NonMaxSuppression gives the first of these rows alone.

    boxes (Tensor): [batch, n, 4]: two opposite corners, floating
    scores (Tensor): [batch, classes, n], floating
    max_output_boxes_per_class (int): how many are kept of each class of an image; all below 0
    iou_threshold (float): what overlaps a kept box of its class by more than that goes
    score_threshold (float): only boxes with a greater score are looked at
    output_format (str): "onnx"
    """


def reorg(data: Tensor, stride: int) -> Tensor:
    r"""Pixels as channels, [n, c * stride², h / stride, w / stride], as Darknet's reorg.

    data (Tensor): [n, c, h, w]; stride² divides c, stride h and w
    stride (int): 1 or more
    """


def region(data: Tensor, num: int, classes: int, coords: int, background: bool = False, softmax: bool = True) -> Tensor:
    r"""Darknet's region layer: logistic of the first two coordinates and of the objectness, softmax of the classes.

    data (Tensor): [n, num * (coords + classes + 1), h, w], floating
    num (int): anchors
    classes (int): of each
    coords (int): coordinates of each
    background (bool): whether the channel behind the coordinates is a class
    softmax (bool): of the classes
    """


def yolo(data: Tensor, num: int, classes: int) -> Tensor:
    r"""Darknet's yolo layer: logistic of all channels but width and height.

    data (Tensor): [n, num * (5 + classes), h, w], floating
    num (int): anchors
    classes (int): of each
    """


def roi_pool_nchw(data: Tensor, rois: Tensor, pooled_size: int | collections.abc.Sequence[int], spatial_scale: float) -> Tensor:
    r"""The greatest of each part of a region, [r, c, rows, columns]. ONNX MaxRoiPool.

    data (Tensor): [n, c, h, w], floating
    rois (Tensor): [r, 5]: the number of an image, left, top, right, bottom
    pooled_size (int | collections.abc.Sequence[int]): parts of a region: one for both directions, or (rows, columns)
    spatial_scale (float): of positions of regions to those of data
    """


def roi_align_nchw(data: Tensor, rois: Tensor, pooled_size: int | collections.abc.Sequence[int], spatial_scale: float, mode: str = 'avg', sample_ratio: int = -1) -> Tensor:
    r"""The mean of points of each part of a region, bilinear between pixels, [r, c, rows, columns]. ONNX RoiAlign.

    data (Tensor): [n, c, h, w], floating
    rois (Tensor): [r, 5]: the number of an image, left, top, right, bottom
    pooled_size (int | collections.abc.Sequence[int]): parts of a region: one for both directions, or (rows, columns)
    spatial_scale (float): of positions of regions to those of data
    mode (str): "avg", or "max": the greatest of what the four pixels around points give to them, as ONNX has it; TVM's is that of points
    sample_ratio (int): points of a part in each direction; below 1: as many as pixels
    """
