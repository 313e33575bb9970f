// SPDX-License-Identifier: Apache-2.0
#include "schedule/tensorized.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/print.h"
#include "ir/visit.h"
#include "schedule/region.h"

namespace tw {
namespace {

class Check {
 public:
  Check(const ScheduleData& schedule, const StageData& stage, const Tensorized& tensorized,
        const DomainMap& domains)
      : schedule_(schedule),
        stage_(stage),
        intrin_(*tensorized.intrin),
        position_(tensorized.position),
        domains_(domains) {}

  void loops_around() const {
    for (size_t k = 0; k < position_; ++k) {
      const AxisAttributes* marks = stage_.attributes_of(leaf(k));
      if (marks != nullptr && marks->for_kind == ForKind::Vectorized) {
        fail(fmt::format("'{}' around it runs in vector lanes", leaf(k).name()),
             "no vectorize outside an intrinsic");
      }
    }
  }

  // Those that go: unmarked, with nothing else inside, and always whole. Gives the number of their
  // iterations.
  Expr loops_inside(const std::vector<Var>& vars, const std::vector<Expr>& conditions) const {
    Expr iterations = make_const(int_type(64), 1);
    for (size_t k = position_; k < stage_.leaf_axes.size(); ++k) {
      iterations = iterations * cast(int_type(64), domains_.at(leaf(k)->var).extent);
      unmarked(leaf(k));
      nothing_inside(leaf(k));
      whole(leaf(k), vars[k], conditions);
    }
    return iterations;
  }

  // The iterations walk a block of the stage's axes, each point of it once.
  void is_block(const DomainMap& parts, const Expr& iterations, Analyzer& analyzer) const {
    Expr points = make_const(int_type(64), 1);
    for (const IterVar& root : stage_.op->root_axes())
      points = points * cast(int_type(64), parts.at(root->var).extent);
    if (!analyzer.can_prove_equal(points, iterations)) {
      fail(fmt::format("the {} iterations are no block of the stage's axes",
                       to_string(analyzer.simplify(iterations))),
           fmt::format("loops over blocks of {}", names(stage_.op->root_axes())));
    }
  }

  [[noreturn]] void no_match(const DomainMap& parts, const std::string& difference) const {
    std::string extents;
    for (const IterVar& root : stage_.op->root_axes()) {
      const Expr& extent = parts.at(root->var).extent;
      if (is_one(extent)) continue;
      extents +=
          fmt::format("{}{} < {}", extents.empty() ? "" : ", ", root.name(), to_string(extent));
    }
    fail(fmt::format("the loops from here on compute {} for {}, and '{}' computes {}; the first "
                     "difference: {}",
                     expression_text(stage_.op, false), extents.empty() ? "one point" : extents,
                     intrin_.name, expression_text(intrin_.op), difference),
         "loops of the same extents, and the same expression of them");
  }

  void has_update(const IterVar& first_reduction) const {
    if (intrin_.update.defined()) return;
    fail(fmt::format("'{}' is a loop of the reduction and stands outside, and '{}' has no reset "
                     "and update",
                     first_reduction.name(), intrin_.name),
         "tensorize from that loop on, or an intrinsic of a body, a reset and an update");
  }

  void scopes(const std::vector<IntrinOperand>& operands) const {
    for (size_t k = 0; k < operands.size(); ++k) {
      const StageData* source = find_stage(schedule_, operands[k].tensor.op().get());
      const std::string& wanted = intrin_.buffers[k].scope;
      // All but tile registers is memory, which can be addressed alike.
      const std::string& scope = source->storage.scope;
      if ((scope == attr::kTileScope) == (wanted == attr::kTileScope)) continue;
      fail(fmt::format("'{}' is stored in scope {}, and '{}' takes it from {}", source->name(),
                       scope.empty() ? "global" : scope, intrin_.name, wanted),
           fmt::format("set_scope, cache_read or cache_write with scope {}", wanted));
    }
  }

 private:
  const IterVar& leaf(size_t k) const { return stage_.leaf_axes[k]; }

  void unmarked(const IterVar& loop) const {
    const AxisAttributes* marks = stage_.attributes_of(loop);
    if (marks == nullptr || (marks->for_kind == ForKind::Serial && marks->pragmas.empty() &&
                             marks->prefetches.empty())) {
      return;
    }
    fail(fmt::format("'{}' is marked, and is a loop of '{}'", loop.name(), intrin_.name),
         "vectorize, parallel, unroll, pragma and prefetch outside the intrinsic");
  }

  void nothing_inside(const IterVar& loop) const {
    for (const auto& other : schedule_.stages) {
      if (other->attach_type != AttachType::Scope || !other->attach_axis.same_as(loop)) continue;
      fail(fmt::format("'{}' is computed inside '{}', a loop of '{}'", other->name(), loop.name(),
                       intrin_.name),
           "compute_at a loop outside the intrinsic");
    }
  }

  void whole(const IterVar& loop, const Var& var, const std::vector<Expr>& conditions) const {
    for (const Expr& condition : conditions) {
      if (!uses(condition, var)) continue;
      fail(fmt::format("'{}' runs beyond the tensor: {} must be tested", loop.name(),
                       to_string(as<Call>(condition)->args[0])),
           "extents that the factors of splits divide, or a tensor padded by transform_layout");
    }
  }

  [[noreturn]] void fail(std::string what, std::string legal) const {
    raise({.code = ErrorCode::CannotTensorize,
           .what = std::move(what),
           .stage = stage_.name(),
           .axis = position_ < stage_.leaf_axes.size() ? leaf(position_).name() : "",
           .where = line_of(schedule_, stage_, "tensorize"),
           .legal = std::move(legal)});
  }

  const ScheduleData& schedule_;
  const StageData& stage_;
  const TensorIntrinNode& intrin_;
  size_t position_;
  const DomainMap& domains_;
};

}  // namespace

Tensorized tensorized_part(const ScheduleData& schedule, const StageData& stage,
                           size_t first_reduction, const std::vector<Var>& vars,
                           const std::vector<Expr>& conditions, const DomainMap& domains,
                           Analyzer& analyzer) {
  const IntrinPlace place = intrin_of(stage);
  if (!place.defined()) return {};
  // Lowering takes what the name stands for now, which may have been declared since.
  Tensorized t{.intrin = tensor_intrin(place.intrin->name, stage.where),
               .position = place.position};
  const Check check(schedule, stage, t, domains);
  check.loops_around();
  const Expr iterations = check.loops_inside(vars, conditions);
  const DomainMap parts = root_ranges(stage, vars, t.position, domains, analyzer);
  check.is_block(parts, iterations, analyzer);
  auto match = match_intrin(stage.op, parts, *t.intrin, analyzer);
  if (!match) {
    check.no_match(parts, first_difference(stage.op, parts, *t.intrin, analyzer));
  }
  if (t.in_parts(first_reduction)) check.has_update(stage.leaf_axes[first_reduction]);
  check.scopes(match->operands);
  t.match = std::move(*match);
  return t;
}

}  // namespace tw
