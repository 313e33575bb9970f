// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/rules.h"

#include <span>
#include <utility>

namespace tw::autotune {
namespace {

// The first that applies to an operation wins, unless it has alternatives.
constexpr const Rule* kRules[] = {
    &kTileRegistersRule, &kTileRule,      &kInlineRule, &kInlineConditionRule,
    &kLanesRule,         &kTransposeRule, &kLoopsRule};
constexpr size_t kTilings = 2;  // of the first rules, which take elementwise operations along
// A sketch with more variants than this is cut short: the first ones are the likeliest.
constexpr size_t kMostSketches = 8;

// Counts through the variants of the decisions that making one sketch meets.
class Choices {
 public:
  // The variant to take at this decision.
  int next(int variants) {
    if (position_ == taken_.size()) taken_.push_back({0, variants});
    return taken_[position_++].variant;
  }
  // On to the next combination; false after the last.
  bool advance() {
    position_ = 0;
    while (!taken_.empty() && ++taken_.back().variant == taken_.back().variants) taken_.pop_back();
    return !taken_.empty();
  }

 private:
  struct Taken {
    int variant, variants;
  };
  std::vector<Taken> taken_;
  size_t position_ = 0;
};

// One of the variants of the rules that are open to the operation.
void apply(Builder& b, std::span<const Rule* const> rules, size_t op, Choices& choices) {
  std::vector<std::pair<const Rule*, int>> open;
  for (const Rule* rule : rules) {
    const int variants = rule->variants(b, op);
    for (int v = 0; v < variants; ++v) open.emplace_back(rule, v);
    if (variants > 0 && !rule->has_alternatives) break;
  }
  if (open.empty()) return;
  const auto [rule, variant] =
      open[static_cast<size_t>(choices.next(static_cast<int>(open.size())))];
  rule->apply(b, op, variant);
}

Sketch make_sketch(const Task& task, const std::vector<OperationFacts>& facts, Choices& choices) {
  Builder b(task, facts);
  // Consumers first; a tiled reduction goes before the elementwise operations that it takes along.
  const std::span<const Rule* const> all(kRules);
  for (const auto rules : {all.first(kTilings), all}) {
    for (size_t op = facts.size(); op-- > 0;) {
      if (facts[op].compute != nullptr && !b.done(op)) apply(b, rules, op, choices);
    }
  }
  return b.finish();
}

}  // namespace

std::vector<Sketch> make_sketches(const Task& task) {
  const std::vector<OperationFacts> facts = analyze(task.program);
  std::vector<Sketch> sketches;
  Choices choices;
  do {
    sketches.push_back(make_sketch(task, facts, choices));
  } while (choices.advance() && sketches.size() < kMostSketches);
  return sketches;
}

}  // namespace tw::autotune
