// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/print.h"

namespace tw {
namespace {

class SimplifyStmt : public ::testing::Test {
 protected:
  Var i{"i"}, j{"j"}, n{"n"};
  Var a = buffer_var("A", float_type(32));

  Stmt store(const Expr& index) {
    return make(Store{.buffer = a, .value = make_zero(float_type(32)), .index = index});
  }
  static Stmt loop(const Var& v, const Expr& extent, const Stmt& body,
                   ForKind kind = ForKind::Serial) {
    return make(For{.var = v, .min = 0, .extent = extent, .for_kind = kind, .body = body});
  }
  static Stmt when(const Expr& condition, const Stmt& then_case, const Stmt& else_case = {}) {
    return make(IfThenElse{.condition = condition, .then_case = then_case, .else_case = else_case});
  }
  static std::string text(const Stmt& s) { return to_string(simplify(s)); }
};

TEST_F(SimplifyStmt, LoopRangesDecideConditions) {
  EXPECT_EQ(text(loop(i, 16, when(likely(i < 16), store(i)))), to_string(loop(i, 16, store(i))));
  EXPECT_EQ(text(loop(i, 16, when(likely(i < 9), store(i)))),
            to_string(loop(i, 16, when(likely(i < 9), store(i)))));
  EXPECT_EQ(text(loop(i, n, when(i < n, store(i)))), to_string(loop(i, n, store(i))));
}

TEST_F(SimplifyStmt, WhileConditionsHoldAsFarAsTheBodyLeavesThem) {
  const Var c = buffer_var("C", int_type(32)), d = buffer_var("D", int_type(32));
  const auto load = [](const Var& buffer) {
    return make(Load{.type = int_type(32), .buffer = buffer, .index = 0});
  };
  const auto count = make(Store{.buffer = c, .value = load(c) + 1, .index = 0});
  const auto rounds = [](const Expr& condition, const Stmt& body) {
    return make(While{.condition = condition, .body = body});
  };
  // What is asked of memory that the body writes is asked again, inside and outside.
  const Stmt changes = rounds(load(c) < 4, block({count, when(load(c) < 4, store(1))}));
  EXPECT_EQ(text(changes), to_string(changes));
  const Stmt around = when(load(c) < 4, rounds(load(c) < 4, count));
  EXPECT_EQ(text(around), to_string(around));
  // What the body leaves alone holds in it.
  EXPECT_EQ(text(rounds(load(d) < 4 && load(c) < 9, block({count, when(load(d) < 5, store(1))}))),
            to_string(rounds(load(d) < 4 && load(c) < 9, block({count, store(1)}))));
  // Facts from around decide it.
  EXPECT_EQ(text(loop(i, 4, rounds(i > 5, store(1)))), to_string(make(Evaluate{.value = 0})));
  // A loop around nothing may still be one that never ends.
  const Stmt waits = rounds(load(c) < 4, make(Evaluate{.value = 0}));
  EXPECT_EQ(text(waits), to_string(waits));
}

TEST_F(SimplifyStmt, TrivialLoopsGo) {
  EXPECT_EQ(text(loop(i, 1, loop(j, 4, store(i * 16 + j)))), to_string(loop(j, 4, store(j))));
  EXPECT_EQ(text(loop(i, 1, store(i), ForKind::Parallel)), to_string(store(0)));
  EXPECT_EQ(text(block({store(1), loop(i, 0, store(i))})), to_string(store(1)));
  EXPECT_EQ(text(loop(i, 0, store(i))), to_string(make(Evaluate{.value = 0})));
}

TEST_F(SimplifyStmt, ConditionsHoldInTheirBranches) {
  const Stmt s = when(i < 4, when(i < 9, store(i), store(j)), when(i >= 4, store(n), store(j)));
  EXPECT_EQ(text(s), to_string(when(i < 4, store(i), store(n))));
  EXPECT_EQ(text(when(make_bool(false), store(i), store(j))), to_string(store(j)));
  EXPECT_EQ(text(block({store(n), when(make_bool(false), store(i))})), to_string(store(n)));
  const Stmt checked = make(AssertStmt{.condition = n == 4,
                                       .message = make(StringImm{.value = "n"}),
                                       .body = when(n < 5, store(n))});
  EXPECT_EQ(text(checked),
            to_string(make(AssertStmt{
                .condition = n == 4, .message = make(StringImm{.value = "n"}), .body = store(4)})));
}

TEST_F(SimplifyStmt, LetsOfConstantsAndVariablesGo) {
  EXPECT_EQ(text(make(LetStmt{.var = i, .value = 3, .body = store(i + 1)})), to_string(store(4)));
  const Stmt kept = make(LetStmt{.var = i, .value = n * 4, .body = store(floor_mod(i, 4))});
  EXPECT_EQ(text(kept), to_string(make(LetStmt{.var = i, .value = n * 4, .body = store(0)})));
}

TEST_F(SimplifyStmt, UnchangedStatementsComeBackAsThemselves) {
  const Stmt s = loop(i, 16, loop(j, 4, store(i * 4 + j)));
  EXPECT_TRUE(simplify(s).same_as(s));
}

// The padded input of the five by five convolution, as the reference prints it.
TEST_F(SimplifyStmt, PaddedConvolution) {
  const Var fused("i0.i1.fused"), i2("i2"), i3("i3");
  const Var input = buffer_var("input0", float_type(32)),
            pad = buffer_var("pad_temp", float_type(32));
  const Expr n0 = floor_div(fused, 3), c = floor_mod(fused, 3);
  const Expr inside = i2 >= 2 && i2 - 2 < 7 && i3 >= 2 && i3 - 2 < 9;
  const Expr read = make(Load{.type = float_type(32),
                              .buffer = input,
                              .index = ((n0 * 3 + c) * 7 + (i2 - 2)) * 9 + (i3 - 2)});
  const Stmt s =
      loop(fused, 21,
           loop(i2, 11,
                loop(i3, 13,
                     make(Store{.buffer = pad,
                                .value = if_then_else(inside, read, make_zero(float_type(32))),
                                .index = ((n0 * 3 + c) * 11 + i2) * 13 + i3}))),
           ForKind::Parallel);
  const std::string expected =
      "pad_temp[((((i0.i1.fused*11) + i2)*13) + i3)] = tvm_if_then_else(((((2 <= i2) && (i2 < 9)) "
      "&& (2 <= i3)) && (i3 < 11)), input0[(((((i0.i1.fused*7) + i2)*9) + i3) + -20)], 0.000000f)";
  EXPECT_NE(text(s).find(expected), std::string::npos) << text(s);
}

}  // namespace
}  // namespace tw
