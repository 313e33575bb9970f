// SPDX-License-Identifier: Apache-2.0
// Lets in parts that stand in several places, and such parts under different Lets: 2^levels paths,
// which no walk may follow. Work is counted in nodes that walks meet.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "ir/arithmetic/analyzer.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/interpret.h"
#include "ir/print.h"
#include "ir/share.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "ir/visit_count.h"
#include "tests/support/random_ir.h"

namespace tw {
namespace {

using test::Random;

const Var kX("x", float_type(32)), kN("n");

Expr half(const Expr& e) { return e * make_const_float(float_type(32), 0.5); }
Expr let(const Var& v, const Expr& value, const Expr& body) {
  return make(Let{.var = v, .value = value, .body = body});
}

// In the value of a Let, and in its body.
Expr diamonds(int levels, const std::string& name) {
  Expr e = kX;
  for (int k = 0; k < levels; ++k) {
    const Var v(fmt::format("{}{}", name, k), float_type(32));
    e = let(v, half(e), v + half(e));
  }
  return e;
}
// Under two Lets that it does not know of.
Expr under_two(int levels, const std::string& name) {
  Expr e = kX;
  for (int k = 0; k < levels; ++k) {
    const Var v(fmt::format("{}{}a", name, k), float_type(32)),
        w(fmt::format("{}{}b", name, k), float_type(32));
    e = let(v, half(kX), v + half(e)) + let(w, half(kX), w - half(e));
  }
  return e;
}
// Under two Lets of a variable that it uses.
Expr of_the_variable(int levels, const std::string& name) {
  const Var v(name, float_type(32));
  Expr e = v + kX;
  for (int k = 0; k < levels; ++k) e = let(v, half(v), half(e)) + let(v, half(v) + kX, half(e));
  return let(v, kX, e);
}

struct Graph {
  const char* name;
  Expr (*make)(int levels, const std::string& name);
};
constexpr Graph kGraphs[] = {{"diamonds", diamonds}, {"under two", under_two}};

struct Walk {
  const char* name;
  // `again` is an equal graph of other nodes and variables.
  void (*run)(const Expr& e, const Expr& again);
  double at_least = 1000;  // what may be met without looking for what was met before
};
// Hashes of that many parts are as logs hold them, whatever is shared.
constexpr double kHashedInOneGo = 2 * (1 << 16) + 1000;
constexpr Walk kWalks[] = {
    {"for_each_part", [](const Expr& e, const Expr&) { for_each_part(e, [](const Expr&) {}); }},
    {"deeper_than", [](const Expr& e, const Expr&) { EXPECT_FALSE(deeper_than(e, 1000)); }},
    {"free_vars", [](const Expr& e, const Expr&) { EXPECT_EQ(free_vars(e).size(), 1u); }},
    {"uses", [](const Expr& e, const Expr&) { EXPECT_FALSE(uses(e, kN)); }},
    {"substitute", [](const Expr& e, const Expr&) { substitute(e, {{kX, half(kX)}}); }},
    {"rewrite",
     [](const Expr& e, const Expr&) {
       rewrite(e, [](const Expr& x) { return x.same_as(kX) ? half(x) : Expr(); });
     }},
    {"is_pure", [](const Expr& e, const Expr&) { EXPECT_TRUE(is_pure(e)); }},
    {"loads_memory", [](const Expr& e, const Expr&) { EXPECT_FALSE(loads_memory(e)); }},
    {"equal",
     [](const Expr& e, const Expr& again) {
       EXPECT_TRUE(equal(e, again));
       EXPECT_TRUE(equal(e, again, {.map_free_vars = true}));
       EXPECT_FALSE(equal(e, half(again)));
     }},
    {"compare", [](const Expr& e, const Expr& again) { EXPECT_EQ(compare(e, again), 0); }},
    {"structural_hash",
     [](const Expr& e, const Expr& again) {
       EXPECT_EQ(structural_hash(e), structural_hash(again));
     },
     kHashedInOneGo},
    {"simplify", [](const Expr& e, const Expr&) { simplify(e); }},
    {"canonical_simplify", [](const Expr& e, const Expr&) { Analyzer().canonical_simplify(e); }},
    {"bind_shared_parts",
     [](const Expr& e, const Expr&) { EXPECT_TRUE(bind_shared_parts(e, 65536).defined()); }},
};

uint64_t work(const Walk& walk, const Graph& graph, int levels) {
  const Expr e = graph.make(levels, "a"), again = graph.make(levels, "b");
  const uint64_t before = nodes_visited();
  walk.run(e, again);
  return nodes_visited() - before;
}

// Three times the levels take some four times the work, and 2^32 times if paths are followed.
TEST(SharedLets, WalksMeetEachPartOnce) {
  for (const Graph& graph : kGraphs) {
    for (const Walk& walk : kWalks) {
      SCOPED_TRACE(fmt::format("{} of {}", walk.name, graph.name));
      // Where a walk follows paths, this much is enough to see it.
      const auto few = static_cast<double>(work(walk, graph, 6)),
                 some = static_cast<double>(work(walk, graph, 14));
      ASSERT_LE(some, 8 * few + walk.at_least);
      const auto many = static_cast<double>(work(walk, graph, 42));
      EXPECT_LE(many, 4 * some + 1000);
    }
  }
}

// A part is the same under Lets of other names, and another where its variable is another.
TEST(SharedLets, PartsUnderOtherBindings) {
  const Expr a = of_the_variable(20, "v"), b = of_the_variable(20, "w");
  EXPECT_TRUE(equal(a, b));
  EXPECT_EQ(structural_hash(a), structural_hash(b));
  EXPECT_EQ(free_vars(a).size(), 1u);
  const Var v("v", float_type(32)), w("w", float_type(32));
  const auto deep = [&](const Var& used) {
    Expr e = used + kX;
    for (int k = 0; k < 80; ++k) e = half(e) + e;
    return e;
  };
  const auto around = [&](const Expr& first, const Expr& second) {
    return let(v, kX, let(w, half(kX), first + half(second)));
  };
  const Expr of_v = deep(v), of_w = deep(w);
  EXPECT_FALSE(equal(around(of_v, of_w), around(of_v, of_v)));
  EXPECT_FALSE(equal(around(of_v, of_w), around(of_w, of_v)));
  EXPECT_TRUE(equal(around(of_v, of_w), around(deep(v), deep(w))));
  EXPECT_NE(structural_hash(around(of_v, of_w)), structural_hash(around(of_v, of_v)));
  EXPECT_NE(structural_hash(around(of_v, of_w)), structural_hash(around(of_w, of_v)));
  // Free in one place, bound in the other.
  EXPECT_EQ(free_vars(let(v, kX, of_v) + half(of_v)).size(), 2u);
  EXPECT_EQ(free_vars(let(v, kX, of_v) + let(v, half(kX), of_v)).size(), 1u);
}

// How often a part is shared changes no hash.
TEST(SharedLets, HashesDoNotSeeSharing) {
  const auto tree = [](auto& self, int levels) -> Expr {
    if (levels == 0) return kX + 0;
    const Var v("v", float_type(32));
    return let(v, half(self(self, levels - 1)), v + half(self(self, levels - 1)));
  };
  const auto graph = [](int levels) {
    Expr e = kX + 0;
    for (int k = 0; k < levels; ++k) {
      const Var v("v", float_type(32));
      e = let(v, half(e), v + half(e));
    }
    return e;
  };
  for (const int levels : {3, 14}) {
    EXPECT_TRUE(equal(tree(tree, levels), graph(levels)));
    EXPECT_EQ(structural_hash(tree(tree, levels)), structural_hash(graph(levels)));
  }
}

}  // namespace
}  // namespace tw
