// SPDX-License-Identifier: Apache-2.0
// One run of te/evaluate: what it offers to operations that compute their points.
#pragma once

#include <cstdint>
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
  // What is not known then was never written.
  virtual void compute(int64_t flat, int value_index) = 0;
};

// The elements of one tensor, row-major, and which of them are known. An element that is a vector
// takes a place for each of its lanes.
struct TensorState {
  std::string name;
  DType type;  // of a lane
  int lanes = 1;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements
  std::vector<Scalar> values;
  std::vector<char> known;
  PointEvaluator* producer = nullptr;  // null: what is not known cannot be
  int value_index = 0;

  int64_t size() const { return static_cast<int64_t>(values.size()) / lanes; }
  // Where the lane of an element stands.
  size_t place(int64_t flat, int lane) const { return static_cast<size_t>(flat * lanes + lane); }
  Scalar read(int64_t flat, int lane);
  void set(int64_t flat, int lane, Scalar value) {
    values[place(flat, lane)] = value;
    known[place(flat, lane)] = 1;
  }
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

// Turns expressions into closures, those of vectors into one for each lane. Each operation has its
// own slots, because two operations may use one reduce axis while one of them is being computed for
// the other.
class EvaluationCompiler {
 public:
  explicit EvaluationCompiler(Evaluation& run) : run_(run) {}

  Scalar* slot(const Var& var, int lane = 0) {
    auto& s = slots_[var];
    if (!s) s = std::make_unique<Scalar[]>(var.dtype().lanes);
    return &s[static_cast<size_t>(lane)];
  }
  // Of a scalar every lane is the scalar.
  Code compile(const Expr& e, int lane = 0);

 private:
  Code variable(const Variable& op, int lane);
  Code binary(const Expr& e, const Expr& a, const Expr& b, int lane);
  Code choice(const Expr& condition, const Expr& yes, const Expr& no, bool lazy, int lane);
  Code intrinsic(const Call& op, int lane);
  Code read(const ProducerLoad& op, int lane);
  Code shuffle(const Shuffle& op, int lane);
  Code let(const Let& op, int lane);

  Evaluation& run_;
  std::unordered_map<Var, std::unique_ptr<Scalar[]>, IdentityHash, IdentityEqual> slots_;
};

}  // namespace tw::te
