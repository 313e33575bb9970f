// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/extern.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/attributes.h"
#include "ir/changes.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/check_body.h"
#include "schedule/te/check_statements.h"
#include "schedule/te/evaluation.h"
#include "schedule/te/writer.h"

namespace tw::te {
namespace {

// Runs the statements when an element is first read.
class ExternEvaluator : public PointEvaluator {
 public:
  ExternEvaluator(Evaluation& run, const ExternNode& op) : run_(run), op_(op) {}

  void compute(int64_t, int) override {
    if (!done_) run_all();
  }

 private:
  void run_all() {
    InterpreterScope scope = run_.scalars();
    std::vector<std::unique_ptr<InterpreterBuffer>> buffers;
    const auto bind = [&](const Producer* producer, int value_index) {
      TensorState& t = run_.tensor(producer, value_index);
      const auto size = static_cast<int64_t>(t.values.size());
      buffers.push_back(std::make_unique<InterpreterBuffer>(t.type, size));
      scope.producers[{producer, value_index}] = buffers.back().get();
      return &t;
    };
    const auto flat = [](const TensorState& t, int64_t i) { return i / t.lanes; };
    const auto lane = [](const TensorState& t, int64_t i) { return static_cast<int>(i % t.lanes); };
    for (const Tensor& t : op_.inputs) {
      if (scope.producers.contains({t.op().get(), t.value_index()})) continue;
      TensorState& from = *bind(t.op().get(), t.value_index());
      for (int64_t i = 0; i < buffers.back()->size(); ++i) {
        // An argument may have elements that were never written; the statements may not read them.
        if (!from.known[static_cast<size_t>(i)] && from.producer == nullptr) continue;
        buffers.back()->set_raw(i, {.i = from.read(flat(from, i), lane(from, i)).i});
      }
    }
    std::vector<TensorState*> outputs;
    const size_t first = buffers.size();
    for (int k = 0; k < op_.num_outputs(); ++k) outputs.push_back(bind(&op_, k));
    std::vector<Expr> conditions;
    interpret(op_.update({}, conditions), scope);
    for (size_t k = 0; k < outputs.size(); ++k) {
      const InterpreterBuffer& buffer = *buffers[first + k];
      for (int64_t i = 0; i < buffer.size(); ++i) {
        TensorState& out = *outputs[k];
        if (buffer.written(i)) out.set(flat(out, i), lane(out, i), {.i = buffer.raw(i).i});
      }
    }
    done_ = true;
  }

  Evaluation& run_;
  const ExternNode& op_;
  bool done_ = false;
};

Expr whole(const Tensor& t) {
  return make(ProducerLoad{.producer = t.op(),
                           .value_index = t.value_index(),
                           .indices = std::vector<Expr>(t.shape().size())});
}

Expr first_element(const Tensor& t) {
  std::vector<Expr> zeros;
  for (const Expr& extent : t.shape()) zeros.push_back(make_zero(extent.dtype()));
  return make(ProducerLoad{
      .producer = t.op(), .value_index = t.value_index(), .indices = std::move(zeros)});
}

Stmt copy(const Tensor& from, const Tensor& to) {
  std::vector<Var> loops;
  const std::vector<Expr> shape = to.shape();
  for (size_t d = 0; d < shape.size(); ++d)
    loops.emplace_back(fmt::format("i{}", d), shape[d].dtype());
  const std::vector<Expr> at(loops.begin(), loops.end());
  Stmt body = make(Provide{
      .producer = to.op(), .value_index = to.value_index(), .value = from(at), .indices = at});
  for (size_t d = shape.size(); d-- > 0;) {
    body = make(
        For{.var = loops[d], .min = make_zero(shape[d].dtype()), .extent = shape[d], .body = body});
  }
  return body;
}

void check(const ExternParts& parts) {
  const auto refuse = [&](ErrorCode code, std::string what, std::string legal) {
    raise({.code = code, .what = std::move(what), .stage = parts.name, .legal = std::move(legal)});
  };
  if (parts.outputs.empty()) {
    refuse(ErrorCode::BadArgument, "an extern without outputs", "at least one");
  }
  if (!parts.body.defined()) {
    refuse(ErrorCode::BadArgument, "an extern without statements", "statements");
  }
  const size_t inputs = parts.inputs.size();
  if (parts.memory.size() != inputs + parts.outputs.size()) {
    refuse(ErrorCode::BadArgument, "memory for another number of tensors", "one for each tensor");
  }
  VarSet known;
  const auto declare = [&](const std::vector<Expr>& shape) {
    for (const Expr& e : shape) {
      for (const Var& v : free_vars(e)) known.insert(v);
    }
  };
  for (const ExternOutput& out : parts.outputs) {
    check_shape(out.shape, parts.name);
    check_element_type(out.dtype, "an extern", parts.name);
    declare(out.shape);
  }
  for (size_t k = 0; k < parts.memory.size(); ++k) {
    const Var& buffer = parts.memory[k];
    const DType type = k < inputs ? parts.inputs[k].dtype() : parts.outputs[k - inputs].dtype;
    if (k < inputs) declare(parts.inputs[k].shape());
    if (!buffer.dtype().is_handle() || buffer->element != type.element()) {
      refuse(ErrorCode::TypeMismatch,
             fmt::format("memory '{}' is not of {}", buffer.name(), to_string(type)),
             "the element type of the tensor");
    }
    for (size_t j = 0; j < k; ++j) {
      if (!parts.memory[j].same_as(buffer)) continue;
      const bool in_place = j < inputs && k >= inputs;
      const size_t rank = in_place ? parts.inputs[j].shape().size() : 0;
      bool equal = in_place && rank == parts.outputs[k - inputs].shape.size();
      for (size_t d = 0; equal && d < rank; ++d) {
        const Expr a = parts.inputs[j].shape()[d], b = parts.outputs[k - inputs].shape[d];
        const auto x = as_const_int(a), y = as_const_int(b);
        equal = a.same_as(b) || (x && y && *x == *y);
      }
      if (equal) continue;
      refuse(ErrorCode::BadArgument, fmt::format("memory '{}' of two tensors", buffer.name()),
             "memory of one tensor, or of one input and one output of equal shape");
    }
    known.insert(buffer);
  }
  for (const Var& v : free_vars(parts.body)) {
    if (known.contains(v)) continue;
    refuse(
        ErrorCode::UnboundVariable,
        fmt::format("'{}' is no memory of its tensors and no variable of their shapes", v.name()),
        "what fcompute is given, loops and allocations of its own");
  }
}

}  // namespace

const std::vector<IterVar>& ExternNode::root_axes() const {
  static const std::vector<IterVar> none;
  return none;
}

std::vector<Expr> ExternNode::evaluated() const {
  std::vector<Expr> reads;
  for (const Tensor& t : inputs) reads.push_back(whole(t));
  return reads;
}

std::vector<Range> ExternNode::realized(int value_index, const DomainMap&) const {
  std::vector<Range> bounds;
  for (const Expr& extent : output_shape(value_index))
    bounds.push_back({make_zero(extent.dtype()), extent});
  return bounds;
}

Stmt ExternNode::update(const VarMap&, std::vector<Expr>&) const {
  Stmt statements = hold_changing_bounds(rename_bindings(body));
  std::vector<Stmt> copies;
  for (size_t k = memory.size(); k-- > 0;) {
    const bool output = k >= inputs.size();
    const Tensor t =
        output ? Operation(this).output(static_cast<int>(k - inputs.size())) : inputs[k];
    size_t later = k + 1;
    while (later < memory.size() && !memory[later].same_as(memory[k])) ++later;
    if (!output && later < memory.size()) {
      copies.push_back(copy(t, Operation(this).output(static_cast<int>(later - inputs.size()))));
      continue;
    }
    const Var buffer = buffer_var(memory[k].name(), t.dtype());
    statements = substitute(
        statements, [&](const Var& v) { return v.same_as(memory[k]) ? Expr(buffer) : Expr(); });
    statements = make(AttrStmt{
        .node = buffer, .key = attr::kBufferBind, .value = first_element(t), .body = statements});
  }
  copies.push_back(statements);
  return block(copies);
}

Operation ExternNode::with_reads(const ReadRewrite& f) const {
  auto* node = new ExternNode(*this);
  const Operation result(node);
  node->serial = next_serial();
  for (Tensor& t : node->inputs) {
    const Expr next = f(*as<ProducerLoad>(whole(t)));
    if (!next.defined()) continue;
    const ProducerLoad* load = as<ProducerLoad>(next);
    TW_CHECK(load != nullptr, "an input of an extern that is not stored");
    t = Tensor(Operation(as_op<OperationNode>(load->producer)), load->value_index);
  }
  return result;
}

Operation ExternNode::with_axes(const std::string& new_name, const AxisReplacement&) const {
  auto* node = new ExternNode(*this);
  node->serial = next_serial();
  node->name = new_name;
  return Operation(node);
}

void ExternNode::write(Writer& out) const {
  out.check_textual(body, memory, *this);
  Names scope = out.names();
  out.put("extern(inputs=");
  out.tensors(inputs);
  out.put(", outputs=[");
  for (size_t k = 0; k < outputs.size(); ++k) {
    out.put(k == 0 ? "" : ", ", to_string(outputs[k].dtype), ": ");
    out.list(outputs[k].shape, scope);
  }
  out.put("], memory=[");
  for (size_t k = 0; k < memory.size(); ++k)
    out.put(k == 0 ? "" : ", ", scope.of(memory[k].operator->()));
  out.put("], body=", to_string(make(StringImm{.value = to_string(body, scope)})));
}

std::unique_ptr<PointEvaluator> ExternNode::evaluator(Evaluation& run) const {
  return std::make_unique<ExternEvaluator>(run, *this);
}

Operation extern_op(ExternParts parts) {
  check(parts);
  parts.body = checked_statements(parts.body, parts.name);
  auto* node = new ExternNode;
  node->findings = check_statements(parts);
  node->name = std::move(parts.name);
  node->inputs = std::move(parts.inputs);
  node->outputs = std::move(parts.outputs);
  node->memory = std::move(parts.memory);
  node->body = std::move(parts.body);
  node->tag = std::move(parts.tag);
  node->attributes = std::move(parts.attributes);
  return Operation(node);
}

}  // namespace tw::te
