// SPDX-License-Identifier: Apache-2.0
// What expressions of nodes are written with: gradients, and what operators mean (Op::expand).
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/ops/common.h"

namespace tw::graph {

// Nodes of an expression, named after the node that it stands for. Operands broadcast as NumPy's.
class Arithmetic : public GradientOf {
 public:
  explicit Arithmetic(const NodeRef& node) : GradientOf(node, "_") {}
  // The shape of input k, of which the rank at least is known: BadGraph where it is not.
  const Shape& ranked(std::span<const Shape> shapes, size_t k) const;
  // Extents that are all known: BadGraph where one is not.
  const std::vector<int64_t>& known(std::span<const Shape> shapes, size_t k) const;
  // BadGraph with the node's name.
  [[noreturn]] void fail(std::string what, std::string legal) const;

  Entry add(const Entry& a, const Entry& b) const { return (*this)("broadcast_add", {a, b}); }
  Entry sub(const Entry& a, const Entry& b) const { return (*this)("broadcast_sub", {a, b}); }
  Entry mul(const Entry& a, const Entry& b) const { return (*this)("broadcast_mul", {a, b}); }
  Entry div(const Entry& a, const Entry& b) const { return (*this)("broadcast_div", {a, b}); }
  Entry add(const Entry& a, double c) const { return scalar("__add_scalar__", a, c); }
  Entry mul(const Entry& a, double c) const { return scalar("__mul_scalar__", a, c); }
  Entry rsub(double c, const Entry& a) const { return scalar("__rsub_scalar__", a, c); }
  Entry pow(const Entry& a, double c) const { return scalar("__pow_scalar__", a, c); }
  Entry like(const Entry& a, double value) const {
    return (*this)("full_like", {a}, {{"fill_value", text(value)}});
  }
  // 1 where a > c, or a < c, else 0.
  Entry above(const Entry& a, double c) const {
    return (*this)("broadcast_greater", {a, like(a, c)});
  }
  Entry below(const Entry& a, double c) const { return (*this)("broadcast_less", {a, like(a, c)}); }
  // Reductions that keep their dimensions.
  Entry sum(const Entry& a, const std::vector<int64_t>& axes) const { return over("sum", a, axes); }
  Entry mean(const Entry& a, const std::vector<int64_t>& axes) const {
    return over("mean", a, axes);
  }
  Entry reshape(const Entry& a, const std::vector<int64_t>& shape) const {
    return (*this)("reshape", {a}, {{"shape", tuple_text(shape)}});
  }
  Entry transpose(const Entry& a, const std::vector<int64_t>& axes) const {
    return (*this)("transpose", {a}, {{"axes", tuple_text(axes)}});
  }
  // Elements from begin up to end along one dimension.
  Entry slice(const Entry& a, size_t axis, int64_t begin, int64_t end) const;
  static std::string text(double value) { return fmt::format("{}", value); }
  static std::string text(bool value) { return value ? "True" : "False"; }

 private:
  Entry scalar(std::string_view op, const Entry& a, double c) const {
    return (*this)(op, {a}, {{"scalar", text(c)}});
  }
  Entry over(std::string_view op, const Entry& a, const std::vector<int64_t>& axes) const {
    return (*this)(op, {a}, {{"axis", tuple_text(axes)}, {"keepdims", "True"}});
  }
};

// `axis` of a tensor of that rank, counted from its end where negative, as shape inference has
// found it to be legal.
size_t plain_axis(int64_t axis, size_t rank);
std::vector<int64_t> plain_axes(const std::vector<int64_t>& axes, size_t rank);

}  // namespace tw::graph
