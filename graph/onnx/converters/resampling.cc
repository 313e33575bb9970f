// SPDX-License-Identifier: Apache-2.0
// Images of another size, transposed convolutions, and norms over windows and channels.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/onnx/converters/windows.h"

namespace tw::graph::onnx {
namespace {

std::string reals_text(const std::vector<double>& values) {
  std::string result = "(";
  for (double v : values) result += text(v) + ", ";
  return result + ")";
}

// What one of each dimension becomes.
struct Sizes {
  Extents size;
  std::vector<double> scales;
};

// The last dimensions that change are spatial ones of images, all others are images.
Value resized(Call& c, const Value& data, const Sizes& to, const std::vector<double>& roi,
              Attributes attributes) {
  const auto rank = static_cast<size_t>(data.rank());
  const bool crops = !roi.empty();
  size_t first = rank;
  for (size_t d = rank; d-- > 0;) {
    const bool changes = to.size[d] != data.extent(d) || to.scales[d] != 1 ||
                         (crops && (roi[d] != 0 || roi[d + rank] != 1));
    if (changes) first = d;
  }
  if (first == rank) return data;
  const size_t spatial = rank - first;
  if (spatial > 3) c.unsupported("another size of " + text(spatial) + " dimensions");
  Extents images = {1, 1}, size;
  std::vector<double> scales, begin, end;
  for (size_t d = 0; d < first; ++d) images[1] *= data.extent(d);
  for (size_t d = first; d < rank; ++d) {
    if (data.extent(d) < 1 || to.size[d] < 1) c.unsupported("images without elements");
    images.push_back(data.extent(d));
    size.push_back(to.size[d]);
    scales.push_back(to.scales[d]);
    if (crops) begin.push_back(roi[d]);
    if (crops) end.push_back(roi[d + rank]);
  }
  begin.insert(begin.end(), end.begin(), end.end());
  attributes.set("size", text(size));
  attributes.set("scales", reals_text(scales));
  if (crops) attributes.set("roi", reals_text(begin));
  const Value result = c(of_dimensions("resize?d", static_cast<int64_t>(spatial)),
                         {c.reshaped(data, images)}, attributes);
  return c.reshaped(result, to.size);
}

Sizes by_scales(Call& c, const Value& data, const std::vector<double>& scales) {
  Sizes to{.size = {}, .scales = scales};
  if (scales.size() != static_cast<size_t>(data.rank())) {
    c.bad(text(scales.size()) + " scales of " + text(data.shape()), "one for each dimension");
  }
  for (size_t d = 0; d < scales.size(); ++d) {
    const double extent = std::floor(static_cast<double>(data.extent(d)) * scales[d]);
    if (!(scales[d] > 0) || !(extent < 2147483648.0)) {
      c.bad("a scale of " + text(scales[d]), "above 0, and extents that fit into memory");
    }
    to.size.push_back(static_cast<int64_t>(extent));
  }
  return to;
}

std::string method_of(Call& c, const Value& data) {
  const std::string mode = c.string("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "bilinear" && mode != "cubic") {
    c.bad("mode '" + mode + "'", "nearest, linear, cubic");
  }
  if (mode != "nearest" && !data.dtype().is_float()) c.unsupported("values between integers");
  return mode == "nearest" ? "nearest_neighbor" : mode == "bilinear" ? "linear" : mode;
}

// Upsample, and Resize of opset 10: pixel i lies at i / scale.
Values upsample(Call& c) {
  const Value& data = c.input(0);
  const std::vector<double> scales = c.knows("scales") ? c.reals("scales") : c.reals_of(1);
  return {resized(c, data, by_scales(c, data, scales), {},
                  {{"method", method_of(c, data)},
                   {"coordinate_transformation_mode", "asymmetric"},
                   {"rounding_method", "floor"}})};
}

// The extents that `sizes` says, or what a policy makes of them.
Sizes by_sizes(Call& c, const Value& data, const Extents& axes, const Extents& sizes) {
  Sizes to{.size = data.shape(), .scales = std::vector<double>(data.shape().size(), 1)};
  const std::string policy = c.knows("keep_aspect_ratio_policy")
                                 ? c.string("keep_aspect_ratio_policy", "stretch")
                                 : "stretch";
  if (sizes.size() != axes.size()) {
    c.bad(text(sizes.size()) + " sizes of " + text(axes.size()) + " dimensions", "one for each");
  }
  std::vector<double> scales;
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t extent = data.extent(static_cast<size_t>(axes[k]));
    if (sizes[k] < 0 || sizes[k] > INT32_MAX || extent < 1) {
      c.bad("sizes " + text(sizes) + " of " + text(data.shape()), "what fits into memory");
    }
    scales.push_back(static_cast<double>(sizes[k]) / static_cast<double>(extent));
  }
  if (policy != "stretch" && !scales.empty()) {
    if (policy != "not_larger" && policy != "not_smaller") {
      c.bad("keep_aspect_ratio_policy '" + policy + "'", "stretch, not_larger, not_smaller");
    }
    const double scale = policy == "not_larger" ? *std::ranges::min_element(scales)
                                                : *std::ranges::max_element(scales);
    scales.assign(scales.size(), scale);
  }
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<size_t>(axes[k]);
    to.scales[axis] = scales[k];
    to.size[axis] = policy == "stretch"
                        ? sizes[k]
                        : static_cast<int64_t>(
                              std::floor(scales[k] * static_cast<double>(data.extent(axis)) + 0.5));
  }
  return to;
}

Values resize(Call& c) {
  const Value& data = c.input(0);
  Extents axes(static_cast<size_t>(data.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (c.knows("axes") && c.has_attribute("axes")) axes = c.axes(c.integers("axes"), data.rank());
  const std::string coordinates = c.string("coordinate_transformation_mode", "half_pixel");
  const auto spread = [&](const std::vector<double>& given, double otherwise, size_t times) {
    std::vector<double> all(axes.size() == 0 ? 0 : times * data.shape().size(), otherwise);
    if (given.size() != times * axes.size()) {
      c.bad(text(given.size()) + " numbers for " + text(axes.size()) + " dimensions",
            text(times) + " for each");
    }
    return all;
  };
  Sizes to;
  const bool has_scales = c.has(2) && c.input(2).elements() > 0;
  if (has_scales) {
    const std::vector<double> given = c.reals_of(2);
    std::vector<double> scales = spread(given, 1, 1);
    for (size_t k = 0; k < axes.size(); ++k) scales[static_cast<size_t>(axes[k])] = given[k];
    to = by_scales(c, data, scales);
  } else {
    if (!c.has(3)) c.bad("neither scales nor sizes", "one of them");
    to = by_sizes(c, data, axes, c.integers_of(3));
  }
  std::vector<double> roi;
  if (coordinates == "tf_crop_and_resize") {
    const std::vector<double> given = c.reals_of(1);
    roi = spread(given, 0, 2);
    const size_t rank = data.shape().size();
    std::fill(roi.begin() + static_cast<int64_t>(rank), roi.end(), 1.0);
    for (size_t k = 0; k < axes.size(); ++k) {
      roi[static_cast<size_t>(axes[k])] = given[k];
      roi[static_cast<size_t>(axes[k]) + rank] = given[axes.size() + k];
    }
  }
  const bool antialias = c.knows("antialias") && c.flag("antialias", false);
  return {resized(c, data, to, roi,
                  {{"method", method_of(c, data)},
                   {"coordinate_transformation_mode", coordinates},
                   {"rounding_method", c.string("nearest_mode", "round_prefer_floor")},
                   {"cubic_alpha", text(c.real("cubic_coeff_a", -0.75))},
                   {"cubic_exclude", text(c.flag("exclude_outside", false))},
                   {"antialias", text(antialias)},
                   {"extrapolation_value", text(c.real("extrapolation_value", 0))}})};
}

// What of the output `pads`, `auto_pad` and `output_shape` take off, and add at its end.
struct Ends {
  Extents pads, more;
};

Ends ends_of(Call& c, const Windows& w) {
  const Value& data = c.input(0);
  const size_t count = w.kernel.size();
  Ends ends{.pads = w.pads, .more = c.integers("output_padding", Extents(count, 0))};
  if (ends.more.size() != count)
    c.bad("output_padding " + text(ends.more), "one for each dimension");
  const std::string pads = c.string("auto_pad", "NOTSET");
  const bool same = pads == "SAME_UPPER" || pads == "SAME_LOWER";
  Extents shape = c.integers("output_shape");
  if (shape.size() == count + 2) shape.erase(shape.begin(), shape.begin() + 2);
  if (shape.empty() && !same) return ends;
  if (!shape.empty() && shape.size() != count)
    c.bad("output_shape " + text(shape), "one extent for each dimension");
  for (size_t k = 0; k < count; ++k) {
    const int64_t in = data.extent(k + 2);
    const int64_t wanted = shape.empty() ? in * w.strides[k] : shape[k];
    const int64_t around =
        (in - 1) * w.strides[k] + ends.more[k] + (w.kernel[k] - 1) * w.dilations[k] + 1 - wanted;
    const int64_t some = std::max<int64_t>(around, 0), half = some / 2;
    ends.pads[k] = pads == "SAME_UPPER" ? half : some - half;
    ends.pads[count + k] = some - ends.pads[k];
    if (around < 0) ends.more[k] -= around;
  }
  return ends;
}

Values conv_transpose(Call& c) {
  const Value &data = c.input(0), &weight = c.input(1);
  if (data.rank() < 3 || weight.rank() != data.rank()) {
    c.bad("windows of " + text(weight.shape()) + " over " + text(data.shape()),
          "(n, c, …) and (c, channels / groups, …)");
  }
  if (data.rank() > 5) c.unsupported("windows of " + text(data.rank() - 2) + " dimensions");
  const Extents kernel(weight.shape().begin() + 2, weight.shape().end());
  const Windows w = windows_of(c, kernel);
  if (w.kernel != kernel) {
    c.bad("kernel_shape " + text(w.kernel) + " and weights of " + text(weight.shape()),
          "the same in both");
  }
  const Ends ends = ends_of(c, w);
  const int64_t groups = c.integer("group", 1);
  return {c(of_dimensions("conv?d_transpose", data.rank() - 2), c.inputs(),
            {{"channels", text(weight.extent(1) * groups)},
             {"kernel_size", text(w.kernel)},
             {"strides", text(w.strides)},
             {"padding", text(ends.pads)},
             {"output_padding", text(ends.more)},
             {"dilation", text(w.dilations)},
             {"groups", text(groups)},
             {"use_bias", text(c.has(2))}})};
}

Values lp_pool(Call& c) {
  const Value& data = c.input(0);
  if (data.rank() < 3) c.bad("windows over " + text(data.shape()), "(n, c, …)");
  if (data.rank() > 5) c.unsupported("windows of " + text(data.rank() - 2) + " dimensions");
  const Windows w = windows_of(c, {});
  return {c(of_dimensions("lp_pool?d", data.rank() - 2), {data},
            {{"pool_size", text(w.kernel)},
             {"strides", text(w.strides)},
             {"padding", text(w.pads)},
             {"dilation", text(w.dilations)},
             {"ceil_mode", text(c.knows("ceil_mode") && c.flag("ceil_mode", false))},
             {"ceil_rule", "pytorch"},
             {"p", text(c.integer("p", 2))}})};
}

Values lrn(Call& c) {
  return {c("lrn", {c.input(0)},
            {{"size", text(c.integer("size"))},
             {"alpha", text(c.real("alpha", 0.0001))},
             {"beta", text(c.real("beta", 0.75))},
             {"bias", text(c.real("bias", 1))}})};
}

}  // namespace

std::vector<Converter> resampling_converters() {
  return {
      {"Upsample", 1, 1, 1, "mode:string scales:floats", upsample},
      {"Upsample", 9, 2, 2, "mode:string", upsample},
      {"Resize", 10, 2, 2, "mode:string", upsample},
      {"Resize", 11, 3, 4,
       "coordinate_transformation_mode:string cubic_coeff_a:float exclude_outside:int "
       "extrapolation_value:float mode:string nearest_mode:string",
       resize},
      {"Resize", 13, 1, 4,
       "coordinate_transformation_mode:string cubic_coeff_a:float exclude_outside:int "
       "extrapolation_value:float mode:string nearest_mode:string",
       resize},
      {"Resize", 18, 1, 4,
       "antialias:int axes:ints coordinate_transformation_mode:string cubic_coeff_a:float "
       "exclude_outside:int extrapolation_value:float keep_aspect_ratio_policy:string mode:string "
       "nearest_mode:string",
       resize},
      {"ConvTranspose", 1, 2, 3,
       "auto_pad:string dilations:ints group:int kernel_shape:ints output_padding:ints "
       "output_shape:ints pads:ints strides:ints",
       conv_transpose},
      {"LpPool", 1, 1, 1, "auto_pad:string kernel_shape:ints p:int pads:ints strides:ints",
       lp_pool},
      {"LpPool", 18, 1, 1,
       "auto_pad:string ceil_mode:int dilations:ints kernel_shape:ints p:int pads:ints "
       "strides:ints",
       lp_pool},
      {"LRN", 1, 1, 1, "alpha:float beta:float bias:float size:int", lrn},
  };
}

}  // namespace tw::graph::onnx
