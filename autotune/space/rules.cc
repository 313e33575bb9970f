// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/rules.h"

#include <map>
#include <span>
#include <utility>

#include "autotune/space/decisions.h"

namespace tw::autotune {
namespace {

// The first that applies to an operation wins, unless it has alternatives.
constexpr const Rule* kRules[] = {
    &kEmptyRule,           &kTileRegistersRule, &kTileRule,      &kInlineRule,
    &kInlineConditionRule, &kLanesRule,         &kTransposeRule, &kLoopsRule};
// Of what scans compute, which stays in their steps.
constexpr const Rule* kScanRules[] = {&kEmptyRule, &kInlineRule, &kInlineConditionRule, &kScanRule};
constexpr size_t kTilings = 3;  // of the first rules, which take elementwise operations along

// One of the ways that are open to an operation.
using Way = std::function<void(Builder&)>;

std::vector<Way> open_ways(const Builder& b, std::span<const UserRule> own,
                           std::span<const Rule* const> rules, size_t op) {
  std::vector<Way> open;
  for (const UserRule& rule : own) {
    const int variants = rule.variants(b, op);
    for (int v = 0; v < variants; ++v) {
      open.emplace_back([&rule, op, v](Builder& builder) {
        rule.apply(builder, op, v);
        builder.describe(rule.name, op);
        builder.mark_done(op);
      });
    }
    if (variants > 0 && !rule.has_alternatives) return open;
  }
  for (const Rule* rule : rules) {
    const int variants = rule->variants(b, op);
    for (int v = 0; v < variants; ++v) {
      open.emplace_back([rule, op, v](Builder& builder) { rule->apply(builder, op, v); });
    }
    if (variants > 0 && !rule->has_alternatives) break;
  }
  return open;
}

Sketch make_sketch(const Task& task, const std::vector<OperationFacts>& facts,
                   const std::vector<size_t>& tiled_first, std::span<const UserRule> own,
                   Decisions& decisions) {
  Builder b(task, facts);
  const auto decide = [&](std::span<const Rule* const> rules, size_t op) {
    if (facts[op].compute == nullptr || b.done(op)) return;
    const std::vector<Way> open = facts[op].in_scan ? open_ways(b, {}, std::span(kScanRules), op)
                                                    : open_ways(b, own, rules, op);
    if (!open.empty()) open[decisions.next(op, open.size())](b);
  };
  // A tiled reduction goes before the elementwise operations that it takes along; else consumers go
  // first.
  const std::span<const Rule* const> all(kRules);
  for (size_t op : tiled_first) decide(all.first(kTilings), op);
  for (size_t op = facts.size(); op-- > 0;) decide(all, op);
  return b.finish();
}

}  // namespace

std::vector<Sketch> make_sketches(const Task& task, std::span<const UserRule> own) {
  const std::vector<OperationFacts> facts = analyze(task.program);
  const std::vector<size_t> tiled_first = tiling_order(facts);
  // The likelier ways of each decision first, whatever order they were tried in.
  std::map<std::vector<size_t>, Sketch> by_ways;
  Decisions decisions;
  while (decisions.begin()) {
    Sketch sketch = make_sketch(task, facts, tiled_first, own, decisions);
    by_ways.emplace(decisions.taken(), std::move(sketch));
  }
  std::vector<Sketch> sketches;
  for (auto& [ways, sketch] : by_ways) sketches.push_back(std::move(sketch));
  return sketches;
}

}  // namespace tw::autotune
