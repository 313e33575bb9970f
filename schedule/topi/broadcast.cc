// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/broadcast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/expr.h"
#include "schedule/topi/operator.h"

namespace tw::topi {
namespace {

using Element = Expr (*)(const Expr& a, const Expr& b);

Tensor combine(std::string_view op, const Tensor& a, const Tensor& b, Element element,
               const std::string& label, const std::string& tag) {
  return te::compute(
      broadcast_shape(a.shape(), b.shape(), op),
      [&](const std::vector<Var>& i) {
        return element(read_broadcast(a, i), read_broadcast(b, i));
      },
      label, tag);
}

using Extreme = Expr (*)(const Expr& a, const Expr& b);

bool is_number(const Expr& e) {
  const FloatImm* real = as<FloatImm>(e);
  return is_const(e) && (real == nullptr || !std::isnan(real->value));
}

// NaN where one is: max and min of expressions give the second then, so that a constant as the
// first costs nothing.
Expr extreme_of(Extreme f, const Expr& a, const Expr& b) {
  if (is_number(b)) return f(b, a);
  const Expr e = f(a, b);
  if (!e.dtype().is_float() || is_number(a)) return e;
  const Expr first = tw::cast(e.dtype(), a);
  return select(call("isnan", {first}), first, e);
}
Expr greater_of(const Expr& a, const Expr& b) { return extreme_of(&tw::max, a, b); }
Expr lesser_of(const Expr& a, const Expr& b) { return extreme_of(&tw::min, a, b); }

#define BINARY(name, expression, doc) \
  Expr element_##name(const Expr& a, const Expr& b) { return expression; }
#include "schedule/topi/broadcast.def"
#undef BINARY

}  // namespace

std::vector<Expr> broadcast_shape(const std::vector<Expr>& a, const std::vector<Expr>& b,
                                  std::string_view op) {
  const size_t rank = std::max(a.size(), b.size());
  std::vector<Expr> shape(rank);
  for (size_t back = 1; back <= rank; ++back) {
    Expr& extent = shape[rank - back];
    if (back > a.size()) {
      extent = b[b.size() - back];
    } else if (back > b.size()) {
      extent = a[a.size() - back];
    } else {
      const Expr &ea = a[a.size() - back], &eb = b[b.size() - back];
      if (same_extent(ea, eb) || is_one(eb)) {
        extent = ea;
      } else if (is_one(ea)) {
        extent = eb;
      } else {
        bad_shape({op, ""},
                  fmt::format("shapes {} and {} do not go together", shape_text(a), shape_text(b)),
                  "extents that are equal or 1, counted from the last dimension");
      }
    }
  }
  return shape;
}

Expr read_broadcast(const Tensor& t, const std::vector<Var>& position) {
  const std::vector<Expr> shape = t.shape();
  const size_t skip = position.size() - shape.size();
  std::vector<Expr> indices;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Var& i = position[skip + d];
    indices.push_back(is_one(shape[d]) ? make_zero(i.dtype()) : Expr(i));
  }
  return t(indices);
}

#define BINARY(name, expression, doc)                                                             \
  Tensor name(const Tensor& a, const Tensor& b, const std::string& label,                         \
              const std::string& tag) {                                                           \
    return combine(#name, a, b, &element_##name, label, tag);                                     \
  }                                                                                               \
  Tensor name(const Tensor& a, const Expr& b, const std::string& label, const std::string& tag) { \
    const auto body = [&](const std::vector<Var>& i) {                                            \
      return element_##name(a(to_exprs(i)), b);                                                   \
    };                                                                                            \
    return te::compute(a.shape(), body, label, tag);                                              \
  }                                                                                               \
  Tensor name(const Expr& a, const Tensor& b, const std::string& label, const std::string& tag) { \
    const auto body = [&](const std::vector<Var>& i) {                                            \
      return element_##name(a, b(to_exprs(i)));                                                   \
    };                                                                                            \
    return te::compute(b.shape(), body, label, tag);                                              \
  }
#include "schedule/topi/broadcast.def"
#undef BINARY

const std::vector<BinaryOperator>& binary_operators() {
  static const std::vector<BinaryOperator> rows = {
#define BINARY(name, expression, doc)                                    \
  {#name, doc, &element_##name, [](const Operand& a, const Operand& b) { \
     return std::visit(                                                  \
         [](const auto& x, const auto& y) -> Operand {                   \
           if constexpr (std::is_same_v<decltype(x), const Expr&> &&     \
                         std::is_same_v<decltype(y), const Expr&>) {     \
             return element_##name(x, y);                                \
           } else {                                                      \
             return topi::name(x, y);                                    \
           }                                                             \
         },                                                              \
         a, b);                                                          \
   }},
#include "schedule/topi/broadcast.def"
#undef BINARY
  };
  return rows;
}

const BinaryOperator* find_binary(std::string_view name) {
  for (const BinaryOperator& row : binary_operators()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Tensor broadcast_to(const Tensor& x, const std::vector<Expr>& shape, const std::string& label,
                    const std::string& tag) {
  const std::vector<Expr> common = broadcast_shape(x.shape(), shape, "broadcast_to");
  const bool fits = common.size() == shape.size() &&
                    std::equal(common.begin(), common.end(), shape.begin(), same_extent);
  if (!fits) {
    bad_shape(
        {"broadcast_to", "shape"},
        fmt::format("shape {} does not broadcast to {}", shape_text(x.shape()), shape_text(shape)),
        "extents of x that are 1 or those of the new shape");
  }
  return te::compute(
      shape, [&](const std::vector<Var>& i) { return read_broadcast(x, i); }, label, tag);
}

std::vector<Operator> broadcast_rows() {
  std::vector<Operator> rows;
  for (const BinaryOperator& row : binary_operators()) {
    const auto combine = [apply = row.apply](const Operand& lhs, const Operand& rhs) -> Result {
      return std::visit([](const auto& result) -> Result { return result; }, apply(lhs, rhs));
    };
    rows.push_back(
        make_operator("topi", row.name, combine,
                      {{"lhs"},
                       {"rhs",
                        "of a shape that broadcasts with that of lhs, as NumPy's do; or one "
                        "scalar for all elements"}},
                      row.doc));
  }
  rows.push_back(make_operator(
      "topi", "broadcast_to",
      [](const Tensor& data, const std::vector<Expr>& shape) { return broadcast_to(data, shape); },
      {{"data"}, {"shape", "one that the shape of data broadcasts to"}},
      "data repeated to a shape. NumPy broadcast_to."));
  return rows;
}

}  // namespace tw::topi
