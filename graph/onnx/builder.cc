// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx/builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <limits>

#include "graph/inference.h"
#include "graph/op.h"
#include "graph/ops/common.h"
#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/te/evaluate.h"
#include "schedule/te/text.h"
#include "schedule/topi/topi.h"

namespace tw::graph::onnx {
namespace {

// What a node may have of elements, inputs and outputs together, to be folded: arithmetic of shapes
// has a handful. What is larger is computed when the network is built.
constexpr int64_t kSmall = 4096;

// A rule is applied until it says nothing new.
template <class Known>
void infer(const Node& node, const AttributeValues& attributes, std::vector<Known>& inputs,
           std::vector<Known>& outputs, const std::function<void(Inference<Known>&)>& rule,
           ErrorCode conflict) {
  if (!rule) return;
  for (int round = 0; round < 4; ++round) {
    Inference<Known> inference(node, attributes, inputs, outputs, conflict);
    rule(inference);
    if (!inference.changed()) return;
  }
}

// Sizes multiply without overflow behind this, and kernels can count the elements of a dimension.
void check_size(const std::vector<int64_t>& shape, DType dtype, const std::string& what) {
  int64_t bytes = dtype.element_bytes();
  for (int64_t extent : shape) {
    const bool counts = extent >= 0 && extent <= std::numeric_limits<int32_t>::max();
    if (counts && !__builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes)) continue;
    raise({.code = ErrorCode::BadShape,
           .what = fmt::format("{} has shape {}", what, to_string(Shape(shape))),
           .legal = fmt::format("extents from 0 to {}, and bytes that 63 bits count",
                                std::numeric_limits<int32_t>::max())});
  }
}

InterpreterBuffer buffer_of(const NDArray& array) {
  return InterpreterBuffer::from_bytes(array.dtype(), array.data(), array.size());
}

}  // namespace

int64_t Value::elements() const {
  int64_t n = 1;
  for (int64_t extent : shape()) n *= extent;
  return n;
}

std::vector<int64_t> integers_in(const NDArray& array) {
  const InterpreterBuffer buffer = buffer_of(array);
  std::vector<int64_t> elements;
  for (int64_t k = 0; k < buffer.size(); ++k) elements.push_back(buffer.at(k).i);
  return elements;
}

std::vector<double> reals_in(const NDArray& array) {
  const InterpreterBuffer buffer = buffer_of(array);
  const bool real = array.dtype().is_float();
  std::vector<double> elements;
  for (int64_t k = 0; k < buffer.size(); ++k) {
    const tw::Value v = buffer.at(k);
    elements.push_back(real ? v.f : static_cast<double>(v.i));
  }
  return elements;
}

NDArray array_of(const std::vector<int64_t>& elements, const std::vector<int64_t>& shape,
                 DType dtype) {
  NDArray array = NDArray::empty(shape, dtype);
  TW_CHECK(array.size() == static_cast<int64_t>(elements.size()));
  InterpreterBuffer buffer(dtype, array.size());
  for (size_t k = 0; k < elements.size(); ++k) {
    buffer.set(static_cast<int64_t>(k), {.type = int_type(64), .i = elements[k]});
  }
  buffer.copy_to(array.data());
  return array;
}

NDArray array_of_reals(const std::vector<double>& elements, const std::vector<int64_t>& shape,
                       DType dtype) {
  NDArray array = NDArray::empty(shape, dtype);
  TW_CHECK(array.size() == static_cast<int64_t>(elements.size()));
  InterpreterBuffer buffer(dtype, array.size());
  for (size_t k = 0; k < elements.size(); ++k) {
    buffer.set(static_cast<int64_t>(k), {.type = float_type(64), .f = elements[k]});
  }
  buffer.copy_to(array.data());
  return array;
}

std::string Builder::unique(const std::string& name) {
  std::string found = name;
  // Where a name is wanted often, numbers that are taken are not tried again.
  for (int& next = next_number_[name]; !taken_.insert(found).second;) {
    found = fmt::format("{}_{}", name, ++next);
  }
  return found;
}

Value Builder::input(const std::string& name, std::vector<int64_t> shape, DType dtype) {
  check_size(shape, dtype, fmt::format("input '{}'", name));
  Value value;
  value.body_ = std::make_shared<Value::Body>();
  Attributes attributes{{"shape", tuple_text(shape)}, {"dtype", to_string(dtype)}};
  value.body_->entry.node = make_variable(unique(name), std::move(attributes));
  value.body_->shape = std::move(shape);
  value.body_->dtype = dtype;
  return value;
}

Value Builder::constant(const std::string& name, NDArray array) {
  Value value;
  value.body_ = std::make_shared<Value::Body>();
  value.body_->shape.assign(array.shape().begin(), array.shape().end());
  check_size(value.shape(), array.dtype(), fmt::format("constant '{}'", name));
  value.body_->dtype = array.dtype();
  value.body_->name = name;
  value.body_->constant = std::move(array);
  return value;
}

Entry Builder::entry_of(const Value& value) {
  Value::Body& body = value.body();
  if (!body.entry.node) {
    const std::string name = unique(body.name);
    Attributes attributes{{"shape", tuple_text(body.shape)}, {"dtype", to_string(body.dtype)}};
    body.entry.node = make_variable(name, std::move(attributes));
    parameters_.emplace_back(name, body.constant);
  }
  return body.entry;
}

Value Builder::copy(const Value& value, const std::string& name) {
  Value result;
  result.body_ = std::make_shared<Value::Body>();
  result.body_->shape = value.shape();
  result.body_->dtype = value.dtype();
  result.body_->entry = make_call("copy", unique(name), {entry_of(value)});
  return result;
}

Values Builder::call(std::string_view op_name, const std::string& name, const Values& inputs,
                     const Attributes& attributes) {
  Node node;
  node.op = &get_op(op_name);
  node.name = unique(name);
  node.attributes = attributes;
  node.inputs.resize(inputs.size());  // errors count them
  check_attributes(node.op->name, node.op->attributes, attributes);
  const AttributeValues values(node.op->attributes, attributes, node.name);
  const std::string wanted = wrong_number_of_inputs(node);
  TW_CHECK(wanted.empty(), fmt::format("{}: {} inputs, not {}", op_name, inputs.size(), wanted));

  const auto count = static_cast<size_t>(node.num_outputs());
  std::vector<Shape> shapes, out_shapes(count);
  std::vector<KnownType> types, out_types(count);
  for (const Value& v : inputs) {
    shapes.emplace_back(v.shape());
    types.emplace_back(v.dtype());
  }
  infer<Shape>(node, values, shapes, out_shapes, node.op->infer_shape, ErrorCode::ShapeConflict);
  infer<KnownType>(node, values, types, out_types, node.op->infer_type, ErrorCode::TypeConflict);

  Values outputs(count);
  int64_t elements = 0;
  for (size_t k = 0; k < count; ++k) {
    if (!out_shapes[k].known() || !out_types[k]) {
      raise({.code = ErrorCode::BadGraph,
             .what = fmt::format("{}: its {} does not follow from its inputs",
                                 place_of(node, false, k), out_types[k] ? "shape" : "element type"),
             .legal = "inputs that say it"});
    }
    check_size(*out_shapes[k].extents, *out_types[k], place_of(node, false, k));
    outputs[k].body_ = std::make_shared<Value::Body>();
    outputs[k].body_->shape = *out_shapes[k].extents;
    outputs[k].body_->dtype = *out_types[k];
    elements += outputs[k].elements();
  }
  for (const Value& v : inputs) elements += v.is_constant() ? v.elements() : kSmall;
  if (elements < kSmall) {
    Values folded = fold(node, inputs, outputs, elements);
    if (!folded.empty()) return folded;
  }
  for (size_t k = 0; k < inputs.size(); ++k) node.inputs[k] = entry_of(inputs[k]);
  const NodeRef made = make_node(std::move(node));
  for (uint32_t k = 0; k < count; ++k) outputs[k].body_->entry = {.node = made, .index = k};
  return outputs;
}

// Through the operator's own computation, so that each operator has one meaning.
Values Builder::fold(const Node& node, const Values& inputs, const Values& outputs,
                     int64_t elements) {
  if (!node.op->compute || steps_left_ <= 0) return {};
  // Products are computed of the integers that weights are (FakeQuantizationToInteger).
  if (node.op->name == "dequantize") return {};
  const AttributeValues attributes(node.op->attributes, node.attributes, node.name);
  std::vector<te::Tensor> tensors;
  for (const Value& v : inputs) {
    std::vector<Expr> extents;
    for (int64_t e : v.shape()) extents.push_back(make_const(int_type(32), e));
    tensors.push_back(te::placeholder(extents, v.dtype(), fmt::format("input{}", tensors.size())));
  }
  te::Program program;
  program.outputs = node.op->compute(attributes, tensors);
  program.arguments = tensors;
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    te::Tensor& t = program.outputs[k];
    const auto before = program.outputs.begin() + static_cast<std::ptrdiff_t>(k);
    const bool is_twice = std::find(program.outputs.begin(), before, t) != before;
    if (t.op()->is_placeholder() || is_twice) t = topi::identity(t);
  }
  program.arguments.insert(program.arguments.end(), program.outputs.begin(), program.outputs.end());
  const double steps = te::count_operations(program);
  if (!(steps < static_cast<double>(steps_left_) / 10)) return {};
  steps_left_ -= static_cast<int64_t>(steps) + elements + 100;

  std::deque<InterpreterBuffer> buffers;
  std::vector<InterpreterBuffer*> arguments;
  for (const Value& v : inputs) arguments.push_back(&buffers.emplace_back(buffer_of(v.constant())));
  for (const Value& v : outputs) {
    arguments.push_back(&buffers.emplace_back(v.dtype(), v.elements()));
  }
  te::evaluate(program, arguments);
  Values folded;
  for (size_t k = 0; k < outputs.size(); ++k) {
    NDArray array = NDArray::empty(outputs[k].shape(), outputs[k].dtype());
    arguments[inputs.size() + k]->copy_to(array.data());
    const std::string name = k == 0 ? node.name : fmt::format("{}_{}", node.name, k);
    folded.push_back(constant(name, std::move(array)));
  }
  return folded;
}

}  // namespace tw::graph::onnx
