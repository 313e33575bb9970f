// SPDX-License-Identifier: Apache-2.0
#include "schedule/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ir/expr.h"
#include "ir/visit.h"
#include "schedule/check_reads.h"
#include "schedule/dependence.h"
#include "schedule/infer_bound.h"
#include "schedule/normalize.h"
#include "schedule/scan_stages.h"
#include "schedule/schedule_error.h"
#include "schedule/schedule_ops.h"
#include "schedule/show.h"
#include "schedule/te/check_statements.h"
#include "schedule/te/ragged.h"
#include "schedule/te/reducers.h"
#include "schedule/te/start.h"
#include "schedule/te/term_order.h"

namespace tw {
namespace {

bool has_loops(const StageData& stage) { return !is_placeholder(stage) && !is_inlined(stage); }

// A vector type among what the operation stores and reads; else a scalar.
DType vector_in(const te::OperationNode& op) {
  for (int k = 0; k < op.num_outputs(); ++k) {
    if (op.output_dtype(k).is_vector()) return op.output_dtype(k);
  }
  DType type;
  for (const te::Tensor& t : op.input_tensors()) {
    if (t.dtype().is_vector()) type = t.dtype();
  }
  return type;
}

// Asks one question after the other of a schedule; `report` gets every answer that is a finding.
template <class Report>
class Validation {
 public:
  Validation(const ScheduleData& schedule, Report report)
      : schedule_(schedule), report_(std::move(report)) {}

  std::vector<StageRef> misplaced;  // stages where a consumer cannot see them, or without a loop
  bool has_bounds = true;           // whether the others have domains that mean something

  void run() {
    order();
    bool placed = true;
    for (const auto& stage : schedule_.stages) placed &= place(*stage);
    if (placed) scans();
    for (const auto& stage : schedule_.stages) {
      statements(*stage);
      if (placed) visibility(*stage);
      if (!has_loops(*stage)) continue;
      terms(*stage);
      for (size_t k = 0; k < stage->leaf_axes.size(); ++k) loop(*stage, k, placed);
    }
  }

 private:
  // Each buffer has one producer, and each producer stands before what reads it: no cycle. Notes
  // who reads whom.
  void order() {
    std::unordered_map<const Producer*, const StageData*> made;
    for (const auto& stage : schedule_.stages) {
      for (const te::Tensor& input : stage->inputs) {
        const StageData* source = find_stage(schedule_, input.op().get());
        if (source == nullptr || !made.contains(source->op.get())) {
          has_bounds = false;
          report_(
              {.code = ErrorCode::UnknownStage,
               .what = fmt::format("it reads '{}', which is not computed before it", input.name()),
               .stage = stage->name(),
               .where = stage->where,
               .legal = "producers before consumers, and no cycle"});
          continue;
        }
        auto& readers = consumers_[source];
        if (readers.empty() || readers.back() != stage.get()) readers.push_back(stage.get());
      }
      if (made.emplace(stage->op.get(), stage.get()).second) continue;
      has_bounds = false;
      report_({.code = ErrorCode::BadArgument,
               .what = "two stages compute this tensor",
               .stage = stage->name(),
               .where = stage->where,
               .legal = "one producer of each buffer"});
    }
  }

  void scans() {
    try {
      validate_scans(schedule_);
    } catch (const UserError& error) {
      has_bounds = false;
      report_(error.info());
    }
  }

  void statements(const StageData& stage) {
    for (ErrorInfo error : te::findings_of(stage.op)) {
      error.stage = stage.name();
      if (error.where.empty()) error.where = stage.where;
      report_(std::move(error));
    }
  }

  // The error about where a stage is computed.
  void misplace(const StageData& stage, std::string what, std::string legal) {
    misplaced.push_back(stage.ref);
    report_({.code = ErrorCode::BadAttach,
             .what = std::move(what),
             .stage = stage.name(),
             .axis = stage.attach_axis.defined() ? stage.attach_axis.name() : "",
             .where = line_of(schedule_, stage, "compute_at"),
             .legal = std::move(legal)});
  }

  // Whether the stage stands at the outermost level, or inside a loop that leads there.
  bool place(const StageData& stage) {
    if (stage.attach_type != AttachType::Scope) return true;
    const auto bad = [&](std::string what, std::string legal) {
      misplace(stage, std::move(what), std::move(legal));
      return false;
    };
    const StageData* parent = stage.attach_stage;
    const char* const consumer = "compute_root, or a loop of a stage that consumes it";
    if (parent == &stage) return bad("a stage cannot be computed inside its own loops", consumer);
    if (parent == nullptr) return bad("computed inside the loop of no stage", consumer);
    if (!has_loops(*parent)) {
      return bad(fmt::format("'{}' is {} and has no loops", parent->name(),
                             is_placeholder(*parent) ? "a placeholder" : "inlined"),
                 consumer);
    }
    if (!is_leaf(*parent, stage.attach_axis)) {
      return bad(fmt::format("'{}' has no such loop; it was split or fused since", parent->name()),
                 legal_axes(*parent));
    }
    if (stage.is_output || stage.storage.precomputed) {
      return bad(fmt::format("{} is computed whole, not inside '{}'",
                             stage.is_output ? "an output" : "what is precomputed", parent->name()),
                 "compute_root");
    }
    size_t depth = 0;
    for (const StageData* s = parent; s != nullptr && is_region(*s); s = s->attach_stage) {
      if (++depth <= schedule_.stages.size()) continue;
      return bad(fmt::format("'{}' is itself computed inside this stage", parent->name()),
                 "compute_root of one of them");
    }
    return true;
  }

  void visibility(const StageData& stage) {
    if (stage.attach_type != AttachType::Scope) return;
    const StageData& parent = *stage.attach_stage;
    if (!before_terms(stage)) return;
    for (const StageData* consumer : consumers_[&stage]) {
      if (is_inlined(*consumer) || runs_inside(*consumer, parent, stage.attach_axis)) continue;
      return misplace(stage,
                      fmt::format("computed inside '{}' of '{}', where its consumer '{}' cannot "
                                  "see it",
                                  stage.attach_axis.name(), parent.name(), consumer->name()),
                      fmt::format("{}; or '{}' computed inside that loop too", attach_points(stage),
                                  consumer->name()));
    }
  }

  // What a reduction starts from, and its length, is read before its first loop over terms.
  bool before_terms(const StageData& stage) {
    const StageData& parent = *stage.attach_stage;
    const std::vector<IterVar>& leaves = parent.leaf_axes;
    const auto first = std::ranges::find_if(
        leaves, [](const IterVar& leaf) { return leaf->kind == IterKind::Reduction; });
    const auto position = static_cast<size_t>(first - leaves.begin());
    if (leaf_position(parent, stage.attach_axis) < position) return true;
    const auto read = [&](const std::vector<Expr>& before) {
      bool found = false;
      for (const Expr& e : before) {
        for_each_part(e, [&](const Expr& part) {
          const ProducerLoad* load = as<ProducerLoad>(part);
          found |= load != nullptr && load->producer.get() == stage.op.get();
        });
      }
      return found;
    };
    const bool starts = read(te::started_from(*parent.op));
    if (!starts && !read(te::ragged_ends(*parent.op))) return true;
    const std::vector<IterVar> outside(leaves.begin(), first);
    misplace(stage,
             fmt::format("computed inside '{}' of '{}', whose reduction {} what this stage "
                         "computes",
                         stage.attach_axis.name(), parent.name(),
                         starts ? "starts from" : "is as long as"),
             outside.empty() ? "compute_root"
                             : fmt::format("compute_root, or inside {} of '{}'", names(outside),
                                           parent.name()));
    return false;
  }

  // "compute_root, or inside y.outer or x of 'D'": the loops that all consumers run inside of.
  std::string attach_points(const StageData& stage) {
    const std::vector<const StageData*>& readers = consumers_[&stage];
    std::vector<const StageData*> around;  // the first consumer, and what it is computed in
    for (const StageData* s = readers.empty() ? nullptr : readers.front();
         s != nullptr && s != &stage && around.size() < schedule_.stages.size();
         s = is_region(*s) ? s->attach_stage : nullptr) {
      if (has_loops(*s)) around.push_back(s);
    }
    std::string points;
    for (const StageData* parent : around) {
      std::string axes;
      for (const IterVar& leaf : parent->leaf_axes) {
        const bool sees_all = std::ranges::all_of(readers, [&](const StageData* reader) {
          return is_inlined(*reader) || runs_inside(*reader, *parent, leaf);
        });
        if (sees_all) axes += (axes.empty() ? "" : ", ") + leaf.name();
      }
      if (!axes.empty()) points += fmt::format(", or inside {} of '{}'", axes, parent->name());
    }
    return "compute_root" + points;
  }

  void loop(const StageData& stage, size_t k, bool placed) {
    const IterVar& leaf = stage.leaf_axes[k];
    const AxisAttributes* marks = stage.attributes_of(leaf);
    if (marks == nullptr) return;
    if (!concurrency(*marks).empty()) iterations(stage, leaf, *marks);
    if (marks->for_kind == ForKind::Vectorized && placed) lanes(stage, leaf, *marks);
    for (const PrefetchMark& mark : marks->prefetches) {
      if (!mark.scope.defined() || !placed) continue;
      const StageData* parent = stage_of_leaf(schedule_, mark.scope);
      const bool around = parent != nullptr && runs_inside(stage, *parent, mark.scope) &&
                          (parent != &stage || leaf_position(stage, mark.scope) < k);
      if (around) continue;
      has_bounds = false;
      report_({.code = ErrorCode::BadAttach,
               .what = fmt::format("prefetch_ahead for '{}', which is no loop around this one",
                                   mark.scope.name()),
               .stage = stage.name(),
               .axis = leaf.name(),
               .where = line_of(schedule_, stage, "prefetch_ahead"),
               .legal = "a loop outside it, of this stage or of one that it is computed in"});
    }
  }

  // Of some reducers the terms have an order.
  void terms(const StageData& stage) {
    const auto* compute = te::as_op<te::ComputeNode>(stage.op);
    if (compute == nullptr || !stage.op->is_reduction()) return;
    const bool is_known = !te::reducer_name(as<Reduce>(compute->body[0])->combiner).empty();
    if (is_known || takes_terms_in_order(stage)) return;
    const std::string why = te::order_matters(*compute);
    if (why.empty()) return;
    const auto first = std::ranges::find(stage.leaf_axes, IterKind::Reduction,
                                         [](const IterVar& leaf) { return leaf->kind; });
    const std::vector<IterVar> in_order = loops_in_order_of_terms(stage);
    std::string where = line_of(schedule_, stage, "reorder");
    report_({.code = ErrorCode::LoopOrder,
             .what = fmt::format("the loops take the terms in another order than the expression, "
                                 "and with its reducer f that gives something else: {}",
                                 why),
             .stage = stage.name(),
             .axis = (*first).name(),
             .where = std::move(where),
             .legal = in_order.empty() ? "axes of the reduction fused in their order"
                                       : fmt::format("the loops over terms in this order: {}",
                                                     names(in_order))});
  }

  void iterations(const StageData& stage, const IterVar& leaf, const AxisAttributes& marks) {
    const IterVar root = dependent_root(stage, leaf);
    if (!root.defined()) return;
    std::string legal;
    for (const IterVar& other : stage.leaf_axes) {
      if (!dependent_root(stage, other).defined())
        legal += (legal.empty() ? "" : ", ") + other.name();
    }
    const bool reduces = root->kind == IterKind::Reduction;
    if (!reduces && legal.empty()) legal = "an axis of a stage that is computed in each step";
    if (reduces)
      legal += fmt::format("{}a data axis that rfactor makes of it", legal.empty() ? "" : ", or ");
    report_({.code = ErrorCode::ParallelReduction,
             .what = fmt::format("a {} loop over '{}', {}", concurrency(marks), root.name(),
                                 reduces ? "a reduction axis, whose iterations write one element"
                                         : "whose iterations depend on those before them"),
             .stage = stage.name(),
             .axis = leaf.name(),
             .where = marks.where.empty() ? stage.where : marks.where,
             .legal = std::move(legal)});
  }

  // Elements that are vectors stay what they are: there are no vectors of vectors.
  void lanes(const StageData& stage, const IterVar& leaf, const AxisAttributes& marks) {
    for (const auto& inner : schedule_.stages) {
      if (!has_loops(*inner) || !runs_inside(*inner, stage, leaf)) continue;
      const DType type = vector_in(*inner->op);
      if (!type.is_vector()) continue;
      return report_(
          {.code = ErrorCode::TypeMismatch,
           .what = fmt::format("a vectorized loop over elements of type {}{}", to_string(type),
                               inner.get() == &stage ? "" : fmt::format(" of '{}'", inner->name())),
           .stage = stage.name(),
           .axis = leaf.name(),
           .where = marks.where.empty() ? stage.where : marks.where,
           .legal = "unroll or parallel; or elements that are scalars"});
    }
  }

  const ScheduleData& schedule_;
  Report report_;
  std::unordered_map<const StageData*, std::vector<const StageData*>> consumers_;
};

Finding finding_of(const ScheduleData& schedule, ErrorInfo error) {
  std::string nest = to_text(nest_rows(schedule, culprit_of(error)));
  return {std::move(error), std::move(nest)};
}

// Drops the intrinsics of the stage; false when there is none.
bool drop_intrins(const ScheduleData& schedule, const std::string& stage) {
  bool found = false;
  for (const auto& s : schedule.stages) {
    if (s->name() != stage) continue;
    found |= s->called.defined();
    s->called = {};
    for (auto& [axis, marks] : s->axis_attributes) {
      found |= marks.intrin.defined();
      marks.intrin = {};
    }
  }
  return found;
}

// Computes the stages at the outermost level; false where one is there already.
bool move_out(const ScheduleData& schedule, const std::vector<StageRef>& misplaced) {
  for (const StageRef& ref : misplaced) {
    StageData& stage = *resolve_stage(schedule, ref, "");
    if (stage.attach_type != AttachType::Scope && stage.group == nullptr) return false;
    attach_at_home(stage);
    stage.group = nullptr;
  }
  return true;
}

template <class Report>
void check_stored(const Schedule& normalized, const DomainMap& domains,
                  const std::vector<te::Tensor>& stored, Report report) {
  for (const te::Tensor& tensor : stored) {
    const StageData& stage = *find_stage(normalized.data(), tensor.op().get());
    std::vector<IterVar> inner;
    for (const StageData* s = &stage; is_region(*s); s = s->attach_stage) {
      if (s->attach_type == AttachType::ScanInit) continue;  // none of its loops stands around
      const StageData* parent = s->attach_stage;
      for (size_t k = leaf_position(*parent, s->attach_axis) + 1; k-- > 0;) {
        const IterVar& leaf = parent->leaf_axes[k];
        const AxisAttributes* marks = parent->attributes_of(leaf);
        if (marks != nullptr && !concurrency(*marks).empty() &&
            !regions_are_apart(stage, leaf, inner, domains)) {
          report(
              {.code = ErrorCode::ParallelReduction,
               .what = fmt::format("iterations of this {} loop might compute the same elements "
                                   "of '{}', an argument, which they share",
                                   concurrency(*marks), stage.name()),
               .stage = parent->name(),
               .axis = leaf.name(),
               .where = marks->where,
               .legal = fmt::format("compute_root of '{}', a serial loop, or arguments without it",
                                    stage.name())});
        }
        inner.push_back(leaf);
      }
    }
  }
}

}  // namespace

bool runs_inside(const StageData& stage, const StageData& parent, const IterVar& axis) {
  if (&stage == &parent) return true;
  for (const StageData* s = &stage; is_region(*s); s = s->attach_stage) {
    if (s->attach_type == AttachType::ScanInit || s->attach_stage != &parent) continue;
    return leaf_position(parent, s->attach_axis) >= leaf_position(parent, axis);
  }
  return false;
}

void validate(const ScheduleData& schedule) {
  Validation(schedule, [&](ErrorInfo error) { raise_in(schedule, std::move(error)); }).run();
}

void validate_stored(const Schedule& normalized, const DomainMap& domains,
                     const std::vector<te::Tensor>& stored) {
  check_stored(normalized, domains, stored,
               [&](ErrorInfo error) { raise_in(normalized.data(), std::move(error)); });
}

std::vector<Finding> check(const Schedule& schedule, const std::vector<te::Tensor>& stored,
                           const std::function<void(const Schedule&)>& further) {
  std::vector<Finding> findings;
  const ScheduleData& data = schedule.data();
  const auto report = [&](ErrorInfo error) {
    const bool known = std::ranges::any_of(findings, [&](const Finding& f) {
      return f.error.code == error.code && f.error.stage == error.stage &&
             f.error.what == error.what;
    });
    if (!known) findings.push_back(finding_of(data, std::move(error)));
  };
  const Schedule tried = schedule.copy();
  // Bounds of stages that are misplaced would be wrong too: they are judged as if these stood at
  // the outermost level.
  for (bool placed = false; !placed;) {
    const Schedule normal = normalize(tried);
    Validation validation(normal.data(), report);
    validation.run();
    placed = validation.misplaced.empty();
    if (!validation.has_bounds || !move_out(tried.data(), validation.misplaced)) return findings;
  }
  const bool sound = findings.empty();
  for (bool again = true; again;) {
    again = false;
    try {
      const Schedule normal = normalize(tried);
      const DomainMap domains = infer_bound(normal);
      std::vector<te::Tensor> kept;
      for (const te::Tensor& t : stored) kept.push_back(normal[t].op().output(t.value_index()));
      if (findings.empty()) check_stored(normal, domains, kept, report);
      check_reads(normal, domains);
      schedule_ops(normal, domains);
      if (sound && further) further(tried);
    } catch (const UserError& error) {
      report(error.info());
      // Each stage is judged for what its own intrinsic computes.
      again = error.code() == ErrorCode::CannotTensorize &&
              drop_intrins(tried.data(), error.info().stage);
    }
  }
  return findings;
}

}  // namespace tw
