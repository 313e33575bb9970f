// SPDX-License-Identifier: Apache-2.0
#include "schedule/tensor_intrin.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/print.h"
#include "ir/substitute.h"
#include "runtime/error.h"
#include "runtime/nearest_word.h"
#include "schedule/te/compute.h"

namespace tw {
namespace {

[[noreturn]] void bad(const std::string& name, std::string what, std::string legal = "") {
  raise({.code = ErrorCode::BadIntrinsic,
         .what = fmt::format("intrinsic '{}': {}", name, what),
         .legal = std::move(legal)});
}

void check_operation(const TensorIntrinParts& node) {
  const te::ComputeNode* compute = te::as_op<te::ComputeNode>(node.op);
  if (compute == nullptr) bad(node.name, "it computes nothing", "an operation of te.compute");
  for (const IterVar& axis : compute->all_axes) {
    const Expr& extent = axis->domain.extent;
    if (is_zero(axis->domain.min) && (as_const_int(extent) || is<Variable>(extent))) continue;
    bad(node.name,
        fmt::format("the extent of axis '{}' is neither a constant nor a variable", axis.name()),
        "axes from zero to a constant or a variable");
  }
  for (const te::Tensor& input : node.inputs) {
    if (input.op()->is_placeholder()) continue;
    bad(node.name, fmt::format("it reads '{}', which is computed", input.name()),
        "one operation that reads placeholders");
  }
}

void check_buffers(const TensorIntrinParts& node) {
  const size_t outputs = static_cast<size_t>(node.op->num_outputs());
  TW_CHECK(node.buffers.size() == node.inputs.size() + outputs, node.name);
  for (size_t k = 0; k < node.buffers.size(); ++k) {
    const IntrinBuffer& buffer = node.buffers[k];
    const te::Tensor tensor = k < node.inputs.size()
                                  ? node.inputs[k]
                                  : node.op.output(static_cast<int>(k - node.inputs.size()));
    const std::vector<Expr> shape = tensor.shape();
    if (tensor.dtype().is_vector()) {
      bad(node.name, fmt::format("elements of '{}' are {}", tensor.name(), to_string(buffer.dtype)),
          "scalars, of which statements load and store several lanes");
    }
    bool same = shape.size() == buffer.shape.size() && buffer.dtype == tensor.dtype();
    for (size_t d = 0; same && d < shape.size(); ++d) same = equal(shape[d], buffer.shape[d]);
    if (!same) {
      bad(node.name, fmt::format("buffer '{}' has not the shape and type of '{}'", buffer.name,
                                 tensor.name()));
    }
    if (!buffer.strides.empty() && buffer.strides.size() != shape.size()) {
      bad(node.name, fmt::format("buffer '{}' has {} strides", buffer.name, buffer.strides.size()),
          fmt::format("{}, one a dimension", shape.size()));
    }
  }
}

void check_statements(const TensorIntrinParts& node) {
  if (node.reset.defined() != node.update.defined()) {
    bad(node.name,
        node.reset.defined() ? "it has a reset and no update" : "it has an update and no reset",
        "a body, or a body, a reset and an update");
  }
  if (!node.body.defined() && !node.update.defined()) {
    bad(node.name, "it has no statements", "a body, or a body, a reset and an update");
  }
  if (node.update.defined() && !node.op->is_reduction()) {
    bad(node.name, "it has an update and is no reduction", "a body");
  }
}

void check_scalars(const TensorIntrinParts& node) {
  VarSet open;
  for (const Var& v : open_variables(node)) {
    if (!open.insert(v).second)
      bad(node.name, fmt::format("'{}' stands for two values", v.name()), "a variable for each");
  }
  for (const Var& v : node.scalar_params) {
    if (!node.reset.defined()) break;
    const std::vector<Var> used = free_vars(node.reset);
    if (std::ranges::none_of(used, [&](const Var& u) { return u.same_as(v); })) continue;
    bad(node.name, fmt::format("its reset uses the scalar parameter '{}'", v.name()),
        "scalars in the body and the update: they may differ from one update to the next");
  }
  // What nothing in the expression says has no value.
  VarSet known = open;
  const auto* compute = te::as_op<te::ComputeNode>(node.op);
  for (const IterVar& axis : compute->all_axes) known.insert(axis->var);
  VarSet used;
  for (const Expr& e : node.op->evaluated()) {
    for (const Var& v : free_vars(e)) {
      used.insert(v);
      if (known.contains(v)) continue;
      bad(node.name, fmt::format("it uses '{}', which is no axis of it and no extent", v.name()),
          "scalar_params, for what is given where the intrinsic stands");
    }
  }
  for (const Var& v : node.scalar_params) {
    if (!used.contains(v))
      bad(node.name, fmt::format("it does not use the scalar parameter '{}'", v.name()),
          "parameters that its expression has");
  }
}

struct Registry {
  std::mutex mutex;
  std::map<std::string, TensorIntrin, std::less<>> intrins;
  std::map<std::string, TensorIntrin, std::less<>> builtin;
  Registry() {
    for (const TensorIntrin& intrin : builtin_tensor_intrins()) builtin[intrin->name] = intrin;
    intrins = builtin;
  }
};
Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

std::string_view to_string(IntrinPart part) {
  switch (part) {
    case IntrinPart::Body:
      return "body";
    case IntrinPart::Reset:
      return "reset";
    case IntrinPart::Update:
      return "update";
  }
  return "";
}

std::vector<Expr> compact_strides(const std::vector<Expr>& shape) {
  std::vector<Expr> strides(shape.size());
  Expr stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride = stride * shape[d];
  }
  return strides;
}

IntrinBuffer decl_buffer(const std::vector<Expr>& shape, DType dtype, const std::string& name,
                         std::vector<Expr> strides, int64_t offset_factor, const std::string& scope,
                         int64_t data_alignment) {
  if (data_alignment > 0 && !std::has_single_bit(static_cast<uint64_t>(data_alignment))) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("data_alignment of buffer '{}' is {}", name, data_alignment),
           .legal = "a power of two, in bytes; or -1, for that of the type"});
  }
  return {.data = buffer_var(name, dtype),
          .dtype = dtype,
          .shape = shape,
          .strides = std::move(strides),
          .elem_offset = offset_factor > 0 ? Expr(Var(name + ".elem_offset", int_type(32))) : 0,
          .scope = scope.empty() ? "global" : scope,
          .data_alignment = data_alignment,
          .offset_factor = offset_factor,
          .name = name};
}

Expr address_of(const IntrinBuffer& buffer, const Expr& offset) {
  Expr element = buffer.elem_offset + offset;
  if (buffer.dtype.is_vector()) element = element * make_const(element.dtype(), buffer.dtype.lanes);
  const Expr first =
      make(Load{.type = buffer.dtype.element(), .buffer = buffer.data, .index = element});
  return call(handle_type(), "address_of", {first}, CallKind::PureIntrinsic);
}

TensorIntrin make_tensor_intrin(TensorIntrinParts parts) {
  if (parts.name.empty()) bad(parts.name, "it has no name", "a name, for traces");
  check_operation(parts);
  check_buffers(parts);
  check_statements(parts);
  check_scalars(parts);
  return TensorIntrin(new TensorIntrinNode(std::move(parts)));
}

std::vector<Var> open_variables(const TensorIntrinParts& intrin) {
  std::vector<Var> result;
  VarSet seen;
  for (const IterVar& axis : intrin.op->root_axes()) {
    const Variable* v = as<Variable>(axis->domain.extent);
    if (v != nullptr && seen.insert(Var(v)).second) result.push_back(Var(v));
  }
  result.insert(result.end(), intrin.scalar_params.begin(), intrin.scalar_params.end());
  return result;
}

void register_tensor_intrin(const TensorIntrin& intrin) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  if (r.builtin.contains(intrin->name)) bad(intrin->name, "the name is a built-in one's");
  r.intrins[intrin->name] = intrin;
}

TensorIntrin find_tensor_intrin(std::string_view name) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto it = r.intrins.find(name);
  return it == r.intrins.end() ? TensorIntrin() : it->second;
}

TensorIntrin tensor_intrin(std::string_view name, const std::string& where) {
  if (TensorIntrin found = find_tensor_intrin(name); found.defined()) return found;
  ErrorInfo info = unknown_tensor_intrin(name);
  info.where = where;
  raise(std::move(info));
}

ErrorInfo unknown_tensor_intrin(std::string_view name) {
  const std::vector<std::string> names = tensor_intrin_names();
  return {.code = ErrorCode::UnknownIntrinsic,
          .what = fmt::format("there is no tensor intrinsic '{}'{}", name,
                              suggestion(nearest_word(name, {names.begin(), names.end()}))),
          .legal = "te.decl_tensor_intrin before the trace is replayed, or a built-in one"};
}

std::vector<std::string> tensor_intrin_names() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  std::vector<std::string> names;
  for (const auto& entry : r.intrins) names.push_back(entry.first);
  return names;
}

std::string expression_text(const te::Operation& op, bool extents) {
  const te::ComputeNode* compute = te::as_op<te::ComputeNode>(op);
  TW_CHECK(compute != nullptr, op.name());
  std::string text = op.name() + "(";
  for (size_t k = 0; k < compute->axis.size(); ++k)
    text += (k == 0 ? "" : ", ") + compute->axis[k].name();
  text += ") " + std::string(compute->is_reduction() ? "reduces " : "= ");
  const Reduce* reduce = as<Reduce>(compute->body[0]);
  for (size_t k = 0; k < (reduce ? reduce->source.size() : compute->body.size()); ++k)
    text += (k == 0 ? "" : ", ") + to_string(reduce ? reduce->source[k] : compute->body[k]);
  for (size_t k = 0; k < compute->init.size(); ++k)
    text += (k == 0 ? " from " : ", ") + to_string(compute->init[k]);
  for (const IterVar& axis : compute->all_axes) {
    if (!extents) break;
    text += fmt::format(", {} < {}", axis.name(), to_string(axis->domain.extent));
  }
  return text;
}

}  // namespace tw
