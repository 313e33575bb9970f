// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/slice.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ir/expr.h"
#include "schedule/topi/operator.h"

namespace tw::topi {
namespace {

int64_t constant_extent(const Place& place, const Expr& extent) {
  const auto constant = as_const_int(extent);
  if (!constant) {
    bad_shape(place, fmt::format("an extent of {}", shape_text({extent})), "a constant extent");
  }
  return *constant;
}

// The elements at begin + i * stride.
Tensor take_ranges(const Tensor& a, const std::vector<SliceRange>& ranges, const std::string& name,
                   const std::string& tag) {
  std::vector<Expr> shape = a.shape();
  for (size_t d = 0; d < ranges.size(); ++d) {
    shape[d] = make_const(shape[d].dtype(), ranges[d].count);
  }
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> indices = to_exprs(i);
        for (size_t d = 0; d < ranges.size(); ++d) {
          const auto constant = [&](int64_t v) { return make_const(i[d].dtype(), v); };
          indices[d] = i[d] * constant(ranges[d].stride) + constant(ranges[d].begin);
        }
        return a(indices);
      },
      name, tag);
}

}  // namespace

SliceRange slice_range(int64_t begin, int64_t end, int64_t stride, int64_t extent) {
  const int64_t longest = std::max<int64_t>(extent, 1);
  stride = std::clamp(stride, -longest, longest);
  const int64_t low = stride < 0 ? -1 : 0, high = stride < 0 ? extent - 1 : extent;
  const auto cut = [&](int64_t p) { return std::clamp(p < 0 ? p + extent : p, low, high); };
  begin = cut(begin);
  end = cut(end);
  const int64_t way = stride < 0 ? begin - end : end - begin, step = stride < 0 ? -stride : stride;
  return {begin, stride, way <= 0 ? 0 : (way + step - 1) / step};
}

Tensor strided_slice(const Tensor& a, const std::vector<int64_t>& begin,
                     const std::vector<int64_t>& end, const std::vector<int64_t>& strides,
                     const std::string& name, const std::string& tag) {
  const Place place{"strided_slice", "end"};
  if (end.size() != begin.size() || begin.size() > a.shape().size()) {
    bad_argument(
        place,
        fmt::format("{} beginnings and {} ends for rank {}", begin.size(), end.size(), a.rank()),
        "one each for the first dimensions");
  }
  if (strides.size() > begin.size() || std::ranges::find(strides, 0) != strides.end()) {
    bad_argument({"strided_slice", "strides"}, fmt::format("({})", fmt::join(strides, ", ")),
                 "at most one for each beginning, none of them 0");
  }
  std::vector<SliceRange> ranges;
  for (size_t d = 0; d < begin.size(); ++d) {
    ranges.push_back(slice_range(begin[d], end[d], d < strides.size() ? strides[d] : 1,
                                 constant_extent({"strided_slice", "a"}, a.shape()[d])));
  }
  return take_ranges(a, ranges, name, tag);
}

std::vector<Tensor> split(const Tensor& a, const Sections& sections, int axis,
                          const std::string& name, const std::string& tag) {
  const Place place{"split", "indices_or_sections"};
  const auto along = static_cast<size_t>(normalize_axis({"split", "axis"}, axis, a.rank()));
  const int64_t extent = constant_extent({"split", "ary"}, a.shape()[along]);
  std::vector<int64_t> ends;
  if (const int64_t* parts = std::get_if<int64_t>(&sections)) {
    if (*parts < 1 || extent % *parts != 0) {
      bad_argument(place, fmt::format("{} parts of {} elements", *parts, extent),
                   "a divisor of the extent");
    }
    for (int64_t k = 1; k < *parts; ++k) ends.push_back(extent / *parts * k);
  } else {
    ends = std::get<std::vector<int64_t>>(sections);
  }
  ends.push_back(extent);
  if (ends.front() < 0 || !std::ranges::is_sorted(ends)) {
    bad_argument(place, fmt::format("positions ({}) of {} elements", fmt::join(ends, ", "), extent),
                 "positions from 0 to the extent, none before the last one");
  }
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (int64_t end : ends) {
    std::vector<Expr> shape = a.shape();
    shape[along] = make_const(shape[along].dtype(), end - begin);
    parts.push_back(te::compute(
        shape,
        [&](const std::vector<Var>& i) {
          std::vector<Expr> indices = to_exprs(i);
          indices[along] = i[along] + make_const(i[along].dtype(), begin);
          return a(indices);
        },
        name, tag));
    begin = end;
  }
  return parts;
}

Tensor flip(const Tensor& a, int axis, const std::string& name, const std::string& tag) {
  const auto along = static_cast<size_t>(normalize_axis({"flip", "axis"}, axis, a.rank()));
  const std::vector<Expr> shape = a.shape();
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> indices = to_exprs(i);
        indices[along] = shape[along] - 1 - i[along];
        return a(indices);
      },
      name, tag);
}

std::vector<Operator> slice_rows() {
  using Ints = std::vector<int64_t>;
  return {
      make_operator(
          "topi", "strided_slice",
          [](const Tensor& a, const Ints& begin, const Ints& end,
             const std::optional<Ints>& strides) {
            return strided_slice(a, begin, end, strides.value_or(Ints()));
          },
          {{"a", "of constant extents where they are cut"},
           {"begin", "the first element of each dimension; from the end where negative"},
           {"end", "the element that is no longer taken; from the end where negative"},
           {"strides", "from one element to the next, backward where negative; None: 1", Value()}},
          "The elements begin:end:strides of each dimension, as NumPy has it; dimensions behind "
          "the lists "
          "are taken whole."),
      make_operator(
          "topi", "split",
          [](const Tensor& a, const Sections& sections, int64_t axis) {
            return split(a, sections, static_cast<int>(axis));
          },
          {{"ary", "of a constant extent along axis"},
           {"indices_or_sections", "so many equal parts, or where parts begin but for the first"},
           {"axis", "a dimension", 0}},
          "The parts of a tensor along axis. NumPy split."),
      make_operator(
          "topi", "flip",
          [](const Tensor& a, int64_t axis) { return flip(a, static_cast<int>(axis)); },
          {{"a"}, {"axis", "a dimension", 0}},
          "The elements along axis from the last to the first. NumPy flip."),
  };
}

}  // namespace tw::topi
