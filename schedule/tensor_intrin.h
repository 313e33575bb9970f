// SPDX-License-Identifier: Apache-2.0
// Tensor intrinsics: what a processor, or a library, computes at once, as a tensor expression, and
// the statements that make it do so. `tensorize` replaces a loop nest by one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/node.h"
#include "runtime/error.h"
#include "schedule/te/operation.h"

namespace tw {

// The memory that a tensor of an intrinsic lies in, as its statements address it. Members that are
// free variables take what the loop nest has; the others must agree with it.
struct IntrinBuffer {
  Var data;  // a handle to elements of dtype
  DType dtype;
  std::vector<Expr> shape;
  std::vector<Expr> strides;     // in elements; empty: row-major without gaps
  Expr elem_offset;              // a variable, or 0: the tensor begins where the memory does
  std::string scope = "global";  // "global" takes memory of any kind, others their own
  int64_t data_alignment = -1;   // in bytes; -1: that of the type
  int64_t offset_factor = 0;     // elem_offset is a multiple of it; 0: elem_offset is 0
  std::string name;
};
// Row-major strides of a shape.
std::vector<Expr> compact_strides(const std::vector<Expr>& shape);
// A buffer with variables of its own for data, and for the offset where `offset_factor` asks for
// one.
IntrinBuffer decl_buffer(const std::vector<Expr>& shape, DType dtype, const std::string& name,
                         std::vector<Expr> strides = {}, int64_t offset_factor = 0,
                         const std::string& scope = "global", int64_t data_alignment = -1);
// The address of an element, `offset` after the first; only as an argument of a call.
Expr address_of(const IntrinBuffer& buffer, const Expr& offset);

enum class IntrinPart : uint8_t {
  Body,    // the whole: sets the outputs
  Reset,   // sets the outputs of a reduction to the identity
  Update,  // adds the terms of a reduction to the outputs
};
std::string_view to_string(IntrinPart part);

struct TensorIntrinParts {
  std::string name;
  te::Operation op;                        // what it computes; its inputs are placeholders
  std::vector<te::Tensor> inputs = {};     // in the order of their first read
  std::vector<IntrinBuffer> buffers = {};  // of the inputs, then of the outputs
  // Body undefined: reset, then update. Reset and update undefined: not where loops of a reduction
  // stand outside the intrinsic.
  Stmt body = {}, reset = {}, update = {};
  // Variables of the expression, and of body and update, that stand for scalars: expressions that
  // are the same at all points that the intrinsic computes.
  std::vector<Var> scalar_params = {};
  std::vector<std::string> features = {};  // "amx-int8": what the target must have
};
struct TensorIntrinNode : Object, TensorIntrinParts {
  explicit TensorIntrinNode(TensorIntrinParts parts) : TensorIntrinParts(std::move(parts)) {}
};
using TensorIntrin = Ref<TensorIntrinNode>;

// Checks that the operation is one a nest can be matched against (BadIntrinsic), and the buffers
// against its tensors.
TensorIntrin make_tensor_intrin(TensorIntrinParts parts);

// What takes its value from where the intrinsic stands: extents of axes that are variables, each
// once, then the scalar parameters.
std::vector<Var> open_variables(const TensorIntrinParts& intrin);

// The registry. Traces name intrinsics, so that replay finds here what a script or this program
// has declared. Registering a name again replaces what it stands for, except for the built-in ones
// (BadIntrinsic).
void register_tensor_intrin(const TensorIntrin& intrin);
// Null when there is none.
TensorIntrin find_tensor_intrin(std::string_view name);
// UnknownIntrinsic when there is none, with the nearest.
TensorIntrin tensor_intrin(std::string_view name, const std::string& where = "");
// That error.
ErrorInfo unknown_tensor_intrin(std::string_view name);
// In alphabetical order.
std::vector<std::string> tensor_intrin_names();

// The built-in ones; builtin_intrins.cc.
std::vector<TensorIntrin> builtin_tensor_intrins();

// "C(i, j) = reduce…": the expression, as messages show it.
std::string expression_text(const te::Operation& op, bool extents = true);

}  // namespace tw
