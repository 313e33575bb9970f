// SPDX-License-Identifier: Apache-2.0
// Images from parts of images: read at positions of a grid, put back where maxima were, cut out,
// and put together of windows.
#include <algorithm>

#include "graph/onnx/converters/windows.h"

namespace tw::graph::onnx {
namespace {

// A grid has its positions as last dimension, and ours as dimension 1.
Extents positions_first(int64_t rank) {
  Extents axes = {0, rank - 1};
  for (int64_t d = 1; d + 1 < rank; ++d) axes.push_back(d);
  return axes;
}

Values grid_sample(Call& c) {
  const Value &data = c.input(0), &grid = c.input(1);
  if (data.rank() != 4 && data.rank() != 5) {
    c.unsupported("images of " + text(data.rank() - 2) + " dimensions");
  }
  if (!data.dtype().is_float()) c.unsupported("images of " + to_string(data.dtype()));
  const std::string mode = c.string("mode", c.opset() < 20 ? "bilinear" : "linear");
  const bool cubic = mode == "bicubic" || mode == "cubic";
  if (cubic && data.rank() != 4) c.unsupported("mode '" + mode + "' of three dimensions");
  if (!cubic && mode != "nearest" && mode != "bilinear" && mode != "linear") {
    c.bad("mode '" + mode + "'", "nearest, linear, cubic; before opset 20 bilinear, bicubic");
  }
  return {c("grid_sample",
            {data, c.cast(c.transposed(grid, positions_first(grid.rank())), data.dtype())},
            {{"method", cubic               ? "bicubic"
                        : mode == "nearest" ? "nearest"
                                            : "bilinear"},
             {"layout", data.rank() == 4 ? "NCHW" : "NCDHW"},
             {"padding_mode", c.string("padding_mode", "zeros")},
             {"align_corners", text(c.flag("align_corners", false))}})};
}

Values affine_grid(Call& c) {
  const Extents size = c.integers_of(1);
  if (size.size() != 4 && size.size() != 5) c.bad("size " + text(size), "(n, c, h, w) or more");
  const Value grid = c("affine_grid", {c.input(0)},
                       {{"target_shape", text(Extents(size.begin() + 2, size.end()))},
                        {"align_corners", text(c.flag("align_corners", false))}});
  Extents axes = {0};
  for (int64_t d = 2; d < grid.rank(); ++d) axes.push_back(d);
  axes.push_back(1);
  return {c.transposed(grid, axes)};
}

// Places are those among all elements of the images that the windows tell of; a shape that is given
// may have more, at their ends.
Values max_unpool(Call& c) {
  const Value &data = c.input(0), &places = c.input(1);
  const Windows w = windows_of(c, {});
  const auto spatial = static_cast<size_t>(data.rank() - 2);
  Extents size;
  int64_t pixels = 1;
  for (size_t d = 0; d < spatial; ++d) {
    size.push_back((data.extent(d + 2) - 1) * w.strides[d] + w.kernel[d] - w.pads[d] -
                   w.pads[spatial + d]);
    pixels *= size.back();
  }
  if (std::ranges::any_of(size, [](int64_t e) { return e < 1; })) {
    c.bad("images of " + text(size), "extents of 1 or more");
  }
  const Value modulus = c.constant(array_of({pixels}, {}, int_type(64)));
  const Value images =
      c(of_dimensions("max_unpool?d", data.rank() - 2),
        {data, c("broadcast_floor_mod", {places, modulus})}, {{"output_size", text(size)}});
  if (!c.has(2)) return {images};
  const Extents wanted = c.integers_of(2);
  std::vector<Extents> width;
  for (size_t d = 0; d < wanted.size() && d < images.shape().size(); ++d) {
    width.push_back({0, wanted[d] - images.extent(d)});
  }
  const bool legal = wanted.size() == images.shape().size() &&
                     std::ranges::all_of(width, [](const Extents& e) { return e[1] >= 0; });
  if (!legal) c.bad("output_shape " + text(wanted), "at least " + text(images.shape()));
  return {c("pad", {images}, {{"pad_width", text(width)}})};
}

// About the middle; of an odd number of elements one more behind it.
Values center_crop_pad(Call& c) {
  const Value& data = c.input(0);
  const Extents wanted = c.integers_of(1);
  Extents axes;
  for (int64_t d = 0; d < data.rank(); ++d) axes.push_back(d);
  if (c.has_attribute("axes")) axes = c.axes(c.integers("axes"), data.rank());
  if (wanted.size() != axes.size()) {
    c.bad("shape " + text(wanted) + " of " + text(axes.size()) + " dimensions", "one for each");
  }
  Extents begin(data.shape().size(), 0), end = data.shape();
  std::vector<Extents> width(data.shape().size(), {0, 0});
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto d = static_cast<size_t>(axes[k]);
    const int64_t more = wanted[k] - data.extent(d);
    if (wanted[k] < 0 || wanted[k] > INT32_MAX) c.bad("shape " + text(wanted), "extents");
    if (more < 0) {
      begin[d] = -more / 2;
      end[d] = begin[d] + wanted[k];
    } else {
      width[d] = {more / 2, more - more / 2};
    }
  }
  const Value inner = c("strided_slice", {data}, {{"begin", text(begin)}, {"end", text(end)}});
  return {c("pad", {inner}, {{"pad_width", text(width)}})};
}

// (n, c * taps, windows): a transposed convolution, in which channel k of an image's is tap k.
Values col2im(Call& c) {
  const Value& data = c.input(0);
  const Extents image = c.integers_of(1), block = c.integers_of(2);
  const size_t spatial = image.size();
  if (data.rank() != 3 || block.size() != spatial) {
    c.bad("windows of " + text(block) + " over " + text(image), "(n, c * taps, windows)");
  }
  if (spatial < 1 || spatial > 3) c.unsupported("images of " + text(spatial) + " dimensions");
  const auto each = [&](std::string_view name, size_t count, int64_t otherwise) {
    const Extents values = c.integers(name, Extents(count, otherwise));
    if (values.size() != count) c.bad(std::string(name) + " " + text(values), "one for each");
    return values;
  };
  const Extents strides = each("strides", spatial, 1), dilations = each("dilations", spatial, 1),
                pads = each("pads", 2 * spatial, 0);
  int64_t taps = 1, windows = 1;
  Extents positions, more;
  for (size_t d = 0; d < spatial; ++d) {
    if (block[d] < 1 || strides[d] < 1 || dilations[d] < 1) c.bad("a window of 0", "1 or more");
    const int64_t room = image[d] + pads[d] + pads[spatial + d] - dilations[d] * (block[d] - 1) - 1;
    if (room < 0) c.bad("windows larger than the image " + text(image), "smaller ones");
    positions.push_back(room / strides[d] + 1);
    more.push_back(room % strides[d]);
    taps *= block[d];
    windows *= positions[d];
  }
  if (data.extent(1) % taps != 0 || data.extent(2) != windows) {
    c.bad("columns of " + text(data.shape()),
          text(windows) + " windows of a multiple of " + text(taps) + " elements");
  }
  const int64_t channels = data.extent(1) / taps;
  Extents shape = {data.extent(0), data.extent(1)}, kernel = {data.extent(1), 1}, one;
  shape.insert(shape.end(), positions.begin(), positions.end());
  kernel.insert(kernel.end(), block.begin(), block.end());
  for (int64_t k = 0; k < data.extent(1) * taps; ++k) {
    one.push_back(k % taps == k / taps % taps ? 1 : 0);
  }
  return {c(of_dimensions("conv?d_transpose", static_cast<int64_t>(spatial)),
            {c.reshaped(data, shape), c.constant(array_of(one, kernel, data.dtype()))},
            {{"channels", text(channels)},
             {"kernel_size", text(block)},
             {"strides", text(strides)},
             {"padding", text(pads)},
             {"output_padding", text(more)},
             {"dilation", text(dilations)},
             {"groups", text(channels)},
             {"use_bias", "False"}})};
}

}  // namespace

std::vector<Converter> sampling_converters() {
  constexpr std::string_view kGrid = "align_corners:int mode:string padding_mode:string";
  return {{"GridSample", 16, 2, 2, kGrid, grid_sample},
          {"AffineGrid", 20, 2, 2, "align_corners:int", affine_grid},
          {"MaxUnpool", 9, 2, 3, "kernel_shape:ints pads:ints strides:ints", max_unpool},
          {"CenterCropPad", 18, 2, 2, "axes:ints", center_crop_pad},
          {"Col2Im", 18, 3, 3, "dilations:ints pads:ints strides:ints", col2im}};
}

}  // namespace tw::graph::onnx
