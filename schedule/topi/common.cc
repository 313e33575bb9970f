// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/common.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/print.h"
#include "runtime/error.h"

namespace tw::topi {
namespace {

// `where` stays free for the line of the script.
std::string at(const Place& place, const std::string& what) {
  return place.argument.empty() ? fmt::format("{}: {}", place.op, what)
                                : fmt::format("{}, {}: {}", place.op, place.argument, what);
}

}  // namespace

bool same_extent(const Expr& a, const Expr& b) {
  const auto ca = as_const_int(a), cb = as_const_int(b);
  return ca || cb ? ca == cb : equal(a, b);
}

void bad_shape(const Place& place, const std::string& what, std::string legal) {
  raise({.code = ErrorCode::BadShape, .what = at(place, what), .legal = std::move(legal)});
}

void bad_argument(const Place& place, const std::string& what, std::string legal) {
  raise({.code = ErrorCode::BadArgument, .what = at(place, what), .legal = std::move(legal)});
}

void require_rank(const Place& place, const Tensor& t, int rank) {
  if (t.rank() == rank) return;
  bad_shape(place, fmt::format("shape {} has rank {}", shape_text(t.shape()), t.rank()),
            fmt::format("a tensor of rank {}", rank));
}

void require_images(const Place& place, const Tensor& t, size_t spatial) {
  const int least = static_cast<int>(spatial) + 2;
  if (t.rank() < least) require_rank(place, t, least);
}

void require_extent(const Place& place, const Tensor& t, int dimension, const Expr& extent) {
  const Expr actual = t.shape()[static_cast<size_t>(dimension)];
  if (same_extent(actual, extent)) return;
  bad_shape(place,
            fmt::format("dimension {} of shape {} is {}", dimension, shape_text(t.shape()),
                        to_string(actual)),
            fmt::format("{} there", to_string(extent)));
}

void require_channels(const Place& place, const Tensor& t, const Tensor& data, size_t axis) {
  const std::vector<Expr> shape = data.shape();
  const bool blocks = t.rank() == 2 && axis + 1 < shape.size();
  if (!blocks) require_rank(place, t, 1);
  require_extent(place, t, 0, shape[axis]);
  if (blocks) require_extent(place, t, 1, shape.back());
}

Expr read_channel(const Tensor& t, const std::vector<Var>& position, size_t axis) {
  return t.rank() == 2 ? t(position[axis], position.back()) : t(position[axis]);
}

void require_layout(const Place& place, std::string_view layout, std::string_view wanted) {
  if (layout == wanted) return;
  bad_argument(place, fmt::format("unknown layout '{}'", layout), std::string(wanted));
}

void require_word(const Place& place, std::string_view word,
                  std::initializer_list<std::string_view> legal) {
  if (std::ranges::find(legal, word) != legal.end()) return;
  bad_argument(place, fmt::format("unknown '{}'", word), fmt::format("{}", fmt::join(legal, ", ")));
}

void require_float(const Place& place, const Tensor& t) {
  if (t.dtype().is_float()) return;
  raise({.code = ErrorCode::TypeMismatch,
         .what = at(place, fmt::format("elements of type {}", to_string(t.dtype()))),
         .legal = "floating elements; cast the tensor"});
}

int normalize_axis(const Place& place, int axis, int rank) {
  if (-rank <= axis && axis < rank) return axis < 0 ? axis + rank : axis;
  bad_argument(place, fmt::format("axis {} of a tensor of rank {}", axis, rank),
               fmt::format("axes from {} to {}", -rank, rank - 1));
}

std::vector<int> normalize_axes(const Place& place, const std::vector<int>& axes, int rank) {
  std::vector<int> result;
  for (int a : axes) result.push_back(normalize_axis(place, a, rank));
  if (axes.empty()) {
    for (int a = 0; a < rank; ++a) result.push_back(a);
  }
  std::sort(result.begin(), result.end());
  const auto twice = std::adjacent_find(result.begin(), result.end());
  if (twice != result.end()) {
    bad_argument(place, fmt::format("axis {} stands twice", *twice), "each axis once");
  }
  return result;
}

std::vector<int64_t> normalize_steps(const Place& place, const std::vector<int64_t>& values,
                                     size_t count, int64_t least) {
  if (values.size() != 1 && values.size() != count) {
    bad_argument(place, fmt::format("{} values", values.size()),
                 count == 1
                     ? "one value"
                     : fmt::format("one value, or one for each of {} spatial dimensions", count));
  }
  for (int64_t v : values) {
    if (v < least) bad_argument(place, fmt::format("{}", v), fmt::format("at least {}", least));
  }
  std::vector<int64_t> steps = values;
  steps.resize(count, values.front());
  return steps;
}

bool Border::any() const {
  const auto some = [](int64_t amount) { return amount != 0; };
  return std::ranges::any_of(before, some) || std::ranges::any_of(after, some);
}

Border normalize_padding(const Place& place, const Padding& padding,
                         const std::vector<Expr>& spans) {
  const size_t count = spans.size();
  Border border{std::vector<int64_t>(count, 0), std::vector<int64_t>(count, 0)};
  if (padding.name == Padding::Name::Valid) return border;
  if (padding.name == Padding::Name::Same) {
    for (size_t d = 0; d < count; ++d) {
      const auto span = as_const_int(spans[d]);
      if (!span) {
        bad_shape(place, fmt::format("\"SAME\" for a window of {}", to_string(spans[d])),
                  "amounts, or a kernel of constant extents");
      }
      border.before[d] = *span / 2;
      border.after[d] = (*span - 1) / 2;
    }
    return border;
  }
  const std::vector<int64_t>& values = padding.amounts;
  for (int64_t v : values) {
    if (v < 0) bad_argument(place, fmt::format("{}", v), "at least 0");
  }
  if (values.size() != 1 && values.size() != count && values.size() != 2 * count) {
    bad_argument(place, fmt::format("{} values", values.size()),
                 fmt::format("one value, one for each of {} spatial dimensions, or those before "
                             "each and then those behind each",
                             count));
  }
  for (size_t d = 0; d < count; ++d) {
    border.before[d] = values.size() == 1 ? values[0] : values[d];
    border.after[d] = values.size() == 2 * count ? values[count + d] : border.before[d];
  }
  return border;
}

Expr window_span(const Expr& kernel, int64_t dilation) {
  return (kernel - 1) * make_const(kernel.dtype(), dilation) + 1;
}

Expr window_positions(const Expr& extent, const Expr& span, int64_t stride, int64_t padding) {
  const auto constant = [&](int64_t v) { return make_const(extent.dtype(), v); };
  return floor_div(extent + constant(padding) - span, constant(stride)) + 1;
}

Expr number(int64_t value) { return make_const(int_type(32), value); }

std::vector<Expr> to_exprs(const std::vector<Var>& vars) { return {vars.begin(), vars.end()}; }

std::string shape_text(const std::vector<Expr>& shape) {
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d) text += (d == 0 ? "" : ", ") + to_string(shape[d]);
  return text + "]";
}

}  // namespace tw::topi
