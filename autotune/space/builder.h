// SPDX-License-Identifier: Apache-2.0
// A sketch in the making, as rules see it: the schedule carries the steps so far, the builder what
// is still open.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autotune/space/analysis.h"
#include "autotune/space/space.h"
#include "schedule/schedule.h"

namespace tw::autotune {

// A place inside the loops of a scheduled operation where a producer may be computed.
struct AttachPoint {
  StageRef stage;
  AxisRef axis;
  size_t loop = 0;  // among those of the sketch that operations offer to others
};

class Builder {
 public:
  Builder(const Task& task, const std::vector<OperationFacts>& facts);

  const Target& target() const { return target_; }
  const std::vector<OperationFacts>& facts() const { return facts_; }
  const OperationFacts& facts(size_t op) const { return facts_[op]; }
  const Schedule& schedule() const { return schedule_; }
  Stage stage(size_t op) const { return schedule_[facts_[op].op]; }
  bool done(size_t op) const { return done_[op]; }
  void mark_done(size_t op) { done_[op] = true; }
  // Its consumers compute it: what it reads must be visible to them. Consumers first.
  void mark_inlined(size_t op);
  // The last of the operations computes the others; all of them are done.
  void take_tail(std::vector<size_t> ops);
  // How those read the operation whose stages are decided already: how often its expression would
  // stand in theirs, and whether any of them reads elements again and again.
  struct Reads {
    int64_t copies = 0;
    bool repeated = false;
  };
  Reads reads_of(size_t op) const;

  // Steps are numbered as they are applied: the number the next one gets.
  size_t next_step() const { return schedule_.trace().steps.size(); }
  size_t num_knobs() const { return sketch_.knobs.size(); }
  void add_knob(Knob knob) { sketch_.knobs.push_back(std::move(knob)); }
  void add_limit(Limit limit) { sketch_.limits.push_back(std::move(limit)); }
  // "rule(operation)" at the end of the sketch's description.
  void describe(std::string_view rule, size_t op);

  // Splits by a factor that `knob` decides; its values are added by the caller, one a choice.
  Stage::Pair split(Knob& knob, const Stage& stage, const IterVar& axis);
  // A pragma auto_unroll_max_step on the axes, with one knob for all.
  void add_unroll_knob(const Stage& stage, const std::vector<IterVar>& axes);
  // Whether iterations of the axis run in parallel; not, by the first choice.
  void add_parallel_knob(const Stage& stage, const IterVar& axis);
  // How what is stored below the axis meets its lines, where the operation's result is large: as it
  // comes; fetched when an iteration of the axis begins, where rows lie apart, so that no
  // prefetcher foresees them; or around the caches, where the result is larger than what should
  // stay in them.
  enum class Rows : uint8_t { Apart, Contiguous };
  void add_store_knob(size_t op, const Stage& stage, const IterVar& axis, Rows rows = Rows::Apart);

  // While one iteration of a loop runs, the iterations of an axis of the stage inside fetch, in
  // equal shares, what of a constant the next one reads. By choice: not at all, which comes first,
  // and from each of the axes. Only where constants are cold.
  void add_fetch_knob(const Stage& stage, const std::vector<IterVar>& axes,
                      const te::Tensor& constant, const AttachPoint& loop);

  // Computes the stage inside one of the loops, or at the root. The caller knows that all of them
  // are around what reads it, and inside what it reads.
  void add_location_knob(const Stage& stage, const std::vector<AttachPoint>& points);

  AttachPoint point(const Stage& stage, const IterVar& axis) const;
  // A loop of the operation itself; the outer ones first.
  void add_attach_point(size_t op, const Stage& stage, const IterVar& axis);
  void inherit_attach_points(size_t op, const std::vector<AttachPoint>& points);
  // Where all consumers of `op` can be served from: what the attach points of each have in common.
  std::vector<AttachPoint> common_attach_points(size_t op) const;
  // Computes the operation's stage inside one of those or at the root, by choice of a knob of its
  // own; outputs at the root.
  void place(size_t op, const Stage& stage);
  Sketch finish();

 private:
  std::vector<size_t> stored_readers_of(size_t op) const;

  const Target& target_;
  CacheState caches_;
  const std::vector<OperationFacts>& facts_;
  Schedule schedule_;
  Sketch sketch_;
  std::vector<bool> done_, inlined_;
  std::vector<Reads> inlined_reads_;                     // of inlined operations
  std::vector<std::vector<AttachPoint>> attach_points_;  // own and inherited
  std::vector<AxisRef> loop_axes_;                       // of the sketch's loops
};

// Lanes of the vectors that a tile is cut into: a power of two, since code generation takes others
// apart, as wide as the target's where that leaves no partial vector.
int64_t vector_lanes(const Target& target, int64_t tile);

// Lanes of the vectors that a loop without reuse runs in: where there are masks, whole vectors of
// which the last may be partial.
int64_t covering_lanes(const Target& target, int64_t extent);

// Ways to run an axis in vectors: (vectors of a chunk, lanes of a vector). With masks a vector is
// whole even if the extent is not; without, lanes and vectors divide it.
std::vector<std::vector<int64_t>> chunk_choices(const Target& target, int64_t extent);

// The axes as one, which a single one is already.
IterVar fuse_all(const Stage& stage, const std::vector<IterVar>& axes);

// The argument numbers of a factor in split and transform_layout; see primitives.def.
inline constexpr size_t kFactorArgument = 2;

}  // namespace tw::autotune
