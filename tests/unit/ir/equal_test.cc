// SPDX-License-Identifier: Apache-2.0
#include "ir/equal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/print.h"
#include "ir/substitute.h"
#include "tests/support/random_ir.h"
#include "tests/support/test_producer.h"

namespace tw {
namespace {

using test::producer;

Stmt loop(const Var& i, const Expr& value) {
  return make(For{.var = i, .min = 0, .extent = 4, .body = make(Evaluate{.value = value})});
}

TEST(Equal, FreeVariablesAreIdentities) {
  const Var a("x"), b("x");
  EXPECT_TRUE(equal(a + 1, a + 1));
  EXPECT_FALSE(equal(a + 1, b + 1));
  EXPECT_TRUE(equal(a + 1, b + 1, {.map_free_vars = true}));
  EXPECT_FALSE(equal(a + 1, a + 2));
  EXPECT_FALSE(equal(a + 1, a - 1));
  EXPECT_FALSE(equal(Expr(), a));
  EXPECT_TRUE(equal(Expr(), Expr()));
}

TEST(Equal, RenamingIsOneToOne) {
  const Var a("a"), b("b"), c("c"), x("x", float_type(32));
  const EqualOptions renamed = {.map_free_vars = true};
  EXPECT_TRUE(equal(a * b, b * a, renamed));
  EXPECT_TRUE(equal(a * b, c * a, renamed));
  EXPECT_FALSE(equal(a * a, a * b, renamed));
  EXPECT_FALSE(equal(a * b, a * a, renamed));
  EXPECT_FALSE(equal(make(Evaluate{.value = a}), make(Evaluate{.value = x}), renamed));
}

TEST(Equal, BoundVariablesMatchByPosition) {
  const Var i("i"), j("j"), n("n");
  EXPECT_TRUE(equal(loop(i, i + n), loop(j, j + n)));
  EXPECT_FALSE(equal(loop(i, i + j), loop(j, j + j)));
  EXPECT_FALSE(equal(loop(i, i), loop(i, j)));
  const Stmt shared = make(Evaluate{.value = i});
  // The same subtree means different things below different bindings.
  EXPECT_FALSE(equal(make(For{.var = i, .min = 0, .extent = 4, .body = shared}),
                     make(For{.var = j, .min = 0, .extent = 4, .body = shared})));
  EXPECT_TRUE(equal(make(Let{.var = i, .value = n, .body = i * i}),
                    make(Let{.var = j, .value = n, .body = j * j})));
  const auto launch = [&](const Var& task) {
    return make(AttrStmt{.node = task,
                         .key = attr::kParallelLaunch,
                         .value = 4,
                         .body = make(Evaluate{.value = task})});
  };
  EXPECT_TRUE(equal(launch(i), launch(j)));
}

TEST(Equal, BuffersAndReductions) {
  const auto program = [](const char* name, DType type) {
    const Var A = buffer_var(name, type);
    return make(Allocate{.buffer = A,
                         .type = type,
                         .extents = {4},
                         .body = make(Store{.buffer = A, .value = make_zero(type), .index = 0})});
  };
  EXPECT_TRUE(equal(program("A", float_type(32)), program("B", float_type(32))));
  EXPECT_FALSE(equal(program("A", float_type(32)), program("A", float_type(64))));
  const ProducerRef A = producer("A", {{int_type(32), {8}}});
  const auto sum = [&](const char* name, const Expr& extent) {
    const Var k(name), x("x"), y("y");
    return make(Reduce{.combiner = {.lhs = {x}, .rhs = {y}, .result = {x + y}, .identity = {0}},
                       .source = {make(ProducerLoad{.producer = A, .indices = {k}})},
                       .axis = {IterVar({0, extent}, k, IterKind::Reduction)}});
  };
  EXPECT_TRUE(equal(sum("k", 8), sum("r", 8)));
  EXPECT_FALSE(equal(sum("k", 8), sum("k", 7)));
  EXPECT_EQ(structural_hash(sum("k", 8)), structural_hash(sum("r", 8)));
  const ProducerRef B = producer("B", {{int_type(32), {8}}});
  const Expr a = make(ProducerLoad{.producer = A, .indices = {0}});
  const Expr b = make(ProducerLoad{.producer = B, .indices = {0}});
  EXPECT_FALSE(equal(a, b));
  EXPECT_TRUE(equal(a, b, {.map_free_vars = true}));
  EXPECT_FALSE(equal(a + b, a + a, {.map_free_vars = true}));
}

TEST(Equal, FloatsByBits) {
  const auto f = [](double v) { return make_const_float(float_type(64), v); };
  EXPECT_FALSE(equal(f(0.0), f(-0.0)));
  EXPECT_TRUE(equal(f(NAN), f(NAN)));
  EXPECT_LT(compare(f(-1), f(2)), 0);
  EXPECT_NE(compare(f(0.0), f(-0.0)), 0);
}

TEST(Equal, HashIgnoresNamesOnly) {
  const Var a("a"), b("b"), x("x", int_type(64));
  EXPECT_EQ(structural_hash(a * b), structural_hash(b * a));
  EXPECT_NE(structural_hash(a * a), structural_hash(a * b));
  EXPECT_NE(structural_hash(a + 1), structural_hash(a + 2));
  EXPECT_NE(structural_hash(a + 1), structural_hash(a - 1));
  EXPECT_NE(structural_hash(Expr(a)), structural_hash(Expr(x)));
  const Var i("i"), j("j");
  EXPECT_EQ(structural_hash(loop(i, i + a)), structural_hash(loop(j, j + b)));
  EXPECT_NE(structural_hash(loop(i, i + a)), structural_hash(loop(i, a + a)));
}

// The value is written here so that a change of the hash does not go unnoticed.
TEST(Equal, HashIsStable) {
  const Var i("i"), A = buffer_var("A", float_type(32));
  const Stmt s = make(
      For{.var = i,
          .min = 0,
          .extent = 4,
          .body = make(Store{
              .buffer = A, .value = make_const_float(float_type(32), 0.5), .index = i * 2 + 1})});
  EXPECT_EQ(structural_hash(s), 0x60661a5a5fb69c79u);
}

TEST(Compare, IsATotalOrderByStructureThenNames) {
  const Var a("a"), b("b"), b2("b");
  EXPECT_LT(compare(a, b), 0);
  EXPECT_GT(compare(b, a), 0);
  EXPECT_LT(compare(b, b2), 0);         // in order of creation
  EXPECT_LT(compare(b + 1, a + 2), 0);  // the structure decides before the names
  EXPECT_EQ(compare(a + 1, a + 1), 0);

  std::vector<Expr> list;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    list.push_back(test::RandomIr(seed, {a, b, b2}).integer(2));
  }
  for (const Expr& x : list) {
    for (const Expr& y : list) {
      const int xy = compare(x, y);
      EXPECT_EQ(xy, -compare(y, x));
      EXPECT_EQ(xy == 0, equal(x, y)) << to_string(x) << " " << to_string(y);
      for (const Expr& z : list) {
        if (xy <= 0 && compare(y, z) <= 0) {
          EXPECT_LE(compare(x, z), 0);
        }
      }
    }
  }
}

TEST(Compare, DoesNotDependOnAddresses) {
  const auto order = [](bool reversed) {
    Var a("a"), b("b");
    std::vector<Expr> list = {b * a, a + b, a * b, Expr(3), b + a, a, floor_div(a, 2)};
    if (reversed) std::reverse(list.begin(), list.end());
    std::sort(list.begin(), list.end(),
              [](const Expr& x, const Expr& y) { return compare(x, y) < 0; });
    std::string text;
    for (const Expr& e : list) text += to_string(e) + " ";
    return text;
  };
  EXPECT_EQ(order(false), order(true));
}

TEST(Equal, RandomStatementsEqualTheirRenamedCopies) {
  const std::vector<Var> variables = {Var("n"), Var("x", float_type(32))};
  const Var out = buffer_var("out", float_type(32));
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Stmt s = test::RandomIr(seed, variables).statement(out, 8, 3);
    const Stmt copy = rename_bindings(s);
    EXPECT_TRUE(equal(s, copy));
    EXPECT_EQ(structural_hash(s), structural_hash(copy));
    EXPECT_EQ(to_string(s), to_string(copy));
    const Stmt other = test::RandomIr(seed + 1000, variables).statement(out, 8, 3);
    EXPECT_EQ(equal(s, other), structural_hash(s) == structural_hash(other));
  }
}

}  // namespace
}  // namespace tw
