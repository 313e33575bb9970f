// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "autotune/space/tiles.h"
#include "schedule/primitive.h"

namespace tw::autotune {
namespace {

constexpr int64_t kUnrollSteps[] = {0, 16, 64, 256};
constexpr size_t kPragmaValue = 3;  // the argument's number in primitives.def
// Smaller results are left in the caches for who reads them next.
constexpr int64_t kStreamedBytes = 1 << 20;
// Smaller ones stay in the second level from call to call: their lines are not waited for.
constexpr int64_t kFetchedBytes = 1 << 18;

}  // namespace

Builder::Builder(const Task& task, const std::vector<OperationFacts>& facts)
    : target_(task.target),
      facts_(facts),
      schedule_(Schedule::create(task.program.outputs)),
      done_(facts.size(), false),
      inlined_(facts.size(), false),
      attach_points_(facts.size()) {
  sketch_.nests.resize(facts.size());
}

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

void Builder::add_store_knob(size_t op, const Stage& stage, const IterVar& axis, Rows rows) {
  const OperationFacts& f = facts_[op];
  int64_t bytes = f.op->output_dtype(0).element_bytes();
  for (int64_t e : f.extents) bytes *= e;
  const bool fetched = rows == Rows::Apart && bytes >= kFetchedBytes;
  if (!f.is_output || (!fetched && bytes < kStreamedBytes)) return;
  const StageRef ref = schedule_.ref_of(stage);
  const AxisRef loop = schedule_.ref_of(stage, axis);
  const auto nontemporal = [&](int64_t value) {
    return Step{.primitive = "pragma", .arguments = {ref, loop, "store_nontemporal", value}};
  };
  Knob knob{.kind = Knob::Kind::Store, .label = fmt::format("{}.store", stage.op().name())};
  knob.places = {{next_step(), 0}};
  knob.steps = {nontemporal(0)};
  if (fetched) {
    const Primitive& prefetch = *find_primitive("prefetch");
    knob.steps.push_back({.primitive = std::string(prefetch.name),
                          .version = prefetch.version,
                          .arguments = {ref, ref, loop, int64_t{0}, std::monostate{}}});
  }
  if (bytes >= kStreamedBytes) knob.steps.push_back(nontemporal(1));
  for (size_t c = 0; c < knob.steps.size(); ++c) knob.choices.push_back({int64_t(c)});
  schedule_.apply(knob.steps[0]);
  add_knob(std::move(knob));
}

void Builder::add_location_knob(const Stage& stage, const std::vector<AttachPoint>& points) {
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

AttachPoint Builder::point(const Stage& stage, const IterVar& axis) const {
  return {schedule_.ref_of(stage), schedule_.ref_of(stage, axis)};
}

void Builder::add_attach_point(size_t op, const Stage& stage, const IterVar& axis) {
  attach_points_[op].push_back(point(stage, axis));
  sketch_.nests[op].loops.push_back(attach_points_[op].back().axis);
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

void Builder::place(size_t op, const Stage& stage) {
  const std::vector<AttachPoint> points =
      facts_[op].is_output ? std::vector<AttachPoint>() : common_attach_points(op);
  if (!points.empty()) {
    Nest& nest = sketch_.nests[op];
    nest.knob = static_cast<int>(num_knobs());
    for (const AttachPoint& p : points) nest.places.push_back(p.axis);
    add_location_knob(stage, points);
  }
  inherit_attach_points(op, points);
}

std::vector<size_t> Builder::elementwise_tail(size_t op) const {
  std::vector<size_t> tail;
  while (facts_[op].elementwise_consumer >= 0) {
    op = static_cast<size_t>(facts_[op].elementwise_consumer);
    tail.push_back(op);
  }
  return tail;
}

// Those whose stages hold the reads of the operation's result.
std::vector<size_t> Builder::readers_of(size_t op) const {
  std::vector<size_t> readers;
  for (size_t consumer : facts_[op].consumers) {
    if (!inlined_[consumer]) {
      readers.push_back(consumer);
      continue;
    }
    const std::vector<size_t> behind = readers_of(consumer);
    readers.insert(readers.end(), behind.begin(), behind.end());
  }
  return readers;
}

Sketch Builder::finish() {
  for (size_t op = 0; op < facts_.size(); ++op) {
    if (sketch_.nests[op].knob >= 0) sketch_.nests[op].readers = readers_of(op);
  }
  sketch_.skeleton = schedule_.trace();
  return std::move(sketch_);
}

int64_t covering_lanes(const Target& target, int64_t extent) {
  if (!target.has_masks) return vector_lanes(target, extent);
  const auto lanes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent)));
  return std::min<int64_t>(lanes, target.vector_lanes(32));
}

std::vector<std::vector<int64_t>> chunk_choices(const Target& target, int64_t extent) {
  const int64_t lanes = target.vector_lanes(32);
  if (!target.has_masks) {
    return tile_choices(extent, {.levels = 2,
                                 .greatest_inner = lanes,
                                 .greatest_product = 1 << 16,
                                 .preferred_inner = lanes});
  }
  const int64_t covering = covering_lanes(target, extent);
  const int64_t vectors = ceil_div(extent, covering);
  std::vector<std::vector<int64_t>> choices;
  for (int64_t d : divisors(vectors)) choices.push_back({d, covering});
  for (int64_t d = 2; d < vectors; d *= 2) {
    if (vectors % d != 0) choices.push_back({d, covering});
  }
  return choices;
}

int64_t vector_lanes(const Target& target, int64_t tile) {
  int64_t lanes = 1;
  while (tile % (2 * lanes) == 0 && 2 * lanes <= target.vector_lanes(32)) lanes *= 2;
  return lanes;
}

}  // namespace tw::autotune
