// SPDX-License-Identifier: Apache-2.0
// tensorize: a nest that a tensor intrinsic stands for gets the intrinsic's statements beside it.
//
// before:                                           after:
//   // attr [tensor_operands("body",                  if (tensorized("vadd16")) {
//   //   tensor_operand(A[(i*16)], A[((i*16) + 1)]),    call_extern<int32>("vadd16",
//   address_of(B[(i*16)]),
//   //   tensor_operand(B[(i*16)], B[((i*16) + 1)]))]      address_of(A[(i*16)]))
//   //   tensor_intrin = "vadd16"                     } else {
//   for (j, 0, 16) {                                    for (j, 0, 16) {
//     B[((i*16) + j)] = (A[((i*16) + j)] + 1)             B[((i*16) + j)] = (A[((i*16) + j)] + 1)
//   }                                                   }
//                                                     }
//
// Both sides stay to the end: what an intrinsic reads and writes is what its nest does, for the
// passes that come and for the interpreter. Code generation takes the intrinsic.
#include <fmt/format.h>

#include "ir/arithmetic/analyzer.h"
#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/print.h"
#include "ir/substitute.h"
#include "lower/passes.h"
#include "lower/scoped_mutator.h"
#include "runtime/error.h"
#include "schedule/settled_buffers.h"
#include "schedule/tensor_intrin.h"

namespace tw::pass {
namespace {

class Tensorize : public ScopedMutator {
 protected:
  using ScopedMutator::on;

  Stmt on(const AttrStmt& op, const Stmt& self) override {
    if (op.key != attr::kTensorIntrin) return ScopedMutator::on(op, self);
    const TensorIntrin intrin = tensor_intrin(as<StringImm>(op.value)->value);
    const Call& operands = *as<Call>(op.node);
    VarMap values;
    // After the operands, what the intrinsic leaves open; a reset has no scalars.
    if (const size_t last = intrin->buffers.size() + 1; last < operands.args.size()) {
      const Call& given = *as<Call>(operands.args[last]);
      const std::vector<Var> open = open_variables(*intrin);
      for (size_t k = 0; k < given.args.size(); ++k)
        values[open.at(k)] = cast(open[k].dtype(), given.args[k]);
    }
    for (size_t k = 0; k < intrin->buffers.size(); ++k)
      bind(*intrin, intrin->buffers[k], operands, k, values);
    const std::string& part = as<StringImm>(operands.args[0])->value;
    Stmt body = statements(*intrin, part);
    // A reset knows nothing of the inputs, the first of the buffers.
    const size_t inputs = part == to_string(IntrinPart::Reset) ? intrin->inputs.size() : 0;
    for (size_t k = intrin->buffers.size(); k-- > inputs;)
      body = aligned(intrin->buffers[k], body, intrin->name);
    body = substitute(body, [&](const Var& v) {
      const auto it = values.find(v);
      return it == values.end() ? Expr() : it->second;
    });
    const Expr taken = call(bool_type(), "tensorized", {make(StringImm{.value = intrin->name})},
                            CallKind::PureIntrinsic);
    return make(IfThenElse{
        .condition = taken, .then_case = rename_bindings(body), .else_case = mutate(op.body)});
  }

 private:
  static Stmt statements(const TensorIntrinNode& intrin, std::string_view part) {
    if (part == to_string(IntrinPart::Reset)) return intrin.reset;
    if (part == to_string(IntrinPart::Update)) return intrin.update;
    return intrin.body.defined() ? intrin.body : block({intrin.reset, intrin.update});
  }

  // What the variables of the buffer are: the memory, the first element in it, and strides.
  void bind(const TensorIntrinNode& intrin, const IntrinBuffer& buffer, const Call& operands,
            size_t number, VarMap& values) {
    const Call& operand = *as<Call>(operands.args.at(number + 1));
    if (operand.args.empty()) return;
    const auto load = [&](size_t k) { return as<Load>(operand.args[k]); };
    const Load& first = *load(0);
    const auto fail = [&](std::string what, std::string legal) {
      // The last of the operands is what the stage stores.
      const Call& stored = *as<Call>(operands.args.at(intrin.buffers.size()));
      raise({.code = ErrorCode::CannotTensorize,
             .what = fmt::format("operand '{}' of '{}', which is '{}': {}", buffer.name,
                                 intrin.name, first.buffer.name(), what),
             .stage = as<Load>(stored.args[0])->buffer.name(),
             .legal = std::move(legal)});
    };
    const auto agree = [&](const Expr& declared, const Expr& has, const std::string& what) {
      const Variable* v = as<Variable>(declared);
      // A variable that stands in several places is one number.
      if (v != nullptr && values.emplace(Var(v), cast(v->type, has)).second) return;
      const Expr value = substitute(declared, values);
      if (analyzer_.can_prove_equal(has, cast(has.dtype(), value))) return;
      fail(fmt::format("{} is {}", what, to_string(analyzer_.canonical_simplify(has))),
           fmt::format("{}, or a variable of its own in the intrinsic's buffer",
                       to_string(analyzer_.canonical_simplify(value))));
    };
    values[buffer.data] = first.buffer;
    if (buffer.offset_factor == 0) {
      agree(buffer.elem_offset, first.index, "its offset in memory");
    } else {
      const auto factor = buffer.offset_factor;
      const Expr rest = floor_mod(first.index, make_const(first.index.dtype(), factor));
      if (factor > 1 && !analyzer_.can_prove(rest == make_zero(rest.dtype()))) {
        fail(fmt::format("its offset in memory is {}", to_string(first.index)),
             fmt::format("multiples of {} elements", factor));
      }
      agree(buffer.elem_offset, first.index, "its offset in memory");
    }
    const std::vector<Expr> strides =
        buffer.strides.empty() ? compact_strides(buffer.shape) : buffer.strides;
    for (size_t d = 0; d < strides.size(); ++d) {
      const Expr step = analyzer_.canonical_simplify(load(d + 1)->index - first.index);
      if (is_one(substitute(buffer.shape[d], values)) && !is<Variable>(strides[d])) continue;
      agree(strides[d], step, fmt::format("its stride in dimension {}", d));
    }
  }
};

}  // namespace

Kernel tensorize(Kernel kernel, const PassContext&) {
  kernel.body = Tensorize().mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
