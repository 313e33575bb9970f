// SPDX-License-Identifier: Apache-2.0
// Runs lowered IR, free of LLVM: the second oracle (the first is te/evaluate). Out-of-bounds
// accesses and reads of elements never written are UserErrors that name buffer, index and extent.
//
// What the IR leaves open is settled so: signed integers wrap like unsigned ones; min(a, b) is
// a < b ? a : b and max(a, b) is a > b ? a : b, of NaNs too; a float cast to an integer is
// truncated into the range of int64 and then wrapped; `&&` and `||` skip their right side when the
// left one decides. Floats are rounded to their type after each operation; mathematical functions
// are computed in double and rounded once. Vectorized and unrolled loops run serially.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/node.h"
#include "ir/substitute.h"

namespace tw {

// A scalar at run time: integers and bools in `i`, floating values in `f` (rounded to the type).
struct Value {
  DType type;
  int64_t i = 0;
  double f = 0;
};

// Memory of a buffer: row-major elements of one type. Elements that were never written are known.
class InterpreterBuffer {
 public:
  // The bits of an int64 or, for floating types, of a double.
  union Element {
    int64_t i;
    double f;
  };
  InterpreterBuffer(DType element, int64_t size);  // uninitialised
  static InterpreterBuffer from_bytes(DType element, const void* data, int64_t size);
  DType element() const { return element_; }
  int64_t size() const { return static_cast<int64_t>(written_.size()); }
  Value at(int64_t index) const;  // of an element that was written
  bool written(int64_t index) const { return written_[static_cast<size_t>(index)] != 0; }
  void set(int64_t index, const Value& v);  // converts to the buffer's type
  void copy_to(void* bytes) const;          // elements never written become zero

  // Without conversion or checks; the index is inside and the value is of the buffer's type.
  Element raw(int64_t index) const { return values_[static_cast<size_t>(index)]; }
  void set_raw(int64_t index, Element v) {
    values_[static_cast<size_t>(index)] = v;
    written_[static_cast<size_t>(index)] = 1;
  }

 private:
  DType element_;
  std::vector<Element> values_;
  std::vector<uint8_t> written_;
};

// What a kernel is called with, as in runtime/c_api.h. Without strides a tensor is compact.
struct InterpreterArgument {
  InterpreterBuffer* tensor = nullptr;  // null: `value` is a scalar argument
  std::vector<int64_t> shape, strides;
  Value value;
};

// What a launch runs: its variables have the values of the launch's arguments.
struct InterpreterFunction {
  std::vector<Var> parameters;
  Stmt body;
};

// What is bound before the run: scalar variables, and buffers by their variable (flattened IR) or
// by producer and value index (IR before storage flattening, indices relative to the output's
// own shape).
struct InterpreterScope {
  std::unordered_map<Var, Value, IdentityHash, IdentityEqual> values;
  std::unordered_map<Var, InterpreterBuffer*, IdentityHash, IdentityEqual> buffers;
  std::map<std::pair<const Producer*, int>, InterpreterBuffer*> producers;
  std::map<std::string, InterpreterFunction, std::less<>> functions;  // device kernels
  // For kernels that unpack their arguments themselves (after make_api).
  std::vector<InterpreterArgument> arguments;
};

// Is told what a run does, in order: for tools that look for dependences.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void begin_loop(ForKind) {}
  virtual void begin_iteration(int64_t /*value*/) {}  // of the loop that began last
  virtual void end_loop() {}
  // Memory that statements allocate; its address may be that of memory freed before.
  virtual void allocated(const InterpreterBuffer&) {}
  virtual void access(const InterpreterBuffer&, int64_t /*index*/, bool /*is_write*/) {}
};

struct InterpretOptions {
  int64_t max_steps = 1'000'000'000;  // statements and expressions evaluated before giving up
  bool shuffle_parallel = false;      // run parallel iterations, and tasks, in a scrambled order
  int num_threads = 3;                // what a parallel launch is told
  uint64_t seed = 0;
  RunObserver* observer = nullptr;
};

void interpret(const Stmt& s, InterpreterScope& scope, const InterpretOptions& options = {});
Value evaluate(const Expr& e, const InterpreterScope& scope = {});
// A vector expression, lane by lane.
std::vector<Value> evaluate_lanes(const Expr& e, const InterpreterScope& scope = {});
// A scalar expression made ready once, to be evaluated for many values of `parameters` (scalars).
// The buffers of the scope are read at each evaluation.
class CompiledExpr {
 public:
  CompiledExpr(const Expr& e, const std::vector<Var>& parameters,
               const InterpreterScope& scope = {});
  ~CompiledExpr();
  CompiledExpr(CompiledExpr&&) noexcept;
  void set(size_t parameter, const Value& v);  // converts to the parameter's type
  void set(size_t parameter, int64_t v);       // of an integer or bool parameter
  Value operator()();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Applies a pure intrinsic to scalars: the one definition of what each means.
Value apply_intrinsic(const Call& call, const std::vector<Value>& args);

}  // namespace tw
