// SPDX-License-Identifier: Apache-2.0
// A schedule: a stage for each operation, and the trace of the primitives that shaped them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/node.h"
#include "schedule/relation.h"
#include "schedule/te/operation.h"
#include "schedule/tensor_intrin.h"
#include "schedule/trace.h"

namespace tw {

// Where a stage's loops stand.
enum class AttachType : uint8_t {
  GroupRoot,       // at the outermost level
  Inline,          // substituted into its consumers by normalize
  InlinedAlready,  // normalize did so
  Scope,           // inside attach_axis of attach_stage
  ScanInit,        // before the loops of attach_stage, whose first values it stores
  ScanUpdate,      // inside all loops of attach_stage; normalize makes it Scope
};

// A variable that stands for a thread axis.
struct ThreadVar {
  std::string tag;
  Var var;
};

// In each iteration of a loop: fetch what iteration + offset reads of the tensor. With a scope, a
// loop around that one whose iterations are dealt into groups of `offset`: an equal share of what
// the next group reads. A tensor of the stage that has the loop, or the scope, is stored there
// instead, and fetched for it.
struct PrefetchMark {
  ProducerRef producer;
  int value_index = 0;
  int64_t offset = 0;
  IterVar scope;  // undefined: the loop itself
};

// What is marked on a leaf axis.
struct AxisAttributes {
  ForKind for_kind = ForKind::Serial;
  std::string where;                                  // script line that gave the kind, where known
  std::vector<std::pair<std::string, Expr>> pragmas;  // name without "pragma_", value
  std::vector<PrefetchMark> prefetches;
  TensorIntrin intrin;        // in place of this loop and those inside it
  std::string thread;         // the thread axis that the loop is, such as "threadIdx.x"; "": none
  int64_t thread_extent = 0;  // that the thread axis was given; 0: any
};

// Which of the threads that compute the same element store it; over variables that stand for
// thread axes.
struct StorePredicate {
  Expr condition;  // undefined: all
  std::vector<ThreadVar> threads;
};

// The row pitch of a dimension, in elements, is `offset` more than a multiple of `factor`.
struct RowPitch {
  size_t dimension = 0;
  int64_t factor = 1, offset = 0;
};

// Where and how the outputs of a stage are stored.
struct Storage {
  std::string scope;                  // "" (chosen by lowering), "global", "local", …
  std::vector<RowPitch> row_pitches;  // of dimensions that are padded
  bool precomputed = false;           // computed once when the kernel is built, and kept
  bool double_buffer = false;         // computed for the next iteration while this one reads it
};

struct StageData {
  te::Operation op;                // as rewritten by cache stages and inlining
  te::Operation origin_op;         // as the program has it; undefined for stages that a step made
  std::vector<te::Tensor> inputs;  // of op, each once
  StageRef ref;                    // how a trace names this stage
  std::string label;               // how people do: as its operation, or "compute_1" of namesakes
  std::vector<IterVar> all_axes;
  std::vector<IterVar> leaf_axes;  // loop order, outermost first
  std::vector<RelationRef> relations;
  std::vector<int> relation_steps;  // the step that made each relation; -1: normalize
  // Axes of the program that operations share, and what stands for them in this stage.
  std::vector<std::pair<Var, IterVar>> aliases;
  std::unordered_map<Var, AxisAttributes, IdentityHash, IdentityEqual> axis_attributes;
  TensorIntrin
      called;  // what the operation calls, in place of the innermost leaves (te/tensor_compute)
  AttachType attach_type = AttachType::GroupRoot;
  StageData* attach_stage = nullptr;
  IterVar attach_axis;
  StageData* scan = nullptr;  // each step of which computes the stage, where it is not placed
  Storage storage;
  StorePredicate store_predicate;
  std::vector<std::string> env_threads;  // thread axes that a device starts around the stage
  StageData* group = nullptr;            // the innermost group that it is in
  bool is_output = false;
  std::string where;  // script line of the last step on this stage, where known

  // A group of stages has a place and nothing else; its operation is undefined.
  bool is_group() const { return !op.defined(); }
  const std::string& name() const;
  // Null when the axis has no marks.
  const AxisAttributes* attributes_of(const IterVar& axis) const;
};

struct ScheduleData;

// Handles are cheap and refer to one schedule; copy() gives an independent one.
class Schedule;

class Stage {
 public:
  Stage() = default;
  Stage(ScheduleData* schedule, StageData* data) : schedule_(schedule), data_(data) {}
  bool defined() const { return data_ != nullptr; }
  const StageData& data() const { return *data_; }
  const te::Operation& op() const { return data_->op; }
  const std::vector<IterVar>& leaf_axes() const { return data_->leaf_axes; }
  // Axes of the stage's operation; BadArgument when there is no such axis.
  IterVar axis(int k) const;
  IterVar reduce_axis(int k) const;

  // The primitives; each checks its arguments, acts, and appends a step to the trace.
  struct Pair {
    IterVar outer, inner;
  };
  Pair split(const IterVar& axis, int64_t factor) const;
  Pair split_nparts(const IterVar& axis, int64_t nparts) const;
  // By an expression of the program's symbolic extents, taken as 1 where it is less.
  Pair split_by(const IterVar& axis, const Expr& factor) const;
  IterVar fuse(const std::vector<IterVar>& axes) const;
  void reorder(const std::vector<IterVar>& axes) const;
  struct Tile {
    IterVar x_outer, y_outer, x_inner, y_inner;
  };
  Tile tile(const IterVar& x, const IterVar& y, int64_t x_factor, int64_t y_factor) const;
  void vectorize(const IterVar& axis) const;
  void parallel(const IterVar& axis) const;
  void unroll(const IterVar& axis) const;
  // "threadIdx.x", or with the extent that the axis must have "threadIdx.x[64]".
  void bind(const IterVar& axis, const std::string& thread) const;
  void pragma(const IterVar& axis, const std::string& name,
              std::optional<int64_t> value = {}) const;
  void compute_at(const Stage& consumer, const IterVar& axis) const;
  void compute_inline() const;
  void compute_root() const;
  void precompute() const;
  void set_scope(const std::string& scope) const;
  // Pads what is stored so that the pitch of this dimension is `offset` more than a multiple of
  // `factor` elements.
  void storage_align(const IterVar& axis, int64_t factor, int64_t offset) const;
  // In each iteration of `axis`, fetches into the caches what `offset` iterations later is read; of
  // the stage's own output, what is stored then, so that the stores will not wait for their lines.
  void prefetch(const te::Tensor& tensor, const IterVar& axis, int64_t offset) const;
  // Deals the iterations of `scope`, a loop of `parent` around `axis`, into groups; during each,
  // the iterations of `axis` fetch in equal shares what the stage reads of the tensor in the next.
  // The traffic is even then, and none of it is waited for. Of an output of `parent`: what it
  // stores in the next group.
  void prefetch_ahead(const te::Tensor& tensor, const IterVar& axis, const Stage& parent,
                      const IterVar& scope, int64_t group = 1) const;
  // Computes the loop and those inside it with an intrinsic of the registry.
  void tensorize(const IterVar& axis, const std::string& intrin) const;
  // The axes of the stage become those of the new layout: axis(0) and so on, in order. `order` says
  // which dimension stands at each place, the two of the tiled axis in its place; empty: as it is.
  void transform_layout(const IterVar& axis, int64_t factor,
                        const std::vector<int64_t>& order = {}) const;
  void transform_layout(const std::vector<int64_t>& order) const;
  // Neighbouring dimensions become one.
  void collapse_layout(const std::vector<IterVar>& axes) const;

  ScheduleData* schedule_data() const { return schedule_; }

 private:
  Stage source_of(const te::Tensor& tensor) const;

  ScheduleData* schedule_ = nullptr;
  StageData* data_ = nullptr;
};

class Schedule {
 public:
  Schedule() = default;
  // One stage per operation that the outputs need, in canonical order. An output must be computed
  // (PlaceholderStage). Where operations share an axis, each but the first gets one of its own;
  // the primitives take the shared axis for it.
  static Schedule create(const std::vector<te::Tensor>& outputs);

  bool defined() const { return data_ != nullptr; }
  // UnknownStage when the operation is not in this schedule. Accepts both an operation of the
  // program and what a primitive made of it.
  Stage operator[](const te::Operation& op) const;
  Stage operator[](const te::Tensor& t) const { return (*this)[t.op()]; }
  Stage stage(const StageRef& ref) const;
  // In the order of computation: producers first.
  std::vector<Stage> stages() const;
  const std::vector<te::Tensor>& outputs() const;

  // A stage that computes `tensor` into `scope`; the original stage copies from it.
  te::Tensor cache_write(const te::Tensor& tensor, const std::string& scope) const;
  std::vector<te::Tensor> cache_write(const std::vector<te::Tensor>& tensors,
                                      const std::string& scope) const;
  // A stage that copies `tensor` into `scope`; the readers, which read the tensor now, read it.
  te::Tensor cache_read(const te::Tensor& tensor, const std::string& scope,
                        const std::vector<te::Operation>& readers) const;
  // A stage with the reduction loop `axis` of the tensor's stage as data axis number `factor_axis`,
  // reduced over the other loops; the tensor's stage reduces over that axis.
  te::Tensor rfactor(const te::Tensor& tensor, const IterVar& axis, int factor_axis = 0) const;

  const Trace& trace() const;
  // Applies one step, or a whole trace, recorded elsewhere on the same program. Errors say which
  // step; the steps before it stay applied. Results are found through `stage` and `axis`. A trace
  // applied to a schedule that has steps already is renumbered to follow them.
  void apply(const Step& step) const;
  void apply(const Trace& trace) const;
  IterVar axis(const AxisRef& ref) const;
  // How a trace names a stage or an axis of this schedule; the inverses of stage() and axis().
  StageRef ref_of(const Stage& stage) const;
  AxisRef ref_of(const Stage& stage, const IterVar& axis) const;

  Schedule copy() const;
  ScheduleData& data() const { return *data_; }

 private:
  std::shared_ptr<ScheduleData> data_;
};

// Sets the place ("conv.py:12") that steps applied on this thread are recorded with.
class SourceScope {
 public:
  explicit SourceScope(std::string where);
  ~SourceScope();
  static const std::string& current();

 private:
  std::string previous_;
};

}  // namespace tw
