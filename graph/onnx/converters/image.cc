// SPDX-License-Identifier: Apache-2.0
// Windows over images, and what goes with them.
#include <algorithm>

#include "graph/onnx/converters/windows.h"

namespace tw::graph::onnx {
namespace {

Values conv(Call& c) {
  Attributes attributes = convolution_of(c, c.input(1));
  attributes.set("use_bias", text(c.has(2)));
  return {c(of_dimensions("conv?d", c.input(0).rank() - 2), c.inputs(), attributes)};
}

// The outputs of ours.
Values pool(Call& c, std::string_view op) {
  const Value& data = c.input(0);
  const Attributes attributes = pooling_of(c);
  return c.all(of_dimensions(op, data.rank() - 2), {data}, attributes);
}

// Places among the pixels of an image as those among all elements of data, in which the first
// spatial dimension is the innermost one where `columns`.
Value whole_places(Call& c, const Value& places, bool columns) {
  const Value& data = c.input(0);
  int64_t pixels = 1;
  for (size_t d = 2; d < data.shape().size(); ++d) pixels *= data.extent(d);
  Value place = c.cast(places, int_type(64));
  if (columns) {
    const auto by = [&](std::string_view op, const Value& v, int64_t n) {
      return c(op, {v, c.constant(array_of({n}, {}, int_type(64)))});
    };
    Value rest = place, turned;
    int64_t step = pixels;
    for (size_t d = data.shape().size(); d-- > 2;) {
      step /= data.extent(d);
      const Value along = by("broadcast_mul", by("broadcast_mod", rest, data.extent(d)), step);
      turned = turned ? c("elemwise_add", {turned, along}) : along;
      if (d > 2) rest = by("broadcast_div", rest, data.extent(d));
    }
    place = turned;
  }
  Extents images, shape(data.shape().size(), 1);
  shape[0] = data.extent(0);
  shape[1] = data.extent(1);
  for (int64_t k = 0; k < shape[0] * shape[1]; ++k) images.push_back(k * pixels);
  return c("broadcast_add", {place, c.constant(array_of(images, shape, int_type(64)))});
}

Values max_pool(Call& c) {
  if (!c.wants(1)) return pool(c, "max_pool?d");
  const Values both = pool(c, "max_pool?d_with_indices");
  return {both[0], whole_places(c, both[1], c.flag("storage_order", false))};
}

// Over all dimensions behind the channels.
Converter over_images(std::string_view name, std::string_view op) {
  return {name, 1, 1, 1, "", [op](Call& c) {
            const Value& data = c.input(0);
            if (data.rank() < 2) c.bad("an image of " + text(data.shape()), "(n, c, …)");
            Extents axes;
            for (int64_t k = 2; k < data.rank(); ++k) axes.push_back(k);
            if (data.rank() == 4) {
              return Values{c(op == "max" ? "global_max_pool2d" : "global_avg_pool2d", {data})};
            }
            if (axes.empty()) return Values{data};
            return Values{c(op, {data}, {{"axis", text(axes)}, {"keepdims", "True"}})};
          }};
}

Values batch_norm(Call& c) {
  if (c.opset() < 9 && !c.flag("spatial", true)) c.unsupported("statistics of each pixel");
  const Value& data = c.input(0);
  if (data.rank() < 2) c.bad("a norm over " + text(data.shape()), "(n, c, …)");
  Values inputs{data};
  for (size_t k = 1; k < 5; ++k) inputs.push_back(c.cast(c.input(k), data.dtype()));
  if (c.opset() >= 14 && c.flag("training_mode", false)) {
    Values outputs = c.all("batch_norm_training", inputs,
                           {{"axis", "1"},
                            {"epsilon", text(c.real("epsilon", 1e-5F))},
                            {"momentum", text(c.real("momentum", 0.9F))}});
    for (size_t k = 1; k < 3; ++k) outputs[k] = c.cast(outputs[k], c.input(3).dtype());
    return outputs;
  }
  return {c("batch_norm", inputs, {{"axis", "1"}, {"epsilon", text(c.real("epsilon", 1e-5F))}})};
}

Values pad(Call& c) {
  const Value& data = c.input(0);
  const std::string mode = c.string("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    c.bad("mode '" + mode + "'", "constant, edge, reflect, wrap");
  }
  const bool inputs = c.opset() >= 11;
  const Extents given = inputs ? c.integers_of(1) : c.integers("pads");
  double value = inputs ? 0 : c.real("value", 0);
  if (inputs && c.has(2)) value = c.number_of(2);
  Extents axes;
  if (c.opset() >= 18 && c.has(3)) {
    axes = c.axes(c.integers_of(3), data.rank());
  } else {
    for (int64_t k = 0; k < data.rank(); ++k) axes.push_back(k);
  }
  if (given.size() != 2 * axes.size()) {
    c.bad("pads of " + text(given), "one before and one behind each dimension");
  }
  const auto rank = static_cast<size_t>(data.rank());
  std::vector<Extents> width(rank, Extents{0, 0});
  Extents begin(rank, 0), end(rank, INT32_MAX);
  bool cut = false;
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<size_t>(axes[k]);
    const int64_t before = given[k], behind = given[axes.size() + k];
    if (std::max(before, behind) > INT32_MAX || std::min(before, behind) < -INT32_MAX) {
      c.bad("pads of " + text(given), "what fits into memory");
    }
    width[axis] = {std::max<int64_t>(before, 0), std::max<int64_t>(behind, 0)};
    if (before < 0) begin[axis] = std::min(-before, data.extent(axis));
    if (behind < 0) end[axis] = std::max(data.extent(axis) + behind, int64_t{0});
    cut = cut || before < 0 || behind < 0;
  }
  Value inner = data;
  if (cut) inner = c("strided_slice", {data}, {{"begin", text(begin)}, {"end", text(end)}});
  return {c("pad", {inner},
            {{"pad_width", text(width)}, {"pad_value", text(value)}, {"pad_mode", mode}})};
}

}  // namespace

std::vector<Converter> image_converters() {
  const auto mean_pool = [](Call& c) { return pool(c, "avg_pool?d"); };
  return {
      {"Conv", 1, 2, 3,
       "auto_pad:string dilations:ints group:int kernel_shape:ints pads:ints strides:ints", conv},
      {"MaxPool", 1, 1, 1, "auto_pad:string kernel_shape:ints pads:ints strides:ints", max_pool},
      {"MaxPool", 8, 1, 1,
       "auto_pad:string kernel_shape:ints pads:ints storage_order:int strides:ints", max_pool},
      {"MaxPool", 10, 1, 1,
       "auto_pad:string ceil_mode:int dilations:ints kernel_shape:ints pads:ints storage_order:int "
       "strides:ints",
       max_pool},
      {"AveragePool", 1, 1, 1,
       "auto_pad:string count_include_pad:int kernel_shape:ints pads:ints strides:ints", mean_pool},
      {"AveragePool", 10, 1, 1,
       "auto_pad:string ceil_mode:int count_include_pad:int kernel_shape:ints pads:ints "
       "strides:ints",
       mean_pool},
      {"AveragePool", 19, 1, 1,
       "auto_pad:string ceil_mode:int count_include_pad:int dilations:ints kernel_shape:ints "
       "pads:ints strides:ints",
       mean_pool},
      over_images("GlobalAveragePool", "mean"),
      over_images("GlobalMaxPool", "max"),
      {"BatchNormalization", 1, 5, 5, "epsilon:float momentum:float spatial:int", batch_norm},
      {"BatchNormalization", 9, 5, 5, "epsilon:float momentum:float", batch_norm},
      {"BatchNormalization", 14, 5, 5, "epsilon:float momentum:float training_mode:int",
       batch_norm},
      {"Pad", 1, 1, 1, "mode:string pads:ints value:float", pad},
      {"Pad", 11, 2, 3, "mode:string", pad},
      {"Pad", 18, 2, 4, "mode:string", pad},
  };
}

}  // namespace tw::graph::onnx
