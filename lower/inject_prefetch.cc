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
// Rows of what is read are taken to begin with a line: one that is missed ends a row, and is found
// by the processor's own prefetcher. Rows that will be stored are fetched to their last line,
// wherever they begin, as nothing follows stores into the rows of a tile. Addresses may lie outside
// the tensor, which is harmless.
#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "ir/arithmetic/analyzer.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "lower/passes.h"
#include "schedule/prefetches.h"

namespace tw::pass {
namespace {

constexpr int64_t kMaxUnrolled = 8;  // prefetches; more take longer to compile than they win
constexpr int64_t kAllLevels = 3, kData = 1;

class Inject : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const Realize& op, const Stmt& self) override {
    const auto outer = realized_;
    realized_.insert({op.producer.get(), op.value_index});
    Stmt result = Mutator::on(op, self);
    realized_ = outer;
    return result;
  }

  Stmt on(const Prefetch& op, const Stmt&) override {
    const DType type = op.producer->output_dtype(op.value_index);
    const int64_t line = std::max<int64_t>(kLineBytes / (type.element_bytes() * type.lanes), 1);
    std::vector<Range> bounds = op.bounds;
    int64_t latest = 0;  // element of a line that a row begins with
    if (op.for_write && !bounds.empty()) {
      const bool whole = !realized_.contains({op.producer.get(), op.value_index});
      const std::vector<Expr> shape = op.producer->output_shape(op.value_index);
      if (whole) join_rows(bounds, shape);
      latest = whole ? latest_begin(bounds, shape, line) : line - 1;
    }
    std::vector<Expr> indices;
    std::vector<std::pair<Var, Expr>> loops;
    for (size_t d = 0; d < bounds.size(); ++d) {
      const Range& bound = bounds[d];
      const bool last = d + 1 == bounds.size();
      const DType index = bound.min.dtype();
      const Expr step = make_const(index, last ? line : 1), extent = cast(index, bound.extent);
      const Expr before = make_const(index, last ? latest : 0);
      const Expr count = floor_div(extent + before + (step - 1), step);
      if (is_one(count)) {
        indices.push_back(bound.min);
        continue;
      }
      const Var var(last ? "line" : "row", index);
      loops.emplace_back(var, count);
      const Expr next = var * step;
      indices.push_back(bound.min + (is_zero(before) ? next : min(next, extent - 1)));
    }
    const DType number = int_type(32);
    const Expr address = make(ProducerLoad{
        .producer = op.producer, .value_index = op.value_index, .indices = std::move(indices)});
    Stmt body =
        make(Evaluate{.value = call(number, "prefetch",
                                    {address, make_const(number, op.for_write ? 1 : 0),
                                     make_const(number, kAllLevels), make_const(number, kData)},
                                    CallKind::Intrinsic)});
    int64_t unrolled = 1;  // as long as all loops inside are
    for (size_t k = loops.size(); k-- > 0;) {
      const auto& [var, count] = loops[k];
      unrolled *= std::min(as_const_int(count).value_or(kMaxUnrolled + 1), kMaxUnrolled + 1);
      body = make(For{.var = var,
                      .min = make_zero(var.dtype()),
                      .extent = count,
                      .for_kind = unrolled <= kMaxUnrolled ? ForKind::Unrolled : ForKind::Serial,
                      .body = body});
    }
    return body;
  }

 private:
  // Whole rows continue into one another: they become one.
  static void join_rows(std::vector<Range>& bounds, const std::vector<Expr>& shape) {
    Range& row = bounds.back();
    Expr whole = 1;
    for (size_t d = bounds.size(); d-- > 1;) {
      whole = whole * shape[d];
      Range& rows = bounds[d - 1];
      if (!is_zero(bounds[d].min) || !equal(row.extent, cast(row.extent.dtype(), whole))) return;
      row.extent = row.extent * cast(row.extent.dtype(), rows.extent);
      rows.extent = make_const(rows.min.dtype(), 1);
    }
  }

  // Which element of a line the rows of the box may begin with, at the latest, as the tensor begins
  // with a line.
  int64_t latest_begin(const std::vector<Range>& bounds, const std::vector<Expr>& shape,
                       int64_t line) {
    const DType index = bounds[0].min.dtype();
    Expr first = make_zero(index);
    int64_t pitch = 1, divisor = line;  // of the distances between rows
    for (size_t d = bounds.size(); d-- > 0;) {
      first = first + cast(index, bounds[d].min) * make_const(index, pitch);
      if (d + 1 < bounds.size() && !is_one(bounds[d].extent)) divisor = std::gcd(divisor, pitch);
      if (d == 0) break;
      const auto extent = as_const_int(shape[d]);
      if (!extent) return line - 1;
      pitch *= *extent;
    }
    const ModularFact fact = analyzer_.modular(analyzer_.canonical_simplify(first));
    divisor = std::gcd(divisor, fact.modulus);
    const int64_t residue = (fact.residue % divisor + divisor) % divisor;
    return line - divisor + residue;
  }

  Analyzer analyzer_;
  std::set<std::pair<const Producer*, int>> realized_;  // look-ups only
};

}  // namespace

Kernel inject_prefetch(Kernel kernel, const PassContext&) {
  kernel.body = Inject().mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
