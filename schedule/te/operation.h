// SPDX-License-Identifier: Apache-2.0
// What is computed: operations and the tensors they give. An operation is immutable; a program is
// the graph that its tensors' reads span. How it is computed is the schedule's business.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/domain_map.h"
#include "ir/expr.h"
#include "ir/node.h"
#include "ir/substitute.h"

namespace tw::te {

using AttributeValue = std::variant<int64_t, double, std::string, std::vector<int64_t>>;
using Attributes = std::map<std::string, AttributeValue>;

class Operation;
class Tensor;
class Writer;          // te/writer.h
class Evaluation;      // te/evaluation.h
class PointEvaluator;  // te/evaluation.h

// Gets a read with its indices rewritten already; an undefined result keeps the read.
using ReadRewrite = std::function<Expr(const ProducerLoad& read)>;
// Pairs of an axis and what takes its place.
using AxisReplacement = std::vector<std::pair<IterVar, IterVar>>;

struct Part;

// What every kind of operation answers for itself, so that nobody asks which kind it is. A kind is
// a file: compute.cc, tensor_compute.cc, placeholder.cc, scan.cc. `tag` and `attributes` are
// annotations for schedules and layout passes; no meaning of the operation depends on them.
struct OperationNode : Producer {
  std::string tag;
  Attributes attributes;

  // Its values come from the caller; it is no loop nest, and what follows gives nothing.
  virtual bool is_placeholder() const { return false; }
  // A placeholder whose values are known when the kernel is built: weights.
  virtual bool is_constant() const { return false; }

  // The axes that walk the dimensions of the outputs, in order; all loops: these and those of a
  // reduction, in the order that they have before a schedule changes it.
  virtual const std::vector<IterVar>& data_axes() const = 0;
  virtual const std::vector<IterVar>& root_axes() const = 0;
  // The axis that walks each dimension of one output; empty where its dimensions have none.
  virtual const std::vector<IterVar>& axes_of(int) const { return data_axes(); }
  // What of the domain of an axis of data_axes() is computed so that `needed` of it is there.
  virtual Range computed(const IterVar&, const Range& needed) const { return needed; }
  // The innermost of root_axes() that are a call of a tensor intrinsic, and the intrinsic's name:
  // computed whole, and no loops of schedules. None and "" where there is no call.
  virtual const std::vector<IterVar>& intrin_axes() const;
  virtual std::string intrin() const { return {}; }
  // The tensors that its loops compute in its own outputs, or read back from them.
  virtual std::vector<Part> parts() const;
  // What is computed from these is computed with the parts that need it.
  virtual std::vector<Tensor> step_inputs() const;
  bool is_reduction() const;
  // Whether its statements store each element once and read none of them.
  virtual bool stores_once() const { return !is_reduction(); }
  // Whether there is an element to compute, or an axis of extent 0; whether its loops run. A
  // reduction over nothing has elements, the identity each, and no point: its body is not
  // evaluated.
  bool has_elements() const;
  bool has_points() const;

  // What one point of the loops evaluates, in terms of root_axes(). Each read of an input stands in
  // one of these, under the conditions under which it happens; an index that is undefined stands
  // for the whole dimension.
  virtual std::vector<Expr> evaluated() const = 0;
  // Each once, by first read.
  std::vector<Tensor> input_tensors() const;
  // The element at a position as an expression of the inputs; undefined where it is none, as that
  // of a reduction.
  virtual Expr value_at(int value_index, const std::vector<Expr>& indices) const;

  // The part of an output that is in memory while the loops run over `domains`.
  virtual std::vector<Range> realized(int value_index, const DomainMap& domains) const = 0;
  // What each point of the data axes executes before its first point of the reduction, at `roots`,
  // the values of the axes; undefined when there is nothing to prepare.
  virtual Stmt initialization(const VarMap& roots) const;
  // What each point of all loops executes. Adds to `conditions` those under which it does, if they
  // can be tested outside of it. Undefined when the parts do all.
  virtual Stmt update(const VarMap& roots, std::vector<Expr>& conditions) const = 0;

  // The same operation with other reads, over the same axes.
  virtual Operation with_reads(const ReadRewrite& f) const = 0;
  // The same over fresh axes, in the domains, in the reduction and in the bodies.
  virtual Operation with_axes(const std::string& name, const AxisReplacement& axes) const = 0;

  // Its text, from the kind on to where annotations follow.
  virtual void write(Writer& out) const = 0;
  // Computes its points, in a run that has its outputs; null when the caller gives the values.
  virtual std::unique_ptr<PointEvaluator> evaluator(Evaluation& run) const = 0;
};

class Operation : public Ref<OperationNode> {
 public:
  using Ref::Ref;
  Tensor output(int value_index) const;
  std::vector<Tensor> outputs() const;  // all of them
  const std::string& name() const { return get()->name; }
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

// A tensor whose elements are stored in an output of another operation, at the same positions.
struct Part {
  enum class Role : uint8_t {
    Init,    // computed once, before that operation's loops
    Update,  // computed in each iteration of all its loops
    State,   // a placeholder that stands for what earlier iterations have stored
  };
  Tensor tensor;
  int output;
  Role role;
};

// ---------------------------------------------------------------------------------------------
// Building. Names are labels; the printer makes them unique.

Var var(const std::string& name = "n", DType type = int_type(32));
// Shapes are integer expressions; constants must not be negative (BadShape). Rank 0 is legal. What
// is `constant` has its values when the kernel is built, so that schedules may precompute what
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

// output[k](t, …) = init[k](t, …) for the rows t that init[k] has, and update[k](t, …) for those
// after them, one t after the other; in the bodies that lead to the updates the placeholders
// state[k] stand for output[k] as far as it is computed. The first dimension of states and updates
// is time. `inputs`: what is computed from these on the way to the updates is computed in each step
// too, unless it is scheduled elsewhere.
std::vector<Tensor> scan(const std::vector<Tensor>& init, const std::vector<Tensor>& update,
                         const std::vector<Tensor>& state, const std::vector<Tensor>& inputs = {},
                         const std::string& name = "scan", const std::string& tag = "",
                         const Attributes& attributes = {});

// All operations that the tensors need, producers before consumers (post-order, deterministic).
std::vector<Operation> operations(const std::vector<Tensor>& outputs);
// Those among them whose values the caller gives: no states of scans.
std::vector<Tensor> placeholders(const std::vector<Tensor>& outputs);
// The operations that are computed for `op`'s parts: what begins and what updates it, with all that
// lies between a state, or an input of the steps, and an update. Producers before consumers.
std::vector<Operation> operations_of_parts(const Operation& op);

}  // namespace tw::te
