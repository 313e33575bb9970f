// SPDX-License-Identifier: Apache-2.0
// A kind of operation is a file: one that nobody has heard of is scheduled, lowered, printed and
// evaluated by what it answers for itself.
#include <gtest/gtest.h>

#include "ir/interpret.h"
#include "schedule/te/compute.h"
#include "schedule/te/evaluation.h"
#include "schedule/te/writer.h"
#include "tests/support/expect_error.h"
#include "tests/support/scheduled.h"
#include "tests/support/te_run.h"

namespace tw {
namespace {

using te::Operation;
using te::Tensor;

// output[0] = the sum of all elements of a vector; a statement without loops of the schedule.
struct TotalNode : te::OperationNode {
  Tensor vector;

  explicit TotalNode(Tensor v) : vector(std::move(v)) { name = "T"; }
  int num_outputs() const override { return 1; }
  DType output_dtype(int) const override { return vector.dtype(); }
  std::vector<Expr> output_shape(int) const override { return {1}; }
  const std::vector<IterVar>& data_axes() const override { return root_axes(); }
  const std::vector<IterVar>& root_axes() const override {
    static const std::vector<IterVar> none;
    return none;
  }
  std::vector<Expr> evaluated() const override {
    return {make(ProducerLoad{.producer = vector.op(), .indices = {Expr()}})};
  }
  std::vector<Range> realized(int, const DomainMap&) const override { return {{0, 1}}; }
  Stmt update(const VarMap&, std::vector<Expr>&) const override {
    const Var i("i");
    const auto store = [&](const Expr& value) {
      return make(Provide{.producer = Operation(this), .value = value, .indices = {0}});
    };
    const Expr sum = Operation(this).output(0)(0) + vector(i);
    return block({store(make_zero(vector.dtype())),
                  make(For{.var = i, .min = 0, .extent = vector.shape()[0], .body = store(sum)})});
  }
  Operation with_reads(const te::ReadRewrite& f) const override {
    const Expr read = make(ProducerLoad{.producer = vector.op(), .indices = {Expr()}});
    const Expr next = f(*as<ProducerLoad>(read));
    if (!next.defined()) return Operation(this);
    const auto* producer = te::as_op<te::OperationNode>(as<ProducerLoad>(next)->producer);
    return Operation(new TotalNode(Operation(producer).output(0)));
  }
  Operation with_axes(const std::string&, const te::AxisReplacement&) const override {
    return Operation(this);
  }
  void write(te::Writer& out) const override { out.put("total(", vector.name()); }
  std::unique_ptr<te::PointEvaluator> evaluator(te::Evaluation& run) const override {
    struct Points : te::PointEvaluator {
      te::TensorState &from, &to;
      Points(te::TensorState& f, te::TensorState& t) : from(f), to(t) {}
      void compute(int64_t, int) override {
        double sum = 0;
        for (int64_t k = 0; k < from.size(); ++k) sum += from.read(k, 0).f;
        to.set(0, 0, scalar::of_float(sum));
      }
    };
    return std::make_unique<Points>(run.tensor(vector.op().get(), 0), run.tensor(this, 0));
  }
};

Tensor total(const Tensor& v) { return Operation(new TotalNode(v)).output(0); }

struct Program {
  Tensor a = te::placeholder({5}, float_type(32), "A");
  Tensor b = te::compute({5}, [this](const std::vector<Var>& i) { return a(i[0]) + a(i[0]); }, "B");
  Tensor t = total(b);
  Tensor c = te::compute(
      {3}, [this](const std::vector<Var>& i) { return t(0) + cast(float_type(32), i[0]); }, "C");
};

TEST(OperationKind, IsScheduledByWhatItAnswers) {
  const Program p;
  const Schedule s = Schedule::create({p.c});
  s[p.t].compute_at(s[p.c], s[p.c].axis(0));
  s[p.b].compute_root();
  EXPECT_EQ(test::loops(s), R"(realize B<global>([0, 5]) {
  produce B {
    for (i0, 0, 5) {
      B(i0) = (A(i0) + A(i0))
    }
  }
  produce C {
    for (i0_1, 0, 3) {
      realize T<global>([0, 1]) {
        produce T {
          T(0) = 0.000000f
          for (i, 0, 5) {
            T(0) = (T(0) + B(i))
          }
        }
        C(i0_1) = (T(0) + float32(i0_1))
      }
    }
  }
}
)");
}

TEST(OperationKind, ItsInputIsCachedAndComputedInsideWhatReadsIt) {
  const Program p;
  const Schedule s = Schedule::create({p.c});
  s.cache_read(p.b, "local", {p.t.op()});
  const std::string text = test::loops(s);
  EXPECT_NE(text.find("T(0) = (T(0) + B.local(i))"), std::string::npos) << text;
}

TEST(OperationKind, IsPrintedAndEvaluated) {
  const Program p;
  EXPECT_NE(te::to_text(te::make_program({p.c})).find("T = total(B)\n"), std::string::npos);
  const test::Array out = test::run(p.c, {test::Array({5}, {1, 2, 3, 4, 5})});
  EXPECT_EQ(out.data, (std::vector<double>{30, 31, 32}));
}

TEST(OperationKind, WhoNeedsExpressionsOfPositionsRefusesIt) {
  const Program p;
  const Schedule s = Schedule::create({p.c});
  test::expect_error(ErrorCode::CannotInline, [&] { s[p.t].compute_inline(); });
  test::expect_error(ErrorCode::BadArgument, [&] { s[p.t].transform_layout({0}); });
}

}  // namespace
}  // namespace tw
