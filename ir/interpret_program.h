// SPDX-License-Identifier: Apache-2.0
// The form in which the interpreter runs IR: nodes with variables resolved to slots of one frame.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/interpret.h"
#include "ir/intrinsics.h"
#include "ir/node.h"
#include "ir/scalar.h"

namespace tw::interpreter {

enum class Op : uint8_t {
  // Expressions. Vectors are evaluated lane by lane.
  Constant,  // value
  Slot,      // frame[slot + lane]
  Unbound,   // raises UnboundVariable for `name`
  AddInt32,  // the most frequent operations have codes of their own
  SubInt32,
  MulInt32,
  Binary,  // kind; a, b
  And,
  Or,
  Not,
  Select,      // a ? b : c, all evaluated
  IfThenElse,  // a ? b : c, one of b, c evaluated; the statement too (c may be null)
  Convert,     // a, to type
  Load,        // slot of the buffer; index a, predicate b
  Ramp,        // a + lane * b
  Broadcast,   // a
  Shuffle,     // args, lanes
  Intrinsic,   // args
  Effect,      // an intrinsic with an effect
  Argument,    // an intrinsic of the calling convention; args
  Extern,      // raises UnknownFunction for `name`
  Let,         // slot = a in b; the statement too
  LetLane,     // the same in an expression of which a lane reads that lane of the slot alone
  Reduce,      // reduction
  RegionLoad,  // region; indices args
  // Statements
  For,          // slot from a, extent b, body c
  While,        // a, body b
  Allocate,     // slot; extents args, body a
  Store,        // slot; index a, value b, predicate c
  RegionStore,  // region; value a, indices args
  BindBuffer,   // slot for the memory of region; body a
  Realize,      // region; args: min, extent of each dimension; body a
  Assert,       // a, message b, body c; the message may be an argument_error
  Block,        // args
  Evaluate,     // a
  Nothing,
};

struct Reduction;
struct Code {
  Op op = Op::Nothing;
  DType type;          // of the result; for Allocate and Realize of the elements
  DType operand;       // of the operands, where it differs from the result
  NodeKind kind = {};  // of Binary
  ForKind for_kind = ForKind::Serial;
  int slot = -1;    // also: number of a region
  int region = -1;  // of BindBuffer
  scalar::Scalar value = {.i = 0};
  const Code* a = nullptr;
  const Code* b = nullptr;
  const Code* c = nullptr;
  std::vector<const Code*> args;
  std::vector<std::pair<int, int>> lanes;  // of a shuffle: argument and its lane
  const Intrinsic* intrinsic = nullptr;
  std::vector<DType> arg_types;
  std::string name;  // of a variable, buffer, producer or function, for messages
  std::unique_ptr<Reduction> reduction;
};

struct Reduction {
  struct Axis {
    int slot;
    const Code *min, *extent;
  };
  std::vector<Axis> axes;
  std::vector<int> lhs, rhs;
  std::vector<const Code*> identity, result, source;
  const Code* condition = nullptr;
  size_t value_index = 0;
};

// The live part of a producer's output: where a position stands in memory.
struct Region {
  InterpreterBuffer* buffer = nullptr;
  std::vector<int64_t> min, extent;
};

struct Program {
  std::deque<Code> codes;
  const Code* root = nullptr;
  int frame_size = 0;
  int region_count = 0;
  // Filled from the scope before the run; handles hold the address of an InterpreterBuffer.
  struct Input {
    int slot;
    scalar::Scalar value;
  };
  std::vector<Input> inputs;
  struct RegionInput {
    int region;
    InterpreterBuffer* buffer;
    std::vector<const Code*> extents;
  };
  std::vector<RegionInput> region_inputs;
};

scalar::Scalar from_element(InterpreterBuffer::Element e);
InterpreterBuffer::Element to_element(scalar::Scalar s);
Value to_value(DType type, scalar::Scalar s);
scalar::Scalar to_scalar(const Value& v);

// `parameters` get the first slots of the frame, in order.
void compile(const Expr& e, const InterpreterScope& scope, const std::vector<Var>& parameters,
             Program& program);
void compile(const Stmt& s, const InterpreterScope& scope, Program& program);

}  // namespace tw::interpreter
