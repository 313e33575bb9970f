// SPDX-License-Identifier: Apache-2.0
// Random programs print, parse back to equal trees and print the same again; what is parsed
// computes what the original computes.
#include <gtest/gtest.h>

#include "ir/equal.h"
#include "ir/interpret.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "tests/support/fuzz.h"
#include "tests/support/random_ir.h"

namespace tw {
namespace {

constexpr int64_t kSize = 11;

const std::vector<DType> kTypes = {int_type(32),   int_type(64),   uint_type(8),   float_type(32),
                                   float_type(64), float_type(16), bfloat_type(16)};

// Names that are words of the language, names twice, names that are no identifiers.
std::vector<Var> variables() {
  return {Var("n"),
          Var("n"),
          Var("in", int_type(64)),
          Var("float32", uint_type(8)),
          Var("a b"),
          Var("x4"),
          Var("min", float_type(32)),
          Var("x", float_type(64)),
          Var("p.inner.fused", float_type(32))};
}

std::vector<int64_t> bits(const InterpreterBuffer& b) {
  std::vector<int64_t> result;
  for (int64_t k = 0; k < b.size(); ++k) result.push_back(b.written(k) ? b.raw(k).i : -1);
  return result;
}

TEST(IrRoundTrip, Statements) {
  test::FuzzCases cases(1500, 1);
  while (cases.next()) {
    const int k = cases.index();
    const uint64_t seed = cases.seed();
    SCOPED_TRACE(seed);
    const std::vector<Var> vars = variables();
    test::RandomIr random(seed, vars, {.constant_limit = 1 + k % 40});
    const Var out = buffer_var("out", random.random().pick(kTypes));
    const Stmt s = random.statement(out, kSize, 2 + k % 4);
    std::vector<Var> free = vars;
    free.push_back(out);
    verify(s, {Property::WellFormed, Property::Flat}, free);

    const std::string text = to_string(s, {.declarations = true});
    const Stmt parsed = parse_stmt(text);
    ASSERT_TRUE(equal(s, parsed, {.map_free_vars = true})) << text;
    ASSERT_EQ(structural_hash(s), structural_hash(parsed)) << text;
    ASSERT_EQ(to_string(parsed, {.declarations = true}), text);

    // Both have the same free variables, in the same order.
    InterpreterScope scope = test::random_scope(random.random(), vars);
    InterpreterBuffer first(out->element, kSize), second(out->element, kSize);
    scope.buffers[out] = &first;
    InterpreterScope parsed_scope;
    const std::vector<Var> from = free_vars(s), to = free_vars(parsed);
    ASSERT_EQ(from.size(), to.size());
    for (size_t v = 0; v < from.size(); ++v) {
      if (from[v].same_as(out)) {
        parsed_scope.buffers[to[v]] = &second;
      } else {
        parsed_scope.values[to[v]] = scope.values[from[v]];
      }
    }
    interpret(s, scope);
    interpret(parsed, parsed_scope, {.shuffle_parallel = true, .seed = seed});
    ASSERT_EQ(bits(first), bits(second)) << text;
  }
}

TEST(IrRoundTrip, Expressions) {
  test::FuzzCases cases(3000, 1);
  while (cases.next()) {
    const int k = cases.index();
    const uint64_t seed = cases.seed();
    SCOPED_TRACE(seed);
    test::RandomIr random(seed, variables(), {.lanes = k % 3 == 0 ? 4 : 1});
    const DType type = random.random().pick(kTypes).with_lanes(k % 3 == 0 ? 4 : 1);
    const Expr e = k % 5 == 0 ? random.boolean(5) : random.expr(type, 5);
    const std::string text = to_string(e, {.declarations = true});
    const Expr parsed = parse_expr(text);
    ASSERT_TRUE(equal(e, parsed, {.map_free_vars = true})) << text;
    ASSERT_EQ(structural_hash(e), structural_hash(parsed)) << text;
    ASSERT_EQ(to_string(parsed, {.declarations = true}), text);
  }
}

// Whatever the damage, the parser answers with a tree or with a ParseError.
TEST(IrRoundTrip, DamagedText) {
  test::FuzzCases cases(1500, 0.015);  // damage that leaves a program is rare
  while (cases.next()) {
    const uint64_t seed = cases.seed();
    SCOPED_TRACE(seed);
    test::RandomIr random(seed, variables());
    const Var out = buffer_var("out", float_type(32));
    std::string text = to_string(random.statement(out, kSize, 3), {.declarations = true});
    test::Random& r = random.random();
    for (int64_t edits = r.between(1, 3); edits > 0; --edits) {
      const auto at = static_cast<size_t>(r.between(0, static_cast<int64_t>(text.size()) - 1));
      const auto length = static_cast<size_t>(r.between(1, 8));
      switch (r.between(0, 2)) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text[at] = "()[]{},=*.\"/<x40-"[r.between(0, 16)];
          break;
        default:
          text.insert(at, text.substr(text.size() / 2, length));
      }
      if (text.empty()) text = "0";
    }
    try {
      parse_stmt(text);
    } catch (const UserError& e) {
      ASSERT_EQ(e.code(), ErrorCode::ParseError) << e.what() << "\n" << text;
      cases.refuse();
    }
  }
}

// How many nodes of three kinds a walk over these kinds meets.
class CountThree : public Visitor {
 public:
  static constexpr KindSet kKinds{NodeKind::Load, NodeKind::Let, NodeKind::For};
  explicit CountThree(KindSet kinds) : Visitor(kinds) {}
  int count = 0;

 protected:
  using Visitor::on;
  void on(const Load& op) override { meet(op); }
  void on(const Let& op) override { meet(op); }
  void on(const For& op) override { meet(op); }

 private:
  template <class T>
  void meet(const T& op) {
    ++count;
    Visitor::on(op);
  }
};

TEST(IrRoundTrip, NodesKnowTheKindsInside) {
  test::FuzzCases cases(300, 1);
  int met = 0;
  while (cases.next()) {
    SCOPED_TRACE(cases.seed());
    const std::vector<Var> vars = variables();
    test::RandomIr random(cases.seed(), vars);
    const Var out = buffer_var("out", float_type(32));
    const Stmt s = random.statement(out, kSize, 2 + cases.index() % 4);
    // A part at a time: a changed copy must not keep the kinds of what it was.
    const Stmt flat = rewrite(
        s, [](const Expr& e) { return is<Let>(e) || is<Load>(e) ? make_zero(e.dtype()) : Expr(); });
    for (const Stmt& root : {s, flat}) {
      for_each_stmt(root, [](const Stmt& part) {
        uint64_t kinds = 0;
        for_each_stmt(part, [&](const Stmt& n) { kinds |= KindSet{n->kind}.bits(); });
        for_each_expr(part, [&](const Expr& n) { kinds |= KindSet{n->kind}.bits(); });
        ASSERT_EQ(part->inside, kinds) << to_string(part);
      });
      for_each_expr(root, [](const Expr& part) {
        uint64_t kinds = 0;
        for_each_expr(part, [&](const Expr& n) { kinds |= KindSet{n->kind}.bits(); });
        ASSERT_EQ(part->inside, kinds) << to_string(part);
      });
      CountThree all(KindSet::all()), some(CountThree::kKinds);
      all.visit(root);
      some.visit(root);
      ASSERT_EQ(all.count, some.count);
      met += all.count;
    }
  }
  EXPECT_GT(met, 3 * cases.ran());
}

}  // namespace
}  // namespace tw
