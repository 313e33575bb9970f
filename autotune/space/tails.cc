// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/tails.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>

namespace tw::autotune {
namespace {

constexpr int kNone = -1;

double arithmetic(const OperationFacts& f) {
  double points = 1;
  for (int64_t e : f.extents) points *= static_cast<double>(e);
  for (int64_t e : f.reduce_extents) points *= static_cast<double>(e);
  return points;
}

// Where all that reads an operation's result, point for point, has come together again.
struct Step {
  int to = kNone;
  int64_t copies = 0;                    // of the operation in the expression of `to`
  std::map<size_t, int64_t> on_the_way;  // operations between the two, and copies of each
};

class Tails {
 public:
  Tails(std::vector<OperationFacts>& facts, const std::vector<bool>& elementwise)
      : facts_(facts),
        meets_(facts.size(), kNone),
        claims_(facts.size()),
        copies_of_tail_(facts.size(), 1) {
    for (size_t op = facts.size(); op-- > 0;) {
      if (elementwise[op]) meets_[op] = meeting_place(op);
    }
  }

  void assign() {
    std::vector<size_t> reductions;
    for (size_t op = facts_.size(); op-- > 0;) {
      if (facts_[op].is_tiled()) reductions.push_back(op);
    }
    std::ranges::stable_sort(reductions, std::ranges::greater(),
                             [&](size_t op) { return arithmetic(facts_[op]); });
    for (size_t op : reductions) claim_tail(op);
    for (size_t op : reductions) claim_permuted(op);
    for (size_t op = 0; op < facts_.size(); ++op) facts_[op].tail_owner = claims_[op].owner;
  }

 private:
  // The reduction whose tiles compute an operation, and how many copies of the operation there are
  // in what is stored. Of a reduction in company: copies of the end of its own tail.
  struct Claim {
    int owner = kNone;
    int64_t copies = 1;
  };

  // The first operation that all paths from `op` lead through.
  int meeting_place(size_t op) const {
    int place = kNone;
    for (const Consumer& c : facts_[op].consumers) {
      int other = static_cast<int>(c.op);
      if (place == kNone) place = other;
      while (place != other) {
        int& earlier = place < other ? place : other;
        earlier = meets_[static_cast<size_t>(earlier)];
        if (earlier == kNone) return kNone;
      }
    }
    return place;
  }

  Step step_from(size_t op) const {
    Step step{.to = meets_[op], .copies = 0, .on_the_way = {}};
    if (step.to == kNone) return step;
    std::vector<size_t> open = {op};
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      for (const Consumer& c : facts_[at].consumers) {
        if (static_cast<int>(c.op) != step.to && step.on_the_way.try_emplace(c.op, 0).second) {
          open.push_back(c.op);
        }
      }
    }
    const auto copies = [&](size_t of) {
      int64_t sum = 0;
      for (const Consumer& c : facts_[of].consumers) {
        sum += c.reads * (static_cast<int>(c.op) == step.to ? 1 : step.on_the_way.at(c.op));
      }
      return std::min(sum, kMostCopies + 1);
    };
    for (auto& [between, count] : std::views::reverse(step.on_the_way)) count = copies(between);
    step.copies = copies(op);
    return step;
  }

  // What follows an operation point for point and no tiles compute yet.
  struct Walk {
    std::vector<Step> steps;
    int64_t copies = 1;         // of what the first step leads to, in what the last one leads to
    std::optional<Step> meets;  // the next step, where it leads into another's tail
  };

  Walk walk_from(size_t op, int64_t copies) const {
    Walk walk{.steps = {}, .copies = copies, .meets = {}};
    while (true) {
      Step step = step_from(op);
      walk.copies *= step.copies;
      if (step.to == kNone || walk.copies > kMostCopies) break;
      const int owner = claims_[static_cast<size_t>(step.to)].owner;
      const bool free = std::ranges::all_of(step.on_the_way, [&](const auto& between) {
        const int other = claims_[between.first].owner;
        return other == kNone || other == owner;
      });
      if (!free) break;
      if (owner != kNone) {
        walk.meets = std::move(step);
        break;
      }
      op = static_cast<size_t>(step.to);
      walk.steps.push_back(std::move(step));
    }
    return walk;
  }

  void claim_tail(size_t reduction) {
    if (facts_[reduction].op->num_outputs() != 1) return;
    const Walk walk = walk_from(reduction, 1);
    if (walk.meets) {
      const int owner = claims_[static_cast<size_t>(walk.meets->to)].owner;
      join(reduction, static_cast<size_t>(owner), *walk.meets, walk.copies);
    }
    for (const Step& step : walk.steps) copies_of_tail_[reduction] *= step.copies;
    claim(reduction, walk.steps, facts_[reduction].tail);
  }

  // What reads the end of the tail with the axes in another order, and what follows.
  void claim_permuted(size_t reduction) {
    OperationFacts& f = facts_[reduction];
    const OperationFacts& end = f.tail.empty() ? f : facts_[f.tail.back()];
    if (end.is_output || end.op->num_outputs() != 1 || end.consumers.size() != 1) return;
    const Consumer& reader = end.consumers[0];
    if (reader.permutation.empty() || claims_[reader.op].owner != kNone) return;
    // The expressions of company are counted to the end of the tail.
    const int64_t copies = copies_of_tail_[reduction] * reader.reads;
    if (copies > kMostCopies || !f.company.empty()) return;
    const Walk walk = walk_from(reader.op, copies);
    f.permutation = reader.permutation;
    f.permuted_tail = {reader.op};
    claims_[reader.op] = {static_cast<int>(reduction), 1};
    claim(reduction, walk.steps, f.permuted_tail);
  }

  void claim(size_t reduction, const std::vector<Step>& steps, std::vector<size_t>& tail) {
    int64_t copies = 1;  // of what a step leads to, in the end
    for (const Step& step : std::views::reverse(steps)) {
      mark(reduction, step, copies);
      claims_[static_cast<size_t>(step.to)] = {static_cast<int>(reduction), copies};
      copies *= step.copies;
    }
    for (const Step& step : steps) {
      std::ranges::copy(std::views::keys(step.on_the_way), std::back_inserter(tail));
      tail.push_back(static_cast<size_t>(step.to));
    }
  }

  // The reduction's own tail ends before the step, which leads into that of `owner`.
  void join(size_t reduction, size_t owner, const Step& step, int64_t copies) {
    const int64_t after = claims_[static_cast<size_t>(step.to)].copies;
    const int64_t of_owner = claims_[owner].copies;
    if (copies * after * of_owner > kMostCopies) return;
    mark(owner, step, after);
    claims_[reduction].copies = step.copies * after * of_owner;
    facts_[owner].company.push_back(reduction);
    std::ranges::copy(std::views::keys(step.on_the_way), std::back_inserter(facts_[reduction].way));
  }

  void mark(size_t owner, const Step& step, int64_t copies) {
    for (const auto& [op, count] : step.on_the_way) {
      if (claims_[op].owner == kNone) claims_[op] = {static_cast<int>(owner), count * copies};
    }
  }

  std::vector<OperationFacts>& facts_;
  std::vector<int> meets_;
  std::vector<Claim> claims_;
  std::vector<int64_t> copies_of_tail_;  // of a reduction in the end of its tail
};

}  // namespace

void assign_tails(std::vector<OperationFacts>& facts, const std::vector<bool>& elementwise) {
  Tails(facts, elementwise).assign();
}

}  // namespace tw::autotune
