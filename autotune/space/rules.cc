// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/rules.h"

namespace tw::autotune {
namespace {

// The first that applies to an operation wins.
constexpr const Rule* kRules[] = {&kTileRule, &kInlineRule, &kLoopsRule};
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

void apply(Builder& b, const Rule& rule, size_t op, Choices& choices) {
  rule.apply(b, op, choices.next(rule.variants(b, op)));
}

Sketch make_sketch(const Task& task, const std::vector<OperationFacts>& facts, Choices& choices) {
  Builder b(task, facts);
  // Consumers first; a tiled reduction goes before the elementwise operations that it takes along.
  for (size_t op = facts.size(); op-- > 0;) {
    if (facts[op].compute == nullptr || b.done(op)) continue;
    if (kTileRule.variants(b, op) > 0) apply(b, kTileRule, op, choices);
  }
  for (size_t op = facts.size(); op-- > 0;) {
    if (facts[op].compute == nullptr || b.done(op)) continue;
    for (const Rule* rule : kRules) {
      if (rule->variants(b, op) == 0) continue;
      apply(b, *rule, op, choices);
      break;
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
