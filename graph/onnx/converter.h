// SPDX-License-Identifier: Apache-2.0
// How an operator of ONNX becomes nodes of ours: a row of a table, and the call that its function
// is given.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/onnx/builder.h"
#include "graph/onnx/model.h"
#include "graph/onnx/tensor.h"
#include "graph/shape.h"

namespace tw::graph::onnx {

class Call;

// A row: `op` from opset `since` on, until the next row of it. Inputs and attributes are those of
// ONNX's schema of these opsets; a test compares them with the package onnx.
struct Converter {
  std::string_view op;
  int since = 1;  // 1: whatever opset is read
  int least_inputs, most_inputs;
  // "axis:int pads:ints": names and kinds; kinds are float int string tensor graph floats ints
  // strings.
  std::string_view attributes;
  // The outputs; at least those that the node names.
  std::function<Values(Call&)> convert;
  std::string_view domain = {};
};
constexpr int kAny = INT32_MAX;  // of most_inputs: any number

// The opsets that are read.
constexpr int64_t kOldestOpset = 7, kNewestOpset = 28;

// All rows, in the order of converters.def.
const std::vector<Converter>& converters();
// The row for a node of that opset; null where there is none.
const Converter* find_converter(std::string_view domain, std::string_view op, int64_t opset);

// What a converter raises for what it cannot do; the importer collects these.
struct Unsupported {
  std::string what;
};

// Texts of attributes of our nodes.
std::string text(int64_t value);
std::string text(double value);
std::string text(bool value);
std::string text(DType value);
std::string text(const std::vector<int64_t>& values);
std::string text(const std::vector<std::vector<int64_t>>& values);
inline std::string text(int value) { return text(static_cast<int64_t>(value)); }
inline std::string text(size_t value) { return text(static_cast<int64_t>(value)); }
inline std::string text(std::string_view value) { return std::string(value); }
inline std::string text(const char* value) { return value; }

// A node of the model under a converter.
class Call {
 public:
  Call(Builder& builder, TensorReader& tensors, const NodeData& node, const Converter& row,
       int64_t opset, Values inputs);

  int64_t opset() const { return opset_; }
  // "Conv 'conv1'".
  const std::string& name() const { return name_; }

  size_t num_inputs() const { return inputs_.size(); }
  bool has(size_t k) const { return k < inputs_.size() && inputs_[k]; }
  // BadGraph where it is left out.
  const Value& input(size_t k) const;
  // All of them; BadGraph where one is left out in front of others.
  const Values& inputs() const;
  size_t num_outputs() const { return node_.outputs.size(); }
  // Whether somebody names output k.
  bool wants(size_t k) const { return k < node_.outputs.size() && !node_.outputs[k].empty(); }

  // Attributes of the node, of the kind that the row gives them. Without `otherwise` they must be
  // there (BadAttribute).
  // Whether the row has an attribute of that name.
  bool knows(std::string_view name) const;
  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  int64_t integer(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  // An integer that is 0 or 1.
  bool flag(std::string_view name, bool otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string string(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> otherwise = {}) const;
  std::vector<double> reals(std::string_view name) const;
  std::vector<std::string> strings(std::string_view name) const;
  NDArray tensor(std::string_view name) const;
  // An attribute that says an element type; Unsupported for those that we do not have.
  DType dtype(std::string_view name, int64_t otherwise = 0) const;

  // What an input is, which must follow from constants; else Unsupported.
  std::vector<int64_t> integers_of(size_t k) const;
  std::vector<double> reals_of(size_t k) const;
  // Of one element.
  double number_of(size_t k) const;

  // `axis`, counted from the end where negative, of a tensor of that rank. BadAttribute where there
  // is no such axis.
  int64_t axis(int64_t axis, int64_t rank) const;
  std::vector<int64_t> axes(std::vector<int64_t> axes, int64_t rank) const;

  // A node of our operator, or what it gives where all of it is constant: its first output, or all.
  Value operator()(std::string_view op, const Values& inputs, const Attributes& attributes = {});
  Values all(std::string_view op, const Values& inputs, const Attributes& attributes = {});
  // Constants, parameters once a node reads them.
  Value constant(NDArray array);
  Value constant(double value, DType dtype, const std::vector<int64_t>& shape = {});
  // Steps that many converters take; where there is nothing to do they are the value itself.
  Value cast(const Value& value, DType dtype);
  Value reshaped(const Value& value, const std::vector<int64_t>& shape);
  Value transposed(const Value& value, const std::vector<int64_t>& axes);
  Value broadcast(const Value& value, const std::vector<int64_t>& shape);

  // What the model says is nothing that we can do: it stands in the list of what is not supported.
  [[noreturn]] void unsupported(std::string what) const;
  // The model contradicts itself.
  [[noreturn]] void bad(std::string what, std::string legal) const;

 private:
  const NodeAttribute* find(std::string_view name) const;
  const NodeAttribute& get(std::string_view name) const;
  Builder& builder_;
  TensorReader& tensors_;
  const NodeData& node_;
  const Converter& row_;
  int64_t opset_;
  Values inputs_;
  std::string name_, base_;
};

// Families of rows: a file each in converters/, a line each of converters.def.
#define ONNX_CONVERTERS(family) std::vector<Converter> family();
#include "graph/onnx/converters.def"
#undef ONNX_CONVERTERS

// Converters that many rows share: one node of our operator, on the same inputs.
std::function<Values(Call&)> same(std::string_view op, Attributes attributes = {});

}  // namespace tw::graph::onnx
