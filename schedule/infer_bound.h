// SPDX-License-Identifier: Apache-2.0
// Bound inference: which part of each stage's output its consumers need, and from it the domain of
// every axis.
#pragma once

#include "schedule/relation.h"
#include "schedule/schedule.h"

namespace tw {

struct ScheduleOptions {
  bool clamp_split_factor = true;   // a factor above the extent becomes the extent
  bool keep_trivial_loops = false;  // loops of extent 1 stay
  bool source_lines = false;        // stores carry their stage's script line, where known
};

// A copy of the schedule with inlining carried out and root axes that are loops rebased to start at
// zero. The trace is unchanged.
Schedule normalize(const Schedule& schedule);

// Domain of every axis of every stage. The schedule must be normalised. BadAttach when a stage is
// computed where one of its consumers cannot see it.
//
// A stage at the outermost level is computed whole. A stage inside a loop is computed for what its
// consumers read during one iteration: loops outside stand still, loops inside run over all their
// domain. That region may reach outside the stage's tensor, where a consumer's tile overhangs; then
// schedule_ops guards the points.
DomainMap infer_bound(const Schedule& schedule, const ScheduleOptions& options);
DomainMap infer_bound(const Schedule& schedule);

// The stages that one of several kernels of a schedule computes: those at the outermost level, with
// all that is inside their loops.
struct KernelPart {
  std::vector<const StageData*> stages;
  std::vector<te::Tensor> given;  // whose memory belongs to the caller, like that of outputs
};
// A schedule some of whose stages are precomputed from the `bound` placeholders, in two parts.
// What both need of other stages, both compute.
struct ScheduleParts {
  KernelPart main, preparation;
  bool is_split() const { return !preparation.stages.empty(); }
};
ScheduleParts parts_of(const Schedule& normalized, const std::vector<te::Tensor>& bound);

// The loop nest: Realize, Produce, loops, predicates, Provide. Outputs and placeholders belong to
// the caller and are not realized.
// SymbolicExtent for a vectorised or unrolled axis whose extent turns out not to be a constant.
Stmt schedule_ops(const Schedule& schedule, const DomainMap& domains,
                  const ScheduleOptions& options = {});
Stmt schedule_ops(const Schedule& schedule, const DomainMap& domains,
                  const ScheduleOptions& options, const KernelPart& part);

}  // namespace tw
