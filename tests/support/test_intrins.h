// SPDX-License-Identifier: Apache-2.0
// Intrinsics for tests, whose statements are loops: any machine runs them, and wrong addresses give
// wrong results. They count in the other direction than the loops that they replace.
#pragma once

#include <fmt/format.h>

#include <string>

#include "ir/expr.h"
#include "schedule/te/text.h"
#include "schedule/tensor_intrin.h"

namespace tw::test {

inline Expr element(const IntrinBuffer& b, const std::vector<Expr>& indices) {
  Expr index = b.elem_offset;
  const std::vector<Expr> strides = b.strides.empty() ? compact_strides(b.shape) : b.strides;
  for (size_t d = 0; d < indices.size(); ++d) index = index + indices[d] * strides[d];
  return index;
}
inline Expr load(const IntrinBuffer& b, const std::vector<Expr>& indices) {
  return make(Load{.type = b.dtype, .buffer = b.data, .index = element(b, indices)});
}
inline Stmt store(const IntrinBuffer& b, const std::vector<Expr>& indices, const Expr& value) {
  return make(Store{.buffer = b.data, .value = value, .index = element(b, indices)});
}
// for i in [0, extent): body(extent - 1 - i)
template <class F>
Stmt backwards(const std::string& name, int64_t extent, F body) {
  const Var var(name, int_type(32));
  return make(For{.var = var,
                  .min = 0,
                  .extent = make_const(int_type(32), extent),
                  .body = body(make_const(int_type(32), extent - 1) - var)});
}
// A buffer all of whose strides are variables.
inline IntrinBuffer any_buffer(const te::Tensor& t, const std::string& scope = "global") {
  std::vector<Expr> strides;
  for (int d = 0; d < t.rank(); ++d)
    strides.push_back(Var(fmt::format("{}.stride{}", t.name(), d), int_type(32)));
  return decl_buffer(t.shape(), t.dtype(), t.name(), std::move(strides), 1, scope);
}

// C[m, n] += A[m, k] * B[k, n], of int32, registered as `name`. With `parts` it may be called for a
// part of the reduction.
inline TensorIntrin declare_product(const std::string& name, int64_t m, int64_t n, int64_t k,
                                    bool parts) {
  const te::Program program = te::parse_program(
      fmt::format("te 1\nA = placeholder(int32, [{0}, {2}])\nB = placeholder(int32, [{2}, {1}])\n"
                  "C = compute([i: {0}, j: {1}], reduce [k: {2}], sum((A(i, k)*B(k, j))))\n"
                  "arguments A B C\noutputs C\n",
                  m, n, k));
  const te::Tensor a = program.arguments[0], b = program.arguments[1], c = program.outputs[0];
  const IntrinBuffer x = any_buffer(a), y = any_buffer(b), z = any_buffer(c);
  const Stmt reset = backwards("i", m, [&](const Expr& i) {
    return backwards("j", n, [&](const Expr& j) { return store(z, {i, j}, 0); });
  });
  const Stmt update = backwards("i", m, [&](const Expr& i) {
    return backwards("j", n, [&](const Expr& j) {
      return backwards("k", k, [&](const Expr& l) {
        return store(z, {i, j}, load(z, {i, j}) + load(x, {i, l}) * load(y, {l, j}));
      });
    });
  });
  const TensorIntrin intrin = make_tensor_intrin({.name = name,
                                                  .op = c.op(),
                                                  .inputs = c.op()->input_tensors(),
                                                  .buffers = {x, y, z},
                                                  .body = parts ? Stmt() : block({reset, update}),
                                                  .reset = parts ? reset : Stmt(),
                                                  .update = parts ? update : Stmt()});
  register_tensor_intrin(intrin);
  return intrin;
}

// B[i] = A[i] + 1 of int32.
inline TensorIntrin declare_increment(const std::string& name, int64_t n) {
  const te::Program program = te::parse_program(
      fmt::format("te 1\nA = placeholder(int32, [{0}])\nB = compute([i: {0}], (A(i) + 1))\n"
                  "arguments A B\noutputs B\n",
                  n));
  const te::Tensor a = program.arguments[0], b = program.outputs[0];
  const IntrinBuffer x = any_buffer(a), y = any_buffer(b);
  const TensorIntrin intrin = make_tensor_intrin(
      {.name = name,
       .op = b.op(),
       .inputs = {a},
       .buffers = {x, y},
       .body = backwards("i", n, [&](const Expr& i) { return store(y, {i}, load(x, {i}) + 1); })});
  register_tensor_intrin(intrin);
  return intrin;
}

// B[i] = A[i]*v + w of int32, of any number of elements, v and w being scalars.
inline TensorIntrin declare_scale(const std::string& name) {
  const Var n("n", int_type(32)), v("v", int_type(32)), w("w", int_type(32)), q("q", int_type(32));
  const te::Tensor a = te::placeholder({n}, int_type(32), "A");
  const te::Tensor b =
      te::compute({n}, [&](const std::vector<Var>& i) { return a(i[0]) * v + w; }, "B");
  const IntrinBuffer x = any_buffer(a), y = any_buffer(b);
  const Expr last = n - 1 - q;
  const TensorIntrin intrin = make_tensor_intrin(
      {.name = name,
       .op = b.op(),
       .inputs = {a},
       .buffers = {x, y},
       .body = make(
           For{.var = q, .min = 0, .extent = n, .body = store(y, {last}, load(x, {last}) * v + w)}),
       .scalar_params = {v, w}});
  register_tensor_intrin(intrin);
  return intrin;
}

}  // namespace tw::test
