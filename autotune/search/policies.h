// SPDX-License-Identifier: Apache-2.0
// Search policies by name: the table that `--policy` and TunerOptions choose from. To add one: a
// class with propose and observe, and a row in policies.cc.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "autotune/search/search.h"

namespace tw::autotune {

// A user's own policy is a factory that is in no table.
using PolicyFactory = std::function<std::unique_ptr<SearchPolicy>(const PolicyContext&)>;

struct PolicyRow {
  std::string_view name, doc;
  std::unique_ptr<SearchPolicy> (*make)(const PolicyContext&);
};
std::span<const PolicyRow> search_policies();

// The factory of a row; BadArgument lists the rows.
PolicyFactory search_policy(std::string_view name);

// Points drawn at random, each once.
std::unique_ptr<SearchPolicy> make_random_policy(const PolicyContext& context);
// Every point once, one sketch after the other in turn, in an order that spreads the first ones
// evenly over each sketch.
std::unique_ptr<SearchPolicy> make_grid_policy(const PolicyContext& context);
// Simulated annealing on the model's scores, of many chains at once; the best points met are
// proposed. After Chen et al., "Learning to Optimize Tensor Programs" (2018), section 4.
std::unique_ptr<SearchPolicy> make_annealing_policy(const PolicyContext& context);

// Makes proposals of points, for policies: each at most once, and none that the schedule refuses.
class Proposer {
 public:
  explicit Proposer(const PolicyContext& context) : context_(context) {}

  const PolicyContext& context() const { return context_; }
  void mark_tried(const Point& point) { tried_.insert(point); }
  bool tried(const Point& point) const { return tried_.contains(point); }

  // A legal point and what the model says of it, or the prior until the model is trained; larger is
  // better.
  struct Scored {
    Point point;
    double score;
    std::shared_ptr<const Features> features;
    std::optional<double> deviation = {};  // of the score; nothing of a model that cannot tell
  };
  // Those of the points that are legal, in their order.
  std::vector<Scored> score(const std::vector<Point>& points, const CostModel& model) const;
  // Marks the point as tried.
  Proposal propose(const Scored& scored, Origin origin);
  // Proposals of those of the points that are legal and not tried yet, in their order.
  std::vector<Proposal> propose(std::vector<Point> points, const CostModel& model, Origin origin);

 private:
  PolicyContext context_;
  std::set<Point> tried_;
};

}  // namespace tw::autotune
