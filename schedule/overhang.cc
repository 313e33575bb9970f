// SPDX-License-Identifier: Apache-2.0
#include "schedule/overhang.h"

#include <functional>

#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "schedule/index_range.h"
#include "schedule/scan_stages.h"

namespace tw {
namespace {

const Expr& plain(const Expr& condition) {
  const Call* call = as<Call>(condition);
  return call && call->name == "likely" ? call->args[0] : condition;
}

// Visits the reads of an expression with the conditions `a < b` under which they happen.
class Reads : public Visitor {
 public:
  using Check =
      std::function<bool(const ProducerLoad& read, const std::vector<const Less*>& known)>;
  explicit Reads(const Check& check) : check_(check) {}
  bool good = true;

 protected:
  using Visitor::on;
  void on(const Reduce& op) override {
    visit(op.condition);
    given(op.condition.defined() ? op.condition : make_bool(true), [&] {
      for (const Expr& source : op.source) visit(source);
    });
  }
  void on(const Call& op) override {
    if (op.name != "if_then_else") return Visitor::on(op);
    visit(op.args[0]);
    given(op.args[0], [&] { visit(op.args[1]); });
    visit(op.args[2]);
  }
  void on(const ProducerLoad& op) override {
    Visitor::on(op);
    good = good && check_(op, known_);
  }
  // A divisor that is not a constant may be zero where nobody looks.
  void on(const Div& op) override { divide(op); }
  void on(const Mod& op) override { divide(op); }
  void on(const FloorDiv& op) override { divide(op); }
  void on(const FloorMod& op) override { divide(op); }

 private:
  void given(const Expr& condition, const std::function<void()>& inside) {
    const size_t before = known_.size();
    assume(condition);
    inside();
    known_.resize(before);
  }
  template <class N>
  void divide(const N& op) {
    good = good && (is_const(op.b) || op.b.dtype().is_float());
    Visitor::on(op);
  }
  void assume(const Expr& condition) {
    const Expr& c = plain(condition);
    if (const And* both = as<And>(c)) {
      assume(both->a);
      assume(both->b);
    } else if (const Less* less = as<Less>(c)) {
      known_.push_back(less);
    }
  }
  const Check& check_;
  std::vector<const Less*> known_;
};

}  // namespace

Overhang::Overhang(const ScheduleData& schedule, const DomainMap& domains, Analyzer& analyzer)
    : schedule_(schedule), domains_(domains), analyzer_(analyzer) {
  for (size_t k = schedule_.stages.size(); k-- > 0;) {
    const StageData& stage = *schedule_.stages[k];
    if (stage.attach_type != AttachType::Scope || !stage.op->parts().empty()) continue;
    if (holder_of(schedule_, stage) != nullptr) continue;  // its neighbours are in other rows
    std::set<size_t> axes;
    for (size_t d = 0; d < stage.op->data_axes().size(); ++d) {
      if (is_register_tile(stage, d) && overhangs(stage, d)) axes.insert(d);
    }
    if (axes.empty()) continue;
    std::vector<std::set<size_t>> choices = {axes};
    for (size_t d : axes) {
      if (axes.size() > 1) choices.push_back({d});
    }
    for (const std::set<size_t>& choice : choices) {
      Points points = free_;
      if (!is_harmless(stage, choice, points)) continue;
      free_ = std::move(points);
      for (size_t d : choice) free_.insert({&stage, d});
      if (choice.size() == axes.size()) break;
    }
  }
}

// Whether the region may reach outside the tensor.
bool Overhang::overhangs(const StageData& stage, size_t d) {
  const IterVar& axis = stage.op->data_axes()[d];
  return !contains(axis->domain, domains_.at(axis->var));
}

// All loops that the axis moves with are unrolled, run in lanes or are an intrinsic's.
bool Overhang::is_register_tile(const StageData& stage, size_t d) const {
  VarSet moving = {stage.op->data_axes()[d]->var};
  for (const RelationRef& relation : stage.relations) {
    bool moves = false;
    for (const IterVar& parent : relation->parents()) moves |= moving.contains(parent->var);
    if (!moves) continue;
    for (const IterVar& child : relation->children()) moving.insert(child->var);
  }
  const IntrinPlace place = intrin_of(stage);
  const size_t loops = place.defined() ? place.position : stage.leaf_axes.size();
  for (size_t k = 0; k < loops; ++k) {
    const IterVar& leaf = stage.leaf_axes[k];
    const AxisAttributes* marks = stage.attributes_of(leaf);
    if (!moving.contains(leaf->var)) continue;
    const bool once = is_one(domains_.at(leaf->var).extent);
    const ForKind kind = marks ? marks->for_kind : ForKind::Serial;
    if (!once && kind != ForKind::Unrolled && kind != ForKind::Vectorized) return false;
  }
  return true;
}

bool Overhang::contains(const Range& outer, const Range& inner) {
  if (!is_known(inner)) return false;
  if (is_same(inner, outer)) return true;
  return analyzer_.can_prove(inner.min >= outer.min) &&
         analyzer_.can_prove(inner.min + inner.extent <= outer.min + outer.extent);
}

bool Overhang::is_harmless(const StageData& stage, const std::set<size_t>& axes, Points& points) {
  const std::vector<IterVar>& axes_of_stage = stage.op->data_axes();
  DomainMap ranges;
  for (const IterVar& axis : stage.op->root_axes()) ranges[axis->var] = domains_.at(axis->var);
  for (size_t d = 0; d < axes_of_stage.size(); ++d) {
    const IterVar& axis = axes_of_stage[d];
    const bool outside = axes.contains(d) || points.contains({&stage, d});
    const Range& region = domains_.at(axis->var);
    ranges[axis->var] = outside || contains(axis->domain, region) ? region : axis->domain;
  }
  const IndexRange range_of(ranges, analyzer_);
  const Reads::Check check = [&](const ProducerLoad& read, const std::vector<const Less*>& known) {
    const StageData* source = find_stage(schedule_, read.producer.get());
    const std::vector<Expr> shape = read.producer->output_shape(read.value_index);
    for (size_t j = 0; j < read.indices.size(); ++j) {
      const Range range = range_of(read.indices[j]);
      if (!is_known(range)) return false;
      const Range whole{make_zero(shape[j].dtype()), shape[j]};
      bool below = false;
      for (const Less* less : known)
        below |= equal(less->a, read.indices[j]) && analyzer_.can_prove(less->b <= shape[j]);
      if (below ? analyzer_.can_prove(range.min >= whole.min) : contains(whole, range)) continue;
      // Outside the tensor there is memory only where the producer's region is, and values only
      // where the producer computes all of it.
      if (source == nullptr || source->attach_type != AttachType::Scope) return false;
      if (!contains(domains_.at(source->op->data_axes()[j]->var), range)) return false;
      if (points.contains({source, j})) continue;
      if (!is_harmless(*source, {j}, points)) return false;
      points.insert({source, j});
    }
    return true;
  };
  Reads reads(check);
  for (const Expr& e : stage.op->evaluated()) reads.visit(e);
  return reads.good;
}

}  // namespace tw
