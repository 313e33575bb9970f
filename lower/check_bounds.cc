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
#include <unordered_map>
#include <vector>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/guarded_visitor.h"
#include "ir/memory_shape.h"
#include "ir/print.h"
#include "ir/substitute.h"
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

// Memory that statements address by element, and how many there are.
struct Elements {
  std::string tensor;
  Expr count;
};
using Memory = std::unordered_map<const Variable*, Elements>;

// The tests of all reads in an expression, those that others depend on first.
class Reads : public GuardedVisitor {
 public:
  Reads(const Extents& realized, const Memory& memory, Analyzer& analyzer)
      : realized_(realized), memory_(memory), analyzer_(analyzer) {}
  std::vector<Test> tests;

  // Of a ramp the first and the last lane say it of all; of other vectors nothing is tested.
  void element(const Expr& index, const Elements& elements) {
    if (const Ramp* lanes = as<Ramp>(index)) {
      element(lanes->base, elements);
      return element(lanes->base + lanes->stride * (lanes->lanes - 1), elements);
    }
    if (index.dtype().is_vector()) return;
    test(index, {make_zero(index.dtype()), elements.count}, elements.tensor, 0);
  }

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
  // An address reads nothing.
  void on(const Call& op) override {
    if (op.name != "address_of") GuardedVisitor::on(op);
  }
  void on(const Load& op) override {
    GuardedVisitor::on(op);
    const auto it = memory_.find(op.buffer.operator->());
    if (it != memory_.end()) element(op.index, it->second);
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
  const Memory& memory_;
  Analyzer& analyzer_;
};

class CheckBounds : public ScopedMutator {
 protected:
  using ScopedMutator::on;
  Stmt on(const AttrStmt& op, const Stmt& self) override {
    if (op.key == attr::kTensorIntrin) return self;
    if (op.key != attr::kBufferBind) return ScopedMutator::on(op, self);
    const ProducerLoad& tensor = *as<ProducerLoad>(op.value);
    const std::vector<Expr> extents =
        memory_shape(tensor.producer->output_shape(tensor.value_index), tensor.dtype);
    Expr size = 1;
    for (const Expr& extent : extents) size = size * cast(size.dtype(), extent);
    const Variable* buffer = bound_by(op);
    memory_[buffer] = {tensor.producer->name, analyzer_.simplify(size)};
    const Stmt result = ScopedMutator::on(op, self);
    memory_.erase(buffer);
    return result;
  }
  // Of statements that address memory what they store is tested too.
  Stmt on(const Store& op, const Stmt& self) override {
    Stmt result = tested({op.value, op.index}, self);
    const auto it = memory_.find(op.buffer.operator->());
    if (it == memory_.end()) return result;
    Reads reads(realized_, memory_, analyzer_);
    reads.element(op.index, it->second);
    return with_tests(reads.tests, result);
  }
  Stmt on(const For& op, const Stmt& self) override {
    return tested({op.min, op.extent}, ScopedMutator::on(op, self));
  }
  // What a condition reads is tested before each time it is asked.
  Stmt on(const While& op, const Stmt& self) override {
    const Stmt loop = ScopedMutator::on(op, self);
    const Stmt tests = tested({op.condition}, {});
    if (!tests.defined()) return loop;
    return block(
        {tests, with(loop, [&](While& w) { w.body = block({w.body, rename_bindings(tests)}); })});
  }
  Stmt on(const Evaluate& op, const Stmt& self) override { return tested({op.value}, self); }
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
    Reads reads(realized_, memory_, analyzer_);
    for (const Expr& e : values) reads.visit(e);
    return with_tests(reads.tests, body);
  }
  static Stmt with_tests(const std::vector<Test>& tests, Stmt body) {
    for (size_t k = tests.size(); k-- > 0;) {
      const Test& test = tests[k];
      body = make(AssertStmt{.condition = test.holds,
                             .message = make(StringImm{.value = test.message}),
                             .body = body});
    }
    return body;
  }

  Extents realized_;
  Memory memory_;
};

}  // namespace

Kernel check_bounds(Kernel kernel, const PassContext& context) {
  if (context.options.check_bounds) kernel.body = CheckBounds().mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
