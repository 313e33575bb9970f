// SPDX-License-Identifier: Apache-2.0
// Operators on each element by itself: a row each.
#include "graph/ops/families.h"
#include "ir/expr.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

using Tensors = std::span<const te::Tensor>;

struct Unary {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view doc;
  te::Tensor (*compute)(const te::Tensor&);
};

// The element type of the result of comparisons is that of their operands: 1 where they hold.
te::Tensor mask(const te::Tensor& holds, DType type) { return topi::cast(holds, type); }

struct Binary {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view doc;
  te::Tensor (*compute)(const te::Tensor&, const te::Tensor&);
};

struct WithScalar {
  std::string_view name;
  std::string_view doc;
  te::Tensor (*compute)(const te::Tensor&, const Expr&);
};

Op elementwise(std::string_view name, std::vector<std::string_view> aliases, std::string_view doc) {
  return {.name = name,
          .aliases = std::move(aliases),
          .doc = doc,
          .infer_shape = same_shape,
          .infer_type = same_type,
          .pattern = Pattern::ElementWise};
}

}  // namespace

std::vector<Op> elementwise_ops() {
  static const Unary kUnary[] = {
      {"relu", {}, "max(x, 0)", [](const te::Tensor& x) { return topi::nn::relu(x); }},
      {"sigmoid", {}, "1 / (1 + exp(-x))", [](const te::Tensor& x) { return topi::sigmoid(x); }},
      {"tanh", {}, "hyperbolic tangent", [](const te::Tensor& x) { return topi::tanh(x); }},
      {"exp", {}, "e to the x", [](const te::Tensor& x) { return topi::exp(x); }},
      {"log", {}, "natural logarithm", [](const te::Tensor& x) { return topi::log(x); }},
      {"sqrt", {}, "square root", [](const te::Tensor& x) { return topi::sqrt(x); }},
      {"negative", {"__neg_symbol__"}, "-x", [](const te::Tensor& x) { return topi::negative(x); }},
      {"abs", {}, "absolute value", [](const te::Tensor& x) { return topi::abs(x); }},
      {"floor", {}, "greatest integral value not above x",
       [](const te::Tensor& x) { return topi::floor(x); }},
      {"ceil", {}, "least integral value not below x",
       [](const te::Tensor& x) { return topi::ceil(x); }},
      {"trunc", {}, "integral value towards zero",
       [](const te::Tensor& x) { return topi::trunc(x); }},
      {"round", {}, "nearest integral value, halves away from zero",
       [](const te::Tensor& x) { return topi::round(x); }},
      {"copy", {"identity"}, "x", [](const te::Tensor& x) { return topi::identity(x); }},
      {"ones_like", {}, "1 for each element of x",
       [](const te::Tensor& x) { return topi::full_like(x, Expr(1)); }},
      {"zeros_like", {}, "0 for each element of x",
       [](const te::Tensor& x) { return topi::full_like(x, Expr(0)); }},
  };
  static const Binary kBinary[] = {
      {"elemwise_add", {}, "a + b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::add(a, b); }},
      {"elemwise_sub", {}, "a - b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::subtract(a, b); }},
      {"elemwise_mul", {}, "a * b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::multiply(a, b); }},
      {"elemwise_div", {}, "a / b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::divide(a, b); }},
      {"greater", {}, "1 where a > b, else 0, in the type of a",
       [](const te::Tensor& a, const te::Tensor& b) { return mask(topi::greater(a, b), a.dtype()); }},
      {"less", {}, "1 where a < b, else 0, in the type of a",
       [](const te::Tensor& a, const te::Tensor& b) { return mask(topi::less(a, b), a.dtype()); }},
  };
  static const WithScalar kWithScalar[] = {
      {"__add_scalar__", "data + scalar",
       [](const te::Tensor& x, const Expr& c) { return topi::add(x, c); }},
      {"__sub_scalar__", "data - scalar",
       [](const te::Tensor& x, const Expr& c) { return topi::subtract(x, c); }},
      {"__rsub_scalar__", "scalar - data",
       [](const te::Tensor& x, const Expr& c) { return topi::subtract(c, x); }},
      {"__mul_scalar__", "data * scalar",
       [](const te::Tensor& x, const Expr& c) { return topi::multiply(x, c); }},
      {"__div_scalar__", "data / scalar",
       [](const te::Tensor& x, const Expr& c) { return topi::divide(x, c); }},
      {"__rdiv_scalar__", "scalar / data",
       [](const te::Tensor& x, const Expr& c) { return topi::divide(c, x); }},
      {"__pow_scalar__", "data to the scalar",
       [](const te::Tensor& x, const Expr& c) { return topi::power(x, c); }},
      {"__rpow_scalar__", "scalar to the data",
       [](const te::Tensor& x, const Expr& c) { return topi::power(c, x); }},
  };
  std::vector<Op> ops;
  for (const WithScalar& row : kWithScalar) {
    Op op = elementwise(row.name, {}, row.doc);
    op.inputs = {{"data", "any shape"}};
    op.attributes = {{"scalar", AttributeType::Float, {}, "a number, taken in the type of data"}};
    op.compute = [f = row.compute](const AttributeValues& a, Tensors in) {
      return std::vector{f(in[0], make_const(in[0].dtype(), a.real("scalar")))};
    };
    ops.push_back(std::move(op));
  }
  for (const Unary& row : kUnary) {
    Op op = elementwise(row.name, row.aliases, row.doc);
    op.inputs = {{"data", "any shape and type that the function takes"}};
    op.compute = [f = row.compute](const AttributeValues&, Tensors in) {
      return std::vector{f(in[0])};
    };
    ops.push_back(std::move(op));
  }
  for (const Binary& row : kBinary) {
    Op op = elementwise(row.name, row.aliases, row.doc);
    op.inputs = {{"lhs", "any shape"}, {"rhs", "the shape and type of lhs"}};
    op.compute = [f = row.compute](const AttributeValues&, Tensors in) {
      return std::vector{f(in[0], in[1])};
    };
    ops.push_back(std::move(op));
  }
  Op sum = elementwise("elemwise_sum", {}, "the sum of all arguments");
  sum.inputs = {{"args", "tensors of one shape and type"}};
  sum.variadic = true;
  sum.attributes = {{"num_args", AttributeType::OptionalInt, "None", "how many arguments there are"}};
  sum.compute = [](const AttributeValues&, Tensors in) {
    te::Tensor total = in[0];
    for (const te::Tensor& t : in.subspan(1)) total = topi::add(total, t);
    return std::vector{in.size() == 1 ? topi::identity(total) : total};
  };
  ops.push_back(std::move(sum));
  return ops;
}

}  // namespace tw::graph
