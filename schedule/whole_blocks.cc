// SPDX-License-Identifier: Apache-2.0
#include "schedule/whole_blocks.h"

#include <algorithm>
#include <optional>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "schedule/te/reducers.h"
#include "schedule/tensor_intrin.h"

namespace tw {
namespace {

constexpr int kMostCopies = 8;  // between a factor and the tiles it comes from

bool has_axis(const TensorIntrin& intrin, int64_t extent) {
  return std::ranges::any_of(intrin->op->root_axes(), [&](const IterVar& axis) {
    return as_const_int(axis->domain.extent) == extent;
  });
}

// How long the blocks are that the axis is cut into by the first split of it; nothing where an
// intrinsic does not compute just these.
std::optional<int64_t> block_of(const StageData& stage, const IterVar& axis) {
  const auto [intrin, position] = intrin_of(stage);
  if (!intrin.defined()) return std::nullopt;
  Var whole = axis->var;
  for (const RelationRef& relation : stage.relations) {
    if (const auto* rebase = dynamic_cast<const RebaseRelation*>(relation.get());
        rebase != nullptr && rebase->parent->var.same_as(whole)) {
      whole = rebase->rebased->var;
    }
    const auto* split = dynamic_cast<const SplitRelation*>(relation.get());
    if (split == nullptr || !split->parent->var.same_as(whole)) continue;
    const auto factor = split->factor.defined() ? as_const_int(split->factor) : std::nullopt;
    if (!factor || !has_axis(intrin, *factor)) return std::nullopt;
    for (size_t k = position; k < stage.leaf_axes.size(); ++k) {
      if (stage.leaf_axes[k]->var.same_as(split->inner->var)) return factor;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

// The extent rounded up; undefined where there is nothing to round.
Expr in_blocks(const StageData& stage, const IterVar& axis, const Expr& extent) {
  const auto size = as_const_int(extent), block = block_of(stage, axis);
  if (!size || !block || *size % *block == 0) return {};
  return make_const(extent.dtype(), (*size + *block - 1) / *block * *block);
}

bool is_zero_value(const Expr& e) {
  const FloatImm* value = as<FloatImm>(e);
  return value != nullptr ? value->value == 0 : is_zero(e);
}

// Whether expressions are zero beyond the end of an axis, which `beyond` stands for there.
class ZeroBeyond {
 public:
  ZeroBeyond(const ScheduleData& schedule, const Var& beyond, Analyzer& analyzer)
      : schedule_(schedule), beyond_(beyond), analyzer_(analyzer) {}

  bool product(const Expr& e) const {
    const Mul* mul = as<Mul>(e);
    // Zero times what is no number is none, so that both have to be zero.
    return mul ? product(mul->a) && product(mul->b) : zero(e, kMostCopies);
  }

 private:
  bool zero(const Expr& e, int copies) const {
    if (const Cast* cast = as<Cast>(e)) return zero(cast->value, copies);
    if (const Call* call = as<Call>(e); call && call->name == "if_then_else") {
      if (!is_zero_value(call->args[2])) return false;
      return never(call->args[0]) || zero(call->args[1], copies);
    }
    const ProducerLoad* load = as<ProducerLoad>(e);
    return load != nullptr && copies > 0 && read(*load, copies - 1);
  }

  bool read(const ProducerLoad& load, int copies) const {
    const std::vector<Expr> shape = load.producer->output_shape(load.value_index);
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const Expr& index = load.indices[d];
      if (!uses(index, beyond_)) continue;
      if (!analyzer_.can_prove(index >= 0) || !analyzer_.can_prove(index < shape[d])) return false;
    }
    const StageData* source = find_stage(schedule_, load.producer.get());
    if (source == nullptr || is_placeholder(*source)) return false;
    const Expr value = source->op->value_at(load.value_index, load.indices);
    return value.defined() && zero(value, copies);
  }

  bool never(const Expr& condition) const {
    if (const Call* call = as<Call>(condition); call && call->name == "likely")
      return never(call->args[0]);
    if (const And* both = as<And>(condition)) return never(both->a) || never(both->b);
    const Less* less = as<Less>(condition);
    return less != nullptr && analyzer_.can_prove(less->a >= less->b);
  }

  const ScheduleData& schedule_;
  const Var& beyond_;
  Analyzer& analyzer_;
};

// The terms of a sum of one component without a condition; undefined for other reductions.
Expr terms_of(const te::Operation& op) {
  const std::vector<Expr> evaluated = op->evaluated();
  if (evaluated.size() != 1 || !is<Reduce>(evaluated[0])) return {};
  const Reduce& reduce = *as<Reduce>(evaluated[0]);
  if (reduce.condition.defined() && !is_const_int(reduce.condition, 1)) return {};
  return te::reducer_name(reduce.combiner) == "sum" ? reduce.source[0] : Expr();
}

}  // namespace

Expr region_of_blocks(const StageData& stage, const IterVar& axis, const Expr& extent) {
  const Expr whole = in_blocks(stage, axis, extent);
  return whole.defined() ? whole : extent;
}

Range domain_of_blocks(const ScheduleData& schedule, const StageData& stage, const IterVar& axis,
                       Analyzer& analyzer) {
  const Range& domain = axis->domain;
  const Expr whole = in_blocks(stage, axis, domain.extent);
  const Expr terms = whole.defined() ? terms_of(stage.op) : Expr();
  if (!terms.defined() || !is_zero(domain.min)) return domain;
  const Var beyond(axis.name() + ".beyond", axis->var.dtype());
  analyzer.bind(beyond, Range{domain.extent, whole - domain.extent});
  const VarMap values = {{axis->var, beyond}};
  const ZeroBeyond check(schedule, beyond, analyzer);
  return check.product(substitute(terms, values)) ? Range{domain.min, whole} : domain;
}

}  // namespace tw
