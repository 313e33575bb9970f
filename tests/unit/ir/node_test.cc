// SPDX-License-Identifier: Apache-2.0
#include "ir/node.h"

#include <gtest/gtest.h>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "tests/support/expect_error.h"

namespace tw {
namespace {

using test::expect_error;

// An int is an int32 constant; what would lose its fraction or its upper half is no Expr.
static_assert(std::is_convertible_v<int, Expr>);
static_assert(!std::is_constructible_v<Expr, double> && !std::is_constructible_v<Expr, float>);
static_assert(!std::is_constructible_v<Expr, int64_t> && !std::is_constructible_v<Expr, bool>);

TEST(Node, MakeComputesTypes) {
  const Var i("i");
  EXPECT_EQ(make(Add{.a = i, .b = 1}).dtype(), int_type(32));
  EXPECT_EQ(make(Less{.a = i, .b = 1}).dtype(), bool_type());
  const Expr ramp = make(Ramp{.base = i, .stride = 1, .lanes = 8});
  EXPECT_EQ(ramp.dtype(), int_type(32, 8));
  EXPECT_EQ(
      make(Load{.type = float_type(32), .buffer = buffer_var("A", float_type(32)), .index = ramp})
          .dtype(),
      float_type(32, 8));
  EXPECT_EQ(make(IntImm{.type = uint_type(8), .value = 257}).get()->dtype, uint_type(8));
  EXPECT_EQ(as<IntImm>(make(IntImm{.type = uint_type(8), .value = 257}))->value, 1);
  EXPECT_EQ(as<IntImm>(make(IntImm{.type = int_type(8), .value = 200}))->value, -56);
  EXPECT_EQ(as<FloatImm>(make(FloatImm{.value = 0.1}))->value, static_cast<double>(0.1f));
}

// Walks over some kinds do not look into what has none of them.
TEST(Node, WalksPassOverWhatHasNoneOfTheirKinds) {
  class Meets : public Visitor {
   public:
    Meets() : Visitor(KindSet{NodeKind::Load}) {}
    std::vector<NodeKind> met;

   protected:
    using Visitor::on;
    void on(const Variable& op) override { met.push_back(op.kind); }
    void on(const Add& op) override {
      met.push_back(op.kind);
      Visitor::on(op);
    }
    void on(const Load& op) override {
      met.push_back(op.kind);
      Visitor::on(op);
    }
  };
  class Zeros : public Mutator {
   public:
    Zeros() : Mutator(KindSet{NodeKind::Load}) {}

   protected:
    using Mutator::on;
    Expr on(const Variable& op, const Expr&) override { return make_zero(op.type); }
    Expr on(const Load& op, const Expr&) override { return make_zero(op.type); }
  };
  const Var i("i"), a = buffer_var("A", int_type(32));
  const Expr without = i + 1;
  const Expr load = make(Load{.type = int_type(32), .buffer = a, .index = without});
  Meets meets;
  meets.visit(make(Add{.a = without, .b = load}));
  EXPECT_EQ(meets.met, (std::vector{NodeKind::Add, NodeKind::Load}));
  EXPECT_TRUE(Zeros().mutate(without).same_as(without));
  const Expr zeroed = Zeros().mutate(make(Add{.a = without, .b = load}));
  EXPECT_TRUE(as<Add>(zeroed)->a.same_as(without) && is_zero(as<Add>(zeroed)->b));
  EXPECT_FALSE(has(Expr(), KindSet::all()));
  EXPECT_TRUE(has(load, {NodeKind::Add}) && !has(without, {NodeKind::Load, NodeKind::Sub}));
}

TEST(Node, MakeRefusesWhatDoesNotFit) {
  const Var i("i"), x("x", float_type(32));
  const Stmt nothing = make(Evaluate{.value = 0});
  expect_error(ErrorCode::MalformedIr, [&] { make(Add{.a = i, .b = x}); });
  expect_error(ErrorCode::MalformedIr, [&] { make(Add{.a = i}); });
  expect_error(ErrorCode::MalformedIr, [&] { make(And{.a = i, .b = i}); });
  expect_error(ErrorCode::MalformedIr, [&] { make(Ramp{.base = i, .stride = 1, .lanes = 1}); });
  expect_error(ErrorCode::MalformedIr, [&] {
    make(Shuffle{.vectors = {make(Broadcast{.value = i, .lanes = 2})}, .indices = {2}});
  });
  expect_error(ErrorCode::MalformedIr, [&] {
    make(For{.var = i, .min = make_const(int_type(64), 0), .extent = 3, .body = nothing});
  });
  expect_error(ErrorCode::MalformedIr, [&] { make(Block{.stmts = {nothing}}); });
  expect_error(ErrorCode::MalformedIr,
               [&] { make(IfThenElse{.condition = i, .then_case = nothing}); });
}

TEST(Node, WithEditsACopy) {
  const Var i("i");
  const Stmt loop = make(For{.var = i, .min = 0, .extent = 4, .body = make(Evaluate{.value = i})});
  const Stmt parallel = with(loop, [](For& f) { f.for_kind = ForKind::Parallel; });
  EXPECT_EQ(as<For>(loop)->for_kind, ForKind::Serial);
  EXPECT_EQ(as<For>(parallel)->for_kind, ForKind::Parallel);
  EXPECT_TRUE(as<For>(parallel)->body.same_as(as<For>(loop)->body));
}

TEST(Node, BlockFlattens) {
  const Stmt a = make(Evaluate{.value = 1}), b = make(Evaluate{.value = 2});
  EXPECT_FALSE(block({}).defined());
  EXPECT_TRUE(block({Stmt(), a}).same_as(a));
  const Stmt nested = block({a, block({b, a})});
  EXPECT_EQ(as<Block>(nested)->stmts.size(), 3u);
}

TEST(Node, VariablesAreNumberedInOrderOfCreation) {
  const Var a("a"), b("a");
  EXPECT_LT(a->serial, b->serial);
}

TEST(Node, AParallelLaunchBindsItsTask) {
  const Var task("task");
  const Stmt body = make(Evaluate{.value = task});
  const Stmt launch =
      make(AttrStmt{.node = task, .key = attr::kParallelLaunch, .value = 4, .body = body});
  const Stmt pragma = make(AttrStmt{.node = task, .key = "pragma_x", .value = 4, .body = body});
  EXPECT_EQ(bound_by(*as<AttrStmt>(launch)), task.get());
  EXPECT_EQ(bound_by(*as<AttrStmt>(pragma)), nullptr);
}

TEST(Visit, AnUnchangedTreeComesBackAsItself) {
  const Var i("i"), j("j");
  const Stmt s = make(For{.var = i, .min = 0, .extent = 4, .body = make(Evaluate{.value = i + j})});
  EXPECT_TRUE(rewrite(s, [](const Expr&) { return Expr(); }).same_as(s));
  const Stmt changed = rewrite(s, [&](const Expr& e) { return e.same_as(j) ? Expr(7) : Expr(); });
  EXPECT_FALSE(changed.same_as(s));
  int expressions = 0;
  for_each_expr(changed, [&](const Expr&) { ++expressions; });
  EXPECT_EQ(expressions, 5);  // 0, 4, (i + 7), i, 7
}

}  // namespace
}  // namespace tw
