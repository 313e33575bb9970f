// SPDX-License-Identifier: Apache-2.0
// What x86 processors compute at once. A row of a table is an intrinsic; what it computes is
// written as a tensor expression, the memory it takes as buffers, and what code is generated as
// statements.
#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/te/text.h"
#include "schedule/tensor_intrin.h"

namespace tw {
namespace {

// One element of each operand of a product, and of the sums.
struct Types {
  const char* a;
  const char* b;
  const char* sum;
  int group;  // products that are added up at once
};

// ---------------------------------------------------------------------------------------------
// Dot products in vector registers: sixteen sums, each of a group of products. A group of `a` is
// the same for all; those of `b` stand side by side.

struct DotRow {
  const char* name;
  Types types;
  const char* feature;
};
constexpr DotRow kDots[] = {
    {"vnni.dot_u8s8", {"uint8", "int8", "int32", 4}, "avx512vnni"},
    {"vnni.dot_s8s8", {"int8", "int8", "int32", 4}, "avx512vnni"},
    {"avx512.dot_bf16", {"bfloat16", "bfloat16", "float32", 2}, "avx512bf16"},
};
constexpr int kLanes = 16;

// The loop that code generation knows as one instruction (lower/llvm/emit_dot.cc).
Stmt dot_update(const IntrinBuffer& a, const IntrinBuffer& b, const IntrinBuffer& c, int group) {
  const Var k("k", int_type(32));
  const Expr lanes = make(Ramp{.base = c.elem_offset, .stride = 1, .lanes = kLanes});
  const Expr groups = make(
      Ramp{.base = b.elem_offset + k, .stride = make_const(int_type(32), group), .lanes = kLanes});
  const DType wide = c.dtype.with_lanes(kLanes);
  const Expr x = make(Load{.type = a.dtype, .buffer = a.data, .index = a.elem_offset + k});
  const Expr y = make(Load{.type = b.dtype.with_lanes(kLanes), .buffer = b.data, .index = groups});
  const Expr sum = make(Load{.type = wide, .buffer = c.data, .index = lanes});
  const Expr more = broadcast(cast(c.dtype, x), kLanes) * cast(wide, y);
  return make(For{.var = k,
                  .min = 0,
                  .extent = make_const(int_type(32), group),
                  .body = make(Store{.buffer = c.data, .value = sum + more, .index = lanes})});
}

TensorIntrin dot(const DotRow& row) {
  const te::Program program = te::parse_program(fmt::format(
      "te 1\nA = placeholder({a}, [{g}])\nB = placeholder({b}, [{n}, {g}])\n"
      "C = compute([j: {n}], reduce [k: {g}], sum(({sum}(A(k))*{sum}(B(j, k)))))\n"
      "arguments A B C\noutputs C\n",
      fmt::arg("a", row.types.a), fmt::arg("b", row.types.b), fmt::arg("sum", row.types.sum),
      fmt::arg("g", row.types.group), fmt::arg("n", kLanes)));
  std::vector<IntrinBuffer> buffers;
  for (const te::Tensor& t : program.arguments)
    buffers.push_back(decl_buffer(t.shape(), t.dtype(), t.name(), {}, 1));
  const IntrinBuffer& c = buffers[2];
  const te::Operation op = program.outputs[0].op();
  return make_tensor_intrin(
      {.name = row.name,
       .op = op,
       .inputs = {program.arguments[0], program.arguments[1]},
       .buffers = buffers,
       .reset =
           make(Store{.buffer = c.data,
                      .value = make_zero(c.dtype.with_lanes(kLanes)),
                      .index = make(Ramp{.base = c.elem_offset, .stride = 1, .lanes = kLanes})}),
       .update = dot_update(buffers[0], buffers[1], c, row.types.group),
       .features = {row.feature, "avx512vl"}});
}

}  // namespace

std::vector<TensorIntrin> builtin_tensor_intrins() {
  std::vector<TensorIntrin> list;
  for (const DotRow& row : kDots) list.push_back(dot(row));
  return list;
}

}  // namespace tw
