// SPDX-License-Identifier: Apache-2.0
// How work grows with the number of stages, counted in nodes that walks meet: not in time, which
// depends on the machine, nor by whether a test ends, which sees doubling alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "ir/expr.h"
#include "ir/visit_count.h"
#include "lower/llvm/compile.h"
#include "lower/llvm/target.h"
#include "lower/pipeline.h"
#include "schedule/infer_bound.h"
#include "schedule/normalize.h"
#include "schedule/schedule.h"
#include "schedule/schedule_ops.h"
#include "schedule/te/extern.h"
#include "schedule/te/operation.h"

namespace tw {
namespace {

using te::Tensor;

constexpr int kFew = 30, kMany = 90;

// Stages that each read the one before once, or twice: at the same and at the mirrored place.
std::vector<Tensor> chain(int stages, bool diamonds) {
  std::vector<Tensor> all{te::placeholder({64}, float_type(32), "A")};
  for (int k = 0; k < stages; ++k) {
    const Tensor x = all.back();
    const auto body = [&](const std::vector<Var>& i) {
      return diamonds ? x(i[0]) + x(63 - i[0]) : x(i[0]) + make_const_float(float_type(32), 1);
    };
    all.push_back(te::compute({64}, body, fmt::format("x{}", k)));
  }
  return all;
}

using Primitives = void (*)(const Schedule&, const std::vector<Tensor>&);
using Work = std::map<std::string, uint64_t>;

// Nodes visited in each phase, from the definition to machine code.
Work work(const std::function<std::vector<Tensor>()>& define, Primitives primitives) {
  Work visited;
  const auto counted = [&](const char* phase, auto f) {
    const uint64_t before = nodes_visited();
    auto result = f();
    visited[phase] = nodes_visited() - before;
    return result;
  };
  const std::vector<Tensor> all = counted("define", define);
  const Schedule s = counted("primitives", [&] {
    const Schedule schedule = Schedule::create({all.back()});
    primitives(schedule, all);
    return schedule;
  });
  const Schedule normalized = counted("normalize", [&] { return normalize(s); });
  const auto bounds = counted("infer_bound", [&] { return infer_bound(normalized); });
  counted("schedule_ops", [&] { return schedule_ops(normalized, bounds); });
  const std::vector<LowerArgument> arguments{all.front(), all.back()};
  const KernelModule module =
      counted("lower", [&] { return lower_module(s, arguments, {}, Target::host()); });
  counted("compile", [&] { return compile(module, Target::host()); });
  return visited;
}

// Three times the stages, or levels, take at most `most` times the work, in every phase.
void expect_growth(const std::function<std::vector<Tensor>(int)>& define, Primitives primitives,
                   double most) {
  const auto of = [&](int size) { return work([&] { return define(size); }, primitives); };
  const Work few = of(kFew), many = of(kMany);
  for (const auto& [phase, visited] : many) {
    EXPECT_LE(static_cast<double>(visited), most * static_cast<double>(few.at(phase)) + 100)
        << phase << ": " << few.at(phase) << " nodes for " << kFew << ", " << visited << " for "
        << kMany;
  }
}
void expect_chain_growth(bool diamonds, Primitives primitives, double most) {
  expect_growth([&](int stages) { return chain(stages, diamonds); }, primitives, most);
}

// Linear: three times as many, and a tenth for what tables and names add.
constexpr double kLinear = 3.3;

void as_written(const Schedule&, const std::vector<Tensor>&) {}
void each_split(const Schedule& s, const std::vector<Tensor>& all) {
  for (size_t k = 1; k < all.size(); ++k) {
    const auto [outer, inner] = s[all[k]].split(s[all[k]].axis(0), 8);
    s[all[k]].vectorize(inner);
    s[all[k]].parallel(outer);
  }
}
// A run of three stages becomes one.
void some_inlined(const Schedule& s, const std::vector<Tensor>& all) {
  for (size_t k = 1; k + 1 < all.size(); ++k) {
    if (k % 3 != 0) s[all[k]].compute_inline();
  }
}
void in_one_loop(const Schedule& s, const std::vector<Tensor>& all) {
  const IterVar outer = s[all.back()].split(s[all.back()].axis(0), 8).outer;
  for (size_t k = 1; k + 1 < all.size(); ++k) s[all[k]].compute_at(s[all.back()], outer);
}
void each_in_the_next(const Schedule& s, const std::vector<Tensor>& all) {
  for (size_t k = 1; k + 1 < all.size(); k += 2)
    s[all[k]].compute_at(s[all[k + 1]], s[all[k + 1]].axis(0));
}
void caches(const Schedule& s, const std::vector<Tensor>& all) {
  for (size_t k = 1; k + 1 < all.size(); k += 3) s.cache_write(all[k], "local");
}
void all_inlined(const Schedule& s, const std::vector<Tensor>& all) {
  for (size_t k = 1; k + 1 < all.size(); ++k) s[all[k]].compute_inline();
}

TEST(Work, OfAChainIsLinear) {
  for (const Primitives p : {as_written, each_split, some_inlined, in_one_loop, each_in_the_next}) {
    expect_chain_growth(false, p, kLinear);
  }
}

TEST(Work, OfDiamondsIsLinear) {
  for (const Primitives p : {as_written, each_split, some_inlined, each_in_the_next}) {
    expect_chain_growth(true, p, kLinear);
  }
}

constexpr double kQuadratic = kLinear * 3;

// What a stage becomes is inlined into the next, and so walked again with each.
TEST(Work, OfAChainThatIsAllInlinedIsQuadratic) {
  expect_chain_growth(false, all_inlined, kQuadratic);
}

// A cache takes the place of its tensor in every stage behind it, all of which are made anew.
TEST(Work, OfCachesIsQuadratic) {
  expect_chain_growth(false, caches, kQuadratic);
  expect_chain_growth(true, caches, kQuadratic);
}

// Parts that stand in the value of a Let and in its body, and under Lets of different variables.
Expr lets(Expr e, int levels) {
  const auto half = [](const Expr& x) { return x * make_const_float(float_type(32), 0.5); };
  const auto let = [](const Expr& value, const auto& body) {
    const Var v("v", value.dtype());
    return make(Let{.var = v, .value = value, .body = body(v)});
  };
  for (int k = 0; k < levels; ++k) {
    const Expr part = let(half(e), [&](const Expr& v) { return max(v, e); });
    e = let(part, [&](const Expr& v) { return v + half(part); }) +
        let(half(part), [&](const Expr& v) { return v - part; });
  }
  return e;
}
std::vector<Tensor> compute_of_lets(int levels) {
  const Tensor a = te::placeholder({64}, float_type(32), "A");
  const auto body = [&](const std::vector<Var>& i) { return lets(a(i[0]), levels); };
  return {a, te::compute({64}, body, "B")};
}
std::vector<Tensor> reduction_of_lets(int levels) {
  const Tensor a = te::placeholder({64, 8}, float_type(32), "A");
  const IterVar k = te::reduce_axis({0, 8}, "k");
  const auto body = [&](const std::vector<Var>& i) {
    return te::sum(lets(a(i[0], k->var), levels), {k});
  };
  return {a, te::compute({64}, body, "B")};
}
std::vector<Tensor> extern_of_lets(int levels) {
  const Tensor a = te::placeholder({64}, float_type(32), "A");
  const Var from = buffer_var("from", float_type(32)), to = buffer_var("to", float_type(32)),
            i("i");
  const Expr value = make(Load{.type = float_type(32), .buffer = from, .index = i});
  const Stmt store = make(Store{.buffer = to, .value = lets(value, levels), .index = i});
  const Stmt body = make(For{.var = i, .min = 0, .extent = 64, .body = store});
  return {a, te::extern_op({.name = "E",
                            .inputs = {a},
                            .outputs = {{{64}, float_type(32)}},
                            .memory = {from, to},
                            .body = body})
                 .output(0)};
}

// Beyond some thousand parts they are bound anew, each once: levels below that are as written.
TEST(Work, OfNestedLetsIsLinear) {
  for (const auto define : {compute_of_lets, reduction_of_lets, extern_of_lets})
    expect_growth(define, as_written, kLinear);
  expect_growth(compute_of_lets, each_split, kLinear);
}

}  // namespace
}  // namespace tw
