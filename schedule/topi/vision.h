// SPDX-License-Identifier: Apache-2.0
// Boxes and regions of images. A box is a row of numbers: a class, a score, and left, top, right
// and bottom, in the places that arguments name. Rows that an operator does not give are -1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::vision {

// Boxes [batch, n, columns] whose score is above a threshold, and whose class is not below 0 where
// `id_index` is not: how many of each image, int32 [batch], those first and behind them rows of -1,
// and their places, int32 [batch, n].
std::vector<Tensor> get_valid_counts(const Tensor& data, double score_threshold,
                                     int64_t id_index = 0, int64_t score_index = 1);

struct Suppression {
  int64_t max_output_size = -1;  // boxes that are kept; all where below 0
  double iou_threshold = 0.5;    // nothing is suppressed where it is not above 0
  bool force_suppress = false;   // boxes of other classes too
  int64_t top_k = -1;            // only so many of the greatest scores are looked at
  int64_t coord_start = 2, score_index = 1, id_index = 0;
  bool invalid_to_bottom = false;  // what is kept stands in the first rows
};
// Of which row of data each row of non_max_suppression is, or -1, int32 [batch, n], and how many
// there are of each image, int32 [batch, 1].
std::vector<Tensor> suppression_source(const Tensor& data, const Tensor& valid_count,
                                       const Suppression& s);
// The boxes from the greatest score to the least, without those that overlap one before them:
// [batch, n, columns].
Tensor non_max_suppression(const Tensor& data, const Tensor& valid_count, const Suppression& s);

struct ClassSuppression {
  int64_t max_output_boxes_per_class = -1;  // of each image; all where below 0
  double iou_threshold = -1;                // what overlaps by more than that goes
  double score_threshold = -1;              // only greater scores are looked at
};
// boxes [batch, n, 4], by two opposite corners, and scores [batch, classes, n]: (image, class, box)
// of those that are kept, image by image, class by class, from the greatest score to the least,
// int64 [batch * classes * n, 3] with rows of -1 behind them; and how many there are, int64 [1].
std::vector<Tensor> all_class_non_max_suppression(const Tensor& boxes, const Tensor& scores,
                                                  const ClassSuppression& s);

// Anchors [1, h * w * (sizes + ratios - 1), 4] around the pixels of data [n, c, h, w], in parts of
// its extents. SSD, Liu et al. 2016.
Tensor multibox_prior(const Tensor& data, const std::vector<double>& sizes = {1},
                      const std::vector<double>& ratios = {1},
                      const std::vector<double>& steps = {-1, -1},
                      const std::vector<double>& offsets = {0.5, 0.5}, bool clip = false);
// The anchors of a class other than 0 whose probability, the greatest, reaches a threshold, int32
// [batch, n] in their order and -1 behind them; their classes less 1, in the type of cls_prob; and
// how many there are, int32 [batch]. cls_prob: [batch, classes, n].
std::vector<Tensor> multibox_source(const Tensor& cls_prob, double threshold);
// Boxes [batch, n, 6] of those anchors, moved and scaled by loc_pred [batch, n * 4], and how many.
std::vector<Tensor> multibox_transform_loc(
    const Tensor& cls_prob, const Tensor& loc_pred, const Tensor& anchor, bool clip = true,
    double threshold = 0.01, const std::vector<double>& variances = {0.1, 0.1, 0.2, 0.2});

// Darknet's reorg: [n, c, h, w] as [n, c * stride², h / stride, w / stride]; `inverse` undoes it.
Tensor reorg(const Tensor& data, int64_t stride, bool inverse = false);
// Darknet's region layer: boxes of `num` anchors, each of `coords` coordinates, an objectness and
// `classes` classes as channels. Logistic of the first two coordinates and, without `background`,
// of the objectness; softmax of the classes.
Tensor region(const Tensor& data, int64_t num, int64_t classes, int64_t coords, bool background,
              bool softmax = true);
// Darknet's yolo layer, of 4 coordinates: logistic of all but width and height.
Tensor yolo(const Tensor& data, int64_t num, int64_t classes);

// Regions of data [n, c, h, w]: rois [r, 5] are an image, left, top, right and bottom, which
// spatial_scale makes positions of data. A region of no image gives 0.
// roi_pool: for each of pooled_size parts of a region the place of its greatest element in data,
// row-major, int32 [r, c, rows, columns]; -1 where it has none.
Tensor roi_pool_source(const Tensor& data, const Tensor& rois,
                       const std::vector<int64_t>& pooled_size, double spatial_scale);
Tensor roi_pool_nchw(const Tensor& data, const Tensor& rois,
                     const std::vector<int64_t>& pooled_size, double spatial_scale);
// roi_align: the mean of sample_ratio² points of each part (as many as it has pixels where not
// above 0), bilinear between pixels. `aligned`: pixels have their centers at halves, and regions
// may be smaller than a pixel; ONNX's half_pixel. Mask R-CNN, He et al. 2017.
struct Alignment {
  std::vector<int64_t> pooled_size;
  double spatial_scale = 1;
  int64_t sample_ratio = -1;
  bool aligned = false;
};
Tensor roi_align_nchw(const Tensor& data, const Tensor& rois, const Alignment& a);
// Of each part the greatest of what pixels around its points give to them, as ONNX and ONNX Runtime
// have it: {its place in data, row-major, int32; the weight of that pixel}, [r, c, rows, columns].
// Points outside give 0, at a place of -1; so do parts without points.
std::vector<Tensor> roi_align_source(const Tensor& data, const Tensor& rois, const Alignment& a);
Tensor roi_align_greatest_nchw(const Tensor& data, const Tensor& rois, const Alignment& a);
// The gradient of roi_align's data, which has that shape.
Tensor roi_align_grad(const Tensor& grad, const Tensor& rois, const std::vector<Expr>& data_shape,
                      const Alignment& a);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> boxes_rows();
std::vector<Operator> class_suppression_rows();
std::vector<Operator> regions_rows();

}  // namespace tw::topi::vision
