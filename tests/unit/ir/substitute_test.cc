// SPDX-License-Identifier: Apache-2.0
#include "ir/substitute.h"

#include <gtest/gtest.h>

#include "ir/attributes.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/print.h"

namespace tw {
namespace {

std::string names(const std::vector<Var>& vars) {
  std::string text;
  for (const Var& v : vars) text += v.name() + " ";
  return text;
}

TEST(Substitute, ReplacesUses) {
  const Var i("i"), j("j"), k("k");
  const Expr e = i * 2 + j;
  EXPECT_EQ(to_string(substitute(e, {{i, k + 1}})), "(((k + 1)*2) + j)");
  EXPECT_TRUE(substitute(e, {{k, i}}).same_as(e));
  EXPECT_TRUE(substitute(e, VarMap{}).same_as(e));
  // All at once: what is put in is not looked at again.
  EXPECT_EQ(to_string(substitute(e, {{i, j}, {j, i}})), "((j*2) + i)");
}

TEST(Substitute, ReplacesBuffers) {
  const Var A = buffer_var("A", float_type(32)), B = buffer_var("B", float_type(32)), i("i");
  const Expr load = make(Load{.type = float_type(32), .buffer = A, .index = i});
  const Stmt s = make(Allocate{.buffer = A,
                               .type = float_type(32),
                               .extents = {i},
                               .body = make(Store{.buffer = A, .value = load, .index = i})});
  EXPECT_EQ(to_string(substitute(s, VarMap{{A, B}, {i, 3}})),
            "// attr [B] storage_scope = \"global\"\n"
            "allocate B[float32 * 3]\n"
            "B[3] = B[3]\n");
  const auto keep = [](const Var&) { return Expr(); };
  EXPECT_TRUE(substitute(s, std::function<Expr(const Var&)>(keep)).same_as(s));
}

TEST(FreeVars, InOrderOfFirstUse) {
  const Var i("i"), n("n"), m("m"), x("x"), task("task");
  const Var A = buffer_var("A", int_type(32));
  const Stmt body = make(Store{.buffer = A, .value = i + n, .index = m + i});
  const Stmt s = make(For{.var = i, .min = 0, .extent = n, .body = body});
  EXPECT_EQ(names(free_vars(s)), "n A m ");
  EXPECT_EQ(names(free_vars(make(Let{.var = x, .value = n, .body = x + m}))), "n m ");
  // Bound in one place, free in another.
  EXPECT_EQ(names(free_vars(block({s, make(Evaluate{.value = i})}))), "n A m i ");
  EXPECT_EQ(names(free_vars(make(AttrStmt{.node = task,
                                          .key = attr::kParallelLaunch,
                                          .value = n,
                                          .body = make(Evaluate{.value = task})}))),
            "n ");
  EXPECT_EQ(names(free_vars(make(AttrStmt{
                .node = task, .key = "pragma_x", .value = n, .body = make(Evaluate{.value = 0})}))),
            "task n ");
}

TEST(Uses, CountsBuffersToo) {
  const Var i("i"), j("j"), A = buffer_var("A", int_type(32));
  const Expr load = make(Load{.type = int_type(32), .buffer = A, .index = i});
  EXPECT_TRUE(uses(load, A));
  EXPECT_TRUE(uses(load, i));
  EXPECT_FALSE(uses(load, j));
  EXPECT_TRUE(uses_any(load, VarSet{j, i}));
  EXPECT_FALSE(uses_any(load, VarSet{j}));
  EXPECT_TRUE(uses(make(Store{.buffer = A, .value = 1, .index = 2}), A));
}

TEST(IsPure, LoadsArePureEffectsAreNot) {
  const Var A = buffer_var("A", int_type(32));
  const Expr load = make(Load{.type = int_type(32), .buffer = A, .index = 0});
  EXPECT_TRUE(is_pure(load + 1));
  EXPECT_TRUE(is_pure(call(int_type(32), "f", {load}, CallKind::PureExtern)));
  EXPECT_FALSE(is_pure(call(int_type(32), "f", {load}, CallKind::Extern) + 1));
  EXPECT_FALSE(is_pure(call(int_type(32), "prefetch", {A, 0, 0, 1}, CallKind::Intrinsic)));
}

TEST(RenameBindings, GivesEachBindingAFreshVariable) {
  const Var i("i"), t("t"), n("n"), A = buffer_var("A", int_type(32));
  const Stmt s = make(Allocate{
      .buffer = A,
      .type = int_type(32),
      .extents = {n},
      .body = make(
          For{.var = i,
              .min = 0,
              .extent = n,
              .body = make(LetStmt{.var = t,
                                   .value = i * 2,
                                   .body = make(Store{.buffer = A, .value = t, .index = i})})})});
  const Stmt copy = rename_bindings(s);
  EXPECT_TRUE(equal(s, copy));
  for (const Var& v : {i, t, A}) EXPECT_FALSE(uses(copy, v));
  EXPECT_TRUE(uses(copy, n));
  EXPECT_EQ(to_string(s), to_string(copy));
  // A use outside the binding is another matter.
  const Stmt both = rename_bindings(block({s, make(Evaluate{.value = i})}));
  EXPECT_EQ(names(free_vars(both)), "n i ");
}

}  // namespace
}  // namespace tw
