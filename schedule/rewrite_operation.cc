// SPDX-License-Identifier: Apache-2.0
#include "schedule/rewrite_operation.h"

#include "ir/expr.h"
#include "ir/visit.h"
#include "runtime/error.h"

namespace tw {
namespace {

class ReadRewriter : public Mutator {
 public:
  explicit ReadRewriter(const ReadRewrite& f) : f_(f) {}

 protected:
  using Mutator::on;
  Expr on(const ProducerLoad& op, const Expr& self) override {
    const Expr read = Mutator::on(op, self);
    const Expr replaced = f_(*as<ProducerLoad>(read));
    return replaced.defined() ? replaced : read;
  }

 private:
  const ReadRewrite& f_;
};

// The bodies from the first one: those of a reduction differ in the component they take only.
template <class F>
std::vector<Expr> map_bodies(const te::ComputeNode& op, F f) {
  std::vector<Expr> result;
  for (const Expr& body : op.body) {
    if (!op.is_reduction() || result.empty()) {
      result.push_back(f(body));
    } else {
      const int value_index = as<Reduce>(body)->value_index;
      result.push_back(with(result[0], [&](Reduce& r) { r.value_index = value_index; }));
    }
  }
  return result;
}

}  // namespace

te::Operation rewrite_reads(const te::Operation& op, const ReadRewrite& f) {
  const te::ComputeNode* compute = te::as_op<te::ComputeNode>(op);
  if (compute == nullptr) return op;
  ReadRewriter rewriter(f);
  return te::compute_op(
      op->name, compute->axis,
      map_bodies(*compute, [&](const Expr& body) { return rewriter.mutate(body); }), op->tag,
      op->attributes);
}

te::Operation replace_axes(const te::Operation& op, std::string name, const AxisReplacement& axes) {
  const te::ComputeNode* compute = te::as_op<te::ComputeNode>(op);
  TW_CHECK(compute != nullptr);
  VarMap map;
  for (const auto& [old_axis, new_axis] : axes) map[old_axis->var] = new_axis->var;
  auto replace = [&](const IterVar& axis) {
    for (const auto& [old_axis, new_axis] : axes) {
      if (old_axis->var.same_as(axis->var)) return new_axis;
    }
    return axis;
  };
  std::vector<IterVar> data;
  for (const IterVar& axis : compute->axis) data.push_back(replace(axis));
  auto body = [&](const Expr& e) {
    if (!is<Reduce>(e)) return substitute(e, map);
    return with(e, [&](Reduce& r) {
      for (Expr& source : r.source) source = substitute(source, map);
      if (r.condition.defined()) r.condition = substitute(r.condition, map);
      for (IterVar& axis : r.axis) axis = replace(axis);
    });
  };
  return te::compute_op(std::move(name), std::move(data), map_bodies(*compute, body), op->tag,
                        op->attributes);
}

Expr guarded_condition(const Expr& outer, const Expr& inner) {
  bool reads = false;
  for_each_expr(inner, [&](const Expr& e) { reads |= is<ProducerLoad>(e); });
  return reads ? if_then_else(outer, inner, make_bool(false)) : outer && inner;
}

te::Operation change_axes(const te::Operation& op, std::vector<IterVar> data_axes,
                          const VarMap& values, const Expr& inside) {
  const te::ComputeNode* compute = te::as_op<te::ComputeNode>(op);
  TW_CHECK(compute != nullptr);
  auto body = [&](const Expr& e) {
    if (!is<Reduce>(e)) {
      const Expr value = substitute(e, values);
      return inside.defined() ? if_then_else(inside, value, make_zero(value.dtype())) : value;
    }
    return with(e, [&](Reduce& r) {
      for (Expr& source : r.source) source = substitute(source, values);
      if (r.condition.defined()) r.condition = substitute(r.condition, values);
      if (!inside.defined()) return;
      const bool always = !r.condition.defined() || is_const_int(r.condition, 1);
      r.condition = always ? inside : guarded_condition(inside, r.condition);
    });
  };
  return te::compute_op(op->name, std::move(data_axes), map_bodies(*compute, body), op->tag,
                        op->attributes);
}

}  // namespace tw
