// SPDX-License-Identifier: Apache-2.0
// One run of te/evaluate: what it offers to operations that compute their points.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/interpret.h"
#include "ir/scalar.h"
#include "runtime/error.h"
#include "schedule/te/operation.h"

namespace tw::te {

using scalar::Scalar;

// Code that gives a scalar of `type`.
struct Code {
  DType type;
  std::function<Scalar()> run;
  Scalar operator()() const { return run(); }
};

// What an operation gives a run: its points, each when it is first read.
class PointEvaluator {
 public:
  virtual ~PointEvaluator() = default;
  // Stores the element, and what else comes with it, in the run's tensors and marks it as known.
  virtual void compute(int64_t flat, int value_index) = 0;
};

// The elements of one tensor, row-major, and which of them are known.
struct TensorState {
  std::string name;
  DType type;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  std::vector<Scalar> elements;
  std::vector<char> known;
  PointEvaluator* producer = nullptr;  // null: what is not known cannot be
  int value_index = 0;

  void read(int64_t flat);
  [[noreturn]] void out_of_bounds(const std::vector<Code>& indices) const;
  [[noreturn]] void uninitialized(int64_t flat) const;
};

// All tensors of a run.
class Evaluation {
 public:
  explicit Evaluation(const InterpreterScope& scalars) : scalars_(scalars) {}
  void add(const Operation& op);
  TensorState& tensor(const Producer* producer, int value_index) {
    const auto it = tensors_.find({producer, value_index});
    TW_CHECK(it != tensors_.end(), "a body reads what is not in the program");
    return *it->second;
  }
  const InterpreterScope& scalars() const { return scalars_; }
  const Value* scalar(const Var& var) const {
    const auto it = scalars_.values.find(var);
    return it == scalars_.values.end() ? nullptr : &it->second;
  }

 private:
  const InterpreterScope& scalars_;
  std::map<std::pair<const Producer*, int>, std::unique_ptr<TensorState>> tensors_;
  std::vector<std::unique_ptr<PointEvaluator>> operations_;
};

// Turns expressions into closures. Each operation has its own slots, because two operations may
// use one reduce axis while one of them is being computed for the other.
class EvaluationCompiler {
 public:
  explicit EvaluationCompiler(Evaluation& run) : run_(run) {}

  Scalar* slot(const Var& var) {
    auto& s = slots_[var];
    if (!s) s = std::make_unique<Scalar>();
    return s.get();
  }
  Code compile(const Expr& e);

 private:
  Code variable(const Variable& op);
  Code binary(const Expr& e, const Expr& a, const Expr& b);
  Code choice(const Expr& condition, const Expr& yes, const Expr& no, bool lazy);
  Code intrinsic(const Call& op);
  Code read(const ProducerLoad& op);

  Evaluation& run_;
  std::unordered_map<Var, std::unique_ptr<Scalar>, IdentityHash, IdentityEqual> slots_;
};

}  // namespace tw::te
