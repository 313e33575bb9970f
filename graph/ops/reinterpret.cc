// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "ir/expr.h"
#include "schedule/topi/elementwise.h"

namespace tw::graph {
namespace {

// A truth is a byte.
DType stored(DType type) { return type.is_bool() ? uint_type(8) : type; }

void infer_bits(TypeInference& t) {
  const DType type = t.attributes().dtype("dtype");
  t.narrow_output(0, type);
  if (!t.input(0) || stored(*t.input(0)).bits == stored(type).bits) return;
  t.fail(fmt::format("the bits of {} as {}", to_string(*t.input(0)), to_string(type)),
         fmt::format("a type of {} bits", stored(*t.input(0)).bits));
}

te::Tensor bits_as(const te::Tensor& x, DType type) {
  const te::Tensor from = topi::cast(x, stored(x.dtype()));
  const te::Tensor bits = te::compute(
      from.shape(),
      [&](const std::vector<Var>& i) {
        return call(stored(type), "reinterpret", {from(topi::to_exprs(i))},
                    CallKind::PureIntrinsic);
      },
      "T_reinterpret", topi::kElementwise);
  return topi::cast(bits, type);
}

}  // namespace

std::vector<Op> reinterpret_ops() {
  return {{.name = "reinterpret",
           .doc = "The bits of data as another element type of as many.",
           .inputs = {{"data", "any shape and type"}},
           .attributes = {{"dtype", AttributeType::Type, {}, "the element type of the output"}},
           .infer_shape = same_shape,
           .infer_type = infer_bits,
           .layout = one_layout,
           .pattern = Pattern::ElementWise,
           .compute = [](const AttributeValues& a,
                         Tensors in) { return std::vector{bits_as(in[0], a.dtype("dtype"))}; },
           .gradient = no_gradient,
           .inplace = {{0, 0}}}};
}

}  // namespace tw::graph
