# SPDX-License-Identifier: Apache-2.0
# Made by python/stubs/make_stubs.py.
import collections.abc

from tilewright._core import ExprLike, PrimExpr, Tensor


def multibox_prior(data: Tensor, sizes: float | collections.abc.Sequence[float] = [1.0], ratios: float | collections.abc.Sequence[float] = [1.0], steps: float | collections.abc.Sequence[float] = [-1.0, -1.0], offsets: float | collections.abc.Sequence[float] = [0.5, 0.5], clip: bool = False) -> Tensor:
    r"""Anchors around pixels, [1, h * w * (sizes + ratios - 1), 4]. SSD, Liu et al. 2016.

    data (Tensor): [n, c, h, w], floating; its shape and type matter
    sizes (float | collections.abc.Sequence[float]): of boxes, in parts of the image
    ratios (float | collections.abc.Sequence[float]): of width to height; the first goes with all sizes, others with the first
    steps (float | collections.abc.Sequence[float]): from one pixel to the next, (vertical, horizontal); below 0: 1 / extent
    offsets (float | collections.abc.Sequence[float]): of centers in pixels
    clip (bool): to between 0 and 1
    """


def multibox_transform_loc(cls_prob: Tensor, loc_pred: Tensor, anchor: Tensor, clip: bool = True, threshold: float = 0.01, variances: float | collections.abc.Sequence[float] = [0.1, 0.1, 0.2, 0.2]) -> Tensor:
    r"""Boxes [batch, n, 6] of the anchors that show something, rows of -1 behind them, and how many there are, int32 [batch].

    cls_prob (Tensor): [batch, classes, n], floating; class 0 is the background
    loc_pred (Tensor): [batch, n * 4]
    anchor (Tensor): [1, n, 4]
    clip (bool): boxes to between 0 and 1
    threshold (float): probabilities below it are background
    variances (float | collections.abc.Sequence[float]): four factors of loc_pred
    """
