// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx/converters/windows.h"

#include <algorithm>

namespace tw::graph::onnx {
namespace {

// Values of an attribute, one for each dimension, within reason.
Extents values_of(Call& c, std::string_view name, const Extents& otherwise, int64_t least) {
  const Extents values = c.has_attribute(name) ? c.integers(name) : otherwise;
  const bool legal =
      std::ranges::all_of(values, [&](int64_t v) { return v >= least && v <= INT32_MAX; });
  if (values.size() == otherwise.size() && legal) return values;
  c.bad(std::string(name) + " of " + text(values),
        text(otherwise.size()) + " numbers of " + text(least) + " or more");
}

void require_images(Call& c, const Value& data) {
  if (data.rank() < 3) c.bad("windows over " + text(data.shape()), "(n, c, …)");
  if (data.rank() > 5) c.unsupported("windows of " + text(data.rank() - 2) + " dimensions");
}

}  // namespace

Windows windows_of(Call& c, const Extents& kernel) {
  const Value& data = c.input(0);
  require_images(c, data);
  const auto count = static_cast<size_t>(data.rank() - 2);
  Windows w;
  const Extents ones(count, 1);
  w.kernel = values_of(c, "kernel_shape", kernel.empty() ? Extents(count, 0) : kernel, 1);
  w.strides = values_of(c, "strides", ones, 1);
  // Poolings learned of dilations late.
  w.dilations = c.knows("dilations") ? values_of(c, "dilations", ones, 1) : ones;
  w.pads = Extents(2 * count, 0);
  const std::string pads = c.knows("auto_pad") ? c.string("auto_pad", "NOTSET") : "NOTSET";
  if (pads == "NOTSET") {
    w.pads = values_of(c, "pads", w.pads, 0);
  } else if (pads == "SAME_UPPER" || pads == "SAME_LOWER") {
    for (size_t k = 0; k < count; ++k) {
      const int64_t size = data.extent(k + 2);
      const int64_t windows = (size + w.strides[k] - 1) / w.strides[k];
      const int64_t reach = (windows - 1) * w.strides[k] + (w.kernel[k] - 1) * w.dilations[k] + 1;
      const int64_t around = std::max<int64_t>(reach - size, 0);
      const int64_t less = around / 2;
      w.pads[k] = pads == "SAME_UPPER" ? less : around - less;
      w.pads[count + k] = around - w.pads[k];
    }
  } else if (pads != "VALID") {
    c.bad("auto_pad '" + pads + "'", "NOTSET, SAME_UPPER, SAME_LOWER, VALID");
  }
  return w;
}

Attributes convolution_of(Call& c, const Value& weight) {
  const Value& data = c.input(0);
  require_images(c, data);
  if (weight.rank() != data.rank()) {
    c.bad("windows of " + text(weight.shape()) + " over " + text(data.shape()),
          "(n, c, …) and (channels, c / groups, …)");
  }
  const Extents kernel(weight.shape().begin() + 2, weight.shape().end());
  const Windows w = windows_of(c, kernel);
  if (w.kernel != kernel) {
    c.bad("kernel_shape " + text(w.kernel) + " and weights of " + text(weight.shape()),
          "the same in both");
  }
  return {{"channels", text(weight.extent(0))}, {"kernel_size", text(w.kernel)},
          {"strides", text(w.strides)},         {"padding", text(w.pads)},
          {"dilation", text(w.dilations)},      {"groups", text(c.integer("group", 1))}};
}

// Of ceil_mode ONNX says, as PyTorch does, that no window begins in the padding behind the image.
Attributes pooling_of(Call& c) {
  const Windows w = windows_of(c, {});
  Attributes attributes{{"pool_size", text(w.kernel)},
                        {"strides", text(w.strides)},
                        {"padding", text(w.pads)},
                        {"dilation", text(w.dilations)},
                        {"ceil_mode", text(c.knows("ceil_mode") && c.flag("ceil_mode", false))},
                        {"ceil_rule", "pytorch"}};
  if (c.knows("count_include_pad")) {
    attributes.set("count_include_pad", text(c.flag("count_include_pad", false)));
  }
  return attributes;
}

std::string of_dimensions(std::string_view pattern, int64_t spatial) {
  std::string name(pattern);
  name[name.find('?')] = static_cast<char>('0' + spatial);
  return name;
}

}  // namespace tw::graph::onnx
