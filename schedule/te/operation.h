// SPDX-License-Identifier: Apache-2.0
// What is computed: operations and the tensors they give. An operation is immutable; a program is
// the graph that its tensors' reads span. How it is computed is the schedule's business.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "ir/expr.h"
#include "ir/node.h"

namespace tw::te {

enum class OperationKind : uint8_t { Placeholder, Compute };

using AttributeValue = std::variant<int64_t, double, std::string, std::vector<int64_t>>;
using Attributes = std::map<std::string, AttributeValue>;

class Operation;
class Tensor;

// Base of all operations. `tag` and `attributes` are annotations for schedules and layout passes;
// no meaning of the operation depends on them.
struct OperationNode : Producer {
  OperationKind op_kind;
  std::string tag;
  Attributes attributes;
  explicit OperationNode(OperationKind k) : op_kind(k) {}
  // Axes of the output, in order; empty for placeholders.
  virtual const std::vector<IterVar>& root_axes() const = 0;  // data axes, then reduce axes
  virtual std::vector<Tensor> input_tensors() const = 0;      // each once, by first read
};

class Operation : public Ref<OperationNode> {
 public:
  using Ref::Ref;
  Tensor output(int value_index) const;
  const std::string& name() const { return get()->name; }
};

struct PlaceholderNode : OperationNode {
  std::vector<Expr> shape;
  DType dtype;
  bool constant = false;  // its values are known when the kernel is built: weights
  PlaceholderNode() : OperationNode(OperationKind::Placeholder) {}
  int num_outputs() const override { return 1; }
  DType output_dtype(int) const override { return dtype; }
  std::vector<Expr> output_shape(int) const override { return shape; }
  const std::vector<IterVar>& root_axes() const override;
  std::vector<Tensor> input_tensors() const override;
};

// outputs[k](axis…) = body[k]. A reduction is a Reduce at the root of every body, all over the same
// axes (Reduce nodes with value_index 0, 1, … of one combiner).
struct ComputeNode : OperationNode {
  std::vector<IterVar> axis;
  std::vector<IterVar> reduce_axis;
  std::vector<IterVar> all_axes;  // axis, then reduce_axis
  std::vector<Expr> body;
  ComputeNode() : OperationNode(OperationKind::Compute) {}
  int num_outputs() const override { return static_cast<int>(body.size()); }
  DType output_dtype(int k) const override { return body[static_cast<size_t>(k)].dtype(); }
  std::vector<Expr> output_shape(int) const override;
  const std::vector<IterVar>& root_axes() const override { return all_axes; }
  std::vector<Tensor> input_tensors() const override;
  bool is_reduction() const { return !reduce_axis.empty(); }
};

template <class T>
const T* as_op(const Producer* p) {
  return dynamic_cast<const T*>(p);
}
template <class T, class U>
const T* as_op(const Ref<U>& p) {
  return dynamic_cast<const T*>(p.get());
}

// One output of an operation. Two tensors are the same when operation and index are.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Operation op, int value_index) : op_(std::move(op)), value_index_(value_index) {}
  bool defined() const { return op_.defined(); }
  const Operation& op() const { return op_; }
  int value_index() const { return value_index_; }
  std::vector<Expr> shape() const { return op_->output_shape(value_index_); }
  DType dtype() const { return op_->output_dtype(value_index_); }
  int rank() const { return static_cast<int>(shape().size()); }
  const std::string& name() const { return op_->name; }
  // The element at a position; IndexCount when the number of indices is not the rank.
  Expr operator()(const std::vector<Expr>& indices) const;
  template <class... I>
  Expr operator()(const I&... index) const {
    return (*this)(std::vector<Expr>{Expr(index)...});
  }
  bool operator==(const Tensor& other) const {
    return op_.same_as(other.op_) && value_index_ == other.value_index_;
  }

 private:
  Operation op_;
  int value_index_ = 0;
};

// ---------------------------------------------------------------------------------------------
// Building. Names are labels; the printer makes them unique.

Var var(const std::string& name = "n", DType type = int_type(32));
// Shapes are integer expressions; constants must be positive (BadShape). Rank 0 is legal. What is
// `constant` has its values when the kernel is built, so that schedules may precompute what
// depends on nothing else; its shape must be constant too.
Tensor placeholder(const std::vector<Expr>& shape, DType dtype = float_type(32),
                   const std::string& name = "placeholder", bool constant = false);
bool is_constant(const Tensor& t);
using ComputeFunction = std::function<Expr(const std::vector<Var>&)>;
using MultiComputeFunction = std::function<std::vector<Expr>(const std::vector<Var>&)>;
// Axis names come from `axis_names` or are i0, i1, …
Tensor compute(const std::vector<Expr>& shape, const ComputeFunction& f,
               const std::string& name = "compute", const std::string& tag = "",
               const Attributes& attributes = {}, const std::vector<std::string>& axis_names = {});
std::vector<Tensor> compute_many(const std::vector<Expr>& shape, const MultiComputeFunction& f,
                                 const std::string& name = "compute", const std::string& tag = "",
                                 const Attributes& attributes = {},
                                 const std::vector<std::string>& axis_names = {});
// From finished axes and bodies: the form that parsing and rewriting use.
Operation compute_op(std::string name, std::vector<IterVar> axis, std::vector<Expr> body,
                     std::string tag = "", Attributes attributes = {});

IterVar reduce_axis(const Range& domain, const std::string& name = "rv");
// `condition` undefined: every point. `init` is not an identity but a start value; none for now.
Expr sum(const Expr& source, const std::vector<IterVar>& axes, const Expr& condition = {});
Expr prod(const Expr& source, const std::vector<IterVar>& axes, const Expr& condition = {});
Expr max(const Expr& source, const std::vector<IterVar>& axes, const Expr& condition = {});
Expr min(const Expr& source, const std::vector<IterVar>& axes, const Expr& condition = {});
// A reduction over tuples; gives one Reduce per component.
std::vector<Expr> reduce(const CommReducer& combiner, const std::vector<Expr>& sources,
                         const std::vector<IterVar>& axes, const Expr& condition = {});

// All operations that the tensors need, producers before consumers (post-order, deterministic).
std::vector<Operation> operations(const std::vector<Tensor>& outputs);
std::vector<Tensor> placeholders(const std::vector<Tensor>& outputs);

}  // namespace tw::te
