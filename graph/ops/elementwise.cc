// SPDX-License-Identifier: Apache-2.0
// Operators on each element by itself: a row each.
#include <fmt/format.h>

#include <cmath>

#include "graph/ops/common.h"
#include "graph/ops/element_rows.h"
#include "graph/ops/families.h"
#include "ir/expr.h"
#include "runtime/read_number.h"
#include "schedule/topi/common.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

bool is_number(const std::string& scalar, double value) { return *read_double(scalar) == value; }

// Numbers of attributes, computed on.
std::string less_one(const std::string& scalar) {
  return fmt::format("{}", *read_double(scalar) - 1);
}
std::string logarithm(const std::string& scalar) {
  return fmt::format("{}", std::log(*read_double(scalar)));
}

}  // namespace

std::vector<Op> elementwise_ops() {
  static const Unary kUnary[] = {
      {"relu",
       {},
       "max(x, 0)",
       [](const te::Tensor& x) { return topi::nn::relu(x); },
       [](const GradientOf& n, const Entry& g) {
         const Entry zeros = n("zeros_like", {n.input(0)});
         return n("elemwise_mul", {g, n("greater", {n.input(0), zeros}, {{"exclude", "true"}})});
       },
       scales_as_positive},
      {"sigmoid",
       {},
       "1 / (1 + exp(-x))",
       [](const te::Tensor& x) { return topi::sigmoid(x); },
       [](const GradientOf& n, const Entry& g) {
         const Entry y = n.output(), rest = n("__rsub_scalar__", {y}, {{"scalar", "1"}});
         return n("elemwise_mul", {g, n("elemwise_mul", {y, rest})});
       }},
      {"tanh",
       {},
       "hyperbolic tangent",
       [](const te::Tensor& x) { return topi::tanh(x); },
       [](const GradientOf& n, const Entry& g) {
         const Entry square = n("elemwise_mul", {n.output(), n.output()});
         return n("elemwise_mul", {g, n("__rsub_scalar__", {square}, {{"scalar", "1"}})});
       }},
      {"exp",
       {},
       "e to the x",
       [](const te::Tensor& x) { return topi::exp(x); },
       [](const GradientOf& n, const Entry& g) { return n("elemwise_mul", {g, n.output()}); }},
      {"log",
       {},
       "natural logarithm",
       [](const te::Tensor& x) { return topi::log(x); },
       [](const GradientOf& n, const Entry& g) { return n("elemwise_div", {g, n.input(0)}); }},
      {"sqrt",
       {},
       "square root",
       [](const te::Tensor& x) { return topi::sqrt(x); },
       [](const GradientOf& n, const Entry& g) {
         return n("elemwise_div", {g, n("__mul_scalar__", {n.output()}, {{"scalar", "2"}})});
       }},
      {"negative",
       {"__neg_symbol__"},
       "-x",
       [](const te::Tensor& x) { return topi::negative(x); },
       [](const GradientOf& n, const Entry& g) { return n("negative", {g}); },
       scales_as_sum,
       identity_if_twice},
      {"abs",
       {},
       "absolute value",
       [](const te::Tensor& x) { return topi::abs(x); },
       [](const GradientOf& n, const Entry& g) { return n.product(g, n("sign", {n.input(0)})); }},
      {"sign",
       {},
       "1, 0 or -1 by the sign of x",
       [](const te::Tensor& x) { return topi::sign(x); },
       flat_in_one},
      {"floor",
       {},
       "greatest integral value not above x",
       [](const te::Tensor& x) { return topi::floor(x); },
       flat_in_one},
      {"ceil",
       {},
       "least integral value not below x",
       [](const te::Tensor& x) { return topi::ceil(x); },
       flat_in_one},
      {"trunc",
       {},
       "integral value towards zero",
       [](const te::Tensor& x) { return topi::trunc(x); },
       flat_in_one},
      {"round",
       {},
       "nearest integral value, halves away from zero",
       [](const te::Tensor& x) { return topi::round(x); },
       flat_in_one},
      {"rint",
       {},
       "nearest integral value, halves to even",
       [](const te::Tensor& x) { return topi::rint(x); },
       flat_in_one},
      {"copy",
       {"identity"},
       "x",
       [](const te::Tensor& x) { return topi::identity(x); },
       [](const GradientOf&, const Entry& g) { return g; },
       scales_as_sum,
       always_identity},
      {"block_grad",
       {},
       "x, through which no gradient flows back",
       [](const te::Tensor& x) { return topi::identity(x); },
       flat_in_one},
      {"ones_like",
       {},
       "1 for each element of x",
       [](const te::Tensor& x) { return topi::full_like(x, Expr(1)); },
       flat_in_one},
      {"zeros_like",
       {},
       "0 for each element of x",
       [](const te::Tensor& x) { return topi::full_like(x, Expr(0)); },
       flat_in_one},
  };
  static const Binary kBinary[] = {
      {"elemwise_add",
       {},
       "a + b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::add(a, b); },
       [](const GradientOf&, const Entry& g) { return Entries{g, g}; },
       scales_as_sum},
      {"elemwise_sub",
       {},
       "a - b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::subtract(a, b); },
       [](const GradientOf& n, const Entry& g) { return Entries{g, n("negative", {g})}; },
       scales_as_sum},
      {"elemwise_mul",
       {},
       "a * b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::multiply(a, b); },
       [](const GradientOf& n, const Entry& g) {
         return Entries{n("elemwise_mul", {g, n.input(1)}), n("elemwise_mul", {g, n.input(0)})};
       },
       scales_as_product},
      {"elemwise_div",
       {},
       "a / b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::divide(a, b); },
       [](const GradientOf& n, const Entry& g) {
         const Entry of_lhs = n("elemwise_div", {g, n.input(1)});
         return Entries{of_lhs, n("negative", {n("elemwise_mul", {of_lhs, n.output()})})};
       }},
      {"greater",
       {},
       "1 where a > b, else 0, in the type of a",
       [](const te::Tensor& a, const te::Tensor& b) {
         return mask(topi::greater(a, b), a.dtype());
       },
       flat},
      {"less",
       {},
       "1 where a < b, else 0, in the type of a",
       [](const te::Tensor& a, const te::Tensor& b) { return mask(topi::less(a, b), a.dtype()); },
       flat},
  };
  static const WithScalar kWithScalar[] = {
      {"__add_scalar__", "data + scalar",
       [](const te::Tensor& x, const Expr& c) { return topi::add(x, c); },
       [](const GradientOf&, const Entry& g, const std::string&) { return g; }},
      {"__sub_scalar__", "data - scalar",
       [](const te::Tensor& x, const Expr& c) { return topi::subtract(x, c); },
       [](const GradientOf&, const Entry& g, const std::string&) { return g; }},
      {"__rsub_scalar__", "scalar - data",
       [](const te::Tensor& x, const Expr& c) { return topi::subtract(c, x); },
       [](const GradientOf& n, const Entry& g, const std::string&) { return n("negative", {g}); }},
      {"__mul_scalar__", "data * scalar",
       [](const te::Tensor& x, const Expr& c) { return topi::multiply(x, c); },
       [](const GradientOf& n, const Entry& g, const std::string& c) {
         return n("__mul_scalar__", {g}, {{"scalar", c}});
       },
       scales_as_sum, identity_if_one},
      {"__div_scalar__", "data / scalar",
       [](const te::Tensor& x, const Expr& c) { return topi::divide(x, c); },
       [](const GradientOf& n, const Entry& g, const std::string& c) {
         return n("__div_scalar__", {g}, {{"scalar", c}});
       },
       nullptr, identity_if_one},
      {"__rdiv_scalar__", "scalar / data",
       [](const te::Tensor& x, const Expr& c) { return topi::divide(c, x); },
       [](const GradientOf& n, const Entry& g, const std::string&) {
         const Entry slope = n("elemwise_div", {n.output(), n.input(0)});
         return n("negative", {n("elemwise_mul", {g, slope})});
       }},
      {"__pow_scalar__", "data to the scalar; floating",
       [](const te::Tensor& x, const Expr& c) {
         topi::require_float({"__pow_scalar__", "data"}, x);
         return topi::power(x, c);
       },
       // Not by dividing the output, which is 0 / 0 where data is 0.
       [](const GradientOf& n, const Entry& g, const std::string& c) {
         if (is_number(c, 0)) return n.zeros(0);
         const Entry power = n("__pow_scalar__", {n.input(0)}, {{"scalar", less_one(c)}});
         return n("elemwise_mul", {g, n("__mul_scalar__", {power}, {{"scalar", c}})});
       }},
      {"__rpow_scalar__", "scalar to the data; floating",
       [](const te::Tensor& x, const Expr& c) {
         topi::require_float({"__rpow_scalar__", "data"}, x);
         return topi::power(c, x);
       },
       [](const GradientOf& n, const Entry& g, const std::string& c) {
         if (is_number(c, 0)) return n.zeros(0);
         const Entry slope = n("__mul_scalar__", {n.output()}, {{"scalar", logarithm(c)}});
         return n("elemwise_mul", {g, slope});
       }},
  };
  std::vector<Op> ops;
  append(ops, kWithScalar);
  append(ops, kUnary);
  append(ops, kBinary);
  Op sum = elementwise("elemwise_sum", {}, "the sum of all arguments");
  sum.inputs = {{"args", "tensors of one shape and type"}};
  sum.variadic = true;
  sum.attributes = {
      {"num_args", AttributeType::OptionalInt, "None", "how many arguments there are"}};
  sum.compute = [](const AttributeValues&, Tensors in) {
    te::Tensor total = in[0];
    for (const te::Tensor& t : in.subspan(1)) total = topi::add(total, t);
    return std::vector{in.size() == 1 ? topi::identity(total) : total};
  };
  sum.identity = identity_if_alone;
  sum.fold_scale = scales_as_sum;
  sum.gradient = [](const NodeRef& node, const Entries& g) {
    return Entries(node->inputs.size(), g[0]);
  };
  ops.push_back(std::move(sum));
  return ops;
}

}  // namespace tw::graph
