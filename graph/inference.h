// SPDX-License-Identifier: Apache-2.0
// How operators say what they know of the shapes and element types of their inputs and outputs. A
// rule reads what is known so far, of inputs and outputs alike, and narrows it; the pass repeats
// rules until nothing changes (passes/infer.cc).
#pragma once

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "graph/attributes.h"
#include "graph/shape.h"
#include "runtime/dtype.h"
#include "runtime/error.h"

namespace tw::graph {

struct Node;

using KnownType = std::optional<DType>;
inline std::optional<KnownType> unify(const KnownType& a, const KnownType& b) {
  if (a && b && *a != *b) return std::nullopt;
  return a ? a : b;
}
inline std::string to_string(const KnownType& type) { return type ? to_string(*type) : "?"; }

// "node 'conv2d0', input 'weight'".
std::string place_of(const Node& node, bool input, size_t k);

// One node under a rule. Value is Shape or KnownType.
template <class Value>
class Inference {
 public:
  Inference(const Node& node, const AttributeValues& attributes, std::span<Value> inputs,
            std::span<Value> outputs, ErrorCode conflict)
      : node_(node),
        attributes_(attributes),
        inputs_(inputs),
        outputs_(outputs),
        conflict_(conflict) {}

  const Node& node() const { return node_; }
  const AttributeValues& attributes() const { return attributes_; }
  size_t num_inputs() const { return inputs_.size(); }
  size_t num_outputs() const { return outputs_.size(); }
  const Value& input(size_t k) const { return inputs_[k]; }
  const Value& output(size_t k) const { return outputs_[k]; }
  // Adds what is known now. A contradiction is an error that names the node, the input or output,
  // and both values.
  void narrow_input(size_t k, const Value& value) { narrow(inputs_[k], value, true, k); }
  void narrow_output(size_t k, const Value& value) { narrow(outputs_[k], value, false, k); }
  // Input k and output j have one value.
  void equate(size_t k, size_t j) {
    narrow_output(j, input(k));
    narrow_input(k, output(j));
  }
  // Inputs a and b have one value.
  void equate_inputs(size_t a, size_t b) {
    narrow_input(a, input(b));
    narrow_input(b, input(a));
  }
  bool changed() const { return changed_; }
  // For what no narrowing says.
  [[noreturn]] void fail(std::string what, std::string legal) const {
    raise({.code = conflict_,
           .what = std::move(what),
           .where = place_of(node_, true, inputs_.size()),
           .legal = std::move(legal)});
  }

 private:
  void narrow(Value& known, const Value& value, bool input, size_t k) {
    auto both = unify(known, value);
    if (!both) {
      raise({.code = conflict_,
             .what = fmt::format("{} is {} where {} is needed", place_of(node_, input, k),
                                 to_string(known), to_string(value)),
             .legal = to_string(value)});
    }
    changed_ = changed_ || !(*both == known);
    known = *std::move(both);
  }

  const Node& node_;
  const AttributeValues& attributes_;
  std::span<Value> inputs_, outputs_;
  ErrorCode conflict_;
  bool changed_ = false;
};
using ShapeInference = Inference<Shape>;
using TypeInference = Inference<KnownType>;

// Rules that operators share.
// All inputs and outputs have one shape, or one element type.
void same_shape(ShapeInference& s);
void same_type(TypeInference& t);

}  // namespace tw::graph
