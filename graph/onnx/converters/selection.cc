// SPDX-License-Identifier: Apache-2.0
// What has as many elements as the data say: of constants alone, so that shapes are known.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/onnx/converter.h"

namespace tw::graph::onnx {
namespace {

// What is looked through at most.
constexpr int64_t kLarge = 1 << 24;

void require_constant(Call& c) {
  if (!c.input(0).is_constant()) c.unsupported("the input is not constant");
  if (c.input(0).elements() > kLarge) c.unsupported("more than 2^24 elements");
}

// The positions of elements that are not 0: a row for each dimension.
Values non_zero(Call& c) {
  require_constant(c);
  const std::vector<int64_t>& shape = c.input(0).shape();
  std::vector<int64_t> found;
  const std::vector<double> elements = reals_in(c.input(0).constant());
  for (size_t k = 0; k < elements.size(); ++k) {
    if (elements[k] != 0) found.push_back(static_cast<int64_t>(k));
  }
  const auto rank = static_cast<int64_t>(shape.size()), count = static_cast<int64_t>(found.size());
  std::vector<int64_t> rows(static_cast<size_t>(rank * count));
  for (size_t k = 0; k < found.size(); ++k) {
    int64_t rest = found[k];
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      rows[d * found.size() + k] = rest % shape[d];
    }
  }
  return {c.constant(array_of(rows, {rank, count}, int_type(64)))};
}

// Numbers in order; NaN is behind all others and equal to itself.
bool is_less(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
bool is_less(int64_t a, int64_t b) { return a < b; }

// Slices along one dimension: which are the first of equal ones, in their order.
struct Distinct {
  std::vector<int64_t> first, inverse, counts;
};

template <class T>
Distinct distinct(const std::vector<T>& elements, int64_t outer, int64_t count, int64_t inner,
                  bool sorted) {
  // The order of slices a and b: below 0, 0 or above.
  const auto compare = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const T x = elements[static_cast<size_t>((o * count + a) * inner + i)];
        const T y = elements[static_cast<size_t>((o * count + b) * inner + i)];
        if (is_less(x, y)) return -1;
        if (is_less(y, x)) return 1;
      }
    }
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  std::vector<std::vector<int64_t>> groups;
  for (int64_t slice : order) {
    if (groups.empty() || compare(groups.back()[0], slice) != 0) groups.emplace_back();
    groups.back().push_back(slice);
  }
  if (!sorted) std::ranges::sort(groups);
  Distinct result;
  result.inverse.resize(static_cast<size_t>(count));
  for (size_t g = 0; g < groups.size(); ++g) {
    result.first.push_back(groups[g][0]);
    result.counts.push_back(static_cast<int64_t>(groups[g].size()));
    for (int64_t slice : groups[g])
      result.inverse[static_cast<size_t>(slice)] = static_cast<int64_t>(g);
  }
  return result;
}

// Without an axis elements of the flat tensor, else slices along it.
Values unique(Call& c) {
  require_constant(c);
  const bool whole = !c.has_attribute("axis");
  const Value data = whole ? c.reshaped(c.input(0), {c.input(0).elements()}) : c.input(0);
  const auto axis = static_cast<size_t>(whole ? 0 : c.axis(c.integer("axis"), data.rank()));
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < data.shape().size(); ++d) {
    if (d < axis) outer *= data.extent(d);
    if (d > axis) inner *= data.extent(d);
  }
  const int64_t count = data.extent(axis);
  const bool sorted = c.flag("sorted", true);
  const NDArray& elements = c.input(0).constant();
  const Distinct found = data.dtype().is_float()
                             ? distinct(reals_in(elements), outer, count, inner, sorted)
                             : distinct(integers_in(elements), outer, count, inner, sorted);
  const auto vector = [&](const std::vector<int64_t>& v) {
    return c.constant(array_of(v, {static_cast<int64_t>(v.size())}, int_type(64)));
  };
  const Value first = vector(found.first);
  return {c("take", {data, first}, {{"axis", text(axis)}, {"mode", "fast"}}), first,
          vector(found.inverse), vector(found.counts)};
}

}  // namespace

std::vector<Converter> selection_converters() {
  return {
      {"NonZero", 9, 1, 1, "", non_zero},
      {"Unique", 11, 1, 1, "axis:int sorted:int", unique},
  };
}

}  // namespace tw::graph::onnx
