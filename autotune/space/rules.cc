// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "autotune/space/analysis.h"
#include "autotune/space/tiles.h"
#include "runtime/error.h"
#include "schedule/schedule.h"

namespace tw::autotune {
namespace {

// A place inside the loops of a scheduled operation where a producer may be computed.
struct AttachPoint {
  StageRef stage;
  AxisRef axis;
  std::string label;
};

// A sketch being made: the schedule carries the steps, the builder what is still open.
class Builder {
 public:
  Builder(const Task& task, const std::vector<OperationFacts>& facts)
      : target_(task.target),
        facts_(facts),
        schedule_(Schedule::create(task.program.outputs)),
        done_(facts.size(), false),
        attach_points_(facts.size()) {}

  const Target& target() const { return target_; }
  const std::vector<OperationFacts>& facts() const { return facts_; }
  const OperationFacts& facts(size_t op) const { return facts_[op]; }
  const Schedule& schedule() const { return schedule_; }
  Stage stage(size_t op) const { return schedule_[facts_[op].op]; }
  size_t next_step() const { return schedule_.trace().steps.size(); }
  bool done(size_t op) const { return done_[op]; }
  void mark_done(size_t op) { done_[op] = true; }
  size_t num_knobs() const { return sketch_.knobs.size(); }
  void add_knob(Knob knob) { sketch_.knobs.push_back(std::move(knob)); }
  void add_limit(Limit limit) { sketch_.limits.push_back(std::move(limit)); }
  void describe(std::string_view rule, size_t op) {
    sketch_.description += fmt::format("{}{}({})", sketch_.description.empty() ? "" : " ", rule,
                                       facts_[op].op.name());
  }

  void add_attach_point(size_t op, const Stage& stage, const IterVar& axis) {
    attach_points_[op].push_back({schedule_.ref_of(stage), schedule_.ref_of(stage, axis),
                                  fmt::format("{}.{}", stage.op().name(), axis.name())});
  }
  // Where all consumers of `op` can be served from: what the attach points of each have in common.
  std::vector<AttachPoint> common_attach_points(size_t op) const {
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
  void inherit_attach_points(size_t op, const std::vector<AttachPoint>& points) {
    attach_points_[op].insert(attach_points_[op].end(), points.begin(), points.end());
  }

  Sketch finish() {
    sketch_.skeleton = schedule_.trace();
    return std::move(sketch_);
  }

 private:
  const Target& target_;
  const std::vector<OperationFacts>& facts_;
  Schedule schedule_;
  Sketch sketch_;
  std::vector<bool> done_;
  std::vector<std::vector<AttachPoint>> attach_points_;
};

constexpr int64_t kUnrollSteps[] = {0, 16, 64, 256};

// The argument numbers of split's factor and pragma's value; see primitives.def.
constexpr size_t kSplitFactor = 2;
constexpr size_t kPragmaValue = 3;

void add_unroll_knob(Builder& b, const Stage& stage, const IterVar& axis) {
  Knob knob{.kind = Knob::Kind::Unroll, .label = fmt::format("{}.unroll", stage.op().name())};
  knob.places = {{b.next_step(), kPragmaValue}};
  stage.pragma(axis, "auto_unroll_max_step", kUnrollSteps[0]);
  for (int64_t step : kUnrollSteps) {
    knob.choices.push_back({step});
    knob.values.push_back({step});
  }
  b.add_knob(std::move(knob));
}

// Computes the stage at the root or, by choice of a knob, inside one of `points`.
void add_location_knob(Builder& b, const Stage& stage, const std::vector<AttachPoint>& points) {
  if (points.empty()) return;
  const StageRef ref = b.schedule().ref_of(stage);
  Knob knob{.kind = Knob::Kind::Location, .label = fmt::format("{}.at", stage.op().name())};
  knob.places = {{b.next_step(), 0}};
  for (const AttachPoint& p : points) {
    knob.steps.push_back({.primitive = "compute_at", .arguments = {ref, p.stage, p.axis}});
  }
  knob.steps.push_back({.primitive = "compute_root", .arguments = {ref}});
  for (size_t c = 0; c < knob.steps.size(); ++c) knob.choices.push_back({int64_t(c)});
  b.schedule().apply(knob.steps[0]);
  b.add_knob(std::move(knob));
}

// -----------------------------------------------------------------------------------------------
// Rule "tile": S-S-R-S-R-S multi-level tiling of a reduction, with accumulation in local memory and
// the elementwise operations behind it fused.
//
//   parallel over o0; for o1; { local: for r0; for s2; for r1; s3 in registers }; copy o2 to output

// The elementwise operations between the reduction and the end of its chain, which is last.
std::vector<size_t> elementwise_tail(const Builder& b, size_t op) {
  std::vector<size_t> tail;
  while (b.facts(op).elementwise_consumer >= 0) {
    op = static_cast<size_t>(b.facts(op).elementwise_consumer);
    tail.push_back(op);
  }
  return tail;
}

bool can_tile(const Builder& b, size_t op) {
  const OperationFacts& f = b.facts(op);
  return f.is_reduction && f.has_reuse && !f.extents.empty();
}

// Lanes of the vectors that an innermost tile is cut into: a power of two, since code generation
// takes others apart, as wide as the target's where that leaves no partial vector.
int64_t vector_lanes(const Builder& b, int64_t tile) {
  int64_t lanes = 1;
  while (tile % (2 * lanes) == 0 && 2 * lanes <= b.target().vector_lanes(32)) lanes *= 2;
  return lanes;
}

// Splits one data axis of the output and of the local stage alike, under one knob.
struct TiledAxis {
  IterVar o0, o1, o2;        // of the output; o1 and o2 undefined for axes of extent 1
  IterVar o3, o_lanes;       // vectors and their lanes, of the last axis only
  IterVar s2, s3, s_lanes;   // of the local stage; lanes of the last axis only
  size_t knob = 0;
};

std::vector<TiledAxis> split_output(Builder& b, const Stage& output, size_t op,
                                    std::vector<Knob>& knobs) {
  const OperationFacts& f = b.facts(op);
  std::vector<TiledAxis> axes(f.extents.size());
  for (size_t k = 0; k < axes.size(); ++k) {
    TiledAxis& a = axes[k];
    const IterVar root = output.axis(static_cast<int>(k));
    const bool last = k + 1 == axes.size();
    if (f.extents[k] == 1) {
      a.o0 = root;
      continue;
    }
    const int lanes = b.target().vector_lanes(32);
    Knob knob{.kind = Knob::Kind::Tile, .label = fmt::format("{}.{}", f.op.name(), root.name())};
    knob.choices = tile_choices(f.extents[k], {.levels = 3,
                                               .greatest_inner = last ? 8 * lanes : 32,
                                               .greatest_product = 1024,
                                               .preferred_inner = last ? lanes : 1});
    knob.places.push_back({b.next_step(), kSplitFactor});
    auto [o0, tile] = output.split(root, 1);
    knob.places.push_back({b.next_step(), kSplitFactor});
    auto [o1, inner] = output.split(tile, 1);
    a.o0 = o0;
    a.o1 = o1;
    a.o2 = inner;
    if (last) {
      knob.places.push_back({b.next_step(), kSplitFactor});
      auto [o2, vectors] = output.split(inner, 1);
      knob.places.push_back({b.next_step(), kSplitFactor});
      auto [o3, lanes_axis] = output.split(vectors, 1);
      a.o2 = o2;
      a.o3 = o3;
      a.o_lanes = lanes_axis;
    }
    for (const auto& t : knob.choices) {
      knob.values.push_back({t[0] * t[1] * t[2], t[1] * t[2]});
      if (!last) continue;
      knob.values.back().push_back(t[2]);
      knob.values.back().push_back(vector_lanes(b, t[2]));
    }
    a.knob = knobs.size();
    knobs.push_back(std::move(knob));
  }
  return axes;
}

void split_local(Builder& b, const Stage& local, std::vector<TiledAxis>& axes,
                 std::vector<Knob>& knobs) {
  for (size_t k = 0; k < axes.size(); ++k) {
    TiledAxis& a = axes[k];
    const IterVar root = local.axis(static_cast<int>(k));
    if (!a.o1.defined()) {
      a.s2 = root;
      continue;
    }
    Knob& knob = knobs[a.knob];
    knob.places.push_back({b.next_step(), kSplitFactor});
    auto [s2, s3] = local.split(root, 1);
    a.s2 = s2;
    a.s3 = s3;
    const bool last = k + 1 == axes.size();
    if (last) {
      knob.places.push_back({b.next_step(), kSplitFactor});
      auto [vectors, lanes] = local.split(s3, 1);
      a.s3 = vectors;
      a.s_lanes = lanes;
    }
    for (size_t c = 0; c < knob.choices.size(); ++c) {
      const int64_t tile = knob.choices[c].back();
      knob.values[c].push_back(tile);
      if (last) knob.values[c].push_back(vector_lanes(b, tile));
    }
  }
}

struct ReduceAxes {
  std::vector<IterVar> r0, r1;
};

ReduceAxes split_reduction(Builder& b, const Stage& local, size_t op, std::vector<Knob>& knobs) {
  const OperationFacts& f = b.facts(op);
  ReduceAxes result;
  for (size_t k = 0; k < f.reduce_extents.size(); ++k) {
    const IterVar root = local.reduce_axis(static_cast<int>(k));
    if (f.reduce_extents[k] == 1) {
      result.r0.push_back(root);
      continue;
    }
    Knob knob{.kind = Knob::Kind::Tile, .label = fmt::format("{}.{}", f.op.name(), root.name())};
    for (int64_t d : divisors(f.reduce_extents[k])) {
      knob.choices.push_back({d});
      knob.values.push_back({d});
    }
    knob.places.push_back({b.next_step(), kSplitFactor});
    auto [r0, r1] = local.split(root, 1);
    result.r0.push_back(r0);
    result.r1.push_back(r1);
    knobs.push_back(std::move(knob));
  }
  return result;
}

// The innermost tiles of all data axes, in vectors of the last, must fit the vector registers with
// some left for operands.
void limit_registers(Builder& b, const std::vector<TiledAxis>& axes,
                     const std::vector<Knob>& knobs) {
  Limit limit{.greatest = b.target().vector_registers - 2};
  for (size_t k = 0; k < axes.size(); ++k) {
    if (!axes[k].o1.defined()) continue;
    const bool last = k + 1 == axes.size();
    limit.knobs.push_back(b.num_knobs() + axes[k].knob);
    limit.weights.emplace_back();
    for (const auto& t : knobs[axes[k].knob].choices) {
      limit.weights.back().push_back(last ? t.back() / vector_lanes(b, t.back()) : t.back());
    }
  }
  if (!limit.knobs.empty()) b.add_limit(std::move(limit));
}

template <class... Lists>
std::vector<IterVar> concatenate(const Lists&... lists) {
  std::vector<IterVar> all;
  (all.insert(all.end(), lists.begin(), lists.end()), ...);
  std::erase_if(all, [](const IterVar& v) { return !v.defined(); });
  return all;
}

template <class Member>
std::vector<IterVar> column(const std::vector<TiledAxis>& axes, Member member) {
  std::vector<IterVar> result;
  for (const TiledAxis& a : axes) result.push_back(a.*member);
  return result;
}

void apply_tile(Builder& b, size_t op) {
  const std::vector<size_t> tail = elementwise_tail(b, op);
  const Schedule& s = b.schedule();
  const OperationFacts& f = b.facts(op);
  b.describe("tile", op);

  std::vector<te::Tensor> results;
  for (int k = 0; k < f.op->num_outputs(); ++k) results.push_back(f.op.output(k));
  const Stage local = s[s.cache_write(results, "local")[0]];
  const size_t end = tail.empty() ? op : tail.back();
  if (end != op) b.stage(op).compute_inline();
  for (size_t t : tail) {
    if (t == end) break;
    b.stage(t).compute_inline();
    b.describe("inline", t);
    b.mark_done(t);
  }
  b.mark_done(op);
  b.mark_done(end);

  const Stage output = b.stage(end);
  std::vector<Knob> knobs;
  std::vector<TiledAxis> axes = split_output(b, output, op, knobs);
  const std::vector<IterVar> o0 = concatenate(column(axes, &TiledAxis::o0));
  const std::vector<IterVar> o1 = concatenate(column(axes, &TiledAxis::o1));
  const std::vector<IterVar> o2 = concatenate(column(axes, &TiledAxis::o2));
  const std::vector<IterVar> inner =
      concatenate(column(axes, &TiledAxis::o3), column(axes, &TiledAxis::o_lanes));
  output.reorder(concatenate(o0, o1, o2, inner));
  const IterVar fused = o0.size() > 1 ? output.fuse(o0) : o0[0];
  output.parallel(fused);
  if (!inner.empty()) {
    output.unroll(inner[0]);
    output.vectorize(inner[1]);
  }

  const IterVar attach = o1.empty() ? fused : o1.back();
  local.compute_at(output, attach);
  split_local(b, local, axes, knobs);
  ReduceAxes reduce = split_reduction(b, local, op, knobs);
  const std::vector<IterVar> s3 = concatenate(column(axes, &TiledAxis::s3));
  const std::vector<IterVar> lanes = concatenate(column(axes, &TiledAxis::s_lanes));
  local.reorder(concatenate(reduce.r0, column(axes, &TiledAxis::s2), reduce.r1, s3, lanes));
  for (const IterVar& axis : s3) local.unroll(axis);
  for (const IterVar& axis : lanes) local.vectorize(axis);

  limit_registers(b, axes, knobs);
  for (Knob& knob : knobs) b.add_knob(std::move(knob));
  if (!reduce.r0.empty()) add_unroll_knob(b, local, reduce.r0[0]);

  b.add_attach_point(op, output, fused);
  if (!o1.empty()) b.add_attach_point(op, output, o1.back());
  if (!reduce.r0.empty()) b.add_attach_point(op, local, reduce.r0.back());
  for (size_t t : tail) b.add_attach_point(t, output, fused);
}

// -----------------------------------------------------------------------------------------------
// Rule "inline": a cheap operation between others is substituted into its consumers.

bool can_inline(const Builder& b, size_t op) {
  const OperationFacts& f = b.facts(op);
  if (f.is_output || f.is_reduction || f.op->num_outputs() != 1) return false;
  if (f.has_condition) return false;
  return !f.has_math || f.consumers.size() == 1;
}

void apply_inline(Builder& b, size_t op) {
  b.describe("inline", op);
  b.stage(op).compute_inline();
  b.inherit_attach_points(op, b.common_attach_points(op));
  b.mark_done(op);
}

// -----------------------------------------------------------------------------------------------
// Rule "loops": the fall-back. Data axes but the last fused and parallel, the last one in vectors;
// reductions serial inside. Operations that are not outputs may move into their consumers' loops.

bool can_loop(const Builder&, size_t) { return true; }

void apply_loops(Builder& b, size_t op) {
  const OperationFacts& f = b.facts(op);
  const Stage stage = b.stage(op);
  b.describe("loops", op);
  b.mark_done(op);
  const std::vector<AttachPoint> points =
      f.is_output ? std::vector<AttachPoint>() : b.common_attach_points(op);
  if (!points.empty()) add_location_knob(b, stage, points);
  b.inherit_attach_points(op, points);
  if (f.extents.empty()) return;

  const int lanes = b.target().vector_lanes(32);
  const size_t last = f.extents.size() - 1;
  std::vector<IterVar> outer;
  for (size_t k = 0; k < last; ++k) outer.push_back(stage.axis(static_cast<int>(k)));
  if (f.extents[last] > 1) {
    Knob knob{.kind = Knob::Kind::Tile,
              .label = fmt::format("{}.{}", f.op.name(), stage.axis(static_cast<int>(last)).name())};
    knob.choices = tile_choices(f.extents[last], {.levels = 2,
                                                  .greatest_inner = lanes,
                                                  .greatest_product = 1 << 16,
                                                  .preferred_inner = lanes});
    knob.places.push_back({b.next_step(), kSplitFactor});
    auto [chunk, rest] = stage.split(stage.axis(static_cast<int>(last)), 1);
    knob.places.push_back({b.next_step(), kSplitFactor});
    auto [middle, vector] = stage.split(rest, 1);
    for (const auto& t : knob.choices) knob.values.push_back({t[0] * t[1], t[1]});
    b.add_knob(std::move(knob));
    outer.push_back(chunk);
    if (f.is_reduction) {
      std::vector<IterVar> order = {middle};
      for (size_t r = 0; r < f.reduce_extents.size(); ++r) {
        order.push_back(stage.reduce_axis(static_cast<int>(r)));
      }
      order.push_back(vector);
      stage.reorder(order);
    }
    stage.vectorize(vector);
  } else {
    outer.push_back(stage.axis(static_cast<int>(last)));
  }
  const IterVar fused = outer.size() > 1 ? stage.fuse(outer) : outer[0];
  stage.parallel(fused);
  b.add_attach_point(op, stage, fused);
  if (f.is_reduction) add_unroll_knob(b, stage, stage.reduce_axis(0));
}

// -----------------------------------------------------------------------------------------------

struct Rule {
  std::string_view name;
  bool (*applies)(const Builder&, size_t op);
  void (*apply)(Builder&, size_t op);
};
// The first that applies wins.
constexpr Rule kRules[] = {
    {"tile", can_tile, apply_tile},
    {"inline", can_inline, apply_inline},
    {"loops", can_loop, apply_loops},
};

// A tiled reduction goes before the elementwise operations that it takes with it.
void apply_tiles_first(Builder& b) {
  for (size_t op = b.facts().size(); op-- > 0;) {
    if (b.facts(op).compute == nullptr || b.done(op) || !can_tile(b, op)) continue;
    apply_tile(b, op);
  }
}

}  // namespace

std::vector<Sketch> make_sketches(const Task& task) {
  const std::vector<OperationFacts> facts = analyze(task.program);
  Builder b(task, facts);
  apply_tiles_first(b);
  for (size_t op = facts.size(); op-- > 0;) {
    if (facts[op].compute == nullptr || b.done(op)) continue;
    for (const Rule& rule : kRules) {
      if (!rule.applies(b, op)) continue;
      rule.apply(b, op);
      break;
    }
  }
  std::vector<Sketch> sketches;
  sketches.push_back(b.finish());
  return sketches;
}

}  // namespace tw::autotune
