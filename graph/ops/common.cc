// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/common.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/expr.h"
#include "schedule/topi/topi.h"

namespace tw::graph {

void first_type(TypeInference& t) { t.equate(0, 0); }

namespace {

void same_as_input(ShapeInference& s, size_t k) { s.equate(k, 0); }

}  // namespace

void first_shape(ShapeInference& s) { same_as_input(s, 0); }
void second_shape(ShapeInference& s) { same_as_input(s, 1); }

size_t axis_of(const ShapeInference& s, int64_t axis, size_t rank) {
  const auto n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n) {
    s.fail(fmt::format("axis {} of a tensor of rank {}", axis, rank),
           fmt::format("{} to {}", -n, n - 1));
  }
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

int64_t times(int64_t a, int64_t b) { return a == kUnknown || b == kUnknown ? kUnknown : a * b; }

int64_t divided(const ShapeInference& s, int64_t extent, int64_t factor) {
  if (extent == kUnknown || factor == 0) return kUnknown;
  if (extent % factor != 0) {
    s.fail(fmt::format("an extent of {}", extent), fmt::format("a multiple of {}", factor));
  }
  return extent / factor;
}

void require_word(const ShapeInference& s, std::string_view attribute,
                  std::initializer_list<std::string_view> legal) {
  const std::string& word = s.attributes().text(attribute);
  if (std::ranges::find(legal, word) != legal.end()) return;
  s.fail(fmt::format("{} '{}'", attribute, word), fmt::format("{}", fmt::join(legal, ", ")));
}

std::optional<Shape> broadcast_of(const Shape& a, const Shape& b) {
  if (!a.has_rank() || !b.has_rank()) return Shape();
  const size_t rank = std::max(a.rank(), b.rank());
  const auto extent = [&](const Shape& shape, size_t k) {
    const size_t missing = rank - shape.rank();
    return k < missing ? int64_t{1} : shape[k - missing];
  };
  std::vector<int64_t> result;
  for (size_t k = 0; k < rank; ++k) {
    const int64_t x = extent(a, k), y = extent(b, k);
    if (x == 1 || x == y) {
      result.push_back(y);
    } else if (y == 1 || y == Shape::kUnknown) {
      // Of an unknown extent and one above 1 the other is the result's, whichever the first is.
      result.push_back(y == Shape::kUnknown && x == Shape::kUnknown ? Shape::kUnknown : x);
    } else if (x == Shape::kUnknown) {
      result.push_back(y);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

Shape broadcast_of(const ShapeInference& s, const Shape& a, const Shape& b) {
  if (auto both = broadcast_of(a, b)) return *std::move(both);
  s.fail(fmt::format("shapes {} and {} do not broadcast", to_string(a), to_string(b)),
         "extents that are equal, 1 or missing");
}

void same_shape_along_axis(ShapeInference& s) {
  same_shape(s);
  if (s.input(0).has_rank()) axis_of(s, s.attributes().integer("axis"), s.input(0).rank());
}

Shape channels_of(const ShapeInference& s, const Shape& vector) {
  const bool blocks = vector.has_rank() && vector.rank() == 2;
  const Shape& data = s.input(0);
  if (!data.has_rank()) return Shape::of_rank(blocks ? 2 : 1);
  const size_t axis = axis_of(s, s.attributes().integer("axis"), data.rank());
  if (!blocks) return Shape({data[axis]});
  if (axis + 1 == data.rank()) {
    s.fail(fmt::format("blocks of channels behind the last dimension of {}", to_string(data)),
           "a dimension of blocks behind that of channels");
  }
  return Shape({data[axis], data[data.rank() - 1]});
}

void narrow_by_channels(ShapeInference& s, const Shape& vector) {
  if (!s.input(0).has_rank()) return;
  Shape data = Shape::of_rank(s.input(0).rank());
  (*data.extents)[axis_of(s, s.attributes().integer("axis"), data.rank())] = vector[0];
  if (vector.rank() == 2) data.extents->back() = vector[1];
  s.narrow_input(0, data);
}

std::vector<int64_t> steps_of(const ShapeInference& s, std::string_view attribute, size_t count,
                              int64_t least) {
  std::vector<int64_t> v = s.attributes().tuple(attribute);
  if (v.size() != 1 && v.size() != count) {
    s.fail(fmt::format("{} has {} values", attribute, v.size()),
           fmt::format("one, or one for each of {} spatial dimensions", count));
  }
  for (int64_t value : v) {
    if (value < least) {
      s.fail(fmt::format("{} of {}", attribute, value), fmt::format("{} or more", least));
    }
  }
  v.resize(count, v.front());
  return v;
}

Border border_of(const ShapeInference& s, std::string_view attribute, size_t count) {
  const std::vector<int64_t>& v = s.attributes().tuple(attribute);
  if (v.size() != 1 && v.size() != count && v.size() != 2 * count) {
    s.fail(fmt::format("{} has {} values", attribute, v.size()),
           fmt::format("one, one for each of {} spatial dimensions, or those before and then those "
                       "behind each",
                       count));
  }
  Border border{std::vector<int64_t>(count), std::vector<int64_t>(count)};
  for (size_t d = 0; d < count; ++d) {
    border.before[d] = v.size() == 1 ? v[0] : v[d];
    border.after[d] = v.size() == 2 * count ? v[count + d] : border.before[d];
    if (border.before[d] < 0 || border.after[d] < 0) {
      s.fail(fmt::format("{} of {}", attribute, std::min(border.before[d], border.after[d])),
             "0 or more");
    }
  }
  return border;
}

Entries flat(const GradientOf& n, const Entry&) { return first_gradient(n, n.zeros(0)); }

Entries flat_gradient(const NodeRef& node, const Entries& g) {
  return flat(GradientOf(node), g[0]);
}

Entries no_gradient(const NodeRef& node, const Entries&) { return Entries(node->inputs.size()); }

Entries first_gradient(const GradientOf& n, Entry of_first) {
  Entries of_inputs = {std::move(of_first)};
  for (size_t k = 1; k < n.num_inputs(); ++k) of_inputs.push_back(n.zeros(k));
  return of_inputs;
}

Entries reshaped_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  return {n.shaped_as_input(g[0])};
}

te::Tensor mask(const te::Tensor& holds, DType type) { return topi::cast(holds, type); }
te::Tensor as_bool(const te::Tensor& x) { return topi::cast(x, bool_type()); }

std::optional<int> axis_or_none(const AttributeValues& a) {
  if (a.is_none("axis")) return std::nullopt;
  return static_cast<int>(a.integer("axis"));
}

int64_t extent(const Shape& shape, size_t k) {
  return shape.has_rank() ? shape[k] : Shape::kUnknown;
}

Shape shape_of(const te::Tensor& tensor) {
  std::vector<int64_t> extents;
  for (const Expr& e : tensor.shape()) extents.push_back(as_const_int(e).value_or(Shape::kUnknown));
  return extents;
}

std::vector<int> named_axes(const AttributeValues& a, size_t rank) {
  const auto n = static_cast<int64_t>(rank);
  std::set<int64_t> named;
  for (int64_t axis : a.tuple("axis")) named.insert(axis < 0 ? axis + n : axis);
  std::vector<int> result;
  for (int64_t k = 0; k < n; ++k) {
    if ((named.empty() || named.contains(k)) != a.flag("exclude")) {
      result.push_back(static_cast<int>(k));
    }
  }
  return result;
}

Expr constant_of(DType type, double value) {
  if (type.is_float()) return make_const_float(type, value);
  if (type == bool_type()) return make_bool(value != 0);
  return saturating_cast(type, make_const_float(float_type(64), value));
}

namespace {

template <class T>
std::string text_of_tuple(const std::vector<T>& values) {
  return fmt::format("({}{})", fmt::join(values, ", "), values.size() == 1 ? "," : "");
}

}  // namespace

std::string tuple_text(const std::vector<int64_t>& values) { return text_of_tuple(values); }
std::string reals_text(const std::vector<double>& values) { return text_of_tuple(values); }

std::vector<int> to_ints(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace tw::graph
