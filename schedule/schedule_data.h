// SPDX-License-Identifier: Apache-2.0
// What a Schedule refers to, and the operations on it that primitives share.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schedule/primitive.h"
#include "schedule/schedule.h"

namespace tw {

struct ScheduleData {
  std::vector<te::Tensor> outputs;                 // as rewritten by cache stages and inlining
  std::vector<std::unique_ptr<StageData>> stages;  // producers first
  std::vector<std::unique_ptr<StageData>> groups;
  std::vector<StageData*> program_stages;  // by number in the program's canonical order
  // Every operation that a stage has or had; `operations_kept` keeps their addresses theirs.
  std::unordered_map<const Producer*, StageData*> stage_of;
  std::vector<te::Operation> operations_kept;
  std::vector<Var> parameters;  // variables of steps that are in no shape (symbols.h)
  Trace trace;
  std::vector<StepResults> results;                                         // of each step
  std::unordered_map<Var, AxisRef, IdentityHash, IdentityEqual> axis_refs;  // axes that steps made
};

// What a reference stands for. UnknownStage, or BadTrace when the step has not run or gives no such
// result; `where` goes into the error.
StageData* resolve_stage(const ScheduleData& schedule, const StageRef& ref,
                         const std::string& where);
IterVar resolve_axis(const ScheduleData& schedule, const AxisRef& ref, const std::string& where);

// Null when the producer is not of this schedule.
StageData* find_stage(const ScheduleData& schedule, const Producer* producer);
// The stages whose operations read a tensor of `stage`, in the order of computation.
std::vector<StageData*> consumers_of(const ScheduleData& schedule, const StageData& stage);
// The same, with the consumers of consumers.
std::vector<StageData*> all_consumers_of(const ScheduleData& schedule, const StageData& stage);
// A stage that addresses the memory of what this one stores; null when there is none.
const StageData* reader_of_memory(const ScheduleData& schedule, const StageData& stage);
// The stages, and groups of stages, computed inside a loop of `stage`.
std::vector<StageData*> attached_to(const ScheduleData& schedule, const StageData& stage);

bool is_placeholder(const StageData& stage);
// Whether it has no loops, as its consumers compute it where they need it.
bool is_inlined(const StageData& stage);
// Whether it is computed for what its consumers need, and not whole.
bool is_region(const StageData& stage);

// Makes `op` the operation of the stage, keeping axes and everything else.
void set_operation(ScheduleData& schedule, StageData& stage, te::Operation op);
// Makes `op` the operation of the stage and its root axes the stage's only axes.
void reset_axes(ScheduleData& schedule, StageData& stage, te::Operation op);
// Rewrites the operations of all stages after `first` so that they read the current operations of
// the stages before them.
void refresh_consumers(ScheduleData& schedule, const StageData& first);

// The axis of the stage that `axis` names: itself, or the fresh axis that stands for it where
// operations shared one. Undefined when there is none.
IterVar axis_of_stage(const StageData& stage, const IterVar& axis);
bool is_leaf(const StageData& stage, const IterVar& axis);
// Position among the leaf axes; their number when it is none of them.
size_t leaf_position(const StageData& stage, const IterVar& axis);

// The intrinsic in place of a stage's innermost loops, and the first leaf that is its own, or the
// number of leaves.
struct IntrinPlace {
  TensorIntrin intrin;
  size_t position = 0;
  bool defined() const { return intrin.defined(); }
};
// What `tensorize` put there, or else what the operation calls; undefined when there is none.
IntrinPlace intrin_of(const StageData& stage);
// Whether the leaf is a loop of what the stage's operation calls.
bool is_of_call(const StageData& stage, const IterVar& leaf);

// The stage that the axis is a leaf of; null when there is none.
const StageData* stage_of_leaf(const ScheduleData& schedule, const IterVar& axis);

// The script line of the last step of the primitive on the stage, or on the innermost of its groups
// that there is one on; else of the last of all on the stage.
std::string line_of(const ScheduleData& schedule, const StageData& stage,
                    std::string_view primitive);

// Replaces the relation's parents, which are adjacent leaf axes, by its children.
void add_relation(StageData& stage, RelationRef relation, int step);
// What is computed at `from` is computed at `to`, another axis of the stage.
void move_attached(const ScheduleData& schedule, const StageData& stage, const IterVar& from,
                   const IterVar& to);
// Refuses an axis that a relation may not consume: one that carries marks.
void require_unmarked(const PrimitiveCall& call, const StageData& stage, const IterVar& axis);
// The memory that a scope names, without its tag: "global" of "global:tag".
std::string_view memory_of(std::string_view scope);
// "i.outer, j, k"
std::string names(const std::vector<IterVar>& axes);
std::string names(const std::vector<StageData*>& stages);
// "the leaf axes of 'C': i.outer, j, k", without those that a call computes: no loops to choose.
std::string legal_axes(const StageData& stage);

}  // namespace tw
