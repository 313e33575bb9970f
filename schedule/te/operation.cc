// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/check_body.h"
#include "schedule/te/start.h"

namespace tw::te {
namespace {

void visit_operation(const Operation& op, std::unordered_set<const OperationNode*>& seen,
                     std::vector<Operation>& order) {
  if (!seen.insert(op.get()).second) return;
  for (const Tensor& input : op->input_tensors()) visit_operation(input.op(), seen, order);
  for (const Part& part : op->parts()) visit_operation(part.tensor.op(), seen, order);
  order.push_back(op);
}

bool has_empty(const std::vector<IterVar>& axes) {
  return std::ranges::any_of(axes, [](const IterVar& a) { return is_zero(a->domain.extent); });
}

}  // namespace

bool OperationNode::is_reduction() const {
  return std::ranges::any_of(root_axes(),
                             [](const IterVar& a) { return a->kind == IterKind::Reduction; });
}

bool OperationNode::has_elements() const { return !has_empty(data_axes()); }
bool OperationNode::has_points() const {
  return !has_empty(root_axes()) || (has_elements() && !started_from(*this).empty());
}

std::vector<Tensor> OperationNode::input_tensors() const {
  std::vector<Tensor> inputs;
  for (const Expr& e : evaluated()) {
    for_each_expr(e, [&](const Expr& sub) {
      const ProducerLoad* load = as<ProducerLoad>(sub);
      if (!load) return;
      const auto* node = as_op<OperationNode>(load->producer);
      TW_CHECK(node != nullptr, "an operation reads something that is none");
      const Tensor t(Operation(node), load->value_index);
      if (std::ranges::find(inputs, t) == inputs.end()) inputs.push_back(t);
    });
  }
  return inputs;
}

const std::vector<IterVar>& OperationNode::intrin_axes() const {
  static const std::vector<IterVar> none;
  return none;
}
Expr OperationNode::value_at(int, const std::vector<Expr>&) const { return {}; }
Stmt OperationNode::initialization(const VarMap&) const { return {}; }
std::vector<Part> OperationNode::parts() const { return {}; }
std::vector<Tensor> OperationNode::step_inputs() const { return {}; }

Tensor Operation::output(int value_index) const {
  TW_CHECK(0 <= value_index && value_index < get()->num_outputs(), "no such output");
  return Tensor(*this, value_index);
}

std::vector<Tensor> Operation::outputs() const {
  std::vector<Tensor> result;
  for (int k = 0; k < get()->num_outputs(); ++k) result.push_back(output(k));
  return result;
}

Expr Tensor::operator()(const std::vector<Expr>& indices) const {
  TW_CHECK(defined(), "an undefined tensor is read");
  if (indices.size() != shape().size()) {
    raise(
        {.code = ErrorCode::IndexCount,
         .what = fmt::format("{} indices for a tensor of rank {}", indices.size(), shape().size()),
         .stage = name(),
         .legal = "one index for each dimension"});
  }
  for (const Expr& i : indices) check_index(i, name());
  return make(ProducerLoad{.producer = op_, .value_index = value_index_, .indices = indices});
}

Var var(const std::string& name, DType type) { return Var(name, type); }

bool is_constant(const Tensor& t) { return t.op()->is_constant(); }

std::vector<Operation> operations(const std::vector<Tensor>& outputs) {
  std::vector<Operation> order;
  std::unordered_set<const OperationNode*> seen;
  for (const Tensor& t : outputs) {
    TW_CHECK(t.defined(), "an output is undefined");
    visit_operation(t.op(), seen, order);
  }
  return order;
}

std::vector<Operation> operations_of_parts(const Operation& op) {
  std::vector<Tensor> updates, from = op->step_inputs(), inits;
  for (const Part& part : op->parts()) {
    (part.role == Part::Role::State    ? from
     : part.role == Part::Role::Update ? updates
                                       : inits)
        .push_back(part.tensor);
  }
  std::unordered_set<const Producer*> reached, needed;
  const std::vector<Operation> order = operations(updates);
  for (const Operation& o : order) {
    for (const Tensor& t : o->input_tensors()) {
      const bool start = std::ranges::find(from, t) != from.end();
      if (start || reached.contains(t.op().get())) reached.insert(o.get());
    }
  }
  std::vector<Operation> result;
  for (const Tensor& t : inits) result.push_back(t.op());
  for (const Tensor& t : updates) needed.insert(t.op().get());
  for (size_t k = order.size(); k-- > 0;) {
    if (!needed.contains(order[k].get())) continue;
    result.push_back(order[k]);
    for (const Tensor& t : order[k]->input_tensors()) {
      if (reached.contains(t.op().get())) needed.insert(t.op().get());
    }
  }
  std::ranges::reverse(result);
  return result;
}

std::vector<Tensor> placeholders(const std::vector<Tensor>& outputs) {
  const std::vector<Operation> all = operations(outputs);
  std::vector<Tensor> states, result;
  for (const Operation& op : all) {
    for (const Part& part : op->parts()) {
      if (part.role == Part::Role::State) states.push_back(part.tensor);
    }
  }
  for (const Operation& op : all) {
    if (!op->is_placeholder()) continue;
    if (std::ranges::find(states, op.output(0)) == states.end()) result.push_back(op.output(0));
  }
  return result;
}

}  // namespace tw::te
