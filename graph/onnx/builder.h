// SPDX-License-Identifier: Apache-2.0
// Makes the nodes of a network while it is read, and knows of each value its shape, its element
// type and, where it follows from constants alone, what it is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/node.h"
#include "runtime/dtype.h"
#include "runtime/error.h"
#include "runtime/ndarray.h"

namespace tw::graph::onnx {

// A tensor of the network. Copies are the same tensor.
class Value {
 public:
  Value() = default;  // none: an input that was left out
  explicit operator bool() const { return body_ != nullptr; }
  const std::vector<int64_t>& shape() const { return body().shape; }
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
  int64_t extent(size_t axis) const { return shape()[axis]; }
  int64_t elements() const;
  DType dtype() const { return body().dtype; }
  // What it is, where that is known: constants, and what was folded.
  bool is_constant() const { return body().constant.defined(); }
  const NDArray& constant() const { return body().constant; }
  bool is(const Value& other) const { return body_ == other.body_; }

 private:
  friend class Builder;
  struct Body {
    std::vector<int64_t> shape;
    DType dtype;
    NDArray constant;
    std::string name;  // that a constant has as a parameter
    Entry entry;       // a constant has none until a node reads it
  };
  Body& body() const {
    TW_CHECK(body_ != nullptr, "an input that was left out is read");
    return *body_;
  }
  std::shared_ptr<Body> body_;
};
using Values = std::vector<Value>;

// The elements of a constant, from memory that may not be aligned to them. Integers and bools.
std::vector<int64_t> integers_in(const NDArray& array);
// Numbers of any type.
std::vector<double> reals_in(const NDArray& array);
// An array of these elements, which are converted to the type.
NDArray array_of(const std::vector<int64_t>& elements, const std::vector<int64_t>& shape,
                 DType dtype);
NDArray array_of_reals(const std::vector<double>& elements, const std::vector<int64_t>& shape,
                       DType dtype);

class Builder {
 public:
  using Parameters = std::vector<std::pair<std::string, NDArray>>;

  // A variable whose value comes with each run.
  Value input(const std::string& name, std::vector<int64_t> shape, DType dtype);
  // A known value; a parameter of that name once a node reads it.
  Value constant(const std::string& name, NDArray array);
  // The outputs of a node of our operator. ShapeConflict, TypeConflict, BadAttribute with the node;
  // BadGraph where a shape does not follow. Where all inputs are small constants they are constants
  // too.
  Values call(std::string_view op, const std::string& name, const Values& inputs,
              const Attributes& attributes);
  // A node that gives the value as it is, of a constant too.
  Value copy(const Value& value, const std::string& name);
  // What other nodes read; of a constant it is a parameter from now on.
  Entry entry_of(const Value& value);
  // A name that no node and no variable has, from now on taken.
  std::string unique(const std::string& name);
  const Parameters& parameters() const { return parameters_; }

 private:
  Values fold(const Node& node, const Values& inputs, const Values& outputs, int64_t elements);
  std::unordered_set<std::string> taken_;             // look-ups only
  std::unordered_map<std::string, int> next_number_;  // look-ups only
  Parameters parameters_;
  // Operations and elements that may be folded in one model, some seconds of them.
  int64_t steps_left_ = 5'000'000;
};

}  // namespace tw::graph::onnx
