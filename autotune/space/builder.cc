// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tw::autotune {
namespace {

constexpr int64_t kUnrollSteps[] = {0, 16, 64, 256};
constexpr size_t kPragmaValue = 3;  // the argument's number in primitives.def

}  // namespace

Builder::Builder(const Task& task, const std::vector<OperationFacts>& facts)
    : target_(task.target),
      facts_(facts),
      schedule_(Schedule::create(task.program.outputs)),
      done_(facts.size(), false),
      attach_points_(facts.size()) {}

void Builder::describe(std::string_view rule, size_t op) {
  sketch_.description +=
      fmt::format("{}{}({})", sketch_.description.empty() ? "" : " ", rule, facts_[op].op.name());
}

Stage::Pair Builder::split(Knob& knob, const Stage& stage, const IterVar& axis) {
  knob.places.push_back({next_step(), kFactorArgument});
  return stage.split(axis, 1);
}

void Builder::add_unroll_knob(const Stage& stage, const IterVar& axis) {
  Knob knob{.kind = Knob::Kind::Unroll, .label = fmt::format("{}.unroll", stage.op().name())};
  knob.places = {{next_step(), kPragmaValue}};
  stage.pragma(axis, "auto_unroll_max_step", kUnrollSteps[0]);
  for (int64_t step : kUnrollSteps) {
    knob.choices.push_back({step});
    knob.values.push_back({step});
  }
  add_knob(std::move(knob));
}

void Builder::add_location_knob(const Stage& stage, const std::vector<AttachPoint>& points) {
  if (points.empty()) return;
  const StageRef ref = schedule_.ref_of(stage);
  Knob knob{.kind = Knob::Kind::Location, .label = fmt::format("{}.at", stage.op().name())};
  knob.places = {{next_step(), 0}};
  for (const AttachPoint& p : points) {
    knob.steps.push_back({.primitive = "compute_at", .arguments = {ref, p.stage, p.axis}});
  }
  knob.steps.push_back({.primitive = "compute_root", .arguments = {ref}});
  for (size_t c = 0; c < knob.steps.size(); ++c) knob.choices.push_back({int64_t(c)});
  schedule_.apply(knob.steps[0]);
  add_knob(std::move(knob));
}

void Builder::add_attach_point(size_t op, const Stage& stage, const IterVar& axis) {
  attach_points_[op].push_back({schedule_.ref_of(stage), schedule_.ref_of(stage, axis)});
}

void Builder::inherit_attach_points(size_t op, const std::vector<AttachPoint>& points) {
  attach_points_[op].insert(attach_points_[op].end(), points.begin(), points.end());
}

std::vector<AttachPoint> Builder::common_attach_points(size_t op) const {
  std::vector<AttachPoint> common;
  bool first = true;
  for (size_t consumer : facts_[op].consumers) {
    const auto& points = attach_points_[consumer];
    if (first) common = points;
    std::erase_if(common, [&](const AttachPoint& p) {
      return std::none_of(points.begin(), points.end(),
                          [&](const AttachPoint& q) { return q.axis == p.axis; });
    });
    first = false;
  }
  return common;
}

Sketch Builder::finish() {
  sketch_.skeleton = schedule_.trace();
  return std::move(sketch_);
}

int64_t covering_lanes(const Target& target, int64_t extent) {
  if (!target.has_masks) return vector_lanes(target, extent);
  const auto lanes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent)));
  return std::min<int64_t>(lanes, target.vector_lanes(32));
}

int64_t vector_lanes(const Target& target, int64_t tile) {
  int64_t lanes = 1;
  while (tile % (2 * lanes) == 0 && 2 * lanes <= target.vector_lanes(32)) lanes *= 2;
  return lanes;
}

}  // namespace tw::autotune
