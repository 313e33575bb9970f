// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/operation.h"

#include <gtest/gtest.h>

#include "ir/expr.h"
#include "ir/print.h"
#include "schedule/te/compute.h"

namespace tw::te {
namespace {

TEST(TeOperation, PlaceholderHasShapeTypeAndName) {
  const Var n = var("n");
  const Tensor a = placeholder({n, 3}, int_type(8), "A");
  EXPECT_EQ(a.rank(), 2);
  EXPECT_EQ(a.dtype(), int_type(8));
  EXPECT_EQ(a.name(), "A");
  EXPECT_TRUE(a.shape()[0].same_as(n));
  EXPECT_EQ(as_const_int(a.shape()[1]), 3);
  EXPECT_TRUE(a.op()->input_tensors().empty());
  EXPECT_TRUE(a.op()->root_axes().empty());
}

TEST(TeOperation, ComputeNamesItsAxesByPositionOrAsAsked) {
  const Tensor a = placeholder({4, 5});
  const auto body = [&](const std::vector<Var>& i) { return a(i[0], i[1]); };
  const Tensor b = compute({4, 5}, body, "B");
  const Tensor c = compute({4, 5}, body, "C", "mine", {{"layout", "NCHW"}}, {"row", "column"});
  const auto* bn = as_op<ComputeNode>(b.op());
  const auto* cn = as_op<ComputeNode>(c.op());
  EXPECT_EQ(bn->axis[0].name(), "i0");
  EXPECT_EQ(bn->axis[1].name(), "i1");
  EXPECT_EQ(cn->axis[1].name(), "column");
  EXPECT_EQ(cn->axis[1]->kind, IterKind::DataParallel);
  EXPECT_EQ(cn->tag, "mine");
  EXPECT_EQ(std::get<std::string>(cn->attributes.at("layout")), "NCHW");
  EXPECT_FALSE(cn->is_reduction());
}

TEST(TeOperation, AxesHaveTheTypeOfTheirExtent) {
  const Var n = var("n", int_type(64));
  const Tensor a = placeholder({n});
  const Tensor b = compute({n}, [&](const std::vector<Var>& i) { return a(i[0]); });
  EXPECT_EQ(as_op<ComputeNode>(b.op())->axis[0].var().dtype(), int_type(64));
  EXPECT_EQ(as_op<ComputeNode>(b.op())->axis[0]->domain.min.dtype(), int_type(64));
}

TEST(TeOperation, ReductionAxesFollowTheDataAxes) {
  const Tensor a = placeholder({4, 8});
  const IterVar k = reduce_axis({0, 8}, "k");
  const Tensor s =
      compute({4}, [&](const std::vector<Var>& i) { return sum(a(i[0], k.var()), {k}); });
  const auto* node = as_op<ComputeNode>(s.op());
  ASSERT_EQ(node->all_axes.size(), 2u);
  EXPECT_TRUE(node->all_axes[1].same_as(k));
  EXPECT_EQ(k->kind, IterKind::Reduction);
  EXPECT_TRUE(node->is_reduction());
  EXPECT_EQ(node->output_shape(0).size(), 1u);
}

TEST(TeOperation, RankZeroIsLegalOnBothEnds) {
  const Tensor a = placeholder({}, float_type(32), "A");
  const Tensor b = compute({}, [&](const std::vector<Var>&) { return a() * 2; });
  EXPECT_EQ(b.rank(), 0);
  EXPECT_EQ(to_string(as_op<ComputeNode>(b.op())->body[0]), "(A()*2.000000f)");
}

TEST(TeOperation, NamedReducersStartFromTheirIdentity) {
  const IterVar k = reduce_axis({0, 8}, "k");
  const auto identity = [&](const Expr& e) { return as<Reduce>(e)->combiner.identity[0]; };
  const Tensor f = placeholder({8}), i = placeholder({8}, int_type(8));
  EXPECT_EQ(as<FloatImm>(identity(sum(f(k.var()), {k})))->value, 0);
  EXPECT_EQ(as<FloatImm>(identity(prod(f(k.var()), {k})))->value, 1);
  EXPECT_EQ(as_const_int(identity(max(i(k.var()), {k}))), -128);
  EXPECT_EQ(as_const_int(identity(min(i(k.var()), {k}))), 127);
}

TEST(TeOperation, OutputsOfSeveralAreTensorsOfOneOperation) {
  const Tensor a = placeholder({4}, float_type(32), "A");
  const std::vector<Tensor> both =
      compute_many({4}, [&](const std::vector<Var>& i) -> std::vector<Expr> {
        return {a(i[0]) + 1, cast(int_type(32), a(i[0]))};
      });
  ASSERT_EQ(both.size(), 2u);
  EXPECT_TRUE(both[0].op().same_as(both[1].op()));
  EXPECT_FALSE(both[0] == both[1]);
  EXPECT_TRUE(both[1] == both[0].op().output(1));
  EXPECT_EQ(both[1].dtype(), int_type(32));
}

TEST(TeOperation, InputsStandOnceInTheOrderOfTheirFirstRead) {
  const Tensor a = placeholder({4}, float_type(32), "A"), b = placeholder({4}, float_type(32), "B");
  const Tensor c =
      compute({4}, [&](const std::vector<Var>& i) { return b(i[0]) * a(i[0]) + b(i[0]); });
  const std::vector<Tensor> inputs = c.op()->input_tensors();
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_TRUE(inputs[0] == b);
  EXPECT_TRUE(inputs[1] == a);
}

TEST(TeOperation, InputsIncludeTensorsReadInIndicesAndConditions) {
  const Tensor a = placeholder({4}, float_type(32), "A");
  const Tensor at = placeholder({4}, int_type(32), "at"), mask = placeholder({4}, bool_type(), "m");
  const IterVar k = reduce_axis({0, 4}, "k");
  const Tensor c =
      compute({}, [&](const std::vector<Var>&) { return sum(a(at(k.var())), {k}, mask(k.var())); });
  EXPECT_EQ(c.op()->input_tensors().size(), 3u);
}

TEST(TeOperation, OperationsComeProducersFirstAndOnce) {
  const Tensor a = placeholder({4}, float_type(32), "A");
  const auto plus = [&](const Tensor& x, const Tensor& y, const char* name) {
    return compute({4}, [&](const std::vector<Var>& i) { return x(i[0]) + y(i[0]); }, name);
  };
  const Tensor b = plus(a, a, "B"), c = plus(a, b, "C"), d = plus(c, b, "D");
  std::string order;
  for (const Operation& op : operations({d, b})) order += op.name();
  EXPECT_EQ(order, "ABCD");
  ASSERT_EQ(placeholders({d}).size(), 1u);
  EXPECT_TRUE(placeholders({d})[0] == a);
}

}  // namespace
}  // namespace tw::te
