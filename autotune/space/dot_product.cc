// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/dot_product.h"

#include "ir/expr.h"
#include "ir/substitute.h"

namespace tw::autotune {
namespace {

// A read of narrow numbers, made wide.
const ProducerLoad* factor_of(const Expr& e) {
  const Cast* wide = as<Cast>(e);
  return wide == nullptr ? nullptr : as<ProducerLoad>(wide->value);
}

bool is_sum(const Reduce& reduce) {
  if (reduce.combiner.result.size() != 1 || reduce.condition.defined()) return false;
  const Add* add = as<Add>(reduce.combiner.result[0]);
  return add != nullptr && add->a.same_as(reduce.combiner.lhs[0]) &&
         add->b.same_as(reduce.combiner.rhs[0]);
}

// The dimension that the axis walks along, if it does so by itself and along no other.
std::optional<size_t> dimension_of(const ProducerLoad& load, const Var& axis) {
  std::optional<size_t> found;
  for (size_t d = 0; d < load.indices.size(); ++d) {
    if (!uses(load.indices[d], axis)) continue;
    if (found || !load.indices[d].same_as(axis)) return std::nullopt;
    found = d;
  }
  return found;
}

te::Tensor tensor_of(const te::ComputeNode& compute, const ProducerLoad& load) {
  for (const te::Tensor& t : compute.input_tensors()) {
    if (t.op().get() == load.producer.get() && t.value_index() == load.value_index) return t;
  }
  return {};
}

}  // namespace

int64_t products_at_once(DType a, DType b, DType wide, const Target& target) {
  const auto is_byte = [](DType t) { return t.is_integer() && t.bits == 8; };
  const bool bytes = is_byte(a) && is_byte(b) && (a.is_int() || b.is_int());
  if (bytes && wide == int_type(32) && target.has_int8_dot) return 4;
  const bool halves = a == bfloat_type(16) && b == a;
  return halves && wide == float_type(32) && target.has_bf16_dot ? 2 : 1;
}

std::optional<DotProduct> find_dot_product(const te::ComputeNode& compute, const Target& target) {
  if (compute.body.size() != 1) return std::nullopt;
  const Reduce* reduce = as<Reduce>(compute.body[0]);
  if (reduce == nullptr || !is_sum(*reduce)) return std::nullopt;
  const Mul* product = as<Mul>(reduce->source[0]);
  if (product == nullptr) return std::nullopt;
  const ProducerLoad *a = factor_of(product->a), *b = factor_of(product->b);
  if (a == nullptr || b == nullptr || a->producer.get() == b->producer.get()) return std::nullopt;
  const int64_t group = products_at_once(a->dtype, b->dtype, product->dtype, target);
  if (group == 1) return std::nullopt;
  for (size_t k = 0; k < reduce->axis.size(); ++k) {
    const auto in_a = dimension_of(*a, reduce->axis[k].var());
    const auto in_b = dimension_of(*b, reduce->axis[k].var());
    if (!in_a || !in_b) continue;
    return DotProduct{.group = group,
                      .reduce_axis = k,
                      .a = {tensor_of(compute, *a), *in_a},
                      .b = {tensor_of(compute, *b), *in_b}};
  }
  return std::nullopt;
}

}  // namespace tw::autotune
