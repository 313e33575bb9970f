// SPDX-License-Identifier: Apache-2.0
// inject_prefetch: a region that is to be fetched becomes one prefetch for each line of the cache.
//
// before:                                   after:
//   for (y, 0, 8) {                           for (y, 0, 8) {
//     prefetch A([(y + 2), 1], [0, 32])         unrolled (line, 0, 2) {
//     …                                           prefetch(A((y + 2), (line*16)), 0, 3, 1)
//   }                                           }
//                                               …
//                                             }
//
// Rows are taken to begin with a line. Addresses may lie outside the tensor, which is harmless.
#include "ir/expr.h"
#include "ir/visit.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

constexpr int64_t kLineBytes = 64;
constexpr int64_t kMaxUnrolled = 8;
constexpr int64_t kRead = 0, kAllLevels = 3, kData = 1;

class Inject : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const Prefetch& op, const Stmt&) override {
    const DType type = op.producer->output_dtype(op.value_index);
    const int64_t line = kLineBytes / std::max(type.element_bytes(), 1);
    std::vector<Expr> indices;
    std::vector<std::pair<Var, Expr>> loops;
    for (size_t d = 0; d < op.bounds.size(); ++d) {
      const Range& bound = op.bounds[d];
      const DType index = bound.min.dtype();
      const Expr step = make_const(index, d + 1 == op.bounds.size() ? line : 1);
      const Expr count = floor_div(cast(index, bound.extent) + (step - 1), step);
      if (is_one(count)) {
        indices.push_back(bound.min);
        continue;
      }
      const Var var(d + 1 == op.bounds.size() ? "line" : "row", index);
      loops.emplace_back(var, count);
      indices.push_back(bound.min + var * step);
    }
    const DType number = int_type(32);
    const Expr address = make(ProducerLoad{
        .producer = op.producer, .value_index = op.value_index, .indices = std::move(indices)});
    Stmt body =
        make(Evaluate{.value = call(number, "prefetch",
                                    {address, make_const(number, kRead),
                                     make_const(number, kAllLevels), make_const(number, kData)},
                                    CallKind::Intrinsic)});
    for (size_t k = loops.size(); k-- > 0;) {
      const auto& [var, count] = loops[k];
      const auto few = as_const_int(count);
      body = make(For{.var = var,
                      .min = make_zero(var.dtype()),
                      .extent = count,
                      .for_kind = few && *few <= kMaxUnrolled ? ForKind::Unrolled : ForKind::Serial,
                      .body = body});
    }
    return body;
  }
};

}  // namespace

Kernel inject_prefetch(Kernel kernel, const PassContext&) {
  kernel.body = Inject().mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
