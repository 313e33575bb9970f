// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/image.h"

#include <algorithm>

#include "schedule/topi/topi.h"

namespace tw::graph {

Places places(std::string_view from, std::string_view to) {
  Places result;
  for (char c : to) result.push_back(static_cast<int>(from.find(c)));
  return result;
}

void require_permutation(const ShapeInference& s, std::string_view attribute, std::string_view of) {
  std::string text = s.attributes().text(attribute);
  std::string wanted(of);
  std::ranges::sort(text);
  std::ranges::sort(wanted);
  if (text == wanted) return;
  s.fail(fmt::format("{} is '{}'", attribute, s.attributes().text(attribute)),
         fmt::format("a permutation of {}", of));
}

Shape placed(const Places& at, std::initializer_list<int64_t> extents) {
  std::vector<int64_t> shape(extents.size());
  for (size_t d = 0; d < shape.size(); ++d) shape[static_cast<size_t>(at[d])] = extents.begin()[d];
  return shape;
}

int64_t extent(const Shape& shape, const Places& at, size_t d) {
  return shape.has_rank() ? shape[static_cast<size_t>(at[d])] : Shape::kUnknown;
}

te::Tensor ordered(const te::Tensor& tensor, std::string_view from, std::string_view to) {
  return from == to ? tensor : topi::transpose(tensor, places(from, to));
}

std::string spatial_letters(const Layout& images) {
  std::string letters;
  for (char letter : {'D', 'H', 'W'}) {
    if (images.contains(letter)) letters += letter;
  }
  return letters;
}

Layout image_layout_of(const ShapeInference& s, std::string_view attribute,
                       std::string_view natural) {
  const Layout layout = Layout::parse(s.attributes().text(attribute),
                                      fmt::format("node '{}', {}", s.node().name, attribute));
  const bool split = std::ranges::any_of(spatial_letters(layout),
                                         [&](char letter) { return layout.is_split(letter); });
  if (!split && layout.convertible(Layout::parse(natural))) return layout;
  s.fail(fmt::format("{} is '{}'", attribute, layout.text()),
         fmt::format("a permutation of {}, with blocks of channels or images if any", natural));
}

void narrow_images(ShapeInference& s, const Layout& layout, const LayoutExtents& input,
                   const LayoutExtents& output) {
  const auto shape = [&](const LayoutExtents& extents) {
    const auto result = shape_in(layout, extents);
    if (result) return *result;
    s.fail(fmt::format("{} channels in layout {}", extents.at('C'), layout.text()),
           "blocks that divide the channels");
  };
  s.narrow_output(0, shape(output));
  s.narrow_input(0, shape(input));
}

te::Tensor on_images(const te::Tensor& tensor, std::string_view text,
                     const std::function<te::Tensor(const te::Tensor&)>& f) {
  const Layout layout = Layout::parse(text);
  std::string order = "NC" + spatial_letters(layout);
  for (const Layout::Dimension& d : layout.dimensions()) {
    if (!d.is_primal()) order += d.letter;
  }
  std::string own;
  for (const Layout::Dimension& d : layout.dimensions()) own += d.letter;
  return ordered(f(ordered(tensor, own, order)), order, own);
}

Entry pixels_in_line(const GradientOf& n, const Entry& images, size_t spatial) {
  Entry pixels = images;
  for (size_t d = 1; d < spatial; ++d) {
    pixels = n("reshape", {pixels}, {{"shape", d + 1 < spatial ? "(0, 0, -3, -2)" : "(0, 0, -3)"}});
  }
  return pixels;
}

int64_t window_positions(const ShapeInference& s, int64_t extent, const Window& w) {
  if (w.stride < 1 || w.dilation < 1 || w.kernel < 1) {
    s.fail(fmt::format("kernel {}, stride {}, dilation {}", w.kernel, w.stride, w.dilation),
           "1 or more");
  }
  if (extent == Shape::kUnknown) return Shape::kUnknown;
  const int64_t span = w.dilation * (w.kernel - 1) + 1;
  const int64_t room = extent + w.before + w.after - span + (w.round_up ? w.stride - 1 : 0);
  if (room < 0) {
    s.fail(fmt::format("a window that spans {} elements over {} with {} of padding", span, extent,
                       w.before + w.after),
           "a window no larger than the padded image");
  }
  const int64_t positions = room / w.stride + 1;
  if (!w.round_up || !w.inside) return positions;
  return std::min(positions, (extent + w.before - 1) / w.stride + 1);
}

}  // namespace tw::graph
