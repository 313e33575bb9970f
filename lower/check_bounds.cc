// SPDX-License-Identifier: Apache-2.0
// check_bounds: with the option of that name, a kernel returns an error before it reads a tensor
// where it is not. What loops and conditions prove is not tested; intrinsics' nests are not, whose
// blocks are whole.
//
//   before:                                after:
//   for (i, 0, 8) {                        for (i, 0, 8) {
//     B[i] = A[I[i]]                         assert(((0 <= I[i]) && (I[i] < 10)), "…")
//   }                                        B[i] = A[I[i]]
//                                          }
#include <fmt/format.h>

#include <map>
#include <vector>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/guarded_visitor.h"
#include "ir/print.h"
#include "lower/passes.h"
#include "lower/scoped_mutator.h"

namespace tw::pass {
namespace {

struct Test {
  Expr holds;
  std::string message;
};
using Output = std::pair<const Producer*, int>;
using Extents = std::map<Output, std::vector<Range>>;  // look-ups only

// The tests of all reads in an expression, those that others depend on first.
class Reads : public GuardedVisitor {
 public:
  Reads(const Extents& realized, Analyzer& analyzer) : realized_(realized), analyzer_(analyzer) {}
  std::vector<Test> tests;

 protected:
  using GuardedVisitor::on;
  void on(const Let& op) override {
    visit(op.value);
    const size_t before = tests.size();
    visit(op.body);
    for (size_t k = before; k < tests.size(); ++k) {
      tests[k].holds = make(Let{.var = op.var, .value = op.value, .body = tests[k].holds});
    }
  }
  void on(const ProducerLoad& op) override {
    GuardedVisitor::on(op);
    const auto it = realized_.find({op.producer.get(), op.value_index});
    const std::vector<Expr> shape = op.producer->output_shape(op.value_index);
    for (size_t d = 0; d < op.indices.size(); ++d) {
      const Expr& index = op.indices[d];
      const Range range =
          it != realized_.end() ? it->second[d] : Range{make_zero(shape[d].dtype()), shape[d]};
      test(index, range, op.producer->name, d);
    }
  }
  void visit_given(const Expr& condition, const Expr& value) override {
    const size_t before = tests.size();
    {
      const Analyzer::Scope scope = analyzer_.assume(condition);
      visit(value);
    }
    for (size_t k = before; k < tests.size(); ++k) {
      tests[k].holds = if_then_else(condition, tests[k].holds, make_bool(true));
    }
  }

 private:
  void test(const Expr& index, const Range& range, const std::string& tensor, size_t d) {
    const DType type = index.dtype();
    const Expr min = cast(type, range.min), end = cast(type, range.min + range.extent);
    Expr holds;
    if (!analyzer_.can_prove(index >= min)) holds = min <= index;
    if (!analyzer_.can_prove(index < end))
      holds = holds.defined() ? holds && index < end : index < end;
    if (!holds.defined()) return;
    tests.push_back({holds, fmt::format("index {} of '{}', {}, is not from {} to {} - 1", d, tensor,
                                        to_string(index), to_string(range.min),
                                        to_string(range.min + range.extent))});
  }

  const Extents& realized_;
  Analyzer& analyzer_;
};

class CheckBounds : public ScopedMutator {
 protected:
  using ScopedMutator::on;
  Stmt on(const AttrStmt& op, const Stmt& self) override {
    return op.key == attr::kTensorIntrin ? self : ScopedMutator::on(op, self);
  }
  Stmt on(const Realize& op, const Stmt& self) override {
    const Output output{op.producer.get(), op.value_index};
    realized_[output] = op.bounds;
    const Stmt result = ScopedMutator::on(op, self);
    realized_.erase(output);
    return result;
  }
  Stmt on(const Provide& op, const Stmt& self) override { return tested({op.value}, self); }
  Stmt on(const IfThenElse& op, const Stmt& self) override {
    return tested({op.condition}, ScopedMutator::on(op, self));
  }
  Stmt on(const LetStmt& op, const Stmt& self) override {
    return tested({op.value}, ScopedMutator::on(op, self));
  }

 private:
  Stmt tested(const std::vector<Expr>& values, Stmt body) {
    Reads reads(realized_, analyzer_);
    for (const Expr& e : values) reads.visit(e);
    for (size_t k = reads.tests.size(); k-- > 0;) {
      const Test& test = reads.tests[k];
      body = make(AssertStmt{.condition = test.holds,
                             .message = make(StringImm{.value = test.message}),
                             .body = body});
    }
    return body;
  }

  Extents realized_;
};

}  // namespace

Kernel check_bounds(Kernel kernel, const PassContext& context) {
  if (context.options.check_bounds) kernel.body = CheckBounds().mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
