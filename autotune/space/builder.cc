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
// Smaller results are left in the caches for who reads them next. A trial does not see what that is
// worth: its output is read by nobody, and no cache holds what lay there before. Within a network a
// layer of 1.6 MB took three times as long with stores around the caches, which its trial
// preferred. Those of more than 2 MiB leave the second level before they are read: the first layer
// of resnet18, 3.2 MB, takes 1.18 of ONNX Runtime's time with such stores and 1.45 without.
constexpr int64_t kStreamedBytes = 2 << 20;
// Smaller ones stay in the second level from call to call: their lines are not waited for.
constexpr int64_t kFetchedBytes = 1 << 18;

}  // namespace

Builder::Builder(const Task& task, const std::vector<OperationFacts>& facts)
    : target_(task.target),
      caches_(task.caches),
      facts_(facts),
      schedule_(Schedule::create(task.program.outputs)),
      done_(facts.size(), false),
      inlined_(facts.size(), false),
      inlined_reads_(facts.size()),
      attach_points_(facts.size()) {
  sketch_.nests.resize(facts.size());
}

void Builder::mark_inlined(size_t op) {
  inlined_reads_[op] = reads_of(op);
  inlined_[op] = true;
}

void Builder::take_tail(std::vector<size_t> ops) {
  std::ranges::sort(ops);
  ops.erase(std::ranges::unique(ops).begin(), ops.end());
  for (size_t op : ops) {
    mark_done(op);
    if (op == ops.back()) continue;
    stage(op).compute_inline();
    describe("inline", op);
  }
  for (size_t k = ops.size(); k-- > 1;) mark_inlined(ops[k - 1]);
}

Builder::Reads Builder::reads_of(size_t op) const {
  Reads all;
  for (const Consumer& c : facts_[op].consumers) {
    const Reads behind = inlined_[c.op] ? inlined_reads_[c.op] : Reads{.copies = 1};
    all.copies = std::min(all.copies + c.reads * behind.copies, kMostCopies + 1);
    all.repeated |= c.repeats || behind.repeated;
  }
  return all;
}

void Builder::describe(std::string_view rule, size_t op) {
  sketch_.description +=
      fmt::format("{}{}({})", sketch_.description.empty() ? "" : " ", rule, facts_[op].op.name());
}

Stage::Pair Builder::split(Knob& knob, const Stage& stage, const IterVar& axis) {
  knob.places.push_back({next_step(), kFactorArgument});
  return stage.split(axis, 1);
}

void Builder::add_unroll_knob(const Stage& stage, const std::vector<IterVar>& axes) {
  Knob knob{.kind = Knob::Kind::Unroll, .label = fmt::format("{}.unroll", stage.op().name())};
  for (const IterVar& axis : axes) {
    knob.places.push_back({next_step(), kPragmaValue});
    stage.pragma(axis, "auto_unroll_max_step", kUnrollSteps[0]);
  }
  for (int64_t step : kUnrollSteps) {
    knob.choices.push_back({step});
    knob.values.emplace_back(axes.size(), step);
  }
  add_knob(std::move(knob));
}

void Builder::add_parallel_knob(const Stage& stage, const IterVar& axis) {
  const StageRef ref = schedule_.ref_of(stage);
  const AxisRef loop = schedule_.ref_of(stage, axis);
  Knob knob{.kind = Knob::Kind::Parallel,
            .label = fmt::format("{}.parallel", stage.op().name()),
            .choices = {{0}, {1}},
            .places = {{next_step(), 0}}};
  // A pragma that asks for nothing stands for a loop that stays as it is.
  knob.steps = {
      {.primitive = "pragma", .arguments = {ref, loop, "auto_unroll_max_step", int64_t{0}}},
      {.primitive = "parallel", .arguments = {ref, loop}}};
  schedule_.apply(knob.steps[0]);
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

void Builder::add_fetch_knob(const Stage& stage, const std::vector<IterVar>& axes,
                             const te::Tensor& constant, const AttachPoint& loop) {
  if (caches_ != CacheState::ColdConstants) return;
  const Primitive& prefetch = *find_primitive("prefetch_ahead");
  const StageRef ref = schedule_.ref_of(stage), source = schedule_.ref_of(schedule_[constant]);
  const auto from = [&](const IterVar& axis, int64_t group) {
    return Step{.primitive = std::string(prefetch.name),
                .version = prefetch.version,
                .arguments = {ref, schedule_.ref_of(stage, axis), source, loop.stage, loop.axis,
                              group, std::monostate{}}};
  };
  Knob knob{.kind = Knob::Kind::Fetch,
            .label = fmt::format("{}.fetch", constant.op().name()),
            .places = {{next_step(), 0}},
            .steps = {from(axes[0], 0)}};
  for (const IterVar& axis : axes) knob.steps.push_back(from(axis, 1));
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
  AttachPoint p = point(stage, axis);
  Nest& nest = sketch_.nests[op];
  // Operations whose tiles are one offer the same loops.
  const auto known = std::ranges::find(loop_axes_, p.axis);
  p.loop = static_cast<size_t>(known - loop_axes_.begin());
  if (known == loop_axes_.end()) {
    const int outer = nest.loops.empty() ? -1 : static_cast<int>(nest.loops.back());
    sketch_.loops.push_back({.outer = outer, .nest = op});
    loop_axes_.push_back(p.axis);
  }
  nest.loops.push_back(p.loop);
  attach_points_[op].push_back(p);
}

void Builder::inherit_attach_points(size_t op, const std::vector<AttachPoint>& points) {
  attach_points_[op].insert(attach_points_[op].end(), points.begin(), points.end());
}

std::vector<AttachPoint> Builder::common_attach_points(size_t op) const {
  const std::vector<Consumer>& consumers = facts_[op].consumers;
  std::vector<AttachPoint> common;
  for (size_t k = 0; k < consumers.size(); ++k) {
    const auto& points = attach_points_[consumers[k].op];
    if (k == 0) {
      common = points;
      continue;
    }
    std::erase_if(common, [&](const AttachPoint& p) {
      return std::ranges::find(points, p.loop, &AttachPoint::loop) == points.end();
    });
  }
  return common;
}

void Builder::place(size_t op, const Stage& stage) {
  const std::vector<AttachPoint> points =
      facts_[op].is_output ? std::vector<AttachPoint>() : common_attach_points(op);
  if (!points.empty()) {
    Nest& nest = sketch_.nests[op];
    nest.knob = static_cast<int>(num_knobs());
    for (const AttachPoint& p : points) nest.places.push_back(p.loop);
    add_location_knob(stage, points);
  }
  inherit_attach_points(op, points);
}

// Those whose stages hold the reads of the operation's result.
std::vector<size_t> Builder::stored_readers_of(size_t op) const {
  std::vector<size_t> readers, open = {op};
  std::vector<bool> met(facts_.size(), false);
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    for (const Consumer& c : facts_[at].consumers) {
      if (met[c.op]) continue;
      met[c.op] = true;
      (inlined_[c.op] ? open : readers).push_back(c.op);
    }
  }
  return readers;
}

Sketch Builder::finish() {
  for (size_t op = 0; op < facts_.size(); ++op) {
    if (sketch_.nests[op].knob >= 0) sketch_.nests[op].readers = stored_readers_of(op);
  }
  sketch_.skeleton = schedule_.trace();
  return std::move(sketch_);
}

int64_t covering_lanes(const Target& target, int64_t extent) {
  if (!target.has_masks) return vector_lanes(target, extent);
  const auto lanes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent)));
  return std::min<int64_t>(lanes, target.vector_lanes(32));
}

IterVar fuse_all(const Stage& stage, const std::vector<IterVar>& axes) {
  return axes.size() > 1 ? stage.fuse(axes) : axes[0];
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
