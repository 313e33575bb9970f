// SPDX-License-Identifier: Apache-2.0
// Elements in order, and regions of images.
#include "graph/onnx/converter.h"

namespace tw::graph::onnx {
namespace {

// How many is an attribute, and from opset 10 on an input.
Values top_k(Call& c) {
  const Value& data = c.input(0);
  const int64_t axis = c.axis(c.integer("axis", -1), data.rank());
  const int64_t extent = data.extent(static_cast<size_t>(axis));
  const std::vector<int64_t> counts =
      c.opset() < 10 ? std::vector{c.integer("k")} : c.integers_of(1);
  if (counts.size() != 1 || counts[0] < 0 || counts[0] > extent)
    c.bad("a number of elements to take that is none", "0 to the extent of the axis");
  // Ours takes all where it is told 0.
  if (counts[0] == 0) c.unsupported("k of 0");
  const bool largest = c.opset() < 11 || c.flag("largest", true);
  return c.all("topk", {data},
               {{"k", text(counts[0])},
                {"axis", text(axis)},
                {"is_ascend", text(!largest)},
                {"dtype", "int64"}});
}

// Regions come without the images that they are of.
Values roi_align(Call& c) {
  const Value& regions = c.input(1);
  const Value images = c.reshaped(c.cast(c.input(2), regions.dtype()), {c.input(2).extent(0), 1});
  const Value rois = c("concatenate", {images, regions}, {{"axis", "1"}});
  const bool aligned =
      c.opset() >= 16 && c.string("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  return {c("roi_align", {c.input(0), rois},
            {{"pooled_size",
              text(std::vector{c.integer("output_height", 1), c.integer("output_width", 1)})},
             {"spatial_scale", text(c.real("spatial_scale", 1))},
             {"sample_ratio", text(c.integer("sampling_ratio", 0))},
             {"mode", c.string("mode", "avg")},
             {"aligned", text(aligned)}})};
}

Values max_roi_pool(Call& c) {
  return {c("roi_pool", {c.input(0), c.input(1)},
            {{"pooled_size", text(c.integers("pooled_shape"))},
             {"spatial_scale", text(c.real("spatial_scale", 1))}})};
}

}  // namespace

std::vector<Converter> order_converters() {
  const std::string_view align =
      "mode:string output_height:int output_width:int sampling_ratio:int spatial_scale:float";
  const std::string_view placed =
      "coordinate_transformation_mode:string mode:string output_height:int output_width:int "
      "sampling_ratio:int spatial_scale:float";
  return {{"TopK", 1, 1, 1, "axis:int k:int", top_k},
          {"TopK", 10, 2, 2, "axis:int", top_k},
          {"TopK", 11, 2, 2, "axis:int largest:int sorted:int", top_k},
          {"RoiAlign", 10, 3, 3, align, roi_align},
          {"RoiAlign", 16, 3, 3, placed, roi_align},
          {"MaxRoiPool", 1, 2, 2, "pooled_shape:ints spatial_scale:float", max_roi_pool}};
}

}  // namespace tw::graph::onnx
