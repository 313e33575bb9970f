// SPDX-License-Identifier: Apache-2.0
// Runs lowered IR, free of LLVM: the second oracle (the first is te/evaluate). Out-of-bounds
// accesses and reads of elements never written are UserErrors that name buffer, index and extent.
#pragma once

#include <cstdint>
#include <map>
#include <string>
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
  InterpreterBuffer(DType element, int64_t size);                     // uninitialised
  static InterpreterBuffer from_bytes(DType element, const void* data, int64_t size);
  DType element() const { return element_; }
  int64_t size() const { return static_cast<int64_t>(written_.size()); }
  Value at(int64_t index) const;   // of an element that was written
  bool written(int64_t index) const { return written_[static_cast<size_t>(index)]; }
  void set(int64_t index, const Value& v);
  void copy_to(void* bytes) const;  // elements never written become zero

 private:
  DType element_;
  std::vector<Value> values_;
  std::vector<bool> written_;
};

// What is bound before the run: scalar variables, and buffers by their variable (flattened IR) or
// by producer and value index (IR before storage flattening, indices relative to the output's
// own shape).
struct InterpreterScope {
  std::unordered_map<Var, Value, IdentityHash, IdentityEqual> values;
  std::unordered_map<Var, InterpreterBuffer*, IdentityHash, IdentityEqual> buffers;
  std::map<std::pair<const Producer*, int>, InterpreterBuffer*> producers;
};

struct InterpretOptions {
  int64_t max_steps = 1'000'000'000;  // statements and expressions evaluated before giving up
  bool shuffle_parallel = false;      // run parallel iterations in a scrambled order
  uint64_t seed = 0;
};

void interpret(const Stmt& s, InterpreterScope& scope, const InterpretOptions& options = {});
Value evaluate(const Expr& e, const InterpreterScope& scope = {});
// A vector expression, lane by lane.
std::vector<Value> evaluate_lanes(const Expr& e, const InterpreterScope& scope = {});
// Applies a pure intrinsic to scalars: the one definition of what each means.
Value apply_intrinsic(const Call& call, const std::vector<Value>& args);

}  // namespace tw
